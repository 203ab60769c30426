"""Offences: the wrong claims that a check found, and the statistics behind them.

A claim that a bounded variable has the mean μ is tested with n draws. Two tests hold for every
distribution:

- if values are in [0, 1] and m > μ, the mean of the draws is ≥ m with probability at most
  exp(−n KL(m ‖ μ)); the same holds for m < μ and a mean ≤ m (Hoeffding);
- with sample variance V, range R and any l > 0, the mean of the draws is within
  √(2 V l / n) + 7 R l / (3 (n − 1)) of μ with probability at least 1 − 2 e^−l (Maurer and Pontil's
  empirical Bernstein bound).

The probability that any test of a check calls a true claim wrong is at most 1 − confidence: l is
larger if there are more tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from homeward.arrays import BoolArray, FloatArray
from homeward.errors import InvalidInputError

MAX_LISTED = 10  # largest number of offences that a message lists
ROUNDING = 1e-9  # largest difference of exact numbers that counts as rounding


@dataclass(frozen=True, slots=True)
class Offence:
    """One claim that is wrong.

    Attributes
    ----------
    code : str
        What is wrong: ``protocol``, ``shape``, ``range``, ``mean``, ``support``, ``reward``,
        ``correction``, ``moves``, ``blocked``, ``bounds``, ``limits``, ``gain``, ``sample``,
        ``update``, ``impossible``, ``counts``, ``requirement``, ``value`` or ``world``.
    where : str
        The state and action, or the method.
    expected : str
        The value that follows from the samples, or from another claim.
    found : str
        The value that the object claims.
    """

    code: str
    where: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"[{self.code}] {self.where}: {self.found}; expected {self.expected}"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The report of a check that found nothing wrong.

    Attributes
    ----------
    subject : str
        Name of the checked class.
    samples : int
        Number of drawn worlds, or steps of a world.
    confidence : float
        Lower bound on the probability that a check of a correct object reports nothing.
    checked : tuple of str
        Names of the claims that were checked.
    resolution : float
        Half-width of the widest interval of a mean probability. Smaller errors may be missed.
        0 if nothing was estimated.
    """

    subject: str
    samples: int
    confidence: float
    checked: tuple[str, ...]
    resolution: float

    def __str__(self) -> str:
        if self.confidence == 1.0:
            checked = ", ".join(self.checked)
            return f"{self.subject}: nothing wrong in {self.samples:,} steps. Checked: {checked}."
        return (
            f"{self.subject}: nothing wrong in {self.samples:,} draws at confidence "
            f"{self.confidence:g}. Checked: {', '.join(self.checked)}. Errors of mean "
            f"probabilities below {self.resolution:.2g} may pass; more samples find smaller ones."
        )


class Findings:
    """Collects the offences of a check and the names of the checked claims."""

    def __init__(self, subject: str, samples: int, confidence: float) -> None:
        self.subject, self.samples, self.confidence = subject, samples, confidence
        self.offences: list[Offence] = []
        self.checked: dict[str, None] = {}
        self.resolution = 0.0

    def log_inverse_alpha(self, tests: int) -> float:
        """Return ln(1/α), with α the error probability of each of a group's `tests`.

        Twelve groups of tests share 1 − confidence equally.
        """
        return math.log(2.0 * 12.0 * max(1, tests) / (1.0 - self.confidence))

    def add(self, code: str, where: str, expected: str, found: str) -> None:
        """Report an offence, once."""
        offence = Offence(code, where, expected, found)
        if offence not in self.offences:
            self.offences.append(offence)

    def finish(self, error: type[InvalidInputError]) -> CheckReport:
        """Return the report; raise `error` with all offences if there are any."""
        if not self.offences:
            parts = tuple(self.checked)
            return CheckReport(self.subject, self.samples, self.confidence, parts, self.resolution)
        lines = [f"  {offence}" for offence in self.offences[:MAX_LISTED]]
        more = len(self.offences) - MAX_LISTED
        if more > 0:
            lines.append(f"  and {more} more")
        count = f"{len(self.offences)} offence{'s' * (len(self.offences) != 1)}"
        raise error("\n".join([f"{self.subject} is wrong ({count}):", *lines]))


def slack(values: FloatArray, log_inverse_alpha: float, width: float) -> FloatArray:
    """Return the half-width of the empirical Bernstein interval of a mean of `values` [n, ...]."""
    count = len(values)
    spread = np.sqrt(2.0 * values.var(axis=0, ddof=1) * log_inverse_alpha / count)
    half: FloatArray = spread + 7.0 * width * log_inverse_alpha / (3.0 * (count - 1)) + ROUNDING
    return half


def refutes(
    mean: FloatArray, claimed: FloatArray, count: int, log_inverse_alpha: float
) -> BoolArray:
    """Return whether `count` draws in [0, 1] with this `mean` refute a `claimed` mean."""
    m, mu = np.clip(mean, 0.0, 1.0), np.clip(claimed, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(m > 0.0, m * np.log(m / mu), 0.0)
        below = np.where(m < 1.0, (1.0 - m) * np.log((1.0 - m) / (1.0 - mu)), 0.0)
    refuted: BoolArray = (count * (above + below) > log_inverse_alpha) & (np.abs(m - mu) > ROUNDING)
    return refuted
