from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from homeward.errors import InvalidFileError
from homeward.rasters.files import put, refusing

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_takes_the_place_of_another(tmp_path: Path) -> None:
    path = tmp_path / "a"
    put(path, b"one")
    put(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a"]


def test_a_writer_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    put(path, b"one")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        put(path, b"two")
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["a"]


def test_a_place_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "a"
    with pytest.raises(InvalidFileError, match=r"missing/a: can't be written: No such file"):
        put(path, b"one")


def test_what_the_system_refuses_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with (
        pytest.raises(InvalidFileError, match="can't be read: No such"),
        refusing(path, "can't be read"),
    ):
        path.read_bytes()
