"""Compiled passes over normal heights: success probabilities of moves, and Kalman updates.

Cells and actions are those of `grid_graph`. A move and its reverse depend on the same two normals,
so every pair of neighbours is computed once, from the cell whose neighbour lies E, SE, S or SW.
`fill` and `refresh` do the same arithmetic for a move, so their results are equal bit by bit.

With X normal, Pr(low ≤ X ≤ high) is ½(erfc(near) − erfc(far)), where near < far are the limits in
units of √2 standard deviations, mirrored so that far ≥ |near|: the difference of the smaller tails
keeps its digits. Terms that double precision can't resolve are skipped. erfc is 0 from 27.3 on and
2 up to −6; and erfc(far) ≤ erfc(near)·exp(near² − far²) is below half a unit in the last place of
erfc(near) once far² exceeds near² by 39.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs.grid_graph import STEPS, back
from homeward.compiling import njit, prange

if TYPE_CHECKING:
    from homeward.beliefs.attempts import Edges

FINE, OUTSIDE, BLOCKED, TWICE, NO_HEIGHT, NO_VARIANCE, NOTHING_LEFT = range(7)
"""Codes that `learn` returns for an invalid measurement; FINE means that all are valid."""

DOWN, RIGHT = (np.array(axis) for axis in zip(*STEPS, strict=True))
FIRST, LAST = 3, 6  # actions E to SW: taken from every cell, they meet each pair of cells once
TILE = 256  # cells per tile of a sum over the map; only changed tiles are summed again
ERFC_ZERO, ERFC_TWO, NEGLIGIBLE_SQUARES = 27.3, -6.0, 39.0
"""In double precision, erfc is 0 from the first number on, and 2 up to the second. The third is
the least far² − near² at which subtracting erfc(far) from erfc(near) changes nothing."""


class Ground(NamedTuple):
    """Normal heights on a grid, and the largest rise and drop of moves; see `TerrainBelief`."""

    rows: int
    columns: int
    height: FloatArray  # [S] m
    variance: FloatArray  # [S] m²
    blocked: BoolArray  # [S]
    climb: FloatArray  # [S, A] m, largest rise of each move; [1, A] if it is the same everywhere
    descend: FloatArray  # [S, A] or [1, A] m, largest drop of each move

    def limits(self, state: IntArray, action: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the largest drop and the largest rise [n] of moves [n], in m."""
        row = np.minimum(state, len(self.climb) - 1)
        return self.descend[row, action], self.climb[row, action]


@njit(cache=True)
def chance(near: float, far: float) -> float:
    """Return ½(erfc(near) − erfc(far)) for far ≥ |near|."""
    tail = 2.0
    if near > ERFC_TWO:
        tail = math.erfc(near) if near < ERFC_ZERO else 0.0
    if far * far - max(near, 0.0) ** 2 < NEGLIGIBLE_SQUARES:
        tail -= math.erfc(far)
    return max(0.0, 0.5 * tail)


@njit(cache=True, error_model="numpy")
def limits(rise: float, per: float, climb: float, descend: float) -> tuple[float, float]:
    """Return the limits near and far of a move's rise, standardised as in the module's docstring.

    ``rise`` is the mean rise in m, and ``per`` is 1/(√2 standard deviations). ``climb`` and
    ``descend`` are the largest rise and drop in m.
    """
    return per * max(-descend - rise, rise - climb), per * max(climb - rise, descend + rise)


@njit(cache=True, error_model="numpy")
def fill_row(row: int, ground: Ground, success: FloatArray) -> None:
    """Write the success of moves between a row's cells and their neighbours E, SE, S and SW.

    Moves in both directions are written. The limits are computed in a loop of their own, which the
    compiler can vectorise.
    """
    rows, columns, height, variance, blocked, climb, descend = ground
    near_far = np.empty((4, columns))  # near and far of a move, near and far of its reverse
    start = row * columns
    for a in range(FIRST, LAST + 1):
        if row + DOWN[a] >= rows:
            continue
        offset, last = DOWN[a] * columns + RIGHT[a], len(climb) - 1
        first, end = max(0, -RIGHT[a]), columns - max(0, RIGHT[a])
        for column in range(first, end):
            s = start + column
            t = s + offset
            rise, per = height[t] - height[s], 1.0 / math.sqrt(2.0 * (variance[s] + variance[t]))
            i, j, b = min(s, last), min(t, last), back(a)
            ahead = limits(rise, per, climb[i, a], descend[i, a])
            reverse = limits(-rise, per, climb[j, b], descend[j, b])
            near_far[0, column], near_far[1, column] = ahead
            near_far[2, column], near_far[3, column] = reverse
        for column in range(first, end):
            s = start + column
            t = s + offset
            is_open = not (blocked[s] or blocked[t])
            p = chance(near_far[0, column], near_far[1, column]) if is_open else 0.0
            p_back = chance(near_far[2, column], near_far[3, column]) if is_open else 0.0
            success[s, a], success[t, back(a)] = p, p_back


