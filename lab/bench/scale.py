"""Time and memory of a step of the explorer on maps of growing size, and of whole explorations.

A step includes the observation, the update of the belief, the decision and the line of the record.
Sensors reach the eight cells around the rover, 100 m, or the whole map. Maps are synthetic Mars. If
nothing can be explored from a start, the next seed is used. Times are processor times.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from homeward.beliefs import Sensor
from homeward.beliefs.grid_graph import grid_graph
from homeward.beliefs.heights import TerrainBelief, entropy_reduction
from homeward.bonuses import InformationGain
from homeward.criteria import ReturnHome
from homeward.kinds.rover.kind import ROVER
from homeward.kinds.rover.world import Rover
from homeward.planning.algorithm1 import Planner
from homeward.planning.explorer import Explorer, Rules, decide
from homeward.runs.log import to_line
from homeward.runs.retracing import to_record
from homeward.solvers.paths import ways_to
from lab.bench.terrain import mars, quartiles

SHAPES = ((50, 100), (100, 200), (225, 450), (500, 1000), (1000, 2000))
SENSORS = {"ring": 29.0, "100 m": 100.0, "whole map": np.inf}  # range of each sensor in m
DELTA = 0.98
LOOKS = 21  # number of looks that are timed; their median is reported
MIN_STEPS = 20  # steps that a start must allow


def explorer_of(shape: tuple[int, int], reach: float, seed: int) -> Explorer:
    """Return an explorer in the middle of a map, after it has computed the first mean model."""
    belief, truth = mars(*shape, seed)
    sensor = Sensor(range=reach)
    rover = Rover(belief, truth, (shape[0] // 2) * shape[1] + shape[1] // 2, sensor, seed)
    return Explorer(Planner(InformationGain(sensor), [ReturnHome(DELTA)]), belief, rover)


def steps_of(explorer: Explorer, limit: int) -> Iterator[float]:
    """Yield the seconds of each step, the line of the record included."""
    before, began = explorer.run_state, time.process_time()
    for step in explorer.explore(limit):
        to_line(to_record(step, before, None, ROVER, 0))
        before = explorer.run_state
        yield time.process_time() - began
        began = time.process_time()


def measure(shape: tuple[int, int], sensor: str, steps: int) -> dict[str, Any]:
    """Return a row with times on one map: the first step, later steps, one step without caches.

    ``first_s`` is from a belief to the first action, mean model included. ``cold_ms`` is a later
    decision with everything computed from scratch. ``look_ms`` is a look along lines of sight
    within 100 m. ``bytes_per_state`` is the peak memory of that decision and of the map's graph.
    """
    for seed in range(1, 9):
        mars(*shape, seed)
        began = time.process_time()
        explorer = explorer_of(shape, SENSORS[sensor], seed)
        made = time.process_time() - began
        seconds = [*steps_of(explorer, steps)]
        if len(seconds) >= min(steps, MIN_STEPS):
            break
    middle, low, high = (1e3 * t for t in quartiles(seconds[1:]))
    times, states = [], shape[0] * shape[1]
    for traced in (False, True):
        if traced:
            tracemalloc.start()
        belief = replace(cast("TerrainBelief", explorer.belief))
        rules = Rules.of(belief, explorer.planner, explorer.start)
        began = time.process_time()
        decide(rules, belief, explorer.run_state, explorer.here)
        times.append(time.process_time() - began)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    looks, far = [], Sensor(range=100.0, mast=2.0)
    rover = Rover(belief, mars(*shape, seed)[1], explorer.world.state, far)
    for _ in range(LOOKS):
        began = time.process_time()
        rover.look()
        looks.append(1e3 * (time.process_time() - began))
    graph = grid_graph(*shape)
    kept = graph.dest.nbytes + sum(part.nbytes for part in ways_to(graph))
    found = {"sensor": sensor, "states": states, "steps": len(seconds), "step_ms": middle}
    found |= {"quartiles_ms": [low, high], "first_s": made + seconds[0]}
    found |= {"cold_ms": 1e3 * times[0], "look_ms": quartiles(looks)[0]}
    return found | {"bytes_per_state": (peak + kept) / states}


def explore(shape: tuple[int, int], sensor: str, steps: int, seed: int) -> dict[str, Any]:
    """Run a whole exploration; return a row with its nats per step and per second."""
    explorer = explorer_of(shape, SENSORS[sensor], seed)
    prior = explorer.belief
    seconds = [*steps_of(explorer, steps)]
    nats = entropy_reduction(cast("Any", prior), cast("Any", explorer.belief))
    count, total = max(1, len(seconds)), max(sum(seconds), 1e-9)
    found = {"sensor": sensor, "states": shape[0] * shape[1], "seed": seed, "steps": len(seconds)}
    found |= {"end": str(explorer.end), "seconds": sum(seconds), "nats": nats}
    found |= {"nats_per_step": nats / count, "nats_per_second": nats / total}
    return found | {"median_ms": 1e3 * float(np.median(seconds or [np.nan]))}


def exponent(states: Sequence[float], times: Sequence[float]) -> float:
    """Fit time ∝ statesᵏ and return k."""
    return float(np.polyfit(np.log(states), np.log(times), 1)[0])
