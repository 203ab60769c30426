"""Compares the closed-form Dirichlet correction with Monte Carlo: E[Σ min(0, X − E X)]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homeward.beliefs import DirichletBelief

if TYPE_CHECKING:
    from homeward.arrays import FloatArray

CHUNK = 50_000


@dataclass(frozen=True, slots=True)
class Deviation:
    """One Dirichlet row, by formula and by sampling."""

    outcomes: int
    scale: str  # description of the concentrations
    closed_form: float
    sampled: float
    error: float  # standard error of the sample mean

    @property
    def sigmas(self) -> float:
        """How many standard errors apart the two are."""
        apart = abs(self.closed_form - self.sampled)
        return apart / self.error if self.error > 0 else (0.0 if apart < 1e-12 else np.inf)


def examine_row(alpha: FloatArray, scale: str, samples: int, rng: np.random.Generator) -> Deviation:
    """Compare the correction of one row with concentrations [O]."""
    count = len(alpha)
    outcomes = np.broadcast_to(np.arange(count), (count, 1, count))
    kinds = np.zeros((count, 1), np.int32)
    closed = float(DirichletBelief(outcomes, alpha[None], kinds).correction()[0, 0])
    mean = alpha / alpha.sum()
    total = squares = 0.0
    for first in range(0, samples, CHUNK):
        drawn = rng.dirichlet(alpha, min(CHUNK, samples - first))
        short = np.minimum(0.0, drawn - mean).sum(axis=1)
        total += short.sum()
        squares += (short**2).sum()
    average = total / samples
    spread = max(0.0, squares / samples - average**2)
    return Deviation(count, scale, closed, average, float(np.sqrt(spread / samples)))


def rows(rng: np.random.Generator) -> list[tuple[FloatArray, str]]:
    """List rows of 2 to 50 outcomes with concentrations from 0.01 to 1,000."""
    found: list[tuple[FloatArray, str]] = []
    for count in (2, 3, 5, 10, 20, 50):
        found += [(np.full(count, a), f"all {a:g}") for a in (0.01, 0.1, 1.0, 10.0, 1000.0)]
        found.append((10.0 ** rng.uniform(-2, 3, count), "mixed 0.01 to 1000"))
    return found
