"""The decision of one step of an `Explorer`: from a belief and a state to a plan.

The data flow of a step: belief → mean model and risks (`graph`) → return paths within each budget
(`ledger`; on general models `returning`) → proposals (`rate`, `ratios`) → plan (`pursuit`). `Held`
is the state that a run carries from step to step. The `Task` is fixed for a run: it has one budget
for each return criterion, and one mask of the actions that surely stay inside all sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from homeward.arrays import BoolArray, frozen, is_default_zero, number, numbers
from homeward.beliefs import Belief, FiniteBelief, Transition
from homeward.beliefs.base import claimed
from homeward.beliefs.corrections import Correction
from homeward.beliefs.refutation import SURELY_NOT, is_ruled_out
from homeward.bonuses import (
    InformationGain,
    LookingBonus,
    Looks,
    Uncover,
    check_suits,
    checked_bonus,
    once,
)
from homeward.criteria import ReturnHome, StayInside, home_states
from homeward.errors import InvalidProblemError
from homeward.models import Model, Moves
from homeward.planning.algorithm1 import Planner, check_claims, check_rewards
from homeward.planning.driven import Driven
from homeward.planning.explorer import End
from homeward.planning.general import GeneralSearch
from homeward.planning.graph import MIN_SUCCESS, graph_of, may_reach
from homeward.planning.ledger import Ledger, Limits, Survey
from homeward.planning.plan import Evaluator, Plan
from homeward.planning.promise import Held
from homeward.planning.pursuit import Limit
from homeward.planning.rate import RateSearch
from homeward.threads import on_one_thread
from homeward.words import Remainder

MAX_IDLE_STEPS = 20  # most steps without news, per state of the model, before a run ends
NATS_FLOOR = 0.05  # default floor of information gain, in nats per step
RELATIVE_FLOOR = 1e-3  # default floor of other bonuses per step, as a fraction of the largest bonus
MIN_FLOOR = 1e-300  # smallest floor; it is above 0, so that a gain of 0 is never pursued


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """The part of the problem that is fixed for a run."""

    planner: Planner  # the bonus to collect, the criteria to keep, the discount and the correction
    ledgers: tuple[Ledger, ...]  # one for each return criterion: its homes and its budget
    allowed: BoolArray | None  # mask [S, A] of the actions that may be taken; None allows all
    floor: float  # smallest gain per step that is worth pursuing, above 0
    evaluator: Evaluator = Evaluator.UNION  # how the held way home and its charges are evaluated

    @property
    def is_sharp(self) -> bool:
        """Whether bounds use the joint success probability of several moves."""
        return self.evaluator in (Evaluator.EXACT, Evaluator.PATH)


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The outcome of a step's planning."""

    plan: Plan | None  # the action and its evidence; None if the run ends
    held: Held  # state of the run after the action
    end: End | None = None  # why the run ends; None if there is a plan
    limit: Limit | None = None  # the gain within reach when the run ends, and the risk to get it
    budgets: tuple[tuple[str, float, float], ...] = ()  # name, level and remaining risk of each
    outside: bool = False  # whether more gain can be reached by leaving the set to stay inside
    known: float | None = None  # m, deviation to which every cell that can be reached is known

    def remainder(self, unit: str | None) -> Remainder | None:
        """Return the remaining gain at the end of a run, in `unit`, and the risk of continuing."""
        if self.limit is None:
            return None
        limit = self.limit
        most = limit.left, limit.rate, unit, limit.share
        return Remainder(*most, self.budgets, self.outside, self.known)


