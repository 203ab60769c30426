from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.replay.test_history import history_of, scene_of, setup_of
from tests.replay.test_moment import moment_of

from homeward.criteria import StayInside
from homeward.kinds.rover.scene import scene_of as rover_scene_of
from homeward.kinds.rover.scene import steepest
from homeward.kinds.rover.terrain import crossings_of, slope_deviation
from homeward.planning.algorithm1 import Planner
from homeward.replay import Replay
from homeward.replay.scene import actions_of
from homeward.runs import Run, find_kind

if TYPE_CHECKING:
    from pathlib import Path

ALL = ("height", "uncertainty", "seen", "v", "bonus", "success", "visited", "truth")


def maps_of(folder: Path, step: int) -> tuple[dict[str, Any], Any]:
    moment = moment_of(folder, step)
    scene = scene_of(folder, setup_of(folder))
    assert {entry["name"] for entry in scene.layers} - {"slope"} == set(ALL)
    return scene.maps(ALL, moment), moment


def test_the_maps_of_a_grid_are_the_beliefs_arrays(runs: Path) -> None:
    maps, moment = maps_of(runs / "grid-safe", 5)
    belief, shape = moment.belief, (6, 6)
    known = belief.known.reshape(shape)
    np.testing.assert_array_equal(np.isnan(maps["height"]), known == 0)
    np.testing.assert_array_equal(maps["height"][known != 0], known[known != 0])
    np.testing.assert_array_equal(maps["seen"], belief.seen.reshape(shape))
    np.testing.assert_array_equal(maps["visited"], belief.visited.reshape(shape))
    np.testing.assert_allclose(maps["uncertainty"], np.where(known == 0, math.log2(5), 0.0))
    open_squares = known != -1
    bonus = moment.planner.bonus(belief).max(axis=1).reshape(shape)
    np.testing.assert_array_equal(maps["bonus"][open_squares], bonus[open_squares])
    away = np.where(belief.mean().dest == np.arange(36)[:, None], 0.0, belief.success)
    surest = away.max(axis=1).reshape(shape)
    np.testing.assert_array_equal(maps["success"][open_squares], surest[open_squares])
    plan = moment.planner.plan(belief, moment.state, moment.start)
    way = plan.way_home.reshape(shape)
    np.testing.assert_array_equal(maps["v"][open_squares], way[open_squares])
    assert np.isnan(maps["v"][~open_squares]).all()
    assert (~open_squares).any()


def test_the_maps_of_terrain_are_the_beliefs_arrays(runs: Path) -> None:
    maps, moment = maps_of(runs / "rover", 30)
    belief, setup = moment.belief, setup_of(runs / "rover")
    shape = belief.shape
    np.testing.assert_array_equal(maps["height"], belief.height.reshape(shape))
    np.testing.assert_array_equal(maps["uncertainty"], np.sqrt(belief.variance).reshape(shape))
    np.testing.assert_array_equal(maps["truth"], setup.world.truth.reshape(shape))
    np.testing.assert_array_equal(maps["seen"], (belief.variance <= 0.01).reshape(shape))
    visited = np.zeros(belief.height.size, dtype=bool)
    visited[moment.path] = True
    np.testing.assert_array_equal(maps["visited"], visited.reshape(shape))
    plan = moment.planner.plan(belief, moment.state, moment.start)
    np.testing.assert_array_equal(maps["v"], plan.way_home.reshape(shape))
    bonus = np.asarray(moment.planner.bonus(belief)).max(axis=1).reshape(shape)
    np.testing.assert_array_equal(maps["bonus"], bonus)


