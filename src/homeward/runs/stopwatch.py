"""Working time of a session, and planning time of each step.

Times are not in the step log, which must not depend on interruptions. A session's time is in the
manifest; planning times are in a file beside the log, as float32 in ms. That file is optional:
steps that it lacks have no time.
"""

from __future__ import annotations

import os
import time
from array import array
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.files import refusing

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


TYPE = np.dtype("<f4")


class Stopwatch:
    """Records the planning times of a session; the only writer of the file."""

    def __init__(self, path: Path, steps: int) -> None:
        """Open the file, padded or truncated to the number of steps."""
        self.path = path
        self.began = time.perf_counter()
        self.plans = array("d")  # s
        with refusing(path, "can't be written"):
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._handle = os.open(path, flags, 0o666)
            os.ftruncate(self._handle, min(os.fstat(self._handle).st_size // 4, steps) * 4)
            missing = steps - os.fstat(self._handle).st_size // 4
            os.write(self._handle, np.full(missing, np.nan, TYPE).tobytes())

    def lap(self, seconds: float) -> None:
        """Record the planning time of the step that was just taken."""
        self.plans.append(seconds)
        with refusing(self.path, "can't be written"):
            os.write(self._handle, np.array(1e3 * seconds, TYPE).tobytes())

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)

    def times(self) -> dict[str, Any]:
        """Return the times of the session, as fields of `Session`."""
        seconds = round(time.perf_counter() - self.began, 3)
        typical = round(1e3 * median(self.plans), 3) if self.plans else None
        return {"seconds": seconds, "plan_ms": typical}


def read_times(path: Path, after: int, to: int) -> NDArray[np.float32]:
    """Return the planning times of the steps ``after < step <= to`` in ms, NaN if unknown."""
    found = np.full(to - after, np.nan, np.float32)
    if path.is_file():
        with refusing(path, "can't be read"), open(path, "rb") as file:
            file.seek(4 * after)
            content = file.read(4 * (to - after))
        known = np.frombuffer(content[: len(content) // 4 * 4], TYPE)
        found[: len(known)] = known
    return found
