from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
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
from homeward.solvers import PolicySolution, Status, engine
from homeward.solvers.policies import MovesEngine, SparseEngine, first_policy

if TYPE_CHECKING:
    from homeward.arrays import FloatArray
    from homeward.models import Model
    from homeward.solvers import Engine

REWARDS = st.floats(-3.0, 3.0)


def rewards(data: st.DataObject, model: Model, *count: int) -> FloatArray:
    """Draw rewards [*count, S, A] that keep the model's closed actions closed."""
    drawn: FloatArray = data.draw(tables(REWARDS, *count, model.states, model.actions))
    return drawn + model.reward


def a_policy(data: st.DataObject, model: Model) -> np.ndarray:
    """Draw a policy that keeps to the actions that can be chosen."""
    return np.array(
        [data.draw(st.sampled_from(np.flatnonzero(np.isfinite(r)).tolist())) for r in model.reward],
        np.int32,
    )


def best_of(model: Model, discount: float, reward: FloatArray) -> PolicySolution:
    """Optimise one reward [S, A]."""
    return engine(model, discount, reward[None]).optimise(np.ones(1))


def test_each_kind_of_model_gets_its_engine() -> None:
    model = Moves(np.zeros((1, 1), int), np.ones((1, 1)))
    nothing = np.zeros((1, 1, 1))
    assert isinstance(engine(model, 0.9, nothing), MovesEngine)
    assert isinstance(engine(model.sparse(), 0.9, nothing), SparseEngine)


@given(models(), DISCOUNTS, st.data())
def test_evaluating_a_policy_is_a_dense_linear_solve(
    model: Model, discount: float, data: st.DataObject
) -> None:
    policy, reward = a_policy(data, model), rewards(data, model, 2)
    reward[1] = np.where(np.isfinite(reward[1]), reward[1], 0.0)
    value = engine(model, discount, reward).evaluate(policy)
    assert value.shape == (2, model.states)
    for k in range(2):
        expected = value_of(dense(model), policy, reward[k], discount)
        assert value[k] == pytest.approx(expected, abs=1e-9)


@given(move_graphs(EXTREME), DISCOUNTS, st.data())
def test_moves_and_their_sparse_view_are_evaluated_alike(
    model: Moves, discount: float, data: st.DataObject
) -> None:
    policy, reward = a_policy(data, model), rewards(data, model, 1)
    by_graph = engine(model, discount, reward).evaluate(policy)
    by_rows = engine(model.sparse(), discount, reward).evaluate(policy)
    assert by_graph == pytest.approx(by_rows, rel=1e-10, abs=1e-10)


@given(move_graphs(EXTREME), DISCOUNTS, st.data())
def test_moves_and_their_sparse_view_have_the_same_optimum(
    model: Moves, discount: float, data: st.DataObject
) -> None:
    reward = rewards(data, model)
    by_graph = best_of(model, discount, reward)
    by_rows = best_of(model.sparse(), discount, reward)
    assert by_graph.values == pytest.approx(by_rows.values, rel=1e-10, abs=1e-10)
    assert by_graph.status is by_rows.status is Status.OPTIMAL


@given(models(3, 3), DISCOUNTS, st.data())
def test_no_deterministic_policy_is_worth_more_than_the_optimum(
    model: Model, discount: float, data: st.DataObject
) -> None:
    reward = rewards(data, model)
    found = best_of(model, discount, reward)
    rows = dense(model)
    best = np.max([value_of(rows, p, reward, discount) for p in all_policies(reward)], axis=0)
    assert found.values[0] == pytest.approx(best, abs=1e-9)


@given(models(), st.sampled_from([0.1, 0.5, 0.9]), st.data())
def test_the_optimum_is_where_value_iteration_ends(
    model: Model, discount: float, data: st.DataObject
) -> None:
    reward, rows, value = rewards(data, model), dense(model), np.zeros(model.states)
    for _ in range(400):
        value = (reward + discount * rows @ value).max(axis=1)
    assert best_of(model, discount, reward).values[0] == pytest.approx(value, abs=1e-8)


