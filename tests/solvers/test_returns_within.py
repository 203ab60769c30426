"""The way home within a number of steps: hand-derived, and against referees that know nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import ORDINARY, dense, general_models, models, move_graphs

from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.solvers import GIVE_UP, ReturnSolution, Status, solve_return, solve_return_within
from lab.check.run_promise import exact_return_within

if TYPE_CHECKING:
    from typing import Any

    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model

HOME = np.zeros(1, np.int32)

# From the hut, 1, home is one doubtful move away (½) or two sure ones, by 2. From 3 it is one more.
HUT = Moves(
    np.array([[0, 0], [0, 2], [0, 2], [1, 3]]),
    np.array([[1.0, 1.0], [0.5, 1.0], [1.0, 1.0], [0.75, 1.0]]),
)


def row(found: ReturnSolution, steps: int) -> IntArray:
    """Give the policy to follow with so many steps left."""
    assert found.layers is not None
    assert found.since is not None
    policy: IntArray = found.layers[max(0, int((found.since <= steps).sum()) - 1)]
    return policy


def rows(found: ReturnSolution, steps: int) -> list[IntArray]:
    return [row(found, h) for h in range(1, steps + 1)]


@pytest.mark.parametrize(
    ("steps", "values"),
    [
        (1, [1.0, 0.5, 1.0, 0.0]),
        (2, [1.0, 1.0, 1.0, 0.25]),  # from 3: ¼ + ½ may fail
        (3, [1.0, 1.0, 1.0, 0.75]),
        (99, [1.0, 1.0, 1.0, 0.75]),
    ],
)
def test_more_steps_let_it_take_the_longer_and_surer_way(steps: int, values: list[float]) -> None:
    found = solve_return_within(HUT, steps, HOME, None, at_once=True)
    assert found.value == pytest.approx(values, abs=1e-15)
    assert found.status is Status.OPTIMAL


def test_the_policy_depends_on_the_steps_that_are_left() -> None:
    found = solve_return_within(HUT, 3, HOME, None, at_once=True)
    assert row(found, 1)[1] == 0  # one step: try the doubtful move
    assert row(found, 2)[1] == 1  # two: go round
    assert row(found, 1)[3] == GIVE_UP
    assert row(found, 3)[3] == 0
    assert found.policy.tolist() == row(found, 3).tolist()


def test_the_correction_is_paid_at_every_attempt() -> None:
    # One move, p = ½ and σ = −⅛ a try: v₁ = ⅜, v₂ = −⅛ + ½ + ½·⅜ = 9⁄16.
    model = Moves(np.array([[0], [0]]), np.array([[1.0], [0.5]]))
    sigma = np.array([[0.0], [-0.125]])
    for steps, value in ((1, 0.375), (2, 0.5625)):
        for kind in (model, model.sparse()):
            found = solve_return_within(kind, steps, HOME, sigma)
            assert found.value[1] == pytest.approx(value, abs=1e-12)


def test_of_two_bounds_each_step_takes_the_better() -> None:
    # p = ½ in every world: repeating is worth 1 − 2⁻ʰ; σ = 0 says so, first attempts say ½.
    model = Moves(np.array([[0], [0]]), np.array([[1.0], [0.5]]))
    nothing = np.zeros((2, 1))
    once = solve_return_within(model, 4, HOME, None, at_once=True)
    assert once.value[1] == pytest.approx(0.5, abs=1e-14)
    both = solve_return_within(model, 4, HOME, nothing, at_once=True)
    assert both.value[1] == pytest.approx(15 / 16, abs=1e-12)
    doubtful = np.array([[0.0], [-0.5]])  # σ = −2p(1−p): a first attempt is worth more
    both = solve_return_within(model, 4, HOME, doubtful, at_once=True)
    assert both.value[1] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("steps", [0, -3])
def test_a_horizon_of_no_steps_is_refused(steps: int) -> None:
    with pytest.raises(InvalidProblemError, match=f"the horizon is {steps} steps"):
        solve_return_within(HUT, steps, HOME, None, at_once=True)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"home": np.array([7])}, r"home \(n=0\) is 7"),
        ({"home": np.empty(0, np.int32)}, "home has shape"),
        ({"correction": np.full((4, 2), 0.1)}, r"the correction \(s=0, a=0\) is 0.1"),
        ({"correction": np.zeros((4, 3))}, "the correction has shape"),
        ({"correction": None}, "a bound is required"),
    ],
)
def test_what_is_wrong_is_named(changed: Any, said: str) -> None:
    asked: Any = {"home": HOME, "correction": np.zeros((4, 2)), **changed}
    with pytest.raises(InvalidProblemError, match=said):
        solve_return_within(HUT, 3, asked["home"], asked["correction"])


def test_first_attempts_on_a_general_model_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match="needs a move-or-stay model"):
        solve_return_within(HUT.sparse(), 3, HOME, np.zeros((4, 2)), at_once=True)


def layered(model: Model, sigma: FloatArray, steps: int, home: int) -> FloatArray:
    """Go layer by layer with dense arrays."""
    value = np.zeros(model.states)
    value[home] = 1.0
    q = np.where(np.isfinite(model.reward), sigma, -np.inf)
    for _ in range(steps):
        value = np.maximum(0.0, (q + dense(model) @ value).max(axis=1))
        value[home] = 1.0
    return value


@given(models(5, 3), st.integers(1, 12), st.sampled_from([0.0, -0.02, -0.2]), st.data())
def test_layers_are_those_of_a_dense_recursion(
    model: Model, steps: int, sigma: float, data: st.DataObject
) -> None:
    home = data.draw(st.integers(0, model.states - 1))
    correction = np.full((model.states, model.actions), sigma)
    if isinstance(model, Moves):
        correction[model.dest == np.arange(model.states)[:, None]] = 0.0
    found = solve_return_within(model, steps, np.array([home]), correction)
    expected = layered(model, correction, steps, home)
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert (found.value <= expected + 1e-16).all()


@given(models(5, 3), st.integers(1, 12), st.data())
def test_in_a_known_world_the_policy_has_the_value(
    model: Model, steps: int, data: st.DataObject
) -> None:
    home = np.array([data.draw(st.integers(0, model.states - 1))], np.int32)
    found = solve_return_within(model, steps, home, np.zeros((model.states, model.actions)))
    exact = exact_return_within(dense(model), rows(found, steps), home)
    assert exact == pytest.approx(found.value, abs=1e-12)
    for s in np.flatnonzero(found.policy >= 0):
        assert np.isfinite(model.reward[s, found.policy[s]])


@given(move_graphs(ORDINARY, 6, 3), st.integers(1, 8), st.data())
def test_first_attempts_are_a_shortest_path_of_so_many_edges(
    model: Moves, steps: int, data: st.DataObject
) -> None:
    home = np.array([data.draw(st.integers(0, model.states - 1))], np.int32)
    found = solve_return_within(model, steps, home, None, at_once=True)
    distance = np.full(model.states, np.inf)
    distance[home] = 0.0
    for _ in range(steps):
        cost = np.where(np.isfinite(model.reward), 1.0 - model.success, np.inf)
        distance = np.minimum(distance, (cost + distance[model.dest]).min(axis=1))
    assert found.value == pytest.approx(np.maximum(0.0, 1.0 - distance), abs=1e-12)
    # And the policy takes such a path: if each attempt works with its chance, it all does with at
    # least the bound, within the steps.
    exact = exact_return_within(dense(model), rows(found, steps), home)
    assert (found.value <= exact + 1e-12).all()


@given(move_graphs(ORDINARY, 6, 3), st.data())
def test_with_as_many_steps_as_states_it_is_the_way_without_a_limit(
    model: Moves, data: st.DataObject
) -> None:
    home = np.array([data.draw(st.integers(0, model.states - 1))], np.int32)
    sigma = (model.success - 1.0) * model.success
    free = solve_return(model, sigma, home)
    found = solve_return_within(model, model.states, home, None, at_once=True)
    assert found.value.tolist() == free.value.tolist()


@given(general_models(4, 3), st.data())
def test_on_a_general_model_many_steps_come_close_to_the_way_without_a_limit(
    model: Model, data: st.DataObject
) -> None:
    home = np.array([data.draw(st.integers(0, model.states - 1))], np.int32)
    sigma = np.full((model.states, model.actions), -0.01)
    free = solve_return(model, sigma, home)
    found = solve_return_within(model, 3000, home, sigma)
    assert found.value == pytest.approx(free.value, abs=1e-8)
    assert (found.value <= free.value + 1e-9).all()


def grid(rows_: int, columns: int, seed: int) -> Moves:
    """Draw a grid of four neighbours with doubtful moves."""
    rng = np.random.default_rng(seed)
    cell = np.arange(rows_ * columns).reshape(rows_, columns)
    dest = np.stack(
        [
            np.roll(cell, 1, 0).ravel(),
            np.roll(cell, -1, 0).ravel(),
            np.roll(cell, 1, 1).ravel(),
            np.roll(cell, -1, 1).ravel(),
        ],
        axis=1,
    )
    return Moves(dest, np.where(rng.random(dest.shape) < 0.3, 1.0, rng.random(dest.shape)))


@pytest.mark.parametrize("steps", [1, 3, 9, 30, 47, 60, 200])
def test_on_a_larger_grid_it_is_the_shortest_path_of_so_many_edges(steps: int) -> None:
    model = grid(20, 26, 3)
    found = solve_return_within(model, steps, HOME, None, at_once=True)
    distance = np.where(np.arange(model.states) == 0, 0.0, np.inf)
    for _ in range(steps):
        distance = np.minimum(distance, (1.0 - model.success + distance[model.dest]).min(axis=1))
    assert found.value == pytest.approx(np.maximum(0.0, 1.0 - distance), abs=1e-12)
    exact = exact_return_within(dense(model), rows(found, steps), HOME)
    assert (found.value <= exact + 1e-12).all()


def test_an_action_changes_only_where_more_steps_are_worth_more() -> None:
    # Both ways are sure. The short one, action 1, is kept however many steps are left.
    model = Moves(np.array([[0, 0], [2, 0], [0, 0]]), np.ones((3, 2)))
    for sigma in (None, np.zeros((3, 2))):
        found = solve_return_within(model, 9, HOME, sigma, at_once=True)
        assert [row(found, h)[1] for h in (1, 2, 9)] == [1, 1, 1]


def test_a_long_corridor_is_not_walked_in_time_however_large_the_limit() -> None:
    # 100 cells in a row, each move sure: from beyond 30 cells, 30 steps are not enough.
    cells = np.arange(100)
    model = Moves(np.maximum(0, cells - 1)[:, None], np.ones((100, 1)))
    for steps in (5, 30, 98):
        found = solve_return_within(model, steps, HOME, None, at_once=True)
        assert found.value.tolist() == (cells <= steps).astype(float).tolist()


def test_a_limit_above_all_ways_needs_one_layer() -> None:
    found = solve_return_within(grid(20, 26, 3), 400, HOME, None, at_once=True)
    assert found.layers is not None
    assert len(found.layers) == 1


@given(models(4, 3), st.integers(1, 6))
def test_more_steps_are_never_worse(model: Model, steps: int) -> None:
    sigma = np.full((model.states, model.actions), -0.05)
    one, more = (solve_return_within(model, h, HOME, sigma).value for h in (steps, steps + 1))
    assert (more >= one - 1e-13).all()


def test_a_layer_is_made_of_the_one_before_and_not_of_itself() -> None:
    # With two steps from 3: one sure to 2, and one more, of ½. By 1 it would be .8, in three.
    model = Moves(
        np.array([[0, 0], [0, 1], [0, 1], [2, 3]]),
        np.array([[1.0, 1.0], [0.9, 1.0], [0.5, 0.9], [1.0, 1.0]]),
    )
    found = solve_return_within(model, 2, HOME, None, at_once=True)
    assert found.value.tolist() == pytest.approx([1.0, 0.9, 0.8, 0.5])
