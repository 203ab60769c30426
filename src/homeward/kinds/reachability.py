"""The cells of a map: ways between them by moves that work, and distances from its middle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from homeward.arrays import frozen

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import Moves


def move_graph(dest: IntArray, works: BoolArray) -> Any:
    """Return the moves that work [S, A] as a sparse matrix [S, S]."""
    source, action = np.nonzero(works)
    ends = source.astype(np.int32), dest[source, action]
    return csr_array((np.ones(len(source), np.int8), ends), shape=(len(dest), len(dest)))


def way_back_of(moves: Moves, start: int) -> BoolArray:
    """Return the mask [S] of the states from which moves that surely work lead to the start."""
    found = np.zeros(moves.states, dtype=bool)
    back = move_graph(moves.dest, moves.success == 1.0).T.tocsr()
    found[breadth_first_order(back, start, return_predecessors=False)] = True
    return frozen(found)


def away_from_middle(shape: tuple[int, int], size: tuple[float, float]) -> FloatArray:
    """Return the distance [S] in m of each cell from the middle of a map; `size` is a cell's."""
    row, column = np.indices(shape).reshape(2, -1)
    down, across = row - (shape[0] - 1) / 2, column - (shape[1] - 1) / 2
    away: FloatArray = np.hypot(size[0] * down, size[1] * across)
    return away
