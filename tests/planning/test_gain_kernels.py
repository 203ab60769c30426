from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.planning.graphs import graph_from, paths, random_graph, random_looks

from homeward.arrays import frozen
from homeward.bonuses import Looks
from homeward.planning.gain_kernels import (
    EVERYWHERE,
    Ground,
    Scratch,
    follow,
    gain_at,
    look_ahead,
    search_outward,
)

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray
    from homeward.planning.returning.shortest_ways import Graph


def on(graph: Graph, share: FloatArray, allowed: BoolArray = EVERYWHERE) -> Ground:
    """Return the ground on which coming home from a state spends a `share` [S] of the budget."""
    return Ground(graph.dest, graph.success, allowed, share[None], np.ones(1))


STATES = 6
SEEDS = range(30)
SCRATCH = Scratch.of(STATES)


def assert_clean() -> None:
    """Assert that a search has left its arrays as they were."""
    for found, new in zip(SCRATCH[:-1], Scratch.of(STATES)[:-1], strict=True):
        np.testing.assert_array_equal(found, new)


def distances(graph: Graph, start: int, reachable: np.ndarray) -> FloatArray:
    """Return the expected steps [S] by relaxing every edge until nothing changes."""
    steps = np.full(len(graph.dest), np.inf)
    steps[start] = 0.0
    for _ in range(len(graph.dest)):
        for s, a in np.ndindex(graph.dest.shape):
            t, p = graph.dest[s, a], graph.success[s, a]
            if p > 0.0 and reachable[t]:
                steps[t] = min(steps[t], steps[s] + 1.0 / p)
    return steps


def gains(looks: Looks) -> FloatArray:
    """Return what one look from each place [S] tells, by the formula."""
    found = np.zeros(len(looks.amount))
    for s in range(len(found)):
        for right, weight in zip(looks.right.tolist(), looks.weight.tolist(), strict=True):
            if s + right < len(found):
                v = looks.amount[s + right]
                found[s] += 0.5 * np.log1p(v * weight) if looks.logarithmic else v
    return found


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_no_place_has_a_better_rate_than_the_one_that_is_found(
    seed: int, logarithmic: bool
) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, STATES)
    looks = random_looks(rng, STATES, logarithmic=logarithmic)
    reachable = rng.random(STATES) < 0.8
    steps, told = distances(graph, 0, reachable), gains(looks)
    for extra, power in ((0.0, 1.0), (1.0, 1.0), (1.0, 4.0)):
        away = steps + extra
        worth = np.where(away > 0.0, told / np.where(away > 0.0, away, 1.0) ** power, 0.0)
        ground, bounds = on(graph, np.where(reachable, 0.0, 2.0)), np.full(STATES, np.inf)
        given = ground, 1.0, 0, looks, extra, power, 0.0, bounds, looks.highest, False
        path, gain, taken, share = search_outward(*given, SCRATCH)[:4]
        assert told.max() <= looks.highest
        assert_clean()
        if worth.max() <= 0.0:
            assert len(path) == 0
            continue
        place = path[-1]
        assert share == ground.shares(path).max()
        assert gain == pytest.approx(told[place])
        assert taken == pytest.approx(away[place])
        assert gain / taken**power == pytest.approx(worth.max())
        assert path[0] == 0
        for k in range(len(path)):
            legs = path[: k + 1], looks, False, extra
            _, told_there, so_far = follow(ground, 0.0, *legs, SCRATCH)
            assert so_far == pytest.approx(away[path[k]])
            assert told_there == pytest.approx(told[path[k]])