@njit(cache=True, error_model="numpy", parallel=True)
def fill(ground: Ground, success: FloatArray) -> None:
    """Write the probability [S, A] that each move to a neighbour works, on several threads.

    A move works if it rises at most ``climb`` and drops at most ``descend``, and neither end is
    blocked. Entries of `stay` and of moves off the map are not written.
    """
    for row in prange(ground.rows):
        fill_row(row, ground, success)


@njit(cache=True, error_model="numpy")
def refresh(ground: Ground, moves: IntArray) -> FloatArray:
    """Return the success probabilities [n] of moves [n], each given as state·A + action."""
    _, columns, height, variance, blocked, climb, descend = ground
    success, last = np.empty(len(moves)), len(climb) - 1
    for i in range(len(moves)):
        s, a = moves[i] // 9, moves[i] % 9
        t = s + DOWN[a] * columns + RIGHT[a]
        if blocked[s] or blocked[t]:
            success[i] = 1.0 if a == 0 else 0.0
        elif a == 0:
            success[i] = 1.0
        else:
            j, per = min(s, last), 1.0 / math.sqrt(2.0 * (variance[s] + variance[t]))
            near, far = limits(height[t] - height[s], per, climb[j, a], descend[j, a])
            success[i] = chance(near, far)
    return success


@njit(cache=True)
def moves_at(cells: IntArray, rows: int, columns: int) -> IntArray:
    """Return the moves to and from `cells` [n] on the map as state·A + action [m], ascending."""
    moves, count = np.empty(16 * len(cells), np.int64), 0
    for c in cells:
        row, column = c // columns, c % columns
        for a in range(1, 9):
            down, right = row + DOWN[a], column + RIGHT[a]
            if 0 <= down < rows and 0 <= right < columns:
                moves[count], moves[count + 1] = c * 9 + a, (down * columns + right) * 9 + back(a)
                count += 2
    return np.unique(moves[:count])


@njit(cache=True, error_model="numpy")
def learn(
    cells: IntArray,
    heights: FloatArray,
    variances: FloatArray,
    blocked: BoolArray,
    height: FloatArray,
    variance: FloatArray,
    twice: BoolArray,
    posterior: FloatArray,
) -> tuple[int, int]:
    """Write the posterior heights and variances of measured cells [n] to `posterior` [2, n].

    ``height`` and ``variance`` [S] are the prior ones. ``twice`` [n] marks a second measurement of
    a cell. Return the code and the index of the first invalid measurement, or FINE and −1.
    """
    for i in range(len(cells)):
        c, seen, error = cells[i], heights[i], variances[i]
        if not 0 <= c < len(height):
            return OUTSIDE, i
        if blocked[c]:
            return BLOCKED, i
        if twice[i]:
            return TWICE, i
        if not math.isfinite(seen):
            return NO_HEIGHT, i
        if not error > 0.0:
            return NO_VARIANCE, i
        posterior[0, i], posterior[1, i], total = height[c], variance[c], variance[c] + error
        if total == math.inf:
            continue  # no information
        posterior[0, i] += variance[c] / total * (seen - height[c])
        posterior[1, i] *= error / total
        if posterior[1, i] == 0.0:
            return NOTHING_LEFT, i
    return FINE, -1


@njit(cache=True, error_model="numpy")
def doubts(edges: Edges, height: FloatArray, variance: FloatArray) -> FloatArray:
    """Return the probability [n] of the opposite of each attempted move's outcome.

    ``height`` [S] in m and ``variance`` [S] in m² are those given the measurements alone.
    """
    start, end, down, up, worked = edges
    doubt = np.empty(len(start))
    for i in range(len(start)):
        s, t = start[i], end[i]
        rise, per = height[t] - height[s], 1.0 / math.sqrt(2.0 * (variance[s] + variance[t]))
        if worked[i]:
            doubt[i] = 0.5 * (math.erfc(per * (up[i] - rise)) + math.erfc(per * (down[i] + rise)))
        else:
            near, far = limits(rise, per, up[i], down[i])
            doubt[i] = chance(near, far)
    return doubt


@njit(cache=True)
def sum_tiles(
    variance: FloatArray, weight: float, enough: float, tiles: IntArray, sums: FloatArray
) -> None:
    """Write Σ ½ ln(1 + variance·weight) and the largest variance of each tile in `tiles` [n].

    A cell counts at most the nats until its precision is `enough`.

    They are written to the columns ``tiles`` of `sums` [2, T], for T tiles in all. Tile i has the
    cells from i·`TILE` to (i + 1)·`TILE` − 1.
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
