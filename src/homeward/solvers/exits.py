"""Exits: actions that pay once and end the process, added to a model and its totals.

On `SparseMDP` an exit's row is empty. `Moves` can't end the process: there an exit is a move that
never works and pays (1 − γ) times the amount at every step, which has the same discounted total.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import diags_array

from homeward.models import Moves, SparseMDP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import BoolArray, FloatArray
    from homeward.models import Model


def end_at(
    model: Model,
    discount: float,
    exits: BoolArray,
    totals: FloatArray,
    value: FloatArray,
    worths: Sequence[FloatArray | None],
) -> Model:
    """Return the model in which `exits` [S, A] end the process; write their pay to `totals`.

    Under the first total [S, A] an exit pays its reward and the discounted mean of `value` [S]
    after it; under the others 1 − γ times their `worths`, each [S], [S, A] or None for 0.
    """
    s, a = np.nonzero(exits)
    once = (1.0 - discount) ** 2 if isinstance(model, Moves) else 1.0 - discount
    for total, worth in zip(totals[1:], worths, strict=True):
        total[s, a] = (
            0.0 if worth is None else once * (worth[s] if worth.ndim == 1 else worth[s, a])
        )
    if isinstance(model, Moves):
        p = model.success[s, a]
        ahead = p * value[model.dest[s, a]] + (1.0 - p) * value[s]
        totals[0, s, a] = (1.0 - discount) * (totals[0, s, a] + discount * ahead)
        return model.with_success(np.where(exits, 0.0, model.success))
    totals[0, s, a] += discount * (model.transitions[s * model.actions + a] @ value)
    inside = diags_array((~exits).astype(np.float64).ravel())
    rows = (inside @ model.transitions).tocsr()
    rows.eliminate_zeros()
    return SparseMDP(rows, model.reward, model.state_names, model.action_names)
