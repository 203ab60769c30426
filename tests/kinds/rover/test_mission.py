from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pytest
import rasterio
from tests.cli.invoking import invoke

from homeward.beliefs.heights import TerrainBelief
from homeward.errors import InvalidFileError
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.mission import RoverVehicle
from homeward.missions import Fault, Mission, ReportError

SIDE, CELL = 12, 10.0
PLACE = rasterio.Affine(CELL, 0.0, 500_000.0, 0.0, -CELL, 5_400_000.0)


def write(path: Path, *bands: Any, crs: str | None = "EPSG:32633", place: Any = PLACE) -> Path:
    stack = np.stack([np.asarray(band, "float32") for band in bands])
    count, height, width = stack.shape
    shape = {"count": count, "height": height, "width": width, "dtype": "float32"}
    with rasterio.open(path, "w", driver="GTiff", crs=crs, transform=place, **shape) as file:
        file.write(stack)
    return path


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    ground = np.add.outer(np.arange(SIDE) * 0.2, np.arange(SIDE) * 0.1)
    model = write(tmp_path / "model.tif", ground)
    more = {"terrain": str(model), "cell": CELL, "ground": "paper", "blur": 0.0}
    return {**more, "start": [6, 6], "sensor_range": 15.0, "error": 0.01}


def measured(mission: Mission) -> TerrainBelief:
    belief = mission._answer().replay.at(mission.status()["steps"]).belief
    assert isinstance(belief, TerrainBelief)
    return belief


def test_cells_and_map_coordinates_are_the_same_place(config: dict[str, Any]) -> None:
    vehicle = RoverVehicle(RoverVehicle.settled(RoverConfig.model_validate(config, strict=False)))
    state = 3 * SIDE + 4
    x, y = 500_045.0, 5_399_965.0
    for place in ([3, 4], "3,4", {"x": x, "y": y}, f"map:{x},{y}"):
        assert vehicle.state(place) == state
    one = {"row": 3, "column": 4, "height": 1.5, "error": 0.5}
    other = {"x": x, "y": y, "height": 1.5, "variance": 0.25}
    for given in (one, other, [3, 4, 1.5, 0.5]):
        found = vehicle.measured({"heights": [given]})
        assert [part.tolist() for part in found[:3]] == [[state], [1.5], [0.25]]


def test_a_patch_is_read_at_the_centres_of_cells(config: dict[str, Any], tmp_path: Path) -> None:
    mission = Mission.start(tmp_path / "m", "rover", config)
    mission.observe({"position": mission.status()["start"]})
    before = measured(mission)
    fine = rasterio.Affine(CELL / 3, 0.0, 500_020.0, 0.0, -CELL / 3, 5_399_970.0)
    heights = np.arange(54.0).reshape(9, 6)  # 3 x 2 cells of 3 x 3 pixels
    heights[1, 1] = np.nan
    patch = write(tmp_path / "patch.tif", heights, np.full((9, 6), 1e-3), place=fine)
    assert mission.observe_file(patch, sure=True)[0]["status"] == "look"
    after = measured(mission)
    cells = np.flatnonzero(after.variance != before.variance)
    expected = {
        (3 + row) * SIDE + 2 + column: heights[3 * row + 1, 3 * column + 1]
        for row in range(3)
        for column in range(2)
        if (row, column) != (0, 0)
    }
    assert cells.tolist() == sorted(expected)
    assert after.height[cells] == pytest.approx([expected[int(c)] for c in cells], abs=1e-2)


@pytest.fixture
def rock(tmp_path: Path) -> dict[str, Any]:
    """Flat driven ground of 1 m pixels with a rock of 1 m in the middle of a cell of 8 m."""
    ground = np.zeros((40, 40))
    ground[12, 20] = 1.0  # row 1, column 2
    fine = rasterio.Affine(1.0, 0.0, 500_000.0, 0.0, -1.0, 5_400_000.0)
    write(tmp_path / "patch.tif", ground, np.full((40, 40), 0.01), place=fine)
    model = write(tmp_path / "rock.tif", ground, place=fine)
    return {"terrain": str(model), "cell": 8.0, "start": [3, 3], "known": 0.0}


