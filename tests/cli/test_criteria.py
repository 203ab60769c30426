"""``homeward paper criteria`` as a user meets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.errors import InvalidFileError

if TYPE_CHECKING:
    from pathlib import Path

runner = CliRunner()


def test_there_is_a_picture_for_each_story_and_a_row_for_each_policy(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "down"
    words = ["paper", "criteria", "--out", str(out)]
    said = json.loads(runner.invoke(app, [*words, "--json"], catch_exceptions=False).stdout)
    names = ("return", "within", "inside", "earn", "conflict", "recall")
    assert said["pictures"] == [str(out / f"{name}.png") for name in names]
    assert all((out / f"{name}.png").read_bytes()[1:4] == b"PNG" for name in names)
    assert said["rows"][0]["worth"] == "0"
    text = runner.invoke(app, words, catch_exceptions=False).stdout
    assert "6 pictures are in" in text


def test_a_folder_that_can_not_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidFileError, match="can't be written"):
        runner.invoke(
            app, ["paper", "criteria", "--out", str(tmp_path / "file")], catch_exceptions=False
        )
