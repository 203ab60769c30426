"""Search on move-or-stay graphs for the most information per step that keeps a way home.

A *proposal* is a state to observe from and a path to it. Its rate is gain / expected steps; the
gain is that in the last state, or, for paths of the beam search, that along the path. On a
move-or-stay graph a failed attempt leaves the explorer where it was, so moving out has no risk. But
every state of the path must have a return path within the budgets. `ledger.Ledger` tracks, for each
home, the edges that the run relies on and how much of 1 − δ is spent.

A proposal is *free* if the return paths from its states need at most `MAX_FREE_SHARE` of each
remaining budget. A larger share costs a toll: the excess times all the remaining gain. A search
outward finds the state with the highest rate r of gain minus toll. It is compared with the paths of
a beam search nearby, in which no cell counts twice; the largest gain − `BEAM_PRICE`·r·steps wins.
The explorer pursues a proposal until there is news (the remaining gain fell by the floor or more),
until it is done or unsafe, or until another one is better by `SWITCH_MARGIN`. While nothing is
learned, the rate of the proposal rises with every step, so a run makes progress
(``docs/theory.md``, section 13). If no such proposal reaches the floor, the explorer takes the one
with the most gain per unit of risk within the budgets.

If a cell has gain only at its first look and all gain will be collected, short tours are best: a
gain is divided by steps**`TOUR_POWER`. On the squares of a grid, the explorer compares
`TOUR_CANDIDATES` free tours nearby. It pursues the first stop of the best tour until there is news,
or until it is done or unsafe.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from homeward.arrays import FloatArray, IntArray, frozen
from homeward.bonuses import LookingBonus, Looks, checked_bonus, once
from homeward.models import Moves
from homeward.planning.after_action import after_moves
from homeward.planning.gain_search import (
    Scratch,
    Shares,
    best_per_risk,
    best_tour,
    follow,
    look_ahead,
    search_outward,
)
from homeward.planning.graph import EVERYWHERE, MIN_SUCCESS, Graph, graph_of
from homeward.planning.kept_ways import KeptWays
from homeward.planning.plan import Plan
from homeward.planning.promise import MAX_FREE_SHARE, Held, Promise, Proposal
from homeward.planning.pursuit import Limit, plan_of
from homeward.shared import Deferred

if TYPE_CHECKING:
    from homeward.planning.guide import Task
    from homeward.planning.ledger import Survey

MIN_LEFT = 1e-300  # smallest remaining budget, to avoid division by 0
SWITCH_MARGIN = 0.1  # fraction by which another proposal's rate must be higher to replace one
BEAM_PRICE = 0.7  # price of a step in the beam search, as a fraction of the best rate
BEAM_WIDTH, BEAM_DEPTH = 24, 12  # of the beam search: width for nine cells, depth in steps
TOUR_POWER = 4.0  # tours divide gains by steps to this power; a high power prefers near states
TOUR_CANDIDATES, TOUR_RADIUS = 6, 8.0  # tours that are compared, and their radius in steps
TOUR_RETURN_PRICE = 0.1  # cost of a step left when a tour reaches new ground; see `best_tour`
MAX_TOUR_RISK = 1e-3  # tours first use only moves with at most this risk of never working


class View(NamedTuple):
    """The search problem in the current state."""

    graph: Graph  # the mean graph, its risks and the edges that may be taken
    state: int  # where the explorer is
    surveys: tuple[Survey, ...]  # the ways home of each ledger
    shares: Shares  # the shares of the remaining budgets that ways home would spend
    whole: Looks  # all looks, whatever their risk
    total: float  # the remaining gain of all looks
    highest: float  # upper bound on the gain of one look
    bonus: FloatArray | None  # [S, A] if a look takes an action, with 0 if that is not allowed

    @property
    def share(self) -> FloatArray:
        """Largest share [S] of any remaining budget that the way home from a state would spend."""
        return self.shares.at(np.arange(len(self.graph.dest)))

    def looks(self, most: float) -> Looks:
        """Return the looks; those that take a too risky action gain 0.

        An action is too risky if the way home from its destination would spend more than the share
        `most` of a remaining budget.
        """
        if self.bonus is None:
            return self.whole
        return once(np.where(self.share[self.graph.dest] <= most, self.bonus, 0.0))


@dataclass(slots=True, eq=False)
class RateSearch:
    """Finds proposals on a move-or-stay graph."""

    task: Task
    looks_ahead: ClassVar[bool] = True  # whether to compare the best state with a beam search
    _bounds: FloatArray | None = None  # [S] upper bounds on gains; kept, since gains only shrink
    _kept: KeptWays | None = None  # the ways home of each ledger; made by the first `view`
    scratch: Scratch = field(init=False)  # arrays of the searches; made by the first `view`

    def choose(
        self, belief: Any, model: Moves, state: int, held: Held, *, learn: bool = True
    ) -> tuple[Plan | None, tuple[Promise, ...], Limit]:
        """Return the plan, or None to end the run; the accounts after it; and the `Limit`.

        If the whole run is limited, the explorer goes home when nothing is left to do, or if
        `learn` is False.
        """
        task = self.task
        view = self.view(belief, model, state, held)
        limit = Limit(view.total)
        proposal = self.still(held.proposal, view)
        most = MAX_FREE_SHARE if proposal is None else proposal.max_share
        if held.remaining - limit.left >= task.floor:  # there was news
            proposal = None
        if proposal is None or not view.whole.make_tour:
            other, power = self.best(view), 1.0 if view.whole.logarithmic else TOUR_POWER
            if proposal is None or (
                other is not None
                and other.worth(power) > proposal.worth(power) * (1 + SWITCH_MARGIN)
            ):
                proposal, most = other, MAX_FREE_SHARE
        if proposal is None or proposal.rate < task.floor:
            slow = 0.0 if proposal is None else proposal.rate
            proposal, limit = self.risky(view)
            if proposal is None:  # to report the risk of going on
                new = RateSearch(task)
                _, limit = new.risky(new.view(belief, model, state, held, whole=True))
            limit, most = limit._replace(rate=slow), 1.0
        kept = [*zip(task.ledgers, view.surveys, strict=True)]
        sharp = belief if task.is_sharp else None
        accounts = tuple(survey.account for survey in view.surveys)
        if proposal is None or not learn:
            proposal = self.homeward(view)
            if proposal is None:
                return None, accounts, limit
        path = np.array(proposal.path)
        given = view.graph, view.shares, np.inf, path, view.whole, False, 0.0, self.scratch
        actions, *_ = follow(*given)
        action = int(actions[0] if len(actions) else view.looks(most).action[state])
        paid = tuple(ledger.pay(survey, state, action, sharp) for ledger, survey in kept)
        after = zip(kept, paid, strict=True)
        if not all(
            x.keeps(survey, new, state, action) for (x, survey), new in after if x.is_limited
        ):
            proposal = self.homeward(view)
            if proposal is None:
                return None, accounts, limit
        if proposal.gain == 0.0:  # on the way home, which is held already
            limited = next(a for x, a in zip(task.ledgers, accounts, strict=True) if x.limits)
            action = int(limited.way[state])
            paid = tuple(
                a if x.limits else x.pay(survey, state, action, sharp)
                for (x, survey), a in zip(kept, accounts, strict=True)
            )
        rate = proposal.rate

        # A plan may live longer than the arrays of the belief: these functions compute them again.
        def policy() -> IntArray:
            graph = belief.mean()
            if "stay" not in graph.memo:  # an action that stays in every state; 0 if there is none
                stays = (graph.dest == np.arange(graph.states)[:, None]).all(axis=0)
                graph.memo["stay"] = int(stays.argmax())
            chosen = np.full(graph.states, graph.memo["stay"], np.int32)
            chosen[path[:-1]] = actions
            chosen[state] = action
            return chosen

        def home(k: int) -> tuple[Deferred, Deferred]:
            def survey() -> Survey:
                new = RateSearch(task)
                view = new.view(belief, belief.mean(), state, held)
                new.complete(view)
                return view.surveys[k]

            value = Deferred(lambda: task.ledgers[k].value(survey(), state, sharp))
            return value, Deferred(lambda: survey().ways_from(state).choice)

        correction = task.planner.correction

        def facts() -> tuple[Moves, FloatArray, FloatArray, FloatArray]:
            new, mean = RateSearch(task), belief.mean()
            view = new.view(belief, mean, state, held)
            new.complete(view)
            rates, share = new.rates(view), view.shares.at(mean.dest[state])
            rates[action] = rate
            surveys = new.view(belief, mean, state, held, whole=True).surveys
            after = [
                after_moves(ledger, survey, belief, state, correction, sharp)
                for ledger, survey in zip(task.ledgers, surveys, strict=True)
            ]
            return mean, rates, np.array(after), share

        homes = [home(k) for k in range(len(paid))]
        plan = plan_of(task, model, state, proposal, action, policy, paid, homes, facts)
        return plan, paid, limit

    def view(
        self, belief: Any, model: Moves, state: int, held: Held, *, whole: bool = False
    ) -> View:
        """Return the search problem in `state`, with the return paths within the budgets.

        With `whole`, return paths that exceed the budgets are found too.
        """
        task, correction, bonus = self.task, self.task.planner.correction, self.task.planner.bonus
        allowed = EVERYWHERE if task.allowed is None else task.allowed
        graph = graph_of(belief, model, correction, allowed)
        if self._kept is None:
            self._kept = KeptWays(len(task.ledgers), model.states)
            self.scratch = Scratch.of(model.states)
        surveys, sharp = [], belief if task.is_sharp else None
        if isinstance(bonus, LookingBonus):
            looks, masked = bonus.looks(belief), None
        else:
            given = checked_bonus(bonus, belief, model.reward)
            looks, masked = once(given), np.where(graph.allowed, given, 0.0)
        total, highest, share = looks.total, looks.highest, np.inf
        if not whole:  # beyond this share, the toll exceeds any gain
            share = MAX_FREE_SHARE
            if not looks.make_tour or any(ledger.limits for ledger in task.ledgers):
                share += 1.0 if highest >= total else 1.001 * highest / total
            share = share if held.proposal is None else max(share, held.proposal.max_share)
        for k, (ledger, account) in enumerate(zip(task.ledgers, held.promises, strict=True)):
            kept: Any = {"kept": self._kept, "number": k, "share": share}
            surveys.append(ledger.survey(graph, account, state, sharp, whole=whole, **kept))
        left = [-1.0 if survey.lost else max(survey.left, MIN_LEFT) for survey in surveys]
        for k, (ledger, survey) in enumerate(zip(task.ledgers, surveys, strict=True)):
            if ledger.limits is not None:
                graph = graph._replace(reach=ledger.outward(survey))
                if survey.lost:
                    self._kept.added[k], left[k] = np.inf, 1.0
        shares = Shares(self._kept.added, np.array(left))
        return View(graph, state, tuple(surveys), shares, looks, total, highest, masked)

    def best(self, view: View) -> Proposal | None:
        """Return the proposal with the best rate of gain minus toll; None without a proposal."""
        graph, shares, state = view.graph, view.shares, view.state
        looks, free, along, scratch = (
            view.looks(MAX_FREE_SHARE),
            MAX_FREE_SHARE,
            False,
            self.scratch,
        )
        if looks.make_tour and not len(graph.reach.left):  # first by moves that surely work
            count, radius, price = TOUR_CANDIDATES, TOUR_RADIUS, TOUR_RETURN_PRICE
            sure = np.where(graph.blocked <= MAX_TOUR_RISK, graph.success, 0.0)
            for success in (frozen(sure), graph.success):
                edges = graph._replace(success=success)
                path, gain, steps = best_tour(
                    edges, shares, free, state, looks, TOUR_POWER, count, radius, price, scratch
                )
                if len(path):
                    break
            share = float(shares.at(path).max(initial=0.0))
        else:
            if self._bounds is None:
                self._bounds = np.full(len(looks.amount), np.inf)
            power = 1.0 if looks.logarithmic else TOUR_POWER
            where = view.total, state, looks, looks.extra_steps, power, self._bounds
            path, gain, steps, share = search_outward(
                graph, shares, free, *where, view.highest, scratch
            )
            rate = gain / steps
            price, width = BEAM_PRICE * rate, BEAM_WIDTH * 9 // len(looks.weight)
            ahead = self.looks_ahead and looks.logarithmic and rate >= self.task.floor
            if len(path) and ahead:
                beam = price, max(4, min(BEAM_WIDTH, width)), BEAM_DEPTH
                near = look_ahead(graph, shares, free, state, looks, *beam, scratch)
                near_path, near_gain, near_steps, _ = near
                if len(near_path) > 1 and near_gain - price * near_steps > gain - price * steps:
                    (path, gain, steps, share), along = near, True
        return Proposal(tuple(path.tolist()), gain, steps, share, along) if len(path) else None

    def homeward(self, view: View) -> Proposal | None:
        """Return the held way home of a limited run; None at home, or if it is out of reach."""
        for ledger, survey in zip(self.task.ledgers, view.surveys, strict=True):
            path, way, dest = [view.state], survey.account.way, view.graph.dest
            if ledger.limits is None or survey.lost or view.state in ledger.homes:
                continue
            while path[-1] not in ledger.homes and way[path[-1]] >= 0 and len(path) <= len(way):
                path.append(int(dest[path[-1], way[path[-1]]]))
            if ledger.keeps(survey, survey.account, view.state, int(way[view.state])):
                return Proposal(tuple(path), 0.0, float(len(path) - 1))
        return None

    def complete(self, view: View) -> None:
        """Find also the ways home that `view` left out because of their cost."""
        assert self._kept is not None
        for k, survey in enumerate(view.surveys):
            if survey.search is not None:
                self._kept.extend(k, survey.search, np.inf)

    def risky(self, view: View) -> tuple[Proposal | None, Limit]:
        """Return the proposal with the most gain per risk within the budgets, and the `Limit`."""
        remaining, floor = view.total, self.task.floor
        self.complete(view)
        for looks in (view.looks(1.0), view.looks(np.inf)):
            where = view.state, looks, looks.extra_steps, self.scratch
            path, gain, steps, risk, over, over_gain = best_per_risk(
                view.graph, view.shares, floor, *where
            )
            if not len(path):
                if over < np.inf:
                    return None, Limit(remaining, over_gain, over)
                continue
            if looks.extra_steps:
                end = view.graph.dest[path[-1], looks.action[path[-1]]]
                there = float(view.shares.at(np.array([end]))[0])
                if there > 1.0:  # the budgets allow the path, but not the action at its end
                    return None, Limit(remaining, gain, float(there))
                risk = max(risk, there)
            proposal = Proposal(tuple(path.tolist()), gain, steps, float(risk))
            return proposal, Limit(remaining, over_gain, over)
        return None, Limit(remaining)

    def still(self, held: Proposal | None, view: View) -> Proposal | None:
        """Return the current proposal, updated; None if it is done, unsafe or below the floor."""
        if held is None or view.state not in held.path[1:]:
            return None
        path, looks = held.path[held.path.index(view.state, 1) :], view.looks(held.max_share)
        legs, extra = np.array(path), looks.extra_steps
        if len(path) == 1 and extra == 0.0:
            return None
        safe = view.graph, view.shares, held.max_share
        _, gain, steps = follow(*safe, legs, looks, held.along, extra, self.scratch)
        now = Proposal(path, gain, steps, held.share, held.along)
        return now if gain >= self.task.floor * steps else None

    def rates(self, view: View) -> FloatArray:
        """Return for each action the best rate [A] of gain minus toll of a single state after it.

        The toll includes that of the action's destination. The rate is 0 if no gain exceeds it.
        """
        graph, shares, looks = view.graph, view.shares, view.looks(MAX_FREE_SHARE)
        rates, ends = np.zeros(graph.dest.shape[1]), graph.dest[view.state]
        for a, share in enumerate(shares.at(ends)):
            p, there = graph.success[view.state, a], int(ends[a])
            if p >= MIN_SUCCESS and there != view.state and share <= 1.0:
                bounds, extra = np.full(len(looks.amount), np.inf), looks.extra_steps + 1.0 / p
                where = view.total, there, looks, extra, 1.0, bounds, view.highest, self.scratch
                reach = graph.reach
                if len(reach.left):
                    left = frozen(reach.left - reach.use[:, view.state, a])
                    reach = reach._replace(left=left)
                after = graph._replace(reach=reach)
                given = after, shares, MAX_FREE_SHARE, *where
                _, gain, steps, _ = search_outward(*given, float(share))
                rates[a] = gain / steps
        return rates
