"""Reading of terrain models: any raster that GDAL knows, or a NumPy array with a pixel size.

Only the requested window is read. Scale, offset and unit of the band give heights in metres.
Missing data becomes NaN: pixels that the file marks; NaN, ±inf and magnitudes above 1e30; special
values of 16-bit PDS and ISIS rasters; and, if the file marks no missing data, the usual fill
values. (A true height that is mistaken for a fill value costs one pixel. A fill value that is
mistaken for a height makes a cliff.) Distances are those on the map, also where its projection
stretches them.
"""

from __future__ import annotations

import math
import os
import shlex
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from homeward.arrays import FloatArray, number
from homeward.errors import InvalidFileError, InvalidInputError, MissingPixelSizeError, prefixed
from homeward.files import refusing
from homeward.terrain.elevation import (
    Elevation,
    Transform,
    check_transform,
    describe_extent,
    extent_of,
    from_corner,
    window_transform,
    wkt_name,
)
from homeward.terrain.gdal import (
    FILLS,
    METRES,
    RasterSource,
    Role,
    missing_mask,
    opened,
    same_system,
    short_name,
)
from homeward.terrain.windows import MapWindow, PixelWindow, Window

MAX_PIXELS = 400_000_000  # most pixels that are read or generated at once: 3.2 GB
MAX_HEIGHT = 1e7  # maximum height in metres; it admits heights above the centre of a planet
GRID_TOLERANCE = 0.01  # distance in pixels up to which the grids of two rasters are the same
UNKNOWN = "no coordinate system"

EARTH_RADIUS = 6_371_000.0  # m, mean


def read_elevation(
    path: str | os.PathLike[str],
    *,
    window: Window | None = None,
    pixel: float | None = None,
    band: int = 1,
    height_unit: float | None = None,
) -> Elevation:
    """Return a terrain model, or a window of it.

    Parameters
    ----------
    path
        A PDS3 (such as HiRISE; give the ``.IMG``, or its label file ``.LBL``), PDS4, ISIS3,
        GeoTIFF, ESRI ASCII, ENVI or JPEG 2000 file, any other raster that GDAL reads, or ``.npy``.
        All except ``.npy`` need ``homeward[terrain]``.
    window
        Window to read; by default the whole raster, if it has at most `MAX_PIXELS` pixels.
    pixel
        Side of a pixel in metres, for a raster without its own pixel size, such as ``.npy``.
    band
        Band with the heights, from 1.
    height_unit
        Length in metres of a unit of height, for a raster that names no unit; 1 unless given.

    If rows run from south to north or columns from east to west, the heights are flipped so that
    north is up.
    """
    path = Path(path)
    with _opened(path, band) as source:
        part, transform = _part(path, source, window, pixel)
        named = None if source.height_unit is None else METRES.get(source.height_unit.lower())
        if height_unit is not None and named not in (None, height_unit):
            raise InvalidInputError(
                f"{path}: names {source.height_unit!r} as the unit of its heights: remove the unit "
                "that you gave"
            )
        if part.width * part.height > MAX_PIXELS:
            raise InvalidFileError(
                f"{path}: {part.width} x {part.height} pixels are too many to read at once "
                f"(the maximum is {MAX_PIXELS:,}): give a smaller window"
            )
        heights = source.read(part)
    if height_unit is not None and named is None:
        heights *= height_unit
    _check_heights(path, heights, part)
    transform = window_transform(transform, part.column, part.row)
    heights, transform = _north_up(heights, transform)
    heights.flags.writeable = False
    is_own = source.transform is None and source.crs is None
    about: dict[str, Any] = {"crs": source.crs, "name": path.name, "unit": source.unit}
    about |= {"transform": transform, "is_own": is_own}
    return Elevation(heights, source.height_unit, source.bands, **about)


def read_size(
    path: str | os.PathLike[str], window: Window | None = None, pixel: float | None = None
) -> tuple[tuple[int, int], tuple[float, float]]:
    """Return rows and columns of a raster or window, and a pixel's height and width in m."""
    path = Path(path)
    with _opened(path, 1) as source:
        part, (a, b, _, d, e, _) = _part(path, source, window, pixel)
        size = math.hypot(b, e) * source.unit, math.hypot(a, d) * source.unit
        return (part.height, part.width), size


