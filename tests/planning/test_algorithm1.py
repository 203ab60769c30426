from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.conftest import DISCOUNTS, Silent, all_policies, dense, move_beliefs, tables, value_of

from homeward.beliefs import Belief, DirichletBelief, FiniteBelief, Visit
from homeward.beliefs.corrections import Correction
from homeward.bonuses import RMax
from homeward.criteria import (
    Criterion,
    EarnAtLeast,
    Requirement,
    ReturnHome,
    Situation,
    StayInside,
)
from homeward.errors import InvalidBeliefError, InvalidProblemError
from homeward.models import Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.plan import Plan, Verdict
from homeward.referee.exact import exact_recall, exact_return, exact_total
from homeward.solvers import ConstrainedProblem, ConstrainedSolution, Status, solve_constrained

if TYPE_CHECKING:
    from homeward.arrays import FloatArray

DELTAS = st.sampled_from([0.3, 0.6, 0.9, 1.0])

# Camp and ridge, γ = ½. Going up is sure; the way down is there in half of the worlds. Staying on
# the ridge pays 1 a step. With p = ½ the way home from the ridge is worth
#   moves    1 − p(1−p)/p  = ½      general  1 − 2p(1−p)/p = 0      naive  1,
# so going up to stay, worth ½·1/(1 − ½) = 1, is safe at ½ + ½·v = ¾, ½ or 1. Staying in camp is
# worth 0 and safe at 1, so at level 0.9 the best mixture is worth 0.1/(1 − ¾) = 0.4, 0.2 or 1.
DEST = np.array([[0, 1], [1, 0]])
WORLDS = (np.ones((2, 2)), np.array([[1.0, 1.0], [1.0, 0.0]]))
RIDGE = FiniteBelief([Moves(DEST, success) for success in WORLDS])
SPARSE_RIDGE = FiniteBelief([Moves(DEST, success).sparse() for success in WORLDS])
BONUS = np.array([[0.0, 0.0], [1.0, 0.0]])


def constant(bonus: FloatArray) -> Any:
    """Make a bonus that does not look at the belief."""
    return lambda _: bonus


def ridge_plan(belief: FiniteBelief = RIDGE, delta: float = 0.9, **options: Any) -> Plan:
    return Planner(constant(BONUS), [ReturnHome(delta)], 0.5, **options).plan(belief, 0)


@pytest.mark.parametrize("method", ["columns", "lp"])
@pytest.mark.parametrize(
    ("correction", "way_home", "worth", "price"),
    [
        (Correction.MOVES, 0.5, 0.4, 4.0),
        (Correction.GENERAL, 0.0, 0.2, 2.0),
        (Correction.NAIVE, 1.0, 1.0, 0.0),
    ],
)
def test_the_ridge_is_planned_by_hand(
    correction: Correction, way_home: float, worth: float, price: float, method: Any
) -> None:
    found = ridge_plan(correction=correction, method=method)
    assert found.status is Status.OPTIMAL
    assert found.way_home == pytest.approx([1.0, way_home], abs=1e-12)
    assert found.exploration_value == pytest.approx(worth, abs=1e-9)
    assert found.upper_bound == pytest.approx(worth, abs=1e-9)
    assert found.multipliers[0] == pytest.approx(price, abs=1e-6)
    assert found.correction is correction


@pytest.mark.parametrize("method", ["columns", "lp"])
@pytest.mark.parametrize(
    ("correction", "worth"), [(Correction.GENERAL, 0.2), (Correction.NAIVE, 1.0)]
)
def test_the_ridge_is_planned_by_hand_on_general_models(
    correction: Correction, worth: float, method: Any
) -> None:
    found = ridge_plan(SPARSE_RIDGE, correction=correction, method=method)
    assert found.exploration_value == pytest.approx(worth, abs=1e-9)


def test_the_first_action_is_the_safest_with_weight() -> None:
    found = ridge_plan()
    assert found.action == 0
    assert found.criteria[0].bound == pytest.approx(0.9, abs=1e-9)
    assert found.criteria[0].kept_bound == pytest.approx(1.0, abs=1e-9)
    assert found.waits


def test_a_looser_level_lets_it_go() -> None:
    found = ridge_plan(delta=0.7)
    assert found.action == 1
    assert found.exploration_value == pytest.approx(1.0, abs=1e-9)
    assert not found.waits


def test_the_default_correction_is_the_tightest_that_the_belief_allows() -> None:
    assert ridge_plan().correction is Correction.MOVES
    assert ridge_plan(SPARSE_RIDGE).correction is Correction.MOVES  # it is move-or-stay
    general = DirichletBelief.independent(np.ones((2, 2, 2)))
    assert Planner(constant(BONUS), [ReturnHome(0.1)]).plan(general, 0).correction is (
        Correction.GENERAL
    )


def test_a_dirichlet_belief_is_planned_with_the_general_correction() -> None:
    belief = DirichletBelief.independent(np.ones((2, 2, 2)))
    found = Planner(RMax(), [ReturnHome(0.5)], 0.5).plan(belief.update(Visit(0)), 0)
    assert found.correction is Correction.GENERAL


def test_a_naive_plan_is_labelled_as_one() -> None:
    assert ridge_plan(correction=Correction.NAIVE).correction is Correction.NAIVE


@pytest.mark.parametrize("correction", list(Correction))
def test_a_correction_may_be_named_by_word_or_by_enum(correction: Correction) -> None:
    by_word, by_enum = (ridge_plan(correction=c) for c in (str(correction), correction))
    assert by_word.exploration_value == by_enum.exploration_value
    assert by_word.correction is by_enum.correction is correction


def test_the_moves_correction_on_general_worlds_is_refused() -> None:
    rows = np.full((3, 1, 3), 1 / 3)  # each action has two destinations beside staying
    belief = FiniteBelief([SparseMDP.from_dense(rows)])
    planner = Planner(constant(np.ones((3, 1))), [ReturnHome(0.5)], correction=Correction.MOVES)
    with pytest.raises(InvalidBeliefError, match="the moves correction needs Moves worlds"):
        planner.plan(belief, 0)


def test_the_moves_correction_on_a_dirichlet_belief_is_refused() -> None:
    belief = DirichletBelief.independent(np.ones((2, 2, 2)))
    planner = Planner(RMax(), [ReturnHome(0.5)], correction=Correction.MOVES)
    with pytest.raises(InvalidBeliefError, match="DirichletBelief has a SparseMDP"):
        planner.plan(belief, 0)


def test_no_criteria_is_unsafe_exploration() -> None:
    found = Planner(constant(BONUS), [], 0.5).plan(RIDGE, 0)
    assert found.criteria == ()
    assert found.action == 1
    assert found.exploration_value == pytest.approx(1.0, abs=1e-12)
    assert all(e.safety == () for e in found.evidence)


def test_home_is_the_current_state_unless_given() -> None:
    planner = Planner(constant(BONUS), discount=0.5)
    assert planner.plan(RIDGE, 1).criteria[0].home.tolist() == [1]


@pytest.mark.parametrize(
    ("home", "start", "states"),
    [
        ("current", 0, [1]),
        ("start", 0, [0]),
        ("start", None, [1]),
        (0, None, [0]),
        ([0, 1], 0, [0, 1]),
    ],
)
def test_home_is_where_one_says(home: Any, start: int | None, states: list[int]) -> None:
    planner = Planner(constant(BONUS), [ReturnHome(0.4, home)], 0.5)
    found = planner.plan(RIDGE, 1, start)
    assert found.criteria[0].home.tolist() == states
    assert (found.way_home[states] == 1.0).all()


