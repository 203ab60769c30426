"""Areas on a map: polygons from GeoJSON, and the cells whose centres lie in them.

An area is what any of its polygons covers. A polygon is what its first ring encloses without what
the other rings, its holes, enclose. A cell belongs to an area where its centre does; of a centre on
an edge, the grid's left and top sides of the area belong to it, the right and bottom ones do not.

Coordinates are the terrain's own map coordinates. Only a `crs` member of the whole that names
another coordinate system says otherwise: longitudes and latitudes by
``urn:ogc:def:crs:OGC:1.3:CRS84``. Corners are then brought to the terrain's map, which takes
rasterio, and edges are straight there. (GeoJSON of today, RFC 7946, means WGS 84 where nothing is
said; a map of Mars has no place there, so a file that says nothing is taken to be of the terrain's
map.) A `crs` member of a part is refused.

Refused are files that are no GeoJSON or hold no polygon, rings that are open, enclose nothing or
have fewer than three corners, and polygons whose edges cross. So are more than 200,000 corners, any
of them beyond 10¹⁵, and collections nested more than 20 deep. Heights of positions are not looked
at, and geometries that are no polygons are refused, not left out.

Edges cross where each passes between the ends of the other. Rings may touch, so one that crosses
itself or another exactly in a corner is not refused. Nor is a hole outside of its polygon: it takes
nothing away.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numba import njit

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.files import refusing
from homeward.rasters.gdal import need_rasterio, told
from homeward.rasters.transforms import to_grid, to_map
from homeward.rasters.writing import crs_name

if TYPE_CHECKING:
    import os

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.rasters.cells import Cells

Ring: TypeAlias = tuple[tuple[float, float], ...]
Area: TypeAlias = tuple[tuple[Ring, ...], ...]
"""Polygons, each the ring around it and then its holes; a ring is closed: (x, y) … (x, y)."""

MOST = 200_000
"""Corners of an area, at most."""

FURTHEST = 1e15
"""The largest coordinate; up to there, what is computed of corners is finite."""

DEEPEST = 20
"""How many collections may be in each other."""


def read_area(path: str | os.PathLike[str], cells: Cells) -> Area:
    """Read the polygons of a GeoJSON file, in the map coordinates of some cells."""
    path = Path(path)
    with refusing(path, "can't be read"):
        data = path.read_bytes()
    try:
        value = json.loads(data, parse_constant=_no_number)
    except ValueError as cause:  # of Unicode and JSON alike
        raise InvalidFileError(f"{path}: is not GeoJSON: {cause}") from cause
    except RecursionError as cause:
        raise InvalidFileError(f"{path}: is not GeoJSON: it is nested too deep") from cause
    try:
        area = area_from(value)
        name = _crs_of(value)
        if name is None or name == crs_name(cells.crs):
            return area
        return check_area(_converted(area, name, cells))
    except InvalidInputError as cause:
        raise InvalidFileError(f"{path}: {cause}") from cause


def area_from(value: Any) -> Area:
    """Give the polygons of a GeoJSON value: a geometry, a feature or a collection of either."""
    return check_area(tuple(_polygons(value)))


def check_area(area: Area) -> Area:
    """Refuse polygons whose rings are open or flat, or whose edges cross; give the rest back."""
    if not area:
        raise InvalidInputError("there is no polygon in it")
    corners = sum(len(ring) for rings in area for ring in rings)
    if corners > MOST:
        raise InvalidInputError(f"it has {corners:,} corners, expected {MOST:,} at most")
    for p, rings in enumerate(area, start=1):
        if not rings:
            raise InvalidInputError(f"polygon {p} has no ring")
        for r, ring in enumerate(rings, start=1):
            where = f"ring {r} of polygon {p}"
            if not all(math.isfinite(x) for corner in ring for x in corner):
                raise InvalidInputError(f"{where} has a corner that is nowhere")
            far = next((c for c in ring if max(abs(c[0]), abs(c[1])) > FURTHEST), None)
            if far is not None:
                raise InvalidInputError(
                    f"{where} has a corner at {_said(far)}, expected coordinates of {FURTHEST:g} "
                    "at most"
                )
            if len(ring) < 4:
                raise InvalidInputError(
                    f"{where} has {len(ring)} positions, expected 4 or more, the last the first"
                )
            if ring[0] != ring[-1]:
                raise InvalidInputError(
                    f"{where} is open: it begins at {_said(ring[0])} and ends at {_said(ring[-1])}"
                )
        _check_edges(p, rings)
    return area


def cells_inside(area: Area, cells: Cells) -> BoolArray:
    """Tell which cells [R, C] have their centre in an area; refuse an area without any."""
    rows, columns = cells.shape
    corners = [
        to_grid(cells.transform, *corner) for rings in area for ring in rings for corner in ring
    ]
    (left, top), (right, bottom) = (tuple(map(end, *corners)) for end in (min, max))
    if right <= 0.0 or bottom <= 0.0 or left >= columns or top >= rows:
        ends = [to_map(cells.transform, c, r) for c in (0, columns) for r in (0, rows)]
        (west, south), (east, north) = (tuple(map(end, *ends)) for end in (min, max))
        raise InvalidInputError(
            f"the area to keep in is off the map, which reaches from ({west:.10g}, {south:.10g}) "
            f"to ({east:.10g}, {north:.10g}); if its coordinates are longitudes and latitudes, "
            "a crs member must say so"
        )
    inside = np.zeros(cells.shape, dtype=bool)
    for outer, *holes in area:
        covered = _fill(_on_grid(outer, cells), cells.shape)
        for hole in holes:
            covered &= ~_fill(_on_grid(hole, cells), cells.shape)
        inside |= covered
    if not inside.any():
        raise InvalidInputError("the area to keep in is empty: no cell has its centre in it")
    return inside


def area_geojson(area: Area, cells: Cells) -> dict[str, Any]:
    """Give an area as a GeoJSON feature in the map coordinates of some cells."""
    shape = {"type": "MultiPolygon", "coordinates": area}
    name = {"name": crs_name(cells.crs)}
    return {
        "type": "Feature",
        "crs": {"type": "name", "properties": name},
        "properties": {"part": "keep in"},
        "geometry": shape,
    }


def _polygons(value: Any, where: str = "it", depth: int = 0) -> list[tuple[Ring, ...]]:
    """List the polygons of a GeoJSON value; `where` says which part of the file that is."""
    if depth > DEEPEST:
        raise InvalidInputError(f"is nested more than {DEEPEST} deep, at {where}")
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        raise InvalidInputError(f"is not GeoJSON: {where} is not an object with a type")
    if depth and value.get("crs") is not None:
        raise InvalidInputError(f"{where} has a crs member of its own, expected one for the whole")
    kind = value["type"]
    if kind == "Feature":
        if value.get("geometry") is None:
            return []
        return _polygons(value["geometry"], f"the geometry of {where}", depth + 1)
    inner = {"FeatureCollection": "features", "GeometryCollection": "geometries"}.get(kind)
    if inner is not None:
        parts = value.get(inner)
        if not isinstance(parts, list):
            raise InvalidInputError(f"is not GeoJSON: {where} has no list of {inner}")
        name = "feature" if inner == "features" else "geometry"
        return [
            polygon
            for n, part in enumerate(parts, start=1)
            for polygon in _polygons(part, f"{name} {n}", depth + 1)
        ]
    given: Any = value.get("coordinates")
    if kind == "Polygon":
        given = [given]
    elif kind != "MultiPolygon":
        raise InvalidInputError(f"{where} is a {kind}, expected a Polygon or a MultiPolygon")
    if not _is_list(given, 3):
        raise InvalidInputError(f"is not GeoJSON: the coordinates of {where} are not rings")
    return [tuple(tuple(_corner(c, where) for c in ring) for ring in rings) for rings in given]


def _is_list(value: Any, depth: int) -> bool:
    """Tell whether a value is a list of lists, so many deep."""
    return isinstance(value, list) and (
        depth == 1 or all(_is_list(part, depth - 1) for part in value)
    )


def _corner(value: Any, where: str) -> tuple[float, float]:
    """Give a position as (x, y)."""
    if (
        not isinstance(value, list)
        or len(value) < 2
        or any(isinstance(x, bool) or not isinstance(x, int | float) for x in value)
    ):
        raise InvalidInputError(f"is not GeoJSON: {_shown(value)} in {where} is not a position")
    try:
        return float(value[0]), float(value[1])
    except OverflowError:
        return math.inf, math.inf


def _shown(value: Any) -> str:
    """Show a value, or what there is room for."""
    try:
        text = json.dumps(value)
    except RecursionError:
        return "what is nested too deep"
    return text if len(text) <= 60 else f"{text[:59]}…"


def _check_edges(number: int, rings: tuple[Ring, ...]) -> None:
    """Refuse rings that enclose nothing, and edges of a polygon that cross."""
    for r, ring in enumerate(rings, start=1):
        x, y = np.array(ring).T
        x, y = x - x[0], y - y[0]  # so that far corners lose no digits
        twice = float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))
        if abs(twice) <= 1e-12 * float(np.ptp(x) * np.ptp(y)):
            crossed = _crossing([ring])
            if crossed is None:
                raise InvalidInputError(f"ring {r} of polygon {number} encloses nothing")
    crossed = _crossing(rings)
    if crossed is not None:
        one, other = (f"{_said(a)} – {_said(b)}" for a, b in crossed)
        raise InvalidInputError(
            f"polygon {number} crosses itself: the edge {one} and the edge {other}"
        )


def _crossing(rings: Any) -> tuple[Any, Any] | None:
    """Find two edges that cross, each inside of the other; None if there are none."""
    corners = [np.array(ring, np.float64) for ring in rings]
    a = np.concatenate([c[:-1] for c in corners])  # [n, 2]
    b = np.concatenate([c[1:] for c in corners])
    order = _along_the_curve(a + (b - a) / 2)
    i, j = first_crossing(a, b, order, *boxes_of(*_extents(a[order], b[order])))
    if i < 0:
        return None
    return (tuple(a[i]), tuple(b[i])), (tuple(a[j]), tuple(b[j]))


def _extents(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give from where to where [n, 4] edges reach in x, y and along both diagonals."""
    one, other = (np.stack([x, y, x + y, x - y], axis=1) for x, y in (a.T, b.T))
    return np.minimum(one, other), np.maximum(one, other)


