from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from homeward.beliefs import Transition
from homeward.models import Moves, SparseMDP
from homeward.planning.returning.driven import way_supported

HOME = np.array([0])


def line(length: int, success: float = 1.0) -> Moves:
    """Return rooms in a row and actions back and on."""
    rooms = np.arange(length)
    dest = np.stack([np.maximum(rooms - 1, 0), np.minimum(rooms + 1, length - 1)], axis=1)
    return Moves(dest, np.full(dest.shape, success))


def ring(length: int) -> Moves:
    """Return rooms in a ring and actions back and on."""
    rooms = np.arange(length)
    dest = np.stack([(rooms - 1) % length, (rooms + 1) % length], axis=1)
    return Moves(dest, np.full(dest.shape, 0.9))


def way(model: Any, moves: list[tuple[int, int, int]], state: int) -> list[tuple[int, int]]:
    driven = [Transition(*move) for move in moves]
    states, actions = way_supported(model, HOME, state, driven)
    return list(zip(states.tolist(), actions.tolist(), strict=True))


def test_a_way_that_was_driven_comes_before_a_shorter_one() -> None:
    out = [(s, 1, (s + 1) % 8) for s in range(2, 8)]
    assert way(ring(8), out, 2) == [(s, 1) for s in range(2, 8)]
    assert way(ring(8), out[1:], 2) == [(2, 1), *((s, 1) for s in range(3, 8))]  # one against two
    assert way(ring(8), [], 2) == [(2, 0), (1, 0)]


def test_the_way_out_leads_back_where_the_belief_holds_both_directions() -> None:
    model = ring(8)
    out = [(s, 1, s + 1) for s in range(5)]
    assert way(model, out, 5) == [(5, 1), (6, 1), (7, 1)]  # back is not driven, and doubtful
    success = model.success.copy()
    success[:, 0] = 1.0
    assert way(model.with_success(success), out, 5) == [(s, 0) for s in range(5, 0, -1)]


def test_a_move_that_failed_is_tried_again_only_if_nothing_else_leads_home() -> None:
    assert way(ring(4), [(1, 0, 1)], 1) == [(1, 1), (2, 1), (3, 1)]
    assert way(line(4), [(1, 0, 1)], 1) == [(1, 0)]
    worked_once = [(1, 0, 0), (0, 1, 1), (1, 0, 1)]
    assert way(ring(4), worked_once, 1) == [(1, 0)]  # one move without support, not three


def test_of_ways_with_as_little_support_the_belief_prefers_one() -> None:
    model = ring(4)
    success = model.success.copy()
    success[3, 1] = 0.95
    assert way(model.with_success(success), [], 2) == [(2, 1), (3, 1)]


def test_moves_that_the_belief_rules_out_are_left_out_unless_they_worked() -> None:
    shut = line(3, 0.0)
    assert way(shut, [], 2) == []
    assert way(shut, [(2, 0, 1), (1, 0, 0)], 2) == [(2, 0), (1, 0)]
    assert way(shut, [], 0) == []


@pytest.mark.parametrize("slip", [0.0, 0.2])
def test_a_general_model_has_likeliest_next_states_and_those_seen(
    slip: float,
) -> None:
    rows = np.zeros((3, 2, 3))
    rows[:, 0, :] = np.array([[1, 0, 0], [1 - slip, slip, 0], [0, 1 - slip, slip]])
    rows[:, 1, 2] = 1.0
    model = SparseMDP.from_dense(rows)
    assert way(model, [], 2) == [(2, 0), (1, 0)]
    assert way(model, [(2, 0, 0)], 2) == [(2, 0)]
