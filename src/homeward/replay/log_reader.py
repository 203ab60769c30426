"""A run's step log as columns, read on while it grows.

The log is only ever appended to, but for a half-written last line, which is cut off before the next
is written. So what was read stays true as long as it is the same file and no shorter.
"""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.errors import InvalidFileError
from homeward.files import refusing
from homeward.planning.warm_start import WarmStart
from homeward.runs.log import BLOCK_BYTES, MAX_LINE_BYTES, Record, from_line

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from homeward.arrays import IntArray


class LogTail:
    """The columns of a step log, as far as it was read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.states = array("i")  # before the step
        self.actions = array("i")
        self.nexts = array("i")  # after it
        self.values = array("d")
        self.bounds = array("d")  # [N · K]
        self.kept = array("d")  # [N · K]
        self.criteria: int | None = None  # K
        self.holdings: list[Any] = []  # what each step changed of what is held, as it was recorded
        self.seeded = array("i")  # the steps whose seeds are in the log
        self._places: list[tuple[int, int]] = []  # where those lines begin and end
        self._end = 0  # of the last whole line
        self._file: tuple[int, int] | None = None

    def __len__(self) -> int:
        return len(self.states)

    def read_on(self) -> bool:
        """Read what was added; False where the file is another now or shorter than it was."""
        with refusing(self.path, "can't be read"), open(self.path, "rb") as file:
            found = os.fstat(file.fileno())
            here = (found.st_dev, found.st_ino)
            if self._file not in (None, here) or found.st_size < self._end:
                return False
            self._file = here
            file.seek(self._end)
            left = b""
            while block := file.read(BLOCK_BYTES):
                *lines, left = (left + block).split(b"\n")
                if len(left) > MAX_LINE_BYTES:
                    raise InvalidFileError(f"{self.path}: line {len(self) + 1} is damaged")
                for number, line in enumerate(lines):
                    if not self._take(line + b"\n"):
                        if number + 1 < len(lines) or left or file.read(1):
                            raise InvalidFileError(f"{self.path}: line {len(self) + 1} is damaged")
                        return True
        return True

    def path_to(self, step: int) -> IntArray:
        """Give the states [k + 1] from the start to after step k."""
        return np.concatenate((self.states[:1], self.nexts[:step]), dtype=np.int32)

    def columns(self, after: int, to: int) -> dict[str, NDArray[Any]]:
        """Give the columns of the steps ``after < step <= to``."""
        part, many = slice(after, to), self.criteria or 0
        wide = slice(after * many, to * many)

        def table(values: array[float]) -> NDArray[Any]:
            return np.array(values[wide], np.float64).reshape(to - after, many)

        return {
            "state": np.array(self.states[part], np.int32),
            "action": np.array(self.actions[part], np.int32),
            "next": np.array(self.nexts[part], np.int32),
            "bound": table(self.bounds),
            "kept": table(self.kept),
            "value": np.array(self.values[part], np.float64),
        }

    def bounds_of(self, step: int) -> list[float]:
        """Give the recorded bounds [K] of a step, from 1."""
        many = self.criteria or 0
        return list(self.bounds[(step - 1) * many : step * many])

    def seeds_at(self, step: int) -> tuple[int, WarmStart] | None:
        """Give the last seeds that were recorded by a step, and that step."""
        at = int(np.searchsorted(np.array(self.seeded, np.int32), step, side="right")) - 1
        if at < 0:
            return None
        first, last = self._places[at]
        with refusing(self.path, "can't be read"), open(self.path, "rb") as file:
            file.seek(first)
            line = file.read(last - first)
        try:
            return self.seeded[at], WarmStart.decode(from_line(line).seeds)
        except (ValueError, TypeError, KeyError) as cause:
            raise InvalidFileError(f"{self.path}: step {self.seeded[at]} is damaged") from cause

    def _take(self, line: bytes) -> bool:
        """Take a line in; False if it is not as it was written."""
        try:
            record = from_line(line)
        except (ValueError, TypeError, KeyError):
            return False
        if record.step != len(self) + 1:
            raise InvalidFileError(f"{self.path}: line {len(self) + 1} holds step {record.step}")
        if self.criteria is None:
            self.criteria = len(record.bounds)
        if not len(record.bounds) == len(record.kept_bounds) == self.criteria:
            raise InvalidFileError(
                f"{self.path}: step {record.step} has {len(record.bounds)} bounds, the first "
                f"{self.criteria}"
            )
        self._add(record)
        if record.seeds is not None:
            self.seeded.append(record.step)
            self._places.append((self._end, self._end + len(line)))
        self._end += len(line)
        return True

    def _add(self, record: Record) -> None:
        self.states.append(record.state)
        self.actions.append(record.action)
        self.nexts.append(record.next_state)
        self.values.append(record.value)
        self.holdings.append(record.holding)
        self.bounds.extend(record.bounds)
        self.kept.extend(record.kept_bounds)
