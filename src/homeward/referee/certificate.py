r"""The certificate of a plan or a run: a verdict on each claim, with the reasons against it.

`certify` checks each claim of a plan by up to three methods:

- *exact*: enumeration of a finite belief's worlds (`exact`);
- *sampling*: episodes in worlds drawn from the belief, and a confidence interval (`sampling`);
- *arithmetic*: the plan's numbers, recomputed on the mean model (`bounds`).

A claim is refuted if it exceeds the exact value, or the interval's upper limit, by more than 1e-9
of its unit, or the recomputed number by more than 1e-7. The unit of a probability is 1, the unit of
earnings their range in the states that the plan can reach. With confidence c and n claims, each
interval is wrong with probability ≤ (1 − c)/n, so all hold together with probability ≥ c.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from homeward.arrays import index, number
from homeward.beliefs.base import need_belief
from homeward.errors import InvalidInputError
from homeward.referee.claims import CLAIM_TOLERANCE, PlanCase

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.referee.bounds import Recomputed
    from homeward.referee.claims import PlanClaims
    from homeward.referee.sampling import SampledEstimate

Method = Literal["all", "exact", "sampling", "arithmetic"]
METHODS: tuple[str, ...] = get_args(Method)

EXACT_TOLERANCE = 1e-9  # in units of a claim, how much it may exceed the true value
STEP_ROUNDING = 1e-14  # relative rounding error for each expected step of a plan
GAP_TOLERANCE = 2e-6  # largest gap of an optimal plan, relative to the largest possible value
MIN_SHORTFALL = 5e-10
"""Least total shortfall of all levels that proves a problem infeasible.

A level that is missed by at most 1e-9 counts as met, so every plan for an infeasible problem misses
a level by more.
"""

UNCORRECTED = "the plan was made without a correction (naive): its bounds are believed, not proven"


class CheckedClaim:
    """Base class of verdicts; each subclass is a dataclass with a field `reasons`."""

    __slots__ = ()
    reasons: tuple[str, ...]  # reasons against the claim

    @property
    def refuted(self) -> bool:
        """Whether there is a reason against the claim."""
        return bool(self.reasons)

    @property
    def upheld_text(self) -> str:
        """Text of the verdict on a claim that is not refuted."""
        return "confirmed"

    @property
    def words(self) -> str:
        """The verdict as text."""
        return f"refuted: {'; '.join(self.reasons)}" if self.refuted else self.upheld_text

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON object with the fields and the verdict."""
        names = [field.name for field in fields(self) if field.name != "reasons"]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names} | {
            "refuted": self.refuted,
            "reasons": list(self.reasons),
            "verdict": self.words,
        }


