"""The manifest: what a run is and how far it has come."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from homeward import __version__
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.files import read_json, replace_json
from homeward.planning.explorer import End  # noqa: TC001 - Pydantic reads it
from homeward.runs.config import Strict, checked

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1
"""Grows whenever what is written could not be read by those who read the format before."""

MATTER = ("numpy", "scipy", "numba", "highspy")
"""Packages whose other versions may round differently, and so go another way."""


class RunStatus(StrEnum):
    """How a run stands."""

    RUNNING = "running"  # a process is at it
    INTERRUPTED = "interrupted"  # nobody is at it; it can be resumed
    FAILED = "failed"  # it met an error; it can be tried again
    FINISHED = "finished"  # it came to its end


class Session(Strict):
    """One process's work on a run."""

    started: str  # UTC
    ended: str | None  # None while it goes on, and for ever if it was killed
    first: int  # the first step that it took
    versions: dict[str, str]
    seconds: float = 0.0  # how long it has been at it
    plan_ms: float | None = None  # the median time of its plans, in ms


class Manifest(Strict):
    """What a run is and how far it has come, as of `updated`; the log may be a little ahead."""

    format: int
    kind: str
    config_sha256: str
    seed: int
    created: str  # UTC
    updated: str  # UTC
    status: RunStatus
    steps: int  # how many were taken
    limit: int | None  # a step limit in the place of the kind's own
    end: End | None  # why it came to an end
    error: str | None  # why it failed, with the traceback
    sessions: tuple[Session, ...]

    def write(self, path: Path) -> None:
        """Put it in the place of the one before."""
        replace_json(path, self.model_dump(mode="json"))

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read it; one of another format is refused."""
        value = read_json(path)
        check_format(value, path)
        try:
            manifest: Manifest = checked(cls, value, str(path))
        except InvalidInputError as cause:
            raise InvalidFileError(str(cause)) from cause
        return manifest


def check_format(value: object, path: Path) -> None:
    """Refuse what is not of the format that this version reads."""
    if not isinstance(value, dict) or "format" not in value:
        raise InvalidFileError(f"{path}: was not written by homeward")
    if value["format"] != FORMAT:
        raise InvalidFileError(
            f"{path}: has format {value['format']}; homeward {__version__} reads format {FORMAT}"
        )


def now() -> str:
    """Return the time, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions_here() -> dict[str, str]:
    """Return the versions of all that a way depends on; Python's own for information."""
    return {
        "homeward": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{name: _version(name) for name in MATTER},
    }


_version = lru_cache(version)


def changes(before: dict[str, str], here: dict[str, str]) -> list[str]:
    """Name what has another version now and may make a difference."""
    return [
        f"{name} {before.get(name)} is now {here[name]}"
        for name in here
        if name != "python" and before.get(name) != here[name]
    ]


def made_alike(sessions: tuple[Session, ...], first: int, last: int, here: dict[str, str]) -> bool:
    """Return whether the steps from `first` to `last` were all taken with the versions here."""
    ends = [*(session.first - 1 for session in sessions[1:]), last]
    return not any(
        changes(session.versions, here)
        for session, end in zip(sessions, ends, strict=False)
        if max(session.first, first) <= min(end, last)
    )
