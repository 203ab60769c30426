from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from tests.conftest import EXTREME, move_graphs, tables

from homeward.solvers import kernels

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Moves


def evaluate(dest: IntArray, carry: FloatArray, gain: FloatArray, policy: IntArray) -> FloatArray:
    """Call the kernel with scratch that was used before."""
    value = np.full_like(gain, np.nan)
    mark, path = np.full(len(dest), 7, np.uint8), np.full(len(dest), 7, np.int32)
    kernels.evaluate_moves(
        dest.astype(np.int32), carry, gain, policy.astype(np.int32), value, mark, path
    )
    return value


def along(follow: list[int], carry: list[float], gain: list[float]) -> FloatArray:
    """Evaluate one column where there is only one action."""
    dest, share = np.array(follow)[:, None], np.array(carry)[:, None]
    policy: IntArray = np.zeros(len(follow), np.int32)
    return np.asarray(evaluate(dest, share, np.array([gain]), policy)[0], float)


@given(st.integers(1, 9), st.integers(1, 3), st.data())
def test_evaluating_a_policy_solves_its_equations(
    states: int, actions: int, data: st.DataObject
) -> None:
    size = states * actions
    where = st.lists(st.integers(0, states - 1), min_size=size, max_size=size)
    dest = np.array(data.draw(where)).reshape(states, actions)
    carry = data.draw(tables(st.floats(0.0, 0.99), states, actions))
    gain = data.draw(tables(st.floats(-5.0, 5.0), 2, states))
    choice = st.lists(st.integers(0, actions - 1), min_size=states, max_size=states)
    policy = np.array(data.draw(choice))
    each, among = np.arange(states), np.eye(states)
    np.subtract.at(among, (each, dest[each, policy]), carry[each, policy])
    expected = np.linalg.solve(among, gain.T).T
    assert evaluate(dest, carry, gain, policy) == pytest.approx(expected, abs=1e-9)


def test_a_cycle_is_solved_in_closed_form() -> None:
    # 0 → 1 → 0 with carry ½ each: v0 = 1 + ½·v1, v1 = 2 + ½·v0, so v0 = 8/3 and v1 = 10/3.
    value = along([1, 0], [0.5, 0.5], [1.0, 2.0])
    assert value == pytest.approx([8 / 3, 10 / 3], rel=1e-14, abs=0)


def test_a_tail_is_pushed_back_from_its_cycle() -> None:
    # 3 → 2 → 1 → 1: v1 = 1/(1−½) = 2, v2 = 0 + ½·2 = 1, v3 = 5 + 1·1 = 6.
    value = along([0, 1, 1, 2], [0.0, 0.5, 0.5, 1.0], [0.0, 1.0, 0.0, 5.0])
    assert value == pytest.approx([0.0, 2.0, 1.0, 6.0], rel=1e-14, abs=0)


def test_only_the_policys_own_actions_are_followed() -> None:
    # State 0 stays by its second action, for 1/(1 − ½); its first would lead to state 1.
    dest, carry = np.array([[1, 0], [1, 1]]), np.full((2, 2), 0.5)
    value = evaluate(dest, carry, np.array([[1.0, 3.0]]), np.array([1, 0]))
    assert value.tolist() == [[2.0, 6.0]]


DISCOUNT = st.sampled_from([0.1, 0.5, 0.99, 1.0 - 1e-9])


@given(tables(EXTREME, 3, 2), DISCOUNT)
def test_a_folded_move_carries_its_share_of_where_it_leads(
    success: FloatArray, discount: float
) -> None:
    carry = np.empty_like(success)
    kernels.fold_moves(success, discount, carry)
    for s, a in product(range(3), range(2)):
        go, stop = Fraction(discount) * Fraction(success[s, a]), 1 - Fraction(discount)
        assert carry[s, a] == pytest.approx(float(go / (stop + go)), rel=1e-14, abs=0)
        assert 0.0 <= carry[s, a] < 1.0


TOTALS = st.one_of(st.sampled_from([0.0, -np.inf]), st.floats(-3.0, 3.0))
WEIGHTS = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1e6))


@given(st.integers(1, 3), DISCOUNT, st.data())
def test_totals_are_added_up_and_what_is_closed_stays_closed(
    count: int, discount: float, data: st.DataObject
) -> None:
    first = data.draw(tables(TOTALS, 1, 2, 3))
    totals = np.concatenate([first, data.draw(tables(st.floats(-3.0, 3.0), count - 1, 2, 3))])
    weights = data.draw(tables(WEIGHTS, count))
    open_ = np.isfinite(first[0])
    kept = np.where(open_, totals, 0.0)
    expected = np.where(open_, np.tensordot(weights, kept, axes=1), -np.inf)
    reward = np.full((2, 3), np.nan)
    kernels.combine(totals, weights, reward)
    assert reward == pytest.approx(expected, rel=1e-12, abs=1e-9)
    success = data.draw(tables(EXTREME, 2, 3))
    kernels.combine_moves(success, discount, totals, weights, reward)
    scale = 1.0 - discount + discount * success
    assert reward == pytest.approx(expected / scale, rel=1e-12, abs=1e-9)


