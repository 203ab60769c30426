"""Areas on a map: polygons from GeoJSON, and the cells whose centres they contain.

An area is the union of its polygons. A polygon is the inside of its first ring without its holes. A
centre on an edge belongs to the area if the edge is a left or top edge on the grid. Coordinates are
map coordinates of the terrain, unless a `crs` member of the whole file names another system. (By
RFC 7946 the default would be WGS 84, which excludes Mars.) Rings may touch, and a hole may lie
outside its polygon. If edges cross, the area is refused.
"""

from __future__ import annotations

import json
import math
import os
import reprlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from homeward.arrays import BoolArray, FloatArray
from homeward.errors import InvalidFileError, InvalidInputError, prefixed
from homeward.extras import need
from homeward.files import refusing
from homeward.terrain.elevation import (
    Elevation,
    Georeference,
    Transform,
    describe_extent,
    to_grid,
    wkt_name,
)
from homeward.terrain.gdal import gdal_message, need_rasterio
from homeward.terrain.writing import crs_member, crs_name

if TYPE_CHECKING:
    from homeward.terrain.cells import Cells

Ring: TypeAlias = tuple[tuple[float, float], ...]
Area: TypeAlias = tuple[tuple[Ring, ...], ...]
"""Polygons; each is an outer ring, then holes. The first and last (x, y) of a ring are equal."""

Convert: TypeAlias = Callable[
    [Sequence[float], Sequence[float]], tuple[Sequence[float], Sequence[float]]
]
"""A function from x [n] and y [n] in one coordinate system to x and y in another."""

T = TypeVar("T")

MAX_CORNERS = 200_000
MAX_COORDINATE = 1e15  # largest magnitude; products of such coordinates are finite
QUERY_EDGES = 64  # number of edges per search for crossing edges; it bounds the memory
MAX_DEPTH = 20  # maximum depth of nested collections


def read_area(path: str | os.PathLike[str], cells: Georeference) -> Area:
    """Return the polygons of a GeoJSON file, in the map coordinates of `cells`."""

    def converted(area: Area, convert: Convert) -> Area:
        polygons = []
        for rings in area:
            corners = [list(zip(*convert(*zip(*ring, strict=True)), strict=True)) for ring in rings]
            polygons.append(tuple((*ring[:-1], ring[0]) for ring in corners))
        return check_area(tuple(polygons))

    return read_geojson(path, cells, area_from, converted, "the area")


def read_geojson(
    path: str | os.PathLike[str],
    cells: Georeference,
    parse: Callable[[Any], T],
    converted: Callable[[T, Convert], T],
    what: str,
) -> T:
    """Return the content of a GeoJSON file, in the map coordinates of `cells`.

    `parse` makes the content from the JSON value of the file. If a `crs` member names another
    coordinate system, `converted` returns the content with converted coordinates. `what` names the
    content in messages.
    """
    path = Path(path)
    with refusing(path, "can't be read"):
        data = path.read_bytes()
    try:
        value = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as cause:  # ValueError from Unicode or JSON
        raise InvalidFileError(f"{path}: is not GeoJSON: {cause}") from cause
    with prefixed(path, InvalidFileError):
        content = parse(value)
        if value.get("crs") is None:
            return content
        try:
            name = value["crs"]["properties"]["name"]
        except (KeyError, TypeError):
            name = None
        if not isinstance(name, str):
            raise InvalidInputError("its crs member does not name a coordinate system")
        if name == crs_name(cells.crs):
            return content
        return converted(content, _converter(name, cells, what))


def area_from(value: Any) -> Area:
    """Return the polygons of a GeoJSON geometry, feature or collection."""
    polygons: list[tuple[Ring, ...]] = []
    for geometry, where, _ in geometries(value):
        given: Any = geometry.get("coordinates")
        if geometry["type"] == "Polygon":
            given = [given]
        elif geometry["type"] != "MultiPolygon":
            kind = geometry["type"]
            raise InvalidInputError(f"{where} is a {kind}, expected a Polygon or a MultiPolygon")
        try:
            polygons += [
                tuple(tuple(position(c, where) for c in r) for r in rings) for rings in given
            ]
        except TypeError as cause:
            message = f"is not GeoJSON: the coordinates of {where} are not rings"
            raise InvalidInputError(message) from cause
    return check_area(tuple(polygons))