@dataclass(frozen=True)
class Unsure(ReturnHome):
    """A return whose policy was not solved to the end."""

    status: Status = Status.NOT_CONVERGED

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        sure = ReturnHome.require(self, situation, out)
        return replace(sure, returns=replace(sure.returns, status=self.status))


@pytest.mark.parametrize("status", [Status.NOT_CONVERGED, Status.NUMERICAL])
def test_a_way_home_that_was_not_solved_is_not_hushed_up(status: Status) -> None:
    found = Planner(constant(BONUS), [Unsure(0.7, 0, status=status)], 0.5).plan(RIDGE, 0)
    assert found.status is status


def test_infeasible_is_a_stronger_word_than_not_converged() -> None:
    cut_off = FiniteBelief([Moves(np.array([[0], [0]]), np.array([[1.0], [0.0]]))])
    planner = Planner(constant(np.ones((2, 1))), [Unsure(0.7, 0)], 0.5)
    assert planner.plan(cut_off, 1).status is Status.INFEASIBLE


def test_an_infeasible_level_gives_the_safest_policy() -> None:
    # From the ridge to camp: the way down is worth ½ at once, and less on every detour.
    found = Planner(constant(BONUS), [ReturnHome(0.9, home=0)], 0.5).plan(RIDGE, 1)
    assert found.status is Status.INFEASIBLE
    assert found.upper_bound == -np.inf
    assert found.criteria[0].bound == pytest.approx(found.criteria[0].kept_bound)
    safest = Planner(constant(BONUS), [ReturnHome(found.bounds[0] - 1e-9, home=0)], 0.5)
    assert safest.plan(RIDGE, 1).status is Status.OPTIMAL
    harder = Planner(constant(BONUS), [ReturnHome(found.bounds[0] + 1e-6, home=0)], 0.5)
    assert harder.plan(RIDGE, 1).status is Status.INFEASIBLE


def test_in_an_infeasible_plan_no_action_is_blamed_for_the_level() -> None:
    found = Planner(constant(BONUS), [ReturnHome(0.9, home=0)], 0.5).plan(RIDGE, 1)
    assert Verdict.UNSAFE not in {e.verdict for e in found.evidence}


# From camp one waits in two ways, the second of which pays a little, or jumps into a pit that pays.
PIT = Moves(
    np.array([[0, 0, 1, 0], [1, 1, 1, 1]]),
    np.ones((2, 4)),
    np.array([[0.0, 0.0, 0.0, -np.inf], [0.0, 0.0, 0.0, 0.0]]),
)
PIT_BONUS = np.array([[0.0, 0.1, 0.0, 5.0], [1.0, 1.0, 1.0, 1.0]])


def test_every_action_gets_its_verdict() -> None:
    found = Planner(constant(PIT_BONUS), [ReturnHome(1.0)], 0.5).plan(FiniteBelief([PIT]), 0)
    assert [e.verdict for e in found.evidence] == [
        Verdict.WORTH_LESS,
        Verdict.CHOSEN,
        Verdict.UNSAFE,
        Verdict.UNAVAILABLE,
    ]
    assert found.action == 1
    assert found.exploration_value == pytest.approx(0.2, abs=1e-12)


def test_evidence_is_derived_by_hand() -> None:
    # Jumping: 0 now, then 1 a step for ever under γ = ½ is 1; safe only if recalled at once.
    found = Planner(constant(PIT_BONUS), [ReturnHome(1.0)], 0.5).plan(FiniteBelief([PIT]), 0)
    jump = found.evidence[2]
    assert jump.exploration == pytest.approx(1.0, abs=1e-12)
    assert jump.safety == pytest.approx((0.5,), abs=1e-12)
    assert (jump.leaves, jump.weight) == (1.0, 0.0)
    assert found.evidence[1].leaves == 0.0
    assert found.evidence[1].weight == 1.0


def test_a_part_of_the_mixture_that_is_not_chosen_is_called_less_safe() -> None:
    stay, go = ridge_plan().evidence
    assert (stay.verdict, go.verdict) == (Verdict.CHOSEN, Verdict.LESS_SAFE)
    assert (stay.weight, go.weight) == pytest.approx((0.6, 0.4), abs=1e-9)


def test_a_plan_that_sees_nothing_new_says_so() -> None:
    nothing = Planner(constant(np.zeros((2, 2))), [ReturnHome(0.5)], 0.5).plan(RIDGE, 0)
    assert not nothing.bonus_left
    assert nothing.worthless
    assert ridge_plan().bonus_left
    assert not ridge_plan().worthless


def test_a_plan_that_may_not_go_where_the_bonus_is_is_worthless() -> None:
    found = Planner(constant(np.array([[0.0] * 4, [1.0] * 4])), [ReturnHome(1.0)], 0.5).plan(
        FiniteBelief([PIT]), 0
    )
    assert found.bonus_left
    assert found.worthless


@pytest.mark.parametrize("sparse", [False, True])
def test_a_reward_that_can_not_be_reached_makes_no_plan_worthless_or_less_than_optimal(
    sparse: bool,
) -> None:
    # From 0 one goes on to 1, which pays 1 or 0.9 a step; nothing leads to 2, which pays 1e12.
    model = Moves(np.array([[0, 1], [1, 1], [2, 2]]), np.ones((3, 2)))
    bonus = np.array([[0.0, 0.0], [0.9, 1.0], [1e12, 1e12]])
    belief = FiniteBelief([model.sparse() if sparse else model])
    found = Planner(constant(bonus), [ReturnHome(0.05)], 0.9).plan(belief, 0)
    assert found.status is Status.OPTIMAL
    assert not found.worthless
    assert found.action == 1
    # Up and staying is never called off at home but at first, with 0.1.
    assert found.exploration_value == pytest.approx(9.0, abs=1e-9)
    assert found.gap < 1e-6


@pytest.mark.parametrize("asked", [[], [ReturnHome(0.9)]])
def test_where_nothing_moves_an_optimal_plan_has_no_large_gap(asked: list[ReturnHome]) -> None:
    # From 0, where waiting pays 9 a step, no move works; beyond, 1e12 is paid.
    model = Moves(
        np.array([[0, 1], [1, 2], [2, 1]]), np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    )
    bonus = np.array([[9.0, 1.0], [1e12, 0.0], [0.0, 1e12]])
    found = Planner(constant(bonus), asked, 0.9).plan(FiniteBelief([model]), 0)
    assert found.status is Status.OPTIMAL
    assert found.exploration_value == pytest.approx(90.0)
    assert found.gap < 1e-6


def test_staying_where_it_pays_is_not_waiting() -> None:
    found = Planner(constant(np.ones((2, 2))), [ReturnHome(1.0)], 0.5).plan(RIDGE, 0)
    assert found.action == 0
    assert not found.waits


def test_nor_is_staying_where_the_world_itself_pays() -> None:
    for pays in (2.0, -2.0):
        paid = FiniteBelief([Moves(DEST, s, np.array([[pays, -9.0], [0.0, 0.0]])) for s in WORLDS])
        found = Planner(constant(np.zeros((2, 2))), [ReturnHome(1.0)], 0.5).plan(paid, 0)
        assert found.action == 0
        assert found.waits == (pays < 0.0)


def test_the_reward_is_added_to_the_bonus() -> None:
    paid = FiniteBelief([Moves(DEST, s, np.array([[2.0, 0.0], [0.0, 0.0]])) for s in WORLDS])
    found = Planner(constant(BONUS), [ReturnHome(0.9)], 0.5).plan(paid, 0)
    assert found.exploration_value == pytest.approx(4.0, abs=1e-9)