def test_an_attempt_earns_until_it_works() -> None:
    # γ = ½, p = ½: 1 a try, and another try with ¼ + ½·½: 1/(1 − ½ + ¼) = 4/3 in all.
    totals, success = np.array([[[1.0, 9.0]], [[-3.0, 9.0]]]), np.array([[0.5, 1.0]])
    gain = np.empty((2, 1))
    kernels.gains_of(success, 0.5, totals, np.zeros(1, np.int32), gain)
    assert gain[:, 0] == pytest.approx([4 / 3, -4.0], rel=1e-15, abs=0)
    kernels.gains_of(success, 0.5, totals, np.ones(1, np.int32), gain)
    assert gain[:, 0].tolist() == [9.0, 9.0]


def test_what_is_better_is_taken_state_by_state() -> None:
    worth, policy = np.array([-np.inf, 2.0, 3.0]), np.array([9, 9, 9], np.int32)
    values = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0]])
    known = np.array([0, 1, 2], np.int32)
    kernels.take_better(values, known, np.array([1.0, 1.5]), worth, policy)
    assert worth.tolist() == [1.0, 2.5, 4.0]
    assert policy.tolist() == [0, 1, 2]
    kernels.take_better(values, np.full(3, 5, np.int32), np.array([1.0, 1.5]), worth, policy)
    assert policy.tolist() == [0, 1, 2]


