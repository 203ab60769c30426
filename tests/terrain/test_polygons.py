from __future__ import annotations

import json
import math
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rasterio.crs import CRS
from rasterio.warp import transform as warp
from tests.terrain.planetary import MARS

from homeward.errors import InvalidFileError, InvalidInputError, MissingExtraError
from homeward.terrain import polygons
from homeward.terrain.cells import Cells
from homeward.terrain.elevation import to_map
from homeward.terrain.polygons import (
    area_from,
    area_geojson,
    cells_inside,
    check_area,
    read_area,
)

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = (5, 6)
UPRIGHT = (20.0, 0.0, 500.0, 0.0, -20.0, 900.0)  # x from 500 to 620, y from 800 to 900
SQUARE = [[510.0, 810.0], [570.0, 810.0], [570.0, 870.0], [510.0, 870.0], [510.0, 810.0]]
HOLE = [[525.0, 825.0], [545.0, 825.0], [545.0, 845.0], [525.0, 845.0], [525.0, 825.0]]
CRS84 = "urn:ogc:def:crs:OGC:1.3:CRS84"


def cells(transform: Any = UPRIGHT, crs: str | None = None, shape: Any = SHAPE) -> Cells:
    flat = np.zeros(shape)
    return Cells(
        flat, flat + 1.0, flat, np.zeros(shape, bool), transform=transform, crs=crs, name="hills"
    )


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


def named(value: dict[str, Any], crs: Any) -> dict[str, Any]:
    return value | {"crs": {"type": "name", "properties": {"name": crs}}}


def nested(depth: int) -> dict[str, Any]:
    value = polygon(SQUARE)
    for _ in range(depth):
        value = {"type": "GeometryCollection", "geometries": [value]}
    return value


def write(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_the_cells_of_a_polygon_are_those_whose_centre_is_in_it() -> None:
    # Centres lie at x = 510, 530, … and y = 890, 870, …; of those on an edge, the left and the top.
    inside = cells_inside(area_from(polygon(SQUARE)), cells())
    assert np.argwhere(inside).tolist() == [[r, c] for r in (1, 2, 3) for c in (0, 1, 2)]


def test_a_hole_is_not_inside() -> None:
    inside = cells_inside(area_from(polygon(SQUARE, HOLE)), cells())
    assert inside.sum() == 8
    assert not inside[3, 1]


def test_a_hole_that_lies_outside_adds_nothing() -> None:
    away = [[x + 60.0, y] for x, y in SQUARE]
    both, alone = (cells_inside(area_from(polygon(SQUARE, *h)), cells()) for h in ([away], []))
    assert np.array_equal(both, alone)


def test_polygons_that_overlap_are_one_area() -> None:
    more = [[x + 30.0, y] for x, y in SQUARE]
    area = area_from({"type": "MultiPolygon", "coordinates": [[SQUARE], [more]]})
    one, other = (cells_inside(area_from(polygon(ring)), cells()) for ring in (SQUARE, more))
    assert np.array_equal(cells_inside(area, cells()), one | other)


@pytest.mark.parametrize(
    "wrapped",
    [
        {"type": "Feature", "properties": None, "geometry": polygon(SQUARE)},
        {
            "type": "FeatureCollection",
            "features": [
                {"type": "Feature", "geometry": None},
                {"type": "Feature", "geometry": polygon(SQUARE)},
            ],
        },
        {"type": "GeometryCollection", "geometries": [polygon(SQUARE)]},
        {"type": "MultiPolygon", "coordinates": [[SQUARE]]},
        polygon([[x, y, 7.0] for x, y in SQUARE]),
    ],
)
def test_every_form_of_a_polygon_is_read(wrapped: Any) -> None:
    assert area_from(wrapped) == area_from(polygon(SQUARE))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], "is not GeoJSON: it is not an object"),
        ({"type": "FeatureCollection"}, "it has no list of features"),
        ({"type": "FeatureCollection", "features": [3]}, "feature 1 is not an object"),
        ({"type": "FeatureCollection", "features": []}, "it contains no polygon"),
        ({"type": "MultiPolygon", "coordinates": []}, "it contains no polygon"),
        ({"type": "Polygon", "coordinates": []}, "polygon 1 has no ring"),
        ({"type": "Point", "coordinates": [1, 2]}, "it is a Point, expected a Polygon"),
        (
            {"type": "GeometryCollection", "geometries": [{"type": "LineString"}]},
            "geometry 1 is a LineString",
        ),
        ({"type": "Polygon"}, "the coordinates of it are not rings"),
        ({"type": "Polygon", "coordinates": [3]}, "the coordinates of it are not rings"),
        (polygon([[1.0], [2.0]]), r"\[1.0\] in it is not a position"),
        (polygon([["x", 2.0]]), "is not a position"),
        (polygon([[True, 2.0]]), "is not a position"),
        (polygon(SQUARE[:3]), "ring 1 of polygon 1 has 3 positions"),
        (polygon(SQUARE[:-1]), r"ring 1 of polygon 1 is open: it begins at \(510, 810\)"),
        (polygon(SQUARE, HOLE[:-1]), "ring 2 of polygon 1 is open"),
        (polygon([[0, 0], [1, 1], [2, 2], [0, 0]]), "ring 1 of polygon 1 has no area"),
        (
            polygon([[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]),
            r"polygon 1 crosses itself: the edge \(0, 0\) – \(2, 2\) and the edge \(2, 0\) – ",
        ),
        (
            polygon(SQUARE, [[500, 820], [530, 820], [530, 840], [500, 840], [500, 820]]),
            "polygon 1 crosses itself",
        ),
        (polygon([[0, 0], [10**400, 1], [1, 1], [0, 0]]), "is not a position"),
        (
            polygon([[0, 0], [1e308, 1], [-1e308, 1], [0, 0]]),
            r"ring 1 of polygon 1 has a corner at \(1e\+308, 1\), expected coordinates of 1e\+15",
        ),
        (polygon([[0, 0], [1, 1e200], [-1, 1], [0, 0]]), "expected coordinates of 1e"),
        (polygon([[[[1] * 90]]]), "is not a position"),
        (
            {"type": "FeatureCollection", "features": [named(polygon(SQUARE), CRS84)]},
            "feature 1 has its own crs member, expected one for the whole file",
        ),
        (
            {"type": "Feature", "geometry": named(polygon(SQUARE), CRS84)},
            "the geometry of it has its own crs member",
        ),
        (nested(21), "has more than 20 levels of nesting, at geometry 1"),
        (nested(900), "has more than 20 levels of nesting, at geometry 1"),
    ],
)
def test_what_is_no_area_is_refused(value: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        area_from(value)


def test_collections_may_be_in_each_other() -> None:
    assert area_from(nested(20)) == area_from(polygon(SQUARE))


def circle(corners: int) -> Any:
    angle = np.linspace(0.0, 2.0 * np.pi, corners, endpoint=False)
    ring = np.c_[np.cos(angle), np.sin(angle)].tolist()
    return ((*map(tuple, ring), tuple(ring[0])),)


def test_many_corners_are_taken_and_too_many_are_refused() -> None:
    check_area((circle(50_000),))
    with pytest.raises(InvalidInputError, match=r"it has 200,001 corners, expected 200,000 at"):
        check_area((circle(200_000),))


@given(st.integers(0, 2**32), st.integers(3, 40))
def test_the_first_crossing_is_that_of_all_pairs(seed: int, corners: int) -> None:
    rng = np.random.default_rng(seed)
    ring = rng.integers(0, 30, (corners, 2)).astype(float)
    if seed % 2:  # around the middle, so that there may be none
        ring = ring[np.argsort(np.arctan2(*(ring - 14.7).T))]
    ring = np.r_[ring, ring[:1]]
    edges = list(pairwise(map(tuple, ring.tolist())))

    def turn(a: Any, b: Any, c: Any) -> float:
        return float(np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])))

    def cross(one: Any, other: Any) -> bool:
        both = ((one, other), (other, one))
        return all(turn(a, b, c) * turn(a, b, d) < 0 for (a, b), (c, d) in both)

    pairs = ((e, f) for i, e in enumerate(edges) for f in edges[i + 1 :] if cross(e, f))
    assert polygons._crossing_edges([ring]) == next(pairs, None)


