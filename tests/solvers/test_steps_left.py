"""Problems over a fixed number of steps, as ordinary problems over (steps left, state)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import dense, models, tables

from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.solvers import (
    ConstrainedProblem,
    Status,
    engine_for,
    solve_constrained,
    solve_occupancy,
)
from homeward.solvers.policies import SparseEngine
from homeward.solvers.steps_left import (
    over_steps,
    policies_by_state,
    policies_by_step,
    rewards_over_steps,
)
from homeward.solvers.tolerances import met_within

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model

# Camp and ridge: up pays nothing, a step on the ridge pays 1, and only camp is safe at the end.
RIDGE = Moves(np.array([[0, 1], [1, 0]]), np.ones((2, 2)))
PAYS = np.array([[0.0, 0.0], [1.0, 0.0]])
SAFE = np.array([1.0, 0.0])


@dataclass(frozen=True)
class Timed:
    """A problem over n steps, in its own terms."""

    model: Model
    steps: int
    totals: FloatArray  # [1 + K, S, A]
    final: FloatArray  # [1 + K, S]
    levels: FloatArray

    @property
    def problem(self) -> ConstrainedProblem:
        totals = rewards_over_steps(self.totals, self.final, self.steps)
        start, most = self.steps * self.model.states, 1 + self.steps
        long = over_steps(self.model, self.steps)
        return ConstrainedProblem(long, 1.0, start, totals, self.levels, most)


def ridge(steps: int, level: float, model: Model = RIDGE) -> Timed:
    totals = np.stack([PAYS, np.zeros((2, 2))])
    return Timed(model, steps, totals, np.array([[0.0, 0.0], SAFE]), np.array([level]))


@pytest.mark.parametrize("solve", [solve_constrained, solve_occupancy])
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
    steps: int, level: float, worth: float, sparse: bool, solve: Any
) -> None:
    model = RIDGE.sparse() if sparse else RIDGE
    found = solve(ridge(steps, level, model).problem)
    assert found.status is Status.OPTIMAL
    assert found.objective == pytest.approx(worth, abs=1e-12)
    assert found.achieved[0] >= level - 1e-12
    assert policies_by_step(found.policies, 2).shape[1:] == (steps, 2)


def test_what_no_policy_reaches_is_infeasible() -> None:
    final = np.array([[0.0, 0.0], [0.5, 0.25]])
    away = Timed(RIDGE, 1, ridge(2, 1.0).totals, final, np.array([0.6]))
    assert solve_constrained(away.problem).status is Status.INFEASIBLE


@st.composite
def problems(draw: Any) -> Timed:
    """Draw a small problem."""
    model = draw(models(3, 3))
    shape = (model.states, model.actions)
    steps, count = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    eighths = st.integers(-8, 8).map(lambda i: i / 8)
    totals = draw(tables(eighths, 1 + count, *shape))
    totals[0] = np.where(np.isfinite(model.reward), totals[0], -np.inf)
    final = draw(tables(eighths, 1 + count, model.states))
    return Timed(model, steps, totals, final, draw(tables(eighths, count)))


def value_of(timed: Timed, policy: IntArray) -> FloatArray:
    """Evaluate a policy [n, S] with dense arrays, by its definition."""
    rows, each = dense(timed.model), np.arange(timed.model.states)
    values = timed.final.copy()
    for act in policy[::-1]:
        values = timed.totals[:, each, act] + values @ rows[each, act].T
    return values


def some_policies(timed: Timed, seed: int, count: int) -> list[IntArray]:
    rng = np.random.default_rng(seed)
    usable = [np.flatnonzero(np.isfinite(row)) for row in timed.totals[0]]
    return [
        np.array([[rng.choice(u) for u in usable] for _ in range(timed.steps)], np.int32)
        for _ in range(count)
    ]


@given(problems())
def test_a_policy_is_worth_what_its_definition_says(timed: Timed) -> None:
    solver, states = engine_for(timed.problem), timed.model.states
    assert isinstance(solver, SparseEngine)
    assert solver.folded.ordered  # so that one pass solves it
    for policy in some_policies(timed, 0, 3):
        long = policies_by_state(policy)
        assert (policies_by_step(long, states) == policy).all()
        values = solver.evaluate(long)
        assert values[:, -states:] == pytest.approx(value_of(timed, policy), abs=1e-12)
        assert (values[:, :states] == timed.final).all()


@given(problems(), st.data())
def test_nothing_is_worth_more_than_the_best(timed: Timed, data: st.DataObject) -> None:
    quarters, states = st.integers(0, 8).map(lambda i: i / 4), timed.model.states
    weights = data.draw(tables(quarters, len(timed.final)))
    found = engine_for(timed.problem).optimise(weights)
    values = found.values[:, -states:]
    policy = policies_by_step(found.policy, states)
    assert values == pytest.approx(value_of(timed, policy), abs=1e-12)
    best = weights @ values
    for other in some_policies(timed, 1, 20):
        assert (weights @ value_of(timed, other) <= best + 1e-12).all()


@given(problems())
def test_a_known_policy_that_nothing_beats_is_given_back(timed: Timed) -> None:
    solver, start = engine_for(timed.problem), timed.problem.start
    weights = np.ones(len(timed.final))
    found = solver.optimise(weights)
    again = solver.optimise(weights, [found], state=start)
    assert again.policy is found.policy


@given(problems())
def test_the_mixture_keeps_its_levels_or_none_can(timed: Timed) -> None:
    problem = timed.problem
    found = solve_constrained(problem)
    assert found.status in (Status.OPTIMAL, Status.INFEASIBLE)
    policies = policies_by_step(found.policies, timed.model.states)
    each = np.array([value_of(timed, policy)[:, 0] for policy in policies])
    assert found.weights @ each[:, 0] == pytest.approx(found.objective, abs=1e-12)
    assert found.achieved == pytest.approx(found.weights @ each[:, 1:], abs=1e-12)
    if found.status is Status.OPTIMAL:
        assert (found.achieved >= problem.levels - met_within(problem.span)).all()
        assert found.upper >= found.objective - 1e-12
        warm = solve_constrained(problem, tuple(found.policies), found.multipliers)
        assert warm.objective == pytest.approx(found.objective, abs=1e-9)


@pytest.mark.parametrize(
    ("steps", "said"), [(0, "the horizon is 0 steps"), (10**9, "expected at most 4,194,304")]
)
def test_a_horizon_that_is_too_short_or_too_long_is_refused(steps: int, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        over_steps(RIDGE, steps)


def test_without_a_discount_the_steps_must_be_limited() -> None:
    with pytest.raises(InvalidProblemError, match="γ is 1, expected 0 < γ < 1"):
        ConstrainedProblem(RIDGE, 1.0, 0, np.zeros((1, 2, 2)), np.zeros(0))