def _along_the_curve(points: FloatArray) -> IntArray:
    """Order points [n, 2] along a Z-curve, on which those that are near are mostly neighbours."""
    least = points.min(axis=0)
    span = np.maximum(points.max(axis=0) - least, 1e-300)
    spread = ((points - least) / span * 65535.0).astype(np.uint64)
    for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        spread = (spread | (spread << np.uint64(shift))) & np.uint64(mask)
    return np.argsort(spread[:, 0] | (spread[:, 1] << np.uint64(1)), kind="stable")


@njit(cache=True)
def boxes_of(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give the ends [2m, 4] of the boxes of a binary tree over boxes [n, 4], m ≥ n.

    The root is 1, the parts of k are 2k and 2k + 1, and the leaves begin at m, a power of 2. The
    box of nothing is inside out.
    """
    leaves = 1
    while leaves < len(low):
        leaves *= 2
    least, most = np.full((2 * leaves, 4), np.inf), np.full((2 * leaves, 4), -np.inf)
    least[leaves : leaves + len(low)] = low
    most[leaves : leaves + len(low)] = high
    for k in range(leaves - 1, 0, -1):
        for axis in range(4):
            least[k, axis] = min(least[2 * k, axis], least[2 * k + 1, axis])
            most[k, axis] = max(most[2 * k, axis], most[2 * k + 1, axis])
    return least, most


@njit(cache=True)
def first_crossing(
    a: FloatArray, b: FloatArray, order: IntArray, least: FloatArray, most: FloatArray
) -> tuple[int, int]:
    """Find the first edge a – b that crosses a later one, and the first of these; −1 if none does.

    `least` and `most` are the boxes of a tree whose leaves are the edges in their `order`.
    """
    count, leaves = len(a), len(least) // 2
    stack = np.empty(64, np.int64)
    place = np.empty(count, np.int64)
    place[order] = np.arange(leaves, leaves + count)
    for i in range(count):
        low, high = least[place[i]], most[place[i]]
        found, waiting = count, 1
        stack[0] = 1
        while waiting > 0:
            waiting -= 1
            k = stack[waiting]
            apart = False
            for axis in range(4):
                apart |= least[k, axis] > high[axis] or most[k, axis] < low[axis]
            if apart:
                continue
            if k < leaves:
                stack[waiting], stack[waiting + 1] = 2 * k, 2 * k + 1
                waiting += 2
                continue
            j = order[k - leaves]
            if (
                i < j < found
                and side(a[i], b[i], a[j]) * side(a[i], b[i], b[j]) < 0.0
                and side(a[j], b[j], a[i]) * side(a[j], b[j], b[i]) < 0.0
            ):
                found = j
        if found < count:
            return i, found
    return -1, -1


@njit(cache=True)
def side(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    """Tell on which side of the line a – b the point c is: 1, −1, or 0 if it is on it."""
    turn = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    if turn == 0.0:
        return 0.0
    return 1.0 if turn > 0.0 else -1.0


def _on_grid(ring: Ring, cells: Cells) -> FloatArray:
    """Give a ring's corners [n, 2] as columns and rows of the grid."""
    return np.array([to_grid(cells.transform, x, y) for x, y in ring])


def _fill(ring: FloatArray, shape: tuple[int, int]) -> BoolArray:
    """Tell which cells [R, C] have their centre within a ring [n, 2] on the grid.

    Row by row: a centre is inside if edges cross its row an odd number of times left of it.
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


def _crs_of(value: Any) -> str | None:
    """Give the name of the coordinate system that a GeoJSON object says it is in, if it does."""
    crs = value.get("crs")
    if crs is None:
        return None
    try:
        name = crs["properties"]["name"]
    except (KeyError, TypeError):
        name = None
    if not isinstance(name, str):
        raise InvalidInputError("its crs member names no coordinate system")
    return name


def _converted(area: Area, name: str, cells: Cells) -> Area:
    """Bring an area from a named coordinate system to the map of some cells."""
    if cells.crs is None:
        raise InvalidInputError(
            f"is in {_short(name)}, but {cells.name} has no coordinate system: give the area in "
            "its map coordinates, without a crs member"
        )
    need_rasterio(f"an area in {_short(name)}")
    from rasterio.crs import CRS
    from rasterio.errors import CRSError, RasterioError
    from rasterio.warp import transform

    try:
        source, target = CRS.from_user_input(name), CRS.from_wkt(cells.crs)
        if source == target:
            return area
        found = []
        for rings in area:
            moved = []
            for ring in rings:
                x, y = transform(source, target, *(list(axis) for axis in zip(*ring, strict=True)))
                corners = list(zip(x, y, strict=True))
                moved.append((*corners[:-1], corners[0]))
            found.append(tuple(moved))
    except (CRSError, RasterioError, ValueError) as cause:
        raise InvalidInputError(
            f"can't be brought from {_short(name)} to the map of {cells.name}: {told(cause)}"
        ) from cause
    return tuple(found)


def _short(name: str) -> str:
    """Give a coordinate system's name without all of its WKT."""
    return name.split('"')[1] if name.count('"') > 1 else name


def _said(corner: Any) -> str:
    return f"({float(corner[0]):.10g}, {float(corner[1]):.10g})"


def _no_number(word: str) -> float:
    """Refuse NaN and infinities, which are no JSON."""
    raise ValueError(f"{word} is no number")
