r"""The step log: one line of JSON per step, appended and never changed.

Each line ends with a checksum. A writer may be killed at any moment, so the last line may be
incomplete: readers skip it, and the next writer removes it. Any other invalid line means that the
file is damaged; readers raise.

Each line is flushed to the operating system, so a killed process loses no line. A line is synced to
disk unless the last sync was less than `SYNC_SECONDS` ago, so a power cut loses at most the lines
of that time. The next session computes lost steps again, with the same result.

The log must not depend on interruptions. So planning times are in a separate file, as float32 in
ms. That file is optional: a step without an entry has no planning time.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from homeward.beliefs.observations import Transition
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.files import json_safe, refusing

SYNC_SECONDS = 0.2

MAX_NUMBER = 2**31  # states, actions and steps are smaller
MAX_LINE_BYTES = 64 << 20  # a longer line is damaged; a warm start has a few million bytes
TIME = np.dtype("<f4")  # type of a planning time
LOOK, OWN, MOVED = REPORTED = ("look", "own", "moved")
"""Status of steps of a mission that the planner did not decide: a look without an action, an action
of the user's own choice, and a vehicle that was moved. Looks and moved vehicles have the action −1.
"""

T = TypeVar("T")

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
    status: str  # of the plan
    value: float  # of the plan: discounted reward plus bonus on the mean model
    upper: float  # upper bound on the value of every safe plan
    bounds: tuple[float, ...]  # lower bound of the plan, per criterion
    kept_bounds: tuple[float, ...]  # lower bound of policies that start with the action
    seeds: Any = None  # JSON of the `WarmStart`, if recorded; the name is part of the format
    holding: Any = None  # JSON of the changes of `Held`, if levels hold for the whole run
    evaluators: Any = None  # code of the method that proved each bound
    report: Any = None  # in a mission, JSON of the report: its id, time and digests

    @property
    def move(self) -> Transition | None:
        """The move that was tried; None if none was."""
        return None if self.action < 0 else Transition(self.state, self.action, self.next_state)

    @property
    def is_decided(self) -> bool:
        """Whether the planner chose the action; in a mission, a user may choose another action."""
        return self.status not in REPORTED


def to_line(record: Record) -> bytes:
    """Return a record as a line of the log."""
    value = {name: getattr(record, name) for name in Record.__slots__}
    for name in ("value", "upper"):
        value[name] = json_safe(value[name])
    for name in ("bounds", "kept_bounds"):
        value[name] = [json_safe(x) for x in value[name]]
    for name in ("seeds", "holding", "evaluators", "report"):
        if value[name] is None:
            del value[name]
    text = json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    return text[:-1] + _BEFORE + b"%08x" % zlib.crc32(text) + _AFTER


def text_of(line: bytes) -> bytes:
    """Return the JSON of a line without its checksum; raise `ValueError` on a wrong checksum."""
    if not line.endswith(b"\n"):
        raise ValueError("it is incomplete")
    if line[-_TAIL : -_TAIL + len(_BEFORE)] != _BEFORE:
        raise ValueError("it has no checksum")
    text = line[:-_TAIL] + b"}"
    if line[-_TAIL + len(_BEFORE) :] != b"%08x" % zlib.crc32(text) + _AFTER:
        raise ValueError("its checksum is wrong")
    return text


def from_line(line: bytes) -> Record:
    """Return the record of a line of the log.

    Raise `ValueError` if the line was not written to its end, and `InvalidFileError` if it was, but
    is not a record.
    """
    text = text_of(line)
    try:
        value = json.loads(text)
        if b"\\ud" in text:  # perhaps half of a pair of surrogates, which is no text
            json.dumps(value, ensure_ascii=False).encode()
        for name in ("value", "upper"):
            value[name] = _number(value[name], name)
        for name in ("bounds", "kept_bounds"):
            value[name] = tuple(_number(bound, name) for bound in value[name])
        record = Record(**value)
    except InvalidFileError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as cause:
        raise InvalidFileError(f"it is not a record: {type(cause).__name__}: {cause}") from cause
    for name, least in (("step", 1), ("state", 0), ("action", -1), ("next_state", 0)):
        given = getattr(record, name)
        if type(given) is not int or not least <= given < MAX_NUMBER:
            what = f"the {name.replace('_', ' ')}"
            raise InvalidFileError(f"{what} is {given!r}, expected a whole number from {least}")
    kinds = {"status": str, "seeds": dict, "holding": dict, "report": dict, "evaluators": list}
    for name, kind in kinds.items():
        given = getattr(record, name)
        if not isinstance(given, kind) and (given is not None or kind is str):
            raise InvalidFileError(f"the field {name} is {given!r}, expected a {kind.__name__}")
    return record


def _number(given: Any, name: str) -> float:
    """Return a number that `json_safe` wrote; raise if it is another value."""
    if given in ("inf", "-inf", "nan") or type(given) is float:
        return float(given)
    if type(given) is int and abs(given) < MAX_NUMBER:
        return float(given)
    raise InvalidFileError(f"the field {name} has {given!r}, expected a number")


def read_lines(file: BinaryIO, parse: Callable[[bytes], T]) -> Iterator[tuple[T, int]]:
    """Yield the parsed value of each line from the current position, and its length in bytes.

    An incomplete last line is skipped.
    """
    number = 0
    while line := file.readline(MAX_LINE_BYTES):
        number += 1
        try:
            parsed = parse(line)
        except InvalidFileError as reason:
            raise InvalidFileError(f"{file.name}: line {number} is damaged: {reason}") from reason
        except ValueError as reason:
            if (line.endswith(b"\n") or len(line) == MAX_LINE_BYTES) and file.read(1):
                message = f"{file.name}: line {number} is damaged: {reason}"
                raise InvalidFileError(message) from reason
            return
        yield parsed, len(line)


def read_log(path: Path) -> Iterator[tuple[Record, int]]:
    """Yield each record and the byte offset of its end; skip an incomplete last line."""
    end = 0
    with refusing(path, "can't be read"), open(path, "rb") as file:
        for number, (record, length) in enumerate(read_lines(file, from_line), start=1):
            if record.step != number:
                raise InvalidFileError(f"{path}: line {number} holds step {record.step}")
            end += length
            yield record, end


class LogFollower:
    """Counts the valid lines of a log while it grows; each byte is read once.

    Lines that were read stay valid as long as the file is the same and has not become shorter,
    since writers remove only an incomplete last line. `damage` describes the first damaged line; it
    is None if there is no such line. An incomplete last line is not damaged.
    """

    parse: Callable[[bytes], Any] = staticmethod(text_of)

    def __init__(self, path: Path, opener: Callable[[str, int], int] | None = None) -> None:
        self.path, self.opener = path, opener
        self.damage: str | None = None
        self.ends = array("q", [0])  # 0, then the byte offset of the end of each line
        self._file: tuple[int, ...] = ()  # device, inode, size and mtime when last read
        self._tail = b""  # the last bytes before the last offset

    def __len__(self) -> int:
        return len(self.ends) - 1

    def read_on(self) -> bool:
        """Read the added lines; return False if the file may have been replaced."""
        start, known = self.ends[-1], self.damage
        with (
            refusing(self.path, "can't be read"),
            open(self.path, "rb", opener=self.opener) as file,
        ):
            stat = os.fstat(file.fileno())
            current = (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)
            if current == self._file:
                return True
            if self._file and (current[:2] != self._file[:2] or stat.st_size < start):
                return False
            file.seek(start - len(self._tail))
            if file.read(len(self._tail)) != self._tail:
                return False
            self._file, self.damage = current, None
            try:
                for parsed, length in read_lines(file, self.parse):
                    self.take(parsed)
                    self.ends.append(self.ends[-1] + length)
            except InvalidFileError:
                self.damage = f"line {len(self) + 1} is damaged"
            except InvalidInputError as fault:
                self.damage = f"line {len(self) + 1} {fault}"
            file.seek(max(0, self.ends[-1] - _TAIL))
            self._tail = file.read(self.ends[-1] - file.tell())
        return self.damage in (None, known) or not start

    def take(self, parsed: Any) -> None:
        """Process a parsed line; raise `InvalidInputError` if it can't follow the previous line."""


