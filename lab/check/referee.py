"""Judges the answers of the solvers by exact arithmetic.

A problem with few policies is enumerated in exact arithmetic (`rationals`). With more policies, the
occupancy LP is solved. If the LP disagrees, HiGHS may be wrong, and the answer must be proven: for
the multipliers λ ≥ 0 of the answer, the Lagrangian bound max_π f(π) + λ·(g(π) − level) is computed
exactly; no feasible policy has a larger objective. An answer that is neither confirmed nor proven
counts as wrong. Policies are always evaluated exactly. As in the solvers, a policy meets a level if
it is at most `FEASIBILITY_TOLERANCE` below. So an optimal objective must lie between the optimum at
the levels and the optimum at slightly lower levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import inf
from typing import Literal

import numpy as np

from homeward.solvers import (
    ConstrainedProblem,
    ConstrainedSolution,
    ReturnSolution,
    Status,
    engine,
    occupancy_lp,
)
from homeward.solvers.tolerances import FEASIBILITY_TOLERANCE, met_within
from lab.check.rationals import Exact, Point, Values, best_mixture, dot, rational

Referee = Literal["exact", "lp", "proof"]

VALUE_TOLERANCE = Fraction(1, 10**9)  # largest error, relative to the largest value
LEVEL_TOLERANCE = Fraction(FEASIBILITY_TOLERANCE)  # largest shortfall that still meets a level


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """The verdict on the answer of a solver."""

    status: Status | None  # None if the solver raised
    referee: Referee
    difference: float  # error relative to the largest value
    faults: tuple[str, ...]  # descriptions of faults


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """The reference answer to a problem."""

    referee: Referee
    values: dict[tuple[int, ...], Values]  # exact values of the policies in an answer
    sizes: Point  # [1 + K] largest value or single reward of each total
    room: Point  # [K] allowed shortfall of an answer
    short: Fraction  # the least total shortfall
    best: Fraction | None  # best objective at that shortfall
    most: Fraction | None  # best objective at the levels less the allowed shortfall


def enumerate_exactly(problem: ConstrainedProblem, exact: Exact) -> Truth:
    """Solve a problem with few policies exactly."""
    values = {policy: exact.evaluate(policy) for policy in product(*exact.choices)}
    sizes, room = _sizes(problem, values)
    points = list({tuple(total[problem.start] for total in value) for value in values.values()})
    levels = rational(problem.levels)
    short, best = best_mixture(points, levels)
    over, most = best_mixture(points, tuple(x - y for x, y in zip(levels, room, strict=True)))
    return Truth("exact", values, sizes, room, short, best, None if over else most)


def ask_lp(problem: ConstrainedProblem, values: dict[tuple[int, ...], Values]) -> Truth | None:
    """Return the answer of the occupancy LP, with the exact `values` of the policies to judge.

    Return None if the LP is neither solved nor infeasible.
    """
    lp, sizes = occupancy_lp(problem), _sizes(problem, values)
    if lp.status is Status.OPTIMAL:
        best = Fraction(lp.objective)
        return Truth("lp", values, *sizes, Fraction(0), best, best)
    if lp.status is Status.INFEASIBLE:
        return Truth("lp", values, *sizes, Fraction(lp.shortfall), None, None)
    return None


def prove(
    problem: ConstrainedProblem,
    found: ConstrainedSolution,
    exact: Exact,
    values: dict[tuple[int, ...], Values],
) -> Truth:
    """Return bounds that follow from the multipliers of the solution `found`.

    They bound the optimum or, if `found` is infeasible, the least shortfall.
    """
    infeasible = found.status is Status.INFEASIBLE
    multipliers = found.multipliers
    if infeasible and (largest := multipliers.max()) > 0.0:  # a unit of shortfall costs one
        multipliers = multipliers / largest if largest < inf else np.isinf(multipliers) * 1.0
    if not np.isfinite(multipliers).all():
        return Truth("proof", values, *_sizes(problem, values), Fraction(0), None, None)
    solver = engine(problem.model, problem.discount, problem.totals)
    near = solver.optimise(np.append(0.0 if infeasible else 1.0, multipliers)).policy
    weights = (Fraction(not infeasible), *rational(multipliers))
    bound = exact.optimise(weights, near.tolist())[problem.start]
    bound -= dot(weights[1:], rational(problem.levels))
    if infeasible:
        return Truth("proof", values, *_sizes(problem, values), -bound, None, None)
    return Truth("proof", values, *_sizes(problem, values), Fraction(0), bound, None)


def _sizes(
    problem: ConstrainedProblem, values: dict[tuple[int, ...], Values]
) -> tuple[Point, Point]:
    """Return the largest value or reward of each total [1 + K], and K allowed shortfalls.

    A mixture meets a level if it is at most `met_within` plus the number tolerance below it.
    """
    finite = np.where(np.isfinite(problem.totals), problem.totals, 0.0)
    single = rational(np.abs(finite).max(axis=(1, 2)))
    totals = zip(single, *values.values(), strict=True)
    sizes = tuple(max(most, *(abs(x) for row in rows for x in row)) for most, *rows in totals)
    within = Fraction(met_within(problem.span))
    return sizes, tuple(within + VALUE_TOLERANCE * size for size in sizes[1:])


def judge(
    problem: ConstrainedProblem, found: ConstrainedSolution, truth: Truth, tolerance: float
) -> AnswerVerdict:
    """Return the verdict on an answer, given the truth; `tolerance` is relative to `sizes`."""
    faults = _misfits(problem, found)
    if faults:
        return AnswerVerdict(found.status, truth.referee, 0.0, tuple(faults))
    values = [truth.values[tuple(policy)] for policy in found.policies.tolist()]
    weights, levels = rational(found.weights), rational(problem.levels)
    mixed = [
        dot(weights, [value[k][problem.start] for value in values]) for k in range(1 + len(levels))
    ]
    faults = _untruths(found, values, mixed, truth.sizes)
    objective, *achieved = mixed
    lacks = [x - g for x, g in zip(levels, achieved, strict=True)]
    size, off = truth.sizes[0], [Fraction(0)]
    rounding = VALUE_TOLERANCE if truth.referee == "exact" else Fraction(tolerance)
    if found.status is Status.INFEASIBLE:
        size = max(truth.sizes[1:])
        off.append(sum(max(Fraction(0), x) for x in lacks) - truth.short)
        if truth.short <= LEVEL_TOLERANCE / 2:
            faults.append("the levels can be met")
        if off[-1] > Fraction(found.gap) + len(levels) * LEVEL_TOLERANCE + rounding * size:
            faults.append("the gap is too small")
    else:
        if found.gap < found.upper - objective - rounding * size:
            faults.append("gap < bound - objective")
        if truth.short == 0 and truth.best is not None and truth.referee != "proof":
            if found.upper < truth.best - rounding * size:
                faults.append("the bound is below the best")
            if found.gap < truth.best - objective - rounding * size:
                faults.append("the gap is too small")
    if found.status is Status.OPTIMAL:
        if found.gap > tolerance * size:
            faults.append("the bound is far above")
        if any(lack > room for lack, room in zip(lacks, truth.room, strict=True)):
            faults.append("a level is missed")
        if truth.best is not None and truth.short <= LEVEL_TOLERANCE / 2:
            off.append(truth.best - objective)
        elif truth.most is None:
            faults.append("the levels can't be met")
        if truth.most is not None:
            off.append(objective - truth.most)
    if max(off) > Fraction(tolerance) * size:
        faults.append("it is not the best")
    difference = max(off) / size if size else max(off)
    return AnswerVerdict(found.status, truth.referee, float(difference), tuple(faults))


def _misfits(problem: ConstrainedProblem, found: ConstrainedSolution) -> list[str]:
    """Return the faults that make an answer invalid, whatever the true answer is."""
    states = np.arange(problem.model.states)
    claims = [*found.values.ravel(), found.objective, *found.achieved]
    wrong = {
        "a number is NaN or infinite": not np.isfinite(claims).all()
        or bool(np.isnan([found.upper, found.gap]).any()),
        "the weights are not a distribution": not (found.weights > 0.0).all()
        or abs(found.weights.sum() - 1.0) > 1e-12,
        "a multiplier is negative": not (found.multipliers >= 0.0).all(),
        "it takes an unavailable action": bool(
            np.isinf(problem.objective[states, found.policies]).any()
        ),
        "it is infeasible and has a bound": found.status is Status.INFEASIBLE
        and found.upper != -inf,
        "the bound is below the objective": found.status is Status.OPTIMAL
        and found.upper < found.objective,
    }
    return [fault for fault, present in wrong.items() if present]


def _untruths(
    found: ConstrainedSolution, values: Sequence[Values], mixed: Sequence[Fraction], sizes: Point
) -> list[str]:
    """Return a fault for each reported number that differs from the exact value."""
    faults = []
    claims = [found.objective, *found.achieved.tolist()]
    for k, size in enumerate(sizes):
        name = f"constraint {k - 1}" if k else "the objective"
        if abs(Fraction(claims[k]) - mixed[k]) > VALUE_TOLERANCE * size:
            faults.append(f"{name} is wrong")
        each = zip(found.values[:, k].tolist(), values, strict=True)
        if any(
            abs(Fraction(x) - y) > VALUE_TOLERANCE * size
            for claimed, value in each
            for x, y in zip(claimed, value[k], strict=True)
        ):
            faults.append(f"{name} of a policy is wrong")
    return faults


def judge_way_home(found: ReturnSolution, exact: Point, tolerance: float) -> AnswerVerdict:
    """Return the verdict on a return policy; its value must not exceed the optimum anywhere."""
    lacks = [y - Fraction(x) for x, y in zip(found.value.tolist(), exact, strict=True)]
    faults = []
    if min(lacks) < 0:
        faults.append("it is above the best")
    if found.status is Status.OPTIMAL and max(lacks) > found.gap + tolerance:
        faults.append("it is not the best")
    return AnswerVerdict(found.status, "exact", float(max(map(abs, lacks))), tuple(faults))


def judge_by_any(
    problem: ConstrainedProblem,
    found: ConstrainedSolution,
    exact: Exact,
    truth: Truth | None,
    tolerance: float,
) -> AnswerVerdict:
    """Return the verdict on an answer.

    It is judged by `truth`, an enumeration, if given; otherwise by the LP or, if the answer differs
    from the LP, by a proof.
    """
    if truth is not None:
        return judge(problem, found, truth, tolerance)
    values = {tuple(policy): exact.evaluate(policy) for policy in found.policies.tolist()}
    lp = ask_lp(problem, values)
    verdict = None if lp is None else judge(problem, found, lp, tolerance)
    if verdict is None or verdict.faults:
        verdict = judge(problem, found, prove(problem, found, exact, values), tolerance)
    return verdict