def check_area(area: Area) -> Area:
    """Return the area itself; raise if a ring is open or has no area, or if edges cross."""
    if not area:
        raise InvalidInputError("it contains no polygon")
    corners = sum(len(ring) for rings in area for ring in rings)
    if corners > MAX_CORNERS:
        raise InvalidInputError(f"it has {corners:,} corners, expected {MAX_CORNERS:,} at most")
    for p, rings in enumerate(area, start=1):
        if not rings:
            raise InvalidInputError(f"polygon {p} has no ring")
        for r, ring in enumerate(rings, start=1):
            fault = _fault(ring)
            if fault is not None:
                raise InvalidInputError(f"ring {r} of polygon {p} {fault}")
        pair = _crossing_edges(rings)
        if pair is not None:
            one, other = (f"{_text(a)} – {_text(b)}" for a, b in pair)
            raise InvalidInputError(
                f"polygon {p} crosses itself: the edge {one} and the edge {other}"
            )
        for r, ring in enumerate(rings, start=1):
            x, y = (np.array(ring) - ring[0]).T  # differences, which rounding affects less
            double_area = float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))
            if abs(double_area) <= 1e-12 * float(np.ptp(x) * np.ptp(y)):
                raise InvalidInputError(f"ring {r} of polygon {p} has no area")
    return area


def _fault(ring: Ring) -> str | None:
    """Return why the corners of a ring are invalid, as the end of a message; None if valid."""
    for corner in ring:
        if not max(map(abs, corner)) <= MAX_COORDINATE:
            most = f"expected coordinates of {MAX_COORDINATE:g} at most"
            return f"has a corner at {_text(corner)}, {most}"
    if len(ring) < 4:
        return f"has {len(ring)} positions, expected 4 or more"
    if ring[0] != ring[-1]:
        return f"is open: it begins at {_text(ring[0])} and ends at {_text(ring[-1])}"
    return None


def cells_inside(area: Area, cells: Cells) -> BoolArray:
    """Return the mask [R, C] of cells with their centre in an area; raise if there is none."""
    inside = np.zeros(cells.shape, dtype=bool)
    for outer, *holes in _on_grid(area, cells.transform, cells.shape, "the area to keep in is"):
        covered = _fill(outer, cells.shape)
        for hole in holes:
            covered &= ~_fill(hole, cells.shape)
        inside |= covered
    if not inside.any():
        raise InvalidInputError("the area to keep in is empty: no cell has its centre in it")
    return inside


def pixels_touched(area: Area, elevation: Elevation, what: str) -> BoolArray:
    """Return the mask [rows, columns] of pixels that an area touches.

    Raise if the area is off the map; `what` begins the message, such as "the obstacles are".
    """
    need_rasterio("a polygon on pixels")
    from rasterio.features import rasterize

    grid = _on_grid(area, elevation.transform, elevation.shape, what)
    shapes = [{"type": "Polygon", "coordinates": [r.tolist() for r in rings]} for rings in grid]
    touched = rasterize(shapes, elevation.shape, all_touched=True, dtype="uint8")
    return np.asarray(touched, np.bool_)


