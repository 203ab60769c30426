"""The plan of a recorded step, made again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.referee.kinds import NAME as HILL
from tests.runs.kinds import log_of, meadow

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.referee.certificate import judge
from homeward.runs import Run
from homeward.runs import retracing as replaying
from homeward.runs.log import to_line
from homeward.runs.manifest import versions_here
from homeward.runs.verification import compare, plan_of_step

if TYPE_CHECKING:
    from pathlib import Path

    from homeward.referee.claims import PlanCase
    from homeward.runs.verification import RecordedPlan


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Take a short run in a meadow."""
    made = meadow(tmp_path / "run", moody=False, limit=6)
    made.resume()
    return made


def case(found: RecordedPlan) -> PlanCase:
    """Return the plan of a step of the paper's algorithm."""
    assert found.case is not None
    return found.case


def forge(run: Run, step: int, **change: Any) -> None:
    """Change a record, checksum and all."""
    records = list(run.records())
    records[step - 1] = replace(records[step - 1], **change)
    (run.directory / "steps.jsonl").write_bytes(b"".join(map(to_line, records)))


@pytest.mark.parametrize("room", [65_536, 0])
def test_every_step_is_planned_again_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(
        replaying, "WARM_START_BYTES_PER_STEP", room
    )  # without room, steps before are planned again too
    run = meadow(tmp_path / "run", moody=False, limit=6)
    run.resume()
    before = log_of(run)
    for record in run.records():
        found = plan_of_step(run, record.step)
        assert found.record == record
        assert found.reasons == ()
        assert tuple(c.bound for c in case(found).plan.criteria) == record.bounds
        assert case(found).plan.action == record.action
        certificate = compare(judge(case(found), method="arithmetic"), found)
        assert not certificate.refuted
    assert log_of(run) == before
    assert not (run.directory / "lock").exists() or run.status == "finished"


def test_the_last_step_is_taken_unless_told(run: Run) -> None:
    assert plan_of_step(run).record.step == 6


def test_the_belief_is_the_one_before_the_step(run: Run) -> None:
    belief: Any = case(plan_of_step(run, 1)).belief
    assert belief.counts.sum() == 0
    assert belief.visited.sum() == 1


def test_a_grid_run_comes_out_again(tmp_path: Path) -> None:
    config = {"size": 8, "seed": 3, "delta": 0.9, "limit": 4, "algorithm": "paper"}
    run = Run.create(tmp_path / "run", "grid", config)
    run.resume()
    found = plan_of_step(run)
    assert not compare(judge(case(found), episodes=200), found).refuted


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"bounds": (0.999,)}, "the bound in the log is 0.999, but the plan's is "),
        ({"kept_bounds": (0.999,)}, "the bound in the log is 0.999, but the plan's is "),
        ({"bounds": (0.01,)}, "the bound in the log is 0.01, but the plan's is "),
    ],
)
def test_a_bound_that_was_changed_in_the_log_is_refuted(run: Run, change: Any, reason: str) -> None:
    forge(run, 4, **change)
    found = plan_of_step(run, 4)
    certificate = compare(judge(case(found), method="arithmetic"), found)
    assert certificate.refuted
    assert any(r.startswith(reason) for v in certificate.verdicts for r in v.reasons)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"action": 3}, "the action in the log is 3, but planning again gives "),
        ({"state": 19}, "the state in the log is 19, but planning again gives "),
        ({"status": "splendid"}, "the status in the log is splendid"),
        ({"next_state": 19}, "the next state in the log is 19"),
        ({"observation": {"a": "b" * 99}}, "the observation in the log is {'a': 'bbb"),
        ({"value": 77.0}, "the value in the log is 77, but planning again"),
        ({"upper": np.inf}, "the upper bound in the log is inf"),
        ({"bounds": (0.9, 0.9)}, "the log has 2 bounds for 1 criteria"),
    ],
)
def test_anything_else_that_was_changed_in_the_step_is_refuted(
    run: Run, change: Any, reason: str
) -> None:
    assert list(run.records())[3].action != 3
    forge(run, 4, **change)
    found = plan_of_step(run, 4)
    certificate = compare(judge(case(found), method="arithmetic"), found)
    assert certificate.refuted
    assert certificate.worth.reasons[0].startswith(reason)


