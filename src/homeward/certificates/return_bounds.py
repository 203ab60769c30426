"""Bounds on the probability of returning, for a claimed return policy and for the best one.

A state from which a return policy never ends, or whose value would be negative, counts as giving
up: its value is 0.

The claims that no plan is safe, or that no safe plan has a larger value, concern all plans and all
return policies. So the best return policy is found too, by policy iteration from the claimed one.
Its value is rounded up: an error of ε per move changes a value by ε times the expected number of
moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.certificates.policy_evaluation import MAX_ROUNDS, solve
from homeward.certificates.simulation import can_reach, rows_of
from homeward.errors import InvalidInputError

if TYPE_CHECKING:
    from homeward.certificates.claims import CriterionClaims
    from homeward.certificates.mean_model import MeanModel

GAIN_TOLERANCE = 1e-14  # largest gain of an action that counts as rounding
MOVE_ROUNDING = 2.0**-49  # rounding error of a return probability per expected move
STEADY_TOLERANCE = 1e-16  # a stage ends early if a step changes no value by more
MAX_LAYERS = 100_000  # largest number of steps of a limited return that are computed
MIN_MOVE_PROBABILITY = 1e-250  # the best return policy uses no less likely move


def return_bounds(
    world: MeanModel, correction: str, criterion: CriterionClaims
) -> tuple[FloatArray, FloatArray]:
    """Return the bound [S] of the claimed return policy, and the largest one of any policy."""
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
    """Return the bound [S] of a return policy [S], and its expected number of moves [S].

    Attempts that leave the state unchanged do not count as moves.
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
    """Return an upper bound [S] on the lower bounds of all return policies.

    Policy iteration starts from `policy` [S] with its `value` [S] and expected `moves` [S].
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
    """Return the lower bound [S] of a return within a number of steps, and the steps computed.

    Each stage is a pair: a policy [S], or None for the best actions, and its number of steps.
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
                    f"the return within {within} steps can't be checked: its values still change "
                    f"after {MAX_LAYERS} steps"
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
