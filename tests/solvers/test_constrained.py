from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.conftest import (
    DISCOUNTS,
    EXTREME,
    all_policies,
    dense,
    models,
    move_graphs,
    tables,
    value_of,
)

from homeward.errors import InvalidProblemError
from homeward.models import Moves, SparseMDP
from homeward.solvers import (
    ConstrainedProblem,
    ConstrainedSolution,
    PolicySolution,
    Status,
    constrained,
    engine,
    solve_constrained,
    solve_occupancy,
    solve_return,
)
from homeward.solvers.tolerances import met_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model

    Method = Callable[[ConstrainedProblem], ConstrainedSolution]

METHODS: dict[str, Method] = {
    "columns": solve_constrained,
    "simplex": partial(solve_occupancy, method="simplex"),
    "ipm": partial(solve_occupancy, method="ipm"),
}
FORMS: dict[str, Callable[[Moves], Model]] = {
    "moves": lambda model: model,
    "sparse view": lambda model: model.sparse(),
    "dense": lambda model: SparseMDP.from_dense(dense(model), model.reward),
}

# Camp and ridge, γ = ½. In camp one stays or goes up, for sure; on the ridge one stays, which pays
# 1 a step, or goes down, which works half the time. A try to go down costs ⅛ of probability, so the
# way home from the ridge is worth 1 − ⅛/½ = ¾. From camp, (exploration, safety) of the policies is
#   stay in camp          (0, ½·1 + ½·1)       = (0, 1)
#   go up and stay there  (½·1/(1 − ½), ½ + ½·¾) = (1, ⅞)
#   go up, come down      (0, less than 1)
# so between the first two a unit of safety costs 1/(1 − ⅞) = 8, and at level δ ≥ ⅞ the best mixture
# is worth 8(1 − δ).
RIDGE = Moves(np.array([[0, 1], [1, 0]]), np.array([[1.0, 1.0], [1.0, 0.5]]))
SIGMA = np.array([[0.0, 0.0], [0.0, -0.125]])
BONUS = np.array([[0.0, 0.0], [1.0, 0.0]])
HALF = 0.5


def ridge(level: float, form: str = "moves") -> ConstrainedProblem:
    model = FORMS[form](RIDGE)
    value = solve_return(model, SIGMA, np.zeros(1, np.int32)).value
    safety = (1.0 - HALF) * value[:, None] + HALF * SIGMA
    return ConstrainedProblem(model, HALF, 0, np.stack([BONUS, safety]), np.array([level]))


def with_totals(
    problem: ConstrainedProblem, *more: FloatArray, unit: float = 1.0, levels: Any = None
) -> ConstrainedProblem:
    """Add constraints, pay in another unit, or ask for other levels."""
    return replace(
        problem,
        totals=np.stack([problem.objective * unit, *problem.constraints, *more]),
        levels=problem.levels if levels is None else np.asarray(levels, float),
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", FORMS)
def test_the_ridge_is_solved_by_hand_in_every_form_by_every_method(form: str, method: str) -> None:
    found = METHODS[method](ridge(15 / 16, form))
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(0.5, abs=1e-9)
    assert found.upper == pytest.approx(0.5, abs=1e-9)
    assert found.achieved == pytest.approx([15 / 16], abs=1e-9)
    assert found.multipliers == pytest.approx([8.0], abs=1e-7)
    assert found.weights == pytest.approx([0.5, 0.5], abs=1e-9)
    assert {tuple(p) for p in found.policies[:, :1].tolist()} == {(0,), (1,)}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("level", "worth"), [(0.25, 1.0), (7 / 8, 1.0), (0.9, 0.8), (0.99, 0.08), (1.0, 0.0)]
)
def test_the_ridge_is_worth_eight_times_what_may_be_lost(
    level: float, worth: float, form: str, method: str
) -> None:
    found = METHODS[method](ridge(level, form))
    assert found.objective == pytest.approx(worth, abs=1e-9)
    assert found.achieved[0] >= level - 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("form", FORMS)
def test_a_level_out_of_reach_gives_the_safest_policy_and_says_so(form: str, method: str) -> None:
    found = METHODS[method](ridge(1.25, form))
    assert found.status is Status.INFEASIBLE
    assert found.achieved == pytest.approx([1.0], abs=1e-9)
    assert found.upper == -np.inf
    assert found.policies[:, 0].tolist() == [0]


