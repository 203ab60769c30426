from __future__ import annotations

import json
import math
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
import rasterio
from tests.terrain.planetary import MARS, write_raster

from homeward.beliefs.heights import TerrainBelief, entropy_reduction
from homeward.files import read_json
from homeward.kinds.outcome import FACTS
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import cells_of, make, prior_of
from homeward.kinds.rover.outputs import (
    distance_of,
    facts_of,
    is_known,
    path_of,
    return_bound,
    write_products,
)
from homeward.kinds.rover.summary import command_of, summary_of, vehicle_words
from homeward.planning.ends import End
from homeward.runs import Ended, Run
from homeward.solvers.paths import reached
from homeward.terrain.synthetic import draw_relief
from homeward.words import ENDS, sentence, why_ended

if TYPE_CHECKING:
    from pathlib import Path

    from homeward.kinds.rover.world import Rover


def read_facts(directory: Path) -> Any:
    return read_json(directory / FACTS)


def write_terrain(path: Path) -> None:
    """Write a relief of 9 x 12 pixels of 20 m on Mars; one of them is a hole."""
    heights = 0.3 * draw_relief((9, 12), np.random.default_rng(0))
    heights[2, 3] = -9999.0
    transform = rasterio.Affine(20.0, 0.0, 500.0, 0.0, -20.0, 900.0)
    write_raster(path, heights.astype(np.float32), nodata=-9999.0, transform=transform)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Take a rover's run to its end."""
    folder = tmp_path_factory.mktemp("rover")
    write_terrain(folder / "crater.tif")
    config = {
        "terrain": str(folder / "crater.tif"),
        "sensor_range": 50.0,
        "limit": 25,
        "blur": 0.0,
        "ground": "paper",
        "known": 0.02,
    }
    made = Run.create(folder / "run", "rover", config)
    made.resume()
    return made


def final(run: Run) -> tuple[RoverConfig, TerrainBelief, Rover]:
    """Go a run's way again; give the last belief and the world."""
    config = RoverConfig.model_validate_json(json.dumps(run.config))
    setup = make(config)
    belief: Any = setup.belief.update(setup.world.look())
    for record in run.records():
        belief = belief.update(setup.world.act(record.action))
    return config, belief, cast("Rover", setup.world)


def test_all_of_it_is_in_the_folder_and_nothing_half_written(run: Run) -> None:
    names = {path.name for path in run.directory.iterdir()}
    assert names == {
        "config.json",
        "manifest.json",
        "steps.jsonl",
        "plan_ms.f32",
        "fields.npz",
        "path.geojson",
        "path_points.geojson",
        "terrain.tif",
        "terrain.qml",
        "way_home.geojson",
        "way_home.gpx",
        "way_home.kml",
        "path.gpx",
        "path.kml",
        "way_home_probability.tif",
        "summary.md",
        "summary.json",
    }


def test_the_path_lies_on_the_raster_and_carries_its_coordinate_system(run: Run) -> None:
    found = json.loads((run.directory / "path.geojson").read_text())
    line = found["features"][0]["geometry"]["coordinates"]
    config, _, world = final(run)
    cells = cells_of(config)
    states = path_of(run.records(), world.start)
    assert [cells.cell_of(*point) for point in line] == [divmod(state, 12) for state in states]
    assert "Equirectangular Mars" in found["crs"]["properties"]["name"]
    about = found["features"][0]["properties"]
    assert (about["steps"], about["explorer"], about["delta"]) == (25, "safe", 0.98)


def test_the_map_holds_the_last_heights_and_deviations(run: Run) -> None:
    _, belief, _ = final(run)
    with rasterio.open(run.directory / "terrain.tif") as raster:
        height, deviation = raster.read()
        assert raster.transform == rasterio.Affine(20.0, 0.0, 500.0, 0.0, -20.0, 900.0)
        assert raster.crs == rasterio.crs.CRS.from_wkt(MARS)
        assert raster.descriptions == ("height (m)", "standard deviation of the height (m)")
    known = ~belief.blocked.reshape(9, 12)
    assert np.isnan(height[2, 3])
    assert np.allclose(height[known], belief.height[known.ravel()], rtol=1e-6)
    assert np.allclose(deviation[known], np.sqrt(belief.variance)[known.ravel()], rtol=1e-6)


