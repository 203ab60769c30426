from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import DISCOUNTS, dense, models, tables, value_of

from homeward.models import Moves, SparseMDP
from homeward.solvers import (
    ConstrainedProblem,
    Status,
    occupancy_lp,
    solve_constrained,
    solve_occupancy,
)
from homeward.solvers.occupancy import IPM_ITERATIONS, run_lp

if TYPE_CHECKING:
    from collections.abc import Callable

FEW = settings(max_examples=20)  # an LP solver takes its time to start

Solver = Literal["simplex", "ipm"]
SOLVERS: tuple[Solver, ...] = ("simplex", "ipm")

LATER = np.array(
    [[[0.0], [1.0]], [[0.0], [0.0]]]
)  # the second of two states pays 1, nothing is safe


@st.composite
def problems(draw: Callable[..., Any]) -> ConstrainedProblem:
    """Draw a problem with one constraint that is somewhere between easy and impossible."""
    model = draw(models(4, 2))
    discount = draw(DISCOUNTS)
    shape = (model.states, model.actions)
    eighths = st.integers(0, 8).map(lambda i: i / 8)
    return ConstrainedProblem(
        model,
        discount,
        0,
        np.stack(
            [
                draw(tables(eighths, *shape)) + model.reward,
                (1.0 - discount) * draw(tables(eighths, *shape)),
            ]
        ),
        np.array([draw(st.sampled_from([0.15, 0.35, 0.55, 0.75]))]),
    )


@pytest.mark.parametrize("method", SOLVERS)
@FEW
@given(problem=problems())
def test_the_measure_flows_from_the_start(method: Solver, problem: ConstrainedProblem) -> None:
    answer = occupancy_lp(problem, method)
    assert (answer.measure >= 0.0).all()
    assert not answer.measure[~np.isfinite(problem.objective)].any()
    into = np.einsum("sa,sat->t", answer.measure, dense(problem.model))
    start = np.arange(problem.model.states) == problem.start
    out = answer.measure.sum(axis=1)
    assert out == pytest.approx(start + problem.discount * into, abs=1e-7)


@FEW
@given(problem=problems())
def test_simplex_and_interior_point_agree(problem: ConstrainedProblem) -> None:
    one, two = (solve_occupancy(problem, method) for method in SOLVERS)
    assert one.status is two.status
    if one.status is Status.OPTIMAL:
        assert one.objective == pytest.approx(two.objective, abs=1e-6)


@pytest.mark.parametrize("method", SOLVERS)
@FEW
@given(problem=problems())
def test_the_corners_are_worth_what_the_measure_is(
    method: Solver, problem: ConstrainedProblem
) -> None:
    found, answer = solve_occupancy(problem, method), occupancy_lp(problem, method)
    if answer.status is Status.OPTIMAL:
        assert found.objective == pytest.approx(answer.objective, abs=1e-6)
        safe = float((answer.measure * problem.constraints[0]).sum())
        assert found.achieved[0] == pytest.approx(safe, abs=1e-6)


@FEW
@given(problem=problems())
def test_its_claims_are_those_of_its_policies(problem: ConstrainedProblem) -> None:
    found = solve_occupancy(problem)
    rows, s = dense(problem.model), problem.start
    worth, safe = (
        found.weights @ [value_of(rows, p, reward, problem.discount)[s] for p in found.policies]
        for reward in (problem.objective, problem.constraints[0])
    )
    assert found.objective == pytest.approx(worth, abs=1e-9)
    assert found.achieved == pytest.approx([safe], abs=1e-9)
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-14)


@FEW
@given(problem=problems())
def test_its_upper_bound_is_above_what_it_found(problem: ConstrainedProblem) -> None:
    found = solve_occupancy(problem)
    if found.status is Status.OPTIMAL:
        assert found.upper >= found.objective - 1e-8


@pytest.mark.parametrize("method", SOLVERS)
@FEW
@given(problem=problems())
def test_the_gap_of_the_lp_is_proven_by_its_duals(
    method: Solver, problem: ConstrainedProblem
) -> None:
    answer = occupancy_lp(problem, method)
    if answer.status is Status.OPTIMAL:
        assert 0.0 <= answer.gap <= 1e-6
        assert answer.shortfall == 0.0
        assert answer.rounds >= 0
        best = solve_constrained(problem)
        slack = 1e-9 * (1.0 + best.multipliers.sum())
        assert best.objective <= answer.objective + answer.gap + slack
    else:
        assert answer.gap == np.inf
        assert answer.shortfall > 1e-9


