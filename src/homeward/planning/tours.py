"""Compiled search for the first place of a short tour, for gains that come once.

Kernels only; names and ties are as in `homeward.planning.graph`.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from homeward.bonuses import Looks
from homeward.planning.graph import MIN_SUCCESS
from homeward.planning.outward import gain_at, path_to, search_outward

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.planning.graph import Graph


@njit(cache=True)
def take(state: int, looks: Looks, amount: FloatArray, opens: FloatArray) -> float:
    """Set the `amount` [S] of cells that a state sees to 0; return the sum of their `opens`."""
    rows, columns = looks.shape
    row, column = state // columns, state % columns
    total = 0.0
    for k in range(len(looks.down)):
        r, c = row + looks.down[k], column + looks.right[k]
        if 0 <= r < rows and 0 <= c < columns:
            t = r * columns + c
            if amount[t] > 0.0:
                amount[t] = 0.0
                total += opens[t]
    return total


@njit(cache=True)
def left_of(looks: Looks, amount: FloatArray) -> Looks:
    """Return the same looks with this `amount` [S] left in each cell; gains come once."""
    shape, down, right, weight, _, logarithmic, action = looks
    return Looks(shape, down, right, weight, amount, logarithmic, action)


@njit(cache=True)
def told_nearby(
    graph: Graph, share: FloatArray, free: float, state: int, looks: Looks, radius: float
) -> FloatArray:
    """Return the amount [S] of each cell that is seen from within `radius` steps, else 0."""
    dest, success, allowed = graph.dest, graph.success, graph.allowed
    states, actions = dest.shape
    steps, rest = np.full(states, np.inf), looks.amount.copy()
    done = np.zeros(states, np.bool_)
    steps[state], heap = 0.0, [(0.0, np.int64(state))]
    while heap and heap[0][0] <= radius:
        _, s = heappop(heap)
        if done[s]:
            continue
        done[s] = True
        take(s, looks, rest, looks.amount)
        for a in range(actions):
            t, p = dest[s, a], success[s, a]
            if done[t] or p < MIN_SUCCESS or share[t] > free:
                continue
            if allowed.shape[0] > 1 and not allowed[s, a]:
                continue
            if steps[s] + 1.0 / p < steps[t]:
                steps[t] = steps[s] + 1.0 / p
                heappush(heap, (steps[t], np.int64(t)))
    return looks.amount - rest


@njit(cache=True)
def best_tour(
    graph: Graph,
    share: FloatArray,
    free: float,
    state: int,
    looks: Looks,
    power: float,
    width: int,
    radius: float,
    return_price: float,
) -> tuple[IntArray, float, float]:
    """Search for the first place of the shortest tour, for gains that come once.

    States with a `share` [S] above `free` are not entered. The candidates are the `width` places
    with the most gain over steps to a `power`. From each, a tour goes on to the best place by the
    same measure until it has seen all cells that are seen from within `radius` steps of the first
    place. A tour costs its steps; its first leg counts twice, since later legs will be planned
    again. It also costs `return_price` for each step that is left when it reaches a place that
    opens new ground, because new ground leads away from the rest. A tour that can't see all cells
    loses to one that misses less. Returns the path to the place, its gain and its steps.
    """
    states = len(graph.dest)
    entered = np.where(share <= free, 0.0, 2.0)  # 2: never entered
    most = np.full(states, looks.amount.max() * len(looks.weight))
    limit, looked = most.copy(), np.zeros(states)
    near, opens = looks.amount, looks.amount
    best, best_gain, best_steps = -1, 0.0, 1.0
    best_before: IntArray = np.full(states, -1, np.int32)
    missed, least = np.inf, np.inf
    for i in range(width):
        target, gain, steps, before = search_outward(
            graph, entered, 0.0, 0.0, state, looks, 0.0, power, limit
        )
        if target < 0:
            break
        limit[target] = 0.0
        if i == 0:
            near = told_nearby(graph, share, free, state, looks, steps + radius)
            opens, beyond = np.zeros(states), left_of(looks, looks.amount - near)
            for s in range(states):
                if near[s] > 0.0:
                    opens[s] = gain_at(s, beyond, looked)
        left, bounds = near.copy(), most.copy()
        s, t, there, way = state, target, steps, before
        length, opened, later = 0.0, 0.0, 0.0
        while t >= 0 and (steps + length < least or missed > 0.0):
            length += there
            new = take(t, looks, left, opens)
            u = t
            while u != s:
                new += take(u, looks, left, opens)
                u = way[u]
            opened, later, s = opened + new, later + new * length, t
            t, _, there, way = search_outward(
                graph, entered, 0.0, 0.0, s, left_of(looks, left), 0.0, power, bounds
            )
        cost = steps + length
        if opened > 0.0:
            cost += return_price * (length - later / opened)
        rest = left.sum()
        if (rest, cost) < (missed, least):
            best, best_gain, best_steps, best_before = target, gain, steps, before
            missed, least = rest, cost
    return path_to(best_before, state, best), best_gain, best_steps
