"""Reachable states, and an objective whose scale depends on reachable states alone.

Tolerances are relative to the largest value of an objective. A reward that no policy can reach from
the start must not count: compared with an unreachable 1e12, a plan of value 9 would count as
worthless. So if the largest rewards are unreachable, the objective is set to 0 in every unreachable
state. This does not change the value of the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from homeward.models import Moves

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import Model

LARGE_FRACTION = 0.1
"""If a reachable reward is at least this fraction of the largest, the objective is not changed."""


def silence_unreachable(model: Model, objective: FloatArray, start: int) -> None:
    """Set `objective` [S, A] to 0 in unreachable states if the largest rewards are there.

    Entries of −inf stay.
    """
    usable = objective > -np.inf
    size = np.where(usable, np.abs(objective), 0.0)
    is_large = size.max(axis=1) >= LARGE_FRACTION * size.max()
    if is_large[start]:
        return
    if isinstance(model, Moves):
        seen = reached(model.dest, np.where(usable, model.success, 0.0), start)
    else:
        rows = model.transitions
        data = rows.data * np.repeat(usable.ravel(), np.diff(rows.indptr))
        seen = _search(data, rows.indices, rows.indptr[:: model.actions], start)
    if not is_large[seen].any():
        objective[~seen[:, None] & usable] = 0.0


def reached(dest: IntArray, success: FloatArray, state: int) -> BoolArray:
    """Return the mask [S] of states that moves with positive probability reach from `state`."""
    first = np.arange(0, dest.size + 1, dest.shape[1])
    return _search(success.ravel(), dest.ravel(), first, state)


def _search(data: FloatArray, target: IntArray, first: IntArray, start: int) -> BoolArray:
    """Return the mask [S] of states that edges with positive `data` reach from `start`.

    The edges are those of a CSR matrix [S, S] with `data`, column indices `target` and row
    pointers `first`.
    """
    seen = np.zeros(len(first) - 1, np.bool_)
    edges = csr_array((data, target, first), shape=(len(seen), len(seen)), copy=True)
    edges.eliminate_zeros()
    seen[breadth_first_order(edges, start, return_predecessors=False)] = True
    return seen
