"""The planner: a belief, a bonus and criteria in, one decision with its evidence out.

A step of the paper's Algorithm 1. The mean model, its corrections and the bonus make one
constrained MDP: maximise reward plus bonus under discount γ, subject to each criterion's bound
staying at its level δ. Its solution is a mixture of deterministic policies, drawn once and then
followed. The first action is de-randomised in favour of safety: among the actions to which the
mixture gives weight here, take the one whose share of the mixture keeps the best bound. With one
criterion that share keeps at least the bound of the whole, since the whole is an average of the
shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from homeward.arrays import floats
from homeward.beliefs import corrections_of
from homeward.errors import InvalidProblemError
from homeward.plan import ActionEvidence, CriterionEvidence, Plan, Verdict
from homeward.safety import Correction, ReturnHome, Situation
from homeward.solvers import (
    ConstrainedProblem,
    ConstrainedSolution,
    Status,
    solve_constrained,
    solve_occupancy,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray
    from homeward.beliefs import Belief
    from homeward.bonuses import Bonus
    from homeward.safety import Criterion

Method = Literal["columns", "lp"]
WORTHLESS = 1e-12
"""A plan worth less than this fraction of the largest bonus is worth nothing."""


@dataclass(frozen=True)
class Planner:
    """What is worth seeing and what must stay true; plans from any belief and state.

    Parameters
    ----------
    bonus
        ξ: a callable from the belief to an array [S, A]. The mean reward is added to it.
    criteria
        What must stay true; several hold at once. None at all is unsafe exploration.
    discount
        γ: exploration goes on for another step with this probability, else it is recalled.
    correction
        Which theorem to plan with; by default the tightest that the belief allows.
    method
        ``"columns"`` generates policies, exact and fast; ``"lp"`` is the paper's occupancy LP.
    """

    bonus: Bonus
    criteria: Sequence[Criterion] = (ReturnHome(0.95),)
    discount: float = 0.99
    correction: Correction | None = None
    method: Method = "columns"

    def __post_init__(self) -> None:
        if not 0.0 < self.discount < 1.0:
            raise InvalidProblemError(f"γ is {self.discount:g}, expected 0 < γ < 1")
        if self.method not in ("columns", "lp"):
            raise InvalidProblemError(f"method is {self.method!r}, expected 'columns' or 'lp'")
        if self.correction is not None:
            known = [c.value for c in Correction]
            if self.correction not in known:
                raise InvalidProblemError(
                    f"correction is {self.correction!r}, expected one of {', '.join(known)}"
                )
            object.__setattr__(self, "correction", Correction(self.correction))
        object.__setattr__(self, "criteria", tuple(self.criteria))

    def plan(self, belief: Belief, state: int, start: int | None = None) -> Plan:
        """Decide what to do in `state`; `start` is the run's first state, if that is another."""
        model = belief.mean()
        for name, index in (("state", state), ("start", state if start is None else start)):
            if not 0 <= index < model.states:
                raise InvalidProblemError(
                    f"the {name} s={index} is not a state (0..{model.states - 1})"
                )
        corrections = corrections_of(belief, model, self.discount, self.correction)
        situation = Situation(
            model, corrections, self.discount, state, state if start is None else start
        )
        requirements = [criterion.require(situation) for criterion in self.criteria]
        shape = (model.states, model.actions)
        bonus = floats(self.bonus(belief), "the bonus", shape, InvalidProblemError)
        if not np.isfinite(bonus).all():
            raise InvalidProblemError("the bonus must be finite")
        problem = ConstrainedProblem(
            model,
            self.discount,
            state,
            model.reward + bonus,
            np.array([r.reward for r in requirements]).reshape(-1, *shape),
            np.array([r.level for r in requirements], np.float64),
        )
        solved = (
            solve_constrained(problem) if self.method == "columns" else solve_occupancy(problem)
        )
        if len(solved.weights) == 0:  # the LP gave no policy at all
            solved = solve_constrained(problem)
        action, share = _derandomise(problem, solved)
        status = solved.status
        for requirement in requirements:
            if requirement.returns.status is not Status.OPTIMAL and status is Status.OPTIMAL:
                status = requirement.returns.status
        worth = float(np.abs(np.where(np.isfinite(model.reward), model.reward + bonus, 0.0)).max())
        return Plan(
            state=state,
            action=action,
            status=status,
            weights=solved.weights,
            outbound=solved.policies,
            exploration_value=solved.objective,
            upper_bound=solved.upper,
            gap=solved.gap,
            criteria=tuple(
                CriterionEvidence(
                    name=r.name,
                    level=r.level,
                    bound=float(np.clip(solved.achieved[k], 0.0, 1.0)),
                    kept_bound=float(np.clip(share[1 + k], 0.0, 1.0)),
                    multiplier=float(solved.multipliers[k]),
                    home=r.home,
                    way_home=r.returns.value,
                    return_policy=r.returns.policy,
                )
                for k, r in enumerate(requirements)
            ),
            evidence=_evidence(problem, solved, action, share),
            correction=corrections.kind,
            discount=self.discount,
            rounds=solved.rounds,
            bonus_left=bool((bonus > 0).any()),
            worthless=abs(solved.objective) <= WORTHLESS * worth / (1.0 - self.discount),
            waits=bool(model.leaving(state)[action] == 0.0 and bonus[state, action] == 0.0),
            state_names=model.state_names,
            action_names=model.action_names,
        )


def _derandomise(
    problem: ConstrainedProblem, solved: ConstrainedSolution
) -> tuple[int, FloatArray]:
    """Pick the safest action with weight; give it and the values [1 + K] of its share."""
    here = solved.policies[:, problem.start]
    points = solved.values[:, :, problem.start]
    best: tuple[float, float] = (-np.inf, -np.inf)
    choice, share = int(here[0]), points[0]
    for action in np.unique(here):
        mine = here == action
        values = np.average(points[mine], axis=0, weights=solved.weights[mine])
        margin = float((values[1:] - problem.levels).min()) if len(problem.levels) else 0.0
        key = (margin, float(values[0]))
        if key > best:
            best, choice, share = key, int(action), values
    return choice, share


def _evidence(
    problem: ConstrainedProblem, solved: ConstrainedSolution, chosen: int, share: FloatArray
) -> tuple[ActionEvidence, ...]:
    """Say what each action here is worth with the plan followed after it, and why not it."""
    s, model = problem.start, problem.model
    follow = solved.mixed_values  # [1 + K, S]
    leaving = model.leaving(s)
    found = []
    for a in range(model.actions):
        weight = float(solved.weights[solved.policies[:, s] == a].sum())
        usable = bool(np.isfinite(problem.objective[s, a]))
        now = np.concatenate([problem.objective[None, s, a], problem.constraints[:, s, a]])
        values = now + problem.discount * (follow @ model.row(s, a))
        if a == chosen:
            values = share
        short = values[1:] < problem.levels - 1e-9
        if a == chosen:
            verdict = Verdict.CHOSEN
        elif not usable:
            verdict = Verdict.UNAVAILABLE
        elif weight > 0.0:
            verdict = Verdict.LESS_SAFE
        elif short.any() and solved.status is not Status.INFEASIBLE:
            verdict = Verdict.UNSAFE
        else:
            verdict = Verdict.WORTH_LESS
        found.append(
            ActionEvidence(
                action=a,
                leaves=float(leaving[a]),
                exploration=float(values[0]),
                safety=tuple(float(v) for v in np.clip(values[1:], 0.0, 1.0)),
                weight=weight,
                verdict=verdict,
            )
        )
    return tuple(found)
