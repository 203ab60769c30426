"""Compares the closed form of the Dirichlet correction E[Σ min(0, X − E X)] with Monte Carlo."""

from __future__ import annotations

from typing import Any

import numpy as np

from homeward.arrays import FloatArray
from homeward.beliefs import DirichletBelief

CHUNK = 50_000


def examine_row(
    alpha: FloatArray, scale: str, samples: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Compare the closed form with Monte Carlo for a row `alpha`; `scale` names it."""
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
    error = float(np.sqrt(max(0.0, squares / samples - average**2) / samples))
    apart = abs(closed - average)
    return {
        "outcomes": count,
        "concentrations": scale,
        "closed form": closed,
        "sampled": average,
        "standard error": error,
        "apart (sigmas)": apart / error if error > 0 else (0.0 if apart < 1e-12 else np.inf),
    }


def rows(rng: np.random.Generator) -> list[tuple[FloatArray, str]]:
    """Return rows of 2 to 50 outcomes with concentrations from 0.01 to 1,000, and descriptions."""
    found: list[tuple[FloatArray, str]] = []
    for count in (2, 3, 5, 10, 20, 50):
        found += [(np.full(count, a), f"all {a:g}") for a in (0.01, 0.1, 1.0, 10.0, 1000.0)]
        found.append((10.0 ** rng.uniform(-2, 3, count), "mixed 0.01 to 1000"))
    return found
