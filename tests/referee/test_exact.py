"""Enumeration of a finite belief's worlds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.referee.cases import every_plan, far, made, ridge, ridge_plan

from homeward.beliefs import FiniteBelief
from homeward.criteria import EarnAtLeast, ReturnHome, StayInside
from homeward.errors import InvalidInputError
from homeward.models import SparseMDP
from homeward.referee import bounds, exact
from homeward.referee.bounds import Recomputed
from homeward.referee.certificate import judge
from homeward.referee.exact import enumerated_values, why_not_enumerable


def test_the_ridge_by_hand() -> None:
    assert enumerated_values(ridge_plan(0.9)) == {
        "plan": pytest.approx((0.9,)),
        "action": pytest.approx((1.0,)),
    }


def test_a_world_of_no_weight_counts_nothing() -> None:
    case = made(ridge(1.0), [ReturnHome(0.9, 0)], far, 0.5)
    assert enumerated_values(case)["plan"] == pytest.approx((1.0,))


def test_earning_and_staying_by_hand() -> None:
    inside = np.array([[True, True], [False, False]])
    rewards = np.array([[1.0, 0.0], [0.0, 0.0]])
    case = made(ridge(), [StayInside(inside, 0.7), EarnAtLeast(-1.0, rewards)], far, 0.5)
    policies = np.array([[1, 0]], np.int32)  # up and stay, outside the set
    plan = replace(case.plan, weights=np.ones(1), outbound=policies)
    found = enumerated_values(replace(case, plan=plan))
    assert found["plan"] == pytest.approx((0.75, 0.0))


def test_what_can_not_be_enumerated_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_not_enumerable(ridge_plan()) is None
    assert why_not_enumerable(every_plan("heights")) == (
        "only a FiniteBelief can be enumerated, but this is a HeightBelief"
    )
    monkeypatch.setattr(exact, "MAX_ENTRIES", 7)
    assert why_not_enumerable(ridge_plan()) == (
        "a world of 2 states and 2 actions is too large to enumerate"
    )


def test_after_an_exit_the_other_policy_is_followed() -> None:
    inside = np.array([[True, True], [False, False]])
    rewards = np.array([[1.0, 0.0], [0.0, 0.0]])
    case = made(ridge(), [StayInside(inside, 0.7), EarnAtLeast(-1.0, rewards)], far, 0.5)
    plan = replace(
        case.plan,
        weights=np.ones(1),
        outbound=np.array([[1, 1]], np.int32),  # up and down again, which is outside
        afterwards=np.zeros(2, np.int32),  # then stay in camp, for ½ in all where there is a way
    )
    assert enumerated_values(replace(case, plan=plan))["plan"] == pytest.approx((0.75, 0.25))


def test_rows_of_a_little_more_than_one_do_not_add_up_over_many_steps() -> None:
    """From state 0 half of the ways lead home (1), half to where there is none (2)."""
    rows = np.array([[[0.0, 0.5, 0.5]], [[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]])
    world = SparseMDP.from_dense(rows * (1.0 + 9e-10))
    case = made(FiniteBelief([world]), [ReturnHome(0.4, 1)], far, 1.0 - 1e-8)
    assert enumerated_values(case)["plan"] == pytest.approx((0.5,), abs=1e-9)
    (criterion,) = (replace(case.plan.criteria[0], bound=0.54, kept_bound=0.54),)
    lie = replace(case, plan=replace(case.plan, criteria=(criterion,)))
    for method in ("exact", "arithmetic"):
        assert judge(lie, method=method).verdicts[0].refuted


@pytest.mark.parametrize("steps", [1, 7, 100, 101, 1_000, 2**31 - 1])
def test_a_way_home_within_very_many_steps_is_enumerated_at_once(steps: int) -> None:
    """Each step from state 0 gets home (1) with probability 1e-3."""
    rows = np.array([[[0.999, 0.001]], [[0.0, 1.0]]])
    belief = FiniteBelief([SparseMDP.from_dense(rows)])
    case = made(belief, [ReturnHome(1e-9, 1, within=5)], far, recall=1)
    (criterion,) = case.plan.criteria
    name = f"return to state 1 within {steps} step{'s' * (steps != 1)}"
    longer = replace(criterion, within=steps, name=name)
    case = replace(case, plan=replace(case.plan, criteria=(longer,)))
    way = 1.0 - 0.999 ** (steps + 1)
    assert enumerated_values(case)["plan"] == pytest.approx((way,), abs=1e-12)
    assert Recomputed(case).bounds["plan"] == pytest.approx((way,), abs=1e-12)


def test_policies_for_fewer_steps_left_are_followed_last() -> None:
    """With more than 200 steps left it waits; with fewer it goes home, which works every 100th."""
    rows = np.array([[[1.0, 0.0], [0.99, 0.01]], [[0.0, 1.0], [0.0, 1.0]]])
    belief = FiniteBelief([SparseMDP.from_dense(rows)])
    case = made(belief, [ReturnHome(1e-9, 1, within=5)], far, recall=1)
    (criterion,) = case.plan.criteria
    slow = replace(
        criterion,
        within=2**31,
        name=f"return to state 1 within {2**31} steps",
        return_layers=np.array([[1, -1], [0, -1]], np.int32),
        return_since=np.array([1, 201]),
        return_policy=np.array([0, -1], np.int32),
    )
    wait = np.zeros((1, 1, 2), np.int32)
    plan = replace(case.plan, criteria=(slow,), weights=np.ones(1), outbound=wait)
    case = replace(case, plan=plan)
    way = 1.0 - 0.99**200
    assert enumerated_values(case)["plan"] == pytest.approx((way,), abs=1e-12)
    assert Recomputed(case).bounds["plan"] == pytest.approx((way,), abs=1e-12)


def test_a_limited_way_home_that_does_not_settle_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = made(ridge(), [ReturnHome(0.4, 0, within=4)], far, 0.5)
    monkeypatch.setattr(bounds, "MAX_LAYERS", 1)
    reason = "the return within 4 steps can't be checked: its values still change after 1 steps"
    with pytest.raises(InvalidInputError, match=reason):
        judge(case, method="arithmetic")
    assert judge(case, episodes=100).notes == (f"arithmetic not checked: {reason}",)
