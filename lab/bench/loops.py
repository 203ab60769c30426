"""Decision times of our explorer and of Algorithm 1, in whole runs on the same terrain.

Both see the eight cells around them and keep the level .98: Algorithm 1 in each plan, with a warm
start from the previous plan; ours over the whole run. Their steps alternate, so that other load on
the machine slows both equally.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from homeward.kinds.rover.kind import make
from homeward.paper.mars import beside, config_of, settings_of
from lab.bench.terrain import quartiles


def measure(steps: int, seed: int, scale: float = 1.0) -> list[dict[str, Any]]:
    """Run both explorers for `steps` steps on one terrain; return quartiles of ms per decision."""
    papers = settings_of(steps, scale)
    cells = [papers[0], beside(papers)[1]]
    _seconds(cells, 3, seed)  # compiles
    found = []
    for cell, seconds in zip(cells, _seconds(cells, steps, seed), strict=True):
        median, q1, q3 = (1e3 * time for time in quartiles(seconds))
        row = {"explorer": cell["algorithm"], "steps": len(seconds)}
        found.append({**row, "q1": q1, "median": median, "q3": q3})
    return found


def _seconds(cells: Sequence[dict[str, object]], steps: int, seed: int) -> list[list[float]]:
    """Return the seconds of every decision of each run."""
    runs = [make(config_of(cell, seed)).explorer().explore(steps) for cell in cells]
    found: list[list[float]] = [[] for _ in cells]
    for turn in zip_longest(*runs):
        for times, step in zip(found, turn, strict=True):
            if step is not None:
                times.append(step.seconds)
    return found
