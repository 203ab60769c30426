"""A plan's claims: copied from a live plan, and the stages of a limited way home."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.certificates.cases import far, made, ridge, ridge_plan

from homeward.certificates.claims import PlanClaims
from homeward.planning.planner import Planner
from homeward.safety import ReturnHome, ReturnWithin


def test_claims_are_copied_from_a_live_plan_and_can_not_be_written_to() -> None:
    plan = Planner(far, [ReturnHome(0.5, 0)], 0.5).plan(ridge(), 0)
    claims = PlanClaims.of(plan)
    assert (claims.action, claims.exploration_value) == (plan.action, plan.exploration_value)
    assert [c.bound for c in claims.criteria] == list(plan.bounds)
    assert [e.verdict for e in claims.evidence] == [str(e.verdict) for e in plan.evidence]
    assert not claims.outbound.flags.writeable
    assert "In state 0: take " in str(claims)


def test_a_plan_goes_on_for_the_steps_that_are_fixed_or_expected() -> None:
    assert ridge_plan().plan.expected_steps == 2.0
    assert ridge_plan(recall=3).plan.expected_steps == 3.0


def test_the_stages_of_a_limited_way_home_are_followed_from_the_last_steps_on() -> None:
    (criterion,) = made(ridge(), [ReturnWithin(5, 0.3, 0)], far).plan.criteria
    policies = np.array([[-1, 1], [-1, 0], [-1, -1]])
    layered = replace(criterion, return_layers=policies, return_since=np.array([1, 3, 9]))
    stages = [(policy.tolist(), steps) for policy, steps in layered.stages()]
    assert stages == [([-1, 1], 2), ([-1, 0], 3)]