@st.composite
def tasks(draw: Any) -> tuple[FiniteBelief, FloatArray, float, int]:
    """Draw a belief, a bonus, a discount and a state."""
    belief = draw(move_beliefs(st.sampled_from([0.0, 1.0, 1.0, 0.5]), 4, 3))
    shape = belief.worlds[0].reward.shape
    bonus = draw(tables(st.sampled_from([0.0, 0.0, 1.0, 2.0]), *shape))
    return belief, bonus, draw(DISCOUNTS), draw(st.integers(0, shape[0] - 1))


@given(tasks(), DELTAS)
def test_the_chosen_actions_share_keeps_at_least_the_bound(task: Any, delta: float) -> None:
    belief, bonus, discount, state = task
    found = Planner(constant(bonus), [ReturnHome(delta)], discount).plan(belief, state)
    (criterion,) = found.criteria
    if found.evidence[found.action].weight > 0.0:
        assert criterion.kept_bound >= criterion.bound - 1e-12
    if found.status is not Status.INFEASIBLE:
        assert found.keeps_all
        assert criterion.bound >= delta - 1e-9
        assert criterion.kept_bound >= delta - 1e-9


@given(tasks(), DELTAS)
def test_the_evidence_fits_together(task: Any, delta: float) -> None:
    belief, bonus, discount, state = task
    found = Planner(constant(bonus), [ReturnHome(delta)], discount).plan(belief, state)
    chosen = [e for e in found.evidence if e.verdict is Verdict.CHOSEN]
    assert [e.action for e in chosen] == [found.action]
    if chosen[0].weight == 0.0:  # only to do something instead of waiting
        assert any(e.verdict is Verdict.WAITS for e in found.evidence)
    assert [e.action for e in found.evidence] == list(range(belief.worlds[0].actions))
    assert sum(e.weight for e in found.evidence) == pytest.approx(1.0, abs=1e-12)
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    for e in found.evidence:
        closed = belief.worlds[0].reward[state, e.action] == -np.inf
        assert (e.verdict is Verdict.UNAVAILABLE) == closed
        assert all(0.0 <= v <= 1.0 for v in e.safety)
        if closed:
            assert e.weight == 0.0


@given(tasks(), DELTAS, st.sampled_from([Correction.MOVES, Correction.GENERAL]))
def test_the_bound_is_the_dense_value_of_the_mixture(
    task: Any, delta: float, correction: Correction
) -> None:
    belief, bonus, discount, state = task
    found = Planner(constant(bonus), [ReturnHome(delta)], discount, correction).plan(belief, state)
    general = belief.correction()
    exploring = (
        general if correction is Correction.GENERAL else belief.move_corrections(discount)[1]
    )
    safety = (1.0 - discount) * found.way_home[:, None] + discount * exploring
    rows = dense(belief.mean())
    each = [value_of(rows, policy, safety, discount)[state] for policy in found.outbound]
    (criterion,) = found.criteria
    assert criterion.corrected == pytest.approx(max(0.0, found.weights @ each), abs=1e-9)
    kept = [value_of(rows, policy, safety, discount)[state] for policy in found.kept_outbound]
    expected = max(0.0, found.kept_weights @ kept)
    assert criterion.kept_corrected == pytest.approx(expected, abs=1e-9)


@given(tasks(), DELTAS)
def test_no_plan_is_worth_more_than_unsafe_exploration(task: Any, delta: float) -> None:
    belief, bonus, discount, state = task
    safe, free = (
        Planner(constant(bonus), criteria, discount).plan(belief, state)
        for criteria in ([ReturnHome(delta)], [])
    )
    assert safe.exploration_value <= free.exploration_value + 1e-9 * (1 + free.exploration_value)


@given(tasks(), DELTAS)
def test_the_tighter_correction_never_proves_less(task: Any, delta: float) -> None:
    belief, bonus, discount, state = task
    ours, papers = (
        Planner(constant(bonus), [ReturnHome(delta)], discount, kind).plan(belief, state)
        for kind in (Correction.MOVES, Correction.GENERAL)
    )
    assert (ours.way_home >= papers.way_home - 1e-12).all()
    if papers.status is Status.OPTIMAL:
        assert ours.status is not Status.INFEASIBLE
        slack = 1e-9 * (1 + papers.exploration_value)
        assert ours.exploration_value >= papers.exploration_value - slack


@settings(max_examples=20)
@given(tasks(), DELTAS)
def test_both_methods_plan_alike(task: Any, delta: float) -> None:
    belief, bonus, discount, state = task
    columns, lp = (
        Planner(constant(bonus), [ReturnHome(delta)], discount, method=method).plan(belief, state)
        for method in ("columns", "lp")
    )
    assert (columns.status is Status.INFEASIBLE) == (lp.status is Status.INFEASIBLE)
    assume(columns.status is not Status.INFEASIBLE)
    assert columns.exploration_value == pytest.approx(lp.exploration_value, abs=1e-6)


@given(tasks())
def test_an_infeasible_plan_comes_as_close_as_any_policy(task: Any) -> None:
    belief, bonus, discount, state = task
    found = Planner(constant(bonus), [ReturnHome(1.0, home=0)], discount).plan(belief, state)
    assume(found.status is Status.INFEASIBLE)
    safety = (1.0 - discount) * found.way_home[:, None]
    safety = safety + discount * belief.move_corrections(discount)[1]
    rows, reward = dense(belief.mean()), belief.worlds[0].reward
    best = max(value_of(rows, p, safety, discount)[state] for p in all_policies(reward))
    assert found.criteria[0].corrected == pytest.approx(max(0.0, best), abs=1e-9)


def fingerprint(plan: Plan) -> tuple[Any, ...]:
    """Collect all that a plan says, bit for bit."""
    criterion = plan.criteria[0]
    return (
        plan.action,
        plan.status,
        plan.weights.tobytes(),
        plan.outbound.tobytes(),
        plan.exploration_value,
        plan.upper_bound,
        plan.gap,
        plan.kept_weights.tobytes(),
        plan.kept_outbound.tobytes(),
        plan.kept_value,
        plan.method,
        plan.rounds,
        criterion.bound,
        criterion.kept_bound,
        criterion.multiplier,
        criterion.way_home.tobytes(),
        criterion.return_policy.tobytes(),
        plan.evidence,
        str(plan),
    )


@given(tasks(), DELTAS)
def test_the_same_inputs_give_the_same_plan_bit_for_bit(task: Any, delta: float) -> None:
    belief, bonus, discount, state = task
    planner = Planner(constant(bonus), [ReturnHome(delta)], discount)
    again = Planner(constant(bonus.copy()), [ReturnHome(delta)], discount)
    plans = planner.plan(belief, state), planner.plan(belief, state), again.plan(belief, state)
    assert fingerprint(plans[0]) == fingerprint(plans[1]) == fingerprint(plans[2])


@given(tasks())
def test_planning_writes_to_nothing_that_it_is_handed(task: Any) -> None:
    belief, bonus, discount, state = task
    before = bonus.copy(), [w.success.copy() for w in belief.worlds], belief.weights.copy()
    Planner(constant(bonus), [ReturnHome(0.9)], discount).plan(belief, state)
    assert (bonus == before[0]).all()
    assert all((w.success == s).all() for w, s in zip(belief.worlds, before[1], strict=True))
    assert (belief.weights == before[2]).all()


@pytest.mark.parametrize("discount", [0.0, 1.0, -1.0, 2.0, float("inf"), 1])
def test_a_discount_outside_zero_and_one_is_refused(discount: float) -> None:
    with pytest.raises(InvalidProblemError, match=rf"γ is {discount:g}, expected 0 < γ < 1"):
        Planner(RMax(), discount=discount)


