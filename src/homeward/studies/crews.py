"""Crews run tasks: in this process, in processes on this machine, or on a cluster.

A crew receives batches of tasks and returns their results. It has slots: each slot works on one
batch at a time. At most one batch per slot is submitted, so a worker that dies loses one batch.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from homeward.errors import HomewardError, InvalidInputError
from homeward.extras import need
from homeward.studies.work import TaskOutcome, perform

ANSWER_SECONDS = 5.0  # seconds that a scheduler may take to answer
POLL_SECONDS = 1.0  # seconds between two counts of the workers


class CrewError(HomewardError):
    """The workers can't be reached; the file of the study keeps finished tasks."""


class Batch(NamedTuple):
    """Tasks for one worker."""

    task: str  # module:name
    items: tuple[tuple[int, dict[str, Any], int], ...]  # (position, cell, seed)
    budget: float  # seconds after which no further task is begun


class BatchResult(NamedTuple):
    """The outcomes of a batch, or the number of workers that died while running it."""

    batch: Batch
    outcomes: list[TaskOutcome]  # of finished tasks
    deaths: int = 0  # number of workers that died
    cause: str = ""  # of the last death


class Inline:
    """Runs batches in this process, one after the other."""

    slots = 1

    def __init__(self) -> None:
        self._waiting: deque[Batch] = deque()
        self.submit = self._waiting.append

    def collect(self) -> list[BatchResult]:
        """Run the next batch and return its result."""
        batch = self._waiting.popleft()
        return [BatchResult(batch, perform(*batch))]


class Cluster:
    """Runs batches on the workers of a Dask scheduler."""

    def __init__(self, client: Any, patience: float) -> None:
        self._client, self._patience = client, patience
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._submitted: dict[str, tuple[Any, Batch]] = {}  # futures are kept: else cancelled
        self.slots = 1  # threads of all workers at the last count, at least one
        self._counted = self._last_worker = -float("inf")
        self._count_threads()

    def submit(self, batch: Batch) -> None:
        """Submit a batch to the scheduler."""
        future = self._client.submit(perform, *batch, alone=False, pure=False)
        self._submitted[future.key] = (future, batch)
        future.add_done_callback(self._ended.put)

    def collect(self) -> list[BatchResult]:
        """Wait for a result and return all available results; count the workers meanwhile."""
        reports: list[BatchResult] = []
        while not reports or not self._ended.empty():
            with suppress(Empty):
                reports.append(self._report(self._ended.get(timeout=POLL_SECONDS)))
            if time.monotonic() - self._counted > POLL_SECONDS:
                self._count_threads()
        return reports

    def _report(self, future: Any) -> BatchResult:
        """Return the result of a finished batch."""
        from distributed import KilledWorker

        _, batch = self._submitted.pop(future.key)
        try:
            # If a worker dies before its result is fetched, Dask runs the batch again.
            return BatchResult(batch, future.result(timeout=self._patience))
        except KilledWorker as death:
            return BatchResult(batch, [], death.allowed_failures + 1, str(death))
        except (CancelledError, OSError, TimeoutError) as cause:
            raise CrewError(f"the scheduler was stopped or restarted: {cause}") from cause
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            raise CrewError(f"the workers can't run {batch.task}: {text}") from error

    def _count_threads(self) -> None:
        """Count the threads of all workers; raise `CrewError` if no worker came for too long."""
        now = self._counted = time.monotonic()
        try:
            threads = self._client.nthreads(callback_timeout=self._patience)
        except (OSError, TimeoutError) as cause:
            raise CrewError(f"the scheduler no longer answers: {cause}") from cause
        count = sum(threads.values())
        self.slots = max(1, count)
        if count or self._last_worker == -float("inf"):
            self._last_worker = now
        if now - self._last_worker > self._patience:
            raise CrewError(
                f"the scheduler has had no workers for {self._patience:g} s; start some with "
                f"`dask worker {self._client.scheduler.address}`"
            )


@contextmanager
def local_crew(workers: int, patience: float) -> Iterator[Cluster]:
    """Start `workers` processes on this machine, with one thread each, and yield them."""
    distributed = _distributed()
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any free port: several studies may run at once
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={"allowed_failures": 0},  # retries are handled here
            preload=["homeward.studies.work"],
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield Cluster(client, patience)


@contextmanager
def remote_crew(address: str, patience: float) -> Iterator[Cluster]:
    """Yield the workers of a Dask scheduler at ``tcp://host:port``."""
    distributed = _distributed()

    async def connect() -> None:
        """Connect once with a timeout; a client would wait forever for a silent scheduler."""
        keys = distributed.Security().get_connection_args("client")
        answer = distributed.comm.connect(address, timeout=ANSWER_SECONDS, **keys)
        await (await asyncio.wait_for(answer, ANSWER_SECONDS)).close()

    with distributed.utils.silence_logging_cmgr(logging.CRITICAL):  # we raise our own errors
        try:
            with ThreadPoolExecutor(1) as aside:  # the caller may have an event loop of its own
                aside.submit(lambda: asyncio.run(connect())).result()
            client = distributed.Client(address, timeout=ANSWER_SECONDS, set_as_default=False)
        except (OSError, TimeoutError) as cause:
            raise CrewError(
                f"no scheduler answers at {address} within {ANSWER_SECONDS:g} s"
            ) from cause
        except ValueError as cause:
            raise InvalidInputError(f"{address!r} is not a scheduler's address: {cause}") from cause
        with client:
            yield Cluster(client, patience)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _distributed() -> Any:
    why = "studies on several processes need Dask (workers=0 runs them in this process)"
    return need("distributed", "cluster", why)
