from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import pytest

from homeward.errors import InvalidInputError
from homeward.studies.work import flat, one_thread, perform

TASKS = "tests.studies.tasks"


def items(count: int, **cell: Any) -> list[tuple[int, dict[str, Any], int]]:
    return [(10 + seed, cell, seed) for seed in range(count)]


def test_tasks_are_done_in_order() -> None:
    found = perform(f"{TASKS}:odd_raises", items(4), 60.0)
    assert [o.position for o in found] == [10, 11, 12, 13]
    assert [o.row for o in found] == [{"half": 0}, None, {"half": 1}, None]
    assert [o.failed for o in found] == [False, True, False, True]


def test_a_task_that_raises_leaves_its_traceback() -> None:
    (_, failed) = perform(f"{TASKS}:odd_raises", items(2), 60.0)
    assert failed.error is not None
    assert "RuntimeError: seed 1 is odd" in failed.error
    assert "tasks.py" in failed.error


def test_a_task_with_wrong_input_leaves_a_sentence_without_a_traceback() -> None:
    (failed,) = perform(f"{TASKS}:refused", items(1), 60.0)
    assert failed.error == "InvalidInputError: delta is 2, expected at most 1"


def test_what_is_not_begun_when_the_time_is_used_up_is_left() -> None:
    assert 1 <= len(perform(f"{TASKS}:napping", items(9, nap=0.02), 0.03)) < 9
    assert len(perform(f"{TASKS}:napping", items(9, nap=0.0), 0.0)) == 1


def test_a_task_takes_as_long_as_it_says() -> None:
    (done,) = perform(f"{TASKS}:napping", items(1, nap=0.05), 60.0)
    assert 0.05 <= done.seconds < 5.0


def test_a_task_that_can_not_be_found_is_no_outcome() -> None:
    with pytest.raises(InvalidInputError, match="has no nothing"):
        perform(f"{TASKS}:nothing", items(1), 60.0)


def test_a_task_can_not_change_its_cell_for_others() -> None:
    cell = {"rows": [{"a": 1}, {"a": 2}]}
    perform(f"{TASKS}:crooked", [(0, cell, 0)], 60.0)
    assert cell == {"rows": [{"a": 1}, {"a": 2}]}


def test_a_row_of_single_values_is_flat() -> None:
    row = {"a": np.float64(0.5), "b": np.int32(3), "c": np.True_, "d": None, "e": "x", "f": 2.5}
    found = flat(row | {"g": np.array(7)}, {"delta": 1})
    assert found == {"a": 0.5, "b": 3, "c": True, "d": None, "e": "x", "f": 2.5, "g": 7}
    assert [type(v) for v in found.values()][:3] == [float, int, bool]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1], "returned a list, expected a dict"),
        ({1: 2}, "has the key 1, expected a text"),
        ({"a": [1]}, "'a' of the row is a list, expected one value"),
        ({"a": np.zeros(2)}, "'a' of the row is a ndarray, expected one value"),
        ({"delta": 1}, "has the key 'delta', which the cell also has"),
        ({"seed": 1}, "has the key 'seed', which the cell also has"),
        ({"a": 2**63}, "'a' of the row is 9223372036854775808"),
    ],
)
def test_a_row_that_is_not_flat_fails_its_task(row: Any, message: str) -> None:
    (outcome,) = perform(f"{TASKS}:crooked", [(0, {"rows": [row], "delta": 1}, 0)], 60.0)
    assert outcome.error is not None
    assert message in outcome.error


def test_numba_is_told_before_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "NUMBA_NUM_THREADS", "2")
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    one_thread()
    assert os.environ["NUMBA_NUM_THREADS"] == "1"


def test_numba_is_told_when_it_is_there() -> None:
    import numba

    before = numba.get_num_threads()
    try:
        one_thread()
        assert numba.get_num_threads() == 1
    finally:
        numba.set_num_threads(before)
