"""The queue of runs that the server executes: start, pause, resume and cancel.

Each run has its own process (`job`), started before it is needed, so that a small run does not wait
for imports. A limited number of runs execute at the same time; the others wait in the queue. The
queue is stored in a journal file, which is replaced as a whole. So a server that was killed
continues its runs at its next start.

A request first writes the journal, then changes the queue: if the disk is full, the request is
refused and nothing has changed. If a process ends, the queue changes at once, even if the journal
can't be written; the next change writes the journal. A thread writes the journal, so that the event
loop does not wait for the disk.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from starlette.concurrency import run_in_threadpool

from homeward.errors import HomewardError
from homeward.files import read_json, replace_json
from homeward.runs import Run, RunStatus
from homeward.runs.kind import kind_names
from homeward.runs.run import CONFIG
from homeward.web import job
from homeward.web.catalogue import NAME, Catalogue, QueueState, State
from homeward.web.limits import DEFAULTS, ServerSettings
from homeward.web.refusals import Refusal, client_text

JOURNAL = ".serve.json"
FORMAT = 1
STATES = ("queued", "going", "paused", "cancelled", "refused")
COMMAND = (sys.executable, "-P", "-m", "homeward.web.job")  # -P: no imports from this folder
SPARES = 2  # maximum number of processes that wait for a run: enough for a pair
STOP_SECONDS = 15.0  # seconds to stop before a process is killed; its run can be resumed
MAX_ATTEMPTS, ATTEMPT_SECONDS = 20, 0.5  # to continue a run that another process writes

Entry = tuple[State, str | None]  # state of a run in the queue, and why it could not be started

logger = logging.getLogger("homeward")


class Jobs:
    """The queue of runs and their processes."""

    def __init__(
        self,
        catalogue: Catalogue,
        limits: ServerSettings = DEFAULTS,
        command: tuple[str, ...] = COMMAND,
    ) -> None:
        self.catalogue, self.limits, self.command = catalogue, limits, command
        self.path: Path = catalogue.root / JOURNAL
        self.entries: dict[str, Entry] = {}  # in the order of the queue
        self.revision = 0  # increases with every change
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.spares: list[asyncio.subprocess.Process] = []  # they wait for a run
        self.closing = False
        self._changing = asyncio.Lock()  # one change after another

    async def open(self) -> None:
        """Continue from the journal; runs that were running go to the front of the queue."""
        going: dict[str, Entry] = {}
        for name, state, error in _read(self.path):
            try:
                is_known = Run(self.catalogue.find(name)).kind in kind_names()
            except HomewardError:
                continue
            if is_known and state == "going":
                going[name] = "queued", None
            elif is_known:  # a run of another kind could name any module to import
                self.entries[name] = state, error
        self.entries = going | self.entries
        await self._update({})
        await self._start_next()

    async def warm(self) -> None:
        """Start the processes that wait for the first runs."""
        while len(self.spares) < min(SPARES, self.limits.jobs):
            self.spares.append(await self._start_spare())

    async def close(self) -> None:
        """Stop all processes; the journal still lists their runs as running."""
        self.closing = True
        for process in self.spares:
            _kill(process)
            await process.wait()
        for process in self.processes.values():
            _hang_up(process)
        if self.tasks:
            await asyncio.wait(list(self.tasks.values()), timeout=STOP_SECONDS)
        for process in self.processes.values():
            _kill(process)
        if self.tasks:
            await asyncio.wait(list(self.tasks.values()))

    def queue_state(self, name: str) -> QueueState | None:
        """Return the state of a run in the queue; None if it is not in the queue."""
        entries = self.entries.copy()  # several threads call this method
        if name not in entries:
            return None
        state, error = entries[name]
        place = None
        if state == "queued":
            place = 1 + [n for n, (s, _) in entries.items() if s == "queued"].index(name)
        return QueueState(state, place, error)

    def status(self, name: str) -> str:
        """Return the status of a run."""
        return str(self.catalogue.summary(name, self.queue_state(name))["status"])

    async def check_room(self, more: int, size: int) -> None:
        """Raise if `more` runs with configurations of `size` bytes do not fit into the queue."""
        waiting = [name for name, (state, _) in self.entries.items() if state == "queued"]
        limits = self.limits
        if len(waiting) + more > limits.queued:
            raise Refusal.QUOTA(
                f"{len(waiting)} runs are waiting, the maximum is {limits.queued}: try again later"
            )
        folders = [self.catalogue.root / name for name in waiting]
        taken = await run_in_threadpool(lambda: sum(map(_config_bytes, folders)))
        if taken + size > limits.queued_bytes:
            raise Refusal.QUOTA(
                f"the configurations of waiting runs may take {limits.queued_bytes:,} bytes "
                f"together; {taken:,} are taken, and {size:,} more do not fit: try again later"
            )

    async def start(self, *names: str, extend: Callable[[], Awaitable[Any]] | None = None) -> None:
        """Add runs to the queue; a run that is being stopped continues after it has stopped.

        `extend` raises the step limit of a finished run, once nothing else prevents its start.
        """
        async with self._changing:
            for name in names:
                await self._check_start(name, extends=extend is not None)
            await self.check_room(len(names), 0)
            if extend is not None:
                await extend()
            others = {name: entry for name, entry in self.entries.items() if name not in names}
            await self._change({**others, **dict.fromkeys(names, ("queued", None))})
        await self._start_next()

    async def _check_start(self, name: str, extends: bool) -> None:
        """Raise if a run can't be added to the queue; `extends` if a finished run is extended."""
        status = await run_in_threadpool(self.status, name)  # reads the log
        entry = self._state(name)
        stopping = name in self.tasks and entry in ("paused", "cancelled")
        if status in ("running", "queued") and not stopping:
            raise Refusal.CONFLICT(f"{name} is already {status}")
        if status == "waiting":
            raise Refusal.CONFLICT(f"{name} is a mission, which its reports continue")
        if status == "damaged" or (status == "finished" and not extends):
            raise Refusal.CONFLICT(f"{name} is {status} and can't be resumed")
        if Run(self.catalogue.find(name)).kind not in kind_names():
            raise Refusal.CONFLICT(
                f"the page can't continue {name}, a run of another package's kind; use the command "
                "line"
            )

    async def stop(self, name: str, state: State) -> None:
        """Pause or cancel a run; it stops after its current step."""
        await run_in_threadpool(self.catalogue.find, name)
        async with self._changing:
            entry, task = self._state(name), self.tasks.get(name)
            waits = entry == "queued" or (entry == "paused" and state == "cancelled")
            if waits or entry == "going":
                await self._change({**self.entries, name: (state, None)})
        if waits:
            return
        if entry != "going":
            if task is not None and entry == state:  # an earlier request asked for the same
                await asyncio.wait([task])
                return
            if task is not None:
                raise Refusal.CONFLICT(f"{name} is already being stopped")
            status = await run_in_threadpool(self.status, name)
            whose = " in another process" if status == "running" else ""
            raise Refusal.CONFLICT(f"{name} is {status}{whose}")
        if name in self.processes:  # otherwise `_process` stops it once it has started
            _hang_up(self.processes[name])
        if task is not None:
            done, _ = await asyncio.wait([task], timeout=STOP_SECONDS)
            if not done and name in self.processes:
                _kill(self.processes[name])
                await asyncio.wait([task])

    async def forget(self, name: str) -> None:
        """Remove a run from the queue before it is deleted; raise if it is running."""
        async with self._changing:
            status = await run_in_threadpool(self.status, name)
            if status in ("running", "queued") or name in self.tasks:
                is_now = status if status in ("running", "queued") else "stopping"
                raise Refusal.CONFLICT(f"{name} is {is_now}: cancel it first")
            if name in self.entries:
                await self._change({n: e for n, e in self.entries.items() if n != name})

    async def _start_next(self) -> None:
        """Start the next runs of the queue, up to the limit of simultaneous runs."""
        async with self._changing:
            for name, (state, _) in list(self.entries.items()):
                if self.closing or len(self.tasks) >= self.limits.jobs:
                    return
                if state == "queued" and name not in self.tasks:
                    await self._update({name: ("going", None)})
                    self.tasks[name] = asyncio.create_task(self._execute(name))

    async def _execute(self, name: str) -> None:
        """Execute a run until it ends or is stopped."""
        code, reason = job.FAILED, ""
        try:
            for _ in range(MAX_ATTEMPTS):
                code, reason = await self._process(name)
                if code != job.BUSY or self._state(name) != "going":
                    break
                await asyncio.sleep(ATTEMPT_SECONDS)
        except OSError as error:
            reason = client_text(error)
        finally:
            self.processes.pop(name, None)
            self.tasks.pop(name, None)
        if not self.closing:
            async with self._changing:
                if self._state(name) == "going":
                    await self._ended(name, code, reason)
            await self._start_next()

    async def _take_spare(self) -> asyncio.subprocess.Process:
        """Return a process that waits for a run, and start the next one."""
        alive = [process for process in self.spares if process.returncode is None]
        process = alive.pop(0) if alive else await self._start_spare()
        self.spares = alive
        if len(alive) < min(SPARES, self.limits.jobs) and not self.closing:
            self.spares.append(await self._start_spare())
        return process

    async def _start_spare(self) -> asyncio.subprocess.Process:
        """Start a process that waits for a run."""
        return await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # the server handles Ctrl-C
        )

    async def _process(self, name: str) -> tuple[int, str]:
        """Execute a run in a process; return exit code and last line of standard error."""
        process = self.processes[name] = await self._take_spare()
        assert process.stdin is not None
        assert process.stderr is not None
        if self.closing or self._state(name) != "going":
            _hang_up(process)  # a request to stop arrived during the start
        else:
            process.stdin.write(json.dumps(str(self.catalogue.root / name)).encode() + b"\n")
        output = b""
        while part := await process.stderr.read(4096):
            output = (output + part)[-4096:]
        code = await process.wait()
        lines = output.decode(errors="replace").strip().splitlines()
        root = self.catalogue.root
        return code, client_text(lines[-1], root / name, root) if lines else ""

    async def _ended(self, name: str, code: int, reason: str) -> None:
        """Update the queue after the process of a run ended without a request to stop.

        `code` is its exit code, and `reason` the last line of its standard error.
        """
        status = await run_in_threadpool(self._recorded, name)
        if status in (RunStatus.FINISHED, RunStatus.FAILED, None):
            await self._update({name: None})
        else:
            busy = "another process is writing it" if code == job.BUSY else None
            await self._update({name: ("refused", busy or reason or "its process died")})
        if code != job.DONE:
            logger.warning("%s: %s", name, reason or f"exit code {code}")

    def _recorded(self, name: str) -> RunStatus | None:
        """Return the status that a run recorded; None if the run was deleted."""
        try:
            return Run(self.catalogue.find(name)).status
        except HomewardError:
            return None

    def _state(self, name: str) -> State | None:
        """Return the state of a run in the queue; None if the run is not in the queue."""
        return self.entries[name][0] if name in self.entries else None

    async def _change(self, entries: dict[str, Entry]) -> None:
        """Write the journal, then replace the queue; if writing fails, raise and change nothing.

        The caller holds the lock.
        """
        try:
            await run_in_threadpool(_write, self.path, entries)
        except HomewardError as cause:
            raise Refusal.QUOTA(client_text(cause, self.catalogue.root)) from cause
        self.entries = entries
        self.revision += 1

    async def _update(self, changes: dict[str, Entry | None]) -> None:
        """Change the queue, then write the journal; if writing fails, only log the error.

        `changes` has the new entries by name; None removes an entry.

        The caller holds the lock.
        """
        changed: dict[str, Entry | None] = {**self.entries, **changes}
        self.entries = {name: entry for name, entry in changed.items() if entry is not None}
        self.revision += 1
        try:
            await run_in_threadpool(_write, self.path, self.entries)
        except HomewardError as error:
            logger.warning("%s", client_text(error, self.catalogue.root))


