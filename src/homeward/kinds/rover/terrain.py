"""The terrain of a rover's run: the cells of a configuration, cached, with a digest."""

from __future__ import annotations

import hashlib
import math
import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen
from homeward.beliefs.grid_graph import STEPS, grid_graph
from homeward.criteria import Limit
from homeward.errors import InvalidFileError, InvalidInputError, prefixed
from homeward.kinds.rover.config import HEIGHT_UNITS, MARS, SAMPLE, RoverConfig
from homeward.terrain import (
    Cells,
    Elevation,
    parse_window,
    read_elevation,
    sample_terrain,
    synthetic_mars,
    to_cells,
)
from homeward.terrain.cells import at_centres, cells_with, sides_of
from homeward.terrain.crossings import Crossings, DrivingLimits, crossed_cells
from homeward.terrain.elevation import Georeference, to_map, window_transform
from homeward.terrain.gdal import has_degrees, is_earth, radius_of, stretch_of, to_degrees
from homeward.terrain.polygons import Area, check_area, pixels_touched, read_area
from homeward.terrain.reading import MAX_PIXELS, read_layer, read_size

if TYPE_CHECKING:
    from homeward.beliefs.covariance import Matern

CELLS = (
    *("terrain", "terrain_seed", "rows", "columns", "pixel", "height_unit", "window", "cell"),
    *("blur", "error", "obstacles", "keep_out", "ground", "climb", "descend", "roll", "wheelbase"),
)
"""The keys of a configuration that its cells depend on."""

CELLS_ACROSS = 100  # default number of cells along the longer side of a raster
CELLS_SEEN = 5  # default range of the sensor in cells, on driven ground
MARS_CELL = 20.0  # default side of a cell of synthetic Mars in m, as in the paper
WHEELBASE = 2.0  # default wheelbase in m; with larger pixels, it is the side of a pixel
SEEN_DEVIATION = 0.1  # standard deviation in m up to which a height counts as seen
DEFAULT_SHAPE = (1000, 2000)  # rows and columns of synthetic Mars
MIN_DEVIATION = 1e-6  # m, smallest deviation in a raster of errors; the largest is 1e6 m
MAX_CELLS = 10_000_000  # maximum number of cells of a run
MAX_STRETCH = 1.05  # largest ratio of lengths on the map and on the ground in a new run
PIXEL_TOLERANCE = 0.05  # a cell may be smaller than a pixel by this share (HiRISE has 1.01 m)


def elevation_of(config: RoverConfig) -> Elevation:
    """Return the terrain model of a configuration, or the window of it that is configured."""
    window = None if config.window is None else parse_window(config.window)
    if config.terrain not in (MARS, SAMPLE):
        _check_size(config, *read_size(config.terrain, window, config.pixel))
        unit = config.height_unit
        return read_elevation(
            config.terrain,
            window=window,
            pixel=config.pixel,
            height_unit=HEIGHT_UNITS[unit] if isinstance(unit, str) else unit,
        )
    if config.terrain == SAMPLE:
        whole = sample_terrain()
    else:
        (rows, columns), (pixel, _) = mars_pixels(config.rows, config.columns, config.pixel)
        if window is None:
            _check_size(config, (rows, columns), (pixel, pixel))
        whole = synthetic_mars(config.terrain_seed, rows, columns, pixel)
    if window is None:
        return whole
    with prefixed(whole.name):
        part = window.within(whole.shape, whole.transform)
    bottom, right = part.row + part.height, part.column + part.width
    heights = np.ascontiguousarray(whole.heights[part.row : bottom, part.column : right])
    transform = window_transform(whole.transform, part.column, part.row)
    return replace(whole, heights=heights, transform=transform)


