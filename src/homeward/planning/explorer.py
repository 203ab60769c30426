"""The explorer: a loop of decide, act, observe and learn in any world.

It maximises information per step and pursues each proposal until it learns something. Its guarantee
is for the whole run: at every recall, it can come home with probability at least δ. Each promise
has a budget of 1 − δ, from which every action is paid (`planning.returning`); `decide` makes one
decision. `Rules` are what is fixed for a run. If the model has rewards and no information is worth
its steps, the explorer earns as much as it can without additional risk. `paper.PaperExplorer` is
the paper's Algorithm 1, whose guarantee is for a single plan.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import breadth_first_order

from homeward.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    frozen,
    index,
    is_default_zero,
    number,
    numbers,
)
from homeward.beliefs import FiniteBelief
from homeward.beliefs.base import claimed, mean_of, need_belief, updated
from homeward.beliefs.corrections import Correction
from homeward.beliefs.observations import Labels, Transition
from homeward.beliefs.refutation import absorbed, is_ruled_out
from homeward.bonuses import (
    InformationGain,
    LookingBonus,
    Uncover,
    check_suits,
    checked_bonus,
    once,
    unit_of,
)
from homeward.criteria import ReturnHome, StayInside, home_states
from homeward.errors import InfeasibleError, InvalidProblemError
from homeward.html import card
from homeward.models import Model, Moves
from homeward.planning.algorithm1 import check_claims, check_rewards
from homeward.planning.ends import End
from homeward.planning.move_form import belief_of_run
from homeward.planning.promise import Promise, Proposal, RunState
from homeward.planning.proposals import MoveSearch
from homeward.planning.ratios import RatioSearch
from homeward.planning.returning import Found, Goal, Returning, Search
from homeward.planning.returning.corrected import CorrectedReturning
from homeward.planning.returning.driven import way_supported
from homeward.planning.returning.moves import Limits, MoveReturning
from homeward.planning.returning.sampled import Sampled, SampledReturning
from homeward.planning.returning.shortest_ways import MIN_SUCCESS
from homeward.planning.returning.worlds import WorldReturning
from homeward.solvers import Status
from homeward.threads import on_one_thread
from homeward.words import Remainder, why_ended

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.planning.algorithm1 import Planner
    from homeward.planning.explained import Explanation
    from homeward.planning.plan import Plan
    from homeward.worlds import World

MAX_IDLE_STEPS = 20  # most steps without news, per state of the model, before a run ends
NATS_FLOOR = 0.05  # default floor of information gain, in nats per step
RELATIVE_FLOOR = 1e-3  # default floor of other bonuses per step, as a fraction of the largest bonus
MIN_FLOOR = 1e-300  # smallest floor; it is above 0, so that a gain of 0 is never pursued


class Bound(NamedTuple):
    """What is kept of one criterion after a decision."""

    name: str
    kind: str  # return or stay; of a plan also earn or own
    level: float  # what is required
    bound: float  # what is proven; for the whole run, unless a plan was made
    evaluator: str  # a code of `words.EVALUATORS`
    homes: tuple[int, ...] = ()
    within: int | None = None  # steps that the way home may take; None for any number


NO_LABELS = Labels(0, 0)
NOTHING_FOUND = Found(None, None, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The action of a step and what it is for, or why the run ends."""

    state: int
    action: int | None  # None: the run ends
    after: RunState  # what the run carries after the action
    found: Found  # the proposal, and what is left
    bounds: tuple[Bound, ...] = ()  # one for each criterion, if the action is taken
    end: End | None = None  # why the run ends; None if there is an action
    budgets: tuple[tuple[str, float, float], ...] = ()  # name, level and remaining risk of each
    outside: bool = False  # whether more gain can be reached by leaving the set to stay inside
    known: float | None = None  # m, deviation to which every cell that can be reached is known
    planned: bool = True  # whether the action was planned; an agent may choose without a plan
    labels: Labels = NO_LABELS  # the names of states and actions

    def state_name(self, state: int) -> str:
        """Return the name of a state."""
        names = self.labels.state_names
        return f"state {state}" if names is None else names[state]

    def action_name(self, action: int) -> str:
        """Return the name of an action."""
        names = self.labels.action_names
        return f"action {action}" if names is None else names[action]

    @property
    def proposal(self) -> Proposal | None:
        """What the action is for."""
        return self.found.proposal

    @property
    def rate(self) -> float:
        """Expected gain per step of the proposal; 0 without one."""
        return 0.0 if self.found.proposal is None else self.found.proposal.rate

    @property
    def status(self) -> str:
        """The status of the decision in records: an agent's has no proof."""
        return str(Status.OPTIMAL if self.planned else Status.UNSOLVED)

    @property
    def upper(self) -> float:
        """Upper bound on the gain per step of any proposal, in records."""
        return self.rate if self.planned else np.inf

    def remainder(self, unit: str | None) -> Remainder | None:
        """Return the remaining gain at the end of a run, in `unit`, and the risk of continuing."""
        if self.end is None or (not self.budgets and np.isnan(self.found.left)):
            return None
        found = self.found
        rest = self.budgets, self.outside, self.known
        return Remainder(found.left, found.rate, unit, found.share, *rest)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of the loop.

    Attributes
    ----------
    number : int
        Number of the step, from 1.
    decision : Decision
        The decision that was taken.
    observation : Any
        The observation that the world returned after the action.
    state : int
        The state after the action.
    run_state : RunState, optional
        What the run carries after the step; None for the paper's explorer.
    seconds : float
        Time to decide, in seconds.
    plan : Plan, optional
        The plan of Algorithm 1 whose action was taken; None for other explorers.
    """

    number: int
    decision: Decision
    observation: Any
    state: int
    run_state: RunState | None = None
    seconds: float = 0.0
    plan: Plan | None = None

    @property
    def action(self) -> int:
        """The action that was taken."""
        assert self.decision.action is not None
        return self.decision.action

    def __str__(self) -> str:
        decision = self.decision
        done = f"{decision.action_name(self.action)} in {decision.state_name(decision.state)}"
        return f"Step {self.number}: {done}, then {decision.state_name(self.state)}."


PARTS = {
    "planner": ("a Planner", ("plan", "criteria")),
    "belief": ("a belief such as FiniteBelief", ("mean", "update")),
    "world": ("a world such as ModelWorld", ("state", "ended", "look", "act")),
}
"""The expected type of each argument of a loop, and the members that it must have."""


def check_parts(*parts: object) -> None:
    """Raise unless the arguments are a planner, a belief and a world, in this order."""
    for part, (name, (expected, members)) in zip(parts, PARTS.items(), strict=True):
        if isinstance(part, type) or not all(hasattr(part, member) for member in members):
            what = "None" if part is None else f"a {type(part).__name__}"
            if isinstance(part, type):
                what = f"the class {part.__name__}"
            raise InvalidProblemError(
                f"{name} is {what}, expected {expected}, with {', '.join(members)}"
            )


class Loop(ABC):
    """The loop of decide, act, observe and learn, until there is a reason to end.

    Attributes
    ----------
    acts_again
        Whether a resumed run makes every decision again. It must if a record does not hold
        everything that the next decision depends on.
    """

    acts_again = False

    def __init__(self, planner: Planner, belief: Belief, world: World, *, strict: bool) -> None:
        check_parts(planner, belief, world)
        self.planner = planner
        self.world = world
        self._belief: Belief = updated(need_belief(belief), world.look())
        self._states = mean_of(self._belief).states
        self.start = self.here
        self.strict = strict
        self.plan: Any = None  # the last plan of Algorithm 1, or its warm start
        self.end: End | None = None
        self.refuted = False  # whether what happened contradicts the belief
        self.steps = 0
        self.run_state: RunState | None = None
        self.decision: Decision | None = None

    @property
    def belief(self) -> Belief:
        """The belief now; what the explorer learns later does not change it."""
        return self._belief.copy()

    @belief.setter
    def belief(self, belief: Belief) -> None:
        self._belief = belief

    @property
    def here(self) -> int:
        """The current state of the world; raises if the belief has no such state."""
        return index(self.world.state, self._states, "the state of the world", InvalidProblemError)

    def explore(self, limit: int) -> Iterator[Step]:
        """Yield each step after it was taken, until the run ends or has `limit` steps.

        A run that ended at its limit goes on if this is called again with a higher limit.
        """
        if number(limit, "the limit", InvalidProblemError) < 0.0 or limit % 1.0 > 0.0:
            raise InvalidProblemError(f"the limit is {limit:g}, expected a whole number of steps")
        if self.end is End.STEPS:
            self.end = None
        while self.end is None:
            if self.world.ended:
                self.end = End.LOST
            elif self.refuted:
                self.end = End.REFUTED
            elif self.steps >= limit:
                self.end = End.STEPS
            else:
                step = self.step()
                if step is not None:
                    yield step

    def learn(self, observation: Any, moved: Transition | None = None) -> None:
        """Update the belief by an observation, and by the move before it; note a refuted belief."""
        self._belief, refuted, _ = absorbed(self._belief, observation, moved)
        self.refuted = self.refuted or refuted

    def go_on_from(self, run_state: RunState) -> None:
        """Go on with what a record says that the run carries."""
        self.run_state = run_state

    @abstractmethod
    def step(self) -> Step | None:
        """Take one step and return it; if the run ends, set `end` and return None."""

    def why(self) -> str:
        """Return text: why the run ended, how much gain is left, and what would let it go on."""
        if self.end is None:
            return "It has not ended."
        rest = (
            None if self.decision is None else self.decision.remainder(unit_of(self.planner.bonus))
        )
        return why_ended(self.end, self.steps, rest)

    def _repr_html_(self) -> str:
        """Return the number of steps and why the run ended, as HTML for notebooks."""
        steps = f"{self.steps:,} step{'' if self.steps == 1 else 's'}"
        return card(f"{type(self).__name__}: {steps}", [self.why()])


@dataclass(slots=True, eq=False)
class Rules:
    """What is fixed for a run, and the searches that are kept from step to step."""

    planner: Planner
    returning: tuple[Returning, ...]  # one for each return criterion
    search: Search
    floor: float  # smallest gain per step that is worth pursuing, above 0
    allowed: BoolArray | None  # mask [S, A] of the actions that may be taken; None allows all
    labels: Labels  # the names of states and actions

    @classmethod
    @on_one_thread
    def of(cls, belief: Belief, planner: Planner, start: int, floor: float | None = None) -> Rules:
        """Return the rules of a run from `start` with a first belief; raise if they are invalid."""
        error, model = InvalidProblemError, belief.mean()
        if planner.recall is not None:
            raise error("a recall at a fixed step is for single plans only: use PaperExplorer")
        if floor is not None and not 0.0 <= number(floor, "the floor", error) < np.inf:
            raise error(f"the floor is {floor:g}, expected 0 or more")
        check_rewards(model)
        check_claims(belief, model)
        check_suits(planner.bonus, belief)
        on_graph = isinstance(model, Moves) and (
            is_default_zero(model.reward)
            or not (np.isfinite(model.reward) & (model.reward != 0.0)).any()
        )
        if on_graph and planner.sampled is not None:
            raise error(
                "sampled certificates are for general models; on a move-or-stay model the risk of "
                "each move is known: plan without them"
            )
        if on_graph:
            claimed(belief, "blocked_probability", belief.blocked_probability(), model)
        allowed, goals = None, list[Goal]()
        for criterion in planner.criteria:
            if isinstance(criterion, StayInside):
                inside = criterion.surely_inside(model)
                allowed = frozen(inside if allowed is None else allowed & inside)
            else:
                goals.append(goal_of(criterion, model, start, on_graph=on_graph))
        if allowed is not None and not (allowed[start] & np.isfinite(model.reward[start])).any():
            raise error(
                f"{model.state_name(start)} is outside the set to stay inside: no action "
                "that can be chosen there surely stays in it"
            )
        if sum(goal.limits is not None and goal.limits.count > 0 for goal in goals) > 1:
            raise error("several criteria limit the whole run: put all of their limits into one")
        least = max(_floor(planner, belief, model) if floor is None else floor, MIN_FLOOR)
        rest = least, allowed, Labels.of(model)
        search: Search = MoveSearch(planner.bonus, least, allowed)
        if not on_graph:
            given = planner.bonus, least, planner.discount, allowed, planner.sampled
            search = RatioSearch(*given)
        kind = belief, planner.correction, planner.sampled
        kept = [returning_of(x, *kind, k, on_graph=on_graph) for k, x in enumerate(goals)]
        return cls(planner, tuple(kept), search, *rest)

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The goal of each return criterion."""
        return tuple(each.goal for each in self.returning)

    def open(self, belief: Belief, start: int) -> RunState:
        """Return the state of a run before its first step; it pays for the ways home."""
        return RunState(tuple(each.open(belief, start) for each in self.returning))

    def options(
        self, belief: Belief, run: RunState, state: int, changed: IntArray | None = None
    ) -> list[Any]:
        """Return what each promise allows in a state."""
        pairs = zip(self.returning, run.promises, strict=True)
        return [each.options(belief, promise, state, changed) for each, promise in pairs]

    def take(self, options: Sequence[Any], state: int, found: Found) -> list[Promise]:
        """Return the promises after what was found is done; they stay as they are without it."""
        if found.action is None:
            return [each.promise for each in options]
        given, chance = (state, found.action), found.chance
        return [r.take(o, *given, chance) for r, o in zip(self.returning, options, strict=True)]

    def chosen(self, belief: Belief, run: RunState, state: int, action: int) -> RunState | None:
        """Return the run's state after an action that the user chose; None if it is too risky.

        It is charged like an action that the explorer chose.
        """
        if self.allowed is not None and not self.allowed[state, action]:
            return None
        options = self.options(belief, run, state)
        promises = self.take(options, state, NOTHING_FOUND._replace(action=action))
        for goal, before, after in zip(self.goals, run.promises, promises, strict=True):
            if after.spent > max(goal.budget, before.spent):
                return None
        return replace(run, promises=tuple(promises), proposal=None)

    def moved(
        self,
        belief: Belief,
        run: RunState,
        state: int,
        there: int,
        used: Sequence[float] = (),
    ) -> RunState:
        """Return the state of the run after the explorer was moved from `state` to `there`.

        `belief` includes all observations that were made there. `used` is how much of each limited
        amount the move used.
        """
        if run.refuted:
            promises = [
                replace(p, used=tuple(x + y for x, y in zip(p.used, used, strict=False)))
                for p in run.promises
            ]
            return replace(run, promises=tuple(promises))
        pairs = zip(self.returning, self.options(belief, run, state), strict=True)
        now = tuple(each.moved(belief, o, there, tuple(used)) for each, o in pairs)
        return replace(run, promises=now, proposal=None)

    def observed(
        self,
        belief: Belief,
        run: RunState,
        observation: Any,
        moved: Transition | None,
        state: int,
    ) -> RunState:
        """Return the state of the run in `state` after the belief has learned an observation."""
        pairs = zip(self.returning, run.promises, strict=True)
        given = observation, moved, state
        return replace(run, promises=tuple(r.observed(belief, p, *given) for r, p in pairs))

    def doubts(self, belief: Belief, run: RunState) -> list[FloatArray]:
        """Return the probabilities [n] that edges never work, of each promise that has edges."""
        pairs = zip(self.returning, run.promises, strict=True)
        return [r.doubts(belief, p) for r, p in pairs if isinstance(r, MoveReturning)]

    def is_closed(
        self, belief: Belief, run: RunState, state: int, doubts: Sequence[FloatArray]
    ) -> bool:
        """Return whether a way home that was held certain surely never works.

        `doubts` are those before the last observation.
        """
        pairs = zip(self.returning, run.promises, strict=True)
        ways = [(r, p) for r, p in pairs if isinstance(r, MoveReturning)]
        cases = zip(ways, doubts, strict=True)
        return any(r.is_closed(belief, p, state, each) for (r, p), each in cases)

    def refuted(
        self, belief: Belief, run: RunState, state: int, driven: Sequence[Transition]
    ) -> RunState:
        """Return the state of a run whose belief is refuted: no promise is left.

        Its promises rely on the ways home that are best supported by what was driven.
        """
        model, promises = belief.mean(), []
        most = belief.success_bounds()[1] if isinstance(model, Moves) else None
        for goal, promise in zip(self.goals, run.promises, strict=True):
            states, actions = way_supported(model, goal.homes, state, driven, most)
            order = np.argsort(states)
            relied = {"at": states[order], "actions": actions[order]}
            promises.append(replace(promise, **relied, spent=1.0))  # type: ignore[arg-type]
        return replace(run, promises=tuple(promises), proposal=None, refuted=True)

    def ways_home(self, belief: Belief, run: RunState, state: int) -> list[WayHome]:
        """Return the way home that is relied on for each criterion.

        A lost one has probability 0, and so has each one of a run whose belief is refuted.
        """
        model, ways = belief.mean(), []
        options = [None] * len(self.goals) if run.refuted else self.options(belief, run, state)
        for goal, promise, each in zip(self.goals, run.promises, options, strict=True):
            homes, chance = tuple(goal.homes.tolist()), 0.0
            if each is not None:
                promise, chance = each.promise, each.works()
            policy, states = None, [state]
            if isinstance(self.search, MoveSearch) and isinstance(model, Moves):
                while states[-1] not in homes and len(states) <= promise.size:
                    action = promise.action(states[-1])
                    if action < 0:
                        break
                    states.append(int(model.dest[states[-1], action]))
            else:
                policy = promise.way
            actions = tuple(promise.action(s) for s in states[:-1])
            ways.append(WayHome(goal.name, homes, tuple(states), actions, chance, policy))
        return ways


