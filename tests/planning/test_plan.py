from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.beliefs import Belief, FiniteBelief
from homeward.beliefs.corrections import Correction
from homeward.criteria import ReturnHome
from homeward.errors import InvalidProblemError
from homeward.models import Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.plan import Evaluator, Verdict
from homeward.solvers import Status
from homeward.solvers.tolerances import ROUNDING
from homeward.words import VERDICTS

if TYPE_CHECKING:
    from homeward.models import Model
    from homeward.planning.plan import Plan

# Camp and ridge: up is sure, the way down is there in half of the worlds.
DEST = np.array([[0, 1], [1, 0]])
BONUS = np.array([[0.0, 0.0], [1.0, 0.0]])


def ridge(**names: Any) -> FiniteBelief:
    success = (np.ones((2, 2)), np.array([[1.0, 1.0], [1.0, 0.0]]))
    return FiniteBelief([Moves(DEST, s, **names) for s in success])


NAMED = ridge(state_names=("camp", "ridge"), action_names=("stay", "walk"))


def plan(belief: FiniteBelief = NAMED, *criteria: ReturnHome, **options: Any) -> Plan:
    return Planner(lambda _: BONUS, criteria, 0.5, **options).plan(belief, 0)


class OnlyMeans(Belief):
    """A belief that is not known to be finite: only corrections bound what is true of it."""

    def __init__(self, inner: FiniteBelief) -> None:
        self.inner = inner

    def mean(self) -> Model:
        return self.inner.mean()

    def update(self, observation: Any) -> OnlyMeans:
        return OnlyMeans(self.inner.update(observation))

    def sample(self, rng: np.random.Generator) -> Model:
        return self.inner.sample(rng)


def test_a_printed_plan_says_where_and_what() -> None:
    assert str(plan(NAMED, ReturnHome(0.9))).startswith("In camp: take stay.")


def test_without_names_there_are_numbers() -> None:
    assert str(plan(ridge(), ReturnHome(0.9))).startswith("In state 0: take action 0.")


def test_a_printed_plan_says_what_it_is_worth_and_what_nothing_is_worth_more_than() -> None:
    # Worked out in test_algorithm1: 0.4 at level 0.9, and a unit of safety costs 4.
    text = str(plan(NAMED, ReturnHome(0.9)))
    assert "Its exploration value is 0.4" in text
    assert "no safe plan has more than 0.4 (optimal)" in text


def test_a_printed_plan_says_what_is_proven_by_what_and_its_price() -> None:
    text = str(plan(NAMED, ReturnHome(0.9)))
    assert "return to camp with probability at least 0.900000" in text
    assert "(required 0.9); proven (exactly, in every world of the belief)" in text
    assert "one more percent would cost 0.04" in text


def test_a_printed_mixture_says_its_shares_and_why_this_one() -> None:
    text = str(plan(NAMED, ReturnHome(0.9)))
    assert "draws its policy once, by first action: stay 0.6, walk 0.4" in text
    assert "that start with stay are the safest: value 0, bound 1.000000" in text


def test_a_plan_that_is_no_mixture_says_nothing_of_shares() -> None:
    assert "draws its policy" not in str(plan(NAMED, ReturnHome(0.5)))


def test_a_naive_plan_does_not_say_that_it_is_proven() -> None:
    text = str(plan(NAMED, ReturnHome(0.9), correction=Correction.NAIVE))
    assert "believed, not proven (naive)" in text
    assert "proven (naive correction)" not in text


@pytest.mark.parametrize("correction", [Correction.GENERAL, Correction.MOVES])
def test_a_plan_on_another_belief_says_its_correction(correction: Correction) -> None:
    belief: Any = OnlyMeans(NAMED)
    found = plan(belief, ReturnHome(0.9), correction=correction)
    assert found.criteria[0].evaluator is Evaluator.CORRECTION
    assert f"proven ({correction} correction)" in str(found)


def test_a_level_that_costs_nothing_has_no_price() -> None:
    assert "would cost" not in str(plan(NAMED, ReturnHome(0.5)))


def test_an_infeasible_plan_says_that_it_comes_closest() -> None:
    stuck = FiniteBelief([Moves(np.array([[0], [1]]), np.ones((2, 1)))])
    found = Planner(lambda _: np.ones((2, 1)), [ReturnHome(0.5, home=1)], 0.5).plan(stuck, 0)
    assert found.status is Status.INFEASIBLE
    assert "No policy meets the safety level; this plan has the least shortfall." in str(found)
    assert "no safe plan has more" not in str(found)


def test_the_table_has_a_row_for_every_action_with_its_verdict() -> None:
    lines = str(plan(NAMED, ReturnHome(0.9))).splitlines()
    head, stay, walk = lines[-3:]
    assert head.split() == ["action", "leaves", "explores", "safety", "verdict"]
    assert stay.split()[:2] == ["stay", "0.000"]
    assert stay.endswith(VERDICTS[Verdict.CHOSEN])
    assert walk.split()[:2] == ["walk", "1.000"]
    assert walk.endswith(VERDICTS[Verdict.LESS_SAFE])


