"""The budget of a whole run: which edges its way home relies on, and what has been spent.

At any time the run relies on a set E of edges that contains a way home from the current state. Let
Y = Pr(every edge of E works | observations). Adding edges costs the probability that one of them
never works, at most the sum of ``blocked`` over them; dropping edges costs nothing. With c the cost
of a step, known before it, E[Y after the step | observations] ≥ Y − c. So Y plus what was spent is
a submartingale. If at most 1 − δ is ever spent, E[Y] ≥ δ at any stopping time of the observations
at which the run is called off (``docs/theory.md``, section 11).

E is stored as one action per state, ``way`` [S]. The *held way home* is the path that these actions
give from the current state. Other ways home are found on the graph in which edges of E are free. If
an edge of the held way has become doubtful (bad news), another way replaces it if that costs
nothing or the budget allows it.

If the belief knows how likely edges work *together* (`Belief.all_work`), Y itself is known. Then a
step from E to E' costs Pr(E works) − Pr(E' works), given the observations, since Pr(E' works) is
the expectation of Y after the step. Doubtful edges that are not on the held way are dropped first,
at no cost.

Limits. A way home may be limited in steps or in other amounts that attempts use, such as metres or
energy. Some limits are for the return alone. Others are for the whole run, and a way home may use
what the run has not used yet. Then only the first attempt of an edge counts: Y = E[Π P over E |
observations], an edge adds 1 − E[P], and a way uses the sum over its edges. The same proof holds
for this Y, also if moves fail at random within a world. Before each step it is checked that the
held way is within the limits, whether the attempt works or fails. If the attempt is the first edge
of the held way itself, its failure has been paid for and is not checked. The way of least risk is
preferred; if it exceeds a limit, the way that uses least is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from homeward.arrays import FloatArray, IntArray, frozen
from homeward.beliefs.base import Belief, MoveSets
from homeward.planning.graph import (
    MIN_SUCCESS,
    NO_REACH,
    Graph,
    Reach,
    total_risks,
    used_by,
    ways_home,
    with_way,
)
from homeward.planning.kept_ways import NO_STATES, KeptWays, Search
from homeward.planning.promise import BUDGET_TOLERANCE, Promise

Edges: TypeAlias = tuple[IntArray, IntArray]
"""States [n] and actions [n]."""

REACH_TOLERANCE = 1e-9  # allowance for rounding, relative to what is left of a limit
MAX_TRUSTED_SHARE = 0.1  # largest risk of a free edge, as a fraction of the remaining budget


class Ways(NamedTuple):
    """A way home from each state, by one return policy."""

    graph: Graph  # the graph, with the risks that count
    homes: IntArray  # [n] home states
    added: FloatArray  # [S] risk that the way home would add; infinite without a way
    choice: IntArray  # [S] first action of the way home; −1 at home and without a way
    need: FloatArray  # [K, S] how much of each limited amount the way home uses

    @property
    def value(self) -> FloatArray:
        """Lower bound [S] on the probability of coming home by these ways; 0 beyond a limit."""
        total = total_risks(self.graph, self.choice, self.homes, np.arange(len(self.choice)))
        return np.where(self.added < np.inf, np.clip(1.0 - total, 0.0, 1.0), 0.0)

    def kept_to(self, left: FloatArray) -> Ways:
        """Return the ways; those that use more than `left` [K] get an infinite added risk."""
        fits = (self.need <= _allowed(left)[:, None]).all(axis=0)
        return self._replace(added=np.where(fits, self.added, np.inf))


class Survey(NamedTuple):
    """The ways home from all states for one ledger; the next survey overwrites their arrays."""

    account: Promise  # the edges that the run relies on, with a new way home after bad news
    left: float  # probability that may still be spent
    lost: bool  # whether there is surely no way home left
    graph: Graph  # the graph, with the risks that count for this ledger
    relied: IntArray  # [n] states with an edge that the run relies on, ascending
    free: IntArray  # [S] actions whose edges can be used at no charge; −1 for none
    safest: Ways  # the ways that add the least risk, within the limits
    shortest: Ways | None = None  # the ways that use least; None if all safest ways fit the limits
    search: Search | None = None  # input of the search; None if ways are limited

    @property
    def added(self) -> FloatArray:
        """Risk [S] that the better of both ways would add; infinite without a way."""
        if self.shortest is None:
            return self.safest.added
        return np.minimum(self.safest.added, self.shortest.added)

    @property
    def need(self) -> FloatArray:
        """How much of each limited amount [K, S] the better of both ways uses."""
        if self.shortest is None:
            return self.safest.need
        safer = self.safest.added <= self.shortest.added
        return np.where(safer, self.safest.need, self.shortest.need)

    def ways_from(self, state: int) -> Ways:
        """Return the safest or the shortest ways: those that add less risk in `state`."""
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
    limits: Limits | None = None  # limits of the whole run, the way home included

    @property
    def is_limited(self) -> bool:
        """Whether a way home has a limit; then only the first attempt of an edge counts."""
        return self.within is not None or self.limits is not None

    def reach(self, shape: tuple[int, ...], account: Promise) -> Reach:
        """Return what attempts use of each limited amount, and what `account` has left of it.

        `shape` is (S, A). Amounts of the whole run come first, then the steps of the return.
        """
        if self.limits is None:
            one = frozen(np.ones((1, *shape)))
            steps = frozen(np.array([float(self.within or 0)]))
            return NO_REACH._replace(use=one, lost=one, left=steps)
        left = self.limits.amount.copy()
        left[: len(account.used)] -= account.used
        return NO_REACH._replace(use=self.limits.use, lost=self.limits.lost, left=frozen(left))

    def attempted(self, account: Promise, state: int, action: int, worked: bool) -> Promise:
        """Return the account after an attempt, with what the attempt used."""
        if self.limits is None:
            return account
        each = (self.limits.use if worked else self.limits.lost)[: self.limits.count]
        used = zip(account.used, each[:, state, action].tolist(), strict=True)
        return replace(account, used=tuple(before + more for before, more in used))

    def outward(self, survey: Survey) -> Reach:
        """Return the limits of the whole run, for a search away from home; empty without limits."""
        if self.limits is None:
            return NO_REACH
        reach, n = survey.graph.reach, self.limits.count
        home = frozen(np.ascontiguousarray(survey.need[:n]))
        left = frozen(_allowed(reach.left[:n]))
        return Reach(reach.use[:n], reach.lost[:n], left, home, self.limits.pace)

    def keeps(self, survey: Survey, account: Promise, state: int, action: int) -> bool:
        """Return whether the way home of `account` is within the limits after an action.

        Both outcomes are checked, but not the failure of the first edge of the held way home.
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

    def moved(
        self,
        survey: Survey,
        state: int,
        there: int,
        used: Sequence[float],
        belief: Belief | None = None,
    ) -> Promise:
        """Return the account of an explorer that was moved from `state` to `there`.

        The account pays for a way home from `there`. `used` is what the move used of each amount
        that the run is limited to. If no way home is within the limits, all is spent.
        """
        account = self.pay(survey, state, -1, belief, there=there)
        if self.limits is not None:
            spends = zip(account.used, used, strict=True)
            account = replace(account, used=tuple(before + more for before, more in spends))
        if self.is_limited and not survey.lost:
            left = self.reach(survey.graph.dest.shape, account).left
            need = used_by(survey.graph, account.way, self.homes, there)
            if (need > _allowed(left)).any():
                account = replace(account, spent=1.0)
        return account

    @property
    def budget(self) -> float:
        """The probability that a run may spend."""
        return 1.0 - self.delta + BUDGET_TOLERANCE

    def open(self, graph: Graph, state: int, belief: Belief | None = None) -> Promise:
        """Return the first account of a run that starts in `state`; it pays for a way home."""
        used = (0.0,) * (0 if self.limits is None else self.limits.count)
        nothing = Promise.of(np.full(len(graph.dest), -1, np.int32), used=used)
        if self.is_limited:
            graph = first_attempts(graph, self.reach(graph.dest.shape, nothing))
        edges, choice, risk = self._new_way(graph, state, 1.0)
        if 0.0 < risk < np.inf:
            risk = min(risk, 1.0 - self.bounds(belief, graph, (edges, choice[edges]))[0][0])
        return nothing.after(edges, choice[edges], min(1.0, risk))

    def survey(
        self,
        graph: Graph,
        account: Promise,
        state: int,
        belief: Belief | None = None,
        *,
        whole: bool = False,
        share: float = np.inf,
        kept: KeptWays | None = None,
        number: int = 0,
    ) -> Survey:
        """Return the ways home; if the held one has become doubtful, look for a better one.

        Ways that cost more than the budget are left out, unless `whole`. Ways that cost more than
        the fraction `share` of the remaining budget may have to wait. A `belief` that knows how
        likely edges work together makes charges smaller. The ways are written to budget `number` of
        `kept`. If they have no limits, they are repaired where the graph's risks changed.
        """
        kept = KeptWays(1, len(graph.dest)) if kept is None else kept
        lost = False
        if self.is_limited:
            graph = first_attempts(graph, self.reach(graph.dest.shape, account))
        for known in (False, True):
            left = max(0.0, self.budget - account.spent)
            trusted, everything = MAX_TRUSTED_SHARE * left, whole or lost
            if self.is_limited:
                most = 1.0 if everything else left
                survey, risk, worst = self._limited(graph, account, trusted, state, most)
                survey = survey._replace(left=left, lost=lost)
                kept.added[number] = survey.added
            else:
                most = 1.0 if everything else self.budget
                search = Search(graph, account, trusted, self.homes, state, most)
                until = np.inf if everything or share == np.inf else share * left
                keys, risk, worst = kept.find(number, search, until)
                ways = Ways(graph, self.homes, keys.added, keys.choice, NO_REACH.home)
                held = account, left, lost, graph, kept.relied[number], keys.free
                survey = Survey(*held, ways, None, search)
            if known or risk <= trusted:
                break
            account, lost = self._after_bad_news(survey, state, risk, worst, belief)
            if account is survey.account and not lost:
                break
        return survey

    def _limited(
        self, graph: Graph, account: Promise, trusted: float, state: int, most: float
    ) -> tuple[Survey, float, float]:
        """Return the ways home within the limits, and the two risks of `hold_way`.

        Ways that add more than `most` are left out. Edges of the account with a risk of at most
        `trusted` are free.
        """
        given = graph, account.way, trusted, self.homes, state, most
        free, risk, worst, added, _, _, choice, need = ways_home(*given, False)
        safest, left = Ways(graph, self.homes, added, choice, need), graph.reach.left
        fits, shortest = safest.kept_to(left), None
        if not (fits.added == safest.added).all():
            _, _, _, added, _, _, choice, need = ways_home(*given, True)
            shortest = Ways(graph, self.homes, added, choice, need).kept_to(left)
        relied = np.flatnonzero(account.way >= 0)
        survey = Survey(account, 1.0, False, graph, relied, free, fits, shortest)
        return survey, risk, worst

    def pay(
        self,
        survey: Survey,
        state: int,
        action: int,
        belief: Belief | None = None,
        *,
        there: int | None = None,
    ) -> Promise:
        """Return the account after an action, with the way home from its destination.

        If `there` is given, the explorer was moved there, and the action does not count.
        """
        account = survey.account
        there = int(survey.graph.dest[state, action]) if there is None else there
        if survey.lost or there == state:
            return account
        ways = survey.safest if survey.shortest is None else survey.ways_from(there)
        given = survey.free, ways.choice, self.homes, there
        edges, cost = with_way(survey.graph, account.way, *given)
        more = edges, ways.choice[edges]
        if 0.0 < cost < np.inf:
            more, cost = self._sharper(survey, there, ways.choice, belief, more, cost)
        return account.after(*more, min(1.0, account.spent + cost))

    def value(self, survey: Survey, state: int, belief: Belief | None) -> FloatArray:
        """Return lower bounds [S] on coming home; the bound in `state` is the sharpest known."""
        nothing, ways = np.full_like(survey.free, -1), survey.ways_from(state)
        given = frozen(nothing), nothing, ways.choice, self.homes, state
        edges, risk = with_way(survey.graph, *given)
        value = ways.value
        if 0.0 < risk < np.inf:
            bounds = self.bounds(belief, survey.graph, (edges, ways.choice[edges]))
            value[state] = max(value[state], bounds[0][0])
        return value

    def way_from(self, survey: Survey, state: int, used: FloatArray) -> Edges | None:
        """Return the less risky way home from a state after the use of amounts `used` [K].

        Returns None if no way home is within the limits.
        """
        found, least, nothing = None, np.inf, np.full_like(survey.free, -1)
        left = _allowed(survey.graph.reach.left - used)
        for ways in (survey.safest, survey.shortest):
            if ways is None or (self.is_limited and (ways.need[:, state] > left).any()):
                continue
            given = frozen(nothing), nothing, ways.choice, self.homes, state
            states, risk = with_way(survey.graph, *given)
            if risk < least:
                found, least = (states, ways.choice[states]), risk
        return found

    def bounds(
        self, belief: Belief | None, graph: Graph, *ways: Edges
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return lower and upper bounds on Pr(all edges of a way work), one for each way.

        They are 0 and 1 if the belief does not know how likely edges work together.
        """
        if belief is None or not self._is_sharp(belief):
            return (0.0,) * len(ways), (1.0,) * len(ways)
        together = belief.work_together(_sets(graph, ways))
        return tuple(together.low.tolist()), tuple(together.high.tolist())

    def _is_sharp(self, belief: Belief | None) -> bool:
        """Return whether the belief knows how likely edges work together, within the limits too."""
        if belief is None or belief.evaluator == "union":
            return False
        return not self.is_limited or belief.moves_work_or_never

    def _sharper(
        self,
        survey: Survey,
        state: int,
        choice: IntArray,
        belief: Belief | None,
        more: Edges,
        cost: float,
    ) -> tuple[Edges, float]:
        """Return the changed edges and the cost of adding the way home by `choice` [S].

        `more` and `cost` are those edges and their sum of risks. They are returned unless the joint
        probability of the edges gives a smaller cost. Then edges that are not free are dropped.
        """
        knows = belief if self._is_sharp(belief) else None
        if knows is None and (self.is_limited or cost <= 1.0):
            return more, cost
        free, relied = survey.free, survey.relied
        edges, _ = with_way(survey.graph, frozen(free), free, choice, self.homes, state)
        kept = relied[free[relied] >= 0]
        rest = np.setdiff1d(kept, edges, assume_unique=True)
        other = np.append(rest, edges), np.append(free[rest], choice[edges])
        exact = 1.0
        if knows is not None:
            exact = knows.lost_by_adding(_sets(survey.graph, ((kept, free[kept]), other)))
        if exact >= cost:
            return more, cost
        dropped = np.setdiff1d(relied[free[relied] < 0], edges, assume_unique=True)
        return _changed(edges, choice, dropped), exact

    def _after_bad_news(
        self, survey: Survey, state: int, held: float, worst: float, belief: Belief | None
    ) -> tuple[Promise, bool]:
        """Return the account with another way home if it is better, and whether no way is left.

        `held` is the sum of the risks of the held way, `worst` the largest lower bound on one of
        them. Two charges are valid. Keeping the held edges and adding the new way costs the sum of
        the added risks. Relying on the new way alone costs the difference of the bounds: the new
        way works with probability ≥ 1 − risk, the old one with probability ≤ 1 − `worst`. A risk of
        1 or more does not prove that a way is lost; an edge that surely never works does.
        """
        account, free, relied = survey.account, survey.free, survey.relied
        new, choice, risk = self._new_way(survey.graph, state, 1.0 if worst >= 1.0 else held)
        if risk >= 1.0 and worst >= 1.0:
            return account, True
        if risk >= held:
            return account, False
        edges, adding = with_way(survey.graph, account.way, free, choice, self.homes, state)
        both = edges, choice[edges]
        both, adding = self._sharper(survey, state, choice, belief, both, adding)
        kept = relied[free[relied] >= 0]
        pair = (kept, free[kept]), (new, choice[new])
        low, high = self.bounds(belief, survey.graph, *pair)
        alone = max(0.0, min(risk - worst, high[0] - low[1]))
        if min(adding, alone) > survey.left:
            return account, False
        dropped = np.setdiff1d(relied, new, assume_unique=True)
        more, cost = (both, adding) if adding <= alone else (_changed(new, choice, dropped), alone)
        return account.after(*more, min(1.0, account.spent + cost)), False

    def _new_way(self, graph: Graph, state: int, most: float) -> tuple[IntArray, IntArray, float]:
        """Return the states [n] of the best way home, the best action [S] of each, and its risk.

        No edge is free. The risk is infinite if it exceeds `most`, or if no way home is within the
        limits.
        """
        nothing: IntArray = np.full(len(graph.dest), -1, np.int32)
        account, most = Promise.of(nothing), min(most, 1.0)
        if self.is_limited:
            ways = self._limited(graph, account, 0.0, state, 1.0)[0].ways_from(state)
            added, choice = ways.added, ways.choice
        else:
            search = Search(graph, account, 0.0, self.homes, state, most)
            _, added, _, choice = KeptWays(1, len(nothing)).find(0, search, np.inf)[0]
        if added[state] == np.inf:
            return NO_STATES, choice, np.inf
        edges, _ = with_way(graph, frozen(nothing), nothing, choice, self.homes, state)
        risk = total_risks(graph, choice, self.homes, np.array([state]))
        return edges, choice, float(risk[0])


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The amounts that a run, or a way home, may use; see `Ledger.reach`."""

    use: FloatArray  # [K, S, A] amount that an attempt uses if it works
    lost: FloatArray  # [K, S, A] amount that an attempt uses if it fails
    amount: FloatArray  # [K] amount that may be used
    count: int  # the first `count` amounts are limits of the whole run
    pace: FloatArray  # [S, A] use of an attempt over the mean use of one, see `Reach`


def _sets(graph: Graph, ways: Sequence[Edges]) -> MoveSets:
    """Return the doubtful edges of each way as sets of moves, by ascending states."""
    sets = []
    for states, actions in ways:
        order = np.argsort(states)
        states, actions = states[order], actions[order]
        doubtful = graph.blocked[states, actions] > 0.0
        sets.append((states[doubtful], actions[doubtful]))
    first = np.cumsum([0, *(len(states) for states, _ in sets)])
    states, actions = (np.concatenate(part).astype(np.int64) for part in zip(*sets, strict=True))
    return MoveSets(first, states, actions)


def _changed(edges: IntArray, choice: IntArray, dropped: IntArray) -> Edges:
    """Return changes: the actions `choice` [S] in the states `edges`, and −1 in `dropped`."""
    return np.append(edges, dropped), np.append(choice[edges], np.full(len(dropped), -1, np.int32))


def first_attempts(graph: Graph, reach: Reach) -> Graph:
    """Return the graph with the risk that the first attempt of an edge fails, and with `reach`."""
    moves = graph.dest != np.arange(len(graph.dest))[:, None]
    failed = np.where(moves, 1.0 - graph.success, 0.0)
    success = np.where(graph.success < MIN_SUCCESS, 0.0, 1.0)
    return graph._replace(success=frozen(success), blocked=frozen(failed), reach=reach)


def _allowed(left: FloatArray) -> FloatArray:
    """Return the amounts [K] that may be used: `left` plus an allowance for rounding."""
    return left + REACH_TOLERANCE * np.maximum(1.0, np.abs(left))
