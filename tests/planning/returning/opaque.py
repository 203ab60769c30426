"""A belief of which only the defaults of `Belief` are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from homeward.beliefs import Belief, FiniteBelief

if TYPE_CHECKING:
    import numpy as np

    from homeward.models import Model


@dataclass(frozen=True)
class Opaque(Belief):
    """A belief of which nothing is known but its mean, its correction and its draws."""

    inner: FiniteBelief

    def mean(self) -> Model:
        return self.inner.mean()

    def correction(self) -> np.ndarray:
        return self.inner.correction()

    def update(self, observation: Any) -> Self:
        return replace(self, inner=self.inner.update(observation))

    def sample(self, rng: np.random.Generator) -> Model:
        return self.inner.sample(rng)

    @property
    def visited(self) -> np.ndarray:
        return self.inner.visited

    @property
    def counts(self) -> np.ndarray:
        return self.inner.counts
