"""Comparison of plans with a linear program that states the same problem directly.

Plans for every criterion, pair and triple are compared with an LP over two copies of the states:
before and after the explorer leaves a set. The rewards of the LP follow from the definitions of the
criteria. Plan and LP share only the form of the model and the return policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from homeward.arrays import BoolArray, FloatArray
from homeward.beliefs import FiniteBelief, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.criteria import Criterion, EarnAtLeast, StayInside
from homeward.models import Model, Moves
from homeward.planning.algorithm1 import Planner
from homeward.planning.plan import Plan
from homeward.referee.exact import dense_transitions
from homeward.solvers import Status
from homeward.solvers.tolerances import FEASIBILITY_TOLERANCE
from lab.check.soundness import BoundCase, far_bonus


@dataclass(frozen=True, slots=True)
class Directly:
    """The comparison of one plan with a direct LP of the same problem."""

    status: str  # of the plan
    referee: Status  # of the LP
    difference: float  # of the objectives, relative to them or to the largest single reward
    shortfall: float  # largest shortfall of the plan from a level, in units of its range
    margin: float  # largest common slack of all levels by the LP, in the same units

    @property
    def sure(self) -> bool:
        """Whether the plan claims to be optimal or infeasible."""
        return self.status in (Status.OPTIMAL, Status.INFEASIBLE)

    @property
    def agrees(self) -> bool:
        """Whether both have the same status, or the plan is neither optimal nor infeasible.

        If the slack is within the tolerance of the solvers, either status is right.
        """
        if self.status is self.referee or not self.sure:
            return True
        if self.status is Status.OPTIMAL:
            return self.margin >= -2.0 * FEASIBILITY_TOLERANCE
        return self.margin <= 2.0 * FEASIBILITY_TOLERANCE


def compare_together(case: BoundCase, correction: Correction) -> Directly:
    """Plan by column generation, solve the same problem by an LP, and compare the answers."""
    criteria, recall = case.criteria, case.recall
    belief = case.belief.as_moves() or case.belief  # the form that a plan is made on
    plan = Planner(far_bonus, criteria, case.discount, correction, recall=recall).plan(belief, 0)
    objective = belief.mean().reward + far_bonus(belief)
    floors, levels = direct_floors(belief, criteria, plan)
    leaves = np.zeros(objective.shape, dtype=bool)
    for criterion in criteria:
        if isinstance(criterion, StayInside):
            leaves |= ~criterion.mask(belief.mean())
    model = belief.mean()
    finals = [
        np.zeros(model.states) if c.kind == "earn" else c.way_home + (c.kind == "stay")
        for c in plan.criteria
    ]
    program = direct_lp(model, objective, floors, finals, levels, leaves, case.discount, recall)
    status, best = program.solve()
    size = max(abs(best), float(np.abs(objective[np.isfinite(objective)]).max()))
    solved = plan.status is Status.OPTIMAL and status is Status.OPTIMAL
    short = [(c.level - c.corrected) / c.unit for c in plan.criteria]
    return Directly(
        status=plan.status,
        referee=status,
        difference=abs(plan.exploration_value - best) / size if solved else 0.0,
        shortfall=max(0.0, *short) if solved else 0.0,
        margin=0.0 if status is plan.status else program.margin(),
    )


def direct_floors(
    belief: FiniteBelief, criteria: Sequence[Criterion], plan: Plan
) -> tuple[list[tuple[FloatArray, FloatArray]], FloatArray]:
    """Return the rewards and the levels [K] of K criteria in the LP.

    Each criterion has two rewards [S, A]: one for actions that stay inside the set, and one for
    actions that leave it.
    """
    model, gamma, steps = belief.mean(), plan.discount, plan.steps
    corrections = corrections_of(belief, model, gamma, plan.correction)
    usable = np.isfinite(model.reward)
    floors, levels = [], []
    for criterion, claims in zip(criteria, plan.criteria, strict=True):
        sigma, level = corrections.exploring, claims.level
        if steps is not None and plan.correction is not Correction.NAIVE:
            sigma = belief.correction()
        if isinstance(criterion, StayInside):
            worth = np.ones(usable.shape)
            if plan.correction is Correction.MOVES and steps is None:
                sigma = _staying(belief, gamma)
        elif isinstance(criterion, EarnAtLeast):
            if criterion.rewards is None:
                rewards = model.reward
                paid = np.stack([world.reward for world in belief.worlds])[:, usable]
            else:
                rewards, paid = criterion.rewards, criterion.rewards[usable]
            low, high = float(paid.min()), float(paid.max())
            low = low if isinstance(model, Moves) else min(low, 0.0)
            span = high - low
            if span == 0.0:  # every policy earns the same in every world
                span, sigma = 1.0, np.zeros(usable.shape)
            worth = np.where(usable, (rewards - low) / span, 0.0)
            level = (claims.level * (1.0 - gamma if steps is None else 1.0 / steps) - low) / span
        else:
            worth = np.repeat(claims.way_home[:, None], model.actions, axis=1)
        if steps is None:
            floors.append(((1.0 - gamma) * worth + gamma * sigma, (1.0 - gamma) * worth))
        else:  # the value of a recall is collected at the end
            each = worth / steps if isinstance(criterion, EarnAtLeast) else np.zeros(usable.shape)
            floors.append((each + sigma, each))
        levels.append(level)
    return floors, np.array(levels)


def _staying(belief: FiniteBelief, discount: float) -> FloatArray:
    """Return the correction of staying inside on move-or-stay worlds, from its definition."""
    first = belief.worlds[0]
    assert isinstance(first, Moves)
    success = np.stack([w.success for w in belief.worlds if isinstance(w, Moves)])
    mean = np.tensordot(belief.weights, success, axes=1)
    stretch = (1.0 - discount) / (1.0 - discount + discount * success)
    half = -0.5 * np.tensordot(belief.weights, np.abs(success - mean) * stretch, axes=1)
    leads = first.dest != np.arange(first.states)[:, None]
    sure = np.isin(success[:, leads], (0.0, 1.0)).all()  # every move always or never works
    sigma = np.where(sure, -(1.0 - discount) * mean * (1.0 - mean), half)
    moves: FloatArray = np.where(leads, sigma, 0.0)
    return moves


def direct_lp(
    model: Model,
    objective: FloatArray,
    floors: Sequence[tuple[FloatArray, FloatArray]],
    finals: Sequence[FloatArray],
    levels: FloatArray,
    leaves: BoolArray,
    discount: float,
    steps: int | None,
) -> Program:
    """Return the LP over occupancies of (t, before or after leaving a set, s, a).

    `floors` and `levels` are the rewards and levels of the K criteria, from `direct_floors`.
    `leaves` [S, A] is the mask of actions that leave a set. With a recall after `steps` steps, t is
    the step, and ``finals[k]`` [S] is what criterion k earns in the state at the recall, if the
    explorer has left no set. With `steps` None, there is only t = 0, and the future is discounted.
    """
    states, actions = objective.shape
    stages, factor = (1, discount) if steps is None else (steps, 1.0)
    rows = dense_transitions(model).reshape(-1, states)
    left, pairs = leaves.ravel()[:, None], states * actions
    usable = np.isfinite(objective).ravel()
    worth = np.where(usable, objective.ravel(), 0.0)
    here = np.repeat(np.eye(states), actions, axis=0).T  # [S, S·A] where an action is taken
    count = 2 * stages * pairs
    flow, source = np.zeros((2 * stages * states, count)), np.zeros(2 * stages * states)
    gains, source[0] = np.zeros((len(floors), count)), 1.0
    for t in range(stages):
        inside = slice(2 * t * pairs, (2 * t + 1) * pairs)
        outside = slice((2 * t + 1) * pairs, (2 * t + 2) * pairs)
        at = 2 * t * states
        flow[at : at + states, inside] = here
        flow[at + states : at + 2 * states, outside] = here
        last = steps is not None and t + 1 == steps
        if not last:
            then = at if steps is None else 2 * (t + 1) * states
            flow[then : then + states, inside] -= (factor * rows * ~left).T
            flow[then + states : then + 2 * states, inside] -= (factor * rows * left).T
            flow[then + states : then + 2 * states, outside] -= factor * rows.T
        for k, (stays, goes) in enumerate(floors):
            final = rows @ finals[k] if last else np.zeros(pairs)
            gains[k, inside] = np.where(left[:, 0], goes.ravel(), stays.ravel() + final)
    earned, usable = np.tile(worth, 2 * stages), np.tile(usable, 2 * stages)
    return Program(earned, flow, source, gains, levels, usable)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A linear program over N occupancies: objective, flow equations and constraints."""

    worth: FloatArray  # [N]
    flow: FloatArray  # [M, N]
    source: FloatArray  # [M]
    gains: FloatArray  # [K, N]
    levels: FloatArray  # [K]
    usable: BoolArray  # [N]

    def solve(self) -> tuple[Status, float]:
        """Maximise the objective; return the status and the optimum."""
        scale = float(np.abs(self.worth).max()) or 1.0
        status, best = self._maximise(self.worth[self.usable] / scale)
        return status, best * scale

    def margin(self) -> float:
        """Return the largest common slack of all levels, negative if infeasible."""
        status, best = self._maximise(np.zeros(self.usable.sum()), slack=True)
        return best if status is Status.OPTIMAL else np.nan

    def _maximise(self, worth: FloatArray, *, slack: bool = False) -> tuple[Status, float]:
        """Maximise over occupancies, or over one more variable: the slack of all levels."""
        flow, gains = self.flow[:, self.usable], self.gains[:, self.usable]
        bounds: list[tuple[float | None, None]] = [(0.0, None)] * len(worth)
        if slack:
            worth, bounds = np.append(worth, 1.0), [*bounds, (None, None)]
            flow = np.hstack([flow, np.zeros((len(flow), 1))])
            gains = np.hstack([gains, -np.ones((len(gains), 1))])
        inequalities = {"A_ub": -gains, "b_ub": -self.levels} if len(gains) else {}
        options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        ends = set()
        # Presolve may call a barely feasible problem (δ = 1) infeasible; the simplex may fail.
        for method, presolve in (("highs", True), ("highs", False), ("highs-ipm", True)):
            answer = linprog(
                -worth,
                **inequalities,
                A_eq=flow,
                b_eq=self.source,
                bounds=bounds,
                method=method,
                options={**options, "presolve": presolve},
            )
            if answer.status == 0:
                return Status.OPTIMAL, -float(answer.fun)
            ends.add(answer.status)
        return Status.INFEASIBLE if 2 in ends else Status.NUMERICAL, -np.inf
