"""Self-loops folded away: trying an action until the state changes is one move.

With γ ∈ (0, 1] and a row p[s, a, ·], repeating a in s until something happens gives::

    value[s] = (reward + γ Σ_{t≠s} p[s, a, t]·value[t]) / leave,   leave = 1 − γ·p[s, a, s].

The chance to leave is summed from the other entries rather than subtracted from one, so that a
success probability of 1e-12 keeps all its digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import gmres, splu

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.models import SparseMDP

NEVER = 1e-250
"""An action that leaves its state with less than this never does, as far as we count on it."""
DENSE = 150
"""Up to this many states a dense solve beats a sparse one."""

ITERATE = 1500
"""Beyond this many states an iterative solve is tried before LU."""

NARROW = 3.0
"""A graph whose edges span no more than this times √S, well ordered, is like a map: LU's."""

RESIDUAL = 4e-15
"""What an iterative solve must come down to, relative to the largest value."""


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """A discounted model without self-loops, unnormalised."""

    onward: csr_array  # [S·A, S] γ·p to other states
    leave: FloatArray  # [S, A] 1 − γ·p[s, a, s]; zero where an undiscounted action only loops

    def q(self, reward: FloatArray, value: FloatArray) -> FloatArray:
        """Give the value [S, A] of repeating an action until it leaves, then `value` [S]."""
        total = reward + (self.onward @ value).reshape(reward.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            q: FloatArray = total / self.leave
        if not self.leave.all():
            q[self.leave == 0.0] = -np.inf  # sits for good: worth no more than giving up
        return q

    def rows(self, states: IntArray, policy: IntArray) -> tuple[csr_array, FloatArray]:
        """Give onward rows [n, S] and leave [n] of `states` under `policy` [S]."""
        actions = self.leave.shape[1]
        picked = states.astype(np.int64) * actions + policy[states]
        return self.onward[picked], self.leave.ravel()[picked]


def fold(model: SparseMDP, discount: float) -> Folded:
    """Fold the self-loops of a model under a discount in (0, 1]."""
    rows = model.transitions.tocoo()
    loop = rows.row // model.actions == rows.col
    onward = csr_array(
        (rows.data[~loop], (rows.row[~loop], rows.col[~loop])), shape=model.transitions.shape
    )
    leave = (1.0 - discount) + discount * (onward.sum(axis=1) + missing_mass(model.transitions))
    leave[leave < NEVER] = 0.0
    onward.data *= discount
    return Folded(onward, leave.reshape(model.states, model.actions))


def missing_mass(rows: csr_array) -> FloatArray:
    """Give what each row lacks to one, to all digits: a row may end the process once in 1e15.

    One less the largest entry is exact where that is above one half, and the others are taken from
    it in extended precision.
    """
    lacks = np.ones(rows.shape[0], np.longdouble)
    filled = np.flatnonzero(np.diff(rows.indptr))
    if filled.size:
        first = rows.indptr[filled]
        largest = np.maximum.reduceat(rows.data, first)
        row = np.repeat(np.arange(filled.size), np.diff(rows.indptr)[filled])
        at = np.flatnonzero(rows.data == largest[row])
        at = at[np.unique(row[at], return_index=True)[1]]  # one of them in each row
        others = rows.data.astype(np.longdouble)
        others[at] = 0.0
        lacks[filled] = (1.0 - largest.astype(np.longdouble)) - np.add.reduceat(others, first)
    return np.maximum(0.0, lacks.astype(np.float64))


def solve_folded(onward: csr_array, leave: FloatArray, gain: FloatArray) -> FloatArray | None:
    """Solve ``leave·x − onward·x = gain`` for columns [n, K], with one step of refinement.

    `onward` is [n, n]. None where rounding makes the system singular.
    """
    if len(leave) <= DENSE:
        among = np.diag(leave) - onward.toarray()
        try:
            value = np.linalg.solve(among, gain)
            return np.asarray(value + np.linalg.solve(among, gain - among @ value), np.float64)
        except np.linalg.LinAlgError:
            return None
    among = (diags_array(leave) - onward).tocsr()
    wide = len(leave) > ITERATE and _width(among) > NARROW * np.sqrt(len(leave))
    if wide and (found := _iterate(among, leave, gain)) is not None:
        return found
    try:
        factors = splu(among.tocsc())
    except RuntimeError:  # SciPy's word for an exactly singular matrix
        return None
    value = factors.solve(gain)
    return np.asarray(value + factors.solve(gain - among @ value), np.float64)


def _width(among: csr_array) -> int:
    """Give how many states an edge spans at most, in an order that keeps neighbours together."""
    if not among.nnz:
        return 0
    order = reverse_cuthill_mckee(among)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=order.dtype)
    row = np.repeat(rank, np.diff(among.indptr))
    return int(np.abs(row - rank[among.indices]).max())


def _iterate(among: csr_array, leave: FloatArray, gain: FloatArray) -> FloatArray | None:
    """Solve by GMRES to rounding, or give None where that takes long.

    A well-mixed model takes a few dozen products with the matrix, where LU would fill it up; one
    with long paths, as a grid, is LU's.
    """
    scaled = diags_array(1.0 / leave) @ among
    value = np.empty_like(gain)
    for k, side in enumerate((gain / leave[:, None]).T):
        found = np.zeros(len(leave))
        for _ in range(3):  # each pass is a step of refinement
            rest = side - scaled @ found
            if np.abs(rest).max() <= RESIDUAL * np.abs(found).max():
                break  # NaN never is
            step, _ = gmres(scaled, rest, rtol=1e-9, atol=0.0, restart=60, maxiter=1)
            found += step
        else:
            return None
        if np.abs(found).max() > 1e14 * np.abs(side).max():  # singular, but for rounding
            return None
        value[:, k] = found
    return value
