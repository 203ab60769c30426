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


def evaluate(follow: IntArray, share: FloatArray, gain: FloatArray) -> FloatArray:
    """Call the kernel with scratch that was used before."""
    value = np.full_like(gain, np.nan)
    mark, path = np.full(len(follow), 7, np.uint8), np.full(len(follow), 7, np.int32)
    kernels.evaluate_moves(follow.astype(np.int32), share, gain, value, mark, path)
    return value


def along(follow: list[int], share: list[float], gain: list[float]) -> FloatArray:
    """Evaluate one column."""
    return np.asarray(evaluate(np.array(follow), np.array(share), np.array([gain]))[0], float)


@given(st.integers(1, 9), st.data())
def test_evaluating_a_graph_solves_its_equations(states: int, data: st.DataObject) -> None:
    where = st.lists(st.integers(0, states - 1), min_size=states, max_size=states)
    follow = np.array(data.draw(where))
    share = data.draw(tables(st.floats(0.0, 0.99), states))
    gain = data.draw(tables(st.floats(-5.0, 5.0), 2, states))
    among = np.eye(states)
    np.subtract.at(among, (np.arange(states), follow), share)
    expected = np.linalg.solve(among, gain.T).T
    assert evaluate(follow, share, gain) == pytest.approx(expected, abs=1e-9)


def test_a_cycle_is_solved_in_closed_form() -> None:
    # 0 → 1 → 0 with share ½ each: v0 = 1 + ½·v1, v1 = 2 + ½·v0, so v0 = 8/3 and v1 = 10/3.
    value = along([1, 0], [0.5, 0.5], [1.0, 2.0])
    assert value == pytest.approx([8 / 3, 10 / 3], rel=1e-14, abs=0)


def test_a_tail_is_pushed_back_from_its_cycle() -> None:
    # 3 → 2 → 1 → 1: v1 = 1/(1−½) = 2, v2 = 0 + ½·2 = 1, v3 = 5 + 1·1 = 6.
    value = along([0, 1, 1, 2], [0.0, 0.5, 0.5, 1.0], [0.0, 1.0, 0.0, 5.0])
    assert value == pytest.approx([0.0, 2.0, 1.0, 6.0], rel=1e-14, abs=0)


DISCOUNT = st.sampled_from([0.1, 0.5, 0.99, 1.0 - 1e-9])


@given(tables(EXTREME, 3, 2), DISCOUNT)
def test_a_move_is_tried_until_it_works_or_exploring_is_called_off(
    success: FloatArray, discount: float
) -> None:
    tries = np.empty_like(success)
    dest = np.array([[1, 0], [1, 2], [0, 2]], np.int32)
    kernels.tries_of(dest, success, discount, tries)
    for s, a in product(range(3), range(2)):
        works = Fraction(success[s, a]) if dest[s, a] != s else Fraction(0)
        exact = 1 / (1 - Fraction(discount) * (1 - works))
        assert tries[s, a] == pytest.approx(float(exact), rel=1e-14 / (1 - discount), abs=0)


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


def follow(
    policy: list[int], success: FloatArray
) -> tuple[list[int], list[float], list[list[float]]]:
    """Fold a policy on two states under γ = ½; action 0 goes to state 1, action 1 to state 0."""
    dest, totals = np.array([[1, 0], [1, 0]], np.int32), np.zeros((2, 2, 2))
    totals[0], totals[1] = [[1.0, 9.0], [2.0, 8.0]], [[-3.0, 9.0], [0.0, 0.0]]
    onto, share, gain = np.empty(2, np.int32), np.empty(2), np.empty((2, 2))
    chosen = np.array(policy, np.int32)
    kernels.follow_moves(dest, success, 0.5, totals, chosen, onto, share, gain)
    return onto.tolist(), share.tolist(), gain.tolist()


def test_an_attempt_earns_until_it_works() -> None:
    # γ = ½, p = ½: 1 a try, and another try with ½·½: 1/(1 − ¼) = 4/3 in all, and so for −3. Then
    # the value there counts γ·p a try, ⅓ in all. State 1 stays where it is, for 2/(1 − ½).
    onto, share, gain = follow([0, 0], np.full((2, 2), 0.5))
    assert onto == [1, 1]
    assert share == pytest.approx([1 / 3, 0.0], rel=1e-15, abs=0)
    assert gain[0] == pytest.approx([4 / 3, 4.0], rel=1e-15, abs=0)
    assert gain[1] == pytest.approx([-4.0, 0.0], rel=1e-15, abs=0)


def test_only_the_policys_own_actions_are_followed() -> None:
    onto, share, gain = follow([1, 1], np.ones((2, 2)))
    assert (onto, share) == ([0, 0], [0.0, 0.5])
    assert gain == [[18.0, 8.0], [18.0, 0.0]]


def test_what_is_better_is_taken_state_by_state() -> None:
    worth, policy = np.array([-np.inf, 2.0, 3.0]), np.array([9, 9, 9], np.int32)
    values, blend = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0]]), np.empty(3)
    weights, same = np.array([1.0, 1.5]), np.full(3, 5, np.int32)
    kernels.take_better(values, np.array([0, 1, 2], np.int32), weights, blend, worth, policy)
    assert worth.tolist() == [1.0, 2.5, 4.0]
    assert policy.tolist() == [0, 1, 2]
    kernels.take_better(values, same, weights, blend, worth, policy)
    assert policy.tolist() == [0, 1, 2]


