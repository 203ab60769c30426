"""Kernels for correlated heights: updates by measurements, and the success of moves.

Cells and actions are those of `grid_graph`. ``spread`` [4, S] holds the variance in m² of the
height difference between a cell and its neighbour E, SE, S or SW; entries without a neighbour are
unused.
"""

from __future__ import annotations

import math

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs.grid_graph import back
from homeward.beliefs.height_kernels import DOWN, FIRST, LAST, RIGHT, chance, limits
from homeward.compiling import njit


@njit(cache=True)
def add_columns(
    columns: FloatArray,
    innovations: FloatArray,
    width: int,
    height: FloatArray,
    variance: FloatArray,
    spread: FloatArray,
) -> None:
    """Update ``height``, ``variance`` and ``spread`` in place by new columns w, ``columns`` [k, S].

    height += Σ w·innovation, variance −= Σ w², spread −= Σ (w[t] − w[s])². ``innovations`` [k] are
    whitened differences of measured and expected heights. ``width`` is the number of cells in a row
    of the map.
    """
    states = len(height)
    rows = states // width
    for j in range(len(columns)):
        w = columns[j]
        for s in range(states):
            height[s] += w[s] * innovations[j]
            variance[s] -= w[s] * w[s]
        for a in range(FIRST, LAST + 1):
            down, right = DOWN[a], RIGHT[a]
            for row in range(rows - down):
                for s in range(row * width + max(0, -right), (row + 1) * width - max(0, right)):
                    rise = w[s + down * width + right] - w[s]
                    spread[a - FIRST, s] -= rise * rise


@njit(cache=True, error_model="numpy")
def fill_correlated(
    width: int,
    height: FloatArray,
    spread: FloatArray,
    least: float,
    blocked: BoolArray,
    climb: FloatArray,
    descend: FloatArray,
    success: FloatArray,
) -> None:
    """Write the probability [S, A] that each move to a neighbour works.

    ``climb`` and ``descend`` are the largest rise and drop in m, [S, A], or [1, A] if the same
    everywhere. ``least`` in m² is added to each variance as an allowance for rounding. Entries of
    `stay` and of moves off the map are not written.
    """
    rows, last = len(height) // width, len(climb) - 1
    for a in range(FIRST, LAST + 1):
        down, right = DOWN[a], RIGHT[a]
        for row in range(rows - down):
            for s in range(row * width + max(0, -right), (row + 1) * width - max(0, right)):
                t = s + down * width + right
                if blocked[s] or blocked[t]:
                    success[s, a] = success[t, back(a)] = 0.0
                    continue
                variance = max(0.0, spread[a - FIRST, s]) + least
                rise, per = height[t] - height[s], 1.0 / math.sqrt(2.0 * variance)
                i, j, b = min(s, last), min(t, last), back(a)
                near, far = limits(rise, per, climb[i, a], descend[i, a])
                success[s, a] = chance(near, far)
                near, far = limits(-rise, per, climb[j, b], descend[j, b])
                success[t, b] = chance(near, far)


@njit(cache=True)
def columns_by_offset(table: FloatArray, cells: IntArray, covariances: FloatArray) -> None:
    """Write the covariances [k, S] of the heights of `cells` [k] with all heights.

    `table` [R, C] has the covariance of two heights by their distance in rows and columns.
    """
    rows, width = table.shape
    for j in range(len(cells)):
        row, column = cells[j] // width, cells[j] % width
        for r in range(rows):
            away = table[abs(r - row)]
            for c in range(width):
                covariances[j, r * width + c] = away[abs(c - column)]


@njit(cache=True)
def whitened_box(
    lower: FloatArray, low: FloatArray, high: FloatArray, cap: float, box: FloatArray
) -> bool:
    """Write intervals ``box`` [n, 2] such that low ≤ L·z ≤ high for every z [n] in the box.

    ``lower`` [n, n] is L, a lower triangular matrix. Each interval is at most ``cap`` wide. Return
    False if an interval is empty.
    """
    for i in range(len(low)):
        least, most = 0.0, 0.0
        for j in range(i):
            one, two = lower[i, j] * box[j, 0], lower[i, j] * box[j, 1]
            least += min(one, two)
            most += max(one, two)
        start, end = (low[i] - least) / lower[i, i], (high[i] - most) / lower[i, i]
        if not start < end:
            return False
        if end - start > cap:
            middle = min(max(0.0, start + 0.5 * cap), end - 0.5 * cap)
            start, end = middle - 0.5 * cap, middle + 0.5 * cap
        box[i, 0], box[i, 1] = start, end
    return True
