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
from scipy.sparse.linalg import splu

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.models import SparseMDP

ROUNDING = 1e-14
"""Missing mass below this is taken for rounding: the row is meant to sum to one."""
DENSE = 150
"""Up to this many states a dense solve beats a sparse one."""


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
    missing = 1.0 - model.transitions.sum(axis=1)
    missing[missing < ROUNDING] = 0.0
    leave = (1.0 - discount) + discount * (onward.sum(axis=1) + missing)
    onward.data *= discount
    return Folded(onward, leave.reshape(model.states, model.actions))


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
    among = (diags_array(leave) - onward).tocsc()
    try:
        factors = splu(among)
    except RuntimeError:  # SciPy's word for an exactly singular matrix
        return None
    value = factors.solve(gain)
    return np.asarray(value + factors.solve(gain - among @ value), np.float64)
