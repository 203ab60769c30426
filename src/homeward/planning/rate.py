"""Search for the best information per step on move-or-stay graphs that keeps a way home.

A *proposal* is a place to observe from and a way there. Its rate is the gain at the place, or for
near places along the whole path, over the expected steps. On a move-or-stay graph a failed attempt
leaves the explorer where it was, so the way out has no risk; but every state along it must have a
way home within the budgets. `ledger.Ledger` tracks, for each home, the edges that are relied on and
how much of 1 − δ was spent.

A proposal is *free* if the ways home along it add at most `MAX_FREE_SHARE` of each remaining
budget. A larger share costs a toll: the same share of all the gain that is left. Let r be the
highest rate of gain less toll, found by a search outward. That place is compared with the paths of
a beam search nearby, in which no cell counts twice; the largest gain − `BEAM_PRICE`·r·steps wins.
It is held until there is news (observations told more than the floor), until it is done or unsafe,
or until another is better by `SWITCH_MARGIN`. While nothing is learned the rate of the held
proposal rises with every step, so a run makes progress (``docs/theory.md``, section 13). If no such
proposal reaches the floor, the one with the most gain per unit of risk within the budgets is taken.

If each gain comes only once and all will be collected, short tours are best: a gain is divided by
steps to the power `TOUR_POWER`. On the squares of a grid, the first place of the best of
`TOUR_CANDIDATES` free tours nearby is taken and held until news, or until it is done or unsafe.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from homeward.bonuses import LookingBonus, checked_bonus, once
from homeward.planning.choice import ActionFacts, Choice, HomeValue, Limit
from homeward.planning.graph import EVERYWHERE, graph_of
from homeward.planning.held import MAX_FREE_SHARE, Proposal
from homeward.planning.outward import (
    best_per_risk,
    best_rate,
    follow,
    gain_along,
    gain_at,
    look_ahead,
)
from homeward.planning.tours import best_tour
from homeward.planning.ways import MIN_SUCCESS, Edges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray
    from homeward.bonuses import Looks
    from homeward.models import Moves
    from homeward.planning.graph import Graph
    from homeward.planning.held import Account, Held
    from homeward.planning.ledger import Survey
    from homeward.planning.task import Task

MIN_LEFT = 1e-300
"""Smallest remaining budget, to avoid division by 0."""

SWITCH_MARGIN = 0.1
"""Relative excess of another proposal's rate at which it replaces the held one."""

BEAM_PRICE = 0.7
"""Price of a step in the beam search, as a fraction of the best rate."""

BEAM_WIDTH, BEAM_DEPTH = 24, 12
"""Width of the beam search for a view of nine cells, and its depth in steps."""

TOUR_POWER = 4.0
"""Power of steps by which tours divide gains; a high power prefers near places."""

TOUR_CANDIDATES, TOUR_RADIUS = 6, 8.0
"""Number of tours that are compared, and their radius in steps around the first place."""

TOUR_RETURN_PRICE = 0.1
"""Price of each step that is left in a tour when it reaches new ground."""

MAX_TOUR_RISK = 1e-3
"""Tours avoid moves that never work with a higher probability, if there are others."""


class View(NamedTuple):
    """The search problem in the present state.

    Attributes
    ----------
    graph
        The mean graph and its risks.
    edges
        The edges that may be taken.
    state
        Where the explorer is.
    surveys
        The ways home of each ledger.
    share
        Largest share [S] of a remaining budget that a way home from a state would spend.
    whole
        All looks, whatever their risk.
    bonus
        Bonus [S, A] if learning takes an action, 0 if that is not allowed; None otherwise.
    """

    graph: Graph
    edges: Edges
    state: int
    surveys: tuple[Survey, ...]
    share: FloatArray
    whole: Looks
    bonus: FloatArray | None

    def looks(self, most: float) -> Looks:
        """Return the looks that spend at most a share `most` of each remaining budget.

        If learning takes an action, the way home from that action's destination counts.
        """
        if self.bonus is None:
            return self.whole
        return once(np.where(self.share[self.edges.dest] <= most, self.bonus, 0.0))


