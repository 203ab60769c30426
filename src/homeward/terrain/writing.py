"""Write results on the map: fields as GeoTIFF, paths as GeoJSON, in the terrain's coordinates.

Files are replaced atomically, and the same input gives the same bytes.

Current GeoJSON (RFC 7946) supports only Earth's WGS 84. For other maps, such as those of Mars, the
older `crs` member names the coordinate system: by an OGC URN if it has an authority's code, else by
its WKT, which GDAL understands. A terrain without a coordinate system is a plane in metres.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import ArrayLike

from homeward.arrays import FloatArray, indices, numbers
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.files import replace_file
from homeward.terrain.elevation import to_map
from homeward.terrain.gdal import gdal_message, need_rasterio, radius_of, to_degrees

if TYPE_CHECKING:
    from homeward.terrain.cells import Cells

PLANE = 'LOCAL_CS["plane without a place",UNIT["metre",1],AXIS["X",EAST],AXIS["Y",NORTH]]'
"""Coordinate system (WKT) for a terrain whose system is unknown: a plane in metres."""

KML_BODIES = {"mars": (3.3e6, 3.5e6), "moon": (1.7e6, 1.8e6)}  # limits in m of a body's radius
CODE = re.compile(r'(?:AUTHORITY|ID)\["(\w+)",\s*"?([\w.]+)"?\]\]$')  # authority and code in WKT


def write_heights(
    path: str | os.PathLike[str],
    values: ArrayLike,
    cells: Cells,
    bands: Sequence[str] | None = None,
    unit: str = "m",
) -> None:
    """Write fields over the cells as GeoTIFF: float32, deflated, NaN in blocked cells.

    `values` are [R, C], or [B, R, C] for B bands; `bands` has a description of each band.
    """
    path = Path(path)
    rows, columns = cells.shape
    array = numbers(values, "the field", None, InvalidInputError)
    stack = array[np.newaxis] if array.ndim == 2 else array
    if stack.ndim != 3 or not len(stack) or stack.shape[1:] != cells.shape:
        raise InvalidInputError(f"the field has shape {array.shape}, the cells {cells.shape}")
    if bands is not None and len(bands) != len(stack):
        raise InvalidInputError(f"{len(bands)} band descriptions for {len(stack)} bands")
    rasterio = need_rasterio(f"writing {path}")
    from rasterio.errors import CRSError, RasterioError
    from rasterio.io import MemoryFile

    stack = np.where(cells.blocked, np.nan, stack).astype(np.float32)
    try:
        with MemoryFile() as memory:
            with memory.open(
                driver="GTiff",
                height=rows,
                width=columns,
                count=len(stack),
                dtype="float32",
                nodata=np.nan,
                crs=cells.crs,
                transform=rasterio.Affine(*cells.transform),
                compress="deflate",
                predictor=3,
            ) as dataset:
                dataset.write(stack)
                # Otherwise readers assume the height unit of a compound coordinate system.
                dataset.units = [unit] * len(stack)
                for band, words in enumerate(bands or (), start=1):
                    dataset.set_band_description(band, words)
            data = bytes(memory.read())
    except (CRSError, RasterioError) as cause:
        raise InvalidFileError(f"{path}: can't be written: {gdal_message(cause)}") from cause
    replace_file(path, data)


def path_geojson(
    cells: Cells,
    states: Sequence[int],
    properties: Mapping[str, Any] | None = None,
    corners: FloatArray | None = None,
) -> dict[str, Any]:
    """Return a path over the cells as a GeoJSON FeatureCollection.

    `states` are row-major indices of cells, in the order of travel. The collection has three
    features: the path, its start and its end; their property `part` tells which. The path also has
    the given properties. It leads through the `corners` [n, 2] (row and column, in cells), or
    through the cells' centres. A path of one cell is a line of length zero.
    """
    rows, columns = cells.shape
    path = indices(states, "state", None, (0, rows * columns), "n", InvalidInputError)
    if path.ndim != 1 or not path.size:
        raise InvalidInputError(f"the path has shape {path.shape}, expected a list of states")
    if corners is None:
        line = [list(cells.centre_of(*divmod(int(state), columns))) for state in path]
    else:
        line = [list(to_map(cells.transform, column, row)) for row, column in corners.tolist()]
    if len(line) == 1:
        line = line * 2
    given = dict(properties or {})
    reserved = sorted({"part", "row", "column"} & given.keys())
    if reserved:
        raise InvalidInputError(f"the property {reserved[0]!r} is reserved")
    features = [feature("path", "LineString", line, given)]
    for part, at in (("start", 0), ("end", -1)):
        row, column = divmod(int(path[at]), columns)
        features.append(feature(part, "Point", line[at], {"row": row, "column": column}))
    return collection_of(cells, features)


def write_geojson(path: str | os.PathLike[str], collection: Mapping[str, Any]) -> None:
    """Write a GeoJSON object as text; raise if JSON can't represent it."""
    try:
        text = json.dumps(collection, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as cause:
        raise InvalidInputError(f"the GeoJSON can't be written: {cause}") from cause
    replace_file(Path(path), text.encode() + b"\n")


def raster_style(low: float, high: float, colours: Sequence[str]) -> str:
    """Return a QGIS style (QML) that colours band 1 of a raster from `low` to `high`.

    The shader element repeats both values; without them, QGIS would use 0 for both
    (``QgsColorRampShader::readXml``).
    """
    values = np.linspace(low, high, len(colours)).tolist()
    ends = f'classificationMin="{low!r}" classificationMax="{high!r}"'
    items = [
        f'          <item value="{value!r}" label="{value:.6g}" color="{colour}" alpha="255"/>'
        for value, colour in zip(values, colours, strict=True)
    ]
    lines = [
        "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>",
        '<qgis version="3.0.0" styleCategories="Symbology">',
        "  <pipe>",
        '    <rasterrenderer type="singlebandpseudocolor" band="1" alphaBand="-1" opacity="1" '
        f"{ends}>",
        "      <rastershader>",
        '        <colorrampshader colorRampType="INTERPOLATED" classificationMode="1" clip="0" '
        f'minimumValue="{low!r}" maximumValue="{high!r}">',
        *items,
        "        </colorrampshader>",
        "      </rastershader>",
        "    </rasterrenderer>",
        "  </pipe>",
        "</qgis>",
        "",
    ]
    return "\n".join(lines)


def route_gpx(routes: Sequence[tuple[str, Sequence[Sequence[float]]]], name: str, crs: str) -> str:
    """Return routes as GPX 1.1.

    Each route is a description, and map coordinates and heights [n, 3]. Longitudes and latitudes
    are those of WGS 84 on Earth, and those of the body of the coordinate system elsewhere.
    """
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<gpx version="1.1" creator="homeward" xmlns="http://www.topografix.com/GPX/1/1">',
    ]
    for about, places in routes:
        lines += [
            "  <rte>",
            f"    <name>{escape(name)}</name>",
            f"    <desc>{escape(about)}</desc>",
        ]
        lines += [
            f'    <rtept lat="{lat:.9f}" lon="{lon:.9f}"><ele>{height:.3f}</ele></rtept>'
            for lon, lat, height in _in_degrees(places, crs)
        ]
        lines.append("  </rte>")
    return "\n".join([*lines, "</gpx>", ""])


