"""Constrained problems, which maximise one total subject to lower bounds on other totals.

A total is the sum of a reward [S, A] over the steps: discounted by γ over infinitely many steps
(`ConstrainedProblem`), or undiscounted over a fixed number of steps (`HorizonProblem`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from scipy.sparse import diags_array

from homeward.arrays import BoolArray, FloatArray, IntArray, index, set_fields
from homeward.errors import InvalidProblemError
from homeward.models import Model, Moves, SparseMDP
from homeward.solvers import kernels

LARGEST_TOTAL = 1e290  # limit of the absolute value of a total, so that no sum overflows


class Status(StrEnum):
    """The status of a solution or a plan."""

    OPTIMAL = "optimal"
    """The solution is optimal within the reported gap."""

    INFEASIBLE = "infeasible"
    """No policy meets the constraints; this is proven. The solution has the least shortfall."""

    NOT_CONVERGED = "not converged"
    """The solver stopped at its round limit. The solution is valid, but may not be optimal."""

    NUMERICAL = "numerical trouble"
    """Rounding prevented a small enough gap. The solution is valid, but may not be optimal."""

    UNSOLVED = "unsolved"
    """There was nothing to solve: an agent chose the action without a plan."""


@dataclass(frozen=True, slots=True, eq=False)
class PolicySolution:
    """A deterministic policy, its exact values, and its optimality gap."""

    policy: IntArray  # [S], or [n, S] over a fixed number of steps
    values: FloatArray  # [K, S] value under each total, finite
    gap: float  # upper bound on optimum − value of the weighted sum, in the requested states
    status: Status
    rounds: int
    sizes: tuple[float, ...] = field(init=False)  # [K] largest absolute value of each total

    def __post_init__(self) -> None:
        set_fields(self, sizes=tuple(kernels.sizes_of(self.values).tolist()))

    def weighted_value(self, weights: Sequence[float], state: int) -> float:
        """Return ``Σ weights[k]·values[k, state]``."""
        here = self.values[:, state].tolist()
        return float(sum(w * v for w, v in zip(weights, here, strict=True)))


class _Totals:
    """Base class of both problems: the parts of `totals`, and checks of the fields below."""

    __slots__ = ()
    model: Model
    start: int
    totals: FloatArray
    levels: FloatArray

    @property
    def objective(self) -> FloatArray:
        """The reward [S, A] whose total is maximised."""
        result: FloatArray = self.totals[0]
        return result

    @property
    def constraints(self) -> FloatArray:
        """The rewards [K, S, A] whose totals have lower bounds."""
        return self.totals[1:]

    def _check(self, largest: float) -> float:
        """Check and set totals and levels; return the largest absolute reward of the objective.

        Raise if a field is invalid, or if a reward has an absolute value of `largest` or more.
        """
        error = InvalidProblemError
        # Read-only arrays are copied: kernels would be compiled a second time for them.
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
                f"the objective has NaN or a reward whose total would exceed {LARGEST_TOTAL:g}"
            )
        for k, constraint in enumerate(self.constraints):
            if not (constraint.min() > -largest and constraint.max() <= largest):
                raise error(f"constraint {k} has NaN or its total would exceed {LARGEST_TOTAL:g}")
        if not np.isfinite(self.levels).all():
            raise error("the levels are not finite")
        return max(highest, -lowest)


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedProblem(_Totals):
    """Maximise one discounted total subject to lower bounds on other discounted totals."""

    model: Model
    discount: float
    start: int
    totals: FloatArray  # [1 + K, S, A] objective (−inf: can't be chosen), then the constraints
    levels: FloatArray  # [K] lower bounds on the totals of the constraints
    closed: bool = field(init=False)  # whether any action can't be chosen
    worth: float = field(init=False)  # upper bound on the absolute value of the objective's total

    def __post_init__(self) -> None:
        if not 0.0 < self.discount < 1.0:
            raise InvalidProblemError(f"γ is {self.discount:g}, expected 0 < γ < 1")
        largest = self._check(LARGEST_TOTAL * (1.0 - self.discount))
        set_fields(self, worth=largest / (1.0 - self.discount))

    @property
    def span(self) -> float:
        """The expected number of steps, 1/(1 − γ)."""
        return 1.0 / (1.0 - self.discount)


@dataclass(frozen=True, slots=True, eq=False)
class HorizonProblem(_Totals):
    """Maximise one undiscounted total over n steps subject to lower bounds on other totals.

    An action in `exits` [S, A] pays its own rewards and ends the process; the objective also gets
    the value `after` of the next state.
    """

    model: Model
    steps: int
    start: int
    totals: FloatArray  # [1 + K, S, A] objective (−inf: can't be chosen), then the constraints
    final: FloatArray  # [1 + K, S] final reward in the state after the last step
    levels: FloatArray  # [K] lower bounds on the totals of the constraints
    exits: BoolArray | None = None  # [S, A] mask of the actions that end the process
    after: FloatArray | None = None  # [n + 1, S] objective's value after an exit, by step
    closed: bool = field(init=False)  # whether any action can't be chosen
    worth: float = field(init=False)  # upper bound on the absolute value of the objective's total

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InvalidProblemError(f"the horizon is {self.steps} steps, expected at least 1")
        largest = LARGEST_TOTAL / self.steps
        most = self._check(largest) * self.steps
        final = np.ascontiguousarray(self.final, dtype=np.float64)
        if final.shape != self.totals.shape[:2]:
            raise InvalidProblemError(
                f"the final rewards have shape {final.shape}, expected {self.totals.shape[:2]}"
            )
        if not (final.min() > -largest and final.max() <= largest):
            raise InvalidProblemError("the final rewards contain NaN or too large numbers")
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
    """Return the model in which the actions of the mask `exits` [S, A] end the process.

    Write the rewards of exits to `totals` [1 + K, S, A]. In ``totals[0]``, an exit gets its reward
    plus γ times the expected `value` [S] of the next state. In ``totals[1 + k]``, it gets 1 − γ
    times ``worths[k]``, which is [S], [S, A] or None for 0. On `SparseMDP` an exit's row is empty.
    `Moves` can't end the process: there an exit is a move that never works and pays 1 − γ times the
    amount at every step, so the discounted total is the same.
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
