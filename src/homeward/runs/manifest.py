"""The manifest of a run: kind, versions, sessions, status and number of steps."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from importlib.metadata import version
from pathlib import Path

from homeward import __version__
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.files import read_json, replace_json
from homeward.planning.ends import End
from homeward.runs.config import Strict, checked

FORMAT: int = 1  # of runs
MISSION_FORMAT: int = 2  # of missions; versions that know only runs refuse it
FORMATS = (FORMAT, MISSION_FORMAT)
"""Formats that this version reads. A format that earlier versions can't read gets a new number."""

RELEVANT_PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "highspy",
)  # their versions may change a run


class RunStatus(StrEnum):
    """Status of a run."""

    RUNNING = "running"  # a process is working on it
    INTERRUPTED = "interrupted"  # no process is working on it; it can be resumed
    FAILED = "failed"  # stopped by an error; it can be resumed
    FINISHED = "finished"  # the exploration ended; see `Manifest.end`
    WAITING = "waiting"  # a mission: the next report comes from outside


class Session(Strict):
    """The work of one process on a run."""

    started: str  # UTC
    ended: str | None  # UTC; None if the process is running or was killed
    first: int  # number of its first step
    versions: dict[str, str]
    seconds: float = 0.0  # working time
    plan_ms: float | None = None  # median planning time in ms


class Manifest(Strict):
    """The manifest of a run at the time `updated`; the log may have a few more steps."""

    format: int
    kind: str
    config_sha256: str
    seed: int
    created: str  # UTC
    updated: str  # UTC
    status: RunStatus
    steps: int  # number of steps taken
    limit: int | None  # overrides the step limit of the setup
    end: End | None  # why the exploration ended
    error: str | None  # traceback, if the run failed
    sessions: tuple[Session, ...]

    def write(self, path: Path) -> None:
        """Write the manifest, and replace the previous one."""
        replace_json(path, self.model_dump(mode="json"))

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Return the manifest of a file; raise if the file has another format."""
        value = read_json(path)
        check_format(value, path)
        try:
            manifest: Manifest = checked(cls, value, str(path))
        except InvalidInputError as cause:
            raise InvalidFileError(str(cause)) from cause
        return manifest


def check_format(value: object, path: Path) -> None:
    """Raise if a file does not have the format of this version."""
    if not isinstance(value, dict) or "format" not in value:
        raise InvalidFileError(f"{path}: was not written by homeward")
    if value["format"] not in FORMATS:
        raise InvalidFileError(
            f"{path}: has format {value['format']}; homeward {__version__} reads formats "
            f"up to {MISSION_FORMAT}"
        )


def now() -> str:
    """Return the current UTC time, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def versions_here() -> dict[str, str]:
    """Return the current versions of Python and of packages that a run depends on, by name.

    The name "machine" has the type of the processor.
    """
    versions = {"homeward": __version__, "python": platform.python_version()}
    versions["machine"] = platform.machine()
    return versions | {name: version(name) for name in RELEVANT_PACKAGES}


def changes(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """Return a text for each version that differs; the version of Python is ignored."""
    return [
        f"{name} {before.get(name)} is now {now[name]}"
        for name in now
        if name != "python" and before.get(name) != now[name]
    ]


def made_with(
    versions: dict[str, str], sessions: tuple[Session, ...], first: int, last: int
) -> bool:
    """Return whether all steps from `first` to `last` were taken with the given versions."""
    ends = [*(session.first - 1 for session in sessions[1:]), last]
    return not any(
        changes(session.versions, versions)
        for session, end in zip(sessions, ends, strict=False)
        if max(session.first, first) <= min(end, last)
    )
