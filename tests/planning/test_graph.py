from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.planning.graphs import graph_from, paths, random_graph

from homeward.arrays import frozen
from homeward.planning.graph import relied_on, total_risks, ways_home, with_way
from homeward.planning.kept_ways import KeptWays, Search
from homeward.planning.promise import Promise

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.planning.graph import Graph

STATES = 6
HOME = frozen(np.zeros(1, np.int64))  # read-only, as the planner has it: compiled already
SEEDS = range(30)


def searched(
    graph: Graph, free: IntArray, most: float = 1.0, shortest: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Return the added and the total risk, steps and choice of the ways to state 0."""
    found = ways_home(graph, free, 1.0, HOME, 0, most, shortest)
    return found[3], found[4], found[5], found[6]


@pytest.mark.parametrize("seed", SEEDS)
def test_both_searches_find_the_same_ways(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, STATES)
    way = some_free(graph, rng)
    search = Search(graph, Promise.of(way), 0.05, HOME, 2, 0.5)
    (free, added, steps, choice), *risks = KeptWays(1, STATES).find(0, search, np.inf)
    found = ways_home(graph, way, 0.05, HOME, 2, 0.5, False)
    assert risks == [*found[1:3]]
    total = total_risks(graph, choice, HOME, np.arange(STATES))
    for mine, other in zip(
        (free, added, total, steps, choice), (found[0], *found[3:]), strict=False
    ):
        np.testing.assert_array_equal(mine, other)


def some_free(graph: Graph, rng: np.random.Generator) -> IntArray:
    return frozen(rng.integers(-1, graph.dest.shape[1], len(graph.dest)).astype(np.int32))


def no_way(states: int) -> IntArray:
    return frozen(np.full(states, -1, np.int32))


@pytest.mark.parametrize("seed", SEEDS)
def test_no_simple_path_home_adds_less_risk_than_the_one_that_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, STATES)
    free = some_free(graph, rng)
    added, total, steps, choice = searched(graph, free)
    for s in range(1, STATES):
        found = [
            (sum(graph.blocked[e] for e in path if free[e[0]] != e[1]), path)
            for path in paths(graph, s, {0})
        ]
        least = min((risk for risk, _ in found), default=np.inf)
        if least > 1.0:
            assert added[s] == np.inf
            assert choice[s] == -1
            continue
        assert added[s] == pytest.approx(least, abs=1e-12)
        quickest = min(
            sum(1.0 / graph.success[e] for e in path)
            for risk, path in found
            if risk <= least + 1e-12
        )
        assert steps[s] == pytest.approx(quickest)
        assert total[s] >= added[s] - 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_the_shortest_way_home_has_the_fewest_steps_where_risk_is_no_limit(seed: int) -> None:
    graph = random_graph(np.random.default_rng(seed), STATES)
    steps = searched(graph, no_way(STATES), np.inf, shortest=True)[2]
    for s in range(1, STATES):
        fewest = min(
            (sum(1.0 / graph.success[e] for e in path) for path in paths(graph, s, {0})),
            default=np.inf,
        )
        assert steps[s] == pytest.approx(fewest)


@pytest.mark.parametrize("seed", SEEDS)
def test_following_the_choices_adds_the_risk_that_the_search_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, STATES)
    free = some_free(graph, rng)
    added, _, _, choice = searched(graph, free)
    for s in range(STATES):
        edges, risk = with_way(graph, free, free.copy(), choice, HOME, s)
        assert (free[edges] != choice[edges]).all()
        assert risk == pytest.approx(added[s], abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_relied_on_is_the_way_home_and_what_is_trusted(seed: int) -> None:
    graph = random_graph(np.random.default_rng(seed), STATES)
    nothing = no_way(STATES)
    choice = searched(graph, nothing)[3]
    dest = graph.dest
    for s in np.flatnonzero(choice >= 0).tolist():
        way = nothing.copy()
        changed, _ = with_way(graph, nothing, nothing.copy(), choice, HOME, s)
        way[changed] = choice[changed]
        edges, here = [], s
        while here != 0:
            edges.append((here, int(way[here])))
            here = int(dest[here, way[here]])
        assert {s for s, _ in edges} == set(np.flatnonzero(way >= 0).tolist())
        free, total, worst = relied_on(graph, frozen(way), 0.0, HOME, s)
        assert (free == way).all()
        assert total == pytest.approx(sum(graph.blocked[e] for e in edges))
        assert worst == max(graph.blocked[e] for e in edges)
        for trusted in (0.0, 0.1):
            at_home, none, _ = relied_on(graph, frozen(way), trusted, HOME, 0)
            assert none == 0.0
            kept = [e for e in edges if graph.blocked[e] <= trusted]
            assert [(s, int(at_home[s])) for s in np.flatnonzero(at_home >= 0).tolist()] == sorted(
                kept
            )


def test_a_way_that_leads_nowhere_has_infinite_risk() -> None:
    graph = random_graph(np.random.default_rng(0), STATES)
    nothing = no_way(STATES)
    assert relied_on(graph, nothing, 1.0, HOME, 3)[1:] == (np.inf, 1.0)


def test_the_order_of_states_does_not_change_what_a_way_home_adds() -> None:
    graph = random_graph(np.random.default_rng(3), 4, 2)
    nothing = no_way(4)
    added = searched(graph, nothing)[0]
    for order in permutations(range(1, 4)):
        at = np.array([0, *order])  # the new state i is the old state at[i]
        dest = np.argsort(at)[graph.dest[at]]
        other = graph_from(dest, graph.success[at], graph.blocked[at])
        assert searched(other, nothing)[0] == pytest.approx(added[at])
