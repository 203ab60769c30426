"""The planner: a belief, a bonus and criteria in, one decision with its evidence out.

A step of the paper's Algorithm 1. The mean model, its corrections and the bonus make one
constrained MDP: maximise reward plus bonus under discount γ, subject to each criterion's bound
staying at its level δ. Its solution is a mixture of deterministic policies, drawn once and then
followed; `decision` says how one action comes of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from homeward.arrays import index, number, numbers, place
from homeward.beliefs import corrections_of
from homeward.decision import WORTHLESS, decide, evidence_of, is_worthless
from homeward.errors import InvalidProblemError
from homeward.plan import CriterionEvidence, Plan
from homeward.safety import Correction, ReturnHome, Situation
from homeward.solvers import ConstrainedProblem, Status, solve_constrained, solve_occupancy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.beliefs import Belief
    from homeward.bonuses import Bonus
    from homeward.safety import Criterion
    from homeward.solvers import ConstrainedSolution

Method = Literal["columns", "lp"]
LP_LIMIT = 200_000
"""State-actions beyond which the other method is not worth waiting for."""

ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
"""What the evaluation of a bound may be off by, times 1 − γ."""


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
        Where one does not get to the end the other is tried; the plan says which it is from.
    """

    bonus: Bonus
    criteria: Sequence[Criterion] = (ReturnHome(0.95),)
    discount: float = 0.99
    correction: Correction | None = None
    method: Method = "columns"

    def __post_init__(self) -> None:
        error = InvalidProblemError
        if not callable(self.bonus):
            raise error(f"the bonus is {self.bonus!r}, expected a callable from a belief to [S, A]")
        if not 0.0 < number(self.discount, "γ", error) < 1.0:
            raise error(f"γ is {self.discount:g}, expected 0 < γ < 1")
        if self.method not in ("columns", "lp"):
            raise error(f"method is {self.method!r}, expected 'columns' or 'lp'")
        if self.correction is not None:
            known = [c.value for c in Correction]
            if self.correction not in known:
                raise error(
                    f"correction is {self.correction!r}, expected one of {', '.join(known)}"
                )
            object.__setattr__(self, "correction", Correction(self.correction))
        if not isinstance(self.criteria, tuple | list):
            raise error(f"criteria is {self.criteria!r}, expected a list of criteria")
        for criterion in self.criteria:
            if not hasattr(criterion, "require"):
                raise error(f"{criterion!r} is not a criterion")
        object.__setattr__(self, "criteria", tuple(self.criteria))

    def plan(
        self,
        belief: Belief,
        state: int,
        start: int | None = None,
        previous: Plan | None = None,
    ) -> Plan:
        """Decide what to do in `state`; `start` is the run's first state, if that is another.

        The `previous` plan, of a belief that has hardly changed, makes this one quicker.
        """
        model = belief.mean()
        state = index(state, model.states, "the state", InvalidProblemError)
        first = (
            state if start is None else index(start, model.states, "the start", InvalidProblemError)
        )
        corrections = corrections_of(belief, model, self.discount, self.correction)
        situation = Situation(model, corrections, self.discount, state, first)
        shape = (model.states, model.actions)
        totals = np.empty((1 + len(self.criteria), *shape))
        requirements = []
        for total, criterion in zip(totals[1:], self.criteria, strict=True):
            asked = criterion.require(situation, total)
            if asked.reward is not total:
                total[:] = asked.reward
                asked = replace(asked, reward=total)
            requirements.append(asked)
        kind = corrections.kind
        del corrections, situation  # two arrays [S, A], whose room the solver may take
        bonus = numbers(self.bonus(belief), "the bonus", shape, InvalidProblemError)
        least, most = float(bonus.min()), float(bonus.max())
        if not (np.isfinite(least) and np.isfinite(most)):
            at = tuple(int(i) for i in np.argwhere(~np.isfinite(bonus))[0])
            raise InvalidProblemError(f"the bonus {place(at, 'sa')} is {bonus[at]:g}")
        np.add(model.reward, bonus, out=totals[0])
        levels = np.array([r.level for r in requirements], np.float64)
        problem = ConstrainedProblem(model, self.discount, state, totals, levels)
        solved, method = self._solve(problem, previous)

        worthless = abs(solved.objective) <= WORTHLESS * problem.worth
        leaving = model.leaving(state)
        stays = (leaving <= 1e-12) & (bonus[state] == 0.0)
        choice = decide(problem, solved, None if worthless else stays)
        rounding = ROUNDING / (1.0 - self.discount)

        def proven(bound: float) -> float:
            """Allow for the rounding of the evaluation that a bound comes from."""
            return min(1.0, max(0.0, float(bound) - rounding))

        status = solved.status
        for requirement in requirements:
            if requirement.returns.status is not Status.OPTIMAL and status is Status.OPTIMAL:
                status = requirement.returns.status
        return Plan(
            state=state,
            action=choice.action,
            status=status,
            weights=solved.weights,
            outbound=solved.policies,
            exploration_value=solved.objective,
            upper_bound=solved.upper,
            gap=solved.gap,
            kept_weights=choice.weights,
            kept_outbound=choice.policies,
            kept_value=float(choice.values[0]),
            criteria=tuple(
                CriterionEvidence(
                    name=r.name,
                    level=r.level,
                    bound=proven(solved.achieved[k]),
                    kept_bound=proven(choice.values[1 + k]),
                    multiplier=float(solved.multipliers[k]),
                    home=r.home,
                    way_home=r.returns.value,
                    return_policy=r.returns.policy,
                )
                for k, r in enumerate(requirements)
            ),
            evidence=evidence_of(problem, solved, choice, leaving, stays),
            correction=kind,
            discount=self.discount,
            method=method,
            rounds=solved.rounds,
            bonus_left=most > 0.0,
            worthless=worthless,
            waits=bool(stays[choice.action]) or is_worthless(problem, choice),
            state_names=model.state_names,
            action_names=model.action_names,
        )

    def _solve(
        self, problem: ConstrainedProblem, previous: Plan | None
    ) -> tuple[ConstrainedSolution, Method]:
        """Solve by the chosen method, or by the other where that does not get to the end."""
        seeds = () if previous is None else tuple(previous.outbound)
        hint = None
        if previous is not None and len(previous.criteria) == len(self.criteria):
            hint = np.array(previous.multipliers)
        best: tuple[ConstrainedSolution, Method] | None = None
        order: tuple[Method, Method] = (
            ("columns", "lp") if self.method == "columns" else ("lp", "columns")
        )
        for method in order:
            if best is not None and method == "lp" and problem.objective.size > LP_LIMIT:
                break
            by_columns = method == "columns"
            solved = (
                solve_constrained(problem, seeds, hint) if by_columns else solve_occupancy(problem)
            )
            if solved.status in (Status.OPTIMAL, Status.INFEASIBLE):
                return solved, method
            if best is None or len(best[0].weights) == 0:
                best = solved, method
        assert best is not None
        return best
