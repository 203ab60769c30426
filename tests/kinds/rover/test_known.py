"""How well heights are to be known: `--known`, its default, and how a run ends there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.terrain.planetary import write_raster
from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.errors import InvalidInputError
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import pinned_config
from homeward.missions import Mission
from homeward.runs import Run
from homeward.terrain.synthetic import draw_relief

GALE = Path(__file__).parents[3].parent / "shared" / "terrain" / "gale_337x348_1m.tif"
LARGE = "--cell", 20, "--sensor-range", 100
GOAL_MET = "Every cell that can be reached is known to 10 cm."


def explored(out: Path, *words: object) -> dict[str, Any]:
    """Explore by the command, and return its results and the share of heights known to 10 cm."""
    given = [str(word) for word in ("explore", *words, "--out", out, "--json")]
    found = CliRunner().invoke(app, given, catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return dict(json.loads(found.stdout))


@pytest.fixture
def relief(tmp_path: Path) -> Path:
    """Gentle ground of 9 × 10 cells of 20 m."""
    heights = draw_relief((180, 200), np.random.default_rng(2)) * 0.02
    write_raster(tmp_path / "relief.tif", heights.astype(np.float32))
    return tmp_path / "relief.tif"


def check_that_known_ground_is_not_mowed(raster: Path, folder: Path) -> None:
    goal = explored(folder / "goal", raster, *LARGE)
    whole = explored(folder / "whole", raster, *LARGE, "--known", 0)
    assert (goal["end"], goal["goal"], goal["known_to_goal"]) == ("all_seen", 0.1, 1.0)
    assert GOAL_MET in goal["why"]
    assert goal["steps"] < 0.4 * whole["steps"]
    assert goal["distance_m"] < 0.4 * whole["distance_m"]
    assert (whole["goal"], whole["known_to_goal"]) == (None, None)
    assert "left" not in whole["why"].replace("is left", "")  # of cells that were all visited
    assert "δ" not in whole["why"]
    text = (folder / "goal" / "summary.md").read_text()
    assert "Heights were to be known to 10 cm; 100.0% of the open cells are." in text
    assert GOAL_MET in text


def test_known_ground_is_not_mowed(relief: Path, tmp_path: Path) -> None:
    check_that_known_ground_is_not_mowed(relief, tmp_path)


@pytest.mark.skipif(not GALE.is_file(), reason="no real terrain beside the project")
def test_known_ground_in_gale_is_not_mowed(tmp_path: Path) -> None:
    check_that_known_ground_is_not_mowed(GALE, tmp_path)


@pytest.mark.parametrize("belief", ["independent", "correlated"])
def test_a_finer_goal_takes_longer_and_every_belief_meets_it(
    relief: Path, tmp_path: Path, belief: str
) -> None:
    steps = []
    for known in (0.15, 0.05):
        given = *LARGE, "--known", known, "--belief", belief, "--floor", 0.001
        facts = explored(tmp_path / str(known), relief, *given)
        assert facts["end"] == "all_seen"
        assert facts["known_to_goal"] == 1.0
        assert facts["known_to_1cm"] < 1.0
        steps.append(facts["steps"])
    assert steps[0] < steps[1]


def test_the_default_is_ten_centimetres_or_half_the_terrains_error(relief: Path) -> None:
    def default(**given: Any) -> float | None:
        given = {"terrain": str(relief), **given}
        return pinned_config(RoverConfig(**given)).known

    assert default() == 0.1
    assert default(error=0.03**2) == 0.015
    assert default(known=0.2) == 0.2
    assert default(algorithm="paper") == 0.0
    assert default(terrain="mars", rows=100, columns=100) == 0.0
    assert default(terrain="sample") == 0.1


def test_algorithm_1_has_no_goal(relief: Path) -> None:
    with pytest.raises(InvalidInputError, match="known needs algorithm rate"):
        RoverConfig(terrain=str(relief), known=0.1, algorithm="paper").check_use()


@pytest.mark.parametrize("known", [-0.1, float("inf")])
def test_a_goal_that_is_no_deviation_is_refused(relief: Path, tmp_path: Path, known: float) -> None:
    with pytest.raises(InvalidInputError, match="known"):
        Run.create(tmp_path / "run", "rover", {"terrain": str(relief), "known": known})


def test_a_mission_ends_when_its_heights_are_known_well_enough(
    relief: Path, tmp_path: Path
) -> None:
    config = {"terrain": str(relief), "cell": 20.0, "sensor_range": 100.0, "start": [4, 4]}
    mission = Mission.start(tmp_path / "mission", "rover", config)
    heights = [
        {"row": p["row"], "column": p["column"], "height": 0.0, "error": 0.05}
        for p in mission.points()
    ]
    mission.observe({"position": [4, 4], "heights": heights, "sure": True})
    advice = mission.next()
    assert advice["action"] is None
    assert GOAL_MET in advice["explanation"]
