"""The planner: a belief, a bonus and criteria in, one decision with its evidence out.

A step of the paper's Algorithm 1. The mean model, its corrections and the bonus make one
constrained MDP: maximise reward plus bonus under discount γ, subject to each criterion's bound
staying at its level δ. Its solution is a mixture of deterministic policies, drawn once and then
followed; `decision` chooses one action from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from homeward.arrays import index, is_nothing, number, numbers, place
from homeward.beliefs import RewardLimits, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.planning.decision import WORTHLESS, decide, evidence_of, is_worthless
from homeward.planning.plan import CriterionEvidence, Plan
from homeward.safety import AtStep, ReturnHome, Situation
from homeward.safety.problem import conflict_of, lower, pose
from homeward.solvers import ConstrainedProblem, Status, solve_constrained, solve_occupancy
from homeward.solvers.reach import silence_unreachable
from homeward.solvers.tolerances import ROUNDING, met_within

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.beliefs import Belief
    from homeward.bonuses import Bonus
    from homeward.models import Model
    from homeward.safety import Criterion, Requirement
    from homeward.solvers import ConstrainedSolution, Problem

Method = Literal["columns", "lp"]
MIN_RECALL = 1e-9
"""Least probability 1 − γ of a recall at a step: below that rounding would decide."""

MAX_LP_ENTRIES = 200_000
"""State-actions up to which the occupancy LP is tried where column generation fails."""

MAX_REWARD = 1e100
"""Largest absolute reward or bonus: sums of larger ones overflow."""


@dataclass(frozen=True)
class Planner:
    """A bonus and criteria, from which it plans in any belief and state.

    Parameters
    ----------
    bonus
        ξ: a callable from the belief to an array [S, A]. The mean reward is added to it.
    criteria
        The safety criteria, which hold at once. Without any, exploration is not safe.
    discount
        γ: exploration goes on for another step with this probability, else it is recalled.
    correction
        The theorem that proves the bounds; by default the tightest that the belief allows.
    method
        ``"columns"`` is column generation, exact and fast; ``"lp"`` is the paper's occupancy LP.
        If one does not converge, the other is tried; `Plan.method` is the one that was used.
    recall
        When exploration is called off: None for any step, with probability 1 − γ each; `AtStep(n)`
        or n for exactly n steps from now, without discount. Then policies depend on the step,
        [n, S], and the way out is always corrected by Theorem 2.
    """

    bonus: Bonus
    criteria: Sequence[Criterion] = (ReturnHome(0.95),)
    discount: float = 0.99
    correction: Correction | None = None
    method: Method = "columns"
    recall: AtStep | int | None = None

    def __post_init__(self) -> None:
        error = InvalidProblemError
        if self.recall is not None and not isinstance(self.recall, AtStep):
            object.__setattr__(self, "recall", AtStep(self.recall))
        if self.recall is not None and self.method == "lp":
            raise error("the occupancy LP is for a recall at any step; plan by 'columns'")
        if not callable(self.bonus):
            raise error(f"the bonus is {self.bonus!r}, expected a callable from a belief to [S, A]")
        if not 0.0 < number(self.discount, "γ", error) < 1.0:
            raise error(f"γ is {self.discount:g}, expected 0 < γ < 1")
        if self.discount > 1.0 - MIN_RECALL:
            raise error(
                f"γ is within {1.0 - self.discount:g} of 1, expected {MIN_RECALL:g} or more"
            )
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
            if isinstance(criterion, type) or not hasattr(criterion, "require"):
                raise error(f"{criterion!r} is not a criterion")
        object.__setattr__(self, "criteria", tuple(self.criteria))

    def plan(
        self,
        belief: Belief,
        state: int,
        start: int | None = None,
        previous: Plan | None = None,
    ) -> Plan:
        """Decide what to do in `state`; `start` is the run's first state, by default the same.

        The `previous` plan warm-starts this one; that helps if the belief has hardly changed.
        """
        model = belief.mean()
        check_rewards(model)
        state = index(state, model.states, "the state", InvalidProblemError)
        first = (
            state if start is None else index(start, model.states, "the start", InvalidProblemError)
        )
        situation = self.situation(belief, model, state, first)
        shape = (model.states, model.actions)
        totals = np.empty((1 + len(self.criteria), *shape))
        requirements = self._require(situation, totals[1:])
        kind = situation.corrections.kind
        del situation  # frees two arrays [S, A] for the solver
        bonus = numbers(self.bonus(belief), "the bonus", shape, InvalidProblemError, packed=False)
        least, most = float(bonus.min()), float(bonus.max())
        if not (least >= -MAX_REWARD and most <= MAX_REWARD):
            at = tuple(int(i) for i in np.argwhere(~(np.abs(bonus) <= MAX_REWARD))[0])
            raise InvalidProblemError(f"the bonus {place(at, 'sa')} is {bonus[at]:g}")
        np.add(model.reward, bonus, out=totals[0])
        silence_unreachable(model, totals[0], state)
        steps = self._steps
        # A warm start read from a record may lack steps and the policy outside of a set.
        outside = getattr(previous, "afterwards", None) if steps is None else None
        if outside is not None and outside.ndim != 1:
            outside = None
        posed = pose(model, self.discount, state, totals, requirements, outside, steps)
        problem = posed.problem
        solved, method = self._solve(problem, requirements, previous)
        if posed.unsure > 0.0 and np.isfinite(solved.upper):
            upper, gap = solved.upper + posed.unsure, solved.gap + posed.unsure
            solved = replace(solved, upper=upper, gap=gap)

        worthless = abs(solved.objective) <= WORTHLESS * problem.worth
        leaving = model.leaving(state)
        stays = (leaving <= 1e-12) & (bonus[state] == 0.0) & (model.reward[state] <= 0.0)
        choice = decide(problem, solved, None if worthless else stays)
        rounding = ROUNDING * problem.span

        def proven(bound: float, requirement: Requirement) -> float:
            """Allow for the rounding of the evaluation that a bound comes from."""
            return lower(requirement.least, requirement.unit, float(bound) - rounding)

        status = solved.status
        for requirement in requirements:
            if requirement.returns.status is not Status.OPTIMAL and status is Status.OPTIMAL:
                status = requirement.returns.status
        conflict = tuple(range(len(requirements))) if status is Status.INFEASIBLE else ()
        if len(conflict) > 1:
            again = self.situation(belief, model, state, first)
            asked = self._require(again, np.empty((len(requirements), *shape)))
            conflict = conflict_of(model, self.discount, state, asked, steps)
        exits = None if posed.exits is None else posed.exits[state]
        measures = [(r.least, r.unit) for r in requirements]
        once = None
        if kind is Correction.MOVES and steps is None and requirements:
            once = self._once(belief, state, requirements)
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
                    bound=proven(solved.achieved[k], r),
                    kept_bound=proven(choice.values[1 + k], r),
                    multiplier=float(solved.multipliers[k]) / r.unit,
                    home=r.home,
                    way_home=r.returns.value,
                    return_policy=r.returns.policy,
                    kind=r.kind,
                    unit=r.unit,
                    allowed=r.allowed,
                    within=r.within,
                    return_layers=r.returns.layers,
                    return_since=r.returns.since,
                    span=problem.span,
                )
                for k, r in enumerate(requirements)
            ),
            evidence=evidence_of(problem, solved, choice, leaving, stays, exits, measures, once),
            correction=kind,
            discount=self.discount,
            method=method,
            rounds=solved.rounds,
            bonus_left=most > 0.0,
            worthless=worthless,
            waits=bool(stays[choice.action]) or is_worthless(problem, choice),
            state_names=model.state_names,
            action_names=model.action_names,
            afterwards=posed.afterwards,
            conflict=conflict,
            steps=steps,
        )

    @property
    def _steps(self) -> int | None:
        """Steps until recall; None if the recall is random."""
        return self.recall.steps if isinstance(self.recall, AtStep) else None

    def situation(self, belief: Belief, model: Model, state: int, start: int) -> Situation:
        """Return the situation of the criteria: the state, the mean model and its corrections."""
        corrections = corrections_of(belief, model, self.discount, self.correction)
        if self._steps is not None and corrections.kind is Correction.MOVES:
            # Policies depend on the step: the moves correction is valid for the way home only.
            corrections = replace(corrections, exploring=belief.correction())
        return Situation(
            model,
            corrections,
            self.discount,
            state,
            start,
            belief.correction,
            lambda: limits_of(belief),
            self._steps,
        )

    def _require(self, situation: Situation, rewards: FloatArray) -> list[Requirement]:
        """Return every criterion's requirement; write its reward to `rewards` [K, S, A]."""
        requirements = []
        for reward, criterion in zip(rewards, self.criteria, strict=True):
            asked = criterion.require(situation, reward)
            if asked.reward is not reward:
                reward[:] = asked.reward
                asked = replace(asked, reward=reward)
            requirements.append(asked)
        return requirements

    def _once(
        self, belief: Belief, state: int, requirements: Sequence[Requirement]
    ) -> Callable[[], FloatArray]:
        """Return what the criteria collect [K, A] in one step from `state` that is not repeated.

        The moves correction assumes repetition until success; a single step needs Theorem 2.
        """
        gamma = self.discount
        worths = [
            np.broadcast_to(0.0 if r.worth is None else r.worth[state], r.reward.shape[1:])
            for r in requirements
        ]
        collected = (1.0 - gamma) * np.array(worths)
        return lambda: collected + gamma * belief.correction()[state]

    def _solve(
        self,
        problem: Problem,
        requirements: Sequence[Requirement],
        previous: Plan | None,
    ) -> tuple[ConstrainedSolution, Method]:
        """Solve by the chosen method, or by the other if that does not converge.

        A result without policies is discarded. A result that keeps every level is never replaced
        by one that claims infeasibility.
        """
        seeds: tuple[IntArray, ...] = ()
        if previous is not None and getattr(previous, "steps", None) == self._steps:
            seeds = tuple(without_idle_moves(problem, policy) for policy in previous.outbound)
        hint = None
        if previous is not None and len(previous.criteria) == len(requirements):
            hint = np.array(
                [m * r.unit for m, r in zip(previous.multipliers, requirements, strict=True)]
            )
        best: tuple[ConstrainedSolution, Method] | None = None
        order: tuple[Method, Method] = (
            ("columns", "lp") if self.method == "columns" else ("lp", "columns")
        )
        for method in order:
            if best is not None and method == "lp" and problem.objective.size > MAX_LP_ENTRIES:
                break
            if method == "columns":
                solved = solve_constrained(problem, seeds, hint)
            elif isinstance(problem, ConstrainedProblem):
                solved = solve_occupancy(problem)
            else:
                break
            empty = len(solved.weights) == 0
            if best is not None and (empty or _contradicts(problem, solved, best[0])):
                break
            if not empty and solved.status in (Status.OPTIMAL, Status.INFEASIBLE):
                return solved, method
            if best is None or len(best[0].weights) == 0:
                best = solved, method
        assert best is not None
        return best


