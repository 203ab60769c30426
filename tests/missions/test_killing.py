from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 20


def test_a_mission_killed_at_random_moments_loses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.missions.killing", str(tmp_path), str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["killed"] >= KILLS
    assert found["steps"] > 5
    assert all(found["same"])
