r"""Constrained MDPs by column generation over deterministic policies.

Problem: from one start state, maximise the total of `objective` such that the total of
``constraints[k]`` is at least ``levels[k]`` for each k.

Method: a column is a deterministic policy π with its point (f, g₁ … g_K), its exact values in the
start state. The master is a small LP over mixtures of columns. Its multipliers λ define the pricing
problem, an ordinary MDP with reward ``objective + λ·constraints``, whose optimal policy is the next
column. With one constraint, the master is the upper hull of points in the plane, and λ is the slope
of a secant. At the start, one policy of the mixture is drawn and then followed.

Feasibility: a mixture meets a level if its total is at most `met_within` below the level. For a
single policy the tolerance is about half of that (`aimed_within`). So δ = 1 needs no special case,
and a probability of 1e-15 needs no multiplier of 1e15; the reported totals are exact. First the
total shortfall of the constraints is minimised. If it exceeds `aimed_within`, the pricing problem's
bound proves that the problem is infeasible, and the mixture with the least shortfall is returned.

Stopping: no policy has a priced value above that of the mixture by more than rounding. The status
is optimal if the gap between the mixture and the Lagrangian bound
U(λ) = max_π f(π) + λ·(g(π) − level) is then below `GAP_TOLERANCE` of the largest value.

Proof: every mixture is a valid policy whose values are recomputed exactly. For every λ ≥ 0, U(λ)
plus the gap of the pricing problem is an upper bound on the objective of every feasible mixture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from homeward.arrays import FloatArray, IntArray, indices, numbers
from homeward.errors import InvalidProblemError
from homeward.solvers.master import Master
from homeward.solvers.policies import ROUND_LIMIT, engine_for
from homeward.solvers.problems import ConstrainedProblem, PolicySolution, Status
from homeward.solvers.tolerances import (
    CLOSE_GAP,
    FEASIBILITY_TOLERANCE,
    GAP_TOLERANCE,
    PRICE_TOLERANCE,
    ROUNDING,
    SMALLEST_GAP,
    aimed_within,
    met_within,
)

MAX_PRICINGS = 2000  # largest number of ordinary MDPs that are solved for one constrained problem
BRACKET_ROUNDS = 1  # rounds of policy iteration for a column that only narrows a bracket
HINT_FACTORS = (1.0, 2.0)  # multipliers tried for a first bracket: the hint times, or over, these


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedSolution:
    """A mixture of J deterministic policies, its values, and a bound on the optimum."""

    status: Status
    weights: FloatArray  # [J] positive, sum to 1
    policies: IntArray  # [J, S]
    values: FloatArray  # [J, 1 + K, S] exact: the objective first, then each constraint
    objective: float  # total of the objective under the mixture, in the start state
    achieved: FloatArray  # [K] totals of the constraints under the mixture, in the start state
    upper: float  # upper bound on every feasible policy's objective; −inf if infeasible
    gap: float  # upper − objective; if infeasible, the gap of the least shortfall
    multipliers: FloatArray  # [K] λ ≥ 0: loss of objective per unit of each level
    rounds: int  # number of ordinary MDPs solved


class Column(NamedTuple):
    """A policy and its point; a value up to `aimed_within` below its level is set to the level."""

    solution: PolicySolution
    point: FloatArray  # [1 + K] in the start state: f, g₁ … g_K


class Pricer:
    """Solves the pricing problem for given multipliers, and counts the ordinary MDPs solved."""

    def __init__(self, problem: ConstrainedProblem, starts: Sequence[IntArray]) -> None:
        self.problem = problem
        self.within = aimed_within(problem.span)
        self.engine = engine_for(problem)
        self.scale = 0.0  # largest absolute value of the objective in any state
        self.rounds = 0
        self.columns: list[Column] = []
        shape, actions = (problem.model.states,), problem.model.actions
        for given in starts:
            error = InvalidProblemError
            policy = indices(given, "a start policy", shape, (0, actions), "s", error)
            values = self.engine.evaluate(policy)
            if not problem.closed or values[0].min() > -np.inf:  # all its actions can be chosen
                self._add(PolicySolution(policy, values, np.inf, Status.NOT_CONVERGED, 0))

    def price(
        self, weight: float, multipliers: FloatArray, limit: int = ROUND_LIMIT
    ) -> tuple[Column, float]:
        """Return the column that maximises ``weight·f + multipliers·g``, and an upper bound."""
        weights = np.empty(1 + len(multipliers))
        weights[0], weights[1:] = weight, multipliers
        known = [column.solution for column in self.columns]
        found = self.engine.optimise(weights, known, limit, self.problem.start)
        self.rounds += 1
        held = (c for c in self.columns if c.solution.policy is found.policy)  # if known already
        column = next(held, None) or self._add(found)
        used = weights.tolist()
        size = sum(w * s for w, s in zip(used, found.sizes, strict=True))
        rounding = ROUNDING * self.problem.span * size
        return column, found.weighted_value(used, self.problem.start) + found.gap + rounding

    def _add(self, solution: PolicySolution) -> Column:
        """Add a policy to the columns, and return its column."""
        point = solution.values[:, self.problem.start].copy()
        for k, level in enumerate(self.problem.levels.tolist(), start=1):
            if level - self.within <= point[k] < level:
                point[k] = level
        column = Column(solution, point)
        self.columns.append(column)
        self.scale = max(self.scale, solution.sizes[0])
        return column


def solve_constrained(
    problem: ConstrainedProblem, starts: Sequence[IntArray] = (), hint: FloatArray | None = None
) -> ConstrainedSolution:
    """Return the solution of a problem by column generation, warm-started by `starts` and `hint`.

    `starts` are policies [S], and `hint` are multipliers [K], usually those of the last plan. The
    optimum is the same as without them; ties may resolve differently.
    """
    count = len(problem.levels)
    if hint is not None:
        hint = numbers(hint, "the hint", (count,), InvalidProblemError)
    pricer = Pricer(problem, starts)
    if count == 1:
        return _secant(pricer, 0.0 if hint is None else float(hint[0]))
    if count > 1 and pricer.columns:
        return _generate(pricer)
    # The safest policies are found first. The search for the most valuable policy starts from
    # these and changes an action only if that improves the value, so ties go to the safer policy.
    for unit in np.eye(count):
        pricer.price(0.0, unit)
    free, upper = pricer.price(1.0, np.zeros(count))
    if (free.point[1:] >= problem.levels).all():
        return mixed(pricer, [free], np.ones(1), upper, np.zeros(count), Status.OPTIMAL)
    return _generate(pricer)


def _secant(pricer: Pricer, hint: float) -> ConstrainedSolution:
    """Return the solution of a problem with one constraint, by narrowing a bracket.

    A bracket is a policy that meets the level and a more valuable policy that does not.

    If an end of the bracket is missing and `hint` is positive and finite, multipliers near `hint`
    are tried first.
    """
    level = float(pricer.problem.levels[0])
    for factor in HINT_FACTORS if 0.0 < hint < np.inf else ():
        above, below = _bracket(pricer.columns, level)
        if below is not None:
            break
        near = hint * factor if above is None else hint / factor
        pricer.price(1.0, np.full(1, near), BRACKET_ROUNDS)
    if _bracket(pricer.columns, level)[0] is None:
        safest, most = pricer.price(0.0, np.ones(1))
        reached = float(safest.point[1])
        if reached < level:
            status = Status.INFEASIBLE if most < level - pricer.within else Status.NUMERICAL
            free = np.full(1, np.inf)
            return mixed(pricer, [safest], np.ones(1), -np.inf, free, status, most - reached)
    upper, nothing = np.inf, np.zeros(1)
    while True:
        above, below = _bracket(pricer.columns, level)
        assert above is not None
        last = pricer.columns[-1]
        if below is None:  # the most valuable policy may meet the level
            pricer.columns = [above] if last is above else [above, last]
            column, upper = pricer.price(1.0, nothing)
            if column.point[1] >= level:
                above = column
            elif _improves(pricer, column, above, nothing):
                continue
            return mixed(pricer, [above], np.ones(1), upper, nothing, Status.OPTIMAL)
        (f_low, g_low), (f_high, g_high) = below.point.tolist(), above.point.tolist()
        slope = np.full(1, (f_low - f_high) / (g_high - g_low))
        # Keep only the bracket and the last column as starting points.
        pricer.columns = [above, below]
        if last is not above and last is not below:
            pricer.columns.append(last)
        column, bound = pricer.price(1.0, slope, BRACKET_ROUNDS)
        upper = min(upper, bound - float(slope[0]) * level)
        if bound < np.inf and not _improves(pricer, column, above, slope):
            status = Status.OPTIMAL
            break
        if pricer.rounds >= MAX_PRICINGS:
            status = Status.NOT_CONVERGED
            break
    low = (g_high - level) / (g_high - g_low)
    return mixed(pricer, [above, below], np.array([1.0 - low, low]), upper, slope, status)


def _bracket(columns: Sequence[Column], level: float) -> tuple[Column | None, Column | None]:
    """Return the pair (column that meets the level, column below it) whose mixture is best.

    Among equal mixtures the pair with the steepest slope is returned, so no column lies above its
    line. The first is None if no column meets the level. The second is None if no column below the
    level has a larger objective than the best column that meets it.
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
    """Return whether a column's priced value exceeds that of `held` by more than rounding."""
    gain = column.point[0] - held.point[0] + multipliers @ (column.point[1:] - held.point[1:])
    return bool(gain > PRICE_TOLERANCE * (pricer.scale + multipliers @ np.abs(held.point[1:])))


