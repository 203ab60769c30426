"""Ways home on a move-or-stay graph: shortest ways, repaired where something changed.

At any time a run relies on a set E of edges that contains a way home from the current state. Let Y
be the probability that every edge of E works, given the observations. Adding edges costs at most
the sum of the probabilities that one of them never works; dropping edges costs nothing. So Y plus
what was spent is a submartingale, and if at most 1 − δ is ever spent, E[Y] ≥ δ whenever the run is
called off (``docs/theory.md``, section 11). If the belief knows how likely edges work *together*,
a step from E to E' costs Pr(E works) − Pr(E' works) instead. With limits only the first attempt of
an edge counts. `shortest_ways` has the kernel; read `planning.proposals` next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from homeward.arrays import FloatArray, IntArray, frozen, is_default_zero
from homeward.beliefs.base import Belief, MoveSets, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.beliefs.observations import Transition
from homeward.beliefs.refutation import SURELY_NOT, is_ruled_out
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.planning.promise import MAX_FREE_SHARE, Promise
from homeward.planning.returning import Goal
from homeward.planning.returning.shortest_ways import (
    MIN_SUCCESS,
    Graph,
    ShortestWays,
    Wanted,
    along,
    with_way,
)
from homeward.solvers.paths import ways_to

if TYPE_CHECKING:
    from homeward.criteria import ReturnHome

Edges: TypeAlias = tuple[IntArray, IntArray]
"""States [n] and actions [n]."""

LIMIT_TOLERANCE = 1e-9  # allowance for rounding, relative to what is left of a limit
LEAST_USE = 1e-9  # added to the relative use of each edge when ways are compared
MAX_FREE_RISK = 0.1  # largest risk of a free edge, as a fraction of the remaining budget
ROUNDED = 1.0 + 2.0**-46  # more than a sum of a few products of probabilities is rounded
NO_COST: FloatArray = frozen(np.empty((0, 0)))
NO_AMOUNTS: FloatArray = frozen(np.empty((0, 0)))
NOTHING: Edges = np.empty(0, np.int64), np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The amounts that a run, or a way home, may use."""

    use: FloatArray  # [K, S, A] amount that an attempt uses if it works
    lost: FloatArray  # [K, S, A] amount that an attempt uses if it fails
    amount: FloatArray  # [K] amount that may be used
    count: int  # the first `count` amounts are limits of the whole run, the others of a return
    pace: FloatArray  # [S, A] use of an attempt over the mean use of one

    @classmethod
    def of(cls, criterion: ReturnHome, shape: tuple[int, int]) -> Limits | None:
        """Return the limits of a criterion: of the run, then of the return's steps; or None."""
        if criterion.within is None and not criterion.limits:
            return None
        steps = [] if criterion.within is None else [np.ones(shape)]
        for limit in criterion.limits:
            for part in (limit.use, limit.lost):
                if part.shape != shape:
                    raise InvalidProblemError(
                        f"the use in {limit.unit} has shape {part.shape}, the model has {shape}"
                    )
        use, lost = (
            frozen(np.stack([*(getattr(x, name) for x in criterion.limits), *steps]).astype(float))
            for name in ("use", "lost")
        )
        within = [float(criterion.within or 0)] * len(steps)
        amount = frozen(np.array([*(x.amount for x in criterion.limits), *within], np.float64))
        count = len(criterion.limits)
        pace = np.tensordot(1.0 / amount[:count], use[:count], 1)
        moves = pace > 0.0
        pace = np.where(moves, pace / (pace[moves].mean() if moves.any() else 1.0), 1.0)
        return cls(use, lost, amount, count, frozen(pace))

    def left(self, promise: Promise) -> FloatArray:
        """Return how much of each amount [K] is left, with an allowance for rounding."""
        left = self.amount.copy()
        left[: len(promise.used)] -= promise.used
        return left + LIMIT_TOLERANCE * np.maximum(1.0, np.abs(left))

    def spent_by(self, each: FloatArray, state: int, action: int) -> FloatArray:
        """Return what an attempt uses of each amount [K] that the run is limited to, else 0."""
        used = each[:, state, action].copy()
        used[self.count :] = 0.0
        return used


