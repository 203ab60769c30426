"""Ways home on a move-or-stay graph that add the least risk to the edges relied on.

Kernels only: arrays in, arrays out. States are numbered 0 to S − 1, actions 0 to A − 1. An edge
(s, a) leads to ``dest[s, a]``; ``success[s, a]`` is the mean probability that one attempt works (0
where it may not be taken), and ``blocked[s, a]`` bounds from above the probability that it never
works. Ties go to the lowest state number, so the same input gives the same answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from homeward.planning.heap import empty_heap, pop, push

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray

MIN_SUCCESS = 1e-3
"""Smallest success probability of an attempt that a plan relies on."""


class Edges(NamedTuple):
    """The edges of a move-or-stay graph that a way out may take.

    Attributes
    ----------
    dest
        State [S, A] that an edge leads to.
    success
        Mean probability [S, A] that one attempt works; 0 where the action can't be chosen.
    allowed
        Mask [S, A] of the edges that may be taken; [1, 1] allows all of them.
    """

    dest: IntArray
    success: FloatArray
    allowed: BoolArray


@njit(cache=True)
def mask_of(states: int, homes: IntArray) -> BoolArray:
    """Return the mask [S] of the home states [n]."""
    mask = np.zeros(states, np.bool_)
    for h in homes:
        mask[h] = True
    return mask


@njit(cache=True)
def relied_on(
    dest: IntArray,
    blocked: FloatArray,
    least: FloatArray,
    way: IntArray,
    trusted: float,
    homes: IntArray,
    state: int,
) -> tuple[IntArray, float, float]:
    """Return the edges of `way` [S] that can be used at no charge, and the risks of its way home.

    These are the edges on the way home from `state`, and the others with a risk of at most
    `trusted`. The risks are the sum over the edges from `state`, infinite without a way home, and
    the largest lower bound `least` [S, A] of one of them.
    """
    free, is_home = np.full(len(way), -1, np.int32), mask_of(len(way), homes)
    for s in range(len(way)):
        if way[s] >= 0 and blocked[s, way[s]] <= trusted:
            free[s] = way[s]
    total, worst = 0.0, 0.0
    for _ in range(len(way) + 1):
        if is_home[state]:
            return free, total * (1.0 + len(way) * 2.0**-52), worst
        a = way[state]
        if a < 0:
            break
        free[state] = a
        total += blocked[state, a]
        worst = max(worst, least[state, a])
        state = dest[state, a]
    return free, np.inf, 1.0


@njit(cache=True)
def ways_home(
    success: FloatArray,
    blocked: FloatArray,
    free: IntArray,
    homes: IntArray,
    first: IntArray,
    source: IntArray,
    action: IntArray,
    most: float,
    shortest: bool,
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Find the ways home that add the least risk, or have the fewest steps, over reversed edges.

    An edge adds its `blocked`; the edge ``free[s]`` adds nothing. Ways that add more than `most`
    are left out. Returns the added risk [S] (infinite without a way), the risk including free edges
    [S], the expected steps [S] and the first action [S] (−1 at home and without a way). With
    `shortest`, ways are compared by steps first and risk second.
    """
    states = len(free)
    added, total = np.full(states, np.inf), np.full(states, np.inf)
    steps, choice = np.full(states, np.inf), np.full(states, -1, np.int32)
    done = np.zeros(states, np.bool_)
    key, second, node, place = empty_heap(states)
    count, up = 0, 1.0 + 2.0**-51
    for h in homes:
        added[h], total[h], steps[h] = 0.0, 0.0, 0.0
        count = push(key, second, node, place, count, 0.0, 0.0, h)
    while count > 0:
        t = node[0]
        count = pop(key, second, node, place, count)
        done[t] = True
        for e in range(first[t], first[t + 1]):
            s, a = source[e], action[e]
            if done[s]:
                continue
            q, r = blocked[s, a], added[t]
            if q > 0.0 and free[s] != a:
                r = (r + q) * up
            if r > (most if shortest else min(most, added[s])) or success[s, a] < MIN_SUCCESS:
                continue
            n = steps[t] + 1.0 / success[s, a]
            better = (n, r) < (steps[s], added[s]) if shortest else (r, n) < (added[s], steps[s])
            if better:
                added[s], steps[s], choice[s] = r, n, a
                total[s] = (total[t] + q) * up if q > 0.0 else total[t]
                if shortest:
                    count = push(key, second, node, place, count, n, r, s)
                else:
                    count = push(key, second, node, place, count, r, n, s)
    return added, total, steps, choice


@njit(cache=True)
def new_risk(
    dest: IntArray,
    blocked: FloatArray,
    free: IntArray,
    choice: IntArray,
    homes: IntArray,
    state: int,
) -> float:
    """Return the risk of the edges that following `choice` [S] home adds to the `free` ones."""
    new, is_home = 0.0, mask_of(len(choice), homes)
    for _ in range(len(choice) + 1):
        if is_home[state]:
            return new * (1.0 + len(choice) * 2.0**-52)
        a = choice[state]
        if a < 0:
            break
        if free[state] != a:
            new += blocked[state, a]
        state = dest[state, a]
    return np.inf


@njit(cache=True)
def with_way(
    dest: IntArray, choice: IntArray, homes: IntArray, state: int, way: IntArray
) -> IntArray:
    """Return `way` [S] with the actions of `choice` [S] along its way home from a state."""
    is_home, longer = mask_of(len(choice), homes), way.copy()
    for _ in range(len(choice)):
        if is_home[state] or choice[state] < 0:
            break
        longer[state] = choice[state]
        state = dest[state, choice[state]]
    return longer
