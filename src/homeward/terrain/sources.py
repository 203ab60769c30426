"""The interface of an open raster of heights, independent of the library that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from homeward.arrays import BoolArray, FloatArray
    from homeward.terrain.transforms import Transform
    from homeward.terrain.windows import PixelWindow

MAX_MAGNITUDE = 1e30
"""Larger magnitudes are special constants of a format, never heights."""

FILLS = (-9999.0, -99999.0, -32767.0, -32768.0)
"""Usual fill values of files that mark no missing data."""


@dataclass(frozen=True, slots=True)
class Source:
    """An open raster: its grid, and how to read a window of it."""

    shape: tuple[int, int]  # rows, columns
    transform: Transform | None  # None where the raster has no pixel size
    crs: str | None  # WKT
    unit: float  # m, the length of a unit of the map
    read: Callable[[PixelWindow], FloatArray]  # m, NaN for no data


def holes(raw: FloatArray, fills: tuple[float, ...]) -> BoolArray:
    """Return which stored numbers mark missing data: not finite, too large, or a fill value."""
    with np.errstate(invalid="ignore"):
        found = ~(np.abs(raw) <= MAX_MAGNITUDE)
    for fill in fills:
        found |= raw == fill
    return found