class WayHome(NamedTuple):
    """The way home that is relied on: a path, or a policy on a general model."""

    name: str  # name of the return criterion
    homes: tuple[int, ...]
    states: tuple[int, ...]  # states of the path to a home, both ends included
    actions: tuple[int, ...]  # actions of the path, one less than `states`
    probability: float  # lower bound on the probability of coming home, given all reports
    policy: IntArray | None = None  # [S] actions on a general model; −1 at home and for none


def decide(
    rules: Rules, belief: Belief, run: RunState, state: int, changed: IntArray | None = None
) -> Decision:
    """Return the decision in `state`: an action, or the reason to end the run.

    `changed` [n] are the states where the belief changed since the last decision by these `rules`,
    ascending; None means anywhere.
    """
    model = belief.mean()
    end = None
    if run.refuted:
        end = End.REFUTED
    elif (
        rules.allowed is not None
        and not (rules.allowed[state] & np.isfinite(model.reward[state])).any()
    ):
        end = End.OUTSIDE
    elif any(p.spent > g.budget for g, p in zip(rules.goals, run.promises, strict=True)):
        end = End.INFEASIBLE
    if end is not None:
        lost = tuple((goal.name, goal.delta, 0.0) for goal in rules.goals) if run.refuted else ()
        nothing = NOTHING_FOUND._replace(left=0.0) if run.refuted else NOTHING_FOUND
        return Decision(state, None, run, nothing, (), end, lost, labels=rules.labels)
    stalled = run.idle > MAX_IDLE_STEPS * (model.states + 1)
    options = rules.options(belief, run, state, changed)
    below = run.remaining - rules.floor
    given = belief, options, state, run.proposal
    found = rules.search.find(*given, news=below, idle=run.idle, learn=not stalled)
    promises = rules.take(options, state, found)
    if any(_is_over(*case) for case in zip(rules.goals, options, promises, strict=True)):
        found = rules.search.retreat(belief, options, state, found)
        promises = rules.take(options, state, found)
    remaining, idle = run.remaining, run.idle + 1
    if found.left <= below:  # there was news
        remaining, idle = found.left, 0
    after = RunState(tuple(promises), found.proposal, remaining, idle)
    if found.action is None:
        return _ended(rules, belief, after, state, found, stalled=stalled)
    bounds = bounds_of(rules, after)
    return Decision(state, found.action, after, found, bounds, labels=rules.labels)


