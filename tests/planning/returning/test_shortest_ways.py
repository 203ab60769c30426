from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.planning.graphs import paths, random_graph

from homeward.arrays import frozen
from homeward.planning.promise import Promise
from homeward.planning.returning.shortest_ways import ShortestWays, Wanted, along, with_way

if TYPE_CHECKING:
    from homeward.arrays import IntArray
    from homeward.planning.returning.shortest_ways import Graph, Keys

STATES, ACTIONS = 6, 3
HOME = frozen(np.zeros(1, np.int64))
SEEDS = range(30)


def searched(graph: Graph, way: IntArray, state: int = 0, most: float = 1.0) -> Keys:
    """Return the ways home if all edges of `way` are free."""
    ways = ShortestWays(len(graph.dest))
    ways.find(Wanted(graph, Promise.of(way), 1.0, HOME, state, most), None, np.inf)
    return ways.keys


def some_way(rng: np.random.Generator) -> IntArray:
    return rng.integers(-1, ACTIONS, STATES).astype(np.int32)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_simple_path_home_adds_less_risk_than_the_one_that_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, way = random_graph(rng, STATES), some_way(rng)
    free, added, steps, choice = searched(graph, way)
    assert (free == way).all()
    for s in range(1, STATES):
        found = [
            (sum(graph.risk[e] for e in path if way[e[0]] != e[1]), path)
            for path in paths(graph, s, {0})
        ]
        least = min((risk for risk, _ in found), default=np.inf)
        if least > 1.0:
            assert added[s] == np.inf
            assert choice[s] == -1
            continue
        assert added[s] == pytest.approx(least, abs=1e-12)
        assert added[s] >= least  # rounded outwards
        fewest = min(
            sum(1.0 / graph.success[e] for e in path)
            for risk, path in found
            if risk <= least + 1e-12
        )
        assert steps[s] == pytest.approx(fewest)


@pytest.mark.parametrize("seed", SEEDS)
def test_following_the_choices_adds_the_risk_that_the_search_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph, way = random_graph(rng, STATES), some_way(rng)
    _, added, _, choice = searched(graph, way)
    charged = np.where(way[:, None] == np.arange(ACTIONS), 0.0, graph.risk)
    total = along(graph.dest, charged[None], choice, HOME, np.arange(STATES))
    np.testing.assert_allclose(total[0], added, atol=1e-12)
    for s in range(STATES):
        edges, risk = with_way(graph, way, way, choice, HOME, s)
        assert (way[edges] != choice[edges]).all()
        assert risk == pytest.approx(added[s], abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_way_that_is_relied_on_is_free_and_its_risk_is_told(seed: int) -> None:
    graph = random_graph(np.random.default_rng(seed), STATES)
    nothing: IntArray = np.full(STATES, -1, np.int32)
    choice = searched(graph, nothing).choice.copy()
    for s in np.flatnonzero(choice >= 0).tolist():
        way, here, edges = nothing.copy(), s, []
        while here != 0:
            edges.append((here, int(choice[here])))
            way[here] = choice[here]
            here = int(graph.dest[edges[-1]])
        ways = ShortestWays(STATES)
        risk, worst = ways.find(Wanted(graph, Promise.of(way), 0.0, HOME, s, 1.0), None, np.inf)
        assert (ways.keys.free == way).all()
        assert ways.keys.added[s] == 0.0
        assert risk == pytest.approx(sum(graph.risk[e] for e in edges))
        assert worst == max(graph.risk[e] for e in edges)


def test_a_way_that_leads_nowhere_has_infinite_risk() -> None:
    graph = random_graph(np.random.default_rng(0), STATES)
    none = Promise.of(np.full(STATES, -1, np.int32))
    found = ShortestWays(STATES).find(Wanted(graph, none, 1.0, HOME, 3, 1.0), None, np.inf)
    assert found == (np.inf, 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_repaired_ways_are_those_of_a_search_from_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "homeward.planning.returning.shortest_ways"
    monkeypatch.setattr(f"{module}.MAX_PARTS", 3)
    monkeypatch.setattr(f"{module}.MAX_CHANGED_SHARE", 0.5)
    rng, states, actions, homes = np.random.default_rng(seed), 30, 4, np.array([0, 7])
    graph, kept = random_graph(rng, states, actions), ShortestWays(states)
    promise = Promise.of(rng.integers(-1, actions, states).astype(np.int32))
    for _ in range(25):
        edges = rng.choice(states * actions, rng.integers(0, 6), replace=False)
        risk = graph.risk.copy()
        risk.reshape(-1)[edges] = rng.choice([0.0, 0.01, 0.05, 0.1, 1.0], len(edges))
        works = np.where(graph.success > 0.0, graph.success, 0.5)
        success = np.where(risk < 1.0, works, 0.0)
        graph = graph._replace(risk=frozen(risk), success=frozen(success))
        at = rng.choice(states, rng.integers(0, 3), replace=False)
        promise = promise.after(at, rng.integers(-1, actions, len(at)).astype(np.int32), 0.0)
        free, state = float(rng.choice([0.0, 0.02])), int(rng.integers(states))
        wanted = Wanted(graph, promise, free, homes, state, 0.5)
        until = float(rng.choice([0.0, 0.06, np.inf]))
        risks, cold = kept.find(wanted, np.unique(edges // actions), until), ShortestWays(states)
        assert risks == cold.find(wanted, None, np.inf)
        near = cold.keys.added <= until
        assert (kept.keys.added[~near] > until).all()
        for mine, other in zip(kept.keys, cold.keys, strict=True):
            np.testing.assert_array_equal(mine[near], other[near])
        if rng.random() < 0.3:
            kept.extend(wanted, np.inf)
            for mine, other in zip(kept.keys, cold.keys, strict=True):
                assert mine.tobytes() == other.tobytes()
