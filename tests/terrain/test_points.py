"""Targets from GeoJSON: every form of a point is read, and what is none is refused by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rasterio.crs import CRS
from rasterio.warp import transform as warp
from tests.terrain.planetary import MARS
from tests.terrain.test_polygons import CRS84, cells, named

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.terrain.points import cells_of_targets, check_targets, read_targets, targets_from

if TYPE_CHECKING:
    from pathlib import Path


def point(x: Any = 30.0, y: Any = -30.0, **about: Any) -> dict[str, Any]:
    shape = {"type": "Point", "coordinates": [x, y]}
    return {"type": "Feature", "properties": about, "geometry": shape}


def collection(*features: Any) -> dict[str, Any]:
    return {"type": "FeatureCollection", "features": list(features)}


def test_points_have_the_weight_of_their_feature_or_one() -> None:
    several = {"type": "MultiPoint", "coordinates": [[1, 2], [3, 4, 99.0]]}
    value = collection(
        point(5, 6, weight=2),
        point(7, 8, weight=None),
        {"type": "Feature", "properties": {"weight": 0.5}, "geometry": several},
        {"type": "Feature", "properties": None, "geometry": None},
    )
    expected = ((5.0, 6.0, 2.0), (7.0, 8.0, 1.0), (1.0, 2.0, 0.5), (3.0, 4.0, 0.5))
    assert targets_from(value) == expected
    assert targets_from({"type": "Point", "coordinates": [1, 2]}) == ((1.0, 2.0, 1.0),)


def test_a_list_of_targets_follows_the_rules_of_a_file() -> None:
    assert check_targets(((1.0, 2.0, 0.5),)) == ((1.0, 2.0, 0.5),)
    for wrong in ((1.0, 2.0, 0.0), (1.0, 2.0, -1.0), (1.0, float("nan"), 1.0)):
        with pytest.raises(InvalidInputError, match=r"point 2 is at .* a weight above 0"):
            check_targets(((1.0, 2.0, 0.5), wrong))


LINE = {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (collection(), "there is no point"),
        (LINE, "it is a LineString, expected a Point or a MultiPoint"),
        (collection(point(weight=-1)), "feature 1 has the weight -1, expected a number above 0"),
        (collection(point(weight=0)), "feature 1 has the weight 0, expected a number above 0"),
        (collection(point(weight="high")), "has the weight 'high'"),
        (collection(point(weight=True)), "has the weight True"),
        (collection(point(weight=1e9)), "has the weight 1000000000.0"),
        (collection(point("a")), r"\['a', -30.0\] in .* is not a position"),
        ({"type": "Point"}, "has no coordinates"),
        ({"type": "Point", "coordinates": []}, "is not a position"),
        ([1, 2], "is not an object with a type"),
    ],
)
def test_what_is_no_target_is_refused(value: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        targets_from(value)


def test_a_weight_that_is_no_number_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.geojson"
    path.write_text(json.dumps(collection(point(weight=float("nan")))))
    with pytest.raises(InvalidFileError, match=r"t.geojson: is not GeoJSON: NaN is not a number"):
        read_targets(path, cells())


def test_another_coordinate_system_is_brought_over_or_refused(tmp_path: Path) -> None:
    utm, path = CRS.from_epsg(32633).to_wkt(), tmp_path / "t.geojson"
    on = cells((20.0, 0.0, 500_000.0, 0.0, -20.0, 5_000_000.0), utm)
    (lon,), (lat,) = warp(CRS.from_wkt(utm), CRS.from_epsg(4326), [500_050.0], [4_999_950.0])
    path.write_text(json.dumps(named(collection(point(lon, lat, weight=3)), CRS84)))
    (found,) = read_targets(path, on)
    assert np.allclose(found, (500_050.0, 4_999_950.0, 3.0), atol=1e-3)
    assert cells_of_targets((found,), on) == [2 * on.shape[1] + 2]
    with pytest.raises(InvalidFileError, match="give the targets without a crs member"):
        read_targets(path, cells())
    with pytest.raises(InvalidInputError, match=r"point 1, at x = .* is off the map"):
        cells_of_targets(read_targets(path, on), cells(crs=MARS))
