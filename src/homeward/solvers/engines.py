r"""Ordinary discounted MDPs: exact evaluation and policy iteration, on both types of model.

Problem: a model, a discount γ and K totals. A total is a reward [S, A] that a policy collects. An
engine evaluates a policy under all totals at once, and maximises any weighted sum of totals.

Method: policy iteration. A policy is evaluated exactly: on `Moves` in O(S) along its functional
graph; on `SparseMDP` by LU, or by GMRES to rounding if LU would need too much memory. Self-loops
are folded (see `folding`). The improvement step is a few Gauss–Seidel sweeps in alternating
directions. A sweep records the best action that it last found in each state: if V ≤ TV before a
sweep, then V ≤ T_π V for the recorded policy π, so every round improves. On `Moves`, after the
first sweep a round visits only states whose successors have changed. If several policies are given
to start from, the first policy takes in each state the action of the policy with the largest value
there; this policy is at least as good as each given one.

Stopping: no action beats the policy's own by more than rounding (`SLACK` of the largest value).

Proof: with e ≥ max(TV − V), V* − V ≤ e/(1 − γ) everywhere; e/(1 − γ) is the reported gap. Here V is
the value of the policy, T the optimal improvement step and V* the optimum. On `Moves`, e includes
the changes that were too small to visit a state again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.models import Model, Moves, SparseMDP
from homeward.solvers import kernels
from homeward.solvers.folding import fold, solve_folded
from homeward.solvers.graphs import unsigned, ways_to
from homeward.solvers.horizon import HorizonEngine
from homeward.solvers.kernels import SLACK
from homeward.solvers.problems import (
    ConstrainedProblem,
    HorizonProblem,
    PolicySolution,
    Problem,
    Status,
)

Start: TypeAlias = tuple[IntArray, FloatArray, float]  # the result of `first_policy`

ROUND_LIMIT = 1000


class Engine(ABC):
    """Evaluates and optimises policies for a model, a discount and totals [K, S, A]."""

    def __init__(self, discount: float, totals: FloatArray) -> None:
        self.discount, self.totals = discount, totals

    @abstractmethod
    def evaluate(self, policy: IntArray) -> FloatArray:
        """Return the exact values [K, S] of a policy [S] under every total."""

    @abstractmethod
    def _improve(
        self, weights: FloatArray, known: Start, limit: int, state: int | None
    ) -> tuple[IntArray, FloatArray, float, int]:
        """Return a policy [S], its values [K, S], an upper bound on max(TV − V), and the rounds.

        `known` is the result of `first_policy`. V and T are as in the module docstring.
        """

    def optimise(
        self,
        weights: FloatArray,
        start: Sequence[PolicySolution] = (),
        limit: int = ROUND_LIMIT,
        state: int | None = None,
    ) -> PolicySolution:
        """Return a policy that maximises ``Σ weights[k]·totals[k]``, starting from known policies.

        If the `limit` of rounds is reached, the policy is at least as good as each known one. If a
        `state` is given and a known policy is optimal there, that policy is returned with 0 rounds.
        An action whose first total is −inf is never chosen, even if its weight is 0.
        """
        first = first_policy(self.totals[0], weights, start)
        policy, values, most, rounds = self._improve(weights, first, limit, state)
        gap = most / (1.0 - self.discount)
        if rounds == 0 and state is not None:
            used = weights.tolist()
            best = max(start, key=lambda known: known.weighted_value(used, state))
            policy, values = best.policy, best.values
        elif rounds == 0:
            values = self.evaluate(policy)
        status = Status.OPTIMAL if gap < np.inf else Status.NOT_CONVERGED
        return PolicySolution(policy, values, gap, status, rounds)


def engine(model: Model, discount: float, totals: FloatArray) -> Engine:
    """Return the engine for a model and `totals` [K, S, A]; raise if these are invalid."""
    levels = np.zeros(max(0, len(totals) - 1))
    return _discounted(ConstrainedProblem(model, discount, 0, totals, levels))


def engine_for(problem: Problem) -> Engine | HorizonEngine:
    """Return the engine that evaluates and optimises the policies of a problem."""
    return HorizonEngine(problem) if isinstance(problem, HorizonProblem) else _discounted(problem)


def _discounted(problem: ConstrainedProblem) -> Engine:
    """Return the engine of a discounted problem, by the type of its model."""
    if isinstance(problem.model, Moves):
        return MovesEngine(problem.model, problem.discount, problem.totals)
    return SparseEngine(problem.model, problem.discount, problem.totals)


class MovesEngine(Engine):
    """Policy iteration on a move-or-stay graph, by compiled functions."""

    def __init__(self, model: Moves, discount: float, totals: FloatArray) -> None:
        super().__init__(discount, totals)
        go = np.where(model.dest == np.arange(model.states)[:, None], 0.0, model.success)
        tries = 1.0 / (1.0 - discount + discount * go)
        self._problem = kernels.MoveProblem(
            unsigned(model.dest), model.success, tries, *ways_to(model)[:2], discount, totals
        )

    def evaluate(self, policy: IntArray) -> FloatArray:
        """Return the exact values [K, S] of a policy [S] under every total."""
        values = np.empty(self.totals.shape[:2])
        kernels.evaluate_moves(self._problem, unsigned(policy), values)
        return values

    def _improve(
        self, weights: FloatArray, known: Start, limit: int, state: int | None
    ) -> tuple[IntArray, FloatArray, float, int]:
        policy, worth, size = known
        only = -1 if state is None else state
        rounds, most, values = kernels.optimise_moves(
            self._problem, weights, unsigned(policy), worth, size, limit, only
        )
        return policy, values, most, rounds


class SparseEngine(Engine):
    """Policy iteration on a general model, with evaluation by LU or GMRES."""

    def __init__(self, model: SparseMDP, discount: float, totals: FloatArray) -> None:
        super().__init__(discount, totals)
        self.folded = fold(model, discount)
        self._states = np.arange(model.states, dtype=np.int32)

    def evaluate(self, policy: IntArray) -> FloatArray:
        """Return the exact values [K, S] of a policy [S] under every total."""
        onward, leave = self.folded.rows(self._states, policy)
        gain = np.ascontiguousarray(self.totals[:, self._states, policy].T)
        value = solve_folded(onward, leave, gain)
        assert value is not None, "γ < 1 makes every row strictly dominant"
        return np.ascontiguousarray(value.T)

    def _improve(
        self, weights: FloatArray, known: Start, limit: int, state: int | None
    ) -> tuple[IntArray, FloatArray, float, int]:
        reward = np.empty(self.totals.shape[1:])
        kernels.combine(self.totals, weights, reward)
        policy, worth, size = known
        rounds, values, rises = 0, worth[None], np.full(len(worth), size < 0.0)
        while True:
            if rises.any():
                rounds, values = rounds + 1, self.evaluate(policy)
                kernels.weigh(values, weights, worth)
                size = float(np.abs(weights) @ np.abs(values).max(axis=1))
            q = self.folded.q(reward, worth)
            best = q.max(axis=1)
            held = worth if rounds == 0 else q[self._states, policy]
            rises = best - held > SLACK * size
            if not rises.any() or 0 < limit <= rounds:
                break
            policy = np.where(rises, q.argmax(axis=1), policy).astype(np.int32)
            rows, swept = self.folded.onward, worth.copy()
            entries = rows.indptr, rows.indices, rows.data
            np.copyto(swept, best, where=rises)
            kernels.sweep_rows(*entries, self.folded.leave, reward, SLACK * size, swept, policy)
        most = np.inf if rises.any() else max(0.0, float((best - worth).max()))
        return policy, values, most, rounds


def first_policy(reward: FloatArray, weights: FloatArray, start: Sequence[PolicySolution]) -> Start:
    """Return the policy [S] to start from, its worth [S], and the largest known |weighted value|.

    `start` are known policies. In each state, the returned policy takes the action of the known
    policy with the largest weighted value there. The worth is that value: a lower bound on the
    returned policy's value that no improvement step lowers. Without known policies, the policy
    takes the first action whose `reward` is finite, the worth is not set, and the third result is
    −1.
    """
    worth = np.empty(len(reward))
    if not start:
        first: IntArray = np.isfinite(reward).argmax(axis=1).astype(np.int32)
        return first, worth, -1.0
    policy, blend = start[0].policy.copy(), np.empty(len(reward))
    kernels.weigh(start[0].values, weights, worth)
    for known in start[1:]:
        kernels.weigh(known.values, weights, blend)
        better = blend > worth
        np.copyto(policy, known.policy, where=better)
        np.copyto(worth, blend, where=better)
    sizes = np.abs(weights).tolist()
    size = max(sum(w * v for w, v in zip(sizes, known.sizes, strict=True)) for known in start)
    return policy, worth, size
