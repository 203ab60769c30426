r"""MDPs over a fixed number of steps, by backward induction.

Problem: a `HorizonProblem`; for fixed weights on its totals, the policy [n, S] (what to do at step
t in state s) with the largest weighted total. `constrained` finds the weights.

Method: backward induction, exact, in O(n·S·A). It ends after n steps and leaves no gap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from homeward.models import Moves
from homeward.solvers import kernels
from homeward.solvers.kernels import SLACK
from homeward.solvers.policies import PolicySolution, best_known
from homeward.solvers.status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.solvers.problems import HorizonProblem


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
        """Return the exact values [1 + K, S] of a policy [n, S] under every total."""
        return self.from_step(policy, 0)

    def from_step(self, policy: IntArray, step: int) -> FloatArray:
        """Return the values [1 + K, S] of a policy [n, S] from some step on."""
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
        """Return a policy [n, S] that maximises ``Σ weights[k]·totals[k]``, exactly.

        If a known policy is optimal in `state`, it is returned.
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
            best = best_known(start, used, state)
            slack = SLACK * float(np.abs(weights) @ np.abs(values).max(axis=1))
            behind = float(weights @ values[:, state]) - best.worth(used, state)
            if behind <= slack:
                gap = max(0.0, behind)
                return PolicySolution(best.policy, best.values, gap, Status.OPTIMAL, 0)
        return PolicySolution(policy, values, 0.0, Status.OPTIMAL, 1)

    def _follow(self, policy: IntArray, after: FloatArray, values: FloatArray) -> FloatArray:
        """Return the values [1 + K, S] one step before `values`, under a policy [S]."""
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
    """Write the best action of each state, ties to the first; update ``worth`` [S]."""
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
    """Write a policy's values [K, S] one step earlier, on a move-or-stay graph."""
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
