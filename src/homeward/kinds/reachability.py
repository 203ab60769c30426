"""Which states of a map can reach the start by moves that succeed; distances from the middle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen

if TYPE_CHECKING:
    from homeward.models import Moves


def move_graph(dest: IntArray, works: BoolArray) -> Any:
    """Return the moves in the mask `works` [S, A] as a sparse adjacency matrix [S, S]."""
    source, action = np.nonzero(works)
    ends = source.astype(np.int32), dest[source, action]
    return csr_array((np.ones(len(source), np.int8), ends), shape=(len(dest), len(dest)))


def can_reach_start(moves: Moves, start: int) -> BoolArray:
    """Return the mask [S] of states that can reach the start by moves with success 1."""
    found = np.zeros(moves.states, dtype=bool)
    back = move_graph(moves.dest, moves.success == 1.0).T.tocsr()
    found[breadth_first_order(back, start, return_predecessors=False)] = True
    return frozen(found)


def away_from_middle(shape: tuple[int, int], size: tuple[float, float]) -> FloatArray:
    """Return the distance [S] of each cell from the middle of the map, in m as `size` is."""
    row, column = np.indices(shape).reshape(2, -1)
    down, across = row - (shape[0] - 1) / 2, column - (shape[1] - 1) / 2
    away: FloatArray = np.hypot(size[0] * down, size[1] * across)
    return away