def test_the_facts_are_those_of_the_run(run: Run) -> None:
    facts = read_facts(run.directory)
    config, belief, world = final(run)
    records = list(run.records())
    states = [records[0].state, *(record.next_state for record in records)]
    known = np.sqrt(belief.variance[~belief.blocked])
    (session,) = run.manifest.sessions
    assert facts == {
        "status": "finished",
        "end": "steps",
        "steps": 25,
        "stranded": world.stranded,
        "trapped_at": None,
        "entropy_reduction": entropy_reduction(prior_of(config), belief),
        "cells_visited": len(set(states)),
        "seconds": session.seconds,
        "plan_ms_median": session.plan_ms,
        "min_bound": min(record.kept_bounds[0] for record in records),
        "distance_m": distance_of(config, states),
        "steepest": None,
        "used": [],
        "home": states[-1] == states[0],
        "start": list(divmod(states[0], 12)),
        "position": list(divmod(states[-1], 12)),
        "return_bound": return_bound(config, belief, world),
        "open_cells": 9 * 12 - 1,
        "known_to_1cm": (known <= 0.01).mean(),
        "known_to_10cm": (known <= 0.1).mean(),
        "goal": 0.02,
        "known_to_goal": (known <= 0.02).mean(),
        "criteria": [{"name": "return to the start", "level": 0.98, "lowest": facts["min_bound"]}],
        "infeasible_steps": 0,
        "cautions": [],
        "why": why_ended(End.STEPS, 25),
        "conflict": None,
        "targets": [],
        "levels": facts["levels"],
        "missing": None,
    }
    assert facts["min_bound"] >= 0.98 - 1e-8
    assert 0.0 < facts["known_to_1cm"] < facts["known_to_10cm"]


def test_a_diagonal_is_longer_and_waiting_is_no_way() -> None:
    config = RoverConfig(rows=100, columns=80, pixel=1.0)  # 5 x 4 cells of 20 m
    assert distance_of(config, [0, 0, 1, 5, 4]) == 60.0
    assert distance_of(config, [0, 5]) == pytest.approx(20.0 * 2.0**0.5)
    assert distance_of(config, [7]) == 0.0


def test_cells_are_seen_when_they_are_known_to_ten_centimetres() -> None:
    blocked = np.array([False, True, False, False])
    belief = TerrainBelief((2, 2), np.zeros(4), np.array([1.0, 1e-9, 0.01, 0.02]), blocked=blocked)
    assert is_known(belief, 0.1).tolist() == [False, True, False]


def test_a_way_back_over_an_uncertain_step_is_bounded_by_its_chance() -> None:
    # One step up over 20 m whose height is known to 1 m: it works with Pr(h < 20 tan 5°) or so.
    belief = TerrainBelief((1, 2), np.array([2.5, 0.0]), np.array([1.0, 1e-12]))
    chance = float(belief.mean().success[1, 7])
    assert 0.05 < chance < 0.95
    for state, expected in ((1, chance), (0, 1.0)):
        world = cast("Any", SimpleNamespace(start=0, state=state))
        assert return_bound(RoverConfig(), belief, world) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.asc", "map coordinates without a coordinate system, taken for metres"),
        ("a.npy", "metres from the south-west corner, on no map"),
    ],
)
def test_the_summary_says_whose_the_coordinates_are(tmp_path: Path, name: str, said: str) -> None:
    config: dict[str, Any] = {"terrain": str(tmp_path / name), "limit": 0, "cell": 1.0}
    flat = np.zeros((5, 6), np.float32)
    if name == "a.npy":
        np.save(tmp_path / name, flat)
        config["pixel"] = 1.0
    else:
        write_raster(tmp_path / name, flat, driver="AAIGrid", crs=None)
    Run.create(tmp_path / "run", "rover", config).resume()
    assert f"- Coordinates: {said}.\n" in (tmp_path / "run" / "summary.md").read_text()


