"""Time of a decision with three criteria, relative to one criterion.

Two rovers explore the same 50 × 100 terrain at γ = .999 from its middle: one with `ReturnHome`, the
other also with a return within steps and with `StayInside`. Each plan has a warm start from the
previous plan. The time includes the corrections, the return policies, the constrained problem, the
decision and its evidence, but not the mean model and the bonus. For each terrain the ratio of the
medians is computed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from homeward.arrays import BoolArray
from homeward.bonuses import Information
from homeward.criteria import Criterion, ReturnHome, StayInside
from homeward.planning.algorithm1 import Planner
from homeward.planning.plan import Plan
from lab.bench.terrain import SENSOR, quartiles, set_out

DISCOUNT = 0.999
HOME, IN_TIME, INSIDE = 0.95, 0.9, 0.98  # levels of the three criteria
WITHIN_STEPS = 40  # maximum number of steps to return home; the map is wider
MARGIN = 0.2  # width of the border outside the set, as a fraction of the map's sides


@dataclass(frozen=True, slots=True)
class CriteriaTiming:
    """Decisions on one terrain with one criterion and with three."""

    seed: int
    steps: int
    one: tuple[float, float, float]  # s, one criterion: median, lower and upper quartile
    three: tuple[float, float, float]  # s, three criteria: the same
    binding: tuple[float, ...]  # [3] fraction of decisions with a positive multiplier


def three_criteria(shape: tuple[int, int]) -> list[Criterion]:
    """Return the criteria: return home, return within `WITHIN_STEPS`, stay in the middle."""
    middle = middle_of(shape).ravel()
    return [ReturnHome(HOME), ReturnHome(IN_TIME, within=WITHIN_STEPS), StayInside(middle, INSIDE)]


def middle_of(shape: tuple[int, int]) -> BoolArray:
    """Return the mask [R, C] of cells that are at least `MARGIN` of the map from its edges."""
    rows, columns = shape
    down, across = round(MARGIN * rows), round(MARGIN * columns)
    inside = np.zeros(shape, dtype=bool)
    inside[down : rows - down, across : columns - across] = True
    return inside


def measure(steps: int, seed: int = 0, shape: tuple[int, int] = (50, 100)) -> CriteriaTiming:
    """Explore one terrain for `steps` steps with one criterion and with three."""
    criteria = three_criteria(shape)
    runs = zip(
        _decisions(criteria[:1], seed, shape), _decisions(criteria, seed, shape), strict=True
    )
    found = list(islice(runs, 1, 1 + steps))  # the first decisions are cold, and may compile
    one, three = (quartiles([run[k][0] for run in found]) for k in (0, 1))
    priced = np.array([plan.multipliers for _, (_, plan) in found]) > 0.0
    return CriteriaTiming(seed, steps, one, three, tuple(priced.mean(axis=0).tolist()))


def _decisions(
    criteria: Sequence[Criterion], seed: int, shape: tuple[int, int]
) -> Iterator[tuple[float, Plan]]:
    """Explore without end; yield the seconds of each decision, and its plan."""
    belief, world = set_out(shape, seed)
    plan = None
    while True:
        belief.mean()
        gain = Information(SENSOR)(belief)
        planner = Planner(lambda _, gain=gain: gain, criteria, DISCOUNT)
        before = time.perf_counter()
        plan = planner.plan(belief, world.state, previous=plan)
        yield time.perf_counter() - before, plan
        belief = belief.update(world.act(plan.action))
