"""The return policy, and the lower bound on the probability of returning that it achieves.

Problem: from every state, maximise the sum of ``correction[s, a] ≤ 0`` over the steps plus 1 for
reaching home, where the process ends. Transitions have probabilities p. Giving up is always
possible and has value 0. Hence 0 ≤ value ≤ 1 and value[home] = 1.

Method on `Moves`: a shortest path. Repeating a in s until it works costs −correction/success in
total, so value = max(0, 1 − distance). One search from home over reversed edges finds the distances
exactly.

Method on `SparseMDP`: policy iteration, starting from the policy that gives up everywhere, or from
a given one that gives up where its value is below 0. An action is changed only if this strictly
improves the value. Then every policy is proper: a closed loop would have to earn something, and all
corrections are ≤ 0. So the exact value of each policy is a valid bound, also if iteration stops
early.

Stopping: no state gains more than `GAIN_TOLERANCE` by one improvement step. Smaller gains are
mostly rounding, but may add up over many steps. So at the end the policy takes all smaller gains at
once, and iteration goes on if its values rise by more than `GAP_TOLERANCE`.

Proof: the result is the last policy's value minus an allowance for the rounding of its linear
solve, `UNIT` times the expected number of moves until the process ends. The gap is the most that
one improvement step could still add in any state, plus this allowance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from homeward.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    first_of,
    frozen,
    indices,
    is_default_zero,
    numbers,
    place,
)
from homeward.errors import InvalidProblemError
from homeward.models import Model, Moves, SparseMDP
from homeward.solvers.folding import Folded, fold, solve_folded
from homeward.solvers.graphs import chances_home, distances_home, unsigned, ways_to
from homeward.solvers.problems import Status

GAIN_TOLERANCE = 1e-13  # largest gain of an improvement step that counts as rounding
GAP_TOLERANCE = 1e-9  # largest gap of an optimal return policy
UNIT = 32 * float(np.finfo(np.float64).eps)  # bound on a probability's rounding error, per move
ROUND_LIMIT = 1000

GIVE_UP = -1  # value in a policy instead of an action: the return is given up, or home is reached


@dataclass(frozen=True, slots=True, eq=False)
class ReturnSolution:
    """The return policy with the largest lower bound on the probability of returning."""

    value: FloatArray  # [S] lower bound on the probability of returning, in [0, 1]
    policy: IntArray  # [S] action, or GIVE_UP; for a limited return, with all steps left
    gap: float  # upper bound on the difference between the optimum and `value`
    status: Status
    rounds: int
    layers: IntArray | None = None  # [L, S] policies of a limited return; see `within`
    since: IntArray | None = None  # [L] least number of steps left at which each layer is followed


def solve_return(
    model: Model, correction: FloatArray, home: IntArray, start: IntArray | None = None
) -> ReturnSolution:
    """Return the policy with the best lower bound on the probability of reaching `home` [n].

    `correction` [S, A] is at most 0. On a general model, the search starts from the policy `start`
    [S], if given: the solution of a similar problem saves most rounds.
    """
    home, correction = check_home(model, home), check_correction(model, correction)
    if isinstance(model, Moves):
        distance, policy = distances_home(
            unsigned(model.dest), open_success(model), correction, unsigned(home), ways_to(model)
        )
        return ReturnSolution(chances_home(distance), policy, 0.0, Status.OPTIMAL, 1)
    return _policy_iteration(model, correction, home, start)


def return_value(
    model: SparseMDP, correction: FloatArray, home: IntArray, policy: IntArray
) -> FloatArray:
    """Return the lower bound [S] on the probability of reaching `home` [n] by a policy [S].

    It is the value that `solve_return` returns with this policy.
    """
    at_home = np.zeros(model.states, dtype=bool)
    at_home[home] = True
    reward = np.where(np.isfinite(model.reward), correction, -np.inf)
    solved = _evaluate(fold(model, 1.0), reward, policy, at_home)
    return at_home.astype(np.float64) if solved is None else _rounded(*solved, at_home)


def check_home(model: Model, home: IntArray) -> IntArray:
    """Return `home` [n] as int32; raise unless it has at least one state of the model."""
    home = indices(home, "home", None, (0, model.states), "n", InvalidProblemError)
    if home.ndim != 1 or home.size == 0:
        raise InvalidProblemError(f"home has shape {home.shape}, expected at least one state [n]")
    return home


def check_correction(model: Model, correction: FloatArray) -> FloatArray:
    """Return `correction` [S, A]; raise unless it is finite and at most 0."""
    shape = (model.states, model.actions)
    correction = numbers(correction, "the correction", shape, InvalidProblemError)
    if not (correction.min() > -np.inf and correction.max() <= 0.0):
        at = first_of(~((correction <= 0.0) & (correction > -np.inf)))
        raise InvalidProblemError(
            f"the correction {place(at, 'sa')} is {correction[at]:g}, expected at most 0"
        )
    return frozen(correction)


def open_success(model: Moves) -> FloatArray:
    """Return the success probabilities [S, A], 0 for actions that can't be chosen, read-only."""
    if is_default_zero(model.reward):
        return model.success
    return frozen(np.where(np.isfinite(model.reward), model.success, 0.0))