@pytest.mark.parametrize("method", METHODS)
def test_two_levels_hold_at_once(method: str) -> None:
    # A second constraint: at least ¼ of the (discounted) time of 2 is spent on the ridge. Between
    # "stay" (0, 1, 0) and "go" (1, ⅞, 1), safety ≥ 15/16 allows half of "go", which gives ½ ≥ ¼.
    problem = ridge(15 / 16)
    on_the_ridge = np.array([[0.0, 0.0], [1.0, 1.0]])
    both = with_totals(problem, on_the_ridge, levels=[15 / 16, 0.25])
    found = METHODS[method](both)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(0.5, abs=1e-9)
    assert found.achieved == pytest.approx([15 / 16, 0.5], abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_two_levels_that_exclude_each_other_are_infeasible(method: str) -> None:
    # More than half of "go" is asked for, and no more than half is safe.
    problem = ridge(15 / 16)
    on_the_ridge = np.array([[0.0, 0.0], [1.0, 1.0]])
    both = with_totals(problem, on_the_ridge, levels=[15 / 16, 0.75])
    assert METHODS[method](both).status is Status.INFEASIBLE


GAINS = (0.0, 0.5, 1.0, 2.0)
COSTS = (0.0, 0.0, -0.5, -1.0)


@st.composite
def problems(
    draw: Callable[..., Any],
    source: st.SearchStrategy[Model],
    constraints: int = 1,
    worths: tuple[float, ...] = GAINS,
) -> ConstrainedProblem:
    """Draw a problem whose constraints are values in [0, 1] less a correction."""
    model = draw(source)
    discount = draw(DISCOUNTS)
    shape = (constraints, model.states, model.actions)
    state_value = draw(tables(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), *shape[:2], 1))
    correction = draw(tables(st.sampled_from([0.0, 0.0, -0.125, -0.5]), *shape))
    start = draw(st.integers(0, model.states - 1))
    worth = draw(tables(st.sampled_from(worths), *shape[1:]))
    if worths is GAINS:
        worth[start] += 0.25
    return ConstrainedProblem(
        model,
        discount,
        start,
        np.stack([worth + model.reward, *((1.0 - discount) * (state_value + correction))]),
        draw(tables(st.sampled_from([0.2, 0.4, 0.6, 0.8, 0.95]), constraints)),
    )


