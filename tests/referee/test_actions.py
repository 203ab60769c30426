"""What a plan says of itself and of each action: by hand, and forged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.referee.cases import (
    CAMP,
    GO,
    RIDGE,
    STAY,
    every_belief,
    every_plan,
    made,
    on_the_ridge,
    ridge,
    ridge_plan,
)

from homeward.beliefs import FiniteBelief
from homeward.criteria import EarnAtLeast, ReturnHome, StayInside
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.planning.plan import Verdict
from homeward.referee.bounds import Recomputed
from homeward.referee.certificate import judge
from lab.check.tampering import random_plan

if TYPE_CHECKING:
    from homeward.referee.claims import PlanCase


def with_row(case: PlanCase, action: int, **change: Any) -> PlanCase:
    """Change what a plan says of an action."""
    rows = list(case.plan.evidence)
    rows[action] = rows[action]._replace(**change)
    return replace(case, plan=replace(case.plan, evidence=tuple(rows)))


def said(case: PlanCase) -> tuple[str, ...]:
    """Certify by arithmetic alone; nothing but the table or the plan's own words may be refuted."""
    found = judge(case, method="arithmetic")
    assert not found.worth.refuted
    assert not any(verdict.refuted for verdict in found.verdicts)
    assert found.refuted == bool(found.said)
    assert found.as_dict()["said"] == list(found.said)
    return found.said


@pytest.mark.parametrize("recall", [None, 4])
@pytest.mark.parametrize("name", every_belief())
def test_what_a_sound_plan_says_of_its_actions_comes_out(name: str, recall: int | None) -> None:
    assert Recomputed(every_plan(name, recall=recall)).objections == ()


def test_what_random_plans_say_of_their_actions_comes_out() -> None:
    rng = np.random.default_rng(5)
    for number in range(24):
        assert Recomputed(random_plan(number, rng)).objections == ()


def test_the_ridge_by_hand() -> None:
    """To go up once and then follow the plan: 0.4 of it stays there, the rest comes down again."""
    stay, go = ridge_plan(0.9).plan.evidence
    assert (stay.verdict, go.verdict) == (Verdict.CHOSEN, Verdict.LESS_SAFE)
    assert said(with_row(ridge_plan(0.9), GO, safety=(go.safety[0] + 5e-8,))) == ()
    assert said(with_row(ridge_plan(0.9), GO, safety=(go.safety[0] - 0.5,))) == ()


@pytest.mark.parametrize("recall", [None, 3])
@pytest.mark.parametrize("action", [STAY, GO])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"safety": (1.01,)},
            "is claimed to have the bound 1.01 for 'return to state 0', but the bound is",
        ),
        (
            {"safety": (float("nan"),)},
            "is claimed to have the bound nan for 'return to state 0', but the bound is",
        ),
        ({"exploration": 7.0}, "is claimed to have value 7, but its value is"),
        ({"weight": 0.7}, "is claimed to have a weight of 0.7, but has"),
        (
            {"leaves": 0.7},
            "is claimed to leave the state with probability 0.7, but the probability is",
        ),
        ({"verdict": Verdict.UNAVAILABLE}, "is claimed to be “unavailable”, but is “"),
    ],
)
def test_a_row_of_the_table_that_does_not_come_out_is_refuted(
    change: Any, reason: str, action: int, recall: int | None
) -> None:
    case = ridge_plan(0.9, recall=recall)
    (found,) = said(with_row(case, action, **change))
    assert found.startswith(f"action {action} {reason}")


def test_a_bound_of_an_action_that_is_not_taken_is_refuted_if_it_is_too_high() -> None:
    """The ridge keeps ½; 0.6 is not far off, and nothing proves it."""
    case = made(ridge(), [ReturnHome(0.4, CAMP)], on_the_ridge, 0.5, state=RIDGE)
    (found,) = said(with_row(case, GO, safety=(case.plan.evidence[GO].safety[0] + 1e-3,)))
    assert found.startswith("action 1 is claimed to have the bound")


@pytest.mark.parametrize("verdict", [Verdict.WORTH_LESS, Verdict.NO_SAFER, Verdict.WAITS])
def test_an_unsafe_action_can_not_be_called_otherwise(verdict: Verdict) -> None:
    case = ridge_plan(1.0)
    assert case.plan.evidence[GO].verdict == Verdict.UNSAFE
    (found,) = said(with_row(case, GO, verdict=verdict))
    assert found.endswith("but is “unsafe”")


