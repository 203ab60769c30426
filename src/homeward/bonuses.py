"""Bonuses: what is worth seeing, ξ[S, A] from a belief.

A bonus is any callable from a belief to an array [S, A]; real rewards are added to it by the
planner. Here are the classical count-based ones, and the paper's adapted R-max, which pays for what
would be seen from a place instead of for being there.

Where being in a state shows all that its actions do, as on a grid of heights, the count of an
action goes from 0 to infinity with the first visit. R-max and near-Bayesian exploration are then
the same array, and so explore alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from homeward.arrays import FloatArray
    from homeward.beliefs import Counted, HeightBelief


class Bonus(Protocol):
    """Anything that says what is worth seeing."""

    def __call__(self, belief: Any, /) -> FloatArray:
        """Give ξ[S, A] ≥ 0 under a belief."""
        ...


class Uncovering(Protocol):
    """A belief over what can be seen from afar."""

    def uncovers(self) -> FloatArray:
        """Give the expected number [S, A] of unseen things that an action would show."""
        ...


@dataclass(frozen=True, slots=True)
class Uncover:
    """Adapted R-max: `reward` for everything unseen that an action is expected to uncover."""

    reward: float = 1.0

    def __call__(self, belief: Uncovering, /) -> FloatArray:
        """Give ξ[S, A]."""
        return self.reward * belief.uncovers()


@dataclass(frozen=True, slots=True)
class RMax:
    """R-max: `reward` for every action out of a state that was never visited."""

    reward: float = 1.0

    def __call__(self, belief: Counted | HeightBelief, /) -> FloatArray:
        """Give ξ[S, A]."""
        new = np.where(belief.visited, 0.0, self.reward)
        return np.repeat(new[:, None], belief.counts.shape[1], axis=1)


@dataclass(frozen=True, slots=True)
class NearBayesian:
    """Near-Bayesian exploration: β / (1 + n), n observations of the state-action so far."""

    beta: float = 1.0

    def __call__(self, belief: Counted | HeightBelief, /) -> FloatArray:
        """Give ξ[S, A]."""
        return self.beta / (1.0 + np.asarray(belief.counts, np.float64))


@dataclass(frozen=True, slots=True)
class MbieEb:
    """MBIE-EB: β / √n, and `unseen`·β where nothing was observed yet."""

    beta: float = 1.0
    unseen: float = 2.0

    def __call__(self, belief: Counted | HeightBelief, /) -> FloatArray:
        """Give ξ[S, A]."""
        counts = belief.counts
        return self.beta * np.where(counts > 0, 1.0 / np.sqrt(np.maximum(counts, 1)), self.unseen)
