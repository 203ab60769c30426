"""Constrained problems: maximise one total subject to lower bounds on others; and solved policies.

A total is a reward [S, A] that is collected at every step: discounted by γ without end
(`ConstrainedProblem`), or for a fixed number of steps (`HorizonProblem`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.sparse import diags_array

from homeward.arrays import index, set_fields
from homeward.errors import InvalidProblemError
from homeward.models import Moves, SparseMDP
from homeward.solvers import kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import Model

LARGEST_TOTAL = 1e290
"""Totals stay below this, so that no sum of them overflows."""


class Status(StrEnum):
    """How a solve ended, or what a plan or a bound is."""

    OPTIMAL = "optimal"
    """Solved, with the reported gap as evidence."""

    INFEASIBLE = "infeasible"
    """Proven: no policy meets the constraints. The result comes closest to them."""

    NOT_CONVERGED = "not converged"
    """Stopped at the round limit. The result is valid; its optimality is unproven."""

    NUMERICAL = "numerical trouble"
    """Rounding prevented the requested gap. The result is still valid."""


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
        set_fields(self, sizes=tuple(kernels.sizes_of(self.values).tolist()))

    def worth(self, weights: Sequence[float], state: int) -> float:
        """Return the weighted sum of the values in a state."""
        here = self.values[:, state].tolist()
        return float(sum(w * v for w, v in zip(weights, here, strict=True)))


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
        totals = np.require(self.totals, np.float64, ["C", "W"])
        set_fields(self, totals=totals, levels=np.asarray(self.levels, dtype=np.float64))
        index(self.start, self.model.states, "the start", error)
        shape = (1 + len(self.levels), self.model.states, self.model.actions)
        if totals.shape != shape:
            raise error(f"the totals have shape {totals.shape}, expected {shape}")
        lowest, highest = float(self.objective.min()), float(self.objective.max())
        set_fields(self, closed=lowest == -np.inf)
        if lowest == -np.inf:
            lowest = float(self.objective.min(where=self.objective > -np.inf, initial=0.0))
            idle = self.objective.max(axis=1) == -np.inf
            if idle.any():
                raise error(f"state s={int(np.argmax(idle))} has no action that can be chosen")
        if not (highest < largest and lowest > -largest):  # also catches NaN
            raise error(
                f"the objective holds NaN or a reward whose total would pass {LARGEST_TOTAL:g}"
            )
        for k, constraint in enumerate(self.constraints):
            if not (constraint.min() > -largest and constraint.max() <= largest):
                raise error(f"constraint {k} is not finite, or its total is not")
        if not np.isfinite(self.levels).all():
            raise error("the levels are not finite")
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
        set_fields(self, worth=largest / (1.0 - self.discount))

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
        final = np.ascontiguousarray(self.final, dtype=np.float64)
        if final.shape != self.totals.shape[:2]:
            raise InvalidProblemError(
                f"the final totals have shape {final.shape}, expected {self.totals.shape[:2]}"
            )
        if not (final.min() > -largest and final.max() <= largest):
            raise InvalidProblemError("the final totals hold NaN or are not finite")
        set_fields(self, final=final, worth=most + float(np.abs(final[0]).max()))

    @property
    def span(self) -> float:
        """The number of steps."""
        return float(self.steps)


Problem: TypeAlias = ConstrainedProblem | HorizonProblem


def end_at(
    model: Model,
    discount: float,
    exits: BoolArray,
    totals: FloatArray,
    value: FloatArray,
    worths: Sequence[FloatArray | None],
) -> Model:
    """Return the model in which `exits` [S, A] end the process; write their pay to `totals`.

    Under the first total [S, A] an exit pays its reward and the discounted mean of `value` [S]
    after it; under the others 1 − γ times their `worths`, each [S], [S, A] or None for 0. On
    `SparseMDP` an exit's row is empty. `Moves` can't end the process: there an exit is a move that
    never works and pays (1 − γ) times the amount at every step, with the same discounted total.
    """
    s, a = np.nonzero(exits)
    once = (1.0 - discount) ** 2 if isinstance(model, Moves) else 1.0 - discount
    for total, worth in zip(totals[1:], worths, strict=True):
        total[s, a] = (
            0.0 if worth is None else once * (worth[s] if worth.ndim == 1 else worth[s, a])
        )
    if isinstance(model, Moves):
        p = model.success[s, a]
        ahead = p * value[model.dest[s, a]] + (1.0 - p) * value[s]
        totals[0, s, a] = (1.0 - discount) * (totals[0, s, a] + discount * ahead)
        return model.with_success(np.where(exits, 0.0, model.success))
    totals[0, s, a] += discount * (model.transitions[s * model.actions + a] @ value)
    inside = diags_array((~exits).astype(np.float64).ravel())
    rows = (inside @ model.transitions).tocsr()
    rows.eliminate_zeros()
    return SparseMDP(rows, model.reward, model.state_names, model.action_names)