class Log:
    """A log that is open for appending, by its only writer."""

    def __init__(self, path: Path, end: int) -> None:
        """Open the log and truncate it at byte `end`."""
        self.path = path
        with refusing(path, "can't be written"):
            self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            os.ftruncate(self._handle, end)
            os.fsync(self._handle)
        self._synced, self._dirty = time.monotonic(), False

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


class Stopwatch:
    """Records the planning times of a session in the file `path`, as its only writer."""

    def __init__(self, path: Path, steps: int) -> None:
        """Open the file, and pad it with NaN or truncate it to the number of steps."""
        self.path = path
        self.began = time.perf_counter()
        self.plans = array("d")  # s
        with refusing(path, "can't be written"):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._handle = os.open(path, flags, 0o666)
            os.ftruncate(self._handle, min(os.fstat(self._handle).st_size // 4, steps) * 4)
            missing = steps - os.fstat(self._handle).st_size // 4
            os.write(self._handle, np.full(missing, np.nan, TIME).tobytes())

    def lap(self, seconds: float) -> None:
        """Record the planning time of the step that was just taken."""
        self.plans.append(seconds)
        with refusing(self.path, "can't be written"):
            os.write(self._handle, np.array(1e3 * seconds, TIME).tobytes())

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)

    def times(self) -> dict[str, Any]:
        """Return the values of `Session.seconds` and `Session.plan_ms`, by name."""
        seconds = round(time.perf_counter() - self.began, 3)
        plan_ms = round(1e3 * median(self.plans), 3) if self.plans else None
        return {"seconds": seconds, "plan_ms": plan_ms}


def read_times(path: Path, after: int, to: int) -> NDArray[np.float32]:
    """Return the planning times of the steps ``after < step <= to`` in ms, NaN if unknown."""
    times = np.full(to - after, np.nan, np.float32)
    if path.is_file():
        with refusing(path, "can't be read"), open(path, "rb") as file:
            file.seek(4 * after)
            content = file.read(4 * (to - after))
        known = np.frombuffer(content[: len(content) // 4 * 4], TIME)
        times[: len(known)] = known
    return times
