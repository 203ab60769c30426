r"""Totals of rewards on the mean model under a policy, until recall, and the largest such total.

A policy is evaluated by one sparse linear solve, or step by step where the recall is fixed. A total
is maximised by plain policy iteration, which ends where no action gains more than rounding. Values
v that no action raises by more than ε are at most ε/(1 − γ) below the maximum; so much is reported
with them, and the rounding of v itself counts as part of ε.

A system ``(I − γP)v = c`` is set up by what leaves a state, (1 − γ) + γ·leaving, and never by 1
less what stays, so rare moves keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.certificates.believed import Believed

ROUNDING = 1e-14
"""A gain of this fraction of the largest value is none."""

ROUNDS = 10_000
"""Rounds of policy iteration after which it is given up."""

UNIT = 2.0**-53
"""The rounding of one operation, as a fraction."""

OPERATIONS = 16
"""Operations, beside one for each next state, that what an action is worth takes at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """A reward of the mean model, whose total bounds something from below."""

    reward: FloatArray  # [S, A] each step
    final: FloatArray  # [S] where a fixed recall finds us
    leaving: FloatArray  # [S, A] paid once by an action that leaves a set
    least: float
    unit: float
    level: float

    def bound(self, total: float) -> float:
        """Return what a total says in the criterion's own measure."""
        return self.least + self.unit * min(1.0, max(0.0, total))

    def among(self, states: IntArray) -> Total:
        """Return the same on some states [n] alone."""
        return replace(
            self,
            reward=self.reward[states],
            final=self.final[states],
            leaving=self.leaving[states],
        )


