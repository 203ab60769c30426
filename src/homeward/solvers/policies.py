r"""MDPs with one reward: exact evaluation and policy iteration, one for each type of model.

Problem: a model, a discount γ and K totals. A total is a reward [S, A] that a policy collects. An
engine evaluates a policy under all totals at once, and maximises any weighted sum of totals.

Method: policy iteration. A policy is evaluated exactly: on `Moves` in O(S) along its functional
graph; on `SparseMDP` by LU, by GMRES to rounding if LU would need too much memory, or in one pass
if every row leads to lower states. Self-loops are folded (see `folding`). The improvement step is a
few Gauss–Seidel sweeps in alternating directions. A sweep records the best action that it last
found in each state: if V ≤ TV before a sweep, then V ≤ T_π V for the recorded policy π, so every
round improves. On `Moves`, after the first sweep a round visits only states whose successors have
changed. If several policies are given to start from, the first policy takes in each state the
action of the policy with the largest value there; it is at least as good as each given one.

Stopping: no action beats the policy's own by more than rounding (`SLACK` of the largest value).

Proof: with e ≥ max(TV − V), V* − V ≤ e·span everywhere, where span bounds the expected number of
steps; e·span is the reported gap. Here V is the value of the policy, T the optimal improvement step
and V* the optimum. On `Moves`, e includes the changes that were too small to visit a state again.
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
from homeward.solvers.paths import unsigned, ways_to
from homeward.solvers.problems import ConstrainedProblem, PolicySolution, Status
from homeward.solvers.tolerances import RETURN_GAP, SLACK

Start: TypeAlias = tuple[IntArray, FloatArray, float]  # the result of `first_policy`
Improved: TypeAlias = tuple[IntArray, FloatArray, float, int]  # the result of `Engine._improve`

ROUND_LIMIT = 1000
STOP = -1  # value in a policy instead of an action: the process is stopped in this state


class Engine(ABC):
    """Evaluates and optimises policies for a model, a discount and totals [K, S, A]."""

    def __init__(self, discount: float, totals: FloatArray, span: float) -> None:
        self.discount, self.totals, self.span = discount, totals, span

    @abstractmethod
    def evaluate(self, policy: IntArray) -> FloatArray:
        """Return the exact values [K, S] of a policy [S] under every total."""

    @abstractmethod
    def _improve(
        self, weights: FloatArray, known: Start, limit: int, state: int | None
    ) -> Improved:
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
        gap = most * self.span
        if rounds == 0 and state is not None:
            used = weights.tolist()
            best = max(start, key=lambda known: known.weighted_value(used, state))
            policy, values = best.policy, best.values
        elif rounds == 0:
            values = self.evaluate(policy)
        status = Status.OPTIMAL if gap < np.inf else Status.NOT_CONVERGED
        return PolicySolution(policy, values, gap, status, rounds)


def engine(model: Model, discount: float, totals: FloatArray, steps: int | None = None) -> Engine:
    """Return the engine for a model and `totals` [K, S, A]; raise if these are invalid.

    γ = 1 requires the largest number of `steps`, see `ConstrainedProblem`.
    """
    levels = np.zeros(max(0, len(totals) - 1))
    return engine_for(ConstrainedProblem(model, discount, 0, totals, levels, steps))


def engine_for(problem: ConstrainedProblem) -> Engine:
    """Return the engine that evaluates and optimises the policies of a problem."""
    if isinstance(problem.model, Moves):
        return MovesEngine(problem.model, problem.discount, problem.totals, problem.span)
    return SparseEngine(problem.model, problem.discount, problem.totals, problem.span)


class MovesEngine(Engine):
    """Policy iteration on a move-or-stay graph, by compiled functions."""

    def __init__(self, model: Moves, discount: float, totals: FloatArray, span: float) -> None:
        super().__init__(discount, totals, span)
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
    ) -> Improved:
        policy, worth, size = known
        only = -1 if state is None else state
        rounds, most, values = kernels.optimise_moves(
            self._problem, weights, unsigned(policy), worth, size, limit, only
        )
        return policy, values, most, rounds


class SparseEngine(Engine):
    """Policy iteration on a general model.

    If `stop` [K, S] is given, the process may be stopped in every state, which is worth
    ``stop[:, s]``; a policy has `STOP` there. Then γ may be 1 on any model without positive
    rewards. An action is changed only if this strictly improves the value, so every policy that is
    reached from a proper one is proper: a closed loop would have to earn something.
    """

    def __init__(
        self,
        model: SparseMDP,
        discount: float,
        totals: FloatArray,
        span: float,
        stop: FloatArray | None = None,
    ) -> None:
        super().__init__(discount, totals, span)
        self.folded = fold(model, discount)
        self.stop = stop
        rows = self.folded.onward
        self._rows = rows.indptr, rows.indices, rows.data, self.folded.leave
        self._states = np.arange(model.states, dtype=np.int32)

    def evaluate(self, policy: IntArray) -> FloatArray:
        """Return the exact values [K, S] of a policy [S] under every total.

        They are NaN if, by rounding, the linear system is singular, which γ < 1 rules out.
        """
        values = np.zeros(self.totals.shape[:2]) if self.stop is None else self.stop.copy()
        if self.folded.ordered:
            kernels.evaluate_rows(*self._rows, self.totals, policy, values)
            return values
        active = self._states if self.stop is None else np.flatnonzero(policy != STOP)
        values[:, active] = 0.0
        onward, leave = self.folded.rows(active, policy)
        gain = self.totals[:, active, policy[active]].T
        if len(active) < len(policy):
            gain = gain + onward @ values.T
            onward = onward[:, active]
        solved = solve_folded(onward, leave, np.ascontiguousarray(gain))
        values[:, active] = np.nan if solved is None else solved.T
        return values

    def _improve(
        self, weights: FloatArray, known: Start, limit: int, state: int | None
    ) -> Improved:
        reward = np.empty(self.totals.shape[1:])
        kernels.combine(self.totals, weights, reward)
        stop = np.full(len(reward), -np.inf) if self.stop is None else weights @ self.stop
        policy, worth, size = known
        rounds, values, rises = 0, worth[None], np.full(len(worth), size < 0.0)
        kept = policy
        while True:
            if rises.any():
                rounds, found = rounds + 1, self.evaluate(policy)
                if not np.isfinite(found).all():
                    return kept, self.evaluate(kept), np.inf, rounds
                values = found
                kernels.weigh(values, weights, worth)
                size = float(np.abs(weights) @ np.abs(values).max(axis=1))
            kept = policy
            q = self.folded.q(reward, worth)
            best, choice = np.maximum(q.max(axis=1), stop), q.argmax(axis=1).astype(np.int32)
            choice[best == stop] = STOP
            own = np.where(policy == STOP, stop, q[self._states, np.maximum(policy, 0)])
            gain = best - (worth if rounds == 0 else own)
            rises = gain > SLACK * size
            if 0 < limit <= rounds:
                break
            if not rises.any():
                if self.stop is None or not (gain > 0.0).any():
                    break
                # Gains that are as small as rounding may add up: take all of them at once.
                policy = np.where(gain > 0.0, choice, policy)
                rise = weights @ self.evaluate(policy) - worth
                if not (rise.max() > RETURN_GAP and rise.min() >= -RETURN_GAP):  # also for NaN
                    policy = kept
                    break
                rises = rise > 0.0
                continue
            policy, swept = np.where(rises, choice, policy), worth.copy()
            np.copyto(swept, best, where=rises)
            kernels.sweep_rows(*self._rows, reward, stop, SLACK * size, swept, policy)
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