@given(models(), DISCOUNTS, st.data())
def test_the_reported_value_is_the_exact_value_of_the_reported_policy(
    model: Model, discount: float, data: st.DataObject
) -> None:
    reward = rewards(data, model)
    found = best_of(model, discount, reward)
    exact = value_of(dense(model), found.policy, reward, discount)
    assert found.values[0] == pytest.approx(exact, abs=1e-9)


@given(models(), DISCOUNTS, st.data())
def test_the_policy_never_takes_an_action_that_can_not_be_chosen(
    model: Model, discount: float, data: st.DataObject
) -> None:
    found = best_of(model, discount, rewards(data, model))
    assert np.isfinite(model.reward[np.arange(model.states), found.policy]).all()


@given(models(), DISCOUNTS, st.data())
def test_the_gap_is_rounding_and_never_negative(
    model: Model, discount: float, data: st.DataObject
) -> None:
    reward = rewards(data, model)
    found = best_of(model, discount, reward)
    assert 0.0 <= found.gap <= 1e-9 / (1.0 - discount)


WEIGHTS = st.one_of(st.sampled_from([0.0, 1.0, 1e6]), st.floats(0.0, 10.0))


def known(solver: Engine, policy: np.ndarray) -> PolicySolution:
    """Make what one starts from, of a policy alone."""
    return PolicySolution(policy, solver.evaluate(policy), np.inf, Status.NOT_CONVERGED, 0)


def several(data: st.DataObject, model: Model) -> tuple[FloatArray, FloatArray]:
    """Draw totals [3, S, A], of which only the first closes actions, and weights [3] for them."""
    totals = data.draw(tables(REWARDS, 3, model.states, model.actions))
    totals[0] += model.reward
    return totals, data.draw(tables(WEIGHTS, 3))


def summed(model: Model, totals: FloatArray, weights: FloatArray) -> FloatArray:
    """Add weighted totals up, and close what can't be chosen whatever the first one's weight."""
    kept = np.where(np.isfinite(totals), totals, 0.0)
    return np.tensordot(weights, kept, axes=1) + model.reward


@given(models(3, 3), DISCOUNTS, st.data())
def test_a_weighted_sum_of_totals_is_optimised_as_one_reward(
    model: Model, discount: float, data: st.DataObject
) -> None:
    totals, weights = several(data, model)
    found = engine(model, discount, totals).optimise(weights)
    reward, rows = summed(model, totals, weights), dense(model)
    best = np.max([value_of(rows, p, reward, discount) for p in all_policies(reward)], axis=0)
    assert weights @ found.values == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert np.isfinite(model.reward[np.arange(model.states), found.policy]).all()
    for total, value in zip(totals, found.values, strict=True):
        exact = value_of(rows, found.policy, total, discount)
        assert value == pytest.approx(exact, rel=1e-9, abs=1e-9)


@given(models(), DISCOUNTS, st.data())
def test_moves_and_their_sparse_view_weigh_alike(
    model: Model, discount: float, data: st.DataObject
) -> None:
    totals, weights = several(data, model)
    one, two = (engine(m, discount, totals).optimise(weights) for m in (model, model.sparse()))
    assert weights @ one.values == pytest.approx(weights @ two.values, rel=1e-9, abs=1e-9)


@given(models(), DISCOUNTS, st.integers(1, 3), st.data())
def test_a_start_from_any_policies_ends_at_the_same_value(
    model: Model, discount: float, count: int, data: st.DataObject
) -> None:
    totals, weights = several(data, model)
    solver = engine(model, discount, totals)
    start = [known(solver, a_policy(data, model)) for _ in range(count)]
    before = [s.policy.copy() for s in start]
    cold, warm = solver.optimise(weights), solver.optimise(weights, start)
    assert weights @ warm.values == pytest.approx(weights @ cold.values, rel=1e-9, abs=1e-9)
    assert warm.status is Status.OPTIMAL
    assert all((s.policy == b).all() for s, b in zip(start, before, strict=True))


