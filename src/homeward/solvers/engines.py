r"""Ordinary discounted MDPs: exact evaluation and policy iteration, on both kinds of model.

Problem: maximise over deterministic stationary policies the value V = Σ γᵗ reward from every state.

Method: policy iteration. A policy is evaluated exactly, on `Moves` in O(S) along its functional
graph, on `SparseMDP` by sparse LU; self-loops are folded (see `folding`). On `Moves` the
improvement step is a few Gauss–Seidel sweeps in alternating directions, each of which keeps the
action it last found best: if V ≤ TV before a sweep, then V ≤ T_π V for the policy π that the sweep
records, so every round improves.

Stopping: no action beats the policy's own by more than rounding (`SLACK` of the largest value).

Proof: with e = max(TV − V), V* − V ≤ e/(1 − γ) everywhere; that is the reported gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from homeward.models import Moves
from homeward.solvers import kernels
from homeward.solvers.folding import fold, solve_folded
from homeward.solvers.status import Status

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model, SparseMDP

SLACK = 2e-14
SWEEPS = 4
ROUND_LIMIT = 1000


@dataclass(frozen=True, slots=True, eq=False)
class PolicySolution:
    """A deterministic policy, its exact value, and how far any policy could be above it."""

    policy: IntArray  # [S]
    value: FloatArray  # [S]
    gap: float  # V* − value ≤ gap in every state
    status: Status
    rounds: int


class Engine(Protocol):
    """A model and a discount, made ready to optimise and evaluate policies on."""

    def evaluate(self, policy: IntArray, rewards: FloatArray) -> FloatArray:
        """Give the exact values [K, S] of a policy [S] under several rewards [K, S, A]."""
        ...

    def optimise(self, reward: FloatArray, policy: IntArray | None = None) -> PolicySolution:
        """Find an optimal policy for one reward [S, A], starting from `policy` [S]."""
        ...


def engine(model: Model, discount: float) -> Engine:
    """Make the engine that suits the kind of model."""
    if isinstance(model, Moves):
        return MovesEngine(model, discount)
    return SparseEngine(model, discount)


class MovesEngine:
    """Policy iteration on a move-or-stay graph, by compiled kernels."""

    def __init__(self, model: Moves, discount: float) -> None:
        self.model = model
        self.discount = discount

    def evaluate(self, policy: IntArray, rewards: FloatArray) -> FloatArray:
        """Give the exact values [K, S] of a policy [S] under several rewards [K, S, A]."""
        states = np.arange(self.model.states)
        follow = self.model.dest[states, policy]
        p = self.model.success[states, policy]
        scale = 1.0 - self.discount + self.discount * p
        value = np.empty((len(rewards), self.model.states))
        kernels.evaluate_graph(
            follow,
            self.discount * p / scale,
            rewards[:, states, policy] / scale,
            value,
            np.zeros(self.model.states, np.uint8),
            np.empty(self.model.states, np.int32),
        )
        return value

    def optimise(self, reward: FloatArray, policy: IntArray | None = None) -> PolicySolution:
        """Find an optimal policy for one reward [S, A], starting from `policy` [S]."""
        graph = (self.model.dest, self.model.success, self.discount, reward)
        best = first_policy(reward) if policy is None else policy.copy()
        rounds, status = 0, Status.NOT_CONVERGED
        while rounds < ROUND_LIMIT:
            rounds += 1
            value = self.evaluate(best, reward[None])[0]
            slack = SLACK * float(np.abs(value).max())
            ahead = value.copy()
            switches = kernels.sweep_moves(*graph, True, slack, ahead, best)
            if switches == 0:
                status = Status.OPTIMAL
                break
            for i in range(1, SWEEPS):
                kernels.sweep_moves(*graph, i % 2 == 0, slack, ahead, best)
        else:
            value = self.evaluate(best, reward[None])[0]
        gain = max(0.0, kernels.largest_gain_moves(*graph, value))
        return PolicySolution(best, value, gain / (1.0 - self.discount), status, rounds)


class SparseEngine:
    """Policy iteration on a general model, with LU evaluation."""

    def __init__(self, model: SparseMDP, discount: float) -> None:
        self.discount = discount
        self.folded = fold(model, discount)
        self._states = np.arange(model.states, dtype=np.int32)

    def evaluate(self, policy: IntArray, rewards: FloatArray) -> FloatArray:
        """Give the exact values [K, S] of a policy [S] under several rewards [K, S, A]."""
        onward, leave = self.folded.rows(self._states, policy)
        gain = np.ascontiguousarray(rewards[:, self._states, policy].T)
        value = solve_folded(onward, leave, gain)
        assert value is not None, "γ < 1 makes every row strictly dominant"
        return np.ascontiguousarray(value.T)

    def optimise(self, reward: FloatArray, policy: IntArray | None = None) -> PolicySolution:
        """Find an optimal policy for one reward [S, A], starting from `policy` [S]."""
        best = first_policy(reward) if policy is None else policy.copy()
        rounds, status = 0, Status.NOT_CONVERGED
        while rounds < ROUND_LIMIT:
            rounds += 1
            value = self.evaluate(best, reward[None])[0]
            q = self.folded.q(reward, value)
            kept = q[self._states, best]
            choice = q.argmax(axis=1).astype(np.int32)
            slack = SLACK * float(np.abs(value).max())
            switch = q[self._states, choice] > kept + slack
            if not switch.any():
                status = Status.OPTIMAL
                break
            best = np.where(switch, choice, best)
        else:
            value = self.evaluate(best, reward[None])[0]
            q = self.folded.q(reward, value)
        gain = max(0.0, float((q.max(axis=1) - value).max()))
        return PolicySolution(best, value, gain / (1.0 - self.discount), status, rounds)


def first_policy(reward: FloatArray) -> IntArray:
    """Pick the first action that can be chosen in each state."""
    first: IntArray = np.isfinite(reward).argmax(axis=1).astype(np.int32)
    return first