def bounds_of(rules: Rules, run: RunState) -> tuple[Bound, ...]:
    """Return what is kept of each criterion, in their order."""
    kept, bounds = iter(zip(rules.returning, run.promises, strict=True)), []
    for criterion in rules.planner.criteria:
        if isinstance(criterion, StayInside):  # no action that might leave the set is taken
            bounds.append(Bound(criterion.name, "stay", criterion.delta, 1.0, "correction"))
            continue
        each, promise = next(kept)
        goal, proven = each.goal, 0.0 if run.refuted else max(0.0, 1.0 - promise.spent)
        homes = tuple(goal.homes.tolist())
        given = goal.name, "return", goal.delta, proven, each.evaluator, homes, goal.within
        bounds.append(Bound(*given))
    return tuple(bounds)


def _is_over(goal: Goal, options: Any, promise: Promise) -> bool:
    """Return whether a promise after an action has spent more than its budget."""
    return promise.spent > goal.budget and not options.lost


def _ended(
    rules: Rules, belief: Belief, after: RunState, state: int, found: Found, *, stalled: bool
) -> Decision:
    """Return the decision to end a run, with the reason and what is left."""
    model, bonus, allowed = belief.mean(), rules.planner.bonus, rules.allowed
    if isinstance(bonus, LookingBonus):
        looks = bonus.looks(belief)
    else:
        looks = once(checked_bonus(bonus, belief, model.reward))
    everywhere, usable = np.ones(model.states, np.bool_), np.isfinite(model.reward)
    if isinstance(model, Moves):
        here = np.arange(model.states)[:, None]
        leads = (model.success >= MIN_SUCCESS) & (model.dest != here)
        everywhere = leads.any(axis=1)
        everywhere[model.dest[leads]] = everywhere[state] = True
    beyond = may_reach(model, usable, state)
    within = beyond if allowed is None else may_reach(model, usable & allowed, state)
    known = None
    if np.isfinite(looks.enough) and (looks.amount[within] * looks.enough <= 1.0).all():
        known = float(looks.enough**-0.5)
    left, more, anywhere = (looks.left_from(mask) for mask in (within, beyond, everywhere))
    outside, end = more > left * (1.0 + 1e-9), End.OUT_OF_REACH
    limited = [goal for goal in rules.goals if goal.limits is not None and goal.limits.count]
    if limited:
        end = End.HOME if state in limited[0].homes else End.OUT_OF_RANGE
    elif stalled:
        end = End.NOT_LEARNING
    elif anywhere <= 0.0:
        end = End.ALL_SEEN
    elif 1.0 < found.share < np.inf:
        end = End.BUDGET
    elif found.rate > 0.0:
        end = End.TOO_LITTLE
    elif outside or (left > 0.0 and (rules.goals or allowed is not None)):
        end = End.ALL_SAFE_SEEN
    budgets = tuple(
        (goal.name, goal.delta, max(0.0, goal.budget - promise.spent))
        for goal, promise in zip(rules.goals, after.promises, strict=True)
    )
    found = found._replace(left=left)
    rest = budgets, outside, known
    return Decision(state, None, after, found, (), end, *rest, labels=rules.labels)


