"""Records lead back to the explorer that made them, or are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from tests.runs import kinds
from tests.runs.kinds import log_of, meadow

from homeward.beliefs import FiniteBelief, Transition, Visit
from homeward.criteria import ReturnHome
from homeward.errors import InvalidFileError
from homeward.kinds.grid.maps import HeightMap
from homeward.models import Moves
from homeward.planning.algorithm1 import Planner
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer
from homeward.planning.paper import PaperExplorer
from homeward.planning.warm_start import WarmStart
from homeward.runs import Run as Runs
from homeward.runs import RunStatus, run
from homeward.runs import retracing as replaying
from homeward.runs.log import to_line
from homeward.runs.manifest import versions_here
from homeward.runs.retracing import replay, to_record

if TYPE_CHECKING:
    from homeward.planning.explorer import Loop
    from homeward.planning.plan import Plan
    from homeward.runs import Run


def counted_plans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Give a list that grows by each step that is planned from now on, counted from 0."""
    planned: list[int] = []
    for loop in (Explorer, PaperExplorer):

        def counted(self: Loop, real: Any = loop.step) -> Any:
            planned.append(self.steps)
            return real(self)

        monkeypatch.setattr(loop, "step", counted)
    return planned


@pytest.mark.parametrize("how", [{"moody": True}, {"moody": False}, {"algorithm": "rate"}], ids=str)
def test_steps_that_are_replayed_are_not_planned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    run = meadow(tmp_path / "run", **how, rows=6, columns=8, limit=30)
    for step in run.steps():
        if step.number == 20:
            break
    planned = counted_plans(monkeypatch)
    run.resume()
    assert planned == list(range(20, 30))


@pytest.mark.parametrize("room", [0, 5, 8, 100])
def test_seeds_too_large_for_every_step_are_written_more_rarely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Run, room: int
) -> None:
    monkeypatch.setattr(replaying, "WARM_START_BYTES_PER_STEP", room)
    sparse = meadow(tmp_path / "run")
    sparse.resume()
    seeded = [record.step for record in sparse.records() if record.seeds is not None]
    expected: list[int] = []
    for record in whole.records():
        last = expected[-1] if expected else 0
        if len(record.seeds["policies"]) <= room * (record.step - last):
            expected.append(record.step)
    assert seeded == expected
    assert (len(seeded) == 0, len(seeded) == 12) == (room == 0, room == 100)
    assert sparse.trajectory() == whole.trajectory()

    stopped = meadow(tmp_path / "stopped")
    while stopped.manifest.end is None:
        steps = stopped.steps()
        for _ in range(3):
            next(steps, None)
        steps.close()
    assert log_of(stopped) == log_of(sparse)


def test_steps_without_seeds_are_not_planned_again_with_other_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "WARM_START_BYTES_PER_STEP", 8)
    made = meadow(tmp_path / "run")
    steps = made.steps()
    for _ in range(6):
        next(steps)
    steps.close()
    assert [r.step for r in made.records() if r.seeds is not None][-1] < 6
    monkeypatch.setattr(run, "versions_here", lambda: versions_here() | {"numpy": "9.9"})
    planned = counted_plans(monkeypatch)
    for limit in (6, 12):  # a session that takes no step does not vouch for those before it
        made.resume(limit=limit, other_versions=True)
    assert planned == list(range(6, 12))


class Ring:
    """Two places that lead to each other."""

    state, ended = 0, False

    def look(self) -> Visit:
        return Visit(self.state)

    def act(self, action: int) -> Transition:
        before, self.state = self.state, 1 - self.state
        return Transition(before, action, self.state)


def test_an_explorer_that_goes_round_in_circles_ends_after_as_many_steps_if_it_is_resumed() -> None:
    def explorer() -> PaperExplorer:
        ring = Moves(np.array([[1], [0], [2]]), np.ones((3, 1)))
        planner = Planner(lambda _: np.ones((3, 1)), [ReturnHome(0.5, home=2)], 0.9)
        return PaperExplorer(planner, FiniteBelief([ring]), Ring())

    whole, resumed = explorer(), explorer()
    kind: Any = SimpleNamespace(written=str, spacing=1)
    steps = list(whole.explore(1000))
    records = [
        to_record(s, None, WarmStart.of(cast("Plan", s.plan)), kind, s.number - 1)
        for s in steps[:60]
    ]
    replay(resumed, records, kind, 0, Path(), plan_again=False)
    assert len(list(resumed.explore(1000))) == len(steps) - 60
    assert resumed.end is whole.end is End.INFEASIBLE


@pytest.mark.parametrize(
    ("room", "change", "message"),
    [
        # Where steps are planned again, the state before is the one after the last.
        (65_536, {"state": 19}, "the recorded state is 19, but repeating the step gives"),
        (65_536, {"next_state": 19}, "the recorded next state is 19, but repeating the step gives"),
        (
            65_536,
            {"observation": 5},
            "the recorded observation is 5, but repeating the step gives {",
        ),
        (0, {"next_state": 19}, "the recorded next state is 19, but repeating the step gives"),
        (0, {"observation": 5}, "the recorded observation is 5, but repeating the step gives {"),
    ],
)
def test_a_record_of_another_world_is_refused_and_left_as_it_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    room: int,
    change: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.setattr(replaying, "WARM_START_BYTES_PER_STEP", room)
    made = meadow(tmp_path / "run")
    steps = made.steps()
    for _ in range(5):
        next(steps)
    steps.close()
    records = list(made.records())
    records[2] = replace(records[2], **change)
    forged = b"".join(map(to_line, records))
    (tmp_path / "run/steps.jsonl").write_bytes(forged)
    manifest = (tmp_path / "run/manifest.json").read_bytes()
    with pytest.raises(InvalidFileError, match=f"in step 3 {message}"):
        made.resume()
    assert log_of(made) == forged
    assert (tmp_path / "run/manifest.json").read_bytes() == manifest


