"""Simulated runs in worlds that do what the belief rules out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.cli.invoking import invoke
from tests.runs.kinds import log_of, meadow

from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import make
from homeward.kinds.rover.way_home import ways_home
from homeward.planning.ends import End
from homeward.runs.verification import plan_of_step

if TYPE_CHECKING:
    from pathlib import Path

    from homeward.runs import Run


@pytest.mark.parametrize("algorithm", ["rate", "paper"])
@pytest.mark.parametrize("jumps", [1, 3])
def test_a_jump_that_no_world_allows_ends_a_run_with_a_code(
    algorithm: str, jumps: int, tmp_path: Path
) -> None:
    run = meadow(tmp_path / "m", algorithm=algorithm, moody=False, jumps=jumps, delta=0.9)
    assert run.resume() is End.REFUTED
    records = list(run.records())
    assert len(records) == jumps
    assert run.manifest.end is End.REFUTED
    if algorithm == "rate":
        assert [record.holding["kept"] > 0.0 for record in records] == [True] * (jumps - 1) + [
            False
        ]
        assert records[-1].bounds == records[-1].kept_bounds == (0.0,)
    found = plan_of_step(run)
    assert found.refuted if algorithm == "rate" else found.reasons
    assert "what happened contradicts the belief" in str((found.run, found.reasons))


@pytest.mark.parametrize("algorithm", ["rate", "paper"])
def test_a_run_that_was_stopped_before_and_after_it_ends_the_same_way(
    algorithm: str, tmp_path: Path
) -> None:
    def made(name: str) -> Run:
        return meadow(tmp_path / name, algorithm=algorithm, moody=False, jumps=3, delta=0.9)

    whole = made("whole")
    whole.resume()
    for stop in (1, 2, 3):
        parts = made(f"stopped {stop}")
        steps = parts.steps()
        for _ in range(stop):
            next(steps)
        steps.close()
        assert parts.resume() is End.REFUTED
        assert log_of(parts) == log_of(whole)


def lied_to(seed: int) -> tuple[RoverConfig, Any]:
    """Return a rover after its fifth step, in which a move fails that its belief holds certain."""
    config = RoverConfig(rows=400, columns=400, sensor_range=29.0, seed=seed)
    scout: Any = make(config).explorer()
    for step in scout.explore(4):
        assert not step.run_state.refuted
    plan = scout.decide()
    success = scout.world.moves.success.copy()
    success[scout.here, plan.action] = 0.0
    scout.world.moves = scout.world.moves.with_success(success)
    assert len(list(scout.explore(100))) == 1
    return config, scout


def test_a_rover_whose_certain_move_fails_claims_nothing_more() -> None:
    config, scout = lied_to(1)
    assert scout.end is End.REFUTED
    assert scout.run_state.kept == 0.0
    way = ways_home(config, scout.belief, scout.start, scout.here, scout.run_state, refuted=True)
    assert way.probability.sum() == way.probability[scout.start] == 1.0
    ((cells, probability),) = way.ways
    assert (cells[0], cells[-1], probability) == (scout.here, scout.start, 0.0)


def test_a_run_of_a_rover_that_is_refuted_says_so_in_its_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from homeward.kinds.rover.world import Rover
    from homeward.runs import Run

    act, acts = Rover.act, []

    def lie(self: Any, action: int) -> Any:  # in the fifth step every move fails
        acts.append(action)
        if len(acts) == 5:
            self.moves = self.moves.with_success(np.zeros_like(self.moves.success))
        return act(self, action)

    monkeypatch.setattr(Rover, "act", lie)
    config = {"rows": 400, "columns": 400, "sensor_range": 29.0, "seed": 1, "limit": 30}
    run = Run.create(tmp_path / "r", "rover", config)
    assert run.resume() is End.REFUTED
    facts = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert (facts["end"], facts["return_bound"], facts["min_bound"]) == ("refuted", 0.0, 0.0)
    text = (tmp_path / "r" / "summary.md").read_text()
    assert "Nothing is proven of a way back from where it ended: what happened contradicts" in text
    (way,) = json.loads((tmp_path / "r" / "way_home.geojson").read_text())["features"]
    assert way["properties"]["probability"] == 0.0
    assert way["properties"]["moves"] > 0
    told = invoke("runs", "show", tmp_path / "r").output
    assert "What happened contradicts the belief" in told


@pytest.mark.parametrize(
    "who", [{"explorer": "unsafe"}, {"explorer": "naive"}, {"agent": "random"}]
)
def test_agents_without_a_promise_end_with_the_same_code(who: dict[str, Any]) -> None:
    config = RoverConfig(rows=200, columns=200, sensor_range=29.0, **who)
    scout: Any = make(config).explorer()
    list(scout.explore(2))
    model = scout.belief.mean()
    certain = np.flatnonzero(
        (model.success[scout.here] == 1.0) & (model.dest[scout.here] != scout.here)
    )
    assert len(certain)
    scout.world.moves = scout.world.moves.with_success(np.zeros_like(model.success))
    list(scout.explore(50))
    assert scout.end in (End.REFUTED, End.ALL_SEEN)
    assert scout.refuted is (scout.end is End.REFUTED)
