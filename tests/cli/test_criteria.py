"""``homeward paper criteria`` and ``homeward bench criteria`` as a user meets them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.errors import InvalidFileError
from homeward.studies.bench import criteria as bench
from homeward.studies.bench.criteria import Comparison

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


def test_the_bench_gives_the_ratio_with_its_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(steps: int, seed: int = 0, **_: Any) -> Comparison:
        three = (1e-3 * (2 + seed),) * 3
        return Comparison(seed, steps, (1e-3,) * 3, three, (1.0, 0.5, 0.0))

    monkeypatch.setattr(bench, "measure", measure)
    words = ["bench", "criteria", "--steps", "4", "--terrains", "3"]
    said = json.loads(runner.invoke(app, [*words, "--json"], catch_exceptions=False).stdout)
    assert said["ratio"] == pytest.approx({"median": 3.0, "least": 2.0, "greatest": 4.0})
    assert [row["ratio"] for row in said["rows"]] == pytest.approx([2.0, 3.0, 4.0])
    assert said["rows"][1]["three_ms"] == pytest.approx(3.0)
    text = runner.invoke(app, words, catch_exceptions=False).stdout
    assert "three criteria cost 3.0× one (median; 2.0 to 4.0)" in " ".join(text.split())
    assert "100%, 50%, 0%" in text
