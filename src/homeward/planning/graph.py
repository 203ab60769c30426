"""The move-or-stay graph of a belief, with the risk that an edge never works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homeward.arrays import is_nothing
from homeward.beliefs import BlockedMoves, BoundedMoves, corrections_of
from homeward.beliefs.corrections import Correction

if TYPE_CHECKING:
    from homeward.arrays import FloatArray
    from homeward.models import Moves

EVERYWHERE = np.ones((1, 1), dtype=bool)
"""Mask that allows every edge."""


class Graph(NamedTuple):
    """A move-or-stay graph with the risks of its edges.

    Attributes
    ----------
    model
        The mean model.
    success
        Probability [S, A] that an attempt works; 0 where the action can't be chosen.
    blocked
        Upper bound [S, A] on the probability that a move never works.
    least
        Lower bound [S, A] on it; `blocked` itself where that is exact.
    """

    model: Moves
    success: FloatArray
    blocked: FloatArray
    least: FloatArray


def graph_of(belief: Any, model: Moves, correction: Correction | None) -> Graph:
    """Return the mean graph with the risk that each edge never works."""
    success = model.success
    if not is_nothing(model.reward):
        success = np.where(np.isfinite(model.reward), success, 0.0)
    if correction is Correction.NAIVE:
        blocked = np.where(success > 0.0, 0.0, 1.0)
        return Graph(model, success, blocked, blocked)
    declared = belief.blocked_probability() if isinstance(belief, BlockedMoves) else None
    if isinstance(belief, BoundedMoves):
        least = 1.0 - belief.success_bounds()[1]
    elif declared is not None:
        least = declared
    else:
        least = (model.success <= 0.0).astype(np.float64)
    if correction is not Correction.GENERAL and declared is not None:
        return Graph(model, success, declared, least)
    kind = Correction.GENERAL if correction is Correction.GENERAL else None
    sigma = corrections_of(belief, model, 0.5, kind).returning
    with np.errstate(divide="ignore", invalid="ignore"):
        blocked = np.where(model.success > 0.0, -sigma / model.success, 1.0)
    if correction is not Correction.GENERAL:
        blocked = np.minimum(blocked, 1.0 - model.success)
    return Graph(model, success, np.clip(blocked, 0.0, 1.0), least)