@dataclass(frozen=True, slots=True)
class ClaimVerdict(CheckedClaim):
    """The verdict on the claimed bound of one criterion for one mixture of the plan.

    Attributes
    ----------
    kind : str
        Kind of the criterion: return, stay, earn, or own for a user-defined one.
    part : str
        The mixture. "plan": all policies; "action": those that start with the chosen action.
    level : float
        Required level.
    claimed : float
        Lower bound that the plan claims.
    unit : float
        1 for a probability; else the recomputed range of possible earnings.
    exact, sampled, recomputed : optional
        Value by enumeration, by sampling and by arithmetic; None if the method was not used.
    reasons : tuple
        Sentences against the claim.
    corrected : bool
        Whether the bound has a correction; without one it is not proven.
    refuted_by : tuple
        Methods that refute the claim: exact, sampling, arithmetic.
    """

    criterion: str
    kind: str
    part: str
    level: float
    claimed: float
    unit: float
    exact: float | None = None
    sampled: SampledEstimate | None = None
    recomputed: float | None = None
    reasons: tuple[str, ...] = ()
    corrected: bool = True
    refuted_by: tuple[str, ...] = ()

    @property
    def interval(self) -> tuple[float | None, float | None, float | None]:
        """The true value and its limits (low, high); None if only the arithmetic was checked."""
        if self.exact is not None or self.sampled is None:
            return self.exact, self.exact, self.exact
        return self.sampled.estimate, self.sampled.low, self.sampled.high

    @property
    def estimate(self) -> float | None:
        """The true value, exact or estimated; None if only the arithmetic was checked."""
        return self.interval[0]

    @property
    def low(self) -> float | None:
        """The lower limit of the true value."""
        return self.interval[1]

    @property
    def high(self) -> float | None:
        """The upper limit of the true value."""
        return self.interval[2]

    @property
    def method(self) -> str:
        """The method that `estimate`, `low` and `high` come from."""
        if self.exact is not None:
            return "exact"
        return "arithmetic" if self.sampled is None else "sampling"

    @property
    def upheld_text(self) -> str:
        """Text of the verdict on a claim that is not refuted."""
        if self.exact is not None:
            return "confirmed: true of the belief's worlds, exactly"
        if self.sampled is not None and self.sampled.low >= self.claimed:
            return "confirmed: the whole interval is above the claim"
        if self.sampled is not None:
            return "not refuted: the interval reaches above the claim"
        if not self.corrected:
            return "not refuted: the recomputed bound agrees, but it has no correction"
        return "confirmed: the recomputed bound agrees"

    def against(self, claimed_unit: float) -> Iterator[tuple[str, str]]:
        """Yield (method, reason) for each method that refutes the claimed bound."""
        least = self.claimed - EXACT_TOLERANCE * self.unit
        if self.exact is not None and self.exact < least:
            yield "exact", f"the exact value is {self.exact:.6g}"
        if self.sampled is not None and self.sampled.high < least:
            yield "sampling", f"by sampling, the value is at most {self.sampled.high:.6g}"
        yield from self.against_recomputed(self.claimed, self.recomputed, claimed_unit)

    def against_recomputed(
        self, claimed: float, found: float | None, claimed_unit: float
    ) -> Iterator[tuple[str, str]]:
        """Yield ("arithmetic", reason) if `claimed` is above the recomputed bound `found`."""
        slack = CLAIM_TOLERANCE * self.unit + 1e-14 * claimed_unit
        if found is not None and claimed > found + slack:
            yield "arithmetic", f"the recomputed bound is {found:.6g}"

    def __str__(self) -> str:
        value = ""
        if self.exact is not None:
            value = f", exactly {self.exact:.6g}"
        elif self.sampled is not None:
            value = f", sampled {self.estimate:.6g} ({self.low:.6g} to {self.high:.6g})"
        return f"{self.criterion} ({self.part}): claimed {self.claimed:.6g}{value}; {self.words}."

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON object with the claim, the verdict and the estimate."""
        result = CheckedClaim.as_dict(self)
        del result["unit"], result["corrected"], result["refuted_by"]
        more = {name: getattr(self, name) for name in ("estimate", "low", "high", "method")}
        return result | more | {"sampled": None if self.sampled is None else asdict(self.sampled)}


@dataclass(frozen=True, slots=True)
class ValueVerdict(CheckedClaim):
    """The verdict on the claimed exploration value of a plan and on its claimed upper bound."""

    value: float  # exploration value of the mixture, as claimed
    upper: float  # upper bound on the value of every safe plan, as claimed; −inf if none is safe
    recomputed_value: float | None = None
    recomputed_upper: float | None = None
    reasons: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON object; an infinite upper bound becomes None."""
        upper = self.upper if np.isfinite(self.upper) else None
        return CheckedClaim.as_dict(self) | {"upper": upper}


@dataclass(frozen=True, slots=True)
class RunVerdict(CheckedClaim):
    """The verdict on the probability of coming home that a run with a risk budget claims."""

    level: float  # required level
    kept: float  # probability claimed in the record of the last step
    recomputed: float | None  # probability after planning every step again; None if that failed
    reasons: tuple[str, ...] = ()
    end: str | None = None  # `End.REFUTED` if what happened contradicts the belief

    @property
    def upheld_text(self) -> str:
        """Text of the verdict on a claim that is not refuted."""
        return "confirmed: every step was planned and charged again"


@dataclass(frozen=True, slots=True)
class HomeVerdict(CheckedClaim):
    """The verdict on a run's claim that it can return to one home."""

    name: str
    level: float  # required level
    kept: float  # probability claimed in the last record: 1 − spent
    charged: float  # probability that the run had to spend
    steps: int  # number of checked steps
    reasons: tuple[str, ...] = ()  # in the order of the steps
    worlds: int | None = None  # number drawn by the referee per step; None if the claim is proven

    @property
    def upheld_text(self) -> str:
        """Text of the verdict on a claim that is not refuted."""
        if self.worlds is not None:
            return (
                f"not refuted: it was estimated, not proven; in {self.worlds:,} other worlds drawn "
                f"for each of {self.steps} steps they cost {self.charged:.3g}"
            )
        if self.kept < self.level - 1e-9:
            return (
                "confirmed: the explorer was moved, and the record says what is left of the level "
                f"after each of {self.steps} steps"
            )
        return f"confirmed: the risks of {self.steps} steps are within the budget"


