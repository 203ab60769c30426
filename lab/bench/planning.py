"""Time of one decision at the paper's size, compared with the LP that the paper solved.

Each setting explores a 50 × 100 terrain at γ = .999. Each step is planned without and with a warm
start from the previous plan. The time includes the corrections, the return policy, the constrained
problem, the decision and its evidence. The mean model and the bonus are timed separately, since the
LP is given both. HiGHS (interior point and simplex) and Clarabel solve the occupancy LP of some of
these steps; only their solve time counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from homeward.arrays import FloatArray
from homeward.beliefs import corrections_of
from homeward.beliefs.corrections import Correction
from homeward.beliefs.heights import TerrainBelief
from homeward.bonuses import Information
from homeward.criteria import ReturnHome, Situation
from homeward.planning.algorithm1 import Planner
from homeward.planning.plan import Plan
from homeward.solvers import ConstrainedProblem, Status
from lab.bench.peers import clarabel_lp, highs_lp
from lab.bench.terrain import SENSOR, quartiles, set_out

DISCOUNT = 0.999


class TimedSetting(NamedTuple):
    """One row of the paper's Table 1."""

    name: str
    delta: float | None  # level δ; None: unconstrained
    paper: float  # seconds per step in the paper
    correction: Correction | None = None


SETTINGS = (
    TimedSetting("0.98", 0.98, 5.86),
    TimedSetting("0.90", 0.90, 10.94),
    TimedSetting("0.70", 0.70, 4.57),
    TimedSetting("unconstrained", None, 1.62),
    TimedSetting("naive", 0.98, 2.55, Correction.NAIVE),
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of one setting."""

    setting: str
    steps: int
    warm: tuple[float, float, float]  # s: median, lower and upper quartile
    cold: tuple[float, float, float]
    lp: dict[str, float]  # s: median for each LP solver
    difference: float | None  # largest relative difference of the objective from that of HiGHS
    given: float  # s: median time of the mean model and the bonus


def measure(
    setting: TimedSetting,
    steps: int,
    samples: int,
    shape: tuple[int, int] = (50, 100),
    seed: int = 0,
) -> Timing:
    """Explore for `steps` steps and time each decision; solve the LP of `samples` of them."""
    belief, world = set_out(shape, seed)
    bonus = Information(SENSOR)
    criteria = [] if setting.delta is None else [ReturnHome(setting.delta)]
    sampled_steps = np.linspace(1, steps - 1, samples).round().astype(int) if samples else ()
    plan: Plan | None = None
    warm, cold, given, differences = [], [], [], []
    lp: dict[str, list[float]] = {}
    for step in range(-1, steps):  # the first decision compiles and is not counted
        sooner = time.perf_counter()
        belief.mean()
        gain = bonus(belief)
        planner = Planner(lambda _, gain=gain: gain, criteria, DISCOUNT, setting.correction)
        before = time.perf_counter()
        fresh = planner.plan(belief, world.state)
        between = time.perf_counter()
        again = planner.plan(belief, world.state, previous=plan)
        after = time.perf_counter()
        if step >= 0:
            given.append(before - sooner)
            cold.append(between - before)
            warm.append(after - between)
        if step in sampled_steps:
            problem = statement(planner, belief, world.state, gain)
            best = None
            for name, solve in (
                ("HiGHS ipm", lambda p: highs_lp(p, "ipm")),
                ("HiGHS simplex", lambda p: highs_lp(p, "simplex")),
                ("Clarabel", clarabel_lp),
            ):
                answer = solve(problem)
                if answer.status is not Status.OPTIMAL:
                    continue
                lp.setdefault(name, []).append(answer.seconds)
                if name.startswith("HiGHS"):
                    best = answer.objective if best is None else max(best, answer.objective)
            if best is not None:
                size = max(abs(best), 1e-300)
                differences += [abs(p.exploration_value - best) / size for p in (fresh, again)]
        plan = again
        belief = belief.update(world.act(plan.action))
    return Timing(
        setting=setting.name,
        steps=steps,
        warm=quartiles(warm),
        cold=quartiles(cold),
        lp={name: float(np.median(times)) for name, times in lp.items()},
        difference=max(differences, default=None),
        given=float(np.median(given)),
    )


def statement(
    planner: Planner, belief: TerrainBelief, state: int, bonus: FloatArray
) -> ConstrainedProblem:
    """Return the constrained problem that a planner solves, as input for other solvers."""
    model = belief.mean()
    corrections = corrections_of(belief, model, planner.discount, planner.correction)
    situation = Situation(model, corrections, planner.discount, state, state)
    requirements = [criterion.require(situation) for criterion in planner.criteria]
    return ConstrainedProblem(
        model,
        planner.discount,
        state,
        np.stack([model.reward + bonus, *(r.reward for r in requirements)]),
        np.array([r.level for r in requirements], np.float64),
    )
