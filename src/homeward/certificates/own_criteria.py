"""Certificates of plans with user-defined criteria.

A user-defined criterion has a value in each world (`OwnCriterion.value`). For a `FiniteBelief`, the
exact value is the weighted mean over its worlds. For other beliefs, worlds are drawn. The other
criteria of the plan are checked as usual. The exploration value is not checked, because its upper
bound depends on requirements that only the user-defined criterion can compute.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.arrays import FloatArray
from homeward.beliefs.finite import FiniteBelief
from homeward.certificates.confidence import bernstein
from homeward.certificates.sampling import SampledEstimate
from homeward.certificates.verdicts import (
    Certificate,
    ValueVerdict,
    judged,
    refutations,
    unjudged,
)
from homeward.errors import InvalidInputError

if TYPE_CHECKING:
    from homeward.certificates.stored_plan import Part, StoredPlan
    from homeward.safety import OwnCriterion

MAX_OWN_WORLDS = 2000  # most drawn worlds in which a user-defined criterion is evaluated
VALUE_TOLERANCE = 1e-7  # largest error of a value, in units of its criterion
NOTE = "not checked: the exploration value, as the plan has criteria of its user's own"


def certify_with_own(
    stored: StoredPlan,
    certify_known: Callable[[StoredPlan], Certificate],
    episodes: int,
    confidence: float,
    seed: int,
) -> Certificate:
    """Return the certificate of a plan that has user-defined criteria.

    `certify_known` checks the plan with only the other criteria. With probability at least
    `confidence`, all intervals from drawn worlds hold together.
    """
    plan = stored.plan
    if plan.steps is not None or plan.afterwards is not None:
        raise InvalidInputError(
            "a plan with a user-defined criterion can be certified only with a random recall and "
            "without StayInside"
        )
    known = stored.without_own()
    worth = ValueVerdict(plan.exploration_value, plan.upper_bound)
    base = Certificate((), worth, confidence, 0, seed, 0.0)
    if known is not None:
        base = replace(certify_known(known), worth=worth, said=())
    others = {(verdict.part, verdict.criterion): verdict for verdict in base.verdicts}
    doubt = (1.0 - confidence) / (len(stored.parts) * len(plan.criteria))
    verdicts = []
    for part in stored.parts:
        for k, criterion in enumerate(plan.criteria):
            own = stored.own[k]
            if own is None:
                verdicts.append(others[part.name, criterion.name])
                continue
            values = _value(stored, own, part, min(episodes, MAX_OWN_WORLDS), doubt, seed)
            verdict = unjudged(plan, part, k, criterion.unit, *values)
            verdicts.append(judged(verdict, [*refutations(verdict, VALUE_TOLERANCE)]))
    return replace(base, verdicts=tuple(verdicts), notes=(*base.notes, NOTE))


def _value(
    stored: StoredPlan, own: OwnCriterion, part: Part, count: int, doubt: float, seed: int
) -> tuple[float | None, SampledEstimate | None]:
    """Return the value of a criterion under a mixture: (exact, None) or (None, estimate).

    The estimate uses `count` drawn worlds; its interval is wrong with probability ≤ `doubt`.
    """
    plan, belief = stored.plan, stored.belief

    def value(world: Any) -> float:
        given = [own.value(world, policy, plan.state, plan.discount) for policy in part.outbound]
        return math.fsum(w * v for w, v in zip(part.weights.tolist(), given, strict=True))

    if isinstance(belief, FiniteBelief):
        values = [value(world) for world in belief.worlds]
        return math.fsum(w * v for w, v in zip(belief.weights.tolist(), values, strict=True)), None
    rng = np.random.default_rng(seed)
    drawn: FloatArray = np.array([value(belief.sample(rng)) for _ in range(max(2, count))])
    width = max(float(np.ptp(drawn)), max(c.unit for c in plan.criteria if c.kind == "own"))
    half = bernstein(float(drawn.var(ddof=1)), len(drawn), width, doubt)
    mean = float(drawn.mean())
    return None, SampledEstimate(mean, mean - half, mean + half, len(drawn), 0)
