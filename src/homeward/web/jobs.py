"""The queue of runs that the server executes: start, pause, resume and cancel.

Each run has its own process (`job`). A limited number of runs execute at the same time; the others
wait in the queue. The queue is stored in a journal file, which is replaced as a whole. So a server
that was killed continues its runs at its next start.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from homeward.errors import HomewardError
from homeward.files import read_json, replace_json
from homeward.runs import Run, RunStatus
from homeward.runs.kind import kind_names
from homeward.web import job
from homeward.web.catalogue import NAME, Catalogue, QueueState, State
from homeward.web.refusals import Refusal, told

if TYPE_CHECKING:
    from pathlib import Path

JOURNAL = ".serve.json"
FORMAT = 1
STATES = ("queued", "going", "paused", "cancelled", "refused")
COMMAND = (sys.executable, "-P", "-m", "homeward.web.job")
"""The command without the folder of the run; ``-P`` prevents imports from the current folder."""

STOP_SECONDS = 15.0
"""Seconds that a process may take to stop before it is killed; its run can still be resumed."""

MAX_ATTEMPTS, ATTEMPT_SECONDS = 20, 0.5
"""Attempts to continue a run that another process is writing, and seconds between attempts."""

logger = logging.getLogger("homeward")


class Jobs:
    """The queue of runs and their processes."""

    def __init__(self, catalogue: Catalogue, most: int, command: tuple[str, ...] = COMMAND) -> None:
        self.catalogue, self.most, self.command = catalogue, most, command
        self.path: Path = catalogue.root / JOURNAL
        self.entries: dict[str, tuple[State, str | None]] = {}  # in the order of the queue
        self.revision = 0  # increases with every change
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.closing = False

    def open(self) -> None:
        """Continue from the journal; runs that were running go to the front of the queue."""
        going: dict[str, tuple[State, str | None]] = {}
        for name, state, error in _read(self.path):
            try:
                ours = Run(self.catalogue.find(name)).kind in kind_names()
            except HomewardError:
                continue
            if ours and state == "going":
                going[name] = "queued", None
            elif ours:  # another package's kind would import a module that the run names
                self.entries[name] = state, error
        self.entries = going | self.entries
        self._write()
        self._turn()

    async def close(self) -> None:
        """Stop all processes; in the journal their runs stay running."""
        self.closing = True
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

    def start(self, name: str) -> None:
        """Add a run to the queue; a run that is being stopped continues after it has stopped."""
        status = self.status(name)
        entry = self._state(name)
        stopping = name in self.tasks and entry in ("paused", "cancelled")
        if status in ("running", "queued") and not stopping:
            raise Refusal.CONFLICT(f"{name} is already {status}")
        if status in ("finished", "damaged"):
            raise Refusal.CONFLICT(f"{name} is {status} and can't be resumed")
        if Run(self.catalogue.find(name)).kind not in kind_names():
            raise Refusal.CONFLICT(
                f"the page can't continue {name}, a run of another package's kind; use the command "
                "line"
            )
        self.entries.pop(name, None)  # to the end of the queue
        self._note(name, "queued")
        self._turn()

    async def stop(self, name: str, state: State) -> None:
        """Pause or cancel a run; it stops after its current step."""
        self.catalogue.find(name)
        entry = self._state(name)
        if entry == "queued" or (entry == "paused" and state == "cancelled"):
            self._note(name, state)
            return
        task = self.tasks.get(name)
        if entry != "going":
            if task is not None and entry == state:  # an earlier request asked for the same
                await asyncio.wait([task])
                return
            if task is not None:
                raise Refusal.CONFLICT(f"{name} is already being stopped")
            status = self.status(name)
            whose = " in another process" if status == "running" else ""
            raise Refusal.CONFLICT(f"{name} is {status}{whose}")
        self._note(name, state)
        if name in self.processes:  # otherwise `_process` stops it once it has started
            _hang_up(self.processes[name])
        if task is not None:
            done, _ = await asyncio.wait([task], timeout=STOP_SECONDS)
            if not done and name in self.processes:
                _kill(self.processes[name])
                await asyncio.wait([task])

    def forget(self, name: str) -> None:
        """Remove a run from the queue before it is deleted; raise if it is running."""
        status = self.status(name)
        if status in ("running", "queued") or name in self.tasks:
            raise Refusal.CONFLICT(f"{name} is {status}: cancel it first")
        if self.entries.pop(name, None) is not None:
            self._write()

    def _turn(self) -> None:
        """Start the next runs of the queue while fewer than the limit are running."""
        for name, (state, _) in list(self.entries.items()):
            if self.closing or len(self.tasks) >= self.most:
                return
            if state == "queued" and name not in self.tasks:
                self._note(name, "going")
                self.tasks[name] = asyncio.create_task(self._go(name))

    async def _go(self, name: str) -> None:
        """Execute a run until it ends or is stopped."""
        code, words = job.FAILED, ""
        try:
            for _ in range(MAX_ATTEMPTS):
                code, words = await self._process(name)
                if code != job.BUSY or self._state(name) != "going":
                    break
                await asyncio.sleep(ATTEMPT_SECONDS)
        except OSError as error:
            words = told(error)
        finally:
            self.processes.pop(name, None)
            self.tasks.pop(name, None)
        try:
            if not self.closing and self._state(name) == "going":
                self._ended(name, code, words)
            self._turn()
        except HomewardError as error:  # the folder was deleted, or can't be written
            logger.warning("%s: %s", name, told(error, self.catalogue.root))

    async def _process(self, name: str) -> tuple[int, str]:
        """Execute a run in a process; return exit code and last line of standard error."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *(*self.command, str(self.catalogue.root / name)),
            stdin=pipe,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=pipe,
            start_new_session=True,  # the server handles Ctrl-C
        )
        self.processes[name] = process
        if self.closing or self._state(name) != "going":
            _hang_up(process)  # a request to stop arrived during the start
        assert process.stderr is not None
        said = b""
        while part := await process.stderr.read(4096):
            said = (said + part)[-4096:]
        code = await process.wait()
        lines = said.decode(errors="replace").strip().splitlines()
        root = self.catalogue.root
        return code, told(lines[-1], root / name, root) if lines else ""

    def _ended(self, name: str, code: int, words: str) -> None:
        """Update the queue after the process of a run ended without a request to stop."""
        try:
            status: RunStatus | None = Run(self.catalogue.find(name)).status
        except HomewardError:
            status = None
        if status in (RunStatus.FINISHED, RunStatus.FAILED, None):
            self.entries.pop(name, None)
            self._write()
        else:
            reason = words or "its process died"
            if code == job.BUSY:
                reason = "another process is writing it"
            self._note(name, "refused", reason)
        if code != job.DONE:
            logger.warning("%s: %s", name, words or f"exit code {code}")

    def _state(self, name: str) -> State | None:
        return self.entries[name][0] if name in self.entries else None

    def _note(self, name: str, state: State, error: str | None = None) -> None:
        self.entries[name] = state, error
        self._write()

    def _write(self) -> None:
        self.revision += 1
        runs = [
            {"name": name, "state": state, "error": error}
            for name, (state, error) in self.entries.items()
        ]
        replace_json(self.path, {"format": FORMAT, "runs": runs})


def _hang_up(process: asyncio.subprocess.Process) -> None:
    """Close the standard input of a process, which makes it stop."""
    if process.stdin is not None:
        process.stdin.close()


def _kill(process: asyncio.subprocess.Process) -> None:
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
        found = [(run["name"], run["state"], run["error"]) for run in value["runs"]]
    except (HomewardError, KeyError, TypeError, ValueError) as error:
        logger.warning("%s can't be read and is ignored: %s", path.name, told(error, path.parent))
        return []
    return [
        (name, cast("State", state), error if isinstance(error, str) else None)
        for name, state, error in found
        if isinstance(name, str) and NAME.fullmatch(name) and state in STATES
    ]
