from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from homeward.errors import InvalidFileError
from homeward.files import read_json, refusing, replace_file, replace_json, sweep

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_made_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    replace_json(path, {"δ": 0.95})
    assert read_json(path) == {"δ": 0.95}
    replace_json(path, [1, 2])
    assert read_json(path) == [1, 2]
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_a_file_that_can_not_be_written_whole_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    replace_file(path, b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidFileError, match="x: can't be written: No space left on device"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_writer_that_is_stopped_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    replace_file(path, b"old")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_what_the_system_refuses_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with (
        pytest.raises(InvalidFileError, match="x: can't be read: No such"),
        refusing(path, "can't be read"),
    ):
        path.read_bytes()


def test_what_is_written_is_on_the_disk_before_it_is_renamed_and_the_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    sync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        calls.append(f"sync {os.readlink(f'/proc/self/fd/{handle}').rpartition('/')[2]}")
        sync(handle)

    def replaced(old: Path, new: Path) -> None:
        calls.append("replace")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    replace_file(tmp_path / "x", b"new")
    assert calls == [f"sync .x.{os.getpid()}.part", "replace", f"sync {tmp_path.name}"]


def test_the_message_names_a_file_in_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidFileError, match=r"file/x: can't be written: Not a directory"):
        replace_file(tmp_path / "file" / "x", b"")


@pytest.mark.parametrize(("text", "why"), [("{", "is not JSON"), (None, "can't be read")])
def test_what_is_no_json_is_refused_by_name(tmp_path: Path, text: str | None, why: str) -> None:
    path = tmp_path / "x.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidFileError, match=rf"x\.json: {why}"):
        read_json(path)


def test_sweeping_removes_parts_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".x.77.part").touch()
    (tmp_path / ".fields.part").mkdir()
    (tmp_path / ".fields.part" / "inner").touch()
    (tmp_path / "a.part").touch()
    sweep(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["a.part"]
