"""Models with folded self-loops, and the linear systems that evaluate their policies.

Folding replaces repeated attempts by one move. With γ ∈ (0, 1] and a row p[s, a, ·], repeating a in
s until the state changes gives::

    value[s] = (reward + γ Σ_{t≠s} p[s, a, t]·value[t]) / leave,   leave = 1 − γ·p[s, a, s].

The probability of leaving is computed as the sum of the other entries, not as 1 minus the
self-loop, so that a success probability of 1e-12 keeps all its digits. Systems are solved by LU
with one step of refinement, or by GMRES to `MAX_RESIDUAL`. If every row leads to lower states
only, as on a model over steps left, a policy is evaluated in one pass (`kernels.evaluate_rows`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import gmres, splu

from homeward.arrays import FloatArray, IntArray
from homeward.models import SparseMDP
from homeward.solvers.tolerances import MAX_RESIDUAL, MIN_CHANCE

MAX_DENSE_STATES = 150  # most states for which a dense solve is faster than a sparse one
MIN_GMRES_STATES = 1500  # number of states above which GMRES may be tried before LU
MAX_LU_BANDWIDTH = 3.0  # in √S, up to which LU is faster than GMRES, as on a map


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """A discounted model whose self-loops are folded; its rows are not divided by `leave`."""

    onward: csr_array  # [S·A, S] γ·p[s, a, t] for t ≠ s
    leave: FloatArray  # [S, A] 1 − γ·p[s, a, s]; 0 if γ = 1 and the action never leaves s
    ordered: bool  # whether every entry of `onward` leads to a lower state

    def q(self, reward: FloatArray, value: FloatArray) -> FloatArray:
        """Return the value [S, A] of repeating an action until it leaves, and then `value` [S]."""
        total = reward + (self.onward @ value).reshape(reward.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            q: FloatArray = total / self.leave
        if not self.leave.all():
            q[self.leave == 0.0] = -np.inf  # the action never leaves: it must not be chosen
        return q

    def rows(self, states: IntArray, policy: IntArray) -> tuple[csr_array, FloatArray]:
        """Return the rows [n, S] of `onward` and the entries [n] of `leave` of `states` [n].

        The action of each state is that of `policy` [S].
        """
        actions = self.leave.shape[1]
        picked = states.astype(np.int64) * actions + policy[states]
        return self.onward[picked], self.leave.ravel()[picked]


def fold(model: SparseMDP, discount: float) -> Folded:
    """Return a model with folded self-loops, for a discount γ in (0, 1]."""
    rows = model.transitions
    of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    own = of // model.actions
    loop = own == rows.indices
    onward, leave = rows.copy(), np.ones(rows.shape[0])
    if loop.any():
        entries = rows.data[~loop], (of[~loop], rows.indices[~loop])
        onward = csr_array(entries, shape=rows.shape)
        at = of[loop]
        ends = missing_mass(rows[at])
        leave[at] = (1.0 - discount) + discount * (onward.sum(axis=1)[at] + ends)
        leave[leave < MIN_CHANCE] = 0.0
    ordered = bool((own[~loop] > rows.indices[~loop]).all())
    onward.data *= discount
    return Folded(onward, leave.reshape(model.states, model.actions), ordered)


def missing_mass(rows: csr_array) -> FloatArray:
    """Return 1 − (sum of the row) for each row of a matrix, precise even if it is only 1e-15.

    1 − (largest entry) is exact if that entry is at least one half. The other entries are then
    subtracted in extended precision.
    """
    missing = np.ones(rows.shape[0], np.longdouble)
    filled = np.flatnonzero(np.diff(rows.indptr))
    if filled.size:
        first = rows.indptr[filled]
        largest = np.maximum.reduceat(rows.data, first)
        row = np.repeat(np.arange(filled.size), np.diff(rows.indptr)[filled])
        at = np.flatnonzero(rows.data == largest[row])
        at = at[np.unique(row[at], return_index=True)[1]]  # largest entry of each row
        others = rows.data.astype(np.longdouble)
        others[at] = 0.0
        missing[filled] = (1.0 - largest.astype(np.longdouble)) - np.add.reduceat(others, first)
    return np.maximum(0.0, missing.astype(np.float64))


def solve_folded(onward: csr_array, leave: FloatArray, gain: FloatArray) -> FloatArray | None:
    """Return x [n, K] with leave [n]·x − onward [n, n]·x = gain [n, K]; None if singular."""
    if len(leave) <= MAX_DENSE_STATES:
        dense = np.diag(leave) - onward.toarray()
        try:
            value = np.linalg.solve(dense, gain)
            return np.asarray(value + np.linalg.solve(dense, gain - dense @ value), np.float64)
        except np.linalg.LinAlgError:
            return None
    matrix = (diags_array(leave) - onward).tocsr()
    if len(leave) > MIN_GMRES_STATES:
        wide = _bandwidth(matrix) > MAX_LU_BANDWIDTH * np.sqrt(len(leave))
        if wide and (solution := _iterate(matrix, leave, gain)) is not None:
            return solution
    try:
        factors = splu(matrix.tocsc())
    except RuntimeError:  # raised by SciPy for a singular matrix
        return None
    value = factors.solve(gain)
    return np.asarray(value + factors.solve(gain - matrix @ value), np.float64)


def _bandwidth(matrix: csr_array) -> int:
    """Return the bandwidth of a matrix after reverse Cuthill–McKee ordering."""
    if not matrix.nnz:
        return 0
    order = reverse_cuthill_mckee(matrix)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=order.dtype)
    row = np.repeat(rank, np.diff(matrix.indptr))
    return int(np.abs(row - rank[matrix.indices]).max())


def _iterate(matrix: csr_array, leave: FloatArray, gain: FloatArray) -> FloatArray | None:
    """Return x [n, K] with matrix [n, n]·x = gain, by GMRES; None if it does not converge soon."""
    scaled = diags_array(1.0 / leave) @ matrix
    value = np.empty_like(gain)
    for k, side in enumerate((gain / leave[:, None]).T):
        x = np.zeros(len(leave))
        for _ in range(3):  # steps of refinement
            rest = side - scaled @ x
            if np.abs(rest).max() <= MAX_RESIDUAL * np.abs(x).max():
                break  # never with NaN
            step, _ = gmres(scaled, rest, rtol=1e-9, atol=0.0, restart=60, maxiter=1)
            x += step
        else:
            return None
        if np.abs(x).max() > 1e14 * np.abs(side).max():  # singular up to rounding
            return None
        value[:, k] = x
    return value
