r"""Constrained MDPs by column generation over deterministic policies.

Problem: from one start state, maximise the discounted total of `objective` subject to, for each k,
discounted total of ``constraints[k]`` ≥ ``levels[k]``.

Method: a column is a deterministic policy π with its point (f, g₁ … g_K) of exact values in the
start state. The master is a small LP over mixtures of columns; its multipliers λ price the next
column, which is one ordinary MDP with reward ``objective + λ·constraints``. With one constraint the
master is the upper hull of points in the plane and λ a secant slope. A mixture is drawn once, at
the start, and then followed.

Feasibility: a mixture within `met_within` of a level counts as meeting it, and a policy within half
of that (`aimed_within`), so that δ = 1 needs no special case and a chance of 1e-15 no multiplier of
1e15; what is reported is what it really has.
The constraints are first brought as close to their levels as any mixture can. If the least total
shortfall exceeds `aimed_within` the problem is infeasible, which the priced bound proves, and the
closest mixture is returned.

Stopping: no policy prices above the mixture's own columns by more than rounding. The status is
optimal if the gap between the mixture and the Lagrangian bound
U(λ) = max_π f(π) + λ·(g(π) − level) is then below `GAP` of the largest value anywhere.

Proof: every mixture is a valid policy whose values are recomputed exactly; every U(λ), λ ≥ 0, with
the pricing problem's own gap added, is above every feasible mixture's objective.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from homeward.arrays import index, indices, numbers
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.solvers import engines, kernels, secant
from homeward.solvers.engines import LARGEST, Engine, MovesEngine, PolicySolution, engine_of
from homeward.solvers.horizon import HorizonEngine, HorizonProblem
from homeward.solvers.master import Master
from homeward.solvers.status import Status
from homeward.solvers.tolerances import (
    AROUND,
    CLOSE,
    EXACT,
    FEASIBLE,
    GAP,
    PATIENCE,
    PRICINGS,
    ROUNDING,
    TINY,
    aimed_within,
    met_within,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedProblem:
    """Maximise the discounted total of one reward subject to floors on those of others."""

    model: Model
    discount: float
    start: int
    totals: FloatArray  # [1 + K, S, A] the objective (−inf: can't be chosen), the constraints
    levels: FloatArray  # [K]
    closed: bool = field(init=False)  # some action can't be chosen
    worth: float = field(init=False)  # the most, either way, that the objective could add up to

    def __post_init__(self) -> None:
        # Kernels are compiled once more for what can't be written to, so that is copied.
        object.__setattr__(self, "totals", np.require(self.totals, np.float64, ["C", "W"]))
        object.__setattr__(self, "levels", np.asarray(self.levels, dtype=np.float64))
        shape = (1 + len(self.levels), self.model.states, self.model.actions)
        if not 0.0 < self.discount < 1.0:
            raise InvalidProblemError(f"γ is {self.discount:g}, expected 0 < γ < 1")
        index(self.start, self.model.states, "the start", InvalidProblemError)
        if self.totals.shape != shape:
            raise InvalidProblemError(
                f"the totals have shape {self.totals.shape}, expected {shape}"
            )
        largest = LARGEST * (1.0 - self.discount)  # NaN is not below it either
        lowest, highest = float(self.objective.min()), float(self.objective.max())
        closed = lowest == -np.inf
        if closed:
            lowest = float(self.objective.min(where=self.objective > -np.inf, initial=0.0))
        if not (highest < largest and lowest > -largest):
            raise InvalidProblemError(
                f"the objective holds NaN or a reward whose total would pass {LARGEST:g}"
            )
        object.__setattr__(self, "closed", closed)
        object.__setattr__(self, "worth", max(highest, -lowest) / (1.0 - self.discount))
        idle = self.objective.max(axis=1) == -np.inf if closed else np.zeros(1, bool)
        if idle.any():
            raise InvalidProblemError(
                f"state s={int(np.argmax(idle))} has no action that can be chosen"
            )
        for k, constraint in enumerate(self.constraints):
            if not kernels.are_within(constraint, -largest, largest):
                raise InvalidProblemError(f"constraint {k} is not finite, or its total is not")
        if not np.isfinite(self.levels).all():
            raise InvalidProblemError("the levels are not finite")

    @property
    def objective(self) -> FloatArray:
        """What is maximised, [S, A]."""
        objective: FloatArray = self.totals[0]
        return objective

    @property
    def constraints(self) -> FloatArray:
        """What is kept above its level, [K, S, A]."""
        constraints: FloatArray = self.totals[1:]
        return constraints

    @property
    def span(self) -> float:
        """How many steps it lasts, on average."""
        return 1.0 / (1.0 - self.discount)


Problem: TypeAlias = ConstrainedProblem | HorizonProblem


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedSolution:
    """A mixture of J deterministic policies with its evidence."""

    status: Status
    weights: FloatArray  # [J] positive, sum to 1
    policies: IntArray  # [J, S], or [J, n, S] over a fixed number of steps
    values: FloatArray  # [J, 1 + K, S] exact: the objective first, then each constraint
    objective: float  # of the mixture, in the start state
    achieved: FloatArray  # [K] the constraints' values of the mixture, in the start state
    upper: float  # no feasible policy is worth more; −inf if there is none
    gap: float  # upper − objective; for an infeasible problem, of the least shortfall
    multipliers: FloatArray  # [K] λ ≥ 0, what a unit of each constraint costs
    rounds: int  # ordinary MDPs solved


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A policy and where it lies: a constraint within `aimed_within` of its level counts as met."""

    solution: PolicySolution
    point: FloatArray  # [1 + K] in the start state: f, g₁ … g_K


