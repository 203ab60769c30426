from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

import homeward
from homeward.errors import InvalidFileError
from homeward.runs import BusyError
from homeward.studies import StudyFile, TaskOutcome, define
from homeward.studies import study_file as module

if TYPE_CHECKING:
    from pathlib import Path

STUDY = define("s", "x:y", [{"a": 1}, {"a": 2}], [5, 6])
DONE = TaskOutcome(2, {"value": 0.1, "big": float("inf"), "name": "ä"}, None, 0.5)
FAILED = TaskOutcome(1, None, "Traceback: no", 0.1)


def test_a_new_study_has_everything_left(tmp_path: Path) -> None:
    with StudyFile.open(tmp_path / "s.sqlite", STUDY) as study_file:
        assert study_file.left() == [0, 1, 2, 3]
        assert study_file.done == 0
        assert list(study_file.outcomes()) == []
    assert [p.name for p in tmp_path.iterdir()] == ["s.sqlite"]


def test_what_is_entered_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with StudyFile.open(path, STUDY) as study_file:
        study_file.record([DONE, FAILED])
    with StudyFile.open(path, STUDY) as study_file:
        assert list(study_file.outcomes()) == [FAILED, DONE]
        assert study_file.failures() == [FAILED]
        assert study_file.left() == [0, 1, 3]  # what failed is tried again
        assert study_file.done == 1


def test_a_task_that_is_tried_again_has_one_entry(tmp_path: Path) -> None:
    with StudyFile.open(tmp_path / "s.sqlite", STUDY) as study_file:
        study_file.record([FAILED])
        study_file.record([TaskOutcome(1, {"value": 1}, None, 0.1)])
        assert [o.row for o in study_file.outcomes()] == [{"value": 1}]


def test_outcomes_are_entered_all_or_none(tmp_path: Path) -> None:
    bad = TaskOutcome(3, None, None, 0.1)  # neither a row nor an error
    with StudyFile.open(tmp_path / "s.sqlite", STUDY) as study_file:
        with pytest.raises(InvalidFileError, match=r"s\.sqlite: can't be written: CHECK"):
            study_file.record([DONE, bad])
        assert study_file.done == 0
        study_file.record([DONE])
        assert study_file.done == 1


def test_another_program_reads_the_file(tmp_path: Path) -> None:
    with StudyFile.open(tmp_path / "s.sqlite", STUDY) as study_file:
        study_file.record([DONE])
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as base:
        query = "SELECT seed, cell ->> 'a', row ->> 'value', row ->> 'name' FROM task"
        assert base.execute(query).fetchall() == [(5, 2, 0.1, "ä")]


def test_a_study_can_be_read_while_it_is_written_but_not_written_twice(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with StudyFile.open(path, STUDY) as study_file:
        study_file.record([DONE])
        with StudyFile.read(path) as reader:
            assert reader.done == 1
            assert reader.study == STUDY
        with (
            pytest.raises(BusyError, match=rf"s\.sqlite: process {os.getpid()} on"),
            StudyFile.open(path, STUDY),
        ):
            pass
        study_file.record([FAILED])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "t"}, "its name is 's', not 't'"),
        ({"task": "x:z"}, "its task is 'x:y', not 'x:z'"),
        ({"version": 2}, "its version is 1, not 2"),
        ({"cells": [{"a": 1}]}, "its number of cells is 2, not 1"),
        (
            {"cells": [{"a": 1}, {"a": 2.0}]},
            r"its cells\[1\] is {'a': 2}, not {'a': 2\.0}",
        ),
        ({"seeds": [5, 7]}, r"its seeds\[1\] is 6, not 7"),
    ],
)
def test_another_definition_is_refused_and_the_file_is_left_intact(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "s.sqlite"
    with StudyFile.open(path, STUDY) as study_file:
        study_file.record([DONE])
    before = path.read_bytes()
    other = define(**(STUDY.model_dump(mode="json") | change))
    with (
        pytest.raises(InvalidFileError, match=rf"s\.sqlite: holds another study: {message}"),
        StudyFile.open(path, other),
    ):
        pass
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.sqlite"]


def test_a_wrong_definition_does_not_block_the_corrected_one(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with StudyFile.open(path, STUDY) as study_file:
        study_file.record([FAILED])
    corrected = define(**(STUDY.model_dump(mode="json") | {"task": "x:z"}))
    with StudyFile.open(path, corrected) as study_file:
        assert study_file.failures() == []
    with StudyFile.read(path) as study_file:
        assert study_file.study == corrected


def test_another_version_is_refused_but_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.sqlite"
    with StudyFile.open(path, STUDY) as study_file:
        study_file.record([DONE])
    before = path.read_bytes()
    monkeypatch.setattr(module, "__version__", "9.9")
    with (
        pytest.raises(
            InvalidFileError, match=rf"made by homeward {homeward.__version__}, and this is 9\.9"
        ),
        StudyFile.open(path, STUDY),
    ):
        pass
    with StudyFile.read(path) as study_file:
        assert study_file.done == 1
    assert path.read_bytes() == before


def test_another_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.sqlite"
    with StudyFile.open(path, STUDY):
        pass
    monkeypatch.setattr(module, "FORMAT", 2)
    for opened in (StudyFile.open(path, STUDY), StudyFile.read(path)):
        with pytest.raises(InvalidFileError, match="has format 1; this homeward reads 2"), opened:
            pass


def write_text(path: Path) -> None:
    path.write_text("my thesis\n" * 100)


def write_other_base(path: Path) -> None:
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE music (song TEXT)")


def write_damaged(path: Path) -> None:
    with StudyFile.open(path, STUDY) as study_file:
        study_file.record([DONE])
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 9000)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (write_text, "is not a study: it is not an SQLite file"),
        (write_other_base, "is not a study: another program made this database"),
        (write_damaged, "can't be read"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left_intact(
    tmp_path: Path, write: Any, message: str
) -> None:
    path = tmp_path / "s.sqlite"
    write(path)
    before = path.read_bytes()
    for opened in (StudyFile.open(path, STUDY), StudyFile.read(path)):
        with pytest.raises(InvalidFileError, match=rf"s\.sqlite: {message}"), opened:
            pass
    assert path.read_bytes() == before


def test_an_empty_file_is_begun_and_is_no_study_to_read(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    path.touch()
    with pytest.raises(InvalidFileError, match="is empty"), StudyFile.read(path):
        pass
    with StudyFile.open(path, STUDY) as study_file:
        assert len(study_file.left()) == 4


def test_places_that_are_none_are_named(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidFileError, match="there is no folder"),
        StudyFile.open(tmp_path / "gone" / "s.sqlite", STUDY),
    ):
        pass
    with (
        pytest.raises(InvalidFileError, match="can't be"),
        StudyFile.open(tmp_path, STUDY),
    ):
        pass
    with pytest.raises(InvalidFileError, match="there is no such file"), StudyFile.read("gone"):
        pass
