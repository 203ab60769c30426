from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeward.errors import InvalidFileError
from homeward.runs import Record
from homeward.runs.log import Log, from_line, read_log, to_line

if TYPE_CHECKING:
    from pathlib import Path

RECORD = Record(
    step=1,
    state=0,
    action=2,
    next_state=1,
    observation={"Visit": {"state": 1}},
    status="optimal",
    value=0.1,
    upper=float("-inf"),
    bounds=(0.95, 1.0),
    kept_bounds=(0.96, 1.0),
    seeds={"policies": "AA=="},
)
LINES = [to_line(replace(RECORD, step=n, value=n / 3)) for n in (1, 2, 3)]

NUMBERS = st.floats(allow_nan=False)


@given(
    st.builds(
        Record,
        step=st.integers(1, 2**31 - 1),
        state=st.integers(0, 2**31 - 1),
        action=st.integers(-1, 2**31 - 1),
        next_state=st.integers(0, 2**31 - 1),
        observation=st.recursive(st.text(), lambda inner: st.lists(inner), max_leaves=3),
        status=st.text(),
        value=NUMBERS,
        upper=NUMBERS,
        bounds=st.lists(NUMBERS, max_size=2).map(tuple),
        kept_bounds=st.lists(NUMBERS, max_size=2).map(tuple),
        seeds=st.one_of(st.none(), st.dictionaries(st.text(), st.text(), min_size=1)),
        holding=st.one_of(st.none(), st.dictionaries(st.text(), st.floats(0.0, 1.0), min_size=1)),
    )
)
def test_a_record_comes_back_from_its_line(record: Record) -> None:
    line = to_line(record)
    assert from_line(line) == record
    assert line.count(b"\n") == 1
    assert from_line(line).value.hex() == record.value.hex()


def test_a_run_without_a_budget_writes_nothing_of_one() -> None:
    assert b"holding" not in LINES[0]
    assert b'"holding":{"kept":0.9}' in to_line(replace(RECORD, holding={"kept": 0.9}))


def test_a_line_is_plain_json() -> None:
    def no_constant(name: str) -> None:
        raise AssertionError(name)

    value = json.loads(LINES[0], parse_constant=no_constant)
    assert value["upper"] == "-inf"
    assert value["bounds"] == [0.95, 1.0]


@given(st.data())
def test_no_line_with_another_byte_passes(data: st.DataObject) -> None:
    line = bytearray(LINES[0])
    at = data.draw(st.integers(0, len(line) - 1))
    line[at] = data.draw(st.integers(0, 255).filter(lambda b: b != line[at]))
    with pytest.raises(ValueError, match=r"it is incomplete|it has no|its checksum"):
        from_line(bytes(line))


@given(st.integers(0, sum(map(len, LINES))))
def test_a_log_cut_anywhere_gives_the_whole_lines_before(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "steps"
    path.write_bytes(b"".join(LINES)[:cut])
    found = list(read_log(path))
    assert [record.step for record, _ in found] == list(range(1, len(found) + 1))
    end = found[-1][1] if found else 0
    assert end == sum(map(len, LINES[: len(found)]))
    assert cut - end < len(LINES[min(len(found), 2)])


@pytest.mark.parametrize("tail", [b"\0" * 5000, b"{}\n", b'{"step":4', LINES[0][:-1] + b"x\n"])
def test_a_last_line_that_is_none_is_left_out(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "steps"
    path.write_bytes(b"".join(LINES) + tail)
    assert len(list(read_log(path))) == 3


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([LINES[0], b"garbage\n", LINES[2]], "line 2 is damaged: it has no checksum"),
        (
            [LINES[0].replace(b'"state":0', b'"state":9'), LINES[1]],
            "line 1 is damaged: its checksum is wrong",
        ),
        ([LINES[0], LINES[1][:40], LINES[2], LINES[0]], "line 2 is damaged"),
        ([LINES[0], b"\n", b"\n"], "line 2 is damaged"),
        ([LINES[0], LINES[2]], "line 2 holds step 3"),
        ([LINES[0], LINES[0]], "line 2 holds step 1"),
        ([LINES[1]], "line 1 holds step 2"),
    ],
)
def test_damage_before_the_last_line_is_refused_by_its_number(
    tmp_path: Path, lines: list[bytes], message: str
) -> None:
    path = tmp_path / "steps.jsonl"
    path.write_bytes(b"".join(lines))
    before = path.read_bytes()
    with pytest.raises(InvalidFileError, match=rf"steps\.jsonl: {message}"):
        list(read_log(path))
    assert path.read_bytes() == before


def test_opening_cuts_off_what_comes_after_and_appending_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "steps"
    path.write_bytes(LINES[0] + LINES[1][:30])
    book = Log(path, len(LINES[0]))
    book.append(LINES[1])
    book.append(LINES[2])
    assert path.read_bytes() == b"".join(LINES)  # before it is closed
    book.close()


def test_lines_reach_the_disk_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "steps"
    path.touch()
    now, synced = [0.0], []
    monkeypatch.setattr("homeward.runs.log.time.monotonic", lambda: now[0])
    book = Log(path, 0)
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(now[0]))
    for time in (0.1, 0.15, 0.3, 0.4, 5.0, 5.1):
        now[0] = time
        book.append(LINES[0])
    book.close()
    assert synced == [0.3, 5.0, 5.1]


def test_a_short_write_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "steps"
    path.touch()
    write = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, bytes(data[:7])))
    book = Log(path, 0)
    book.append(LINES[0])
    book.close()
    assert path.read_bytes() == LINES[0]


def test_a_log_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="steps: can't be read"):
        list(read_log(tmp_path / "steps"))
    with pytest.raises(InvalidFileError, match="steps: can't be written"):
        Log(tmp_path / "steps", 0)


def test_a_log_that_finds_no_room_when_it_is_closed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").touch()
    log = Log(tmp_path / "log", 0)
    log.append(b"line")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidFileError, match="log: can't be written: No space left"):
        log.close()