@dataclass(frozen=True, slots=True)
class Certificate:
    """The verdicts on all claims of a plan.

    Attributes
    ----------
    verdicts : tuple
        One `ClaimVerdict` for each mixture and criterion.
    worth : ValueVerdict
        The verdict on the exploration value.
    confidence : float
        Probability that all sampled intervals hold together.
    episodes : int
        Number of simulated episodes.
    notes : tuple
        Claims that were not checked, and why.
    said : tuple
        Reasons against the plan's flags and its table of actions.
    """

    verdicts: tuple[ClaimVerdict, ...]
    worth: ValueVerdict
    confidence: float
    episodes: int
    seed: int
    seconds: float
    notes: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    @property
    def refuted(self) -> bool:
        """Whether any claim is refuted."""
        return bool(self.said) or any(claim.refuted for claim in (*self.verdicts, self.worth))

    def __str__(self) -> str:
        against = (f"Refuted: {reason}." for reason in (*self.worth.reasons, *self.said))
        return "\n".join((*map(str, self.verdicts), *against, *(f"{n}." for n in self.notes)))

    def as_dict(self) -> dict[str, Any]:
        """Return a JSON object."""
        names = ("refuted", "confidence", "episodes", "seed", "seconds")
        return {
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "worth": self.worth.as_dict(),
            "run": None,  # only runs have a `RunVerdict`
            "said": list(self.said),
            "notes": list(self.notes),
        } | {name: getattr(self, name) for name in names}


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
    for name, part, member in (("Plan", plan, "exploration_value"), ("Planner", planner, "bonus")):
        if isinstance(part, type) or not hasattr(part, member):
            raise InvalidInputError(f"the {name.lower()} is {part!r}, expected a {name}")
    case = PlanCase.of(plan, need_belief(belief), planner)
    options: dict[str, Any] = {"episodes": episodes, "confidence": confidence, "seed": seed}
    return judge(case, method=method, jobs=jobs, progress=progress, **options)


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
    from homeward.referee.bounds import Recomputed, reachable
    from homeward.referee.exact import enumerated_values, why_not_enumerable
    from homeward.referee.sampling import range_of, sample

    if method not in METHODS:
        raise InvalidInputError(f"method is {method!r}, expected one of {', '.join(METHODS)}")
    index(seed, 2**63, "the seed", InvalidInputError)
    if not 0.0 < number(confidence, "the confidence", InvalidInputError) < 1.0:
        raise InvalidInputError(f"the confidence is {confidence:g}, expected 0 < confidence < 1")
    for name, count, most in (("episodes", episodes, 2**62), ("processes", jobs, 2**20)):
        if index(count, most, f"the number of {name}", InvalidInputError) == 0:
            raise InvalidInputError(f"the number of {name} is 0, expected at least 1")
    began, plan = time.perf_counter(), case.plan
    worth = ValueVerdict(plan.exploration_value, plan.upper_bound)
    claims = [(part, k) for part in case.parts for k in range(len(plan.criteria))]
    if not claims:
        note = "the plan has no criteria: there is nothing to certify"
        return Certificate((), worth, confidence, 0, seed, time.perf_counter() - began, (note,))
    notes = [UNCORRECTED] if plan.correction == "naive" else []
    if len(plan.conflict) > 1 or (plan.conflict and len(plan.criteria) > 1):
        notes.append("not checked: which criteria conflict")
    reason = why_not_enumerable(case)
    if reason is not None and method == "exact":
        raise InvalidInputError(reason)
    if reason is not None and method == "all":
        notes.append(f"not enumerated: {reason}")
    exactly = sampled = again = None
    if reason is None:
        exactly = enumerated_values(case)
    if method in ("all", "arithmetic"):
        try:
            again = Recomputed(case)
        except InvalidInputError as cause:
            if method == "arithmetic":
                raise
            notes.append(f"arithmetic not checked: {cause}")
    if method in ("all", "sampling"):
        doubt = (1.0 - confidence) / len(claims)
        sampled = sample(case, episodes, doubt, seed, jobs, progress)
    near = reachable(case.belief.mean(), plan.state)
    units = [_unit(range_of(case, k, near), plan, k) for k in range(len(plan.criteria))]
    verdicts = []
    for part, k in claims:
        criterion = plan.criteria[k]
        found = again.by_evaluator(part, k) if again is not None else None
        if criterion.evaluator == "exact" and again is not None and exactly is not None:
            found = exactly[part.name][k]
        verdict = ClaimVerdict(
            criterion.name,
            criterion.kind,
            part.name,
            criterion.level,
            part.claims[k],
            units[k],
            exactly[part.name][k] if exactly is not None and method in ("all", "exact") else None,
            None if sampled is None else sampled[part.name][k],
            found,
            corrected=plan.correction != "naive",
        )
        against = list(verdict.against(criterion.unit))
        if again is not None:
            planned = criterion.corrected if part.name == "plan" else criterion.kept_corrected
            corrected = again.bounds[part.name][k]
            if criterion.evaluator != "correction":
                against += verdict.against_recomputed(planned, corrected, criterion.unit)
            against += [("arithmetic", fault) for fault in again.faults[k]]
        methods, reasons = zip(*against, strict=True) if against else ((), ())
        verdicts.append(replace(verdict, reasons=reasons, refuted_by=methods))
    everywhere = np.ones_like(near)
    units = [_unit(range_of(case, k, everywhere), plan, k) for k in range(len(plan.criteria))]
    reasons = (*_missed_levels(plan, units), *(_against_worth(plan, again) if again else ()))
    worth = replace(worth, reasons=reasons)
    if again is not None:
        worth = replace(worth, recomputed_value=again.value, recomputed_upper=again.upper)
        if not reasons:
            worth = replace(worth, reasons=tuple(_against_gap(plan, again)))
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


