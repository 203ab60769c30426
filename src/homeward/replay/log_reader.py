"""Reader of a step log as columns; it can read on while the log grows."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from homeward.arrays import IntArray
from homeward.beliefs.observations import Transition
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.files import refusing
from homeward.planning.warm_start import WarmStart
from homeward.runs.log import LogFollower, Record, from_line
from homeward.runs.observation_codec import decode


class LogReader(LogFollower):
    """The columns of a step log with N steps read so far and K criteria."""

    parse = staticmethod(from_line)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.states = array("i")  # [N] before the step
        self.actions = array("i")
        self.nexts = array("i")  # [N] after the step
        self.values = array("d")
        self.bounds = array("d")  # [N · K]
        self.kept = array("d")  # [N · K]
        self.criteria: int | None = None  # K
        self.holdings: list[Any] = []  # [N] recorded change of `Held`, as JSON
        self.decided = array("b")  # [N] whether the action was decided, not reported
        self.warm_steps = array("i")  # numbers of the steps with a recorded warm start

    def take(self, parsed: Record) -> None:
        """Append a record to the columns; raise if it can't follow the previous record."""
        record = parsed
        if record.step != len(self) + 1:
            raise InvalidInputError(f"holds step {record.step}")
        if self.criteria is None:
            self.criteria = len(record.bounds)
        if not len(record.bounds) == len(record.kept_bounds) == self.criteria:
            count = len(record.bounds)
            raise InvalidInputError(f"has {count} bounds, the first line has {self.criteria}")
        self.states.append(record.state)
        self.actions.append(record.action)
        self.nexts.append(record.next_state)
        self.values.append(record.value)
        self.holdings.append(record.holding)
        self.decided.append(record.is_decided)
        self.bounds.extend(record.bounds)
        self.kept.extend(record.kept_bounds)
        if record.seeds is not None:
            self.warm_steps.append(record.step)

    def path_to(self, step: int) -> IntArray:
        """Return the states [step + 1] from the start to the state after `step` steps."""
        return np.concatenate((self.states[:1], self.nexts[:step]), dtype=np.int32)

    def columns(self, after: int, to: int) -> dict[str, NDArray[Any]]:
        """Return the columns of the steps ``after < step <= to``, by name."""
        part, count = slice(after, to), self.criteria or 0
        wide, shape = slice(after * count, to * count), (to - after, count)
        return {
            "state": np.array(self.states[part], np.int32),
            "action": np.array(self.actions[part], np.int32),
            "next": np.array(self.nexts[part], np.int32),
            "bound": np.array(self.bounds[wide], np.float64).reshape(shape),
            "kept": np.array(self.kept[wide], np.float64).reshape(shape),
            "value": np.array(self.values[part], np.float64),
        }

    def bounds_of(self, step: int) -> list[float]:
        """Return the recorded bounds [K] of a step; steps count from 1."""
        count = self.criteria or 0
        return list(self.bounds[(step - 1) * count : step * count])

    def warm_start_at(self, step: int) -> tuple[int, WarmStart] | None:
        """Return the step and value of the last warm start recorded up to `step`, or None."""
        index = bisect_right(self.warm_steps, step) - 1
        if index < 0:
            return None
        last = self.warm_steps[index]
        return last, WarmStart.decode(self._record(last).seeds)

    def observation(self, step: int, types: Sequence[type]) -> Any:
        """Return the decoded observation of a step; steps count from 1."""
        return decode(self._record(step).observation, types)

    def move(self, step: int) -> Transition | None:
        """Return the move of a step; None if none was tried."""
        state, action, there = (part[step - 1] for part in (self.states, self.actions, self.nexts))
        return None if action < 0 else Transition(state, action, there)

    def refuted(self, step: int) -> bool:
        """Return whether the belief was refuted within a number of steps."""
        holding = self.holdings[step - 1] if step else None
        return isinstance(holding, dict) and holding.get("refuted") is True

    def _record(self, step: int) -> Record:
        """Read the record of a step from the file."""
        begin, end = self.ends[step - 1 : step + 1]
        with refusing(self.path, "can't be read"), open(self.path, "rb") as file:
            file.seek(begin)
            line = file.read(end - begin)
        try:
            return from_line(line)
        except (ValueError, TypeError, KeyError) as cause:
            raise InvalidFileError(f"{self.path}: line {step} is damaged") from cause
