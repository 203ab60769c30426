"""The paper's table of planning times, on a map of 50 x 100 cells with γ = .999.

Timed is a whole step of a run (plan, act, measure, learn), so a little more than the planning that
the paper timed. Plans start from the one before, as they do in any run; the first has none. The
sensor reaches over the whole map, as the paper writes it: every step changes all that is believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, cast

import numpy as np

from homeward.kinds.rover.kind import make
from homeward.paper.mars import config_of, name_of, settings_of
from homeward.planning.paper import PaperExplorer

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
"""The paper's seconds a step, mean and deviation, in its order."""

MAP = (50, 100)
"""Rows and columns of the paper's map."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How long the steps of one setting took, in ms."""

    setting: str
    paper: float  # ms, mean
    spread: float  # ms, the paper's deviation
    steps: int
    q1: float  # ms
    median: float
    q3: float
    longest: float
    shape: tuple[int, int] = MAP  # rows and columns of the map

    @property
    def times_faster(self) -> float | None:
        """How many of our median steps fit into the paper's mean one; None on another map."""
        return self.paper / self.median if self.shape == MAP else None


def time_settings(
    steps: int, seed: int = 0, scale: float = 1.0, correction: str = "general"
) -> list[Timing]:
    """Time the first steps of each setting on one synthetic terrain, in the paper's order."""
    cells = {name_of(cell): cell for cell in settings_of(steps, scale, correction, None)}
    found = []
    for name, (mean, spread) in PAPER.items():
        config = config_of(cells[name], seed)
        _take(make(config.model_copy(update={"limit": 3})))  # compiles what is not compiled yet
        setup = make(config)
        seconds = _take(setup)
        q1, median, q3 = (1000.0 * np.quantile(seconds, (0.25, 0.5, 0.75))).tolist()
        longest = 1000.0 * max(seconds)
        found.append(
            Timing(
                name,
                1000.0 * mean,
                1000.0 * spread,
                len(seconds),
                q1,
                median,
                q3,
                longest,
                cast("Rover", setup.world).shape,
            )
        )
    return found


def _take(setup: Setup) -> list[float]:
    """Take a run to its end; give the seconds of each step."""
    explorer = PaperExplorer(setup.planner, setup.belief, setup.world)
    seconds = []
    before = perf_counter()
    for _ in explorer.explore(setup.limit):
        now = perf_counter()
        seconds.append(now - before)
        before = now
    return seconds
