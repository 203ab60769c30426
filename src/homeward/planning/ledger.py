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

Limits. A way home may be limited in steps or in other amounts that attempts use, such as metres or
energy; some limits are for the return alone, others for the whole run, so that a way home has what
the run has not used yet. Then only the first attempt of an edge counts: Y = E[Π P over E |
observations], an edge adds 1 − E[P], and a way uses what its edges use. The same proof holds for
this Y, also if moves fail at random within a world: before each step it is checked that the held
way is within the limits whether the attempt works or fails. Where the attempt is the first edge of
the held way itself, a failure has been paid for and is not checked. The way of least risk is
preferred; where it exceeds a limit, the one that uses least is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homeward.arrays import frozen
from homeward.beliefs.joint import MoveSets, lost_by_adding, work_together
from homeward.planning.graph import (
    MIN_SUCCESS,
    NO_REACH,
    Reach,
    used_by,
    ways_home,
    with_way,
)
from homeward.planning.held import Account

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.planning.graph import Graph

BUDGET_TOLERANCE = 1e-9
"""Probability that may be spent beyond 1 − δ: an allowance for rounding."""

REACH_TOLERANCE = 1e-9
"""Allowance for rounding, relative to what is left of a limit."""

MAX_TRUSTED_SHARE = 0.1
"""Share of what is left: up to this risk, an edge that was paid for stays free."""


class Ways(NamedTuple):
    """A way home from each state, by one return policy."""

    added: FloatArray  # risk [S] that the way would add; infinite where there is none
    total: FloatArray  # its risk [S] with the edges that are relied on already
    steps: FloatArray  # its expected steps [S]; with limits, shares of what is left
    choice: IntArray  # its first action [S]; −1 at home and where there is no way
    need: FloatArray  # what it uses of each limited amount [K, S]

    @property
    def value(self) -> FloatArray:
        """Lower bound [S] on the probability of coming home."""
        return np.clip(1.0 - self.total, 0.0, 1.0)

    def kept_to(self, left: FloatArray) -> Ways:
        """Return the ways with an infinite risk where they use more than is `left` [K]."""
        fits = (self.need <= _allowed(left)[:, None]).all(axis=0)
        return self._replace(added=np.where(fits, self.added, np.inf))


