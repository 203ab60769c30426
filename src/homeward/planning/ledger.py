"""The budget of a whole run: which edges its way home relies on, and what has been spent.

At any time the run relies on a set E of edges that contains a way home from the current state. Let
Y = Pr(every edge of E works | observations). Adding edges costs the probability that one of them
never works, at most the sum of ``blocked`` over them; dropping edges costs nothing. With c the cost
of a step, known before it, E[Y after the step | observations] ≥ Y − c. So Y plus what was spent is
a submartingale. If at most 1 − δ is ever spent, E[Y] ≥ δ at any stopping time of the observations
at which the run is called off (``docs/theory.md``, section 11).

E is stored as one action per state, ``way`` [S]. Ways home are found on the graph in which edges of
E are free. If an edge of the held way has become doubtful (bad news), another way replaces it if
that costs nothing or the budget allows it.

Where the belief knows how likely edges work *together* (`beliefs.joint`), Y itself is known. Then a
step from E to E' costs Pr(E works) − Pr(E' works), given the observations: E[Y after the step] is
the second of them. Doubtful edges that are not on the held way are dropped first, at no cost.

If home must be reached within a number of steps, only the first attempt of an edge counts:
Y = E[Π P over E | observations], an edge adds 1 − E[P], and a way has as many steps as edges. The
same proof holds for this Y, also if moves fail at random within a world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homeward.arrays import frozen
from homeward.beliefs.joint import MoveSets, lost_by_adding, work_together
from homeward.planning.graph import ways_home, with_way
from homeward.planning.held import Account

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.planning.graph import Graph

BUDGET_TOLERANCE = 1e-9
"""Probability that may be spent beyond 1 − δ: an allowance for rounding."""

MAX_TRUSTED_SHARE = 0.1
"""Share of what is left: up to this risk, an edge that was paid for stays free."""


class Survey(NamedTuple):
    """The ways home from everywhere, as a ledger sees them."""

    account: Account  # what is held, after bad news has been dealt with
    left: float  # probability that may still be spent
    lost: bool  # whether there is surely no way home left
    graph: Graph  # the graph, with the risks that count for this ledger
    free: IntArray  # edges [S] that can be used at no charge
    added: FloatArray  # risk [S] that the best way home would add; infinite where there is none
    total: FloatArray  # its risk [S] with the edges that are relied on already
    steps: FloatArray  # its expected steps [S]
    choice: IntArray  # its first action [S]; −1 at home and where there is no way

    @property
    def value(self) -> FloatArray:
        """Lower bound [S] on the probability of coming home."""
        return np.clip(1.0 - self.total, 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """Keeps one home reachable with probability `delta` over a whole run."""

    name: str
    homes: IntArray  # home states [n]; any of them will do
    delta: float  # safety level δ
    within: int | None = None  # steps that a way home may take; None for any number

    @property
    def budget(self) -> float:
        """The probability that a run may spend."""
        return 1.0 - self.delta + BUDGET_TOLERANCE

    def open(self, graph: Graph, state: int, belief: Any = None) -> Account:
        """Return the first account of a run that starts in `state`: it pays for a way home."""
        if self.within is not None:
            graph = first_attempts(graph)
        way, _, risk = self._new_way(graph, state)
        if 0.0 < risk < np.inf:
            risk = min(risk, 1.0 - self.bounds(belief, graph, way)[0][0])
        return Account(way, min(1.0, risk))

    def survey(
        self, graph: Graph, account: Account, state: int, belief: Any = None, *, whole: bool = False
    ) -> Survey:
        """Find the ways home; if the held one has become doubtful, look for a better one.

        Ways that cost more than the remaining budget are left out, unless `whole`. A `belief` that
        knows how likely edges work together makes charges smaller.
        """
        limited, lost = self.within is not None, False
        if limited:
            graph = first_attempts(graph)
        for known in (False, True):
            left = max(0.0, self.budget - account.spent)
            trusted = MAX_TRUSTED_SHARE * left
            most = self.budget if limited else 1.0 if whole or lost else left
            free, risk, worst, added, total, steps, choice = ways_home(
                graph, account.way, trusted, self.homes, state, most, limited
            )
            survey = Survey(account, left, lost, graph, free, added, total, steps, choice)
            if known or risk <= trusted:
                break
            account, lost = self._after_bad_news(survey, state, risk, worst, belief)
            if account is survey.account and not lost:
                break
        return survey

    def pay(self, survey: Survey, state: int, action: int, belief: Any = None) -> Account:
        """Return the account after an action: the way home from its destination may add edges."""
        account, there = survey.account, int(survey.graph.dest[state, action])
        if survey.lost or there == state:
            return account
        ways = account.way, survey.free, survey.choice
        way, cost = with_way(survey.graph, *ways, self.homes, there)
        if 0.0 < cost < np.inf:
            way, cost = self._sharper(survey, there, survey.choice, belief, way, cost)
        return Account(frozen(way), min(1.0, account.spent + cost))

    def value(self, survey: Survey, state: int, belief: Any) -> FloatArray:
        """Return the survey's lower bounds [S] on coming home, sharper in `state`."""
        nothing = np.full_like(survey.free, -1)
        way, risk = with_way(survey.graph, nothing, nothing, survey.choice, self.homes, state)
        value = survey.value
        if risk < np.inf:
            value[state] = max(value[state], self.bounds(belief, survey.graph, way)[0][0])
        return value

    def bounds(
        self, belief: Any, graph: Graph, *ways: IntArray
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return bounds (low, high) on the probability that all edges of each way [S] work.

        They are 0 and 1 if the belief does not know how likely edges work together.
        """
        found = work_together(belief, _sets(graph, ways)) if self._is_sure(belief) else None
        if found is None:
            return (0.0,) * len(ways), (1.0,) * len(ways)
        return tuple(found.low.tolist()), tuple(found.high.tolist())

    def _is_sure(self, belief: Any) -> bool:
        """Return whether an edge that ever works does so in time."""
        return self.within is None or getattr(belief, "moves_work_or_never", False)

    def _sharper(
        self,
        survey: Survey,
        state: int,
        choice: IntArray,
        belief: Any,
        way: IntArray,
        cost: float,
    ) -> tuple[IntArray, float]:
        """Return the way [S] and the cost of adding `choice` [S] from `state` to what is free.

        Both are as given unless the probability that all edges work says that it costs less.
        """
        free = survey.free
        other, _ = with_way(survey.graph, free, free, choice, self.homes, state)
        if not self._is_sure(belief):
            return way, cost
        exact = lost_by_adding(belief, _sets(survey.graph, (free, other)))
        return (other, exact) if exact < cost else (way, cost)

    def _after_bad_news(
        self, survey: Survey, state: int, held: float, worst: float, belief: Any
    ) -> tuple[Account, bool]:
        """Return the account with another way home if that is better, and whether all are lost.

        Two charges are valid. Keeping the held edges and adding the new way's costs the sum of the
        added risks. Relying on the new way alone costs the difference of the bounds: the new way
        works with probability ≥ 1 − risk, the old one with probability ≤ 1 − `worst`. A risk of 1
        or more does not prove that a way is lost; an edge that surely never works does.
        """
        account = survey.account
        new, choice, risk = self._new_way(survey.graph, state)
        if risk >= 1.0 and worst >= 1.0:
            return account, True
        if risk >= held:
            return account, False
        both, adding = with_way(survey.graph, account.way, survey.free, choice, self.homes, state)
        both, adding = self._sharper(survey, state, choice, belief, both, adding)
        low, high = self.bounds(belief, survey.graph, survey.free, new)
        alone = max(0.0, min(risk - worst, high[0] - low[1]))
        if min(adding, alone) > survey.left:
            return account, False
        way, cost = (frozen(both), adding) if adding <= alone else (new, alone)
        return Account(way, min(1.0, account.spent + cost)), False

    def _new_way(self, graph: Graph, state: int) -> tuple[IntArray, IntArray, float]:
        """Return the best way home [S] from a state, all best first actions [S], and its risk.

        No edge is relied on yet. The risk is infinite if the way takes more than `within` steps.
        """
        nothing: IntArray = frozen(np.full(len(graph.dest), -1, np.int32))
        limited = self.within is not None
        most = self.budget if limited else 1.0
        *_, total, steps, choice = ways_home(graph, nothing, 0.0, self.homes, state, most, limited)
        if self.within is not None and steps[state] > self.within:
            return nothing, choice, np.inf
        way, _ = with_way(graph, nothing, nothing, choice, self.homes, state)
        return frozen(way), choice, float(total[state])


def _sets(graph: Graph, ways: Sequence[IntArray]) -> MoveSets:
    """Return the doubtful edges of each way [S] as sets of moves."""
    edges = [np.flatnonzero((w >= 0) & (graph.blocked[np.arange(len(w)), w] > 0.0)) for w in ways]
    states = np.concatenate(edges)
    actions = np.concatenate([w[e] for w, e in zip(ways, edges, strict=True)])
    first = np.cumsum([0, *map(len, edges)])
    return MoveSets(first, states.astype(np.int64), actions.astype(np.int64))


def first_attempts(graph: Graph) -> Graph:
    """Return the graph on which only first attempts count."""
    moves = graph.dest != np.arange(len(graph.dest))[:, None]
    failed = np.where(moves, 1.0 - graph.success, 0.0)
    return graph._replace(success=frozen(np.ones_like(failed)), blocked=frozen(failed))
