"""The process that reads an uploaded raster or area, with limits of memory and time.

``python -m homeward.web.upload_reader SOURCE TARGET NAME [PIXEL]`` reads heights and writes them as
a new GeoTIFF, or reads polygons and writes them as new GeoJSON. Runs read only the new file, so no
other process parses the upload. The process prints one JSON object: a description, or ``{"error":
sentence, "code": code}``.

Only GDAL drivers that read a single file are allowed (`DRIVERS`). GDAL reads the names of drivers
to skip when it starts. So the process lists all drivers, and then executes itself again with all
other drivers skipped.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homeward.web.refusals import Refusal, RefusalError

if TYPE_CHECKING:
    from homeward.terrain import Elevation

MAX_MEMORY_BYTES = 4 << 30
MAX_CPU_SECONDS = 120
MAX_OUTPUT_BYTES = 2 << 30
MAX_PIXELS = 64_000_000  # maximum number of pixels of a raster: 512 MB as float64
DRIVERS = ("GTiff", "AAIGrid", "PDS", "ISIS3", "JP2OpenJPEG")
QUIET = {
    "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",
    "GDAL_PAM_ENABLED": "NO",
    "CPL_VSIL_CURL_ALLOWED_EXTENSIONS": "{none}",
    "GDAL_NUM_THREADS": "1",
    "GDAL_CACHEMAX": "64",
}
SKIP = "GDAL_SKIP"
RESTRICTED = "HOMEWARD_READING"  # environment variable of the process with restricted drivers
COMMAND = (sys.executable, "-P", "-m", "homeward.web.upload_reader")
"""The command without its arguments; ``-P`` prevents imports from the current folder."""

MAX_PREVIEW_SIDE = 64  # maximum number of rows and of columns of a preview


def limit() -> None:
    """Limit memory, processor time and file size of this process."""
    for what, most in (
        (resource.RLIMIT_AS, MAX_MEMORY_BYTES),
        (resource.RLIMIT_CPU, MAX_CPU_SECONDS),
        (resource.RLIMIT_FSIZE, MAX_OUTPUT_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))


def drivers() -> set[str]:
    """Return the names of GDAL's drivers."""
    from homeward.terrain.gdal import need_rasterio

    with need_rasterio("reading an upload").Env() as env:
        return set(env.drivers())


def read(source: Path, target: Path, name: str, pixel: float | None) -> dict[str, Any]:
    """Read a raster, write it as a GeoTIFF and return its description as JSON values."""
    from homeward.errors import MissingPixelSizeError
    from homeward.terrain import read_elevation
    from homeward.terrain.elevation import wkt_name
    from homeward.web.forms import terrain_defaults

    _check(source)
    try:
        elevation = read_elevation(source, pixel=pixel)
    except MissingPixelSizeError as cause:
        raise Refusal.NO_PIXEL_SIZE(
            f"{name} has no pixel size: give the width of a pixel in metres"
        ) from cause
    write(target, elevation)
    rows, columns = elevation.shape
    return {
        "name": name,
        "shape": [rows, columns],
        "size": list(elevation.pixel),
        "bands": elevation.bands,
        "unit": "m",
        "crs": None if elevation.crs is None else wkt_name(elevation.crs)[:100],
        "defaults": terrain_defaults(str(target)),
        "preview": preview(elevation),
    }


def read_polygons(source: Path, target: Path, name: str) -> dict[str, Any]:
    """Write the polygons of a file and their reference system as GeoJSON; return a description."""
    from homeward.terrain.polygons import area_from

    try:
        given = json.loads(source.read_bytes())
        area = area_from(given)
    except (ValueError, RecursionError) as cause:
        raise Refusal.UNUSABLE(f"{name} can't be used as an area: {cause}"[:400]) from cause
    named = {} if given.get("crs") is None else {"crs": given["crs"]}
    made = {"type": "MultiPolygon", "coordinates": area, **named}
    target.write_text(json.dumps(made, allow_nan=False), "utf-8")
    corners = sum(len(ring) for rings in area for ring in rings)
    return {"name": name, "polygons": len(area), "corners": corners}


