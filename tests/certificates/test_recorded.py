"""The plan of a recorded step, made again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.certificates.kinds import NAME as HILL
from tests.runs.kinds import log_of, meadow

from homeward.certificates import certify, compare, plan_of_step
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.runs import Run
from homeward.runs import replay as replaying
from homeward.runs.log import to_line
from homeward.runs.manifest import versions_here

if TYPE_CHECKING:
    from pathlib import Path

    from homeward.certificates import Certificate


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Take a short run in a meadow."""
    made = meadow(tmp_path / "run", moody=False, limit=6)
    made.resume()
    return made


def forge(run: Run, step: int, **change: Any) -> None:
    """Change a record, checksum and all."""
    records = list(run.records())
    records[step - 1] = replace(records[step - 1], **change)
    (run.directory / "steps.jsonl").write_bytes(b"".join(map(to_line, records)))


@pytest.mark.parametrize("room", [65_536, 0])
def test_every_step_is_planned_again_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(replaying, "ROOM", room)  # without room, steps before are planned again too
    run = meadow(tmp_path / "run", moody=False, limit=6)
    run.resume()
    before = log_of(run)
    for record in run.records():
        found = plan_of_step(run, record.step)
        assert found.record == record
        assert found.reasons == ()
        assert found.stored.plan.bounds == record.bounds
        assert found.stored.plan.action == record.action
        certificate = compare(certify(found.stored, method="arithmetic"), found)
        assert not certificate.refuted
    assert log_of(run) == before
    assert not (run.directory / "lock").exists() or run.status == "finished"


def test_the_last_step_is_taken_unless_told(run: Run) -> None:
    assert plan_of_step(run).record.step == 6


def test_the_belief_is_the_one_before_the_step(run: Run) -> None:
    belief: Any = plan_of_step(run, 1).stored.belief
    assert belief.counts.sum() == 0
    assert belief.visited.sum() == 1


def test_a_grid_run_comes_out_again(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", "grid", {"size": 8, "seed": 3, "delta": 0.9, "limit": 4})
    run.resume()
    found = plan_of_step(run)
    assert not compare(certify(found.stored, episodes=200), found).refuted


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"bounds": (0.999,)}, "the log says 0.999, the plan "),
        ({"kept_bounds": (0.999,)}, "the log says 0.999, the plan "),
        ({"bounds": (0.01,)}, "the log says 0.01, the plan "),
    ],
)
def test_a_bound_that_was_changed_in_the_log_is_refuted(run: Run, change: Any, reason: str) -> None:
    forge(run, 4, **change)
    found = plan_of_step(run, 4)
    certificate = compare(certify(found.stored, method="arithmetic"), found)
    assert certificate.refuted
    assert any(r.startswith(reason) for v in certificate.verdicts for r in v.reasons)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"action": 3}, "the log says action 3, and planning again gives "),
        ({"state": 19}, "the log says state 19, and planning again gives "),
        ({"status": "splendid"}, "the log says status splendid"),
        ({"next_state": 19}, "the log says next state 19"),
        ({"observation": {"a": "b" * 99}}, "the log says observation {'a': 'bbb"),
        ({"value": 77.0}, "the log says worth 77, planning again"),
        ({"upper": np.inf}, "the log says an upper bound of inf"),
        ({"bounds": (0.9, 0.9)}, "the log has 2 bounds of 1 criteria"),
    ],
)
def test_anything_else_that_was_changed_in_the_step_is_refuted(
    run: Run, change: Any, reason: str
) -> None:
    assert list(run.records())[3].action != 3
    forge(run, 4, **change)
    found = plan_of_step(run, 4)
    certificate = compare(certify(found.stored, method="arithmetic"), found)
    assert certificate.refuted
    assert certificate.worth.reasons[0].startswith(reason)


def test_a_step_before_that_was_changed_is_refused(run: Run) -> None:
    forge(run, 2, next_state=19)
    with pytest.raises(InvalidFileError, match="in step 2 the next state is recorded as 19"):
        plan_of_step(run, 4)


def test_steps_that_are_not_there_are_refused(run: Run, tmp_path: Path) -> None:
    for step in (0, 7):
        with pytest.raises(InvalidInputError, match=f"step is {step}, expected 1 to 6"):
            plan_of_step(run, step)
    with pytest.raises(InvalidInputError, match="has taken no step"):
        plan_of_step(meadow(tmp_path / "empty"))


def test_a_run_of_other_versions_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    other = versions_here() | {"numpy": "9.9"}
    monkeypatch.setattr("homeward.certificates.recorded.versions_here", lambda: other)
    with pytest.raises(InvalidFileError, match=r"other versions \(numpy .* is now 9.9\)"):
        plan_of_step(run)


