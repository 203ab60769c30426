"""Verdicts on claims: the claimed number, the computed numbers, and reasons against the claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from homeward.certificates.claims import PlanClaims
    from homeward.certificates.plan_case import Part
    from homeward.certificates.sampling import SampledEstimate


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
    def estimate(self) -> float | None:
        """The true value, exact or estimated; None if only the arithmetic was checked."""
        return self.exact if self.exact is not None or not self.sampled else self.sampled.estimate

    @property
    def low(self) -> float | None:
        """The lower limit of the true value."""
        return self.exact if self.exact is not None or not self.sampled else self.sampled.low

    @property
    def high(self) -> float | None:
        """The upper limit of the true value."""
        return self.exact if self.exact is not None or not self.sampled else self.sampled.high

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


def unjudged(
    plan: PlanClaims,
    part: Part,
    k: int,
    unit: float,
    exact: float | None,
    sampled: SampledEstimate | None,
    recomputed: float | None = None,
) -> ClaimVerdict:
    """Return the verdict on criterion `k` of a mixture, without reasons against the claim yet."""
    criterion, corrected = plan.criteria[k], plan.correction != "naive"
    about = criterion.name, criterion.kind, part.name, criterion.level, part.claims[k], unit
    return ClaimVerdict(*about, exact, sampled, recomputed, corrected=corrected)


def refutations(verdict: ClaimVerdict, tolerance: float) -> Iterator[tuple[str, str]]:
    """Yield (method, reason) if the exact value or the interval is too low for the claim.

    `tolerance` is how much the claim may exceed the value, in units of the claim.
    """
    least = verdict.claimed - tolerance * verdict.unit
    if verdict.exact is not None and verdict.exact < least:
        yield "exact", f"the exact value is {verdict.exact:.6g}"
    if verdict.sampled is not None and verdict.sampled.high < least:
        yield "sampling", f"by sampling, the value is at most {verdict.sampled.high:.6g}"


def judged(verdict: ClaimVerdict, against: Sequence[tuple[str, str]]) -> ClaimVerdict:
    """Return the verdict with the pairs (method, reason) that refute it."""
    methods, reasons = zip(*against, strict=True) if against else ((), ())
    return replace(verdict, reasons=reasons, refuted_by=methods)


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
        return f"confirmed: a path home exists after each of {self.steps} steps within the budget"


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
        return {
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
            "worth": self.worth.as_dict(),
            "run": None,  # only runs have a `RunVerdict`
            "said": list(self.said),
            "refuted": self.refuted,
            "confidence": self.confidence,
            "episodes": self.episodes,
            "seed": self.seed,
            "seconds": self.seconds,
            "notes": list(self.notes),
        }
