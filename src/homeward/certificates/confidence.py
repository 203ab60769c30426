"""Confidence intervals for a binomial probability and for the mean of bounded values.

The exact limits are quantiles of the beta distribution. `scipy.stats.binomtest` finds the same
limits by bisection, which is slower and less precise for small `doubt`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import betainccinv, betaincinv

RETURN_DOUBT = 0.01  # largest probability that a limit of a `ReturnCount` is wrong


def lower_limit(hits: int, trials: int, doubt: float) -> float:
    """Return Clopper and Pearson's one-sided lower limit of a probability.

    If the probability equals this limit, `hits` or more in `trials` have probability `doubt`.
    """
    return float(betaincinv(hits, trials - hits + 1, doubt)) if hits else 0.0


@dataclass(frozen=True, slots=True)
class ReturnCount:
    """A count of returns; its limits `lower` and `upper` have 99 % one-sided confidence."""

    home: int  # number of worlds in which the explorer came home
    worlds: int  # number of all worlds

    @property
    def fraction(self) -> float:
        """The fraction of worlds in which the explorer came home."""
        return self.home / self.worlds

    @property
    def lower(self) -> float:
        """The lower limit of the probability of coming home."""
        return lower_limit(self.home, self.worlds, RETURN_DOUBT)

    @property
    def upper(self) -> float:
        """The upper limit of the probability of coming home."""
        return 1.0 - lower_limit(self.worlds - self.home, self.worlds, RETURN_DOUBT)


def clopper_pearson(hits: int, trials: int, doubt: float) -> tuple[float, float]:
    """Return two-sided limits (low, high); each is wrong with probability at most doubt/2.

    If the probability equals `high`, `hits` or fewer in `trials` have probability doubt/2.
    """
    high = float(betainccinv(hits + 1, trials - hits, doubt / 2.0)) if hits < trials else 1.0
    return lower_limit(hits, trials, doubt / 2.0), high


def bernstein(variance: float, trials: int, width: float, doubt: float) -> float:
    """Return the half-width of an interval that misses the true mean with probability ≤ `doubt`.

    The values are independent and lie in an interval of length `width`. This is the empirical
    Bernstein bound of Maurer and Pontil (2009), √(2 V ln(4/doubt)/n) +
    7·width·ln(4/doubt)/(3(n − 1)), with V the sample variance and n the number of trials.
    """
    if trials < 2:
        return math.inf
    log = math.log(4.0 / doubt)
    return math.sqrt(2.0 * variance * log / trials) + 7.0 * width * log / (3.0 * (trials - 1))
