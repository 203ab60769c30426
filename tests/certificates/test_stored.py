"""What belongs to a plan that is to be checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.certificates.cases import every_plan, far, made, ridge, ridge_plan

from homeward.certificates import StoredPlan
from homeward.errors import InvalidProblemError
from homeward.planner import Planner
from homeward.safety import EarnAtLeast, Requirement, ReturnHome, Situation, StayInside


class Wish:
    """A criterion of one's own."""

    def require(self, situation: Situation, out: object = None) -> Requirement:
        return ReturnHome(0.5).require(situation)


def test_a_plan_takes_the_bonus_and_the_rewards_of_its_planner_along() -> None:
    rewards = np.array([[1.0, 0.0], [0.0, 0.0]])
    stored = made(ridge(), [ReturnHome(0.5), EarnAtLeast(0.1, rewards)], far)
    np.testing.assert_array_equal(stored.bonus, far(stored.belief))
    assert stored.rewards[0] is None
    np.testing.assert_array_equal(stored.rewards[1], rewards)
    assert not stored.bonus.flags.writeable


def test_limits_are_taken_along() -> None:
    stored = made(ridge(), [EarnAtLeast(0.0, limits=(-1.0, 2.0))], far)
    assert stored.limits == ((-1.0, 2.0),)


def test_a_criterion_of_ones_own_is_refused_by_name() -> None:
    planner = Planner(far, [Wish()], 0.9)
    with pytest.raises(InvalidProblemError, match="a Wish can't be stored"):
        StoredPlan.of(planner.plan(ridge(), 0), ridge(), planner)


def test_the_planner_must_be_the_plans_own() -> None:
    plan = Planner(far, [ReturnHome(0.5)], 0.9).plan(ridge(), 0)
    with pytest.raises(InvalidProblemError, match="the plan has 1 criteria, its planner 0"):
        StoredPlan.of(plan, ridge(), Planner(far, [], 0.9))


def test_a_mixture_has_two_parts_and_a_single_policy_one() -> None:
    assert [part.name for part in ridge_plan(0.9).parts] == ["plan", "action"]
    assert [part.name for part in ridge_plan(0.5).parts] == ["plan"]


def test_a_claim_of_its_own_makes_a_part_its_own() -> None:
    stored = ridge_plan(0.5)
    raised = replace(stored.plan.criteria[0], kept_bound=0.99)
    stored = replace(stored, plan=replace(stored.plan, criteria=(raised,)))
    assert [part.claims for part in stored.parts] == [(stored.plan.bounds[0],), (0.99,)]


def test_exits_are_what_any_set_forbids() -> None:
    first, second = np.ones((2, 2), dtype=bool), np.ones((2, 2), dtype=bool)
    first[1, 0], second[1, 1] = False, False
    stored = made(ridge(), [StayInside(first, 0.5), StayInside(second, 0.5)], far)
    np.testing.assert_array_equal(stored.exits, [[False, False], [True, True]])
    assert ridge_plan().exits is None
    assert made(ridge(), [StayInside(np.ones(2, dtype=bool), 0.5)], far).exits is None


def test_a_plan_that_may_leave_must_say_what_it_follows_then() -> None:
    stored = every_plan("moves")
    with pytest.raises(InvalidProblemError, match="does not say what it follows then"):
        replace(stored, plan=replace(stored.plan, afterwards=None))


def test_a_plan_of_another_belief_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="outbound is int32 of shape"):
        replace(ridge_plan(), belief=every_plan("heights").belief)