def graph_of(belief: Belief, model: Moves, correction: Correction | None) -> Graph:
    """Return the mean graph of a belief, with the risk that each edge never works."""
    success = model.success
    bounded: IntArray = np.empty(0, np.int64)
    least: FloatArray = np.empty(0)
    if not is_default_zero(model.reward):
        success = np.where(np.isfinite(model.reward), success, 0.0)
    if correction is Correction.NAIVE:
        risk = np.where(success > 0.0, 0.0, 1.0)
    else:
        risk = belief.blocked_probability()
        bounded, least = belief.least_blocked()
        if correction is Correction.GENERAL:
            known = np.array(risk, np.float64)
            known.reshape(-1)[bounded] = least
            with np.errstate(divide="ignore", invalid="ignore"):
                by_correction = -belief.correction() / model.success
            risk = np.where(model.success > 0.0, np.clip(by_correction, 0.0, 1.0), 1.0)
            bounded = np.flatnonzero(known != risk)
            least = known.ravel()[bounded]
    parts = frozen(success), frozen(risk), NO_COST, frozen(bounded), frozen(least)
    return Graph(model.dest, *parts, *ways_to(model))


class Ways(NamedTuple):
    """A way home from each state, by one return policy."""

    added: FloatArray  # [S] risk that the way would add; infinite without a way within the limits
    choice: IntArray  # [S] first action of the way; −1 at home and without a way
    need: FloatArray = NO_AMOUNTS  # [K, S] how much of each limited amount the way uses