def check_rewards(model: Model) -> None:
    """Raise `InvalidProblemError` for rewards so large that their sums overflow."""
    if is_nothing(model.reward):
        return
    large = np.isfinite(model.reward) & (np.abs(model.reward) > MAX_REWARD)
    if large.any():
        at = tuple(int(i) for i in np.argwhere(large)[0])
        raise InvalidProblemError(
            f"the reward {place(at, 'sa')} is {model.reward[at]:g}, so large that sums overflow: "
            f"scale rewards to {MAX_REWARD:g} at most"
        )


def _contradicts(problem: Problem, solved: ConstrainedSolution, found: ConstrainedSolution) -> bool:
    """Return whether `solved` is infeasible although `found` keeps the levels."""
    return (
        solved.status is Status.INFEASIBLE
        and len(found.weights) > 0
        and bool((found.achieved >= problem.levels - met_within(problem.span)).all())
    )


def without_idle_moves(problem: Problem, policy: IntArray) -> IntArray:
    """Return a policy [..., S] that stays, if it can, instead of trying a move that never works.

    Both have the same value, so a solver that starts from one does not change to the other.
    """
    model = problem.model
    if not isinstance(model, Moves) or policy.shape[-1] != model.states:
        return policy
    here = np.arange(model.states)
    idle = np.nonzero((model.success[here, policy] == 0.0) & (model.dest[here, policy] != here))
    states, tried = idle[-1], policy[idle]
    same = problem.objective[states] == problem.objective[states, tried][:, None]
    same &= model.dest[states] == states[:, None]
    better: IntArray = policy.copy()
    better[idle] = np.where(same.any(axis=1), same.argmax(axis=1), tried)
    return better


def limits_of(belief: Belief) -> tuple[float, float] | None:
    """Return the least and the greatest reward of any world, if the belief knows them."""
    return belief.reward_limits() if isinstance(belief, RewardLimits) else None
