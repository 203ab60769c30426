"""Line of sight on a grid of heights.

A sensor on a mast sees a cell if the straight line from the top of the mast to the ground at the
cell's centre passes no higher ground. The ground is known at cell centres. Between two neighbouring
centres it is linear, so it is compared with the line wherever that crosses a row or a column of
centres. Missing heights (NaN) hide what is behind them.
"""

from __future__ import annotations

import math

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.compiling import njit


@njit(cache=True, error_model="numpy")
def sees(heights: FloatArray, row: int, column: int, mast: float, down: int, right: int) -> bool:
    """Return whether a sensor `mast` m above the cell (row, column) sees another cell.

    The other cell is `down` rows below and `right` columns to the right; `heights` are [R, C] in m.
    """
    top, end = heights[row, column] + mast, heights[row + down, column + right]
    if not (math.isfinite(top) and math.isfinite(end)):
        return False
    for axis in range(2):
        steps, across = (abs(down), right) if axis == 0 else (abs(right), down)
        for i in range(1, steps):
            share = i / steps
            aside = across * i
            whole = aside // steps  # the line passes between this centre and the next one
            part = (aside - whole * steps) / steps
            if axis == 0:
                r, c = row + (i if down > 0 else -i), column + whole
                ground = heights[r, c]
                if part > 0.0:
                    ground = (1.0 - part) * ground + part * heights[r, c + 1]
            else:
                r, c = row + whole, column + (i if right > 0 else -i)
                ground = heights[r, c]
                if part > 0.0:
                    ground = (1.0 - part) * ground + part * heights[r + 1, c]
            if not ground <= (1.0 - share) * top + share * end:
                return False
    return True


@njit(cache=True, error_model="numpy")
def keep_visible(
    heights: FloatArray, row: int, column: int, mast: float, cells: IntArray, distances: FloatArray
) -> int:
    """Move the visible `cells` [n] and their distances to the front, in order; return their number.

    The sensor is `mast` m above the cell (`row`, `column`).
    """
    columns, kept = heights.shape[1], 0
    for i in range(len(cells)):
        down, right = cells[i] // columns - row, cells[i] % columns - column
        if (down == 0 and right == 0) or sees(heights, row, column, mast, down, right):
            cells[kept], distances[kept] = cells[i], distances[i]
            kept += 1
    return kept


@njit(cache=True, error_model="numpy")
def views(
    heights: FloatArray, mast: float, down: IntArray, right: IntArray, seen: BoolArray
) -> None:
    """Write the mask ``seen`` [S, V] of cells, at offsets [V], that are visible from each cell."""
    rows, columns = heights.shape
    for row in range(rows):
        for column in range(columns):
            for i in range(len(down)):
                r, c = row + down[i], column + right[i]
                inside = 0 <= r < rows and 0 <= c < columns
                seen[row * columns + column, i] = inside and (
                    (down[i] == 0 and right[i] == 0)
                    or sees(heights, row, column, mast, down[i], right[i])
                )
