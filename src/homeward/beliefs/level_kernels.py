"""Compiled functions for categorical heights: success probabilities of moves, and updates.

Only `chance` computes the probability of a move, so an updated belief equals a new one bit by bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs.grid_graph import back
from homeward.compiling import njit

WALL, UNKNOWN = -1, 0  # codes instead of a height: the square is a wall, or its height is unknown
FINE, OUTSIDE, NO_HEIGHT, CONTRADICTED, RULED_OUT = range(5)
"""Codes that `find_fault` returns; FINE means that no observation is invalid."""


class Tables(NamedTuple):
    """The prior of the squares; an array has one row if it is the same for all squares."""

    mass: FloatArray  # [1 or S, H] probability of each height from 1 to H
    below: FloatArray  # [1 or S, H + 2] probability that the height is at most 0, 1, ..., H + 1
    wall: FloatArray  # [1 or S] probability that a square is a wall
    climb: int = 1  # largest rise of a move that works, in levels


@njit(cache=True)
def chance(s: int, t: int, known: IntArray, tables: Tables) -> float:
    """Return the probability that the move from s to its neighbour t works.

    It is 0 if s or t is a known wall. ``known`` [S] are heights, WALL or UNKNOWN.
    """
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
def fill(
    dest: IntArray, tables: Tables, known: IntArray, success: FloatArray, unseen: IntArray
) -> None:
    """Compute `success` [S, A] and `unseen` [S] of all squares from `known` [S], in place."""
    first = dest.shape[1] - 8  # the action north comes after `stay`, if that exists
    states, actions = dest.shape
    for s in range(states):
        unseen[s] = 1 if known[s] == UNKNOWN else 0
        for a in range(actions):
            t = dest[s, a]
            p = 1.0 if a < first else 0.0
            if t != s:
                p = chance(s, t, known, tables)
                unseen[s] += 1 if known[t] == UNKNOWN else 0
            success[s, a] = p


@njit(cache=True)
def find_fault(
    cells: IntArray, heights: IntArray, known: IntArray, tables: Tables
) -> tuple[int, int, int]:
    """Return the code and the index of the first invalid seen height, and a number of squares.

    The squares `cells` [n] are seen at `heights` [n]. If all are valid, the code is FINE. The
    number counts the squares up to the invalid one whose height was unknown.
    """
    mass, _, wall, _ = tables
    news = 0
    for i in range(len(cells)):
        c, height = cells[i], heights[i]
        if not 0 <= c < len(known):
            return OUTSIDE, i, news
        if height != WALL and not 1 <= height <= mass.shape[1]:
            return NO_HEIGHT, i, news
        if known[c] == height:
            continue
        if known[c] != UNKNOWN:
            return CONTRADICTED, i, news
        news += 1
        if height == WALL:
            likely = wall[min(c, len(wall) - 1)]
        else:
            likely = mass[min(c, len(mass) - 1), height - 1]
        if likely == 0.0:
            return RULED_OUT, i, news
    return FINE, -1, news


@njit(cache=True)
def learn(
    cells: IntArray,
    heights: IntArray,
    dest: IntArray,
    tables: Tables,
    known: IntArray,
    success: FloatArray,
    unseen: IntArray,
) -> int:
    """Add seen heights [n] to `known` [S], and update `success` [S, A] and `unseen` [S] in place.

    Returns the index of the first height that contradicts an earlier one, or −1.
    """
    first = dest.shape[1] - 8
    new = np.empty(len(cells), np.int32)
    news = 0
    for i in range(len(cells)):
        c = cells[i]
        if known[c] == UNKNOWN:
            known[c] = heights[i]
            new[news] = c
            news += 1
        elif known[c] != heights[i]:
            return i
    for c in new[:news]:
        unseen[c] -= 1
        for a in range(first, dest.shape[1]):
            t = dest[c, a]
            if t != c:
                unseen[t] -= 1
                success[c, a] = chance(c, t, known, tables)
                success[t, back(a + 1 - first) - 1 + first] = chance(t, c, known, tables)
    return -1
