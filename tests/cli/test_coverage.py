from __future__ import annotations

import json
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.paper import coverage

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

runner = CliRunner()


def test_the_study_is_run_kept_tabled_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "WORLDS", {4: 2, 5: 1})
    monkeypatch.setattr(coverage, "OTHER_SIZE", 4)
    monkeypatch.setattr(coverage, "OTHER_WORLDS", 2)
    monkeypatch.chdir(tmp_path)
    command = ["paper", "coverage", "--workers", "0", "--json", "--table", "runs.csv"]
    first = runner.invoke(app, command, catch_exceptions=False)
    assert first.exit_code == 0
    result = json.loads(first.stdout)
    assert {"size", "walls", "explorer", "runs", "q1", "median", "q3", "stranded"} <= set(
        result["rows"][0]
    )
    assert sum(row["runs"] for row in result["rows"]) == 3 * 5 * 3 + 30 * 2
    assert (tmp_path / "coverage.png").stat().st_size > 1000
    table = (tmp_path / "runs.csv").read_bytes()
    assert len(table.splitlines()) == 1 + 3 * 5 * 3 + 30 * 2
    again = runner.invoke(app, command, catch_exceptions=False)
    assert json.loads(again.stdout) == result
    assert (tmp_path / "runs.csv").read_bytes() == table