def _policy_iteration(
    model: SparseMDP, correction: FloatArray, home: IntArray, start: IntArray | None
) -> ReturnSolution:
    """Return the solution on a general model; see the module docstring."""
    folded = fold(model, 1.0)
    reward = np.where(np.isfinite(model.reward), correction, -np.inf)
    at_home = np.zeros(model.states, dtype=bool)
    at_home[home] = True
    policy: IntArray = np.full(model.states, GIVE_UP, dtype=np.int32)
    value, moves = at_home.astype(np.float64), np.zeros(model.states)
    while start is not None:
        first = _evaluate(folded, reward, start, at_home)
        if first is None:
            break
        if first[0].min() >= 0.0:
            policy, (value, moves) = start, first
            break
        start = np.where(first[0] < 0.0, GIVE_UP, start).astype(np.int32)
    status, gap, rounds = Status.NOT_CONVERGED, 1.0, 0
    while rounds < ROUND_LIMIT:
        rounds += 1
        q = folded.q(reward, value)
        choice = q.argmax(axis=1).astype(np.int32)
        gain = np.where(at_home, 0.0, q[np.arange(model.states), choice] - value)
        gap = max(0.0, float(gain.max()))
        settled = gap <= GAIN_TOLERANCE  # gains are rounding, or small gains that add up
        rising = gain > (0.0 if settled else GAIN_TOLERANCE)
        better = np.where(rising, choice, policy)
        solved = _evaluate(folded, reward, better, at_home) if gap > 0.0 else None
        rise = np.zeros(1) if solved is None else solved[0] - value
        adds_up = rise.max() > GAP_TOLERANCE and rise.min() >= -GAP_TOLERANCE
        if settled and not adds_up:
            status = Status.OPTIMAL
            break
        if solved is None:
            status = Status.NUMERICAL
            break
        policy, (value, moves) = better, solved
    gap += min(1.0, UNIT * float(moves.max()))
    if gap > GAP_TOLERANCE and status is Status.OPTIMAL:
        status = Status.NUMERICAL
    return ReturnSolution(_rounded(value, moves, at_home), policy, gap, status, rounds)


def _rounded(value: FloatArray, moves: FloatArray, at_home: BoolArray) -> FloatArray:
    """Return a value [S] rounded down, for an expected number of moves [S]."""
    return np.where(at_home, 1.0, np.clip(value - UNIT * moves, 0.0, 1.0))


def _evaluate(
    folded: Folded, reward: FloatArray, policy: IntArray, at_home: BoolArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return the value [S] and the expected number of moves [S] of a proper return policy.

    `at_home` [S] is the mask of home. Return None if, by rounding, the linear system is singular or
    its solution is impossible.
    """
    value = at_home.astype(np.float64)
    moves = np.zeros_like(value)
    active = np.flatnonzero((policy != GIVE_UP) & ~at_home).astype(np.int32)
    onward, leave = folded.rows(active, policy)
    gain = np.column_stack([reward[active, policy[active]] + onward @ value, leave])
    solved = solve_folded(onward[:, active], leave, gain)
    if solved is None or not np.isfinite(solved).all():
        return None
    if solved[:, 1].min(initial=1.0) < 0.5 or solved[:, 0].max(initial=0.0) > 1.5:
        return None
    value[active], moves[active] = solved.T
    return value, moves
