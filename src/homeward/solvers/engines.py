r"""Ordinary discounted MDPs: exact evaluation and policy iteration, on both kinds of model.

Problem: a model, a discount γ and K totals, rewards [K, S, A] that a policy collects side by side.
An engine evaluates a policy under all of them at once, and maximises any weighted sum of them.

Method: policy iteration. A policy is evaluated exactly, on `Moves` in O(S) along its functional
graph, on `SparseMDP` by LU or, where that would fill up, by GMRES to rounding; self-loops are
folded (see `folding`). On `Moves` the improvement step is a few Gauss–Seidel sweeps in alternating
directions. A sweep records the best action that it last found in each state: if V ≤ TV before a
sweep, then V ≤ T_π V for the recorded policy π, so every round improves. After the first sweep a
round visits only states whose successors have changed. A start from several policies takes in each
state the action of the policy with the largest value there; that is at least as good as each.

Stopping: no action beats the policy's own by more than rounding (`SLACK` of the largest value).

Proof: with e ≥ max(TV − V), V* − V ≤ e/(1 − γ) everywhere; that is the reported gap. On `Moves` e
also covers changes that were too small to be looked at again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.solvers import kernels
from homeward.solvers.folding import fold, solve_folded
from homeward.solvers.graphs import unsigned, ways_to
from homeward.solvers.horizon import HorizonEngine
from homeward.solvers.kernels import SLACK
from homeward.solvers.policies import PolicySolution, best_known
from homeward.solvers.problems import LARGEST_TOTAL, HorizonProblem
from homeward.solvers.status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model, SparseMDP
    from homeward.solvers.problems import Problem

ROUND_LIMIT = 1000


class Engine(Protocol):
    """Optimises and evaluates policies for a model, a discount and totals."""

    def evaluate(self, policy: IntArray) -> FloatArray:
        """Return the exact values [K, S] of a policy [S] under every total."""
        ...

    def optimise(
        self,
        weights: FloatArray,
        start: Sequence[PolicySolution] = (),
        limit: int = ROUND_LIMIT,
        state: int | None = None,
    ) -> PolicySolution:
        """Return a policy that maximises ``Σ weights[k]·totals[k]``, starting from known ones.

        At the `limit` of rounds, the policy is still at least as good as those. If only one `state`
        matters and no policy is better there than a known one, that one is returned, with 0 rounds.
        An action whose first total is −inf is never chosen, whatever its weight.
        """
        ...


def engine(model: Model, discount: float, totals: FloatArray) -> Engine:
    """Return the engine for a model after checking its totals [K, S, A]."""
    totals = np.ascontiguousarray(totals, dtype=np.float64)
    if totals.ndim != 3 or totals.shape[1:] != (model.states, model.actions) or not len(totals):
        raise InvalidProblemError(
            f"the totals have shape {totals.shape}, expected [K, {model.states}, {model.actions}]"
        )
    if not 0.0 < discount < 1.0:
        raise InvalidProblemError(f"γ is {discount:g}, expected 0 < γ < 1")
    largest = LARGEST_TOTAL * (1.0 - discount)  # also catches NaN
    lowest = totals.min()
    if lowest == -np.inf:
        lowest = totals.min(where=totals > -np.inf, initial=0.0)
    if not (totals.max() < largest and lowest > -largest):
        raise InvalidProblemError(f"the totals contain NaN, or their sums exceed {LARGEST_TOTAL:g}")
    return engine_of(model, discount, totals)


def engine_for(problem: Problem) -> Engine:
    """Return the engine that evaluates and optimises the policies of a problem."""
    if isinstance(problem, HorizonProblem):
        return HorizonEngine(problem)
    return engine_of(problem.model, problem.discount, problem.totals)


def engine_of(model: Model, discount: float, totals: FloatArray) -> Engine:
    """Return the engine for a model on totals that were checked before."""
    if isinstance(model, Moves):
        return MovesEngine(model, discount, totals)
    return SparseEngine(model, discount, totals)


class MovesEngine:
    """Policy iteration on a move-or-stay graph, by compiled kernels."""

    def __init__(self, model: Moves, discount: float, totals: FloatArray) -> None:
        self.discount, self.totals = discount, totals
        tries, dest = np.empty(totals.shape[1:]), unsigned(model.dest)
        kernels.tries_of(dest, model.success, discount, tries)
        self._problem = kernels.MoveProblem(
            dest, model.success, tries, *ways_to(model)[:2], discount, totals
        )

    def evaluate(self, policy: IntArray) -> FloatArray:
        """Return the exact values [K, S] of a policy [S] under every total."""
        values = np.empty(self.totals.shape[:2])
        kernels.evaluate_moves(self._problem, unsigned(policy), values)
        return values

    def optimise(
        self,
        weights: FloatArray,
        start: Sequence[PolicySolution] = (),
        limit: int = ROUND_LIMIT,
        state: int | None = None,
    ) -> PolicySolution:
        """Return a policy that maximises ``Σ weights[k]·totals[k]``, starting from known ones."""
        policy, worth, size = first_policy(self.totals[0], weights, start)
        rounds, most, values = kernels.optimise_moves(
            self._problem,
            weights,
            unsigned(policy),
            worth,
            size,
            limit,
            -1 if state is None else state,
        )
        gap = most / (1.0 - self.discount)
        if rounds == 0:
            return known_best(self, weights, start, policy, state, gap)
        status = Status.OPTIMAL if gap < np.inf else Status.NOT_CONVERGED
        return PolicySolution(policy, values, gap, status, rounds)


class SparseEngine:
    """Policy iteration on a general model, with LU evaluation."""

    def __init__(self, model: SparseMDP, discount: float, totals: FloatArray) -> None:
        self.totals = totals
        self.folded = fold(model, discount)
        self._discount = discount
        self._states = np.arange(model.states, dtype=np.int32)

    def evaluate(self, policy: IntArray) -> FloatArray:
        """Return the exact values [K, S] of a policy [S] under every total."""
        onward, leave = self.folded.rows(self._states, policy)
        gain = np.ascontiguousarray(self.totals[:, self._states, policy].T)
        value = solve_folded(onward, leave, gain)
        assert value is not None, "γ < 1 makes every row strictly dominant"
        return np.ascontiguousarray(value.T)

    def optimise(
        self,
        weights: FloatArray,
        start: Sequence[PolicySolution] = (),
        limit: int = ROUND_LIMIT,
        state: int | None = None,
    ) -> PolicySolution:
        """Return a policy that maximises ``Σ weights[k]·totals[k]``, starting from known ones."""
        reward = np.empty(self.totals.shape[1:])
        kernels.combine(self.totals, weights, reward)
        policy, worth, size = first_policy(self.totals[0], weights, start)
        rounds, values = 0, worth[None]
        if not start:
            rounds, values = 1, self.evaluate(policy)
            size = _weigh(values, weights, worth)
        while True:
            q = self.folded.q(reward, worth)
            choice = q.argmax(axis=1).astype(np.int32)
            best = q[self._states, choice]
            held = worth if rounds == 0 else q[self._states, policy]
            rises = best - held > SLACK * size
            if not rises.any() or 0 < limit <= rounds:
                break
            policy = np.where(rises, choice, policy)
            rounds, values = rounds + 1, self.evaluate(policy)
            size = _weigh(values, weights, worth)
        most = max(0.0, float((best - worth).max()))
        gap = np.inf if rises.any() else most / (1.0 - self._discount)
        if rounds == 0:
            return known_best(self, weights, start, policy, state, gap)
        status = Status.NOT_CONVERGED if rises.any() else Status.OPTIMAL
        return PolicySolution(policy, values, gap, status, rounds)


def _weigh(values: FloatArray, weights: FloatArray, worth: FloatArray) -> float:
    """Write the weighted sum [S] of values [K, S]; return that of their largest sizes."""
    kernels.weigh(values, weights, worth)
    return float(np.abs(weights) @ np.abs(values).max(axis=1))


def first_policy(
    reward: FloatArray, weights: FloatArray, start: Sequence[PolicySolution]
) -> tuple[IntArray, FloatArray, float]:
    """Return the policy [S] to start from, its worth [S] and the size of its values.

    In each state the policy is that of the best known policy there; its worth, the largest of
    theirs, is a lower bound that no improvement step lowers. Without known policies it is the first
    action that can be chosen, the worth is not set and the size is −1.
    """
    worth = np.empty(len(reward))
    if not start:
        first: IntArray = np.isfinite(reward).argmax(axis=1).astype(np.int32)
        return first, worth, -1.0
    policy, blend = start[0].policy.copy(), np.empty(len(reward))
    kernels.weigh(start[0].values, weights, worth)
    for known in start[1:]:
        kernels.take_better(known.values, known.policy, weights, blend, worth, policy)
    sizes = np.abs(weights).tolist()
    size = max(sum(w * v for w, v in zip(sizes, known.sizes, strict=True)) for known in start)
    return policy, worth, size


def known_best(
    engine: Engine,
    weights: FloatArray,
    start: Sequence[PolicySolution],
    policy: IntArray,
    state: int | None,
    gap: float,
) -> PolicySolution:
    """Return the solution of a known policy that is optimal, in one state or everywhere."""
    if state is None:
        return PolicySolution(policy, engine.evaluate(policy), gap, Status.OPTIMAL, 0)
    best = best_known(start, weights.tolist(), state)
    return PolicySolution(best.policy, best.values, gap, Status.OPTIMAL, 0)
