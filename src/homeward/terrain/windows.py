"""Windows: rectangles of a raster to read, in pixels or in map coordinates.

As text, for example on a command line, a window is one word::

    COLUMN,ROW,WIDTH,HEIGHT           in pixels; COLUMN and ROW are counted from 0
    map:XMIN,YMIN,XMAX,YMAX           in the map coordinates of the raster

A window in map coordinates selects the pixels whose centres it contains. A window that crosses the
edge of the raster is refused, not clipped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from homeward.arrays import number
from homeward.errors import InvalidInputError
from homeward.terrain.elevation import Transform, to_grid

FORMS = "COLUMN,ROW,WIDTH,HEIGHT in pixels or map:XMIN,YMIN,XMAX,YMAX in map coordinates"

CENTRE_TOLERANCE = 1e-6  # distance in pixels up to which a centre outside counts as inside


@dataclass(frozen=True, slots=True)
class PixelWindow:
    """A rectangle of whole pixels."""

    column: int
    row: int
    width: int
    height: int

    def __post_init__(self) -> None:
        for name in ("column", "row", "width", "height"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise InvalidInputError(f"the window's {name} is {value!r}, not a whole number")
        if self.width < 1 or self.height < 1:
            raise InvalidInputError(f"the window {self} has no size")

    def __str__(self) -> str:
        return f"{self.column},{self.row},{self.width},{self.height}"

    def within(self, shape: tuple[int, int], transform: Transform) -> PixelWindow:
        """Return the window itself; raise unless it is inside a raster of `shape`.

        `transform` is not used; `MapWindow.within` needs it.
        """
        rows, columns = shape
        right, bottom = self.column + self.width, self.row + self.height
        if self.column < 0 or self.row < 0 or right > columns or bottom > rows:
            raise InvalidInputError(
                f"the window {self} covers columns {self.column} to {right - 1} and rows "
                f"{self.row} to {bottom - 1}, but the raster has {columns} columns and {rows} rows"
            )
        return self


@dataclass(frozen=True, slots=True)
class MapWindow:
    """A rectangle in map coordinates."""

    xmin: float
    ymin: float
    xmax: float
    ymax: float

    def __post_init__(self) -> None:
        for name in ("xmin", "ymin", "xmax", "ymax"):
            value = number(getattr(self, name), f"the window's {name}", InvalidInputError)
            if not math.isfinite(value):
                raise InvalidInputError(f"the window's {name} is {value}, expected a finite number")
            object.__setattr__(self, name, value)
        if not (self.xmin < self.xmax and self.ymin < self.ymax):
            raise InvalidInputError(f"the window {self} has no size")

    def __str__(self) -> str:
        return f"map:{self.xmin!r},{self.ymin!r},{self.xmax!r},{self.ymax!r}"

    def within(self, shape: tuple[int, int], transform: Transform) -> PixelWindow:
        """Return the pixels with centres in the window; raise if it crosses the raster edge."""
        if transform[1] or transform[3]:
            raise InvalidInputError(f"the raster is rotated: give the window {self} in pixels")
        corners = [
            to_grid(transform, self.xmin, self.ymin),
            to_grid(transform, self.xmax, self.ymax),
        ]
        ranges = []
        for low, high in map(sorted, zip(*corners, strict=True)):
            first = math.ceil(low - 0.5 - CENTRE_TOLERANCE)
            ranges.append((first, math.floor(high - 0.5 + CENTRE_TOLERANCE) + 1 - first))
        (column, width), (row, height) = ranges
        if width < 1 or height < 1:
            raise InvalidInputError(f"the window {self} contains no pixel centre")
        try:
            return PixelWindow(column, row, width, height).within(shape, transform)
        except InvalidInputError as cause:
            raise InvalidInputError(f"the window {self} leaves the raster: {cause}") from cause


Window: TypeAlias = PixelWindow | MapWindow


def parse_window(text: str) -> Window:
    """Return the window that a text in one of the two forms describes.

    ``str(window)`` is the inverse.
    """
    body = text.strip()
    on_map = body.startswith("map:")
    fields = body.removeprefix("map:").split(",")
    if len(fields) != 4:
        raise InvalidInputError(f"the window {text!r} is not {FORMS}")
    try:
        if on_map:
            return MapWindow(*(float(field) for field in fields))
        return PixelWindow(*(int(field) for field in fields))
    except InvalidInputError:
        raise
    except ValueError as cause:
        raise InvalidInputError(f"the window {text!r} is not {FORMS}: {cause}") from cause