def test_on_driven_ground_a_height_is_measured_where_the_vehicle_stands(
    rock: dict[str, Any], tmp_path: Path
) -> None:
    mission, state = Mission.start(tmp_path / "m", "rover", rock), 1 * 5 + 2
    point = next(p for p in mission.points() if (p["row"], p["column"]) == (1, 2))
    assert (point["x"], point["y"]) != (500_020.5, 5_399_987.5)  # the rock
    assert mission.vehicle.state({"x": point["x"], "y": point["y"]}) == state
    mission.observe_file(tmp_path / "patch.tif")
    belief = mission._answer().replay.at(0).belief
    assert isinstance(belief, TerrainBelief)
    assert belief.height[state] == pytest.approx(0.0, abs=1e-3)
    assert belief.variance[state] < 1e-3
    before = RoverVehicle(mission.vehicle.config).belief.mean()  # type: ignore[attr-defined]
    likely = before.success[state] > 0.9
    assert likely.sum() > 1
    assert (belief.mean().success[state][likely] > 0.99).all()


def test_on_driven_ground_a_height_beside_the_point_of_its_cell_is_refused(
    rock: dict[str, Any], tmp_path: Path
) -> None:
    mission = Mission.start(tmp_path / "m", "rover", rock)
    point = next(p for p in mission.points() if (p["row"], p["column"]) == (1, 2))
    with pytest.raises(ReportError, match="not where the vehicle stands in it: measure at") as it:
        mission.observe({"heights": [{"x": 500_020.5, "y": 5_399_987.5, "height": 1, "error": 1}]})
    assert it.value.code is Fault.MEASUREMENT
    at = {"x": point["x"] + 0.4, "y": point["y"] - 0.4, "height": 0.0, "error": 0.01}
    assert mission.observe({"heights": [at]})["status"] == "first_look"


def test_the_next_move_comes_with_its_line_on_the_map(rock: dict[str, Any], tmp_path: Path) -> None:
    mission = Mission.start(tmp_path / "m", "rover", rock)
    mission.observe_file(tmp_path / "patch.tif")
    advice = mission.next()
    places = {(p["row"], p["column"]): [p["x"], p["y"]] for p in mission.points()}
    assert advice["line"][0][:2] == places[tuple(advice["position"])]
    assert advice["line"][-1][:2] == places[tuple(advice["to"])]


