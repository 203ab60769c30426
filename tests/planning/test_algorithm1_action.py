from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import DISCOUNTS, dense, models, tables, value_of

from homeward.beliefs import FiniteBelief
from homeward.criteria import ReturnHome
from homeward.models import Moves, SparseMDP
from homeward.planning.algorithm1 import Planner, decide, evidence_of
from homeward.planning.plan import Plan, Verdict
from homeward.solvers import ConstrainedProblem, ConstrainedSolution, Status, solve_constrained
from homeward.solvers.tolerances import met_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model

Method = Literal["columns", "lp"]
METHODS: tuple[Method, ...] = ("columns", "lp")
SLACK = 1e-9  # what a level may be missed by and count as kept


def plan_of(
    model: Model, bonus: FloatArray, criteria: Sequence[ReturnHome], method: Method = "columns"
) -> Plan:
    return Planner(lambda _: bonus, criteria, 0.9, method=method).plan(FiniteBelief([model]), 0)


# From camp one waits or goes to one of two huts, for good; both pay. The way home from a hut is
# none, but each hut is a home itself. A draw between the huts keeps both criteria at 0.55 each; any
# single hut keeps one at 1 and the other at 0.1. Only waiting keeps both: both huts can be reached.
HUTS = Moves(np.array([[0, 1, 2], [1, 1, 1], [2, 2, 2]]), np.ones((3, 3)))
IN_A_HUT = np.array([[0.0] * 3, [1.0] * 3, [1.0] * 3])
BOTH = (ReturnHome(0.4, 1), ReturnHome(0.4, 2))


@pytest.mark.parametrize("method", METHODS)
def test_with_two_criteria_the_action_keeps_both_where_one_can(method: Method) -> None:
    plan = plan_of(HUTS, IN_A_HUT, BOTH, method)
    assert plan.status is Status.OPTIMAL
    assert plan.exploration_value == pytest.approx(9.0, abs=1e-9)
    assert all(bound >= 0.4 - SLACK for bound in plan.bounds)
    assert plan.keeps_all
    assert plan.action == 0
    assert [c.kept_bound for c in plan.criteria] == pytest.approx([1.0, 1.0], abs=1e-11)
    assert plan.kept_value == 0.0
    assert plan.kept_weights.tolist() == [1.0]
    assert plan.kept_outbound[:, 0].tolist() == [0]


def test_the_part_that_is_kept_is_said_even_if_it_has_no_weight_in_the_plan() -> None:
    plan = plan_of(HUTS, IN_A_HUT, BOTH)
    wait, one, two = plan.evidence
    assert wait.verdict is Verdict.CHOSEN
    assert wait.weight == 0.0
    assert wait.safety == pytest.approx((1.0, 1.0), abs=1e-11)
    assert {one.verdict, two.verdict} == {Verdict.LESS_SAFE}
    assert one.weight + two.weight == pytest.approx(1.0, abs=1e-12)
    assert "The policies that start with action 0 are the safest: value 0, bound" in str(plan)


# The same without an action to wait by: no single action keeps both.
FORK = Moves(np.array([[1, 2], [1, 1], [2, 2]]), np.ones((3, 2)))


@pytest.mark.parametrize("method", METHODS)
def test_where_no_action_keeps_both_the_worst_margin_decides_and_the_plan_says_so(
    method: Method,
) -> None:
    criteria = (ReturnHome(0.3, 1), ReturnHome(0.4, 2))
    plan = plan_of(FORK, IN_A_HUT[:, :2], criteria, method)
    assert plan.status is Status.OPTIMAL
    assert all(c.bound >= c.level - SLACK for c in plan.criteria)
    assert not plan.keeps_all
    # The first hut keeps 1 and 0.1, short of 0.4 by 0.3; the second 0.1 and 1, short by 0.2.
    assert plan.action == 1
    assert [c.kept_bound for c in plan.criteria] == pytest.approx([0.1, 1.0], abs=1e-11)
    assert "No single first action meets every level; only the mixture does." in str(plan)