def test_rings_may_touch() -> None:
    touching = [[510, 810], [530, 810], [530, 830], [510, 830], [510, 810]]
    assert len(area_from(polygon(SQUARE, touching))[0]) == 2


def test_edges_cross_only_if_each_passes_between_the_ends_of_the_other() -> None:
    # The line through (0, 0) and (3, 3) would meet the other ring's first edge, further on.
    apart = [[2.9, 5.0], [5.0, 2.9], [6.0, 6.0], [2.9, 5.0]], [[0, 0], [3, 3], [1, 0], [0, 0]]
    for rings in (apart, apart[::-1]):
        assert len(area_from(polygon(*rings))[0]) == 2


@pytest.mark.parametrize("text", ["", "{", "nothing", '{"type": NaN}', "\udcff", "[" * 100_000])
def test_a_file_that_is_no_json_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.geojson"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(InvalidFileError, match=r"a.geojson: is not GeoJSON: "):
        read_area(path, cells())


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"a.geojson: can't be read"):
        read_area(tmp_path / "a.geojson", cells())


def test_what_is_wrong_in_a_file_names_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a.geojson", polygon(SQUARE[:-1]))
    with pytest.raises(InvalidFileError, match=r"a.geojson: ring 1 of polygon 1 is open"):
        read_area(path, cells())


def test_an_area_off_the_map_is_refused_with_where_the_map_is() -> None:
    away = [[x + 1000.0, y] for x, y in SQUARE]
    with pytest.raises(
        InvalidInputError, match=r"off the map, which reaches from \(500, 800\) to \(620, 900\)"
    ):
        cells_inside(area_from(polygon(away)), cells())


def test_an_area_between_the_centres_is_empty() -> None:
    small = [[512, 832], [518, 832], [518, 838], [512, 838], [512, 832]]
    with pytest.raises(InvalidInputError, match="is empty: no cell has its centre in it"):
        cells_inside(area_from(polygon(small)), cells())


