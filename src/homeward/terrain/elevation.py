"""A terrain model: heights on a grid of pixels, and the place of the grid on a map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from homeward.arrays import FloatArray, number, numbers, own, place
from homeward.errors import InvalidInputError
from homeward.terrain.transforms import Transform, check_transform, spacing


@dataclass(frozen=True, slots=True, eq=False)
class Elevation:
    """Heights in metres, one per pixel.

    Attributes
    ----------
    heights : [rows, columns] m, NaN for no data
    transform : from pixel corners to map coordinates
    crs : coordinate system as WKT; None if unknown
    name : name in messages and figures
    unit : m, length of a unit of the map
    is_own : whether map coordinates are metres from the terrain's own south-west corner
    """

    heights: FloatArray
    transform: Transform
    crs: str | None = None
    name: str = "terrain"
    unit: float = 1.0
    is_own: bool = False

    def __post_init__(self) -> None:
        error = InvalidInputError
        heights = numbers(self.heights, "the heights", None, error)
        if heights.ndim != 2 or not heights.size:
            raise error(f"the heights have shape {heights.shape}, expected rows and columns")
        for extreme in (np.fmin.reduce(heights, axis=None), np.fmax.reduce(heights, axis=None)):
            if np.isinf(extreme):
                row, column = (int(i) for i in np.argwhere(np.isinf(heights))[0])
                raise error(f"the height at {place((row, column), 'rc')} is {extreme:g}")
        unit = number(self.unit, "the unit of the map", error)
        if not 0.0 < unit < np.inf:
            raise error(f"the unit of the map is {unit:g} m, expected a positive length")
        object.__setattr__(self, "heights", own(heights, self.heights))
        object.__setattr__(self, "transform", check_transform(self.transform, error))
        object.__setattr__(self, "unit", unit)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.heights.shape
        return rows, columns

    @property
    def pixel(self) -> tuple[float, float]:
        """Height and width of a pixel, in metres."""
        height, width = spacing(self.transform)
        return height * self.unit, width * self.unit