def _check_size(config: RoverConfig, shape: tuple[int, int], pixel: tuple[float, float]) -> None:
    """Raise if a raster would have too many cells; this is known before it is read.

    `shape` are its rows and columns, and `pixel` is the height and width of a pixel in m.
    """
    cell = cell_side(config)
    sides = (max(1, round(cell / side)) for side in pixel)
    rows, columns = (length // side for length, side in zip(shape, sides, strict=True))
    # A raster with too many pixels is refused elsewhere, with its own message.
    if math.prod(shape) <= MAX_PIXELS and rows * columns > MAX_CELLS:
        raise InvalidInputError(
            f"{config.terrain}: cells of {cell:g} m would be {rows:,} x {columns:,}, more "
            f"than the {MAX_CELLS:,} that are explored at once: give larger cells or a window"
        )


def mars_pixels(
    rows: int | None, columns: int | None, pixel: float | None
) -> tuple[tuple[int, int], tuple[float, float]]:
    """Return rows and columns of synthetic Mars, and a pixel's height and width in m.

    None stands for the default.
    """
    side = 1.0 if pixel is None else pixel
    high, wide = DEFAULT_SHAPE
    return (high if rows is None else rows, wide if columns is None else columns), (side, side)


class Pinned(NamedTuple):
    """The terrain of a configuration."""

    cells: Cells
    digest: str  # SHA-256 of all that the run uses of the terrain
    pixel: tuple[float, float]  # m, height and width
    crossings: Crossings | None  # paths between cells; None with ground "paper"
    obstacles: BoolArray | None  # [rows, columns] mask of pixels; only those in cells
    kept_out: BoolArray | None  # [rows, columns] mask of pixels in the area to keep out of
    is_kept_out: BoolArray | None  # [R, C] mask of cells with such a pixel
    height_unit: str | None  # name of the heights' unit in the raster
    bands: int  # number of bands of the raster; the first one has the heights
    error: FloatArray | float  # m², variance of the terrain model's heights, of each cell [S]


def cells_of(config: RoverConfig) -> Cells:
    """Return the cells of a configuration; raise if the terrain has changed since the run began."""
    terrain = pinned(config)
    if config.terrain_sha256 not in (None, terrain.digest):
        files = " or ".join(_files(config))
        raise InvalidFileError(
            f"{files}: the terrain has changed since the run was created: its cells have the "
            f"digest {terrain.digest[:12]}, expected {str(config.terrain_sha256)[:12]}; restore "
            "the file, or start a new run"
        )
    return terrain.cells


def crossings_of(config: RoverConfig) -> Crossings | None:
    """Return the paths between neighbouring cells; None with ground "paper"."""
    return pinned(config).crossings


def stands_of(
    cells: Cells, crossings: Crossings | None, states: Sequence[int] | IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the rows [n] and columns [n], in cells, of the points at which the rover stands.

    Without crossings these are the centres of the cells.
    """
    if crossings is None:
        row, column = np.stack(np.divmod(np.asarray(states, np.int64), cells.shape[1])) + 0.5
    else:
        row, column = crossings.stands(states) / np.array(crossings.sides)[:, None]
    return row, column


def error_length_of(config: RoverConfig) -> float:
    """Return the correlation length in m of the terrain model's errors; by default 10 pixels."""
    if config.error_length is not None:
        return config.error_length
    return 10.0 * max(pinned(config).pixel)


def slope_deviation(config: RoverConfig, kernel: Matern | None = None) -> float:
    """Return the standard deviation in degrees of a slope's error on driven ground.

    It is τ of `limits_of`; where the error is a raster, that of the median error of open cells.
    """
    terrain = pinned(config)
    assert terrain.crossings is not None
    base = terrain.crossings.vehicle.wheelbase
    if kernel is None:
        error = np.broadcast_to(terrain.error, terrain.cells.mean.size)
        variance = float(np.median(error[~terrain.cells.blocked.ravel()]))
        half = -variance * math.expm1(-0.5 * (base / error_length_of(config)) ** 2)
    else:
        half = kernel.variance - float(kernel.covariance(base))
    return math.degrees(math.atan(math.sqrt(2.0 * half) / base))


def limits_of(
    config: RoverConfig, kernel: Matern | None = None
) -> tuple[FloatArray, FloatArray] | None:
    """Return the largest drop and rise [S, A] in m of each move; None with ground "paper".

    An error of the terrain model tilts the ground that is driven. With errors of deviation σ and of
    correlation exp(−d²/2ℓ²) at distance d, a slope over the wheelbase w has an error of deviation τ
    = σ·√(2 − 2·exp(−w²/2ℓ²)) / w, and the rise between two cells has an error of deviation √2·σ. We
    assume that both errors are the same number of deviations. Then a slope error that uses up the
    margin of a path comes with a rise that differs by √2·σ/τ per unit of slope. So measurements of
    the cells at both ends tell about the path between them. If heights are correlated, their
    `kernel` gives both deviations.
    """
    cells, crossings = pinned(config).cells, pinned(config).crossings
    if crossings is None:
        return None
    base = crossings.vehicle.wheelbase
    scale: FloatArray | float = base / math.sqrt(
        -math.expm1(-0.5 * (base / error_length_of(config)) ** 2)
    )
    if kernel is not None:
        distance = np.hypot(*(np.array(STEPS) * cells.size).T)
        distance[0] = base  # of staying; any positive number
        rises, slope = (kernel.variance - kernel.covariance(d) for d in (distance, base))
        scale = base * np.sqrt(rises / slope)
    dest, height = grid_graph(*cells.shape).dest, cells.centre.ravel()
    rise = height[dest] - height[:, None]
    return frozen(scale * crossings.down - rise), frozen(scale * crossings.up + rise)


def run_limits_of(config: RoverConfig) -> tuple[Limit, ...]:
    """Return the limits of the whole run, in m and Wh, and how much each move uses.

    A move of d m that climbs u m uses `energy_per_metre`·d + `energy_per_climb`·u Wh. A failed
    attempt uses at most the whole path out and back; the path back climbs what the move descends.
    """
    if config.has_no_criterion() or not config.run_limits():
        return ()
    cells, crossings = cells_of(config), crossings_of(config)
    dest = grid_graph(*cells.shape).dest
    if crossings is None:
        at = np.stack(np.divmod(np.arange(cells.mean.size), cells.shape[1]), axis=1) * cells.size
        length = np.linalg.norm(at[dest] - at[:, None], axis=2)
        height = np.nan_to_num(cells.centre.ravel())
        rise = height[dest] - height[:, None]
        up, down = np.maximum(rise, 0.0), np.maximum(-rise, 0.0)
    else:
        length, up, down = crossings.lengths()
    metre, climb = config.energy_per_metre, config.energy_per_climb
    limits = []
    if config.distance is not None:
        limits.append(Limit(config.distance, "m", length, 2.0 * length))
    if config.energy is not None:
        out, back = metre * length + climb * up, metre * length + climb * down
        limits.append(Limit(config.energy, "Wh", out, out + back))
    return tuple(limits)


def cell_side(config: RoverConfig) -> float:
    """Return the side of the cells in m: as configured, or the default for the terrain.

    The default is a whole number of pixels, so that the longer side has about `CELLS_ACROSS` cells,
    or one pixel if it has fewer. On synthetic Mars it is `MARS_CELL`, or a pixel if that is larger.
    """
    if config.cell is not None:
        return config.cell
    if config.terrain == MARS:
        return max(MARS_CELL, 1.0 if config.pixel is None else config.pixel)
    if config.terrain == SAMPLE:
        elevation = elevation_of(config)
        shape, pixel = elevation.shape, elevation.pixel
    else:
        window = None if config.window is None else parse_window(config.window)
        shape, pixel = read_size(config.terrain, window, config.pixel)
    longer = max(count * side for count, side in zip(shape, pixel, strict=True))
    pixels = max(1, round(longer / max(pixel) / CELLS_ACROSS))
    return float(f"{pixels * max(pixel):.6g}")


def sensor_range(config: RoverConfig) -> float | None:
    """Return the range of the sensor in m, None for the whole map: as configured, or the default.

    On driven ground the default is `CELLS_SEEN` cells.
    """
    if "sensor_range" in config.model_fields_set or not config.is_driven:
        return config.sensor_range
    return float(f"{CELLS_SEEN * cell_side(config):.6g}")


def defaults_of(config: RoverConfig) -> dict[str, float | None]:
    """Return what a run on this terrain uses if nothing else is given: cell, range and δ."""
    return {
        "cell": cell_side(config),
        "sensor_range": sensor_range(config),
        "delta": config.delta,
    }


def check_cell(config: RoverConfig) -> None:
    """Raise if the cells of a new run are smaller than a pixel."""
    cell, name, (high, wide) = cell_side(config), pinned(config).cells.name, pinned(config).pixel
    if config.terrain_sha256 or cell >= (1.0 - PIXEL_TOLERANCE) * max(high, wide):
        return
    raise InvalidInputError(
        f"a cell of {cell:g} m is smaller than a pixel of {name}, {high:g} x {wide:g} "
        f"m: give a cell of {max(high, wide):.10g} m or more"
    )


def check_stretch(config: RoverConfig) -> None:
    """Raise if the map of a new run's terrain stretches lengths, since slopes would be wrong."""
    cells = cells_of(config)
    if config.terrain_sha256 or cells.crs is None or not has_degrees(cells.crs):
        return
    low, high = stretch_of(cells.crs, cells.transform, cells.shape, cells.unit)
    if low >= 1.0 / MAX_STRETCH and high <= MAX_STRETCH:
        return
    rows, columns = cells.shape
    middle = to_map(cells.transform, columns / 2, rows / 2)
    (longitude,), (latitude,) = to_degrees(cells.crs, middle[:1], middle[1:])
    body = "+datum=WGS84" if is_earth(cells.crs) else f"+R={radius_of(cells.crs):.10g}"
    target = f"+proj=stere +lat_0={latitude:.6g} +lon_0={longitude:.6g} {body} +units=m"
    path = Path(config.terrain)
    files = [str(path), str(path.with_name(f"{path.stem}_true.tif"))]
    raise InvalidFileError(
        f"{path}: lengths on its map, {cells.crs_name}, are {low:.3g} to {high:.3g} times those on "
        f"the ground, so slopes would be wrong. Reproject it first, for example with "
        + shlex.join(["gdalwarp", "-r", "bilinear", "-t_srs", target, *files])
    )


def pinned(config: RoverConfig) -> Pinned:
    """Return the terrain of a configuration from a cache; files that changed are read again."""
    others = [name for name in RoverConfig.model_fields if name not in CELLS]
    fixed = {"ground": config.rule, "cell": cell_side(config)}
    key = config.model_copy(update={**dict.fromkeys(others), **fixed})
    return _pinned(key, tuple(_stamp(file) for file in _files(config)))


def _files(config: RoverConfig) -> list[str]:
    """Return the files that the terrain of a configuration is made from."""
    terrain = None if config.terrain in (MARS, SAMPLE) else config.terrain
    given = terrain, config.obstacles, config.keep_out, config.error
    return [file for file in given if isinstance(file, str)]


def _stamp(file: str) -> tuple[int, int] | None:
    """Return the size and the time of a file; None if there is none, which its reader reports."""
    try:
        status = Path(file).stat()
    except (OSError, ValueError):
        return None
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=1)
def _pinned(config: RoverConfig, stamps: tuple[tuple[int, int] | None, ...]) -> Pinned:
    """Return the terrain of a configuration, read from its files.

    `stamps` are the sizes and times of the files; they are only a part of the cache's key.
    """
    elevation, cell = elevation_of(config), cell_side(config)
    obstacles, kept_out = _obstacles(config, elevation), _kept_out(config, elevation)
    masks = [mask for mask in (obstacles, kept_out) if mask is not None]
    closed = np.logical_or.reduce(masks) if masks else None
    if closed is not None and closed.all():
        given = {"--obstacles": obstacles, "--keep-out": kept_out}
        keys = [key for key, mask in given.items() if mask is not None]
        raise InvalidInputError(f"{' and '.join(keys)}: every pixel of {elevation.name} is closed")
    error = config.error if isinstance(config.error, float) else _error(config.error, elevation)
    if config.is_driven:
        base = max(WHEELBASE, *elevation.pixel) if config.wheelbase is None else config.wheelbase
        vehicle = DrivingLimits(config.climb, config.descend, config.roll, base)
        free = elevation
        if closed is not None:
            free = replace(elevation, heights=np.where(closed, np.nan, elevation.heights))
        cells, crossings = crossed_cells(free, cell, error, vehicle)
    else:
        cells, crossings = to_cells(elevation, cell, config.blur, error, closed), None
    sides, own = sides_of(elevation, cell), error
    if isinstance(error, np.ndarray):
        variance = cells.variance if config.is_driven else at_centres(error, sides)
        own = np.where(cells.blocked, 0.0, variance).ravel()
    rows, columns = (n * side for n, side in zip(cells.shape, sides, strict=True))
    return Pinned(
        cells,
        digest_of(cells, *masks, *([error] if isinstance(error, np.ndarray) else [])),
        elevation.pixel,
        crossings,
        None if obstacles is None else obstacles[:rows, :columns],
        None if kept_out is None else kept_out[:rows, :columns],
        None if kept_out is None else cells_with(kept_out, sides),
        elevation.height_unit,
        elevation.bands,
        own,
    )


def _obstacles(config: RoverConfig, elevation: Elevation) -> BoolArray | None:
    """Return the mask [rows, columns] of pixels with obstacles; None without obstacles."""
    if config.obstacles is None:
        return None
    if Path(config.obstacles).suffix.lower() not in (".geojson", ".json"):
        return np.not_equal(read_layer(config.obstacles, elevation, "mask"), 0.0)
    area = read_area(config.obstacles, elevation)
    with prefixed(config.obstacles, InvalidFileError):
        return pixels_touched(area, elevation, "the obstacles are")


def _error(file: str, elevation: Elevation) -> FloatArray:
    """Return the variance [rows, columns] in m² of each pixel, from a raster of deviations in m."""
    deviation = read_layer(file, elevation)
    known = np.isfinite(elevation.heights)
    wrong = known & ~((deviation >= MIN_DEVIATION) & (deviation <= 1.0 / MIN_DEVIATION))
    if wrong.any():
        row, column = (int(i) for i in np.argwhere(wrong)[0])
        x, y = to_map(elevation.transform, column + 0.5, row + 0.5)
        value = deviation[row, column]
        fault = "has no standard deviation" if np.isnan(value) else f"has {value:g} m"
        raise InvalidFileError(
            f"{file}: {fault} at row {row}, column {column} of the ground to explore, at "
            f"x = {x:.10g}, y = {y:.10g}; expected {MIN_DEVIATION:g} to {1.0 / MIN_DEVIATION:g} m "
            "wherever the terrain has a height"
        )
    return np.square(deviation)


def _kept_out(config: RoverConfig, elevation: Elevation) -> BoolArray | None:
    """Return the mask [rows, columns] of pixels in the area to keep out of; None without it."""
    what = "the area to keep out of"
    area = polygons_of(config.keep_out, what, elevation)
    if area is None:
        return None
    with of_file(config.keep_out):
        return pixels_touched(area, elevation, f"{what} is")


def of_file(given: object) -> AbstractContextManager[None]:
    """Return a context that names the file in errors, if a value was given as a file's name."""
    return prefixed(given, InvalidFileError) if isinstance(given, str) else nullcontext()


def polygons_of(given: str | Area | None, what: str, where: Georeference) -> Area | None:
    """Return polygons in the map coordinates of `where`; raise if they are invalid.

    They are given, or the name of a GeoJSON file, or None. `what` names them in messages.
    """
    if given is None or isinstance(given, str):
        return None if given is None else read_area(given, where)
    with prefixed(what):
        return check_area(given)


def digest_of(cells: Cells, *layers: BoolArray | FloatArray) -> str:
    """Return the SHA-256 of the cells that a run uses, and of other rasters."""
    digest = hashlib.sha256(repr((cells.shape, cells.transform, cells.crs, cells.unit)).encode())
    for array in (cells.mean, cells.variance, cells.centre, cells.blocked, *layers):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
