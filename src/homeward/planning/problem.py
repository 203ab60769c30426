"""The constrained MDP of several requirements, and a smallest set of requirements that conflict.

Each requirement adds one constraint. If a criterion has a set to stay inside, the actions that
leave the set are *exits*. An exit ends the constrained process. The objective then gets the value
of the best unconstrained exploration after the exit, which is computed once per plan. Constraints
get 0 for the time after an exit. This only lowers their totals, which are at least 0 in every
world, so the bounds stay valid. The policy after an exit does not depend on the states before it.
If there are several sets, an action that leaves one of them is an exit for all criteria.

At the exit itself, a constraint still gets the criterion's `worth`: the value of a recall in the
state before the action, or the action's own reward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.criteria import Requirement
from homeward.models import Model
from homeward.solvers import (
    ConstrainedProblem,
    PolicySolution,
    Status,
    engine,
    solve_constrained,
)
from homeward.solvers.problems import end_at
from homeward.solvers.steps_left import mask_over_steps, over_steps, rewards_over_steps

MAX_ENUMERATED = 6  # largest number of requirements of which all subsets are tested for a conflict
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Posed:
    """A constrained problem, and the policy after leaving the set of a `StayInside`."""

    problem: ConstrainedProblem
    exits: BoolArray | None = None  # [S, A] mask of the actions that leave the set
    afterwards: IntArray | None = None  # [S] policy after an exit, over the problem's states
    unsure: float = 0.0  # optimality gap of the policy `afterwards`


def pose(
    model: Model,
    discount: float,
    state: int,
    totals: FloatArray,
    requirements: Sequence[Requirement],
    afterwards: IntArray | None = None,
    steps: int | None = None,
) -> Posed:
    """Return the constrained problem of `requirements`; write the rewards of exits to `totals`.

    `totals` [1 + K, S, A] are the objective and one reward per requirement. `afterwards` [S] is the
    last plan's policy after an exit, as a warm start. The recall comes after `steps`. If `steps` is
    None, it comes with probability 1 − γ at each step.
    """
    levels = np.array([(r.level - r.least) / r.unit for r in requirements], np.float64)
    exits, most = exits_of(requirements), None
    leaves, paid = exits, [r.paid(discount, steps) for r in requirements]
    if steps is not None:
        final = np.stack([np.zeros(model.states), *(r.final for r in requirements)])
        state, discount, most = state + steps * model.states, 1.0, 1 + steps
        model = over_steps(model, steps)
        totals = rewards_over_steps(totals, final, steps)
        if exits is not None:
            leaves, paid = mask_over_steps(exits, steps), [np.tile(x, (steps + 1, 1)) for x in paid]
    if leaves is None:
        return Posed(ConstrainedProblem(model, discount, state, totals, levels, most))
    solver, start = engine(model, discount, totals[:1], most), []
    if afterwards is not None:
        values = solver.evaluate(afterwards)
        if values.min() > -np.inf:  # all its actions can be chosen
            start = [PolicySolution(afterwards, values, np.inf, Status.NOT_CONVERGED, 0)]
    outside = solver.optimise(np.ones(1), start)
    ending = end_at(model, discount, leaves, totals, outside.values[0], paid)
    problem = ConstrainedProblem(ending, discount, state, totals, levels, most)
    return Posed(problem, exits, outside.policy, outside.gap)


def exits_of(requirements: Sequence[Requirement]) -> BoolArray | None:
    """Return the mask [S, A] of the actions that are not allowed by all requirements.

    Return None if all requirements allow all actions.
    """
    sets = [r.allowed for r in requirements if r.allowed is not None]
    exits: BoolArray | None = ~np.logical_and.reduce(sets) if sets else None
    return exits if exits is not None and exits.any() else None


def lower(least: float, unit: float, total: float) -> float:
    """Return ``least + unit·total`` for a total clipped to [0, 1], rounded down."""
    sure = min(1.0, max(0.0, total))
    if (least, unit) == (0.0, 1.0):
        return sure
    return least + unit * sure - 4.0 * EPSILON * (abs(least) + unit)


def conflict_of(
    model: Model,
    discount: float,
    state: int,
    requirements: Sequence[Requirement],
    steps: int | None = None,
) -> tuple[int, ...]:
    """Return the indices of a smallest set of requirements that no policy meets together.

    With more than `MAX_ENUMERATED` requirements, the set is minimal (all its proper subsets can be
    met), but may not be a smallest one. The problem must be infeasible; this is not checked.
    """
    count = len(requirements)
    nothing = np.where(np.isfinite(model.reward), 0.0, -np.inf)  # an objective of 0

    def conflicts(chosen: Sequence[int]) -> bool:
        subset = [requirements[k] for k in chosen]
        totals = np.stack([nothing, *(r.reward for r in subset)])
        posed = pose(model, discount, state, totals, subset, steps=steps)
        return solve_constrained(posed.problem).status is Status.INFEASIBLE

    left = tuple(range(count))
    if count <= MAX_ENUMERATED:
        fewer = (chosen for size in left[1:] for chosen in combinations(left, size))
        return next((chosen for chosen in fewer if conflicts(chosen)), left)
    for k in range(count):
        without = tuple(other for other in left if other != k)
        if without and conflicts(without):
            left = without
    return left
