"""Fixtures: a folder of runs of every kind that have ended."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from tests.runs.kinds import meadow

from homeward.runs import Run

if TYPE_CHECKING:
    from pathlib import Path

GRID = {"size": 6, "seed": 10, "delta": 0.7, "walls": 0.2}
ROVER = {"rows": 160, "columns": 200, "limit": 60, "sensor_range": 60.0, "delta": 0.9}

PAPER = {"algorithm": "paper", "home": "current"}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder of runs that have ended; nobody writes to it."""
    root = tmp_path_factory.mktemp("runs")
    Run.create(root / "grid-safe", "grid", GRID).resume()
    unsafe = {name: value for name, value in GRID.items() if name != "delta"}
    Run.create(root / "grid-unsafe", "grid", {**unsafe, "explorer": "uncover"}).resume()
    Run.create(root / "rover", "rover", ROVER).resume()
    Run.create(root / "grid-paper", "grid", {**GRID, **PAPER}).resume()
    Run.create(root / "rover-paper", "rover", {**ROVER, **PAPER}).resume()
    meadow(root / "meadow").resume()
    return root


@pytest.fixture
def own(runs: Path, tmp_path: Path) -> Path:
    """Give a folder with a copy of the grid run, to be changed."""
    shutil.copytree(runs / "grid-safe", tmp_path / "runs" / "grid-safe")
    return tmp_path / "runs"
