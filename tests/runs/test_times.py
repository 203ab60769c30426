from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import pytest

from homeward.errors import InvalidFileError
from homeward.runs.log import Stopwatch, read_times

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Stopwatch]:
    found = Stopwatch(tmp_path / "times", 0)
    yield found
    found.close()


def test_the_median_time_of_a_plan_is_noted(watch: Stopwatch) -> None:
    time.sleep(0.01)
    for seconds in (0.05, 0.01, 0.03):
        watch.lap(seconds)
    times = watch.times()
    assert times["plan_ms"] == 30.0
    assert times["seconds"] >= 0.01


def test_who_has_not_planned_has_no_median(watch: Stopwatch) -> None:
    assert watch.times()["plan_ms"] is None


def test_the_time_of_each_step_is_noted(watch: Stopwatch) -> None:
    for seconds in (0.01, 0.03):
        watch.lap(seconds)
    noted = read_times(watch.path, 0, 3)
    assert noted[:2].tolist() == pytest.approx([10.0, 30.0])
    assert math.isnan(noted[2])
    assert read_times(watch.path, 1, 2) == noted[1]


@pytest.mark.parametrize(
    ("size", "steps", "kept"), [(12, 3, 3), (13, 3, 3), (12, 5, 3), (12, 2, 2), (0, 2, 0)]
)
def test_times_are_mended_to_the_steps_that_were_recorded(
    tmp_path: Path, size: int, steps: int, kept: int
) -> None:
    path = tmp_path / "times"
    path.write_bytes(bytes(size))
    watch = Stopwatch(path, steps)
    watch.lap(7.5e-3)
    watch.close()
    found = read_times(path, 0, steps + 1).tolist()
    assert found[:kept] == [0.0] * kept
    assert all(math.isnan(time) for time in found[kept:steps])
    assert found[steps:] == [7.5]
    assert path.stat().st_size == 4 * (steps + 1)


def test_times_that_are_not_there_are_not_known(tmp_path: Path) -> None:
    assert all(math.isnan(time) for time in read_times(tmp_path / "none", 3, 6))


def test_times_that_can_not_be_written_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="can't be written"):
        Stopwatch(tmp_path / "none" / "times", 0)
