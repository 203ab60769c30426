r"""The return policy, and the lower bound on the probability of returning that it achieves.

Problem: from every state, maximise the sum of ``correction[s, a] ≤ 0`` over the steps plus 1 for
reaching home, where the process ends. Transitions have probabilities p. Giving up is always
possible and has value 0. Hence 0 ≤ value ≤ 1 and value[home] = 1.

Method: on `Moves`, a shortest path, since repeating a in s until it works costs −correction/success
in total. On `SparseMDP`, policy iteration (`policies`), where giving up is stopping. Every policy
is proper, so its exact value is a valid bound, also if iteration stops early.

Within H steps it is the same problem on the model over (steps left, state), see `steps_left`.
There a correction may hold for any policy, or, on `Moves`, only the first attempt of a move counts:
it has the value of its destination less 1 − success. Both hold for every belief: success may be
correlated between moves, and random in a world. If both are used, each step takes the larger one.

Proof: the result is the last policy's value minus an allowance for the rounding of its linear
solve, `UNIT` times the expected number of moves until the process ends. Sums along a path are
rounded up. The gap is the most that one improvement step could still add, plus this allowance.
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
from homeward.solvers.paths import chances_home, distances_home, unsigned, ways_to
from homeward.solvers.policies import ROUND_LIMIT, STOP, SparseEngine
from homeward.solvers.problems import PolicySolution, Status
from homeward.solvers.steps_left import check_horizon, over_steps
from homeward.solvers.tolerances import RETURN_GAP, UNIT

UNLIMITED_FACTOR = 2.0  # from this times √S steps on, a way without a limit is tried first

GIVE_UP = STOP
"""Value in a policy instead of an action: the return is given up, or home is reached."""


@dataclass(frozen=True, slots=True, eq=False)
class ReturnSolution:
    """The return policy with the largest lower bound on the probability of returning.

    A limited return follows ``layers[i]`` while at least ``since[i]`` and fewer than
    ``since[i + 1]`` steps are left.
    """

    value: FloatArray  # [S] lower bound on the probability of returning, in [0, 1]
    policy: IntArray  # [S] action, or GIVE_UP; for a limited return, with all steps left
    gap: float  # upper bound on the difference between the optimum and `value`
    status: Status
    rounds: int
    layers: IntArray | None = None  # [L, S] policies of a limited return, by steps left
    since: IntArray | None = None  # [L] least number of steps left at which each layer is followed


class _Returning(SparseEngine):
    """Policy iteration on the return problem; its totals are the value and the number of moves."""

    def __init__(self, model: SparseMDP, correction: FloatArray, at_home: BoolArray) -> None:
        stop = np.stack([at_home.astype(np.float64), np.zeros(model.states)])
        super().__init__(model, 1.0, np.empty((2, *correction.shape)), 1.0, stop)
        usable = np.isfinite(model.reward) & ~at_home[:, None]
        self.totals[0] = np.where(usable, correction, -np.inf)
        self.totals[1] = self.folded.leave  # an attempt that fails and stays is no move
        self.at_home = at_home

    def evaluate(self, policy: IntArray) -> FloatArray:
        values = super().evaluate(policy)
        value, moves = values
        if value.max() > 1.5 or moves[policy != STOP].min(initial=1.0) < 0.5:
            values[:] = np.nan  # impossible, by rounding
        return values

    def rounded(self, values: FloatArray) -> FloatArray:
        """Return the value [S] of `values` [2, S], rounded down; 0 away from home for NaN."""
        value = np.clip(np.nan_to_num(values[0] - UNIT * values[1]), 0.0, 1.0)
        return np.where(self.at_home, 1.0, value)


def solve_return(
    model: Model, correction: FloatArray, home: IntArray, start: IntArray | None = None
) -> ReturnSolution:
    """Return the policy with the best lower bound on the probability of reaching `home` [n].

    `correction` [S, A] is at most 0. On a general model, the search starts from the policy `start`
    [S], if given: the solution of a similar problem saves most rounds.
    """
    home, correction = check_home(model, home), check_correction(model, correction)
    if isinstance(model, Moves):
        distance, policy = _distances(model, correction, home)
        return ReturnSolution(chances_home(distance), policy, 0.0, Status.OPTIMAL, 1)
    engine = _Returning(model, correction, _mask(model, home))
    assert engine.stop is not None
    give_up: IntArray = np.full(model.states, STOP, np.int32)
    known = [PolicySolution(give_up, engine.stop, np.inf, Status.NOT_CONVERGED, 0)]
    if start is not None:
        policy = np.where(engine.at_home, STOP, start).astype(np.int32)
        values = engine.evaluate(policy)
        if np.isfinite(values).all():
            known.append(PolicySolution(policy, values, np.inf, Status.NOT_CONVERGED, 0))
    found = engine.optimise(np.array([1.0, 0.0]), known)
    gap = min(1.0, found.gap) + min(1.0, UNIT * float(found.values[1].max()))
    status = Status.NUMERICAL if found.rounds < ROUND_LIMIT else Status.NOT_CONVERGED
    status = Status.OPTIMAL if gap <= RETURN_GAP else status
    return ReturnSolution(engine.rounded(found.values), found.policy, gap, status, found.rounds)


def return_value(
    model: SparseMDP, correction: FloatArray, home: IntArray, policy: IntArray
) -> FloatArray:
    """Return the lower bound [S] on the probability of reaching `home` [n] by a policy [S].

    It is the value that `solve_return` returns with this policy.
    """
    engine = _Returning(model, correction, _mask(model, home))
    return engine.rounded(engine.evaluate(np.where(engine.at_home, STOP, policy).astype(np.int32)))


def solve_return_within(
    model: Model,
    steps: int,
    home: IntArray,
    correction: FloatArray | None,
    *,
    at_once: bool = False,
) -> ReturnSolution:
    """Return the policies with the best lower bound on reaching `home` [n] within `steps`.

    `correction` [S, A], at most 0, holds for any policy; None omits this bound. `at_once` adds the
    bound by first attempts, which needs `Moves`.
    """
    error, each = InvalidProblemError, np.arange(model.states)
    home = check_home(model, home)
    if steps < 1:
        raise error(f"the horizon is {steps} steps, expected at least 1")
    if at_once and not isinstance(model, Moves):
        raise error("the bound by first attempts needs a move-or-stay model")
    if correction is not None:
        base, sigma = model, check_correction(model, correction)
        if at_once and isinstance(model, Moves):
            success = np.concatenate([model.success, np.ones_like(model.success)], axis=1)
            base = Moves(np.tile(model.dest, 2), success, np.tile(model.reward, 2))
            sigma = np.concatenate([sigma, model.success - 1.0], axis=1)
        long, homes = over_steps(base, steps), _at_any_step(home, steps, model.states)
        sigma = np.tile(sigma, (steps + 1, 1))
        found = solve_return(long, sigma, homes)
        policy = _kept(found.value, found.policy, model.states)
        value = return_value(long, sigma, homes, policy.ravel())[-model.states :]
        policy = np.where(policy == GIVE_UP, GIVE_UP, policy % model.actions).astype(np.int32)
        return _limited(value, policy[1:], found.gap, found.status)
    if not (at_once and isinstance(model, Moves)):
        raise error("a bound is required: give a correction, or at_once=True")
    sigma = (model.success - 1.0) * model.success
    if steps >= UNLIMITED_FACTOR * np.sqrt(model.states):
        distance, policy = _distances(model, sigma, home)
        ahead = np.where(policy == GIVE_UP, each, model.dest[each, policy])
        length = (policy != GIVE_UP).astype(np.int64)
        for _ in range(model.states.bit_length()):  # twice as far each time
            length, ahead = length + length[ahead], ahead[ahead]
        if length.max() <= steps:
            return _limited(chances_home(distance), policy[None], 0.0, Status.OPTIMAL)
    graph, homes = _moves_over_steps(model, steps), _at_any_step(home, steps, model.states)
    distance, policy = _distances(graph, np.tile(sigma, (steps + 1, 1)), homes)
    value, policy = chances_home(distance)[-model.states :], _kept(-distance, policy, model.states)
    return _limited(value, policy[1:], 0.0, Status.OPTIMAL)


def _limited(value: FloatArray, policy: IntArray, gap: float, status: Status) -> ReturnSolution:
    """Return the solution with a `policy` [H, S] for 1 to H steps left; equal layers are joined."""
    new = np.append(True, (policy[1:] != policy[:-1]).any(axis=1))
    return ReturnSolution(
        value, policy[-1], gap, status, len(policy), policy[new], 1 + np.flatnonzero(new)
    )


def _kept(value: FloatArray, policy: IntArray, states: int) -> IntArray:
    """Return the policy [1 + H, S] that changes an action only where more steps are worth more.

    `value` and `policy` are [(1 + H)·S].
    """
    values, kept = value.reshape(-1, states), policy.reshape(-1, states).copy()
    for left in range(2, len(kept)):
        same = values[left] <= values[left - 1]
        kept[left] = np.where(same, kept[left - 1], kept[left])
    return kept


def _moves_over_steps(model: Moves, steps: int) -> Moves:
    """Return the graph over (steps left, state) in which every move works at its first attempt.

    The number of a state is as in `over_steps`. With no steps left, all actions stay.
    """
    check_horizon(model, steps)
    if (key := f"{steps} steps") not in model.memo:
        states = np.arange(model.states)[:, None]
        left = model.states * np.arange(steps)[:, None, None]
        dest = (left + model.dest).reshape(-1, model.actions)
        dest = np.concatenate([np.broadcast_to(states, model.dest.shape), dest])
        model.memo[key] = Moves(dest, np.ones(dest.shape))
    graph: Moves = model.memo[key]
    success = np.tile(open_success(model), (steps + 1, 1))
    return graph.with_success(success, valid=True)


def _at_any_step(home: IntArray, steps: int, states: int) -> IntArray:
    """Return the numbers of the states `home` [n] with 0 to `steps` steps left."""
    return (home + states * np.arange(steps + 1)[:, None]).ravel().astype(np.int32)


def _mask(model: Model, home: IntArray) -> BoolArray:
    """Return the mask [S] of the states `home` [n]."""
    mask = np.zeros(model.states, np.bool_)
    mask[home] = True
    return mask


def _distances(model: Moves, correction: FloatArray, home: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the distance [S] of each state to `home` [n], and the policy [S] of shortest paths."""
    given = open_success(model), frozen(correction), unsigned(home)
    return distances_home(unsigned(model.dest), *given, ways_to(model))


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
        return frozen(model.success)
    return frozen(np.where(np.isfinite(model.reward), model.success, 0.0))
