from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from tests.conftest import move_graphs, tables

from homeward.arrays import frozen
from homeward.models import Model, Moves
from homeward.solvers.paths import (
    distances_home,
    reverse_edges,
    silence_unreachable,
    unsigned,
)

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray


@given(move_graphs(), st.sampled_from([np.uint8, np.int32]))
def test_reversed_edges_list_every_edge_that_leaves_its_state_once(
    model: Moves, kind: type
) -> None:
    first, source, action = reverse_edges(unsigned(model.dest), np.empty(0, kind))
    listed = [
        (int(source[e]), int(action[e]), t)
        for t in range(model.states)
        for e in range(first[t], first[t + 1])
    ]
    expected = {
        (s, a, int(model.dest[s, a]))
        for s, a in product(range(model.states), range(model.actions))
        if model.dest[s, a] != s
    }
    assert set(listed) == expected
    assert len(listed) == len(expected) == len(source) == len(action)


def ways_home(
    dest: IntArray, success: FloatArray, cost: FloatArray, home: list[int]
) -> tuple[FloatArray, IntArray]:
    """Call the kernel."""
    given = unsigned(dest), frozen(success), frozen(-cost), unsigned(np.array(home, np.int32))
    distance, choice = distances_home(*given, reverse_edges(given[0], np.empty(0, np.uint8)))
    return distance, choice


COSTS = st.one_of(
    st.floats(0.0, 0.3), st.sampled_from([0.0, 1e-300, 1e-30, 2.0**-64, 1e-16, 1e-9, 0.1])
)


@given(move_graphs(max_states=8), st.data())
def test_distances_home_are_those_of_dijkstra(model: Moves, data: st.DataObject) -> None:
    cost = data.draw(tables(COSTS, model.states, model.actions))
    home = data.draw(st.integers(0, model.states - 1))
    distance, choice = ways_home(model.dest, model.success, cost, [home])
    length = np.full((model.states, model.states), np.inf)
    for s, a in product(range(model.states), range(model.actions)):
        if model.success[s, a] > 0 and model.dest[s, a] != s:
            t = model.dest[s, a]
            # SciPy takes a stored zero for a missing edge.
            edge = max(cost[s, a] / model.success[s, a], 1e-300)
            length[s, t] = min(length[s, t], edge)
    graph = csr_array(np.where(np.isfinite(length), length, 0.0))
    reference = dijkstra(graph.T.tocsr(), indices=home)
    near = reference < 1.0
    assert distance[near] == pytest.approx(reference[near], rel=1e-12, abs=1e-290)
    assert np.isinf(distance[~near & (reference > 1.0 + 1e-9)]).all()
    assert (choice[np.isinf(distance)] == -1).all()


@given(move_graphs(max_states=8), st.data())
def test_the_choices_lead_home_along_the_distances(model: Moves, data: st.DataObject) -> None:
    cost = data.draw(tables(COSTS, model.states, model.actions))
    distance, choice = ways_home(model.dest, model.success, cost, [0])
    assert (distance[0], choice[0]) == (0.0, -1)
    for start in np.flatnonzero(choice >= 0):
        s, steps = int(start), 0
        while s != 0:
            a = choice[s]
            step = cost[s, a] / model.success[s, a]
            onward = distance[model.dest[s, a]]
            assert step + onward <= distance[s] <= (step + onward) * (1.0 + 1e-15)
            s, steps = int(model.dest[s, a]), steps + 1
            assert steps < model.states


def test_a_distance_that_falls_after_its_turn_is_passed_on() -> None:
    # Two edges of nearly equal length wait together; the longer way is the better one in the end:
    # 1 reaches home for .5, or through 2 for .4999 + 0; 3 reaches 1 for nothing.
    dest = np.array([[0, 0], [0, 2], [0, 0], [1, 1]], np.int32)
    cost = np.array([[0.0, 0.0], [0.5, 0.0], [0.4999, 0.4999], [0.0, 0.0]])
    distance, _ = ways_home(dest, np.ones((4, 2)), cost, [0])
    assert distance == pytest.approx([0.0, 0.4999, 0.4999, 0.4999], rel=1e-15, abs=0)
    assert (distance[1:] >= 0.4999).all()


