from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from homeward.criteria import ReturnHome
from homeward.kinds.reachability import can_reach_start
from homeward.planning.algorithm1 import Planner
from homeward.replay import InterruptedReplayError, Replay
from homeward.replay.events import events_of, refused_actions, trapped_at
from homeward.replay.moment import looks_of
from homeward.runs import Run

if TYPE_CHECKING:
    from pathlib import Path

UNSAFE = {"size": 12, "walls": 0.15, "seed": 36, "start": 78, "explorer": "uncover"}


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give an unsafe run that enters a hole."""
    folder = tmp_path_factory.mktemp("trapped") / "unsafe"
    Run.create(folder, "grid", UNSAFE).resume()
    return folder


def test_an_explorer_is_trapped_at_the_first_step_without_a_way_home(trapped: Path) -> None:
    replay = Replay(trapped)
    world: Any = replay.setup.world
    path = replay.log.path_to(len(replay.log))
    home = can_reach_start(world.moves, int(path[0]))
    step = trapped_at(replay)
    assert step == int(np.argmin(home[path]))
    assert not home[path[step:]].any()
    told = [event for event in events_of(replay) if event.code == "trapped"]
    assert [(event.step, event.cell) for event in told] == [(step, path[step])]


def test_one_who_must_return_to_each_base_is_trapped_when_one_is_lost(trapped: Path) -> None:
    replay = Replay(trapped)
    path = replay.log.path_to(len(replay.log))
    step = trapped_at(replay)
    assert step is not None
    last, start = int(path[-1]), int(path[0])
    criteria = [ReturnHome(0.9, home=last), ReturnHome(0.9, home=start)]
    replay.setup = dataclasses.replace(
        replay.setup, planner=Planner(replay.setup.planner.bonus, criteria)
    )
    assert trapped_at(replay) == step


@pytest.mark.parametrize("name", ["grid-safe", "rover", "grid-paper"])
def test_a_safe_explorer_is_not_trapped(runs: Path, name: str) -> None:
    assert trapped_at(Replay(runs / name)) is None


def test_events_are_those_of_the_records(runs: Path) -> None:
    replay = Replay(runs / "rover")
    found = events_of(replay)
    assert [event.step for event in found] == sorted(event.step for event in found)
    assert found[-1].code == "ended"
    assert found[-1].step == len(replay.log)
    targets = [
        cast("Any", replay.plan(step)[0]).decision.proposal for step in range(len(replay.log))
    ]
    for event in found:
        if event.code == "reached":
            before = targets[event.step - 1]
            assert before is not None
            assert before.path[-1] == event.cell == replay.log.states[event.step]
    spent = [float(holding["spent"][0]) for holding in replay.log.holdings]
    risks = sum(event.amount or 0.0 for event in found if event.code == "spent")
    assert risks == pytest.approx(max(spent), abs=1e-4)


def test_a_temptation_is_a_better_look_that_was_refused(runs: Path) -> None:
    replay = Replay(runs / "grid-safe")
    found = list(refused_actions(replay))
    assert found
    for step in range(len(replay.log)):
        moment, plan = replay.at(step), replay.plan(step)[0]
        looks = looks_of(moment)
        unsafe = [e for e in plan.evidence if e.verdict == "unsafe" and e.leaves > 0.0]
        tempted = any(looks[e.action] > looks[plan.action or 0] for e in unsafe)
        if any(event.step == step for event in found):
            assert tempted
    for event in found:
        told = replay.why(event.step)["actions"]
        refused = [a["look"] for a in told if a["verdict"] == "unsafe" and a["leaves"] > 0.0]
        assert event.amount == max(refused)
        assert event.amount > next(a["look"] for a in told if a["verdict"] == "chosen")
    assert list(refused_actions(Replay(runs / "grid-unsafe"))) == []


def test_repeating_stops_when_something_else_is_asked(runs: Path) -> None:
    replay = Replay(runs / "grid-safe")
    replay.interrupted = lambda: True
    with pytest.raises(InterruptedReplayError):
        list(refused_actions(replay))
