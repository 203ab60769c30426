"""Compiled passes over Gaussian heights: which moves work how likely, and what is learned.

Cells are row-major and have the actions of `terrain.STEPS`: stay, then the eight neighbours
clockwise from N. A rise and its way back come from the same two normals, so pairs of neighbours are
computed once, from the cell whose neighbour lies E, SE, S or SW. Whoever computes a pair, all cells
or only those that changed, does the same arithmetic and so gets the same bits.

With X normal, Pr(low ≤ X ≤ high) is ½(erfc(near) − erfc(far)), where near < far are the limits in
units of √2 standard deviations, mirrored so that far ≥ |near|: the difference of the smaller tails
keeps its digits. What double precision can't tell apart is not computed. erfc is 0 from 27.3 on and
2 up to −6; and erfc(far) ≤ erfc(near)·exp(near² − far²) is below half a unit in the last place of
erfc(near), so that taking it off changes nothing, once far² exceeds near² by 39.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit, prange

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray

FINE, OUTSIDE, BLOCKED, TWICE, NO_HEIGHT, NO_VARIANCE, NOTHING_LEFT = range(7)
"""What can be wrong with a measurement."""

DOWN = np.array([0, -1, -1, 0, 1, 1, 1, 0, -1])
RIGHT = np.array([0, 0, 1, 1, 1, 0, -1, -1, -1])
FIRST, LAST = 3, 6
"""The actions E, SE, S and SW, by which every pair of neighbours is met once."""


NONE, ALL, BESIDE = 27.3, -6.0, 39.0
"""From where on nothing is left of a tail, up to where it is all there is, and what is too little
beside another tail to make a difference."""


def _back(action: int) -> int:
    """Give the way back of a move."""
    return action + 4 if action <= 4 else action - 4


back = njit(cache=True)(_back)


def _chance(near: float, far: float) -> float:
    """Give ½(erfc(near) − erfc(far)) for far ≥ |near|."""
    tail = 2.0
    if near > ALL:
        tail = math.erfc(near) if near < NONE else 0.0
    if far * far - max(near, 0.0) ** 2 < BESIDE:
        tail -= math.erfc(far)
    return max(0.0, 0.5 * tail)


chance = njit(cache=True)(_chance)


def _limits(
    here: float, there: float, spread: float, climb: float, descend: float
) -> tuple[float, float, float, float]:
    """Give near and far of a move between two heights, and of its way back.

    ``spread`` [m²] is the sum of their variances; ``climb`` and ``descend`` [m] are the limits.
    """
    rise, per = there - here, 1.0 / math.sqrt(2.0 * spread)
    return (
        per * max(-descend - rise, rise - climb),
        per * max(climb - rise, descend + rise),
        per * max(rise - descend, -climb - rise),
        per * max(climb + rise, descend - rise),
    )


limits = njit(cache=True, error_model="numpy")(_limits)


def _fill_row(
    row: int,
    rows: int,
    columns: int,
    height: FloatArray,
    variance: FloatArray,
    blocked: BoolArray,
    climb: FloatArray,
    descend: FloatArray,
    success: FloatArray,
) -> None:
    """Write the chances of the pairs that are met from one row of cells.

    All limits of a direction come first, by a loop that the compiler can do several of at a time.
    """
    found = np.empty((4, columns))
    start = row * columns
    for column in range(columns):
        success[start + column, 0] = 1.0
        if row in (0, rows - 1) or column in (0, columns - 1):
            for a in range(1, 9):
                down, right = row + DOWN[a], column + RIGHT[a]
                if not (0 <= down < rows and 0 <= right < columns):
                    success[start + column, a] = 1.0
    for a in range(FIRST, LAST + 1):
        if row + DOWN[a] >= rows:
            continue
        offset, most, least = DOWN[a] * columns + RIGHT[a], climb[a], descend[a]
        first, end = max(0, -RIGHT[a]), columns - max(0, RIGHT[a])
        for column in range(first, end):
            s = start + column
            t = s + offset
            found[0, column], found[1, column], found[2, column], found[3, column] = limits(
                height[s], height[t], variance[s] + variance[t], most, least
            )
        for column in range(first, end):
            s = start + column
            t = s + offset
            open_way = not (blocked[s] or blocked[t])
            success[s, a] = chance(found[0, column], found[1, column]) if open_way else 0.0
            success[t, back(a)] = chance(found[2, column], found[3, column]) if open_way else 0.0


fill_row = njit(cache=True, error_model="numpy")(_fill_row)


def _fill(
    rows: int,
    columns: int,
    height: FloatArray,
    variance: FloatArray,
    blocked: BoolArray,
    climb: FloatArray,
    descend: FloatArray,
    success: FloatArray,
) -> None:
    """Write the chance [S, A] that each move rises ``climb`` [A] m at most and not below −descend.

    What leads nowhere, to stay or off the map, works for sure.
    """
    for row in range(rows):
        fill_row(row, rows, columns, height, variance, blocked, climb, descend, success)


fill = njit(cache=True, error_model="numpy")(_fill)


def _fill_in_parallel(
    rows: int,
    columns: int,
    height: FloatArray,
    variance: FloatArray,
    blocked: BoolArray,
    climb: FloatArray,
    descend: FloatArray,
    success: FloatArray,
) -> None:
    """Do the same by several threads; every entry is written by one of them."""
    for row in prange(rows):
        fill_row(row, rows, columns, height, variance, blocked, climb, descend, success)


fill_in_parallel = njit(cache=True, error_model="numpy", parallel=True)(_fill_in_parallel)


def _refresh(
    rows: int,
    columns: int,
    changed: BoolArray,
    height: FloatArray,
    variance: FloatArray,
    blocked: BoolArray,
    climb: FloatArray,
    descend: FloatArray,
    success: FloatArray,
) -> None:
    """Write the chances anew of the moves to and from cells that ``changed`` [S]."""
    for c in range(rows * columns):
        if not changed[c]:
            continue
        row, column = c // columns, c % columns
        for a in range(1, 9):
            down, right = row + DOWN[a], column + RIGHT[a]
            if not (0 <= down < rows and 0 <= right < columns):
                continue
            s, t, forward = c, down * columns + right, a
            if not FIRST <= a <= LAST:
                if changed[t]:
                    continue  # and meets this one itself
                s, t, forward = t, c, back(a)
            if blocked[s] or blocked[t]:
                continue
            near, far, near_back, far_back = limits(
                height[s], height[t], variance[s] + variance[t], climb[forward], descend[forward]
            )
            success[s, forward] = chance(near, far)
            success[t, back(forward)] = chance(near_back, far_back)


refresh = njit(cache=True, error_model="numpy")(_refresh)


def _decide(
    rows: int,
    columns: int,
    height: FloatArray,
    blocked: BoolArray,
    climb: FloatArray,
    descend: FloatArray,
    success: FloatArray,
) -> None:
    """Write 1 or 0 [S, A] where heights are known: a move works or does not."""
    for row in range(rows):
        for column in range(columns):
            s = row * columns + column
            success[s, 0] = 1.0
            for a in range(1, 9):
                down, right = row + DOWN[a], column + RIGHT[a]
                if not (0 <= down < rows and 0 <= right < columns):
                    success[s, a] = 1.0
                    continue
                t = down * columns + right
                rise = height[t] - height[s]
                works = -descend[a] <= rise <= climb[a] and not (blocked[s] or blocked[t])
                success[s, a] = 1.0 if works else 0.0


decide = njit(cache=True)(_decide)


def _learn(
    cells: IntArray,
    heights: FloatArray,
    variances: FloatArray,
    blocked: BoolArray,
    height: FloatArray,
    variance: FloatArray,
    measured: BoolArray,
) -> tuple[int, int]:
    """Take measurements [n] into ``height`` and ``variance`` [S]; mark what was measured [S].

    Give the first fault and the number of the measurement that has it, or FINE.
    """
    for i in range(len(cells)):
        c, seen, error = cells[i], heights[i], variances[i]
        if not 0 <= c < len(height):
            return OUTSIDE, i
        if blocked[c]:
            return BLOCKED, i
        if measured[c]:
            return TWICE, i
        if not math.isfinite(seen):
            return NO_HEIGHT, i
        if not error > 0.0:
            return NO_VARIANCE, i
        measured[c] = True
        total = variance[c] + error
        if total == math.inf:
            continue  # it says nothing
        height[c] += variance[c] / total * (seen - height[c])
        variance[c] *= error / total
        if variance[c] == 0.0:
            return NOTHING_LEFT, i
    return FINE, -1


learn = njit(cache=True, error_model="numpy")(_learn)


def _doubts(
    start: IntArray,
    end: IntArray,
    down: FloatArray,
    up: FloatArray,
    worked: BoolArray,
    height: FloatArray,
    variance: FloatArray,
    doubt: FloatArray,
) -> None:
    """Write how likely [n] the heights were to let each attempted move come out otherwise."""
    for i in range(len(start)):
        s, t = start[i], end[i]
        spread = variance[s] + variance[t]
        if worked[i]:
            rise, per = height[t] - height[s], 1.0 / math.sqrt(2.0 * spread)
            doubt[i] = 0.5 * (math.erfc(per * (up[i] - rise)) + math.erfc(per * (down[i] + rise)))
        else:
            near, far, _, _ = limits(height[s], height[t], spread, up[i], down[i])
            doubt[i] = chance(near, far)


doubts = njit(cache=True, error_model="numpy")(_doubts)


def _sum_near(weight: FloatArray, values: FloatArray, total: FloatArray) -> None:
    """Write Σ weight[|down|, |right|]·values over the cells of a map [R, C] around each of them."""
    rows, columns = values.shape
    total[:] = 0.0
    for row in range(rows):
        for other in range(max(0, row - len(weight) + 1), min(rows, row + len(weight))):
            for right in range(1 - weight.shape[1], weight.shape[1]):
                each = weight[abs(other - row), abs(right)]
                if each > 0.0:
                    for column in range(max(0, -right), columns - max(0, right)):
                        total[row, column] += each * values[other, column + right]


sum_near = njit(cache=True)(_sum_near)