def test_what_is_partly_off_the_map_is_cut_at_its_edge() -> None:
    wide = [[0, 0], [2000, 0], [2000, 2000], [0, 2000], [0, 0]]
    assert cells_inside(area_from(polygon(wide)), cells()).all()


def winding(ring: list[tuple[float, float]], x: float, y: float) -> float:
    """Add up the angles under which the edges are seen: ±2π inside, 0 outside."""
    total = 0.0
    for (x0, y0), (x1, y1) in pairwise(ring):
        turn = math.atan2(y1 - y, x1 - x) - math.atan2(y0 - y, x0 - x)
        total += (turn + math.pi) % (2 * math.pi) - math.pi
    return total


@given(
    st.lists(st.floats(0.3, 1.0), min_size=3, max_size=12),
    st.floats(0.0, 6.0),
    st.floats(0.2, 2.9),
)
def test_inside_is_where_the_edges_wind_around_the_centre(
    reach: list[float], turn: float, tilt: float
) -> None:
    # A star around the grid's middle, on a grid that is turned on its map.
    shape = (9, 11)
    a, d = 10.0 * math.cos(tilt), 10.0 * math.sin(tilt)
    on = cells((a, d, 100.0, d, -a, 200.0), shape=shape)
    x, y = to_map(on.transform, 5.5137, 4.4871)
    angles = turn + 2 * math.pi * np.arange(len(reach)) / len(reach)
    pairs = zip(reach, angles.tolist(), strict=True)
    ring = [(x + 49.3 * r * math.cos(t), y + 49.3 * r * math.sin(t)) for r, t in pairs]
    area = check_area((((*ring, ring[0]),),))
    inside = cells_inside(area, on)
    for row in range(shape[0]):
        for column in range(shape[1]):
            around = winding([*ring, ring[0]], *on.centre_of(row, column))
            assert inside[row, column] == (abs(around) > math.pi)


def test_without_a_word_coordinates_are_the_terrains(tmp_path: Path) -> None:
    path = write(tmp_path / "a.geojson", polygon(SQUARE) | {"crs": None})
    assert read_area(path, cells(crs=MARS)) == area_from(polygon(SQUARE))


@pytest.mark.parametrize("crs", [None, MARS])
def test_an_area_that_is_written_is_read_again(tmp_path: Path, crs: str | None) -> None:
    area = area_from(polygon(SQUARE, HOLE))
    path = write(tmp_path / "a.geojson", area_geojson(area, cells(crs=crs)))
    assert read_area(path, cells(crs=crs)) == area


def test_longitudes_and_latitudes_are_brought_to_the_terrains_map(tmp_path: Path) -> None:
    utm = CRS.from_epsg(32633).to_wkt()
    on = cells((20.0, 0.0, 500_000.0, 0.0, -20.0, 5_000_000.0), utm)
    corners = [[500_005, 4_999_905], [500_095, 4_999_905], [500_095, 4_999_995]]
    lon, lat = warp(CRS.from_wkt(utm), CRS.from_epsg(4326), *zip(*corners, strict=True))
    ring = [list(at) for at in zip(lon, lat, strict=True)]
    path = write(tmp_path / "a.geojson", named(polygon([*ring, ring[0]]), CRS84))
    ((found,),) = read_area(path, on)
    assert np.allclose(found, [*corners, corners[0]], atol=1e-3)
    assert found[0] == found[-1]


@pytest.mark.parametrize(
    ("crs", "terrain", "message"),
    [
        (7, MARS, "its crs member does not name a coordinate system"),
        ("urn:of:nothing", MARS, "can't be transformed from urn:of:nothing to the map of hills"),
        (CRS84, MARS, "the two are of different bodies, .*: give longitudes [^{]*$"),
        (CRS84, None, "is in urn:ogc:def:crs:OGC:1.3:CRS84, but hills has no coordinate system"),
    ],
)
def test_a_coordinate_system_that_does_not_help_is_refused(
    tmp_path: Path, crs: Any, terrain: str | None, message: str
) -> None:
    path = write(tmp_path / "a.geojson", named(polygon(SQUARE), crs))
    with pytest.raises(InvalidFileError, match=message):
        read_area(path, cells(crs=terrain))


def test_a_crs_member_without_a_name_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.geojson", polygon(SQUARE) | {"crs": {"type": "name"}})
    with pytest.raises(InvalidFileError, match="its crs member does not name a coordinate system"):
        read_area(path, cells(crs=MARS))


def test_a_polygon_without_shapely_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(MissingExtraError, match=r"need shapely: pip install 'homeward\[terrain"):
        area_from(polygon(SQUARE))


def test_another_coordinate_system_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(what: str) -> Any:
        raise MissingExtraError(f"{what} needs rasterio")

    monkeypatch.setattr(polygons, "need_rasterio", missing)
    path = write(tmp_path / "a.geojson", named(polygon(SQUARE), CRS84))
    with pytest.raises(MissingExtraError, match=r"the area in urn:ogc:def:crs:OGC:1.3:CRS84"):
        read_area(path, cells(crs=MARS))