def test_a_step_after_the_explorers_own_end_is_refused(tmp_path: Path) -> None:
    run = meadow(tmp_path / "run", moody=False, rows=1, columns=2, limit=50)
    run.resume()
    records = list(run.records())
    records.append(replace(records[-1], step=len(records) + 1, state=records[-1].next_state))
    (run.directory / "steps.jsonl").write_bytes(b"".join(map(to_line, records)))
    with pytest.raises(InvalidFileError, match="the explorer ends before step"):
        plan_of_step(run)


def test_a_run_with_a_budget_is_certified(tmp_path: Path) -> None:
    config = {"size": 6, "seed": 1, "home": "start", "budget": 0.9, "limit": 6}
    run = Run.create(tmp_path / "run", "grid", config)
    run.resume()
    found = plan_of_step(run, 4)
    assert not compare(certify(found.stored, method="arithmetic"), found).refuted


@pytest.fixture
def hill(tmp_path: Path) -> Run:
    """Go up, linger, and walk home since the budget is spent."""
    made = Run.create(tmp_path / "hill", HILL, {"budget": 0.8})
    made.resume()
    held = [(r.holding["kept"], r.holding["homing"]) for r in made.records()]
    assert held == [(pytest.approx(0.9), False), (pytest.approx(0.81), False), (held[1][0], True)]
    return made


def judged(run: Run, step: int | None = None) -> Certificate:
    """Certify a step of a run by arithmetic."""
    found = plan_of_step(run, step)
    return compare(certify(found.stored, method="arithmetic"), found)


def test_a_step_on_the_way_home_has_no_plan_and_the_last_before_it_is_taken(hill: Run) -> None:
    found = plan_of_step(hill)
    assert found.record.step == 2
    assert found.notes == (
        "step 3 only follows the way home that is held: step 2 is the last with a plan of its own",
    )
    assert judged(hill).notes == found.notes
    assert plan_of_step(hill, 1).notes == ()
    with pytest.raises(InvalidInputError, match="step 3 only follows the way home that is held"):
        plan_of_step(hill, 3)


def test_a_log_that_knows_of_no_plan_has_nothing_to_certify(hill: Run) -> None:
    for record in list(hill.records()):
        forge(hill, record.step, holding={**record.holding, "homing": True})
    with pytest.raises(InvalidInputError, match="every step only follows the way home"):
        plan_of_step(hill)


@pytest.mark.parametrize("step", [None, 1])
def test_what_the_whole_run_keeps_is_a_claim_of_its_own(hill: Run, step: int | None) -> None:
    found = judged(hill, step)
    assert not found.refuted
    assert found.run is not None
    assert found.run.level == 0.8
    assert found.run.kept == found.run.recomputed == pytest.approx(0.81)
    assert found.run.words == "confirmed: every step was planned and charged again"
    assert found.as_dict()["run"]["refuted"] is False


@pytest.mark.parametrize("forged", [2, 3])
def test_a_log_whose_last_kept_was_changed_is_refuted(hill: Run, forged: int) -> None:
    held = list(hill.records())[forged - 1].holding
    forge(hill, forged, holding={**held, "kept": 1.0})
    found = judged(hill)
    assert found.refuted
    assert not any(v.refuted for v in found.verdicts)
    if forged == 2:
        assert found.worth.reasons[0].startswith("the log says holding {'kept': 1.0")
    else:
        assert found.run is not None
        assert found.run.kept == 1.0
        assert found.run.reasons[0].startswith("in step 3 the holding is recorded as {'kept': 1.0")
    forge(hill, 1, holding={**held, "kept": 1.0})
    with pytest.raises(InvalidFileError, match="in step 1 the holding is recorded as"):
        plan_of_step(hill)


def test_what_a_run_kept_must_be_its_level(hill: Run) -> None:
    config = json.loads((hill.directory / "config.json").read_text())
    records = [replace(r, holding={**r.holding, "kept": 0.7}) for r in hill.records()]
    (hill.directory / "steps.jsonl").write_bytes(b"".join(map(to_line, records)))
    assert config["config"]["budget"] == 0.8
    found = judged(hill, 1)
    assert found.run is not None
    assert found.run.reasons[-1] == "the log says that 0.7 is kept, asked for 0.8"


@pytest.mark.parametrize("holding", [None, {}, {"kept": "much"}, {"kept": 7.0}])
def test_a_record_that_does_not_say_what_is_kept_is_refused(hill: Run, holding: Any) -> None:
    forge(hill, 3, holding=holding)
    with pytest.raises(InvalidFileError, match=r"in step 3, 7 is kept|step 3 does not say"):
        plan_of_step(hill, 1)


def test_a_run_without_a_budget_makes_no_such_claim(run: Run) -> None:
    found = judged(run)
    assert found.run is None
    assert found.as_dict()["run"] is None