@dataclass(slots=True, eq=False)
class MoveOptions:
    """What a promise allows in one state of a graph; see `planning.returning.Options`."""

    returning: MoveReturning
    belief: Belief
    state: int
    promise: Promise
    left: float
    lost: bool
    wanted: Wanted  # the input of the search: graph, promise, homes
    until: float  # risk up to which the ways that add it are known
    ways: ShortestWays  # the edges that are relied on or free, and the ways of `safest`
    safest: Ways  # the ways that add the least risk, within the limits
    shortest: Ways | None = None  # the ways that use least; None if all safest ways fit the limits
    _whole: MoveOptions | None = field(default=None, init=False)

    @property
    def graph(self) -> Graph:
        """The graph, with the risks that count for this promise."""
        return self.wanted.graph

    @property
    def added(self) -> FloatArray:
        """Risk [S] that the way home from a state would add; infinite without a way."""
        if self.shortest is None:
            return self.safest.added
        return np.minimum(self.safest.added, self.shortest.added)

    @property
    def need(self) -> FloatArray:
        """How much of each limited amount [K, S] the way home from a state uses."""
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

    def extend(self) -> None:
        """Find also the ways home that were left out because of their risk, up to the budget."""
        if self.until < np.inf:
            self.ways.extend(self.wanted, np.inf)
            self.until = np.inf

    def whole(self) -> MoveOptions:
        """Return the options without a budget: with all ways home, whatever their risk."""
        if self._whole is None:
            given = self.belief, self.promise, self.state, None
            self._whole = replace(self.returning).options(*given, whole=True)
        return self._whole

    def shares(self) -> FloatArray:
        """Return the share [A] of `left` that each action in the state would spend."""
        if self.lost:
            return np.zeros(self.graph.dest.shape[1])
        self.extend()
        shares: FloatArray = self.added[self.graph.dest[self.state]] / max(self.left, 1e-300)
        return shares

    def relied_way(self) -> tuple[list[int], list[int]]:
        """Return the states of the way home that is relied on, both ends included; its actions."""
        states, actions, homes = [self.state], list[int](), set(self.returning.goal.homes.tolist())
        while states[-1] not in homes and len(actions) < self.promise.size:
            action = self.promise.action(states[-1])
            if action < 0:
                break
            actions.append(action)
            states.append(int(self.graph.dest[states[-1], action]))
        return states, actions

    def works(self) -> float:
        """Return a lower bound on the probability that the way that is relied on leads home."""
        states, actions = self.relied_way()
        if self.lost or states[-1] not in self.returning.goal.homes:
            return 0.0
        edges = np.array(states[:-1], np.int64), np.array(actions, np.int64)
        chance = max(0.0, 1.0 - float(self.graph.risk[edges].sum()) * ROUNDED)
        if chance < 1.0:
            chance = max(chance, self.returning.bounds(self.belief, self.graph, edges)[0][0])
        return chance

    def value(self) -> FloatArray:
        """Return lower bounds [S] on coming home; the bound in the state is the sharpest known."""
        whole = self.whole()
        ways, graph, homes = whole.ways_from(self.state), whole.graph, self.returning.goal.homes
        everywhere = np.arange(len(graph.dest))
        total = along(graph.dest, graph.risk[None], ways.choice, homes, everywhere)[0]
        value = np.where(ways.added < np.inf, np.clip(1.0 - total, 0.0, 1.0), 0.0)
        edges, risk = whole.edges_from(ways, self.state)
        if 0.0 < risk < np.inf:
            low, _ = self.returning.bounds(self.belief, graph, edges)
            value[self.state] = max(value[self.state], low[0])
        return value

    def policy(self) -> IntArray:
        """Return the best return policy [S]; −1 at home and where there is none."""
        return self.whole().ways_from(self.state).choice

    def edges_from(self, ways: Ways, state: int) -> tuple[Edges, float]:
        """Return the edges of a way home from a state, and the sum of their risks."""
        nothing: IntArray = np.full(len(ways.choice), -1, np.int32)
        homes = self.returning.goal.homes
        states, risk = with_way(self.graph, nothing, nothing, ways.choice, homes, state)
        return (states, ways.choice[states]), risk

    def way_after(self, state: int, used: FloatArray) -> Edges | None:
        """Return the less risky way home from a state after the use of amounts [K]; or None."""
        found, least, limits = None, np.inf, self.returning.goal.limits
        for ways in (self.safest, self.shortest):
            if ways is None:
                continue
            if (
                limits is not None
                and (ways.need[:, state] > limits.left(self.promise) - used).any()
            ):
                continue
            edges, risk = self.edges_from(ways, state)
            if risk < least:
                found, least = edges, risk
        return found

    def after(self) -> FloatArray:
        """Return lower bounds [A] on coming home after each action; 0 if it can't be chosen.

        On coming home from the end of an action, or from the state if it fails; see
        ``docs/theory.md``, section 18.
        """
        model, sigma = self.belief.mean(), None
        assert isinstance(model, Moves)
        if not self.belief.moves_work_or_never:
            naive = self.returning.correction is Correction.NAIVE
            kind = Correction.NAIVE if naive else Correction.GENERAL
            sigma = corrections_of(self.belief, model, 0.5, kind).exploring[self.state]
        bounds, whole = np.zeros(model.actions), self.whole()
        for action in np.flatnonzero(np.isfinite(model.reward[self.state])).tolist():
            correction = None if sigma is None else float(sigma[action])
            bounds[action] = whole.after_move(model, action, correction)
        return bounds

    def after_move(self, model: Moves, action: int, sigma: float | None) -> float:
        """Return the bound of one action; `sigma` is None if each move always or never works.

        Let W_s and W_t be the events that all moves of the ways home from s and t work. Lower
        bounds are Pr(a can work and W_t), Pr(W_s and W_t), the corrected mean, and, if each move
        always or never works, Pr(a works and W_t) + Pr(W_s) − Pr(a works and W_s).
        """
        state, limits = self.state, self.returning.goal.limits
        there, low = int(model.dest[state, action]), float(model.success[state, action])
        high = float(self.belief.success_bounds()[1][state, action])
        attempt: Edges = np.array([state]), np.array([action])
        use = [np.zeros(0)] * 2
        if limits is not None:
            use = [limits.spent_by(each, state, action) for each in (limits.use, limits.lost)]
        if there == state:
            low, high, attempt, use = 1.0, 1.0, NOTHING, [np.maximum(*use)] * 2
        onward, back = self.way_after(there, use[0]), self.way_after(state, use[1])
        pairs = (attempt, onward), (onward, back), (attempt, back)
        sets = [onward, back, *(_joined(model.actions, *pair) for pair in pairs)]
        known = (NOTHING if edges is None else edges for edges in sets)
        least, most = self.returning.bounds(self.belief, self.graph, *known)
        lost = [
            1.0
            if edges is None
            else min(1.0 - works, float(self.graph.risk[edges].sum()) * ROUNDED)
            for edges, works in zip(sets, least, strict=True)
        ]
        found = [lost[2], lost[3], min(high, lost[0]) + min(1.0 - low, lost[1])]
        if sigma is None:
            found.append(lost[2] - max(0.0, 1.0 - lost[1] - most[4]))
        else:
            found.append(low * lost[0] + (1.0 - low) * lost[1] - sigma)
        return min(1.0, max(0.0, 1.0 - min(found) * ROUNDED))


