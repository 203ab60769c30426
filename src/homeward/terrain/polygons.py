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

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.extras import need
from homeward.files import refusing
from homeward.terrain.gdal import need_rasterio, told
from homeward.terrain.transforms import to_grid, to_map, wkt_name
from homeward.terrain.writing import crs_name

if TYPE_CHECKING:
    import os

    from homeward.arrays import BoolArray, FloatArray
    from homeward.terrain.cells import Cells

Ring: TypeAlias = tuple[tuple[float, float], ...]
Area: TypeAlias = tuple[tuple[Ring, ...], ...]
"""Polygons, each the ring around it and then its holes; a ring is closed: (x, y) … (x, y)."""

MOST = 200_000
"""Corners of an area, at most."""

FURTHEST = 1e15
"""The largest coordinate; up to there, what is computed of corners is finite."""

QUERY_EDGES = 512
"""Most edges whose crossings are looked for at once; it bounds the memory that crossings take."""

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
    """Return the polygons of a GeoJSON value: a geometry, a feature or a collection of either."""
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
    """Return which cells [R, C] have their centre in an area; refuse an area without any."""
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
    """Return an area as a GeoJSON feature in the map coordinates of some cells."""
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
    """Return whether a value is a list of lists, so many deep."""
    return isinstance(value, list) and (
        depth == 1 or all(_is_list(part, depth - 1) for part in value)
    )


def _corner(value: Any, where: str) -> tuple[float, float]:
    """Return a position as (x, y)."""
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
    """Refuse edges of a polygon that cross, and rings that enclose nothing."""
    crossed = _crossing(rings)
    if crossed is not None:
        one, other = (f"{_said(a)} – {_said(b)}" for a, b in crossed)
        raise InvalidInputError(
            f"polygon {number} crosses itself: the edge {one} and the edge {other}"
        )
    for r, ring in enumerate(rings, start=1):
        x, y = np.array(ring).T
        x, y = x - x[0], y - y[0]  # so that far corners lose no digits
        twice = float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))
        if abs(twice) <= 1e-12 * float(np.ptp(x) * np.ptp(y)):
            raise InvalidInputError(f"ring {r} of polygon {number} encloses nothing")


def _crossing(rings: Any) -> tuple[Any, Any] | None:
    """Return the first two edges that cross, each inside of the other; None if no edges do."""
    shapely = need("shapely", "terrain", "polygons to keep in need shapely")
    ends = np.concatenate(
        [np.stack([ring[:-1], ring[1:]], axis=1) for ring in map(np.array, rings)]
    )
    edges = shapely.linestrings(ends)  # ends: [n, 2, 2]
    tree = shapely.STRtree(edges)
    first, count = 0, 1  # few at once to begin with: where all edges cross, one is enough
    while first < len(edges):
        i, j = tree.query(edges[first : first + count], predicate="crosses")
        later = j > i + first
        if later.any():
            pair = min(zip(i[later] + first, j[later], strict=True))
            one, other = (tuple(map(tuple, ends[k].tolist())) for k in pair)
            return one, other
        first, count = first + count, min(2 * count, QUERY_EDGES)
    return None


def _on_grid(ring: Ring, cells: Cells) -> FloatArray:
    """Return a ring's corners [n, 2] as columns and rows of the grid."""
    return np.array([to_grid(cells.transform, x, y) for x, y in ring])


def _fill(ring: FloatArray, shape: tuple[int, int]) -> BoolArray:
    """Return which cells [R, C] have their centre within a ring [n, 2] on the grid.

    Shapely has no rule for centres on an edge; this one lets adjoining areas share no cell. Row by
    row: a centre is inside if edges cross its row an odd number of times left of it.
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
    """Return the name of the coordinate system that a GeoJSON object says it is in, if it does."""
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
            f"is in {wkt_name(name)}, but {cells.name} has no coordinate system: give the area in "
            "its map coordinates, without a crs member"
        )
    need_rasterio(f"an area in {wkt_name(name)}")
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
            f"can't be brought from {wkt_name(name)} to the map of {cells.name}: {told(cause)}"
        ) from cause
    return tuple(found)


def _said(corner: Any) -> str:
    return f"({float(corner[0]):.10g}, {float(corner[1]):.10g})"


def _no_number(word: str) -> float:
    """Refuse NaN and infinities, which are no JSON."""
    raise ValueError(f"{word} is no number")
