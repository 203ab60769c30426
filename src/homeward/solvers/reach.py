"""Reachable states, and an objective whose scale depends on them alone.

Tolerances are relative to the largest value of an objective. A reward that no policy can reach from
the start must not count: next to an unreachable 1e12, a plan of value 9 would look worthless. So if
the largest rewards are unreachable, the objective is set to 0 in every unreachable state. That
changes no value in the start.
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
"""A reachable reward of this fraction of the largest settles the scale of the objective."""


def silence_unreachable(model: Model, objective: FloatArray, start: int) -> None:
    """Set an objective [S, A] to 0 in unreachable states if they have the largest; −inf stays."""
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
    """Return the mask [S] of states that moves with positive probability lead to from a state."""
    first = np.arange(0, dest.size + 1, dest.shape[1])
    return _search(success.ravel(), dest.ravel(), first, state)


def _search(data: FloatArray, target: IntArray, first: IntArray, start: int) -> BoolArray:
    """Return the states [S] that edges with positive data, in rows by state, lead to."""
    seen = np.zeros(len(first) - 1, np.bool_)
    edges = csr_array((data, target, first), shape=(len(seen), len(seen)), copy=True)
    edges.eliminate_zeros()
    seen[breadth_first_order(edges, start, return_predecessors=False)] = True
    return seen
