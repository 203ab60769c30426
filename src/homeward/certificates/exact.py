"""Exact values by enumeration: every world of a finite belief is solved, and the mean is taken.

The values in one world come from `policy_values`. A model may hold rows whose sum is a little above
1, by rounding. Over 1/(1 − γ) steps that would give probabilities above 1, so such rows, and the
weights of the worlds, are normalised first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homeward.beliefs import FiniteBelief
from homeward.certificates.policy_values import dense_transitions, exact_value, exact_way

if TYPE_CHECKING:
    from homeward.certificates.stored import StoredPlan

MAX_ENTRIES = 2_000_000
"""Largest number of entries of a world's dense transitions [S, A, S]."""


def why_not(stored: StoredPlan) -> str | None:
    """Return why a plan can't be enumerated; None if it can."""
    belief = stored.belief
    if not isinstance(belief, FiniteBelief):
        return f"only a FiniteBelief can be enumerated, and this is a {type(belief).__name__}"
    states, actions = belief.counts.shape
    if states * actions * states > MAX_ENTRIES:
        return f"a world of {states} states and {actions} actions is too large to enumerate"
    return None


def enumerate_worlds(stored: StoredPlan) -> dict[str, tuple[float, ...]]:
    """Return the exact value of each criterion, by part of the plan."""
    belief, plan, exits = stored.belief, stored.plan, stored.exits
    assert isinstance(belief, FiniteBelief)
    found = {part.name: np.zeros(len(plan.criteria)) for part in stored.parts}
    for chance, world in zip(belief.weights / belief.weights.sum(), belief.worlds, strict=True):
        if chance == 0.0:
            continue
        transitions = dense_transitions(world)
        transitions /= np.maximum(transitions.sum(axis=2, keepdims=True), 1.0)
        usable = np.isfinite(world.reward)
        for k, criterion in enumerate(plan.criteria):
            given = stored.rewards[k]
            paid = np.where(usable, world.reward if given is None else given, 0.0)
            way = exact_way(transitions, criterion) if criterion.kind == "return" else None
            for part in stored.parts:
                for weight, policy in zip(part.weights, part.outbound, strict=True):
                    value = exact_value(
                        transitions,
                        paid,
                        criterion,
                        policy,
                        plan.discount,
                        exits,
                        plan.afterwards,
                        way,
                    )
                    found[part.name][k] += chance * weight * value[plan.state]
    return {name: tuple(float(v) for v in values) for name, values in found.items()}
