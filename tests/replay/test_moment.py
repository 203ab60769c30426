from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pytest
from tests.replay.test_history import history_of

from homeward.beliefs.corrections import Correction
from homeward.models import Moves
from homeward.replay import Moment, Replay

if TYPE_CHECKING:
    from pathlib import Path


def moment_of(folder: Path, step: int) -> Moment:
    history = history_of(folder)
    path = history.log.path_to(step)
    return Moment(step, int(path[-1]), history.at(step), path, history.setup.planner)


def plan_of(moment: Moment):  # type: ignore[no-untyped-def]
    return moment.planner.plan(moment.belief, moment.state, moment.start)


@pytest.mark.parametrize("step", [0, 3, 6])
def test_the_way_home_is_the_plans_own(runs: Path, step: int) -> None:
    moment = moment_of(runs / "grid-paper", step)
    home, returns = moment.returns
    plan = plan_of(moment)
    assert home.tolist() == plan.criteria[0].home.tolist() == [moment.state]
    np.testing.assert_array_equal(returns.value, plan.way_home)
    np.testing.assert_array_equal(returns.policy, plan.return_policy)


@pytest.mark.parametrize(("name", "step"), [("grid-safe", 6), ("rover", 30)])
def test_a_run_of_one_level_shows_the_ways_home_that_it_holds(
    runs: Path, name: str, step: int
) -> None:
    replay = Replay(runs / name)
    moment = replay.at(step)
    home, returns = moment.returns
    assert home.tolist() == [moment.start]
    assert replay.decisions is not None
    promise = replay.decisions.kept.at(step).promises[0]
    here = moment.state
    while here != moment.start:
        assert returns.policy[here] == promise.action(here)
        here = int(cast("Moves", moment.model).dest[here, promise.action(here)])
    assert replay.why(step)["way_home"] == moment.way(moment.state)["bound"]
    check_ways(moment)


@pytest.mark.parametrize("correction", [Correction.MOVES, Correction.GENERAL])
@pytest.mark.parametrize(
    ("name", "step"), [("grid-paper", 5), ("rover-paper", 30), ("grid-unsafe", 4)]
)
def test_the_risks_of_a_way_add_up_to_its_bound(
    runs: Path, name: str, step: int, correction: Correction
) -> None:
    moment = moment_of(runs / name, step)
    check_ways(replace(moment, planner=replace(moment.planner, correction=correction)))


def check_ways(moment: Moment) -> None:
    lengths = set()
    assert isinstance(moment.model, Moves)
    for cell in range(moment.model.states):
        way = moment.way(cell)
        here, left = cell, way["bound"]
        for edge in way["edges"]:
            assert edge["from"] == here
            assert edge["to"] == moment.model.dest[here, edge["action"]]
            assert edge["success"] == moment.model.success[here, edge["action"]] > 0.0
            assert edge["risk"] >= 0.0
            left += edge["risk"]
            assert edge["left"] == pytest.approx(left)
            here = edge["to"]
        if way["bound"] > 0.0:
            assert here in way["home"]
            assert 1.0 - sum(e["risk"] for e in way["edges"]) == pytest.approx(way["bound"])
        else:
            assert way["edges"] == []
        lengths.add(len(way["edges"]))
    assert len(lengths) > 2


def test_an_unsafe_explorer_is_shown_the_way_to_the_start(runs: Path) -> None:
    moment = moment_of(runs / "grid-unsafe", 3)
    assert moment.returns[0].tolist() == [moment.start]
    assert moment.state != moment.start
