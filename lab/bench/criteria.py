"""Time of a decision with three criteria, relative to one criterion.

Two rovers explore the same 50 × 100 terrain at γ = .999 from its middle: one with `ReturnHome`, the
other also with `ReturnWithin` and `StayInside`. Each plan has a warm start from the previous plan.
The time includes the corrections, the return policies, the constrained problem, the decision and
its evidence, but not the mean model and the bonus. For each terrain the ratio of the medians is
computed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from homeward.arrays import BoolArray
from homeward.bonuses import Information
from homeward.planning.plan import Plan
from homeward.planning.planner import Planner
from homeward.safety import Criterion, ReturnHome, ReturnWithin, StayInside
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
    one: tuple[float, float, float]  # s: median, lower and upper quartile
    three: tuple[float, float, float]
    binding: tuple[float, ...]  # [3] fraction of decisions with a positive multiplier


def three_criteria(shape: tuple[int, int]) -> list[Criterion]:
    """Return the criteria: return home, return within `WITHIN_STEPS`, stay in the middle."""
    middle = middle_of(shape).ravel()
    return [ReturnHome(HOME), ReturnWithin(WITHIN_STEPS, IN_TIME), StayInside(middle, INSIDE)]


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
    one, three = _Outing(criteria[:1], seed, shape), _Outing(criteria, seed, shape)
    for _ in range(1 + steps):  # the first decisions are cold, and may compile
        one.step()
        three.step()
    priced = np.array([plan.multipliers for plan in three.plans[1:]]) > 0.0
    binding = tuple(priced.mean(axis=0).tolist())
    return CriteriaTiming(
        seed, steps, quartiles(one.times[1:]), quartiles(three.times[1:]), binding
    )


class _Outing:
    """An exploration and the times of its decisions."""

    def __init__(self, criteria: Sequence[Criterion], seed: int, shape: tuple[int, int]) -> None:
        self.criteria = criteria
        self.belief, self.world = set_out(shape, seed)
        self.bonus = Information(SENSOR)
        self.plans: list[Plan] = []
        self.times: list[float] = []

    def step(self) -> None:
        """Plan, act, and record the time of the decision."""
        self.belief.mean()
        gain = self.bonus(self.belief)
        planner = Planner(lambda _: gain, self.criteria, DISCOUNT)
        last = self.plans[-1] if self.plans else None
        before = time.perf_counter()
        plan = planner.plan(self.belief, self.world.state, previous=last)
        self.times.append(time.perf_counter() - before)
        self.plans.append(plan)
        self.belief = self.belief.update(self.world.act(plan.action))
