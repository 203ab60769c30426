"""Backward induction over a fixed number of steps, and column generation on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import dense, models, tables

from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.solvers import HorizonProblem, Status, engine_for, solve_constrained
from homeward.solvers.horizon import HorizonEngine
from homeward.solvers.tolerances import met_within

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model

# Camp and ridge: up pays nothing, a step on the ridge pays 1, and only camp is safe at the end.
RIDGE = Moves(np.array([[0, 1], [1, 0]]), np.ones((2, 2)))
PAYS = np.array([[0.0, 0.0], [1.0, 0.0]])
SAFE = np.array([1.0, 0.0])


def ridge(steps: int, level: float, model: Model = RIDGE) -> HorizonProblem:
    totals = np.stack([PAYS, np.zeros((2, 2))])
    return HorizonProblem(model, steps, 0, totals, np.array([[0.0, 0.0], SAFE]), np.array([level]))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("steps", "level", "worth"),
    [
        (1, 1.0, 0.0),
        (2, 1.0, 0.0),  # up and down
        (3, 1.0, 1.0),  # up, a step there, down
        (3, 0.5, 1.5),  # or, half of the time, two steps there
        (3, 0.0, 2.0),
        (5, 1.0, 3.0),
    ],
)
def test_the_way_back_is_begun_in_time(
    steps: int, level: float, worth: float, sparse: bool
) -> None:
    model = RIDGE.sparse() if sparse else RIDGE
    found = solve_constrained(ridge(steps, level, model))
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(worth, abs=1e-12)
    assert found.achieved[0] >= level - 1e-12
    assert found.policies.shape[1:] == (steps, 2)


def test_what_no_policy_reaches_is_infeasible() -> None:
    problem = ridge(2, 1.0)
    away = HorizonProblem(RIDGE, 1, 0, problem.totals, np.array([[0, 0], [0.5, 0.25]]), [0.6])  # type: ignore[arg-type]
    assert solve_constrained(away).status is Status.INFEASIBLE


@st.composite
def problems(draw: Any) -> HorizonProblem:
    """Draw a small problem, some with exits."""
    model = draw(models(3, 3))
    shape = (model.states, model.actions)
    steps, count = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    eighths = st.integers(-8, 8).map(lambda i: i / 8)
    totals = draw(tables(eighths, 1 + count, *shape))
    totals[0] = np.where(np.isfinite(model.reward), totals[0], -np.inf)
    final = draw(tables(eighths, 1 + count, model.states))
    levels = draw(tables(eighths, count))
    size = model.states * model.actions
    exits, after = None, None
    if draw(st.booleans()):
        marks = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        exits = np.array(marks).reshape(shape)
        after = draw(tables(eighths, steps + 1, model.states))
    return HorizonProblem(model, steps, 0, totals, final, levels, exits, after)


def value_of(problem: HorizonProblem, policy: IntArray) -> FloatArray:
    """Evaluate a policy [n, S] with dense arrays, by its definition."""
    rows, each = dense(problem.model), np.arange(problem.model.states)
    values = problem.final.copy()
    for t in range(problem.steps - 1, -1, -1):
        act = policy[t]
        ahead = values @ rows[each, act].T
        if problem.exits is not None and problem.after is not None:
            left = problem.exits[each, act]
            ahead[:, left] = 0.0
            ahead[0, left] = (rows[each, act] @ problem.after[t + 1])[left]
        values = problem.totals[:, each, act] + ahead
    return values


def some_policies(problem: HorizonProblem, rng: np.random.Generator, count: int) -> list[IntArray]:
    usable = [np.flatnonzero(np.isfinite(row)) for row in problem.objective]
    return [
        np.array([[rng.choice(u) for u in usable] for _ in range(problem.steps)], np.int32)
        for _ in range(count)
    ]


@given(problems())
def test_a_policy_is_worth_what_its_definition_says(problem: HorizonProblem) -> None:
    solver = HorizonEngine(problem)
    for policy in some_policies(problem, np.random.default_rng(0), 3):
        assert solver.evaluate(policy) == pytest.approx(value_of(problem, policy), abs=1e-12)
        tail = solver.evaluate(policy, problem.steps)
        assert (tail == problem.final).all()


@given(problems(), st.data())
def test_nothing_is_worth_more_than_the_best(problem: HorizonProblem, data: st.DataObject) -> None:
    quarters = st.integers(0, 8).map(lambda i: i / 4)
    weights = data.draw(tables(quarters, len(problem.final)))
    found = engine_for(problem).optimise(weights)
    assert found.values == pytest.approx(value_of(problem, found.policy), abs=1e-12)
    best = weights @ found.values
    for policy in some_policies(problem, np.random.default_rng(1), 20):
        assert (weights @ value_of(problem, policy) <= best + 1e-12).all()


@given(problems())
def test_a_known_policy_that_nothing_beats_is_given_back(problem: HorizonProblem) -> None:
    solver = engine_for(problem)
    weights = np.ones(len(problem.final))
    found = solver.optimise(weights)
    again = solver.optimise(weights, [found], state=0)
    assert again.policy is found.policy


@given(problems())
def test_the_mixture_keeps_its_levels_or_none_can(problem: HorizonProblem) -> None:
    found = solve_constrained(problem)
    assert found.status in (Status.OPTIMAL, Status.INFEASIBLE)
    each = np.array([value_of(problem, policy)[:, 0] for policy in found.policies])
    assert found.weights @ each[:, 0] == pytest.approx(found.objective, abs=1e-12)
    assert found.achieved == pytest.approx(found.weights @ each[:, 1:], abs=1e-12)
    if found.status is Status.OPTIMAL:
        assert (found.achieved >= problem.levels - met_within(problem.span)).all()
        assert found.upper >= found.objective - 1e-12
        warm = solve_constrained(problem, tuple(found.policies), found.multipliers)
        assert warm.objective == pytest.approx(found.objective, abs=1e-9)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"steps": 0}, "the horizon is 0 steps"),
        ({"start": 2}, "the start is 2"),
        ({"totals": np.zeros((1, 2, 2))}, "the totals have shape"),
        ({"final": np.zeros((2, 3))}, "the final rewards have shape"),
        ({"totals": np.full((2, 2, 2), np.nan)}, "the objective has NaN"),
        ({"final": np.full((2, 2), np.inf)}, "the final rewards contain NaN"),
    ],
)
def test_what_is_wrong_is_named(changed: Any, said: str) -> None:
    asked: Any = {
        "model": RIDGE,
        "steps": 2,
        "start": 0,
        "totals": np.zeros((2, 2, 2)),
        "final": np.zeros((2, 2)),
        "levels": np.zeros(1),
    }
    with pytest.raises(InvalidProblemError, match=said):
        HorizonProblem(**{**asked, **changed})


def test_a_seed_of_another_shape_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="a start policy has shape"):
        solve_constrained(ridge(3, 1.0), (np.zeros(2, np.int32),))
