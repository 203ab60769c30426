"""The way home: what is proven of a stored return policy, and the most that could be of any.

A state from which the policy can't end, or whose value would be negative, counts as giving up
there: 0 is below any probability.

That no plan is safe, or worth more, is a claim on all plans, also on those with another way home.
So the best one is looked for as well, from the stored one on, and rounded up: an error of ε in each
move of a way changes its value by ε times the expected number of moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from homeward.certificates.chain import ROUNDS, solve
from homeward.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.certificates.believed import Believed
    from homeward.planning.plan import CriterionEvidence

STILL = 1e-14
"""A move that raises a way home by no more than this is no better."""

ROUNDING = 2.0**-49
"""What the value of a way home may be off by for each of its moves."""

STEADY = 1e-16
"""Where a step changes no value by more than this, more of the same steps do not either."""

MAX_LAYERS = 100_000
"""Steps of a limited way home that are taken before it is given up."""

RAREST = 1e-250
"""A move that works more rarely than this is not counted on."""


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """What is proven of a way home, and the most that could be proven of any other."""

    value: FloatArray  # [S] of the stored return policy
    most: FloatArray  # [S] of the best one, rounded up


def way_home(world: Believed, correction: str, criterion: CriterionEvidence) -> Way:
    """Return what is proven of the stored way home, and of the best one."""
    at_home = np.zeros(world.shape[0], dtype=bool)
    at_home[criterion.home] = True
    sigma = world.general if correction != "naive" else np.zeros(world.shape)
    at_once = correction == "moves" and world.graph is not None
    if criterion.within is not None:
        value, _ = _within(world, sigma, criterion.return_with, criterion, at_home, at_once)
        most, layers = _within(world, sigma, None, criterion, at_home, at_once)
        return Way(value, np.minimum(1.0, most + layers * ROUNDING))
    if at_once:
        assert world.graph is not None
        sigma = world.graph.returning()
    value, moves = _follow(world, sigma, criterion.return_policy, at_home)
    return Way(value, _best(world, sigma, criterion.return_policy, at_home, value, moves))


def _follow(
    world: Believed, sigma: FloatArray, policy: IntArray, at_home: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return what is proven of a return policy [S], and its expected number of moves [S].

    An attempt that stays where it is counts as part of the move that it repeats.
    """
    active = (policy >= 0) & ~at_home
    away = _away(world)
    value, moves = at_home.astype(np.float64), np.zeros(len(policy))
    while active.any():
        active &= _can_end(world, policy, active)
        each = np.flatnonzero(active)
        if not len(each):
            break
        at = each * world.shape[1] + policy[each]
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


def _away(world: Believed) -> FloatArray:
    """Return the probability [S·A] that an action does not leave us where we are."""
    states, actions = world.shape
    here = np.repeat(np.arange(states), actions)
    rows = world.rows.tocoo()
    moved = rows.col != here[rows.row]
    out = np.bincount(rows.row[moved], rows.data[moved], minlength=states * actions)
    return np.asarray(out + world.ending, np.float64)


def _best(
    world: Believed,
    sigma: FloatArray,
    policy: IntArray,
    at_home: BoolArray,
    value: FloatArray,
    moves: FloatArray,
) -> FloatArray:
    """Return an upper bound [S] on what is proven of any return policy.

    By policy iteration from a policy [S] with its values and moves [S]. A move that so rarely works
    that nobody counts on it is left out.
    """
    states, actions = world.shape
    away = _away(world).reshape(states, actions)
    usable = np.isfinite(world.reward) & (away > RAREST)
    here = np.repeat(np.arange(states), actions)
    others = world.rows.tocoo()
    others.data = np.where(others.col == here[others.row], 0.0, others.data)
    others = others.tocsr()
    for _ in range(ROUNDS):
        ahead = sigma + (others @ value).reshape(states, actions)
        q = np.where(usable, ahead / np.where(usable, away, 1.0), -np.inf)
        rise = np.where(at_home, 0.0, np.maximum(q.max(axis=1), 0.0) - value)
        left = (max(0.0, float(rise.max())) + ROUNDING) * (1.0 + float(moves.max()))
        most = np.minimum(1.0, value + left)
        if rise.max() <= STILL:
            return most
        policy = np.where(rise > STILL, q.argmax(axis=1), policy)
        risen, moves = _follow(world, sigma, policy, at_home)
        if risen.sum() <= value.sum():  # rounding goes round in circles
            return most
        value = risen
    return np.ones(states)


def _within(
    world: Believed,
    sigma: FloatArray,
    policy_with: Callable[[int], IntArray] | None,
    criterion: CriterionEvidence,
    at_home: BoolArray,
    at_once: bool,
) -> tuple[FloatArray, int]:
    """Return what is proven of a way home with a limit [S], and how many layers that took.

    By the policy [S] for each number of steps left, or else by the best action in each layer.
    """
    states, actions = world.shape
    assert criterion.within is not None
    assert criterion.return_since is not None
    changes = [] if policy_with is None else criterion.return_since[1:].tolist()
    starts = [1, *(h for h in changes if 1 < h <= criterion.within), 1 + criterion.within]
    each = np.arange(states)
    usable = np.isfinite(world.reward)
    value, layers = at_home.astype(np.float64), 0
    for first, last in pairwise(starts):
        policy = None if policy_with is None else policy_with(first)
        for _ in range(first, last):
            layers += 1
            if layers > MAX_LAYERS:
                raise InvalidInputError(
                    f"the way home within {criterion.within} steps has not settled after "
                    f"{MAX_LAYERS}, and is not followed further"
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
            if np.abs(value - before).max() <= STEADY:
                break
    return value, layers


def _can_end(world: Believed, policy: IntArray, active: BoolArray) -> BoolArray:
    """Tell from which active states [S] a policy leaves the active ones, or ends, some time."""
    states, actions = world.shape
    each = np.flatnonzero(active)
    rows = world.rows[each * actions + policy[each]].tocoo()
    real = rows.data > 0.0
    start, there = each[rows.row[real]], rows.col[real]
    ends = each[world.ending[each * actions + policy[each]] > 0.0]
    sink = states
    there = np.where(active[there], there, sink)
    back = (np.concatenate([there, np.full(len(ends), sink)]), np.concatenate([start, ends]))
    graph = csr_array((np.ones(len(back[0])), back), shape=(states + 1, states + 1))
    found = np.zeros(states + 1, dtype=bool)
    found[breadth_first_order(graph, sink, return_predecessors=False)] = True
    return found[:states]
