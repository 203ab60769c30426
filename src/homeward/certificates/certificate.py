r"""The certificate of a plan: each claim is checked by up to three independent methods.

- *exact*: enumeration of a finite belief's worlds;
- *sampling*: episodes in worlds drawn from the belief, and a confidence interval;
- *arithmetic*: recomputation of the plan's own numbers, each by the evaluator that its criterion
  names: the corrected total on the mean model, the values in all worlds of a finite belief, or the
  probability that all moves along a path work. If the belief does not allow the named evaluator,
  the corrected total is used.

A claim is refuted if it exceeds the exact value, or the interval's upper limit, by more than 1e-9
of its unit, or if it exceeds the recomputed number. The unit of a probability is 1. The unit of
earnings is their range in the states that the plan can reach, which is recomputed. With confidence
c and n claims, each interval is wrong with probability ≤ (1 − c)/n. So all intervals hold together
with probability ≥ c (Bonferroni), even if the claims depend on each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from homeward.arrays import index, number
from homeward.beliefs import Belief, FiniteBelief, HeightBelief, TerrainBelief
from homeward.beliefs.corrections import Correction
from homeward.certificates.arithmetic import Recomputed
from homeward.certificates.claims import CLAIM_TOLERANCE, PlanClaims
from homeward.certificates.joint_check import path_total
from homeward.certificates.plan_case import PlanCase
from homeward.certificates.policy_values import enumerated_values, why_not_enumerable
from homeward.certificates.sampling import sample, unit_of
from homeward.certificates.verdicts import (
    Certificate,
    ClaimVerdict,
    ValueVerdict,
    judged,
    refutations,
    unjudged,
)
from homeward.errors import InvalidInputError
from homeward.solvers import Status

if TYPE_CHECKING:
    from homeward.certificates.plan_case import Part

Method = Literal["all", "exact", "sampling", "arithmetic"]
METHODS: tuple[str, ...] = get_args(Method)

JOINT_BELIEFS = (HeightBelief, TerrainBelief)  # they know how likely moves work together
EXACT_TOLERANCE = 1e-9  # in units of a claim, how much it may exceed the true value
LEVEL_TOLERANCE = 1e-9  # in units of a claim, how much an optimal bound may miss its level
STEP_ROUNDING = 1e-14  # relative rounding error for each expected step of a plan
GAP_TOLERANCE = 2e-6  # largest gap of an optimal plan, relative to the largest possible value
MIN_SHORTFALL = 5e-10
"""Least total shortfall of all levels that proves a problem infeasible.

