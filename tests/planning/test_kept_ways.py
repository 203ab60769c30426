from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.planning.graphs import random_graph

from homeward.arrays import frozen
from homeward.planning.kept_ways import KeptWays, Search
from homeward.planning.promise import Promise

if TYPE_CHECKING:
    from homeward.planning.graph import Graph

STATES, ACTIONS = 30, 4
HOMES = np.array([0, 7])


def changed(graph: Graph, rng: np.random.Generator) -> Graph:
    """Return the graph with other risks of some edges."""
    at = rng.choice(STATES * ACTIONS, rng.integers(0, 6), replace=False)
    blocked = graph.blocked.copy()
    blocked.reshape(-1)[at] = rng.choice([0.0, 0.01, 0.05, 0.1, 1.0], len(at))
    success = np.where(blocked < 1.0, np.where(graph.success > 0.0, graph.success, 0.5), 0.0)
    return graph._replace(blocked=frozen(blocked), success=frozen(success))


@pytest.mark.parametrize("seed", range(20))
def test_repaired_ways_are_those_of_a_search_from_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homeward.planning.kept_ways.MAX_PARTS", 3)
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, STATES, ACTIONS)
    kept = KeptWays(1, STATES)
    account = Promise.of(rng.integers(-1, ACTIONS, STATES).astype(np.int32))
    repaired = 0
    for _ in range(25):
        graph = changed(graph, rng)
        at = rng.choice(STATES, rng.integers(0, 3), replace=False)
        account = account.after(at, rng.integers(-1, ACTIONS, len(at)).astype(np.int32), 0.0)
        trusted, state = float(rng.choice([0.0, 0.02])), int(rng.integers(STATES))
        search = Search(graph, account, trusted, HOMES, state, 0.5)
        until = float(rng.choice([0.0, 0.06, np.inf]))
        repaired += kept._changes(kept._known[0], search) is not None
        ways, *risk = kept.find(0, search, until)
        cold, *same = KeptWays(1, STATES).find(0, search, np.inf)
        assert risk == same
        near = cold.added <= until
        assert (ways.added[~near] > until).all()
        for mine, other in zip(ways, cold, strict=True):
            np.testing.assert_array_equal(mine[near], other[near])
        if rng.random() < 0.3:
            kept.extend(0, search, np.inf)
            for mine, other in zip(ways, cold, strict=True):
                assert mine.tobytes() == other.tobytes()
    assert repaired > 20


def test_many_changes_are_searched_from_nothing() -> None:
    rng = np.random.default_rng(0)
    graph, kept = random_graph(rng, STATES, ACTIONS), KeptWays(1, STATES)
    account = Promise.of(np.full(STATES, -1, np.int32))
    search = Search(graph, account, 0.0, HOMES, 3, 0.5)
    kept.find(0, search, np.inf)
    assert kept._changes(kept._known[0], search) is not None
    other = graph.blocked.copy()
    other.reshape(-1)[:STATES] = 0.123
    many = search._replace(graph=graph._replace(blocked=other))
    assert kept._changes(kept._known[0], many) is None
    assert kept._changes(kept._known[0], search._replace(most=1.0)) is None