def test_a_discount_so_near_one_that_rounding_decides_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match=r"1 − γ is .*, expected"):
        Planner(RMax(), [ReturnHome(0.9)], 1.0 - 1e-12)
    assert Planner(RMax(), [ReturnHome(0.9)], 1.0 - 1e-8).discount < 1.0


@pytest.mark.parametrize("discount", [float("nan"), None, "0.9", True])
def test_a_discount_that_is_no_number_is_refused(discount: Any) -> None:
    with pytest.raises(InvalidProblemError, match=r"γ is .*, expected a number"):
        Planner(RMax(), discount=discount)


@pytest.mark.parametrize("bonus", [None, 3.0, BONUS])
def test_a_bonus_that_can_not_be_asked_is_refused(bonus: Any) -> None:
    with pytest.raises(InvalidProblemError, match="expected a callable from a belief"):
        Planner(bonus)


@pytest.mark.parametrize("criteria", [None, ReturnHome(0.9), "home", {0.9}])
def test_criteria_that_are_no_list_are_refused(criteria: Any) -> None:
    with pytest.raises(InvalidProblemError, match="expected a list of criteria"):
        Planner(RMax(), criteria)


def test_what_is_no_criterion_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match=r"0\.9 is not a criterion"):
        Planner(RMax(), [0.9])  # type: ignore[list-item]


def test_a_state_and_a_home_can_be_named() -> None:
    worlds = [replace(world, state_names=("camp", "peak")) for world in RIDGE.worlds]
    belief = FiniteBelief(worlds, RIDGE.weights)
    planner = Planner(constant(BONUS), [ReturnHome(0.5, "camp"), StayInside(["camp", "peak"], 0.5)])
    named, numbered = planner.plan(belief, "peak", "camp"), planner.plan(belief, 1, 0)
    assert named.bounds == numbered.bounds
    assert "In peak:" in str(named)
    with pytest.raises(InvalidProblemError, match=r"the state is 'paek', .* did you mean 'peak'"):
        planner.plan(belief, "paek")


@pytest.mark.parametrize("state", [True, 0.0, None])
def test_a_state_that_is_no_whole_number_is_refused(state: Any) -> None:
    with pytest.raises(InvalidProblemError, match=r"the state is .*, expected a whole number"):
        Planner(constant(BONUS)).plan(RIDGE, state)


def test_an_unknown_method_is_refused_by_name() -> None:
    with pytest.raises(InvalidProblemError, match="method is 'magic', expected 'columns' or 'lp'"):
        Planner(RMax(), method="magic")  # type: ignore[arg-type]


def test_an_unknown_correction_is_refused_by_name() -> None:
    with pytest.raises(InvalidProblemError, match="correction is 'none', expected one of general,"):
        Planner(RMax(), correction="none")  # type: ignore[arg-type]


@pytest.mark.parametrize("state", [-1, 2, 10**9])
def test_a_state_that_does_not_exist_is_refused(state: int) -> None:
    with pytest.raises(InvalidProblemError, match=rf"the state is {state}, outside 0\.\.1"):
        Planner(constant(BONUS)).plan(RIDGE, state)


@pytest.mark.parametrize("start", [-1, 2])
def test_a_start_that_does_not_exist_is_refused(start: int) -> None:
    with pytest.raises(InvalidProblemError, match=rf"the start is {start}, outside 0\.\.1"):
        Planner(constant(BONUS)).plan(RIDGE, 0, start)


def test_a_home_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match=r"home is 7, outside 0\.\.1"):
        Planner(constant(BONUS), [ReturnHome(0.9, home=7)]).plan(RIDGE, 0)


def test_a_bonus_that_is_nan_is_refused_with_its_place() -> None:
    bonus = np.array([[0.0, 0.0], [np.nan, 0.0]])
    with pytest.raises(InvalidProblemError, match=r"the bonus \(s=1, a=0\) is nan"):
        Planner(constant(bonus)).plan(RIDGE, 0)


@pytest.mark.parametrize("wrong", [np.inf, -np.inf])
def test_a_bonus_that_is_infinite_is_refused(wrong: float) -> None:
    bonus = np.array([[0.0, 0.0], [wrong, 0.0]])
    with pytest.raises(InvalidProblemError, match=rf"the bonus \(s=1, a=0\) is {wrong:g}"):
        Planner(constant(bonus)).plan(RIDGE, 0)


@pytest.mark.parametrize("shape", [(2,), (2, 3), (4, 1), ()])
def test_a_bonus_of_another_shape_is_refused_with_both_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidProblemError, match=r"the bonus has shape .*, expected \(2, 2\)"):
        Planner(constant(np.zeros(shape))).plan(RIDGE, 0)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_the_bonus_does_not_matter(unit: float) -> None:
    found = Planner(constant(unit * BONUS), [ReturnHome(0.9)], 0.5).plan(RIDGE, 0)
    assert found.status is Status.OPTIMAL
    assert found.exploration_value == pytest.approx(0.4 * unit, rel=1e-9, abs=0)


@pytest.mark.parametrize("p", [1e-12, 1.0 - 1e-12])
@pytest.mark.parametrize("discount", [0.5, 0.99999])
@pytest.mark.parametrize("delta", [0.5, 1.0])
def test_extreme_beliefs_are_planned_or_it_is_said_why_not(
    p: float, discount: float, delta: float
) -> None:
    belief = FiniteBelief(RIDGE.worlds, np.array([p, 1.0 - p]))
    found = Planner(constant(1e6 * BONUS), [ReturnHome(delta)], discount).plan(belief, 0)
    assert found.status in set(Status) - {Status.INFEASIBLE}  # staying in camp is always safe
    assert found.bounds[0] >= delta - 1e-9
    assert found.exploration_value <= found.upper_bound * (1 + 1e-6) + 1e-6


# Two states to go to, at a price or for nothing: the first home must be kept at 0.95, which only
# the way that costs 1 does, and any of both at 0.01. Of that way a share of 1 − 0.05/0.9 is enough.
TOLL = Moves(
    np.array([[2, 1], [1, 1], [2, 2]]),
    np.ones((3, 2)),
    np.array([[0.0, -1.0], [0.0] * 2, [0.0] * 2]),
)


@pytest.mark.parametrize("method", ["columns", "lp"])
def test_what_can_only_cost_is_planned_with_two_criteria(method: Any) -> None:
    asked = [ReturnHome(0.95, 1), ReturnHome(0.01, [1, 2])]
    found = Planner(constant(np.zeros((3, 2))), asked, 0.9, method=method).plan(
        FiniteBelief([TOLL]), 0
    )
    assert found.status is Status.OPTIMAL
    assert found.method == method
    assert found.action == 1
    assert found.exploration_value == pytest.approx(-(1.0 - 0.05 / 0.9), abs=1e-9)
    assert found.upper_bound == pytest.approx(found.exploration_value, abs=1e-9)
    assert found.keeps_all
    assert found.kept_value == pytest.approx(-1.0, abs=1e-12)
    assert not found.worthless


@pytest.mark.parametrize("method", ["columns", "lp"])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_where_nothing_is_to_be_won_or_lost_the_plan_is_still_optimal(
    method: Any, count: int
) -> None:
    asked = [ReturnHome(0.9), ReturnHome(0.4, [0, 1])][:count]
    found = Planner(constant(np.zeros((2, 2))), asked, 0.5, method=method).plan(RIDGE, 0)
    assert found.status is Status.OPTIMAL
    assert found.exploration_value == 0.0
    assert found.worthless
    assert found.keeps_all


