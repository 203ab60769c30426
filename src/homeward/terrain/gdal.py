"""Reading of rasters by GDAL through rasterio: open, check, and read in strips."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from homeward.arrays import BoolArray, FloatArray
from homeward.errors import InvalidFileError
from homeward.extras import need
from homeward.terrain.elevation import Transform, to_map
from homeward.terrain.raw import check_whole

if TYPE_CHECKING:
    from homeward.terrain.windows import PixelWindow

MAX_MAGNITUDE = 1e30  # larger magnitudes are special constants of a file format, never heights
FILLS = (-9999.0, -99999.0, -32767.0, -32768.0)  # missing data in files that declare no such value
LABELS = (".LBL", ".lbl", ".XML", ".xml")  # suffixes of a label file beside a raw raster
FLIPPED = ("netCDF", "HDF5", "HDF5Image", "HDF4", "HDF4Image")
"""GDAL drivers that may read a file upside down."""

PICTURES = ("red", "green", "blue", "alpha", "palette", "cyan", "magenta", "yellow", "black")
"""Colour interpretations of pictures; bands with heights are gray or undefined."""

PLANETARY = ("PDS", "PDS4", "ISIS2", "ISIS3", "VICAR")
SPECIAL_PIXELS = tuple(float(value) for value in range(-32768, -32763))
"""Special values for missing data in 16-bit planetary rasters."""

GEOGRAPHIC = "GEOGCS["  # beginning of the part of a WKT that defines longitudes and latitudes
MARS_RADIUS, EARTH_RADII = 3_396_190.0, (6.3e6, 6.4e6)  # m

STRIP_PIXELS = 1 << 23  # approximate number of pixels that are read at once
METRES = {
    name: metres
    for metres, names in {
        1.0: ("", "m", "metre", "metres", "meter", "meters"),
        1000.0: ("km", "kilometre", "kilometres", "kilometer", "kilometers"),
        0.1: ("dm",),
        0.01: ("cm",),
        0.001: ("mm",),
        0.3048: ("ft", "foot", "feet"),
        1200 / 3937: ("us-ft", "us_survey_foot", "us survey foot"),
    }.items()
    for name in names
}
"""Length in metres of a unit of height, by its name in rasters; no name means metres."""


Role: TypeAlias = Literal["heights", "errors", "mask"]
"""Content of a raster. The numbers of a mask are read as stored, and none counts as missing."""


@dataclass(frozen=True, slots=True)
class RasterSource:
    """An open raster or array: its grid, and a function that reads a window of it."""

    shape: tuple[int, int]  # rows, columns
    read: Callable[[PixelWindow], FloatArray]  # heights in m, NaN for no data
    transform: Transform | None = None  # None if the raster has no pixel size
    crs: str | None = None  # WKT
    unit: float = 1.0  # length of a unit of the map, in m
    height_unit: str | None = None  # name of the heights' unit in the raster; None without a name
    bands: int = 1  # number of bands of the file


def need_rasterio(what: str) -> Any:
    """Return the module rasterio; raise if it is missing. `what` begins the message."""
    return need("rasterio", "terrain", f"{what} needs rasterio")


@contextmanager
def opened(path: Path, band: int, role: Role = "heights") -> Iterator[RasterSource]:
    """Yield an open raster; raise if its band, format, size in bytes or map unit is unsuitable."""
    need_rasterio(f"reading {path}")
    dataset = _open(path)
    with dataset:
        _check_kind(path, dataset, band)
        check_whole(path, dataset)
        crs, transform = dataset.crs, tuple(float(value) for value in dataset.transform[:6])
        unplaced = transform == (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
        yield RasterSource(
            shape=(dataset.height, dataset.width),
            read=_reader(path, dataset, band, role == "mask"),
            transform=None if unplaced else transform,  # type: ignore[arg-type]
            crs=crs.to_wkt() if crs else None,
            unit=_unit(path, dataset) if crs and role == "heights" else 1.0,
            height_unit=(dataset.units[band - 1] or "").strip() or None,
            bands=dataset.count,
        )


def _open(path: Path) -> Any:
    """Return the open dataset of a file, or of the label file beside a raw raster."""
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning, RasterioIOError

    labels = [label for suffix in LABELS if (label := path.with_suffix(suffix)).is_file()]
    refusal: Exception | None = None
    for candidate in (path, *labels):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotGeoreferencedWarning)
                return rasterio.open(candidate)
        except RasterioIOError as cause:
            refusal = refusal or cause
    if not path.stat().st_size:
        raise InvalidFileError(f"{path}: is empty") from refusal
    raise InvalidFileError(
        f"{path}: is not an elevation raster that Homeward can read: {gdal_message(refusal)}"
    ) from refusal


def _check_kind(path: Path, dataset: Any, band: int) -> None:
    """Raise if a band is missing, complex or a colour, or if GDAL may read it upside down."""
    if dataset.driver in FLIPPED:
        files = shlex.join([str(path), str(path.with_suffix(".tif"))])
        raise InvalidFileError(
            f"{path}: a {dataset.driver} file may be read upside down. Convert it first, for "
            f"example with gdal_translate -of GTiff {files}, and check that north is up"
        )
    if dataset.count == 0:
        raise InvalidFileError(f"{path}: has no band; if it contains several rasters, extract one")
    if isinstance(band, bool) or not isinstance(band, int) or not 1 <= band <= dataset.count:
        raise InvalidFileError(f"{path}: has no band {band!r}, only 1 to {dataset.count}")
    colour = dataset.colorinterp[band - 1].name
    if colour in PICTURES:
        raise InvalidFileError(
            f"{path}: band {band} is the {colour} band of a picture, not heights"
        )
    dtype = dataset.dtypes[band - 1]
    if "complex" in dtype:
        raise InvalidFileError(f"{path}: band {band} holds {dtype}, expected real numbers")


def _unit(path: Path, dataset: Any) -> float:
    """Return the length of a unit of the map in metres; raise on degrees and unknown units."""
    crs = dataset.crs
    wkt = crs.to_wkt()
    if crs.is_geographic:
        left, bottom, right, top = dataset.bounds
        size = f"+R={radius_of(wkt):.10g}"
        middle = f"+lat_ts={(bottom + top) / 2:.6g} +lon_0={(left + right) / 2:.6g}"
        files = shlex.join([str(path), str(path.with_name(f"{path.stem}_metres.tif"))])
        raise InvalidFileError(
            f"{path}: its pixels are in degrees, not in metres. Reproject it first, for example "
            f'with gdalwarp -r bilinear -t_srs "+proj=eqc {middle} {size} +units=m" {files}'
        )
    if crs.is_projected:
        name, factor = crs.linear_units_factor
    elif wkt.startswith("LOCAL_CS") and (found := re.search(r'UNIT\["([^"]*)",([^,\]]+)', wkt)):
        name, factor = found[1], float(found[2])
    else:
        name, factor = "unknown", 0.0
    if name == "unknown" or not 0.0 < factor < np.inf:
        raise InvalidFileError(f"{path}: its coordinate system has an unknown unit of length")
    return float(factor)


def _reader(
    path: Path, dataset: Any, band: int, is_raw: bool
) -> Callable[[PixelWindow], FloatArray]:
    """Return a function that reads a window in m, or as stored if `is_raw`.

    It reads in strips, which saves memory.
    """
    at = band - 1
    name = "" if is_raw else dataset.units[at] or ""
    metres = METRES.get(name.strip().lower())
    if metres is None:
        raise InvalidFileError(
            f"{path}: the unit of band {band} is {name!r}, which is not a known unit of height"
        )
    scale, offset = dataset.scales[at] * metres, dataset.offsets[at] * metres
    if is_raw:
        scale, offset = 1.0, 0.0
    masked = not is_raw and all(flag.name != "all_valid" for flag in dataset.mask_flag_enums[at])
    marked = masked or dataset.nodatavals[at] is not None
    fills: tuple[float, ...] = () if marked or is_raw else FILLS
    if not is_raw and dataset.driver in PLANETARY and dataset.dtypes[at] == "int16":
        fills += SPECIAL_PIXELS

    def read(part: PixelWindow) -> FloatArray:
        from rasterio.errors import RasterioIOError
        from rasterio.windows import Window

        heights = np.empty((part.height, part.width))
        block = dataset.block_shapes[at][0]  # strips are whole blocks
        step = max(1, STRIP_PIXELS // part.width // block) * block
        bottom = part.row + part.height
        edges = sorted({part.row, *range(part.row // step * step + step, bottom, step), bottom})
        try:
            for first, last in pairwise(edges):
                strip = Window(part.column, first, part.width, last - first)
                raw = dataset.read(band, window=strip, out_dtype="float64")
                absent = missing_mask(raw, fills)
                if masked:
                    absent |= dataset.read_masks(band, window=strip) == 0
                out = heights[first - part.row : last - part.row]
                np.multiply(raw, scale, out=out)
                out += offset
                out[absent] = np.nan
        except RasterioIOError as cause:
            raise InvalidFileError(
                f"{path}: the window {part} can't be read; the file may be incomplete: "
                f"{gdal_message(cause)}"
            ) from cause
        return heights

    return read


def missing_mask(raw: FloatArray, fills: tuple[float, ...]) -> BoolArray:
    """Return the mask of stored numbers that are NaN, above `MAX_MAGNITUDE`, or in `fills`."""
    with np.errstate(invalid="ignore"):
        return np.asarray(~(np.abs(raw) <= MAX_MAGNITUDE) | np.isin(raw, fills))


def same_system(one: str | None, other: str | None) -> bool:
    """Return whether two coordinate systems (WKT) are the same, or one of them is unknown."""
    if one is None or other is None or one == other:
        return True
    from rasterio.crs import CRS

    return bool(CRS.from_wkt(one) == CRS.from_wkt(other))


def short_name(crs: str) -> str:
    """Return a coordinate system (WKT) in a short form that GDAL's programs accept."""
    from rasterio.crs import CRS

    system = CRS.from_wkt(crs)
    code = system.to_epsg()
    return f"EPSG:{code}" if code else system.to_proj4().replace("=True", "") or crs


