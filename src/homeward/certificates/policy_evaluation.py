r"""Policy evaluation and optimisation on the mean model: totals of rewards until recall.

A policy is evaluated by one sparse linear solve, or step by step if the recall is fixed. A total is
maximised by plain policy iteration, which stops if no action gains more than rounding. If no action
raises the values v by more than ε, then v is at most ε/(1 − γ) below the maximum. This error bound
is returned with v; it includes the rounding of v.

The diagonal of a system ``(I − γP)v = c`` is computed as (1 − γ) + γ·Pr(leaving the state) and not
from Pr(staying), so that small probabilities keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from homeward.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from homeward.certificates.mean_model import MeanModel

GAIN_TOLERANCE = 1e-14  # largest gain that counts as rounding, as a fraction of the largest value
MAX_ROUNDS = 10_000  # largest number of rounds of policy iteration
UNIT_ROUNDOFF = 2.0**-53

OPERATIONS = 16  # floating-point operations per action value, besides one per next state


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """A reward on the mean model, whose total is an exploration value or belongs to a criterion.

    A criterion's total x in [0, 1] stands for the probability or the earnings least + unit·x.
    """

    reward: FloatArray  # [S, A] reward of each step
    leaving: FloatArray | None = None  # [S, A] or [n, S, A] total from an action in `exits` on
    final: FloatArray | float = 0.0  # [S] final reward at a fixed recall
    least: float = 0.0
    unit: float = 1.0
    level: float = 0.0  # the required total

    def bound(self, total: float) -> float:
        """Return the probability or earnings of a total, which is clipped to [0, 1]."""
        return self.least + self.unit * min(1.0, max(0.0, total))

    def restricted(self, states: IntArray) -> Total:
        """Return the same reward on only `states` [n]."""
        leaving = None if self.leaving is None else self.leaving[states]
        final = self.final if isinstance(self.final, float) else self.final[states]
        return replace(self, reward=self.reward[states], leaving=leaving, final=final)


def reachable(rows: csr_array, usable: BoolArray, state: int) -> IntArray:
    """Return the states [n] that `usable` [S, A] actions of `rows` [S·A, S] reach from `state`."""
    states, actions = usable.shape
    steps = rows.tocoo()
    real = usable.ravel()[steps.row] & (steps.data > 0.0)
    edges = (np.ones(np.count_nonzero(real)), (steps.row[real] // actions, steps.col[real]))
    graph = csr_array(edges, shape=(states, states))
    found: IntArray = np.sort(breadth_first_order(graph, state, return_predecessors=False))
    return found


def solve(rows: csr_array, leaving: FloatArray, gain: FloatArray, discount: float) -> FloatArray:
    """Return the values v [n] with ``v = gain + discount·rows·v``, or [n, K] of K gains.

    `rows` [n, n] are the transition probabilities between n states. `leaving` [n] is the rest of
    each row: the probability of leaving these states.
    """
    others = rows - diags_array(rows.diagonal())
    away = np.asarray(others.sum(axis=1)) + leaving
    system = diags_array((1.0 - discount) + discount * away) - discount * others
    return np.asarray(splu(system.tocsc()).solve(gain), np.float64)


class PolicyEvaluator:
    """Evaluates and optimises policies on the mean model.

    `exits` is the mask [S, A] of actions that leave the set of a `StayInside` criterion. The
    total from such an action on is its entry in `Total.leaving`, if given.
    """

    def __init__(
        self, world: MeanModel, discount: float, steps: int | None, exits: BoolArray | None
    ) -> None:
        self.world, self.steps = world, steps
        self.discount = discount if steps is None else 1.0
        self.exits = np.zeros(world.shape, dtype=bool) if exits is None else exits
        self.span = 1.0 / (1.0 - discount) if steps is None else float(steps)

    def mixed(
        self, total: Total, weights: FloatArray, policies: IntArray, since: int = 0
    ) -> FloatArray:
        """Return the total [S] of a mixture of J policies [J, S], or [J, n, S] from step `since`.

        The total is −inf if one of the policies takes an action that can't be chosen.
        """
        found = [self._values(total, policy) for policy in policies]
        if self.steps is not None:
            found = [values[since] for values in found]
        return np.asarray(np.tensordot(weights, np.array(found), axes=1), np.float64)

    def left_for(self, reward: FloatArray, after: FloatArray | None) -> FloatArray:
        """Return the total [S, A], or [n, S, A] by step, of an exit and all later steps.

        `after` has the values after the exit; None counts only the reward of the exit.
        """
        if after is None:
            return reward
        if self.steps is None:
            return self._ahead(Total(reward), after)
        return np.array([self._ahead(Total(reward), values) for values in after[1:]])

    def outside(self, reward: FloatArray, policy: IntArray | None) -> FloatArray | None:
        """Return the values of the policy after an exit, [S] or [n + 1, S] by step."""
        if policy is None:
            return None
        evaluate = self._values if self.steps is None else self._backward
        return evaluate(Total(reward), policy)

    def best(self, total: Total, starts: list[IntArray]) -> tuple[FloatArray, float]:
        """Return the largest total, [S] or [n + 1, S] by step, and an upper bound on its error.

        Policy iteration starts from the best of `starts` [S] and the greedy policy.
        """
        entries = int(np.diff(self.world.rows.indptr).max(initial=0))
        rounding = (OPERATIONS + entries) * UNIT_ROUNDOFF * self.span
        largest = float(np.abs(total.reward[np.isfinite(total.reward)]).max())
        if self.steps is not None:
            best = self._backward(total, None)
            return best, rounding * (largest + float(np.abs(best).max()))
        policy = total.reward.argmax(axis=1)
        values = self._values(total, policy)
        for start in starts:
            also = self._values(total, start)
            if also.sum() > values.sum():
                policy, values = start, also
        for _ in range(MAX_ROUNDS):
            q = self._ahead(total, values)
            rise, size = q.max(axis=1) - values, float(np.abs(values).max())
            if rise.max() <= GAIN_TOLERANCE * size:
                break
            better = np.where(rise > GAIN_TOLERANCE * size, q.argmax(axis=1), policy)
            risen = self._values(total, better)
            if risen.sum() <= values.sum():  # a cycle within rounding
                break
            policy, values = better, risen
        left = self._ahead(total, values).max(axis=1) - values
        size = largest + float(np.abs(values).max())
        return values, max(0.0, float(left.max())) * self.span + rounding * size

    def _ahead(self, total: Total, values: FloatArray, step: int = 0) -> FloatArray:
        """Return the value [S, A] of each action at a `step`, given the `values` [S] after it."""
        ahead = self.discount * (self.world.rows @ values).reshape(total.reward.shape)
        onward = np.asarray(total.reward + ahead, np.float64)
        if total.leaving is None:
            return onward
        leaving = total.leaving[step] if total.leaving.ndim == 3 else total.leaving
        return np.where(self.exits, leaving, onward)

    def _backward(self, total: Total, policy: IntArray | None) -> FloatArray:
        """Return the values [n + 1, S] by step at a fixed recall after n steps.

        They are those of `policy` [n, S]; None means the best policy.
        """
        assert self.steps is not None
        each = np.arange(self.world.shape[0])
        values = [total.final + np.zeros(len(each))]
        for t in range(self.steps - 1, -1, -1):
            q = self._ahead(total, values[-1], t)
            values.append(q.max(axis=1) if policy is None else q[each, policy[t]])
        return np.array(values[::-1])

    def _values(self, total: Total, policy: IntArray) -> FloatArray:
        """Return the values of a policy: [S], or [n + 1, S] by step if the recall is fixed."""
        each = np.arange(self.world.shape[0])
        if self.steps is not None:
            closed = not np.isfinite(total.reward[each, policy]).all()
            found = self._backward(total, policy)
            return np.full(found.shape, -np.inf) if closed else found
        gain = total.reward[each, policy].astype(np.float64)
        if not np.isfinite(gain).all():
            return np.full(len(each), -np.inf)
        at = each * self.world.shape[1] + policy
        rows, ending = self.world.rows[at], self.world.ending[at]
        if total.leaving is not None:
            out = self.exits[each, policy]
            if out.any():
                gain[out] = total.leaving[each, policy][out]
                rows = diags_array((~out).astype(np.float64)) @ rows
                ending = np.where(out, 1.0, ending)
        return solve(csr_array(rows), ending, gain, self.discount)
