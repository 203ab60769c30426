r"""Constrained MDPs by column generation over deterministic policies.

Problem: from one start state, maximise the discounted total of `objective` subject to, for each k,
discounted total of ``constraints[k]`` ≥ ``levels[k]``.

Method: a column is a deterministic policy π with its point (f, g₁ … g_K) of exact values in the
start state. The master is a small LP over mixtures of columns; its multipliers λ price the next
column, which is one ordinary MDP with reward ``objective + λ·constraints``. With one constraint the
master is the upper hull of points in the plane and λ a secant slope. A mixture is drawn once, at
the start, and then followed.

Feasibility: a policy within `FEASIBLE` of a level counts as meeting it, so that δ = 1 needs no
special case and a chance of 1e-15 no multiplier of 1e15; what is reported is what it really has.
The constraints are first brought as close to their levels as any mixture can. If the least total
shortfall exceeds `FEASIBLE` the problem is infeasible, which the priced bound proves, and the
closest mixture is returned.

Stopping: no policy prices above the mixture's own columns by more than rounding. The status is
optimal if the gap between the mixture and the Lagrangian bound
U(λ) = max_π f(π) + λ·(g(π) − level) is then below `GAP` of the unconstrained optimum.

Proof: every mixture is a valid policy whose values are recomputed exactly; every U(λ), λ ≥ 0, with
the pricing problem's own gap added, is above every feasible mixture's objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homeward.errors import InvalidProblemError
from homeward.solvers.engines import engine
from homeward.solvers.master import Master
from homeward.solvers.status import Status

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model
    from homeward.solvers.engines import Engine

FEASIBLE = 1e-9
GAP = 1e-8
EXACT = 1e-13
ROUND_LIMIT = 2000


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedProblem:
    """Maximise one discounted total subject to floors on others."""

    model: Model
    discount: float
    start: int
    objective: FloatArray  # [S, A]; −inf marks an action that can't be chosen
    constraints: FloatArray  # [K, S, A], finite
    levels: FloatArray  # [K]

    def __post_init__(self) -> None:
        shape = (self.model.states, self.model.actions)
        if not 0.0 < self.discount < 1.0:
            raise InvalidProblemError(f"γ is {self.discount:g}, expected 0 < γ < 1")
        if not 0 <= self.start < self.model.states:
            raise InvalidProblemError(
                f"the start s={self.start} is not a state (0..{self.model.states - 1})"
            )
        if self.objective.shape != shape:
            raise InvalidProblemError(
                f"the objective has shape {self.objective.shape}, expected {shape}"
            )
        if self.constraints.shape != (len(self.levels), *shape):
            raise InvalidProblemError(
                f"the constraints have shape {self.constraints.shape}, "
                f"expected {(len(self.levels), *shape)}"
            )
        if np.isnan(self.objective).any() or (self.objective == np.inf).any():
            raise InvalidProblemError("the objective holds NaN or +inf")
        if not np.isfinite(self.constraints).all() or not np.isfinite(self.levels).all():
            raise InvalidProblemError("the constraints and their levels must be finite")


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedSolution:
    """A mixture of J deterministic policies with its evidence."""

    status: Status
    weights: FloatArray  # [J] positive, sum to 1
    policies: IntArray  # [J, S]
    values: FloatArray  # [J, 1 + K, S] exact: the objective first, then each constraint
    objective: float  # of the mixture, in the start state
    achieved: FloatArray  # [K] the constraints' values of the mixture, in the start state
    upper: float  # no feasible policy is worth more; −inf if there is none
    gap: float  # upper − objective; for an infeasible problem, of the least shortfall
    multipliers: FloatArray  # [K] λ ≥ 0, what a unit of each constraint costs
    rounds: int  # ordinary MDPs solved

    @property
    def mixed_values(self) -> FloatArray:
        """The values [1 + K, S] of drawing a policy now and following it."""
        mixed: FloatArray = np.tensordot(self.weights, self.values, axes=1)
        return mixed


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A deterministic policy and its values."""

    policy: IntArray  # [S]
    values: FloatArray  # [1 + K, S]


class Pricer:
    """Turns multipliers into columns, and remembers how many MDPs that took."""

    def __init__(self, problem: ConstrainedProblem, solver: Engine) -> None:
        self.problem = problem
        self.solver = solver
        self.totals = np.concatenate([problem.objective[None], problem.constraints])
        self.columns: list[Column] = []
        self.usable = np.isfinite(problem.objective)
        self.converged = True
        self.scale = 0.0  # the unconstrained optimum
        self.rounds = 0

    def price(self, weight: float, multipliers: FloatArray) -> tuple[Column, float]:
        """Maximise ``weight·f + multipliers·g``; give the column and a bound above the maximum."""
        reward = np.tensordot(multipliers, self.problem.constraints, axes=1)
        if weight > 0.0:
            reward += weight * self.problem.objective
        else:
            reward = np.where(self.usable, reward, -np.inf)
        warm = self.columns[-1].policy if self.columns else None
        solution = self.solver.optimise(reward, warm)
        self.converged &= solution.status is Status.OPTIMAL
        self.rounds += 1
        column = Column(solution.policy, self.solver.evaluate(solution.policy, self.totals))
        self.columns.append(column)
        return column, float(solution.value[self.problem.start]) + solution.gap

    def point(self, column: Column) -> FloatArray:
        """Give a column's (f, g₁ … g_K) in the start state; a g within `FEASIBLE` counts as met."""
        point = column.values[:, self.problem.start].copy()
        short = self.problem.levels - point[1:]
        point[1:] += np.where(short <= FEASIBLE, np.maximum(short, 0.0), 0.0)
        return point