def to_degrees(crs: str, x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return longitudes [n] and latitudes [n] of map coordinates x [n] and y [n].

    They are those of WGS 84 on Earth, and of the coordinate system's own body elsewhere.
    """
    need_rasterio("longitudes and latitudes")
    from rasterio.crs import CRS
    from rasterio.warp import transform

    rest = crs[crs.index(GEOGRAPHIC) :]
    depth = np.cumsum([(letter == "[") - (letter == "]") for letter in rest])
    first = rest.index("[")
    geographic = rest[: first + 1 + int(np.argmax(depth[first:] == 0))]
    target = CRS.from_epsg(4326) if is_earth(crs) else CRS.from_wkt(geographic)
    longitudes, latitudes = transform(CRS.from_wkt(crs), target, list(x), list(y))
    return longitudes, latitudes


def stretch_of(
    crs: str, transform: Transform, shape: tuple[int, int], unit: float
) -> tuple[float, float]:
    """Return the least and largest ratio of lengths on the map to lengths on the ground.

    The ratios are computed at the middle and the corners of a grid, in all directions. `unit` is
    the length of a unit of the map in m.
    """
    rows, columns = shape
    places = [(0.5, 0.5), (0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)]
    x, y = np.array([to_map(transform, u * columns, v * rows) for u, v in places]).T
    step = np.hypot(transform[0], transform[3])
    shifted = [(x, y), (x + step, y), (x, y + step)]
    degrees = [np.radians(to_degrees(crs, px.tolist(), py.tolist())) for px, py in shifted]
    latitude = degrees[0][1]
    inverse = re.search(r'SPHEROID\["[^"]*",[\d.eE+]+,([\d.eE+]+)', crs)
    flattening = 1.0 / float(inverse[1]) if inverse and float(inverse[1]) else 0.0
    eccentricity_squared = flattening * (2.0 - flattening)
    share = 1.0 - eccentricity_squared * np.sin(latitude) ** 2
    east = radius_of(crs) / np.sqrt(share) * np.cos(latitude)  # m per radian of longitude
    north = radius_of(crs) * (1.0 - eccentricity_squared) / share**1.5  # m per radian of latitude
    jacobian = np.empty((len(places), 2, 2))  # m on the ground per step on the map
    for axis in (0, 1):
        turn, rise = degrees[axis + 1] - degrees[0]
        jacobian[:, 0, axis] = east * ((turn + np.pi) % (2.0 * np.pi) - np.pi)
        jacobian[:, 1, axis] = north * rise
    scales = 1.0 / np.linalg.svd(jacobian / (step * unit), compute_uv=False)
    return float(scales.min()), float(scales.max())


def has_degrees(crs: str | None) -> bool:
    """Return whether coordinates of a system (WKT) can be converted to longitude and latitude."""
    return crs is not None and GEOGRAPHIC in crs


def is_earth(crs: str) -> bool:
    """Return whether a coordinate system (WKT) is one of Earth, by its radius."""
    return EARTH_RADII[0] < radius_of(crs) < EARTH_RADII[1]


def radius_of(wkt: str) -> float:
    """Return the equatorial radius in m of a coordinate system's body; that of Mars if unknown."""
    radius = re.search(r'SPHEROID\["[^"]*",([\d.eE+]+)', wkt)
    return float(radius[1]) if radius else MARS_RADIUS


def gdal_message(error: BaseException | None) -> str:
    """Return the message of GDAL's error, the last in the chain of causes of rasterio's error."""
    while error is not None and error.__cause__ is not None:
        error = error.__cause__
    return str(getattr(error, "errmsg", None) or error)