def test_a_plan_that_comes_out_differently_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "WARM_START_BYTES_PER_STEP", 0)
    made = meadow(tmp_path / "run")
    steps = made.steps()
    for _ in range(3):
        next(steps)
    steps.close()
    records = list(made.records())
    other = (records[1].action + 1) % 5
    records[1] = replace(records[1], action=other)
    (tmp_path / "run/steps.jsonl").write_bytes(b"".join(map(to_line, records)))
    with pytest.raises(InvalidFileError, match=f"step 2 the recorded action is {other}"):
        made.resume()


def test_steps_beyond_the_explorers_own_end_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "WARM_START_BYTES_PER_STEP", 0)
    made = meadow(tmp_path / "run", moody=False, rows=1, columns=2, limit=50)
    made.resume()
    records = list(made.records())
    records.append(replace(records[-1], step=len(records) + 1))
    (tmp_path / "run/steps.jsonl").write_bytes(b"".join(map(to_line, records)))
    with pytest.raises(
        InvalidFileError, match=f"has {len(records)} steps, but the run ended after"
    ):
        made.resume()
    stopped = made.manifest.model_copy(update={"status": RunStatus.INTERRUPTED})
    stopped.write(tmp_path / "run/manifest.json")
    with pytest.raises(InvalidFileError, match=f"the explorer ends before step {len(records)}"):
        made.resume()


def test_a_kind_may_spare_seeds_and_steps_without_are_planned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Run
) -> None:
    for name, value in (("SPARSE", 5), ("MEADOW", 1)):
        kind = replace(kinds.MEADOW, spacing=value)
        monkeypatch.setattr(kinds, name, kind, raising=False)
    sparse = Runs.create(tmp_path / "run", "tests.runs.kinds:SPARSE", {})
    steps = sparse.steps()
    for _ in range(8):
        next(steps)
    steps.close()
    planned = counted_plans(monkeypatch)
    sparse.resume()
    assert [r.step for r in sparse.records() if r.seeds is not None] == [5, 10]
    assert planned == list(range(5, 12))
    assert sparse.trajectory() == whole.trajectory()


def test_a_digest_of_another_observation_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = replace(kinds.MEADOW, digests=True)
    monkeypatch.setattr(kinds, "BRIEF", kind, raising=False)
    brief = Runs.create(tmp_path / "run", "tests.runs.kinds:BRIEF", {})
    steps = brief.steps()
    for _ in range(5):
        next(steps)
    steps.close()
    records = list(brief.records())
    records[2] = replace(records[2], observation=records[3].observation)
    (tmp_path / "run/steps.jsonl").write_bytes(b"".join(map(to_line, records)))
    with pytest.raises(InvalidFileError, match=r"step 3 the recorded observation is \{"):
        brief.resume()


STEEP = {"algorithm": "rate", "steep": True, "limit": 40}
"""A run that relies on a way up, which there may not be: it holds a proposal and spends."""


@pytest.mark.parametrize("delta", [0.4, 0.99])
def test_a_run_with_a_level_of_its_own_goes_on_with_what_it_held(
    tmp_path: Path, delta: float
) -> None:
    ends, kept = set(), set()
    for seed in range(6):
        options = {**STEEP, "seed": seed, "delta": delta}
        whole = meadow(tmp_path / f"whole{seed}", **options)
        ends.add(whole.resume())
        stopped = meadow(tmp_path / f"stopped{seed}", **options)
        while stopped.manifest.end is None:
            steps = stopped.steps()
            for _ in range(2):
                next(steps, None)
            steps.close()
        assert log_of(stopped) == log_of(whole)
        assert stopped.manifest.end == whole.manifest.end
        kept |= {record.holding["kept"] for record in whole.records()}
    assert str(End.BUDGET) in ends
    assert (min(kept) < 1.0) == (delta == 0.4)


def stopped_meadow(directory: Path) -> Run:
    """Stop a run in a steep meadow after three steps."""
    made = meadow(directory, **STEEP, delta=0.4, seed=1)
    steps = made.steps()
    for _ in range(3):
        next(steps)
    steps.close()
    return made


def test_a_record_that_does_not_say_what_was_held_is_refused(tmp_path: Path) -> None:
    made = stopped_meadow(tmp_path / "run")
    records = [replace(record, holding=None) for record in made.records()]
    (made.directory / "steps.jsonl").write_bytes(b"".join(map(to_line, records)))
    with pytest.raises(InvalidFileError, match="the state of the run can't be read"):
        made.resume()


def test_what_is_held_must_come_out_as_recorded_where_it_is_planned_again(tmp_path: Path) -> None:
    made = stopped_meadow(tmp_path / "run")
    records = list(made.records())
    records[1] = replace(records[1], holding=records[1].holding | {"kept": 0.75})
    explorer = kinds.make(kinds.MeadowConfig(**made.config)).explorer()
    with pytest.raises(InvalidFileError, match="in step 2 the recorded holding is"):
        replay(explorer, records, kinds.MEADOW, 0, made.directory, plan_again=True)


def test_the_first_record_says_what_was_relied_on_at_the_start(tmp_path: Path) -> None:
    config: dict[str, Any] = {"map": "11111\n1a111\n11111", "bases": [[0, 0]], "limit": 2}
    run = Runs.create(tmp_path / "run", "grid", config)
    run.resume()
    first, second = (record.holding for record in run.records())
    (((state,), (action,)),) = first["opened"]
    dest = HeightMap.from_text(config["map"]).moves().dest
    assert (state, dest[state, action]) == (6, 0)
    assert "opened" not in second
