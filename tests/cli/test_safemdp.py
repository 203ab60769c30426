"""``homeward paper safemdp``, small."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from typer.testing import CliRunner

from homeward.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path


def test_it_compares_three_methods_on_a_map(tmp_path: Path) -> None:
    row, column = np.mgrid[:10, :10] / 5.0
    np.save(tmp_path / "map.npy", np.sin(row) * np.cos(column))
    arguments = ["paper", "safemdp", "--map", str(tmp_path / "map.npy"), "--starts", "1"]
    arguments += ["--measurements", "4", "--study", str(tmp_path / "s.sqlite"), "--workers", "0"]
    arguments += ["--out", str(tmp_path / "s.png")]
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [row["method"][:4] for row in found["summary"]] == ["safe", "ours", "ours"]
    assert len(found["starts"]) == 1
    assert found["summary"][0]["allowed by δ"] is None
    assert found["summary"][1]["allowed by δ"] == pytest.approx(0.1)
    assert (tmp_path / "s.png").stat().st_size > 1000
