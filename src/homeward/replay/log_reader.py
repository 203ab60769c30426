"""Readers that follow a step log while it grows.

The log is only ever appended to, except that a half-written last line is cut off before the next is
written. So what was read stays valid as long as the file is the same and has not become shorter.
"""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.errors import InvalidFileError
from homeward.files import refusing
from homeward.planning.warm_start import WarmStart
from homeward.runs.log import BLOCK_BYTES, MAX_LINE_BYTES, Record, from_line, text_of
from homeward.runs.observations import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from homeward.arrays import IntArray

DAMAGED = "is damaged"


class LogFollower:
    """Counts the intact lines of a log; each byte is read once.

    Attributes
    ----------
    damage
        What is wrong with the first damaged line. A half-written last line is not damage.
    """

    def __init__(self, path: Path, opener: Callable[[str, int], int] | None = None) -> None:
        self.path, self.opener = path, opener
        self.damage: str | None = None
        self._ends = array("q")  # the byte after each line
        self._file: tuple[int, ...] = ()  # device, inode, size and time when last read

    def __len__(self) -> int:
        return len(self._ends)

    def read_on(self) -> bool:
        """Read the added lines; return False if the file may have been replaced."""
        begun, known = self._begin(len(self)), self.damage
        with (
            refusing(self.path, "can't be read"),
            open(self.path, "rb", opener=self.opener) as file,
        ):
            found = os.fstat(file.fileno())
            here = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
            if here == self._file:
                return True
            if self._file and (here[:2] != self._file[:2] or found.st_size < begun):
                return False
            self._file = here
            file.seek(begun)
            self.damage = self._read(file)
        return self.damage in (None, known) or not begun

    def fault(self, line: bytes) -> str | None:
        """Return what is wrong with the next line; None if it is intact."""
        try:
            text_of(line)
        except ValueError:
            return DAMAGED
        return None

    def _read(self, file: Any) -> str | None:
        """Read to the end or to the first damaged line; return what is wrong with that one."""
        left = b""
        while block := file.read(BLOCK_BYTES):
            *lines, left = (left + block).split(b"\n")
            for number, line in enumerate(lines, start=1):
                fault = self.fault(line + b"\n")
                if fault == DAMAGED and number == len(lines) and not (left or file.read(1)):
                    return None
                if fault is not None:
                    return f"line {len(self) + 1} {fault}"
                self._ends.append(self._begin(len(self)) + len(line) + 1)
            if len(left) > MAX_LINE_BYTES:
                return f"line {len(self) + 1} {DAMAGED}"
        return None

    def _begin(self, lines: int) -> int:
        """Return the offset in bytes after a number of lines."""
        return self._ends[lines - 1] if lines else 0


class LogReader(LogFollower):
    """The columns of a step log, as far as it was read: N steps, K criteria."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.states = array("i")  # [N] before the step
        self.actions = array("i")
        self.nexts = array("i")  # [N] after the step
        self.values = array("d")
        self.bounds = array("d")  # [N · K]
        self.kept = array("d")  # [N · K]
        self.criteria: int | None = None  # K
        self.holdings: list[Any] = []  # recorded change of what is held, per step
        self.seeded = array("i")  # the steps that have a warm start in the log

    def fault(self, line: bytes) -> str | None:
        """Append the next line to the columns, or return what is wrong with it."""
        try:
            record = from_line(line)
        except (ValueError, TypeError, KeyError):
            return DAMAGED
        if record.step != len(self) + 1:
            return f"holds step {record.step}"
        if self.criteria is None:
            self.criteria = len(record.bounds)
        if not len(record.bounds) == len(record.kept_bounds) == self.criteria:
            return f"has {len(record.bounds)} bounds, the first line has {self.criteria}"
        self.states.append(record.state)
        self.actions.append(record.action)
        self.nexts.append(record.next_state)
        self.values.append(record.value)
        self.holdings.append(record.holding)
        self.bounds.extend(record.bounds)
        self.kept.extend(record.kept_bounds)
        if record.seeds is not None:
            self.seeded.append(record.step)
        return None

    def path_to(self, step: int) -> IntArray:
        """Return the states [k + 1] from the start to after step k."""
        return np.concatenate((self.states[:1], self.nexts[:step]), dtype=np.int32)

    def columns(self, after: int, to: int) -> dict[str, NDArray[Any]]:
        """Return the columns of the steps ``after < step <= to``."""
        part, many = slice(after, to), self.criteria or 0
        wide, shape = slice(after * many, to * many), (to - after, many)
        return {
            "state": np.array(self.states[part], np.int32),
            "action": np.array(self.actions[part], np.int32),
            "next": np.array(self.nexts[part], np.int32),
            "bound": np.array(self.bounds[wide], np.float64).reshape(shape),
            "kept": np.array(self.kept[wide], np.float64).reshape(shape),
            "value": np.array(self.values[part], np.float64),
        }

    def bounds_of(self, step: int) -> list[float]:
        """Return the recorded bounds [K] of a step, from 1."""
        many = self.criteria or 0
        return list(self.bounds[(step - 1) * many : step * many])

    def seeds_at(self, step: int) -> tuple[int, WarmStart] | None:
        """Return the last warm start that was recorded up to a step, with its step."""
        at = int(np.searchsorted(np.array(self.seeded, np.int32), step, side="right")) - 1
        if at < 0:
            return None
        return self.seeded[at], WarmStart.decode(self._record(self.seeded[at]).seeds)

    def observation(self, step: int, types: Sequence[type]) -> Any:
        """Return the observation that was recorded in a step, from 1."""
        return decode(self._record(step).observation, types)

    def _record(self, step: int) -> Record:
        """Read the record of a step again."""
        begin = self._begin(step - 1)
        with refusing(self.path, "can't be read"), open(self.path, "rb") as file:
            file.seek(begin)
            line = file.read(self._ends[step - 1] - begin)
        try:
            return from_line(line)
        except (ValueError, TypeError, KeyError) as cause:
            raise InvalidFileError(f"{self.path}: line {step} is damaged") from cause