def reachable(rows: csr_array, usable: BoolArray, state: int) -> IntArray:
    """Return the states [n], in order, that `usable` [S, A] actions may lead to from `state`.

    `rows` [S·A, S] are the probabilities of the next state.
    """
    states, actions = usable.shape
    steps = rows.tocoo()
    real = usable.ravel()[steps.row] & (steps.data > 0.0)
    edges = (np.ones(np.count_nonzero(real)), (steps.row[real] // actions, steps.col[real]))
    graph = csr_array(edges, shape=(states, states))
    found: IntArray = np.sort(breadth_first_order(graph, state, return_predecessors=False))
    return found


def solve(among: csr_array, leaving: FloatArray, gain: FloatArray, discount: float) -> FloatArray:
    """Solve ``v = gain + discount·among·v``; rows of ``among`` and ``leaving`` add up to 1."""
    others = among - diags_array(among.diagonal())
    away = np.asarray(others.sum(axis=1)) + leaving
    system = diags_array((1.0 - discount) + discount * away) - discount * others
    return np.asarray(splu(system.tocsc()).solve(gain), np.float64)


class Chain:
    """The mean model under a policy, until recall, with actions that leave a set."""

    def __init__(
        self, world: Believed, discount: float, steps: int | None, exits: BoolArray | None
    ) -> None:
        self.world, self.steps = world, steps
        self.discount = discount if steps is None else 1.0
        self.exits = np.zeros(world.shape, dtype=bool) if exits is None else exits
        self.span = 1.0 / (1.0 - discount) if steps is None else float(steps)

    def mixed(
        self, total: Total, weights: FloatArray, policies: IntArray, since: int = 0
    ) -> FloatArray:
        """Return a total [S] under a mixture of policies [J, S], or [J, n, S] from a step on.

        It is −inf if one of them takes what can't be chosen.
        """
        found = [
            self._run(total.reward, total.final, policy, total.leaving, since)
            for policy in policies
        ]
        return np.asarray(np.tensordot(weights, np.array(found), axes=1), np.float64)

    def outside(self, reward: FloatArray, policy: IntArray | None) -> FloatArray | None:
        """Give what is earned outside a set, [S] or [n + 1, S] by step, if it can be left."""
        if policy is None:
            return None
        nothing = np.zeros(self.world.shape[0])
        if self.steps is None:
            return self._run(reward, nothing, policy, None)
        found = [nothing]
        for t in range(self.steps - 1, -1, -1):
            found.append(self._back(reward, policy[t], found[-1], None))
        return np.array(found[::-1])

    def leave(self, reward: FloatArray, after: FloatArray | None) -> FloatArray:
        """Give what leaving pays once: the reward, and what comes after; [S, A] or [n, S, A]."""
        if after is None:
            return reward
        if self.steps is None:
            ahead = self.discount * (self.world.rows @ after).reshape(reward.shape)
            return np.asarray(reward + ahead, np.float64)
        return np.array([reward + (self.world.rows @ v).reshape(reward.shape) for v in after[1:]])

    def best(
        self, total: Total, starts: list[IntArray], *, leaving: bool = True
    ) -> tuple[FloatArray, float]:
        """Maximise a total: its values [S], or [n + 1, S] by step, and what they may lack."""
        pays = total.leaving if leaving else None
        entries = int(np.diff(self.world.rows.indptr).max(initial=0))
        rounding = (OPERATIONS + entries) * UNIT * self.span
        largest = float(np.abs(total.reward[np.isfinite(total.reward)]).max())
        if self.steps is not None:
            found = [total.final]
            for t in range(self.steps - 1, -1, -1):
                there = None if pays is None else (pays[t] if pays.ndim == 3 else pays)
                found.append(self._ahead(total.reward, found[-1], there).max(axis=1))
            best = np.array(found[::-1])
            return best, rounding * (largest + float(np.abs(best).max()))
        policy = total.reward.argmax(axis=1)
        values = self._run(total.reward, total.final, policy, pays)
        for start in starts:
            also = self._run(total.reward, total.final, start, pays)
            if also.sum() > values.sum():
                policy, values = start, also
        for _ in range(ROUNDS):
            q = self._ahead(total.reward, values, pays)
            rise, size = q.max(axis=1) - values, float(np.abs(values).max())
            if rise.max() <= ROUNDING * size:
                break
            better = np.where(rise > ROUNDING * size, q.argmax(axis=1), policy)
            risen = self._run(total.reward, total.final, better, pays)
            if risen.sum() <= values.sum():  # rounding goes round in circles
                break
            policy, values = better, risen
        left = self._ahead(total.reward, values, pays).max(axis=1) - values
        size = largest + float(np.abs(values).max())
        return values, max(0.0, float(left.max())) * self.span + rounding * size

    def _ahead(
        self, reward: FloatArray, values: FloatArray, leaving: FloatArray | None
    ) -> FloatArray:
        """Give what each action [S, A] is worth with values [S] after it."""
        onward = reward + self.discount * (self.world.rows @ values).reshape(reward.shape)
        return onward if leaving is None else np.where(self.exits, leaving, onward)

    def _back(
        self, reward: FloatArray, policy: IntArray, values: FloatArray, leaving: FloatArray | None
    ) -> FloatArray:
        """Give what a policy [S] is worth with values [S] after its one step."""
        each = np.arange(len(values))
        gain: FloatArray = reward[each, policy] + self.discount * (
            self.world.rows[each * self.world.shape[1] + policy] @ values
        )
        if leaving is None:
            return gain
        return np.where(self.exits[each, policy], leaving[each, policy], gain)

    def _run(
        self,
        reward: FloatArray,
        final: FloatArray,
        policy: IntArray,
        leaving: FloatArray | None,
        since: int = 0,
    ) -> FloatArray:
        """Return a total [S] under a policy; without `leaving` nothing is an exit."""
        states, actions = self.world.shape
        each = np.arange(states)
        if not np.isfinite(reward[each, policy]).all():
            return np.full(states, -np.inf)
        if self.steps is not None:
            values = final
            for t in range(self.steps - 1, since - 1, -1):
                pays = leaving if leaving is None or leaving.ndim == 2 else leaving[t]
                values = self._back(reward, policy[t], values, pays)
            return values
        gain = reward[each, policy].astype(np.float64)
        at = each * actions + policy
        rows, ending = self.world.rows[at], self.world.ending[at]
        if leaving is not None:
            out = self.exits[each, policy]
            if out.any():
                gain[out] = leaving[each, policy][out]
                rows = diags_array((~out).astype(np.float64)) @ rows
                ending = np.where(out, 1.0, ending)
        return solve(csr_array(rows), ending, gain, self.discount)