def points(problem: ConstrainedProblem) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Evaluate every deterministic policy densely: (f, g₁ … g_K) in the start state, [J, 1 + K]."""
    rows = dense(problem.model)
    return np.array(
        [
            [
                value_of(rows, policy, reward, problem.discount)[problem.start]
                for reward in (problem.objective, *problem.constraints)
            ]
            for policy in all_policies(problem.objective)
        ]
    )


def best_mixture(problem: ConstrainedProblem) -> float | None:
    """Give the best objective of any mixture of all deterministic policies, if one is feasible."""
    table = points(problem)
    answer = linprog(
        -table[:, 0],
        A_ub=-table[:, 1:].T,
        b_ub=-problem.levels,
        A_eq=np.ones((1, len(table))),
        b_eq=[1.0],
    )
    return -float(answer.fun) if answer.status == 0 else None


@given(problems(models(3, 3)))
def test_no_mixture_of_all_policies_is_worth_more(problem: ConstrainedProblem) -> None:
    found, best = solve_constrained(problem), best_mixture(problem)
    if best is None:
        assert found.status is Status.INFEASIBLE
    else:
        assert found.status is Status.OPTIMAL
        assert found.objective == pytest.approx(best, abs=1e-7)


@given(problems(models(3, 2), constraints=2))
def test_no_mixture_is_worth_more_under_two_constraints(problem: ConstrainedProblem) -> None:
    found, best = solve_constrained(problem), best_mixture(problem)
    if best is None:
        assert found.status is Status.INFEASIBLE
    else:
        assert found.status is Status.OPTIMAL
        assert found.objective == pytest.approx(best, abs=1e-7)


@given(
    st.integers(0, 2).flatmap(
        lambda count: problems(models(3, 2), count, COSTS) | problems(models(3, 2), count, (0.0,))
    )
)
def test_costs_and_nothing_at_all_are_optimised_as_well(problem: ConstrainedProblem) -> None:
    found, best = solve_constrained(problem), best_mixture(problem)
    if best is None:
        assert found.status is Status.INFEASIBLE
    else:
        assert found.status is Status.OPTIMAL
        assert found.objective == pytest.approx(best, abs=1e-7)


@given(problems(models(3, 3)))
def test_an_infeasible_problem_gets_the_policy_that_comes_closest(
    problem: ConstrainedProblem,
) -> None:
    hard = replace(problem, levels=np.array([1.5]))
    found = solve_constrained(hard)
    assert found.status is Status.INFEASIBLE
    assert found.achieved[0] == pytest.approx(points(hard)[:, 1].max(), abs=1e-9)


@given(st.one_of(problems(models()), problems(models(), constraints=2)))
def test_what_a_mixture_achieves_is_what_its_policies_are_densely_worth(
    problem: ConstrainedProblem,
) -> None:
    found = solve_constrained(problem)
    rows = dense(problem.model)
    for k, reward in enumerate((problem.objective, *problem.constraints)):
        each = np.array([value_of(rows, p, reward, problem.discount) for p in found.policies])
        claimed = found.objective if k == 0 else found.achieved[k - 1]
        assert claimed == pytest.approx(found.weights @ each[:, problem.start], abs=1e-9)
        assert found.values[:, k] == pytest.approx(each, abs=1e-9)


@given(st.one_of(problems(models()), problems(models(), constraints=2)))
def test_a_mixture_is_one_and_its_claims_fit_together(problem: ConstrainedProblem) -> None:
    found = solve_constrained(problem)
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert (found.weights > 0.0).all()
    assert len(found.weights) <= len(problem.levels) + 1
    assert (found.multipliers >= 0.0).all()
    assert found.gap >= 0.0
    if found.status is Status.INFEASIBLE:
        assert found.upper == -np.inf
    else:
        assert (found.achieved >= problem.levels - met_within(problem.span)).all()
        # A mixture may fall short of its levels by 1e-9, which is worth λ times as much.
        slack = 1e-9 * (1.0 + found.multipliers.sum()) + 1e-12 * abs(found.objective)
        assert found.upper >= found.objective - slack


@given(problems(models()), st.sampled_from([0.1, 0.3, 0.5, 0.7]))
def test_a_lower_level_never_lowers_the_objective(
    problem: ConstrainedProblem, lower: float
) -> None:
    level = float(problem.levels[0])
    low, high = sorted((lower, level))
    loose, tight = (solve_constrained(replace(problem, levels=np.array([x]))) for x in (low, high))
    if tight.status is Status.OPTIMAL:
        assert loose.status is Status.OPTIMAL
        assert loose.objective >= tight.objective - 1e-9 * (1.0 + abs(tight.objective))


@given(problems(models()))
def test_a_level_that_everything_meets_changes_nothing(problem: ConstrainedProblem) -> None:
    free = engine(problem.model, problem.discount, problem.totals[:1]).optimise(np.ones(1))
    found = solve_constrained(replace(problem, levels=np.array([-10.0])))
    assert found.objective == pytest.approx(free.values[0, problem.start], abs=1e-9)
    assert found.multipliers.tolist() == [0.0]
    assert len(found.weights) == 1


@given(models(), DISCOUNTS)
def test_without_constraints_it_is_an_ordinary_mdp(model: Model, discount: float) -> None:
    count = model.states * model.actions
    reward = np.arange(1.0, count + 1.0).reshape(model.reward.shape) + model.reward
    found = solve_constrained(ConstrainedProblem(model, discount, 0, reward[None], np.zeros(0)))
    free = engine(model, discount, reward[None]).optimise(np.ones(1))
    assert found.objective == pytest.approx(free.values[0, 0], abs=1e-12)
    assert found.status is Status.OPTIMAL
    assert found.achieved.shape == (0,)


@given(problems(models()), st.sampled_from([1e-6, 1e6]))
def test_the_unit_of_the_objective_does_not_matter(
    problem: ConstrainedProblem, unit: float
) -> None:
    found = solve_constrained(problem)
    other = solve_constrained(with_totals(problem, unit=unit))
    assert other.status is found.status
    if found.status is Status.OPTIMAL:
        assert other.objective / unit == pytest.approx(found.objective, rel=1e-9, abs=1e-12)


@given(problems(models()))
def test_the_same_problem_is_solved_the_same_way_twice(problem: ConstrainedProblem) -> None:
    one, two = solve_constrained(problem), solve_constrained(problem)
    assert one.policies.tobytes() == two.policies.tobytes()
    assert one.weights.tobytes() == two.weights.tobytes()
    assert one.objective == two.objective


@settings(max_examples=15)
@given(problems(models()))
def test_what_is_handed_in_is_not_written_to(problem: ConstrainedProblem) -> None:
    seed = np.isfinite(problem.objective).argmax(axis=1).astype(np.int32)
    handed = (problem.totals, problem.levels, seed)
    before = [array.copy() for array in handed]
    solve_constrained(problem)
    solve_constrained(problem, [seed])
    solve_occupancy(problem)
    assert all((a == b).all() for a, b in zip(handed, before, strict=True))


def shortfall(problem: ConstrainedProblem, found: ConstrainedSolution) -> float:
    """Give how much a solution lacks to its levels, in all."""
    return float(np.maximum(0.0, problem.levels - found.achieved).sum())


def same_end(
    problem: ConstrainedProblem, one: ConstrainedSolution, two: ConstrainedSolution
) -> None:
    """Check that two solutions say the same, as closely as their gaps promise."""
    assert one.status is two.status
    gaps = one.gap + two.gap
    if one.status is Status.INFEASIBLE:
        assert shortfall(problem, one) == pytest.approx(shortfall(problem, two), abs=gaps + 1e-9)
    else:
        # A mixture may fall short of its levels by 1e-9, which is worth λ times as much.
        price = max(one.multipliers.sum(), two.multipliers.sum())
        slack = gaps + 2e-9 * price + 1e-12 * abs(one.objective)
        assert one.objective == pytest.approx(two.objective, rel=0, abs=slack)
        assert (two.achieved >= problem.levels - met_within(problem.span)).all()


def policies_of(data: st.DataObject, problem: ConstrainedProblem, count: int) -> list[IntArray]:
    """Draw policies that keep to the actions that can be chosen."""
    choices = [np.flatnonzero(np.isfinite(row)).tolist() for row in problem.objective]
    each = st.tuples(*(st.sampled_from(some) for some in choices))
    return [np.array(data.draw(each), np.int32) for _ in range(count)]


ANY = st.integers(0, 3).flatmap(
    lambda count: problems(models(), count) | problems(models(), count, (*GAINS, *COSTS))
)


@settings(max_examples=60)
@given(ANY, st.integers(0, 4), st.data())
def test_any_policies_to_start_from_lead_to_the_same_end(
    problem: ConstrainedProblem, count: int, data: st.DataObject
) -> None:
    seeds = policies_of(data, problem, count)
    same_end(problem, solve_constrained(problem), solve_constrained(problem, seeds))


@settings(max_examples=60)
@given(ANY)
def test_a_solutions_own_policies_lead_to_it_again_and_sooner(problem: ConstrainedProblem) -> None:
    cold = solve_constrained(problem)
    warm = solve_constrained(problem, tuple(cold.policies))
    same_end(problem, cold, warm)
    assert warm.rounds <= cold.rounds


@given(ANY, st.sampled_from([1e-9, 1e9]), st.data())
def test_a_warm_start_does_not_mind_the_unit(
    problem: ConstrainedProblem, unit: float, data: st.DataObject
) -> None:
    other = with_totals(problem, unit=unit)
    same_end(other, solve_constrained(other), solve_constrained(other, policies_of(data, other, 2)))


@settings(max_examples=40)
@given(
    st.integers(0, 3).flatmap(lambda count: problems(move_graphs(EXTREME, 5, 3), count)), st.data()
)
def test_a_warm_start_from_extreme_numbers_claims_no_more_than_it_has(
    problem: ConstrainedProblem, data: st.DataObject
) -> None:
    found = solve_constrained(problem, policies_of(data, problem, 2))
    rows = dense(problem.model)
    for k, total in enumerate(problem.totals):
        each = np.array([value_of(rows, p, total, problem.discount) for p in found.policies])
        assert found.values[:, k] == pytest.approx(each, rel=1e-6, abs=1e-6)
    if found.status is Status.OPTIMAL:
        assert (found.achieved >= problem.levels - met_within(problem.span)).all()
        assert found.upper >= found.objective


HINTS = st.one_of(st.sampled_from([0.0, 1e-300, 1e300, np.inf]), st.floats(1e-6, 1e6))


@settings(max_examples=60)
@given(ANY, st.integers(0, 2), st.data())
def test_any_multipliers_to_look_near_lead_to_the_same_end(
    problem: ConstrainedProblem, count: int, data: st.DataObject
) -> None:
    seeds = policies_of(data, problem, count)
    hint = data.draw(tables(HINTS, len(problem.levels)))
    same_end(problem, solve_constrained(problem), solve_constrained(problem, seeds, hint))


@settings(max_examples=100)
@given(problems(models()))
def test_a_solutions_own_multipliers_lead_to_it_again(problem: ConstrainedProblem) -> None:
    cold = solve_constrained(problem)
    for seeds in ((), tuple(cold.policies)):
        same_end(problem, cold, solve_constrained(problem, seeds, cold.multipliers))


def test_seeds_that_are_worth_nothing_say_nothing_of_the_unit() -> None:
    # From camp to a hut that pays 1e-12 a step; the only policy known stays in camp.
    model = Moves(np.array([[0, 1], [1, 1]]), np.ones((2, 2)))
    totals = np.full((3, 2, 2), 0.05)
    totals[0] = [[0.0, 0.0], [1e-12, 1e-12]]
    problem = ConstrainedProblem(model, 0.9, 0, totals, np.array([0.1, 0.1]))
    with patch.object(constrained, "MAX_PRICINGS", 50):
        found = solve_constrained(problem, [np.zeros(2, np.int32)])
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(9e-12, rel=1e-9, abs=0)


def test_where_the_best_is_to_lose_nothing_rounding_is_no_improvement() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        states = int(rng.integers(2, 5))
        rows = rng.dirichlet(np.full(states, 0.3), (states, 2))
        if rng.random() < 0.5:
            rows[0, 0] = np.arange(states) == 0
        costs = -rng.random((states, 2)) * (rng.random((states, 2)) < 0.5)
        totals = np.stack([costs, *(0.1 * rng.random((2, states, 2)))])
        problem = ConstrainedProblem(
            SparseMDP.from_dense(rows), 0.9, 0, totals, np.full(2, rng.uniform(0.1, 0.5))
        )
        seed = rng.integers(0, 2, states).astype(np.int32)
        with patch.object(constrained, "MAX_PRICINGS", 50):
            found = solve_constrained(problem), solve_constrained(problem, [seed])
        assert Status.NOT_CONVERGED not in {f.status for f in found}


def test_the_ridge_is_solved_by_hand_from_its_own_two_policies() -> None:
    # "Stay" and "go up and stay there" are all that the answer needs: one look proves it.
    seeds = np.array([[0, 0], [1, 0]], np.int32)
    found = solve_constrained(ridge(15 / 16), tuple(seeds))
    assert found.status is Status.OPTIMAL
    assert found.rounds == 1
    assert found.objective == pytest.approx(0.5, abs=1e-15)
    assert found.weights == pytest.approx([0.5, 0.5], abs=1e-15)


def test_a_seed_that_is_far_too_bold_does_not_hide_a_level_out_of_reach() -> None:
    found = solve_constrained(ridge(1.25), [np.array([1, 0], np.int32)])
    assert found.status is Status.INFEASIBLE
    assert found.policies[:, 0].tolist() == [0]
    assert found.upper == -np.inf


@settings(max_examples=40)
@given(
    move_graphs(EXTREME, 5, 3),
    st.sampled_from([0.9, 0.999, 0.99999]),
    st.sampled_from([1.0, 1e6]),
    st.sampled_from([0.5, 0.9]),
    st.integers(0, 2**32 - 1),
)
def test_extreme_numbers_agree_with_the_lp_or_say_so(
    model: Moves, discount: float, unit: float, level: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sigma = -rng.choice([0.0, 0.1], (model.states, model.actions))
    sigma = sigma * model.success * (1.0 - model.success)
    value = solve_return(model, sigma, np.zeros(1, np.int32)).value
    safety = (1.0 - discount) * value[:, None] + discount * sigma
    bonus = unit * rng.integers(0, 3, (model.states, model.actions)) + model.reward
    totals = np.stack([bonus, safety])
    problem = ConstrainedProblem(model, discount, 0, totals, np.array([level]))
    ours, lp = solve_constrained(problem), solve_occupancy(problem)
    assert {ours.status, lp.status} <= set(Status)
    if ours.status is lp.status is Status.OPTIMAL:
        assert ours.objective == pytest.approx(lp.objective, rel=1e-6, abs=1e-6 * unit)
        assert ours.achieved[0] >= level - 1e-9
    assert (ours.status is Status.INFEASIBLE) == (lp.status is Status.INFEASIBLE)


@settings(max_examples=30)
@given(move_graphs(max_states=4), DISCOUNTS, st.integers(0, 2**32 - 1))
def test_a_level_of_one_needs_no_special_case(model: Moves, discount: float, seed: int) -> None:
    # Staying at home is always possible here, so level 1 can be met, if only just.
    rng = np.random.default_rng(seed)
    dest, success = model.dest.copy(), model.success.copy()
    dest[0, 0], success[0, 0] = 0, 1.0
    reward = model.reward.copy()
    reward[0, 0] = 0.0
    home = Moves(dest, success, reward)
    sigma = -0.3 * home.success * (1.0 - home.success) * (dest != np.arange(home.states)[:, None])
    value = solve_return(home, sigma, np.zeros(1, np.int32)).value
    safety = (1.0 - discount) * value[:, None] + discount * sigma
    bonus = rng.integers(0, 3, reward.shape) + 0.25 + reward
    problem = ConstrainedProblem(home, discount, 0, np.stack([bonus, safety]), np.ones(1))
    found = solve_constrained(problem)
    assert found.status is Status.OPTIMAL
    assert found.achieved[0] >= 1.0 - 1e-9
    assert found.objective == pytest.approx(solve_occupancy(problem).objective, abs=1e-6)


def refused(match: str, **changes: Any) -> None:
    with pytest.raises(InvalidProblemError, match=match):
        replace(ridge(0.9), **changes)


@pytest.mark.parametrize("discount", [0.0, 1.0, -0.5, 1.5, float("nan"), float("inf")])
def test_a_discount_outside_zero_and_one_is_refused(discount: float) -> None:
    refused(rf"γ is {discount:g}, expected 0 < γ < 1", discount=discount)


@pytest.mark.parametrize("start", [-1, 2])
def test_a_start_that_does_not_exist_is_refused(start: int) -> None:
    refused(rf"the start is {start}, outside 0\.\.1", start=start)


@pytest.mark.parametrize("shape", [(2,), (2, 2), (2, 2, 1), (3, 2, 2), (0, 2, 2), (2, 3, 2)])
def test_totals_of_another_shape_are_refused_with_both_shapes(shape: tuple[int, ...]) -> None:
    said = rf"the totals have shape {re.escape(str(shape))}, expected \(2, 2, 2\)"
    refused(said, totals=np.zeros(shape))


def test_totals_that_do_not_fit_their_levels_are_refused() -> None:
    refused(r"the totals have shape \(2, 2, 2\), expected \(3, 2, 2\)", levels=np.zeros(2))


def spoilt(place: int, wrong: float) -> FloatArray:
    """Write one wrong entry into the ridge's objective (0) or its constraint (1)."""
    totals = ridge(0.9).totals.copy()
    totals[place, 1, 0] = wrong
    return totals


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e308])
def test_an_objective_that_is_no_number_or_overflows_is_refused(wrong: float) -> None:
    refused("the objective has NaN or a reward whose total would exceed", totals=spoilt(0, wrong))


