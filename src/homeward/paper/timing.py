"""The paper's table of planning times, on a map of 50 x 100 cells with γ = .999.

A whole step of a run is timed (plan, act, measure, update); the paper timed only the planning. Each
plan except the first is warm-started from the plan before it, as in every run. The sensor covers
the whole map, as in the paper, so every step changes the whole belief.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, cast

import numpy as np

from homeward.kinds.rover.kind import make
from homeward.kinds.rover.world import Rover
from homeward.paper.mars import config_of, name_of, settings_of
from homeward.runs.kind import Setup
from homeward.studies.work import play

PAPER = {
    "safe at .98": (5.86, 1.47),
    "safe at .90": (10.94, 7.14),
    "safe at .70": (4.57, 3.19),
    "naive at .98": (2.55, 0.42),
    "unsafe": (1.62, 0.26),
}
"""The paper's seconds per step, mean and standard deviation, in its order."""

MAP = (50, 100)  # rows and columns of the paper's map


def time_settings(
    steps: int, seed: int = 0, scale: float = 1.0, correction: str = "general"
) -> list[dict[str, Any]]:
    """Time the first steps of each setting on one synthetic terrain; return a row per setting.

    Times are in ms. ``paper`` and ``spread`` are the paper's mean and standard deviation. ``times
    faster`` is (paper's mean) / (our median), or None if the map has another size.
    """
    cells = {name_of(cell): cell for cell in settings_of(steps, scale, correction, None)}
    found = []
    for name, seconds in PAPER.items():
        config = config_of(cells[name], seed)
        step_seconds(make(config.model_copy(update={"limit": 3})))  # compiles
        setup = make(config)
        times = 1000.0 * np.array(step_seconds(setup))
        quantiles = np.quantile(times, (0.25, 0.5, 0.75, 1.0)).tolist()
        paper, spread = (1000.0 * value for value in seconds)
        shape = cast("Rover", setup.world).shape
        row = {"setting": name, "paper": paper, "spread": spread, "steps": len(times)}
        row |= zip(("q1", "median", "q3", "longest"), quantiles, strict=True)
        faster = paper / quantiles[1] if shape == MAP else None
        found.append({**row, "shape": shape, "times faster": faster})
    return found


def step_seconds(setup: Setup) -> list[float]:
    """Run a setup to its end and return the seconds of each step: plan, act, measure, update."""
    explorer = setup.explorer()
    ticks = [perf_counter()]
    play(setup, lambda *_: ticks.append(perf_counter()), explorer)
    return np.diff(ticks).tolist()
