from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from homeward.arrays import (
    checked_counts,
    floats,
    frozen,
    index,
    indices,
    is_default_zero,
    marks,
    names,
    number,
    own,
    place,
    probabilities,
    rewards,
)
from homeward.errors import InvalidBeliefError, InvalidModelError, InvalidProblemError


def test_a_place_names_its_axes() -> None:
    assert place((17, 3), "sa") == "(s=17, a=3)"


def test_a_place_needs_as_many_axes_as_indices() -> None:
    with pytest.raises(ValueError, match="longer"):
        place((1, 2), "s")


def test_a_frozen_array_can_not_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        frozen(np.zeros(3))[0] = 1.0


def test_freezing_leaves_the_callers_handle_writeable() -> None:
    mine = np.zeros(3)
    frozen(mine)
    mine[0] = 1.0
    assert mine.flags.writeable


def test_floats_are_double_precision_contiguous_and_read_only() -> None:
    given = np.arange(6, dtype=np.int8).reshape(2, 3).T
    array = floats(given, "x", (3, 2), InvalidModelError)
    assert array.dtype == np.float64
    assert array.flags.c_contiguous
    assert not array.flags.writeable
    assert (array == given).all()


def test_a_nan_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidProblemError, match=r"the bonus is NaN at \(1, 0\)"):
        floats([[0.0, 1.0], [np.nan, 2.0]], "the bonus", None, InvalidProblemError)


def test_a_wrong_shape_is_refused_with_both_shapes() -> None:
    with pytest.raises(InvalidModelError, match=r"x has shape \(2,\), expected \(3,\)"):
        floats([1.0, 2.0], "x", (3,), InvalidModelError)


@pytest.mark.parametrize("values", ["word", [[1.0, 2.0], [3.0]], ["a", "b"], {"a": 1}, object()])
def test_what_is_not_numbers_is_refused_by_name(values: Any) -> None:
    with pytest.raises(InvalidBeliefError, match="alpha is not an array of numbers"):
        floats(values, "alpha", None, InvalidBeliefError)


def test_infinity_passes_as_a_float() -> None:
    assert floats([np.inf, -np.inf], "x", None, InvalidModelError).tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("wrong", [-0.1, 1.1, -np.inf, np.inf, -1e-300])
def test_a_probability_outside_zero_and_one_is_refused_with_its_place(wrong: float) -> None:
    with pytest.raises(InvalidModelError, match=rf"\(s=0, a=1\) is {wrong:g}, not a probability"):
        probabilities([[0.5, wrong]], "move", (1, 2), "sa", InvalidModelError)


def test_zero_and_one_are_probabilities() -> None:
    assert probabilities([0.0, 1.0], "p", (2,), "s", InvalidModelError).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("values", [[0.0, 1.0], [True, False], ["0", "1"], [None, 0]])
def test_only_whole_numbers_are_indices(values: Any) -> None:
    with pytest.raises(InvalidModelError, match="destination must hold whole numbers, not "):
        indices(values, "destination", None, (0, 2), "s", InvalidModelError)


@pytest.mark.parametrize("wrong", [-1, 2, 2**31, -(2**31), 2**40])
def test_an_index_out_of_bounds_is_refused_with_its_place(wrong: int) -> None:
    with pytest.raises(InvalidModelError, match=rf"destination \(s=1\) is {wrong}, outside 0\.\.1"):
        indices([0, wrong], "destination", (2,), (0, 2), "s", InvalidModelError)


def test_indices_of_another_shape_are_refused() -> None:
    with pytest.raises(InvalidModelError, match=r"kind has shape \(2,\), expected \(3,\)"):
        indices([0, 1], "kind", (3,), (0, 2), "s", InvalidModelError)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_indices_of_any_width_become_int32_and_read_only(dtype: type) -> None:
    array = indices(np.array([0, 1], dtype), "kind", (2,), (0, 2), "s", InvalidModelError)
    assert array.dtype == np.int32
    assert not array.flags.writeable


def test_rewards_are_zero_unless_given() -> None:
    array = rewards(None, (2, 3), InvalidModelError)
    assert array.tolist() == [[0.0] * 3] * 2
    assert not array.flags.writeable


def test_a_reward_of_plus_infinity_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidModelError, match=r"the reward \(s=1, a=0\) is \+inf"):
        rewards([[0.0, 1.0], [np.inf, 1.0]], (2, 2), InvalidModelError)


def test_a_reward_of_minus_infinity_closes_an_action() -> None:
    assert rewards([[0.0, -np.inf]], (1, 2), InvalidModelError)[0, 1] == -np.inf


def test_a_state_without_any_action_is_refused_by_number() -> None:
    with pytest.raises(InvalidModelError, match="state s=1 has no action that can be chosen"):
        rewards([[0.0, 1.0], [-np.inf, -np.inf]], (2, 2), InvalidModelError)


def test_a_fresh_array_is_frozen_without_a_copy() -> None:
    mine = np.zeros(3)
    assert np.shares_memory(frozen(mine), mine)
    assert frozen(frozen(mine)).base is mine


def test_what_nobody_else_can_write_to_is_not_copied() -> None:
    mine = frozen(np.zeros((2, 2)))
    assert floats(mine, "x", None, InvalidModelError) is mine
    assert probabilities(mine, "x", (2, 2), "sa", InvalidModelError) is mine
    counts = frozen(np.zeros(2, np.int32))
    assert indices(counts, "x", None, (0, 2), "s", InvalidModelError) is counts


