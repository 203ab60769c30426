r"""The step log: one line of JSON per step, appended and never changed.

Each line ends with a checksum. A writer may be killed at any moment, so the last line may be
incomplete: readers skip it, and the next writer truncates it. Any other invalid line means that the
file is damaged, and is refused.

Each line is flushed to the system, so a killed process loses no line. It is synced to disk unless
the last sync was less than `SYNC_SECONDS` ago, so a power cut loses at most that time. Lost steps
are computed again, with the same result.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from homeward.errors import InvalidFileError
from homeward.files import refusing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SYNC_SECONDS = 0.2

BLOCK_BYTES = 1 << 20
"""Bytes per read."""

MAX_LINE_BYTES = 64 << 20
"""A longer line is damaged: one with a warm start has a few million bytes."""

_BEFORE = b',"crc":"'
_AFTER = b'"}\n'
_TAIL = len(_BEFORE) + 8 + len(_AFTER)


@dataclass(frozen=True, slots=True)
class Record:
    """One recorded step."""

    step: int  # from 1
    state: int  # before the action
    action: int
    next_state: int
    observation: Any  # as JSON, or decoded
    status: str  # the plan's
    value: float  # of the plan: discounted reward plus bonus on the mean model
    upper: float  # upper bound on the value of every safe plan
    bounds: tuple[float, ...]  # lower bound per criterion, of the plan
    kept_bounds: tuple[float, ...]  # likewise, of its part that starts with the action
    seeds: Any = None  # JSON of the `WarmStart`, if recorded
    holding: Any = None  # JSON of the changes of `Held`, if levels are the run's


def to_line(record: Record) -> bytes:
    """Write a record as a line of the log."""
    value = {name: getattr(record, name) for name in Record.__slots__}
    for name in ("value", "upper"):
        value[name] = _to_json(value[name])
    for name in ("bounds", "kept_bounds"):
        value[name] = [_to_json(x) for x in value[name]]
    for name in ("seeds", "holding"):
        if value[name] is None:
            del value[name]
    text = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    return text[:-1] + _BEFORE + b"%08x" % zlib.crc32(text) + _AFTER


def text_of(line: bytes) -> bytes:
    """Return the JSON of a line without its checksum; raise `ValueError` if that does not fit."""
    if not line.endswith(b"\n"):
        raise ValueError("it ends in the middle")
    if line[-_TAIL : -_TAIL + len(_BEFORE)] != _BEFORE:
        raise ValueError("it has no checksum")
    text = line[:-_TAIL] + b"}"
    if line[-_TAIL + len(_BEFORE) :] != b"%08x" % zlib.crc32(text) + _AFTER:
        raise ValueError("its checksum does not fit")
    return text


def from_line(line: bytes) -> Record:
    """Read a line of the log; raise `ValueError` if it is invalid."""
    value = json.loads(text_of(line))
    for name in ("value", "upper"):
        value[name] = float(value[name])
    for name in ("bounds", "kept_bounds"):
        value[name] = tuple(float(x) for x in value[name])
    return Record(**value)


def read_log(path: Path) -> Iterator[tuple[Record, int]]:
    """Yield each record and where its line ends, without a half-written last one."""
    end = 0
    with refusing(path, "can't be read"), open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                record = from_line(line)
            except (ValueError, TypeError, KeyError) as reason:
                if file.read(1):
                    raise InvalidFileError(
                        f"{path}: line {number} is damaged: {reason}"
                    ) from reason
                return
            if record.step != number:
                raise InvalidFileError(f"{path}: line {number} holds step {record.step}")
            end += len(line)
            yield record, end


class Log:
    """The log, opened for appending by its only writer."""

    def __init__(self, path: Path, end: int) -> None:
        """Open the log and truncate it at byte `end`."""
        self.path = path
        with refusing(path, "can't be written"):
            self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            os.ftruncate(self._handle, end)
            os.fsync(self._handle)
        self._synced = time.monotonic()
        self._dirty = False

    def append(self, line: bytes) -> None:
        """Add a line."""
        with refusing(self.path, "can't be written"):
            left = memoryview(line)
            while left:
                left = left[os.write(self._handle, left) :]
            self._dirty = True
            if time.monotonic() - self._synced >= SYNC_SECONDS:
                self.sync()

    def sync(self) -> None:
        """Sync the appended lines to disk."""
        if self._dirty:
            with refusing(self.path, "can't be written"):
                os.fsync(self._handle)
            self._dirty = False
        self._synced = time.monotonic()

    def close(self) -> None:
        """Sync to disk and close."""
        try:
            self.sync()
        finally:
            os.close(self._handle)


def _to_json(value: float) -> float | str:
    """Return a float as JSON, which has no infinities."""
    return value if value - value == 0.0 else repr(value)
