from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeward.shared import MAX_CHANGES, Shared


@given(st.data())
def test_every_version_keeps_its_array_whatever_is_made_of_others(data: Any) -> None:
    known = [(Shared(np.zeros((2, 3))), np.zeros((2, 3)))]
    held: list[tuple[Any, Any]] = []
    for _ in range(data.draw(st.integers(1, 8))):
        version, array = known[data.draw(st.integers(0, len(known) - 1))]
        at = np.array(data.draw(st.lists(st.integers(0, 5), unique=True)), np.int64)
        values = data.draw(st.integers(1, 9))
        if data.draw(st.booleans()):
            held.append((version.read(), array))
        after = array.copy()
        after.reshape(-1)[at] = values
        known.append((version.changed(at, values), after))
    for found, array in [*held, *((version.read(), array) for version, array in known)]:
        np.testing.assert_array_equal(found, array)


def test_a_change_is_made_in_place_unless_someone_holds_the_array() -> None:
    first = Shared(np.zeros(4))
    place = first.read().ctypes.data
    second = first.changed(np.array([1]), 1.0)
    assert second.read().ctypes.data == place
    part = second.read()[1:]
    third = second.changed(np.array([1]), 2.0)
    assert third.read().ctypes.data != place
    assert (part[0], third.read()[1]) == (1.0, 2.0)
    with pytest.raises(ValueError, match="read-only"):
        third.read()[0] = 1.0


def test_an_array_that_others_own_is_never_changed() -> None:
    mine = np.zeros(4)
    for array in (mine, mine[:2]):
        Shared(array).changed(np.array([0]), 1.0)
        assert mine[0] == 0.0


def test_it_tells_where_a_later_version_differs() -> None:
    first = Shared(np.zeros(9))
    second = first.changed(np.array([3, 1]), 1.0)
    third = second.changed(np.array([1, 5]), 2.0)
    assert [*first.changes_to(third)] == [1, 3, 5]  # type: ignore[misc]
    assert [*third.changes_to(third)] == []  # type: ignore[misc]
    assert third.changes_to(first) is None
    for k in range(MAX_CHANGES):
        third = third.changed(np.array([k % 9]), 0.0)
    assert first.changes_to(third) is None


def test_a_lent_array_can_be_written_to_and_is_held_like_others() -> None:
    first = Shared(np.zeros(4))
    lent = first.lend()
    assert lent.flags.writeable
    second = first.changed(np.array([0]), 1.0)
    assert (lent[0], second.lend()[0], first.lend()[0]) == (0.0, 1.0, 0.0)


def test_older_versions_keep_at_most_a_second_array_alive() -> None:
    first = version = Shared(np.zeros(8))
    for k in range(40):
        version = version.changed(np.array([k % 8]), k)
    assert first.bytes_beyond(None) == 64
    kept, last = 0, first
    while last._newer is not None:
        kept, last = kept + 1, last._newer
    assert kept == 8
    assert [*first.read()] == [0] * 8
    assert last.bytes_beyond(first) == 8 * 16
    assert version.bytes_beyond(first) == 64


def test_a_copy_has_its_own_array() -> None:
    first = Shared(np.arange(3))
    first.changed(np.array([0]), 7)
    for other in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert [*other.read()] == [0, 1, 2]
