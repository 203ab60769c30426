"""The move-or-stay graph of a belief, and compiled searches for ways home on it.

States are numbered 0 to S − 1, actions 0 to A − 1. Kernels know only arrays; ties go to the lowest
state number, so the same input gives the same answer.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from homeward.arrays import frozen, is_default_zero
from homeward.beliefs import BlockedMoves, BoundedMoves, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.solvers.graphs import ways_to

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import Moves

MIN_SUCCESS = 1e-3
"""Smallest success probability of an attempt that a plan relies on."""

EVERYWHERE: BoolArray = frozen(np.ones((1, 1), dtype=bool))
"""Mask that allows every edge."""


class Reach(NamedTuple):
    """What attempts use of K limited amounts, such as metres or energy, and how much is left."""

    use: FloatArray  # [K, S, A] that an attempt uses if it works
    lost: FloatArray  # [K, S, A] that it uses if it fails
    left: FloatArray  # [K] that may still be used, the way home included
    home: FloatArray  # [K, S] that the way home from each state uses; empty if it is not known yet
    pace: FloatArray  # [S, A] what an attempt costs, in steps of mean use; empty if not known


NO_REACH = Reach(*(frozen(np.zeros((0,) * n)) for n in (3, 3, 1, 2, 2)))
"""Nothing is limited."""


class Graph(NamedTuple):
    """A move-or-stay graph with the risks of its edges."""

    dest: IntArray  # state [S, A] that an edge leads to
    success: FloatArray  # [S, A] mean probability of one attempt; 0 where it can't be chosen
    blocked: FloatArray  # upper bound [S, A] on the probability that a move never works
    bounded: IntArray  # edges [m], state · A + action ascending, for which it is not exact
    least: FloatArray  # lower bounds [m] on it for these
    allowed: BoolArray  # mask [S, A] of the edges that a way out may take; [1, 1] allows all
    first: IntArray  # with `source` and `action`: the edges by destination, as from `ways_to`
    source: IntArray
    action: IntArray
    reach: Reach = NO_REACH  # amounts that are limited


def graph_of(
    belief: Any, model: Moves, correction: Correction | None, allowed: BoolArray = EVERYWHERE
) -> Graph:
    """Return the mean graph with the risk that each edge never works."""
    success = model.success
    bounded: IntArray = np.empty(0, np.int64)
    least: FloatArray = np.empty(0)
    if not is_default_zero(model.reward):
        success = np.where(np.isfinite(model.reward), success, 0.0)
    if correction is Correction.NAIVE:
        blocked = np.where(success > 0.0, 0.0, 1.0)
    else:
        declared = belief.blocked_probability() if isinstance(belief, BlockedMoves) else None
        if declared is not None and correction is not Correction.GENERAL:
            blocked = declared
        else:
            kind = Correction.GENERAL if correction is Correction.GENERAL else None
            sigma = corrections_of(belief, model, 0.5, kind).returning
            with np.errstate(divide="ignore", invalid="ignore"):
                blocked = np.where(model.success > 0.0, -sigma / model.success, 1.0)
            if correction is not Correction.GENERAL:
                blocked = np.minimum(blocked, 1.0 - model.success)
            blocked = np.clip(blocked, 0.0, 1.0)
        if blocked is not declared:
            known: FloatArray = (
                np.where(model.success <= 0.0, 1.0, 0.0) if declared is None else declared
            )
            if isinstance(belief, BoundedMoves):
                known = 1.0 - belief.success_bounds()[1]
            bounded = np.flatnonzero(known != blocked)
            least = known.ravel()[bounded]
        elif isinstance(belief, BoundedMoves):
            bounded, least = belief.least_blocked()
    edges = frozen(success), frozen(blocked), frozen(bounded), frozen(least), frozen(allowed)
    return Graph(model.dest, *edges, *ways_to(model))


@njit(cache=True)
def mask_of(states: int, homes: IntArray) -> BoolArray:
    """Return the mask [S] of the home states [n]."""
    mask = np.zeros(states, np.bool_)
    for h in homes:
        mask[h] = True
    return mask


@njit(cache=True)
def relied_on(
    graph: Graph, way: IntArray, trusted: float, homes: IntArray, state: int
) -> tuple[IntArray, float, float]:
    """Return the edges of `way` [S] that can be used at no charge, and the risks of its way home.

    These are the edges on the way home from `state`, and the others with a risk of at most
    `trusted`. The risks are the sum over the edges from `state`, infinite without a way home, and
    the largest lower bound (`least`) of one of them.
    """
    free, is_home = np.full(len(way), -1, np.int32), mask_of(len(way), homes)
    for s in range(len(way)):
        if way[s] >= 0 and graph.blocked[s, way[s]] <= trusted:
            free[s] = way[s]
    total, worst = 0.0, 0.0
    for _ in range(len(way) + 1):
        if is_home[state]:
            return free, total * (1.0 + len(way) * 2.0**-52), worst
        a = way[state]
        if a < 0:
            break
        free[state] = a
        total += graph.blocked[state, a]
        edge = state * graph.dest.shape[1] + a
        k = np.searchsorted(graph.bounded, edge)
        is_bounded = k < len(graph.bounded) and graph.bounded[k] == edge
        worst = max(worst, graph.least[k] if is_bounded else graph.blocked[state, a])
        state = graph.dest[state, a]
    return free, np.inf, 1.0


@njit(cache=True)
def ways_home(
    graph: Graph,
    way: IntArray,
    trusted: float,
    homes: IntArray,
    state: int,
    most: float,
    shortest: bool,
) -> tuple[IntArray, float, float, FloatArray, FloatArray, FloatArray, IntArray, FloatArray]:
    """Find the ways home that add the least risk, or have the fewest steps, over reversed edges.

    An edge adds its `blocked`; edges that `relied_on` returns add nothing. Ways that add more than
    `most` are left out. Returns what `relied_on` does; then the added risk [S] (infinite without a
    way), the risk including free edges [S], the expected steps [S], the first action [S] (−1 at
    home and without a way), and what the way uses of each limited amount [K, S]. With `shortest`,
    ways are compared by steps first and risk second. Where amounts are limited, the shares of what
    is left of them count instead of steps.
    """
    free, held, worst = relied_on(graph, way, trusted, homes, state)
    states, success, blocked = len(free), graph.success, graph.blocked
    added, total = np.full(states, np.inf), np.full(states, np.inf)
    steps, choice = np.full(states, np.inf), np.full(states, -1, np.int32)
    done, limits = np.zeros(states, np.bool_), len(graph.reach.left)
    need, use = np.full((limits, states), np.inf), graph.reach.use
    scale = graph.reach.left[:1] / np.maximum(graph.reach.left, 1e-300)
    for h in homes:
        added[h], total[h], steps[h], need[:, h] = 0.0, 0.0, 0.0, 0.0
    up, heap = 1.0 + 2.0**-51, [(0.0, 0.0, np.int64(h)) for h in homes]
    heapify(heap)
    while heap:
        _, _, t = heappop(heap)
        if done[t]:
            continue
        done[t] = True
        for e in range(graph.first[t], graph.first[t + 1]):
            s, a = graph.source[e], graph.action[e]
            if done[s]:
                continue
            q, r = blocked[s, a], added[t]
            if q > 0.0 and free[s] != a:
                r = (r + q) * up
            if r > (most if shortest else min(most, added[s])) or success[s, a] < MIN_SUCCESS:
                continue
            n = steps[t] + (1.0 / success[s, a] if limits == 0 else 0.0)
            for k in range(limits):
                n += scale[k] * use[k, s, a]
            better = (n, r) < (steps[s], added[s]) if shortest else (r, n) < (added[s], steps[s])
            if better:
                added[s], steps[s], choice[s] = r, n, a
                total[s] = (total[t] + q) * up if q > 0.0 else total[t]
                for k in range(limits):
                    need[k, s] = need[k, t] + use[k, s, a]
                heappush(heap, (n, r, np.int64(s)) if shortest else (r, n, np.int64(s)))
    return free, held, worst, added, total, steps, choice, need


@njit(cache=True)
def with_way(
    graph: Graph, way: IntArray, free: IntArray, choice: IntArray, homes: IntArray, state: int
) -> tuple[IntArray, float]:
    """Return `way` [S] with the actions of `choice` [S] on its way home, and the risk these add.

    `free` [S] edges add nothing. The risk is infinite where `choice` does not lead home.
    """
    is_home, longer, risk = mask_of(len(choice), homes), way.copy(), 0.0
    for _ in range(len(choice) + 1):
        if is_home[state]:
            return longer, risk * (1.0 + len(choice) * 2.0**-52)
        a = choice[state]
        if a < 0:
            break
        longer[state] = a
        if free[state] != a:
            risk += graph.blocked[state, a]
        state = graph.dest[state, a]
    return longer, np.inf


@njit(cache=True)
def used_by(graph: Graph, way: IntArray, homes: IntArray, state: int) -> FloatArray:
    """Return what the way home from a state by `way` [S] uses of each amount [K]; else infinity."""
    is_home, total = mask_of(len(way), homes), np.zeros(len(graph.reach.left))
    for _ in range(len(way) + 1):
        if is_home[state]:
            return total
        a = way[state]
        if a < 0:
            break
        total += graph.reach.use[:, state, a]
        state = graph.dest[state, a]
    return np.full(len(total), np.inf)


@njit(cache=True)
def affords(reach: Reach, used: FloatArray, s: int, a: int, t: int, sure: bool) -> bool:
    """Return whether home is in reach after the edge from `s` to `t`, with `used` [K] before it.

    An edge that is not `sure` may fail; then home must be in reach of `s` as well.
    """
    for k in range(len(reach.left)):
        if used[k] + reach.use[k, s, a] + reach.home[k, t] > reach.left[k]:
            return False
        if not sure and used[k] + reach.lost[k, s, a] + reach.home[k, s] > reach.left[k]:
            return False
    return True