@pytest.mark.parametrize(
    "give",
    [
        lambda mine: floats(mine, "x", None, InvalidModelError),
        lambda mine: probabilities(mine, "x", (2, 2), "sa", InvalidModelError),
        lambda mine: rewards(mine, (2, 2), InvalidModelError),
        lambda mine: own(mine, mine),
        lambda mine: own(mine[:, 0], mine),
    ],
)
def test_what_the_caller_writes_later_changes_nothing(give: Any) -> None:
    mine = np.ones((2, 2))
    kept = give(mine)
    mine[:] = 0.5
    assert (kept == 1.0).all()
    assert not kept.flags.writeable


def test_indices_marks_and_counts_that_are_written_to_later_change_nothing() -> None:
    where, seen, counts = np.ones(2, np.int32), np.ones(2, bool), np.ones(2, np.int32)
    kept = (
        indices(where, "x", (2,), (0, 2), "s", InvalidModelError),
        marks(seen, "seen", 2, InvalidModelError),
        checked_counts(counts, (2,), InvalidModelError),
    )
    for mine in (where, seen, counts):
        mine[:] = 0
    assert all(array.all() and not array.flags.writeable for array in kept)


def test_rewards_that_are_not_given_take_no_memory() -> None:
    nothing = rewards(None, (1000, 9), InvalidModelError)
    assert nothing.strides == (0, 0)
    assert is_default_zero(nothing)
    assert rewards(nothing, (1000, 9), InvalidModelError).strides == (0, 0)


@pytest.mark.parametrize(
    "values",
    [
        np.zeros((2, 2)),
        np.zeros((1, 1)),
        np.broadcast_to(1.0, (2, 2)),
        np.broadcast_to(-0.5, (1, 1)),
        np.zeros((0, 2)),
        None,
        0.0,
    ],
)
def test_only_what_takes_no_memory_is_nothing(values: Any) -> None:
    assert not is_default_zero(values)


def test_nothing_of_another_shape_is_refused() -> None:
    nothing = rewards(None, (2, 3), InvalidModelError)
    with pytest.raises(
        InvalidModelError, match=r"the reward has shape \(2, 3\), expected \(3, 2\)"
    ):
        rewards(nothing, (3, 2), InvalidModelError)


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 0), (3, 3), (np.int8(2), 2), (np.uint64(1), 1)]
)
def test_an_index_is_a_plain_int(value: Any, expected: int) -> None:
    found = index(value, 4, "the state", InvalidProblemError)
    assert found == expected
    assert type(found) is int


@pytest.mark.parametrize("value", [-1, 4, 2**70])
def test_an_index_out_of_range_is_refused_by_name(value: int) -> None:
    with pytest.raises(InvalidProblemError, match=rf"the state is {value}, outside 0\.\.3"):
        index(value, 4, "the state", InvalidProblemError)


@pytest.mark.parametrize("value", [True, np.True_, 1.0, np.float64(1.0), "1", None, [1]])
def test_what_is_no_whole_number_is_no_index(value: Any) -> None:
    with pytest.raises(
        InvalidProblemError, match=r"the state is .*, expected a whole number from 0"
    ):
        index(value, 4, "the state", InvalidProblemError)


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int64(2), -np.inf])
def test_a_number_is_a_plain_float(value: Any) -> None:
    found = number(value, "γ", InvalidProblemError)
    assert type(found) is float
    assert found == value


@pytest.mark.parametrize("value", [True, np.False_, "0.5", None, 1j, float("nan"), np.nan, [0.5]])
def test_what_is_no_number_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidProblemError, match=r"γ is .*, expected a number"):
        number(value, "γ", InvalidProblemError)


def test_names_become_a_tuple() -> None:
    assert names(["a", "b"], 2, "state", InvalidModelError) == ("a", "b")
    assert names(None, 2, "state", InvalidModelError) is None


@pytest.mark.parametrize("given", ["ab", {"a", "b"}, ["a", 1], 2, [None, None]])
def test_what_is_no_sequence_of_names_is_refused(given: Any) -> None:
    with pytest.raises(InvalidModelError, match="the state names are not a sequence of names"):
        names(given, 2, "state", InvalidModelError)


def test_a_wrong_number_of_names_is_refused() -> None:
    with pytest.raises(InvalidModelError, match="1 action names for 2 actions"):
        names(("a",), 2, "action", InvalidModelError)


def test_nothing_is_marked_and_counted_unless_given() -> None:
    assert marks(None, "seen", 2, InvalidBeliefError).tolist() == [False, False]
    assert checked_counts(None, (2, 1), InvalidBeliefError).tolist() == [[0], [0]]


@pytest.mark.parametrize("given", [[True], [[True, False]], [0, 1], "ab"])
def test_marks_of_another_kind_are_refused(given: Any) -> None:
    with pytest.raises(InvalidBeliefError, match="expected 2 booleans"):
        marks(given, "seen", 2, InvalidBeliefError)


@pytest.mark.parametrize("given", [[-1, 0], [0.0, 1.0], [0, 2**31]])
def test_counts_that_are_none_are_refused(given: Any) -> None:
    with pytest.raises(InvalidBeliefError, match="a count"):
        checked_counts(given, (2,), InvalidBeliefError)


@pytest.mark.parametrize("values", [[1 + 2j], ["1"], np.array(["2020-01-01"], "datetime64[D]")])
def test_what_is_not_real_is_refused(values: Any) -> None:
    with pytest.raises(InvalidModelError, match="x is not an array of numbers"):
        floats(values, "x", None, InvalidModelError)
