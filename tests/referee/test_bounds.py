"""A plan's numbers, done again: never above the truth, by hand, and on forged plans."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.referee.cases import GO, RIDGE, STAY, every_belief, every_plan, made, ridge_plan

from homeward.beliefs import FiniteBelief
from homeward.beliefs.corrections import Correction
from homeward.criteria import EarnAtLeast, ReturnHome, StayInside
from homeward.models import Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.referee.bounds import Recomputed
from homeward.referee.exact import enumerated_values
from lab.check.soundness import TOGETHER, far_bonus, random_case

if TYPE_CHECKING:
    from homeward.referee.claims import PlanCase


@given(st.sampled_from(TOGETHER), st.integers(0, 2), st.booleans(), st.integers(0, 2**32 - 1))
def test_no_bound_is_above_the_truth_whatever_the_policies(
    asked: tuple[str, ...], number: int, fixed: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    drawn = random_case(asked, number, rng, fixed=fixed)
    for correction in drawn.corrections:
        options: dict[str, Any] = {"correction": correction, "recall": drawn.recall}
        case = made(drawn.belief, drawn.criteria, far_bonus, drawn.discount, **options)
        usable = np.isfinite(case.belief.mean().reward)
        plan = case.plan
        for policies in (plan.outbound, plan.kept_outbound):
            other = rng.integers(usable.shape[1], size=policies.shape)
            allowed = usable[np.arange(len(usable)), other]
            changed = np.where(allowed, other, policies).astype(np.int32)
            forged = replace(case, plan=replace(plan, outbound=changed, weights=_even(changed)))
            for tried in (case, forged):
                found, truth = Recomputed(tried).bounds, enumerated_values(tried)
                for name, values in truth.items():
                    for bound, true, c in zip(found[name], values, plan.criteria, strict=True):
                        assert bound <= true + 1e-12 * max(c.unit, abs(true))


def _even(policies: Any) -> Any:
    """Return the same weight for each policy."""
    return np.full(len(policies), 1.0 / len(policies))


def agrees(case: PlanCase) -> None:
    """Compare what comes out with what the plan says; its bounds allow for rounding."""
    found, plan = Recomputed(case), case.plan
    assert not any(found.faults)
    for part in case.parts:
        for c, again in zip(plan.criteria, found.bounds[part.name], strict=True):
            claimed, unit = c.corrected if part.name == "plan" else c.kept_corrected, c.unit
            assert claimed <= again + 1e-11 * unit
            if plan.correction != "moves":
                assert again <= claimed + 1e-8 * unit
    assert found.value == pytest.approx(plan.exploration_value, abs=1e-9 * found.scale)
    assert found.kept_value == pytest.approx(plan.kept_value, abs=1e-9 * found.scale)
    if np.isfinite(plan.upper_bound):
        assert found.upper is not None
        assert found.upper <= plan.upper_bound + 1e-9 * found.scale
        assert found.upper >= plan.exploration_value - 1e-7 * found.scale


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("asked", TOGETHER)
def test_random_plans_come_out_again(asked: tuple[str, ...], fixed: bool) -> None:
    rng = np.random.default_rng(17)
    for number in range(3):
        case = random_case(asked, number, rng, fixed=fixed)
        for correction in (*case.corrections, Correction.NAIVE):
            agrees(
                made(
                    case.belief,
                    case.criteria,
                    far_bonus,
                    case.discount,
                    correction=correction,
                    recall=case.recall,
                )
            )


@pytest.mark.parametrize("recall", [None, 4])
@pytest.mark.parametrize("name", every_belief())
def test_plans_on_every_belief_come_out_again(name: str, recall: int | None) -> None:
    agrees(every_plan(name, recall=recall))


def test_a_plan_by_the_occupancy_lp_comes_out_again() -> None:
    agrees(ridge_plan(method="lp"))


def test_the_ridge_by_hand() -> None:
    found = Recomputed(ridge_plan(0.9, correction=Correction.GENERAL))
    assert found.bounds["plan"] == pytest.approx((0.9,), abs=1e-9)
    found = Recomputed(ridge_plan(0.9))  # moves: the way down is sure to be believed with ½
    assert found.bounds["plan"] == pytest.approx((0.9,), abs=1e-9)
    assert found.value == pytest.approx(0.4)
    assert found.upper == pytest.approx(0.4)
    assert found.bounds["action"] == pytest.approx((1.0,), abs=1e-9)


def with_return(case: PlanCase, state: int, action: int) -> PlanCase:
    """Change an entry of the way home."""
    (criterion,) = case.plan.criteria
    policy = criterion.return_policy.copy()
    policy[state] = action
    changed = replace(criterion, return_policy=policy)
    return replace(case, plan=replace(case.plan, criteria=(changed,)))


@pytest.mark.parametrize("action", [-1, STAY])
def test_a_way_home_that_gives_up_or_waits_for_good_is_worth_nothing(action: int) -> None:
    found = Recomputed(with_return(ridge_plan(0.9), RIDGE, action))
    assert found.faults[0][0].startswith(
        "the return from state 1 is claimed to have probability 0.5"
    )
    assert found.bounds["plan"] == pytest.approx((0.8,), abs=1e-9)  # 0.6 + 0.4·½


def test_a_way_home_in_a_circle_that_costs_is_worth_nothing_and_ends() -> None:
    dest = np.array([[0, 0], [2, 0], [1, 0]])
    works = np.array([[[1.0, 1.0], [p, p], [p, p]] for p in (0.0, 1.0)])
    belief = FiniteBelief([Moves(dest, world) for world in works])
    case = made(belief, [ReturnHome(0.4, 0)], far_bonus, 0.5)
    forged = with_return(with_return(case, 1, 0), 2, 0)
    assert "but the bound is 0.000000" in Recomputed(forged).faults[0][0]


def test_a_negative_way_home_counts_as_giving_up() -> None:
    """From state 1 home is 0.3 likely, corrected −0.12; half of what leaves state 2 goes there."""
    rows = np.zeros((2, 4, 1, 4))
    rows[:, [0, 3], 0, [0, 3]] = 1.0
    rows[0, 1, 0, 0] = rows[1, 1, 0, 3] = 1.0
    rows[:, 2, 0, :2] = 0.5
    worlds = [SparseMDP.from_dense(world) for world in rows]
    case = made(FiniteBelief(worlds, np.array([0.3, 0.7])), [ReturnHome(0.4, 0)], far_bonus, 0.5)
    assert case.plan.criteria[0].return_policy[1] == -1
    assert case.plan.criteria[0].way_home[2] == pytest.approx(0.5)
    assert not Recomputed(with_return(case, 1, 0)).faults[0]


def test_an_action_that_can_not_be_chosen_is_a_fault() -> None:
    reward = np.array([[0.0, 0.0, -np.inf], [0.0, 0.0, 0.0]])
    dest = np.array([[0, 1, 1], [1, 0, 0]])
    belief = FiniteBelief([Moves(dest, np.ones((2, 3)), reward)])
    case = made(belief, [ReturnHome(0.4, 0)], far_bonus, 0.5)
    policies = case.plan.outbound.copy()
    policies[0, 0] = 2
    forged = replace(case, plan=replace(case.plan, outbound=policies))
    assert (
        "the plan takes an action that can't be chosen in state 0" in Recomputed(forged).faults[0]
    )


def test_a_moves_correction_on_general_worlds_is_a_fault() -> None:
    rows = np.full((3, 2, 3), 1 / 3)
    rows[:, 1] = [0.5, 0.25, 0.25]
    belief = FiniteBelief([SparseMDP.from_dense(rows), SparseMDP.from_dense(rows[:, ::-1])])
    case = made(belief, [ReturnHome(0.2, 0)], far_bonus, 0.5)
    forged = replace(case, plan=replace(case.plan, correction=Correction.MOVES))
    assert "needs move-or-stay worlds" in Recomputed(forged).faults[0][0]


def test_limits_that_worlds_pass_are_a_fault() -> None:
    dest = np.array([[0, 1], [1, 0]])
    worlds = [Moves(dest, np.ones((2, 2)), np.full((2, 2), pay)) for pay in (-5.0, 5.0)]
    case = made(FiniteBelief(worlds), [EarnAtLeast(0.0, limits=(-5.0, 5.0))], far_bonus)
    forged = replace(case, limits=((-1.0, 1.0),))
    assert (
        Recomputed(forged)
        .faults[0][0]
        .startswith("rewards of the worlds range from -5 to 5, outside")
    )


def test_a_range_that_is_not_the_rewards_own_is_a_fault() -> None:
    case = made(ridge_plan().belief, [EarnAtLeast(0.0, np.eye(2))], far_bonus)
    (criterion,) = case.plan.criteria
    criteria = (replace(criterion, unit=2.0 * criterion.unit),)
    forged = replace(case, plan=replace(case.plan, criteria=criteria))
    assert Recomputed(forged).faults[0][0] == "the range of earnings is 10, but is claimed to be 20"


def test_an_upper_bound_is_found_from_nothing_near() -> None:
    """Policy iteration gets there from a bad plan's policies; with the wrong price it is loose."""
    case = ridge_plan(0.9)
    lazy = replace(case.plan, outbound=np.zeros_like(case.plan.outbound))
    assert Recomputed(replace(case, plan=lazy)).upper == pytest.approx(0.4)
    (criterion,) = case.plan.criteria
    free = replace(case.plan, criteria=(replace(criterion, multiplier=0.0),))
    assert Recomputed(replace(case, plan=free)).upper == pytest.approx(1.0)


def test_leaving_pays_once_and_what_comes_after_counts_for_the_worth() -> None:
    inside = np.array([[True, True], [False, False]])
    case = made(ridge_plan().belief, [StayInside(inside, 0.9)], _stays, 0.5)
    found = Recomputed(case)
    assert found.bounds["plan"] == pytest.approx((0.9,), abs=1e-9)
    assert found.value == pytest.approx(0.4)  # the crater of docs/criteria.md
    lazy = replace(case.plan, afterwards=np.array([STAY, GO], np.int32))
    assert Recomputed(replace(case, plan=lazy)).value < 0.4


def _stays(belief: Any) -> Any:
    return np.array([[0.0, 0.0], [1.0, 0.0]])


def test_nothing_is_asked_of_the_planner_or_its_solvers(monkeypatch: pytest.MonkeyPatch) -> None:
    case = every_plan("moves")

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("asked the planner")

    monkeypatch.setattr(Planner, "plan", refuse)
    for name in ("policies.engine_for", "returns.solve_return", "constrained.solve_constrained"):
        monkeypatch.setattr(f"homeward.solvers.{name}", refuse)
    agrees(case)
