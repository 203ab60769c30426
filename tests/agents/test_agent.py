"""Runs of a user's own agents: recorded, resumed, checked, shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.agents import own

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.replay import Replay
from homeward.runs import Run
from homeward.runs.run import STEPS
from homeward.runs.verification import plan_of_step

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {"size": 6, "seed": 3, "limit": 25}


def made(folder: Path, agent: str, steps: int | None = None, **config: Any) -> Run:
    """Run an agent to its end, or leave it after a number of steps."""
    run = Run.create(folder, "grid", {**SMALL, "agent": f"tests.agents.own:{agent}", **config})
    taking = run.steps()
    for number, _ in enumerate(taking, 1):
        if number == steps:
            break
    taking.close()
    return run


@pytest.mark.parametrize("agent", ["first_move", "Counting", "Remembering", "PLANS"])
def test_a_run_of_any_agent_that_was_left_resumes_to_the_same_record(
    tmp_path: Path, agent: str
) -> None:
    whole, left = made(tmp_path / "whole", agent), made(tmp_path / "left", agent, steps=7)
    left.resume()
    log = (whole.directory / STEPS).read_bytes()
    assert len(log) > 100
    assert (left.directory / STEPS).read_bytes() == log


def test_two_seeds_give_an_agent_other_random_numbers(tmp_path: Path) -> None:
    ways = [
        [record.action for record in made(tmp_path / f"{seed}", "Counting", seed=seed).records()]
        for seed in (3, 4)
    ]
    assert ways[0] != ways[1]


def test_an_agent_with_a_memory_does_not_act_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = {name: made(tmp_path / name, name, steps=9) for name in ("Counting", "Remembering")}
    calls: list[int] = []
    act = own.Counting.act

    def counted(self: own.Counting, *given: Any) -> Any:
        calls.append(1)
        return act(self, *given)

    monkeypatch.setattr(own.Counting, "act", counted)
    for name, expected in (("Counting", 25), ("Remembering", 25 - 9)):
        calls.clear()
        runs[name].resume()
        assert len(calls) == expected


def test_an_agent_that_is_not_deterministic_is_not_resumed(tmp_path: Path) -> None:
    run = made(tmp_path / "run", "Moody", steps=7)
    with pytest.raises(InvalidFileError, match="with the same seed must give the same actions"):
        run.resume()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (99, r"Wrong chose 99 in state \d+, in step 1: expected an action from 0 to 8, or an End"),
        (True, "chose True"),
        (1.0, "chose 1.0"),
        (None, "chose None"),
        ("home run", "chose 'home run'"),
    ],
)
def test_an_impossible_action_is_one_error_that_names_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Any, message: str
) -> None:
    monkeypatch.setattr(own.Wrong, "answer", answer)
    with pytest.raises(InvalidInputError, match=message):
        made(tmp_path / "run", "Wrong")


def test_a_memory_that_is_not_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"memory of agent .*Unwritable can't be written"):
        made(tmp_path / "run", "Unwritable")


def test_an_agent_ends_its_run_with_a_code(tmp_path: Path) -> None:
    run = made(tmp_path / "run", "Remembering", limit=40)
    assert (run.manifest.end, run.manifest.steps) == ("too_little", 30)


def test_a_run_without_a_promise_says_so_everywhere(tmp_path: Path) -> None:
    run = made(tmp_path / "run", "first_move")
    record = next(iter(run.records()))
    assert (record.bounds, record.kept_bounds, record.status) == ((), (), "unsolved")
    judged = plan_of_step(run)
    assert not judged.refuted
    assert judged.notes == ("this run has no safety level, so there is nothing to audit",)
    replay = Replay(run.directory)
    told = replay.why(3)
    assert told["agrees"]
    assert told["criteria"] == []
    assert "It promises nothing." in told["explanation"]
    assert "safe" not in told["explanation"]
    assert replay.why(len(replay.log))["end"] == "steps"
