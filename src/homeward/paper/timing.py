"""The paper's table of planning times, on a map of 50 x 100 cells with γ = .999.

A whole step of a run is timed (plan, act, measure, update), which is slightly more than the
planning that the paper timed. Each plan but the first starts from the one before, as in any run.
The sensor reaches over the whole map, as in the paper: every step changes the whole belief.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, cast

import numpy as np

from homeward.kinds.rover.kind import make
from homeward.paper.mars import config_of, name_of, settings_of
from homeward.studies.work import play

if TYPE_CHECKING:
    from homeward.kinds.rover.world import Rover
    from homeward.runs.kind import Setup

PAPER = {
    "safe at .98": (5.86, 1.47),
    "safe at .90": (10.94, 7.14),
    "safe at .70": (4.57, 3.19),
    "naive at .98": (2.55, 0.42),
    "unsafe": (1.62, 0.26),
}
"""The paper's seconds per step, mean and standard deviation, in its order."""

MAP = (50, 100)
"""Rows and columns of the paper's map."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Time of the steps of one setting, in ms."""

    setting: str
    paper: float  # the paper's mean and standard deviation
    spread: float
    steps: int
    q1: float
    median: float
    q3: float
    longest: float
    shape: tuple[int, int] = MAP  # rows and columns of the map

    @property
    def times_faster(self) -> float | None:
        """The paper's mean over our median; None on a map of another size."""
        return self.paper / self.median if self.shape == MAP else None


def time_settings(
    steps: int, seed: int = 0, scale: float = 1.0, correction: str = "general"
) -> list[Timing]:
    """Time the first steps of each setting on one synthetic terrain, in the paper's order."""
    cells = {name_of(cell): cell for cell in settings_of(steps, scale, correction, None)}
    found = []
    for name, (mean, spread) in PAPER.items():
        config = config_of(cells[name], seed)
        step_seconds(make(config.model_copy(update={"limit": 3})))  # compiles
        setup = make(config)
        times = 1000.0 * np.array(step_seconds(setup))
        q1, median, q3, longest = np.quantile(times, (0.25, 0.5, 0.75, 1.0)).tolist()
        paper = 1000.0 * mean, 1000.0 * spread
        shape = cast("Rover", setup.world).shape
        found.append(Timing(name, *paper, len(times), q1, median, q3, longest, shape))
    return found


def step_seconds(setup: Setup) -> list[float]:
    """Return the seconds of each step of a run: plan, act, measure and update."""
    explorer = setup.explorer()
    ticks = [perf_counter()]
    play(setup, lambda *_: ticks.append(perf_counter()), explorer)
    return np.diff(ticks).tolist()
