"""Enumeration of a finite belief's worlds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.certificates.cases import every_plan, far, made, ridge, ridge_plan

from homeward.beliefs import FiniteBelief
from homeward.certificates import certify, exact
from homeward.certificates.exact import enumerate_worlds, why_not
from homeward.models import SparseMDP
from homeward.safety import EarnAtLeast, ReturnHome, StayInside


def test_the_ridge_by_hand() -> None:
    assert enumerate_worlds(ridge_plan(0.9)) == {
        "plan": pytest.approx((0.9,)),
        "action": pytest.approx((1.0,)),
    }


def test_a_world_of_no_weight_counts_nothing() -> None:
    stored = made(ridge(1.0), [ReturnHome(0.9, 0)], far, 0.5)
    assert enumerate_worlds(stored)["plan"] == pytest.approx((1.0,))


def test_earning_and_staying_by_hand() -> None:
    inside = np.array([[True, True], [False, False]])
    rewards = np.array([[1.0, 0.0], [0.0, 0.0]])
    stored = made(ridge(), [StayInside(inside, 0.7), EarnAtLeast(-1.0, rewards)], far, 0.5)
    policies = np.array([[1, 0]], np.int32)  # up and stay, outside the set
    plan = replace(stored.plan, weights=np.ones(1), outbound=policies)
    found = enumerate_worlds(replace(stored, plan=plan))
    assert found["plan"] == pytest.approx((0.75, 0.0))


def test_what_can_not_be_enumerated_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_not(ridge_plan()) is None
    assert why_not(every_plan("heights")) == (
        "only a FiniteBelief can be enumerated, and this is a HeightBelief"
    )
    monkeypatch.setattr(exact, "LARGEST", 7)
    assert why_not(ridge_plan()) == (
        "a world of 2 states and 2 actions is too large to be written out"
    )


def test_after_an_exit_the_other_policy_is_followed() -> None:
    inside = np.array([[True, True], [False, False]])
    rewards = np.array([[1.0, 0.0], [0.0, 0.0]])
    stored = made(ridge(), [StayInside(inside, 0.7), EarnAtLeast(-1.0, rewards)], far, 0.5)
    plan = replace(
        stored.plan,
        weights=np.ones(1),
        outbound=np.array([[1, 1]], np.int32),  # up and down again, which is outside
        afterwards=np.zeros(2, np.int32),  # then stay in camp, for ½ in all where there is a way
    )
    assert enumerate_worlds(replace(stored, plan=plan))["plan"] == pytest.approx((0.75, 0.25))


def test_rows_of_a_little_more_than_one_do_not_add_up_over_many_steps() -> None:
    """From state 0 half of the ways lead home (1), half to where there is none (2)."""
    rows = np.array([[[0.0, 0.5, 0.5]], [[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]])
    world = SparseMDP.from_dense(rows * (1.0 + 9e-10))
    stored = made(FiniteBelief([world]), [ReturnHome(0.4, 1)], far, 1.0 - 1e-8)
    assert enumerate_worlds(stored)["plan"] == pytest.approx((0.5,), abs=1e-9)
    (criterion,) = (replace(stored.plan.criteria[0], bound=0.54, kept_bound=0.54),)
    lie = replace(stored, plan=replace(stored.plan, criteria=(criterion,)))
    for method in ("exact", "arithmetic"):
        assert certify(lie, method=method).verdicts[0].refuted
