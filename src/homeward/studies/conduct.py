"""Conducting a study: hand out what is left, enter what comes back, lose nothing.

Tasks take from a millisecond to a minute, so they are handed out in batches that should take about
`BUDGET` seconds, judged by those that came back; a batch that takes longer is cut short, and what
it had not begun is handed out again. Rows are entered as they come, so that a crash costs no more
than what was under way.

A task whose worker dies is tried again, alone, and not beside another such task: so it is known
whose fault it was. After `DEATHS` dead workers it is entered as failed.
"""

from __future__ import annotations

from collections import Counter, deque
from contextlib import ExitStack
from math import ceil
from typing import TYPE_CHECKING

from homeward.errors import InvalidInputError
from homeward.runs.references import load
from homeward.studies.crews import Batch, Inline, cores, local_crew, remote_crew
from homeward.studies.work import Outcome

if TYPE_CHECKING:
    from collections.abc import Generator

    from homeward.studies.crews import Crew, Report
    from homeward.studies.ledger import Ledger

BUDGET = 0.5
MOST = 500
DEATHS = 3
PATIENCE = 60.0
"""Seconds that a study waits for workers when there are none."""


def conduct(
    ledger: Ledger,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    patience: float = PATIENCE,
) -> Generator[Outcome, None, None]:
    """Do what is left of a study, and yield each outcome once it is entered.

    By default on as many processes as there are cores. `workers` says how many; 0 does everything
    in this process, one task after the other. A `scheduler` is the address of a Dask scheduler
    whose workers can import homeward and the task; then `workers` is not given.

    Processes import the main module anew, so a script that calls this does so under
    ``if __name__ == "__main__"``.
    """
    if workers is not None and scheduler is not None:
        raise InvalidInputError("give a number of workers or a scheduler, not both")
    if workers is not None and workers < 0:
        raise InvalidInputError(f"the number of workers is {workers}, expected 0 or more")
    task = load(ledger.study.task, "the task")
    if not callable(task):
        raise InvalidInputError(f"the task {ledger.study.task} can't be called")
    return _conduct(ledger, workers, scheduler, patience)


def _conduct(
    ledger: Ledger, workers: int | None, scheduler: str | None, patience: float
) -> Generator[Outcome, None, None]:
    """Keep every slot busy until nothing is left."""
    desk = Desk(ledger)
    if not desk.left:
        return
    with ExitStack() as stack:
        crew: Crew
        if scheduler is not None:
            crew = stack.enter_context(remote_crew(scheduler, patience))
        elif workers == 0:
            crew = Inline()
        else:
            count = min(cores() if workers is None else workers, len(desk.left))
            crew = stack.enter_context(local_crew(count, patience))
        while desk.left or desk.suspects or desk.flying:
            while (batch := desk.next(crew.slots)) is not None:
                crew.submit(batch)
            found = [outcome for report in crew.collect() for outcome in desk.settle(report)]
            ledger.record(found)
            yield from found


class Desk:
    """Keeps what is left, what is under way, and who is under suspicion."""

    def __init__(self, ledger: Ledger) -> None:
        self.study = ledger.study
        self.left = deque(ledger.left())
        self.suspects: deque[int] = deque()  # tasks over which a worker has died
        self.deaths: Counter[int] = Counter()
        self.flying = 0
        self.suspected: Batch | None = None  # the suspect that is under way
        self.pace = BUDGET  # seconds that a task takes, judged by the last ones

    def next(self, slots: int) -> Batch | None:
        """Give the next batch, if one may be handed out now."""
        if self.flying >= slots:
            return None
        if self.suspects and self.suspected is None:
            self.suspected = batch = self._batch([self.suspects.popleft()])
        elif self.left:
            share = ceil(len(self.left) / (2 * slots))
            size = max(1, min(MOST, share, int(BUDGET / max(self.pace, 1e-6))))
            batch = self._batch([self.left.popleft() for _ in range(min(size, len(self.left)))])
        else:
            return None
        self.flying += 1
        return batch

    def settle(self, report: Report) -> list[Outcome]:
        """Take a report in and give the outcomes that are final."""
        self.flying -= 1
        batch, found = report.batch, list(report.outcomes)
        if batch is self.suspected:
            self.suspected = None
        if found:
            recent = sum(outcome.seconds for outcome in found) / len(found)
            self.pace = 0.5 * (self.pace + recent)
        if not report.deaths:
            ended = {outcome.position for outcome in found}
            self.left.extendleft(p for p in reversed(batch.positions) if p not in ended)
            return found
        for position in batch.positions:
            self.deaths[position] += report.deaths
            if len(batch.items) == 1 and self.deaths[position] >= DEATHS:
                text = f"{self.deaths[position]} workers died over it. {report.cause}"
                found.append(Outcome(position, None, text, 0.0))
            else:
                self.suspects.append(position)
        return found

    def _batch(self, positions: list[int]) -> Batch:
        items = tuple((position, *self.study.task_at(position)) for position in positions)
        return Batch(self.study.task, items, BUDGET)