def test_a_way_that_costs_one_or_more_is_no_way() -> None:
    dest, success = np.array([[0], [0], [1]], np.int32), np.ones((3, 1))
    distance, choice = ways_home(dest, success, np.array([[0.0], [0.5], [0.5]]), [0])
    assert distance == pytest.approx([0.0, 0.5, np.inf], rel=1e-15, abs=0)
    assert choice.tolist() == [-1, 0, -1]


@pytest.mark.parametrize("flip", [False, True])
def test_among_equal_ways_the_lower_numbered_successor_wins(flip: bool) -> None:
    # 3 reaches home 0 through 1 or 2, at the same cost, whichever of its actions leads where.
    dest = np.array([[0, 0], [0, 0], [0, 0], [1, 2] if flip else [2, 1]], np.int32)
    _, choice = ways_home(dest, np.ones((4, 2)), np.full((4, 2), 0.25), [0])
    assert dest[3, choice[3]] == 1


def test_among_equal_homes_the_lower_numbered_one_wins() -> None:
    dest = np.array([[0, 0], [1, 1], [1, 0]], np.int32)
    _, choice = ways_home(dest, np.ones((3, 2)), np.full((3, 2), 0.25), [1, 0])
    assert dest[2, choice[2]] == 0


def test_a_home_that_is_named_twice_counts_once() -> None:
    dest, success = np.array([[0], [0]], np.int32), np.ones((2, 1))
    distance, _ = ways_home(dest, success, np.zeros((2, 1)), [0, 0, 0])
    assert distance.tolist() == [0.0, 0.0]


def test_a_success_that_is_next_to_impossible_is_no_way() -> None:
    dest = np.array([[0], [0]], np.int32)
    for rare, reached in ((1e-249, 0.0), (1e-251, np.inf)):
        distance, _ = ways_home(dest, np.array([[1.0], [rare]]), np.zeros((2, 1)), [0])
        assert distance[1] == reached


def test_a_way_of_infinite_cost_is_no_way() -> None:
    dest, success = np.array([[0], [0]], np.int32), np.array([[1.0], [1e-200]])
    distance, choice = ways_home(dest, success, np.full((2, 1), 1e200), [0])
    assert (distance[1], choice[1]) == (np.inf, -1)


# Two places, an island, and a cliff to which no move ever works.
DEST = np.array([[0, 1], [1, 3], [2, 2], [3, 3]])
ISLAND = Moves(DEST, np.array([[1.0, 0.5], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]))


@pytest.mark.parametrize("model", [ISLAND, ISLAND.sparse()])
def test_what_is_out_of_reach_counts_for_nothing_where_it_is_largest(model: Model) -> None:
    objective = np.array([[1.0, -np.inf], [9.0, 2.0], [1e12, -np.inf], [5.0, -1e9]])
    silence_unreachable(model, objective, 1)
    assert objective.tolist() == [[0.0, -np.inf], [9.0, 2.0], [0.0, -np.inf], [0.0, 0.0]]


@pytest.mark.parametrize("model", [ISLAND, ISLAND.sparse()])
def test_an_action_that_can_not_be_chosen_leads_nowhere(model: Model) -> None:
    objective = np.array([[1.0, -np.inf], [9.0, 2.0], [1.0, -np.inf], [5.0, 1.0]])
    silence_unreachable(model, objective, 0)
    assert objective.tolist() == [[1.0, -np.inf], [9.0, 2.0], [1.0, -np.inf], [5.0, 1.0]]
    objective[1, 0] = 11.0
    silence_unreachable(model, objective, 0)
    assert objective.tolist() == [[1.0, -np.inf], [0.0, 0.0], [0.0, -np.inf], [0.0, 0.0]]


@pytest.mark.parametrize("model", [ISLAND, ISLAND.sparse()])
def test_what_is_in_reach_and_of_the_same_size_leaves_all_as_it_is(model: Model) -> None:
    objective = np.array([[0.0, 0.0], [-2.0, 0.0], [9.0, 9.0], [9.0, 9.0]])
    before = objective.copy()
    silence_unreachable(model, objective, 0)
    assert (objective == before).all()
