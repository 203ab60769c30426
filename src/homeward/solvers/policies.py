"""A solved policy with its evidence, as every engine returns it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homeward.solvers import kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.solvers.status import Status


@dataclass(frozen=True, slots=True, eq=False)
class PolicySolution:
    """A deterministic policy, its exact values, and its optimality gap."""

    policy: IntArray  # [S], or [n, S] over a fixed number of steps
    values: FloatArray  # [K, S] under each total, finite
    gap: float  # of the weighted sum to the optimum, at most, in the requested states
    status: Status
    rounds: int
    sizes: tuple[float, ...] = field(init=False)  # [K] largest absolute value of each total

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", tuple(kernels.sizes_of(self.values).tolist()))

    def worth(self, weights: Sequence[float], state: int) -> float:
        """Return the weighted sum of the values in a state."""
        here = self.values[:, state].tolist()
        return float(sum(w * v for w, v in zip(weights, here, strict=True)))


def best_known(
    known: Sequence[PolicySolution], weights: Sequence[float], state: int
) -> PolicySolution:
    """Return the first of known policies with the largest weighted sum in a state."""
    return max(known, key=lambda solution: solution.worth(weights, state))