class Pricer:
    """Turns multipliers into columns, and remembers how many MDPs that took."""

    def __init__(self, problem: Problem, seeds: Sequence[IntArray]) -> None:
        self.problem = problem
        self.within = aimed_within(problem.span)
        self.engine = engine_for(problem)
        self.scale = 0.0  # the largest value of the objective, anywhere
        self.rounds = 0
        self.columns: list[Column] = []
        for given in seeds:
            seed = _checked(problem, given)
            values = self.engine.evaluate(seed)
            if not self.problem.closed or values[0].min() > -np.inf:  # all of it can be chosen now
                self._add(PolicySolution(seed, values, np.inf, Status.NOT_CONVERGED, 0))

    def price(
        self, weight: float, multipliers: FloatArray, limit: int = engines.ROUND_LIMIT
    ) -> tuple[Column, float]:
        """Maximise ``weight·f + multipliers·g``; give the column and a bound above the maximum."""
        weights = np.empty(1 + len(multipliers))
        weights[0], weights[1:] = weight, multipliers
        known = [column.solution for column in self.columns]
        found = self.engine.optimise(weights, known, limit, self.problem.start)
        self.rounds += 1
        for column in self.columns:
            if found.policy is column.solution.policy:  # nothing is better
                break
        else:
            column = self._add(found)
        used = weights.tolist()
        size = sum(w * s for w, s in zip(used, found.sizes, strict=True))
        rounding = ROUNDING * self.problem.span * size
        return column, found.worth(used, self.problem.start) + found.gap + rounding

    def _add(self, solution: PolicySolution) -> Column:
        point = solution.values[:, self.problem.start].copy()
        for k, level in enumerate(self.problem.levels.tolist(), start=1):
            if level - self.within <= point[k] < level:
                point[k] = level
        column = Column(solution, point)
        self.columns.append(column)
        self.scale = max(self.scale, solution.sizes[0])
        return column


def engine_for(problem: Problem) -> Engine:
    """Make the engine that evaluates and optimises a problem's policies."""
    if isinstance(problem, HorizonProblem):
        return HorizonEngine(problem)
    return engine_of(problem.model, problem.discount, problem.totals)


def solve_constrained(
    problem: Problem,
    seeds: Sequence[IntArray] = (),
    hint: FloatArray | None = None,
) -> ConstrainedSolution:
    """Solve by column generation, from known policies and multipliers [K] if there are any.

    Those of the last plan, in a world that has hardly changed, make it quicker and not different:
    what the policies are worth is evaluated anew, and the multipliers are where to look first.
    """
    count = len(problem.levels)
    if hint is not None:
        hint = numbers(hint, "the hint", (count,), InvalidProblemError)
    first = 0.0 if hint is None or count != 1 else float(hint[0])
    if count == 1 and isinstance(problem, ConstrainedProblem) and isinstance(problem.model, Moves):
        return _narrow(problem, seeds, first)
    pricer = Pricer(problem, seeds)
    if count == 1:
        return _secant(pricer, first)
    if count > 1 and pricer.columns:
        return _generate(pricer)
    # The safest policies come first: what is then worth most starts from them and leaves them only
    # for something better, so that ties go to the safer.
    for unit in np.eye(count):
        pricer.price(0.0, unit)
    free, upper = pricer.price(1.0, np.zeros(count))
    if (free.point[1:] >= problem.levels).all():
        return _mix(pricer, [free], np.ones(1), upper, np.zeros(count), Status.OPTIMAL)
    return _generate(pricer)


