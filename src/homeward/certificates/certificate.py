r"""The certificate of a plan: every claim, checked by up to three independent methods.

- *exact*: enumeration of a finite belief's worlds;
- *sampling*: episodes in worlds drawn from the belief, and a confidence interval;
- *arithmetic*: the plan's own numbers, recomputed.

A claim is refuted if the exact value, or the interval's upper limit, is below it by more than 1e-9
of its unit, or if the arithmetic does not reproduce it. The unit is 1 for a probability. For
earnings it is their range in the states that the plan can reach, recomputed and not taken from the
plan. With confidence c and n claims each interval is wrong with probability ≤ (1 − c)/n, so all of
them hold together with probability ≥ c (Bonferroni), even if the claims depend on each other.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

from homeward.arrays import index, number
from homeward.beliefs.corrections import Correction
from homeward.certificates.arithmetic import Recomputed
from homeward.certificates.claims import CLAIM_TOLERANCE
from homeward.certificates.evaluators import evaluate_again
from homeward.certificates.policy_values import enumerate_worlds, why_not
from homeward.certificates.sampling import sample, unit_of
from homeward.certificates.verdicts import Certificate, ClaimVerdict, ValueVerdict
from homeward.errors import InvalidInputError
from homeward.solvers import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from homeward.certificates.claims import PlanClaims
    from homeward.certificates.evaluators import Evaluated
    from homeward.certificates.stored import StoredPlan

Method = Literal["all", "exact", "sampling", "arithmetic"]
METHODS: tuple[str, ...] = get_args(Method)

EXACT_TOLERANCE = 1e-9
"""Largest rounding, in units of a claim, by which the true value may be below it."""

LEVEL_TOLERANCE = 1e-9
"""Fraction of its unit by which a bound of an optimal plan may be below its level."""

STEP_ROUNDING = 1e-14
"""Relative rounding for each expected step of a plan."""

GAP_TOLERANCE = 2e-6
"""Largest gap of an optimal plan, as a fraction of the most that could be earned."""

MIN_SHORTFALL = 5e-10
"""Least shortfall, summed over all levels, that proves a problem infeasible.

