"""A plan's claims: copied from a live plan, and the stages of a limited way home."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.certificates.cases import far, made, ridge, ridge_plan

from homeward.criteria import ReturnHome


def test_a_plan_case_can_not_be_written_to_and_says_its_decision() -> None:
    claims = ridge_plan().plan
    assert not claims.outbound.flags.writeable
    assert "In state 0: take " in str(claims)


def test_a_plan_goes_on_for_the_steps_that_are_fixed_or_expected() -> None:
    assert ridge_plan().plan.expected_steps == 2.0
    assert ridge_plan(recall=3).plan.expected_steps == 3.0


def test_the_stages_of_a_limited_way_home_are_followed_from_the_last_steps_on() -> None:
    (criterion,) = made(ridge(), [ReturnHome(0.3, 0, within=5)], far).plan.criteria
    policies = np.array([[-1, 1], [-1, 0], [-1, -1]])
    layered = replace(criterion, return_layers=policies, return_since=np.array([1, 3, 9]))
    stages = [(policy.tolist(), steps) for policy, steps in layered.stages()]
    assert stages == [([-1, 1], 2), ([-1, 0], 3)]
