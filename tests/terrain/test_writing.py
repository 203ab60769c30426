from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import rasterio
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely.geometry import LineString, Point, box
from tests.terrain.planetary import MARS

from homeward.errors import InvalidFileError, InvalidInputError, MissingExtraError
from homeward.terrain import (
    Cells,
    path_geojson,
    read_elevation,
    to_cells,
    write_geojson,
    write_heights,
)
from homeward.terrain.writing import crs_name

PLACE = (20.0, 0.0, 8_142_406.0, 0.0, -20.0, -276_455.0)


def grid(crs: str | None = MARS, rows: int = 3, columns: int = 4) -> Cells:
    """Make cells of which the last is blocked."""
    flat = np.ones((rows, columns))
    blocked = np.zeros((rows, columns), bool)
    blocked[-1, -1] = True
    return Cells(flat, flat, flat, blocked, transform=PLACE, crs=crs, name="the test ground")


def wkt(crs: str) -> str:
    return str(rasterio.crs.CRS.from_user_input(crs).to_wkt())


def test_a_field_that_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "field.tif"
    values = np.arange(12.0).reshape(3, 4) - 4460.25
    write_heights(path, values, grid(), ["mean height"])
    with rasterio.open(path) as dataset:
        assert dataset.dtypes == ("float32",)
        assert dataset.compression.name == "deflate"
        assert dataset.descriptions == ("mean height",)
        assert math.isnan(dataset.nodata)
        assert dataset.crs == rasterio.crs.CRS.from_wkt(MARS)
        assert tuple(dataset.transform)[:6] == PLACE
        expected = values.copy()
        expected[-1, -1] = np.nan
        np.testing.assert_array_equal(dataset.read(1), expected)


def test_heights_are_in_metres_where_the_maps_own_are_in_feet(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    values = np.full((2, 3, 4), 100.0)
    write_heights(path, values, grid(wkt("EPSG:32633+6360")), ["mean", "deviation"])
    with rasterio.open(path) as dataset:
        assert dataset.units == ("m", "m")
    for band in (1, 2):
        assert np.nanmax(read_elevation(path, band=band).heights) == 100.0


def test_several_fields_are_bands(tmp_path: Path) -> None:
    values = np.stack([np.zeros((3, 4)), np.ones((3, 4))])
    write_heights(tmp_path / "a.tif", values, grid(), ["mean", "variance"])
    with rasterio.open(tmp_path / "a.tif") as dataset:
        assert dataset.descriptions == ("mean", "variance")
        assert dataset.read(2)[0, 0] == 1.0
        assert np.isnan(dataset.read()[:, -1, -1]).all()


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from([None, MARS, wkt("EPSG:32616"), wkt("EPSG:2263")]),
    st.integers(0, 2**32 - 1),
)
def test_what_is_written_comes_back_as_terrain(
    tmp_path_factory: pytest.TempPathFactory, rows: int, columns: int, crs: str | None, seed: int
) -> None:
    path = tmp_path_factory.mktemp("round") / "a.tif"
    flat = np.ones((rows, columns))
    rng = np.random.default_rng(seed)
    blocked = rng.random((rows, columns)) < 0.3
    blocked[0, 0] = False
    values = rng.normal(-4000, 30, (rows, columns))
    write_heights(path, values, Cells(flat, flat, flat, blocked, transform=PLACE, crs=crs))
    back = read_elevation(path)
    expected = np.where(blocked, np.nan, values.astype(np.float32))
    np.testing.assert_array_equal(back.heights, expected)
    assert back.transform == PLACE
    if crs is None:
        assert back.crs is None
    else:
        assert rasterio.crs.CRS.from_wkt(back.crs) == rasterio.crs.CRS.from_wkt(crs)


def test_the_same_field_is_the_same_bytes(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(3, 4))
    for name in ("a.tif", "b.tif"):
        write_heights(tmp_path / name, values, grid(), ["x"])
    assert (tmp_path / "a.tif").read_bytes() == (tmp_path / "b.tif").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["a.tif", "b.tif"]


def test_a_field_is_not_written_to(tmp_path: Path) -> None:
    values = np.zeros((3, 4))
    write_heights(tmp_path / "a.tif", values, grid())
    assert values[-1, -1] == 0.0


@pytest.mark.parametrize(
    ("values", "bands", "words"),
    [
        (np.zeros((4, 3)), None, r"shape \(4, 3\), the cells \(3, 4\)"),
        (np.zeros(12), None, r"shape \(12,\)"),
        (np.zeros((0, 3, 4)), None, r"shape \(0, 3, 4\)"),
        (np.zeros((3, 4), complex), None, "not an array of numbers"),
        (np.zeros((3, 4)), ["a", "b"], "2 band descriptions for 1 bands"),
    ],
)
def test_a_field_that_does_not_fit_is_refused(
    tmp_path: Path, values: Any, bands: list[str] | None, words: str
) -> None:
    with pytest.raises(InvalidInputError, match=words):
        write_heights(tmp_path / "a.tif", values, grid(), bands)
    assert not os.listdir(tmp_path)


def test_a_coordinate_system_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"a\.tif: can't be written"):
        write_heights(tmp_path / "a.tif", np.zeros((3, 4)), grid("nowhere"))
    assert not os.listdir(tmp_path)


def test_a_field_without_rasterio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(MissingExtraError, match=r"a\.tif needs rasterio: pip install 'homeward"):
        write_heights(tmp_path / "a.tif", np.zeros((3, 4)), grid())