def _unit(limits: tuple[float, float], plan: PlanClaims, k: int) -> float:
    """Return the unit of a claim on criterion `k`: 1 for a probability, else the range."""
    low, high = limits
    steps = plan.expected_steps if plan.criteria[k].kind == "earn" else 1.0
    return high - low if high > low else steps


def _missed_levels(plan: PlanClaims, units: list[float]) -> Iterator[str]:
    """Yield a sentence for each level that the claimed bounds of an "optimal" plan miss.

    As in the planner, the tolerance is relative to the range of rewards in all states.
    """
    slack = EXACT_TOLERANCE + STEP_ROUNDING * plan.expected_steps
    for criterion, unit in zip(plan.criteria, units, strict=True):
        if plan.status == "optimal" and criterion.corrected < criterion.level - slack * unit:
            yield (
                f"the plan claims to be optimal, but its corrected bound {criterion.corrected:.6g} "
                f"for {criterion.name!r} is below {criterion.level:g}"
            )


def _against_worth(plan: PlanClaims, again: Recomputed) -> Iterator[str]:
    """Yield reasons against a plan's value, its upper bound and its status."""
    for name, claimed, found, size in (
        ("the plan", plan.exploration_value, again.value, again.size),
        ("the mixture that starts with the action", plan.kept_value, again.kept_value,
         again.kept_size),
    ):  # fmt: skip
        if not abs(claimed - found) <= CLAIM_TOLERANCE * size + again.rounding:
            yield f"{name} is claimed to have value {claimed:.6g}, but its value is {found:.6g}"
    if plan.status == "optimal" and not plan.gap <= GAP_TOLERANCE * again.anywhere:
        yield f"the plan is claimed to be optimal, but its gap is {plan.gap:.6g}"
    if again.short is not None and not again.short * len(plan.criteria) > MIN_SHORTFALL:
        yield "the plan's multipliers do not prove that no plan meets the levels"
    if again.upper is not None:
        # A forged plan may have any multipliers, so the tolerance that these add is limited.
        size = max(again.size, abs(again.upper))
        slack = CLAIM_TOLERANCE * size + min(CLAIM_TOLERANCE * again.prices, GAP_TOLERANCE * size)
        rounding = STEP_ROUNDING * plan.expected_steps * again.scale
        if plan.upper_bound < again.upper - slack - rounding:
            yield (
                f"the claimed upper bound on safe plans is {plan.upper_bound:.6g}, but the proven "
                f"one is {again.upper:.6g}"
            )


def _against_gap(plan: PlanClaims, again: Recomputed) -> Iterator[str]:
    """Yield a reason against an "optimal" plan whose recomputed gap is not close to zero.

    The planner's tolerance is relative to all states; this one to reachable states.
    """
    if plan.status == "optimal" and again.upper is not None:
        gap, rounding = again.upper - again.value, STEP_ROUNDING * plan.expected_steps
        if not gap <= (2.0 * GAP_TOLERANCE + rounding) * again.scale:
            yield f"the plan is claimed to be optimal, but the proven gap is {gap:.6g}"
