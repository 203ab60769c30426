"""``homeward demo``: what it draws and says."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from homeward.cli.app import app


def test_the_demo_shows_a_rover_that_roams_and_one_that_is_trapped(tmp_path: Path) -> None:
    out = tmp_path / "demo.png"
    result = CliRunner().invoke(app, ["demo", "--steps", "120", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert out.read_bytes().startswith(b"\x89PNG")
    safe, unsafe, picture = result.stdout.splitlines()
    assert safe.startswith("safe at .98: 120 steps")
    assert safe.endswith("can go back")
    assert unsafe.startswith("unsafe: 30 steps")
    assert "no way back since step" in unsafe
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    assert f"at step {unsafe.rpartition(' ')[2]} " in readme
    assert picture == f"picture: {out}"
    assert [p.name for p in tmp_path.iterdir()] == ["demo.png"]
