"""The compiled kernel that finds the cells within a sensor's range."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from numba import njit

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray


def _look_around(
    row: int,
    column: int,
    shape: tuple[int, int],
    size: tuple[float, float],
    reach: float,
    blocked: BoolArray,
    cells: IntArray,
    distances: FloatArray,
) -> int:
    """Write the open cells within ``reach`` m, in order, and their distances; return the count.

    ``size`` is a cell's height and width in m.
    """
    rows, columns = shape
    high, wide = size
    up, left = min(reach / high + 1.0, float(rows)), min(reach / wide + 1.0, float(columns))
    top, bottom = max(0, row - int(up)), min(rows, row + int(up) + 1)
    west, east = max(0, column - int(left)), min(columns, column + int(left) + 1)
    count = 0
    for r in range(top, bottom):
        for c in range(west, east):
            if blocked[r * columns + c]:
                continue
            down, right = high * (r - row), wide * (c - column)
            distance = math.sqrt(down * down + right * right)
            if distance <= reach:
                cells[count] = r * columns + c
                distances[count] = distance
                count += 1
    return count


look_around = njit(cache=True)(_look_around)
