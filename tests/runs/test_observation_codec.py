from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from homeward.beliefs import Rows, Transition, Visit
from homeward.beliefs.observations import Heights
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.runs.observation_codec import Digest, decode, encode


@dataclass(frozen=True)
class Seen:
    what: Any
    more: Any = None


TYPES = (Visit, Transition, Rows, Heights, Seen)

ARRAYS = hnp.arrays(
    st.sampled_from([np.bool_, np.int8, np.uint64, np.int32, np.float32, np.float64]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), ARRAYS)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.builds(Seen, inner, inner),
    ),
    max_leaves=6,
)


def through_json(value: Any) -> Any:
    return decode(json.loads(json.dumps(encode(value, TYPES), allow_nan=False)), TYPES)


def alike(one: Any, other: Any) -> bool:
    """Tell whether two values are the same to the bit."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return bool(one.hex() == other.hex())
    if isinstance(one, np.ndarray):
        equal = np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
        return bool(one.dtype == other.dtype and one.shape == other.shape and equal)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(alike(one[k], other[k]) for k in one)
    if isinstance(one, Seen):
        return alike(one.what, other.what) and alike(one.more, other.more)
    return bool(one == other)


@given(VALUES)
@example(math.inf)
@example((-math.inf, math.nan, -0.0, 5e-324))
@example(np.array([math.nan, math.inf, -0.0]))
def test_an_observation_comes_back_as_it_was(value: Any) -> None:
    assert alike(through_json(value), value)


def test_the_librarys_own_observations_come_back() -> None:
    assert through_json(Visit(3)) == Visit(3)
    assert through_json(Transition(1, 2, None)) == Transition(1, 2, None)
    rows = through_json(Rows(((0, 1), (2, 3)), np.array([[0.5, 0.5], [1.0, 0.0]])))
    assert rows.pairs == ((0, 1), (2, 3))
    assert rows.probabilities.tolist() == [[0.5, 0.5], [1.0, 0.0]]
    heights = through_json(Heights(np.array([4, 5], np.int32), np.array([0.1, -2.0]), np.ones(2)))
    assert heights.cells.tolist() == [4, 5]
    assert heights.cells.dtype == np.int32


def test_measured_heights_come_back_with_their_move_and_old_ones_without() -> None:
    seen = Heights(np.array([4]), np.array([0.1]), np.ones(1), moved=Transition(3, 2, 4))
    assert through_json(seen).moved == Transition(3, 2, 4)
    old = encode(seen, TYPES)
    del old["Heights"]["moved"]
    assert decode(old, TYPES).moved is None


def test_an_observation_is_readable() -> None:
    assert encode(Transition(1, 2, 3), TYPES) == {
        "Transition": {"state": 1, "action": 2, "next_state": 3}
    }


def test_numbers_of_numpy_and_lists_become_plain() -> None:
    assert through_json(Transition(np.int64(1), 2, np.int32(3))) == Transition(1, 2, 3)  # type: ignore[arg-type]
    assert through_json([1, [2]]) == (1, (2,))


def test_arrays_come_back_read_only() -> None:
    assert not through_json(np.arange(3)).flags.writeable


@pytest.mark.parametrize("value", [object(), {1: 2}, np.array(["a"]), 1j, Seen({1, 2})])
def test_what_can_not_be_recorded_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="can't be recorded"):
        encode(value, TYPES)


def test_a_type_that_is_not_listed_is_refused_both_ways() -> None:
    with pytest.raises(InvalidInputError, match=r"type Visit can't be recorded: .* lists Seen"):
        encode(Visit(1), (Seen,))
    with pytest.raises(InvalidFileError, match="an observation is a Visit"):
        decode({"Visit": {"state": 1}}, (Seen,))


@given(VALUES)
def test_an_observation_and_what_comes_back_of_it_have_the_same_digest(value: Any) -> None:
    again = decode(json.loads(json.dumps(encode(value, TYPES))), TYPES)
    assert Digest.of(value) == Digest.of(again)
    digest = Digest.of(value)
    assert decode(json.loads(json.dumps(encode(digest, ()))), ()) == digest


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (1, True),
        (0.0, -0.0),
        ("1", 1),
        ((), None),
        ((1, (2,)), (1, 2)),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, ("a", 1)),
        (Visit(1), Seen(1)),
        (Seen(1, 2), Seen(2, 1)),
        (np.zeros(2), np.zeros(3)),
        (np.zeros(2), np.array([0.0, 5e-324])),
        (np.zeros(4, np.int32), np.zeros(2, np.int64)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2).T),
    ],
)
def test_another_observation_has_another_digest(one: Any, two: Any) -> None:
    assert Digest.of(one) != Digest.of(two)
