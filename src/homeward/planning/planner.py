"""The planner: a belief, a bonus and criteria in, one decision with its evidence out.

A step of the paper's Algorithm 1. The mean model, its corrections and the bonus make one
constrained MDP: maximise reward plus bonus under discount γ, subject to each criterion's bound
staying at its level δ. Its solution is a mixture of deterministic policies, drawn once and then
followed; `decision` chooses one action from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from homeward.arrays import (
    FloatArray,
    IntArray,
    is_default_zero,
    named_index,
    number,
    numbers,
    place,
)
from homeward.beliefs import Belief, claim_of_moves, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.bonuses import check_suits
from homeward.criteria import Criterion, Requirement, ReturnHome, Situation, check_steps
from homeward.errors import InvalidBeliefError, InvalidProblemError
from homeward.models import Model, Moves
from homeward.planning.decision import WORTHLESS, decide, evidence_of, is_worthless
from homeward.planning.move_form import belief_of_plan
from homeward.planning.plan import CriterionEvidence, Evaluator, Plan
from homeward.planning.problem import conflict_of, lower, pose
from homeward.planning.proof import proven
from homeward.planning.sampled import Sampled
from homeward.planning.world_values import Followed
from homeward.solvers import (
    ConstrainedProblem,
    ConstrainedSolution,
    Status,
    solve_constrained,
    solve_occupancy,
)
from homeward.solvers.paths import silence_unreachable
from homeward.solvers.steps_left import policies_by_state, policies_by_step
from homeward.solvers.tolerances import ROUNDING, met_within
from homeward.threads import on_one_thread

if TYPE_CHECKING:
    from homeward.bonuses import Bonus

Method = Literal["columns", "lp"]
MIN_RECALL = 1e-9  # least probability 1 − γ of a recall at a step; below, rounding errors dominate
MAX_LP_ENTRIES = 200_000  # state-actions up to which an LP is tried if columns fail
MAX_REWARD = 1e100  # largest absolute reward or bonus: sums of larger ones overflow


@dataclass(frozen=True)
class Planner:
    """Plans one decision at a time, with a bonus and criteria, in any belief and state.

    Parameters
    ----------
    bonus
        ξ: a callable from the belief to an array [S, A]. The mean reward is added to it.
    criteria
        The safety criteria; a plan meets all of them. Without criteria, exploration is not safe.
    discount
        γ: exploration goes on for another step with this probability, else it is recalled.
    correction
        The theorem that proves the bounds; by default the tightest that the belief allows.
    method
        ``"columns"`` is column generation, exact and fast; ``"lp"`` is the paper's occupancy LP.
        If one does not converge, the other is tried; `Plan.method` is the one that was used.
    recall
        When exploration is called off: None for a recall at each step with probability 1 − γ;
        n for a recall after exactly n steps, without discount. Then policies depend on the step,
        [n, S], and outbound policies have the general correction.
    sampled
        Settings of certificates by sampling, for an `Explorer` on a general model: the risk of a
        run is estimated in worlds drawn from the belief where it can't be proven. None for proven
        bounds only.
    """

    bonus: Bonus
    criteria: Sequence[Criterion] = (ReturnHome(0.95),)
    discount: float = 0.99
    correction: Correction | None = None
    method: Method = "columns"
    recall: int | None = None
    sampled: Sampled | None = None

    def __post_init__(self) -> None:
        error, keep = InvalidProblemError, partial(object.__setattr__, self)
        if self.recall is not None:
            keep("recall", check_steps(self.recall, "the recall"))
        if isinstance(self.bonus, type):
            name = self.bonus.__name__
            raise error(f"the bonus is the class {name}, expected an object, such as {name}()")
        if not callable(self.bonus):
            raise error(f"the bonus is {self.bonus!r}, expected a callable from a belief to [S, A]")
        if not 0.0 < number(self.discount, "γ", error) < 1.0:
            raise error(f"γ is {self.discount:g}, expected 0 < γ < 1")
        if self.discount > 1.0 - MIN_RECALL:
            raise error(f"1 − γ is {1.0 - self.discount:g}, expected {MIN_RECALL:g} or more")
        if self.method not in ("columns", "lp"):
            raise error(f"method is {self.method!r}, expected 'columns' or 'lp'")
        if self.correction is not None:
            known = ", ".join(Correction)
            if self.correction not in list(Correction):
                raise error(f"correction is {self.correction!r}, expected one of {known}")
            keep("correction", Correction(self.correction))
        if not isinstance(self.criteria, tuple | list):
            raise error(f"criteria is {self.criteria!r}, expected a list of criteria")
        if self.sampled is not None and not isinstance(self.sampled, Sampled):
            raise error(f"sampled is {self.sampled!r}, expected Sampled(...) or None")
        for criterion in self.criteria:
            if not isinstance(criterion, Criterion):
                raise error(f"{criterion!r} is not a criterion")
        keep("criteria", tuple(self.criteria))

    @on_one_thread
    def plan(
        self,
        belief: Belief,
        state: int | str,
        start: int | str | None = None,
        previous: Plan | None = None,
    ) -> Plan:
        """Return the decision in a state, with its evidence.

        Parameters
        ----------
        belief : Belief
            The current belief.
        state : int or str
            The current state: its number or its name.
        start : int or str, optional
            The run's first state; by default `state`.
        previous : Plan, optional
            Plan of the last step, as a warm start: planning is faster if little has changed.
        """
        belief = belief_of_plan(belief)
        model, steps, error = belief.mean(), self.recall, InvalidProblemError
        if self.sampled is not None:
            raise error("sampled certificates are for a whole run: use Explorer")
        check_rewards(model)
        check_claims(belief, model)
        names, count = model.state_names, model.states
        state = named_index(state, names, count, "the state", error)
        first = state if start is None else named_index(start, names, count, "the start", error)
        totals = np.empty((1 + len(self.criteria), model.states, model.actions))
        kind, requirements = self._require(belief, model, state, first, totals[1:])
        bonus = self._bonus(belief, totals.shape[1:])
        np.add(model.reward, bonus, out=totals[0])
        silence_unreachable(model, totals[0], state)
        outside = None if previous is None or steps is not None else previous.afterwards
        if outside is not None and outside.ndim != 1:
            outside = None
        posed = pose(model, self.discount, state, totals, requirements, outside, steps)
        problem = posed.problem
        solved, method = self._solve(problem, requirements, previous)
        if posed.unsure > 0.0 and np.isfinite(solved.upper):
            upper, gap = solved.upper + posed.unsure, solved.gap + posed.unsure
            solved = replace(solved, upper=upper, gap=gap)
        status = solved.status
        if status is Status.OPTIMAL:
            found = (r.returns.status for r in requirements)
            status = next((other for other in found if other is not Status.OPTIMAL), status)
        conflict = tuple(range(len(requirements))) if status is Status.INFEASIBLE else ()
        if len(conflict) > 1:  # posing the problem has overwritten the rewards
            _, again = self._require(belief, model, state, first, np.empty_like(totals[1:]))
            conflict = conflict_of(model, self.discount, state, again, steps)

        worthless = abs(solved.objective) <= WORTHLESS * problem.worth
        leaving = model.leaving(state)
        stays = (leaving <= 1e-12) & (bonus[state] == 0.0) & (model.reward[state] <= 0.0)
        choice = decide(problem, solved, None if worthless else stays)
        once = None
        if kind is Correction.MOVES and steps is None and requirements:
            once = partial(self._collected_once, belief, state, requirements)
        exits = None if posed.exits is None else posed.exits[state]
        measures = [(r.least, r.unit) for r in requirements]
        proofs = solved.achieved, choice.values[1:], solved.multipliers
        kept = zip(self.criteria, requirements, *proofs, strict=True)
        outbound, chosen, afterwards = solved.policies, choice.policies, posed.afterwards
        if steps is not None:
            outbound, chosen = (policies_by_step(each, count) for each in (outbound, chosen))
            afterwards = None if afterwards is None else policies_by_step(afterwards, count)
        followed = Followed(state, self.discount, steps, posed.exits, afterwards)
        mixtures = (solved.weights, outbound), (choice.weights, chosen)
        sharp = None if kind is Correction.NAIVE else partial(proven, belief, followed)
        return Plan(
            state=state,
            action=choice.action,
            status=status,
            weights=solved.weights,
            outbound=outbound,
            exploration_value=solved.objective,
            upper_bound=solved.upper,
            gap=solved.gap,
            kept_weights=choice.weights,
            kept_outbound=chosen,
            kept_value=float(choice.values[0]),
            criteria=tuple(_evidence_of(problem.span, sharp, mixtures, *each) for each in kept),
            evidence=evidence_of(problem, solved, choice, leaving, stays, exits, measures, once),
            correction=kind,
            discount=self.discount,
            method=method,
            rounds=solved.rounds,
            bonus_left=float(bonus.max()) > 0.0,
            worthless=worthless,
            waits=bool(stays[choice.action]) or is_worthless(problem, choice),
            state_names=model.state_names,
            action_names=model.action_names,
            afterwards=afterwards,
            conflict=conflict,
            steps=steps,
        )

    def situation(self, belief: Belief, model: Model, state: int, start: int) -> Situation:
        """Return the input of the criteria: the state, the mean model and its corrections.

        `model` is the mean model of `belief`. `start` is the first state of the run.
        """
        corrections = corrections_of(belief, model, self.discount, self.correction)
        if self.recall is not None and corrections.kind is Correction.MOVES:
            # Outbound policies depend on the step, so the moves correction is not valid for them.
            corrections = replace(corrections, exploring=belief.correction())
        given = corrections, self.discount, state, start
        return Situation(model, *given, belief.correction, belief.reward_limits, self.recall)

    def _require(
        self, belief: Belief, model: Model, state: int, start: int, rewards: FloatArray
    ) -> tuple[Correction, list[Requirement]]:
        """Return the correction and the requirements, whose rewards are written to `rewards`.

        `rewards` is [K, S, A], with K criteria.
        """
        situation, requirements = self.situation(belief, model, state, start), []
        for reward, criterion in zip(rewards, self.criteria, strict=True):
            requirement = criterion.require(situation, reward)
            if requirement.reward is not reward:
                reward[:] = requirement.reward
                requirement = replace(requirement, reward=reward)
            requirements.append(requirement)
        return situation.corrections.kind, requirements

    def _bonus(self, belief: Belief, shape: tuple[int, ...]) -> FloatArray:
        """Return the bonus [S, A]; raise if it is not finite or too large."""
        error = InvalidProblemError
        check_suits(self.bonus, belief)
        bonus = numbers(self.bonus(belief), "the bonus", shape, error, packed=False)
        if not (bonus.min() >= -MAX_REWARD and bonus.max() <= MAX_REWARD):
            at = tuple(int(i) for i in np.argwhere(~(np.abs(bonus) <= MAX_REWARD))[0])
            raise error(
                f"the bonus {place(at, 'sa')} is {bonus[at]:g}, expected at most {MAX_REWARD:g} in "
                "absolute value"
            )
        return bonus

    def _collected_once(
        self, belief: Belief, state: int, requirements: Sequence[Requirement]
    ) -> FloatArray:
        """Return the reward [K, A] of each criterion for one attempt of an action in `state`.

        The moves correction assumes that a move is repeated until it works. A single attempt needs
        the general correction.
        """
        sigma = belief.correction()[state]
        worths = [
            np.broadcast_to(0.0 if r.worth is None else r.worth[state], sigma.shape)
            for r in requirements
        ]
        collected: FloatArray = (1.0 - self.discount) * np.array(worths) + self.discount * sigma
        return collected

    def _solve(
        self,
        problem: ConstrainedProblem,
        requirements: Sequence[Requirement],
        previous: Plan | None,
    ) -> tuple[ConstrainedSolution, Method]:
        """Solve by the chosen method, or by the other if that does not converge.

        A result without policies is discarded. A result that keeps every level is never replaced
        by one that claims infeasibility.
        """
        starts: tuple[IntArray, ...] = ()
        hint = None
        if previous is not None and previous.steps == self.recall:
            known = previous.outbound
            known = known if self.recall is None else policies_by_state(known)
            starts = tuple(without_idle_moves(problem, policy) for policy in known)
        if previous is not None and len(previous.criteria) == len(requirements):
            hint = np.array(previous.multipliers) * [r.unit for r in requirements]

        def solve(method: Method) -> ConstrainedSolution:
            if method == "lp":
                return solve_occupancy(problem)
            return solve_constrained(problem, starts, hint)

        final = (Status.OPTIMAL, Status.INFEASIBLE)
        other: Method = "lp" if self.method == "columns" else "columns"
        solved = solve(self.method)
        empty = len(solved.weights) == 0
        if not empty and solved.status in final:
            return solved, self.method
        if other == "columns" or problem.objective.size <= MAX_LP_ENTRIES:
            again = solve(other)
            kept = problem.levels - met_within(problem.span)
            contradicts = again.status is Status.INFEASIBLE and (
                not empty and bool((solved.achieved >= kept).all())
            )
            if len(again.weights) and not contradicts and (empty or again.status in final):
                return again, other
        return solved, self.method


def _evidence_of(
    span: float,
    sharp: Callable[..., tuple[list[float], Evaluator]] | None,
    mixtures: Sequence[tuple[FloatArray, IntArray]],
    criterion: Criterion,
    requirement: Requirement,
    total: float,
    kept_total: float,
    multiplier: float,
) -> CriterionEvidence:
    """Return the bounds that a plan proves for a criterion, with its return policy.

    `total` and `kept_total` are the criterion's totals under the mixture and under its policies
    that start with the chosen action. `sharp` is `proof.proven`, which may give larger bounds.
    """
    r, rounding, totals = requirement, ROUNDING * span, (total, kept_total)
    corrected, kept_corrected = (lower(r.least, r.unit, float(x) - rounding) for x in totals)
    bound, kept, evaluator = corrected, kept_corrected, Evaluator.CORRECTION
    if sharp is not None:
        (bound, kept), evaluator = sharp(criterion, r, (corrected, kept_corrected), mixtures)
    return CriterionEvidence(
        name=r.name,
        level=r.level,
        bound=bound,
        kept_bound=kept,
        multiplier=float(multiplier) / r.unit,
        home=r.home,
        way_home=r.returns.value,
        return_policy=r.returns.policy,
        kind=r.kind,
        unit=r.unit,
        allowed=r.allowed,
        within=r.within,
        return_layers=r.returns.layers,
        return_since=r.returns.since,
        span=span,
        evaluator=evaluator,
        corrected=corrected,
        kept_corrected=kept_corrected,
    )


def check_rewards(model: Model) -> None:
    """Raise `InvalidProblemError` for rewards so large that their sums overflow."""
    if is_default_zero(model.reward):
        return
    large = np.isfinite(model.reward) & (np.abs(model.reward) > MAX_REWARD)
    if large.any():
        at = tuple(int(i) for i in np.argwhere(large)[0])
        raise InvalidProblemError(
            f"the reward {place(at, 'sa')} is {model.reward[at]:g}, so large that sums overflow: "
            f"scale rewards to {MAX_REWARD:g} at most"
        )


def check_claims(belief: Belief, model: Model) -> None:
    """Raise `InvalidBeliefError` for claims about moves of a belief with a general mean model."""
    name = None if isinstance(model, Moves) else claim_of_moves(belief)
    if name is not None:
        raise InvalidBeliefError(
            f"{type(belief).__name__} has {name}(), which is about moves that work or fail, but "
            f"its mean() is a SparseMDP, where that says nothing: return Moves, or remove {name}()"
        )


def without_idle_moves(problem: ConstrainedProblem, policy: IntArray) -> IntArray:
    """Return the policy [..., S] with moves that never work replaced by staying, where possible.

    Both policies have the same value, so a solver that starts from one keeps it.
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
