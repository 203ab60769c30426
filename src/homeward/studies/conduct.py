"""Conducting a study: submit the unfinished tasks and record their outcomes.

Tasks take from a millisecond to a minute. They are submitted in batches of about `BATCH_SECONDS`,
estimated from finished tasks. If a batch takes longer, the worker stops after the current task, and
the remaining tasks are submitted again. Each row is recorded when its report arrives, so a crash
loses only tasks in progress.

If a worker dies, its tasks are tried again one at a time, to find the task that killed it. A task
that killed `MAX_DEATHS` workers is recorded as failed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext
from math import ceil

from homeward.errors import InvalidInputError
from homeward.runs.kind import load
from homeward.studies.crews import (
    Batch,
    BatchResult,
    Cluster,
    Inline,
    cores,
    local_crew,
    remote_crew,
)
from homeward.studies.study_file import StudyFile
from homeward.studies.work import TaskOutcome

BATCH_SECONDS = 0.5
MAX_BATCH_TASKS = 500
MAX_DEATHS = 3
PATIENCE_SECONDS = 60.0  # how long a study waits if no worker is connected


def conduct(
    study_file: StudyFile,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    patience: float = PATIENCE_SECONDS,
) -> Generator[TaskOutcome, None, None]:
    """Run the unfinished tasks of a study, and yield each outcome once it is recorded.

    Worker processes import the main module again, so a script must call this function under
    ``if __name__ == "__main__"``.

    Parameters
    ----------
    workers
        Number of processes, by default one per core; 0 runs all tasks in this process.
    scheduler
        Address of a Dask scheduler whose workers can import homeward and the task; excludes
        `workers`.
    patience
        Seconds to wait for workers when there are none.
    """
    if workers is not None and scheduler is not None:
        raise InvalidInputError("give a number of workers or a scheduler, not both")
    if workers is not None and workers < 0:
        raise InvalidInputError(f"the number of workers is {workers}, expected 0 or more")
    if not callable(load(study_file.study.task, "the task")):
        raise InvalidInputError(f"the task {study_file.study.task} is not a function")
    return _conduct(study_file, workers, scheduler, patience)


def _conduct(
    study_file: StudyFile, workers: int | None, scheduler: str | None, patience: float
) -> Generator[TaskOutcome, None, None]:
    """Submit batches to free slots until no task is left; yield each recorded outcome."""
    queue = TaskQueue(study_file)
    if not queue.left:
        return
    hired: AbstractContextManager[Inline | Cluster]
    if scheduler is not None:
        hired = remote_crew(scheduler, patience)
    elif workers == 0:
        hired = nullcontext(Inline())
    else:
        hired = local_crew(min(workers or cores(), len(queue.left)), patience)
    with hired as crew:
        while queue.left or queue.suspects or queue.submitted:
            while (batch := queue.next(crew.slots)) is not None:
                crew.submit(batch)
            found = [outcome for report in crew.collect() for outcome in queue.settle(report)]
            study_file.record(found)
            yield from found


class TaskQueue:
    """The tasks that are unfinished, submitted, or suspected of killing a worker."""

    def __init__(self, study_file: StudyFile) -> None:
        self.study = study_file.study
        self.left = deque(study_file.left())
        self.suspects: deque[int] = deque()  # tasks whose worker has died
        self.deaths: Counter[int] = Counter()
        self.submitted = 0  # batches
        self.suspected: Batch | None = None  # the suspect that is running
        self.pace = BATCH_SECONDS  # estimated seconds of a task

    def next(self, slots: int) -> Batch | None:
        """Return the next batch for a crew with `slots` slots; None if it has to wait."""
        alone = bool(self.suspects) and self.suspected is None
        if self.submitted >= slots or not (alone or self.left):
            return None
        if alone:
            taken = [self.suspects.popleft()]
        else:
            share = ceil(len(self.left) / (2 * slots))
            size = max(1, min(MAX_BATCH_TASKS, share, int(BATCH_SECONDS / max(self.pace, 1e-6))))
            taken = [self.left.popleft() for _ in range(min(size, len(self.left)))]
        items = tuple((position, *self.study.task_at(position)) for position in taken)
        batch = Batch(self.study.task, items, BATCH_SECONDS)
        self.suspected = batch if alone else self.suspected
        self.submitted += 1
        return batch

    def settle(self, report: BatchResult) -> list[TaskOutcome]:
        """Return the outcomes in the result of a batch, and queue its unfinished tasks again."""
        self.submitted -= 1
        positions, found = [item[0] for item in report.batch.items], list(report.outcomes)
        if report.batch is self.suspected:
            self.suspected = None
        if found:
            recent = sum(outcome.seconds for outcome in found) / len(found)
            self.pace = 0.5 * (self.pace + recent)
        if not report.deaths:
            ended = {outcome.position for outcome in found}
            self.left.extendleft(p for p in reversed(positions) if p not in ended)
            return found
        for position in positions:
            self.deaths[position] += report.deaths
            if len(positions) == 1 and self.deaths[position] >= MAX_DEATHS:
                text = f"{self.deaths[position]} workers died while running it. {report.cause}"
                found.append(TaskOutcome(position, None, text, 0.0))
            else:
                self.suspects.append(position)
        return found