def _narrow(
    problem: ConstrainedProblem, seeds: Sequence[IntArray], hint: float
) -> ConstrainedSolution:
    """Solve with one constraint on a move-or-stay graph; see `secant`."""
    level = float(problem.levels[0])
    assert isinstance(problem.model, Moves)
    solver = MovesEngine(problem.model, problem.discount, problem.totals)
    known = [_checked(problem, seed) for seed in seeds]
    found, columns = secant.narrow(solver, problem.start, level, known, hint)
    reached = float(columns.points[found.above, 1])
    kept, weights, gap = [found.above], np.ones(1), None
    if found.ending == secant.TOO_LOW:
        short = found.most < level - aimed_within(problem.span)
        status = Status.INFEASIBLE if short else Status.NUMERICAL
        gap = found.most - reached
    else:
        status = Status.NOT_CONVERGED if found.ending == secant.CUT_SHORT else Status.OPTIMAL
    if found.below != secant.NONE and reached > level:
        low = (reached - level) / (reached - float(columns.points[found.below, 1]))
        both = [(found.above, 1.0 - low), (found.below, low)]
        kept, weights = [j for j, w in both if w > 0.0], np.array([w for _, w in both if w > 0.0])
    return _finish(
        problem,
        columns.policies[kept].view(np.int32),
        columns.values[kept],
        weights,
        found.upper,
        np.full(1, found.slope),
        status,
        found.scale,
        found.rounds,
        gap,
    )


def _checked(problem: Problem, seed: IntArray) -> IntArray:
    """Check a policy, [S] or [n, S], that is given to start from."""
    states, actions = problem.objective.shape
    error = InvalidProblemError
    if isinstance(problem, HorizonProblem):
        return indices(seed, "a seed", (problem.steps, states), (0, actions), "ts", error)
    return indices(seed, "a seed", (states,), (0, actions), "s", error)


def _secant(pricer: Pricer, hint: float) -> ConstrainedSolution:
    """Solve with one constraint: narrow a bracket of a policy below the level and one above.

    What is missing of it is first looked for near the `hint`, if there is one.
    """
    level = float(pricer.problem.levels[0])
    for factor in AROUND if 0.0 < hint < np.inf else ():
        above, below = _bracket(pricer.columns, level)
        if below is not None:
            break
        near = hint * factor if above is None else hint / factor
        pricer.price(1.0, np.full(1, near), PATIENCE)
    if _bracket(pricer.columns, level)[0] is None:
        safest, most = pricer.price(0.0, np.ones(1))
        reached = float(safest.point[1])
        if reached < level:
            status = Status.INFEASIBLE if most < level - pricer.within else Status.NUMERICAL
            free = np.full(1, np.inf)
            return _mix(pricer, [safest], np.ones(1), -np.inf, free, status, most - reached)
    upper, nothing = np.inf, np.zeros(1)
    while True:
        above, below = _bracket(pricer.columns, level)
        assert above is not None
        last = pricer.columns[-1]
        if below is None:  # unless something is, what is worth most is safe
            pricer.columns = [above] if last is above else [above, last]
            column, upper = pricer.price(1.0, nothing)
            if column.point[1] >= level:
                above = column
            elif _improves(pricer, column, above, nothing):
                continue
            return _mix(pricer, [above], np.ones(1), upper, nothing, Status.OPTIMAL)
        (f_low, g_low), (f_high, g_high) = below.point.tolist(), above.point.tolist()
        slope = np.full(1, (f_low - f_high) / (g_high - g_low))
        # The best to start from, and what was being worked on; the others' room is free.
        pricer.columns = [above, below]
        if last is not above and last is not below:
            pricer.columns.append(last)
        column, bound = pricer.price(1.0, slope, PATIENCE)
        upper = min(upper, bound - slope[0] * level)
        if bound < np.inf and not _improves(pricer, column, above, slope):
            status = Status.OPTIMAL
            break
        if pricer.rounds >= PRICINGS:
            status = Status.NOT_CONVERGED
            break
    low = (g_high - level) / (g_high - g_low)
    return _mix(pricer, [above, below], np.array([1.0 - low, low]), upper, slope, status)


def _bracket(columns: Sequence[Column], level: float) -> tuple[Column | None, Column | None]:
    """Pick the columns, one that keeps the level and one below it, whose mixture is worth most.

    Of mixtures worth the same, it is the one whose slope leaves no column above it. The second is
    None where none is worth more than the best that keeps the level, the first where none does.
    """
    points = [(*column.point.tolist(), column) for column in columns]
    safe = [point for point in points if point[1] >= level]
    if not safe:
        return None, None
    most, _, best = max(safe, key=lambda point: point[0])
    pairs = [
        (f + (f_low - f) * (g - level) / (g - g_low), (f_low - f) / (g - g_low), above, below)
        for f, g, above in safe
        for f_low, g_low, below in points
        if g_low < level and f_low > most
    ]
    if not pairs:
        return best, None
    *_, above, below = max(pairs, key=lambda pair: pair[:2])
    return above, below


