from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import EXTREME, dense, move_graphs, tables

from homeward.arrays import frozen
from homeward.errors import HomewardError, InvalidModelError
from homeward.models import Moves

if TYPE_CHECKING:
    from homeward.models import SparseMDP

DEST = np.array([[1, 0], [0, 1]])
SUCCESS = np.array([[0.5, 1.0], [0.25, 0.0]])


def refused(match: str, *args: Any) -> None:
    with pytest.raises(InvalidModelError, match=match):
        Moves(*args)


def test_it_tells_how_many_states_and_actions_it_has() -> None:
    model = Moves(np.array([[1, 0, 0], [0, 1, 0]]), np.ones((2, 3)))
    assert (model.states, model.actions) == (2, 3)


def test_rewards_are_zero_unless_given() -> None:
    assert not Moves(DEST, SUCCESS).reward.any()


def test_a_row_holds_the_success_and_the_rest_stays() -> None:
    assert Moves(DEST, SUCCESS).row(1, 0).tolist() == [0.25, 0.75]


def test_a_move_to_where_one_is_stays_for_sure() -> None:
    model = Moves(DEST, SUCCESS)
    assert model.row(1, 1).tolist() == [0.0, 1.0]
    assert model.leaving(1).tolist() == [0.25, 0.0]


@given(move_graphs(EXTREME))
def test_the_rows_are_those_of_the_dense_model_and_of_the_sparse_view(model: Moves) -> None:
    sparse, full = model.sparse(), dense(model)
    for s, a in product(range(model.states), range(model.actions)):
        assert model.row(s, a) == pytest.approx(full[s, a], abs=0)
        assert sparse.row(s, a) == pytest.approx(full[s, a], abs=1e-16)


@given(move_graphs(EXTREME))
def test_the_sparse_view_leaves_as_often(model: Moves) -> None:
    for s in range(model.states):
        assert model.sparse().leaving(s) == pytest.approx(model.leaving(s), abs=1e-15)


@given(move_graphs(EXTREME))
def test_the_sparse_view_has_the_same_rewards_and_names_and_stores_no_zeros(model: Moves) -> None:
    named = Moves(
        model.dest,
        model.success,
        model.reward,
        tuple(f"s{i}" for i in range(model.states)),
        tuple(f"a{i}" for i in range(model.actions)),
    )
    view: SparseMDP = named.sparse()
    assert (view.reward == named.reward).all()
    assert (view.state_names, view.action_names) == (named.state_names, named.action_names)
    assert (view.transitions.data > 0).all()


@pytest.mark.parametrize("wrong", [-0.1, 1.5])
def test_a_success_that_is_no_probability_is_refused_with_its_place(wrong: float) -> None:
    refused(
        rf"the success of move \(s=1, a=0\) is {wrong:g}, not a probability",
        DEST,
        [[0.5, 1.0], [wrong, 0.0]],
    )


def test_a_success_that_is_nan_is_refused_with_its_place() -> None:
    refused(r"the success of move is NaN at \(0, 1\)", DEST, [[0.5, np.nan], [0.0, 0.0]])


def test_a_success_of_another_shape_is_refused_with_both_shapes() -> None:
    refused(r"success of move has shape \(2, 1\), expected \(2, 2\)", DEST, [[0.5], [0.5]])


@pytest.mark.parametrize("wrong", [2, -1])
def test_a_destination_that_does_not_exist_is_refused_with_its_place(wrong: int) -> None:
    refused(rf"destination \(s=0, a=1\) is {wrong}, outside 0\.\.1", [[1, wrong], [0, 1]], SUCCESS)


def test_float_destinations_are_refused() -> None:
    refused("destination must hold whole numbers, not float64", [[1.0, 0.0], [0.0, 1.0]], SUCCESS)


def test_bool_destinations_are_refused() -> None:
    refused("destination must hold whole numbers, not bool", [[True, False]] * 2, SUCCESS)


@pytest.mark.parametrize("dest", [[0, 1], 0, [[[0]]], np.zeros((0, 2), int), np.zeros((2, 0), int)])
def test_destinations_that_are_no_table_are_refused_with_their_shape(dest: Any) -> None:
    refused(r"the destinations have shape \(.*\), expected \[S, A\]", dest, SUCCESS)


def test_a_reward_of_plus_infinity_is_refused_with_its_place() -> None:
    refused(r"the reward \(s=1, a=1\) is \+inf", DEST, SUCCESS, [[0.0, 0.0], [0.0, np.inf]])


def test_a_reward_that_is_nan_is_refused_with_its_place() -> None:
    refused(r"the reward is NaN at \(1, 1\)", DEST, SUCCESS, [[0.0, 0.0], [0.0, np.nan]])


def test_a_reward_of_another_shape_is_refused_with_both_shapes() -> None:
    refused(r"the reward has shape \(2,\), expected \(2, 2\)", DEST, SUCCESS, [0.0, 0.0])


