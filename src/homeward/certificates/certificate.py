r"""Certificates: every claim of a plan, checked by up to three independent ways.

- *exact*: enumeration of a finite belief's worlds;
- *sampling*: episodes in worlds drawn from the belief, and an interval;
- *arithmetic*: the plan's own numbers, worked out again.

A claim is refuted if the exact value, or the interval's upper limit, is below it by more than 1e-9
of its unit, or the arithmetic does not reproduce it. The unit is 1 for a probability and else the
range of what can be earned where the plan can come to, which is worked out here and not taken from
the plan. With confidence
c and n claims each interval is wrong with chance ≤ (1 − c)/n, so all of them hold together with
probability ≥ c (Bonferroni), whatever the claims have to do with each other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from homeward.arrays import index, number
from homeward.beliefs.corrections import Correction
from homeward.certificates import exact
from homeward.certificates.arithmetic import TOLERANCE, Recomputed, recompute
from homeward.certificates.checked_claim import CheckedClaim
from homeward.certificates.sampling import Sampled, sample, unit_of
from homeward.errors import InvalidInputError
from homeward.solvers import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from homeward.certificates.stored import StoredPlan
    from homeward.planning.plan import Plan

Method = Literal["all", "exact", "sampling", "arithmetic"]
METHODS: tuple[str, ...] = get_args(Method)

EXACT = 1e-9
"""By how much, in units of what is claimed, a value may be below a claim: rounding."""

KEPT = 1e-9
"""By how much of its unit a claim of an optimal plan may be below its level."""

ROUNDING = 1e-14
"""And by how much more for each step that a plan goes on."""

OPTIMAL = 2e-6
"""The gap of an optimal plan, as a fraction of the most that could be earned, is at most this."""

SHORTFALL = 5e-10
"""What every plan must lack, of all levels in sum, where none is said to keep them.

A plan that comes within 1e-9 of a level counts as keeping it. So an infeasible problem lacks more.
"""

UNCORRECTED = "the plan was made without a correction (naive): its bounds are believed, not proven"

EPISODES = 10_000
CONFIDENCE = 0.99


@dataclass(frozen=True, slots=True)
class ClaimVerdict(CheckedClaim):
    """What became of one claim: a bound on a criterion, of the plan or of its action's part."""

    criterion: str
    kind: str  # return, stay or earn
    part: str  # "plan": the mixture; "action": the part of it that starts with the action
    level: float  # what was asked for
    claimed: float
    unit: float  # 1 for a probability; else the range of what can be earned, as found here
    exact: float | None = None
    sampled: Sampled | None = None
    recomputed: float | None = None
    reasons: tuple[str, ...] = ()  # why it is refuted
    corrected: bool = True  # else the arithmetic proves nothing

    @property
    def method(self) -> str:
        """What `estimate`, `low` and `high` come from."""
        if self.exact is not None:
            return "exact"
        return "arithmetic" if self.sampled is None else "sampling"

    @property
    def estimate(self) -> float | None:
        """The true value, exactly or as estimated; None if only the arithmetic was checked."""
        if self.exact is not None:
            return self.exact
        return None if self.sampled is None else self.sampled.estimate

    @property
    def low(self) -> float | None:
        """The lower limit of the true value."""
        if self.exact is not None:
            return self.exact
        return None if self.sampled is None else self.sampled.low

    @property
    def high(self) -> float | None:
        """The upper limit of the true value."""
        if self.exact is not None:
            return self.exact
        return None if self.sampled is None else self.sampled.high

    @property
    def upheld(self) -> str:
        """What is said of the claim where nothing speaks against it."""
        if self.exact is not None:
            return "confirmed: true of the belief's worlds, exactly"
        if self.low is not None and self.low >= self.claimed:
            return "confirmed: the whole interval is above it"
        if self.low is not None:
            return "not refuted: the interval reaches above it"
        if not self.corrected:
            return "not refuted: the arithmetic comes to it, but without a correction"
        return "confirmed: the arithmetic comes to it"

    def as_dict(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "criterion": self.criterion,
            "kind": self.kind,
            "part": self.part,
            "level": self.level,
            "claimed": self.claimed,
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "refuted": self.refuted,
            "method": self.method,
            "exact": self.exact,
            "sampled": None if self.sampled is None else _fields(self.sampled),
            "recomputed": self.recomputed,
            "reasons": list(self.reasons),
            "verdict": self.words,
        }