# Camp, a meadow that pays 1 and from which 0.99 come home, a cliff that pays 100 and from which 0.3
# do. At 0.95 the best plan is to wait, and to jump off the cliff once in a while; its safest part
# waits, for good. To go to the meadow instead is worth less and is safe by itself.
MEADOW = np.zeros((4, 3, 4))
MEADOW[0, 0, 0] = MEADOW[0, 1, 1] = MEADOW[0, 2, 2] = 1.0
MEADOW[1, :, 0], MEADOW[1, :, 3] = 0.99, 0.01
MEADOW[2, :, 0], MEADOW[2, :, 3] = 0.3, 0.7
MEADOW[3, :, 3] = 1.0
MEADOW_BONUS = np.repeat(np.array([0.0, 1.0, 100.0, 0.0])[:, None], 3, axis=1)


@pytest.mark.parametrize("method", METHODS)
def test_where_the_safest_part_waits_something_safe_and_worth_while_is_done_instead(
    method: Method,
) -> None:
    model = SparseMDP.from_dense(MEADOW)
    plan = plan_of(model, MEADOW_BONUS, [ReturnHome(0.95)], method)
    assert plan.status is Status.OPTIMAL
    assert plan.action == 1
    assert not plan.waits
    assert plan.keeps_all
    (criterion,) = plan.criteria
    assert criterion.bound == pytest.approx(0.95, abs=1e-9)
    # To the meadow and back: v = ⅒·1 + 0.9·(⅒·0.99 + 0.9·0.99·v), from camp.
    assert criterion.kept_bound == pytest.approx(0.1891 / (1.0 - 0.8019), abs=1e-11)
    assert criterion.kept_bound == pytest.approx(0.9546, abs=1e-4)
    # And worth 0.9·(1 + 0.891·w) = w.
    assert plan.kept_value == pytest.approx(0.9 / (1.0 - 0.8019), abs=1e-9)
    assert plan.kept_value < plan.exploration_value


def test_what_waits_is_said_to_wait() -> None:
    plan = plan_of(SparseMDP.from_dense(MEADOW), MEADOW_BONUS, [ReturnHome(0.95)])
    assert [e.verdict for e in plan.evidence] == [
        Verdict.WAITS,
        Verdict.CHOSEN,
        Verdict.LESS_SAFE,
    ]
    assert plan.evidence[0].weight > 0.9
    assert plan.evidence[1].weight == 0.0
    assert plan.evidence[1].exploration == plan.kept_value


@pytest.mark.parametrize("delta", [0.96, 0.9999])
def test_where_nothing_else_is_safe_by_itself_it_waits(delta: float) -> None:
    plan = plan_of(SparseMDP.from_dense(MEADOW), MEADOW_BONUS, [ReturnHome(delta)])
    assert plan.action == 0
    assert plan.waits
    assert not plan.worthless
    assert plan.criteria[0].kept_bound == pytest.approx(1.0, abs=1e-11)
    assert plan.kept_value == pytest.approx(0.0, abs=1e-12)


def test_waiting_is_left_only_for_what_is_worth_something() -> None:
    # The meadow pays nothing: going there would be as idle as to wait, and less safe.
    bonus = MEADOW_BONUS.copy()
    bonus[1] = 0.0
    plan = plan_of(SparseMDP.from_dense(MEADOW), bonus, [ReturnHome(0.95)])
    assert plan.action == 0
    assert plan.waits


def test_where_nothing_can_be_won_the_safest_is_taken_at_its_word() -> None:
    plan = plan_of(SparseMDP.from_dense(MEADOW), np.zeros((4, 3)), [ReturnHome(0.95)])
    assert plan.worthless
    assert plan.action == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_level_out_of_reach_is_decided_by_the_closest_alone(method: Method) -> None:
    criteria = (ReturnHome(0.9, 1), ReturnHome(0.95, 2))
    plan = plan_of(FORK, IN_A_HUT[:, :2], criteria, method)
    assert plan.status is Status.INFEASIBLE
    assert plan.evidence[plan.action].weight > 0.0
    assert {e.verdict for e in plan.evidence} <= {
        Verdict.CHOSEN,
        Verdict.LESS_SAFE,
        Verdict.NO_SAFER,
    }


