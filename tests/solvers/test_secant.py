from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.conftest import DISCOUNTS, move_graphs, tables

from homeward.models import Moves
from homeward.solvers import ConstrainedProblem, Status, constrained, secant, solve_constrained

if TYPE_CHECKING:
    from homeward.arrays import IntArray

    Case = tuple[ConstrainedProblem, list[IntArray], float]

COARSE = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@st.composite
def problems(draw: st.DrawFn) -> Case:
    """A problem with one constraint on a small graph, policies to start from, and a multiplier."""
    model: Moves = draw(move_graphs(max_states=5))
    shape = (model.states, model.actions)
    objective = draw(tables(st.one_of(COARSE, st.floats(-1.0, 2.0)), *shape))
    objective = np.where(np.isfinite(model.reward), objective, -np.inf)
    constraint = draw(tables(st.one_of(COARSE, st.floats(-0.5, 1.0)), *shape))
    discount = draw(DISCOUNTS)
    level = draw(st.floats(-0.5, 1.0)) / (1.0 - discount)
    start = draw(st.integers(0, model.states - 1))
    totals = np.stack([objective, constraint])
    problem = ConstrainedProblem(model, discount, start, totals, np.array([level]))
    policy = st.lists(
        st.integers(0, model.actions - 1), min_size=model.states, max_size=model.states
    )
    seeds: list[IntArray] = [np.array(p, np.int32) for p in draw(st.lists(policy, max_size=3))]
    return problem, seeds, draw(st.sampled_from([0.0, 0.01, 1.0, 300.0, np.inf]))


@settings(max_examples=300)
@given(problems())
def test_the_compiled_search_is_the_plain_one(
    case: Case,
) -> None:
    problem, seeds, hint = case
    plain = constrained._secant(constrained.Pricer(problem, seeds), hint)
    found = solve_constrained(problem, seeds, np.array([hint]))
    assert found.status is plain.status
    assert found.rounds == plain.rounds
    size = problem.worth + 1.0
    assert found.objective == pytest.approx(plain.objective, rel=1e-12, abs=1e-12 * size)
    assert found.upper == pytest.approx(plain.upper, rel=1e-12, abs=1e-12 * size)
    assert found.achieved == pytest.approx(plain.achieved, rel=1e-12, abs=1e-12 * size)
    np.testing.assert_array_equal(found.policies, plain.policies)
    assert found.policies.dtype == np.int32


POINTS = st.tuples(st.sampled_from([0.0, 1.0, 1.5, 2.0, 4.0]), st.sampled_from([0.0, 0.5, 1.0]))


@settings(max_examples=300)
@example([(0.0, 1.0), (1.0, 0.0), (4.0, 0.0), (2.0, 0.0)], 0.5)
@example([(0.0, 1.0), (1.0, 0.5), (4.0, 0.0)], 0.5)
@given(st.lists(POINTS, min_size=2, max_size=6), st.sampled_from([0.25, 0.5, 0.75, 2.0]))
def test_no_pair_of_columns_mixes_to_more_than_the_bracket(
    points: list[tuple[float, float]], level: float
) -> None:
    count = len(points)
    columns = secant.Columns(
        np.zeros((count, 1), np.uint32),
        np.zeros((count, 2, 1)),
        np.zeros((count, 2)),
        np.array(points).reshape(count, 2),
        np.arange(count),
    )
    above, below = secant.bracket(columns, count, level)
    safe = [f for f, g in points if g >= level]
    if not safe:
        assert above == secant.NONE
        return
    mixtures = [
        f + (f_low - f) * (g - level) / (g - g_low)
        for f, g in points
        for f_low, g_low in points
        if g >= level > g_low
    ]
    f, g = points[above]
    assert g >= level
    if below == secant.NONE:
        assert f == max(safe) >= max(mixtures, default=f)
        return
    f_low, g_low = points[below]
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