@dataclass(frozen=True, slots=True)
class ValueVerdict(CheckedClaim):
    """What became of the plan's claims on its own worth."""

    value: float  # what the mixture is worth, as claimed
    upper: float  # no safe plan is worth more, as claimed; −inf if none is safe
    recomputed_value: float | None = None
    recomputed_upper: float | None = None
    reasons: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Give it as JSON, which has no infinities."""
        return {
            "value": self.value,
            "upper": self.upper if np.isfinite(self.upper) else None,
            "recomputed_value": self.recomputed_value,
            "recomputed_upper": self.recomputed_upper,
            "refuted": self.refuted,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True, slots=True)
class RunVerdict(CheckedClaim):
    """What became of the claim of a run with a budget: so much of certainty is kept of its way."""

    level: float  # what was asked for
    kept: float  # as the last step's record says
    recomputed: float | None  # as planning all of it again says; None if that did not get there
    reasons: tuple[str, ...] = ()

    @property
    def upheld(self) -> str:
        """What is said of the claim where nothing speaks against it."""
        return "confirmed: every step was planned and charged again"


@dataclass(frozen=True, slots=True)
class Certificate:
    """Every claim of a plan with its verdict."""

    verdicts: tuple[ClaimVerdict, ...]
    worth: ValueVerdict
    confidence: float
    episodes: int  # that were played; 0 if none
    seed: int
    seconds: float
    notes: tuple[str, ...] = ()  # what was not done, and why
    run: RunVerdict | None = None  # of the run that the plan is from, if that has a budget
    said: tuple[str, ...] = ()  # what else the plan says of itself and its actions and is not so

    @property
    def refuted(self) -> bool:
        """Whether any claim is refuted."""
        run = self.run is not None and self.run.refuted
        told = bool(self.said) or self.worth.refuted
        return run or told or any(v.refuted for v in self.verdicts)

    def as_dict(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "worth": self.worth.as_dict(),
            "run": None if self.run is None else self.run.as_dict(),
            "said": list(self.said),
            "refuted": self.refuted,
            "confidence": self.confidence,
            "episodes": self.episodes,
            "seed": self.seed,
            "seconds": self.seconds,
            "notes": list(self.notes),
        }


def certify(
    stored: StoredPlan,
    *,
    method: Method = "all",
    episodes: int = EPISODES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Certificate:
    """Check every claim of a stored plan.

    Parameters
    ----------
    stored
        The plan with its belief.
    method
        ``"all"`` does whatever the belief allows; a method by name must be possible.
    episodes
        How many worlds are drawn and played in.
    confidence
        The probability with which all intervals together hold.
    seed
        Where the random numbers come from: the same answer for the same seed.
    jobs
        Processes that share the episodes; the answer does not depend on it.
    progress
        Is told how many episodes were played since it was last told.
    """
    _check(method, episodes, confidence, seed, jobs)
    began, plan, parts = time.perf_counter(), stored.plan, stored.parts
    worth = ValueVerdict(plan.exploration_value, plan.upper_bound)
    claims = [(part, k) for part in parts for k in range(len(plan.criteria))]
    if not claims:
        note = "the plan has no criteria: there is nothing to certify"
        seconds = time.perf_counter() - began
        return Certificate((), worth, confidence, 0, seed, seconds, (note,))
    corrected = plan.correction is not Correction.NAIVE
    notes = [] if corrected else [UNCORRECTED]
    if len(plan.conflict) > 1 or (plan.conflict and len(plan.criteria) > 1):
        notes.append("which of the criteria conflict is not checked")
    exactly = sampled = again = None
    if method in ("all", "exact"):
        reason = exact.why_not(stored)
        if reason is None:
            exactly = exact.enumerate_worlds(stored)
        elif method == "exact":
            raise InvalidInputError(reason)
        else:
            notes.append(f"not enumerated: {reason}")
    if method in ("all", "arithmetic"):
        try:
            again = recompute(stored)
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
            None if again is None else again.bounds[part.name][k],
            corrected=corrected,
        )
        faults = () if again is None else again.faults[k]
        verdicts.append(replace(verdict, reasons=(*_against(verdict, criterion.unit), *faults)))
    worth = replace(worth, reasons=tuple(_not_optimal(stored, verdicts)))
    if again is not None:
        worth = _judge_worth(worth, plan, again)
    played = episodes if sampled is not None else 0
    seconds = time.perf_counter() - began
    return Certificate(
        tuple(verdicts),
        worth,
        confidence,
        played,
        seed,
        seconds,
        tuple(notes),
        said=() if again is None else again.said,
    )


def _against(verdict: ClaimVerdict, asked: float) -> list[str]:
    """Say what speaks against a claim; the arithmetic is rounded in the unit that was `asked`."""
    reasons, claimed = [], verdict.claimed
    if verdict.exact is not None and verdict.exact < claimed - EXACT * verdict.unit:
        reasons.append(f"it is exactly {verdict.exact:.6g}")
    if verdict.sampled is not None and verdict.sampled.high < claimed - EXACT * verdict.unit:
        reasons.append(f"by sampling it is at most {verdict.sampled.high:.6g}")
    again = verdict.recomputed
    if again is not None and claimed > again + TOLERANCE * verdict.unit + 1e-14 * asked:
        reasons.append(f"the arithmetic comes to {again:.6g}")
    return reasons


def _not_optimal(stored: StoredPlan, verdicts: list[ClaimVerdict]) -> list[str]:
    """Say which levels a plan does not keep by its own claims, though it is said to be optimal.

    A planner measures a level by the range of all rewards, wherever they are paid.
    """
    plan = stored.plan
    if plan.status is not Status.OPTIMAL:
        return []
    slack = KEPT + ROUNDING * _steps(plan)
    return [
        f"the plan is said to be optimal, but {v.criterion!r} is {v.claimed:.6g}, below {v.level:g}"
        for k, v in enumerate(verdicts[: len(plan.criteria)])
        if v.claimed < v.level - slack * unit_of(stored, k, anywhere=True)
    ]


def _judge_worth(worth: ValueVerdict, plan: Plan, again: Recomputed) -> ValueVerdict:
    """Compare what a plan says of its worth with what the arithmetic comes to."""
    reasons, rounding = list(worth.reasons), ROUNDING * _steps(plan) * again.scale
    for name, claimed, found, size in (
        ("the plan", worth.value, again.value, again.size),
        ("what starts with the action", plan.kept_value, again.kept_value, again.kept_size),
    ):
        if not abs(claimed - found) <= TOLERANCE * size + again.rounding:
            reasons.append(f"{name} is said to be worth {claimed:.6g}, and is worth {found:.6g}")
    if plan.status is Status.OPTIMAL and not plan.gap <= OPTIMAL * again.anywhere:
        reasons.append(f"the plan is said to be optimal, but its gap is {plan.gap:.6g}")
    if again.short is not None and not again.short * len(plan.criteria) > SHORTFALL:
        reasons.append("that no plan keeps the levels is not shown by the plan's multipliers")
    if again.upper is not None and worth.upper < again.upper - _upper_slack(again) - rounding:
        reasons.append(
            f"no safe plan is said to be worth more than {worth.upper:.6g}, but only "
            f"{again.upper:.6g} can be shown"
        )
    # The planner measures a gap by the largest value anywhere; what counts is what can be met.
    if not reasons and plan.status is Status.OPTIMAL and again.upper is not None:
        shown = again.upper - again.value
        if not shown <= 2.0 * OPTIMAL * again.scale + rounding:
            reasons.append(f"the plan is said to be optimal, but a gap of {shown:.6g} is left")
    return replace(
        worth,
        recomputed_value=again.value,
        recomputed_upper=again.upper,
        reasons=tuple(reasons),
    )


def _upper_slack(again: Recomputed) -> float:
    """Return by how much an upper bound may be below the one found here.

    A multiplier may be as large as a forger likes, so what it makes room for is limited.
    """
    size = again.size if again.upper is None else max(again.size, abs(again.upper))
    return TOLERANCE * size + min(TOLERANCE * again.prices, OPTIMAL * size)


def _steps(plan: Plan) -> float:
    """Return how many steps a plan goes on, on average."""
    return 1.0 / (1.0 - plan.discount) if plan.steps is None else float(plan.steps)


def _check(method: str, episodes: int, confidence: float, seed: int, jobs: int) -> None:
    error = InvalidInputError
    if method not in METHODS:
        raise error(f"method is {method!r}, expected one of {', '.join(METHODS)}")
    if index(episodes, 2**62, "the number of episodes", error) == 0:
        raise error("the number of episodes is 0, expected at least 1")
    if not 0.0 < number(confidence, "the confidence", error) < 1.0:
        raise error(f"the confidence is {confidence:g}, expected 0 < confidence < 1")
    index(seed, 2**63, "the seed", error)
    if index(jobs, 2**20, "the number of processes", error) == 0:
        raise error("the number of processes is 0, expected at least 1")


def _fields(sampled: Sampled) -> dict[str, Any]:
    return {name: getattr(sampled, name) for name in Sampled.__slots__}
