"""Files about the way home, read by other programs than those that write them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import rasterio
from tests.terrain.planetary import MARS, write_raster
from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.errors import InvalidInputError
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import cells_of
from homeward.runs import Run

if TYPE_CHECKING:
    from pathlib import Path

FILES = (
    *("path_points.geojson", "way_home.geojson", "way_home.gpx"),
    *("way_home_probability.tif", "terrain.qml", "path.kml", "way_home.kml"),
)
KML = "{http://www.opengis.net/kml/2.2}"


def explored(folder: Path, ground: str, parts: int = 1, **more: Any) -> Run:
    """Return an ended run over 8 x 12 cells, explored in a number of parts."""
    rows, columns = np.indices((40, 60))
    heights = np.sin(rows / 9) + 0.05 * columns
    heights[12:14, 12:14] = -9999.0
    write_raster(folder / "ground.tif", heights, crs=MARS, nodata=-9999.0)
    given = {"terrain": str(folder / "ground.tif"), "ground": ground, "cell": 5.0, "limit": 6}
    config = RoverConfig.model_validate({**given, "error": 1e-4, "sensor_range": 12.0, **more})
    run = Run.create(folder / f"run{parts}", "rover", config)
    for _ in range(parts - 1):
        steps = run.steps()
        next(steps, None)
        steps.close()
    run.resume()
    return run


@pytest.mark.parametrize("ground", ["driven", "paper"])
def test_the_way_home_leads_from_the_end_to_the_start(tmp_path: Path, ground: str) -> None:
    run = explored(tmp_path, ground)
    path, way, points = (
        json.loads((run.directory / f"{name}.geojson").read_text())["features"]
        for name in ("path", "way_home", "path_points")
    )
    line, told = way[0]["geometry"]["coordinates"], way[0]["properties"]
    assert line[0][:2] == path[2]["geometry"]["coordinates"]
    assert line[-1][:2] == path[1]["geometry"]["coordinates"]
    facts = json.loads((run.directory / "summary.json").read_text())
    assert told["probability"] == facts["return_bound"]
    with rasterio.open(run.config["terrain"]) as model:
        heights = [value[0] for value in model.sample([corner[:2] for corner in line])]
    np.testing.assert_allclose([corner[2] for corner in line], heights, atol=1e-5)
    assert [p["geometry"]["coordinates"][:2] for p in points] == path[0]["geometry"]["coordinates"]
    records = list(run.records())
    for point in points[1:]:
        about = point["properties"]
        record = records[about["step"] - 1]
        assert about["bound"] == min(record.kept_bounds)
        assert about["gain"] == record.value
        assert about["z"] == point["geometry"]["coordinates"][2]
    root = ET.fromstring((run.directory / "way_home.gpx").read_text())
    found = [
        (float(p.get("lon", "")), float(p.get("lat", ""))) for p in root.iter() if p.get("lat")
    ]
    radius = 3_396_190.0  # of Mars; the map is true at the equator, around 180°
    expected = [(np.degrees(x / radius) - 180.0, np.degrees(y / radius)) for x, y, _ in line]
    np.testing.assert_allclose(found, expected, atol=2e-9)
    for name, there in (("way_home", line), ("path", path[0]["geometry"]["coordinates"])):
        root = ET.fromstring((run.directory / f"{name}.kml").read_text())
        assert root.get("hint") == "target=mars"
        corners = root.findtext(f".//{KML}coordinates", "").split()
        drawn = [tuple(map(float, corner.split(",")[:2])) for corner in corners]
        degrees = [(np.degrees(p[0] / radius) - 180.0, np.degrees(p[1] / radius)) for p in there]
        np.testing.assert_allclose(drawn, degrees, atol=2e-9)
    text = (run.directory / "summary.md").read_text()
    assert all(f"`{name}`" in text for name in FILES)


def test_the_probability_of_the_way_home_is_a_raster(tmp_path: Path) -> None:
    run = explored(tmp_path, "paper")
    cells = cells_of(RoverConfig.model_validate_json(json.dumps(run.config)))
    with rasterio.open(run.directory / "way_home_probability.tif") as written:
        chances = written.read(1)
        assert tuple(written.transform[:6]) == cells.transform
        assert written.units == (None,)
    facts = json.loads((run.directory / "summary.json").read_text())
    assert np.array_equal(np.isnan(chances), cells.blocked)
    assert cells.blocked.sum() == 1
    shown = chances[tuple(facts["position"])]
    assert facts["return_bound"] - 1e-7 <= float(shown) <= facts["return_bound"]
    assert chances[tuple(facts["start"])] == 1.0


def test_the_style_covers_the_heights_of_the_terrain(tmp_path: Path) -> None:
    run = explored(tmp_path, "driven")
    with rasterio.open(run.directory / "terrain.tif") as written:
        heights = written.read(1)
        assert written.descriptions[0] == "height (m)"
    root = ET.fromstring((run.directory / "terrain.qml").read_text())
    items = [float(item.get("value", "")) for item in root.iter("item")]
    assert items == sorted(items)
    (renderer,), (shader,) = root.iter("rasterrenderer"), root.iter("colorrampshader")
    assert (renderer.get("band"), renderer.get("type")) == ("1", "singlebandpseudocolor")
    for part, first, last in (
        (renderer, "classificationMin", "classificationMax"),
        (shader, "minimumValue", "maximumValue"),
    ):
        assert [float(part.get(name, "0")) for name in (first, last)] == [items[0], items[-1]]
    ends = [float(np.nanmin(heights)), float(np.nanmax(heights))]
    np.testing.assert_allclose([items[0], items[-1]], ends, rtol=1e-6)


def test_the_files_are_the_same_however_often_the_run_was_stopped(tmp_path: Path) -> None:
    one, other = (explored(tmp_path, "driven", parts).directory for parts in (1, 4))
    for name in FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_the_way_home_can_be_had_from_every_step(tmp_path: Path) -> None:
    run = explored(tmp_path, "driven")
    for out in ("one.geojson", "all.geojson", "all.gpx", "all.kml"):
        step = "all" if out.startswith("all") else "3"
        given = ["runs", "export", str(run.directory), "--way-home", step, "--out"]
        said = CliRunner().invoke(app, [*given, str(tmp_path / out)])
        assert said.exit_code == 0, said.output
    one, every = (
        json.loads((tmp_path / f"{name}.geojson").read_text())["features"]
        for name in ("one", "all")
    )
    assert [feature["properties"]["step"] for feature in every] == list(range(7))
    assert one == [every[3]]
    end = json.loads((run.directory / "way_home.geojson").read_text())["features"][0]
    assert every[-1]["geometry"] == end["geometry"]
    states = [record.next_state for record in run.records()]
    cells = cells_of(RoverConfig.model_validate_json(json.dumps(run.config)))
    for feature, state in zip(every[1:], states, strict=True):
        x, y, _ = feature["geometry"]["coordinates"][0]
        assert cells.cell_of(x, y) == divmod(state, cells.shape[1])
    routes = ET.fromstring((tmp_path / "all.gpx").read_text())
    lines = ET.fromstring((tmp_path / "all.kml").read_text())
    assert len(list(routes)) == len(list(lines.iter(f"{KML}Placemark"))) == 7


@pytest.mark.parametrize(
    ("step", "out", "said"),
    [
        ("7", "x.gpx", "there is no step 7"),
        ("-1", "x.gpx", "expected the number of a step, or all"),
        ("0", "x.csv", "a way home can be written as .geojson, .gpx, .kml"),
    ],
)
def test_a_way_home_that_is_not_there_is_refused(
    tmp_path: Path, step: str, out: str, said: str
) -> None:
    run = explored(tmp_path, "paper")
    given = ["runs", "export", str(run.directory), f"--way-home={step}", "--out", out]
    refusal = CliRunner().invoke(app, given).exception
    assert isinstance(refusal, InvalidInputError)
    assert said in str(refusal)


def test_without_degrees_the_summary_says_why_there_is_no_gpx(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.zeros((30, 40)))
    config = {"terrain": str(tmp_path / "flat.npy"), "pixel": 5.0, "cell": 5.0, "limit": 1}
    run = Run.create(tmp_path / "run", "rover", {**config, "sensor_range": 6.0})
    run.resume()
    assert not list(run.directory.glob("*.gpx")) + list(run.directory.glob("*.kml"))
    text = (run.directory / "summary.md").read_text()
    assert "There is no `path.gpx`, `path.kml`, `way_home.gpx` or `way_home.kml`: flat.npy" in text
    assert "**Caution**: the sensor reaches 6 m, less than the 7.07 m to a diagonal" in text
    given = ["runs", "export", str(run.directory), "--way-home", "0", "--out", "way.kml"]
    assert "no longitudes and latitudes" in str(CliRunner().invoke(app, given).exception)


def test_each_base_has_its_way(tmp_path: Path) -> None:
    run = explored(tmp_path, "driven", bases=((3, 5), (4, 7)), each_base=True)
    ways = json.loads((run.directory / "way_home.geojson").read_text())["features"]
    assert [(w["properties"]["row"], w["properties"]["column"]) for w in ways] == [(3, 5), (4, 7)]
