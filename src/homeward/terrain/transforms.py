"""Affine transforms from grid to map coordinates, as six numbers.

A point (column, row), counted in pixels from the grid's first corner, lies at::

    x = a·column + b·row + c
    y = d·column + e·row + f

The order is (a, b, c, d, e, f), as in rasterio's Affine. A grid may be rotated and its pixels may
be rectangular; a sheared grid is refused, because its pixels have no height and width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from homeward.arrays import number

if TYPE_CHECKING:
    from homeward.errors import InvalidInputError

Transform: TypeAlias = tuple[float, float, float, float, float, float]

ANGLE_TOLERANCE = 1e-6
"""Largest deviation of rows and columns from a right angle, in radians."""


def check_transform(given: object, error: type[InvalidInputError]) -> Transform:
    """Return a checked transform; raise unless rows and columns are at right angles."""
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


def spacing(transform: Transform) -> tuple[float, float]:
    """Return the (height, width) of a pixel, in units of the map."""
    a, b, _, d, e, _ = transform
    return math.hypot(b, e), math.hypot(a, d)


def to_map(transform: Transform, column: float, row: float) -> tuple[float, float]:
    """Return the map coordinates (x, y) of a point of the grid."""
    a, b, c, d, e, f = transform
    return a * column + b * row + c, d * column + e * row + f


def to_grid(transform: Transform, x: float, y: float) -> tuple[float, float]:
    """Return the point (column, row) of the grid at these map coordinates."""
    a, b, c, d, e, f = transform
    area = a * e - b * d
    return (e * (x - c) - b * (y - f)) / area, (a * (y - f) - d * (x - c)) / area


def moved(transform: Transform, column: int, row: int) -> Transform:
    """Return the transform of the part of a grid that begins at this pixel."""
    a, b, _, d, e, _ = transform
    x, y = to_map(transform, column, row)
    return a, b, x, d, e, y


def coarsened(transform: Transform, across: int, down: int) -> Transform:
    """Return the transform of a grid whose cells are `across` by `down` pixels."""
    a, b, c, d, e, f = transform
    return a * across, b * down, c, d * across, e * down, f


def from_corner(pixel: float, rows: int) -> Transform:
    """Return the transform of a grid in metres from its own south-west corner."""
    return pixel, 0.0, 0.0, 0.0, -pixel, rows * pixel


def wkt_name(crs: str) -> str:
    """Return the name of a coordinate system: the first name in its WKT, or the text itself."""
    return crs.split('"')[1] if crs.count('"') > 1 else crs
