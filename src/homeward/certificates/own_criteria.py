"""Certificates of plans with user-defined criteria.

Such a criterion defines its value in one world (`OwnCriterion.value`). Over the worlds of a
`FiniteBelief` the values are averaged exactly; for other beliefs, worlds are drawn. The other
criteria of the plan are checked as usual. The exploration value is not: its upper bound depends on
requirements that only the criterion itself can make.
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
from homeward.certificates.verdicts import Certificate, ClaimVerdict, ValueVerdict
from homeward.errors import InvalidInputError

if TYPE_CHECKING:
    from homeward.certificates.stored_plan import Part, StoredPlan
    from homeward.safety import OwnCriterion

MAX_OWN_WORLDS = 2000  # most drawn worlds in which a user's criterion is evaluated
VALUE_TOLERANCE = 1e-7  # largest error of a value, as a fraction of the unit of its criterion
NOTE = "not checked: the exploration value, as the plan has criteria of its user's own"


def certify_with_own(
    stored: StoredPlan,
    certify_known: Callable[[StoredPlan], Certificate],
    episodes: int,
    confidence: float,
    seed: int,
) -> Certificate:
    """Return a verdict on every claim; `certify_known` checks the claims of the other criteria.

    With probability at least `confidence`, all intervals from drawn worlds hold.
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
    found = {(verdict.part, verdict.criterion): verdict for verdict in base.verdicts}
    doubt = (1.0 - confidence) / (len(stored.parts) * len(plan.criteria))
    verdicts = []
    for part in stored.parts:
        for k, criterion in enumerate(plan.criteria):
            own = stored.own[k]
            if own is None:
                verdicts.append(found[part.name, criterion.name])
                continue
            exact, sampled = _value(stored, own, part, min(episodes, MAX_OWN_WORLDS), doubt, seed)
            verdict = ClaimVerdict(
                criterion.name,
                criterion.kind,
                part.name,
                criterion.level,
                part.claims[k],
                criterion.unit,
                exact,
                sampled,
                corrected=plan.correction != "naive",
            )
            least = verdict.claimed - VALUE_TOLERANCE * criterion.unit
            against = {}
            if exact is not None and exact < least:
                against["exact"] = f"the exact value is {exact:.6g}"
            if sampled is not None and sampled.high < least:
                against["sampling"] = f"by sampling, the value is at most {sampled.high:.6g}"
            reasons, methods = tuple(against.values()), tuple(against)
            verdicts.append(replace(verdict, reasons=reasons, refuted_by=methods))
    return replace(base, verdicts=tuple(verdicts), notes=(*base.notes, NOTE))


def _value(
    stored: StoredPlan, own: OwnCriterion, part: Part, count: int, doubt: float, seed: int
) -> tuple[float | None, SampledEstimate | None]:
    """Return the exact value of a mixture, or its estimate in `count` drawn worlds."""
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