def _write(path: Path, entries: dict[str, Entry]) -> None:
    """Replace the journal."""
    runs = [
        {"name": name, "state": state, "error": error} for name, (state, error) in entries.items()
    ]
    replace_json(path, {"format": FORMAT, "runs": runs})


def _config_bytes(folder: Path) -> int:
    """Return the size of the configuration of a run; 0 if it was deleted."""
    try:
        return (folder / CONFIG).stat().st_size
    except OSError:
        return 0


def _hang_up(process: asyncio.subprocess.Process) -> None:
    """Close the standard input of a process, which makes it stop."""
    if process.stdin is not None:
        process.stdin.close()


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a process unless it has ended."""
    with suppress(ProcessLookupError):
        process.kill()


def _read(path: Path) -> list[tuple[str, State, str | None]]:
    """Return the entries (name, state, error) of a journal; empty if it can't be read."""
    if not path.is_file() or path.is_symlink():
        return []
    try:
        value: Any = read_json(path)
        if value["format"] != FORMAT:
            raise ValueError(f"format {value['format']}")
        entries = [(run["name"], run["state"], run["error"]) for run in value["runs"]]
    except (HomewardError, KeyError, TypeError, ValueError) as error:
        logger.warning(
            "%s can't be read and is ignored: %s", path.name, client_text(error, path.parent)
        )
        return []
    return [
        (name, cast("State", state), error if isinstance(error, str) else None)
        for name, state, error in entries
        if isinstance(name, str) and NAME.fullmatch(name) and state in STATES
    ]