def _generate(pricer: Pricer) -> ConstrainedSolution:
    """Return the solution of a problem with any number of constraints, by the master LP."""
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
        ended = len(pricer.columns) == held or gain <= 1e-3 * FEASIBILITY_TOLERANCE
        if ended or not mix.sound or pricer.rounds >= MAX_PRICINGS:
            left = mix.shortfall - least
            status = Status.INFEASIBLE if least > pricer.within else Status.NUMERICAL
            columns = pricer.columns[: len(mix.weights)]
            return mixed(pricer, columns, mix.weights, -np.inf, mix.multipliers, status, left)
        master.add(column.point)

    master.fix_shortfall()
    upper, proof = np.inf, np.zeros(len(levels))  # the least upper bound and its multipliers
    status = Status.NOT_CONVERGED
    while pricer.rounds < MAX_PRICINGS:
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
            or upper - worth <= CLOSE_GAP * pricer.scale
            or not _improves(pricer, column, best, mix.multipliers)
        ):
            status = Status.OPTIMAL
            break
        master.add(column.point)
    columns = pricer.columns[: len(mix.weights)]
    return mixed(pricer, columns, mix.weights, upper, proof, status)


def mixed(
    pricer: Pricer,
    columns: Sequence[Column],
    weights: FloatArray,
    upper: float,
    multipliers: FloatArray,
    status: Status,
    gap: float | None = None,
    allowed_gap: float | None = None,
) -> ConstrainedSolution:
    """Return the solution that mixes columns by `weights`, with recomputed and checked totals.

    An optimal solution that misses a level, or `allowed_gap`, gets the status NUMERICAL.
    """
    problem = pricer.problem
    kept = [c.solution for c, w in zip(columns, weights.tolist(), strict=True) if w > 0.0]
    values, policies = np.array([c.values for c in kept]), np.array([c.policy for c in kept])
    weights = weights[weights > 0.0]
    weights = weights / weights.sum()
    totals = weights @ values[:, :, problem.start]
    objective, achieved = float(totals[0]), totals[1:]
    gap = max(0.0, upper - objective if gap is None else gap)
    upper = max(upper, objective) if np.isfinite(upper) else upper
    if allowed_gap is None:
        allowed_gap = GAP_TOLERANCE * pricer.scale
    close = gap <= max(allowed_gap, SMALLEST_GAP)  # False for NaN
    met = bool((achieved >= problem.levels - met_within(problem.span)).all())
    if status is Status.OPTIMAL and not (close and met and np.isfinite(objective)):
        status = Status.NUMERICAL
    evidence = objective, achieved, upper, gap, multipliers, pricer.rounds
    return ConstrainedSolution(status, weights, policies, values, *evidence)
