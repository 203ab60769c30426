"""Small random move-or-stay graphs for the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import frozen
from homeward.models import Moves
from homeward.planning.returning.moves import NO_COST
from homeward.planning.returning.shortest_ways import Graph
from homeward.solvers.paths import ways_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homeward.arrays import FloatArray, IntArray
    from homeward.bonuses import Looks


def graph_from(
    dest: IntArray, success: FloatArray, blocked: FloatArray, least: FloatArray | None = None
) -> Graph:
    """Return a graph with these risks of its edges, and lower bounds on them."""
    model = Moves(dest, success)
    bounded = np.flatnonzero((blocked if least is None else least) != blocked)
    least = blocked.ravel()[bounded] if least is None else least.ravel()[bounded]
    edges = model.success, frozen(blocked), NO_COST, frozen(bounded), frozen(least)
    return Graph(model.dest, *edges, *ways_to(model))


def random_graph(rng: np.random.Generator, states: int = 8, actions: int = 3) -> Graph:
    """Return a graph with random destinations, some moves sure and some doubtful."""
    dest = rng.integers(0, states, (states, actions))
    success = rng.choice([0.0, 0.25, 0.5, 1.0], dest.shape, p=[0.1, 0.2, 0.2, 0.5])
    doubt = rng.choice([0.0, 0.0, 0.05, 0.1, 0.2], dest.shape)
    blocked = np.where(success > 0.0, doubt, 1.0)
    blocked[dest == np.arange(states)[:, None]] = 0.0
    return graph_from(dest, success, blocked)


def random_looks(rng: np.random.Generator, states: int, *, logarithmic: bool) -> Looks:
    """Return looks that reach the cell itself and its neighbour to the right."""
    from homeward.bonuses import Looks

    down, right = np.zeros(2, np.int64), np.arange(2)
    amount = rng.choice([0.0, 0.5, 2.0], states)
    return Looks.of((1, states), (down, right), np.array([1.0, 0.3]), amount, logarithmic)


def paths(graph: Graph, start: int, ends: set[int]) -> Iterator[list[tuple[int, int]]]:
    """Yield the simple paths from a state to any of `ends`, as edges."""

    def extend(state: int, met: set[int]) -> Iterator[list[tuple[int, int]]]:
        if state in ends:
            yield []
            return
        for a, there in enumerate(graph.dest[state].tolist()):
            if there not in met and graph.success[state, a] > 0.0:
                for rest in extend(there, met | {there}):
                    yield [(state, a), *rest]

    yield from extend(start, {start})
