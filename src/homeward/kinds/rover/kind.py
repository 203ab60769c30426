"""Runs of a rover on terrain; see `kinds.rover.world`.

What the rover measures comes from the seed and the step alone, so only a digest of it is recorded.
A run pins its terrain by a digest of the cells: a raster that has changed where it matters is
refused when the run is resumed. The area to keep in is pinned whole: its corners are in the
configuration, and the file that they came from is not looked at again. What is written when it
ends: `rover_products`.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.beliefs import Sensor, Transition
from homeward.beliefs.corrections import Correction
from homeward.beliefs.heights import Heights, TerrainBelief
from homeward.bonuses import Information, InformationGain
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.kinds.promises import (
    check_start,
    criteria_of,
    state_of,
)
from homeward.kinds.rover.config import MARS, SAMPLE, RoverConfig
from homeward.kinds.rover.world import Rover, draw_heights, true_heights
from homeward.planning.planner import Planner
from homeward.runs.kind import Kind, Setup
from homeward.terrain.polygons import Area, cells_inside, check_area, read_area
from homeward.terrain.transforms import moved

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homeward.arrays import BoolArray
    from homeward.runs.kind import Ended
    from homeward.terrain import Cells, Elevation, Window

SPACING = 50
"""Steps between two that have their seeds written down: the next are planned again on resuming."""

SURE = 0.9
"""The chance from which on a move counts for a landing site."""


def elevation_of(config: RoverConfig) -> Elevation:
    """Give the terrain model, or the window of it."""
    from homeward.terrain import parse_window, read_elevation, sample_terrain, synthetic_mars

    window = None if config.window is None else parse_window(config.window)
    if config.terrain not in (MARS, SAMPLE):
        return read_elevation(config.terrain, window=window, pixel=config.pixel)
    if config.terrain == SAMPLE:
        whole = sample_terrain()
    else:
        rows = 1000 if config.rows is None else config.rows
        columns = 2000 if config.columns is None else config.columns
        pixel = 1.0 if config.pixel is None else config.pixel
        whole = synthetic_mars(config.terrain_seed, rows, columns, pixel)
    return whole if window is None else _part(whole, window)


def _part(whole: Elevation, window: Window) -> Elevation:
    """Give the part of a terrain model in a window; refuse one that passes the edge."""
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
    """Give the cells that a configuration is about; refuse a terrain that is not what it was."""
    cells, digest = _pinned(config)
    if config.terrain_sha256 not in (None, digest):
        raise InvalidFileError(
            f"{config.terrain}: the terrain is not what it was when the run was made: its cells "
            f"now have the digest {digest[:12]}, not {str(config.terrain_sha256)[:12]}"
        )
    return cells


def _pinned(config: RoverConfig) -> tuple[Cells, str]:
    """Give the cells and their digest; what does not change them does not make them anew."""
    key = config.model_copy(update=dict.fromkeys(_BEYOND_CELLS))
    return _cells(key, _stamp(config.terrain))


CELLS = ("terrain", "terrain_seed", "rows", "columns", "pixel", "window", "cell", "blur", "error")
_BEYOND_CELLS = tuple(name for name in RoverConfig.model_fields if name not in CELLS)


@lru_cache(maxsize=1)
def _cells(config: RoverConfig, stamp: tuple[int, int] | None) -> tuple[Cells, str]:
    """Make the cells once for all that ask; a file that was written to is read again."""
    from homeward.terrain import to_cells

    cells = to_cells(elevation_of(config), config.cell, config.blur, config.error)
    return cells, digest_of(cells)


def _stamp(terrain: str) -> tuple[int, int] | None:
    """Give the size and time of a file, whereby a change is noticed; None if there is none."""
    try:
        found = None if terrain in (MARS, SAMPLE) else Path(terrain).stat()
    except (OSError, ValueError):
        return None  # reading it says what is wrong
    return None if found is None else (found.st_size, found.st_mtime_ns)


def digest_of(cells: Cells) -> str:
    """Give the SHA-256 of all that a run takes from cells, so of what matters in the raster."""
    about = hashlib.sha256(repr((cells.shape, cells.transform, cells.crs, cells.unit)).encode())
    for array in (cells.mean, cells.variance, cells.centre, cells.blocked):
        about.update(np.ascontiguousarray(array).data)
    return about.hexdigest()


def prior_of(config: RoverConfig) -> TerrainBelief:
    """Give what is known of the terrain before the first look."""
    cells = cells_of(config)
    return TerrainBelief(
        cells.shape,
        cells.mean.ravel(),
        cells.variance.ravel(),
        cells.size,
        config.climb,
        config.descend,
        cells.blocked.ravel(),
    )


def area_of(config: RoverConfig) -> Area | None:
    """Give the area to keep in, in map coordinates, if there is one; refuse what is none."""
    if config.keep_in is None:
        return None
    if isinstance(config.keep_in, str):
        return read_area(config.keep_in, cells_of(config))
    try:
        return check_area(config.keep_in)
    except InvalidInputError as cause:
        raise InvalidInputError(f"the area to keep in: {cause}") from cause


def inside_of(config: RoverConfig) -> BoolArray | None:
    """Tell which cells [S] lie in the area to keep in; None if there is none."""
    area = area_of(config)
    if area is None:
        return None
    try:
        return cells_inside(area, cells_of(config)).ravel()
    except InvalidInputError as cause:
        if isinstance(config.keep_in, str):
            raise InvalidFileError(f"{config.keep_in}: {cause}") from cause
        raise


def landing_site(belief: TerrainBelief, inside: BoolArray | None = None) -> int:
    """Give a start with room around it, in the area to keep in [S] if there is one.

    Moves that work with probability `SURE` or more divide the map into parts in which there is a
    way from each cell to each other; the site is the largest part's cell nearest to the middle. Of
    parts of the same size the one counts that comes nearest to it, then the first in the order of
    rows.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    moves = belief.mean()
    states, actions = moves.dest.shape
    works, open_cells = moves.success >= SURE, ~belief.blocked
    if inside is not None:
        works, open_cells = works & inside[:, None], open_cells & inside
        if not open_cells.any():
            raise InvalidInputError("the area to keep in has no cell with data")
    sure = works.ravel()
    ends = np.repeat(np.arange(states, dtype=np.int32), actions)[sure], moves.dest.ravel()[sure]
    graph = csr_array((np.ones(len(ends[0]), np.int8), ends), shape=(states, states))
    count, part = connected_components(graph, connection="strong")
    counts = np.bincount(part[open_cells], minlength=count)
    rows, columns = belief.shape
    row, column = np.divmod(np.arange(states), columns)
    down, across = row - (rows - 1) / 2, column - (columns - 1) / 2
    away = np.hypot(belief.size[0] * down, belief.size[1] * across)
    largest = (counts[part] == counts.max()) & open_cells
    return int(np.where(largest, away, np.inf).argmin())


