from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import EXTREME, move_graphs, tables

from homeward.models import Moves
from homeward.solvers import kernels
from homeward.solvers.policies import MovesEngine

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray


def evaluate(
    dest: IntArray, success: FloatArray, totals: FloatArray, policy: list[int], discount: float
) -> FloatArray:
    """Return the values [K, S] of a policy."""
    problem = MovesEngine(Moves(dest, success), discount, totals, 1.0)._problem
    values = np.full(totals.shape[:2], np.nan)
    kernels.evaluate_moves(problem, np.array(policy, np.uint32), values)
    return values


@given(move_graphs(max_states=9), st.sampled_from([0.1, 0.5, 0.99]), st.data())
def test_evaluating_a_policy_solves_its_equations(
    model: Moves, discount: float, data: st.DataObject
) -> None:
    states, actions = model.states, model.actions
    choice = st.lists(st.integers(0, actions - 1), min_size=states, max_size=states)
    policy = data.draw(choice)
    totals = data.draw(tables(st.floats(-5.0, 5.0), 2, states, actions))
    rows = np.array([model.row(s, a) for s, a in enumerate(policy)])
    gain = totals[:, np.arange(states), policy]
    expected = np.linalg.solve(np.eye(states) - discount * rows, gain.T).T
    found = evaluate(model.dest, model.success, totals, policy, discount)
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_cycle_is_solved_in_closed_form() -> None:
    # 0 → 1 → 0 under γ = ½: v0 = 1 + ½·v1, v1 = 2 + ½·v0, so v0 = 8/3 and v1 = 10/3.
    dest, totals = np.array([[1], [0]]), np.array([[[1.0], [2.0]]])
    value = evaluate(dest, np.ones((2, 1)), totals, [0, 0], 0.5)[0]
    assert value == pytest.approx([8 / 3, 10 / 3], rel=1e-14, abs=0)


def test_a_tail_is_pushed_back_from_its_cycle() -> None:
    # 3 → 2 → 1 → 1 under γ = ½: v1 = 1/(1−½) = 2, v2 = 0 + ½·2 = 1, v3 = 5 + ½·1 = 5.5.
    dest, totals = np.array([[0], [1], [1], [2]]), np.array([[[0.0], [1.0], [0.0], [5.0]]])
    value = evaluate(dest, np.ones((4, 1)), totals, [0, 0, 0, 0], 0.5)[0]
    assert value == pytest.approx([0.0, 2.0, 1.0, 5.5], rel=1e-14, abs=0)


DISCOUNT = st.sampled_from([0.1, 0.5, 0.99, 1.0 - 1e-9])


@given(tables(EXTREME, 3, 2), DISCOUNT)
def test_a_move_is_tried_until_it_works_or_exploring_is_called_off(
    success: FloatArray, discount: float
) -> None:
    dest = np.array([[1, 0], [1, 2], [0, 2]], np.int32)
    tries = MovesEngine(Moves(dest, success), discount, np.zeros((1, 3, 2)), 1.0)._problem.tries
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


TWO = np.array([[[1.0, 9.0], [2.0, 8.0]], [[-3.0, 9.0], [0.0, 0.0]]])


def test_an_attempt_earns_until_it_works() -> None:
    # γ = ½, p = ½: 1 a try, and another try with ½·½: 1/(1 − ¼) = 4/3 in all, and so for −3. Then
    # the value there counts γ·p a try, ⅓ in all. State 1 stays where it is, for 2/(1 − ½) = 4.
    values = evaluate(np.array([[1, 0], [1, 0]]), np.full((2, 2), 0.5), TWO, [0, 0], 0.5)
    assert values[0] == pytest.approx([4 / 3 + 4 / 3, 4.0], rel=1e-15, abs=0)
    assert values[1] == pytest.approx([-4.0, 0.0], rel=1e-15, abs=0)


def test_only_the_policys_own_actions_are_followed() -> None:
    values = evaluate(np.array([[1, 0], [1, 0]]), np.ones((2, 2)), TWO, [1, 1], 0.5)
    assert values.tolist() == [[18.0, 17.0], [18.0, 9.0]]


@given(tables(st.floats(-1e300, 1e300), 2, 9))
def test_the_largest_is_found_whatever_its_sign(values: FloatArray) -> None:
    assert (kernels.sizes_of(values) == np.abs(values).max(axis=1)).all()


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
    problem = MovesEngine(Moves(dest, np.ones(dest.shape)), 0.5, reward[None], 2.0)._problem
    left = np.zeros(8, np.uint8)
    left[: len(dest)] = True if stale is None else stale
    rises = kernels.sweep_moves(problem, reward, forward, slack, value, policy, left)
    assert not left[len(dest) :].any()
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
