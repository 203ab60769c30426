"""The graph of a grid: its cells row by row, and the nine moves that every cell has.

The actions are `stay`, then the eight neighbours clockwise from north. A move off the map stays in
its cell. All beliefs on grids share this order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from homeward.arrays import index
from homeward.errors import ImpossibleObservationError
from homeward.models import Moves

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, IntArray
    from homeward.beliefs.observations import Transition
    from homeward.errors import InvalidInputError

NAMES = ("stay", "N", "NE", "E", "SE", "S", "SW", "W", "NW")
STEPS = ((0, 0), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
"""How many rows down and columns to the right each action goes."""


@njit(cache=True)
def back(action: int) -> int:
    """Return the action, 1 to 8, that undoes a move."""
    return action + 4 if action <= 4 else action - 4


def grid_size(shape: object, error: type[InvalidInputError]) -> int:
    """Return the number of cells; raise unless `shape` is (rows, columns) of a grid."""
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise error(f"the shape is {shape!r}, expected (rows, columns)")
    rows = index(shape[0], 2**31, "the shape's rows", error)
    columns = index(shape[1], 2**31, "the shape's columns", error)
    if not 1 <= rows * columns < 2**31:
        raise error(f"a grid of {rows} × {columns} cells has no cells, or too many")
    return rows * columns


@lru_cache(maxsize=8)
def grid_graph(rows: int, columns: int, stay: bool = True) -> Moves:
    """Return the graph of a grid, with or without the action `stay`; every move works."""
    first = 0 if stay else 1
    state = np.arange(rows * columns, dtype=np.int32)
    row, column = np.divmod(state, np.int32(columns))
    dest = np.empty((rows * columns, len(STEPS) - first), np.int32)
    for a, (down, right) in enumerate(STEPS[first:]):
        r, c = row + down, column + right
        inside = (r >= 0) & (r < rows) & (c >= 0) & (c < columns)
        dest[:, a] = np.where(inside, r * columns + c, state)
    return Moves(dest, np.broadcast_to(np.float64(1.0), dest.shape), action_names=NAMES[first:])


def tried(moved: Transition, dest: IntArray, blocked: BoolArray) -> tuple[int, bool]:
    """Return the destination of an attempted move, and whether it was reached.

    Raise if the outcome is impossible on the graph `dest` [S, A] with `blocked` [S] cells.
    """
    moved.check(*dest.shape)
    there = int(dest[moved.state, moved.action])
    if moved.next_state not in (moved.state, there):
        raise ImpossibleObservationError(
            f"{moved} ends neither where it began nor at its destination s={there}"
        )
    if blocked[moved.state]:
        raise ImpossibleObservationError(f"{moved} began in cell s={moved.state}, which is blocked")
    return there, moved.next_state == there