A plan within 1e-9 of a level counts as keeping it, so an infeasible problem lacks more than this.
"""

UNCORRECTED = "the plan was made without a correction (naive): its bounds are believed, not proven"


def certify(
    stored: StoredPlan,
    *,
    method: Method = "all",
    episodes: int = 10_000,
    confidence: float = 0.99,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Certificate:
    """Return the verdicts on every claim of a stored plan.

    Parameters
    ----------
    stored
        The plan with its belief.
    method
        ``"all"`` uses every method that the belief allows; a single method that is not possible
        raises an `InvalidInputError`.
    episodes
        Number of worlds to draw and play in.
    confidence
        Probability that all intervals hold together.
    seed
        Random seed.
    jobs
        Number of processes; the result does not depend on it.
    progress
        Called with the number of episodes that were played since its last call.
    """
    if method not in METHODS:
        raise InvalidInputError(f"method is {method!r}, expected one of {', '.join(METHODS)}")
    index(seed, 2**63, "the seed", InvalidInputError)
    if not 0.0 < number(confidence, "the confidence", InvalidInputError) < 1.0:
        raise InvalidInputError(f"the confidence is {confidence:g}, expected 0 < confidence < 1")
    for name, count, most in (("episodes", episodes, 2**62), ("processes", jobs, 2**20)):
        if index(count, most, f"the number of {name}", InvalidInputError) == 0:
            raise InvalidInputError(f"the number of {name} is 0, expected at least 1")
    began, plan, parts = time.perf_counter(), stored.plan, stored.parts
    worth = ValueVerdict(plan.exploration_value, plan.upper_bound)
    claims = [(part, k) for part in parts for k in range(len(plan.criteria))]
    if not claims:
        note = "the plan has no criteria: there is nothing to certify"
        return Certificate((), worth, confidence, 0, seed, time.perf_counter() - began, (note,))
    corrected = plan.correction is not Correction.NAIVE
    notes = [] if corrected else [UNCORRECTED]
    if len(plan.conflict) > 1 or (plan.conflict and len(plan.criteria) > 1):
        notes.append("which of the criteria conflict is not checked")
    exactly = sampled = again = None
    evaluated: Evaluated = {}
    if method in ("all", "exact"):
        reason = why_not(stored)
        if reason is None:
            exactly = enumerate_worlds(stored)
        elif method == "exact":
            raise InvalidInputError(reason)
        else:
            notes.append(f"not enumerated: {reason}")
    if method in ("all", "arithmetic"):
        try:
            again = Recomputed(stored)
            evaluated = evaluate_again(stored, again)
        except InvalidInputError as reason:
            if method == "arithmetic":
                raise
            notes.append(f"arithmetic not checked: {reason}")
    if method in ("all", "sampling"):
        doubt = (1.0 - confidence) / len(claims)
        sampled = sample(stored, episodes, doubt, seed, jobs, progress)
    verdicts = []
    for part, k in claims:
        criterion = plan.criteria[k]
        verdict = ClaimVerdict(
            criterion.name,
            criterion.kind,
            part.name,
            criterion.level,
            part.claims[k],
            unit_of(stored, k),
            None if exactly is None else exactly[part.name][k],
            None if sampled is None else sampled[part.name][k],
            evaluated.get((part.name, k)),
            corrected=corrected,
        )
        against = list(_against(verdict, criterion.unit))
        if again is not None and criterion.evaluator != "correction":
            planned = criterion.corrected if part.name == "plan" else criterion.kept_corrected
            proof = replace(verdict, claimed=planned, recomputed=again.bounds[part.name][k])
            against += _against(replace(proof, exact=None, sampled=None), criterion.unit)
        if again is not None:
            against += [("arithmetic", fault) for fault in again.faults[k]]
        reasons = tuple(reason for _, reason in against)
        methods = tuple(method for method, _ in against)
        verdicts.append(replace(verdict, reasons=reasons, refuted_by=methods))
    worth = replace(worth, reasons=tuple(_not_optimal(stored, verdicts)))
    if again is not None:
        worth = _judge_worth(worth, plan, again)
    return Certificate(
        tuple(verdicts),
        worth,
        confidence,
        episodes if sampled is not None else 0,
        seed,
        time.perf_counter() - began,
        tuple(notes),
        said=() if again is None else again.said,
    )


def _against(verdict: ClaimVerdict, asked: float) -> Iterator[tuple[str, str]]:
    """Yield each method that refutes a claim, and why; rounding is in the unit `asked` for."""
    claimed, again = verdict.claimed, verdict.recomputed
    least = claimed - EXACT_TOLERANCE * verdict.unit
    if verdict.exact is not None and verdict.exact < least:
        yield "exact", f"it is exactly {verdict.exact:.6g}"
    if verdict.sampled is not None and verdict.sampled.high < least:
        yield "sampling", f"by sampling it is at most {verdict.sampled.high:.6g}"
    if again is not None and claimed > again + CLAIM_TOLERANCE * verdict.unit + 1e-14 * asked:
        yield "arithmetic", f"the arithmetic comes to {again:.6g}"


def _not_optimal(stored: StoredPlan, verdicts: list[ClaimVerdict]) -> list[str]:
    """Return a reason for each level that an "optimal" plan misses by its own claims.

    The planner's tolerance is relative to the range of all rewards, unreachable ones included.
    """
    plan = stored.plan
    if plan.status is not Status.OPTIMAL:
        return []
    slack = LEVEL_TOLERANCE + STEP_ROUNDING * plan.expected_steps
    return [
        f"the plan claims to be optimal, but {v.criterion!r} is {plan.criteria[k].corrected:.6g}, "
        f"below {v.level:g}"
        for k, v in enumerate(verdicts[: len(plan.criteria)])
        if plan.criteria[k].corrected < v.level - slack * unit_of(stored, k, anywhere=True)
    ]


def _judge_worth(worth: ValueVerdict, plan: PlanClaims, again: Recomputed) -> ValueVerdict:
    """Return the verdict on a plan's value, compared with the recomputed numbers."""
    reasons, rounding = list(worth.reasons), STEP_ROUNDING * plan.expected_steps * again.scale
    for name, claimed, found, size in (
        ("the plan", worth.value, again.value, again.size),
        ("the part of the action", plan.kept_value, again.kept_value, again.kept_size),
    ):
        if not abs(claimed - found) <= CLAIM_TOLERANCE * size + again.rounding:
            reasons.append(f"{name} is claimed to be worth {claimed:.6g}, but is worth {found:.6g}")
    if plan.status is Status.OPTIMAL and not plan.gap <= GAP_TOLERANCE * again.anywhere:
        reasons.append(f"the plan is claimed to be optimal, but its gap is {plan.gap:.6g}")
    if again.short is not None and not again.short * len(plan.criteria) > MIN_SHORTFALL:
        reasons.append("the plan's multipliers do not prove that no plan keeps the levels")
    if again.upper is not None:
        # A forged plan may have any multiplier, so the slack that multipliers add is limited.
        size = max(again.size, abs(again.upper))
        slack = CLAIM_TOLERANCE * size + min(CLAIM_TOLERANCE * again.prices, GAP_TOLERANCE * size)
        if worth.upper < again.upper - slack - rounding:
            reasons.append(
                f"no safe plan is claimed to be worth more than {worth.upper:.6g}, but only "
                f"{again.upper:.6g} can be proven"
            )
    # The planner's gap is relative to all states; here only reachable states count.
    if not reasons and plan.status is Status.OPTIMAL and again.upper is not None:
        shown = again.upper - again.value
        if not shown <= 2.0 * GAP_TOLERANCE * again.scale + rounding:
            reasons.append(f"the plan is claimed to be optimal, but a gap of {shown:.6g} is left")
    return replace(
        worth,
        recomputed_value=again.value,
        recomputed_upper=again.upper,
        reasons=tuple(reasons),
    )
