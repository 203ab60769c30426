"""Plans until the next news: the most information per step among what keeps a way home.

A *proposal* is a place worth looking at and a way there. Its worth is its rate: what is learned at
the place, or for near places along the whole path, over the expected steps. On a move-or-stay graph
an attempt that fails leaves the explorer where it was, so the way out risks nothing; what must hold
is that from every state along it a way home exists that can be afforded. `ledger.Ledger` keeps, for
each home, the edges that are relied on and what has been spent of 1 − δ.

*Free* is a proposal whose ways home add at most `FREE` of what is left of each budget anywhere on
the way. What it adds beyond that is paid for in proportion: a share of what is left costs that
share of all that is left to learn. The highest rate r of gains less that toll, found by a search
that goes outward, sets the price of a step: of that place and of the paths of a beam search nearby,
in which no cell tells the same twice, the one with the largest gain − `PRICE`·r·steps is taken. It
is held until news comes, a look that told more than the floor; until it is done or unsafe; or until
another is worth more by `MARGIN`. While nothing is learned the worth of what is held rises with
every step, so a run gets on (``docs/theory.md``, section 13). Where no such proposal reaches the
floor, the one with the most gain per unit of risk is taken, as far as the budgets go.

Gains that come once are all to be had in the end, so what counts is a short tour: a gain is divided
by steps to the power `NEAREST`. For the squares of a grid the first place of the best of `TOURS`
free tours nearby is taken, and it is held until news comes, or until it is done or unsafe.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homeward.bonuses import LookingBonus, checked_bonus, looks_of, once
from homeward.planning.held import Held, Proposal
from homeward.planning.outward import best_per_risk, best_rate, gain_along, gain_at, look_ahead
from homeward.planning.tours import best_tour
from homeward.planning.ways import LEAST_SUCCESS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.bonuses import Bonus, Looks
    from homeward.planning.held import Account
    from homeward.planning.ledger import Graph, Ledger, Survey

FREE = 1e-3
"""Share of what is left of a budget that may be added anywhere on a way at no toll."""

MARGIN = 0.1
"""By how much the rate of another proposal must be higher for the held one to be given up."""

PRICE = 0.7
"""Price of a step for near paths, in units of the best rate."""

NEAREST = 4.0
"""Power of steps by which tours divide gains, so that they take near places first."""

TOURS, RADIUS = 6, 8.0
"""Tours that are compared, and how many steps beyond their first place they plan for."""

PATIENCE = 0.1
"""Price of a step that a tour leaves for after it has come to new ground."""

DOUBT = 1e-3
"""Moves with a higher probability of never working are left out of tours while others are left."""

BEAM, DEPTH = 24, 12
"""Paths that a beam search keeps, for a view of nine cells, and its length in steps."""

EVERYWHERE = np.ones((1, 1), dtype=bool)
"""Mask that allows every edge."""


class Limit(NamedTuple):
    """Why a run does not go on.

    Attributes
    ----------
    left
        What could still be learned somewhere.
    gain
        What the place of least risk outside the budget would tell; 0 if there is none.
    share
        The share of what is left of a budget that it would take, above 1; infinite if none.
    rate
        The best gain per step that is free but below the floor; 0 if there is none.
    """

    left: float
    gain: float
    share: float
    rate: float = 0.0


class Choice(NamedTuple):
    """What a search chose, and what it found on the way.

    Attributes
    ----------
    proposal
        What to pursue; None where nothing is worth it.
    surveys
        The ways home, one for each ledger.
    limit
        What is left where there is no proposal.
    remaining
        What could still be learned.
    learning
        The action by which the place tells, where the explorer is there; None before.
    """

    proposal: Proposal | None
    surveys: tuple[Survey, ...]
    limit: Limit
    remaining: float
    learning: int | None


@dataclass(slots=True, eq=False)
class RateSearch:
    """Finds proposals on a move-or-stay graph.

    Attributes
    ----------
    bonus
        What is worth seeing.
    ledgers
        The homes to be kept, each with its budget.
    allowed
        Mask [S, A] of the edges that may be taken; None allows all.
    floor
        Gain per step below which nothing is worth doing, above 0.
    """

    bonus: Bonus
    ledgers: tuple[Ledger, ...]
    allowed: BoolArray | None
    floor: float
    _bounds: FloatArray | None = None  # [S] upper bounds on gains, from earlier searches
    _steps_power: float = 1.0  # of the last search

    def choose(self, belief: Any, graph: Graph, state: int, held: Held) -> Choice:
        """Return what to pursue from `state`."""
        surveys = self.survey(graph, state, held.accounts)
        share = self.share(graph, surveys)
        whole = looks_of(self.bonus, belief, graph.model.reward)
        looks = self._affordable(belief, graph, share, whole)
        remaining, most = whole.total, FREE
        found = self._still(held.proposal, graph, state, share, looks)
        if found is not None:
            most = _most(found)
        if held.has_news(remaining, self.floor):
            found = None
        if found is None or not _is_tour(whole):
            other = self.best(graph, state, share, looks(FREE), remaining)
            if found is None or (
                other is not None and self._worth(other) > self._worth(found) * (1 + MARGIN)
            ):
                found, most = other, FREE
        limit = Limit(remaining, 0.0, np.inf)
        if found is None or found.rate < self.floor:
            slow = 0.0 if found is None else found.rate
            found, limit = self._risky(graph, state, share, looks, remaining)
            if found is None:  # say what going on would cost
                beyond = self.share(graph, self.survey(graph, state, held.accounts, whole=True))
                looks = self._affordable(belief, graph, beyond, whole)
                _, limit = self._risky(graph, state, beyond, looks, remaining)
            limit, most = limit._replace(rate=slow), 1.0
        learning, action = None, looks(most).action
        if found is not None and len(found.path) == 1 and action is not None:
            learning = int(action[state])
        return Choice(found, surveys, limit, remaining, learning)

    def survey(
        self, graph: Graph, state: int, accounts: Sequence[Account], *, whole: bool = False
    ) -> tuple[Survey, ...]:
        """Return the ways home that each ledger sees: what can be paid for, or the `whole` map."""
        return tuple(
            ledger.survey(graph, account, state, whole=whole)
            for ledger, account in zip(self.ledgers, accounts, strict=True)
        )

    def share(self, graph: Graph, surveys: Sequence[Survey]) -> FloatArray:
        """Return the share [S] of what is left that a way home from a state would take, at most."""
        share = np.zeros(graph.model.states)
        for ledger, survey in zip(self.ledgers, surveys, strict=True):
            if survey.lost:
                continue
            left = max(ledger.left(survey.account), 1e-300)
            needed = survey.added / left
            if ledger.within is not None:
                needed[survey.steps > ledger.within] = np.inf
            np.maximum(share, needed, out=share)
        return share

    def rates(self, belief: Any, graph: Graph, state: int, share: FloatArray) -> FloatArray:
        """Return the best rate [A] of a free place by each first action; 0 where there is none."""
        whole = looks_of(self.bonus, belief, graph.model.reward)
        looks = self._affordable(belief, graph, share, whole)(FREE)
        extra, found = _extra(looks), np.zeros(graph.model.actions)
        for a, there in enumerate(graph.model.dest[state].tolist()):
            p = graph.success[state, a]
            if p >= LEAST_SUCCESS and there != state and share[there] <= 1.0:
                bounds = np.full(len(looks.amount), np.inf)
                _, gain, steps, _ = best_rate(
                    graph.model.dest,
                    graph.success,
                    self._edges(),
                    share,
                    FREE,
                    looks.total,
                    there,
                    *_view(looks),
                    extra + 1.0 / p,
                    1.0,
                    bounds,
                )
                found[a] = gain / steps
        return found

    def gain(self, target: int, looks: Looks) -> float:
        """Return what a look from a place tells."""
        return float(gain_at(target, *_view(looks), np.zeros(len(looks.amount))))

    def best(
        self, graph: Graph, state: int, share: FloatArray, looks: Looks, remaining: float
    ) -> Proposal | None:
        """Return the best proposal that is free or risks in proportion, near or far."""
        far = self.far(graph, state, share, looks, remaining)
        if far is None or not looks.logarithmic or far.rate < self.floor:
            return far
        price = PRICE * far.rate
        width = max(4, min(BEAM, BEAM * 9 // len(looks.weight)))
        near, gain, steps = look_ahead(
            graph.model.dest,
            graph.success,
            self._edges(),
            share <= FREE,
            state,
            *_view(looks),
            price,
            width,
            DEPTH,
        )
        if len(near) == 1 or gain - price * steps <= far.gain - price * far.steps:
            return far
        states = tuple(near.tolist())
        return Proposal(states, gain, steps, float(share[list(states)].max()), along=True)

    def far(
        self, graph: Graph, state: int, share: FloatArray, looks: Looks, remaining: float
    ) -> Proposal | None:
        """Return the place with the highest rate, or the first one of the shortest tour."""
        if _is_tour(looks):
            return self._first_of_tour(graph, state, share, looks)
        target, gain, steps, before = best_rate(
            graph.model.dest,
            graph.success,
            self._edges(),
            share,
            FREE,
            remaining,
            state,
            *_view(looks),
            _extra(looks),
            self._power(looks),
            self._upper_bounds(looks),
        )
        if target < 0:
            return None
        path = path_to(before, state, target)
        return Proposal(path, gain, steps, float(share[list(path)].max()))

    def _first_of_tour(
        self, graph: Graph, state: int, share: FloatArray, looks: Looks
    ) -> Proposal | None:
        """Return the free place with which the best tour begins, by sure moves if there are any."""
        sure = np.where(graph.blocked <= DOUBT, graph.success, 0.0)
        shape, down, right, weight, amount, _ = _view(looks)
        for success in (sure, graph.success):
            target, gain, steps, before = best_tour(
                graph.model.dest,
                success,
                self._edges(),
                share <= FREE,
                state,
                shape,
                down,
                right,
                weight,
                amount,
                _extra(looks),
                NEAREST,
                TOURS,
                RADIUS,
                PATIENCE,
            )
            if target >= 0:
                path = path_to(before, state, target)
                return Proposal(path, gain, steps, float(share[list(path)].max()))
        return None

    def _risky(
        self,
        graph: Graph,
        state: int,
        share: FloatArray,
        looks: Callable[[float], Looks],
        remaining: float,
    ) -> tuple[Proposal | None, Limit]:
        """Return the affordable proposal with the most gain per unit of risk, or why none is."""
        dest = graph.model.dest
        for view in (looks(1.0), looks(np.inf)):
            target, gain, steps, risk, before, over, over_gain = best_per_risk(
                dest,
                graph.success,
                self._edges(),
                share,
                self.floor,
                state,
                *_view(view),
                _extra(view),
            )
            if target < 0 and over < np.inf:
                return None, Limit(remaining, over_gain, over)
            if target >= 0 and view.action is not None:
                there = share[dest[target, view.action[target]]]
                if there > 1.0:  # the place can be afforded, what would be done there can't
                    return None, Limit(remaining, gain, float(there))
                risk = max(risk, there)
            if target >= 0:
                path = path_to(before, state, target)
                return Proposal(path, gain, steps, float(risk)), Limit(remaining, over_gain, over)
        return None, Limit(remaining, 0.0, np.inf)

    def _still(
        self,
        held: Proposal | None,
        graph: Graph,
        state: int,
        share: FloatArray,
        within: Callable[[float], Looks],
    ) -> Proposal | None:
        """Return the held proposal as it is now; None if it is done, unsafe or worth too little."""
        if held is None or state not in held.path[1:]:
            return None
        most = _most(held)
        path, looks = held.path[held.path.index(state, 1) :], within(most)
        steps = extra = _extra(looks)
        if len(path) == 1 and extra == 0.0:
            return None
        for s, t in pairwise(path):
            a = move_to(graph, s, t, self.allowed)
            p = 0.0 if a < 0 else graph.success[s, a]
            if p < LEAST_SUCCESS or share[t] > most:
                return None
            steps += 1.0 / p
        if held.along:
            gain = float(gain_along(np.array(path), *_view(looks)))
        else:
            gain = self.gain(path[-1], looks)
        now = Proposal(path, gain, steps, held.share, held.along)
        return now if gain >= self.floor * steps else None

    def _affordable(
        self, belief: Any, graph: Graph, share: FloatArray, whole: Looks
    ) -> Callable[[float], Looks]:
        """Return the looks by what they may add: a share `most` of what is left of a budget.

        Where learning takes an action, that action leads on: it counts if it is allowed and the way
        home from where it leads can be afforded. `whole` are the looks without such a limit.
        """
        if isinstance(self.bonus, LookingBonus):
            return lambda most: whole
        bonus = np.where(self._edges(), checked_bonus(self.bonus, belief, graph.model.reward), 0.0)
        needed = share[graph.model.dest]
        return lambda most: once(np.where(needed <= most, bonus, 0.0))

    def _power(self, looks: Looks) -> float:
        """Return the power of steps that gains are divided by."""
        self._steps_power = 1.0 if looks.logarithmic else NEAREST
        return self._steps_power

    def _worth(self, proposal: Proposal) -> float:
        return float(proposal.gain / proposal.steps**self._steps_power)

    def _edges(self) -> BoolArray:
        return EVERYWHERE if self.allowed is None else self.allowed

    def _upper_bounds(self, looks: Looks) -> FloatArray:
        """Return upper bounds [S] on logarithmic gains; they only shrink, so old ones serve."""
        if self._bounds is None:
            self._bounds = np.full(len(looks.amount), np.inf)
        return self._bounds


def _most(held: Proposal) -> float:
    """Return the share of what is left of a budget that a held proposal may come to add."""
    return min(1.0, max(FREE, 1.25 * held.share))


def move_to(graph: Graph, state: int, there: int, allowed: BoolArray | None = None) -> int:
    """Return the likeliest allowed action from a state to a neighbour; −1 if there is none."""
    leads = graph.model.dest[state] == there
    ways = np.flatnonzero(leads if allowed is None else leads & allowed[state])
    return int(ways[graph.success[state, ways].argmax()]) if len(ways) else -1


def _is_tour(looks: Looks) -> bool:
    """Tell whether places are to be visited in a short tour: each tells of several cells, once."""
    return not looks.logarithmic and looks.action is None


def _view(
    looks: Looks,
) -> tuple[tuple[int, int], IntArray, IntArray, FloatArray, FloatArray, bool]:
    return looks.shape, looks.down, looks.right, looks.weight, looks.amount, looks.logarithmic


def _extra(looks: Looks) -> float:
    """Return the steps that learning takes after arrival."""
    return 0.0 if looks.action is None else 1.0


def path_to(before: IntArray, state: int, target: int) -> tuple[int, ...]:
    """Return the states from `state` to `target`, both included, by the predecessors [S]."""
    path = [target]
    while path[-1] != state:
        path.append(int(before[path[-1]]))
    return tuple(reversed(path))
