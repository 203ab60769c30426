"""``python -m lab check progress``, small."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from homeward.errors import HomewardError
from lab.__main__ import app
from lab.check.progress_command import OLD_TASK, TASK

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SMALL = ["check", "progress", "--runs", "10", "--steps", "40", "--side", "6", "--workers", "0"]
runner = CliRunner()


def test_runs_are_judged_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = runner.invoke(app, [*SMALL, "--json"], catch_exceptions=False)
    assert found.exit_code == 0
    result = json.loads(found.stdout)
    assert result["holds"] is True
    assert (result["rows"][-1]["ground"], result["rows"][-1]["runs"]) == ("all", 10)
    assert sum(end["runs"] for end in result["ends"]) == 10
    assert result["study"] == "progress-10x40x6.sqlite"
    said = runner.invoke(app, SMALL, catch_exceptions=False).stdout
    assert "0 of 10 runs break a rule" in said


def test_a_broken_law_exits_with_one_and_names_the_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lab.check.progress.WINDOW", 1)
    found = runner.invoke(app, [*SMALL, "--json"], catch_exceptions=False)
    assert found.exit_code == 1
    broken = json.loads(found.stdout)["broken"]
    assert broken
    assert "steps without news" in broken[0]["fault"]


def test_a_raster_that_is_not_there_is_refused_before_the_first_run(tmp_path: Path) -> None:
    found = runner.invoke(app, [*SMALL, "--raster", str(tmp_path / "no.tif")])
    assert isinstance(found.exception, HomewardError)
    assert "no.tif" in str(found.exception)


def test_a_study_file_from_before_the_move_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = runner.invoke(app, [*SMALL, "--json"], catch_exceptions=False)
    with closing(sqlite3.connect("progress-10x40x6.sqlite")) as base, base:
        former = "UPDATE study SET definition = replace(definition, ?, ?)"
        base.execute(former, (TASK, OLD_TASK))
    monkeypatch.setattr("lab.check.progress.follow", None)  # nothing is run again
    again = runner.invoke(app, [*SMALL, "--json"], catch_exceptions=False)
    assert again.exit_code == 0
    assert again.stdout == first.stdout