def test_a_place_whose_way_home_is_too_risky_is_not_entered() -> None:
    # A corridor 0 – 1 – 2; the place at its end tells 2, the one before it 0.5.
    dest = np.array([[0, 1], [0, 2], [1, 2]])
    here, graph = np.zeros(1, int), graph_from(dest, np.ones((3, 2)), np.zeros((3, 2)))
    looks = Looks.of((1, 3), (here, here), np.ones(1), np.array([0.0, 0.5, 2.0]), False)
    ground = on(graph, np.array([0.0, 0.0, 0.3]))
    for most, place, gain in ((0.1, 1, 0.5), (0.3, 2, 2.0)):
        given = ground, most, 0, looks, 0.0, 1.0, 0.0, np.full(3, np.inf), 2.0, False
        found = search_outward(*given, Scratch.of(3))
        assert (found.path[-1], found.gain, found.share) == (place, gain, 0.3 * (place == 2))
        steps = follow(ground, most, np.array([0, 1, 2]), looks, False, 0.0, Scratch.of(3))[2]
        assert np.isfinite(steps) == (most >= 0.3)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_place_has_more_gain_per_risk_than_the_one_that_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, STATES)
    looks, risk = random_looks(rng, STATES, logarithmic=False), rng.uniform(0.1, 1.5, STATES)
    told, floor = gains(looks), 0.1
    bounds = np.full(STATES, np.inf)
    given = on(graph, risk), np.inf, 0, looks, 0.0, 1.0, floor, bounds, looks.highest, True
    path, gain, steps, worst, over, over_gain, _ = search_outward(*given, SCRATCH)
    assert_clean()
    best, least = 0.0, np.inf
    for s in range(1, STATES):
        ways = [
            (
                max(risk[graph.dest[e]] for e in way),
                sum(1.0 / graph.success[e] for e in way),
            )
            for way in paths(graph, 0, {s})
        ]
        if not ways:
            continue
        needed, away = min(ways)
        if told[s] >= floor * away and told[s] > 0.0:
            if needed > 1.0:
                least = min(least, needed)
            else:
                best = max(best, told[s] / needed)
    assert over == least
    assert (len(path) == 0) == (best == 0.0)
    if len(path):
        assert gain / worst == pytest.approx(best)
        assert gain >= floor * steps
    if over < np.inf:
        assert over_gain > 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_path_ahead_tells_what_its_looks_tell_one_after_the_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, STATES)
    looks = random_looks(rng, STATES, logarithmic=True)
    anywhere = on(graph, np.zeros(STATES))
    path, gain, steps, _ = look_ahead(anywhere, 0.0, 0, looks, 0.2, 50, 3, SCRATCH)
    weight, taken = np.zeros(STATES), 0.0
    for s, t in pairwise(path.tolist()):
        taken += 1.0 / graph.success[s][graph.dest[s] == t].max()
        for right, w in zip(looks.right.tolist(), looks.weight.tolist(), strict=True):
            if t + right < STATES:
                weight[t + right] += w
    assert gain == pytest.approx(0.5 * np.log1p(looks.amount * weight).sum())
    assert steps >= taken - 1e-12
    assert follow(anywhere, 0.0, path, looks, True, 0.0, SCRATCH)[1] == pytest.approx(gain)
    assert_clean()


def test_what_was_looked_at_tells_less_and_a_square_nothing() -> None:
    rng = np.random.default_rng(0)
    for logarithmic in (True, False):
        looks = random_looks(rng, STATES, logarithmic=logarithmic)
        fresh = [gain_at(s, looks, np.zeros(STATES), 1) for s in range(STATES)]
        again = [gain_at(s, looks, np.ones(STATES), 1) for s in range(STATES)]
        assert fresh == pytest.approx(gains(looks))
        assert all(b < a or a == 0.0 for a, b in zip(fresh, again, strict=True))
        if not logarithmic:
            assert again == [0.0] * STATES


def test_the_likeliest_of_two_ways_to_a_neighbour_is_taken() -> None:
    dest = np.array([[1, 1, 0], [0, 0, 1]])
    success = np.array([[0.3, 0.6, 1.0], [1.0, 1.0, 1.0]])
    graph = graph_from(dest, success, 1.0 - success)
    looks, scratch = random_looks(np.random.default_rng(0), 2, logarithmic=True), Scratch.of(2)
    safe, share = 0.0, np.zeros(2)
    actions, _, steps = follow(on(graph, share), safe, np.array([0, 1]), looks, False, 1.0, scratch)
    assert (actions.tolist(), steps) == ([1], 1.0 + 1.0 / 0.6)
    only = on(graph, share, frozen(np.array([[True, False, True], [True, True, True]])))
    assert follow(only, safe, np.array([0, 1]), looks, False, 0.0, scratch)[0].tolist() == [0]
    path = np.array([1, 1, 0, 0, 1, 1])
    actions, _, steps = follow(on(graph, share), safe, path, looks, False, 0.0, scratch)
    assert (actions[-1], steps) == (2, 4.0 + 1.0 / 0.6)
    nowhere = graph._replace(success=frozen(np.zeros_like(success)))
    assert (
        follow(on(nowhere, share), safe, np.array([0, 1]), looks, False, 0.0, scratch)[2] == np.inf
    )