def test_the_table_has_dashes_for_what_can_not_be_chosen() -> None:
    model = SparseMDP.from_names({"camp": {"wait": "camp"}, "pit": {"dig": "pit"}})
    found = Planner(lambda _: np.zeros((2, 2)), [ReturnHome(0.5)], 0.5).plan(
        FiniteBelief([model]), 0
    )
    row = str(found).splitlines()[-1]
    assert row.split()[:4] == ["dig", "-", "-", "-"]
    assert row.endswith(VERDICTS[Verdict.UNAVAILABLE])


def test_two_criteria_have_a_line_and_a_column_each() -> None:
    text = str(plan(NAMED, ReturnHome(0.9), ReturnHome(0.5, home=1)))
    assert "return to camp" in text
    assert "return to ridge" in text
    assert text.splitlines()[-3].split().count("safety") == 2


def test_explain_is_what_is_printed() -> None:
    found = plan(NAMED, ReturnHome(0.9))
    assert found.explain() == str(found)


def test_bounds_and_multipliers_are_listed_by_criterion() -> None:
    found = plan(NAMED, ReturnHome(0.9), ReturnHome(0.25, home=[0, 1]))
    assert found.bounds == tuple(c.bound for c in found.criteria)
    assert found.multipliers == tuple(c.multiplier for c in found.criteria)
    assert len(found.bounds) == 2


def test_the_way_home_is_that_of_the_first_criterion() -> None:
    found = plan(NAMED, ReturnHome(0.9), ReturnHome(0.25, home=1))
    assert found.way_home is found.criteria[0].way_home
    assert found.return_policy is found.criteria[0].return_policy


def test_a_plan_without_criteria_keeps_no_way_home_and_says_so() -> None:
    found = plan()
    for name in ("way_home", "return_policy"):
        with pytest.raises(InvalidProblemError, match="has no criterion, so it keeps no way home"):
            getattr(found, name)


def test_a_plan_without_criteria_can_be_printed() -> None:
    text = str(plan())
    assert "safety" not in text
    assert "alled off" not in text


def test_a_plan_can_not_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        plan().action = 1  # type: ignore[misc]


def test_the_kept_part_is_what_starts_with_the_action() -> None:
    found = plan(NAMED, ReturnHome(0.9))
    assert found.kept_weights.tolist() == [1.0]
    assert found.kept_outbound[:, 0].tolist() == [0]
    assert found.kept_value == pytest.approx(0.0, abs=1e-12)
    assert found.criteria[0].kept_bound == pytest.approx(1.0, abs=1e-11)


def test_its_arrays_are_read_only() -> None:
    found = plan(NAMED, ReturnHome(0.9))
    for name in ("weights", "outbound", "kept_weights", "kept_outbound"):
        assert not getattr(found, name).flags.writeable, name


@pytest.mark.parametrize(
    ("kept", "expected"), [(0.9, True), (0.9 - 9e-10, True), (0.9 - 2e-9, False), (0.89, False)]
)
def test_all_is_kept_within_a_hair_of_the_level(kept: float, expected: bool) -> None:
    found = plan(NAMED, ReturnHome(0.9))
    (criterion,) = found.criteria
    changed = replace(found, criteria=(replace(criterion, kept_bound=kept),))
    assert changed.keeps_all is expected
    assert ("No single first action meets every level" in str(changed)) is not expected


@pytest.mark.parametrize("within", [1e-7, 1e-8, 2e-9])
def test_near_a_discount_of_one_rounding_does_not_make_a_level_that_is_kept_missed(
    within: float,
) -> None:
    found = Planner(lambda _: np.zeros((2, 2)), [ReturnHome(1.0)], 1.0 - within).plan(NAMED, 0)
    (criterion,) = found.criteria
    assert criterion.kept_bound < 1.0 - 1e-8
    assert found.keeps_all
    lower = replace(criterion, kept_bound=criterion.level - 5.0 * ROUNDING / within - 1e-8)
    assert not replace(found, criteria=(lower,)).keeps_all


def test_every_criterion_must_be_kept() -> None:
    found = plan(NAMED, ReturnHome(0.9), ReturnHome(0.25, home=[0, 1]))
    first, second = found.criteria
    assert found.keeps_all
    assert not replace(found, criteria=(first, replace(second, kept_bound=0.2))).keeps_all


def test_without_criteria_all_is_kept() -> None:
    assert plan().keeps_all


def test_a_plan_without_criteria_says_that_nothing_is_safe() -> None:
    assert "Nothing is guaranteed, since there is no criterion." in str(plan())


@pytest.mark.parametrize("status", [Status.NOT_CONVERGED, Status.NUMERICAL])
def test_a_plan_that_was_not_solved_to_the_end_says_so(status: Status) -> None:
    text = str(replace(plan(NAMED, ReturnHome(0.9)), status=status))
    assert f"Solver status: {status}. The bounds hold; better plans may exist." in text


def test_an_infeasible_plan_blames_no_draw() -> None:
    found = plan(NAMED, ReturnHome(0.9))
    (criterion,) = found.criteria
    changed = replace(
        found, status=Status.INFEASIBLE, criteria=(replace(criterion, kept_bound=0.1),)
    )
    assert "No single first action meets every level" not in str(changed)


def test_a_worth_that_is_rounding_is_shown_as_nothing() -> None:
    found = plan(NAMED, ReturnHome(0.5))
    tiny = tuple(e._replace(exploration=-3e-30) for e in found.evidence)
    rows = str(replace(found, evidence=tiny)).splitlines()[-2:]
    assert [row.split()[2] for row in rows] == ["0", "0"]