def _on_grid(
    area: Area, transform: Transform, shape: tuple[int, int], what: str
) -> list[list[FloatArray]]:
    """Return the rings of each polygon as grid points [n, 2] (column, row).

    Raise if the area is off the map; `what` begins the message.
    """
    grid = [[np.array([to_grid(transform, x, y) for x, y in r]) for r in rings] for rings in area]
    corners = np.concatenate([ring for rings in grid for ring in rings])
    (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
    if right <= 0.0 or bottom <= 0.0 or left >= shape[1] or top >= shape[0]:
        raise InvalidInputError(
            f"{what} off the map, which reaches {describe_extent(transform, shape)}; "
            "if the coordinates are longitudes and latitudes, add a crs member"
        )
    return grid


def area_geojson(area: Area, cells: Cells, part: str = "keep in") -> dict[str, Any]:
    """Return an area as a GeoJSON feature in the map coordinates of `cells`."""
    return {
        "type": "Feature",
        "crs": crs_member(cells),
        "properties": {"part": part},
        "geometry": {"type": "MultiPolygon", "coordinates": area},
    }


def geometries(
    value: Any, where: str = "it", depth: int = 0, about: Any = None
) -> Iterator[tuple[dict[str, Any], str, Any]]:
    """Yield each geometry of a GeoJSON value, its name in messages, and its feature's properties.

    The call for a part of a value gives its name `where`, its depth of nesting, and the properties
    `about` of the feature around it.
    """
    if depth > MAX_DEPTH:
        raise InvalidInputError(f"has more than {MAX_DEPTH} levels of nesting, at {where}")
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise InvalidInputError(f"is not GeoJSON: {where} is not an object with a type")
    if depth and value.get("crs") is not None:
        raise InvalidInputError(f"{where} has its own crs member, expected one for the whole file")
    kind = value["type"]
    if kind == "Feature":
        if value.get("geometry") is not None:
            of = f"the geometry of {where}"
            yield from geometries(value["geometry"], of, depth + 1, value.get("properties"))
        return
    inner = {"FeatureCollection": "features", "GeometryCollection": "geometries"}.get(kind)
    if inner is None:
        yield value, where, about
        return
    parts = value.get(inner)
    if not isinstance(parts, list):
        raise InvalidInputError(f"is not GeoJSON: {where} has no list of {inner}")
    name = "feature" if inner == "features" else "geometry"
    for n, part in enumerate(parts, start=1):
        yield from geometries(part, f"{name} {n}", depth + 1, about)


def position(value: Any, where: str) -> tuple[float, float]:
    """Return (x, y) of a GeoJSON position in the geometry `where`; raise if it is invalid."""
    try:
        x, y, *_ = value
        if any(type(number) not in (int, float) for number in value):
            raise TypeError("a position has numbers only")
        return float(x), float(y)
    except (TypeError, ValueError, OverflowError) as cause:
        shown = reprlib.repr(value)
        raise InvalidInputError(f"is not GeoJSON: {shown} in {where} is not a position") from cause


def _crossing_edges(rings: Any) -> tuple[Any, Any] | None:
    """Return the first two edges that cross, each as two corners; None if no edges cross."""
    shapely = need("shapely", "terrain", "polygons need shapely")
    ends = np.concatenate(
        [np.stack([ring[:-1], ring[1:]], axis=1) for ring in map(np.array, rings)]
    )
    edges = shapely.linestrings(ends)  # from ends [n, 2, 2]
    tree = shapely.STRtree(edges)
    for first in range(0, len(edges), QUERY_EDGES):
        i, j = tree.query(edges[first : first + QUERY_EDGES], predicate="crosses")
        later = j > i + first
        if later.any():
            pair = min(zip(i[later] + first, j[later], strict=True))
            one, other = (tuple(map(tuple, ends[k].tolist())) for k in pair)
            return one, other
    return None


def _fill(ring: FloatArray, shape: tuple[int, int]) -> BoolArray:
    """Return the mask [R, C] of cells with their centre inside a ring [n, 2] of (column, row).

    A centre is inside if an odd number of edges cross its row to its left. With this rule, adjacent
    areas share no cell; Shapely has no rule for centres on an edge.
    """
    rows, columns = shape
    (x, y), (x_next, y_next) = ring[:-1].T, ring[1:].T
    centres = np.arange(columns) + 0.5
    inside = np.zeros(shape, dtype=bool)
    first = max(0, math.floor(float(y.min())))
    last = min(rows, math.ceil(float(y.max())))
    for row in range(first, last):
        middle = row + 0.5
        over = (y > middle) != (y_next > middle)
        if over.any():
            share = (middle - y[over]) / (y_next[over] - y[over])
            crossings = np.sort(x[over] + share * (x_next[over] - x[over]))
            inside[row] = np.searchsorted(crossings, centres, side="right") % 2 == 1
    return inside


def _converter(name: str, cells: Georeference, what: str) -> Convert:
    """Return a function from x and y in the coordinate system `name` to those of `cells`."""
    if cells.crs is None:
        raise InvalidInputError(
            f"is in {wkt_name(name)}, but {cells.name} has no coordinate system: give {what} "
            "without a crs member, in map coordinates of the terrain"
        )
    need_rasterio(f"{what} in {wkt_name(name)}")
    from rasterio._err import CPLE_BaseError, CPLE_NotSupportedError
    from rasterio.crs import CRS
    from rasterio.errors import CRSError, RasterioError
    from rasterio.warp import transform

    wkt = cells.crs

    def convert(x: Sequence[float], y: Sequence[float]) -> tuple[Sequence[float], Sequence[float]]:
        try:
            source, target = CRS.from_user_input(name), CRS.from_wkt(wkt)
            if source == target:
                return x, y
            east, north = transform(source, target, list(x), list(y))
            return east, north
        except (CRSError, RasterioError, CPLE_BaseError, ValueError) as cause:
            reason = gdal_message(cause)
            if isinstance(cause, CPLE_NotSupportedError):  # GDAL's message is a page of PROJJSON
                reason = (
                    "the two are of different bodies, or no transformation is known: give "
                    "longitudes and latitudes of the terrain's own body (IAU_2015:49900 on Mars), "
                    "or map coordinates of the terrain without a crs member"
                )
            raise InvalidInputError(
                f"can't be transformed from {wkt_name(name)} to the map of {cells.name}: {reason}"
            ) from cause

    return convert


def _text(corner: Any) -> str:
    return f"({float(corner[0]):.10g}, {float(corner[1]):.10g})"


def _refuse_constant(word: str) -> float:
    """Raise on the words NaN, Infinity and -Infinity, which JSON does not allow."""
    raise ValueError(f"{word} is not a number")
