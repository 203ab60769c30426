from __future__ import annotations

import json
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from homeward.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

runner = CliRunner()


def test_levels_are_counted_kept_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["paper", "levels", "--worlds", "2", "--steps", "10", "--workers", "0"]
    first = runner.invoke(app, [*command, "--json"], catch_exceptions=False)
    assert first.exit_code == 0
    result = json.loads(first.stdout)
    assert (len(result["rows"]), result["refuted"]) == (10, 0)
    assert result["study"] == "levels-2x10.sqlite"
    assert (tmp_path / "levels.png").stat().st_size > 1000
    said = runner.invoke(app, command, catch_exceptions=False).stdout
    assert "0 of 10 levels are refuted" in said