def may_reach(model: Model, usable: BoolArray, state: int) -> BoolArray:
    """Return the mask [S] of the states that `usable` [S, A] actions may reach from `state`.

    Moves that succeed with a probability below `MIN_SUCCESS` do not count.
    """
    if isinstance(model, Moves):
        usable = usable & (model.success >= MIN_SUCCESS)
        starts = np.repeat(np.arange(model.states), usable.sum(axis=1))
        pairs = np.ones(len(starts), np.bool_), (starts, model.dest[usable])
        links = csr_array(pairs, shape=(model.states, model.states))
    else:
        rows = (diags_array(usable.ravel().astype(np.float64)) @ model.transitions).tocsr()
        rows.eliminate_zeros()
        parts = rows.data, rows.indices, rows.indptr[:: model.actions].copy()
        links = csr_array(parts, shape=(model.states, model.states))
    reached = np.zeros(model.states, np.bool_)
    reached[breadth_first_order(links, state, return_predecessors=False)] = True
    return reached


def goal_of(criterion: object, model: Model, start: int, *, on_graph: bool) -> Goal:
    """Return the goal of a return criterion; raise for other criteria."""
    error = InvalidProblemError
    if not isinstance(criterion, ReturnHome):
        raise error(f"{type(criterion).__name__} holds for each plan only: use PaperExplorer")
    if (criterion.within is not None or criterion.limits) and not on_graph:
        raise error(
            f"ReturnHome with {'limits' if criterion.limits else 'within'} is kept over a "
            "whole run only on move-or-stay models without rewards"
            + "; elsewhere it holds for each plan only: use PaperExplorer"
            * (not criterion.limits)
        )
    if isinstance(criterion.home, str) and criterion.home == "current":
        raise error('home="current" is for single plans only: use PaperExplorer, or home="start"')
    homes = frozen(home_states(criterion.home, model, start).astype(np.int64))
    limits = Limits.of(criterion, (model.states, model.actions))
    return Goal(criterion.name(model, start), homes, criterion.delta, criterion.within, limits)