def test_an_action_without_weight_in_an_infeasible_plan_is_no_safer() -> None:
    # From the cliff's edge: a leap that comes home half the time, or a slide that never does.
    rows = [[1, 0, 0], [1, 0, 0], [0, 0, 1], [0.5, 0, 0.5], [0, 0, 1], [0, 0, 1]]
    model = SparseMDP(np.array(rows))
    planner = Planner(lambda _: np.ones((3, 2)), [ReturnHome(0.9, 0)], 0.9)
    plan = planner.plan(FiniteBelief([model]), 1)
    assert plan.status is Status.INFEASIBLE
    assert [e.verdict for e in plan.evidence] == [Verdict.NO_SAFER, Verdict.CHOSEN]


def ridge_problem(level: float) -> tuple[ConstrainedProblem, ConstrainedSolution]:
    """Stay at (0, 1) or go at (1, ⅞), by hand in test_constrained; a mixture between them."""
    model = Moves(np.array([[0, 1], [1, 0]]), np.array([[1.0, 1.0], [1.0, 0.5]]))
    totals = np.array([[[0.0, 0.0], [1.0, 0.0]], [[0.5, 0.5], [0.375, 0.3125]]])
    problem = ConstrainedProblem(model, 0.5, 0, totals, np.array([level]))
    return problem, solve_constrained(problem)


def test_a_share_is_what_starts_with_its_action() -> None:
    problem, solved = ridge_problem(15 / 16)
    choice = decide(problem, solved, None)
    assert choice.action == 0
    assert choice.values == pytest.approx([0.0, 1.0], abs=1e-12)
    assert choice.margin == pytest.approx(1 / 16, abs=1e-12)
    assert choice.weights.tolist() == [1.0]
    assert (choice.policies[:, 0] == 0).all()


def test_whether_waiting_counts_is_for_the_caller_to_say() -> None:
    # Level 0.87 is met by going as well, which is worth more than to stay.
    problem, solved = ridge_problem(15 / 16)
    loose = ConstrainedProblem(problem.model, problem.discount, 0, problem.totals, np.array([0.87]))
    assert decide(loose, solved, None).action == 0
    walking = decide(loose, solved, np.array([False, False]))  # about, for nothing
    assert walking.action == 1
    other = decide(loose, solved, np.array([True, False]))
    assert other.action == 1
    assert other.values == pytest.approx([1.0, 7 / 8], abs=1e-12)
    assert decide(loose, solved, np.array([True, True])).action == 0


def test_deciding_writes_to_nothing_that_it_is_handed() -> None:
    problem, solved = ridge_problem(15 / 16)
    handed = (problem.totals, solved.policies, solved.weights, solved.values)
    before = [array.copy() for array in handed]
    stays = np.array([True, False])
    choice = decide(problem, solved, stays)
    evidence_of(problem, solved, choice, problem.model.leaving(problem.start), stays)
    assert all((a == b).all() for a, b in zip(handed, before, strict=True))
    assert stays.tolist() == [True, False]


@st.composite
def tasks(draw: Any) -> tuple[FiniteBelief, FloatArray, float, int, list[ReturnHome]]:
    """Draw a belief, a bonus, a discount, a state and up to three criteria."""
    model = draw(models(4, 3))
    shape = (model.states, model.actions)
    bonus = draw(tables(st.sampled_from([0.0, 0.0, 1.0, 5.0]), *shape))
    where = st.integers(0, model.states - 1)
    deltas = st.sampled_from([0.05, 0.2, 0.4, 0.6, 0.9, 1.0])
    asked = [
        ReturnHome(draw(deltas), draw(st.one_of(where, st.just("current"))))
        for _ in range(draw(st.integers(0, 3)))
    ]
    return FiniteBelief([model]), bonus, draw(DISCOUNTS), draw(where), asked


def densely(plan: Plan, belief: FiniteBelief, bonus: FloatArray, policy: IntArray) -> FloatArray:
    """Evaluate a policy here by dense solves: exploration, then each criterion. One known world."""
    model = belief.mean()
    rows, discount = dense(model), plan.discount
    safety = [(1.0 - discount) * c.way_home[:, None] for c in plan.criteria]
    totals = [model.reward + bonus, *(np.repeat(v, model.actions, axis=1) for v in safety)]
    return np.array([value_of(rows, policy, t, discount)[plan.state] for t in totals])


