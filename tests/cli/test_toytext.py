"""``homeward demo`` and ``homeward toytext``, small."""

import json
from pathlib import Path

from typer.testing import CliRunner

from homeward.cli.app import app


def test_the_demo_draws_a_picture_and_says_who_was_lost(tmp_path: Path) -> None:
    out = tmp_path / "demo.png"
    result = CliRunner().invoke(app, ["demo", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_bytes().startswith(b"\x89PNG")
    assert "cliff, safe at 0.95: 37 tiles" in result.stdout
    assert "cliff, unsafe: 38 tiles in 45 steps: lost" in result.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["demo.png"]


def test_the_study_counts_losses_and_checks_the_promise() -> None:
    arguments = ["toytext", "--seeds", "2", "--worlds", "200", "--jobs", "1", "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    lost = {(row["world"], row["explorer"]): row["lost"] for row in answer["runs"]}
    assert lost["cliff", "safe at 0.95"] == 0
    assert lost["cliff", "unsafe"] == 2
    assert answer["holds"] is True