def test_the_plan_says_which_method_it_is_from() -> None:
    assert ridge_plan().method == "columns"
    assert ridge_plan(method="lp").method == "lp"


def failing(status: Status, *, empty: bool = False) -> Any:
    """Make a solver that does not get to the end; its answer is worth nothing, or there is none."""

    def solve(problem: ConstrainedProblem, *_: Any) -> ConstrainedSolution:
        found = solve_constrained(problem)
        none = slice(0, 0 if empty else None)
        return replace(
            found,
            status=status,
            weights=found.weights[none],
            policies=found.policies[none],
            values=found.values[none],
            gap=np.inf,
        )

    return solve


@pytest.mark.parametrize("status", [Status.NOT_CONVERGED, Status.NUMERICAL])
@pytest.mark.parametrize(
    ("method", "broken", "other"),
    [("columns", "solve_constrained", "lp"), ("lp", "solve_occupancy", "columns")],
)
def test_where_one_method_does_not_get_to_the_end_the_other_is_tried(
    method: Any, broken: str, other: str, status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"homeward.planning.algorithm1.{broken}", failing(status))
    found = ridge_plan(method=method)
    assert found.status is Status.OPTIMAL
    assert found.method == other
    assert found.exploration_value == pytest.approx(0.4, abs=1e-9)


@pytest.mark.parametrize("method", ["columns", "lp"])
def test_where_no_method_gets_to_the_end_the_plan_says_so(
    method: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for solver in ("solve_constrained", "solve_occupancy"):
        monkeypatch.setattr(f"homeward.planning.algorithm1.{solver}", failing(Status.NUMERICAL))
    found = ridge_plan(method=method)
    assert found.status is Status.NUMERICAL
    assert found.method == method
    assert "status: numerical trouble. The bounds hold; better plans may exist." in str(found)


def test_a_method_that_gives_no_policy_gives_way_to_one_that_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "homeward.planning.algorithm1.solve_occupancy", failing(Status.NUMERICAL, empty=True)
    )
    monkeypatch.setattr(
        "homeward.planning.algorithm1.solve_constrained", failing(Status.NOT_CONVERGED)
    )
    found = ridge_plan(method="lp")
    assert found.method == "columns"
    assert found.status is Status.NOT_CONVERGED
    assert found.bounds[0] == pytest.approx(0.9, abs=1e-9)


def test_a_large_problem_is_not_tried_by_the_lp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeward.planning.algorithm1.MAX_LP_ENTRIES", 3)
    monkeypatch.setattr("homeward.planning.algorithm1.solve_constrained", failing(Status.NUMERICAL))
    found = ridge_plan()
    assert (found.method, found.status) == ("columns", Status.NUMERICAL)


def same_plan(one: Plan, two: Plan) -> None:
    """Check that two plans promise the same, as closely as their gaps say."""
    assert one.status is two.status
    if one.status is Status.INFEASIBLE:
        short = [sum(max(0.0, c.level - c.bound) for c in plan.criteria) for plan in (one, two)]
        assert short[0] == pytest.approx(short[1], abs=1e-8)
        return
    price = max(sum(p.multipliers) for p in (one, two))
    slack = one.gap + two.gap + 2e-9 * price + 1e-12 * abs(one.exploration_value)
    assert one.exploration_value == pytest.approx(two.exploration_value, rel=0, abs=slack)
    for plan in (one, two):
        assert all(c.bound >= c.level - 1e-8 for c in plan.criteria)


@given(tasks(), st.lists(DELTAS, max_size=3), DELTAS, st.data())
def test_the_last_plan_makes_no_difference_to_what_is_promised(
    task: Any, deltas: list[float], before: float, data: st.DataObject
) -> None:
    belief, bonus, discount, state = task
    other = data.draw(st.integers(0, len(bonus) - 1))
    homes: tuple[Any, ...] = ("current", 0, [0, other])
    asked = [ReturnHome(d, h) for d, h in zip(deltas, homes, strict=False)]
    planner = Planner(constant(bonus), asked, discount)
    earlier = Planner(constant(bonus[::-1].copy()), [ReturnHome(before)] * len(asked), discount)
    last = earlier.plan(belief, other)
    same_plan(planner.plan(belief, state), planner.plan(belief, state, previous=last))


@given(tasks(), st.lists(DELTAS, max_size=2))
def test_a_plan_that_is_its_own_last_one_is_made_at_once(task: Any, deltas: list[float]) -> None:
    belief, bonus, discount, state = task
    homes: tuple[Any, ...] = ("current", 0)
    asked = [ReturnHome(d, h) for d, h in zip(deltas, homes, strict=False)]
    planner = Planner(constant(bonus), asked, discount)
    first = planner.plan(belief, state)
    again = planner.plan(belief, state, previous=first)
    same_plan(first, again)
    assert again.rounds <= first.rounds


def test_the_bound_leaves_room_for_its_own_rounding() -> None:
    # Staying in camp is sure; what is promised is less than that by 8 units of rounding over 1 − γ.
    for discount in (0.5, 0.99):
        found = Planner(constant(0 * BONUS), [ReturnHome(0.5)], discount).plan(RIDGE, 0)
        assert found.action == 0
        room = 8 * np.finfo(float).eps / (1.0 - discount)
        assert found.bounds[0] == pytest.approx(1.0 - room, abs=room / 4)
        assert found.bounds[0] < 1.0


def test_real_rewards_that_differ_by_world_are_averaged_in_the_plan() -> None:
    worlds = [Moves(DEST, s, np.full((2, 2), r)) for s, r in zip(WORLDS, (1.0, 3.0), strict=True)]
    found = Planner(constant(0 * BONUS), [ReturnHome(0.9)], 0.5).plan(FiniteBelief(worlds), 0)
    assert found.exploration_value == pytest.approx(4.0, abs=1e-12)


@pytest.mark.parametrize(
    "asked",
    [
        [],
        [ReturnHome(0.5), ReturnHome(0.5, 0)],
    ],
)
def test_a_last_plan_with_other_criteria_is_no_trouble(asked: list[ReturnHome]) -> None:
    last = Planner(constant(BONUS), asked, 0.5).plan(RIDGE, 0)
    planner = Planner(constant(BONUS), [ReturnHome(0.9)], 0.5)
    same_plan(planner.plan(RIDGE, 0), planner.plan(RIDGE, 0, previous=last))


def test_a_last_plan_of_another_world_is_refused() -> None:
    large = SparseMDP.from_dense(np.ones((3, 3, 3)) / 3)
    last = Planner(constant(np.eye(3)), [ReturnHome(0.1)], 0.5).plan(FiniteBelief([large]), 0)
    planner = Planner(constant(BONUS), [ReturnHome(0.9)], 0.5)
    for belief in (RIDGE, SPARSE_RIDGE):
        with pytest.raises(InvalidProblemError, match=r"a start policy has shape \(3,\)"):
            planner.plan(belief, 0, previous=last)


def test_a_large_problem_that_the_lp_gives_nothing_for_is_solved_by_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("homeward.planning.algorithm1.MAX_LP_ENTRIES", 3)
    monkeypatch.setattr(
        "homeward.planning.algorithm1.solve_occupancy", failing(Status.NUMERICAL, empty=True)
    )
    assert ridge_plan(method="lp").method == "columns"


# The stories of docs/criteria.md, γ = ½. A hut that pays 1 a step: home is one doubtful move away
# (½), or two sure ones.
ROUND = FiniteBelief(
    [
        Moves(np.array([[0, 1, 0], [1, 0, 2], [2, 0, 2]]), success)
        for success in (
            np.ones((3, 3)),
            np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]),
        )
    ]
)
IN_HUT = np.array([[0.0] * 3, [1.0, 0.0, 0.0], [0.0] * 3])


