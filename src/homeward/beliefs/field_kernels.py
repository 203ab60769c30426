"""Kernels for correlated heights: updates by measurements, and a box on which outcomes hold.

Cells and actions are those of `grid_graph`. ``spread`` [4, S] holds the variance in m² of the
height difference between a cell and its neighbour E, SE, S or SW; entries without a neighbour are
unused.
"""

from __future__ import annotations

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs.grid_graph import STEPS
from homeward.compiling import njit

DOWN, RIGHT = (np.array(axis) for axis in zip(*STEPS, strict=True))
FIRST, LAST = 3, 6  # actions E to SW: taken from every cell, they meet each pair of cells once


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