NO_DATA = "blocked: the terrain has no data there"


def start_of(config: RoverConfig, belief: TerrainBelief, inside: BoolArray | None = None) -> int:
    """Give the cell where the rover starts; refuse one off the map, without data or outside."""
    if config.start is None:
        return landing_site(belief, inside)
    state = state_of(config.start, "the start", belief.shape, belief.blocked, NO_DATA)
    if inside is not None and not inside[state]:
        row, column = config.start
        raise InvalidInputError(
            f"the start, row {row} and column {column}, is outside the area to keep in"
        )
    return state


def settle(config: RoverConfig) -> RoverConfig:
    """Pin the terrain, the area and the start; refuse what can't be kept from there.

    A raster is pinned by its whole path and the cells by their digest, the area by its corners.
    """
    config.check_use()
    terrain = config.terrain
    if terrain not in (MARS, SAMPLE):
        terrain = str(Path(terrain).absolute())
    there = config.model_copy(update={"terrain": terrain})
    belief = prior_of(there)  # refuses a terrain that is not the one that was pinned
    start = divmod(start_of(there, belief, inside_of(there)), belief.shape[1])
    pinned = {"terrain_sha256": _pinned(there)[1], "start": start, "keep_in": area_of(there)}
    settled = there.model_copy(update=pinned)
    _check_start(settled)
    return settled


@lru_cache(maxsize=1)
def _check_start(config: RoverConfig) -> None:
    """Refuse what can't be kept from the start, once for all that settle the same."""
    check_start(config, make(config))


def planner_of(
    config: RoverConfig, sensor: Sensor, columns: int, inside: BoolArray | None = None
) -> Planner:
    """Give the planner: safe, unsafe without criteria, or naive without corrections."""
    safe = config.explorer == "safe"
    criteria = criteria_of(config, columns, inside)
    correction = Correction(config.correction) if safe else Correction.NAIVE
    bonus = Information(sensor) if config.algorithm == "paper" else InformationGain(sensor)
    return Planner(bonus, criteria, config.discount, correction, recall=config.recall)


def make(config: RoverConfig) -> Setup:
    """Set a rover out on its terrain."""
    belief = prior_of(config)
    for base in config.bases:
        state_of(base, "a base", belief.shape, belief.blocked, NO_DATA)
    inside = inside_of(config)
    start = start_of(config, belief, inside)
    sensor = Sensor(config.sensor_range, config.sensor_noise, config.sensor_offset)
    if config.truth == "prior":
        truth = draw_heights(belief, config.seed)
    else:
        truth = true_heights(cells_of(config).centre, config.error, config.seed)
    world = Rover(belief, truth, start, sensor, config.seed)
    planner = planner_of(config, sensor, belief.shape[1], inside)
    return Setup(
        planner, belief, world, config.limit, algorithm=config.algorithm, floor=config.floor
    )


def fields(belief: TerrainBelief, world: Rover) -> dict[str, NDArray[Any]]:
    """Keep what is known in the end: heights [R, C] in m and their deviations."""
    return {
        "height": belief.height.reshape(belief.shape),
        "deviation": np.sqrt(belief.variance).reshape(belief.shape),
    }


def products(ended: Ended) -> None:
    """Write the path, the map and the summary into the run's folder."""
    from homeward.kinds.rover.outputs import write_products

    write_products(ended)


ROVER = Kind(
    name="rover",
    version=2,  # 1: the belief learned from measured heights alone, not from moves
    config=RoverConfig,
    make=make,
    observations=(Heights, Transition),
    fields=fields,
    settle=settle,
    products=products,
    digests=True,
    spacing=SPACING,
)