@given(models(), DISCOUNTS, st.integers(1, 2), st.data())
def test_a_solve_that_is_cut_short_is_no_worse_than_what_it_started_from(
    model: Model, discount: float, limit: int, data: st.DataObject
) -> None:
    totals, weights = several(data, model)
    solver = engine(model, discount, totals)
    start = [known(solver, a_policy(data, model)) for _ in range(3)]
    found = solver.optimise(weights, start, limit)
    had = np.max([weights @ s.values for s in start], axis=0)
    assert found.rounds <= limit
    assert (weights @ found.values >= had - 1e-9 * (1.0 + np.abs(had))).all()
    if found.status is Status.OPTIMAL:
        assert found.gap <= 1e-9 * (1.0 + np.abs(weights @ found.values).max()) / (1.0 - discount)
    else:
        assert found.status is Status.NOT_CONVERGED
        assert found.gap == np.inf


@given(models(), DISCOUNTS, st.data())
def test_no_policy_is_above_an_optimum_by_more_than_its_gap(
    model: Model, discount: float, data: st.DataObject
) -> None:
    totals, weights = several(data, model)
    solver = engine(model, discount, totals)
    found = solver.optimise(weights)
    other = weights @ solver.evaluate(a_policy(data, model))
    rounding = 1e-12 * (1.0 + np.abs(other).max()) / (1.0 - discount)
    assert (other <= weights @ found.values + found.gap + rounding).all()


@given(models(), DISCOUNTS, st.data())
def test_an_optimal_policy_is_kept_when_it_is_handed_back(
    model: Model, discount: float, data: st.DataObject
) -> None:
    solver = engine(model, discount, rewards(data, model)[None])
    found = solver.optimise(np.ones(1))
    again = solver.optimise(np.ones(1), [found])
    assert (again.policy == found.policy).all()
    assert again.rounds == 0


@given(models(), DISCOUNTS, st.data())
def test_where_one_state_matters_a_known_policy_is_given_back_unless_beaten_there(
    model: Model, discount: float, data: st.DataObject
) -> None:
    totals, weights = several(data, model)
    solver = engine(model, discount, totals)
    start = [known(solver, a_policy(data, model)) for _ in range(2)]
    state = data.draw(st.integers(0, model.states - 1))
    found, best = solver.optimise(weights, start, state=state), solver.optimise(weights)
    here, most = (weights @ f.values[:, state] for f in (found, best))
    rounding = 1e-9 * (1.0 + np.abs(weights @ best.values).max())
    assert here == pytest.approx(most, abs=rounding)
    assert most <= here + found.gap + 1e-3 * rounding
    had = max(float(weights @ s.values[:, state]) for s in start)
    if found.rounds == 0:
        assert any(found.policy is s.policy for s in start)
        assert here == had
    assert found.values.tobytes() == solver.evaluate(found.policy).tobytes()


@given(models(), DISCOUNTS, st.data())
def test_the_same_problem_is_solved_the_same_way_twice(
    model: Model, discount: float, data: st.DataObject
) -> None:
    reward = rewards(data, model)
    one, two = (best_of(model, discount, reward) for _ in range(2))
    assert one.policy.tobytes() == two.policy.tobytes()
    assert one.values.tobytes() == two.values.tobytes()


@given(models(), DISCOUNTS, st.data())
def test_what_was_solved_before_leaves_no_trace(
    model: Model, discount: float, data: st.DataObject
) -> None:
    totals, weights = several(data, model)
    used = engine(model, discount, totals)
    first = used.optimise(np.ones(3))
    kept = first.values.copy(), first.policy.copy()
    again = used.optimise(weights)
    fresh = engine(model, discount, totals).optimise(weights)
    assert again.values.tobytes() == fresh.values.tobytes()
    assert again.policy.tobytes() == fresh.policy.tobytes()
    assert (first.values == kept[0]).all()
    assert (first.policy == kept[1]).all()


