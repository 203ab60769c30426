"""The first place of a short tour, for gains that come once.

Kernels only; names and ties as in `homeward.planning.ways`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from homeward.planning.heap import empty_heap, pop, push
from homeward.planning.outward import best_rate, gain_at
from homeward.planning.ways import LEAST_SUCCESS

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray


@njit(cache=True)
def take(
    state: int,
    shape: tuple[int, int],
    down: IntArray,
    right: IntArray,
    amount: FloatArray,
    opens: FloatArray,
) -> float:
    """Set the `amount` [S] that a look from a state tells to 0; return the sum of its `opens`."""
    rows, columns = shape
    row, column = state // columns, state % columns
    total = 0.0
    for k in range(len(down)):
        r, c = row + down[k], column + right[k]
        if 0 <= r < rows and 0 <= c < columns:
            t = r * columns + c
            if amount[t] > 0.0:
                amount[t] = 0.0
                total += opens[t]
    return total


@njit(cache=True)
def told_nearby(
    dest: IntArray,
    success: FloatArray,
    allowed: BoolArray,
    reachable: BoolArray,
    state: int,
    shape: tuple[int, int],
    down: IntArray,
    right: IntArray,
    amount: FloatArray,
    radius: float,
) -> FloatArray:
    """Return the `amount` [S] of each cell that a place within `radius` steps tells of, else 0."""
    states, actions = dest.shape
    steps, rest = np.full(states, np.inf), amount.copy()
    done = np.zeros(states, np.bool_)
    key, second, node, place = empty_heap(states)
    steps[state] = 0.0
    count = push(key, second, node, place, 0, 0.0, 0.0, state)
    while count > 0 and key[0] <= radius:
        s = node[0]
        count = pop(key, second, node, place, count)
        done[s] = True
        take(s, shape, down, right, rest, amount)
        for a in range(actions):
            t, p = dest[s, a], success[s, a]
            if done[t] or p < LEAST_SUCCESS or not reachable[t]:
                continue
            if allowed.shape[0] > 1 and not allowed[s, a]:
                continue
            if steps[s] + 1.0 / p < steps[t]:
                steps[t] = steps[s] + 1.0 / p
                count = push(key, second, node, place, count, steps[t], 0.0, t)
    return amount - rest


@njit(cache=True)
def best_tour(
    dest: IntArray,
    success: FloatArray,
    allowed: BoolArray,
    reachable: BoolArray,
    state: int,
    shape: tuple[int, int],
    down: IntArray,
    right: IntArray,
    weight: FloatArray,
    amount: FloatArray,
    extra: float,
    power: float,
    width: int,
    radius: float,
    patience: float,
) -> tuple[int, float, float, IntArray]:
    """Search for the place with which the shortest tour begins, for gains that come once.

    The candidates are the `width` places with the most gain over steps to a `power`. From each, a
    tour goes on to the best place by the same measure until all is told that places within
    `radius` steps of the first one tell of. Looks on the way count unless a gain takes `extra`
    steps. A tour costs its steps, those of its first leg twice, as later ones will be planned anew;
    and `patience` times the steps that are left when it comes to what opens new ground, which leads
    away from what is left. A tour that can't come to all of it loses to one that misses less.
    Returns the place (−1 if there is none), its gain, its steps and the predecessors [S].
    """
    states = len(dest)
    share = np.where(reachable, 0.0, 2.0)  # states above 1 are not entered
    most = np.full(states, amount.max() * len(weight))
    limit, looked = most.copy(), np.zeros(states)
    near, opens = amount, amount
    best, best_gain, best_steps = -1, 0.0, 1.0
    best_before: IntArray = np.full(states, -1, np.int32)
    missed, least = np.inf, np.inf
    for i in range(width):
        target, gain, steps, before = best_rate(
            dest, success, allowed, share, 0.0, 0.0, state, shape, down, right, weight, amount,
            False, extra, power, limit,
        )  # fmt: skip
        if target < 0:
            break
        limit[target] = 0.0
        if i == 0:
            near = told_nearby(
                dest, success, allowed, reachable, state, shape, down, right, amount, steps + radius
            )
            opens, beyond = np.zeros(states), amount - near
            for s in range(states):
                if near[s] > 0.0:
                    opens[s] = gain_at(s, shape, down, right, weight, beyond, False, looked)
        left, bounds = near.copy(), most.copy()
        s, t, there, way = state, target, steps, before
        length, opened, later = 0.0, 0.0, 0.0
        while t >= 0 and (steps + length < least or missed > 0.0):
            length += there
            new = take(t, shape, down, right, left, opens)
            u = t
            while u != s and extra == 0.0:
                new += take(u, shape, down, right, left, opens)
                u = way[u]
            opened, later, s = opened + new, later + new * length, t
            t, _, there, way = best_rate(
                dest, success, allowed, share, 0.0, 0.0, s, shape, down, right, weight, left,
                False, extra, power, bounds,
            )  # fmt: skip
        cost = steps + length
        if opened > 0.0:
            cost += patience * (length - later / opened)
        rest = left.sum()
        if (rest, cost) < (missed, least):
            best, best_gain, best_steps, best_before = target, gain, steps, before
            missed, least = rest, cost
    return best, best_gain, best_steps, best_before
