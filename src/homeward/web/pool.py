"""A pool of processes that compute for the server, so that its event loop never waits.

All requests about a run go to the same process, which caches the run; a new run goes to the process
with the fewest runs, so that the two runs of a pair are computed side by side. If a process dies or
exceeds its time limit, a new process replaces it, and the client gets an error. Other requests
interrupt requests that take long (`PATIENCE`): the client of an interrupted request should send it
again, and the process has cached the plans so far. If the system allows it, processes are forked
from a process that has imported the modules, so that they start quickly.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import multiprocessing.forkserver
import os
import threading
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from homeward.runs.kind import installed_kinds
from homeward.web.limits import DEFAULTS, ServerSettings
from homeward.web.refusals import Refusal, RefusalError
from homeward.web.service import serve

PATIENCE = {"why": 1, "ghosts": 1, "timeline": 2}
"""Patience of requests by name; 0 for all others. A request with less patience interrupts them."""

YIELD_SECONDS = 0.005  # time for which a request waits to let a request with less patience pass
MAX_ASSIGNED = 256  # maximum number of runs whose process is remembered
STOP = ("stop", ())  # message that interrupts a request; it has no answer
METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
SAFE_PATH = "PYTHONSAFEPATH"  # environment variable that prevents imports from the current folder

_preparing = threading.Lock()  # the threads of two workers may start their processes together


def prepare() -> None:
    """Start the fork server, which imports the modules that viewing processes need.

    It imports nothing from the current folder.
    """
    if METHOD != "forkserver":
        return
    kinds = [reference.partition(":")[0] for reference in installed_kinds().values()]
    ours = [module for module in kinds if module.startswith("homeward.")]  # others may fail
    multiprocessing.get_context(METHOD).set_forkserver_preload(["homeward.web.service", *ours])
    with _preparing:
        before = os.environ.get(SAFE_PATH)
        os.environ[SAFE_PATH] = "1"
        try:
            multiprocessing.forkserver.ensure_running()
        finally:
            del os.environ[SAFE_PATH]
            os.environ.update({} if before is None else {SAFE_PATH: before})


class Worker:
    """One viewing process; it starts at the first request."""

    def __init__(self, root: Path, target: Any = serve) -> None:
        self.root, self.target = root, target
        self.process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()
        self._sending = threading.Lock()  # two threads write to the connection
        self._doing = ""  # name of the current request
        self._waiting: Counter[int] = Counter()  # requests that wait, by their patience
        self._closing = False
        self._thread = ThreadPoolExecutor(1, "viewer")

    async def ask(
        self,
        name: str,
        arguments: tuple[Any, ...],
        limit: float,
        gone: Callable[[], Awaitable[bool]] | None = None,
    ) -> Any:
        """Return the answer to a request; raise if it takes longer than `limit` seconds.

        `gone` returns whether the client has disconnected before the request begins; then raise.
        """
        patience = PATIENCE.get(name, 0)
        self._waiting[patience] += 1
        try:
            if PATIENCE.get(self._doing, 0) > patience:
                self._doing = ""
                await asyncio.get_running_loop().run_in_executor(None, self._interrupt)
            await self._turn.acquire()
            # Requests with less patience go first.
            while any(self._waiting[less] for less in range(patience)):
                self._turn.release()
                await asyncio.sleep(YIELD_SECONDS)
                await self._turn.acquire()
        finally:
            self._waiting[patience] -= 1
        try:
            if gone is not None and await gone():
                raise Refusal.INVALID("the client disconnected")
            loop = asyncio.get_running_loop()
            self._doing = name
            return await loop.run_in_executor(self._thread, self._ask, name, arguments, limit)
        finally:
            self._turn.release()

    def _interrupt(self) -> None:
        """Interrupt the current request."""
        with self._sending, suppress(OSError):
            if self._connection is not None:
                self._connection.send(STOP)

    def _ask(self, name: str, arguments: tuple[Any, ...], limit: float) -> Any:
        """Send a request and return the answer; this runs in the thread of the worker."""
        if self.process is None or not self.process.is_alive():
            self._start()
        assert self._connection is not None
        try:
            with self._sending:
                self._connection.send((name, arguments))
            if not self._connection.poll(limit):
                self._stop()
                raise Refusal.TIMED_OUT(f"the answer took longer than {limit:g} s and was stopped")
            status, answer = self._connection.recv()
        except RecursionError as cause:
            raise Refusal.INVALID("the request is nested too deeply") from cause
        except (EOFError, OSError) as cause:
            self._stop()
            raise Refusal.RESTARTING("the viewing process died; send the request again") from cause
        if status == "refused":
            raise RefusalError(*answer)
        return answer

    def _start(self) -> None:
        """Start a new process and connect to it."""
        self._stop()
        prepare()
        context: Any = multiprocessing.get_context(METHOD)
        here, there = context.Pipe()
        process = context.Process(target=self.target, args=(there, self.root), daemon=True)
        process.start()
        there.close()
        self._connection, self.process = here, process
        if self._closing:  # `close` may have run before there was a process
            process.kill()

    def _stop(self) -> None:
        """Close the connection and kill the process."""
        with self._sending:
            if self._connection is not None:
                with suppress(OSError):
                    self._connection.close()
            self._connection = None
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def close(self) -> None:
        """End the process and the thread."""
        self._closing = True
        process = self.process
        if process is not None:
            process.kill()  # the waiting thread notices it and returns
        self._thread.shutdown()
        self._stop()


class Pool:
    """The viewing processes, and one process for previews and new runs."""

    def __init__(self, root: Path, limits: ServerSettings = DEFAULTS) -> None:
        self.limit = limits.answer
        self.viewers = [Worker(root) for _ in range(limits.viewers)]
        self.maker = Worker(root)
        self._viewer_of: OrderedDict[str, int] = OrderedDict()  # by run, the last used last

    def worker_of(self, run: str) -> Worker:
        """Return the process that answers requests about a run; "" means a preview or a new run."""
        if not run:
            return self.maker
        if run not in self._viewer_of:
            taken = Counter(self._viewer_of.values())
            self._viewer_of[run] = min(range(len(self.viewers)), key=lambda n: (taken[n], n))
        self._viewer_of.move_to_end(run)
        while len(self._viewer_of) > MAX_ASSIGNED:
            self._viewer_of.popitem(last=False)
        return self.viewers[self._viewer_of[run]]

    def forget(self, run: str) -> None:
        """Remove a deleted run."""
        self._viewer_of.pop(run, None)

    async def ask(
        self,
        run: str,
        name: str,
        *arguments: Any,
        gone: Callable[[], Awaitable[bool]] | None = None,
    ) -> Any:
        """Send request `name` to the process of a run and return its answer; see `Worker.ask`."""
        return await self.worker_of(run).ask(name, arguments, self.limit, gone)

    async def warm(self) -> None:
        """Start the processes and their imports before the first request."""
        requests = [worker.ask("ready", (), self.limit) for worker in self.viewers]
        await asyncio.gather(*requests, return_exceptions=True)

    def close(self) -> None:
        """End all processes."""
        for worker in (*self.viewers, self.maker):
            worker.close()