def test_the_summary_says_what_a_mission_planner_asks(run: Run) -> None:
    text = (run.directory / "summary.md").read_text()
    facts = read_facts(run.directory)
    assert tuple(facts) == (
        *("status", "end", "steps", "stranded", "trapped_at", "entropy_reduction", "cells_visited"),
        *("seconds", "plan_ms_median", "min_bound", "distance_m", "steepest", "used", "home"),
        *("start", "position"),
        *(
            "return_bound",
            "open_cells",
            "known_to_1cm",
            "known_to_10cm",
            "goal",
            "known_to_goal",
            "criteria",
            "infeasible_steps",
            "cautions",
        ),
        *("why", "conflict", "targets", "levels", "missing"),
    )
    for said in (
        "# Exploration of crater.tif",
        "9 × 12 cells of 20 × 20 m",
        "1 of them without data",
        "Coordinates: Equirectangular Mars.",
        "climbs slopes up to 5° and descends up to 45°",
        "Sensor: reaches 50 m",
        "Whenever the rover is recalled, it can return to the start with probability at least 0.98",
        f"It took 25 steps. {why_ended(End.STEPS, 25)}",
        f"It drove {facts['distance_m']:,.0f} m",
        "The lowest bound on the way home in the whole run: ",
        f"Entropy taken off the heights: {facts['entropy_reduction']:,.0f} nats",
        "Known to within 1 cm",
        "a plan took",
        f"homeward runs resume {run.directory} --steps 50",
        f"homeward explore {run.config['terrain']} --ground paper --start ",
    ):
        assert said in text, said


def test_the_summary_says_what_each_explorer_promises(run: Run) -> None:
    config, _, _ = final(run)
    facts = read_facts(run.directory)

    def summary(change: dict[str, Any], **other: Any) -> str:
        changed = config.model_copy(update=change)
        told = facts | other
        return summary_of(changed, cells_of(config), told, run.manifest, run.directory, None)

    unsafe = summary({"explorer": "unsafe"}, criteria=[], stranded=True)
    assert "Safety: none." in unsafe
    assert "none was asked for" in unsafe
    assert "The rover is stranded" in unsafe
    assert "the bounds prove nothing" in summary({"explorer": "naive"})
    paper = {"algorithm": "paper"}
    assert "get back to the start with" in summary(paper)
    assert "get back to where it was when it planned" in summary({**paper, "home": "current"})
    for about in ({}, paper):
        assert "to base 1,2 with" in summary({**about, "bases": ((1, 2),)})
        two = {**about, "bases": ((1, 2), (3, 4))}
        assert "to one of the bases 1,2, 3,4 with" in summary(two)
        assert "to each of the bases 1,2, 3,4 with" in summary({**two, "each_base": True})
    assert "called off (7 steps later)" in summary({**paper, "recall": 7})
    nothing = [{"name": "return home", "level": 0.98, "lowest": None}]
    assert "in the whole run: no step was taken." in summary({}, criteria=nothing)
    unkept = summary({}, infeasible_steps=2, conflict=["“a” at 1", "“b” at 0.5"])
    assert "In 2 steps no policy kept all of it" in unkept
    assert "Where it ended, no policy meets “a” at 1 and “b” at 0.5 together." in unkept


def test_the_summary_says_first_what_the_run_promises_and_what_not(run: Run) -> None:
    lines = (run.directory / "summary.md").read_text().splitlines()
    assert lines[2] == "## What this run promises"
    assert lines[4].startswith("- Safety: δ = 0.98 for the whole run.")
    assert lines[5].startswith("- Not promised: anything of a single history")
    paper = final(run)[0].model_copy(update={"algorithm": "paper"})
    facts = read_facts(run.directory)
    text = summary_of(paper, cells_of(paper), facts, run.manifest, run.directory, None)
    assert "- Not promised: anything of the whole run" in text


