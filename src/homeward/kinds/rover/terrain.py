"""The terrain of a rover's run: cells made from a configuration, cached, with a digest."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homeward.arrays import FloatArray, frozen
from homeward.beliefs.grid_graph import grid_graph
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.kinds.rover.config import MARS, SAMPLE, RoverConfig
from homeward.terrain import parse_window, read_elevation, sample_terrain, synthetic_mars, to_cells
from homeward.terrain.crossings import Crossings, Vehicle, crossed_cells
from homeward.terrain.elevation import moved

if TYPE_CHECKING:
    from homeward.terrain import Cells, Elevation

CELLS = (
    *("terrain", "terrain_seed", "rows", "columns", "pixel", "window", "cell", "blur", "error"),
    *("ground", "climb", "descend", "roll", "wheelbase"),
)
"""The keys of a configuration that its cells depend on."""

WHEELBASE = 2.0
"""Default wheelbase in m, on pixels that are smaller."""

SEEN_DEVIATION = 0.1
"""Standard deviation in m up to which a height counts as seen."""

DEFAULT_SHAPE = (1000, 2000)
"""Rows and columns of synthetic Mars."""

PIXEL_TOLERANCE = 0.05
"""A cell may be smaller than a pixel by this share, as 1 m is than HiRISE's 1.01 m."""


def elevation_of(config: RoverConfig) -> Elevation:
    """Return the terrain model, or a window of it."""
    window = None if config.window is None else parse_window(config.window)
    if config.terrain not in (MARS, SAMPLE):
        return read_elevation(config.terrain, window=window, pixel=config.pixel)
    if config.terrain == SAMPLE:
        whole = sample_terrain()
    else:
        (rows, columns), (pixel, _) = mars_pixels(config.rows, config.columns, config.pixel)
        whole = synthetic_mars(config.terrain_seed, rows, columns, pixel)
    if window is None:
        return whole
    try:
        there = window.within(whole.shape, whole.transform)
    except InvalidInputError as cause:
        raise InvalidInputError(f"{whole.name}: {cause}") from cause
    down, across = there.row + there.height, there.column + there.width
    heights = np.ascontiguousarray(whole.heights[there.row : down, there.column : across])
    transform = moved(whole.transform, there.column, there.row)
    return replace(whole, heights=heights, transform=transform)


def mars_pixels(
    rows: int | None, columns: int | None, pixel: float | None
) -> tuple[tuple[int, int], tuple[float, float]]:
    """Return the shape of synthetic Mars and the size of its pixels in m, with defaults."""
    side = 1.0 if pixel is None else pixel
    high, wide = DEFAULT_SHAPE
    return (high if rows is None else rows, wide if columns is None else columns), (side, side)


class Pinned(NamedTuple):
    """The terrain of a configuration."""

    cells: Cells
    digest: str
    pixel: tuple[float, float]  # m, height and width
    crossings: Crossings | None  # on driven ground


def cells_of(config: RoverConfig) -> Cells:
    """Return the cells of a configuration; raise if the terrain has changed."""
    cells, digest, _, _ = pinned(config)
    if config.terrain_sha256 not in (None, digest):
        raise InvalidFileError(
            f"{config.terrain}: the terrain is not what it was when the run was made: its cells "
            f"now have the digest {digest[:12]}, not {str(config.terrain_sha256)[:12]}"
        )
    return cells


def crossings_of(config: RoverConfig) -> Crossings | None:
    """Return the ways between neighbouring cells; None on the paper's ground."""
    return pinned(config).crossings


def limits_of(config: RoverConfig) -> tuple[FloatArray, FloatArray] | None:
    """Return the largest drop and rise [S, A] in m of each move; None on the paper's ground.

    An error of the terrain model tilts the ground that is driven. With errors of deviation σ and of
    correlation exp(−d²/2ℓ²) at distance d, a slope over the wheelbase w has an error of deviation
    τ = σ·√(2 − 2·exp(−w²/2ℓ²)) / w, and the rise between two cells one of √2·σ. The margin of a
    way is reached when both are the same number of deviations: at a rise of √2·σ/τ per unit of
    slope. What is measured of the cells at both ends thus tells about the way between them.
    """
    cells, _, pixel, crossings = pinned(config)
    if crossings is None:
        return None
    length = 10.0 * max(pixel) if config.error_length is None else config.error_length
    base = crossings.vehicle.wheelbase
    scale = base / math.sqrt(-math.expm1(-0.5 * (base / length) ** 2))
    dest, height = grid_graph(*cells.shape).dest, cells.centre.ravel()
    rise = height[dest] - height[:, None]
    return frozen(scale * crossings.down - rise), frozen(scale * crossings.up + rise)


def check_cell(config: RoverConfig) -> None:
    """Raise if a cell size that was set for a new run is below the terrain's pixel size."""
    if config.cell == RoverConfig.model_fields["cell"].default or config.terrain_sha256:
        return
    cells, _, (high, wide), _ = pinned(config)
    if config.cell < (1.0 - PIXEL_TOLERANCE) * max(high, wide):
        raise InvalidInputError(
            f"a cell of {config.cell:g} m is smaller than a pixel of {cells.name}, {high:g} x "
            f"{wide:g} m: give a cell of {max(high, wide):g} m or more"
        )


def pinned(config: RoverConfig) -> Pinned:
    """Return the terrain of a configuration; a modified file is read again."""
    others = [name for name in RoverConfig.model_fields if name not in CELLS]
    key = config.model_copy(update={**dict.fromkeys(others), "ground": config.rule})
    try:
        found = None if config.terrain in (MARS, SAMPLE) else Path(config.terrain).stat()
    except (OSError, ValueError):
        found = None  # reading it reports the error
    return _pinned(key, None if found is None else (found.st_size, found.st_mtime_ns))


@lru_cache(maxsize=1)
def _pinned(config: RoverConfig, stamp: tuple[int, int] | None) -> Pinned:
    """Make the cells; `stamp` is the size and the time of the raster."""
    elevation = elevation_of(config)
    if not config.is_driven:
        cells = to_cells(elevation, config.cell, config.blur, config.error)
        return Pinned(cells, digest_of(cells), elevation.pixel, None)
    base = max(WHEELBASE, *elevation.pixel) if config.wheelbase is None else config.wheelbase
    vehicle = Vehicle(config.climb, config.descend, config.roll, base)
    cells, crossings = crossed_cells(elevation, config.cell, config.error, vehicle)
    return Pinned(cells, digest_of(cells), elevation.pixel, crossings)


def digest_of(cells: Cells) -> str:
    """Return the SHA-256 of the cells that a run uses."""
    about = hashlib.sha256(repr((cells.shape, cells.transform, cells.crs, cells.unit)).encode())
    for array in (cells.mean, cells.variance, cells.centre, cells.blocked):
        about.update(np.ascontiguousarray(array).data)
    return about.hexdigest()
