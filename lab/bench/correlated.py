"""Times of a step on correlated ground: an update by a look of 9 cells, and one plan.

The rover explores 5,000 cells of ground that is drawn from its belief. Processor time and wall time
are both measured: the former does not depend on other load, unless BLAS uses several threads.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from homeward.beliefs import Sensor
from homeward.beliefs.covariance import Matern
from homeward.beliefs.fields import CorrelatedTerrainBelief
from homeward.bonuses import InformationGain
from homeward.criteria import ReturnHome
from homeward.kinds.rover.world import Rover, draw_heights, middle_of
from homeward.planning.algorithm1 import Planner
from homeward.planning.explorer import Explorer

SHAPE, CELL, REACH = (50, 100), 20.0, 29.0
KERNEL = Matern(9.0, 60.0)


def measure(steps: int, seed: int) -> list[dict[str, Any]]:
    """Return quartiles, 99 % and maximum of the ms per step, in processor and wall time."""
    belief = CorrelatedTerrainBelief(SHAPE, KERNEL, cell=CELL, climb=15.0, descend=30.0)
    sensor, truth = Sensor(REACH), draw_heights(belief, seed)
    planner = Planner(InformationGain(sensor), (ReturnHome(delta=0.98, home="start"),))
    for limit in (3, steps):  # the first run compiles
        run = Explorer(planner, belief, Rover(belief, truth, middle_of(belief), sensor, seed))
        clocks = (time.process_time, time.perf_counter)
        times, before = [], [clock() for clock in clocks]
        for _ in run.explore(limit):
            now = [clock() for clock in clocks]
            times.append([1e3 * (b - a) for a, b in zip(before, now, strict=True)])
            before = [clock() for clock in clocks]
    marks = np.quantile(times, (0.25, 0.5, 0.75, 0.99, 1.0), axis=0).T
    names = ("q1", "median", "q3", "99 %", "longest")
    assert isinstance(run.belief, CorrelatedTerrainBelief)
    about = {"steps": len(times), "cells measured": int(run.belief.measured.sum())}
    return [
        {"time": name, **about, **dict(zip(names, row.tolist(), strict=True))}
        for name, row in zip(("processor, ms", "wall, ms"), marks, strict=True)
    ]
