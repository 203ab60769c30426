"""Confidence intervals: for a probability that was counted, and for a mean that is bounded.

The exact limits are quantiles of the beta distribution, taken directly: `scipy.stats.binomtest`
searches for the same numbers by bisection, which is slower and less exact for small doubts.
"""

from __future__ import annotations

import math

from scipy.special import betainccinv, betaincinv

RETURN_DOUBT = 0.01
"""Probability that a limit of a `ReturnCount` is on the wrong side of the truth, at most."""


def lower_limit(hits: int, trials: int, doubt: float) -> float:
    """Return Clopper and Pearson's one-sided lower limit of a probability.

    It is the probability under which that many hits or more have chance `doubt`.
    """
    return float(betaincinv(hits, trials - hits + 1, doubt)) if hits else 0.0


class ReturnCount:
    """Worlds in which the explorer came home, of all worlds; limits are one-sided at 99 %."""

    __slots__ = ()
    home: int
    worlds: int

    @property
    def fraction(self) -> float:
        """The fraction that came home."""
        return self.home / self.worlds

    @property
    def lower(self) -> float:
        """The lower limit of the true probability."""
        return lower_limit(self.home, self.worlds, RETURN_DOUBT)

    @property
    def upper(self) -> float:
        """The upper limit of the true probability."""
        return 1.0 - lower_limit(self.worlds - self.home, self.worlds, RETURN_DOUBT)


def clopper_pearson(hits: int, trials: int, doubt: float) -> tuple[float, float]:
    """Return the limits that miss the true probability with chance ≤ `doubt`, half on each side.

    The upper limit is the probability under which that many hits or fewer have chance doubt/2.
    """
    high = float(betainccinv(hits + 1, trials - hits, doubt / 2.0)) if hits < trials else 1.0
    return lower_limit(hits, trials, doubt / 2.0), high


def bernstein(variance: float, trials: int, width: float, doubt: float) -> float:
    """Return how far a sample mean is from the true one, but with chance ≤ `doubt`, on either side.

    For independent values in an interval of that width: the empirical Bernstein bound of Maurer and
    Pontil (2009), √(2 V ln(4/doubt)/n) + 7·width·ln(4/doubt)/(3(n − 1)) with V the sample variance.
    """
    if trials < 2:
        return math.inf
    log = math.log(4.0 / doubt)
    return math.sqrt(2.0 * variance * log / trials) + 7.0 * width * log / (3.0 * (trials - 1))