def route_kml(routes: Sequence[tuple[str, Sequence[Sequence[float]]]], name: str, crs: str) -> str:
    """Return routes as KML 2.2, each a line on the ground; see `route_gpx`.

    For Mars and the Moon an attribute ``hint`` names the body, which Google Earth then shows.
    """
    radius = radius_of(crs)
    body = next((b for b, (low, high) in KML_BODIES.items() if low < radius < high), None)
    hint = "" if body is None else f' hint="target={body}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<kml xmlns="http://www.opengis.net/kml/2.2"{hint}>',
        "  <Document>",
        f"    <name>{escape(name)}</name>",
    ]
    for about, places in routes:
        corners = " ".join(f"{x:.9f},{y:.9f},{z:.3f}" for x, y, z in _in_degrees(places, crs))
        lines += [
            "    <Placemark>",
            f"      <name>{escape(about)}</name>",
            "      <LineString>",
            "        <altitudeMode>clampToGround</altitudeMode>",
            f"        <coordinates>{corners}</coordinates>",
            "      </LineString>",
            "    </Placemark>",
        ]
    return "\n".join([*lines, "  </Document>", "</kml>", ""])


def _in_degrees(
    places: Sequence[Sequence[float]], crs: str
) -> Iterator[tuple[float, float, float]]:
    """Yield the longitude (−180 to 180), latitude and height of each of `places` [n, 3]."""
    x, y, z = zip(*places, strict=True)
    for longitude, latitude, height in zip(*to_degrees(crs, x, y), z, strict=True):
        yield (longitude + 180.0) % 360.0 - 180.0, latitude, height


def crs_name(wkt: str | None) -> str:
    """Return a name of a coordinate system that GDAL understands: an OGC URN, or the WKT itself."""
    if wkt is None:
        return PLANE
    code = CODE.search(wkt.strip())
    return f"urn:ogc:def:crs:{code[1]}::{code[2]}" if code else wkt


def crs_member(cells: Cells) -> dict[str, Any]:
    """Return the `crs` member of a GeoJSON object in the map coordinates of the cells."""
    return {"type": "name", "properties": {"name": crs_name(cells.crs)}}


def collection_of(cells: Cells, features: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a GeoJSON FeatureCollection in the map coordinates of the cells."""
    return {
        "type": "FeatureCollection",
        "name": cells.name,
        "crs": crs_member(cells),
        "features": features,
    }


def feature(
    part: str, kind: str, coordinates: list[Any], properties: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a GeoJSON feature with a property `part`."""
    return {
        "type": "Feature",
        "properties": {"part": part, **properties},
        "geometry": {"type": kind, "coordinates": coordinates},
    }
