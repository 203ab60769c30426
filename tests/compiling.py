"""Compile the solvers, before tests that run beside each other would each do it.

Numba keeps what it compiles on disk, so that every process that comes later only loads it.
"""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from typer.testing import CliRunner

from homeward.cli.app import app as homeward
from homeward.runs import Run
from lab.__main__ import app

COMMANDS = (
    "check agreement --problems 2 --together 2",
    "check soundness --beliefs 2 --together 2",
    "check edges --problems 1 --seed 95",
    "check certify --plans 1 --forged 1 --episodes 10",
)
RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("grid", {"size": 5, "limit": 3, "delta": 0.8}),
    ("grid", {"size": 5, "limit": 3, "explorer": "uncover"}),
    ("grid", {"size": 5, "limit": 3, "algorithm": "paper", "home": "start"}),
    ("rover", {"rows": 160, "columns": 200, "limit": 3, "delta": 0.9}),
    ("rover", {"rows": 160, "columns": 200, "limit": 3, "explorer": "unsafe"}),
    ("rover", {"rows": 160, "columns": 200, "limit": 2, "algorithm": "paper"}),
    ("rover", {"rows": 160, "columns": 200, "limit": 3, "belief": "correlated", "mast": 2.0}),
    ("rover", {"terrain": "sample", "cell": 500.0, "limit": 3, "delta": 0.9, "back_within": 60}),
)


def main() -> None:
    """Do a little of everything."""
    for command in COMMANDS:
        CliRunner().invoke(app, command.split())
    with TemporaryDirectory() as place:
        for number, (kind, config) in enumerate(RUNS):
            Run.create(Path(place) / str(number), kind, config).resume()
        row, column = np.mgrid[:10, :10] / 5.0
        np.save(Path(place) / "map.npy", np.sin(row) * np.cos(column))
        asked = "paper safemdp --map map.npy --study study --workers 0 --starts 1 --measurements 4"
        with chdir(place):
            CliRunner().invoke(homeward, asked.split())


if __name__ == "__main__":
    main()
