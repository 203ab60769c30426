"""The way home: a lower bound on the probability of returning, and the policy that achieves it.

Problem: from every state, collect ``correction[s, a] ≤ 0`` and move by p, until home pays 1 and
ends it. Giving up is always allowed and worth 0. Hence 0 ≤ value ≤ 1 and value[home] = 1.

Method on `Moves`: a shortest path. Repeating a in s until it works pays correction/success once,
so value = max(0, 1 − distance), by one Dijkstra search from home over reversed edges. Exact.

Method on `SparseMDP`: policy iteration from giving up everywhere. Switching only where it strictly
helps keeps every policy proper (a closed loop would have to earn something, and all corrections
are ≤ 0), so each iterate's exact value is a valid bound and stopping early is sound.

Stopping: no state gains more than `GAIN_TOLERANCE` from one step. Smaller gains are mostly rounding
but may repeat, so at the end they are all applied at once, and kept if they add up.

Proof: the result is the last policy's value less an allowance for the rounding of its linear solve,
`UNIT` times the expected number of moves until it ends. The gap is the most that one improvement
step could still add in any state, plus that allowance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import first_of, indices, is_default_zero, numbers, place
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.solvers.folding import fold, solve_folded
from homeward.solvers.graphs import chances_home, distances_home, unsigned, ways_to
from homeward.solvers.problems import Status

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import Model, SparseMDP
    from homeward.solvers.folding import Folded

GAIN_TOLERANCE = 1e-13
"""A gain above this is an improvement, not rounding."""
GAP_TOLERANCE = 1e-9
"""Largest gap of an optimal way home."""
UNIT = 32 * float(np.finfo(np.float64).eps)
"""Rounding of a probability per move."""
ROUND_LIMIT = 1000

GIVE_UP = -1
"""The action of a return policy that stops trying; also its action at home."""


@dataclass(frozen=True, slots=True, eq=False)
class ReturnSolution:
    """The best provable way home."""

    value: FloatArray  # [S] a lower bound on the probability of returning, in [0, 1]
    policy: IntArray  # [S] the action to take, or GIVE_UP
    gap: float
    status: Status
    rounds: int
    layers: IntArray | None = None  # [L, S] with a limit on steps: the policies by steps left
    since: IntArray | None = None  # [L] least number of steps left at which each is followed


def solve_return(model: Model, correction: FloatArray, home: IntArray) -> ReturnSolution:
    """Maximise the corrected probability of reaching any state of `home` [n].

    `correction` [S, A] is at most 0.
    """
    home, correction = check_home(model, home), check_correction(model, correction)
    if isinstance(model, Moves):
        distance, policy = distances_home(
            unsigned(model.dest), open_success(model), correction, unsigned(home), ways_to(model)
        )
        return ReturnSolution(chances_home(distance), policy, 0.0, Status.OPTIMAL, 1)
    return _policy_iteration(model, correction, home)


def check_home(model: Model, home: IntArray) -> IntArray:
    """Return states [n] of a model, at least one, as int32."""
    home = indices(home, "home", None, (0, model.states), "n", InvalidProblemError)
    if home.ndim != 1 or home.size == 0:
        raise InvalidProblemError(f"home has shape {home.shape}, expected at least one state [n]")
    return home


def check_correction(model: Model, correction: FloatArray) -> FloatArray:
    """Return a finite correction [S, A], at most 0."""
    shape = (model.states, model.actions)
    correction = numbers(correction, "the correction", shape, InvalidProblemError)
    if not (correction.min() > -np.inf and correction.max() <= 0.0):
        at = first_of(~((correction <= 0.0) & (correction > -np.inf)))
        raise InvalidProblemError(
            f"the correction {place(at, 'sa')} is {correction[at]:g}, expected at most 0"
        )
    return correction


def open_success(model: Moves) -> FloatArray:
    """Return the success probabilities [S, A], 0 for actions that can't be chosen."""
    if is_default_zero(model.reward):
        return model.success
    return np.where(np.isfinite(model.reward), model.success, 0.0)


def _policy_iteration(model: SparseMDP, correction: FloatArray, home: IntArray) -> ReturnSolution:
    folded = fold(model, 1.0)
    reward = np.where(np.isfinite(model.reward), correction, -np.inf)
    at_home = np.zeros(model.states, dtype=bool)
    at_home[home] = True
    policy = np.full(model.states, GIVE_UP, dtype=np.int32)
    value, moves = at_home.astype(np.float64), np.zeros(model.states)
    status, gap, rounds = Status.NOT_CONVERGED, 1.0, 0
    while rounds < ROUND_LIMIT:
        rounds += 1
        q = folded.q(reward, value)
        choice = q.argmax(axis=1).astype(np.int32)
        gain = np.where(at_home, 0.0, q[np.arange(model.states), choice] - value)
        gap = max(0.0, float(gain.max()))
        settled = gap <= GAIN_TOLERANCE  # the rest is rounding, or a small gain that repeats
        rising = gain > (0.0 if settled else GAIN_TOLERANCE)
        better = np.where(rising, choice, policy)
        solved = _evaluate(folded, reward, better, at_home) if gap > 0.0 else None
        rise = np.zeros(1) if solved is None else solved[0] - value
        repeats = rise.max() > GAP_TOLERANCE and rise.min() >= -GAP_TOLERANCE  # gains add up
        if settled and not repeats:
            status = Status.OPTIMAL
            break
        if solved is None:
            status = Status.NUMERICAL
            break
        policy, (value, moves) = better, solved
    allowance = UNIT * moves
    sure = np.where(at_home, 1.0, np.clip(value - allowance, 0.0, 1.0))
    gap += min(1.0, float(allowance.max()))
    if gap > GAP_TOLERANCE and status is Status.OPTIMAL:
        status = Status.NUMERICAL
    return ReturnSolution(sure, policy, gap, status, rounds)


def _evaluate(
    folded: Folded, reward: FloatArray, policy: IntArray, at_home: BoolArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return the value [S] of a proper return policy and its expected number of moves [S].

    Returns None if rounding makes the linear system singular or its solution impossible.
    """
    value = at_home.astype(np.float64)
    moves = np.zeros_like(value)
    active = np.flatnonzero((policy != GIVE_UP) & ~at_home).astype(np.int32)
    onward, leave = folded.rows(active, policy)
    gain = np.column_stack([reward[active, policy[active]] + onward @ value, leave])
    solved = solve_folded(onward[:, active], leave, gain)
    if solved is None or not np.isfinite(solved).all():
        return None
    if solved[:, 1].min() < 0.5 or solved[:, 0].max() > 1.5:
        return None
    value[active], moves[active] = solved.T
    return value, moves