def test_the_bonus_of_terrain_is_named_for_what_it_adds_up(runs: Path) -> None:
    maps, moment = maps_of(runs / "rover-paper", 0)
    belief, setup = moment.belief, setup_of(runs / "rover-paper")
    [entry] = [each for each in scene_of(runs / "rover", setup).layers if each["name"] == "bonus"]
    assert entry["title"] == "Bonus: Σ variance / the sensor's, in its reach"
    assert entry["unit"] is None  # nats only to first order, and the first order is far off
    sensor: Any = setup.planner.bonus.sensor
    rows, columns = belief.shape
    cell = (rows // 2) * columns + columns // 2
    r, c = np.divmod(np.arange(rows * columns), columns)
    away = np.hypot((r - rows // 2) * belief.size[0], (c - columns // 2) * belief.size[1])
    near = away <= sensor.reach
    expected = (belief.variance[near] / sensor.variance(away[near])).sum()
    assert maps["bonus"].flat[cell] == pytest.approx(expected, rel=1e-9)
    gained = 0.5 * np.log1p(belief.variance[near] / sensor.variance(away[near])).sum()
    assert expected > 10.0 * gained


def test_the_bonus_of_a_run_that_counts_information_is_in_nats(runs: Path) -> None:
    setup = setup_of(runs / "rover")
    [entry] = [each for each in scene_of(runs / "rover", setup).layers if each["name"] == "bonus"]
    assert (entry["title"], entry["unit"]) == ("Bonus: what a look would tell", "nats")


def test_what_is_seen_is_called_alike_on_both_kinds_of_map(runs: Path) -> None:
    for name in ("grid-safe", "rover"):
        scene = scene_of(runs / name, setup_of(runs / name))
        [seen] = [each for each in scene.layers if each["name"] == "seen"]
        assert [c["title"] for c in seen["categories"]] == ["not yet seen", "seen"]


def test_nothing_is_said_of_blocked_cells(runs: Path) -> None:
    setup = setup_of(runs / "rover")
    blocked = np.zeros(setup.belief.height.size, dtype=bool)
    blocked[3] = True
    setup = replace(setup, belief=replace(setup.belief, blocked=blocked))
    scene = scene_of(runs / "rover", setup)
    moment = replace(moment_of(runs / "rover", 0), belief=setup.belief)
    maps = scene.maps(ALL, moment)
    for name in ("height", "uncertainty", "v", "bonus", "success", "truth"):
        assert np.isnan(maps[name].flat[3])
        assert not np.isnan(maps[name].flat[4])
    assert not maps["seen"].flat[3]
    seen = setup.world.look()
    part = seen.cells != 3
    whole = type(seen)(seen.cells[part], seen.heights[part], seen.variances[part])
    assert math.isfinite(scene.measure(whole, setup.belief.update(whole), 0.0))


def test_a_set_to_stay_inside_is_a_layer(runs: Path) -> None:
    setup = setup_of(runs / "grid-safe")
    allowed = np.arange(36) < 30
    planner = Planner(setup.planner.bonus, [*setup.planner.criteria, StayInside(allowed, 0.5)])
    setup = replace(setup, planner=planner)
    scene = scene_of(runs / "grid-safe", setup)
    assert "kept" in {entry["name"] for entry in scene.layers}
    moment = replace(moment_of(runs / "grid-safe", 0), planner=planner)
    np.testing.assert_array_equal(scene.maps(["kept"], moment)["kept"], allowed.reshape(6, 6))


def test_actions_say_where_they_lead(runs: Path) -> None:
    setup = setup_of(runs / "grid-safe")
    actions = actions_of(setup)
    dest = setup.belief.mean().dest
    middle = 2 * 6 + 2
    for a, action in enumerate(actions):
        assert dest[middle, a] == middle + 6 * action["dr"] + action["dc"]
    assert [a["name"] for a in actions[:3]] == ["stay", "N", "NE"]


@pytest.mark.parametrize("name", ["grid-safe", "rover"])
def test_what_a_run_left_shows_its_last_step(runs: Path, name: str) -> None:
    run = Run(runs / name)
    maps, _ = maps_of(runs / name, len(history_of(runs / name).log))
    kind, shared = run.kind, ["height", "uncertainty", "seen"]
    if kind == "grid":
        shared += ["visited", "truth"]
    kept_layers = find_kind(kind).kept_layers
    assert kept_layers is not None
    kept = kept_layers(run.fields())
    for layer in shared:
        np.testing.assert_array_equal(kept[layer], maps[layer])


@pytest.mark.parametrize("kind", ["grid", "rover"])
def test_without_its_arrays_a_run_has_left_no_layers(kind: str) -> None:
    kept_layers = find_kind(kind).kept_layers
    assert kept_layers is not None
    assert kept_layers({}) == {}


def test_a_slope_is_that_to_the_steepest_neighbour() -> None:
    height = np.array([[0.0, 1.0, 1.0], [0.0, np.nan, 3.0]]).ravel()
    found = steepest(height, (2, 3), (2.0, 1.0)).reshape(2, 3)
    tangents = [[1.0, 1.0, 1.0], [0.0, np.nan, 1.0]]
    assert np.allclose(np.tan(np.radians(found)), tangents, equal_nan=True)


def test_a_cell_among_blocked_ones_has_no_slope() -> None:
    height = np.array([5.0, np.nan, 7.0])
    assert np.isnan(steepest(height, (1, 3), (1.0, 1.0))).all()


def test_a_blocked_cell_makes_no_slope_beside_it(runs: Path) -> None:
    setup = setup_of(runs / "rover")
    shape, size = setup.belief.shape, setup.belief.size
    blocked = np.zeros(shape, bool)
    blocked[2, 3] = True
    heights = 600.0 + np.arange(shape[0])[:, None] * size[0] * np.ones(shape)  # 45° everywhere
    heights[2, 3] = 0.0
    prior = SimpleNamespace(blocked=blocked.ravel(), shape=shape, size=size)
    config: Any = Run(runs / "rover").load()[1]
    scene = rover_scene_of(config, replace(setup, belief=prior))
    moment: Any = SimpleNamespace(belief=SimpleNamespace(height=heights.ravel()))
    slope = scene.maps(["slope"], moment)["slope"]
    np.testing.assert_allclose(slope[~blocked], 45.0)
    assert np.isnan(slope[2, 3])


def test_driven_ground_tells_the_height_that_exported_paths_have(tmp_path: Path) -> None:
    config = {"terrain": "sample", "cell": 100.0, "limit": 4}
    run = Run.create(tmp_path / "run", "rover", config)
    run.resume()
    setup = setup_of(tmp_path / "run")
    settled: Any = run.load()[1]
    scene = rover_scene_of(settled, setup)
    titles = {entry["name"]: entry["title"] for entry in scene.layers}
    assert titles["slope"] == "Slope of the terrain model"
    moment = moment_of(tmp_path / "run", 4)
    maps = scene.maps(["model", "height"], moment)
    points = json.loads((tmp_path / "run" / "path_points.geojson").read_text())["features"]
    start = divmod(moment.start, scene.shape[1])
    assert maps["model"][start] == points[0]["properties"]["z"]
    assert maps["model"][start] != maps["height"][start]  # measured, with the simulated error


def test_the_slope_of_driven_ground_is_that_of_the_terrain_model(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", "rover", {"terrain": "sample", "cell": 100.0, "limit": 4})
    run.resume()
    config: Any = run.load()[1]
    crossings = crossings_of(config)
    assert crossings is not None
    replay = Replay(tmp_path / "run")
    maps = replay.layers(4, ["slope", "success"])
    np.testing.assert_array_equal(maps["slope"].ravel(), crossings.slopes())
    (slope,) = (entry for entry in replay.scene.layers if entry["name"] == "slope")
    assert slope["deviation"] == pytest.approx(slope_deviation(config))
    way = replay.way(4, replay.at(4).state, with_profile=True)
    profile, path = way["profile"], [replay.at(4).state, *(edge["to"] for edge in way["edges"])]
    steepest = crossings.steepest(path)
    for name, limit, largest in zip(("up", "down", "side"), (20, 30, 20), steepest, strict=True):
        assert max(slope[name] for slope in profile["slopes"]) == pytest.approx(largest)
        assert largest <= limit
    assert profile["distance"][-1] > 100.0 * (len(path) - 1) - 100.0
    assert replay.way(4, replay.at(4).state)["profile"] is None


def test_the_profile_of_a_grid_has_heights_and_no_slopes(runs: Path) -> None:
    replay = Replay(runs / "grid-safe")
    steps = len(replay.log)
    heights = replay.layers(steps, ["height"])["height"].ravel()
    moment = replay.at(steps)
    profile = replay.scene.profile(moment, [moment.start, moment.state])
    assert profile is not None
    assert profile.distance == [0.0, 1.0]
    assert profile.height == heights[[moment.start, moment.state]].tolist()
    assert profile.slopes == [None]


def test_the_profile_of_the_papers_ground_has_the_slopes_between_centres(runs: Path) -> None:
    replay = Replay(runs / "rover")
    moment, columns = replay.at(1), replay.scene.shape[1]
    height = replay.layers(1, ["height"])["height"].ravel()
    profile = replay.scene.profile(moment, [0, 1, columns])
    assert profile is not None
    (tall, wide), diagonal = replay.scene.cell or (0.0, 0.0), profile.distance[2]
    assert diagonal == pytest.approx(wide + np.hypot(tall, wide))
    for (a, b), slope, length in zip(
        ((0, 1), (1, columns)), profile.slopes, (wide, np.hypot(tall, wide)), strict=True
    ):
        assert slope is not None
        rise = np.tan(np.radians((slope["up"] or 0.0) - (slope["down"] or 0.0))) * length
        assert rise == pytest.approx(height[b] - height[a])
        assert slope["side"] is None
