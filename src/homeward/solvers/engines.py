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

After its first sweep a round looks only at states whose successors have changed.

Stopping: no action beats the policy's own by more than rounding (`SLACK` of the largest value).

Proof: with e ≥ max(TV − V), V* − V ≤ e/(1 − γ) everywhere; that is the reported gap. On `Moves` e
also allows for what was too small a change to be looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.solvers import kernels
from homeward.solvers.folding import fold, solve_folded
from homeward.solvers.graphs import unsigned, ways_to
from homeward.solvers.status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model, SparseMDP

SLACK = 2e-14
SWEEPS = 24
ROUND_LIMIT = 1000
LARGEST = 1e290
"""No total may come near what a float can hold."""


@dataclass(frozen=True, slots=True, eq=False)
class PolicySolution:
    """A deterministic policy, its exact values, and how far any policy could be above it."""

    policy: IntArray  # [S]
    values: FloatArray  # [K, S] under each total, finite
    gap: float  # no policy's weighted sum is above this one's by more, where it was asked for
    status: Status
    rounds: int
    sizes: tuple[float, ...] = field(init=False)  # K of them: the largest value, signless

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(kernels.sizes_of(self.values).tolist()))

    def worth(self, weights: Sequence[float], state: int) -> float:
        """Give the weighted sum of the values in a state."""
        here = self.values[:, state].tolist()
        return float(sum(w * v for w, v in zip(weights, here, strict=True)))


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
        state: int | None = None,
    ) -> PolicySolution:
        """Find a policy that maximises ``Σ weights[k]·totals[k]``, starting from known ones.

        Stopped at `limit` rounds, its policy is still at least as good as those. Where only one
        `state` matters and nothing is better there than a known policy, that one is given back, in
        no rounds. An action whose first total is −inf is never chosen, whatever its weight.
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
    return engine_of(model, discount, totals)


def engine_of(model: Model, discount: float, totals: FloatArray) -> Engine:
    """Make an engine on totals that were checked before."""
    if isinstance(model, Moves):
        return MovesEngine(model, discount, totals)
    return SparseEngine(model, discount, totals)


class MovesEngine:
    """Policy iteration on a move-or-stay graph, by compiled kernels."""

    def __init__(self, model: Moves, discount: float, totals: FloatArray) -> None:
        self.model, self.discount, self.totals = model, discount, totals
        states, shape = model.states, totals.shape[1:]
        tries, dest = np.empty(shape), unsigned(model.dest)
        kernels.tries_of(dest, model.success, discount, tries)
        self.graph = kernels.Graph(dest, model.success, tries, *ways_to(model)[:2])
        self.scratch = kernels.Scratch(
            worth=np.empty(states),
            blend=np.empty(states),
            onto=np.empty(states, np.uint32),
            share=np.empty(states),
            gain=np.empty(totals.shape[:2]),
            mark=np.empty(states, np.uint8),
            path=np.empty(states, np.uint32),
            stale=np.empty(-(-states // 8) * 8, np.uint8),
        )

    def evaluate(self, policy: IntArray) -> FloatArray:
        """Give the exact values [K, S] of a policy [S] under every total."""
        values = np.empty(self.totals.shape[:2])
        chosen = unsigned(policy)
        kernels.value_moves(self.graph, self.discount, self.totals, chosen, values, self.scratch)
        return values

    def optimise(
        self,
        weights: FloatArray,
        start: Sequence[PolicySolution] = (),
        limit: int = ROUND_LIMIT,
        state: int | None = None,
    ) -> PolicySolution:
        """Find a policy that maximises ``Σ weights[k]·totals[k]``, starting from known ones."""
        policy, worth, size = first_policy(self.totals[0], weights, start)
        values: FloatArray = np.empty(self.totals.shape[:2])
        rounds, most = kernels.optimise_moves(
            self.graph,
            self.discount,
            self.totals,
            weights,
            SLACK,
            SWEEPS,
            limit,
            -1 if state is None else state,
            size,
            unsigned(policy),
            worth,
            values,
            self.scratch,
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
        """Give the exact values [K, S] of a policy [S] under every total."""
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
        """Find a policy that maximises ``Σ weights[k]·totals[k]``, starting from known ones."""
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
    """Write what values [K, S] are worth together [S]; give the size of what is added up."""
    kernels.weigh(values, weights, worth)
    return float(np.abs(weights) @ np.abs(values).max(axis=1))


def first_policy(
    reward: FloatArray, weights: FloatArray, start: Sequence[PolicySolution]
) -> tuple[IntArray, FloatArray, float]:
    """Pick where to start: the best of known policies in each state, or the first that can be.

    Gives the policy [S] and, of known ones, what the best is worth [S], which no improvement step
    lowers, and the largest size of what is added up to that. Without any the size is −1.
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
    """Give what is best of known policies that nothing beats: in one state, or everywhere."""
    if state is None:
        return PolicySolution(policy, engine.evaluate(policy), gap, Status.OPTIMAL, 0)
    shares = weights.tolist()
    best = max(start, key=lambda known: known.worth(shares, state))
    return PolicySolution(best.policy, best.values, gap, Status.OPTIMAL, 0)
