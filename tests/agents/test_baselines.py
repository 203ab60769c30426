"""Random actions and the nearest frontier, where it is known what they must do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from homeward import Belief, FiniteBelief, Moves, SparseMDP, Visit
from homeward.agents.baselines import NearestFrontier, RandomAction, frontier_of
from homeward.errors import InvalidBeliefError
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import HeightGridWorld
from homeward.planning.ends import End

RNG = np.random.default_rng(0)
STAY, LEFT, RIGHT = 0, 1, 2


def corridor(right: list[float], left: list[float], reward: Any = None) -> Moves:
    rooms = np.arange(len(right))
    dest = np.stack([rooms, np.maximum(rooms - 1, 0), np.minimum(rooms + 1, len(rooms) - 1)], 1)
    success = np.stack([np.ones(len(rooms)), left, right], axis=1)
    return Moves(dest, success, reward)


def test_random_actions_are_all_that_can_be_chosen() -> None:
    reward = np.zeros((3, 3))
    reward[1, LEFT] = -np.inf
    belief = FiniteBelief([corridor([1.0] * 3, [1.0] * 3, reward)])
    rng = np.random.default_rng(1)
    assert {RandomAction().act(belief, 1, rng) for _ in range(50)} == {STAY, RIGHT}


def test_the_nearest_frontier_counts_attempts_not_moves() -> None:
    belief = FiniteBelief([corridor([1, 1, 1, 1, 1], [1, 1, 0.6, 1, 1])])
    belief = belief.update(Visit(2)).update(Visit(3))
    assert NearestFrontier().act(belief, 2, RNG) == LEFT  # 1/.6 attempts, or two moves
    belief = FiniteBelief([corridor([1, 1, 1, 1, 1], [1, 1, 0.501, 1, 1])])
    assert NearestFrontier().act(belief.update(Visit(2)), 2, RNG) == RIGHT


def test_the_nearest_frontier_ends_when_all_is_visited_or_out_of_reach() -> None:
    belief: Any = FiniteBelief([corridor([1, 1, 0.4], [1, 0.4, 1])]).update(Visit(1))
    assert NearestFrontier().act(belief, 1, RNG) == RIGHT
    assert NearestFrontier().act(belief.update(Visit(2)), 1, RNG) is End.OUT_OF_REACH
    assert NearestFrontier().act(belief.update(Visit(2)).update(Visit(0)), 1, RNG) is End.ALL_SEEN


def test_the_frontier_of_a_map_lies_beside_what_is_unseen() -> None:
    grid = HeightMap.from_text("11111\n11111\n11a11\n11111\n11111")
    world = HeightGridWorld(grid)
    belief = grid.belief("known").update(world.look())
    inner = frontier_of(belief).reshape(5, 5)[1:4, 1:4]
    assert inner.tolist() == [[True, True, True], [True, False, True], [True, True, True]]


def test_slippery_worlds_are_walked_by_the_most_likely_outcome() -> None:
    rows = np.zeros((2, 2, 2))
    rows[:, 0] = np.eye(2)
    rows[0, 1], rows[1, 1] = [0.3, 0.7], [0.2, 0.8]
    belief: Any = FiniteBelief([SparseMDP.from_dense(rows)]).update(Visit(0))
    assert NearestFrontier().act(belief, 0, RNG) == 1


def test_a_belief_that_counts_nothing_is_named() -> None:
    class Plain(Belief):
        def mean(self) -> Moves:
            return corridor([1.0], [1.0])

        def update(self, observation: Any) -> Plain:
            return self

        def sample(self, rng: Any) -> Moves:
            return self.mean()

    with pytest.raises(InvalidBeliefError, match=r"count-based bonus needs Plain\.visited"):
        NearestFrontier().act(Plain(), 0, RNG)