@FEW
@given(problem=problems(), unit=st.sampled_from([0.0, -1.0, 1e-9, 1e9]))
def test_any_unit_of_the_objective_will_do(problem: ConstrainedProblem, unit: float) -> None:
    worth = np.where(np.isfinite(problem.objective), problem.objective, 0.0) * unit
    worth = worth + np.where(np.isfinite(problem.objective), 0.0, -np.inf)
    other = replace(problem, totals=np.stack([worth, *problem.constraints]))
    columns, lp = solve_constrained(other), solve_occupancy(other)
    assert columns.status is lp.status
    if columns.status is Status.OPTIMAL:
        assert lp.objective == pytest.approx(columns.objective, rel=1e-6, abs=1e-6 * abs(unit))


def test_an_infeasible_problem_has_the_least_shortfall() -> None:
    # One state that pays ½·½ a step of safety under γ = ½: ½ in all, and ¾ is asked for.
    model = Moves(np.zeros((1, 1), int), np.ones((1, 1)))
    problem = ConstrainedProblem(model, 0.5, 0, np.array([[[0.0]], [[0.25]]]), np.array([0.75]))
    answer = occupancy_lp(problem)
    assert answer.status is Status.INFEASIBLE
    assert answer.shortfall == pytest.approx(0.25, abs=1e-9)


def test_the_measure_counts_discounted_visits() -> None:
    # From 0 to 1 for sure, γ = ½: one visit of 0, and ½ + ¼ + … = 1 of 1.
    model = Moves(np.array([[1], [1]]), np.ones((2, 1)))
    problem = ConstrainedProblem(model, 0.5, 0, LATER, np.array([-1.0]))
    answer = occupancy_lp(problem)
    assert answer.measure == pytest.approx(np.array([[1.0], [1.0]]), abs=1e-12)
    assert answer.objective == pytest.approx(1.0, abs=1e-12)
    assert answer.value == pytest.approx([1.0, 2.0], abs=1e-9)


@pytest.mark.parametrize("success", [1e-10, 4e-12])
def test_a_rare_success_is_not_dropped(success: float) -> None:
    # The LP solver's own default drops what is below 1e-9.
    model = Moves(np.array([[1], [1]]), np.array([[success], [1.0]]))
    problem = ConstrainedProblem(model, 0.5, 0, LATER, np.array([-1.0]))
    expected = success / (1.0 + success) * 2.0
    assert occupancy_lp(problem).objective == pytest.approx(expected, rel=1e-6, abs=0)
    assert solve_occupancy(problem).objective == pytest.approx(expected, rel=1e-9, abs=0)


class Hasty(highspy.Highs):
    """HiGHS that stops after some seconds, so that a hang is a failure."""

    def run(self) -> Any:
        self.setOptionValue("time_limit", 3.0)
        return super().run()


def test_an_lp_that_would_never_end_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highspy, "Highs", Hasty)
    discount = 1.0 - 2e-9
    rows = [
        [[0.36766053514597596, 0.13233946485402404], [0.5847340653408578, 0.4152659346591423]],
        [[0.48166421134430054, 0.5183357886556994], [0.8995288623902481, 0.10047113760975195]],
    ]
    objective = np.array([[0.84, 0.3], [0.07, 0.26]])
    shares = np.array([[[0.48, 0.9], [0.83, 0.18]], [[0.55, 0.56], [0.38, 0.58]]])
    totals = np.concatenate([objective[None], (1.0 - discount) * shares])
    levels = np.array([0.93, 0.11])
    problem = ConstrainedProblem(SparseMDP.from_dense(rows), discount, 0, totals, levels)
    answer = run_lp(problem, "ipm", 1e-10, closest=True)
    assert answer.status is Status.NOT_CONVERGED
    assert answer.rounds <= IPM_ITERATIONS


def test_no_measure_at_all_is_trouble_and_not_infeasible() -> None:
    # HiGHS calls this infeasible even with a shortfall allowed, which nothing is.
    rows = np.array([[1.0, 0.0], [0.9, 0.05]])[:, None]
    gamma = 1.0 - 1e-7
    safe = (1.0 - gamma) * np.array([[1.0], [0.0]])
    totals = np.stack([np.array([[0.71], [0.39]]), safe])
    problem = ConstrainedProblem(SparseMDP.from_dense(rows), gamma, 0, totals, np.array([0.5]))
    assert occupancy_lp(problem).status is Status.NUMERICAL
    assert solve_occupancy(problem).status is Status.NUMERICAL
