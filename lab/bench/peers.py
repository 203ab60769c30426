"""Calls of other solvers on the same problems: LP solvers and MDP libraries.

The extra ``lab`` installs them; a missing one raises an error.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csc_array, csr_matrix, identity, vstack

from homeward.arrays import FloatArray
from homeward.extras import need
from homeward.models import SparseMDP
from homeward.solvers import ConstrainedProblem, Status
from homeward.solvers.occupancy import run_lp, statement_of


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """The answer of another solver, and the seconds that it took."""

    status: Status
    objective: float
    seconds: float


def peer(module: str) -> Any:
    """Import and return the module of another solver."""
    return need(module, "lab", f"{module} is not installed")


def highs_lp(problem: ConstrainedProblem, method: Literal["simplex", "ipm"]) -> PeerAnswer:
    """Solve the occupancy LP by a method of HiGHS with default tolerances."""
    answer = run_lp(problem, method, tolerance=1e-7, smallest=1e-9)
    return PeerAnswer(answer.status, answer.objective, answer.seconds)


def clarabel_lp(problem: ConstrainedProblem) -> PeerAnswer:
    """Solve the occupancy LP by Clarabel's interior point method."""
    clarabel = peer("clarabel")
    matrix, low, cost, scale = statement_of(problem)
    states, columns = problem.model.states, matrix.shape[1]
    count = len(problem.levels)
    rows = vstack([matrix[:states], -matrix[states:], -identity(columns)])
    side = np.concatenate([low[:states], -low[states:], np.zeros(columns)])
    cones = [clarabel.ZeroConeT(states), clarabel.NonnegativeConeT(count + columns)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    solver = clarabel.DefaultSolver(
        csc_array((columns, columns)), cost, csc_array(rows), side, cones, settings
    )
    solution = solver.solve()
    solved = str(solution.status) in ("Solved", "AlmostSolved")
    return PeerAnswer(
        Status.OPTIMAL if solved else Status.NUMERICAL,
        -float(solution.obj_val) * scale,
        float(solution.solve_time),
    )


def quantecon_values(
    model: SparseMDP, reward: FloatArray, discount: float, method: str
) -> tuple[FloatArray, float]:
    """Solve an unconstrained MDP by QuantEcon's DiscreteDP; return the values [S] and seconds."""
    markov = peer("quantecon").markov
    states = np.repeat(np.arange(model.states), model.actions)
    actions = np.tile(np.arange(model.actions), model.states)
    rows = csr_matrix(
        (model.transitions.data, model.transitions.indices, model.transitions.indptr),
        shape=model.transitions.shape,
    )
    problem = markov.DiscreteDP(reward.ravel(), rows, discount, states, actions)
    problem.solve(method=method, max_iter=1)  # compiles
    found, seconds = timed(lambda: problem.solve(method=method, epsilon=1e-8, max_iter=100_000))
    return np.asarray(found.v, np.float64), seconds


def timed(solve: Callable[[], Any]) -> tuple[Any, float]:
    """Return the answer of `solve` and its seconds.

    It is called again until half a second has passed, at most 25 times; the seconds are the median.
    """
    found, times = None, list[float]()
    while not times or (sum(times) < 0.5 and len(times) < 25):
        before = time.perf_counter()
        found = solve()
        times.append(time.perf_counter() - before)
    return found, float(np.median(times))


def mdptoolbox_values(
    model: SparseMDP, reward: FloatArray, discount: float
) -> tuple[FloatArray, float]:
    """Solve an unconstrained MDP by pymdptoolbox; return the values [S] and seconds."""
    toolbox = peer("mdptoolbox.mdp")
    rows = [csr_matrix(model.transitions[a :: model.actions]) for a in range(model.actions)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns about its comparisons of matrices
        problem = toolbox.PolicyIteration(rows, reward, discount, eval_type=0)
    before = time.perf_counter()
    problem.run()
    return np.asarray(problem.V, np.float64), time.perf_counter() - before