A level that is missed by at most 1e-9 counts as met, so every plan for an infeasible problem misses
a level by more.
"""

UNCORRECTED = "the plan was made without a correction (naive): its bounds are believed, not proven"


def certify(
    plan: PlanClaims,
    belief: Belief,
    planner: Any,
    *,
    method: Method = "all",
    episodes: int = 10_000,
    confidence: float = 0.99,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Certificate:
    """Return a verdict on every claim of a plan.

    Parameters
    ----------
    plan
        The plan.
    belief
        The belief that it was made with.
    planner
        The planner that made it.
    method
        ``"all"`` uses every method that works for the belief. A single method that does not work
        for it raises an `InvalidInputError`.
    episodes
        Number of simulated episodes, each in a world drawn from the belief.
    confidence
        Probability that all intervals hold together.
    seed
        Random seed.
    jobs
        Number of processes; the result does not depend on this number.
    progress
        Function that is called with the number of episodes simulated since its last call.
    """
    case = PlanCase.of(plan, belief, planner)
    return judge(
        case,
        method=method,
        episodes=episodes,
        confidence=confidence,
        seed=seed,
        jobs=jobs,
        progress=progress,
    )


def judge(
    case: PlanCase,
    *,
    method: Method = "all",
    episodes: int = 10_000,
    confidence: float = 0.99,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Certificate:
    """Return the verdict of `certify` on a plan that is given with its belief and its bonus."""
    if method not in METHODS:
        raise InvalidInputError(f"method is {method!r}, expected one of {', '.join(METHODS)}")
    index(seed, 2**63, "the seed", InvalidInputError)
    if not 0.0 < number(confidence, "the confidence", InvalidInputError) < 1.0:
        raise InvalidInputError(f"the confidence is {confidence:g}, expected 0 < confidence < 1")
    for name, count, most in (("episodes", episodes, 2**62), ("processes", jobs, 2**20)):
        if index(count, most, f"the number of {name}", InvalidInputError) == 0:
            raise InvalidInputError(f"the number of {name} is 0, expected at least 1")
    began, plan, parts = time.perf_counter(), case.plan, case.parts
    worth = ValueVerdict(plan.exploration_value, plan.upper_bound)
    claims = [(part, k) for part in parts for k in range(len(plan.criteria))]
    if not claims:
        note = "the plan has no criteria: there is nothing to certify"
        return Certificate((), worth, confidence, 0, seed, time.perf_counter() - began, (note,))
    notes = [UNCORRECTED] if plan.correction is Correction.NAIVE else []
    if len(plan.conflict) > 1 or (plan.conflict and len(plan.criteria) > 1):
        notes.append("not checked: which criteria conflict")
    exactly = sampled = again = None
    recomputed: dict[str, list[float | None]] = {}
    if method in ("all", "exact"):
        reason = why_not_enumerable(case)
        if reason is None:
            exactly = enumerated_values(case)
        elif method == "exact":
            raise InvalidInputError(reason)
        else:
            notes.append(f"not enumerated: {reason}")
    if method in ("all", "arithmetic"):
        try:
            again = Recomputed(case)
            recomputed = _bounds(case, again)
        except InvalidInputError as reason:
            if method == "arithmetic":
                raise
            notes.append(f"arithmetic not checked: {reason}")
    if method in ("all", "sampling"):
        doubt = (1.0 - confidence) / len(claims)
        sampled = sample(case, episodes, doubt, seed, jobs, progress)
    verdicts = []
    for part, k in claims:
        criterion = plan.criteria[k]
        verdict = unjudged(
            *(plan, part, k, unit_of(case, k)),
            None if exactly is None else exactly[part.name][k],
            None if sampled is None else sampled[part.name][k],
            recomputed[part.name][k] if recomputed else None,
        )
        against = list(_against(verdict, criterion.unit))
        if again is not None and criterion.evaluator != "correction":
            planned = criterion.corrected if part.name == "plan" else criterion.kept_corrected
            proof = replace(verdict, claimed=planned, recomputed=again.bounds[part.name][k])
            against += _against(replace(proof, exact=None, sampled=None), criterion.unit)
        if again is not None:
            against += [("arithmetic", fault) for fault in again.faults[k]]
        verdicts.append(judged(verdict, against))
    worth = replace(worth, reasons=tuple(_not_optimal(case, verdicts)))
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
        said=() if again is None else again.objections,
    )


def _bounds(case: PlanCase, again: Recomputed) -> dict[str, list[float | None]]:
    """Return for each mixture, by its name, the bound of each criterion by its own evaluator.

    A bound is None if the evaluator would have to enumerate worlds that are too large.
    """
    plan, exact = case.plan, {}
    if "exact" in {c.evaluator for c in plan.criteria} and why_not_enumerable(case) is None:
        exact = enumerated_values(case)

    def bound(part: Part, k: int) -> float | None:
        evaluator = plan.criteria[k].evaluator
        if evaluator == "exact" and isinstance(case.belief, FiniteBelief):
            return exact[part.name][k] if exact else None
        if evaluator == "path" and isinstance(case.belief, JOINT_BELIEFS) and plan.steps is None:
            return _path_bound(case, again, part, k)
        return again.bounds[part.name][k]

    return {part.name: [bound(part, k) for k in range(len(plan.criteria))] for part in case.parts}


def _path_bound(case: PlanCase, again: Recomputed, part: Part, k: int) -> float:
    """Return the bound of a mixture on criterion `k`, at least the corrected bound.

    It is the weighted mean over the policies of the probability that all moves of a path work.
    """
    plan, criterion, total = case.plan, case.plan.criteria[k], again.totals[k]
    worth = np.ones(case.bonus.shape)
    if criterion.kind == "earn":
        worth[again.near] = np.asarray(total.leaving) / (1.0 - plan.discount)
    mean = sum(
        weight
        * path_total(case.belief, criterion, policy, worth, plan.state, plan.discount, case.exits)
        for weight, policy in zip(part.weights, part.outbound, strict=True)
    )
    return max(again.bounds[part.name][k], total.bound(float(mean)))


def _against(verdict: ClaimVerdict, unit: float) -> Iterator[tuple[str, str]]:
    """Yield (method, reason) for each method that refutes a claim; `unit` is the claimed unit."""
    yield from refutations(verdict, EXACT_TOLERANCE)
    claimed, again = verdict.claimed, verdict.recomputed
    if again is not None and claimed > again + CLAIM_TOLERANCE * verdict.unit + 1e-14 * unit:
        yield "arithmetic", f"the recomputed bound is {again:.6g}"


def _not_optimal(case: PlanCase, verdicts: list[ClaimVerdict]) -> list[str]:
    """Return a sentence for each level that the claimed bounds of an "optimal" plan miss.

    As in the planner, the tolerance is relative to the range of rewards in all states.
    """
    plan = case.plan
    if plan.status is not Status.OPTIMAL:
        return []
    slack = LEVEL_TOLERANCE + STEP_ROUNDING * plan.expected_steps
    return [
        "the plan claims to be optimal, but its corrected bound "
        f"{plan.criteria[k].corrected:.6g} for {v.criterion!r} is below {v.level:g}"
        for k, v in enumerate(verdicts[: len(plan.criteria)])
        if plan.criteria[k].corrected < v.level - slack * unit_of(case, k, anywhere=True)
    ]


def _judge_worth(worth: ValueVerdict, plan: PlanClaims, again: Recomputed) -> ValueVerdict:
    """Return the verdict on a plan's value after a comparison with the recomputed numbers."""
    reasons, rounding = list(worth.reasons), STEP_ROUNDING * plan.expected_steps * again.scale
    kept = plan.kept_value, again.kept_value, again.kept_size
    for name, claimed, found, size in (
        ("the plan", worth.value, again.value, again.size),
        ("the mixture that starts with the action", *kept),
    ):
        if not abs(claimed - found) <= CLAIM_TOLERANCE * size + again.rounding:
            reasons.append(
                f"{name} is claimed to have value {claimed:.6g}, but its value is {found:.6g}"
            )
    if plan.status is Status.OPTIMAL and not plan.gap <= GAP_TOLERANCE * again.anywhere:
        reasons.append(f"the plan is claimed to be optimal, but its gap is {plan.gap:.6g}")
    if again.short is not None and not again.short * len(plan.criteria) > MIN_SHORTFALL:
        reasons.append("the plan's multipliers do not prove that no plan meets the levels")
    if again.upper is not None:
        # A forged plan may have any multipliers, so the tolerance that these add is limited.
        size = max(again.size, abs(again.upper))
        slack = CLAIM_TOLERANCE * size + min(CLAIM_TOLERANCE * again.prices, GAP_TOLERANCE * size)
        if worth.upper < again.upper - slack - rounding:
            reasons.append(
                f"the claimed upper bound on safe plans is {worth.upper:.6g}, but the proven one "
                f"is {again.upper:.6g}"
            )
    # The planner's tolerance is relative to all states; this one to reachable states.
    if not reasons and plan.status is Status.OPTIMAL and again.upper is not None:
        gap = again.upper - again.value
        if not gap <= 2.0 * GAP_TOLERANCE * again.scale + rounding:
            reasons.append(f"the plan is claimed to be optimal, but the proven gap is {gap:.6g}")
    return replace(
        worth, recomputed_value=again.value, recomputed_upper=again.upper, reasons=tuple(reasons)
    )
