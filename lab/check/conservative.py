"""Conservativeness of bounds: their distance to the truth, and the loss of exploration.

Plans are made at several levels, with the general and the moves correction, on three kinds of
beliefs. The truth of a plan is its probability of being home after a recall. It is computed by
enumeration if a belief has few worlds, and otherwise estimated in sampled worlds.

Exploration is measured as a fraction of the best exploration value without any criterion, so that
beliefs can be averaged. The better correction explores more at the same *true* safety, since a user
can lower the level if a bound is loose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from statistics import fmean, median

import numpy as np

from homeward.beliefs import Belief, FiniteBelief
from homeward.beliefs.corrections import Correction
from homeward.bonuses import Information, Uncover
from homeward.criteria import ReturnHome
from homeward.models import Moves
from homeward.planning.algorithm1 import Planner
from homeward.planning.plan import Plan
from homeward.referee.exact import dense_transitions, exact_recall, exact_way
from lab.check.calibration import (
    MARS_DISCOUNT,
    SHORT_SIGHTED,
    BeliefSetting,
    Outset,
    come_home,
    height_outset,
    terrain_outset,
)
from lab.check.soundness import far_bonus, random_belief

DELTAS = (1.0, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3)
CORRECTIONS = (Correction.GENERAL, Correction.MOVES)


def worlds_outset(rng: np.random.Generator) -> Outset:
    """Draw a belief over a few worlds whose moves always or never work; action 0 stays."""
    drawn = random_belief("moves", rng)
    worlds = []
    for world in drawn.worlds:
        assert isinstance(world, Moves)
        here = np.arange(world.states)
        dest, success = np.c_[here, world.dest], np.c_[np.ones(world.states), world.success]
        worlds.append(Moves(dest, success, np.c_[np.zeros(world.states), world.reward]))
    return Outset(FiniteBelief(worlds, drawn.weights), 0)


SETTINGS = (
    BeliefSetting("a few worlds", worlds_outset, far_bonus, 0.9),
    BeliefSetting("heights, 8 × 8", partial(height_outset, (8, 8)), Uncover(), 0.99),
    BeliefSetting(
        "terrain, 12 × 16",
        partial(terrain_outset, (12, 16), SHORT_SIGHTED, 0),
        Information(SHORT_SIGHTED),
        MARS_DISCOUNT,
    ),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """Bound, true safety and exploration of one plan, or their means over several plans."""

    setting: str
    correction: Correction
    level: float  # δ
    bound: float  # proven
    truth: float  # the exact probability, or the fraction of drawn worlds
    explored: float  # exploration value / best value without a criterion
    plans: int = 1
    corrected: float = 0.0  # the bound by the correction alone, by which the plan was chosen

    @property
    def excess(self) -> float:
        """Bound minus truth."""
        return self.bound - self.truth


def study(
    setting: BeliefSetting, beliefs: int, worlds: int, deltas: Sequence[float], seed: int
) -> list[Sample]:
    """Plan on random beliefs at every level with both corrections, and compare with the truth.

    Both corrections and all levels use the same beliefs and the same drawn worlds.
    """
    found: list[Sample] = []
    for number in range(beliefs):
        belief, state = setting.draw(np.random.default_rng([seed, number]))
        free = Planner(setting.bonus, [], setting.discount).plan(belief, state).exploration_value
        if free <= 0.0:
            continue
        for correction in CORRECTIONS:
            planner = Planner(setting.bonus, [], setting.discount, correction)
            previous: Plan | None = None
            for delta in deltas:
                at_level = replace(planner, criteria=(ReturnHome(delta),))
                plan = previous = at_level.plan(belief, state, None, previous)
                drawn = np.random.default_rng([seed, number, 1])
                found.append(
                    Sample(
                        setting.title,
                        correction,
                        delta,
                        plan.bounds[0],
                        truth_of(plan, belief, worlds, drawn),
                        plan.exploration_value / free,
                        corrected=plan.criteria[0].corrected,
                    )
                )
    return found


def truth_of(plan: Plan, belief: Belief, worlds: int, rng: np.random.Generator) -> float:
    """Return the probability that a plan, followed out and back, ends at home."""
    if not isinstance(belief, FiniteBelief):
        return sum(come_home(plan, belief.sample(rng), rng) for _ in range(worlds)) / worlds
    total = 0.0
    for chance, world in zip(belief.weights, belief.worlds, strict=True):
        rows = dense_transitions(world)
        way = exact_way(rows, plan.criteria[0])
        for weight, policy in zip(plan.weights, plan.outbound, strict=True):
            total += chance * weight * exact_recall(rows, policy, way, plan.discount)[plan.state]
    return float(total)


def averages(samples: Sequence[Sample]) -> list[Sample]:
    """Return the mean over the plans of each setting, correction and level."""
    groups: dict[tuple[str, Correction, float], list[Sample]] = {}
    for sample in samples:
        groups.setdefault((sample.setting, sample.correction, sample.level), []).append(sample)
    found = []
    for key, group in groups.items():
        names = ("bound", "truth", "explored")
        bound, truth, explored = (fmean(getattr(s, name) for s in group) for name in names)
        found.append(Sample(*key, bound, truth, explored, len(group)))
    return found


def distances(samples: Sequence[Sample]) -> list[dict[str, str | float]]:
    """Return a row per setting: distances truth − bound, proven and by the correction alone."""
    found: list[dict[str, str | float]] = []
    for setting in dict.fromkeys(s.setting for s in samples):
        mine = [s for s in samples if s.setting == setting]
        proven, corrected = (
            [s.truth - x for s, x in zip(mine, xs, strict=True)]
            for xs in ([s.bound for s in mine], [s.corrected for s in mine])
        )
        found.append(
            {
                "belief": setting,
                "median distance": median(proven),
                "largest": max(proven),
                "largest above the truth": max(0.0, -min(proven)),
                "median of the correction": median(corrected),
                "its largest": max(corrected),
            }
        )
    return found


def explored_at(curve: Sequence[Sample], truth: float) -> float | None:
    """Return the exploration at a true safety by linear interpolation; None outside the curve."""
    points = sorted((a.truth, a.explored) for a in curve)
    for (low, less), (high, more) in pairwise(points):
        if low <= truth <= high:
            return less if high == low else less + (more - less) * (truth - low) / (high - low)
    return None


def gains(found: Sequence[Sample]) -> dict[str, dict[float, float]]:
    """Return (exploration by the moves correction) / (by the general one) at equal true safety.

    The keys are the setting, then the true safety of each level of the general correction.
    """
    factors: dict[str, dict[float, float]] = {}
    for setting in dict.fromkeys(a.setting for a in found):
        general, moves = (
            [a for a in found if a.setting == setting and a.correction is correction]
            for correction in CORRECTIONS
        )
        factors[setting] = {}
        for point in general:
            ours = explored_at(moves, point.truth)
            if ours is not None and point.explored > 0.0:
                factors[setting][point.truth] = ours / point.explored
    return factors
