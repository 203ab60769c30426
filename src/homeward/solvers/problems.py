"""Constrained problems: maximise one total subject to lower bounds on other totals.

A total is the sum of a reward [S, A] over the steps, discounted by γ. With γ = 1 the process must
end by itself: that is the form of a problem over a fixed number of steps, see `steps_left`. Read
next: `policies` and `constrained`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from scipy.sparse import diags_array

from homeward.arrays import BoolArray, FloatArray, IntArray, index, set_fields
from homeward.errors import InvalidProblemError
from homeward.models import Model, Moves, SparseMDP
from homeward.solvers import kernels
from homeward.solvers.tolerances import LARGEST_TOTAL


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

    policy: IntArray  # [S]
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


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedProblem:
    """Maximise one total subject to lower bounds on other totals; `totals` are checked and copied.

    Attributes
    ----------
    model : The model; with γ = 1 its states are ordered so that every action leads to a lower one
    discount : γ, 0 < γ ≤ 1
    start : The state whose totals count
    totals : [1 + K, S, A] reward of the objective (−inf: can't be chosen), then of the constraints
    levels : [K] lower bounds on the totals of the constraints
    steps : Largest number of steps until the process ends, which is required for γ = 1
    span : Expected number of steps: 1/(1 − γ), or `steps`
    closed : Whether any action can't be chosen
    worth : Upper bound on the absolute value of the objective's total
    """

    model: Model
    discount: float
    start: int
    totals: FloatArray
    levels: FloatArray
    steps: int | None = None
    span: float = field(init=False)
    closed: bool = field(init=False)
    worth: float = field(init=False)

    def __post_init__(self) -> None:
        error = InvalidProblemError
        if not (0.0 < self.discount < 1.0 or (self.discount == 1.0 and self.steps is not None)):
            raise error(f"γ is {self.discount:g}, expected 0 < γ < 1")
        span = 1.0 / (1.0 - self.discount) if self.steps is None else float(self.steps)
        set_fields(self, span=span)
        largest = LARGEST_TOTAL / self.span
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
        set_fields(self, worth=max(highest, -lowest) * self.span)

    @property
    def objective(self) -> FloatArray:
        """The reward [S, A] whose total is maximised."""
        result: FloatArray = self.totals[0]
        return result

    @property
    def constraints(self) -> FloatArray:
        """The rewards [K, S, A] whose totals have lower bounds."""
        return self.totals[1:]


def end_at(
    model: Model,
    discount: float,
    exits: BoolArray,
    totals: FloatArray,
    value: FloatArray,
    paid: Sequence[FloatArray | float] = (),
) -> Model:
    """Return the model in which the actions of the mask `exits` [S, A] end the process.

    Write the rewards of exits to `totals` [1 + K, S, A]. In ``totals[0]``, an exit gets its reward
    plus γ times the expected `value` [S] of the next state. In ``totals[1 + k]``, it gets
    ``paid[k]``, an amount or amounts [S, A]. On `SparseMDP` an exit's row is empty. `Moves` can't
    end the process: there an exit is a move that never works and pays 1 − γ times the amount at
    every step, so the discounted total is the same.
    """
    s, a = np.nonzero(exits)
    again = 1.0 - discount if isinstance(model, Moves) else 1.0
    for total, amount in zip(totals[1:], paid, strict=True):
        total[s, a] = again * (amount[s, a] if isinstance(amount, np.ndarray) else amount)
    if isinstance(model, Moves):
        p = model.success[s, a]
        ahead = p * value[model.dest[s, a]] + (1.0 - p) * value[s]
        totals[0, s, a] = again * (totals[0, s, a] + discount * ahead)
        return model.with_success(np.where(exits, 0.0, model.success))
    totals[0, s, a] += discount * (model.transitions[s * model.actions + a] @ value)
    inside = diags_array((~exits).astype(np.float64).ravel())
    rows = (inside @ model.transitions).tocsr()
    rows.eliminate_zeros()
    return SparseMDP(rows, model.reward, model.state_names, model.action_names)
