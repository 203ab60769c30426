from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.beliefs.test_joint import random_heights, worlds_of

from homeward.beliefs import FiniteBelief, HeightBelief, TerrainBelief
from homeward.beliefs.corrections import Correction
from homeward.criteria import EarnAtLeast, ReturnHome, StayInside
from homeward.planning.algorithm1 import Planner
from homeward.planning.plan import Evaluator
from homeward.referee.certificate import judge
from homeward.referee.claims import PlanCase
from homeward.referee.exact import enumerated_values

if TYPE_CHECKING:
    from collections.abc import Callable


def finite(belief: HeightBelief) -> FiniteBelief:
    """Return the same belief as a list of its worlds."""
    found: dict[bytes, list[Any]] = {}
    for chance, world in worlds_of(belief):
        entry = found.setdefault(world.success.tobytes(), [0.0, world])
        entry[0] += chance
    weights = np.array([chance for chance, _ in found.values()])
    return FiniteBelief([world for _, world in found.values()], weights)


@given(st.integers(0, 2**32 - 1))
def test_what_is_proven_along_paths_is_the_truth_of_all_heights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    belief = random_heights(rng)
    states = len(belief.known)
    start = int(rng.integers(states))
    walls, known = np.array(belief.walls), belief.known.copy()
    known[start], walls[start] = 1, 0.0
    belief = replace(belief, known=known, walls=walls)
    allowed = rng.random((states, 9)) < 0.8
    allowed[start] = True
    criteria: list[Any] = [
        ReturnHome(
            float(rng.uniform(0.1, 1.0)), start if rng.random() < 0.5 else int(rng.integers(states))
        ),
        ReturnHome(float(rng.uniform(0.1, 1.0)), within=int(rng.integers(1, 6))),
        EarnAtLeast(-1.0, rng.random((states, 9))),
    ]
    inside = rng.random() < 0.3
    criteria = [criteria[rng.integers(3)], *([StayInside(allowed, 0.3)] if inside else [])]
    bonus, discount = 10.0 * rng.random((states, 9)), float(rng.choice([0.3, 0.9, 0.99]))
    correction = (Correction.GENERAL, Correction.MOVES)[rng.integers(2)]
    planner = Planner(lambda _: bonus, criteria, discount, correction)
    plan = planner.plan(belief, start)
    case = PlanCase.of(plan, belief, planner)
    truth = enumerated_values(replace(case, belief=finite(belief)))
    kept = truth.get("action", truth["plan"])
    for k, c in enumerate(plan.criteria):
        for bound, true in ((c.bound, truth["plan"][k]), (c.kept_bound, kept[k])):
            assert bound <= true + 1e-13 * c.unit
            if not inside or c.kind == "stay":  # nothing counts after an action outside the set
                assert bound >= true - 1e-5 * c.unit
    assert not judge(case, method="arithmetic").refuted


def wide_plan(**claims: Any) -> PlanCase:
    """Return a plan on a grid that is hardly known, with changed claims."""
    belief = HeightBelief((4, 4), walls=0.1, known=np.array([2, 3, 0, 0, 3, 2] + [0] * 10))
    belief = replace(belief, walls=np.where(belief.known > 0, 0.0, 0.1))
    planner = Planner(lambda b: np.where(b.known == 0, 1.0, 0.0)[:, None] + np.zeros((16, 9)),
                      [ReturnHome(0.5)], 0.95)  # fmt: skip
    return changed_plan(belief, planner, claims)


def terrain_plan(**claims: Any) -> PlanCase:
    """Return a plan on terrain whose far corner is worth a risky path, with changed claims."""
    height = np.add.outer(0.3 * np.arange(4), 0.4 * np.arange(4)).ravel()
    belief = TerrainBelief((4, 4), height, np.full(16, 0.06), 10.0, 5.0, 9.0)
    planner = Planner(lambda _: np.eye(16)[15][:, None] + np.zeros((16, 9)),
                      [ReturnHome(0.5)], 0.95, Correction.GENERAL)  # fmt: skip
    return changed_plan(belief, planner, claims)


def changed_plan(belief: Any, planner: Planner, claims: dict[str, Any]) -> PlanCase:
    case = PlanCase.of(planner.plan(belief, 0), belief, planner)
    (criterion,) = case.plan.criteria
    changed = replace(case.plan, criteria=(replace(criterion, **claims),))
    return replace(case, plan=changed)


def test_a_plan_on_a_grid_says_that_its_path_proves_it() -> None:
    case = wide_plan()
    (criterion,) = case.plan.criteria
    assert criterion.evaluator == Evaluator.PATH
    assert criterion.bound > criterion.corrected + 0.05
    assert not judge(case, episodes=2000).refuted


def test_a_plan_on_terrain_says_that_its_path_proves_it() -> None:
    case = terrain_plan()
    (criterion,) = case.plan.criteria
    assert criterion.evaluator == Evaluator.PATH
    assert criterion.bound > criterion.corrected + 0.05
    assert not judge(case, episodes=2000).refuted


@pytest.mark.parametrize("make", [wide_plan, terrain_plan])
def test_a_path_that_claims_more_than_its_moves_is_refuted(make: Callable[..., PlanCase]) -> None:
    (honest,) = make().plan.criteria
    for claims in ({"bound": honest.bound + 1e-3}, {"kept_bound": honest.kept_bound + 1e-3}):
        found = judge(make(**claims), method="arithmetic").verdicts
        assert next(v for v in found if v.refuted).refuted_by == ("arithmetic",)


def test_an_evaluator_that_the_belief_does_not_allow_proves_only_the_corrected_bound() -> None:
    for code in ("exact", "union", "correction"):
        found = judge(wide_plan(evaluator=code), method="arithmetic")
        assert any(v.refuted for v in found.verdicts), code


def test_a_corrected_bound_that_is_too_high_is_refuted_too() -> None:
    (honest,) = wide_plan().plan.criteria
    lie = wide_plan(corrected=honest.corrected + 1e-3)
    assert any(v.refuted for v in judge(lie, method="arithmetic").verdicts)


def test_over_fixed_steps_only_the_correction_proves() -> None:
    belief = wide_plan().belief
    planner = Planner(lambda _: np.ones((16, 9)), [ReturnHome(0.5)], recall=3)
    (criterion,) = planner.plan(belief, 0).criteria
    assert criterion.evaluator is Evaluator.CORRECTION
    assert criterion.bound == pytest.approx(criterion.corrected)
