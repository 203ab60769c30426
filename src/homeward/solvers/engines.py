r"""Ordinary discounted MDPs: exact evaluation and policy iteration, on both kinds of model.

An engine is a model, a discount γ and K totals: rewards [K, S, A] that a policy collects side by
side. It evaluates a policy under all of them at once, and maximises any weighted sum of them.

Method: policy iteration. A policy is evaluated exactly, on `Moves` in O(S) along its functional
graph, on `SparseMDP` by LU or, where that would fill up, by GMRES to rounding; self-loops are
folded (see `folding`). On `Moves` the improvement step is a few Gauss–Seidel sweeps in alternating
directions, each of which keeps the action it last found best: if V ≤ TV before a sweep, then
V ≤ T_π V for the policy π that the sweep records, so every round improves. A start from several
policies takes in each state the action of the one that is worth most there, which is worth at
least each of them.

Stopping: no action beats the policy's own by more than rounding (`SLACK` of the largest value).

Proof: with e = max(TV − V), V* − V ≤ e/(1 − γ) everywhere; that is the reported gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.solvers import kernels
from homeward.solvers.folding import fold, solve_folded
from homeward.solvers.status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model, SparseMDP

SLACK = 2e-14
SWEEPS = 4
ROUND_LIMIT = 1000
LARGEST = 1e290
"""No total may come near what a float can hold."""


@dataclass(frozen=True, slots=True, eq=False)
class PolicySolution:
    """A deterministic policy, its exact values, and how far any policy could be above it."""

    policy: IntArray  # [S]
    values: FloatArray  # [K, S] under each total
    gap: float  # no policy's weighted sum is above this one's by more, in any state
    status: Status
    rounds: int


class Engine(Protocol):
    """A model, a discount and totals, made ready to optimise and evaluate policies on."""

    def evaluate(self, policy: IntArray) -> FloatArray:
        """Give the exact values [K, S] of a policy [S] under every total."""
        ...

    def optimise(
        self,
        weights: FloatArray,
        start: Sequence[PolicySolution] = (),
        limit: int = ROUND_LIMIT,
    ) -> PolicySolution:
        """Find a policy that maximises ``Σ weights[k]·totals[k]``, starting from known ones.

        Stopped at `limit` rounds, its policy is still at least as good as those. An action whose
        first total is −inf is never chosen, whatever its weight.
        """
        ...


def engine(model: Model, discount: float, totals: FloatArray) -> Engine:
    """Make the engine that suits the kind of model; `totals` is [K, S, A]."""
    totals = np.ascontiguousarray(totals, dtype=np.float64)
    if totals.ndim != 3 or totals.shape[1:] != (model.states, model.actions) or not len(totals):
        raise InvalidProblemError(
            f"the totals have shape {totals.shape}, expected [K, {model.states}, {model.actions}]"
        )
    if not 0.0 < discount < 1.0:
        raise InvalidProblemError(f"γ is {discount:g}, expected 0 < γ < 1")
    largest = LARGEST * (1.0 - discount)  # NaN is not below it either
    lowest = totals.min()
    if lowest == -np.inf:
        lowest = totals.min(where=totals > -np.inf, initial=0.0)
    if not (totals.max() < largest and lowest > -largest):
        raise InvalidProblemError(f"the totals hold NaN or what would add up past {LARGEST:g}")
    if isinstance(model, Moves):
        return MovesEngine(model, discount, totals)
    return SparseEngine(model, discount, totals)


class MovesEngine:
    """Policy iteration on a move-or-stay graph, by compiled kernels that allocate nothing."""

    def __init__(self, model: Moves, discount: float, totals: FloatArray) -> None:
        self.model, self.discount, self.totals = model, discount, totals
        self._carry = np.empty(totals.shape[1:])
        kernels.fold_moves(model.success, discount, self._carry)
        self._reward = np.empty(totals.shape[1:])
        self._gain = np.empty(totals.shape[:2])
        self._value = np.empty((1, model.states))
        self._scratch = (np.empty(model.states, np.uint8), np.empty(model.states, np.int32))

    def evaluate(self, policy: IntArray) -> FloatArray:
        """Give the exact values [K, S] of a policy [S] under every total."""
        values = np.empty_like(self._gain)
        kernels.gains_of(self.model.success, self.discount, self.totals, policy, self._gain)
        kernels.evaluate_moves(
            self.model.dest, self._carry, self._gain, policy, values, *self._scratch
        )
        return values

    def optimise(
        self,
        weights: FloatArray,
        start: Sequence[PolicySolution] = (),
        limit: int = ROUND_LIMIT,
    ) -> PolicySolution:
        """Find a policy that maximises ``Σ weights[k]·totals[k]``, starting from known ones."""
        kernels.combine_moves(self.model.success, self.discount, self.totals, weights, self._reward)
        policy = first_policy(self.totals[0], weights, start)
        rounds, switches, gain = kernels.optimise_moves(
            self.model.dest,
            self._carry,
            self._reward,
            SLACK,
            SWEEPS,
            limit,
            policy,
            self._gain[:1],
            self._value,
            *self._scratch,
        )
        done = switches == 0
        return PolicySolution(
            policy,
            self.evaluate(policy),
            gain / (1.0 - self.discount) if done else np.inf,
            Status.OPTIMAL if done else Status.NOT_CONVERGED,
            rounds,
        )


class SparseEngine:
    """Policy iteration on a general model, with LU evaluation."""

    def __init__(self, model: SparseMDP, discount: float, totals: FloatArray) -> None:
        self.totals = totals
        self.folded = fold(model, discount)
        self._discount = discount
        self._states = np.arange(model.states, dtype=np.int32)

    def evaluate(self, policy: IntArray) -> FloatArray:
        """Give the exact values [K, S] of a policy [S] under every total."""
        return self._solve(policy, self.totals[:, self._states, policy])

    def optimise(
        self,
        weights: FloatArray,
        start: Sequence[PolicySolution] = (),
        limit: int = ROUND_LIMIT,
    ) -> PolicySolution:
        """Find a policy that maximises ``Σ weights[k]·totals[k]``, starting from known ones."""
        reward = np.empty(self.totals.shape[1:])
        kernels.combine(self.totals, weights, reward)
        policy = first_policy(self.totals[0], weights, start)
        rounds, status, gain = 0, Status.NOT_CONVERGED, np.inf
        while rounds < limit:
            rounds += 1
            value = self._solve(policy, reward[None, self._states, policy])[0]
            q = self.folded.q(reward, value)
            choice = q.argmax(axis=1).astype(np.int32)
            better = q[self._states, choice] - q[self._states, policy]
            gain = float(better.max())
            switch = better > SLACK * float(np.abs(value).max())
            if not switch.any():
                status = Status.OPTIMAL
                break
            policy = np.where(switch, choice, policy)
        gap = gain / (1.0 - self._discount) if status is Status.OPTIMAL else np.inf
        return PolicySolution(policy, self.evaluate(policy), gap, status, rounds)

    def _solve(self, policy: IntArray, gain: FloatArray) -> FloatArray:
        onward, leave = self.folded.rows(self._states, policy)
        value = solve_folded(onward, leave, np.ascontiguousarray(gain.T))
        assert value is not None, "γ < 1 makes every row strictly dominant"
        return np.ascontiguousarray(value.T)


def first_policy(
    reward: FloatArray, weights: FloatArray, start: Sequence[PolicySolution]
) -> IntArray:
    """Pick where to start: the best of known policies in each state, or the first that can be."""
    if not start:
        first: IntArray = np.isfinite(reward).argmax(axis=1).astype(np.int32)
        return first
    policy = np.empty(len(reward), np.int32)
    worth = np.full(len(reward), -np.inf)
    for known in start:
        kernels.take_better(known.values, known.policy, weights, worth, policy)
    return policy
