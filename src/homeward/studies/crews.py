"""Who does the work: this process, processes on this machine, or a cluster.

A crew is handed batches of tasks and hands back reports. Each slot of a crew works on one batch at
a time, and no more batches than slots are under way: then a worker that dies takes one with it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from homeward.errors import HomewardError, InvalidInputError
from homeward.extras import need
from homeward.studies.work import perform, perform_alone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homeward.studies.work import Outcome

ANSWER = 5.0
"""Seconds that a scheduler has to answer."""

LOOK = 1.0
"""Seconds between looks at who is there to work."""


class CrewError(HomewardError):
    """The workers are out of reach; what they had done is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some tasks for one worker."""

    task: str  # module:name
    items: tuple[tuple[int, dict[str, Any], int], ...]  # (position, cell, seed)
    budget: float  # seconds after which what is not begun is handed back

    @property
    def positions(self) -> tuple[int, ...]:
        """The tasks' numbers."""
        return tuple(position for position, _, _ in self.items)


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What became of a batch."""

    batch: Batch
    outcomes: list[Outcome]  # of the tasks that came to an end
    deaths: int = 0  # workers that died over it
    cause: str = ""  # what is known of that


class Crew(Protocol):
    """Those who do the work."""

    @property
    def slots(self) -> int:
        """How many batches can be under way."""
        ...

    def submit(self, batch: Batch) -> None:
        """Hand over a batch."""
        ...

    def collect(self) -> list[Report]:
        """Wait for at least one report and give all that are there."""
        ...


class Inline:
    """The very process that conducts the study, one batch after the other."""

    slots = 1

    def __init__(self) -> None:
        self._waiting: deque[Batch] = deque()

    def submit(self, batch: Batch) -> None:
        """Take a batch."""
        self._waiting.append(batch)

    def collect(self) -> list[Report]:
        """Do it now."""
        batch = self._waiting.popleft()
        return [Report(batch, perform(batch.task, batch.items, batch.budget))]


class Cluster:
    """The workers of a Dask scheduler."""

    def __init__(self, client: Any, patience: float) -> None:
        self._client = client
        self._patience = patience
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._flying: dict[str, tuple[Any, Batch]] = {}
        self._count = 0
        self._looked = self._manned = -float("inf")
        self._look()

    @property
    def slots(self) -> int:
        """How many threads the workers have together, as of the last look; at least one."""
        return max(1, self._count)

    def submit(self, batch: Batch) -> None:
        """Hand over a batch."""
        future = self._client.submit(
            perform_alone, batch.task, batch.items, batch.budget, pure=False
        )
        self._flying[future.key] = (future, batch)
        future.add_done_callback(self._ended.put)

    def collect(self) -> list[Report]:
        """Wait for at least one report, and look now and then whether anybody is at work."""
        reports: list[Report] = []
        while not reports:
            with suppress(Empty):
                reports.append(self._report(self._ended.get(timeout=LOOK)))
            if time.monotonic() - self._looked > LOOK:
                self._look()
        while not self._ended.empty():
            reports.append(self._report(self._ended.get()))
        return reports

    def _report(self, future: Any) -> Report:
        from distributed import KilledWorker

        _, batch = self._flying.pop(future.key)
        try:
            # A worker that dies with a result not yet fetched: the batch is done once more.
            return Report(batch, future.result(timeout=self._patience))
        except KilledWorker as death:
            return Report(batch, [], death.allowed_failures + 1, str(death))
        except (CancelledError, OSError, TimeoutError) as cause:
            raise CrewError(f"the scheduler has gone, or was restarted: {cause}") from cause
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            raise CrewError(f"the workers can't do {batch.task}: {text}") from error

    def _look(self) -> None:
        """Count the workers' threads; give up if there have been none for too long."""
        now = time.monotonic()
        try:
            threads = self._client.nthreads(callback_timeout=self._patience)
        except (OSError, TimeoutError) as cause:
            raise CrewError(f"the scheduler does not answer any more: {cause}") from cause
        self._count = sum(threads.values())
        if self._count or self._manned == -float("inf"):
            self._manned = now
        self._looked = now
        if now - self._manned > self._patience:
            raise CrewError(
                f"the scheduler has had no workers for {self._patience:g} s; start some with "
                f"`dask worker {self._client.scheduler.address}`"
            )


@contextmanager
def local_crew(workers: int, patience: float) -> Iterator[Cluster]:
    """Start that many processes on this machine, with one thread each."""
    distributed = _distributed()
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any free port: several studies may run at once
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={"allowed_failures": 0},  # how often to try is decided here
            preload=["homeward.studies.work"],
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield Cluster(client, patience)


@contextmanager
def remote_crew(address: str, patience: float) -> Iterator[Cluster]:
    """Use the workers of a scheduler at ``tcp://host:port``."""
    distributed = _distributed()
    with ExitStack() as stack:
        # What goes wrong is told by our own errors.
        stack.enter_context(distributed.utils.silence_logging_cmgr(logging.CRITICAL))
        try:
            _shake_hands(distributed, address)
            client = distributed.Client(address, timeout=ANSWER, set_as_default=False)
        except (OSError, TimeoutError) as cause:
            raise CrewError(f"no scheduler answers at {address} within {ANSWER:g} s") from cause
        except ValueError as cause:
            raise InvalidInputError(f"{address!r} is no address of a scheduler: {cause}") from cause
        stack.enter_context(client)
        yield Cluster(client, patience)


def _shake_hands(distributed: Any, address: str) -> None:
    """Greet a scheduler; a client would wait without end for one that listens and says nothing."""

    async def greet() -> None:
        keys = distributed.Security().get_connection_args("client")
        answer = distributed.comm.connect(address, timeout=ANSWER, **keys)
        comm = await asyncio.wait_for(answer, ANSWER)
        await comm.close()

    with ThreadPoolExecutor(1) as aside:  # whoever calls may have an event loop of their own
        aside.submit(lambda: asyncio.run(greet())).result()


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _distributed() -> Any:
    why = "studies on several processes need Dask (with workers=0 they run in this one)"
    return need("distributed", "cluster", why)