@dataclass(slots=True, eq=False)
class MoveReturning:
    """Keeps one return criterion over a run on a move-or-stay graph."""

    goal: Goal
    correction: Correction | None = None
    evaluator: str = "union"  # a code of `words.EVALUATORS`
    is_sharp: bool = False  # whether the belief is asked how likely edges work together
    ways: ShortestWays | None = field(default=None, init=False)  # kept from step to step

    @classmethod
    def of(cls, goal: Goal, correction: Correction | None, belief: Belief) -> MoveReturning:
        """Return what keeps a goal over a run that starts from a belief."""
        evaluator = belief.evaluator if correction in (None, Correction.MOVES) else "union"
        knows = evaluator != "union" and (goal.limits is None or belief.moves_work_or_never)
        return cls(goal, correction, evaluator, knows)

    @property
    def is_limited(self) -> bool:
        """Whether a way home has a limit; then only the first attempt of an edge counts."""
        return self.goal.limits is not None

    def graph(self, belief: Belief) -> Graph:
        """Return the mean graph with the risks that count."""
        model = belief.mean()
        assert isinstance(model, Moves)
        graph = graph_of(belief, model, self.correction)
        if not self.is_limited:
            return graph
        moves = graph.dest != np.arange(len(graph.dest))[:, None]
        failed = np.where(moves, 1.0 - graph.success, 0.0)
        success = np.where(graph.success < MIN_SUCCESS, 0.0, 1.0)
        return graph._replace(success=frozen(success), risk=frozen(failed))

    def open(self, belief: Belief, start: int) -> Promise:
        """Return the promise of a run before its first step; it pays for the way home."""
        limits = self.goal.limits
        used = (0.0,) * (0 if limits is None else limits.count)
        graph = self.graph(belief)
        nothing = Promise.of(np.full(len(graph.dest), -1, np.int32), used=used)
        if start in self.goal.homes:
            return nothing
        edges, choice, risk = self._new_way(graph, nothing, start, 1.0)
        if 0.0 < risk < np.inf:
            risk = min(risk, 1.0 - self.bounds(belief, graph, (edges, choice[edges]))[0][0])
        return nothing.after(edges, choice[edges], min(1.0, risk))

    def options(
        self,
        belief: Belief,
        promise: Promise,
        state: int,
        changed: IntArray | None,
        *,
        whole: bool = False,
    ) -> MoveOptions:
        """Return what the promise allows in a state; see `planning.returning.Returning`.

        If the way home has become doubtful, another way replaces it if that costs nothing or the
        budget allows it. Ways that add more than `MAX_FREE_SHARE` of the remaining budget may
        have to wait for `MoveOptions.extend`. If `whole`, no budget leaves out a way.
        """
        graph, lost = self.graph(belief), False
        if self.ways is None:
            self.ways = ShortestWays(len(graph.dest))
        for known in (False, True):
            left = max(0.0, self.goal.budget - promise.spent)
            free, every, until = MAX_FREE_RISK * left, whole or lost, np.inf
            if self.is_limited:
                most = 1.0 if every else left
                wanted = Wanted(graph, promise, free, self.goal.homes, state, most)
                safest, shortest, risk, worst = self._limited(wanted, self.ways)
            else:
                most = 1.0 if every else self.goal.budget
                wanted = Wanted(graph, promise, free, self.goal.homes, state, most)
                until = np.inf if every else MAX_FREE_SHARE * left
                risk, worst = self.ways.find(wanted, changed, until)
                safest, shortest = Ways(self.ways.keys.added, self.ways.keys.choice), None
            given = promise, left, lost, wanted, until, self.ways, safest, shortest
            options = MoveOptions(self, belief, state, *given)
            if known or risk <= free:
                break
            promise, lost = self._after_bad_news(options, risk, worst)
            if promise is options.promise and not lost:
                break
            changed = NOTHING[0]
        return options

    def take(self, options: MoveOptions, state: int, action: int, chance: float = 1.0) -> Promise:
        """Return the promise after an action, charged for the way home from its destination."""
        promise, limits = options.promise, self.goal.limits
        there, on_the_way = int(options.graph.dest[state, action]), False
        if limits is not None:
            on_the_way = promise.action(state) == action
        if not (options.lost or there == state or on_the_way):
            promise = self._relying(options, there)
        if limits is None or options.lost:
            return promise
        cases = [(there, limits.use)]
        if there != state and options.graph.risk[state, action] > 0.0 and not on_the_way:
            cases.append((state, limits.lost))
        for end, each in cases:  # the failure of an edge that is relied on was paid for
            left = limits.left(promise) - limits.spent_by(each, state, action)
            if (self._used_by(options.graph, promise, end) > left).any():
                return replace(promise, spent=np.inf)
        return promise

    def observed(
        self,
        belief: Belief,
        promise: Promise,
        observation: object,
        moved: Transition | None,
        state: int,
    ) -> Promise:
        """Return the promise in `state`, with what the move used of the limited amounts."""
        limits = self.goal.limits
        if moved is None or limits is None:
            return promise
        before, action = int(moved.state), int(moved.action)
        each = limits.lost if moved.next_state == before else limits.use
        used = zip(promise.used, limits.spent_by(each, before, action), strict=False)
        return replace(promise, used=tuple(float(x + y) for x, y in used))

    def doubts(self, belief: Belief, promise: Promise) -> FloatArray:
        """Return the probability [n] that each edge that is relied on never works."""
        success: FloatArray = belief.mean().success[promise.at, promise.actions]  # type: ignore[union-attr]
        return 1.0 - success

    def is_closed(self, belief: Belief, promise: Promise, state: int, doubts: FloatArray) -> bool:
        """Return whether a way home from `state` that was held certain surely never works.

        It was held certain if all that was spent is at most `SURELY_NOT`, or if the `doubts` [n]
        before the last observation, summed along it, are.
        """
        model = belief.mean()
        assert isinstance(model, Moves)
        if self.correction is Correction.NAIVE:
            return False
        if (model.success[promise.at, promise.actions] > SURELY_NOT).all():
            return False
        homes, doubt, closed = set(self.goal.homes.tolist()), 0.0, False
        for _ in range(promise.size):
            action = promise.action(state)
            if state in homes or action < 0:
                break
            there = int(model.dest[state, action])
            doubt += float(doubts[np.searchsorted(promise.at, state)])
            doubtful = model.success[state, action] <= SURELY_NOT  # maybe only a lower bound
            if doubtful and is_ruled_out(belief, Transition(state, action, there)):
                closed = True
            state = there
        return closed and min(doubt, promise.spent) <= SURELY_NOT

    def moved(
        self, belief: Belief, options: MoveOptions, there: int, used: tuple[float, ...]
    ) -> Promise:
        """Return the promise of an explorer that was moved to `there`; see `Returning`."""
        limits, promise = self.goal.limits, options.promise
        if not (options.lost or there == options.state):
            promise = self._relying(options, there)
        if limits is None:
            return promise
        more = zip(promise.used, used, strict=True)
        promise = replace(promise, used=tuple(before + now for before, now in more))
        if (
            not options.lost
            and (self._used_by(options.graph, promise, there) > limits.left(promise)).any()
        ):
            promise = replace(promise, spent=1.0)
        return promise

    def bounds(
        self, belief: Belief, graph: Graph, *ways: Edges
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return lower and upper bounds on Pr(all edges of a way work), one for each way.

        They are 0 and 1 if the belief does not know how likely edges work together.
        """
        if not self.is_sharp:
            return (0.0,) * len(ways), (1.0,) * len(ways)
        together = belief.work_together(_sets(graph, ways))
        return tuple(together.low.tolist()), tuple(together.high.tolist())

    def _limited(
        self, wanted: Wanted, ways: ShortestWays
    ) -> tuple[Ways, Ways | None, float, float]:
        """Return the ways home within the limits, safest and shortest, and the two risks of `find`.

        The way of least risk is preferred. If it exceeds a limit, that which uses least is taken.
        """
        limits, graph = self.goal.limits, wanted.graph
        left, everywhere = limits.left(wanted.promise), np.arange(len(graph.dest))
        cost = np.tensordot(1.0 / limits.amount, limits.use, 1) + LEAST_USE
        costly = wanted._replace(graph=graph._replace(cost=frozen(cost)))
        risk, worst = ways.find(costly, None, np.inf)
        free = ways.keys.free
        charged = np.where(free[:, None] == np.arange(graph.dest.shape[1]), 0.0, graph.risk)
        weights = np.concatenate([charged[None], limits.use])

        def within(choice: IntArray) -> tuple[Ways, bool]:
            totals = along(graph.dest, weights, choice, wanted.homes, everywhere)
            fits = (totals[1:] <= left[:, None]).all(axis=0) & (totals[0] <= wanted.most)
            fitting = np.where(fits, totals[0], np.inf)
            return Ways(fitting, choice, totals[1:]), bool((fits | (totals[0] == np.inf)).all())

        safest, all_fit = within(ways.keys.choice)
        if all_fit:
            return safest, None, risk, worst
        none = replace(wanted.promise, at=NOTHING[0], actions=NOTHING[0].astype(np.int32))
        least = graph._replace(risk=frozen(cost), cost=frozen(charged + LEAST_USE))
        other = ShortestWays(len(graph.dest))
        other.find(wanted._replace(graph=least, promise=none, free=0.0, most=np.inf), None, np.inf)
        return safest, within(other.keys.choice)[0], risk, worst

    def _relying(self, options: MoveOptions, there: int) -> Promise:
        """Return the promise that relies on a way home from `there` too, and pays for it."""
        if options.safest.added[there] > options.until:
            options.extend()
        choice, ways, promise = options.ways_from(there).choice, options.ways, options.promise
        given = ways.way, ways.keys.free, choice, self.goal.homes, there
        edges, cost = with_way(options.graph, *given)
        more = edges, choice[edges]
        if 0.0 < cost < np.inf:
            more, cost = self._sharper(options, there, choice, more, cost)
        return promise.after(*more, min(1.0, promise.spent + cost))

    def _sharper(
        self, options: MoveOptions, state: int, choice: IntArray, more: Edges, cost: float
    ) -> tuple[Edges, float]:
        """Return the changed edges and the cost of adding the way home by `choice` [S].

        `more` and `cost` are those edges and their sum of risks. They are returned unless the joint
        probability of the edges gives a smaller cost. Then edges that are not free are dropped.
        """
        if not self.is_sharp and (self.is_limited or cost <= 1.0):
            return more, cost
        free, relied, homes = options.ways.keys.free, options.ways.relied, self.goal.homes
        edges, _ = with_way(options.graph, free, free, choice, homes, state)
        kept = relied[free[relied] >= 0]
        rest = np.setdiff1d(kept, edges, assume_unique=True)
        other = np.append(rest, edges), np.append(free[rest], choice[edges])
        exact = 1.0
        if self.is_sharp:
            sets = _sets(options.graph, ((kept, free[kept]), other))
            exact = options.belief.lost_by_adding(sets)
        if exact >= cost:
            return more, cost
        dropped = np.setdiff1d(relied[free[relied] < 0], edges, assume_unique=True)
        return _changed(edges, choice, dropped), exact

    def _after_bad_news(
        self, options: MoveOptions, held: float, worst: float
    ) -> tuple[Promise, bool]:
        """Return the promise with another way home if it is better, and whether no way is left.

        `held` is the sum of the risks of the way that is relied on, `worst` the largest lower bound
        on one of them. Two charges are valid. Keeping the edges and adding the new way costs the
        sum of the added risks. Relying on the new way alone costs the difference of the bounds: the
        new way works with probability ≥ 1 − risk, the old one with probability ≤ 1 − `worst`. A
        risk of 1 or more does not prove that a way is lost; an edge that surely never works does.
        """
        promise, state, graph = options.promise, options.state, options.graph
        most = 1.0 if worst >= 1.0 else held
        new, choice, risk = self._new_way(graph, promise, state, most)
        if risk >= 1.0 and worst >= 1.0:
            return promise, True
        if risk >= held:
            return promise, False
        ways, homes = options.ways, self.goal.homes
        free, relied = ways.keys.free, ways.relied
        edges, adding = with_way(graph, ways.way, free, choice, homes, state)
        both = edges, choice[edges]
        both, adding = self._sharper(options, state, choice, both, adding)
        kept = relied[free[relied] >= 0]
        pair = (kept, free[kept]), (new, choice[new])
        low, high = self.bounds(options.belief, graph, *pair)
        alone = max(0.0, min(risk - worst, high[0] - low[1]))
        if min(adding, alone) > options.left:
            return promise, False
        dropped = np.setdiff1d(relied, new, assume_unique=True)
        more, cost = (both, adding) if adding <= alone else (_changed(new, choice, dropped), alone)
        return promise.after(*more, min(1.0, promise.spent + cost)), False

    def _new_way(
        self, graph: Graph, promise: Promise, state: int, most: float
    ) -> tuple[IntArray, IntArray, float]:
        """Return the states [n] of the best way home, the best action [S] of each, and its risk.

        No edge is free. The risk is infinite if it exceeds `most`, or if no way home is within the
        limits that `promise` has left.
        """
        homes, anew = self.goal.homes, ShortestWays(len(graph.dest))
        nothing = replace(promise, at=NOTHING[0], actions=NOTHING[0].astype(np.int32))
        wanted = Wanted(graph, nothing, 0.0, homes, state, min(most, 1.0))
        if self.is_limited:
            safest, shortest, *_ = self._limited(wanted._replace(most=1.0), anew)
            ways = safest
            if shortest is not None and shortest.added[state] < safest.added[state]:
                ways = shortest
        else:
            anew.find(wanted, None, np.inf)
            ways = Ways(anew.keys.added, anew.keys.choice)
        if ways.added[state] == np.inf:
            return NOTHING[0], ways.choice, np.inf
        none: IntArray = np.full(len(graph.dest), -1, np.int32)
        edges, _ = with_way(graph, none, none, ways.choice, homes, state)
        risk = along(graph.dest, graph.risk[None], ways.choice, homes, np.array([state]))
        return edges, ways.choice, float(risk[0, 0])

    def _used_by(self, graph: Graph, promise: Promise, state: int) -> FloatArray:
        """Return how much of each amount [K] the way home from `state` uses; infinite without."""
        uses, homes = self.goal.limits.use, self.goal.homes
        return along(graph.dest, uses, promise.way, homes, np.array([state]))[:, 0]


def _sets(graph: Graph, ways: Sequence[Edges]) -> MoveSets:
    """Return the doubtful edges of each way as sets of moves, by ascending states."""
    sets = []
    for states, actions in ways:
        order = np.argsort(states)
        states, actions = states[order], actions[order]
        doubtful = graph.risk[states, actions] > 0.0
        sets.append((states[doubtful], actions[doubtful]))
    first = np.cumsum([0, *(len(states) for states, _ in sets)])
    states, actions = (np.concatenate(part).astype(np.int64) for part in zip(*sets, strict=True))
    return MoveSets(first, states, actions)


def _changed(edges: IntArray, choice: IntArray, dropped: IntArray) -> Edges:
    """Return changes: the actions `choice` [S] in the states `edges`, and −1 in `dropped`."""
    return np.append(edges, dropped), np.append(choice[edges], np.full(len(dropped), -1, np.int32))


def _joined(actions: int, one: Edges | None, other: Edges | None) -> Edges | None:
    """Return the moves that are in one of both sets; None if one of them is missing."""
    if one is None or other is None:
        return None
    codes = np.unique(np.concatenate([s * actions + a for s, a in (one, other)]))
    states, chosen = np.divmod(codes, actions)
    return states, chosen
