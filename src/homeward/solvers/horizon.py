r"""MDPs over a fixed number of steps, by backward induction.

Problem: for a `HorizonProblem` and fixed weights on its totals, find the policy [n, S] (an action
for each step and state) with the largest weighted total. `constrained` finds the weights.

Method: backward induction, which is exact and takes O(n·S·A) time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.compiling import njit
from homeward.models import Moves
from homeward.solvers import kernels
from homeward.solvers.kernels import SLACK
from homeward.solvers.problems import HorizonProblem, PolicySolution, Status


class HorizonEngine:
    """Backward induction on both types of model."""

    def __init__(self, problem: HorizonProblem) -> None:
        self.problem = problem
        shape = problem.objective.shape
        nothing = np.zeros((problem.steps + 1, shape[0]))
        self._exits = np.zeros(shape, bool) if problem.exits is None else problem.exits
        self._after = nothing if problem.after is None else problem.after

    def evaluate(self, policy: IntArray, step: int = 0) -> FloatArray:
        """Return the exact values [1 + K, S] of a policy [n, S] under every total, from `step`."""
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
        """Return a policy [n, S] that maximises ``Σ weights[k]·totals[k]``.

        If a policy of `start` is optimal in `state`, that policy is returned. `limit` is ignored:
        backward induction is exact.
        """
        problem, model = self.problem, self.problem.model
        reward = np.empty(problem.objective.shape)
        kernels.combine(problem.totals, weights, reward)
        values = problem.final.copy()
        policy = np.empty((problem.steps, model.states), np.int32)
        for t in range(problem.steps - 1, -1, -1):
            onward, after = weights @ values, weights[0] * self._after[t + 1]
            if isinstance(model, Moves):
                graph = model.dest, model.success
                choose_moves(*graph, reward, self._exits, onward, after, policy[t])
            else:
                ahead = (model.transitions @ np.stack([onward, after], axis=1)).T
                stay, leave = ahead.reshape(2, *reward.shape)
                policy[t] = (reward + np.where(self._exits, leave, stay)).argmax(axis=1)
            values = self._follow(policy[t], self._after[t + 1], values)
        if state is not None and start:
            used = weights.tolist()
            best = max(start, key=lambda known: known.weighted_value(used, state))
            slack = SLACK * float(np.abs(weights) @ np.abs(values).max(axis=1))
            behind = float(weights @ values[:, state]) - best.weighted_value(used, state)
            if behind <= slack:
                gap = max(0.0, behind)
                return PolicySolution(best.policy, best.values, gap, Status.OPTIMAL, 0)
        return PolicySolution(policy, values, 0.0, Status.OPTIMAL, 1)

    def _follow(self, policy: IntArray, after: FloatArray, values: FloatArray) -> FloatArray:
        """Return the values [1 + K, S] one step before `values`, under a `policy` [S].

        At an exit, the objective gets `after` [S] of the next state.
        """
        model, states = self.problem.model, np.arange(len(policy))
        paid, left = self.problem.totals[:, states, policy], self._exits[states, policy]
        if isinstance(model, Moves):
            p, t = model.success[states, policy], model.dest[states, policy]
            onward = paid + p * values[:, t] + (1.0 - p) * values
            before = np.where(left, paid, onward)
            before[0, left] = (paid[0] + p * after[t] + (1.0 - p) * after)[left]
        else:
            rows = model.transitions[states * model.actions + policy]
            ahead = (rows @ values.T).T
            ahead[:, left] = 0.0
            ahead[0, left] = (rows @ after)[left]
            before = paid + ahead
        return np.ascontiguousarray(before)


@njit(cache=True, error_model="numpy")
def choose_moves(
    dest: IntArray,
    success: FloatArray,
    reward: FloatArray,
    exits: BoolArray,
    onward: FloatArray,
    after: FloatArray,
    policy: IntArray,
) -> None:
    """Write the best action of each state to ``policy`` [S]; ties go to the first action.

    The value of the next state is ``onward`` [S], or ``after`` [S] if the action is an exit.
    """
    states, actions = dest.shape
    for s in range(states):
        best, choice = -np.inf, 0
        for a in range(actions):
            p, t = success[s, a], dest[s, a]
            worth = after if exits[s, a] else onward
            q = reward[s, a] + p * worth[t] + (1.0 - p) * worth[s]
            if q > best:
                best, choice = q, a
        policy[s] = choice
