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
from scipy.sparse import csc_array, csr_array, eye_array, hstack, identity, kron, vstack

from homeward.arrays import FloatArray
from homeward.solvers.constrained import ConstrainedSolution, checked
from homeward.solvers.master import Master
from homeward.solvers.policies import engine_for
from homeward.solvers.problems import ConstrainedProblem, PolicySolution, Status
from homeward.solvers.tolerances import GAP_TOLERANCE, aimed_within

Method = Literal["simplex", "ipm"]
SMALLEST_ENTRY = 1e-12  # smallest matrix entry kept; HiGHS's default 1e-9 loses 1e-7 of the optimum
IPM_ITERATIONS = 1000  # limit for the interior point method, which may not converge near γ = 1
SIMPLEX_ITERATIONS = 10_000, 100  # limit for the simplex method: a constant, plus this per variable
MAX_CORNERS = 256  # largest number of deterministic policies on the support of an LP solution


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
    problem: ConstrainedProblem, method: Method = "simplex", tolerance: float = 1e-10
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
    states, actions = problem.model.states, problem.model.actions
    count = len(problem.levels)
    usable = np.isfinite(problem.objective).ravel()
    rows = problem.model.sparse().transitions[usable]
    ones = csr_array(kron(identity(states), np.ones((actions, 1))))[usable]
    flow = (ones - problem.discount * rows).T
    gain = problem.constraints.reshape(count, states * actions)[:, usable]
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
    states, actions = problem.model.states, problem.model.actions
    count = len(problem.levels)
    usable = np.isfinite(problem.objective).ravel()
    matrix, low, cost, scale = statement_of(problem)
    high = np.concatenate([low[:states], np.full(count, np.inf)])
    if closest:
        slack = eye_array(states + count, count, k=-states)
        matrix = csc_array(hstack([matrix, slack]))
        cost = np.concatenate([np.zeros_like(cost), np.ones(count)])

    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_, lp.row_lower_, lp.row_upper_ = cost, low, high
    lp.col_lower_, lp.col_upper_ = np.zeros(len(cost)), np.full(len(cost), np.inf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    entries = lp.a_matrix_
    entries.start_, entries.index_, entries.value_ = matrix.indptr, matrix.indices, matrix.data
    solver = highspy.Highs()
    solver.silent()
    least, each = SIMPLEX_ITERATIONS
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

    found = {
        highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
        highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
        highspy.HighsModelStatus.kIterationLimit: Status.NOT_CONVERGED,
        highspy.HighsModelStatus.kTimeLimit: Status.NOT_CONVERGED,
    }.get(solver.getModelStatus(), Status.NUMERICAL)
    info = solver.getInfo()
    solution = solver.getSolution()
    measure = np.zeros(states * actions)
    value, multipliers, shortfall = np.zeros(states), np.zeros(count), 0.0
    if found is Status.OPTIMAL:
        column, dual = np.array(solution.col_value), np.array(solution.row_dual)
        measure[usable] = np.maximum(0.0, column[: usable.sum()])
        shortfall = float(column[usable.sum() :].sum())
        back = 1.0 if closest else scale
        value = -dual[:states] * back
        multipliers = np.maximum(0.0, dual[states:]) * back
    objective = float(measure[usable] @ problem.objective.ravel()[usable])
    rounds = int(info.simplex_iteration_count + info.ipm_iteration_count)
    evidence = value, multipliers, shortfall, np.inf, rounds, seconds
    return Occupancy(found, objective, measure.reshape(states, actions), *evidence)


def solve_occupancy(problem: ConstrainedProblem, method: Method = "simplex") -> ConstrainedSolution:
    """Return the solution of a constrained problem by the occupancy LP."""
    answer = occupancy_lp(problem, method)
    infeasible = answer.status is Status.INFEASIBLE
    columns = _corners(problem, answer, infeasible) if answer.measure.any() else None
    if columns is None:  # no usable solution: no policies, infinite gap
        count, states = len(problem.levels), problem.model.states
        optimal = answer.status is Status.OPTIMAL
        return ConstrainedSolution(
            status=Status.NUMERICAL if optimal else answer.status,
            weights=np.empty(0),
            policies=np.empty((0, states), np.int32),
            values=np.empty((0, 1 + count, states)),
            objective=-np.inf,
            achieved=np.full(count, -np.inf),
            upper=np.inf,
            gap=np.inf,
            multipliers=answer.multipliers,
            rounds=answer.rounds,
        )
    points = [c.values[:, problem.start] for c in columns]
    worth = max(abs(float(p[0])) for p in points)
    master = Master(problem.levels, worth if worth > 0.0 else 1.0)
    for point in points:
        master.add(point)
    mix = master.solve()
    if not infeasible and len(problem.levels):
        master.fix_shortfall()
        mix = master.solve()
    status = answer.status
    if infeasible and mix.shortfall <= aimed_within(problem.span):  # the mixture meets the levels
        status = Status.NUMERICAL
    kept = np.flatnonzero(mix.weights > 0)
    weights = mix.weights[kept] / mix.weights[kept].sum()
    values = np.array([columns[j].values for j in kept])
    policies = np.array([columns[j].policy for j in kept])
    mixed = np.tensordot(weights, values[:, :, problem.start], axes=1)
    objective, upper = float(mixed[0]), -np.inf if infeasible else _bound(problem, answer)
    gap = 0.0 if infeasible else max(0.0, upper - objective)
    evidence = objective, mixed[1:], upper, gap, answer.multipliers, answer.rounds
    found = ConstrainedSolution(status, weights, policies, values, *evidence)
    return checked(problem, found, 100 * GAP_TOLERANCE * max(abs(upper), abs(objective)))


def _corners(
    problem: ConstrainedProblem, answer: Occupancy, closest: bool
) -> list[PolicySolution] | None:
    """Return the deterministic policies that take only actions with a positive measure.

    Return None if there are more than `MAX_CORNERS`. `closest` is whether `answer` minimises the
    total shortfall.
    """
    usable = np.isfinite(problem.objective)
    reward = np.tensordot(answer.multipliers, problem.constraints, axes=1)
    reward = np.where(usable, reward if closest else reward + problem.objective, -np.inf)
    rows = problem.model.sparse().transitions
    q = reward + problem.discount * (rows @ answer.value).reshape(reward.shape)
    policy = q.argmax(axis=1).astype(np.int32)
    visits = answer.measure.sum(axis=1)
    seen = visits > 1e-12
    policy[seen] = answer.measure[seen].argmax(axis=1)
    taken = {s: answer.measure[s] / visits[s] > 1e-9 for s in np.flatnonzero(seen).tolist()}
    shared = {s: np.flatnonzero(mask) for s, mask in taken.items() if mask.sum() > 1}
    if np.prod([float(len(choices)) for choices in shared.values()]) > MAX_CORNERS:
        return None
    solver = engine_for(problem)
    columns = []
    for pick in product(*shared.values()):
        corner = policy.copy()
        corner[list(shared)] = pick
        values = solver.evaluate(corner)
        columns.append(PolicySolution(corner, values, np.inf, Status.NOT_CONVERGED, 0))
    return columns


def _bound(problem: ConstrainedProblem, answer: Occupancy) -> float:
    """Return an upper bound on every feasible policy's objective, from the duals alone."""
    reward = problem.objective + np.tensordot(answer.multipliers, problem.constraints, axes=1)
    rows = problem.model.sparse().transitions
    q = reward + problem.discount * (rows @ answer.value).reshape(reward.shape)
    excess = max(0.0, float((q - answer.value[:, None]).max()))
    upper = float(answer.value[problem.start]) + excess * problem.span
    return upper - float(answer.multipliers @ problem.levels)