def test_an_objective_overflows_if_its_total_does() -> None:
    refused("would exceed", totals=spoilt(0, 1e285), discount=1.0 - 1e-10)
    assert replace(ridge(0.9), totals=spoilt(0, 1e285)).objective[1, 0] == 1e285


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_constraint_that_is_not_finite_is_refused_by_number(wrong: float) -> None:
    refused("constraint 0 has NaN or its total", totals=spoilt(1, wrong))


# Built and not solved: on moves, a total that overflows makes the compiled loops read beyond
# their arrays.
@pytest.mark.parametrize(("place", "wrong"), [(0, -1e308), (1, 1e308), (1, -1e308)])
def test_what_overflows_is_refused_wherever_it_is(place: int, wrong: float) -> None:
    with pytest.raises(InvalidProblemError):
        replace(ridge(0.9), totals=spoilt(place, wrong))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_level_that_is_not_finite_is_refused(wrong: float) -> None:
    refused("the levels are not finite", levels=np.array([wrong]))


def test_a_state_without_any_action_is_refused_by_number() -> None:
    totals = ridge(0.9).totals.copy()
    totals[0, 1] = -np.inf
    refused("state s=1 has no action that can be chosen", totals=totals)


def test_the_objective_and_the_constraints_are_the_totals_taken_apart() -> None:
    problem = ridge(0.9)
    assert problem.objective.base is problem.totals
    assert (problem.objective == BONUS).all()
    assert problem.constraints.base is problem.totals
    assert problem.constraints.shape == (1, 2, 2)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("seed", "said"),
    [
        ([0, 0, 0], r"a start policy has shape \(3,\), expected \(2,\)"),
        ([[0, 0]], r"a start policy has shape \(1, 2\), expected \(2,\)"),
        ([0, 2], r"a start policy \(s=1\) is 2, outside 0\.\.1"),
        ([-1, 0], r"a start policy \(s=0\) is -1, outside 0\.\.1"),
        ([0.0, 1.0], "a start policy must hold whole numbers"),
    ],
)
def test_a_seed_that_is_no_policy_is_refused(seed: Any, said: str, form: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        solve_constrained(ridge(0.9, form), [np.array([0, 0]), np.array(seed)])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_seed_that_takes_what_can_not_be_chosen_does_no_harm(form: str, count: int) -> None:
    # Going up is closed; the seed would go up.
    totals = np.stack([BONUS, *[ridge(0.9).constraints[0]] * count])
    totals[0, 0, 1] = -np.inf
    problem = ConstrainedProblem(FORMS[form](RIDGE), HALF, 0, totals, np.full(count, 0.9))
    for seeds in ([np.array([1, 0])], [np.array([1, 0]), np.array([0, 1])]):
        found = solve_constrained(problem, seeds)
        assert found.status is Status.OPTIMAL
        assert found.objective == 0.0
        assert found.policies[:, 0].tolist() == [0]


POINTS = st.tuples(st.sampled_from([0.0, 1.0, 1.5, 2.0, 4.0]), st.sampled_from([0.0, 0.5, 1.0]))


@settings(max_examples=300)
@example([(0.0, 1.0), (1.0, 0.0), (4.0, 0.0), (2.0, 0.0)], 0.5)
@example([(0.0, 1.0), (1.0, 0.5), (4.0, 0.0)], 0.5)
@given(st.lists(POINTS, min_size=2, max_size=6), st.sampled_from([0.25, 0.5, 0.75, 2.0]))
def test_no_pair_of_columns_mixes_to_more_than_the_bracket(
    points: list[tuple[float, float]], level: float
) -> None:
    nothing = PolicySolution(np.zeros(1, np.int32), np.zeros((2, 1)), 0.0, Status.OPTIMAL, 0)
    columns = [constrained.Column(nothing, np.array(point)) for point in points]
    above, below = constrained._bracket(columns, level)
    safe = [f for f, g in points if g >= level]
    if not safe:
        assert above is None
        return
    mixtures = [
        f + (f_low - f) * (g - level) / (g - g_low)
        for f, g in points
        for f_low, g_low in points
        if g >= level > g_low
    ]
    assert above is not None
    f, g = above.point
    assert g >= level
    if below is None:
        assert f == max(safe) >= max(mixtures, default=f)
        return
    f_low, g_low = below.point
    assert g_low < level
    mixed = f + (f_low - f) * (g - level) / (g - g_low)
    assert mixed == max([*mixtures, *safe])


def test_what_is_worth_most_and_safe_is_found_in_two_looks() -> None:
    # Nothing is known: the safest policy comes first, then the one that is worth most.

    model = Moves(np.array([[0, 1], [1, 1]]), np.ones((2, 2)))
    totals = np.array([[[0.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]])
    problem = ConstrainedProblem(model, 0.5, 0, totals, np.array([0.5]))
    found = solve_constrained(problem)
    # f = 0 and g = 2 in camp; f = ½·2 = 1 and g = 1 on the way up: that keeps the level.
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(1.0, rel=1e-14, abs=0)
    assert found.achieved == pytest.approx([1.0], rel=1e-14, abs=0)
    assert found.rounds == 2
