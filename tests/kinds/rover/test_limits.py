"""Runs of a rover with so many metres and so much energy: home by then, recorded and audited."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.errors import InvalidInputError
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import make
from homeward.kinds.rover.outputs import distance_of
from homeward.kinds.rover.summary import way_of
from homeward.kinds.rover.way_home import write_ways
from homeward.planning.ends import End
from homeward.replay import Replay
from homeward.runs import Run
from homeward.runs.log import to_line
from homeward.runs.verification import plan_of_step

if TYPE_CHECKING:
    from pathlib import Path


def explored(folder: Path, name: str = "run", parts: int = 1, **more: Any) -> Run:
    """Return an ended run on hills of 40 x 60 m, with cells of 5 m, explored in parts."""
    rows, columns = np.indices((40, 60))
    np.save(folder / "hills.npy", 2.0 * np.sin(rows / 7) * np.cos(columns / 9))
    given = {"terrain": str(folder / "hills.npy"), "pixel": 1.0, "cell": 5.0, "sensor_range": 8.0}
    run = Run.create(folder / name, "rover", {**given, "limit": 200, "ground": "driven", **more})
    for _ in range(parts - 1):
        steps = run.steps()
        next(steps, None)
        steps.close()
    run.resume()
    return run


@pytest.mark.parametrize("ground", ["driven", "paper"])
def test_the_rover_is_home_before_it_has_driven_the_distance(tmp_path: Path, ground: str) -> None:
    more: dict[str, Any] = {"climb": 20.0} if ground == "paper" else {}
    run = explored(tmp_path, ground=ground, distance=120.0, **more)
    config = RoverConfig.model_validate_json(json.dumps(run.config))
    states = [make(config).world.state, *(record.next_state for record in run.records())]
    facts = json.loads((run.directory / "summary.json").read_text())
    driven = distance_of(config, states)
    failed = sum(record.state == record.next_state for record in run.records())
    assert run.manifest.end is End.HOME
    assert states[-1] == states[0]
    assert facts["home"]
    assert driven <= facts["used"][0]["used"] <= 120.0
    assert failed or driven == pytest.approx(facts["used"][0]["used"])
    assert driven > 60.0
    assert facts["criteria"][0]["name"] == "return to the start within 120 m in all"
    text = (run.directory / "summary.md").read_text()
    assert "never more than 120 m together" in text
    assert "of 120 m, failed attempts included. It is home." in text


def test_energy_counts_metres_and_climbs(tmp_path: Path) -> None:
    flat = explored(tmp_path, "flat", energy=6.0, energy_per_climb=0.0)
    steep = explored(tmp_path, "steep", energy=6.0, energy_per_climb=2.0)
    metres = [
        json.loads((run.directory / "summary.json").read_text())["distance_m"]
        for run in (flat, steep)
    ]
    assert 50.0 < metres[0] <= 100.0
    assert metres[1] < metres[0]
    for run in (flat, steep):
        assert run.manifest.end is End.HOME
        assert list(run.records())[-1].holding["used"][0][0] <= 6.0


def test_a_run_with_limits_is_resumed_replayed_and_audited(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"distance": 90.0, "energy": 9.0, "back_within": 7}
    whole, parts = explored(tmp_path, **limits), explored(tmp_path, "parts", 5, **limits)
    one, other = ((run.directory / "steps.jsonl").read_bytes() for run in (whole, parts))
    assert one == other
    verdict = plan_of_step(whole)
    assert not verdict.refuted
    (home,) = verdict.homes
    assert home.name.endswith("within 7 steps and 90 m in all and 9 Wh in all")
    replay = Replay(whole.directory)
    for step in (0, len(replay.log) // 2, len(replay.log) - 1):
        assert replay.plan(step)[1]
    assert replay.why(len(replay.log))["end"] == "home"


def test_the_way_home_of_every_step_fits_into_what_is_left(tmp_path: Path) -> None:
    run = explored(tmp_path, distance=90.0)
    config = RoverConfig.model_validate_json(json.dumps(run.config))
    out = tmp_path / "ways.geojson"
    records = list(run.records())
    assert write_ways(run, None, out) == len(records) + 1
    used = [0.0, *(record.holding["used"][0][0] for record in records)]
    for feature, before in zip(json.loads(out.read_text())["features"], used, strict=True):
        corners = np.array(feature["geometry"]["coordinates"])[:, :2]
        length = np.hypot(*np.diff(corners, axis=0).T).sum()
        assert before + length <= 90.0 * (1.0 + 1e-9)
        assert feature["properties"]["probability"] >= config.delta


def test_the_way_home_of_every_step_takes_no_more_steps_than_allowed(tmp_path: Path) -> None:
    ridge = np.zeros((40, 60))  # over it 6 steps lead to the base; the safest way around needs 16
    ridge[:28] = 1.5 * np.clip(1.0 - np.abs(np.arange(60) - 32) / 5, 0.0, 1.0)
    np.save(tmp_path / "ridge.npy", ridge)
    ground: dict[str, Any] = {
        "terrain": str(tmp_path / "ridge.npy"),
        "ground": "paper",
        "error": 0.02,
    }
    rover: dict[str, Any] = {
        "climb": 20.0,
        "descend": 20.0,
        "sensor_range": 4.0,
        "start": [1, 3],
        "limit": 4,
    }
    run = explored(tmp_path, **ground, **rover, bases=[[1, 9]], back_within=7, delta=0.5)
    assert write_ways(run, None, tmp_path / "ways.geojson") == 5
    for feature in json.loads((tmp_path / "ways.geojson").read_text())["features"]:
        assert feature["properties"]["moves"] <= 7
        assert feature["properties"]["probability"] >= 0.5


def test_the_probability_from_each_cell_says_that_no_limit_applies_to_it(tmp_path: Path) -> None:
    text = (explored(tmp_path, distance=60.0).directory / "summary.md").read_text()
    assert "the proven probability of a way back to the start of any length" in text
    assert way_of(RoverConfig()) == "a way back to the start"
    assert way_of(RoverConfig(back_within=9)).endswith("of any length")


def test_a_forged_use_is_found(tmp_path: Path) -> None:
    run = explored(tmp_path, distance=60.0)
    records = list(run.records())
    records[3].holding["used"] = [[1.0]]
    (run.directory / "steps.jsonl").write_bytes(b"".join(map(to_line, records)))
    (home,) = plan_of_step(run).homes
    assert "step 4: 1 m are recorded, not" in home.reasons[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"distance": 0.0}, "distance"),
        ({"distance": -5.0}, "distance"),
        ({"energy": float("nan")}, "energy"),
        ({"energy_per_metre": -1.0, "energy": 5.0}, "energy_per_metre"),
        ({"distance": 50.0, "explorer": "unsafe"}, "distance needs an explorer with a safety"),
        ({"distance": 50.0, "algorithm": "paper"}, "distance is a limit of the whole run"),
        (
            {"energy": 50.0, "bases": [[1, 1], [2, 2]], "each_base": True},
            "energy and each_base exclude each other",
        ),
        (
            {"energy": 50.0, "back_within": 5, "back_within_delta": 0.9},
            "energy and back_within_delta exclude each other",
        ),
        ({"distance": 4.0, "bases": [[0, 0]], "start": [6, 9]}, "no return policy meets"),
    ],
)
def test_limits_that_make_no_sense_are_refused(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        explored(tmp_path, **given)