def solve_constrained(problem: ConstrainedProblem) -> ConstrainedSolution:
    """Solve by column generation; see the module's docstring."""
    pricer = Pricer(problem, engine(problem.model, problem.discount))
    count = len(problem.levels)
    # The safest policies come first: what is then worth most starts from them and leaves them only
    # for something better, so that ties go to the safer.
    safest = [pricer.price(0.0, unit) for unit in np.eye(count)]
    if count == 1 and pricer.point(safest[0][0])[1] < problem.levels[0]:
        return _short(pricer, *safest[0])
    free, upper = pricer.price(1.0, np.zeros(count))
    f, *reached = pricer.point(free)
    pricer.scale = abs(float(f))
    if (reached >= problem.levels).all():
        return _finish(pricer, [free], np.ones(1), upper, np.zeros(count), Status.OPTIMAL)
    if count == 1:
        return _secant(pricer, free, safest[0][0], upper)
    return _generate(pricer)


def _short(pricer: Pricer, safest: Column, most: float) -> ConstrainedSolution:
    """Report that even the safest policy is below the one level, and that `most` proves it."""
    level, reached = float(pricer.problem.levels[0]), float(pricer.point(safest)[1])
    status = Status.INFEASIBLE if most < level - FEASIBLE else Status.NUMERICAL
    unbounded = np.full(1, np.inf)
    return _finish(pricer, [safest], np.ones(1), -np.inf, unbounded, status, most - reached)


def _secant(pricer: Pricer, below: Column, above: Column, upper: float) -> ConstrainedSolution:
    """Solve with one constraint, from a best policy `below` the level and a safe one `above`."""
    level = float(pricer.problem.levels[0])
    status = Status.NOT_CONVERGED
    while pricer.rounds < ROUND_LIMIT:
        (f_low, g_low), (f_high, g_high) = pricer.point(below), pricer.point(above)
        slope = np.full(1, max(0.0, (f_low - f_high) / (g_high - g_low)))
        column, bound = pricer.price(1.0, slope)
        upper = min(upper, bound - slope[0] * level)
        if not _improves(pricer.point(column), pricer.point(above), slope):
            status = Status.OPTIMAL
            break
        if pricer.point(column)[1] >= level:
            above = column
        else:
            below = column
    g_low, g_high = pricer.point(below)[1], pricer.point(above)[1]
    low = float((g_high - level) / (g_high - g_low)) if slope[0] > 0.0 else 0.0
    return _finish(pricer, [above, below], np.array([1.0 - low, low]), upper, slope, status)


def _improves(point: FloatArray, present: FloatArray, multipliers: FloatArray) -> bool:
    """Tell whether a point (f, g) prices above a present one by more than rounding."""
    price, held = (float(p[0] + multipliers @ p[1:]) for p in (point, present))
    size = float(abs(present[0]) + multipliers @ np.abs(present[1:]))
    return price - held > EXACT * size


def _generate(pricer: Pricer) -> ConstrainedSolution:
    """Solve with any number of constraints through the master LP."""
    levels = pricer.problem.levels
    master = Master(levels, max(pricer.scale, 1e-300))
    for column in pricer.columns:
        master.add(pricer.point(column))

    least = 0.0  # a proven lower bound on the total shortfall
    while (mix := master.solve()).shortfall > FEASIBLE:
        column, bound = pricer.price(0.0, mix.multipliers)
        least = max(least, float(mix.multipliers @ levels) - bound)
        gain = float(mix.multipliers @ pricer.point(column)[1:]) - mix.price
        if gain <= 1e-3 * FEASIBLE or pricer.rounds >= ROUND_LIMIT:
            left = mix.shortfall - least
            status = Status.INFEASIBLE if least > FEASIBLE else Status.NUMERICAL
            columns = pricer.columns[: len(mix.weights)]
            return _finish(pricer, columns, mix.weights, -np.inf, mix.multipliers, status, left)
        master.add(pricer.point(column))

    master.fix_shortfall()
    upper = np.inf
    status = Status.NOT_CONVERGED
    while pricer.rounds < ROUND_LIMIT:
        mix = master.solve()
        column, bound = pricer.price(1.0, mix.multipliers)
        upper = min(upper, bound - float(mix.multipliers @ mix.levels))
        best = pricer.columns[int(np.argmax(mix.weights))]
        if not _improves(pricer.point(column), pricer.point(best), mix.multipliers):
            status = Status.OPTIMAL
            break
        master.add(pricer.point(column))
    columns = pricer.columns[: len(mix.weights)]
    return _finish(pricer, columns, mix.weights, upper, mix.multipliers, status)


def _finish(
    pricer: Pricer,
    columns: list[Column],
    weights: FloatArray,
    upper: float,
    multipliers: FloatArray,
    status: Status,
    gap: float | None = None,
) -> ConstrainedSolution:
    """Drop what has no weight and recompute what the mixture is worth."""
    kept = [(w, c) for w, c in zip(weights, columns, strict=True) if w > 0.0]
    used = np.array([w for w, _ in kept])
    used /= used.sum()
    values = np.array([c.values for _, c in kept])
    mixed = np.tensordot(used, values[:, :, pricer.problem.start], axes=1)
    objective = float(mixed[0])
    if gap is None:
        gap = upper - objective
    if status is Status.OPTIMAL and not pricer.converged:
        status = Status.NOT_CONVERGED
    if status is Status.OPTIMAL and gap > GAP * pricer.scale:
        status = Status.NUMERICAL
    return ConstrainedSolution(
        status=status,
        weights=used,
        policies=np.array([c.policy for _, c in kept]),
        values=values,
        objective=objective,
        achieved=mixed[1:],
        upper=upper,
        gap=max(0.0, gap),
        multipliers=multipliers,
        rounds=pricer.rounds,
    )
