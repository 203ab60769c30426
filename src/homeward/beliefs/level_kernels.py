"""Compiled functions for categorical heights: success of single moves, and of several at once.

Each move of a set restricts the heights of two squares. The probability that all work is a sum over
the heights of all unknown squares, in which squares are added one by one, in the order in which the
moves meet them. A table holds the probability of the restrictions so far, for each combination of
heights of the squares that later moves touch. Along a simple path there is one such square at a
time, so this is a forward recursion over heights. If a move enters a square, the probability that
the square is not a wall is a separate factor. The result is exact up to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs.observations import UNKNOWN, WALL
from homeward.compiling import njit

MAX_TABLE = 2**14  # largest table of combined heights; larger sets are not evaluated
ROUNDING = 2.0**-46  # bound on the rounding error per square: 64 roundings of 2**−52


class Tables(NamedTuple):
    """The prior of the squares; an array has one row if it is the same for all squares."""

    mass: FloatArray  # [1 or S, H] probability of each height from 1 to H
    below: FloatArray  # [1 or S, H + 2] probability that the height is at most 0, 1, ..., H + 1
    wall: FloatArray  # [1 or S] probability that a square is a wall
    climb: int = 1  # largest rise of a move that works, in levels


@njit(cache=True)
def chances(state: IntArray, end: IntArray, known: IntArray, tables: Tables) -> FloatArray:
    """Return the probability [n] that each move from `state` to its neighbour `end` works.

    It is 0 if one of them is a known wall. ``known`` [S] are heights, WALL or UNKNOWN.
    """
    result = np.empty(len(state))
    for n in range(len(state)):
        result[n] = _chance(state[n], end[n], known, tables)
    return result


@njit(cache=True)
def _chance(s: int, t: int, known: IntArray, tables: Tables) -> float:
    mass, below, wall, climb = tables
    here, there = known[s], known[t]
    if there == WALL or here == WALL:
        return 0.0
    top = below.shape[1] - 1
    i, j = min(s, len(below) - 1), min(t, len(below) - 1)  # all squares share a single row
    if there != UNKNOWN:
        if here != UNKNOWN:
            return 1.0 if there <= here + climb else 0.0
        return 1.0 - float(below[i, max(0, there - 1 - climb)])  # s is at least at there − climb
    free = 1.0 - float(wall[min(t, len(wall) - 1)])
    if here != UNKNOWN:
        return float(below[j, min(here + climb, top)]) * free
    total, sure = 0.0, True
    for k in range(mass.shape[1]):
        reach = below[j, min(k + 1 + climb, top)]
        total += mass[i, k] * reach
        if mass[i, k] > 0.0 and reach < 1.0:
            sure = False
    return free if sure else min(1.0, total) * free


@njit(cache=True)
def level_sets(
    dest: IntArray,
    known: IntArray,
    tables: Tables,
    first: IntArray,
    states: IntArray,
    actions: IntArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Write bounds [N] on the probability that all moves of each set work.

    Move e starts in ``states[e]`` and takes ``actions[e]``. Set i has the moves with
    ``first[i] <= e < first[i + 1]``. If its table would exceed `MAX_TABLE`, ``low[i]`` is −1.
    """
    local = np.full(len(known), -1, np.int64)
    for i in range(len(low)):
        edges = states[first[i] : first[i + 1]], actions[first[i] : first[i + 1]]
        chance, count = _together(dest, known, tables, edges[0], edges[1], local)
        low[i], high[i] = chance, 1.0
        if chance >= 0.0 and count:
            low[i] = max(0.0, chance - count * ROUNDING)
            high[i] = min(1.0, chance + count * ROUNDING)
        elif chance >= 0.0:
            high[i] = chance


