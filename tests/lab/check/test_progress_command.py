"""``python -m lab check progress``, small."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from homeward.errors import HomewardError
from lab.__main__ import app

if TYPE_CHECKING:
    from pathlib import Path

SMALL = ["check", "progress", "--runs", "10", "--steps", "40", "--side", "6", "--workers", "0"]
FILE = "progress-10x40x6.sqlite"
runner = CliRunner()


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the file of the study, run once."""
    file = tmp_path_factory.mktemp("progress") / FILE
    assert runner.invoke(app, [*SMALL, "--study", str(file)]).exit_code == 0
    return file


@pytest.fixture
def here(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder that holds the study; none of its runs is made again."""
    shutil.copy(done, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lab.check.progress.follow", None)


@pytest.mark.usefixtures("here")
def test_runs_are_judged_and_kept() -> None:
    found = runner.invoke(app, [*SMALL, "--json"], catch_exceptions=False)
    assert found.exit_code == 0
    result = json.loads(found.stdout)
    assert result["holds"] is True
    assert (result["rows"][-1]["ground"], result["rows"][-1]["runs"]) == ("all", 10)
    assert sum(end["runs"] for end in result["ends"]) == 10
    assert result["study"] == FILE
    said = runner.invoke(app, SMALL, catch_exceptions=False).stdout
    assert "0 of 10 runs break a rule" in said


@pytest.mark.usefixtures("here")
def test_a_broken_law_exits_with_one_and_names_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
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
