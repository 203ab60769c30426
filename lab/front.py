"""The two recorded runs that the page plays on its first screen.

``python -m lab front`` runs both and writes ``demo.json`` beside the sources of the page.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import homeward
from homeward.cli.show import say
from homeward.files import replace_json
from homeward.replay import Replay
from homeward.replay.playback import playback_of
from homeward.runs import Run

DELTA = 0.98
GROUND = {"rows": 600, "columns": 1000, "ground": "paper", "sensor_range": 29.0, "terrain_seed": 1}
RUNS: dict[str, dict[str, Any]] = {
    "safe": {**GROUND, "seed": 1, "delta": DELTA, "limit": 320},
    "unsafe": {**GROUND, "seed": 1, "explorer": "unsafe"},
}
"""Two rovers on the same ground; the second one soon enters a crater that it can't leave."""

TARGET = Path(homeward.__file__).parent / "web" / "page" / "demo.json"


def record(limit: int | None = None) -> list[dict[str, Any]]:
    """Return the playbacks of both runs, up to a number of steps."""
    found = []
    with TemporaryDirectory() as folder:
        for name, config in RUNS.items():
            run = Run.create(Path(folder) / name, "rover", config)
            run.resume(limit=limit)
            found.append(playback_of(Replay(run.directory), DELTA))
    return found


def front() -> None:
    """Record the two runs of the page's first screen again."""
    replace_json(TARGET, record())
    say(f"{TARGET.name}: {', '.join(RUNS)}")
