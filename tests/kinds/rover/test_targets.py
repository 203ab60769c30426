"""Runs with targets: the rover goes there early where it may, and says which it did not reach."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.bonuses import InformationGain
from homeward.errors import InvalidInputError
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import make
from homeward.kinds.rover.targets import LOOKS, WHY_NOT, worth_of
from homeward.runs import Run
from homeward.runs.verification import plan_of_step

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = (12, 20)
"""Cells of 5 m over pixels of 1 m."""


def at(row: int, column: int) -> tuple[float, float]:
    """Return the map coordinates of the middle of a cell."""
    return 5.0 * column + 2.5, 5.0 * (SHAPE[0] - row) - 2.5


def explored(folder: Path, places: list[tuple[int, int, float]], **more: Any) -> Run:
    """Return an ended run on gentle hills with a cliff around the south-east corner."""
    rows, columns = np.indices((60, 100))
    heights = 0.5 * np.sin(rows / 9) * np.cos(columns / 11)
    heights[(rows >= 40) & (columns >= 80)] += 30.0
    np.save(folder / "hills.npy", heights)
    file = folder / "targets.geojson"
    features = [
        {
            "type": "Feature",
            "properties": {"weight": weight},
            "geometry": {"type": "Point", "coordinates": at(row, column)},
        }
        for row, column, weight in places
    ]
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    given = {"terrain": str(folder / "hills.npy"), "pixel": 1.0, "cell": 5.0, "start": [6, 3]}
    config = {**given, "sensor_range": 12.0, "limit": 60, "targets": str(file), **more}
    run = Run.create(folder / "run", "rover", config)
    run.resume()
    return run


def told(run: Run) -> list[Any]:
    found: list[Any] = json.loads((run.directory / "summary.json").read_text())["targets"]
    return found


def test_the_rover_goes_to_a_target_at_once_and_to_the_other_next(tmp_path: Path) -> None:
    run = explored(tmp_path, [(2, 12, 1.0), (10, 3, 1.0)])
    near, far = sorted(target["step"] for target in told(run))
    assert near == 4  # straight south
    assert far <= 4 + 11
    text = (run.directory / "summary.md").read_text()
    assert "2 of 2 targets were reached, with 2 of the weight 2." in text
    features = json.loads((run.directory / "targets.geojson").read_text())["features"]
    assert [tuple(f["geometry"]["coordinates"]) for f in features] == [at(2, 12), at(10, 3)]
    assert [f["properties"]["step"] for f in features] == [t["step"] for t in told(run)]
    assert not plan_of_step(run).refuted
    assert "--targets " in text.split("## Resume or repeat")[1]


def test_the_heavier_target_comes_first_and_a_light_one_is_no_hurry(tmp_path: Path) -> None:
    run = explored(tmp_path, [(6, 9, 0.01), (6, 0, 5.0)])
    light, heavy = (target["step"] for target in told(run))
    assert heavy == 3
    assert light is None or light > heavy


def test_what_was_not_reached_says_why(tmp_path: Path) -> None:
    targets = [(9, 18, 1.0), (0, 19, 1.0), (0, 0, 1.0)]
    square = [[0, 50], [10, 50], [10, 60], [0, 60], [0, 50]]
    area = {"type": "Polygon", "coordinates": [square]}
    (tmp_path / "out.geojson").write_text(json.dumps(area))
    run = explored(tmp_path, targets, distance=60.0, keep_out=str(tmp_path / "out.geojson"))
    assert [target["why"] for target in told(run)] == ["unreachable", "limits", "closed"]
    text = (run.directory / "summary.md").read_text()
    for code in ("unreachable", "limits", "closed"):
        assert f"was not reached: {WHY_NOT[code]}." in text
    (tmp_path / "short").mkdir()
    assert told(explored(tmp_path / "short", targets[1:2], limit=5))[0]["why"] == "steps"


def test_a_target_beyond_the_risk_says_so(tmp_path: Path) -> None:
    doubtful = {"error": 0.25, "error_length": 1.0, "sensor_range": 0.0, "delta": 0.999}
    run = explored(tmp_path, [(6, 15, 1.0)], **doubtful)
    assert told(run)[0]["why"] == "risk"


def test_a_visit_is_worth_its_weight_in_looks_until_it_was_made(tmp_path: Path) -> None:
    run = explored(tmp_path, [(6, 15, 2.0), (6, 15, 1.0)], limit=0)
    config = RoverConfig.model_validate_json(json.dumps(run.config))
    setup = make(config)
    bonus = setup.planner.bonus
    belief: Any = setup.belief
    world: Any = setup.world
    assert isinstance(bonus, InformationGain)
    worth = worth_of(config, belief, bonus.sensor)
    assert worth is not None
    here = 6 * SHAPE[1] + 15
    assert np.flatnonzero(worth).tolist() == [here]
    one_look = InformationGain(bonus.sensor)(belief).max()  # over flat ground; hills hide some
    plain = InformationGain(bonus.sensor, known=bonus.known)
    assert worth[here] == pytest.approx(3.0 * LOOKS * one_look, rel=0.2)
    np.testing.assert_allclose(bonus(belief)[:, 0], plain(belief)[:, 0] + worth)
    world.state = here
    assert bonus.looks(belief.update(world.look())).visit[here] == 0.0


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ([[500.0, 10.0, 1.0]], "the targets: point 1, at x = 500, y = 10, is off the map"),
        ([[5.0, 10.0, -1.0]], "with the weight -1"),
        ([], "there is no point"),
        ("nowhere.geojson", "nowhere.geojson"),
    ],
)
def test_targets_that_make_no_sense_are_refused(tmp_path: Path, targets: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        explored(tmp_path, [], targets=targets)
    with pytest.raises(InvalidInputError, match="targets need algorithm rate"):
        explored(tmp_path, [(6, 9, 1.0)], algorithm="paper")