def test_a_step_before_that_was_changed_is_refused(run: Run) -> None:
    forge(run, 2, next_state=19)
    with pytest.raises(InvalidFileError, match="in step 2 the recorded next state is 19"):
        plan_of_step(run, 4)


def test_steps_that_are_not_there_are_refused(run: Run, tmp_path: Path) -> None:
    for step in (0, 7):
        with pytest.raises(InvalidInputError, match=f"step is {step}, expected 1 to 6"):
            plan_of_step(run, step)
    with pytest.raises(InvalidInputError, match="has taken no step"):
        plan_of_step(meadow(tmp_path / "empty"))


def test_a_run_of_other_versions_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    other = versions_here() | {"numpy": "9.9"}
    monkeypatch.setattr("homeward.runs.verification.versions_here", lambda: other)
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


@pytest.fixture
def hill(tmp_path: Path) -> Run:
    """Go up and linger until the budget is spent."""
    made = Run.create(tmp_path / "hill", HILL, {"delta": 0.8})
    made.resume()
    assert [r.holding["kept"] for r in made.records()] == [pytest.approx(0.9), pytest.approx(0.9)]
    return made


@pytest.mark.parametrize("step", [None, 1])
def test_where_the_level_is_the_runs_the_verdict_is_on_the_run(hill: Run, step: int | None) -> None:
    found = plan_of_step(hill, step)
    assert found.record.step == (2 if step is None else step)
    assert found.case is None
    assert not found.refuted
    assert found.run is not None
    assert found.run.level == 0.8
    assert found.run.kept == found.run.recomputed == pytest.approx(0.9)
    assert found.run.words == "confirmed: every step was planned and charged again"


def test_on_a_general_model_a_note_says_that_every_step_was_only_planned_again(hill: Run) -> None:
    found = plan_of_step(hill)
    assert found.homes == ()
    assert found.notes == (
        "every step was planned again, but the risk budget is not audited, since its model is not "
        "a move-or-stay graph",
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"action": 1}, "step 1: the action in the log is 1, but planning again gives 0"),
        (
            {"bounds": (1.0,)},
            "step 1: the bounds in the log is (1.0,), but planning again gives (0.89",
        ),
        ({"status": "splendid"}, "step 1: the status in the log is splendid"),
        ({"value": 7.0}, "step 1: the value in the log is 7.0, but planning again gives"),
    ],
)
@pytest.mark.parametrize("step", [None, 1])
def test_any_record_that_planning_again_does_not_give_refutes_the_run(
    hill: Run, change: dict[str, Any], reason: str, step: int | None
) -> None:
    forge(hill, 1, **change)
    found = plan_of_step(hill, step)
    assert found.refuted
    assert found.run is not None
    assert found.run.reasons[0].startswith(reason)
    assert found.run.recomputed is None


def test_a_record_after_the_explorers_own_end_refutes_the_run(hill: Run) -> None:
    records = list(hill.records())
    records.append(replace(records[-1], step=3))
    (hill.directory / "steps.jsonl").write_bytes(b"".join(map(to_line, records)))
    verdict = plan_of_step(hill).run
    assert verdict is not None
    assert verdict.reasons == ("step 3: the explorer ends before it",)


@pytest.mark.parametrize("holding", [None, {}, {"kept": "much"}, {"kept": 7.0}])
def test_a_record_that_does_not_say_what_is_kept_is_refused(hill: Run, holding: Any) -> None:
    forge(hill, 2, holding=holding)
    with pytest.raises(InvalidFileError, match=r"the bound of step 2 is 7|step 2 has no valid"):
        plan_of_step(hill, 1)


def test_a_run_of_the_papers_algorithm_makes_no_claim_on_the_whole_run(run: Run) -> None:
    found = plan_of_step(run)
    assert (found.run, found.homes) == (None, ())
    judged = compare(judge(case(found), method="arithmetic"), found)
    assert judged.as_dict()["run"] is None


def test_a_run_that_keeps_nothing_has_nothing_to_audit(tmp_path: Path) -> None:
    made = Run.create(tmp_path / "run", "grid", {"size": 5, "explorer": "uncover", "limit": 3})
    made.resume()
    found = plan_of_step(made)
    assert not found.refuted
    assert found.notes == ("this run has no safety level, so there is nothing to audit",)
