"""Runs that the server has going: started, queued, paused, resumed and cancelled.

Each is a process of its own (`job`); so many go at once, and the rest wait their turn. What was
asked for is kept in a journal, a file that is replaced as a whole, so that a server that was killed
goes on, when it is started again, with what was going.
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
from homeward.web.catalogue import NAME, Catalogue, Standing, State
from homeward.web.refusals import Refusal, RefusalError, told

if TYPE_CHECKING:
    from pathlib import Path

JOURNAL = ".serve.json"
FORMAT = 1
STATES = ("queued", "going", "paused", "cancelled", "refused")
COMMAND = (sys.executable, "-P", "-m", "homeward.web.job")
"""What takes a run to its end, but for the run's folder; it imports nothing from where it is."""

PATIENCE = 15.0
"""Seconds that a process has to stop by itself; its run can be resumed even if it has not."""

TRIES = 20
"""How often a run is tried again while another process is at it; half a second apart."""

logger = logging.getLogger("homeward")


class Jobs:
    """The runs that the server has to do with."""

    def __init__(self, catalogue: Catalogue, most: int, command: tuple[str, ...] = COMMAND) -> None:
        self.catalogue, self.most, self.command = catalogue, most, command
        self.path: Path = catalogue.root / JOURNAL
        self.entries: dict[str, tuple[State, str | None]] = {}  # in the order of the queue
        self.revision = 0  # grows with every change
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.closing = False

    def open(self) -> None:
        """Take the journal up where it was left, what was going first."""
        for name, state, error in _read(self.path):
            try:
                ours = Run(self.catalogue.find(name)).kind in kind_names()
            except HomewardError:
                continue
            if ours:  # a kind from elsewhere would have a process import what the run names
                self.entries[name] = state, error
        going = [name for name, (state, _) in self.entries.items() if state == "going"]
        others = [name for name in self.entries if name not in going]
        self.entries = {name: self.entries[name] for name in (*going, *others)}
        for name in going:
            self.entries[name] = "queued", None
        self._write()
        self._turn()

    async def close(self) -> None:
        """Stop all that is going; the journal still says that it was."""
        self.closing = True
        for process in self.processes.values():
            _hang_up(process)
        if self.tasks:
            await asyncio.wait(list(self.tasks.values()), timeout=PATIENCE)
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.kill()
        if self.tasks:
            await asyncio.wait(list(self.tasks.values()))

    def standing(self, name: str) -> Standing | None:
        """Tell what the server has to do with a run."""
        entries = self.entries.copy()  # the list of runs is made in a thread
        if name not in entries:
            return None
        state, error = entries[name]
        place = None
        if state == "queued":
            place = 1 + [n for n, (s, _) in entries.items() if s == "queued"].index(name)
        return Standing(state, place, error)

    def status(self, name: str) -> str:
        """Give a run's status as it is told."""
        return str(self.catalogue.summary(name, self.standing(name))["status"])

    def start(self, name: str) -> None:
        """Queue a run that is not going; one that is being stopped goes on once it has."""
        status = self.status(name)
        entry = self.entries.get(name, (None, None))[0]
        stopping = name in self.tasks and entry in ("paused", "cancelled")
        if status in ("running", "queued") and not stopping:
            raise RefusalError(Refusal.CONFLICT, f"{name} is {status} already")
        if status in ("finished", "damaged"):
            raise RefusalError(Refusal.CONFLICT, f"{name} is {status} and can't go on")
        if Run(self.catalogue.find(name)).kind not in kind_names():
            raise RefusalError(
                Refusal.CONFLICT, f"{name} is of a kind from elsewhere; resume it by command"
            )
        self.entries.pop(name, None)  # to the end of the queue
        self._note(name, "queued")
        self._turn()

    async def stop(self, name: str, state: State) -> None:
        """Pause or cancel a run: it stops after its step."""
        self.catalogue.find(name)
        entry = self.entries.get(name, (None, None))[0]
        if entry == "queued" or (entry == "paused" and state == "cancelled"):
            self._note(name, state)
            return
        task = self.tasks.get(name)
        if entry != "going":
            if task is not None and entry == state:  # somebody has asked for the same
                await asyncio.wait([task])
                return
            if task is not None:
                raise RefusalError(Refusal.CONFLICT, f"{name} is being stopped already")
            status = self.status(name)
            whose = ", by another process" if status == "running" else ""
            raise RefusalError(Refusal.CONFLICT, f"{name} is {status}{whose}")
        self._note(name, state)
        if name in self.processes:  # or it is being started, and stopped then
            _hang_up(self.processes[name])
        if task is not None:
            done, _ = await asyncio.wait([task], timeout=PATIENCE)
            if not done and name in self.processes:
                with suppress(ProcessLookupError):
                    self.processes[name].kill()
                await asyncio.wait([task])

    def forget(self, name: str) -> None:
        """Let go of a run that is to be removed; refuse while it is going."""
        status = self.status(name)
        if status in ("running", "queued") or name in self.tasks:
            raise RefusalError(Refusal.CONFLICT, f"{name} is {status}: cancel it first")
        if self.entries.pop(name, None) is not None:
            self._write()

    def _turn(self) -> None:
        """Start what is next in the queue while there is room."""
        for name, (state, _) in list(self.entries.items()):
            if self.closing or len(self.tasks) >= self.most:
                return
            if state == "queued" and name not in self.tasks:
                self._note(name, "going")
                self.tasks[name] = asyncio.create_task(self._go(name))

    async def _go(self, name: str) -> None:
        """See a run through to its end, or to where it is stopped."""
        code, words = job.FAILED, ""
        try:
            for _ in range(TRIES):
                code, words = await self._process(name)
                if code != job.BUSY or self.entries.get(name, ("", None))[0] != "going":
                    break
                await asyncio.sleep(0.5)
        except OSError as error:
            words = told(error)
        finally:
            self.processes.pop(name, None)
            self.tasks.pop(name, None)
        try:
            if not self.closing and self.entries.get(name, ("", None))[0] == "going":
                self._ended(name, code, words)
            self._turn()
        except HomewardError as error:  # the folder is gone, or can't be written
            logger.warning("%s: %s", name, told(error, self.catalogue.root))

    async def _process(self, name: str) -> tuple[int, str]:
        """Run the process; give its exit code and what it said last."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *(*self.command, str(self.catalogue.root / name)),
            stdin=pipe,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=pipe,
            start_new_session=True,  # Ctrl-C is the server's to handle
        )
        self.processes[name] = process
        if self.closing or self.entries.get(name, ("", None))[0] != "going":
            _hang_up(process)  # it was stopped while it was being started
        assert process.stderr is not None
        said = b""
        while part := await process.stderr.read(4096):
            said = (said + part)[-4096:]
        code = await process.wait()
        lines = said.decode(errors="replace").strip().splitlines()
        root = self.catalogue.root
        return code, told(lines[-1], root / name, root) if lines else ""

    def _ended(self, name: str, code: int, words: str) -> None:
        """Note how a run ended that nobody stopped."""
        try:
            status: RunStatus | None = Run(self.catalogue.find(name)).status
        except HomewardError:
            status = None
        if status in (RunStatus.FINISHED, RunStatus.FAILED, None):
            self.entries.pop(name, None)
            self._write()
        else:
            reason = words or "its process ended before the run did"
            if code == job.BUSY:
                reason = "another process is writing it"
            self._note(name, "refused", reason)
        if code != job.DONE:
            logger.warning("%s: %s", name, words or f"exit code {code}")

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
    """Close the process's input, upon which it stops."""
    if process.stdin is not None:
        process.stdin.close()


def _read(path: Path) -> list[tuple[str, State, str | None]]:
    """Read a journal; one that can't be read is as good as none, since runs are kept themselves."""
    if not path.is_file() or path.is_symlink():
        return []
    try:
        value: Any = read_json(path)
        if value["format"] != FORMAT:
            raise ValueError(f"format {value['format']}")
        found = [(run["name"], run["state"], run["error"]) for run in value["runs"]]
    except (HomewardError, KeyError, TypeError, ValueError) as error:
        logger.warning("%s is not read: %s", path.name, told(error, path.parent))
        return []
    return [
        (name, cast("State", state), error if isinstance(error, str) else None)
        for name, state, error in found
        if isinstance(name, str) and NAME.fullmatch(name) and state in STATES
    ]
