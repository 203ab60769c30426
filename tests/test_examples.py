"""The examples run from beginning to end, as a newcomer would run them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

SAID = {
    "gaussian_process.py": ["nothing wrong in 4,000 draws", "Reached cell 10", "not refuted"],
    "gymnasium_worlds.py": ["Taxi-v4: 500 states", "100 states visited, terminated: False"],
}
"""What each example prints, among other lines."""


@pytest.mark.parametrize("name", sorted(SAID))
def test_an_example_runs_and_prints_what_it_found(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert all(line in done.stdout for line in SAID[name])


def test_every_example_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} >= set(SAID)
