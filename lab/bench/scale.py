"""How time and memory grow with the map: one cold and one warm decision, and a look, per size."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from homeward.beliefs import Sensor
from homeward.beliefs.grid_graph import grid_graph
from homeward.bonuses import Information
from homeward.kinds.rover.world import Rover
from homeward.planning.planner import Planner
from homeward.safety import ReturnHome
from homeward.solvers.graphs import ways_to
from lab.bench.terrain import SENSOR, set_out

if TYPE_CHECKING:
    from collections.abc import Sequence

SHAPES = ((50, 100), (100, 200), (225, 450), (500, 1000), (1000, 2000))
DISCOUNT = 0.999
LOOKS = 21
"""Looks of which the median time is taken."""


def measure(shape: tuple[int, int]) -> dict[str, float]:
    """Plan on one map without a warm start, then with one after a step.

    Return the number of states; the seconds ``cold_s`` from a belief to its plan, including mean
    model and bonus; the seconds ``warm_s`` from the observation after a step to the next plan; the
    milliseconds ``look_ms`` of a look along lines of sight within the default range; and the peak
    memory of a plan and of the map's graph, per state.
    """
    belief, world = set_out(shape, 0)
    planner = Planner(Information(SENSOR), [ReturnHome(0.98)], DISCOUNT)
    before = time.perf_counter()
    plan = planner.plan(belief, world.state)
    cold = time.perf_counter() - before
    seen = world.act(plan.action)
    before = time.perf_counter()
    belief = belief.update(seen)
    planner.plan(belief, world.state, previous=plan)
    warm = time.perf_counter() - before

    world = Rover(belief, world.truth, world.state, Sensor(range=100.0, mast=2.0))
    looks = []
    for _ in range(LOOKS):
        before = time.perf_counter()
        world.look()
        looks.append(1e3 * (time.perf_counter() - before))

    graph = grid_graph(*shape)
    kept = graph.dest.nbytes + sum(part.nbytes for part in ways_to(graph))
    peak = 0
    for previous in (None, plan):
        belief = replace(belief)  # drops cached results
        tracemalloc.start()
        planner.plan(belief, world.state, previous=previous)
        peak = max(peak, tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    states = shape[0] * shape[1]
    found = {"states": states, "warm_s": warm, "cold_s": cold, "look_ms": median(looks)}
    return {**found, "bytes_per_state": (peak + kept) / states}


def exponent(states: Sequence[float], times: Sequence[float]) -> float:
    """Fit time ∝ statesᵏ and return k."""
    return float(np.polyfit(np.log(states), np.log(times), 1)[0])
