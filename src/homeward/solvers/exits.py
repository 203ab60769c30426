"""Exits: actions that pay once and end the process, written into a model and its totals.

On `SparseMDP` an exit's row is empty. On `Moves`, where nothing ends, it is a move that never works
and pays 1 − γ of it each time: repeated for good, that adds up to the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from scipy.sparse import diags_array

from homeward.models import Moves, SparseMDP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import Model


def end_at(
    model: Model,
    discount: float,
    exits: BoolArray,
    totals: FloatArray,
    value: FloatArray,
    worths: Sequence[FloatArray | None],
) -> Model:
    """Make `exits` [S, A] end the process; `totals` [1 + K, S, A] are written to. Gives the model.

    Under the first total an exit pays its reward and the discounted mean of `value` [S] after it;
    under the others 1 − γ times their `worths`, each [S] or [S, A], or None for nothing.
    """
    if isinstance(model, Moves):
        success = np.empty_like(model.success)
        leave_moves(model.dest, model.success, discount, exits, value, totals[0], success)
        for total, worth in zip(totals[1:], worths, strict=True):
            pay_once(exits, _table(worth, model.states), (1.0 - discount) ** 2, total)
        return model.with_success(success)
    outside = np.flatnonzero(exits.ravel())
    ahead = discount * (model.transitions[outside] @ value)
    totals[0].reshape(-1)[outside] += ahead
    for total, worth in zip(totals[1:], worths, strict=True):
        pay_once(exits, _table(worth, model.states), 1.0 - discount, total)
    inside = diags_array((~exits).astype(np.float64).ravel())
    rows = (inside @ model.transitions).tocsr()
    rows.eliminate_zeros()
    return SparseMDP(rows, model.reward, model.state_names, model.action_names)


def _table(worth: FloatArray | None, states: int) -> FloatArray:
    """See a worth as a table [S, 1] or [S, A]."""
    if worth is None:
        return np.zeros((states, 1))
    return worth[:, None] if worth.ndim == 1 else worth


@njit(cache=True, error_model="numpy")
def leave_moves(
    dest: IntArray,
    success: FloatArray,
    discount: float,
    exits: BoolArray,
    value: FloatArray,
    objective: FloatArray,
    rest: FloatArray,
) -> None:
    """Write what exits pay each time, into ``objective`` [S, A], and the ``rest`` that can work."""
    states, actions = success.shape
    for s in range(states):
        for a in range(actions):
            p = success[s, a]
            rest[s, a] = p
            if exits[s, a]:
                ahead = p * value[dest[s, a]] + (1.0 - p) * value[s]
                objective[s, a] = (1.0 - discount) * (objective[s, a] + discount * ahead)
                rest[s, a] = 0.0


@njit(cache=True, error_model="numpy")
def pay_once(exits: BoolArray, worth: FloatArray, factor: float, total: FloatArray) -> None:
    """Write ``factor·worth`` into a total [S, A] at the exits; ``worth`` is [S, 1] or [S, A]."""
    states, actions = total.shape
    wide = worth.shape[1] > 1
    for s in range(states):
        for a in range(actions):
            if exits[s, a]:
                total[s, a] = factor * worth[s, a if wide else 0]