def test_ties_go_to_the_first_action_that_can_be_chosen() -> None:
    reward = np.array([[-np.inf, 1.0, 1.0]])
    policy, _, size = first_policy(reward, np.ones(1), ())
    assert (policy.tolist(), size) == ([1], -1.0)
    model = Moves(np.zeros((1, 3), int), np.ones((1, 3)), reward)
    for kind in (model, model.sparse()):
        assert best_of(kind, 0.9, reward).policy.tolist() == [1]


def test_a_start_takes_in_each_state_what_is_worth_most_there() -> None:
    start = [
        PolicySolution(np.array(policy, np.int32), np.array(values), 0.0, Status.OPTIMAL, 1)
        for policy, values in (([0, 0], [[1.0, 5.0], [9.0, 0.0]]), ([1, 1], [[2.0, 4.0], [0.0, 0]]))
    ]
    reward = np.zeros((2, 2))
    for weights, choice, value, largest in (
        ([1.0, 0.0], [1, 0], [2.0, 5.0], 5.0),
        ([1.0, 1.0], [0, 0], [10.0, 5.0], 14.0),
        ([0.0, 0.0], [0, 0], [0.0, 0.0], 0.0),
    ):
        policy, worth, size = first_policy(reward, np.array(weights), start)
        assert (policy.tolist(), worth.tolist(), size) == (choice, value, largest)


def test_an_action_that_is_closed_stays_closed_without_weight() -> None:
    # Without weight on the first total, the closed action is all that the second would take.
    totals = np.array([[[0.0, -np.inf]], [[0.0, 1.0]]])
    model = Moves(np.zeros((1, 2), int), np.ones((1, 2)))
    for kind in (model, model.sparse()):
        found = engine(kind, 0.9, totals).optimise(np.array([0.0, 1.0]))
        assert found.policy.tolist() == [0]
        assert found.values.tolist() == [[0.0], [0.0]]


def test_totals_handed_in_are_not_written_to() -> None:
    model = Moves(np.array([[1, 0], [0, 1]]), np.full((2, 2), 0.5))
    totals = np.array([[[0.0, 1.0], [2.0, 3.0]], [[1.0, 0.0], [0.0, -1.0]]])
    before = totals.copy()
    for kind in (model, model.sparse()):
        solver = engine(kind, 0.9, totals)
        solver.optimise(np.array([1.0, 0.5]), [known(solver, np.zeros(2, np.int32))])
        solver.evaluate(np.zeros(2, np.int32))
    assert (totals == before).all()


def test_totals_that_can_not_be_written_to_will_do() -> None:
    model = Moves(np.array([[1, 0], [0, 1]]), np.full((2, 2), 0.5))
    totals = np.ones((1, 2, 2))
    totals.flags.writeable = False
    for kind in (model, model.sparse()):
        assert engine(kind, 0.5, totals).optimise(np.ones(1)).values.tolist() == [[2.0, 2.0]]


RIDGE = Moves(np.array([[0, 1], [1, 0]]), np.ones((2, 2)))