class Survey(NamedTuple):
    """The ways home from everywhere, as a ledger sees them."""

    account: Account  # what is held, after bad news has been dealt with
    left: float  # probability that may still be spent
    lost: bool  # whether there is surely no way home left
    graph: Graph  # the graph, with the risks that count for this ledger
    free: IntArray  # edges [S] that can be used at no charge
    safest: Ways  # the ways that add the least risk, within the limits
    shortest: Ways | None = None  # the ways that use least, where a limit may need them

    @property
    def added(self) -> FloatArray:
        """Risk [S] that the better way would add; infinite where there is none."""
        if self.shortest is None:
            return self.safest.added
        return np.minimum(self.safest.added, self.shortest.added)

    @property
    def need(self) -> FloatArray:
        """What the better way uses of each limited amount [K, S]."""
        if self.shortest is None:
            return self.safest.need
        safer = self.safest.added <= self.shortest.added
        return np.where(safer, self.safest.need, self.shortest.need)

    def ways_from(self, state: int) -> Ways:
        """Return the ways of the policy that is better in `state`."""
        other = self.shortest
        if other is None or self.safest.added[state] <= other.added[state]:
            return self.safest
        return other


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """Keeps one home reachable with probability `delta` over a whole run."""

    name: str
    homes: IntArray  # home states [n]; any of them will do
    delta: float  # safety level δ
    within: int | None = None  # steps that a way home may take; None for any number
    limits: Limits | None = None  # amounts that the whole run may use, the way home included

    @property
    def is_limited(self) -> bool:
        """Whether first attempts alone count, since a way home has a limit."""
        return self.within is not None or self.limits is not None

    def reach(self, shape: tuple[int, ...], account: Account) -> Reach:
        """Return what attempts use, for a graph of `shape` (S, A), and what is left of it.

        Amounts of the whole run come first, then the steps of the return.
        """
        if self.limits is None:
            one = frozen(np.ones((1, *shape)))
            steps = frozen(np.array([float(self.within or 0)]))
            return NO_REACH._replace(use=one, lost=one, left=steps)
        left = self.limits.amount.copy()
        left[: len(account.used)] -= account.used
        return NO_REACH._replace(use=self.limits.use, lost=self.limits.lost, left=frozen(left))

    def attempted(self, account: Account, state: int, action: int, worked: bool) -> Account:
        """Return the account with what an attempt used."""
        if self.limits is None:
            return account
        each = (self.limits.use if worked else self.limits.lost)[: self.limits.count]
        used = zip(account.used, each[:, state, action].tolist(), strict=True)
        return replace(account, used=tuple(before + more for before, more in used))

    def outward(self, survey: Survey) -> Reach:
        """Return the limits of the whole run for a search outward; none if there are none."""
        if self.limits is None:
            return NO_REACH
        reach, n = survey.graph.reach, self.limits.count
        home = frozen(np.ascontiguousarray(survey.need[:n]))
        left = frozen(_allowed(reach.left[:n]))
        return Reach(reach.use[:n], reach.lost[:n], left, home, self.limits.pace)

    def keeps(self, survey: Survey, account: Account, state: int, action: int) -> bool:
        """Return whether the way home of `account` is within the limits after an action.

        That is so whether it works or fails. A failure is not checked if it has been paid for.
        """
        graph, there = survey.graph, int(survey.graph.dest[state, action])
        if not self.is_limited or survey.lost:
            return True
        spends = np.arange(len(graph.reach.left)) < (
            0 if self.limits is None else self.limits.count
        )
        cases = [(there, graph.reach.use)]
        if there != state and graph.blocked[state, action] > 0.0 and account.way[state] != action:
            cases.append((state, graph.reach.lost))
        for end, use in cases:
            left = graph.reach.left - np.where(spends, use[:, state, action], 0.0)
            if (used_by(graph, account.way, self.homes, end) > _allowed(left)).any():
                return False
        return True

    @property
    def budget(self) -> float:
        """The probability that a run may spend."""
        return 1.0 - self.delta + BUDGET_TOLERANCE

    def open(self, graph: Graph, state: int, belief: Any = None) -> Account:
        """Return the first account of a run that starts in `state`: it pays for a way home."""
        used = (0.0,) * (0 if self.limits is None else self.limits.count)
        nothing = Account(frozen(np.full(len(graph.dest), -1, np.int32)), used=used)
        if self.is_limited:
            graph = first_attempts(graph, self.reach(graph.dest.shape, nothing))
        way, _, risk = self._new_way(graph, state)
        if 0.0 < risk < np.inf:
            risk = min(risk, 1.0 - self.bounds(belief, graph, way)[0][0])
        return Account(way, min(1.0, risk), used=used)

    def survey(
        self, graph: Graph, account: Account, state: int, belief: Any = None, *, whole: bool = False
    ) -> Survey:
        """Find the ways home; if the held one has become doubtful, look for a better one.

        Ways that cost more than the remaining budget are left out, unless `whole`. A `belief` that
        knows how likely edges work together makes charges smaller.
        """
        lost = False
        if self.is_limited:
            graph = first_attempts(graph, self.reach(graph.dest.shape, account))
        for known in (False, True):
            left = max(0.0, self.budget - account.spent)
            trusted = MAX_TRUSTED_SHARE * left
            most = 1.0 if whole or lost else left
            free, risk, worst, added, total, steps, choice, need = ways_home(
                graph, account.way, trusted, self.homes, state, most, False
            )
            ways = Ways(added, total, steps, choice, need)
            survey = Survey(account, left, lost, graph, free, ways)
            if self.is_limited:
                survey = self._within(survey, trusted, state, most)
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
        ways = survey.safest if survey.shortest is None else survey.ways_from(there)
        choice = ways.choice
        way, cost = with_way(survey.graph, account.way, survey.free, choice, self.homes, there)
        if 0.0 < cost < np.inf:
            way, cost = self._sharper(survey, there, choice, belief, way, cost)
        return replace(account, way=frozen(way), spent=min(1.0, account.spent + cost))

    def value(self, survey: Survey, state: int, belief: Any) -> FloatArray:
        """Return the survey's lower bounds [S] on coming home, sharper in `state`."""
        nothing, ways = np.full_like(survey.free, -1), survey.ways_from(state)
        way, risk = with_way(survey.graph, nothing, nothing, ways.choice, self.homes, state)
        value = ways.value
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
        return not self.is_limited or getattr(belief, "moves_work_or_never", False)

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
        return replace(account, way=way, spent=min(1.0, account.spent + cost)), False

    def _new_way(self, graph: Graph, state: int) -> tuple[IntArray, IntArray, float]:
        """Return the best way home [S] from a state, all best first actions [S], and its risk.

        No edge is relied on yet. The risk is infinite if no way is within the limits.
        """
        nothing: IntArray = frozen(np.full(len(graph.dest), -1, np.int32))
        free, _, _, added, total, steps, choice, need = ways_home(
            graph, nothing, 0.0, self.homes, state, 1.0, False
        )
        ways = Ways(added, total, steps, choice, need)
        if self.is_limited:
            survey = Survey(Account(nothing), 1.0, False, graph, free, ways)
            ways = self._within(survey, 0.0, state, 1.0).ways_from(state)
        if ways.added[state] == np.inf:
            return nothing, ways.choice, np.inf
        way, _ = with_way(graph, nothing, nothing, ways.choice, self.homes, state)
        return frozen(way), ways.choice, float(ways.total[state])

    def _within(self, survey: Survey, trusted: float, state: int, most: float) -> Survey:
        """Return the survey with the ways within the limits, and those that use least if needed."""
        safest, left = survey.safest, survey.graph.reach.left
        kept = safest.kept_to(left)
        if (kept.added == safest.added).all():
            return survey
        given = survey.graph, survey.account.way, trusted, self.homes, state, most
        _, _, _, added, total, steps, choice, need = ways_home(*given, True)
        shortest = Ways(added, total, steps, choice, need).kept_to(left)
        return survey._replace(safest=kept, shortest=shortest)


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Amounts that a way home may use, as arrays for a graph; see `Ledger.reach`."""

    use: FloatArray  # [K, S, A] that an attempt uses if it works
    lost: FloatArray  # [K, S, A] that it uses if it fails
    amount: FloatArray  # [K] that may be used
    count: int  # how many of them, the first ones, are limits of the whole run
    pace: FloatArray  # [S, A] cost of an attempt by the share of the run's limits that it uses


def _sets(graph: Graph, ways: Sequence[IntArray]) -> MoveSets:
    """Return the doubtful edges of each way [S] as sets of moves."""
    edges = [np.flatnonzero((w >= 0) & (graph.blocked[np.arange(len(w)), w] > 0.0)) for w in ways]
    states = np.concatenate(edges)
    actions = np.concatenate([w[e] for w, e in zip(ways, edges, strict=True)])
    first = np.cumsum([0, *map(len, edges)])
    return MoveSets(first, states.astype(np.int64), actions.astype(np.int64))


def first_attempts(graph: Graph, reach: Reach) -> Graph:
    """Return the graph on which only first attempts count, with the limits of ways home."""
    moves = graph.dest != np.arange(len(graph.dest))[:, None]
    failed = np.where(moves, 1.0 - graph.success, 0.0)
    success = np.where(graph.success < MIN_SUCCESS, 0.0, 1.0)
    return graph._replace(success=frozen(success), blocked=frozen(failed), reach=reach)


def _allowed(left: FloatArray) -> FloatArray:
    """Return what may be used of what is left [K], with an allowance for rounding."""
    return left + REACH_TOLERANCE * np.maximum(1.0, np.abs(left))