def decided(task: Any, method: Method = "columns") -> Plan:
    belief, bonus, discount, state, asked = task
    return Planner(lambda _: bonus, asked, discount, method=method).plan(belief, state)


@settings(max_examples=100)
@given(tasks())
def test_what_is_kept_is_what_the_kept_policies_are_densely_worth(task: Any) -> None:
    belief, bonus = task[:2]
    plan = decided(task)
    assert (plan.kept_outbound[:, plan.state] == plan.action).all()
    assert plan.kept_weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (plan.kept_weights > 0.0).all()
    values = plan.kept_weights @ np.array(
        [densely(plan, belief, bonus, policy) for policy in plan.kept_outbound]
    )
    assert plan.kept_value == pytest.approx(values[0], rel=1e-9, abs=1e-9)
    kept = [c.kept_bound for c in plan.criteria]
    assert kept == pytest.approx(np.clip(values[1:], 0.0, 1.0).tolist(), abs=1e-9)
    assert all(k <= v for k, v in zip(kept, np.clip(values[1:], 0.0, 1.0) + 1e-15, strict=True))
    within = met_within(1.0 / (1.0 - plan.discount))
    assert plan.keeps_all == all(c.kept_bound >= c.level - within for c in plan.criteria)


@settings(max_examples=100)
@given(tasks(), st.sampled_from(METHODS))
def test_the_levels_are_kept_where_any_policy_of_the_plan_can_with_another_action(
    task: Any, method: Method
) -> None:
    belief, bonus = task[:2]
    plan = decided(task, method)
    levels = np.array([c.level for c in plan.criteria])
    if plan.status is Status.INFEASIBLE or plan.keeps_all:
        return
    for policy in plan.outbound:
        for action in np.flatnonzero(np.isfinite(belief.mean().reward[plan.state])):
            changed = policy.copy()
            changed[plan.state] = action
            values = densely(plan, belief, bonus, changed)
            assert (values[1:] < levels - SLACK / 2).any()


@settings(max_examples=100)
@given(tasks())
def test_with_one_criterion_the_level_is_always_kept(task: Any) -> None:
    *rest, asked = task
    plan = decided((*rest, asked[:1]))
    if plan.status is not Status.INFEASIBLE:
        assert plan.keeps_all


@settings(max_examples=100)
@given(tasks())
def test_it_waits_only_where_nothing_safe_of_the_plan_is_worth_more(task: Any) -> None:
    belief, bonus = task[:2]
    plan = decided(task)
    if not plan.waits or plan.worthless or plan.status is Status.INFEASIBLE:
        return
    levels = np.array([c.level for c in plan.criteria])
    model = belief.mean()
    for policy in plan.outbound:
        for action in np.flatnonzero(np.isfinite(model.reward[plan.state])):
            if model.leaving(plan.state)[action] > 1e-9 or bonus[plan.state, action] > 0.0:
                changed = policy.copy()
                changed[plan.state] = action
                values = densely(plan, belief, bonus, changed)
                safe = (values[1:] >= levels).all()
                assert not safe or values[0] <= plan.kept_value + 1e-9 * (1.0 + plan.kept_value)


@settings(max_examples=100)
@given(tasks())
def test_the_evidence_fits_the_decision(task: Any) -> None:
    plan = decided(task)
    for e in plan.evidence:
        if e.verdict is Verdict.CHOSEN:
            assert e.action == plan.action
            assert e.exploration == plan.kept_value
        if e.verdict in (Verdict.LESS_SAFE, Verdict.WAITS):
            assert e.weight > 0.0
        if e.verdict in (Verdict.UNSAFE, Verdict.WORTH_LESS, Verdict.NO_SAFER):
            assert e.weight == 0.0
        if e.verdict is Verdict.WAITS:
            assert e.leaves <= 1e-12
        if e.verdict is Verdict.NO_SAFER:
            assert plan.status is Status.INFEASIBLE
        if e.verdict is Verdict.UNSAFE:
            levels = [c.level for c in plan.criteria]
            assert any(v < level for v, level in zip(e.safety, levels, strict=True))
