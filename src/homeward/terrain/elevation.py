"""Terrain models: heights on a grid of pixels, and the transform of the grid to a map.

A point (column, row), counted in pixels from the first corner of the grid, has map coordinates::

    x = a·column + b·row + c
    y = d·column + e·row + f

A transform is the tuple (a, b, c, d, e, f), as in rasterio's Affine. A grid may be rotated, and its
pixels may be rectangular. A sheared grid raises, since its pixels are not rectangles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from homeward.arrays import FloatArray, number, numbers, own, place
from homeward.errors import InvalidInputError

Transform: TypeAlias = tuple[float, float, float, float, float, float]

ANGLE_TOLERANCE = 1e-6  # radians that rows and columns may deviate from a right angle


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Georeference:
    """Position, orientation and scale of a grid on a map."""

    transform: Transform  # from (column, row) of the grid to map coordinates (x, y)
    crs: str | None = None  # coordinate system as WKT; None if unknown
    name: str = "terrain"  # name of the terrain in messages and figures
    unit: float = 1.0  # length of a unit of the map, in metres
    is_own: bool = False  # not on a map: coordinates are metres from the south-west corner

    def __post_init__(self) -> None:
        unit = number(self.unit, "the unit of the map", InvalidInputError)
        if not 0.0 < unit < math.inf:
            raise InvalidInputError(
                f"the unit of the map is {unit:g} m, expected a positive length"
            )
        object.__setattr__(self, "transform", check_transform(self.transform))
        object.__setattr__(self, "unit", unit)

    @property
    def size(self) -> tuple[float, float]:
        """Height and width of a pixel or cell, in metres."""
        a, b, _, d, e, _ = self.transform
        return math.hypot(b, e) * self.unit, math.hypot(a, d) * self.unit

    @property
    def crs_name(self) -> str | None:
        """Name of the coordinate system; None if it is unknown."""
        return None if self.crs is None else wkt_name(self.crs)


@dataclass(frozen=True, slots=True, eq=False)
class Elevation(Georeference):
    """Heights [rows, columns] in metres, one per pixel, NaN for no data.

    `height_unit` is the unit that the file names; None if it names no unit. `bands` is the number
    of bands of the file, of which one has the heights.
    """

    heights: FloatArray
    height_unit: str | None = None
    bands: int = 1

    def __post_init__(self) -> None:
        Georeference.__post_init__(self)
        error = InvalidInputError
        heights = numbers(self.heights, "the heights", None, error)
        if heights.ndim != 2 or not heights.size:
            raise error(f"the heights have shape {heights.shape}, expected rows and columns")
        for extreme in (np.fmin.reduce(heights, axis=None), np.fmax.reduce(heights, axis=None)):
            if np.isinf(extreme):
                at = tuple(np.argwhere(np.isinf(heights))[0])
                raise error(
                    f"the height at {place(at, 'rc')} is {extreme:g}, expected a finite one or NaN"
                )
        object.__setattr__(self, "heights", own(heights, self.heights))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.heights.shape
        return rows, columns

    @property
    def pixel(self) -> tuple[float, float]:
        """Height and width of a pixel, in metres."""
        return self.size


def check_transform(given: object) -> Transform:
    """Return a transform of six floats; raise unless it is finite and has rectangular pixels."""
    error = InvalidInputError
    if not isinstance(given, Sequence) or len(given) != 6:
        raise error(f"the transform is {given!r}, expected six numbers (a, b, c, d, e, f)")
    pairs = zip("abcdef", given, strict=True)
    values = [number(value, f"the transform's {letter}", error) for letter, value in pairs]
    a, b, c, d, e, f = (value + 0.0 for value in values)  # −0 becomes 0
    if not all(math.isfinite(value) for value in values):
        raise error(f"the transform {tuple(values)} is not finite")
    across, down = math.hypot(a, d), math.hypot(b, e)
    if across == 0.0 or down == 0.0:
        raise error(f"the transform {tuple(values)} has pixels of size 0")
    if abs(a * b + d * e) > ANGLE_TOLERANCE * across * down:
        raise error(
            f"the transform {tuple(values)} is sheared: its rows and columns are not at right "
            "angles; warp the raster first"
        )
    return a, b, c, d, e, f


def to_map(transform: Transform, column: float, row: float) -> tuple[float, float]:
    """Return the map coordinates (x, y) of the point (column, row) of a grid."""
    a, b, c, d, e, f = transform
    return a * column + b * row + c, d * column + e * row + f


def to_grid(transform: Transform, x: float, y: float) -> tuple[float, float]:
    """Return the point (column, row) of a grid at the map coordinates (x, y)."""
    a, b, c, d, e, f = transform
    area = a * e - b * d
    return (e * (x - c) - b * (y - f)) / area, (a * (y - f) - d * (x - c)) / area


def extent_of(transform: Transform, shape: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return the least x and y and the largest x and y of a grid in map coordinates."""
    corners = [to_map(transform, c, r) for c in (0, shape[1]) for r in (0, shape[0])]
    (left, bottom), (right, top) = (tuple(map(end, *corners)) for end in (min, max))
    return left, bottom, right, top


def describe_extent(transform: Transform, shape: tuple[int, int]) -> str:
    """Return the corners of a grid in map coordinates, as text for messages."""
    left, bottom, right, top = extent_of(transform, shape)
    return f"from ({left:.10g}, {bottom:.10g}) to ({right:.10g}, {top:.10g})"


def window_transform(transform: Transform, column: int, row: int) -> Transform:
    """Return the transform of a window whose first pixel is (column, row) of the whole grid."""
    a, b, _, d, e, _ = transform
    x, y = to_map(transform, column, row)
    return a, b, x, d, e, y


def from_corner(pixel: float, rows: int) -> Transform:
    """Return the transform of a grid to metres east and north of its south-west corner.

    `pixel` is the side of a pixel in m, and `rows` the number of rows.
    """
    return pixel, 0.0, 0.0, 0.0, -pixel, rows * pixel


def wkt_name(crs: str) -> str:
    """Return the name of a coordinate system: the first name in its WKT, or the text itself."""
    return crs.split('"')[1] if crs.count('"') > 1 else crs
