r"""Constrained MDPs by linear programming over occupancy measures: the paper's own method.

The variable x[s, a] ≥ 0 is the discounted expected number of times that a is taken in s::

    maximise   Σ objective·x   subject to   Σ_a x[t, a] − γ Σ p[s, a, t]·x[s, a] = 1{t = start}
                                            Σ constraints[k]·x ≥ levels[k]

Method: HiGHS solves the LP, by the simplex method or by interior point with crossover. The solution
is then split into deterministic policies that take only actions with positive x. The measures with
this support form a face whose corners are these policies, so a mixture of them has the same values.

Stopping: by HiGHS's own rule, or at its iteration limits.

Proof: the policies are re-evaluated exactly, and the gap is recomputed from the LP's duals y and λ
alone. If e is the largest ``objective + λ·constraints + γPy − y``, then no feasible policy has a
value above y[start] + e·span − λ·levels. No result relies on the solver's own tolerances.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import highspy
import numpy as np
from scipy.sparse import csc_array, csr_array, eye_array, hstack, vstack

from homeward.arrays import FloatArray, IntArray
from homeward.solvers.constrained import ConstrainedSolution, Pricer, mixed
from homeward.solvers.master import Master
from homeward.solvers.problems import ConstrainedProblem, Status
from homeward.solvers.tolerances import GAP_TOLERANCE, LP_TOLERANCE, aimed_within

Method = Literal["simplex", "ipm"]
SMALLEST_ENTRY = 1e-12  # smallest matrix entry kept; HiGHS's default 1e-9 loses 1e-7 of the optimum
IPM_ITERATIONS = 1000  # limit for the interior point method, which may not converge near γ = 1
SIMPLEX_ITERATIONS = 10_000, 100  # limit for the simplex method: a constant, plus this per variable
MAX_CORNERS = 256  # largest number of deterministic policies on the support of an LP solution
STATUSES = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    highspy.HighsModelStatus.kIterationLimit: Status.NOT_CONVERGED,
    highspy.HighsModelStatus.kTimeLimit: Status.NOT_CONVERGED,
}


@dataclass(frozen=True, slots=True, eq=False)
class Occupancy:
    """The solution of the LP solver, in the units of the problem."""

    status: Status
    objective: float
    measure: FloatArray  # [S, A] discounted expected visits
    value: FloatArray  # [S] duals of the flow equations: the value under objective + λ·constraints
    multipliers: FloatArray  # [K] λ ≥ 0
    shortfall: float  # total shortfall, if it was minimised; else 0
    gap: float  # gap of the objective, computed from the duals alone; infinite if unknown
    rounds: int  # iterations of the LP solver
    seconds: float  # run time of the LP solver


def occupancy_lp(
    problem: ConstrainedProblem, method: Method = "simplex", tolerance: float = LP_TOLERANCE
) -> Occupancy:
    """Return the solution of the LP; if none is found, the measure with the least total shortfall.

    If `method` finds no solution at its tolerance, the other method is tried. The status is
    infeasible if the least shortfall exceeds `aimed_within`, whatever the LP solver reports. If no
    least shortfall is found, although one always exists, the status is numerical.
    """
    methods: list[Method] = ["simplex", "ipm"] if method == "simplex" else ["ipm", "simplex"]
    for attempt in methods:
        answer = run_lp(problem, attempt, tolerance)
        if answer.status is Status.OPTIMAL:
            return replace(answer, gap=max(0.0, _bound(problem, answer) - answer.objective))
    for attempt in methods:
        answer = run_lp(problem, attempt, tolerance, closest=True)
        if answer.status is Status.OPTIMAL:
            short = answer.shortfall > aimed_within(problem.span)
            return replace(answer, status=Status.INFEASIBLE if short else Status.NUMERICAL)
    if answer.status is Status.NOT_CONVERGED:
        return answer
    return replace(answer, status=Status.NUMERICAL)


def statement_of(problem: ConstrainedProblem) -> tuple[csc_array, FloatArray, FloatArray, float]:
    """Return the LP: matrix [S + K, n], lower limits [S + K] of its rows, costs [n] and a unit.

    The first S rows are equations, the others are lower bounds. The n variables are the
    state-actions that can be chosen. The costs are −objective / unit.
    """
    states, count = problem.model.states, len(problem.levels)
    usable = np.isfinite(problem.objective).ravel()
    own = np.repeat(np.arange(states), problem.model.actions)[usable]  # the state of each variable
    visits = csc_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(states, len(own)))
    flow = visits - problem.discount * problem.model.sparse().transitions[usable].T
    gain = problem.constraints.reshape(count, len(usable))[:, usable]
    matrix = csc_array(vstack([flow, csr_array(gain)]) if count else flow)
    worth = problem.objective.ravel()[usable]
    scale = float(np.abs(worth).max()) or 1.0
    low = np.concatenate([np.arange(states) == problem.start, problem.levels])
    return matrix, low, -worth / scale, scale


def run_lp(
    problem: ConstrainedProblem,
    method: Method,
    tolerance: float,
    smallest: float = SMALLEST_ENTRY,
    *,
    closest: bool = False,
) -> Occupancy:
    """Return HiGHS's solution of the LP without matrix entries below `smallest`.

    If `closest` is True, the total shortfall of the constraints is minimised instead.
    """
    states, count = problem.model.states, len(problem.levels)
    usable = np.isfinite(problem.objective)
    matrix, low, cost, scale = statement_of(problem)
    if closest:
        slack, scale = eye_array(states + count, count, k=-states), 1.0
        matrix = csc_array(hstack([matrix, slack]))
        cost = np.concatenate([np.zeros_like(cost), np.ones(count)])
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_, lp.row_lower_ = cost, low
    lp.row_upper_ = np.concatenate([low[:states], np.full(count, np.inf)])
    lp.col_lower_, lp.col_upper_ = np.zeros(len(cost)), np.full(len(cost), np.inf)
    entries = lp.a_matrix_
    entries.format_ = highspy.MatrixFormat.kColwise
    entries.start_, entries.index_, entries.value_ = matrix.indptr, matrix.indices, matrix.data
    solver, (least, each) = highspy.Highs(), SIMPLEX_ITERATIONS
    solver.silent()
    for option, setting in {
        "solver": method,
        "threads": 1,
        "primal_feasibility_tolerance": tolerance,
        "dual_feasibility_tolerance": tolerance,
        "small_matrix_value": smallest,
        "simplex_iteration_limit": min(least + each * len(cost), 2**31 - 1),
        "ipm_iteration_limit": IPM_ITERATIONS,
    }.items():
        solver.setOptionValue(option, setting)
    solver.passModel(lp)
    before = time.perf_counter()
    solver.run()
    seconds = time.perf_counter() - before

    found = STATUSES.get(solver.getModelStatus(), Status.NUMERICAL)
    info, solution = solver.getInfo(), solver.getSolution()
    measure, dual, shortfall = np.zeros(usable.shape), np.zeros(states + count), 0.0
    if found is Status.OPTIMAL:
        column, dual = np.array(solution.col_value), np.array(solution.row_dual) * scale
        measure[usable] = np.maximum(0.0, column[: usable.sum()])
        shortfall = float(column[usable.sum() :].sum())
    objective = float(measure[usable] @ problem.objective[usable])
    rounds = int(info.simplex_iteration_count + info.ipm_iteration_count)
    duals = -dual[:states], np.maximum(0.0, dual[states:])
    return Occupancy(found, objective, measure, *duals, shortfall, np.inf, rounds, seconds)


def solve_occupancy(problem: ConstrainedProblem, method: Method = "simplex") -> ConstrainedSolution:
    """Return the solution of a constrained problem by the occupancy LP.

    If the LP has no usable solution, there are no policies and the gap is infinite.
    """
    answer = occupancy_lp(problem, method)
    status, infeasible = answer.status, answer.status is Status.INFEASIBLE
    pricer = Pricer(problem, _corners(problem, answer, infeasible) if answer.measure.any() else [])
    pricer.rounds = answer.rounds
    if not pricer.columns:
        count, states = len(problem.levels), problem.model.states
        status = Status.NUMERICAL if status is Status.OPTIMAL else status
        nothing = np.empty(0), np.empty((0, states), np.int32), np.empty((0, 1 + count, states))
        short, found = np.full(count, -np.inf), (answer.multipliers, answer.rounds)
        return ConstrainedSolution(status, *nothing, -np.inf, short, np.inf, np.inf, *found)
    master = Master(problem.levels, pricer.scale if pricer.scale > 0.0 else 1.0)
    for column in pricer.columns:
        master.add(column.point)
    mix = master.solve()
    if not infeasible and len(problem.levels):
        master.fix_shortfall()
        mix = master.solve()
    if infeasible and mix.shortfall <= aimed_within(problem.span):  # the mixture meets the levels
        status = Status.NUMERICAL
    upper = -np.inf if infeasible else _bound(problem, answer)
    worth = float(mix.weights @ [column.point[0] for column in pricer.columns])
    allowed = 100 * GAP_TOLERANCE * max(abs(upper), abs(worth))
    given = pricer, pricer.columns, mix.weights, upper, answer.multipliers, status
    return mixed(*given, 0.0 if infeasible else None, allowed)


def _corners(problem: ConstrainedProblem, answer: Occupancy, closest: bool) -> list[IntArray]:
    """Return the deterministic policies [S] that take only actions with a positive measure.

    Return none if there are more than `MAX_CORNERS`. `closest` is whether `answer` minimises the
    total shortfall.
    """
    usable = np.isfinite(problem.objective)
    q = np.where(usable, _q(problem, answer, 0.0 if closest else 1.0), -np.inf)
    policy = q.argmax(axis=1).astype(np.int32)
    visits = answer.measure.sum(axis=1)
    seen = visits > 1e-12
    policy[seen] = answer.measure[seen].argmax(axis=1)
    taken = {s: answer.measure[s] / visits[s] > 1e-9 for s in np.flatnonzero(seen).tolist()}
    shared = {s: np.flatnonzero(mask) for s, mask in taken.items() if mask.sum() > 1}
    if np.prod([float(len(choices)) for choices in shared.values()]) > MAX_CORNERS:
        return []
    corners = []
    for pick in product(*shared.values()):
        corners.append(policy.copy())
        corners[-1][list(shared)] = pick
    return corners


def _q(problem: ConstrainedProblem, answer: Occupancy, weight: float) -> FloatArray:
    """Return ``weight·objective + λ·constraints + γPy`` [S, A], where 0·(−∞) counts as 0."""
    reward = np.tensordot(answer.multipliers, problem.constraints, axes=1)
    if weight > 0.0:
        reward = reward + weight * problem.objective
    rows = problem.model.sparse().transitions
    result: FloatArray = reward + problem.discount * (rows @ answer.value).reshape(reward.shape)
    return result


def _bound(problem: ConstrainedProblem, answer: Occupancy) -> float:
    """Return an upper bound on every feasible policy's objective, from the duals alone."""
    excess = max(0.0, float((_q(problem, answer, 1.0) - answer.value[:, None]).max()))
    upper = float(answer.value[problem.start]) + excess * problem.span
    return upper - float(answer.multipliers @ problem.levels)
