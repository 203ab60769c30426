"""What a file of heights offers to the reader, whichever library opens it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from homeward.arrays import BoolArray, FloatArray
    from homeward.terrain.transforms import Transform
    from homeward.terrain.windows import PixelWindow

SPECIAL = 1e30
"""Numbers of a larger size are the special constants of a format, never heights."""

FILLS = (-9999.0, -99999.0, -32767.0, -32768.0)
"""What files that mark no nodata are usually filled with."""


@dataclass(frozen=True, slots=True)
class Source:
    """An open raster: its grid, and how to read a window of it."""

    shape: tuple[int, int]  # rows, columns
    transform: Transform | None  # None where the raster has no pixel size
    crs: str | None  # WKT
    unit: float  # m, the length of a unit of the map
    read: Callable[[PixelWindow], FloatArray]  # m, NaN for no data


def holes(raw: FloatArray, fills: tuple[float, ...]) -> BoolArray:
    """Tell which stored numbers are no heights: not finite, of a special size, or a fill."""
    with np.errstate(invalid="ignore"):
        found = ~(np.abs(raw) <= SPECIAL)
    for fill in fills:
        found |= raw == fill
    return found
