"""A plan and all that a check of it needs; a plan that contradicts itself is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.referee.cases import every_plan, far, made, ridge, ridge_plan

from homeward.criteria import (
    EarnAtLeast,
    ReturnHome,
    StayInside,
)
from homeward.errors import InvalidProblemError
from homeward.planning.algorithm1 import Planner
from homeward.referee.claims import PlanCase


def test_a_plan_takes_the_bonus_and_the_rewards_of_its_planner_along() -> None:
    rewards = np.array([[1.0, 0.0], [0.0, 0.0]])
    case = made(ridge(), [ReturnHome(0.5), EarnAtLeast(0.1, rewards)], far)
    np.testing.assert_array_equal(case.bonus, far(case.belief))
    assert case.rewards[0] is None
    np.testing.assert_array_equal(case.rewards[1], rewards)
    assert not case.bonus.flags.writeable


def test_the_planner_must_be_the_plans_own() -> None:
    plan = Planner(far, [ReturnHome(0.5)], 0.9).plan(ridge(), 0)
    with pytest.raises(InvalidProblemError, match="the plan has 1 criteria, but its planner has 0"):
        PlanCase.of(plan, ridge(), Planner(far, [], 0.9))


def test_a_mixture_has_two_parts_and_a_single_policy_one() -> None:
    assert [part.name for part in ridge_plan(0.9).parts] == ["plan", "action"]
    assert [part.name for part in ridge_plan(0.5).parts] == ["plan"]


def test_a_claim_of_its_own_makes_a_part_its_own() -> None:
    case = ridge_plan(0.5)
    raised = replace(case.plan.criteria[0], kept_bound=0.99)
    case = replace(case, plan=replace(case.plan, criteria=(raised,)))
    assert [part.claims for part in case.parts] == [(case.plan.criteria[0].bound,), (0.99,)]


def test_exits_are_what_any_set_forbids() -> None:
    first, second = np.ones((2, 2), dtype=bool), np.ones((2, 2), dtype=bool)
    first[1, 0], second[1, 1] = False, False
    case = made(ridge(), [StayInside(first, 0.5), StayInside(second, 0.5)], far)
    np.testing.assert_array_equal(case.exits, [[False, False], [True, True]])
    assert ridge_plan().exits is None
    assert made(ridge(), [StayInside(np.ones(2, dtype=bool), 0.5)], far).exits is None


def test_a_plan_that_may_leave_must_say_what_it_follows_then() -> None:
    case = every_plan("moves")
    with pytest.raises(InvalidProblemError, match="has no policy to follow afterwards"):
        replace(case, plan=replace(case.plan, afterwards=None))


def test_a_plan_of_another_belief_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="outbound has shape"):
        replace(ridge_plan(), belief=every_plan("heights").belief)


@pytest.mark.parametrize("recall", [None, 3])
def test_what_is_kept_must_start_with_the_action(recall: int | None) -> None:
    case = every_plan("moves", recall=recall)
    other = 1 - case.plan.action
    with pytest.raises(
        InvalidProblemError, match=rf"but kept_outbound \(j=0\) starts with {1 - other}"
    ):
        replace(case, plan=replace(case.plan, action=other))


def test_a_policy_without_weight_may_start_as_it_likes() -> None:
    plan = ridge_plan(0.9).plan
    both = np.array([plan.kept_outbound[0], 1 - plan.kept_outbound[0]])
    weighed = replace(plan, kept_outbound=both, kept_weights=np.array([1.0, 0.0]))
    assert replace(ridge_plan(0.9), plan=weighed).plan is weighed
    with pytest.raises(InvalidProblemError, match=r"\(j=1\) starts with"):
        replace(ridge_plan(0.9), plan=replace(weighed, kept_weights=np.array([0.5, 0.5])))


@pytest.mark.parametrize("k", range(4))
def test_a_criterion_is_called_what_it_asks_for(k: int) -> None:
    case = every_plan("moves")
    names = [c.name for c in case.plan.criteria]
    assert names[1:3] == [
        "return to state 0 within 3 steps",
        "stay inside the set of 2 state-actions",
    ]
    criteria = list(case.plan.criteria)
    criteria[k] = replace(criteria[k], name="be home for tea")
    with pytest.raises(InvalidProblemError, match=f"'be home for tea', expected '{names[k]}'"):
        replace(case, plan=replace(case.plan, criteria=tuple(criteria)))


@pytest.mark.parametrize(
    "criterion",
    [
        ReturnHome(0.5, 0, within=1),
        ReturnHome(0.5, [0, 1]),
        StayInside(np.array([True, False]), 0.5),
        StayInside(np.ones((2, 2), dtype=bool), 0.5),
        EarnAtLeast(0.25, np.ones((2, 2))),
    ],
)
def test_every_name_that_a_planner_gives_is_known(criterion: Any) -> None:
    assert made(ridge(), [criterion], far).plan.criteria[0].name


def test_a_home_and_a_limit_are_for_a_way_home() -> None:
    case = made(ridge(), [StayInside(np.ones(2, dtype=bool), 0.5)], far)
    for change in ({"home": np.zeros(1, np.int32)}, {"within": 3}):
        odd = (replace(case.plan.criteria[0], **change),)
        with pytest.raises(InvalidProblemError, match="but has a home or a limit of steps"):
            replace(case, plan=replace(case.plan, criteria=odd))


def test_the_unit_of_a_probability_is_one_and_of_earnings_what_it_is() -> None:
    case = every_plan("moves")
    for k in range(3):
        criteria = list(case.plan.criteria)
        criteria[k] = replace(criteria[k], unit=2.0)
        with pytest.raises(InvalidProblemError, match=f"criterion {k} is a probability"):
            replace(case, plan=replace(case.plan, criteria=tuple(criteria)))
    assert case.plan.criteria[3].unit == pytest.approx(10.0)


def test_an_infeasible_plan_may_have_an_endless_multiplier_and_no_other() -> None:
    case = made(ridge(0.5), [ReturnHome(1.0, 0)], far, 0.5, state=1)
    assert [c.multiplier for c in case.plan.criteria] == [np.inf]
    for wrong in (-1.0, np.nan, -np.inf):
        odd = (replace(case.plan.criteria[0], multiplier=wrong),)
        with pytest.raises(InvalidProblemError, match="has a multiplier of"):
            replace(case, plan=replace(case.plan, criteria=odd))
    with pytest.raises(InvalidProblemError, match="the gap inf"):
        replace(case, plan=replace(case.plan, gap=np.inf))


def test_the_stages_of_a_limited_way_home_are_followed_from_the_last_steps_on() -> None:
    (criterion,) = made(ridge(), [ReturnHome(0.3, 0, within=5)], far).plan.criteria
    policies = np.array([[-1, 1], [-1, 0], [-1, -1]])
    layered = replace(criterion, return_layers=policies, return_since=np.array([1, 3, 9]))
    stages = [(policy.tolist(), steps) for policy, steps in layered.stages()]
    assert stages == [([-1, 1], 2), ([-1, 0], 3)]