@given(tables(st.floats(-1e300, 1e300), 9))
def test_the_largest_is_found_whatever_its_sign(values: FloatArray) -> None:
    assert kernels.largest(values) == np.abs(values).max()


@given(move_graphs(), st.sampled_from([np.uint8, np.int32]))
def test_reversed_edges_list_every_edge_that_leaves_its_state_once(
    model: Moves, kind: type
) -> None:
    first, source, action = kernels.reverse_edges(model.dest, np.empty(0, kind))
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
    ways = kernels.reverse_edges(dest, np.empty(0, np.uint8))
    distance, choice = kernels.distances_home(dest, success, -cost, np.array(home, np.int32), *ways)
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


def sweep(
    dest: IntArray,
    reward: FloatArray,
    value: FloatArray,
    policy: IntArray,
    stale: list[bool] | None = None,
    *,
    forward: bool = True,
    slack: float = 0.0,
) -> tuple[int, list[bool]]:
    """Sweep once where every move works and γ = ½; give the rises and what is stale then."""
    tries = np.empty(dest.shape)
    kernels.tries_of(dest, np.ones(dest.shape), 0.5, tries)
    first, source, _ = kernels.reverse_edges(dest, np.empty(0, np.uint8))
    left = np.zeros(8, np.uint8)
    left[: len(dest)] = True if stale is None else stale
    apart, written, again = value.copy(), policy.copy(), left.copy()
    rises = kernels.sweep_moves(
        dest, tries, reward, None, 0.0, 0.5, first, source, forward, slack, value, policy, left
    )
    assert not left[len(dest) :].any()
    # The same reward in two parts, one of which counts by a weight.
    half, other = 0.5 * reward, 0.125 * reward
    same = kernels.sweep_moves(
        dest, tries, half, other, 4.0, 0.5, first, source, forward, slack, apart, written, again
    )
    assert same == rises
    for parts, whole in ((apart, value), (written, policy), (again, left)):
        np.testing.assert_array_equal(parts, whole)
    return rises, (left[: len(dest)] > 0).tolist()


@pytest.mark.parametrize("forward", [True, False])
def test_a_sweep_counts_its_rises_and_keeps_ties(forward: bool) -> None:
    dest, reward = np.array([[1, 1], [0, 0]], np.int32), np.array([[1.0, 1.0], [0.0, 3.0]])
    value, policy = np.array([2.5, 0.0]), np.array([1, 0], np.int32)
    rises, _ = sweep(dest, reward, value, policy, forward=forward)
    assert policy.tolist() == [1, 1]
    assert value[1] == 4.25  # 3 + ½·2.5
    assert value[0] == (2.5 if forward else 3.125)  # 1 + ½·4.25
    assert rises == (1 if forward else 2)


def test_what_stays_is_worth_its_reward_for_good() -> None:
    dest, reward = np.zeros((1, 2), np.int32), np.array([[1.0, 4.0]])
    value, policy = np.zeros(1), np.zeros(1, np.int32)
    assert sweep(dest, reward, value, policy) == (1, [False])
    assert (value[0], policy[0]) == (8.0, 1)


def test_a_rise_within_the_slack_is_none() -> None:
    dest, reward = np.array([[1, 1], [1, 1]], np.int32), np.array([[1.0, 1.0 + 1e-6], [0.0, 0.0]])
    value, policy = np.array([1.0, 0.0]), np.zeros(2, np.int32)
    assert sweep(dest, reward, value, policy, slack=1e-3) == (0, [False, False])
    assert (policy[0], value[0]) == (0, 1.0)
    assert sweep(dest, reward, value, policy, slack=1e-9) == (1, [False, False])
    assert (policy[0], value[0]) == (1, 1.0 + 1e-6)


def test_only_what_is_stale_is_looked_at_and_a_rise_makes_stale_what_leads_there() -> None:
    # 0 → 1 → 2, which pays. Only 2 is stale: it rises, then 1 is stale, and 0 in its turn.
    dest, reward = np.array([[1], [2], [2]], np.int32), np.array([[0.0], [0.0], [1.0]])
    value, policy, stale = np.zeros(3), np.zeros(3, np.int32), [False, False, True]
    for expected, left in (
        ([0.0, 0.0, 2.0], [False, True, False]),
        ([0.0, 1.0, 2.0], [True, False, False]),
        ([0.5, 1.0, 2.0], [False, False, False]),
    ):
        rises, stale = sweep(dest, reward, value, policy, stale)
        assert (rises, value.tolist(), stale) == (1, expected, left)
    value[:], stale = 0.0, [False, False, True]
    rises, stale = sweep(dest, reward, value, policy, stale, forward=False)
    assert (rises, value.tolist(), stale) == (3, [0.5, 1.0, 2.0], [False] * 3)


def test_an_action_that_is_closed_is_not_taken() -> None:
    dest, reward = np.array([[1, 1], [1, 1]], np.int32), np.array([[0.0, -np.inf], [0.0, 0.0]])
    value, policy = np.array([-5.0, 0.0]), np.zeros(2, np.int32)
    assert sweep(dest, reward, value, policy)[0] == 1
    assert (value[0], policy[0]) == (0.0, 0)