def _part(
    path: Path, source: RasterSource, window: Window | None, pixel: float | None
) -> tuple[PixelWindow, Transform]:
    """Return the pixels of a window, and the transform of the whole raster."""
    transform = _transform(path, source, pixel)
    with prefixed(path):
        part = PixelWindow(0, 0, *source.shape[::-1]) if window is None else window
        return part.within(source.shape, transform), transform


def read_layer(
    path: str | os.PathLike[str], elevation: Elevation, role: Role = "errors"
) -> FloatArray:
    """Return the values [rows, columns] of a raster on the pixels of a terrain model.

    The raster has the same pixels, or more pixels of the same grid around them. Raise if it does
    not cover the terrain model, or has another grid or coordinate system. A raster without a place
    on the map, such as ``.npy``, must have the same number of rows and columns.
    """
    path = Path(path)
    with _opened(path, 1, role) as source:
        part = PixelWindow(0, 0, *source.shape[::-1])
        if source.transform is None:
            if source.shape != elevation.shape:
                raise InvalidFileError(
                    f"{path}: has {_pixels(source.shape)} pixels and no place on the map, but "
                    f"{elevation.name} has {_pixels(elevation.shape)} to explore: give a raster of "
                    "this size"
                )
            return source.read(part)
        transform, (_, b, _, d, _, _) = check_transform(source.transform), elevation.transform
        fits = same_system(source.crs, elevation.crs)
        if fits and not (b or d):
            try:
                whole = MapWindow(*extent_of(elevation.transform, elevation.shape))
                part = whole.within(source.shape, transform)
            except InvalidInputError:
                fits = False
        fits = fits and (part.height, part.width) == elevation.shape
        values = source.read(part) if fits else np.empty((0, 0))
    values, own = _north_up(values, window_transform(transform, part.column, part.row))
    offset = np.abs(np.subtract(own, elevation.transform)).max()
    if not fits or offset > GRID_TOLERANCE * min(elevation.pixel) / elevation.unit:
        raise InvalidFileError(
            f"{path}: has {_pixels(source.shape)} pixels "
            f"{describe_extent(transform, source.shape)} in {wkt_name(source.crs or UNKNOWN)}, but "
            f"{elevation.name} has {_pixels(elevation.shape)} to explore "
            f"{describe_extent(elevation.transform, elevation.shape)} in "
            f"{wkt_name(elevation.crs or UNKNOWN)}. Bring it to the same grid"
            + ("" if b or d else f": {_warp(path, elevation, role)}")
        )
    return values


def _pixels(shape: tuple[int, int]) -> str:
    return f"{shape[0]} x {shape[1]}"


def _warp(path: Path, elevation: Elevation, role: Role) -> str:
    """Return the shell command that resamples a raster to the grid of a terrain model."""
    (rows, columns), edges = elevation.shape, extent_of(elevation.transform, elevation.shape)
    system = [] if elevation.crs is None else ["-t_srs", short_name(elevation.crs)]
    grid = ["-te", *(f"{edge!r}" for edge in edges), "-ts", str(columns), str(rows)]
    method = ["-r", "near" if role == "mask" else "bilinear"]
    files = [str(path), str(path.with_name(f"{path.stem}_same_grid.tif"))]
    return shlex.join(["gdalwarp", *system, *grid, *method, *files])


def sample_terrain() -> Elevation:
    """Return the terrain model of hills around Jacksboro, Tennessee, which comes with Matplotlib.

    It has 344 x 403 pixels of about 93 m by 74 m, on a grid of 3 arc seconds. All pixels have the
    size of a pixel at the middle latitude of a sphere; the error is at most half a per cent.
    """
    from matplotlib.cbook import get_sample_data

    data: Any
    with get_sample_data("jacksboro_fault_dem.npz") as data:  # type: ignore[union-attr]
        heights = data["elevation"].astype(np.float64)
        south, north = sorted((float(data["ymin"]), float(data["ymax"])))
        across, down = (abs(math.radians(float(data[step]))) for step in ("dx", "dy"))
    heights.flags.writeable = False
    width = EARTH_RADIUS * across * math.cos(math.radians((south + north) / 2))
    height = EARTH_RADIUS * down
    transform = (width, 0.0, 0.0, 0.0, -height, height * len(heights))
    name = "the hills around Jacksboro, Tennessee"
    return Elevation(heights, transform=transform, name=name, is_own=True)