def _check(source: Path) -> None:
    """Raise if a raster is too large or refers to other files."""
    import warnings

    import numpy as np
    import rasterio
    from rasterio.errors import RasterioError

    shape: tuple[int, ...] = ()
    if source.suffix == ".npy":
        with suppress(OSError, ValueError):  # `read_elevation` will raise
            shape = getattr(np.load(source, mmap_mode="r"), "shape", ())
    else:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                dataset = rasterio.open(source)
        except RasterioError as cause:
            raise ValueError(
                f"{source}: is not an elevation raster that Homeward can read"
            ) from cause
        with dataset:
            shape = dataset.height, dataset.width
            alone = [Path(file) for file in dataset.files] == [source]
        if not alone:
            raise ValueError(f"{source}: refers to other files; send a file with all data")
    if math.prod(shape) > MAX_PIXELS:
        pixels = " x ".join(map(str, shape))
        raise ValueError(f"{source}: {pixels} pixels are more than {MAX_PIXELS:,}")


def write(target: Path, elevation: Elevation) -> None:
    """Write heights as a GeoTIFF, in float32 if that is exact, otherwise in float64."""
    import numpy as np
    import rasterio

    heights = elevation.heights
    narrow = heights.astype(np.float32)
    exact = bool(((narrow == heights) | np.isnan(heights)).all())
    a, b, c, d, e, f = (value * 1.0 for value in elevation.transform)
    with rasterio.open(
        target,
        "w",
        driver="GTiff",
        height=heights.shape[0],
        width=heights.shape[1],
        count=1,
        dtype="float32" if exact else "float64",
        nodata=np.nan,
        crs=elevation.crs,
        transform=rasterio.Affine(a, b, c, d, e, f),
        compress="deflate",
        predictor=3,
    ) as dataset:
        dataset.write(narrow if exact else heights, 1)
        dataset.units = ["m"]


def preview(elevation: Elevation) -> list[list[float | None]]:
    """Return a coarse grid of the heights in m; None means no data."""
    rows, columns = (max(1, -(-side // MAX_PREVIEW_SIDE)) for side in elevation.shape)
    few = elevation.heights[rows // 2 :: rows, columns // 2 :: columns]
    return [
        [round(height, 3) if math.isfinite(height) else None for height in row]
        for row in few.tolist()
    ]


def main(arguments: list[str]) -> dict[str, Any]:
    """Read the upload that the arguments name, and return the JSON to print."""
    source, target, name = Path(arguments[0]), Path(arguments[1]), arguments[2]
    pixel = float(arguments[3]) if len(arguments) > 3 else None
    try:
        if source.suffix in (".geojson", ".json"):
            return read_polygons(source, target, name)
        if source.suffix != ".npy" and not drivers() <= {*DRIVERS, "MEM"}:
            return refused("the upload was not read, since GDAL's drivers can't be restricted")
        return read(source, target, name, pixel)
    except MemoryError:
        return refused(f"{name} needs more memory than the limit for uploads")
    except RefusalError as refusal:
        return refused(refusal.sentence, refusal.code)
    except Exception as error:
        line = message_of(error, source, name)
        return refused(line[:400] or f"{name} can't be read")


def message_of(error: Exception, source: Path, name: str) -> str:
    """Return the first line of an error; the path of the file becomes the client's name for it."""
    line = str(error).partition("\n")[0].replace(f"{source}: ", f"{name} ")
    line = line.replace(str(source), name)
    return line.replace(str(source.with_suffix("")), Path(name).stem)


def refused(sentence: str, code: Refusal = Refusal.UNUSABLE) -> dict[str, Any]:
    """Return the JSON to print if the upload is refused."""
    return {"error": sentence, "code": code}


if __name__ == "__main__":
    limit()
    if os.environ.get(RESTRICTED) != SKIP:
        os.environ.pop(SKIP, None)
        try:
            others = ",".join(sorted(drivers() - set(DRIVERS)))
        except ImportError as error:
            sys.stdout.write(json.dumps(refused(str(error))))
            sys.exit(0)
        command = [*COMMAND, *sys.argv[1:]]
        here = {**os.environ, **QUIET, SKIP: others, RESTRICTED: SKIP}
        os.execve(sys.executable, command, here)
    sys.stdout.write(json.dumps(main(sys.argv[1:])))