def test_a_safe_action_is_not_called_unsafe_for_a_bound_that_was_lowered() -> None:
    dest = np.array([[0, 1], [1, 0]])
    belief = FiniteBelief([Moves(dest, np.ones((2, 2)))])
    case = made(belief, [ReturnHome(0.9, CAMP)], lambda _: np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert case.plan.evidence[GO].verdict == Verdict.WORTH_LESS
    (found,) = said(with_row(case, GO, verdict=Verdict.UNSAFE, safety=(0.1,)))
    assert found.endswith("but is “worth_less”")


@pytest.mark.parametrize("recall", [None, 3])
def test_bounds_of_an_action_that_leaves_the_set_are_checked(recall: int | None) -> None:
    inside = np.array([[True, False], [True, True]])
    asked = [StayInside(inside, 0.9), EarnAtLeast(-1.0, np.eye(2))]
    case = made(ridge(), asked, on_the_ridge, 0.5, recall=recall)
    kept = case.plan.evidence[GO].safety
    for k in range(2):
        more = tuple(bound + 0.01 * (k == i) for i, bound in enumerate(kept))
        (found,) = said(with_row(case, GO, safety=more))
        assert found.startswith("action 1 is claimed to have the bound")


def test_a_reward_that_can_not_be_met_makes_no_room_for_a_false_bound_of_an_action() -> None:
    dest = np.array([[0, 1], [1, 0], [2, 2]])
    belief = FiniteBelief([Moves(dest, np.ones((3, 2)))])
    rewards = np.array([[1.0, 0.0], [0.0, 0.0], [-1e9, -1e9]])
    case = made(belief, [EarnAtLeast(-5.0, rewards)], lambda _: np.eye(3, 2), 0.5)
    assert said(case) == ()
    (found,) = said(with_row(case, GO, safety=(case.plan.evidence[GO].safety[0] + 0.1,)))
    assert found.startswith("action 1 is claimed to have the bound")


@pytest.mark.parametrize("recall", [None, 3])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"worthless": True}, "the plan is claimed to have no value, but its value is"),
        ({"waits": True}, "action 1 is claimed to wait without gain, but it moves or gains"),
    ],
)
def test_a_plan_that_is_worth_something_is_not_worthless_and_does_not_wait(
    change: Any, reason: str, recall: int | None
) -> None:
    case = ridge_plan(0.5, recall=recall)
    assert case.plan.action == GO
    (found,) = said(replace(case, plan=replace(case.plan, **change)))
    assert found.startswith(reason)


@pytest.mark.parametrize("recall", [None, 3])
def test_a_plan_that_is_worth_nothing_and_waits_says_so(recall: int | None) -> None:
    case = ridge_plan(1.0, recall=recall)
    assert (case.plan.worthless, case.plan.waits) == (True, True)
    forged = replace(case, plan=replace(case.plan, worthless=False, waits=False))
    assert said(forged) == (
        "the plan has no value, but its flag `worthless` is false",
        f"action {case.plan.action} waits without gain, but the plan's flag `waits` is false",
    )


def test_a_penalty_that_can_not_be_met_does_not_make_a_plan_worthless() -> None:
    dest = np.array([[0, 1], [1, 0], [2, 2]])
    paid = np.array([[0.0, 0.0], [0.0, 0.0], [-1e20, -1e20]])
    belief = FiniteBelief([Moves(dest, np.ones((3, 2)), paid)])
    case = made(belief, [ReturnHome(0.9, CAMP)], lambda _: np.eye(3, 2), 0.5)
    forged = replace(case, plan=replace(case.plan, worthless=True))
    assert (
        "the plan is claimed to have no value, but its value is 2" in Recomputed(forged).objections
    )


def test_bonus_that_is_left_can_not_be_denied() -> None:
    case = ridge_plan(0.9)
    with pytest.raises(InvalidProblemError, match="bonus_left is False"):
        replace(case, plan=replace(case.plan, bonus_left=False))
    with pytest.raises(InvalidProblemError, match="bonus_left is True"):
        replace(case, bonus=np.zeros((2, 2)))


def test_a_table_without_a_row_for_each_action_is_refused() -> None:
    case = ridge_plan(0.9)
    stay, go = case.plan.evidence
    for rows in ((), (stay,), (go, stay), (stay, go, go)):
        with pytest.raises(InvalidProblemError, match="the evidence is on actions"):
            replace(case, plan=replace(case.plan, evidence=rows))
    with pytest.raises(InvalidProblemError, match="action 1 has 2 bounds for 1 criteria"):
        with_row(case, GO, safety=(0.5, 0.5))
