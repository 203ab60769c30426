"""Compiled passes over normal heights: success probabilities of moves, and sums over a map.

With X normal, Pr(low ≤ X ≤ high) is ½(erfc(near) − erfc(far)), where near < far are the limits in
units of √2 standard deviations, mirrored so that far ≥ |near|: the difference of the smaller tails
keeps its digits. Terms that double precision can't resolve are skipped. erfc is 0 from 27.3 on and
2 up to −6; and erfc(far) ≤ erfc(near)·exp(near² − far²) is below half a unit in the last place of
erfc(near) once far² exceeds near² by 39.
"""

from __future__ import annotations

import math

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.compiling import njit

TILE = 256  # cells per tile of a sum over the map; only changed tiles are summed again
ERFC_ZERO, ERFC_TWO, NEGLIGIBLE_SQUARES = 27.3, -6.0, 39.0
"""In double precision, erfc is 0 from the first number on, and 2 up to the second. The third is
the least far² − near² at which subtracting erfc(far) from erfc(near) changes nothing."""


@njit(cache=True, error_model="numpy")
def chances(
    rise: FloatArray, variance: FloatArray, drop: FloatArray, climb: FloatArray
) -> FloatArray:
    """Return Pr(−drop ≤ X ≤ climb) [n] for normal rises X with mean `rise` and `variance`, in m."""
    result = np.empty(len(rise))
    for i in range(len(rise)):
        per = 1.0 / math.sqrt(2.0 * variance[i])
        near = per * max(-drop[i] - rise[i], rise[i] - climb[i])
        far = per * max(climb[i] - rise[i], drop[i] + rise[i])
        tail = 2.0
        if near > ERFC_TWO:
            tail = math.erfc(near) if near < ERFC_ZERO else 0.0
        if far * far - max(near, 0.0) ** 2 < NEGLIGIBLE_SQUARES:
            tail -= math.erfc(far)
        result[i] = max(0.0, 0.5 * tail)
    return result


@njit(cache=True)
def sum_tiles(
    variance: FloatArray, weight: float, enough: float, tiles: IntArray, sums: FloatArray
) -> None:
    """Write Σ ½ ln(1 + variance·weight) and the largest variance of each tile in `tiles` [n].

    A cell counts at most the nats until its precision is `enough`. They are written to the columns
    ``tiles`` of `sums` [2, T]. Tile i has the cells from i·`TILE` to (i + 1)·`TILE` − 1.
    """
    for tile in tiles:
        total, most = 0.0, 0.0
        for c in range(tile * TILE, min((tile + 1) * TILE, len(variance))):
            if variance[c] > 0.0:
                gained = min(variance[c] * weight, variance[c] * enough - 1.0)
                total += math.log1p(max(gained, 0.0))
                most = max(most, variance[c])
        sums[0, tile], sums[1, tile] = 0.5 * total, most


@njit(cache=True)
def sum_near(weight: FloatArray, values: FloatArray) -> FloatArray:
    """Return for each cell Σ weight[|down|, |right|]·value over nearby cells; `values` is [R, C].

    The other cell is `down` rows below and `right` columns to the right.
    """
    rows, columns = values.shape
    total = np.zeros(values.shape)
    for row in range(rows):
        for other in range(max(0, row - len(weight) + 1), min(rows, row + len(weight))):
            for right in range(1 - weight.shape[1], weight.shape[1]):
                each = weight[abs(other - row), abs(right)]
                if each > 0.0:
                    for column in range(max(0, -right), columns - max(0, right)):
                        total[row, column] += each * values[other, column + right]
    return total
