"""Bonuses: what is worth seeing, ξ[S, A] from a belief.

A bonus is any callable from a belief to an array [S, A]; real rewards are added to it by the
planner. Those here are the classical count-based ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from homeward.arrays import FloatArray
    from homeward.beliefs import Counted


class Bonus(Protocol):
    """Anything that says what is worth seeing."""

    def __call__(self, belief: Any, /) -> FloatArray:
        """Give ξ[S, A] ≥ 0 under a belief."""
        ...


@dataclass(frozen=True, slots=True)
class RMax:
    """R-max: `reward` for every action out of a state that was never visited."""

    reward: float = 1.0

    def __call__(self, belief: Counted, /) -> FloatArray:
        """Give ξ[S, A]."""
        new = np.where(belief.visited, 0.0, self.reward)
        return np.repeat(new[:, None], belief.counts.shape[1], axis=1)


@dataclass(frozen=True, slots=True)
class NearBayesian:
    """Near-Bayesian exploration: β / (1 + n), n observations of the state-action so far."""

    beta: float = 1.0

    def __call__(self, belief: Counted, /) -> FloatArray:
        """Give ξ[S, A]."""
        return self.beta / (1.0 + belief.counts.astype(np.float64))


@dataclass(frozen=True, slots=True)
class MbieEb:
    """MBIE-EB: β / √n, and `unseen`·β where nothing was observed yet."""

    beta: float = 1.0
    unseen: float = 2.0

    def __call__(self, belief: Counted, /) -> FloatArray:
        """Give ξ[S, A]."""
        counts = belief.counts
        return self.beta * np.where(counts > 0, 1.0 / np.sqrt(np.maximum(counts, 1)), self.unseen)