def _opened(path: Path, band: int, role: Role = "heights") -> AbstractContextManager[RasterSource]:
    """Return a context with an open raster; raise if the path is not a readable plain file."""
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "not a plain file"
        raise InvalidFileError(f"{path}: is {kind}, expected a raster file")
    with refusing(path, "can't be read"), open(path, "rb"):
        pass
    if path.suffix.lower() == ".npy":
        return nullcontext(_array(path, band))
    return opened(path, band, role)


def _array(path: Path, band: int) -> RasterSource:
    """Return a NumPy file as a raster; only the requested window is read into memory."""
    if band != 1:
        raise InvalidFileError(f"{path}: has no band {band!r}, an array has band 1 only")
    try:
        array = np.lib.format.open_memmap(path, mode="r")  # never unpickles
    except (ValueError, OSError, EOFError) as cause:
        raise InvalidFileError(f"{path}: is not a NumPy array of numbers: {cause}") from cause
    if array.dtype.kind not in "iuf":
        raise InvalidFileError(f"{path}: holds {array.dtype}, expected real numbers")
    if array.ndim != 2 or not array.size:
        raise InvalidFileError(f"{path}: has shape {array.shape}, expected rows and columns")

    def read(part: PixelWindow) -> FloatArray:
        rows = slice(part.row, part.row + part.height)
        columns = slice(part.column, part.column + part.width)
        heights = np.array(array[rows, columns], dtype=np.float64, order="C")
        heights[missing_mask(heights, FILLS)] = np.nan
        return heights

    return RasterSource(array.shape, read)


def _transform(path: Path, source: RasterSource, pixel: float | None) -> Transform:
    """Return the transform of a raster, or else one from `pixel` in m; raise unless one is given.

    Also raise if a raster with a transform is given a pixel size.
    """
    if source.transform is None:
        if pixel is None:
            raise MissingPixelSizeError(f"{path}: has no pixel size: give one in metres")
        pixel = number(pixel, "the pixel size", InvalidInputError)
        if not 0.0 < pixel < np.inf:
            raise InvalidInputError(f"the pixel size is {pixel:g} m, expected a positive length")
        return from_corner(pixel, source.shape[0])
    if pixel is not None:
        raise InvalidInputError(f"{path}: has its own pixel size: remove the one you gave")
    with prefixed(path, InvalidFileError):
        return check_transform(source.transform)


def _check_heights(path: Path, heights: FloatArray, part: PixelWindow) -> None:
    """Raise if a window has no data, or a number that can't be a height."""
    low, high = np.fmin.reduce(heights, axis=None), np.fmax.reduce(heights, axis=None)
    if np.isnan(low):
        raise InvalidFileError(f"{path}: has no data in the window {part}")
    worst = low if -low > high else high
    if abs(worst) > MAX_HEIGHT:
        row, column = (int(i) for i in np.argwhere(heights == worst)[0])
        raise InvalidFileError(
            f"{path}: {worst:g} m at row {part.row + row}, column {part.column + column} is not a "
            "height; if it marks missing data, declare it with gdal_edit.py -a_nodata"
        )


def _north_up(heights: FloatArray, transform: Transform) -> tuple[FloatArray, Transform]:
    """Return heights and transform, flipped so that north is up; unchanged if they are rotated."""
    a, b, c, d, e, f = transform
    if b or d:
        return heights, transform
    rows, columns = heights.shape
    if e > 0:
        heights, e, f = heights[::-1], -e, f + e * rows
    if a < 0:
        heights, a, c = heights[:, ::-1], -a, c + a * columns
    return np.ascontiguousarray(heights), (a, b, c, d, e, f)