def test_a_path_is_a_line_with_its_ends() -> None:
    made = path_geojson(grid(), [0, 5, 6], {"level": 0.98})
    line, start, end = made["features"]
    assert line["properties"] == {"part": "path", "level": 0.98}
    assert line["geometry"]["type"] == "LineString"
    x, y = PLACE[2] + 10, PLACE[5] - 10
    assert line["geometry"]["coordinates"] == [[x, y], [x + 20, y - 20], [x + 40, y - 20]]
    assert start["properties"] == {"part": "start", "row": 0, "column": 0}
    assert start["geometry"] == {"type": "Point", "coordinates": [x, y]}
    assert end["properties"] == {"part": "end", "row": 1, "column": 2}
    assert end["geometry"] == {"type": "Point", "coordinates": [x + 40, y - 20]}


@given(
    st.lists(st.integers(0, 11), min_size=1, max_size=9),
    st.sampled_from([MARS, wkt("EPSG:32616"), wkt("EPSG:2263"), wkt("ESRI:103885")]),
)
@settings(max_examples=25)
def test_geopandas_reads_the_path_and_the_map_it_is_on(
    tmp_path_factory: pytest.TempPathFactory, states: list[int], crs: str
) -> None:
    path = tmp_path_factory.mktemp("path") / "path.geojson"
    cells = grid(crs)
    write_geojson(path, path_geojson(cells, states, {"steps": len(states), "name": "δ"}))
    read = geopandas.read_file(path)
    assert read.crs == geopandas.GeoSeries([], crs=crs).crs
    centres = [cells.centre_of(*divmod(state, 4)) for state in states]
    expected = LineString(centres if len(centres) > 1 else centres * 2)
    assert read.geometry[0].equals_exact(expected, 1e-6)
    assert read.geometry[1].equals_exact(Point(centres[0]), 1e-6)
    assert read.geometry[2].equals_exact(Point(centres[-1]), 1e-6)
    assert list(read["part"]) == ["path", "start", "end"]
    assert (read["steps"][0], read["name"][0]) == (len(states), "δ")


def test_a_path_without_a_place_is_not_put_on_earth(tmp_path: Path) -> None:
    write_geojson(tmp_path / "a.geojson", path_geojson(grid(None), [0, 1]))
    crs = geopandas.read_file(tmp_path / "a.geojson").crs
    assert not crs.is_geographic
    assert not crs.is_projected
    assert crs.axis_info[0].unit_name == "metre"


def test_a_numbered_coordinate_system_is_named_by_its_number() -> None:
    assert crs_name(wkt("EPSG:32616")) == "urn:ogc:def:crs:EPSG::32616"
    assert crs_name(rasterio.crs.CRS.from_epsg(32616).to_wkt(version="WKT2_2019")) == (
        "urn:ogc:def:crs:EPSG::32616"
    )
    assert crs_name(MARS) == MARS
    inner = wkt("EPSG:32616").replace(',AUTHORITY["EPSG","32616"]', "")
    assert crs_name(inner) == inner  # the numbers of its parts are not its own


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ([], "whole numbers|list of states"),
        ([[0, 1]], "list of states"),
        ([0, 12], r"state \(n=1\) is 12"),
        ([-1], r"state \(n=0\) is -1"),
        ([0.5], "whole numbers"),
    ],
)
def test_a_path_off_the_cells_is_refused(states: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        path_geojson(grid(), states)


def test_properties_may_not_hide_the_paths_own() -> None:
    with pytest.raises(InvalidInputError, match="property 'part'"):
        path_geojson(grid(), [0], {"part": 3})


@pytest.mark.parametrize("value", [math.nan, object()])
def test_what_json_has_no_word_for_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(InvalidInputError, match="can't be written"):
        write_geojson(tmp_path / "a.geojson", path_geojson(grid(), [0], {"x": value}))
    assert not os.listdir(tmp_path)


def test_geojson_is_plain_json(tmp_path: Path) -> None:
    made = path_geojson(grid(), [0, 1], {"a": [1, 2]})
    write_geojson(tmp_path / "a.geojson", made)
    assert json.loads((tmp_path / "a.geojson").read_text()) == made


REAL = Path(__file__).parents[2].parent / "shared" / "terrain"


@pytest.mark.skipif(not REAL.is_dir(), reason="no real terrain beside the project")
def test_a_path_in_gale_lies_on_the_raster_and_carries_its_coordinate_system(
    tmp_path: Path,
) -> None:
    raster = REAL / "gale_337x348_1m.tif"
    cells = to_cells(read_elevation(raster), cell=5.0, blur=1.25)
    states = [i * cells.shape[1] + i for i in range(60)]
    write_geojson(tmp_path / "path.geojson", path_geojson(cells, states))
    write_heights(tmp_path / "mean.tif", cells.mean, cells)
    read = geopandas.read_file(tmp_path / "path.geojson")
    with rasterio.open(raster) as dataset, rasterio.open(tmp_path / "mean.tif") as mean:
        assert read.crs == geopandas.GeoSeries([], crs=dataset.crs.to_wkt()).crs
        assert mean.crs == dataset.crs
        assert read.within(box(*dataset.bounds)).all()
        line = read.geometry[0].coords
        heights = [value[0] for value in mean.sample(line)]
        np.testing.assert_allclose(heights, cells.mean.ravel()[states], rtol=1e-6)
        below = np.array([value[0] for value in dataset.sample(line)])
        np.testing.assert_allclose(below, cells.centre.ravel()[states], atol=1e-6)