@pytest.mark.parametrize(
    ("bands", "named", "said"),
    [
        (2, {"crs": "EPSG:32634"}, "warp it with gdalwarp"),
        (2, {"crs": None}, "no coordinate system"),
        (1, {}, "band 2 must have the standard deviations"),
        (2, {"place": rasterio.Affine(10.0, 0.0, 0.0, 0.0, -10.0, 0.0)}, "no cell of the map"),
        (-2, {}, "the error in row 0, column 0 of band 2 is -1"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused(
    config: dict[str, Any], tmp_path: Path, bands: int, named: dict[str, Any], said: str
) -> None:
    mission = Mission.start(tmp_path / "m", "rover", config)
    mission.observe({"position": mission.status()["start"]})
    layers = [np.ones((4, 4)), np.full((4, 4), 1.0 if bands > 0 else -1.0)][: abs(bands)]
    patch = write(tmp_path / "patch.tif", *layers, **named)
    with pytest.raises(ReportError, match=said) as caught:
        mission.observe_file(patch)
    assert caught.value.code is Fault.MEASUREMENT
    assert mission.status()["steps"] == 0


def test_the_way_home_opens_in_geopandas(config: dict[str, Any], tmp_path: Path) -> None:
    mission = Mission.start(tmp_path / "m", "rover", config)
    mission.observe({"position": mission.status()["start"]})
    assert mission.recall()["ways_home"][0]["is_home"]
    for _ in range(2):
        advice = mission.next()
        mission.observe({"position": advice["to"], "tried": advice["move"]})
    recall = mission.recall()
    way = recall["ways_home"][0]
    found = geopandas.GeoDataFrame.from_features(recall["geojson"])
    assert found.geometry.iloc[0].length == pytest.approx(
        sum(CELL * (2**0.5 if len(m["move"]) == 2 else 1.0) for m in way["moves"])
    )
    assert found["probability"].iloc[0] == way["probability"]
    assert recall["why_no_degrees"] is None
    assert recall["gpx"].count("<rtept ") == len(way["moves"]) + 1
    (line,) = re.findall("<coordinates>(.*?)</coordinates>", recall["kml"], re.DOTALL)
    assert len(line.split()) == len(way["moves"]) + 1


def test_the_way_home_is_written_in_every_form(config: dict[str, Any], tmp_path: Path) -> None:
    mission = Mission.start(tmp_path / "m", "rover", config)
    mission.observe({"position": mission.status()["start"]})
    names = ["way_home.geojson", "way_home.gpx", "way_home.kml"]
    written = json.loads(invoke("mission", "recall", str(tmp_path / "m"), "--json").stdout)
    assert [Path(path).name for path in written["outputs"]] == names
    out = tmp_path / "home.KML"
    assert invoke("mission", "recall", str(tmp_path / "m"), "--out", str(out)).exit_code == 0
    assert out.read_text() == (tmp_path / "m" / "way_home.kml").read_text()
    done = invoke("mission", "recall", str(tmp_path / "m"), "--out", str(tmp_path / "home.pdf"))
    assert str(done.exception).endswith("can be written as .geojson or .gpx or .kml")


def test_a_moved_vehicle_pays_for_a_way_home(config: dict[str, Any], tmp_path: Path) -> None:
    from homeward.runs.verification import plan_of_step

    more = {"error": 0.6, "climb": 12.0, "descend": 20.0, "delta": 0.6}
    mission = Mission.start(tmp_path / "m", "rover", {**config, **more})
    mission.observe({"position": mission.status()["start"]})
    answer = mission.observe({"position": [6, 8], "moved": True})
    assert 0.0 < answer["kept"] < 1.0
    assert mission.recall()["ways_home"][0]["probability"] == pytest.approx(answer["kept"])
    assert not plan_of_step(mission.run).refuted
    path = mission.run.directory / "steps.jsonl"
    from dataclasses import replace

    from homeward.runs.log import to_line

    (record,) = mission.run.records()
    cheap = {**record.holding, "spent": [0.0], "kept": 1.0}
    path.write_bytes(to_line(replace(record, holding=cheap)))
    assert plan_of_step(mission.run).homes[0].refuted


def test_a_limited_mission_asks_what_a_moved_vehicle_used(
    config: dict[str, Any], tmp_path: Path
) -> None:
    mission = Mission.start(tmp_path / "m", "rover", {**config, "distance": 100.0})
    mission.observe({"position": mission.status()["start"]})
    with pytest.raises(ReportError, match="used has 0 amounts, but the mission has 1 limit:"):
        mission.observe({"position": [6, 8], "moved": True})
    answer = mission.observe({"position": [6, 8], "moved": True, "used": [30.0]})
    assert answer["kept"] > 0.9
    assert mission.status()["promise"]["budgets"][0]["used"] == [30.0]
    gone = mission.observe({"position": [6, 9], "moved": True, "used": [45.0]})
    assert gone["kept"] == 0.0  # the way home of 30 m does not fit into 25 m


def test_a_changed_terrain_is_noticed(config: dict[str, Any], tmp_path: Path) -> None:
    mission = Mission.start(tmp_path / "m", "rover", config)
    mission.observe({"position": mission.status()["start"]})
    write(Path(config["terrain"]), np.zeros((SIDE, SIDE)))
    with pytest.raises(InvalidFileError):
        Mission.open(mission.run.directory).next()


def test_a_height_far_from_what_is_believed_is_refused_unless_it_is_sure(
    config: dict[str, Any], tmp_path: Path
) -> None:
    mission = Mission.start(tmp_path / "m", "rover", config)
    mission.observe({"heights": [[6, 6, 1.8, 0.01]]})
    wild = {"heights": [[6, 7, 1.9, 0.01], [7, 7, 900.0, 0.001]]}
    told = r"row 7, column 7 is 900 m, expected 2.1 ± 0.1 m.*\"sure\": true.*--sure"
    with pytest.raises(ReportError, match=told) as caught:
        mission.observe(wild)
    assert caught.value.code is Fault.MEASUREMENT
    assert mission.status()["steps"] == 0
    with pytest.raises(ReportError, match="sure is 1, expected true or false"):
        mission.observe({**wild, "sure": 1})
    assert mission.observe({**wild, "sure": True})["status"] == "look"
    assert measured(Mission.open(mission.run.directory)).height[7 * SIDE + 7] > 899.0
