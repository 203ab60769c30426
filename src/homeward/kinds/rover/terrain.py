"""The terrain of a rover's run: cells made from a configuration, cached, with a digest."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.kinds.rover.config import MARS, SAMPLE, RoverConfig
from homeward.terrain import parse_window, read_elevation, sample_terrain, synthetic_mars, to_cells
from homeward.terrain.elevation import moved

if TYPE_CHECKING:
    from homeward.terrain import Cells, Elevation, Window

CELLS = ("terrain", "terrain_seed", "rows", "columns", "pixel", "window", "cell", "blur", "error")
"""The keys of a configuration that its cells depend on."""

SEEN_DEVIATION = 0.1
"""Standard deviation in m up to which a height counts as seen."""

DEFAULT_SHAPE = (1000, 2000)
"""Rows and columns of synthetic Mars."""


def elevation_of(config: RoverConfig) -> Elevation:
    """Return the terrain model, or a window of it."""
    window = None if config.window is None else parse_window(config.window)
    if config.terrain not in (MARS, SAMPLE):
        return read_elevation(config.terrain, window=window, pixel=config.pixel)
    if config.terrain == SAMPLE:
        whole = sample_terrain()
    else:
        rows = DEFAULT_SHAPE[0] if config.rows is None else config.rows
        columns = DEFAULT_SHAPE[1] if config.columns is None else config.columns
        pixel = 1.0 if config.pixel is None else config.pixel
        whole = synthetic_mars(config.terrain_seed, rows, columns, pixel)
    return whole if window is None else _part(whole, window)


def _part(whole: Elevation, window: Window) -> Elevation:
    """Return the part of a terrain model in a window; raise if it extends beyond the edge."""
    try:
        there = window.within(whole.shape, whole.transform)
    except InvalidInputError as cause:
        raise InvalidInputError(f"{whole.name}: {cause}") from cause
    rows = slice(there.row, there.row + there.height)
    columns = slice(there.column, there.column + there.width)
    heights = np.ascontiguousarray(whole.heights[rows, columns])
    return replace(
        whole, heights=heights, transform=moved(whole.transform, there.column, there.row)
    )


def cells_of(config: RoverConfig) -> Cells:
    """Return the cells of a configuration; raise if the terrain has changed."""
    cells, digest = pinned(config)
    if config.terrain_sha256 not in (None, digest):
        raise InvalidFileError(
            f"{config.terrain}: the terrain is not what it was when the run was made: its cells "
            f"now have the digest {digest[:12]}, not {str(config.terrain_sha256)[:12]}"
        )
    return cells


def pinned(config: RoverConfig) -> tuple[Cells, str]:
    """Return the cells and their digest, cached; a modified file is read again."""
    others = [name for name in RoverConfig.model_fields if name not in CELLS]
    key = config.model_copy(update=dict.fromkeys(others))
    try:
        found = None if config.terrain in (MARS, SAMPLE) else Path(config.terrain).stat()
    except (OSError, ValueError):
        found = None  # reading it reports the error
    return _cells(key, None if found is None else (found.st_size, found.st_mtime_ns))


@lru_cache(maxsize=1)
def _cells(config: RoverConfig, stamp: tuple[int, int] | None) -> tuple[Cells, str]:
    """Make the cells; `stamp` is the size and the time of the raster."""
    cells = to_cells(elevation_of(config), config.cell, config.blur, config.error)
    return cells, digest_of(cells)


def digest_of(cells: Cells) -> str:
    """Return the SHA-256 of the cells that a run uses."""
    about = hashlib.sha256(repr((cells.shape, cells.transform, cells.crs, cells.unit)).encode())
    for array in (cells.mean, cells.variance, cells.centre, cells.blocked):
        about.update(np.ascontiguousarray(array).data)
    return about.hexdigest()