@pytest.mark.parametrize("kind", ["moves", "sparse"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_totals_that_are_no_numbers_are_refused(wrong: float, kind: str) -> None:
    totals = np.zeros((2, 2, 2))
    totals[1, 0, 1] = wrong
    with pytest.raises(InvalidProblemError, match=r"constraint 0 has NaN or its total"):
        engine(RIDGE if kind == "moves" else RIDGE.sparse(), 0.9, totals)


@pytest.mark.parametrize("wrong", [1e308, -1e308])
def test_totals_that_overflow_are_refused(wrong: float) -> None:
    totals = np.zeros((2, 2, 2))
    totals[1, 0, 1] = wrong
    with pytest.raises(InvalidProblemError):
        engine(RIDGE, 0.9, totals)


@pytest.mark.parametrize("shape", [(2, 2), (0, 2, 2), (1, 2, 3), (1, 3, 2), (1, 1, 2, 2)])
def test_totals_of_another_shape_are_refused_with_theirs(shape: tuple[int, ...]) -> None:
    said = rf"the totals have shape {re.escape(str(shape))}, expected \(\d, 2, 2\)"
    with pytest.raises(InvalidProblemError, match=said):
        engine(RIDGE, 0.9, np.zeros(shape))


@pytest.mark.parametrize("discount", [0.0, 1.0, -0.5, 1.5, float("nan"), float("inf")])
def test_a_discount_outside_zero_and_one_is_refused(discount: float) -> None:
    with pytest.raises(InvalidProblemError, match=rf"γ is {discount:g}, expected 0 < γ < 1"):
        engine(RIDGE, discount, np.zeros((1, 2, 2)))


@pytest.mark.parametrize("success", [1e-12, 1.0 - 1e-12])
@pytest.mark.parametrize("discount", [0.5, 0.99999])
def test_extreme_successes_are_evaluated_to_many_digits(success: float, discount: float) -> None:
    # One move to a state that pays 1 for ever: γp/(1 − γ + γp) of 1/(1 − γ).
    model = Moves(np.array([[1], [1]]), np.array([[success], [1.0]]))
    reward = np.array([[[0.0], [1.0]]])
    reached = discount * success / (1.0 - discount + discount * success)
    for kind in (model, model.sparse()):
        value = engine(kind, discount, reward).evaluate(np.zeros(2, np.int32))[0]
        assert value == pytest.approx(np.array([reached, 1.0]) / (1.0 - discount), rel=1e-10, abs=0)


def test_a_row_that_ends_earns_nothing_more() -> None:
    # ½ to stay under γ = ½: v = 1 + ¼·v, so v = 4/3.
    model = SparseMDP.from_dense([[[0.5]]])
    value = engine(model, 0.5, np.ones((1, 1, 1))).evaluate(np.zeros(1, np.int32))
    assert value[0] == pytest.approx([4 / 3], rel=1e-14, abs=0)


@pytest.mark.parametrize("loss", [1e6, 1e9])
@pytest.mark.parametrize("discount", [0.9, 0.99])
def test_a_gap_is_honest_where_the_largest_value_falls_on_the_way(
    loss: float, discount: float
) -> None:
    # State 0 loses much until it leaves; what state 2 can gain is small beside that, and the cycle
    # of 4 and 5 takes so many sweeps that there is another round.
    dest = np.array([[0, 1], [1, 1], [2, 2], [3, 3], [4, 5], [5, 4]])
    reward = np.zeros((6, 2))
    reward[0, 0], reward[2], reward[4:, 1] = -loss, [1.0, 1.0 + 1e-5], 1.0
    model = Moves(dest, np.ones((6, 2)))
    best = (1.0 + 1e-5) / (1.0 - discount)
    for kind in (model, model.sparse()):
        found = engine(kind, discount, reward[None]).optimise(np.ones(1))
        assert best - found.values[0, 2] <= found.gap + 1e-13 * best
        assert found.gap <= 1e-8


def test_sweeps_leave_few_rounds_on_a_long_corridor_of_general_rows() -> None:
    states = 200
    here = np.arange(states)
    dest = np.stack([np.maximum(here - 1, 0), np.minimum(here + 1, states - 1)], axis=1)
    success = np.full(dest.shape, 0.8)
    reward = np.zeros(dest.shape)
    reward[-1, 1] = 1.0
    corridor = Moves(dest, success)
    found = best_of(corridor.sparse(), 0.999, reward)
    assert found.status is Status.OPTIMAL
    assert found.rounds <= 4  # one action a round would take about 200
    assert (found.policy == 1).all()
    np.testing.assert_allclose(found.values, best_of(corridor, 0.999, reward).values, rtol=1e-11)
