from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from homeward.replay.log_reader import LogReader
from homeward.runs import Run, WarmStart

if TYPE_CHECKING:
    from pathlib import Path


def whole(log: Path) -> LogReader:
    tail = LogReader(log)
    assert tail.read_on()
    return tail


@pytest.fixture
def log(runs: Path, tmp_path: Path) -> Path:
    shutil.copy(runs / "grid-safe" / "steps.jsonl", tmp_path / "steps.jsonl")
    return tmp_path / "steps.jsonl"


def test_the_columns_are_the_records(runs: Path) -> None:
    tail = whole(runs / "grid-safe" / "steps.jsonl")
    records = list(Run(runs / "grid-safe").records())
    columns = tail.columns(0, len(tail))
    assert len(tail) == len(records) > 5
    assert columns["state"].tolist() == [r.state for r in records]
    assert columns["action"].tolist() == [r.action for r in records]
    assert columns["next"].tolist() == [r.next_state for r in records]
    assert columns["value"].tolist() == [r.value for r in records]
    assert columns["bound"].tolist() == [list(r.bounds) for r in records]
    assert columns["kept"].tolist() == [list(r.kept_bounds) for r in records]
    assert tail.bounds_of(2) == list(records[1].bounds)


def test_a_part_of_the_columns_is_a_part_of_the_records(runs: Path) -> None:
    tail = whole(runs / "grid-safe" / "steps.jsonl")
    part, all_of_it = tail.columns(2, 5), tail.columns(0, len(tail))
    for name in part:
        np.testing.assert_array_equal(part[name], all_of_it[name][2:5])


def test_an_explorer_without_criteria_has_columns_of_no_width(runs: Path) -> None:
    tail = whole(runs / "grid-unsafe" / "steps.jsonl")
    assert tail.columns(0, len(tail))["bound"].shape == (len(tail), 0)


def test_the_path_begins_at_the_start(runs: Path) -> None:
    tail = whole(runs / "grid-safe" / "steps.jsonl")
    assert tail.path_to(0).tolist() == [tail.states[0]]
    for step in (3, len(tail)):
        assert tail.path_to(step).tolist() == [tail.states[0], *tail.nexts[:step]]


def test_it_reads_on_as_the_log_grows_line_by_line_and_byte_by_byte(log: Path) -> None:
    data = log.read_bytes()
    log.write_bytes(b"")
    tail = LogReader(log)
    seen = set()
    for end in range(0, len(data), 997):
        with open(log, "r+b") as file:
            file.seek(0)
            file.write(data[:end])
        assert tail.read_on()
        assert len(tail) == data[:end].count(b"\n")
        seen.add(len(tail))
    assert len(seen) > 3


def test_a_half_written_last_line_is_left_out_and_may_be_cut_off(log: Path) -> None:
    data = log.read_bytes()
    lines = data.splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:3]) + lines[3][:20])
    tail = whole(log)
    assert len(tail) == 3
    with open(log, "r+b") as file:
        file.truncate(sum(map(len, lines[:3])))
    assert tail.read_on()
    with open(log, "ab") as file:
        file.write(lines[3])
    assert tail.read_on()
    assert len(tail) == 4


def test_a_file_that_is_shorter_than_what_was_read_is_another(log: Path) -> None:
    tail = whole(log)
    with open(log, "r+b") as file:
        file.truncate(10)
    assert not tail.read_on()


def test_a_file_that_was_put_in_its_place_is_another(log: Path) -> None:
    tail = whole(log)
    other = log.with_name("other")
    shutil.copy(log, other)
    other.rename(log)
    assert not tail.read_on()


def test_a_file_that_was_written_anew_is_another_though_it_is_longer(log: Path) -> None:
    whole_log = log.read_bytes()
    lines = whole_log.splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:3]))
    tail = whole(log)
    assert len(tail) == 3
    short = b"x" * (len(lines[2]) - len(lines[3]) - 1 + len(lines[1])) + b"\n"
    log.write_bytes(b"".join([lines[0], short, *lines[3:]]))  # a line ends where the third did
    assert not tail.read_on()
    assert len(tail) == 3
    log.write_bytes(whole_log)
    assert tail.read_on()
    assert len(tail) == len(lines)


def test_a_damaged_line_is_told_with_its_number(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"action":', b'"akcion":')
    log.write_bytes(b"".join(lines))
    tail = whole(log)
    assert (len(tail), tail.damage) == (2, "line 3 is damaged")


def test_a_step_that_is_missing_is_told(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0], *lines[2:]]))
    tail = whole(log)
    assert (len(tail), tail.damage) == (1, "line 2 holds step 3")


def test_seeds_are_the_last_that_were_recorded(runs: Path) -> None:
    tail = whole(runs / "rover-paper" / "steps.jsonl")
    recorded = {r.step: r.seeds for r in Run(runs / "rover-paper").records() if r.seeds is not None}
    assert list(tail.warm_steps) == list(recorded)
    first = min(recorded)
    assert tail.warm_start_at(first - 1) is None
    for step in (first, len(tail)):
        found = tail.warm_start_at(step)
        assert found is not None
        known = WarmStart.decode(recorded[found[0]])
        assert found[0] <= step
        np.testing.assert_array_equal(found[1].outbound, known.outbound)
        assert found[1].multipliers == known.multipliers