def test_a_state_without_any_action_is_refused_by_number() -> None:
    refused("state s=0 has no action", DEST, SUCCESS, [[-np.inf, -np.inf], [0.0, 0.0]])


def test_a_wrong_number_of_state_names_is_refused() -> None:
    refused("1 state names for 2 states", DEST, SUCCESS, None, ("camp",))


def test_a_wrong_number_of_action_names_is_refused() -> None:
    refused("3 action names for 2 actions", DEST, SUCCESS, None, None, ("go", "wait", "dig"))


def test_one_handler_catches_every_refusal() -> None:
    with pytest.raises(HomewardError):
        Moves(DEST, np.full((2, 2), 2.0))


def test_its_arrays_are_read_only() -> None:
    model = Moves(DEST.copy(), SUCCESS.copy(), np.zeros((2, 2)))
    for array in (model.dest, model.success, model.reward):
        assert not array.flags.writeable


def test_its_fields_can_not_be_replaced() -> None:
    with pytest.raises(FrozenInstanceError):
        Moves(DEST, SUCCESS).success = np.ones((2, 2))  # type: ignore[misc]


def test_arrays_that_are_handed_in_stay_the_callers() -> None:
    given: tuple[Any, Any, Any] = DEST.astype(np.int32), SUCCESS.copy(), np.zeros((2, 2))
    before = [array.copy() for array in given]
    model = Moves(*given)
    model.sparse()
    model.row(0, 0)
    for array, copy in zip(given, before, strict=True):
        assert (array == copy).all()
        assert array.flags.writeable


def test_what_the_caller_writes_later_does_not_change_the_model() -> None:
    dest, success = DEST.astype(np.int32), SUCCESS.copy()
    reward = np.zeros((2, 2))
    model = Moves(dest, success, reward)
    dest[0, 0], success[0, 0], reward[0, 0] = 0, 0.0, 5.0
    assert model.dest.tolist() == DEST.tolist()
    assert model.success.tolist() == SUCCESS.tolist()
    assert not model.reward.any()
    assert model.memo["dest"] is model.dest


def test_arrays_that_nobody_can_write_to_are_shared() -> None:
    given = frozen(DEST.astype(np.int32)), frozen(SUCCESS.copy()), frozen(np.ones((2, 2)))
    model = Moves(*given)
    kept = model.dest, model.success, model.reward
    assert all(mine is theirs for mine, theirs in zip(kept, given, strict=True))


def test_rewards_that_are_not_given_take_no_memory() -> None:
    model = Moves(DEST, SUCCESS)
    assert model.reward.strides == (0, 0)
    assert model.with_success(SUCCESS / 2).reward.strides == (0, 0)
    assert Moves(DEST, SUCCESS, model.reward).reward.strides == (0, 0)
    assert not model.reward.flags.writeable


def test_other_successes_keep_what_is_known_of_the_graph() -> None:
    closed = np.array([[0.0, 1.0], [-np.inf, 2.0]])
    model = Moves(DEST, SUCCESS, closed, ("camp", "ridge"), ("go", "wait"))
    model.memo["known"] = 42
    other = model.with_success(np.ones((2, 2)))
    assert other.memo is model.memo
    assert other.dest is model.dest
    assert other.success.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert (other.reward == closed).all()
    assert (other.state_names, other.action_names) == (model.state_names, model.action_names)
    assert model.success.tolist() == SUCCESS.tolist()


def test_other_successes_are_checked_and_kept_from_the_caller() -> None:
    model, mine = Moves(DEST, SUCCESS), SUCCESS.copy()
    other = model.with_success(mine)
    mine[:] = 0.0
    assert other.success.tolist() == SUCCESS.tolist()
    assert not other.success.flags.writeable
    with pytest.raises(InvalidModelError, match=r"the success of move \(s=0, a=0\) is 2"):
        model.with_success(np.full((2, 2), 2.0))
    with pytest.raises(InvalidModelError, match=r"has shape \(2, 1\), expected \(2, 2\)"):
        model.with_success(np.ones((2, 1)))


def test_other_destinations_are_another_graph() -> None:
    model = Moves(DEST, SUCCESS)
    model.memo["known"] = 42
    other = replace(model, dest=np.array([[0, 1], [0, 1]]))
    assert "known" not in other.memo
    assert other.dest.tolist() == [[0, 1], [0, 1]]
    assert model.memo["known"] == 42
    with pytest.raises(InvalidModelError, match="outside"):
        replace(model, dest=np.array([[0, 2], [0, 1]]))


@given(move_graphs(EXTREME), st.data())
def test_what_lies_ahead_is_the_mean_after_each_action(model: Moves, data: st.DataObject) -> None:
    values = data.draw(tables(st.floats(-3.0, 3.0), 2, model.states))
    full = dense(model)
    for s in range(model.states):
        expected = values @ full[s].T
        assert model.ahead(s, values) == pytest.approx(expected, abs=1e-14)
        assert model.sparse().ahead(s, values) == pytest.approx(expected, abs=1e-14)
