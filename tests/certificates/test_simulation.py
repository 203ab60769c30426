"""Walks in one world: out until recall, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from homeward.certificates import simulation
from homeward.certificates.simulation import CUT, ENDED, HOME, LONG, LOST
from homeward.models import SparseMDP

step: Any = simulation.step
walk_out: Any = simulation.walk_out
walk_back: Any = simulation.walk_back
can_reach: Any = simulation.can_reach
LIMIT = 10_000


def rows_of(dense: Any) -> tuple[Any, Any, Any]:
    """Return a world [S, A, S] as rows."""
    return simulation.rows_of(SparseMDP.from_dense(np.array(dense, float)).transitions)


LINE = rows_of([[[0, 1, 0]], [[0, 0, 1]], [[0, 0, 1]]])
"""Three states in a row, one action, the last for good."""


def out(rows: Any, states: int, actions: int, episodes: int = 1, **given: Any) -> Any:
    """Walk out; by default one policy, action 0 everywhere."""
    asked: dict[str, Any] = {
        "start": 0,
        "discount": 0.5,
        "fixed": False,
        "limit": LIMIT,
        "mixture": (np.ones(1), np.zeros((1, 1, states), np.int64)),
        "afterwards": np.zeros((1, states), np.int64),
        "exits": np.zeros((states, actions), dtype=bool),
        "allowed": np.ones((1, states, actions), dtype=bool),
        "rewards": np.zeros((1, states, actions)),
    } | given
    return walk_out(np.random.default_rng(0), rows, *asked.values(), episodes)


def back(rows: Any, ends: Any, policies: Any, home: Any, **given: Any) -> list[int]:
    """Walk back from some ends; hope is found unless steps are limited."""
    policies = np.atleast_2d(np.array(policies, np.int64))
    at_home = np.array(home)
    asked: dict[str, Any] = {
        "since": np.arange(1, len(policies) + 1),
        "within": 0,
        "limit": LIMIT,
    } | given
    actions = (len(rows[0]) - 1) // policies.shape[1]
    hopeful = can_reach(rows, actions, policies[0], at_home)
    came = walk_back(
        np.random.default_rng(0),
        rows,
        actions,
        np.array(ends, np.int64),
        at_home,
        policies,
        asked["since"],
        asked["within"],
        hopeful,
        asked["limit"],
    )
    found: list[int] = came.tolist()
    return found


def test_a_step_follows_its_row_and_may_end() -> None:
    rows = rows_of([[[0.2, 0.5]], [[0.0, 1.0]]])
    rng = np.random.default_rng(0)
    drawn = np.array([step(rng, rows, 0) for _ in range(20_000)])
    for there, chance in ((0, 0.2), (1, 0.5), (ENDED, 0.3)):
        assert (drawn == there).mean() == pytest.approx(chance, abs=0.02)


def test_the_recall_comes_before_each_step_with_chance_one_half() -> None:
    ends, _, _ = out(LINE, 3, 1, 20_000)
    for there, chance in ((0, 0.5), (1, 0.25), (2, 0.25)):
        assert (ends == there).mean() == pytest.approx(chance, abs=0.02)


def test_a_fixed_recall_comes_after_its_steps() -> None:
    policies = np.zeros((1, 2, 3), np.int64)
    ends, stayed, earned = out(
        LINE,
        3,
        1,
        3,
        fixed=True,
        mixture=(np.ones(1), policies),
        afterwards=policies[0],
        rewards=np.array([[[1.0], [10.0], [100.0]]]),
    )
    assert ends.tolist() == [2, 2, 2]
    assert stayed.all()
    assert earned.tolist() == [[11.0, 11.0, 11.0]]


def test_without_a_fixed_recall_what_the_next_action_would_pay_is_earned() -> None:
    rewards = np.array([[[1.0], [10.0], [100.0]]])
    ends, _, earned = out(LINE, 3, 1, 500, rewards=rewards)
    assert earned[0].tolist() == rewards[0, ends, 0].tolist()


def test_an_end_of_the_process_stays_nowhere_and_earns_nothing_more() -> None:
    rows = rows_of([[[0.0, 0.0]], [[0.0, 1.0]]])
    ends, stayed, earned = out(rows, 2, 1, 500, rewards=np.full((1, 2, 1), 7.0))
    assert set(ends.tolist()) == {0, ENDED}
    np.testing.assert_array_equal(stayed[0], ends == 0)
    np.testing.assert_array_equal(earned[0], np.where(ends == 0, 7.0, 0.0))


def test_policies_are_drawn_by_their_shares_and_kept() -> None:
    rows = rows_of([[[0, 1, 0], [0, 0, 1]], [[0, 1, 0]] * 2, [[0, 0, 1]] * 2])
    policies = np.array([[[0, 0, 0]], [[1, 0, 0]]])
    ends, _, _ = out(rows, 3, 2, 20_000, mixture=(np.array([0.3, 1.0]), policies))
    assert (ends == 1).mean() == pytest.approx(0.15, abs=0.02)
    assert (ends == 2).mean() == pytest.approx(0.35, abs=0.02)


def test_after_an_exit_the_other_policy_is_followed_and_the_set_is_left_for_good() -> None:
    rows = rows_of([[[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 0, 1]], [[0, 0, 1]] * 2])
    exits = np.zeros((3, 2), bool)
    exits[0, 1] = True
    steps = np.array([[[1, 0, 0]] * 3])  # up by the exit, then back by action 0 if that counted
    ends, stayed, earned = out(
        rows,
        3,
        2,
        fixed=True,
        mixture=(np.ones(1), steps),
        afterwards=np.array([[0, 1, 0]] * 3),
        exits=exits,
        allowed=~exits[None],
        rewards=np.array([[[0.0, 1.0], [0.0, 10.0], [100.0, 0.0]]]),
    )
    assert ends.tolist() == [2]
    assert not stayed.any()
    assert earned.tolist() == [[111.0]]


def test_a_walk_that_would_be_too_long_is_cut() -> None:
    ends, _, _ = out(LINE, 3, 1, 50, discount=1.0 - 1e-9, limit=1000)
    assert set(ends.tolist()) == {CUT}
    assert back(LINE, ends[:2], [0, 0, 0], [False, False, True]) == [LONG, LONG]


def test_who_gives_up_or_has_ended_is_lost_and_who_is_home_is_home() -> None:
    home = [False, False, True]
    assert back(LINE, [0, 1, 2, ENDED], [0, 0, -1], home) == [HOME, HOME, HOME, LOST]
    assert back(LINE, [0, 1, 2], [0, -1, -1], home) == [LOST, LOST, HOME]


def test_a_circle_without_hope_is_lost_at_once() -> None:
    rows = rows_of([[[0, 1, 0]], [[1, 0, 0]], [[0, 0, 1]]])
    assert back(rows, [0, 1, 2], [0, 0, -1], [False, False, True], limit=0) == [LOST, LOST, HOME]


def test_a_hope_that_is_too_faint_is_cut_and_not_lost() -> None:
    rows = rows_of([[[1.0 - 1e-12, 1e-12]], [[0.0, 1.0]]])
    assert back(rows, [0], [0, -1], [False, True], limit=100) == [LONG]


def test_a_limit_of_steps_counts_every_attempt() -> None:
    home = [False, False, True]
    way = {"since": np.ones(1, np.int64)}
    assert back(LINE, [0, 1], [0, 0, -1], home, within=1, **way) == [LOST, HOME]
    assert back(LINE, [0, 1], [0, 0, -1], home, within=2, **way) == [HOME, HOME]


def test_the_policy_depends_on_the_steps_left() -> None:
    rows = rows_of([[[1, 0], [0, 1]], [[0, 1], [0, 1]]])
    wait_then_go = [[1, -1], [0, -1]]  # with one step left go, with more wait
    for within, came in ((1, HOME), (2, HOME), (5, HOME)):
        found = back(rows, [0], wait_then_go, [False, True], within=within)
        assert found == [came]
    go_then_wait = [[0, -1], [1, -1]]
    assert back(rows, [0], go_then_wait, [False, True], within=1) == [LOST]
    assert back(rows, [0], go_then_wait, [False, True], within=2) == [HOME]


def test_hope_is_where_home_can_be_reached() -> None:
    rows = rows_of([[[0, 0.5, 0, 0.5]], [[0, 1, 0, 0]], [[1, 0, 0, 0]], [[0, 0, 0, 1]]])
    at_home = np.array([False, False, False, True])
    hope = can_reach(rows, 1, np.array([0, 0, 0, -1]), at_home)
    assert hope.tolist() == [True, False, True, True]
    hope = can_reach(rows, 1, np.array([-1, 0, 0, -1]), at_home)
    assert hope.tolist() == [False, False, False, True]
