"""The bound that a plan proves for a criterion, by the sharpest evaluator that its belief allows.

A plan is chosen by corrected bounds. Then its policies can be evaluated more sharply: exactly in
every world of a `FiniteBelief` (`world_values`), or along their paths if each move always or never
works and the belief knows how likely moves work together (`path_values`). Each result is a lower
bound for the same policies, so the larger of it and the corrected bound is proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import le

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs import Belief, FiniteBelief
from homeward.criteria import Requirement
from homeward.planning.path_values import path_values
from homeward.planning.plan import Evaluator
from homeward.planning.world_values import Followed, world_values
from homeward.solvers.tolerances import EPSILON


def proven(
    belief: Belief,
    followed: Followed,
    requirement: Requirement,
    bounds: Sequence[float],
    mixtures: Sequence[tuple[FloatArray, IntArray]],
) -> tuple[list[float], Evaluator]:
    """Return the bound of each mixture (weights [J], policies) and the evaluator behind them.

    `bounds` are the corrected bounds of the mixtures, which are the least that is returned.
    """
    r = requirement
    if belief.evaluator == "union":
        return [*bounds], Evaluator.CORRECTION
    policies: list[IntArray] = []  # distinct ones
    which = []
    for policy in (policy for _, mixed in mixtures for policy in mixed):
        same = (i for i, other in enumerate(policies) if np.array_equal(policy, other))
        which.append(next(same, len(policies)))
        if which[-1] == len(policies):
            policies.append(policy)
    evaluator, values = Evaluator.EXACT, None
    if isinstance(belief, FiniteBelief):
        values = world_values(belief, followed, r, policies)
    elif (paths := path_values(belief, followed, r, policies)) is not None:
        values = np.array([lower(r.least, r.unit, total) for total in paths[0]])
        evaluator = Evaluator(paths[1])
    if values is None:
        return [*bounds], Evaluator.CORRECTION
    sharp, done = [], 0
    for bound, (weights, _) in zip(bounds, mixtures, strict=True):
        mine = values[which[done : done + len(weights)]]
        done += len(weights)
        value = float(weights @ mine) / max(1.0, float(weights.sum()))
        if r.kind != "earn":
            value = min(1.0, max(0.0, value))
        sharp.append(max(bound, value))
    if evaluator is not Evaluator.EXACT and all(map(le, sharp, bounds)):
        evaluator = Evaluator.CORRECTION
    return sharp, evaluator


def lower(least: float, unit: float, total: float) -> float:
    """Return ``least + unit·total`` for a total clipped to [0, 1], rounded down."""
    sure = min(1.0, max(0.0, total))
    if (least, unit) == (0.0, 1.0):
        return sure
    return least + unit * sure - 4.0 * EPSILON * (abs(least) + unit)
