"""The solvers hold at the edges of their numbers, and what says so can say otherwise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.conftest import DISCOUNTS, all_policies, dense, models, value_of

from homeward.models import Moves, SparseMDP
from homeward.solvers import (
    ConstrainedProblem,
    Status,
    occupancy_lp,
    solve_constrained,
    solve_return,
)
from lab.check import edges, referee
from lab.check.edges import FAMILIES, NEARLY, RARE, ExtremeProblem, Family, draw, examine
from lab.check.rationals import Exact, best_mixture, exact_way_home, solve_integers
from lab.check.referee import (
    Truth,
    ask_lp,
    enumerate_exactly,
    judge,
    judge_by_any,
    judge_way_home,
    prove,
)

if TYPE_CHECKING:
    from homeward.models import Model
    from homeward.solvers import ConstrainedSolution
    from lab.check.rationals import Values


def exactly(*values: float | Fraction) -> tuple[Fraction, ...]:
    return tuple(Fraction(x) for x in values)


HALF = Fraction(1, 2)
NAMED = {family.name: family for family in FAMILIES}
HOME = np.zeros(1, np.int32)

# Camp and ridge, γ = ½, as in the solvers' own tests: "stay in camp" is worth (0, 1) from camp, "go
# up and stay there" (1, ⅞), and at a level δ ≥ ⅞ the best mixture is worth 8(1 − δ).
RIDGE = Moves(np.array([[0, 1], [1, 0]]), np.array([[1.0, 1.0], [1.0, 0.5]]))
BONUS = np.array([[0.0, 0.0], [1.0, 0.0]])
SAFETY = np.array([[0.5, 0.5], [0.375, 0.3125]])
FORMS: dict[str, Model] = {"moves": RIDGE, "general": RIDGE.sparse()}


def ridge(level: float, form: str = "moves") -> ConstrainedProblem:
    totals = np.stack([BONUS, SAFETY])
    return ConstrainedProblem(FORMS[form], 0.5, 0, totals, np.array([level]))


def exact_of(problem: ConstrainedProblem) -> Exact:
    return Exact(problem.model, problem.discount, problem.totals)


def truth_of(problem: ConstrainedProblem) -> Truth:
    return enumerate_exactly(problem, exact_of(problem))


def policies_of(found: ConstrainedSolution, exact: Exact) -> dict[tuple[int, ...], Values]:
    return {tuple(policy): exact.evaluate(policy) for policy in found.policies.tolist()}


def test_a_system_is_solved_without_a_fraction() -> None:
    # 2x + y = 3, x + 3y = 4 and the same with 1, 0 on the right; the determinant is 5.
    assert solve_integers([[2, 1], [1, 3]], [[3, 1], [4, 0]]) == ([[5, 3], [5, -1]], 5)


def test_a_zero_on_the_diagonal_is_stepped_around() -> None:
    assert solve_integers([[0, 2], [3, 1]], [[4], [5]]) == ([[6], [12]], 6)


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(-9, 9), min_size=n + 1, max_size=n + 1), min_size=n, max_size=n
        )
    )
)
def test_what_solves_a_system_solves_it_exactly(rows: list[list[int]]) -> None:
    matrix, sides = [row[:-1] for row in rows], [row[-1:] for row in rows]
    assume(abs(np.linalg.det(np.array(matrix))) > 0.5)
    found, det = solve_integers(matrix, sides)
    assert det == round(abs(np.linalg.det(np.array(matrix))))
    for row, side in zip(matrix, sides, strict=True):
        assert sum(x * y[0] for x, y in zip(row, found, strict=True)) == det * side[0]


@pytest.mark.parametrize("form", FORMS)
def test_the_ridge_is_evaluated_by_hand(form: str) -> None:
    exact = exact_of(ridge(1.0, form))
    assert exact.evaluate([0, 0]) == (exactly(0, 2), exactly(1, 0.75))
    assert exact.evaluate([1, 0]) == (exactly(1, 2), exactly(0.875, 0.75))
    # Up and down: v = ½ + ½w and w = 5/16 + ¼w + ¼v, so that w = ⁷⁄₁₀.
    assert exact.evaluate([1, 1]) == (exactly(0, 0), exactly(Fraction(17, 20), Fraction(7, 10)))


def test_a_chance_of_one_in_a_trillion_is_evaluated_to_the_last_digit() -> None:
    model = Moves(np.array([[1], [1]]), np.array([[RARE], [1.0]]))
    totals = np.array([[[0.0], [1.0]]])
    gamma, chance = Fraction(0.99999), Fraction(RARE)
    there = 1 / (1 - gamma)
    assert Exact(model, 0.99999, totals).evaluate([0, 0]) == (
        (gamma * chance * there / (1 - gamma + gamma * chance), there),
    )


def test_a_row_that_passes_one_takes_it_from_staying_put() -> None:
    over = 2.0**-52  # one that passes it by more is normalised
    model = SparseMDP.from_dense([[[0.5, 0.5 + over]], [[0.0, 1.0]]])
    exact = Exact(model, 0.5, np.array([[[0.0], [1.0]]]))
    stays = HALF - Fraction(over)
    goes = HALF + Fraction(over)
    assert exact.evaluate([0, 0]) == (exactly(goes / (1 - HALF * stays), 2),)


def test_a_row_may_end_the_process() -> None:
    model = SparseMDP.from_dense([[[0.5]]])
    assert Exact(model, 0.5, np.ones((1, 1, 1))).evaluate([0]) == ((Fraction(4, 3),),)


@given(models(), DISCOUNTS)
def test_exact_values_are_those_of_a_dense_solve(model: Model, discount: float) -> None:
    reward = np.where(np.isfinite(model.reward), np.arange(model.actions) + 0.5, -np.inf)
    exact = Exact(model, discount, reward[None])
    for policy in all_policies(reward):
        found = [float(x) for x in exact.evaluate(policy.tolist())[0]]
        assert found == pytest.approx(value_of(dense(model), policy, reward, discount), rel=1e-10)


@given(models(), DISCOUNTS)
def test_exact_policy_iteration_finds_the_best_of_all_policies(
    model: Model, discount: float
) -> None:
    reward = np.where(np.isfinite(model.reward), np.arange(model.actions) % 2 + 0.5, -np.inf)
    exact = Exact(model, discount, reward[None])
    best = exact.optimise((Fraction(3),), [choices[0] for choices in exact.choices])
    each = [exact.evaluate(policy.tolist())[0] for policy in all_policies(reward)]
    assert best == tuple(3 * max(values) for values in zip(*each, strict=True))


CAMP, UP = (Fraction(0), Fraction(1)), (Fraction(1), Fraction(7, 8))


@pytest.mark.parametrize(
    ("level", "short", "best"),
    [
        (Fraction(1, 4), 0, 1),
        (Fraction(7, 8), 0, 1),
        (Fraction(15, 16), 0, HALF),
        (1 - Fraction(1, 10**30), 0, Fraction(8, 10**30)),
        (Fraction(1), 0, 0),
        (1 + Fraction(1, 10**30), Fraction(1, 10**30), 0),
        (Fraction(5, 4), Fraction(1, 4), 0),
    ],
)
@pytest.mark.parametrize("points", [[CAMP, UP], [UP, CAMP], [UP, UP, CAMP, CAMP]])
def test_the_best_mixture_on_the_ridge_is_found_by_hand(
    points: list[tuple[Fraction, Fraction]], level: Fraction, short: Fraction, best: Fraction
) -> None:
    assert best_mixture(points, (level,)) == (short, best)


def test_two_levels_hold_at_once() -> None:
    # Corners of a triangle; the first level is met by a third at most of the first.
    points = [exactly(*p) for p in [(3, 0, 1), (1, 1, 0), (0, 1, 1)]]
    levels = (Fraction(2, 3), Fraction(1, 3))
    assert best_mixture(points, levels) == exactly(0, Fraction(5, 3))
    # With both at most, the second corner has to go.
    assert best_mixture(points, exactly(1, 1)) == exactly(0, 0)
    assert best_mixture(points, exactly(2, 0.5))[0] == 1


def test_of_the_mixtures_that_come_closest_the_best_is_taken() -> None:
    points = [exactly(*p) for p in [(0, 1, 0), (4, 0, 1), (9, 0, 0)]]
    # Half a unit is lacking to either level, however the first two are mixed.
    assert best_mixture(points, exactly(1, 1)) == exactly(1, 4)


@given(st.integers(1, 3), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_the_best_mixture_is_that_of_an_lp_solver(constraints: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(-8, 9, (count, 1 + constraints)) / 4.0
    levels = rng.integers(-6, 5, constraints) / 4.0
    points = [exactly(*row) for row in table.tolist()]
    short, best = best_mixture(points, exactly(*levels.tolist()))
    columns = np.hstack([table[:, 1:].T, np.eye(constraints)])
    ones = np.concatenate([np.ones(count), np.zeros(constraints)])[None]
    least = linprog(1.0 - ones[0], A_ub=-columns, b_ub=-levels, A_eq=ones, b_eq=[1.0])
    assert float(short) == pytest.approx(least.fun, abs=1e-9)
    if short == 0:
        lp = linprog(-table[:, 0], -table[:, 1:].T, -levels, ones[:, :count], [1.0])
        assert float(best) == pytest.approx(-lp.fun, abs=1e-9)


TRY = Moves(np.array([[0], [0]]), np.array([[1.0], [0.5]]))


def test_the_way_home_is_solved_by_hand() -> None:
    # A try costs ⅛ and works half the time; what comes before is sure. Beyond, nothing leads back.
    model = Moves(np.array([[0], [0], [1], [3]]), np.array([[1.0], [0.5], [1.0], [1.0]]))
    sigma = np.array([[0.0], [-0.125], [0.0], [0.0]])
    for form in (model, model.sparse()):
        assert exact_way_home(form, sigma, HOME) == exactly(1, 0.75, 0.75, 0)


def test_a_way_home_that_costs_more_than_it_is_worth_is_given_up() -> None:
    assert exact_way_home(TRY, np.full((2, 1), -1.0), HOME) == exactly(1, 0)


def test_a_way_home_takes_only_what_can_be_chosen() -> None:
    closed = np.array([[0.0, 0.0], [-np.inf, 0.0]])
    model = Moves(np.zeros((2, 2), int), np.array([[1.0, 1.0], [1.0, 0.5]]), closed)
    sigma = np.array([[0.0, 0.0], [0.0, -0.125]])
    assert exact_way_home(model, sigma, HOME) == exactly(1, 0.75)


def test_an_end_as_rare_as_the_way_home_is_met_as_often() -> None:
    rare = 2.0**-50
    model = SparseMDP.from_dense([[[1.0, 0.0]], [[rare, 1.0 - 3.0 * rare]]])
    assert exact_way_home(model, np.zeros((2, 1)), HOME) == exactly(1, Fraction(1, 3))


def test_a_sure_way_that_takes_for_ever_beats_a_gamble() -> None:
    rare = 2.0**-44
    rows = np.zeros((3, 2, 3))
    rows[0, :, 0] = 1.0
    rows[1, 0, 0] = 0.1
    rows[1, 1, 2] = rows[2, 1, 2] = 1.0
    rows[2, 0] = [rare, 1.0 - rare, 0.0]
    found = exact_way_home(SparseMDP.from_dense(rows), np.zeros((3, 2)), HOME)
    assert found == exactly(1, 1, 1)


@pytest.mark.parametrize("form", FORMS)
def test_every_referee_says_the_same_of_the_ridge(form: str) -> None:
    problem = ridge(15 / 16, form)
    found, exact = solve_constrained(problem), exact_of(problem)
    values = policies_of(found, exact)
    lp, proof = ask_lp(problem, values), prove(problem, found, exact, values)
    assert lp is not None
    assert [t.short for t in (truth_of(problem), lp, proof)] == [0, 0, 0]
    assert truth_of(problem).best == proof.best == HALF
    assert lp.best is not None
    assert float(lp.best) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_every_referee_says_the_same_of_a_ridge_too_high(form: str) -> None:
    problem = ridge(1.25, form)
    found, exact = solve_constrained(problem), exact_of(problem)
    values = policies_of(found, exact)
    lp = ask_lp(problem, values)
    assert lp is not None
    assert (truth_of(problem).short, truth_of(problem).most) == (Fraction(1, 4), None)
    assert prove(problem, found, exact, values).short == Fraction(1, 4)
    assert float(lp.short) == pytest.approx(0.25, abs=1e-9)
    assert lp.best is None


def test_a_proof_with_poor_multipliers_proves_less() -> None:
    problem = ridge(15 / 16)
    found, exact = solve_constrained(problem), exact_of(problem)
    poor = replace(found, multipliers=np.array([4.0]))
    # max(4·1, 1 + 4·⅞) − 4·¹⁵⁄₁₆
    assert prove(problem, poor, exact, policies_of(found, exact)).best == Fraction(3, 4)


def test_multipliers_without_end_prove_nothing_but_that_a_level_is_out_of_reach() -> None:
    endless = np.array([np.inf])
    for level, status, short in ((1.25, Status.INFEASIBLE, 0.25), (15 / 16, Status.NUMERICAL, 0)):
        problem = ridge(level)
        found = replace(solve_constrained(problem), status=status, multipliers=endless)
        exact = exact_of(problem)
        proof = prove(problem, found, exact, policies_of(found, exact))
        assert proof.short == Fraction(short)
        assert proof.best is None


def test_multipliers_of_zero_do_not_prove_that_a_level_is_out_of_reach() -> None:
    problem = ridge(1.25)
    found = replace(solve_constrained(problem), multipliers=np.zeros(1))
    exact = exact_of(problem)
    proof = prove(problem, found, exact, policies_of(found, exact))
    assert proof.short == 0
    assert "the levels can be met" in judge(problem, found, proof, 1e-7).faults


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "an objective too high": (
        {"objective": 0.5 + 1e-5, "upper": 0.5 + 1e-5},
        "the objective is wrong",
    ),
    "an objective too low": ({"objective": 0.5 - 1e-5}, "the objective is wrong"),
    "a constraint too high": ({"achieved": np.array([0.94])}, "constraint 0 is wrong"),
    "a bound below": ({"upper": 0.5 - 1e-5}, "the bound is below the objective"),
    "a bound above": ({"upper": 0.5 + 1e-5}, "gap < bound - objective"),
    "a bound far above": ({"upper": 0.6, "gap": 0.1}, "the bound is far above"),
    "a bound that is no number": ({"upper": np.nan}, "a number is NaN or infinite"),
    "a negative multiplier": ({"multipliers": np.array([-8.0])}, "a multiplier is negative"),
    "weights that miss one": (
        {"weights": np.array([0.5, 0.6])},
        "the weights are not a distribution",
    ),
    "no weight": ({"weights": np.array([1.0, 0.0])}, "the weights are not a distribution"),
    "infeasible": (
        {"status": Status.INFEASIBLE, "upper": -np.inf},
        "the levels can be met",
    ),
    "infeasible with a bound": (
        {"status": Status.INFEASIBLE},
        "it is infeasible and has a bound",
    ),
}


@pytest.mark.parametrize("level", [0.25, 7 / 8, 15 / 16, 1.0, 1.25])
@pytest.mark.parametrize("form", FORMS)
def test_a_right_answer_passes_before_every_referee(level: float, form: str) -> None:
    problem = ridge(level, form)
    found, exact = solve_constrained(problem), exact_of(problem)
    values = policies_of(found, exact)
    lp = ask_lp(problem, values)
    assert lp is not None
    for truth in (truth_of(problem), lp, prove(problem, found, exact, values)):
        verdict = judge(problem, found, truth, 1e-7)
        assert verdict.faults == ()
        assert verdict.difference < 1e-9
        assert verdict.status is found.status


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_is_caught(name: str) -> None:
    problem = ridge(15 / 16)
    changes, said = WRONG[name]
    found = replace(solve_constrained(problem), **changes)
    assert said in judge(problem, found, truth_of(problem), 1e-7).faults


def mixture(problem: ConstrainedProblem, up: float, **claims: Any) -> ConstrainedSolution:
    """Claim that going up with that probability is optimal, with all else true."""
    achieved = (1.0 - up) + up * 7 / 8
    return replace(
        solve_constrained(ridge(15 / 16)),
        weights=np.array([1.0 - up, up]),
        policies=np.array([[0, 0], [1, 0]], np.int32),
        values=np.array([[[0.0, 2.0], [1.0, 0.75]], [[1.0, 2.0], [0.875, 0.75]]]),
        objective=up,
        achieved=np.array([achieved]),
        **{"upper": up, "gap": 0.0, **claims},
    )


def test_a_mixture_that_is_not_the_best_is_caught() -> None:
    problem = ridge(15 / 16)
    verdict = judge(problem, mixture(problem, 0.5 - 1e-5), truth_of(problem), 1e-7)
    assert verdict.faults == (
        "the bound is below the best",
        "the gap is too small",
        "it is not the best",
    )
    assert verdict.difference == pytest.approx(5e-6, rel=1e-6)  # of 2, the largest value there is
    assert judge(problem, mixture(problem, 0.5), truth_of(problem), 1e-7).faults == ()


def test_a_mixture_that_misses_its_level_is_caught() -> None:
    problem = ridge(15 / 16)
    verdict = judge(problem, mixture(problem, 0.5 + 1e-6), truth_of(problem), 1e-7)
    assert verdict.faults == ("a level is missed", "it is not the best")


def test_a_mixture_within_the_solvers_tolerance_of_its_level_passes() -> None:
    problem = ridge(15 / 16)
    assert judge(problem, mixture(problem, 0.5 + 1e-8), truth_of(problem), 1e-7).faults == ()


def test_a_bound_that_is_a_little_low_is_caught_and_one_that_is_not_sure_may_be_high() -> None:
    problem = ridge(15 / 16)
    truth = truth_of(problem)
    unsure = {"status": Status.NUMERICAL, "gap": 0.1}
    low = mixture(problem, 0.45, upper=0.5 - 1e-8, **unsure)
    assert judge(problem, low, truth, 1e-7).faults == ("the bound is below the best",)
    assert judge(problem, replace(low, upper=0.55), truth, 1e-7).faults == ()
    assert judge(problem, replace(low, gap=0.01), truth, 1e-7).faults == (
        "gap < bound - objective",
        "the bound is below the best",
        "the gap is too small",
    )


def test_where_all_values_are_nothing_a_single_reward_is_the_size() -> None:
    problem = replace(ridge(1.0), totals=np.stack([-BONUS, SAFETY]))
    down = exact_of(problem).evaluate([0, 1])
    assert down[0] == exactly(0, 0)
    lp = ask_lp(problem, {(0, 1): down})
    assert lp is not None
    assert lp.sizes == exactly(1, 1)


def test_optimal_is_wrong_where_nothing_meets_the_level() -> None:
    problem = ridge(1.25)
    verdict = judge(problem, mixture(problem, 0.0 + 1e-3), truth_of(problem), 1e-7)
    assert verdict.faults == ("a level is missed", "the levels can't be met")


def test_infeasible_is_right_but_another_comes_closer() -> None:
    problem = ridge(1.25)
    infeasible = {"status": Status.INFEASIBLE, "upper": -np.inf}
    far = mixture(problem, 0.5, **infeasible)
    assert judge(problem, far, truth_of(problem), 1e-7).faults == (
        "the gap is too small",
        "it is not the best",
    )
    near = mixture(
        problem, 1.2e-8, **infeasible
    )  # lacks 1.5e-9 more, and one of them counts as met
    assert judge(problem, near, truth_of(problem), 1e-7).faults == ()
    assert judge(problem, mixture(problem, 2e-8, **infeasible), truth_of(problem), 1e-7).faults == (
        "the gap is too small",
    )


def test_an_answer_that_takes_what_can_not_be_chosen_is_caught() -> None:
    problem = ridge(15 / 16)
    closed = replace(problem, totals=np.stack([np.where([[0, 1], [0, 0]], -np.inf, BONUS), SAFETY]))
    verdict = judge(closed, mixture(problem, 0.5), truth_of(closed), 1e-7)
    assert verdict.faults == ("it takes an unavailable action",)


def test_a_value_elsewhere_that_is_not_the_policys_is_caught() -> None:
    problem = ridge(15 / 16)
    found = mixture(problem, 0.5)
    values = found.values.copy()
    values[1, 1, 1] += 1e-8
    verdict = judge(problem, replace(found, values=values), truth_of(problem), 1e-7)
    assert verdict.faults == ("constraint 0 of a policy is wrong",)


def test_what_neither_the_lp_nor_a_proof_confirms_is_wrong() -> None:
    problem = drawn("γ = .99999", 12).problem
    found, exact = solve_constrained(problem), exact_of(problem)
    assert judge_by_any(problem, found, exact, None, 1e-7).referee == "lp"
    # The safest policy is claimed to be optimal, with its values and multipliers true.
    safest = solve_constrained(replace(problem, levels=np.array([1e9])))
    worth = safest.objective
    lazy = replace(safest, status=Status.OPTIMAL, upper=worth, gap=0.0)
    lazy = replace(lazy, multipliers=found.multipliers)
    verdict = judge_by_any(problem, lazy, exact, None, 1e-7)
    assert verdict.referee == "proof"
    assert verdict.faults == ("it is not the best",)


def test_where_the_lp_is_the_one_that_is_wrong_a_proof_says_so() -> None:
    edge = drawn("γ = .99999", 12)
    found, exact = solve_constrained(edge.problem), exact_of(edge.problem)
    right = occupancy_lp(edge.problem)
    for wrong in (
        replace(right, objective=right.objective * 1.01),
        replace(right, status=Status.INFEASIBLE, shortfall=1.0),
        replace(right, status=Status.NUMERICAL),
    ):
        with patch.object(referee, "occupancy_lp", return_value=wrong):
            verdict = judge_by_any(edge.problem, found, exact, None, 1e-7)
        assert verdict.referee == "proof"
        assert verdict.faults == ()


def test_a_way_home_above_the_best_is_caught_by_the_last_digit() -> None:
    sigma = np.array([[0.0], [-0.125]])
    found, exact = solve_return(TRY, sigma, HOME), exact_way_home(TRY, sigma, HOME)
    assert judge_way_home(found, exact, 1e-7).faults == ()
    above = replace(found, value=np.array([1.0, np.nextafter(0.75, 1.0)]))
    assert judge_way_home(above, exact, 1e-7).faults == ("it is above the best",)
    below = replace(found, value=np.array([1.0, 0.75 - 1e-5]))
    assert judge_way_home(below, exact, 1e-7).faults == ("it is not the best",)
    unsure = replace(below, status=Status.NOT_CONVERGED)
    assert judge_way_home(unsure, exact, 1e-7).faults == ()
    honest = replace(below, gap=1e-5)
    assert judge_way_home(honest, exact, 1e-7).faults == ()


def test_one_answer_starts_from_nothing_and_one_from_the_problem_nearby() -> None:
    edge = drawn("δ = 1", 0)
    near = solve_constrained(edge.nearby)
    with patch.object(edges, "solve_constrained", wraps=solve_constrained) as solve:
        examine(edge)
    cold, nearby, warm = (call.args for call in solve.call_args_list)
    assert cold == (edge.problem,)
    assert nearby == (edge.nearby,)
    assert warm[0] is edge.problem
    assert np.array(warm[1]).tolist() == near.policies.tolist()
    assert warm[2].tolist() == near.multipliers.tolist()


def test_what_is_raised_is_a_fault_and_no_status() -> None:
    edge = drawn("δ = 1", 0)
    trouble = ZeroDivisionError("at the edge")
    with (
        patch.object(edges, "solve_constrained", side_effect=trouble),
        patch.object(edges, "solve_return", side_effect=trouble),
    ):
        found = examine(edge)
    for verdict in (found.cold, found.warm, found.way_home):
        assert verdict.status is None
        assert verdict.faults == ("it raised ZeroDivisionError",)


def drawn(name: str, number: int, seed: int = 0) -> ExtremeProblem:
    return draw(NAMED[name], number, seed)


def test_numbers_go_through_both_kinds_and_all_counts_of_constraints() -> None:
    for family in FAMILIES:
        found = [draw(family, number) for number in range(6)]
        seen = {(edge.kind, len(edge.problem.levels)) for edge in found}
        assert seen == {(kind, count) for kind in ("moves", "general") for count in (1, 2, 3)}
        for edge in found:
            assert isinstance(edge.problem.model, Moves if edge.kind == "moves" else SparseMDP)
            assert edge.problem.model.states <= 5


def test_every_third_round_is_larger_but_for_single_states() -> None:
    for family in FAMILIES:
        states = [draw(family, number).problem.model.states for number in range(12, 18)]
        assert states == [1] * 6 if family.single else min(states) >= 8


def test_the_same_number_is_the_same_problem_and_another_seed_another() -> None:
    one, two, other = drawn("all at once", 4), drawn("all at once", 4), drawn("all at once", 4, 1)
    assert one.problem.totals.tolist() == two.problem.totals.tolist()
    assert one.problem.levels.tolist() == two.problem.levels.tolist()
    assert one.nearby.totals.tolist() == two.nearby.totals.tolist()
    assert one.problem.totals.tolist() != other.problem.totals.tolist()


def truths(name: str) -> list[Truth]:
    return [truth_of(drawn(name, number).problem) for number in range(12)]


def test_sure_levels_are_sure() -> None:
    for number in range(12):
        assert (drawn("δ = 1", number).problem.levels == 1.0).all()
        assert drawn("δ near 1", number).problem.levels.min() > 0.999


def test_a_chance_is_as_rare_or_as_near_to_one_as_its_family_says() -> None:
    for name, chance in (("chances 1e-12", RARE), ("chances 1 − 1e-12", NEARLY)):
        model = drawn(name, 0).problem.model
        assert isinstance(model, Moves)
        assert (model.success == chance).mean() > 0.2


def test_rewards_and_discounts_are_as_their_family_says() -> None:
    for number in range(6):
        assert drawn("γ = .99999", number).problem.discount == 0.99999
        assert drawn("nothing to earn", number).problem.objective.max() <= 0.0
        assert np.isinf(drawn("closed actions", number, 1).problem.objective).any()
    assert max(drawn("bonus 1e6", n).problem.objective.max() for n in range(6)) > 1e5
    assert max(drawn("bonus 1e-6", n).problem.objective.max() for n in range(6)) < 1e-6


def test_slack_levels_are_met_by_every_policy_within_rounding() -> None:
    for number in range(12):
        problem = drawn("no multiplier", number).problem
        for value in truth_of(problem).values.values():
            for total, level in zip(value[1:], problem.levels.tolist(), strict=True):
                assert total[0] >= Fraction(level) - Fraction(1, 10**9)


def test_levels_are_barely_met_or_barely_not() -> None:
    assert all(truth.short < Fraction(1, 10**9) for truth in truths("infinite multiplier"))
    beyond = [truth.short for truth in truths("just out of reach")]
    assert all(short > 0 for short in beyond)
    assert min(beyond) < Fraction(1, 10**8)
    assert max(beyond) > Fraction(1, 10**8)


def test_a_problem_nearby_is_near_and_another() -> None:
    for number in range(6):
        edge = drawn("all at once", number)
        near, here = edge.nearby, edge.problem
        assert near.totals == pytest.approx(here.totals, rel=1e-5)
        assert near.levels == pytest.approx(here.levels, rel=1e-5)
        assert dense(near.model) == pytest.approx(dense(here.model), rel=1e-5, abs=1e-5)
        assert near.levels.tolist() != here.levels.tolist()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_answer_at_an_edge_is_right_or_not_sure(family: Family) -> None:
    for number in range(6):
        found = examine(draw(family, number))
        assert found.cold.faults == ()
        assert found.warm.faults == ()
        assert found.cold.referee == found.warm.referee == "exact"


@pytest.mark.parametrize("name", ["δ = 1", "γ = .99999", "chances 1 − 1e-12", "all at once"])
def test_every_answer_to_a_larger_problem_is_right_or_not_sure(name: str) -> None:
    for number in range(12, 18):
        found = examine(drawn(name, number))
        assert found.cold.faults == ()
        assert found.warm.faults == ()
        assert {found.cold.referee, found.warm.referee} <= {"lp", "proof"}


@pytest.mark.parametrize("kind", ["moves", "general"])
def test_no_way_home_at_an_edge_is_above_the_best(kind: str) -> None:
    for family in FAMILIES:
        for number in range(0 if kind == "moves" else 1, 6, 2):
            edge = draw(family, number)
            found = solve_return(edge.problem.model, edge.correction, edge.home)
            best = exact_way_home(edge.problem.model, edge.correction, edge.home)
            assert judge_way_home(found, best, 1e-7).faults == ()