@given(move_graphs())
def test_reversed_edges_list_every_edge_that_leaves_its_state_once(model: Moves) -> None:
    first, edges = kernels.reverse_edges(model.dest)
    listed = {
        (int(e) // model.actions, int(e) % model.actions, t)
        for t in range(model.states)
        for e in edges[first[t] : first[t + 1]]
    }
    expected = {
        (s, a, int(model.dest[s, a]))
        for s, a in product(range(model.states), range(model.actions))
        if model.dest[s, a] != s
    }
    assert listed == expected
    assert len(edges) == len(expected)


@given(move_graphs(max_states=8), st.data())
def test_distances_home_are_those_of_another_dijkstra(model: Moves, data: st.DataObject) -> None:
    cost = data.draw(tables(st.floats(0.0, 0.3), model.states, model.actions))
    home = data.draw(st.integers(0, model.states - 1))
    first, edges = kernels.reverse_edges(model.dest)
    distance, choice = kernels.distances_home(
        model.success, -cost, np.array([home], np.int32), first, edges
    )
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
    assert distance[near] == pytest.approx(reference[near], abs=1e-12)
    assert np.isinf(distance[~near & (reference > 1.0 + 1e-9)]).all()
    assert (choice[np.isinf(distance)] == -1).all()


@given(move_graphs(max_states=8), st.data())
def test_the_choices_lead_home_along_the_distances(model: Moves, data: st.DataObject) -> None:
    cost = data.draw(tables(st.floats(0.0, 0.3), model.states, model.actions))
    first, edges = kernels.reverse_edges(model.dest)
    distance, choice = kernels.distances_home(
        model.success, -cost, np.zeros(1, np.int32), first, edges
    )
    assert (distance[0], choice[0]) == (0.0, -1)
    for s in np.flatnonzero(choice >= 0):
        a = choice[s]
        step = cost[s, a] / model.success[s, a]
        assert distance[s] == pytest.approx(step + distance[model.dest[s, a]], abs=1e-15)


def test_a_way_that_costs_one_or_more_is_no_way() -> None:
    dest, success = np.array([[0], [0], [1]], np.int32), np.ones((3, 1))
    first, edges = kernels.reverse_edges(dest)
    cost = np.array([[0.0], [0.5], [0.5]])
    distance, choice = kernels.distances_home(success, -cost, np.zeros(1, np.int32), first, edges)
    assert distance.tolist() == [0.0, 0.5, np.inf]
    assert choice.tolist() == [-1, 0, -1]


@pytest.mark.parametrize("flip", [False, True])
def test_among_equal_ways_the_lower_numbered_successor_wins(flip: bool) -> None:
    # 3 reaches home 0 through 1 or 2, at the same cost, whichever of its actions leads where.
    dest = np.array([[0, 0], [0, 0], [0, 0], [1, 2] if flip else [2, 1]], np.int32)
    first, edges = kernels.reverse_edges(dest)
    cost = np.full((4, 2), 0.25)
    _, choice = kernels.distances_home(np.ones((4, 2)), -cost, np.zeros(1, np.int32), first, edges)
    assert dest[3, choice[3]] == 1


def test_among_equal_homes_the_lower_numbered_one_wins() -> None:
    dest = np.array([[0, 0], [1, 1], [1, 0]], np.int32)
    first, edges = kernels.reverse_edges(dest)
    home, cost = np.array([1, 0], np.int32), np.full((3, 2), 0.25)
    _, choice = kernels.distances_home(np.ones((3, 2)), -cost, home, first, edges)
    assert dest[2, choice[2]] == 0


def test_a_home_that_is_named_twice_counts_once() -> None:
    dest, success = np.array([[0], [0]], np.int32), np.ones((2, 1))
    first, edges = kernels.reverse_edges(dest)
    distance, _ = kernels.distances_home(
        success, np.zeros((2, 1)), np.array([0, 0, 0], np.int32), first, edges
    )
    assert distance.tolist() == [0.0, 0.0]


def test_a_success_that_is_next_to_impossible_is_no_way() -> None:
    dest = np.array([[0], [0]], np.int32)
    first, edges = kernels.reverse_edges(dest)
    for rare, reached in ((1e-249, 0.0), (1e-251, np.inf)):
        distance, _ = kernels.distances_home(
            np.array([[1.0], [rare]]), np.zeros((2, 1)), np.zeros(1, np.int32), first, edges
        )
        assert distance[1] == reached


@pytest.mark.parametrize("forward", [True, False])
def test_a_sweep_counts_its_switches_and_keeps_ties(forward: bool) -> None:
    dest, carry = np.zeros((2, 2), np.int32), np.full((2, 2), 0.5)
    reward = np.array([[1.0, 1.0], [0.0, 3.0]])
    value, policy = np.zeros(2), np.zeros(2, np.int32)
    switches, gain = kernels.sweep_moves(dest, carry, reward, forward, 0.0, value, policy)
    assert (switches, gain) == (1, 3.0)
    assert policy.tolist() == [0, 1]


def test_a_sweep_uses_what_it_has_just_found() -> None:
    # Forward, state 1 sees state 0's new value 1: ½·1 + 0; backward it would see 0.
    dest, carry = np.array([[0], [0]], np.int32), np.full((2, 1), 0.5)
    reward = np.array([[1.0], [0.0]])
    for forward, expected in ((True, 0.5), (False, 0.0)):
        value = np.zeros(2)
        kernels.sweep_moves(dest, carry, reward, forward, 0.0, value, np.zeros(2, np.int32))
        assert value[1] == expected


def test_a_gain_within_the_slack_is_no_switch_but_is_told() -> None:
    dest, carry = np.zeros((1, 2), np.int32), np.full((1, 2), 0.5)
    policy, value = np.zeros(1, np.int32), np.zeros(1)
    reward = np.array([[1.0, 1.0 + 1e-6]])
    switches, gain = kernels.sweep_moves(dest, carry, reward, True, 1e-3, value, policy)
    assert switches == 0
    assert gain == pytest.approx(1e-6, rel=1e-9)
    assert policy[0] == 0
    assert value[0] == 1.0


def test_the_gain_of_a_sweep_is_that_of_the_best_action_anywhere() -> None:
    dest, carry = np.zeros((2, 2), np.int32), np.full((2, 2), 0.5)
    reward = np.array([[0.0, -np.inf], [1.0, 4.0]])
    value, policy = np.array([0.0, 1.0]), np.zeros(2, np.int32)
    _, gain = kernels.sweep_moves(dest, carry, reward, True, 0.0, value, policy)
    assert gain == 3.0


def optimise(
    dest: IntArray, carry: FloatArray, reward: FloatArray, limit: int
) -> tuple[int, int, float, IntArray]:
    """Run the kernel from the first actions, with scratch that was used before."""
    policy = np.zeros(len(dest), np.int32)
    gain, value = np.full((1, len(dest)), np.nan), np.full((1, len(dest)), np.nan)
    mark, path = np.full(len(dest), 7, np.uint8), np.full(len(dest), 7, np.int32)
    rounds, switches, most = kernels.optimise_moves(
        dest, carry, reward, 1e-14, 4, limit, policy, gain, value, mark, path
    )
    return rounds, switches, most, policy


# A line on which the last state pays: action 0 stays, action 1 goes on.
LINE = np.stack([np.arange(40), np.minimum(np.arange(40) + 1, 39)], axis=1).astype(np.int32)
PAYS = (np.arange(40) == 39)[:, None] * np.ones((40, 2))


def test_policy_iteration_ends_where_nothing_is_better() -> None:
    rounds, switches, most, policy = optimise(LINE, np.full((40, 2), 0.9), PAYS, 1000)
    assert policy[:39].tolist() == [1] * 39
    assert switches == 0
    assert 0.0 <= most <= 1e-13
    assert 1 < rounds < 40


def test_policy_iteration_that_is_cut_short_says_so_by_its_switches() -> None:
    rounds, switches, most, _ = optimise(LINE, np.full((40, 2), 0.9), PAYS, 1)
    assert rounds == 1
    assert switches > 0
    assert most > 0.0