@dataclass(slots=True, eq=False)
class RateSearch:
    """Finds proposals on a move-or-stay graph."""

    task: Task
    looks_ahead: ClassVar[bool] = True  # whether to compare the best place with near paths
    _bounds: FloatArray | None = None  # [S] upper bounds on gains; kept, since gains only shrink

    def choose(self, belief: Any, model: Moves, state: int, held: Held) -> Choice:
        """Return what to pursue from `state`, and what it costs."""
        ledgers, floor = self.task.ledgers, self.task.floor
        graph = graph_of(belief, model, self.task.planner.correction)
        view = self.view(belief, graph, state, held.accounts)
        remaining = view.whole.total
        now = replace(
            held.at(remaining, floor), accounts=tuple(survey.account for survey in view.surveys)
        )
        found = self.still(held.proposal, view)
        most = MAX_FREE_SHARE if found is None else found.max_share
        if now.idle == 0:  # there was news
            found = None
        if found is None or not view.whole.make_tour:
            other, power = self.best(view), 1.0 if view.whole.logarithmic else TOUR_POWER
            if found is None or (
                other is not None and other.worth(power) > found.worth(power) * (1 + SWITCH_MARGIN)
            ):
                found, most = other, MAX_FREE_SHARE
        limit = Limit(remaining)
        if found is None or found.rate < floor:
            slow = 0.0 if found is None else found.rate
            found, limit = self.risky(view)
            if found is None:  # to report the risk of going on
                _, limit = self.risky(self.view(belief, graph, state, held.accounts, whole=True))
            limit, most = limit._replace(rate=slow), 1.0
        if found is None:
            return Choice(replace(now, proposal=None), limit)
        if "stay" not in model.memo:
            model.memo["stay"] = _stay(model)
        policy = np.full(model.states, model.memo["stay"], np.int32)
        actions, _ = follow(view.edges, np.array(found.path))
        policy[list(found.path[:-1])] = actions
        action = int(actions[0] if len(actions) else view.looks(most).action[state])
        policy[state] = action

        def facts() -> ActionFacts:
            rates = self.rates(view)
            rates[action] = found.rate
            whole = self.view(belief, graph, state, held.accounts, whole=True)
            homes = [np.clip(1.0 - survey.total, 0.0, 1.0) for survey in whole.surveys]
            return ActionFacts(rates, np.array(homes), view.share[model.dest[state]])

        kept = list(zip(ledgers, view.surveys, strict=True))
        paid = tuple(ledger.pay(graph, survey, state, action) for ledger, survey in kept)
        homes = tuple(HomeValue(np.clip(1.0 - s.total, 0.0, 1.0), s.choice) for s in view.surveys)
        return Choice(replace(now, proposal=found), limit, found, policy, paid, homes, facts)

    def view(
        self,
        belief: Any,
        graph: Graph,
        state: int,
        accounts: Sequence[Account],
        *,
        whole: bool = False,
    ) -> View:
        """Return the search problem in `state`, with the ways home within the budgets.

        With `whole`, ways home beyond the budgets are found too.
        """
        surveys = tuple(
            ledger.survey(graph, account, state, whole=whole)
            for ledger, account in zip(self.task.ledgers, accounts, strict=True)
        )
        share = np.zeros(graph.model.states)
        for ledger, survey in zip(self.task.ledgers, surveys, strict=True):
            if survey.lost:
                continue
            needed = survey.added / max(ledger.left(survey.account), MIN_LEFT)
            if ledger.within is not None:
                needed[survey.steps > ledger.within] = np.inf
            np.maximum(share, needed, out=share)
        allowed = EVERYWHERE if self.task.allowed is None else self.task.allowed
        edges, bonus = Edges(graph.model.dest, graph.success, allowed), self.task.planner.bonus
        if isinstance(bonus, LookingBonus):
            return View(graph, edges, state, surveys, share, bonus.looks(belief), None)
        given = checked_bonus(bonus, belief, graph.model.reward)
        masked = np.where(allowed, given, 0.0)
        return View(graph, edges, state, surveys, share, once(given), masked)

    def best(self, view: View) -> Proposal | None:
        """Return the best proposal by gain less toll, near or far."""
        looks, edges, state, share = view.looks(MAX_FREE_SHARE), view.edges, view.state, view.share
        if looks.make_tour:  # first by moves that surely work
            sure = np.where(view.graph.blocked <= MAX_TOUR_RISK, edges.success, 0.0)
            for success in (sure, edges.success):
                path, gain, steps = best_tour(
                    edges._replace(success=success),
                    share,
                    MAX_FREE_SHARE,
                    state,
                    looks,
                    TOUR_POWER,
                    TOUR_CANDIDATES,
                    TOUR_RADIUS,
                    TOUR_RETURN_PRICE,
                )
                if len(path):
                    break
        else:
            if self._bounds is None:
                self._bounds = np.full(len(looks.amount), np.inf)
            power = 1.0 if looks.logarithmic else TOUR_POWER
            toll, extra = view.whole.total, looks.extra_steps
            path, gain, steps = best_rate(
                edges, share, MAX_FREE_SHARE, toll, state, looks, extra, power, self._bounds
            )
        if not len(path):
            return None
        along, price = False, BEAM_PRICE * (gain / steps)
        if self.looks_ahead and looks.logarithmic and gain / steps >= self.task.floor:
            width = max(4, min(BEAM_WIDTH, BEAM_WIDTH * 9 // len(looks.weight)))
            near, told, taken = look_ahead(
                edges, share, MAX_FREE_SHARE, state, looks, price, width, BEAM_DEPTH
            )
            if len(near) > 1 and told - price * taken > gain - price * steps:
                path, gain, steps, along = near, told, taken, True
        return Proposal(tuple(path.tolist()), gain, steps, float(share[path].max()), along)

    def risky(self, view: View) -> tuple[Proposal | None, Limit]:
        """Return the affordable proposal with the most gain per unit of risk, or why not."""
        remaining, share = view.whole.total, view.share
        for looks in (view.looks(1.0), view.looks(np.inf)):
            path, gain, steps, risk, over, over_gain = best_per_risk(
                view.edges, share, self.task.floor, view.state, looks, looks.extra_steps
            )
            if not len(path) and over < np.inf:
                return None, Limit(remaining, over_gain, over)
            if len(path) and looks.extra_steps:
                target = path[-1]
                there = share[view.edges.dest[target, looks.action[target]]]
                if there > 1.0:  # the place can be afforded, the action there can't
                    return None, Limit(remaining, gain, float(there))
                risk = max(risk, there)
            if len(path):
                found = Proposal(tuple(path.tolist()), gain, steps, float(risk))
                return found, Limit(remaining, over_gain, over)
        return None, Limit(remaining)

    def still(self, held: Proposal | None, view: View) -> Proposal | None:
        """Return the held proposal, updated; None if it is done, unsafe or below the floor."""
        if held is None or view.state not in held.path[1:]:
            return None
        most = held.max_share
        path, looks = held.path[held.path.index(view.state, 1) :], view.looks(most)
        steps = looks.extra_steps
        if len(path) == 1 and steps == 0.0:
            return None
        legs = np.array(path)
        _, success = follow(view.edges, legs)
        if np.any(success < MIN_SUCCESS) or np.any(view.share[legs[1:]] > most):
            return None
        for p in success.tolist():
            steps += 1.0 / p
        if held.along:
            gain = gain_along(legs, looks)
        else:
            gain = gain_at(path[-1], looks, np.zeros(len(looks.amount)))
        now = Proposal(path, gain, steps, held.share, held.along)
        return now if gain >= self.task.floor * steps else None

    def rates(self, view: View) -> FloatArray:
        """Return the best rate [A] of a free place by first action; 0 if there is none."""
        looks, found = view.looks(MAX_FREE_SHARE), np.zeros(view.edges.dest.shape[1])
        for a, there in enumerate(view.edges.dest[view.state].tolist()):
            p = view.edges.success[view.state, a]
            if p >= MIN_SUCCESS and there != view.state and view.share[there] <= 1.0:
                bounds, extra = np.full(len(looks.amount), np.inf), looks.extra_steps + 1.0 / p
                free, toll = MAX_FREE_SHARE, looks.total
                _, gain, steps = best_rate(
                    view.edges, view.share, free, toll, there, looks, extra, 1.0, bounds
                )
                found[a] = gain / steps
        return found


def _stay(model: Moves) -> int:
    """Return an action that stays in every state; 0 if there is none."""
    stays = (model.dest == np.arange(model.states)[:, None]).all(axis=0)
    return int(stays.argmax()) if stays.any() else 0