def _improves(pricer: Pricer, column: Column, held: Column, multipliers: FloatArray) -> bool:
    """Tell whether a column prices above one that is held by more than rounding."""
    gain = column.point[0] - held.point[0] + multipliers @ (column.point[1:] - held.point[1:])
    return bool(gain > EXACT * (pricer.scale + multipliers @ np.abs(held.point[1:])))


def _generate(pricer: Pricer) -> ConstrainedSolution:
    """Solve with any number of constraints through the master LP."""
    levels = pricer.problem.levels
    master = Master(levels, pricer.scale if pricer.scale > 0.0 else 1.0)
    for column in pricer.columns:
        master.add(column.point)

    least = 0.0  # a proven lower bound on the total shortfall
    while (mix := master.solve()).shortfall > pricer.within:
        held = len(pricer.columns)
        column, bound = pricer.price(0.0, mix.multipliers)
        least = max(least, float(mix.multipliers @ levels) - bound)
        gain = float(mix.multipliers @ column.point[1:]) - mix.price
        ended = len(pricer.columns) == held or gain <= 1e-3 * FEASIBLE
        if ended or not mix.sound or pricer.rounds >= PRICINGS:
            left = mix.shortfall - least
            status = Status.INFEASIBLE if least > pricer.within else Status.NUMERICAL
            columns = pricer.columns[: len(mix.weights)]
            return _mix(pricer, columns, mix.weights, -np.inf, mix.multipliers, status, left)
        master.add(column.point)

    master.fix_shortfall()
    upper, proof = np.inf, np.zeros(len(levels))  # the least bound, and what multipliers gave it
    status = Status.NOT_CONVERGED
    while pricer.rounds < PRICINGS:
        mix = master.solve()
        if not mix.sound:
            status = Status.NUMERICAL
            break
        held = len(pricer.columns)
        column, bound = pricer.price(1.0, mix.multipliers)
        above = bound - float(mix.multipliers @ mix.levels)
        if above < upper:
            upper, proof = above, mix.multipliers
        best = pricer.columns[int(np.argmax(mix.weights))]
        worth = sum(
            w * float(c.point[0]) for w, c in zip(mix.weights, pricer.columns, strict=False)
        )
        if (
            len(pricer.columns) == held
            or upper - worth <= CLOSE * pricer.scale
            or not _improves(pricer, column, best, mix.multipliers)
        ):
            status = Status.OPTIMAL
            break
        master.add(column.point)
    columns = pricer.columns[: len(mix.weights)]
    return _mix(pricer, columns, mix.weights, upper, proof, status)


def _mix(
    pricer: Pricer,
    columns: Sequence[Column],
    weights: FloatArray,
    upper: float,
    multipliers: FloatArray,
    status: Status,
    gap: float | None = None,
) -> ConstrainedSolution:
    """Give the mixture of some columns, without those that have no weight."""
    used = weights > 0.0
    kept = [c.solution for c, use in zip(columns, used.tolist(), strict=True) if use]
    policies = np.array([c.policy for c in kept])
    values = np.array([c.values for c in kept])
    size, rounds = pricer.scale, pricer.rounds
    problem, shares = pricer.problem, weights[used]
    return _finish(problem, policies, values, shares, upper, multipliers, status, size, rounds, gap)


def _finish(
    problem: Problem,
    policies: IntArray,
    values: FloatArray,
    weights: FloatArray,
    upper: float,
    multipliers: FloatArray,
    status: Status,
    scale: float,
    rounds: int,
    gap: float | None,
) -> ConstrainedSolution:
    """Recompute what a mixture is worth, and look at it once more."""
    weights = weights / weights.sum()
    mixed = weights @ values[:, :, problem.start]
    objective = float(mixed[0])
    if gap is None:
        gap = upper - objective
    if status is Status.OPTIMAL:
        close = gap <= GAP * scale or gap <= TINY  # NaN is neither
        met = bool((mixed[1:] >= problem.levels - met_within(problem.span)).all())
        if not (close and met and np.isfinite(objective)):
            status = Status.NUMERICAL
    return ConstrainedSolution(
        status=status,
        weights=weights,
        policies=policies,
        values=values,
        objective=objective,
        achieved=mixed[1:],
        upper=max(upper, objective) if np.isfinite(upper) else upper,
        gap=max(0.0, gap),
        multipliers=multipliers,
        rounds=rounds,
    )