def test_a_run_that_ends_by_its_budget_says_what_would_allow_more(run: Run, tmp_path: Path) -> None:
    asked = {**run.config, "limit": 900, "delta": 1.0, "sensor_range": 29.0, "sensor_noise": 0.1}
    made = Run.create(tmp_path / "budget", "rover", asked)
    assert made.resume() is End.BUDGET
    why = read_facts(made.directory)["why"]
    assert why.startswith(f"{sentence(ENDS[End.BUDGET])} Going on would risk")
    assert why in (made.directory / "summary.md").read_text()
    path = json.loads((made.directory / "path.geojson").read_text())
    assert path["features"][0]["properties"]["delta"] == 1.0
    command = (made.directory / "summary.md").read_text().split("```sh\n")[1].splitlines()[1]
    assert "--delta 1.0" in command


def test_a_run_that_takes_no_step_says_so(run: Run, tmp_path: Path) -> None:
    asked = {**run.config, "floor": 1e9}
    made = Run.create(tmp_path / "still", "rover", asked)
    made.resume()
    text = (made.directory / "summary.md").read_text()
    assert "- It took no step. " in text
    assert "in the whole run: no step was taken." in text


def test_the_verdict_is_of_the_base_that_was_asked_for(run: Run) -> None:
    config, belief, world = final(run)
    moves = world.moves
    alone = int(np.flatnonzero(~reached(moves.dest, moves.success, world.state))[0])
    lost = divmod(alone, belief.shape[1])
    changed = config.model_copy(update={"bases": (lost,)})
    facts = facts_of(changed, belief, world, run.records, run.manifest)
    assert not world.stranded
    assert facts["stranded"] is True
    assert (
        facts["return_bound"]
        < facts_of(config, belief, world, run.records, run.manifest)["return_bound"]
    )
    text = summary_of(changed, cells_of(config), facts, run.manifest, run.directory, None)
    at = f"base {lost[0]},{lost[1]}"
    assert f"**The rover is stranded: there is no way back to {at}.**" in text
    assert f"proves a way back to {at} with probability" in text
    assert f"no way back to {at}: it is stranded." in text
    here = config.model_copy(update={"bases": (lost, world.position)})
    assert facts_of(here, belief, world, run.records, run.manifest)["return_bound"] == 1.0
    each = here.model_copy(update={"each_base": True})
    assert return_bound(each, belief, world) == facts["return_bound"]


def test_the_summary_says_in_how_far_the_bounds_speak_of_the_truth(run: Run) -> None:
    config, facts = final(run)[0], read_facts(run.directory)

    def summary(**change: Any) -> str:
        changed = config.model_copy(update=change)
        return summary_of(changed, cells_of(config), facts, run.manifest, run.directory, None)

    assert "worlds drawn from the belief, which this one was not." in summary()
    assert "worlds drawn from the belief, as this one was." in summary(truth="prior")
    assert "from the belief" not in summary(explorer="unsafe").split("## What was explored")[0]


