"""Compiled passes over a rover's map: what is in reach, and from where one comes back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
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
    """Write the open cells within ``reach`` m of one, in order, and their distances; give how many.

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


def _find_way_back(dest: IntArray, success: FloatArray, start: int) -> BoolArray:
    """Tell from which cells [S] of a grid working moves lead to the start.

    Actions are to stay and then eight neighbours clockwise, so the way back is four further on.
    """
    found = np.zeros(len(dest), np.bool_)
    found[start] = True
    waiting = np.empty(len(dest), np.int32)
    waiting[0] = start
    first, end = 0, 1
    while first < end:
        t = waiting[first]
        first += 1
        for a in range(1, 9):
            s = dest[t, a]
            if not found[s] and success[s, (a + 3) % 8 + 1] == 1.0:
                found[s] = True
                waiting[end] = s
                end += 1
    return found


find_way_back = njit(cache=True)(_find_way_back)
