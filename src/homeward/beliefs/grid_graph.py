"""The graph of a grid: cells are numbered row by row, and every cell has nine actions.

Action 0 is `stay`; actions 1 to 8 move to the eight neighbours, clockwise from north. Without
`stay`, these are actions 0 to 7. A move off the map stays in its cell. All beliefs on grids use
this order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from homeward.arrays import BoolArray, IntArray, index
from homeward.beliefs.observations import Labels, Transition
from homeward.compiling import njit
from homeward.errors import ImpossibleObservationError, InvalidInputError
from homeward.models import Moves

NAMES = ("stay", "N", "NE", "E", "SE", "S", "SW", "W", "NW")
STEPS = ((0, 0), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
"""Offset of each action: rows down, columns to the right."""


@njit(cache=True)
def back(action: int) -> int:
    """Return the action that leads back from the destination of `action`; both are from 1 to 8."""
    return action + 4 if action <= 4 else action - 4


BACK = np.array([0, *((action + 3) % 8 + 1 for action in range(1, len(STEPS)))])
"""The action that leads back, by action; `stay` is its own."""


def grid_size(shape: object, error: type[InvalidInputError]) -> int:
    """Return the number of cells; raise unless `shape` is a valid pair (rows, columns)."""
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise error(f"the shape is {shape!r}, expected (rows, columns)")
    rows = index(shape[0], 2**31, "the shape's rows", error)
    columns = index(shape[1], 2**31, "the shape's columns", error)
    if not 1 <= rows * columns < 2**31:
        raise error(f"a grid of {rows} × {columns} cells is empty or has 2^31 cells or more")
    return rows * columns


@lru_cache(maxsize=8)
def grid_graph(rows: int, columns: int, stay: bool = True) -> Moves:
    """Return the graph of a grid, with or without the action `stay`; every action works."""
    first = 0 if stay else 1
    state = np.arange(rows * columns, dtype=np.int32)
    row, column = np.divmod(state, np.int32(columns))
    dest = np.empty((rows * columns, len(STEPS) - first), np.int32)
    for a, (down, right) in enumerate(STEPS[first:]):
        r, c = row + down, column + right
        inside = (r >= 0) & (r < rows) & (c >= 0) & (c < columns)
        dest[:, a] = np.where(inside, r * columns + c, state)
    return Moves(dest, np.broadcast_to(np.float64(1.0), dest.shape), action_names=NAMES[first:])


def moves_at(cells: IntArray, dest: IntArray) -> IntArray:
    """Return the moves [m] to and from `cells` [n] as state·A + action, ascending.

    `dest` [S, A] are the destinations of a `grid_graph`.
    """
    actions, ends = dest.shape[1], dest[cells].astype(np.int64)
    first = len(STEPS) - actions  # 0 with `stay`, else 1
    there = ends != cells[:, None]
    out = (cells[:, None].astype(np.int64) * actions + np.arange(actions))[there]
    into = (ends * actions + BACK[first:] - first)[there]
    return np.unique(np.concatenate([out, into]))


class Attempt(NamedTuple):
    """A move that was tried: `action` in `state` leads to `there`, and `worked` or did not."""

    state: int
    action: int
    there: int
    worked: bool


def attempt_of(moved: Transition, graph: Moves, blocked: BoolArray) -> Attempt:
    """Return an observed move as an `Attempt`; raise if it is impossible on the graph.

    `blocked` [S] is the mask of cells in which no move can start.
    """
    state, action, after = moved.numbers(Labels.of(graph))
    there = int(graph.dest[state, action])
    if after not in (state, there):
        raise ImpossibleObservationError(
            f"{moved} ends neither in its start nor in its destination s={there}"
        )
    if blocked[state]:
        raise ImpossibleObservationError(f"{moved} starts in cell s={state}, which is blocked")
    return Attempt(state, action, there, after == there)