def test_on_driven_ground_the_truth_is_a_draw_from_the_belief(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", "rover", {"terrain": "sample", "cell": 100.0, "limit": 1})
    run.resume()
    assert "from the belief, as this one was." in (tmp_path / "run" / "summary.md").read_text()
    setup = run.setup(*run.load())
    belief: Any = setup.belief
    world: Any = setup.world
    errors = ((world.truth - belief.height) / np.sqrt(belief.variance))[~belief.blocked]
    assert abs(errors.mean()) < 4.0 / math.sqrt(errors.size)
    assert abs(errors.std() - 1.0) < 4.0 / math.sqrt(2.0 * errors.size)
    assert abs(np.abs(errors).max() - math.sqrt(2.0 * math.log(errors.size))) < 1.5


AREA = [[[[500.0, 720.0], [700.0, 720.0], [700.0, 900.0], [500.0, 900.0], [500.0, 720.0]]]]


def test_what_else_was_promised_is_told_by_name(run: Run, tmp_path: Path) -> None:
    base = run.config["start"]
    at = f"{base[0]},{base[1]}"
    within = {"back_within": 8, "back_within_delta": 0.9}
    asked = {"keep_in": AREA, **within, "bases": [base], "limit": 4}
    made = Run.create(tmp_path / "more", "rover", {**run.config, **asked})
    made.resume()
    facts = read_facts(made.directory)
    names = [f"return to base {at}", f"return to base {at} within 8 steps", "stay inside"]
    assert [found["name"] for found in facts["criteria"]] == names
    assert [found["level"] for found in facts["criteria"]] == [0.98, 0.9, 0.98]
    records = list(made.records())
    for k, found in enumerate(facts["criteria"]):
        assert found["lowest"] == min(record.kept_bounds[k] for record in records)
    assert facts["min_bound"] == min(found["lowest"] for found in facts["criteria"])
    text = (made.directory / "summary.md").read_text()
    assert "- Back in time: within 8 steps of the call" in text
    assert "- Kept in: 90 cells of 108." in text
    for found in facts["criteria"]:
        assert f"The lowest bound on “{found['name']}” in the whole run: " in text
    assert "- `keep_in.geojson`: the area to keep in." in text
    written = json.loads((made.directory / "keep_in.geojson").read_text())
    assert written["geometry"]["coordinates"] == AREA
    assert "Equirectangular Mars" in written["crs"]["properties"]["name"]
    command = text.split("```sh\n")[1].splitlines()[1]
    assert f"--base {at} --keep-in {made.directory / 'keep_in.geojson'}" in command
    assert "--back-within 8 --back-within-delta 0.9" in command


def test_a_run_that_ends_for_a_conflict_says_which(run: Run, tmp_path: Path) -> None:
    # A rover that can't move, and is asked for a base that it then learns to be out of reach.
    made = Run.create(tmp_path / "stuck", "rover", {**run.config, "limit": 3})
    config = final(made)[0].model_copy(update={"bases": ((0, 0),), "climb": 0.0, "descend": 0.0})
    setup = make(config)
    manifest = made.manifest.model_copy(update={"end": End.INFEASIBLE})
    belief = setup.belief.update(setup.world.look())
    write_products(Ended(made.directory, config, manifest, setup, belief, made.records))
    facts = read_facts(made.directory)
    assert facts["conflict"] == ["“return to base 0,0” at 0.98"]
    text = (made.directory / "summary.md").read_text()
    assert "Where it ended, no policy meets “return to base 0,0” at 0.98, even alone." in text


def test_the_command_explores_the_same_again() -> None:
    assert command_of(RoverConfig()) == "homeward explore"
    config = RoverConfig(
        terrain="/data/my crater.tif",
        explorer="naive",
        start=(3, 4),
        delta=0.9,
        sensor_range=50.0,
        limit=70,
        terrain_sha256="00",
    )
    assert command_of(config) == (
        "homeward explore '/data/my crater.tif' --naive --start 3,4 --delta 0.9 "
        "--sensor-range 50.0 --steps 70"
    )
    driven = RoverConfig(terrain="a.tif", ground="driven", sensor_range=None, roll=15.0)
    assert command_of(driven) == "homeward explore a.tif --roll 15.0 --sensor-range inf"
    each = RoverConfig(bases=((1, 2), (3, 4)), each_base=True, keep_in="a b.geojson", floor=0.5)
    assert command_of(each) == (
        "homeward explore --base 1,2 --base 3,4 --each-base --keep-in 'a b.geojson' --floor 0.5"
    )
    assert command_of(RoverConfig(terrain="sample"), 5) == "homeward explore --sample --steps 5"


def test_without_rasterio_all_but_the_geotiff_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rasterio", None)
    run = Run.create(tmp_path / "run", "rover", {"rows": 100, "columns": 100, "limit": 2})
    run.resume()
    names = {path.name for path in run.directory.iterdir()}
    assert "terrain.tif" not in names
    assert {"path.geojson", "summary.md", "summary.json"} <= names
    missing = read_facts(run.directory)["missing"]
    assert "pip install 'homeward[terrain]'" in missing
    assert missing in (run.directory / "summary.md").read_text()


def test_the_summary_says_over_which_length_slopes_are_measured() -> None:
    size = {"rows": 60, "columns": 80, "cell": 20.0, "ground": "driven", "wheelbase": 3.0}
    said = vehicle_words(RoverConfig.model_validate(size))
    assert "slopes ahead are measured over 1.5 m, slopes to the side over 3 m" in said
