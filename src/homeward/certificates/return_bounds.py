"""Bounds on the probability of returning, for a stored return policy and for the best one.

A state from which the policy can't end, or whose value would be negative, counts as giving up:
0 is below any probability.

"No plan is safe" and "no plan is worth more" are claims on all plans, also on those with another
way home. So the best way home is found as well, by policy iteration from the stored one, and
rounded up: an error of ε in each move changes a value by ε times the expected number of moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homeward.certificates.policy_evaluation import MAX_ROUNDS, solve
from homeward.certificates.simulation import can_reach, rows_of
from homeward.errors import InvalidInputError

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.certificates.claims import CriterionClaims
    from homeward.certificates.mean_model import MeanModel

GAIN_TOLERANCE = 1e-14
"""Largest gain of a move that counts as rounding."""

MOVE_ROUNDING = 2.0**-49
"""Rounding of the value of a way home for each of its moves."""

STEADY_TOLERANCE = 1e-16
"""If a step changes no value by more than this, further equal steps do not either."""

MAX_LAYERS = 100_000
"""Largest number of steps of a limited way home that is followed."""

MIN_MOVE_PROBABILITY = 1e-250
"""Moves that work with a smaller probability are left out of the best way home."""


def return_bounds(
    world: MeanModel, correction: str, criterion: CriterionClaims
) -> tuple[FloatArray, FloatArray]:
    """Return a lower bound [S] for the stored way home, and an upper bound [S] on that of any."""
    at_home = np.zeros(world.shape[0], dtype=bool)
    at_home[criterion.home] = True
    sigma = world.general if correction != "naive" else np.zeros(world.shape)
    at_once = correction == "moves" and world.graph is not None
    if criterion.within is not None:
        value, _ = _within(world, sigma, [*criterion.stages()], at_home, at_once)
        most, layers = _within(world, sigma, [(None, criterion.within)], at_home, at_once)
        return value, np.minimum(1.0, most + layers * MOVE_ROUNDING)
    if at_once:
        assert world.graph is not None
        sigma = world.graph.returning()
    value, moves = _follow(world, sigma, criterion.return_policy, at_home)
    return value, _best(world, sigma, criterion.return_policy, at_home, value, moves)


def _follow(
    world: MeanModel, sigma: FloatArray, policy: IntArray, at_home: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return the lower bound [S] of a return policy [S], and its expected number of moves [S].

    A failed attempt counts as part of the move that it repeats.
    """
    active = (policy >= 0) & ~at_home
    pair = np.arange(len(policy)) * world.shape[1] + np.maximum(policy, 0)
    edges, away = rows_of(world.rows), _away(world)
    value, moves = at_home.astype(np.float64), np.zeros(len(policy))
    while active.any():
        ends = ~active | (world.ending[pair] > 0.0)
        active &= can_reach(edges, world.shape[1], policy.astype(np.int64), ends)
        each = np.flatnonzero(active)
        if not len(each):
            break
        at = pair[each]
        rows = world.rows[at]
        leaving = world.ending[at] + rows[:, ~active].sum(axis=1)
        value = at_home.astype(np.float64)
        gain = sigma[each, policy[each]] + rows @ value
        found = solve(rows[:, each], leaving, np.stack([gain, away[at]], axis=1), 1.0)
        value[each], moves[each] = found.T
        if not (value[each] < 0.0).any():
            break
        active &= value >= 0.0
    return np.clip(np.where(active | at_home, value, 0.0), 0.0, 1.0), np.where(active, moves, 0.0)


def _away(world: MeanModel) -> FloatArray:
    """Return the probability [S·A] that an action changes the state or ends the process."""
    rows = world.rows.tocoo()
    moved = rows.col != rows.row // world.shape[1]
    out = np.bincount(rows.row[moved], rows.data[moved], minlength=rows.shape[0])
    return np.asarray(out + world.ending, np.float64)


def _best(
    world: MeanModel,
    sigma: FloatArray,
    policy: IntArray,
    at_home: BoolArray,
    value: FloatArray,
    moves: FloatArray,
) -> FloatArray:
    """Return an upper bound [S] on the bound of any return policy.

    Uses policy iteration from a policy [S] with its values and expected moves [S].
    """
    states, actions = world.shape
    away = _away(world).reshape(states, actions)
    usable = np.isfinite(world.reward) & (away > MIN_MOVE_PROBABILITY)
    others = world.rows.tocoo()
    others.data = np.where(others.col == others.row // actions, 0.0, others.data)
    others = others.tocsr()
    for _ in range(MAX_ROUNDS):
        ahead = sigma + (others @ value).reshape(states, actions)
        q = np.where(usable, ahead / np.where(usable, away, 1.0), -np.inf)
        rise = np.where(at_home, 0.0, np.maximum(q.max(axis=1), 0.0) - value)
        left = (max(0.0, float(rise.max())) + MOVE_ROUNDING) * (1.0 + float(moves.max()))
        most = np.minimum(1.0, value + left)
        if rise.max() <= GAIN_TOLERANCE:
            return most
        policy = np.where(rise > GAIN_TOLERANCE, q.argmax(axis=1), policy)
        risen, moves = _follow(world, sigma, policy, at_home)
        if risen.sum() <= value.sum():  # a cycle within rounding
            return most
        value = risen
    return np.ones(states)


def _within(
    world: MeanModel,
    sigma: FloatArray,
    stages: list[tuple[IntArray | None, int]],
    at_home: BoolArray,
    at_once: bool,
) -> tuple[FloatArray, int]:
    """Return the lower bound [S] of a limited way home, and the number of layers computed.

    Each stage is a policy [S], None for the best action, and its number of steps.
    """
    states, actions = world.shape
    each, usable = np.arange(states), np.isfinite(world.reward)
    value, layers = at_home.astype(np.float64), 0
    for policy, steps in stages:
        for _ in range(steps):
            layers += 1
            if layers > MAX_LAYERS:
                within = sum(steps for _, steps in stages)
                raise InvalidInputError(
                    f"the way home within {within} steps has not settled after {MAX_LAYERS}, "
                    "and is not followed further"
                )
            q = sigma + (world.rows @ value).reshape(states, actions)
            if at_once:
                assert world.graph is not None
                q = np.maximum(q, value[world.graph.dest] - (1.0 - world.graph.success))
            if policy is None:
                ahead = np.where(usable, q, 0.0).max(axis=1)
            else:
                ahead = np.where(policy >= 0, q[each, np.maximum(policy, 0)], 0.0)
            before, value = value, np.clip(ahead, 0.0, 1.0)
            value[at_home] = 1.0
            if np.abs(value - before).max() <= STEADY_TOLERANCE:
                break
    return value, layers