def returning_of(
    goal: Goal,
    belief: Belief,
    correction: Correction | None = None,
    sampled: Sampled | None = None,
    number: int = 0,
    *,
    on_graph: bool,
) -> Returning:
    """Return what keeps goal `number` of a run, for what a belief knows of its moves."""
    if on_graph:
        return MoveReturning.of(goal, correction, belief)
    if isinstance(belief, FiniteBelief) and correction is not Correction.NAIVE:
        return WorldReturning(goal)
    if sampled is not None:
        return SampledReturning(goal, sampled, number)
    return CorrectedReturning(goal, correction)


def _floor(planner: Planner, belief: Belief, model: Model) -> float:
    """Return the default floor of the gain per step."""
    bonus = planner.bonus
    if isinstance(bonus, InformationGain):
        return NATS_FLOOR
    if isinstance(bonus, Uncover):
        return RELATIVE_FLOOR * bonus.reward
    # With 1/(2S): longer paths would depend on unlikely moves.
    shape = model.reward.shape
    values = numbers(bonus(belief), "the bonus", shape, InvalidProblemError, packed=False)
    return max(RELATIVE_FLOOR, 0.5 / len(values)) * float(np.max(values))


class Explorer(Loop):
    """Explores a world with the most information per step, and always keeps a way home.

    The world may be outside of the program (`worlds.Outside`): then decisions and reports may be
    days apart. Three more things can happen to a vehicle there. A `look` adds observations without
    a move. An action of the user's own choice (`take`) is charged like a decided one. If the
    vehicle was moved (`relocate`), the run pays for a way home from where it is now.

    Parameters
    ----------
    planner
        The bonus and the criteria. The level of `ReturnHome` is for the whole run, and its home is
        the start or given states.
    belief
        The prior belief.
    world
        The world to explore.
    strict
        If a level can't be met, raise `InfeasibleError` instead of ending the run.
    floor
        Smallest gain per step that is worth pursuing, in the unit of the bonus. The default is
        0.05 nats, 0.001 squares, or max(0.001, 1/(2S)) of the largest bonus.
    """

    run_state: RunState

    def __init__(
        self,
        planner: Planner,
        belief: Belief,
        world: World,
        *,
        strict: bool = False,
        floor: float | None = None,
    ) -> None:
        check_parts(planner, belief, world)
        super().__init__(planner, belief_of_run(belief, planner.criteria), world, strict=strict)
        self.rules = Rules.of(self._belief, planner, self.start, floor)
        self.run_state = self.rules.open(self._belief, self.start)
        self.driven: list[Transition] = []  # the moves that were tried
        self.seconds = 0.0  # time of the last decision
        self._changed: IntArray | None = None  # where the belief changed since the last decision
        self._next: Decision | None = None  # decision that was made before its step

    def decide(self) -> Decision:
        """Return the decision in the present state; it is the same until something is learned."""
        if self._next is None:
            began = time.perf_counter()
            given = self.rules, self._belief, self.run_state, self.here, self._changed
            self._next = decide(*given)
            self._changed = np.empty(0, np.int64)
            self.seconds = time.perf_counter() - began
        return self._next

    def explain(self) -> Explanation:
        """Return the decision in the present state with the evidence on every action."""
        from homeward.planning.explained import explain

        decision = self.decide()
        return explain(self.rules, self._belief, self.run_state, decision)

    def step(self) -> Step | None:
        """Take one step and return it; if the run ends, set `end` and return None."""
        decision = self.decision = self.decide()
        if decision.action is None:
            self.end = decision.end
            if self.strict and self.end is End.INFEASIBLE:
                raise InfeasibleError(self.why())
            return None
        observation = self._act(decision.action, decision.after)
        self.steps += 1
        given = self.steps, decision, observation, self.here, self.run_state
        return Step(*given, self.seconds)

    def take(self, action: int) -> Any:
        """Take an action of the user's own choice; return the observation after it.

        It is charged like a decided action. If the levels or limits forbid it, the run has nothing
        left to spend afterwards.
        """
        count = self._belief.mean().actions
        action = index(action, count, "the action", InvalidProblemError)
        after = self.run_state
        if not self.refuted:
            chosen = self.rules.chosen(self._belief, self.run_state, self.here, action)
            spent = (replace(promise, spent=1.0) for promise in after.promises)
            after = chosen or replace(after, promises=tuple(spent), proposal=None)
        observation = self._act(action, after)
        if self.refuted and self.end is not None:
            self.end = End.REFUTED
        return observation

    def allows(self, action: int, there: int) -> bool:
        """Return whether the levels and limits allow an action of the user's own choice.

        An action that led `there` and thereby refutes the belief is allowed, since no promise is
        left after it.
        """
        if self.refuted or is_ruled_out(self._belief, Transition(self.here, action, there)):
            return True
        return self.rules.chosen(self._belief, self.run_state, self.here, action) is not None

    def outcomes(self, action: int) -> IntArray:
        """Return the states [n] to which an action may lead from the present state.

        A real vehicle may fail to leave its state, even if the model rules that out.
        """
        model, state = self._belief.mean(), self.here
        if isinstance(model, Moves):
            return np.unique([state, int(model.dest[state, action])])
        row = model.transitions[[state * model.actions + action]]
        return np.union1d(row.indices.astype(np.int64), [state])

    def look(self, observation: Any) -> None:
        """Learn from an observation without an action; it spends no risk."""
        self.learn(observation)
        self.steps += 1

    def relocate(self, state: int, observation: Any, used: Sequence[float] = ()) -> None:
        """Learn that the vehicle was moved to another `state`, not by an action of the model.

        `used` is how much of each limited amount, such as energy, the move used.
        """
        before = self.here
        self.learn(observation)
        self.run_state = self.rules.moved(self._belief, self.run_state, before, state, used)
        self.world.state = state  # type: ignore[misc]
        if self.refuted:
            given = self._belief, self.run_state, state, self.driven
            self.run_state = self.rules.refuted(*given)
        self.steps += 1

    def learn(self, observation: Any, moved: Transition | None = None) -> None:
        """Update the belief and the promises; a refuted belief has no promise left."""
        run = self.run_state
        doubts = self.rules.doubts(self._belief, run)  # before it changes, maybe in place
        belief, refuted, changed = absorbed(self._belief, observation, moved)
        if not refuted:
            run = self.rules.observed(belief, run, observation, moved, self.here)
            refuted = self.rules.is_closed(belief, run, self.here, doubts)
        self._belief, self.refuted, self._next = belief, self.refuted or refuted, None
        if moved is not None:
            self.driven.append(moved)
        if self.refuted:
            run = self.rules.refuted(belief, run, self.here, self.driven)
        self.run_state = run
        if changed is None or self._changed is None:
            self._changed = None
        else:
            self._changed = np.union1d(self._changed, changed)

    def go_on_from(self, run_state: RunState) -> None:
        """Go on with what a record says that the run carries."""
        self.run_state, self._next = run_state, None

    def _act(self, action: int, after: RunState) -> Any:
        """Take an action, after which the run's state is `after`; learn from the observation."""
        before = self.here
        observation = self.world.act(action)
        self.run_state = after
        self.learn(observation, Transition(before, action, self.here))
        return observation