@njit(cache=True)
def _together(
    dest: IntArray,
    known: IntArray,
    tables: Tables,
    states: IntArray,
    actions: IntArray,
    local: IntArray,
) -> tuple[float, int]:
    """Return the probability that all moves work, and the number of unknown squares.

    The probability is −1 if its table would be too large. `local` [S] is scratch space, −1 before
    and after the call.
    """
    below, wall, top, climb = tables.below, tables.wall, tables.mass.shape[1], tables.climb
    edges = len(states)
    cells = np.empty(2 * edges, np.int64)
    count, possible = 0, True
    for e in range(edges):
        for c in (np.int64(states[e]), np.int64(dest[states[e], actions[e]])):
            if known[c] == UNKNOWN and local[c] < 0:
                local[c] = count
                cells[count] = c
                count += 1
    unary, entered = np.empty((count, top)), np.zeros(count, np.bool_)
    for i in range(count):
        row = min(cells[i], len(below) - 1)
        for h in range(top):
            unary[i, h] = below[row, h + 1] - below[row, h]
    # Pairs of unknown squares: a move i → j works if h_j ≤ h_i + climb.
    near, flags = np.full((count, 8), -1, np.int64), np.zeros((count, 8), np.int64)
    for e in range(edges):
        s = states[e]
        t = dest[s, actions[e]]
        if s == t:
            continue
        i, j = local[s], local[t]
        if known[t] == WALL or known[s] == WALL:
            possible = False
        elif i < 0 and j < 0:
            possible = possible and known[t] <= known[s] + climb
        elif i < 0:
            for h in range(known[s] + climb, top):
                unary[j, h] = 0.0
            entered[j] = True
        elif j < 0:
            for h in range(min(top, known[t] - 1 - climb)):
                unary[i, h] = 0.0
        else:
            entered[j] = True
            late, early, flag = (j, i, 1) if j > i else (i, j, 2)
            for n in range(8):
                if near[late, n] == early or near[late, n] < 0:
                    near[late, n] = early
                    flags[late, n] |= flag
                    break
    for i in range(count):
        if entered[i]:
            free = 1.0 - wall[min(cells[i], len(wall) - 1)]
            for h in range(top):
                unary[i, h] *= free
        local[cells[i]] = -1
    if not possible:
        return 0.0, count
    return _eliminate(unary, near, flags, climb), count


@njit(cache=True)
def _eliminate(unary: FloatArray, near: IntArray, flags: IntArray, climb: int) -> float:
    """Return the probability that all restrictions hold, or −1 if a table would be too large.

    ``unary`` [n, H] is the probability that each square has each height and is entered.
    ``near[i]`` are the earlier squares j that share a restriction with square i, or −1. In
    ``flags[i]``, bit 1 requires h_i ≤ h_j + climb, and bit 2 requires h_j ≤ h_i + climb.
    """
    count, top = unary.shape
    last = np.arange(count)
    for i in range(count):
        for n in range(8):
            if near[i, n] >= 0:
                last[near[i, n]] = i
    active, width = np.empty(count, np.int64), 0
    table = np.ones(1)
    for i in range(count):
        if len(table) * top > MAX_TABLE:
            return -1.0
        grown = np.empty(len(table) * top)
        for x in range(len(table)):
            low, high = 0, top - 1
            for n in range(8):
                j = near[i, n]
                if j < 0:
                    break
                digits, p = x, width - 1
                while active[p] != j:
                    digits //= top
                    p -= 1
                h = digits % top
                if flags[i, n] & 1:
                    high = min(high, h + climb)
                if flags[i, n] & 2:
                    low = max(low, h - climb)
            for h in range(top):
                grown[x * top + h] = table[x] * unary[i, h] if low <= h <= high else 0.0
        table, active[width], width = grown, i, width + 1
        p = width - 1
        while p >= 0:
            if last[active[p]] <= i:
                inner = top ** (width - 1 - p)
                summed = np.zeros(len(table) // top)
                for x in range(len(table)):
                    summed[x // (inner * top) * inner + x % inner] += table[x]
                table = summed
                for q in range(p, width - 1):
                    active[q] = active[q + 1]
                width -= 1
            p -= 1
    return float(table[0])
