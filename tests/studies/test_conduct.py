"""A study loses nothing: whoever works on it, whatever dies, the table is the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeward.errors import InvalidInputError
from homeward.studies import Study, StudyFile, TaskOutcome, combine, conduct, define, table_of
from homeward.studies.conduct import BATCH_SECONDS, MAX_BATCH_TASKS, MAX_DEATHS, TaskQueue
from homeward.studies.crews import BatchResult

if TYPE_CHECKING:
    from homeward.studies.crews import Batch

ROOT = Path(__file__).parents[3]
TASKS = "tests.studies.tasks"
QUICK = define("quick", f"{TASKS}:quick", combine({"scale": [1.0, 2.0]}), range(30))


def all_of(path: Path, study: Study, **how: Any) -> tuple[Any, list[TaskOutcome]]:
    with StudyFile.open(path, study) as study_file:
        found = list(conduct(study_file, **how))
        return table_of(study_file), found


def test_every_task_is_done_once(tmp_path: Path) -> None:
    table, found = all_of(tmp_path / "s.sqlite", QUICK, workers=0)
    assert sorted(o.position for o in found) == list(range(60))
    assert [row[:2] for row in table.rows] == [(c, s) for c in (1.0, 2.0) for s in range(30)]


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    whole, _ = all_of(tmp_path / "whole.sqlite", QUICK, workers=0)
    with StudyFile.open(tmp_path / "s.sqlite", QUICK) as study_file:
        outcomes = conduct(study_file, workers=0)
        first = [next(outcomes).position for _ in range(7)]
        outcomes.close()
        entered = 60 - len(study_file.left())
    table, rest = all_of(tmp_path / "s.sqlite", QUICK, workers=0)
    assert table == whole
    assert entered >= len(first)
    assert len(rest) == 60 - entered
    assert all_of(tmp_path / "s.sqlite", QUICK, workers=0) == (whole, [])


def test_an_outcome_is_entered_before_it_is_shown(tmp_path: Path) -> None:
    with StudyFile.open(tmp_path / "s.sqlite", QUICK) as study_file:
        for shown, _ in enumerate(conduct(study_file, workers=0), start=1):
            assert study_file.done >= shown


def test_a_task_that_raises_is_entered_as_failed_and_the_study_goes_on(tmp_path: Path) -> None:
    study = define("odd", f"{TASKS}:odd_raises", [{}], range(6))
    with StudyFile.open(tmp_path / "s.sqlite", study) as study_file:
        assert len(list(conduct(study_file, workers=0))) == 6
        assert study_file.done == 3
        failures = study_file.failures()
        assert [study.task_at(o.position)[1] for o in failures] == [1, 3, 5]
        assert all("is odd" in str(o.error) for o in failures)


def test_what_failed_is_tried_again_the_next_time(tmp_path: Path) -> None:
    study = define("once", f"{TASKS}:raises_once", [{"folder": str(tmp_path)}], range(3))
    with StudyFile.open(tmp_path / "s.sqlite", study) as study_file:
        assert all(o.failed for o in conduct(study_file, workers=0))
        assert not any(o.failed for o in conduct(study_file, workers=0))
        assert study_file.failures() == []


@pytest.mark.parametrize(
    ("task", "how", "message"),
    [
        ("quick", {"workers": -1}, "number of workers is -1"),
        ("quick", {"workers": 1, "scheduler": "tcp://x:1"}, "not both"),
        ("nothing", {"workers": 0}, "has no nothing"),
        ("not_callable", {"workers": 0}, "not_callable is not a function"),
    ],
)
def test_what_can_not_be_done_is_refused_at_once(
    tmp_path: Path, task: str, how: dict[str, Any], message: str
) -> None:
    study = define("s", f"{TASKS}:{task}", [{}], [0])
    with (
        StudyFile.open(tmp_path / "s.sqlite", study) as study_file,
        pytest.raises(InvalidInputError, match=message),
    ):
        conduct(study_file, **how)


def desk(tmp_path: Path, tasks: int) -> TaskQueue:
    study = define("s", f"{TASKS}:quick", [{"scale": 1.0}], range(tasks))
    with StudyFile.open(tmp_path / "s.sqlite", study) as study_file:
        return TaskQueue(study_file)


def positions_of(batch: Batch) -> tuple[int, ...]:
    return tuple(position for position, _, _ in batch.items)


def done(batch: Batch, seconds: float, count: int | None = None) -> BatchResult:
    positions = positions_of(batch)[:count]
    return BatchResult(batch, [TaskOutcome(p, {}, None, seconds) for p in positions])


def handed(desk: TaskQueue, slots: int = 1) -> Batch:
    batch = desk.next(slots)
    assert batch is not None
    return batch


def test_short_tasks_are_handed_out_in_large_batches_and_long_ones_alone(tmp_path: Path) -> None:
    office = desk(tmp_path, 9000)
    sizes = []
    for seconds in [1e-6] * 25 + [60.0] * 2:
        batch = handed(office)
        sizes.append(len(batch.items))
        office.settle(done(batch, seconds))
    assert sizes[0] == 1
    assert sizes[:10] == sorted(sizes[:10])
    assert max(sizes) == MAX_BATCH_TASKS
    assert len(handed(office).items) == 1


def test_the_last_tasks_are_shared_among_the_slots(tmp_path: Path) -> None:
    office = desk(tmp_path, 100)
    office.pace = 1e-6
    assert len(handed(office, slots=4).items) == 13


def test_no_more_batches_are_under_way_than_there_are_slots(tmp_path: Path) -> None:
    office = desk(tmp_path, 100)
    batches = [handed(office, slots=3) for _ in range(3)]
    assert office.next(3) is None
    office.settle(done(batches[1], 1.0))
    assert office.next(3) is not None
    assert office.next(3) is None


def test_what_a_batch_had_not_begun_is_handed_out_again_first(tmp_path: Path) -> None:
    office = desk(tmp_path, 100)
    office.pace = BATCH_SECONDS / 10
    first = handed(office)
    assert positions_of(first) == tuple(range(10))
    assert len(office.settle(done(first, 1.0, count=4))) == 4
    assert list(office.left)[:7] == [4, 5, 6, 7, 8, 9, 10]


def test_tasks_whose_worker_died_are_tried_alone_and_one_at_a_time(tmp_path: Path) -> None:
    office = desk(tmp_path, 30)
    office.pace = BATCH_SECONDS / 3
    batch = handed(office)
    assert office.settle(BatchResult(batch, [], deaths=1)) == []
    suspect, beside = handed(office, slots=4), handed(office, slots=4)
    assert positions_of(suspect) == (0,)
    assert positions_of(beside)[0] == 3
    office.settle(done(suspect, 0.1))
    assert positions_of(handed(office, slots=4)) == (1,)


def test_a_task_over_which_three_workers_died_has_failed(tmp_path: Path) -> None:
    office = desk(tmp_path, 2)
    office.pace = BATCH_SECONDS / 2
    deaths = 0
    outcomes: list[TaskOutcome] = []
    while office.left or office.suspects:
        batch = handed(office)
        deadly = 1 in positions_of(batch)
        deaths += deadly
        report = BatchResult(batch, [], deaths=1, cause="gone") if deadly else done(batch, 0.1)
        outcomes += office.settle(report)
    assert deaths == MAX_DEATHS
    assert [(o.position, o.failed) for o in outcomes] == [(0, False), (1, True)]
    assert outcomes[1].error == "3 workers died while running it. gone"


def test_a_scheduler_that_tries_by_itself_still_does_not_fail_the_innocent(tmp_path: Path) -> None:
    office = desk(tmp_path, 3)
    office.pace = BATCH_SECONDS / 3
    together = handed(office)
    assert len(together.items) == 2
    assert office.settle(BatchResult(together, [], deaths=4)) == []
    assert office.settle(done(handed(office), 0.1))[0].position == 0
    (failed,) = office.settle(BatchResult(handed(office), [], deaths=4))
    assert (failed.position, failed.failed) == (1, True)


@given(
    tasks=st.integers(1, 40),
    slots=st.integers(1, 4),
    deadly=st.sets(st.integers(0, 39), max_size=4),
    slow=st.sets(st.integers(0, 39)),
    data=st.data(),
)
def test_every_task_comes_to_exactly_one_end_and_only_the_deadly_fail(
    tmp_path_factory: pytest.TempPathFactory,
    tasks: int,
    slots: int,
    deadly: set[int],
    slow: set[int],
    data: st.DataObject,
) -> None:
    office = desk(tmp_path_factory.mktemp("desk"), tasks)
    flying: list[Batch] = []
    outcomes: list[TaskOutcome] = []
    while office.left or office.suspects or office.submitted:
        while (batch := office.next(slots)) is not None:
            flying.append(batch)
        assert len(flying) == office.submitted <= slots
        batch = flying.pop(data.draw(st.integers(0, len(flying) - 1)))
        cut = next((i for i, p in enumerate(positions_of(batch)) if p in slow), len(batch.items))
        begun = positions_of(batch)[: cut + 1]
        if deadly & set(begun):
            outcomes += office.settle(BatchResult(batch, [], deaths=1))
        else:
            outcomes += office.settle(done(batch, 1e-4, count=len(begun)))
    assert sorted(o.position for o in outcomes) == list(range(tasks))
    assert {o.position for o in outcomes if o.failed} == deadly & set(range(tasks))


def killing(how: str, folder: Path) -> dict[str, Any]:
    """Have studies killed by another process; see tests/studies/machine/killing.py."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "tests.studies.killing", how, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_study_killed_at_random_moments_gives_the_same_table(tmp_path: Path) -> None:
    found = killing("clock", tmp_path)
    assert found["killed"] >= 20
    assert found["same"]
    assert all(found["same"])


def test_a_study_killed_with_its_workers_gives_the_same_table(tmp_path: Path) -> None:
    found = killing("workers", tmp_path)
    assert found["workers"] >= 2
    assert found["outlived"] == 0
    assert 10 <= found["partly"] < 60
    assert found["same"]
