from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import dense, models, value_of

from homeward.models import Model, Moves, SparseMDP
from homeward.referee.exact import (
    dense_transitions,
    exact_recall,
    exact_return,
    exact_total,
    play_out,
)
from homeward.solvers import GIVE_UP, solve_return
from lab.check.run_promise import exact_return_within

HOME = np.zeros(1, np.int32)

# home ← 1 (½, else stays), 1 ← 2 (¼, else ends), 3 stays.
WORLD = SparseMDP.from_dense(
    np.array(
        [
            [[1.0, 0.0, 0.0, 0.0]],
            [[0.5, 0.5, 0.0, 0.0]],
            [[0.0, 0.25, 0.0, 0.0]],
            [[0.0, 0.0, 0.0, 1.0]],
        ]
    )
)
BACK = np.array([GIVE_UP, 0, 0, 0], np.int32)


def test_the_probability_of_returning_is_derived_by_hand() -> None:
    value = exact_return(dense_transitions(WORLD), BACK, HOME)
    assert value == pytest.approx([1.0, 1.0, 0.25, 0.0], abs=1e-15)


@given(models(), st.data())
def test_returns_are_the_limit_of_many_steps_also_in_several_worlds(
    model: Model, data: st.DataObject
) -> None:
    world = dense(model)
    policy = np.array([data.draw(st.integers(-1, model.actions - 1)) for _ in range(model.states)])
    walk = world[np.arange(model.states), np.maximum(policy, 0)]
    walk[policy == GIVE_UP], walk[0] = 0.0, np.eye(model.states)[0]
    value = np.linalg.matrix_power(walk, 2**40)[:, 0]
    found = exact_return(np.array([world, world]), policy, HOME)
    assert found == pytest.approx(np.array([value, value]), abs=1e-4)


def test_a_rare_way_home_is_as_sure_as_it_is_rare() -> None:
    model = Moves(np.array([[0], [0]]), np.array([[1.0], [1e-12]]))
    back = np.array([GIVE_UP, 0], np.int32)
    assert exact_return(dense_transitions(model), back, HOME)[1] == pytest.approx(1.0, abs=1e-3)


@given(models(), st.data())
def test_without_corrections_the_bound_is_the_exact_value(
    model: Model, data: st.DataObject
) -> None:
    home = np.array([data.draw(st.integers(0, model.states - 1))], np.int32)
    found = solve_return(model, np.zeros((model.states, model.actions)), home)
    exact = exact_return(dense(model), found.policy, home)
    assert found.value == pytest.approx(exact, abs=1e-9)


def test_the_recall_is_derived_by_hand() -> None:
    # From 0 to 1 for sure, γ = ½: recalled in 0 with chance ½, else in 1.
    rows = dense_transitions(Moves(np.array([[1], [1]]), np.ones((2, 1))))
    policy = np.zeros(2, np.int32)
    value = exact_recall(rows, policy, np.array([1.0, 0.25]), 0.5)
    assert value == pytest.approx([0.5 * 1.0 + 0.5 * 0.25, 0.25], abs=1e-15)


@given(models(), st.sampled_from([0.1, 0.5, 0.99]), st.data())
def test_the_recall_is_an_average_of_ways_home(
    model: Model, discount: float, data: st.DataObject
) -> None:
    policy = np.array([data.draw(st.integers(0, model.actions - 1)) for _ in range(model.states)])
    way_home = np.linspace(0.0, 1.0, model.states)
    value = exact_recall(dense(model), policy, way_home, discount)
    reward = np.repeat((1 - discount) * way_home[:, None], model.actions, axis=1)
    assert value == pytest.approx(value_of(dense(model), policy, reward, discount), abs=1e-12)
    assert (value <= way_home.max() + 1e-12).all()
    assert (value >= -1e-12).all()


def test_excursions_come_home_as_often_as_they_should() -> None:
    # From 1 up to 2 for sure; recalled there or before; home from 1 for sure, from 2 one in four.
    rows = np.zeros((4, 2, 4))
    rows[:, 0] = dense_transitions(WORLD)[:, 0]
    rows[[0, 1, 2, 3], 1, [0, 2, 2, 3]] = 1.0
    out = np.ones(4, np.int32)
    discount, rng, tries = 0.75, np.random.default_rng(0), 4000
    came = sum(play_out(rows, out, BACK, HOME, 1, discount, rng) for _ in range(tries))
    exact = exact_recall(rows, out, exact_return(rows, BACK, HOME), discount)[1]
    assert exact == pytest.approx(0.25 * 1.0 + 0.75 * 0.25, abs=1e-15)
    assert came / tries == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / tries))


def test_an_excursion_that_has_no_way_home_fails_instead_of_running_for_ever() -> None:
    rows = dense_transitions(WORLD)
    policy = np.zeros(4, np.int32)
    assert not play_out(rows, policy, BACK, HOME, 3, 0.5, np.random.default_rng(0))


def test_the_probability_of_returning_in_time_is_derived_by_hand() -> None:
    # home ← 1 with ½ a try: 1 − 2⁻ʰ; from 2 the first step must work, once in four.
    rows = dense_transitions(WORLD)
    for steps, value in ((1, [1.0, 0.5, 0.0, 0.0]), (3, [1.0, 0.875, 0.25 * 0.75, 0.0])):
        assert exact_return_within(rows, [BACK] * steps, HOME) == pytest.approx(value, abs=1e-15)


def test_a_total_with_an_exit_is_derived_by_hand() -> None:
    # 0 → 1 by action 1, which leaves; afterwards action 0, worth 2 a step. γ = ½: 1 + ½·4.
    rows = np.zeros((2, 2, 2))
    rows[0, :, 1] = rows[1, :, 1] = 1.0
    reward = np.array([[5.0, 1.0], [2.0, 100.0]])
    inside, outside = np.array([1, 1]), np.array([0, 0])
    exits = np.array([[False, True], [False, False]])
    total = exact_total(rows, reward, inside, 0.5, exits, outside)
    assert total[0] == pytest.approx(3.0, abs=1e-14)
    ends = np.array([[False, True], [False, False]])
    assert exact_total(rows, reward, inside, 0.5, exits, outside, ends)[0] == 1.0
    assert exact_total(rows, reward, inside, 0.5)[0] == pytest.approx(101.0, abs=1e-12)
