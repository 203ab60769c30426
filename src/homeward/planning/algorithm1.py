"""The paper's Algorithm 1: each step solves one constrained MDP and takes its safest action.

`Planner.plan` is the body of the algorithm's loop, and `paper.PaperExplorer` is the loop. The lines
of the listing are in comments. M is the return problem: a criterion solves it and adds one
constraint to N, the constrained problem (`pose`). N is solved by `solvers.constrained`. Its
solution is a mixture of deterministic policies, drawn once and then followed. The paper does not
draw: `decide` takes the safest action to which the mixture gives weight.

Read next: `plan` for what is returned, `proof` for the bounds that it proves, ``docs/theory.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np

from homeward.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    is_default_zero,
    named_index,
    number,
    numbers,
    place,
)
from homeward.beliefs import Belief, claim_of_moves, corrections_of
from homeward.beliefs.base import mean_of
from homeward.beliefs.corrections import Correction
from homeward.bonuses import check_suits
from homeward.criteria import Criterion, Requirement, ReturnHome, Situation, check_steps
from homeward.errors import InvalidBeliefError, InvalidProblemError
from homeward.models import Model, Moves
from homeward.planning.move_form import belief_of_plan
from homeward.planning.plan import (
    CriterionEvidence,
    Evaluator,
    Evidence,
    Plan,
    Verdict,
)
from homeward.planning.proof import lower, proven
from homeward.planning.returning.sampled import Sampled
from homeward.planning.world_values import Followed
from homeward.referee.claims import ActionEvidence
from homeward.solvers import (
    ConstrainedProblem,
    ConstrainedSolution,
    PolicySolution,
    Status,
    engine,
    engine_for,
    solve_constrained,
    solve_occupancy,
)
from homeward.solvers.paths import silence_unreachable
from homeward.solvers.problems import end_at
from homeward.solvers.steps_left import (
    mask_over_steps,
    over_steps,
    policies_by_state,
    policies_by_step,
    rewards_over_steps,
)
from homeward.solvers.tolerances import ROUNDING, SAME_CHANCE, WORTHLESS, met_within
from homeward.threads import on_one_thread

if TYPE_CHECKING:
    from homeward.bonuses import Bonus

Method = Literal["columns", "lp"]
MIN_RECALL = 1e-9  # least probability 1 − γ of a recall at a step; below, rounding errors dominate
MAX_LP_ENTRIES = 200_000  # state-actions up to which an LP is tried if columns fail
MAX_REWARD = 1e100  # largest absolute reward or bonus: sums of larger ones overflow
MAX_ENUMERATED = 6  # largest number of criteria of which all subsets are tested for a conflict


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
        mean_of(belief)  # refuses what is no belief
        belief = belief_of_plan(belief)
        model, error = belief.mean(), InvalidProblemError
        if self.sampled is not None:
            raise error("sampled certificates are for a whole run: use Explorer")
        check_rewards(model)
        check_claims(belief, model)
        names, states = model.state_names, model.states
        state = named_index(state, names, states, "the state", error)
        first = state if start is None else named_index(start, names, states, "the start", error)
        totals = np.empty((1 + len(self.criteria), states, model.actions))

        # ξ ← ξ(β)
        bonus = self._bonus(belief, totals.shape[1:])
        # σ ← Σ E[min(0, P − E[P])], or a tighter correction of the mean model E[P]
        situation = self.situation(belief, model, state, first)
        # M: π_r, v ← M.solve(). N.constraint reward ← (1 − γ)·v + γ·σ, N.lower bound ← δ
        requirements = self._require(situation, totals[1:])
        # N.reward ← E[R] + ξ, N.transition measure ← γ·E[P]
        np.add(model.reward, bonus, out=totals[0])
        silence_unreachable(model, totals[0], state)
        known = None if previous is None else previous.afterwards
        posed = pose(model, self.discount, state, totals, requirements, known, self.recall)
        # π_o, v^ξ, v^σ ← N.solve under constraint()
        solved, method = self._solve(posed, requirements, previous)
        # a ← argmax q^σ over the actions with which π_o may start
        stays = (model.leaving(state) <= SAME_CHANCE) & (bonus[state] == 0.0)
        stays &= model.reward[state] <= 0.0
        choice = decide(posed.problem, solved, stays)

        conflict: tuple[int, ...] = ()
        if solved.status is Status.INFEASIBLE:
            again = requirements
            if len(again) > 1:  # posing the problem has overwritten the rewards
                again = self._require(situation, np.empty_like(totals[1:]))
            conflict = conflict_of(model, self.discount, state, again, self.recall)
        found = posed, requirements, solved, choice, stays
        return self._explained(belief, situation, found, method, bool(bonus.max() > 0.0), conflict)

    def _explained(
        self,
        belief: Belief,
        situation: Situation,
        found: tuple[Posed, list[Requirement], ConstrainedSolution, Choice, BoolArray],
        method: Method,
        bonus_left: bool,
        conflict: tuple[int, ...],
    ) -> Plan:
        """Return the plan of a choice, with the bounds that its policies prove.

        `found` are the problem, its requirements and solution, the choice, and `stays` of `decide`.
        """
        posed, requirements, solved, choice, stays = found
        problem, state, kind = posed.problem, situation.state, situation.corrections.kind
        model, status = situation.model, solved.status
        if status is Status.OPTIMAL:
            returns = (r.returns.status for r in requirements)
            status = next((other for other in returns if other is not Status.OPTIMAL), status)
        outbound, chosen, afterwards = solved.policies, choice.policies, posed.afterwards
        if self.recall is not None:
            outbound, chosen = (policies_by_step(each, model.states) for each in (outbound, chosen))
            afterwards = None if afterwards is None else policies_by_step(afterwards, model.states)
        followed = Followed(state, self.discount, self.recall, posed.exits, afterwards)
        mixtures = (solved.weights, outbound), (choice.weights, chosen)
        sharp = None if kind is Correction.NAIVE else partial(proven, belief, followed)
        totals = solved.achieved, choice.values[1:], solved.multipliers
        kept = zip(requirements, *totals, strict=True)
        once = None
        if kind is Correction.MOVES and self.recall is None and requirements:
            once = partial(self._collected_once, belief, state, requirements)
        exits = None if posed.exits is None else posed.exits[state]
        judged = problem, solved, choice, model.leaving(state), stays, exits
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
            criteria=tuple(_proven_of(problem.span, sharp, mixtures, *each) for each in kept),
            evidence=evidence_of(*judged, [(r.least, r.unit) for r in requirements], once),
            correction=kind,
            discount=self.discount,
            method=method,
            rounds=solved.rounds,
            bonus_left=bonus_left,
            worthless=is_worthless(problem, solved.objective),
            waits=bool(stays[choice.action]) or is_worthless(problem, float(choice.values[0])),
            state_names=model.state_names,
            action_names=model.action_names,
            afterwards=afterwards,
            conflict=conflict,
            steps=self.recall,
        )

    def situation(self, belief: Belief, model: Model, state: int, start: int) -> Situation:
        """Return the input of the criteria: the state, the mean model and its corrections.

        `model` is the mean model of `belief`. `start` is the first state of the run.
        """
        try:
            corrections = corrections_of(belief, model, self.discount, self.correction)
            if self.recall is not None and corrections.kind is Correction.MOVES:
                # Outbound policies depend on the step: the moves correction does not hold for them.
                corrections = replace(corrections, exploring=belief.correction())
        except (AttributeError, TypeError, ValueError):
            check_answers(belief, model, self.discount)
            raise
        given = corrections, self.discount, state, start
        return Situation(model, *given, belief.correction, belief.reward_limits, self.recall)

    def _require(self, situation: Situation, rewards: FloatArray) -> list[Requirement]:
        """Return the requirements, whose rewards are written to `rewards` [K, S, A]."""
        requirements = []
        for reward, criterion in zip(rewards, self.criteria, strict=True):
            requirement = criterion.require(situation, reward)
            if requirement.reward is not reward:
                reward[:] = requirement.reward
                requirement = replace(requirement, reward=reward)
            requirements.append(requirement)
        return requirements

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
        worths = [np.broadcast_to(r.worth[state], sigma.shape) for r in requirements]
        collected: FloatArray = (1.0 - self.discount) * np.array(worths) + self.discount * sigma
        return collected

    def _solve(
        self,
        posed: Posed,
        requirements: Sequence[Requirement],
        previous: Plan | None,
    ) -> tuple[ConstrainedSolution, Method]:
        """Solve by the chosen method, or by the other if that does not converge.

        A result without policies is discarded. A result that keeps every level is never replaced
        by one that claims infeasibility.
        """
        problem = posed.problem
        starts: tuple[IntArray, ...] = ()
        hint = None
        if previous is not None and previous.steps == self.recall:
            known = previous.outbound
            known = known if self.recall is None else policies_by_state(known)
            starts = tuple(without_idle_moves(problem, policy) for policy in known)
        if previous is not None and len(previous.criteria) == len(requirements):
            hint = np.array(previous.multipliers) * [r.unit for r in requirements]

        def solve(method: Method) -> ConstrainedSolution:
            found = (
                solve_occupancy(problem)
                if method == "lp"
                else solve_constrained(problem, starts, hint)
            )
            if posed.unsure > 0.0 and np.isfinite(found.upper):
                upper, gap = found.upper + posed.unsure, found.gap + posed.unsure
                found = replace(found, upper=upper, gap=gap)
            return found

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


def _proven_of(
    span: float,
    sharp: Callable[..., tuple[list[float], Evaluator]] | None,
    mixtures: Sequence[tuple[FloatArray, IntArray]],
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
        (bound, kept), evaluator = sharp(r, (corrected, kept_corrected), mixtures)
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


def check_answers(belief: Belief, model: Model, discount: float) -> None:
    """Raise `InvalidProblemError` for a method of a belief that returns no arrays [S, A]."""
    shape = (model.states, model.actions)
    asked: list[tuple[str, int, tuple[float, ...]]] = [("correction", 1, ())]
    if isinstance(model, Moves):
        asked += [("success_bounds", 2, ()), ("blocked_probability", 1, ())]
        asked += [("move_corrections", 2, (discount,))]
    for name, count, given in asked:
        answer = getattr(belief, name)(*given)
        call = f"{type(belief).__name__}.{name}()"
        parts = answer if count == 2 and isinstance(answer, tuple) else (answer,)
        if len(parts) != count:
            raise InvalidProblemError(f"{call} returned {answer!r}, expected a pair of arrays")
        for part in parts:
            numbers(part, call, shape, InvalidProblemError, packed=False)


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
    """Return the constrained problem N; write the rewards of exits to `totals`.

    `totals` [1 + K, S, A] are the objective and one reward per requirement; each requirement adds
    one constraint. `afterwards` [S] is the last plan's policy after an exit, as a warm start. The
    recall comes after `steps`; if they are None, it comes with probability 1 − γ at each step.

    If a criterion has a set to stay inside, the actions that leave the set are *exits*. An exit
    ends the constrained process. The objective then gets the value of the best unconstrained
    exploration after it, which is computed once. Constraints get 0 for the time after an exit. This
    only lowers their totals, which are at least 0 in every world, so the bounds stay valid. With
    several sets, an action that leaves one of them is an exit for all criteria.
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
    if steps is None and afterwards is not None and afterwards.ndim == 1:
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
    if count < 2:
        return tuple(range(count))
    nothing = np.where(np.isfinite(model.reward), 0.0, -np.inf)  # an objective of 0

    def conflicts(chosen: Sequence[int]) -> bool:
        subset = [requirements[k] for k in chosen]
        totals = np.stack([nothing, *(r.reward for r in subset)])
        posed = pose(model, discount, state, totals, subset, None, steps)
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


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The chosen action, and the policies of the plan that start with it."""

    action: int
    weights: FloatArray  # [J] probability of each policy
    policies: IntArray  # [J, S], over the states of the problem
    values: FloatArray  # [1 + K] in the current state: the objective, then each criterion
    margin: float  # the least excess over a level


def is_worthless(problem: ConstrainedProblem, value: float) -> bool:
    """Return whether a value of the objective is 0 up to rounding."""
    return abs(value) <= WORTHLESS * problem.worth


def decide(
    problem: ConstrainedProblem, solved: ConstrainedSolution, stays: BoolArray | None
) -> Choice:
    """Return the safest choice; `stays` [A] masks the actions that neither move nor earn.

    Call the policies with the same first action a *share* of the mixture. The bound of the mixture
    is an average over its shares, so with one criterion the share with the best bound keeps at
    least the bound of the mixture. That share is taken, with two exceptions. Both use *variants*:
    policies of the mixture with another action in the current state.

    - With several criteria, there may be no share that keeps all levels. Then the best variant that
      keeps them is taken. If there is none, the share with the largest margin to its most violated
      level is taken, and `Plan.keeps_all` is False.
    - If the plan has value but the safest share waits or moves without gain, the explorer would do
      so for ever. Then the best variant that has value and keeps the levels is taken.
    """
    firsts = solved.policies[:, problem.start]
    shares = []
    for action in set(firsts.tolist()):
        mine = firsts == action
        weights = solved.weights[mine] / solved.weights[mine].sum()
        values = weights @ solved.values[mine, :, problem.start]
        policies = solved.policies if mine.all() else solved.policies[mine]
        shares.append(Choice(action, weights, policies, values, _margin(problem, values)))
    safest = max(shares, key=lambda share: (share.margin, share.values[0], -share.action))
    within = met_within(problem.span)
    kept = safest.margin >= -within
    value = float(safest.values[0])
    stays = None if is_worthless(problem, solved.objective) else stays
    stuck = stays is not None and (bool(stays[safest.action]) or is_worthless(problem, value))
    if solved.status is Status.INFEASIBLE or (kept and not stuck):
        return safest
    others = [other for other in _variants(problem, solved) if other.margin >= -within]
    if kept and stays is not None:
        others = [o for o in others if not stays[o.action] and o.values[0] > safest.values[0]]
    if not others:
        return safest
    return max(others, key=lambda other: (other.values[0], other.margin, -other.action))


def evidence_of(
    problem: ConstrainedProblem,
    solved: ConstrainedSolution,
    choice: Choice,
    leaving: FloatArray,
    stays: BoolArray,
    exits: BoolArray | None = None,
    measures: Sequence[tuple[float, float]] | None = None,
    once: Callable[[], FloatArray] | None = None,
) -> Evidence:
    """Return the values and the verdict of each action, with the plan followed after it.

    `leaving` [A] is the probability that an action changes the state; `stays` is as in `decide`;
    `exits` [A] masks the actions that leave the set to stay inside. The value of a criterion is
    ``least + unit·total``, with (least, unit) from `measures`. Taking an action once and then
    following the plan is not a stationary policy. If the correction holds for stationary policies
    only, `once` computes the rewards [K, A] of the criteria for a single attempt of each action.
    """
    s, model = problem.start, problem.model
    columns, states = solved.values.shape[1:]
    discount, values = problem.discount, solved.values  # [J, 1 + K, S]
    ahead = model.ahead(s, values.reshape(-1, states)).reshape(len(values), -1)  # [J, (1 + K)·A]
    mixed = (solved.weights @ ahead).reshape(columns, -1)
    following = problem.totals[:, s] + discount * mixed  # [1 + K, A]
    firsts = solved.policies[:, s]
    shares = np.bincount(firsts, solved.weights, model.actions).tolist()
    if exits is not None and isinstance(model, Moves):  # pays (1 − γ) at every step
        following[:, exits] = problem.totals[:, s, exits] / (1.0 - discount)
    if measures is None:
        measures = [(0.0, 1.0)] * len(problem.levels)
    infeasible, rounding = solved.status is Status.INFEASIBLE, ROUNDING * problem.span

    def compute() -> tuple[ActionEvidence, ...]:
        evidence = []
        if once is not None:
            total = once() + discount * mixed[1:]
            following[1:] = total if exits is None else np.where(exits, following[1:], total)
        following[:, choice.action] = choice.values
        unsafe = np.any(following[1:] < problem.levels[:, None] - met_within(problem.span), axis=0)
        for a, share in enumerate(shares):
            if a == choice.action:
                verdict = Verdict.CHOSEN
            elif problem.objective[s, a] == -np.inf:
                verdict = Verdict.UNAVAILABLE
            elif share > 0.0:
                verdict = Verdict.WAITS if stays[a] else Verdict.LESS_SAFE
            elif infeasible:
                verdict = Verdict.NO_SAFER
            else:
                verdict = Verdict.UNSAFE if unsafe[a] else Verdict.WORTH_LESS
            explores, *bounds = following[:, a].tolist()
            safety = tuple(
                lower(least, unit, bound - rounding)
                for bound, (least, unit) in zip(bounds, measures, strict=True)
            )
            evidence.append(ActionEvidence(a, float(leaving[a]), explores, safety, share, verdict))
        return tuple(evidence)

    return Evidence(compute)


def _variants(problem: ConstrainedProblem, solved: ConstrainedSolution) -> list[Choice]:
    """Return the mixture's policies with each other action in the current state, evaluated."""
    solver = engine_for(problem)
    variants = []
    for action in np.flatnonzero(np.isfinite(problem.objective[problem.start])):
        for policy in solved.policies:
            changed = policy.copy()
            changed[problem.start] = action
            values = solver.evaluate(changed)[:, problem.start]
            margin = _margin(problem, values)
            variants.append(Choice(int(action), np.ones(1), changed[None], values, margin))
    return variants


def _margin(problem: ConstrainedProblem, values: FloatArray) -> float:
    """Return the least excess of values [1 + K] over their levels."""
    return float((values[1:] - problem.levels).min()) if len(problem.levels) else 0.0
