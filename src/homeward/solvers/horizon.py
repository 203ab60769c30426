r"""Constrained MDPs over a fixed number of steps: backward induction in place of policy iteration.

Problem: from one start state, over n steps without discount, maximise the total of the first of
``totals`` [1 + K, S, A] and of ``final`` [1 + K, S] where the steps end, subject to floors on the
others. Actions may be `exits`: they pay their own totals, the first of them also what `after`
[n + 1, S] says of the state that they lead to, and end it.

A deterministic policy is [n, S]: what to do at step t in state s. For fixed multipliers the best
one comes of backward induction, exactly, in O(n·S·A); column generation over such policies is that
of `constrained`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from homeward.arrays import index
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.solvers import kernels
from homeward.solvers.engines import LARGEST, SLACK, PolicySolution
from homeward.solvers.status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import Model


@dataclass(frozen=True, slots=True, eq=False)
class HorizonProblem:
    """Maximise one total over so many steps subject to floors on others."""

    model: Model
    steps: int
    start: int
    totals: FloatArray  # [1 + K, S, A] the objective (−inf: can't be chosen), the constraints
    final: FloatArray  # [1 + K, S] what is added where the steps end
    levels: FloatArray  # [K]
    exits: BoolArray | None = None  # [S, A]
    after: FloatArray | None = None  # [n + 1, S] what the objective has after an exit, by step
    closed: bool = field(init=False)  # some action can't be chosen
    worth: float = field(init=False)  # the most, either way, that the objective could add up to

    def __post_init__(self) -> None:
        error = InvalidProblemError
        if self.steps < 1:
            raise error(f"a horizon of {self.steps} steps, expected at least 1")
        index(self.start, self.model.states, "the start", error)
        shape = (1 + len(self.levels), self.model.states, self.model.actions)
        object.__setattr__(self, "totals", np.ascontiguousarray(self.totals, dtype=np.float64))
        object.__setattr__(self, "final", np.ascontiguousarray(self.final, dtype=np.float64))
        object.__setattr__(self, "levels", np.asarray(self.levels, dtype=np.float64))
        if self.totals.shape != shape or self.final.shape != shape[:2]:
            raise error(
                f"the totals have shape {self.totals.shape} and {self.final.shape}, "
                f"expected {shape} and {shape[:2]}"
            )
        usable = self.objective > -np.inf
        if not usable.any(axis=1).all():
            idle = int(np.argmin(usable.any(axis=1)))
            raise error(f"state s={idle} has no action that can be chosen")
        largest = LARGEST / self.steps
        parts = (self.objective[usable], self.constraints, self.final, self.levels)
        if not all((np.abs(part) < largest).all() for part in parts):
            raise error(f"the totals hold NaN or what would add up past {LARGEST:g}")
        object.__setattr__(self, "closed", not usable.all())
        most = float(np.abs(self.objective[usable]).max()) * self.steps
        object.__setattr__(self, "worth", most + float(np.abs(self.final[0]).max()))

    @property
    def objective(self) -> FloatArray:
        """What is maximised, [S, A]."""
        objective: FloatArray = self.totals[0]
        return objective

    @property
    def constraints(self) -> FloatArray:
        """What is kept above its level, [K, S, A]."""
        constraints: FloatArray = self.totals[1:]
        return constraints

    @property
    def span(self) -> float:
        """How many steps it lasts."""
        return float(self.steps)


class HorizonEngine:
    """Backward induction on either kind of model."""

    def __init__(self, problem: HorizonProblem) -> None:
        self.problem = problem
        model, shape = problem.model, problem.objective.shape
        self._exits = np.zeros(shape, bool) if problem.exits is None else problem.exits
        self._after = (
            np.zeros((problem.steps + 1, shape[0])) if problem.after is None else problem.after
        )
        if not isinstance(model, Moves):
            self._rows = model.transitions

    def evaluate(self, policy: IntArray) -> FloatArray:
        """Give the exact values [1 + K, S] of a policy [n, S] under every total."""
        return self.from_step(policy, 0)

    def from_step(self, policy: IntArray, step: int) -> FloatArray:
        """Give the values [1 + K, S] of a policy [n, S] from some step on."""
        values = self.problem.final.copy()
        for t in range(self.problem.steps - 1, step - 1, -1):
            values = self._follow(policy[t], self._after[t + 1], values)
        return values

    def optimise(
        self,
        weights: FloatArray,
        start: Sequence[PolicySolution] = (),
        limit: int = 0,
        state: int | None = None,
    ) -> PolicySolution:
        """Find a policy [n, S] that maximises ``Σ weights[k]·totals[k]``; it is always exact.

        Where nothing is better in the `state` than a known policy, that one is given back.
        """
        problem = self.problem
        reward = np.empty(problem.objective.shape)
        kernels.combine(problem.totals, weights, reward)
        values = problem.final.copy()
        policy = np.empty((problem.steps, problem.model.states), np.int32)
        for t in range(problem.steps - 1, -1, -1):
            after = self._after[t + 1]
            worth = weights @ values
            if isinstance(problem.model, Moves):
                choose_moves(
                    problem.model.dest,
                    problem.model.success,
                    reward,
                    worth,
                    self._exits,
                    weights[0] * after,
                    policy[t],
                )
            else:
                ahead = (self._rows @ np.stack([worth, weights[0] * after], axis=1)).T
                onward = ahead.reshape(2, *reward.shape)
                q = reward + np.where(self._exits, onward[1], onward[0])
                policy[t] = q.argmax(axis=1)
            values = self._follow(policy[t], after, values)
        if state is not None and start:
            used = weights.tolist()
            best = max(start, key=lambda known: known.worth(used, state))
            slack = SLACK * float(np.abs(weights) @ np.abs(values).max(axis=1))
            behind = float(weights @ values[:, state]) - best.worth(used, state)
            if behind <= slack:
                gap = max(0.0, behind)
                return PolicySolution(best.policy, best.values, gap, Status.OPTIMAL, 0)
        return PolicySolution(policy, values, 0.0, Status.OPTIMAL, 1)

    def _follow(self, policy: IntArray, after: FloatArray, values: FloatArray) -> FloatArray:
        """Go one step back along a policy [S], from values [1 + K, S] after it."""
        problem = self.problem
        if isinstance(problem.model, Moves):
            before = np.empty_like(values)
            follow_moves(
                problem.model.dest,
                problem.model.success,
                problem.totals,
                self._exits,
                policy,
                after,
                values,
                before,
            )
            return before
        states = np.arange(problem.model.states)
        rows = self._rows[states * problem.model.actions + policy]
        left = self._exits[states, policy]
        ahead = (rows @ values.T).T
        ahead[:, left] = 0.0
        ahead[0, left] = (rows @ after)[left]
        before = problem.totals[:, states, policy] + ahead
        return np.ascontiguousarray(before)


@njit(cache=True, error_model="numpy")
def choose_moves(
    dest: IntArray,
    success: FloatArray,
    reward: FloatArray,
    worth: FloatArray,
    exits: BoolArray,
    after: FloatArray,
    policy: IntArray,
) -> None:
    """Write the best action of each state, the first of equals, with ``worth`` [S] after it."""
    states, actions = dest.shape
    for s in range(states):
        best, choice = -np.inf, 0
        for a in range(actions):
            p, t = success[s, a], dest[s, a]
            if exits[s, a]:
                q = reward[s, a] + p * after[t] + (1.0 - p) * after[s]
            else:
                q = reward[s, a] + p * worth[t] + (1.0 - p) * worth[s]
            if q > best:
                best, choice = q, a
        policy[s] = choice


@njit(cache=True, error_model="numpy")
def follow_moves(
    dest: IntArray,
    success: FloatArray,
    totals: FloatArray,
    exits: BoolArray,
    policy: IntArray,
    after: FloatArray,
    values: FloatArray,
    before: FloatArray,
) -> None:
    """Write the values [K, S] one step before, of a policy [S] on a move-or-stay graph."""
    columns, states = values.shape
    for s in range(states):
        a = policy[s]
        p, t = success[s, a], dest[s, a]
        if exits[s, a]:
            before[0, s] = totals[0, s, a] + p * after[t] + (1.0 - p) * after[s]
            for k in range(1, columns):
                before[k, s] = totals[k, s, a]
        else:
            for k in range(columns):
                before[k, s] = totals[k, s, a] + p * values[k, t] + (1.0 - p) * values[k, s]