@pytest.mark.parametrize("method", ["columns", "lp"])
@pytest.mark.parametrize(
    ("steps", "way_home", "worth", "price"), [(1, 0.5, 0.4, 4.0), (2, 1.0, 1.0, 0.0)]
)
def test_a_limit_on_the_way_home_is_planned_by_hand(
    steps: int, way_home: float, worth: float, price: float, method: Any
) -> None:
    # Going there to stay is worth 1 and kept with ½ + ½·v; at 0.9 the mixture is 0.1/(½(1 − v)).
    planner = Planner(constant(IN_HUT), [ReturnHome(0.9, within=steps)], 0.5, method=method)
    found = planner.plan(ROUND, 0)
    assert found.way_home[1] == pytest.approx(way_home, abs=1e-12)
    assert found.exploration_value == pytest.approx(worth, abs=1e-9)
    assert found.multipliers[0] == pytest.approx(price, abs=1e-6)
    assert found.criteria[0].within == steps
    assert found.criteria[0].return_with(1)[1] == 1
    assert found.criteria[0].return_with(steps)[1] == (1 if steps == 1 else 2)


# Camp and a crater that pays 1 a step, outside the set. To be there is not to have left; to act is.
CRATER = Moves(np.array([[0, 1], [1, 1]]), np.ones((2, 2)))
IN_CRATER = np.array([[0.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("method", ["columns", "lp"])
def test_staying_inside_is_planned_by_hand(method: Any, sparse: bool) -> None:
    # Down: called off in camp (½) or on arrival (¼), else it has left: ¾. At 0.9 two in five go.
    belief = FiniteBelief([CRATER.sparse() if sparse else CRATER])
    criteria = [StayInside(np.array([True, False]), 0.9)]
    found = Planner(constant(IN_CRATER), criteria, 0.5, method=method).plan(belief, 0)
    assert found.status is Status.OPTIMAL
    assert found.exploration_value == pytest.approx(0.4, abs=1e-9)
    assert found.bounds == pytest.approx([0.9], abs=1e-9)
    assert found.multipliers == pytest.approx([4.0], abs=1e-6)
    assert found.afterwards is not None
    down = found.evidence[1]
    assert down.exploration == pytest.approx(1.0, abs=1e-9)
    assert down.safety == pytest.approx([0.75], abs=1e-9)


def test_staying_inside_is_not_read_off_a_conservative_return_correction() -> None:
    # One way, 0 → 1 → 2, of which 2 is outside. In nine worlds of ten no move works, in one they
    # work with chances 0.05 and 0.1. Their return corrections are −p(1−p), as if P were 0 or 1.
    gamma, success = 0.95, np.array([0.05, 0.1, 1.0])[:, None]
    dest, inside = np.array([[1], [2], [2]]), np.array([True, True, False])
    worlds = [Moves(dest, np.zeros((3, 1))), Moves(dest, success)]
    exact = FiniteBelief(worlds, np.array([0.9, 0.1]), counts=np.ones((3, 1), int))
    belief = Silent(exact, 1.0 - 0.1 * success)
    planner = Planner(constant(np.ones((3, 1))), [StayInside(inside, 0.5)], gamma)
    policy, ends = np.zeros(3, np.int32), ~inside[:, None]
    sure = np.full((3, 1), 1.0 - gamma)
    truths = [exact_total(dense(w), sure, policy, gamma, ends=ends)[0] for w in worlds]
    bound = planner.plan(belief, 0).bounds[0]
    assert bound <= exact.weights @ truths
    assert bound == pytest.approx(exact.weights @ truths, abs=0.06)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_evidence_on_an_action_that_leaves_is_what_it_is_worth_afterwards(sparse: bool) -> None:
    # The step down itself is outside: inside only if called off before, with ½.
    belief = FiniteBelief([CRATER.sparse() if sparse else CRATER])
    criteria = [StayInside(np.array([[True, False], [True, True]]), 0.9)]
    found = Planner(constant(IN_CRATER), criteria, 0.5).plan(belief, 0)
    assert found.evidence[1].exploration == pytest.approx(1.0, abs=1e-9)
    assert found.evidence[1].safety == pytest.approx([0.5], abs=1e-9)


# Work at camp pays 1 a step; in the crater there is only something to see.
WORK = np.array([[1.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("method", ["columns", "lp"])
def test_earning_is_planned_by_hand(method: Any) -> None:
    # Staying earns 2, going down 0; a total of 1 lets every second one go, worth 1.
    planner = Planner(constant(IN_CRATER), [EarnAtLeast(1.0, WORK)], 0.5, method=method)
    found = planner.plan(FiniteBelief([CRATER]), 0)
    assert found.exploration_value == pytest.approx(0.5, abs=1e-9)
    assert found.bounds == pytest.approx([1.0], abs=1e-9)
    assert found.multipliers == pytest.approx([0.5], abs=1e-6)
    assert [e.safety[0] for e in found.evidence] == pytest.approx([2.0, 0.0], abs=1e-9)


def test_what_is_earned_may_be_negative_and_is_not_clipped() -> None:
    planner = Planner(constant(IN_CRATER), [EarnAtLeast(-30.0, WORK - 20.0)], 0.5)
    found = planner.plan(FiniteBelief([CRATER]), 0)
    assert found.status is Status.INFEASIBLE
    assert found.bounds == pytest.approx([-38.0], abs=1e-9)
    assert "earn at least -38" in str(found)


def test_rewards_that_hang_together_with_the_moves_are_not_counted_twice() -> None:
    # The way over works only where nothing is paid there: what is really earned is 0. The mean
    # model alone would promise ½·(½ of 2).
    worlds = [
        Moves(np.array([[1], [1]]), np.array([[works], [1.0]]), np.array([[0.0], [1.0 - works]]))
        for works in (1.0, 0.0)
    ]
    belief = FiniteBelief(worlds)
    for correction in (Correction.GENERAL, Correction.MOVES):
        planner = Planner(constant(np.zeros((2, 1))), [EarnAtLeast(0.1)], 0.5, correction)
        assert planner.plan(belief, 0).bounds[0] <= 0.0
    naive = Planner(constant(np.zeros((2, 1))), [EarnAtLeast(0.1)], 0.5, Correction.NAIVE)
    assert naive.plan(belief, 0).bounds[0] > 0.1


def test_a_dirichlet_belief_knows_what_it_pays() -> None:
    reward = np.array([[0.0, 1.0], [2.0, -1.0]])
    belief = DirichletBelief.independent(np.ones((2, 2, 2)), reward)
    found = Planner(constant(np.zeros((2, 2))), [EarnAtLeast(-1.0)], 0.5).plan(belief, 0)
    assert found.criteria[0].unit == pytest.approx(6.0)


def test_every_base_is_one_criterion_and_any_base_is_one() -> None:
    planner = Planner(constant(BONUS), [ReturnHome(0.4, base) for base in (0, 1)], 0.5)
    found = planner.plan(RIDGE, 0)
    assert [c.home.tolist() for c in found.criteria] == [[0], [1]]
    anywhere = Planner(constant(BONUS), [ReturnHome(0.4, [0, 1])], 0.5).plan(RIDGE, 0)
    assert (anywhere.way_home == 1.0).all()


def test_criteria_that_conflict_are_named() -> None:
    # Only work at camp pays, and only the crater is worth a return: 1.9 of 2 leaves it hardly ever.
    criteria: list[Criterion] = [
        EarnAtLeast(1.9, WORK),
        ReturnHome(0.1, 0),
        EarnAtLeast(0.5, 1.0 - WORK),
    ]
    found = Planner(constant(IN_CRATER), criteria, 0.5).plan(FiniteBelief([CRATER]), 0)
    assert found.status is Status.INFEASIBLE
    assert found.conflict == (0, 2)
    assert (
        "No policy meets “earn a total of 1.9” at 1.9 and “earn a total of 0.5” at 0.5 together"
        in str(found)
    )


def test_a_plan_that_keeps_its_criteria_has_no_conflict() -> None:
    assert ridge_plan().conflict == ()
    assert Planner(constant(BONUS), [ReturnHome(0.9, home=0)], 0.5).plan(RIDGE, 1).conflict == (0,)


def test_the_three_kinds_are_spoken_of_in_their_own_words() -> None:
    criteria: list[Criterion] = [
        ReturnHome(0.2, within=3),
        StayInside(np.array([True, False]), 0.5),
        EarnAtLeast(0.25, WORK),
    ]
    text = str(Planner(constant(IN_CRATER), criteria, 0.5).plan(FiniteBelief([CRATER]), 0))
    assert "If recalled at any time: return to state 0 within 3 steps with probability" in text
    assert "Until the recall: stay inside the set of 1 state with probability" in text
    assert "Until the recall: earn" in text
    assert "Outside the set it explores freely" in text
    assert "inside" in text.splitlines()[-3]


def test_a_plan_without_a_way_home_has_none_to_show() -> None:
    found = Planner(constant(IN_CRATER), [EarnAtLeast(0.5, WORK)], 0.5)
    with pytest.raises(InvalidProblemError, match="no criterion that requires a return"):
        found.plan(FiniteBelief([CRATER]), 0).way_home  # noqa: B018


def test_the_way_home_is_that_of_the_first_criterion_that_has_one() -> None:
    criteria: list[Criterion] = [EarnAtLeast(0.5, WORK), ReturnHome(0.1)]
    found = Planner(constant(IN_CRATER), criteria, 0.5).plan(FiniteBelief([CRATER]), 0)
    assert found.way_home.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("asked", [("stay",), ("earn", "stay"), ("within", "stay", "home")])
def test_a_warm_plan_with_any_criteria_is_the_cold_one(asked: tuple[str, ...]) -> None:
    from lab.check.soundness import far_bonus, random_case

    rng = np.random.default_rng(4)
    for number in range(12):
        case = random_case(asked, number, rng)
        planner = Planner(far_bonus, case.criteria, case.discount)
        cold = planner.plan(case.belief, 0)
        warm = planner.plan(case.belief, 0, previous=cold)
        assert warm.status is cold.status
        assert warm.exploration_value == pytest.approx(cold.exploration_value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", ["columns", "lp"])
def test_a_plan_that_keeps_its_level_is_not_given_up_for_a_solver_that_says_none_does(
    method: Any,
) -> None:
    rows = np.array([[1.0, 0.0], [0.9, 0.05]])
    belief = FiniteBelief([SparseMDP.from_dense(rows[:, None])])
    bonus = np.array([[0.71], [0.39]])
    planner = Planner(constant(bonus), [ReturnHome(0.5)], 1.0 - 1e-7, method=method)
    found = planner.plan(belief, 0)
    assert found.status is not Status.INFEASIBLE
    assert found.keeps_all
    assert found.exploration_value == pytest.approx(0.71e7, rel=1e-6)


def test_many_criteria_that_can_not_be_kept_together_are_planned_by_the_lp_too() -> None:
    # Round a ring of nine, each place asks for one action half of the time, and the tenth criterion
    # for the other action always: the closest measure mixes everywhere, in 512 policies.
    ring = np.append((np.arange(9) + 1) % 9, 9)
    belief = FiniteBelief([Moves(np.stack([ring, ring], axis=1), np.ones((10, 2)))])
    work = np.zeros((10, 10, 2))
    work[np.arange(9), np.arange(9), 0] = 1.0
    work[9, :, 1] = np.append(np.full(9, 0.5), 1.0)
    most = 0.99 ** np.arange(9) / (1.0 - 0.99**9)
    asked = [EarnAtLeast(total, w) for total, w in zip([*0.5 * most, 99.0], work, strict=True)]
    found = Planner(constant(np.ones((10, 2))), asked, 0.99, method="lp").plan(belief, 0)
    assert found.status is Status.INFEASIBLE
    assert found.conflict == (9,)


def test_rows_that_sum_to_a_little_more_than_one_do_not_inflate_a_bound_step_by_step() -> None:
    # A step falls into the pit with 0.001, and the row sums to 1 + 1e-9.
    rows = np.array([[0.999 + 1e-9, 0.001], [0.0, 1.0]])
    belief = FiniteBelief([SparseMDP.from_dense(rows[:, None])])
    planner = Planner(constant(np.ones((2, 1))), [ReturnHome(0.1, 0)], recall=1000)
    (bound,) = planner.plan(belief, 0).bounds
    assert bound <= (rows[0, 0] / rows[0].sum()) ** 1000 + 1e-12


@pytest.mark.parametrize("sparse", [False, True])
def test_a_recall_at_a_fixed_step_is_planned_by_hand(sparse: bool) -> None:
    # The crater with a way out: three steps are down, one there, and up; or two there and lost.
    open_crater = Moves(np.array([[0, 1], [1, 0]]), np.ones((2, 2)))
    model = open_crater.sparse() if sparse else open_crater
    closed = Moves(np.array([[0, 1], [1, 0]]), np.array([[1.0, 1.0], [1.0, 0.0]]))
    bonus = np.array([[0.0, 0.0], [1.0, 0.0]])
    sure = Planner(constant(bonus), [ReturnHome(1.0, 0)], recall=3)
    assert sure.plan(FiniteBelief([model]), 0).exploration_value == pytest.approx(2.0, abs=1e-12)
    # The way home itself is open, so both steps there are safe; where it is not, none is.
    assert sure.plan(FiniteBelief([closed]), 0).exploration_value == pytest.approx(0.0, abs=1e-9)
    half = Planner(constant(bonus), [ReturnHome(0.5, 0)], recall=3)
    found = half.plan(FiniteBelief([closed]), 0)
    assert found.exploration_value == pytest.approx(1.0, abs=1e-9)
    assert found.outbound.shape[1:] == (3, 2)
    assert found.steps == 3
    assert "If recalled after 3 steps: return to state 0" in str(found)


def test_staying_inside_until_a_fixed_step_is_planned_by_hand() -> None:
    # Two steps: down, and a step in the crater, which is outside; it pays 1. At 0.9 one in ten.
    criteria = [StayInside(np.array([True, False]), 0.9)]
    found = Planner(constant(IN_CRATER), criteria, recall=2).plan(FiniteBelief([CRATER]), 0)
    assert found.exploration_value == pytest.approx(0.1, abs=1e-9)
    assert found.afterwards is not None
    assert found.afterwards.shape == (2, 2)
    assert found.bounds == pytest.approx([0.9], abs=1e-9)
    sure = Planner(constant(IN_CRATER), [StayInside(np.array([True, False]), 1.0)], recall=2)
    assert sure.plan(FiniteBelief([CRATER]), 0).exploration_value == pytest.approx(0.0, abs=1e-9)


def test_earning_until_a_fixed_step_is_planned_by_hand() -> None:
    # Work for all four steps pays 4, going down at once 0 and is worth 3: half of each for 2. To
    # work twice and then go would pay as much, and be worth 1.
    found = Planner(constant(IN_CRATER), [EarnAtLeast(2.0, WORK)], recall=4).plan(
        FiniteBelief([CRATER]), 0
    )
    assert found.exploration_value == pytest.approx(1.5, abs=1e-9)
    assert found.bounds == pytest.approx([2.0], abs=1e-9)


def test_the_evidence_over_fixed_steps_is_derived_by_hand() -> None:
    # Two steps. Stay: 0 now, then what the plan does. Down by the exit itself: 1 and not inside.
    exit_down = np.array([[True, False], [True, True]])
    found = Planner(constant(IN_CRATER), [StayInside(exit_down, 1.0)], recall=2).plan(
        FiniteBelief([CRATER]), 0
    )
    stay, down = found.evidence
    assert (stay.exploration, *stay.safety) == pytest.approx((0.0, 1.0), abs=1e-12)
    assert (down.exploration, *down.safety) == pytest.approx((1.0, 0.0), abs=1e-12)
    assert down.verdict is Verdict.UNSAFE


def test_a_step_that_is_waited_is_missing_afterwards() -> None:
    # Three steps: down at once is worth 2; a step in camp first leaves one step fewer, worth 1.
    found = Planner(constant(IN_CRATER), [], recall=3).plan(FiniteBelief([CRATER]), 0)
    assert [e.exploration for e in found.evidence] == pytest.approx([1.0, 2.0], abs=1e-12)


@pytest.mark.parametrize("recall", [0, -1, 2.5, True])
def test_a_recall_that_is_no_step_is_refused(recall: Any) -> None:
    with pytest.raises(InvalidProblemError, match="the recall has a horizon of"):
        Planner(constant(BONUS), recall=recall)


def test_the_lp_agrees_on_a_fixed_recall() -> None:
    criteria = [ReturnHome(0.6), ReturnHome(0.3, 1)]
    one, other = (
        Planner(constant(BONUS), criteria, method=method, recall=4).plan(RIDGE, 0)
        for method in ("columns", "lp")
    )
    assert (one.status, other.status) == (Status.OPTIMAL, Status.OPTIMAL)
    assert other.exploration_value == pytest.approx(one.exploration_value, abs=1e-9)


def test_a_recall_that_there_is_no_room_for_is_refused() -> None:
    planner = Planner(constant(BONUS), [ReturnHome(0.6)], recall=10**9)
    with pytest.raises(InvalidProblemError, match="1,000,000,000 steps with"):
        planner.plan(RIDGE, 0)


def test_a_warm_plan_over_fixed_steps_is_the_cold_one() -> None:
    planner = Planner(constant(BONUS), [ReturnHome(0.6), ReturnHome(0.3, 1)], recall=4)
    cold = planner.plan(RIDGE, 0)
    warm = planner.plan(RIDGE, 0, previous=cold)
    assert warm.exploration_value == pytest.approx(cold.exploration_value, abs=1e-12)
    other = Planner(constant(BONUS), [ReturnHome(0.6), ReturnHome(0.3, 1)], 0.5)
    assert other.plan(RIDGE, 0, previous=cold).status is Status.OPTIMAL


def test_over_fixed_steps_the_way_out_takes_the_general_correction() -> None:
    # Up is doubtful, p = ½, and there is no other way: σ = −½ for each of two attempts.
    worlds = [Moves(np.array([[1], [1]]), np.array([[works], [1.0]])) for works in (0.0, 1.0)]
    planner = Planner(constant(np.zeros((2, 1))), [ReturnHome(0.1, [0, 1])], recall=2)
    found = planner.plan(FiniteBelief(worlds), 0)
    assert found.correction is Correction.MOVES
    assert found.criteria[0].corrected == pytest.approx(1.0 - 0.5 - 0.25, abs=1e-12)
    assert found.bounds[0] == pytest.approx(1.0, abs=1e-12)  # both states are home


def test_an_action_taken_once_is_charged_for_once() -> None:
    # From the fork, 0, both moves work in the same half of the worlds; from 1 home is reached in
    # the other half. To try the first and then wait at the fork comes home where neither was tried.
    dest = np.array([[1, 2, 0], [1, 2, 1], [2, 2, 2]])
    worlds = [
        Moves(dest, np.array([[p, p, 1.0], [1.0, 1.0 - p, 1.0], [1.0, 1.0, 1.0]]))
        for p in (1.0, 0.0)
    ]
    bonus = np.zeros((3, 3))
    bonus[0, 2] = 1.0
    found = Planner(constant(bonus), [ReturnHome(0.25, 2)], 0.9).plan(FiniteBelief(worlds), 0)
    tried = found.evidence[0]
    # Called off at once: ½. Else in 1, whence there is no way home in that world, or at the fork.
    assert tried.safety[0] == pytest.approx(0.1 * 0.5 + 0.9 * 0.0, abs=1e-9)
    assert tried.verdict is Verdict.UNSAFE


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        ([ReturnHome], "is not a criterion"),
        ([ReturnHome(0.5, cast("Any", [[0], [0, 1]]))], "home"),
    ],
)
def test_criteria_that_are_none_are_named(criteria: Any, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        Planner(constant(BONUS), criteria, 0.5).plan(RIDGE, 0)


@pytest.mark.parametrize("steps", [2**31, 2**63])
def test_horizons_beyond_all_measure_are_refused(steps: int) -> None:
    with pytest.raises(InvalidProblemError, match="expected at most"):
        ReturnHome(0.5, within=steps)
    with pytest.raises(InvalidProblemError, match="expected at most"):
        Planner(constant(BONUS), [], 0.5, recall=steps)


@given(move_beliefs(st.sampled_from([0.0, 1.0]), 3), DISCOUNTS, st.data())
@settings(max_examples=60)
def test_no_action_is_said_to_be_safer_than_it_is(
    belief: FiniteBelief, discount: float, data: st.DataObject
) -> None:
    states = belief.mean().states
    home, start = (data.draw(st.integers(0, states - 1)) for _ in range(2))
    bonus = data.draw(tables(st.sampled_from([0.0, 1.0]), states, belief.mean().actions))
    level = data.draw(st.sampled_from([0.05, 0.3, 0.6, 0.9]))
    found = Planner(constant(bonus), [ReturnHome(level, home)], discount).plan(belief, start)
    for told in found.evidence:
        if told.action == found.action or told.verdict is Verdict.UNAVAILABLE:
            continue
        truth = 0.0
        for weight, world in zip(belief.weights, belief.worlds, strict=True):
            rows = dense(world)
            way = exact_return(rows, found.return_policy, np.array([home]))
            for share, policy in zip(found.weights, found.outbound, strict=True):
                after = rows[start, told.action] @ exact_recall(rows, policy, way, discount)
                truth += weight * share * ((1.0 - discount) * way[start] + discount * after)
        assert told.safety[0] <= truth + 1e-9


class AnswersNone(Belief):
    """A user's belief in which one method forgot to return something."""

    def __init__(self, name: str) -> None:
        setattr(self, name, lambda *_: None)

    def mean(self) -> Moves:
        return CRATER

    def update(self, observation: Any) -> AnswersNone:
        return self

    def sample(self, rng: np.random.Generator) -> Moves:
        return CRATER


@pytest.mark.parametrize(
    "name", ["success_bounds", "blocked_probability", "move_corrections", "correction"]
)
def test_a_method_of_a_belief_that_returns_nothing_is_named(name: str) -> None:
    belief = AnswersNone(name)
    kind = Correction.GENERAL if name == "correction" else None
    planner = Planner(constant(IN_CRATER), correction=kind)
    with pytest.raises(
        InvalidProblemError, match=rf"AnswersNone\.{name}\(\) (returned None|is not)"
    ):
        planner.plan(belief, 0)
