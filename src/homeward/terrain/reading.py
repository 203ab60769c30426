"""Reading of terrain models: any raster that GDAL knows, or a NumPy array with a pixel size.

Only the requested window is read. Missing data becomes NaN:

- pixels that the file itself marks: by its nodata value, its mask, its alpha;
- NaN, ±inf, and magnitudes above 1e30: the special constants of PDS and ISIS, which are near
  −3.4028226550889045e38, and the usual fill values of NetCDF and GDAL;
- −32768 to −32764 in 16-bit PDS and ISIS rasters, which are their special pixels;
- in a file that marks no missing data: −9999, −99999, −32767 and −32768 exactly, the usual fill
  values. Misreading a height as missing costs a pixel; misreading a fill value makes a cliff.

Any other magnitude above 1e7 m can't be a height: the file is refused.

Heights are converted to metres by the band's scale, offset and unit. Distances are those of the
map: where a projection stretches distances, such as an equirectangular one far from its standard
parallel, it stretches the pixels too.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import number
from homeward.errors import InvalidFileError, InvalidInputError, MissingPixelSizeError
from homeward.files import refusing
from homeward.terrain.elevation import Elevation
from homeward.terrain.sources import FILLS, Source, holes
from homeward.terrain.transforms import Transform, check_transform, from_corner, moved
from homeward.terrain.windows import PixelWindow, Window

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from homeward.arrays import FloatArray

MAX_PIXELS = 400_000_000
"""Pixels that are read or made at once, at most: 3.2 GB as float64."""

MAX_HEIGHT = 1e7
"""Largest height in metres, even above a planet's centre."""


def read_elevation(
    path: str | os.PathLike[str],
    *,
    window: Window | None = None,
    pixel: float | None = None,
    band: int = 1,
) -> Elevation:
    """Return a terrain model, or a window of it.

    Parameters
    ----------
    path
        HiRISE and other PDS3 (``.IMG``; a detached label by its ``.LBL``, or by the ``.IMG`` beside
        it), PDS4, ISIS3, GeoTIFF, ESRI ASCII, ENVI, JPEG 2000, any other raster that GDAL reads, or
        ``.npy``. All but ``.npy`` need ``homeward[terrain]``.
    window
        Part to read; by default all of it, if it has at most `MAX_PIXELS`.
    pixel
        Side of a pixel in metres, for a raster without its own pixel size, such as ``.npy``.
    band
        Band with the heights, from 1.

    A raster that runs from south to north or from east to west is turned to have north up.
    """
    path = Path(path)
    with _opened(path, band) as source:
        transform = _transform(path, source, pixel)
        try:
            part = PixelWindow(0, 0, *source.shape[::-1]) if window is None else window
            part = part.within(source.shape, transform)
        except InvalidInputError as cause:
            raise InvalidInputError(f"{path}: {cause}") from cause
        if part.width * part.height > MAX_PIXELS:
            raise InvalidFileError(
                f"{path}: {part.width} x {part.height} pixels are too many to read at once "
                f"(the most is {MAX_PIXELS:,}): give a window"
            )
        heights = source.read(part)
    _check_heights(path, heights, part)
    transform = moved(transform, part.column, part.row)
    heights, transform = _north_up(heights, transform)
    heights.flags.writeable = False
    is_own = source.transform is None and source.crs is None
    return Elevation(heights, transform, source.crs, path.name, source.unit, is_own)


@contextmanager
def _opened(path: Path, band: int) -> Iterator[Source]:
    """Open a file as a source of heights; raise if it is not a regular file."""
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "not a plain file"
        raise InvalidFileError(f"{path}: is {kind}, expected a raster file")
    with refusing(path, "can't be read"), open(path, "rb"):
        pass
    if path.suffix.lower() == ".npy":
        yield _array(path, band)
        return
    from homeward.terrain.gdal import opened

    with opened(path, band) as source:
        yield source


def _array(path: Path, band: int) -> Source:
    """Return a NumPy file as a source; only the part that is read is in memory."""
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
        heights[holes(heights, FILLS)] = np.nan
        return heights

    rows, columns = array.shape
    return Source((rows, columns), None, None, 1.0, read)


def _transform(path: Path, source: Source, pixel: float | None) -> Transform:
    """Return the transform of a raster: its own, or one made from a pixel size, never both."""
    if source.transform is None:
        if pixel is None:
            raise MissingPixelSizeError(f"{path}: has no pixel size: give one in metres")
        pixel = number(pixel, "the pixel size", InvalidInputError)
        if not 0.0 < pixel < np.inf:
            raise InvalidInputError(f"the pixel size is {pixel:g} m, expected a positive length")
        return from_corner(pixel, source.shape[0])
    if pixel is not None:
        raise InvalidInputError(f"{path}: has its own pixel size: omit the given one")
    try:
        return check_transform(source.transform, InvalidFileError)
    except InvalidFileError as cause:
        raise InvalidFileError(f"{path}: {cause}") from cause


def _check_heights(path: Path, heights: FloatArray, part: PixelWindow) -> None:
    """Raise on a window without data, and on numbers that can't be heights."""
    low, high = np.fmin.reduce(heights, axis=None), np.fmax.reduce(heights, axis=None)
    if np.isnan(low):
        raise InvalidFileError(f"{path}: has no data in the window {part}, only nodata")
    worst = low if -low > high else high
    if abs(worst) > MAX_HEIGHT:
        row, column = (int(i) for i in np.argwhere(heights == worst)[0])
        raise InvalidFileError(
            f"{path}: {worst:g} m at row {part.row + row}, column {part.column + column} is not a "
            "height; if it marks missing data, declare it with gdal_edit.py -a_nodata"
        )


def _north_up(heights: FloatArray, transform: Transform) -> tuple[FloatArray, Transform]:
    """Return a raster with rows that run south and columns that run east, unless rotated."""
    a, b, c, d, e, f = transform
    if b or d:
        return heights, transform
    rows, columns = heights.shape
    if e > 0:
        heights, e, f = heights[::-1], -e, f + e * rows
    if a < 0:
        heights, a, c = heights[:, ::-1], -a, c + a * columns
    return np.ascontiguousarray(heights), (a, b, c, d, e, f)
