"""Constrained problems: maximise one total subject to lower bounds on others.

A total is a reward [S, A] that is collected at every step: discounted by γ without end
(`ConstrainedProblem`), or for a fixed number of steps (`HorizonProblem`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from homeward.arrays import index
from homeward.errors import InvalidProblemError
from homeward.solvers import kernels

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray
    from homeward.models import Model

LARGEST_TOTAL = 1e290
"""Totals stay below this, so that no sum of them overflows."""


class _Totals:
    """Base of both problems: the parts of their totals, and the checks."""

    __slots__ = ()
    model: Model
    start: int
    totals: FloatArray
    levels: FloatArray

    @property
    def objective(self) -> FloatArray:
        """The reward that is maximised, [S, A]."""
        objective: FloatArray = self.totals[0]
        return objective

    @property
    def constraints(self) -> FloatArray:
        """The rewards whose totals have lower bounds, [K, S, A]."""
        constraints: FloatArray = self.totals[1:]
        return constraints

    def _check(self, largest: float) -> float:
        """Check start, totals and levels; return the largest absolute reward of the objective."""
        error = InvalidProblemError
        # Kernels would be compiled a second time for read-only arrays: those are copied.
        object.__setattr__(self, "totals", np.require(self.totals, np.float64, ["C", "W"]))
        object.__setattr__(self, "levels", np.asarray(self.levels, dtype=np.float64))
        index(self.start, self.model.states, "the start", error)
        shape = (1 + len(self.levels), self.model.states, self.model.actions)
        if self.totals.shape != shape:
            raise error(f"the totals have shape {self.totals.shape}, expected {shape}")
        lowest, highest = float(self.objective.min()), float(self.objective.max())
        closed = lowest == -np.inf
        if closed:
            lowest = float(self.objective.min(where=self.objective > -np.inf, initial=0.0))
            idle = self.objective.max(axis=1) == -np.inf
            if idle.any():
                raise error(f"state s={int(np.argmax(idle))} has no action that can be chosen")
        if not (highest < largest and lowest > -largest):  # also catches NaN
            raise error(
                f"the objective holds NaN or a reward whose total would pass {LARGEST_TOTAL:g}"
            )
        for k, constraint in enumerate(self.constraints):
            if not kernels.are_within(constraint, -largest, largest):
                raise error(f"constraint {k} is not finite, or its total is not")
        if not np.isfinite(self.levels).all():
            raise error("the levels are not finite")
        object.__setattr__(self, "closed", closed)
        return max(highest, -lowest)


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedProblem(_Totals):
    """Maximise the discounted total of one reward subject to lower bounds on those of others."""

    model: Model
    discount: float
    start: int
    totals: FloatArray  # [1 + K, S, A] the objective (−inf: can't be chosen), the constraints
    levels: FloatArray  # [K]
    closed: bool = field(init=False)  # some action can't be chosen
    worth: float = field(init=False)  # upper bound on the size of the objective's total

    def __post_init__(self) -> None:
        if not 0.0 < self.discount < 1.0:
            raise InvalidProblemError(f"γ is {self.discount:g}, expected 0 < γ < 1")
        largest = self._check(LARGEST_TOTAL * (1.0 - self.discount))
        object.__setattr__(self, "worth", largest / (1.0 - self.discount))

    @property
    def span(self) -> float:
        """The mean number of steps."""
        return 1.0 / (1.0 - self.discount)


@dataclass(frozen=True, slots=True, eq=False)
class HorizonProblem(_Totals):
    """Maximise one total over n steps, without discount, subject to lower bounds on others.

    An action of `exits` pays its own totals and ends the process; the objective also gets the value
    `after` of its next state.
    """

    model: Model
    steps: int
    start: int
    totals: FloatArray  # [1 + K, S, A] the objective (−inf: can't be chosen), the constraints
    final: FloatArray  # [1 + K, S] final reward in the state after the last step
    levels: FloatArray  # [K]
    exits: BoolArray | None = None  # [S, A]
    after: FloatArray | None = None  # [n + 1, S] value of the objective after an exit, by step
    closed: bool = field(init=False)  # some action can't be chosen
    worth: float = field(init=False)  # upper bound on the size of the objective's total

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InvalidProblemError(f"a horizon of {self.steps} steps, expected at least 1")
        largest = LARGEST_TOTAL / self.steps
        most = self._check(largest) * self.steps
        object.__setattr__(self, "final", np.ascontiguousarray(self.final, dtype=np.float64))
        if self.final.shape != self.totals.shape[:2]:
            raise InvalidProblemError(
                f"the final totals have shape {self.final.shape}, expected {self.totals.shape[:2]}"
            )
        if not kernels.are_within(self.final, -largest, largest):
            raise InvalidProblemError("the final totals hold NaN or are not finite")
        object.__setattr__(self, "worth", most + float(np.abs(self.final[0]).max()))

    @property
    def span(self) -> float:
        """The number of steps."""
        return float(self.steps)


Problem: TypeAlias = ConstrainedProblem | HorizonProblem
