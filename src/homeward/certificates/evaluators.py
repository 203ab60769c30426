"""The bounds of a plan, evaluated again by the evaluator that each criterion names.

- ``correction``: the corrected total on the mean model (`arithmetic`);
- ``exact``: the policies in every world of a finite belief (`policy_values`);
- ``path``: the probability that all moves along the way work (`joint_check`).

If the belief does not allow the named evaluator, the corrected bound is used instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from homeward.beliefs import FiniteBelief, HeightBelief, TerrainBelief
from homeward.certificates.joint_check import path_total
from homeward.certificates.policy_values import enumerated_values, why_not_enumerable

if TYPE_CHECKING:
    from homeward.certificates.arithmetic import Recomputed
    from homeward.certificates.stored_plan import Part, StoredPlan

PATHS = (HeightBelief, TerrainBelief)  # beliefs that know how likely moves work together

Evaluated: TypeAlias = dict[tuple[str, int], float | None]
"""The bound by the name of a part and the number of a criterion; None if it is not evaluated."""


def evaluate_again(stored: StoredPlan, again: Recomputed) -> Evaluated:
    """Return each bound of a plan by its own evaluator."""
    found: Evaluated = {}
    said = {criterion.evaluator for criterion in stored.plan.criteria}
    finite = isinstance(stored.belief, FiniteBelief)
    worlds = (
        enumerated_values(stored)
        if "exact" in said and why_not_enumerable(stored) is None
        else None
    )
    for part in stored.parts:
        for k, criterion in enumerate(stored.plan.criteria):
            bound: float | None = again.bounds[part.name][k]
            if criterion.evaluator == "exact" and finite:
                bound = None if worlds is None else worlds[part.name][k]
            elif criterion.evaluator == "path" and isinstance(stored.belief, PATHS):
                bound = _by_path(stored, again, part, k)
            found[part.name, k] = bound
    return found


def _by_path(stored: StoredPlan, again: Recomputed, part: Part, k: int) -> float:
    """Return the bound of a part of the plan on criterion `k`, at least the corrected bound.

    It is the weighted mean over its policies of the probability that their paths work.
    """
    plan, criterion, total = stored.plan, stored.plan.criteria[k], again.totals[k]
    if plan.steps is not None:  # policies by step do not follow one path
        return again.bounds[part.name][k]
    worth = np.ones(stored.bonus.shape)
    if criterion.kind == "earn":
        worth[again.near] = np.asarray(total.leaving) / (1.0 - plan.discount)
    found = sum(
        weight
        * path_total(
            stored.belief, criterion, policy, worth, plan.state, plan.discount, stored.exits
        )
        for weight, policy in zip(part.weights, part.outbound, strict=True)
    )
    return max(again.bounds[part.name][k], total.bound(float(found)))
