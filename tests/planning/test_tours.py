from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.planning.graphs import graph_from

from homeward.beliefs.corrections import Correction
from homeward.bonuses import Looks, Uncover
from homeward.criteria import ReturnHome
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import HeightGridWorld
from homeward.planning.algorithm1 import Planner
from homeward.planning.explorer import Explorer, Step
from homeward.planning.gain_search import Scratch, Shares, best_tour
from homeward.planning.paper import PaperExplorer

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray


def first_place(
    dest: IntArray,
    amount: FloatArray,
    state: int,
    *,
    reach: int = 0,
    places: Any = True,
    width: int = 9,
    return_price: float = 0.0,
) -> int:
    """Return where the best tour goes first; a look tells of cells at most `reach` to a side."""
    states = len(dest)
    right = np.arange(-reach, reach + 1)
    graph = graph_from(dest, np.ones(dest.shape), np.zeros(dest.shape))
    offsets = np.zeros_like(right), right
    looks = Looks.of((1, states), offsets, np.ones(len(right)), amount, False)
    share = np.where(np.ones(states, dtype=bool) & places, 0.0, 1.0)
    given = graph, Shares.given(share), 0.0, state, looks, 4.0, width, 99.0, return_price
    path, *_ = best_tour(*given, Scratch.of(states))
    assert len(path) == 0 or path[0] == state
    return int(path[-1]) if len(path) else -1


def row(length: int) -> IntArray:
    """Return the moves to the left and to the right in a row of cells."""
    cells = np.arange(length)
    return np.stack([np.maximum(cells - 1, 0), np.minimum(cells + 1, length - 1)], axis=1)


def tree(rng: np.random.Generator, states: int) -> IntArray:
    """Return the moves in a random tree: to each neighbour, or else to oneself."""
    dest = np.repeat(np.arange(states)[:, None], states, axis=1)
    for child in range(1, states):
        parent = int(rng.integers(child))
        dest[child, parent], dest[parent, child] = parent, child
    return dest


def cost(dest: IntArray, amount: FloatArray, state: int, first: int) -> float:
    """Return the steps of the tour that begins with a place, its first leg counted twice."""
    left, total, target, here = amount.copy(), 0.0, first, state
    while True:
        path = route(dest, here, target)
        steps = len(path) - 1
        total += steps * (2.0 if not total else 1.0)
        left[path] = 0.0
        if not left.any():
            return total
        here = target
        away = np.array([len(route(dest, here, s)) - 1 for s in range(len(dest))])
        target = int(np.argmax(np.where(left > 0.0, left / np.maximum(away, 0.5) ** 4, 0.0)))


def route(dest: IntArray, start: int, end: int) -> list[int]:
    """Return the only path in a tree from one state to another."""
    paths = [[start]]
    for path in paths:
        if path[-1] == end:
            return path
        paths += [[*path, int(t)] for t in np.unique(dest[path[-1]]) if t not in path]
    raise AssertionError


def test_the_short_side_comes_first_though_the_long_side_has_more_gain() -> None:
    amount = np.array([0, 0, 1, 0, 0, 0, 3, 1, 1, 1, 1], float)
    assert first_place(row(11), amount, 4, width=1) == 6
    assert first_place(row(11), amount, 4) == 2


def test_what_opens_new_ground_comes_last() -> None:
    amount, seen = np.array([1, 1, 1, 0, 0, 0, 0, 0, 1], float), range(3, 8)
    places = np.isin(np.arange(9), seen)
    assert first_place(row(9), amount, 5, reach=1, places=places) == 3
    assert first_place(row(9), amount, 5, reach=1, places=places, return_price=0.1) == 7


def test_a_place_from_which_no_tour_goes_on_comes_last() -> None:
    dest = np.array([[1, 2], [1, 1], [0, 3], [2, 3]])  # nothing leads out of state 1
    assert first_place(dest, np.array([0.0, 5.0, 1.0, 1.0]), 0) in (2, 3)


def test_where_nothing_is_left_there_is_no_tour() -> None:
    assert first_place(row(5), np.zeros(5), 2) == -1


@pytest.mark.parametrize("seed", range(20))
def test_no_other_place_begins_a_shorter_tour(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dest = tree(rng, 9)
    amount = np.where(rng.random(9) < 0.5, rng.uniform(0.5, 1.5, 9), 0.0)
    amount[0], amount[8] = 0.0, 1.0
    chosen = first_place(dest, amount, 0)
    costs = [cost(dest, amount, 0, s) for s in range(9) if amount[s]]
    assert cost(dest, amount, 0, chosen) == pytest.approx(min(costs))


def explored(seed: int, size: int, *, paper: bool = False) -> tuple[list[Step], BoolArray]:
    """Explore a grid with many walls; return the steps and which squares without walls are seen."""
    start = (size // 2) * size + size // 2
    world = HeightGridWorld(HeightMap.random((size, size), seed, walls=0.4, start=start))
    criterion = ReturnHome(1.0, "current" if paper else "start")
    correction = Correction.GENERAL if paper else None
    planner = Planner(Uncover(), [criterion], 0.99, correction)
    algorithm = PaperExplorer if paper else Explorer
    explorer = algorithm(planner, world.grid.belief("known"), world)
    steps = list(explorer.explore(20 * size * size))
    return steps, world.seen & ~world.grid.walls.ravel()


def test_tours_see_the_same_with_a_quarter_fewer_steps_than_algorithm_1() -> None:
    ours, theirs = 0, 0
    for size, runs in ((10, 30), (20, 10), (30, 2)):
        for seed in range(runs):
            steps, seen = explored(seed, size)
            more_steps, seen_too = explored(seed, size, paper=True)
            assert np.array_equal(seen, seen_too)
            ours, theirs = ours + len(steps), theirs + len(more_steps)
    assert ours <= 0.75 * theirs


def test_a_place_is_held_until_something_is_seen() -> None:
    steps, _ = explored(0, 20)
    held = [step.held for step in steps if step.held is not None]
    unseeing = [(before, now) for before, now in pairwise(held) if now.idle]
    assert unseeing
    for before, now in unseeing:
        assert now.proposal is not None
        assert before.proposal is not None
        assert now.proposal.path == before.proposal.path[1:]
