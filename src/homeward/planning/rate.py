"""Plans until the next news: the most information per step among what keeps a way home.

A *proposal* is a place worth looking at and a way there. Its worth is its rate: what is learned at
the place, or for near places along the whole path, over the expected steps. On a move-or-stay graph
an attempt that fails leaves the explorer where it was, so the way out risks nothing; what must hold
is that from every state along it a way home exists that can be afforded. `ledger.Ledger` keeps, for
each home, the edges that are relied on and what has been spent of 1 − δ.

*Free* proposals come first, those whose ways home add at most `FREE` of what is left of each budget
anywhere on the way. Among them the highest rate r, found by a search that goes outward, sets the
price of a step: of that place and of the paths of a beam search nearby, in which no cell tells the
same twice, the one with the largest gain − `PRICE`·r·steps is taken. It is held until news comes, a
look that told more than the floor; until it is done or unsafe; or until another has a rate higher
by `MARGIN`. Gains that come once, like the squares of a grid, are all to be had in the end: there a
short tour counts, and gain over steps to the power `NEAREST` takes the place of the rate. While
nothing is learned the worth of what is held rises with every step, so no state comes back
(``docs/theory.md``, section 12). Where no free proposal reaches the floor, the one with the most
gain per unit of risk is taken, as far as the budgets go.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homeward.bonuses import LookingBonus, checked_bonus, looks_of, once
from homeward.planning.held import Held, Proposal
from homeward.planning.ways import LEAST_SUCCESS, best_per_risk, best_rate, gain_at, look_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.bonuses import Bonus, Looks
    from homeward.planning.held import Account
    from homeward.planning.ledger import Graph, Ledger, Survey

FREE = 1e-3
"""Share of what is left of a budget that a free proposal may add anywhere on its way."""

MARGIN = 0.1
"""By how much the rate of another proposal must be higher for the held one to be given up."""

PRICE = 0.7
"""Price of a step for near paths, in units of the best rate."""

NEAREST = 4.0
"""Power of steps by which gains are divided that come once: near ones first, for a short tour."""

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
    """

    left: float
    gain: float
    share: float


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
    _steps_power: float = 1.0

    def choose(self, belief: Any, graph: Graph, state: int, held: Held) -> Choice:
        """Return what to pursue from `state`."""
        surveys = self.survey(graph, state, held.accounts)
        share = self.share(graph, surveys)
        whole = looks_of(self.bonus, belief, graph.model.reward)
        looks = self._affordable(belief, graph, share, whole)
        remaining, most = whole.total, FREE
        found = self._free(graph, state, share, looks(FREE))
        kept = self._still(held.proposal, graph, state, share, looks)
        news = held.has_news(remaining, self.floor)
        if (
            kept is not None
            and not news
            and (found is None or self._worth(found) <= self._worth(kept) * (1 + MARGIN))
        ):
            found, most = kept, _most(kept)
        limit = Limit(remaining, 0.0, np.inf)
        if found is None or found.rate < self.floor:
            found, limit = self._risky(graph, state, share, looks, remaining)
            most = 1.0
        learning, action = None, looks(most).action
        if found is not None and len(found.path) == 1 and action is not None:
            learning = int(action[state])
        return Choice(found, surveys, limit, remaining, learning)

    def survey(self, graph: Graph, state: int, accounts: Sequence[Account]) -> tuple[Survey, ...]:
        """Return the ways home that each ledger sees."""
        return tuple(
            ledger.survey(graph, account, state)
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
            if p >= LEAST_SUCCESS and there != state and share[there] <= FREE:
                bounds = np.full(len(looks.amount), np.inf)
                _, gain, steps, _ = best_rate(
                    graph.model.dest,
                    graph.success,
                    self._edges(),
                    share <= FREE,
                    there,
                    *_view(looks),
                    extra + 1.0 / p,
                    1.0,
                    bounds,
                )
                found[a] = gain / steps
        return found

    def _free(self, graph: Graph, state: int, share: FloatArray, looks: Looks) -> Proposal | None:
        """Return the best free proposal, near or far."""
        dest, success, view = graph.model.dest, graph.success, _view(looks)
        allowed, extra = self._edges(), _extra(looks)
        reachable = share <= FREE
        bounds = self._upper_bounds(looks)
        target, gain, steps, before = best_rate(
            dest, success, allowed, reachable, state, *view, extra, self._power(looks), bounds
        )
        if target < 0:
            return None
        path = _path(before, state, target)
        far = Proposal(path, gain, steps, float(share[list(path)].max()))
        price = PRICE * far.rate
        if not looks.logarithmic or far.rate < self.floor:
            return far
        width = max(4, min(BEAM, BEAM * 9 // len(looks.weight)))
        near, gain, steps = look_ahead(
            dest, success, allowed, reachable, state, *view, price, width, DEPTH
        )
        if len(near) == 1 or gain - price * steps <= far.gain - price * far.steps:
            return far
        states = tuple(near.tolist())
        return Proposal(states, gain, steps, float(share[list(states)].max()))

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
                path = _path(before, state, target)
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
            p = graph.success[s, move_to(graph, s, t)]
            if p < LEAST_SUCCESS or share[t] > most:
                return None
            steps += 1.0 / p
        gain = gain_at(path[-1], *_view(looks), np.zeros(graph.model.states))
        return Proposal(path, gain, steps, held.share) if gain >= self.floor * steps else None

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
        """Return upper bounds [S] on gains; logarithmic ones only shrink, so old ones serve."""
        if not looks.logarithmic:
            return np.full(len(looks.amount), np.inf)
        if self._bounds is None:
            self._bounds = np.full(len(looks.amount), np.inf)
        return self._bounds


def _most(held: Proposal) -> float:
    """Return the share of what is left of a budget that a held proposal may come to add."""
    return min(1.0, max(FREE, 1.25 * held.share))


def move_to(graph: Graph, state: int, there: int) -> int:
    """Return the likeliest action from a state to a neighbour."""
    ways = np.flatnonzero(graph.model.dest[state] == there)
    return int(ways[graph.success[state, ways].argmax()])


def _view(
    looks: Looks,
) -> tuple[tuple[int, int], IntArray, IntArray, FloatArray, FloatArray, bool]:
    return looks.shape, looks.down, looks.right, looks.weight, looks.amount, looks.logarithmic


def _extra(looks: Looks) -> float:
    """Return the steps that learning takes after arrival."""
    return 0.0 if looks.action is None else 1.0


def _path(before: IntArray, state: int, target: int) -> tuple[int, ...]:
    path = [target]
    while path[-1] != state:
        path.append(int(before[path[-1]]))
    return tuple(reversed(path))
