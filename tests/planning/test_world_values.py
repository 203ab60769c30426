from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeward.beliefs import FiniteBelief
from homeward.beliefs.corrections import Correction
from homeward.criteria import ReturnHome
from homeward.models import SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.plan import Evaluator
from homeward.referee.claims import PlanCase
from homeward.referee.exact import enumerated_values
from lab.check.soundness import TOGETHER, far_bonus, random_case


def corridor(slips: tuple[float, ...], states: int = 4) -> FiniteBelief:
    """Return corridors of unequal ice: forward and back, each with a chance to stay."""
    worlds = []
    for slip in slips:
        rows = np.zeros((states, 2, states))
        for s in range(states):
            for a, t in enumerate((min(s + 1, states - 1), max(s - 1, 0))):
                rows[s, a, s] += slip
                rows[s, a, t] += 1.0 - slip
        worlds.append(SparseMDP.from_dense(rows))
    return FiniteBelief(worlds)


def test_a_corridor_that_is_slippery_or_not_is_proven_to_lead_home() -> None:
    planner = Planner(far_bonus, [ReturnHome(0.5)], 0.9)
    belief = corridor((0.1, 0.4))
    (found,) = planner.plan(belief, 0).criteria
    assert found.evaluator is Evaluator.EXACT
    assert found.bound == pytest.approx(1.0, abs=1e-12)
    (charged,) = replace(planner, correction=Correction.GENERAL).plan(belief, 0).criteria
    assert charged.bound == pytest.approx(1.0, abs=1e-12)
    assert charged.corrected < 0.7  # Theorem 2 charges every step for its doubt


def test_a_return_within_a_limit_is_that_of_the_mean_over_worlds() -> None:
    planner = Planner(far_bonus, [ReturnHome(0.5, within=1)], 0.5)
    plan = planner.plan(corridor((0.0, 0.5), 2), 0)
    (found,) = plan.criteria
    # Out with the chance of a world, back at the first try: 1 − E[out · slip].
    out = [0.5 * (1 - slip) / (1 - 0.5 * slip) for slip in (0.0, 0.5)]
    expected = 1.0 - 0.5 * out[1] * 0.5
    if plan.outbound[0, 0] == 0 and plan.outbound[0, 1] == 0:
        assert found.bound == pytest.approx(expected, abs=1e-12)
    assert found.bound <= 1.0


@given(st.sampled_from(TOGETHER), st.integers(0, 2), st.booleans(), st.integers(0, 2**32 - 1))
def test_what_is_proven_on_a_finite_belief_is_true_and_no_less(
    asked: tuple[str, ...], number: int, fixed: bool, seed: int
) -> None:
    case = random_case(asked, number, np.random.default_rng(seed), fixed=fixed)
    for correction in case.corrections:
        planner = Planner(far_bonus, case.criteria, case.discount, correction, recall=case.recall)
        plan = planner.plan(case.belief, 0)
        truth = enumerated_values(PlanCase.of(plan, case.belief, planner))
        kept = truth.get("action", truth["plan"])
        for k, c in enumerate(plan.criteria):
            assert c.evaluator is Evaluator.EXACT
            for bound, true in ((c.bound, truth["plan"][k]), (c.kept_bound, kept[k])):
                assert bound <= true + 1e-15 * c.unit
                assert bound >= true - 1e-9 * c.unit
            assert c.bound >= c.corrected
            assert c.kept_bound >= c.kept_corrected


def test_a_naive_plan_is_not_made_true() -> None:
    planner = Planner(far_bonus, [ReturnHome(0.5)], 0.9, Correction.NAIVE)
    belief = corridor((0.1, 0.4))
    (found,) = planner.plan(belief, 0).criteria
    assert found.evaluator is Evaluator.CORRECTION


def test_a_limit_of_very_many_steps_keeps_its_correction(monkeypatch: Any) -> None:
    monkeypatch.setattr("homeward.planning.world_values.MAX_LAYERS", 3)
    planner = Planner(far_bonus, [ReturnHome(0.5, within=4)], 0.9)
    belief = corridor((0.1, 0.4))
    (found,) = planner.plan(belief, 0).criteria
    assert found.evaluator is Evaluator.CORRECTION