class Guide:
    """Makes the decision of each step for an explorer that starts in `start`."""

    def __init__(self, planner: Planner, start: int, floor: float | None = None) -> None:
        error = InvalidProblemError
        if planner.recall is not None:
            raise error("a recall at a fixed step is for single plans only: use PaperExplorer")
        if floor is not None and not 0.0 <= number(floor, "the floor", error) < np.inf:
            raise error(f"the floor is {floor:g}, expected 0 or more")
        self.planner = planner
        self.start = start
        self.floor = floor
        self.search: RateSearch | GeneralSearch | None = None  # made from the first belief

    @on_one_thread
    def open(self, belief: Belief) -> Held:
        """Return the state of a run before its first step; it pays for the return to home."""
        model, search = belief.mean(), self._started(belief)
        task, start = search.task, self.start
        if isinstance(search, RateSearch) and isinstance(model, Moves):
            graph = graph_of(belief, model, self.planner.correction)
            sharp = belief if task.is_sharp else None
            return Held(tuple(ledger.open(graph, start, sharp) for ledger in task.ledgers))
        general = GeneralSearch(task).returning(belief)
        return Held(tuple(each.open(belief, start) for each in general))

    def decide(self, belief: Belief, state: int, held: Held) -> Decision:
        """Return the decision in `state`: a plan, or the reason to end the run."""
        model = belief.mean()
        if self.search is None:
            self.search = self._search(belief, model)
        search, task = self.search, self.search.task
        if held.refuted:
            lost = tuple((ledger.name, ledger.delta, 0.0) for ledger in task.ledgers)
            return Decision(None, held, End.REFUTED, budgets=lost)
        if task.allowed is not None:
            here = task.allowed[state] & np.isfinite(model.reward[state])
            if not here.any():
                return Decision(None, held, End.OUTSIDE)
        kept = zip(task.ledgers, held.promises, strict=True)
        if any(account.spent > ledger.budget for ledger, account in kept):
            return Decision(None, held, End.INFEASIBLE)
        stalled = held.idle > MAX_IDLE_STEPS * (model.states + 1)
        if isinstance(search, GeneralSearch) or not isinstance(model, Moves):
            general = GeneralSearch(task)
            plan, accounts, limit = general.choose(belief, model, state, held, learn=not stalled)
        elif stalled and not self.is_limited:
            return Decision(None, held, End.NOT_LEARNING)
        else:
            plan, accounts, limit = search.choose(belief, model, state, held, learn=not stalled)
        news = held.remaining - limit.left >= task.floor
        after = Held(
            accounts,
            None if plan is None else plan.proposal,
            limit.left if news else held.remaining,
            0 if news else held.idle + 1,
        )
        if plan is not None:
            return Decision(plan, after)
        looks, *masks = self._in_reach(belief, model, state)
        within, (left, beyond, anywhere) = masks[0], map(looks.left_from, masks)
        enough, known = looks.enough, None
        if np.isfinite(enough) and (looks.amount[within] * enough <= 1.0).all():
            known = float(enough**-0.5)
        limit, outside = limit._replace(left=left), beyond > left * (1.0 + 1e-9)
        end = End.OUT_OF_REACH
        limited = next((ledger for ledger in task.ledgers if ledger.limits is not None), None)
        if limited is not None:
            end = End.HOME if state in limited.homes else End.OUT_OF_RANGE
        elif stalled:
            end = End.NOT_LEARNING
        elif anywhere <= 0.0:
            end = End.ALL_SEEN
        elif 1.0 < limit.share < np.inf:
            end = End.BUDGET
        elif limit.rate > 0.0:
            end = End.TOO_LITTLE
        elif outside or (left > 0.0 and (task.ledgers or task.allowed is not None)):
            end = End.ALL_SAFE_SEEN
        budgets = tuple(
            (ledger.name, ledger.delta, max(0.0, ledger.budget - account.spent))
            for ledger, account in zip(task.ledgers, accounts, strict=True)
        )
        return Decision(None, after, end, limit, budgets, outside, known)

    def _in_reach(
        self, belief: Belief, model: Model, state: int
    ) -> tuple[Looks, BoolArray, BoolArray, BoolArray]:
        """Return the looks, and three masks [S] of states from which looks could be made.

        The first two have the states that the run may still reach, whatever the risk: inside the
        set to stay inside, and anywhere. The third one has all states that some move leads to or
        leaves.
        """
        bonus, allowed = self.planner.bonus, self._started(belief).task.allowed
        usable = np.isfinite(model.reward)
        if isinstance(bonus, LookingBonus):
            looks = bonus.looks(belief)
        else:
            looks = once(checked_bonus(bonus, belief, model.reward))
        anywhere = np.ones(model.states, np.bool_)
        if isinstance(model, Moves):
            here = np.arange(model.states)[:, None]
            leads = (model.success >= MIN_SUCCESS) & (model.dest != here)
            anywhere = leads.any(axis=1)
            anywhere[model.dest[leads]] = anywhere[state] = True
        beyond = may_reach(model, usable, state)
        within = beyond if allowed is None else may_reach(model, usable & allowed, state)
        return looks, within, beyond, anywhere

    @property
    def is_limited(self) -> bool:
        """Whether the whole run is limited, as in time or energy: it has to be home before."""
        ledgers = () if self.search is None else self.search.task.ledgers
        return any(ledger.limits is not None for ledger in ledgers)

    @property
    def relearns(self) -> bool:
        """Whether return policies are planned again after each observation: on general models."""
        return not isinstance(self.search, RateSearch)

    def attempted(self, held: Held, state: int, action: int, there: int) -> Held:
        """Return the run's state after an action from `state` that led to `there`, with its use."""
        assert self.search is not None
        kept = zip(self.search.task.ledgers, held.promises, strict=True)
        accounts = (x.attempted(account, state, action, there != state) for x, account in kept)
        return replace(held, promises=tuple(accounts))

    def broke(self, belief: Belief, state: int, held: Held) -> bool:
        """Return whether a way home that the run held certain surely does not work.

        A run that spent at most `SURELY_NOT` held its way home certain. The walk is along the held
        way, and stops where it ends.
        """
        model = belief.mean()
        if self.planner.correction is Correction.NAIVE or self.relearns:
            return False
        assert isinstance(model, Moves)
        assert self.search is not None
        for ledger, account in zip(self.search.task.ledgers, held.promises, strict=True):
            homes, way, here = set(ledger.homes.tolist()), account.way, state
            for _ in range(len(way) if account.spent <= SURELY_NOT else 0):
                action = int(way[here])
                if here in homes or action < 0:
                    break
                there = int(model.dest[here, action])
                doubtful = model.success[here, action] <= SURELY_NOT  # maybe only a lower bound
                if doubtful and is_ruled_out(belief, Transition(here, action, there)):
                    return True
                here = there
        return False

    def refuted(self, belief: Belief, state: int, held: Held, driven: Sequence[Transition]) -> Held:
        """Return the state of a run in `state` whose belief is refuted: no promise is left.

        Its accounts rely on the ways home that are best supported by what was driven.
        """
        model, tried, accounts = belief.mean(), Driven(driven), []
        for ledger, account in zip(self.ledgers(belief), held.promises, strict=True):
            states, actions = tried.way_home(model, ledger.homes, state)
            order = np.argsort(states)
            accounts.append(replace(account, at=states[order], actions=actions[order], spent=1.0))
        return replace(held, promises=tuple(accounts), proposal=None, refuted=True)

    def chosen(self, belief: Belief, state: int, held: Held, action: int) -> Held | None:
        """Return the run's state after an action that the user chose; None if it is too risky.

        The action is charged like one that the explorer chose.
        """
        model, search = belief.mean(), self._started(belief)
        task = search.task
        if task.allowed is not None and not task.allowed[state, action]:
            return None
        kept = [*zip(task.ledgers, held.promises, strict=True)]
        if isinstance(search, RateSearch) and isinstance(model, Moves):
            surveys, sharp = self.surveys(belief, state, held)
            paid = [x.pay(y, state, action, sharp) for (x, _), y in zip(kept, surveys, strict=True)]
            cases = zip(kept, surveys, paid, strict=True)
            if not all(x.keeps(survey, new, state, action) for (x, _), survey, new in cases):
                return None
        else:
            general = GeneralSearch(task)
            options = general.options(belief, held, state)
            each = zip(general.returning(belief), options, strict=True)
            paid = [x.take(now, state, action) for x, now in each]
        if any(new.spent > max(x.budget, a.spent) for (x, a), new in zip(kept, paid, strict=True)):
            return None
        return replace(held, promises=tuple(paid), proposal=None)

    def moved(
        self, belief: Belief, state: int, there: int, held: Held, used: Sequence[float] = ()
    ) -> Held:
        """Return the state of the run after the explorer was moved from `state` to `there`.

        `belief` includes all observations that were made there. `used` is how much of each limited
        amount the move used.
        """
        model, search = belief.mean(), self._started(belief)
        if held.refuted:
            more = [tuple(x + y for x, y in zip(a.used, used, strict=False)) for a in held.promises]
            pairs = zip(held.promises, more, strict=True)
            return replace(held, promises=tuple(replace(a, used=u) for a, u in pairs))
        if isinstance(search, RateSearch) and isinstance(model, Moves):
            surveys, sharp = self.surveys(belief, state, held)
            kept = zip(search.task.ledgers, surveys, strict=True)
            accounts = [x.moved(survey, state, there, used, sharp) for x, survey in kept]
            return replace(held, promises=tuple(accounts), proposal=None)
        general = GeneralSearch(search.task)
        options = general.options(belief, held, state)
        each = zip(general.returning(belief), options, strict=True)
        promises = tuple(x.moved(belief, now, there, tuple(used)) for x, now in each)
        return replace(held, promises=promises, proposal=None)

    def surveys(
        self, belief: Belief, state: int, held: Held, which: Sequence[int] | None = None
    ) -> tuple[list[Survey], Belief | None]:
        """Return the ways home of the ledgers `which` (None: of all) on a move-or-stay model.

        Also returns the belief if it knows how likely edges work together; else None.
        """
        task, model = self._started(belief).task, belief.mean()
        assert isinstance(model, Moves)
        graph = graph_of(belief, model, self.planner.correction)
        sharp = belief if task.is_sharp else None
        budgets = range(len(task.ledgers)) if which is None else which
        pairs = ((task.ledgers[k], held.promises[k]) for k in budgets)
        return [x.survey(graph, account, state, sharp, whole=True) for x, account in pairs], sharp

    def _started(self, belief: Belief) -> RateSearch | GeneralSearch:
        """Return the search of the run; the first call makes it from `belief`."""
        if self.search is None:
            self.search = self._search(belief, belief.mean())
        return self.search

    @on_one_thread
    def after(
        self,
        belief: Belief,
        held: Held,
        observation: object,
        move: tuple[int, int, int] | None = None,
    ) -> Held:
        """Return the state of the run after the belief was updated by an observation.

        `move` has the state, the action and the next state; it is None without one. Some return
        policies raise unless the observation holds this transition and nothing else but visits.
        """
        general = GeneralSearch(self._started(belief).task).returning(belief)
        moved = None if move is None else Transition(*move)
        pairs = zip(general, held.promises, strict=True)
        after = (each.observed(belief, promise, observation, moved) for each, promise in pairs)
        return replace(held, promises=tuple(after))

    def ledgers(self, belief: Belief) -> tuple[Ledger, ...]:
        """Return the ledgers of the task: one budget for each return criterion."""
        return self._started(belief).task.ledgers

    def _search(self, belief: Belief, model: Model) -> RateSearch | GeneralSearch:
        """Return the search of the run, for the first belief and its mean `model`.

        The two searches keep different data in an `Promise`, so a run uses one search to its end.
        """
        check_rewards(model)
        check_claims(belief, model)
        check_suits(self.planner.bonus, belief)
        on_graph = isinstance(model, Moves) and (
            is_default_zero(model.reward)
            or not (np.isfinite(model.reward) & (model.reward != 0.0)).any()
        )
        if on_graph and self.planner.sampled is not None:
            raise InvalidProblemError(
                "sampled certificates are for general models; on a move-or-stay model the risk of "
                "each move is known: plan without them"
            )
        if on_graph:
            claimed(belief, "blocked_probability", belief.blocked_probability(), model)
        allowed: BoolArray | None = None
        ledgers = []
        for criterion in self.planner.criteria:
            if isinstance(criterion, StayInside):
                inside = criterion.surely_inside(model)
                allowed = inside if allowed is None else allowed & inside
            else:
                ledgers.append(self._ledger(criterion, model, on_graph=on_graph))
        if allowed is not None:
            allowed = frozen(allowed)
            here = allowed[self.start] & np.isfinite(model.reward[self.start])
            if not here.any():
                raise InvalidProblemError(
                    f"{model.state_name(self.start)} is outside the set to stay inside: no action "
                    "that can be chosen there surely stays in it"
                )
        bonus, floor = self.planner.bonus, self.floor
        if floor is None and isinstance(bonus, InformationGain):
            floor = NATS_FLOOR
        elif floor is None and isinstance(bonus, Uncover):
            floor = RELATIVE_FLOOR * bonus.reward
        elif floor is None:
            # With 1/(2S): longer paths would depend on unlikely moves.
            shape = model.reward.shape
            values = numbers(bonus(belief), "the bonus", shape, InvalidProblemError, packed=False)
            floor = max(RELATIVE_FLOOR, 0.5 / len(values)) * float(np.max(values))
        evaluator = Evaluator.CORRECTION
        if on_graph:
            evaluator = Evaluator.UNION
            if self.planner.correction in (None, Correction.MOVES):
                evaluator = Evaluator(belief.evaluator)
        elif isinstance(belief, FiniteBelief) and self.planner.correction is not Correction.NAIVE:
            evaluator = Evaluator.EXACT
        elif self.planner.sampled is not None:
            evaluator = Evaluator.SAMPLED
        if sum(ledger.limits is not None for ledger in ledgers) > 1:
            raise InvalidProblemError(
                "several criteria limit the whole run: put all of their limits into one"
            )
        task = Task(self.planner, tuple(ledgers), allowed, max(floor, MIN_FLOOR), evaluator)
        return RateSearch(task) if on_graph else GeneralSearch(task)

    def _ledger(self, criterion: object, model: Model, *, on_graph: bool) -> Ledger:
        """Return the ledger of a return criterion; raise for other criteria."""
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
            raise error(
                'home="current" is for single plans only: use PaperExplorer, or home="start"'
            )
        states = frozen(home_states(criterion.home, model, self.start).astype(np.int64))
        name = criterion.name(model, self.start)
        limits = _limits(criterion, (model.states, model.actions)) if criterion.limits else None
        return Ledger(name, states, criterion.delta, criterion.within, limits)


def _limits(criterion: ReturnHome, shape: tuple[int, int]) -> Limits:
    """Return the limits of the whole run, followed by the limit of the return's steps, if any."""
    steps = [] if criterion.within is None else [np.ones(shape)]
    for limit in criterion.limits:
        for part in (limit.use, limit.lost):
            if part.shape != shape:
                raise InvalidProblemError(
                    f"the use in {limit.unit} has shape {part.shape}, the model has {shape}"
                )
    use, lost = (
        frozen(np.stack([*parts, *steps]).astype(np.float64))
        for parts in zip(*((a.use, a.lost) for a in criterion.limits), strict=True)
    )
    amounts = [*(a.amount for a in criterion.limits), *([criterion.within] * len(steps))]
    count, amount = len(criterion.limits), frozen(np.array(amounts, np.float64))
    pace = np.tensordot(1.0 / amount[:count], use[:count], 1)
    moves = pace > 0.0
    pace = np.where(moves, pace / (pace[moves].mean() if moves.any() else 1.0), 1.0)
    return Limits(use, lost, amount, count, frozen(pace))
