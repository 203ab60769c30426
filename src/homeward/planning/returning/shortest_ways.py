"""Shortest ways home on a graph, by one kernel: from nothing, or repaired where something changed.

A way home has a key: the risk r that it adds and its second cost n (expected steps), compared in
this order. An edge gives its source the key of its end plus its own risk and cost. An edge adds a
cost above 0, so the source has a larger key than the end, also after rounding. Therefore only one
assignment of keys is consistent with all edges: if there were two, consider the smallest key at
which they differ. So repairing keys (after Ramalingam and Reps) gives the result of a complete
search, bit by bit. If two edges give the same key, the edge whose end has the smaller key is taken,
then the lower end. The search goes by ascending keys and may stop early: states with a larger risk
wait until a search needs them.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.compiling import inner_kernel, int64, kernel
from homeward.planning.promise import Promise

MIN_SUCCESS = 1e-3  # smallest success probability of an attempt that a plan relies on
MAX_CHANGED_SHARE = 0.05  # share of changed states up to which ways are repaired
MAX_PARTS = 64  # largest number of lists of waiting states; more are merged into one
NO_STATES: IntArray = np.empty(0, np.int64)


class Graph(NamedTuple):
    """A move-or-stay graph with the risks of its edges."""

    dest: IntArray  # [S, A] state that an edge leads to
    success: FloatArray  # [S, A] mean probability that an attempt works; 0 if it can't be chosen
    risk: FloatArray  # [S, A] upper bound on the probability that an edge never works
    cost: FloatArray  # [S, A] second cost of an edge, above 0; empty: 1 / success
    bounded: IntArray  # [m] edges, state · A + action ascending, whose `risk` is not exact
    least: FloatArray  # [m] lower bound on the probability that such an edge never works
    first: IntArray  # with `source` and `action`: the edges by destination, as from `ways_to`
    source: IntArray
    action: IntArray


class Keys(NamedTuple):
    """The best way home from each state, with its key (`added`, `steps`)."""

    free: IntArray  # [S] action whose edge can be used at no charge; −1 for none
    added: FloatArray  # [S] risk that the way home would add; infinite without a way
    steps: FloatArray  # [S] second cost of the way home: by default its expected steps
    choice: IntArray  # [S] first action of the way home; −1 at home and without a way


class Waiting(NamedTuple):
    """States whose keys were not needed yet, each with a lower bound on its key."""

    risk: FloatArray  # [n]
    steps: FloatArray  # [n]
    state: IntArray  # [n]


NOTHING_WAITS = Waiting(np.empty(0), np.empty(0), NO_STATES)


class Wanted(NamedTuple):
    """The input of a search for ways home."""

    graph: Graph
    promise: Promise  # the edges that the run relies on
    free: float  # risk up to which such an edge can be used at no charge
    homes: IntArray  # [n] ascending
    state: int  # where the explorer is; the edges of its way home are free whatever their risk
    most: float  # largest risk that a way home may add


class _Last(NamedTuple):
    """The input of the last search, without the arrays of the belief."""

    promise: Promise
    free: float
    most: float
    doubtful: IntArray  # [n] states on the way home whose edges risk more than `free`


class ShortestWays:
    """The ways home of one promise, kept from step to step in arrays [S]."""

    def __init__(self, states: int) -> None:
        free, choice = np.full(states, -1, np.int32), np.full(states, -1, np.int32)
        self.keys = Keys(free, np.full(states, np.inf), np.full(states, np.inf), choice)
        self.way: IntArray = np.full(states, -1, np.int32)  # the actions that are relied on
        self.relied = NO_STATES  # states where an action was relied on, ascending
        self._last: _Last | None = None
        self._later: list[tuple[float, Waiting]] = []

    def find(self, wanted: Wanted, changed: IntArray | None, until: float) -> tuple[float, float]:
        """Find the ways home that add a risk of at most `until`; `keys` has them afterwards.

        `changed` [n] are the states whose edges changed since the last search; None means anywhere.
        Returns two risks of the way that is relied on: the sum over its edges, and the largest
        lower bound on the risk of one edge.
        """
        last, promise = self._last, wanted.promise
        if changed is None or len(changed) > MAX_CHANGED_SHARE * len(self.way):
            last = None
        if last is None or last.most != wanted.most:
            self.way[:] = promise.way
            self.relied, self._later = promise.at.copy(), []
            checked, relied, anew = NO_STATES, NO_STATES, True
        else:
            assert changed is not None
            at, actions = promise.changes(last.promise)
            self.way[at] = actions
            self.relied = np.union1d(self.relied, at[actions >= 0])
            checked, anew = np.concatenate([changed, at, last.doubtful]), False
            relied = NO_STATES if wanted.free == last.free else self.relied
        doubtful, risk, worst = self._search(wanted, until, checked, relied, anew)
        self._last = _Last(promise, wanted.free, wanted.most, doubtful)
        return risk, worst

    def extend(self, wanted: Wanted, until: float) -> None:
        """Find also the ways up to the risk `until`, with the input of the last `find`."""
        self._search(wanted, until, NO_STATES, NO_STATES, False)

    def _search(
        self, wanted: Wanted, until: float, checked: IntArray, relied: IntArray, anew: bool
    ) -> tuple[IntArray, float, float]:
        """Run the kernel; the states that have to wait are kept for later."""
        until = 2.0 ** math.ceil(math.log2(until)) if 0.0 < until < np.inf else until
        later, waiting = self._later, NOTHING_WAITS
        due = [part for least, part in later if least <= until]
        if due:
            waiting = Waiting(*(np.concatenate(parts) for parts in zip(*due, strict=True)))
            later[:] = [(least, part) for least, part in later if least > until]
        graph, _, free, homes, state, most = wanted
        ask = graph, self.way, free, homes, state, most, until, checked, relied, waiting
        late, doubtful, risk, worst = shortest_ways(*ask, self.keys, anew)
        if len(late.state):
            later.append((float(late.risk.min()), late))
        if len(later) > MAX_PARTS:
            parts = zip(*(part for _, part in later), strict=True)
            r, n, s = (np.concatenate(part) for part in parts)
            order = np.lexsort((n, r, s))
            order = order[np.append(True, np.diff(s[order]) > 0)]
            later[:] = [(float(r.min()), Waiting(r[order], n[order], s[order]))]
        return doubtful, risk, worst


@inner_kernel
def position(ascending: IntArray, value: Any) -> int:
    """Return the position of a value in an ascending array; −1 if it is not there."""
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < len(ascending) and ascending[low] == value else -1


@inner_kernel
def comes_before(risk: float, steps: float, than_risk: float, than_steps: float) -> bool:
    """Return whether the key (risk, steps) is smaller than (than_risk, than_steps)."""
    return risk < than_risk or (risk == than_risk and steps < than_steps)


@inner_kernel
def free_edge(graph: Graph, way: IntArray, free: float, s: Any) -> int:
    """Return the action of `way` [S] in `s` if its risk is at most `free`; else −1."""
    return way[s] if way[s] >= 0 and graph.risk[s, way[s]] <= free else -1


@inner_kernel
def cost_of(graph: Graph, s: Any, a: Any) -> float:
    """Return the second cost of an edge."""
    return float(graph.cost[s, a] if graph.cost.size else 1.0 / graph.success[s, a])


@inner_kernel
def best_edge(graph: Graph, keys: Keys, state: Any, most: float) -> tuple[float, float, int]:
    """Return the least key that the edges of a state give, and the action of that edge.

    Without an edge of risk at most `most`, the key is infinite and the action is −1.
    """
    free, added, steps, _ = keys
    up, best, end = 1.0 + 2.0**-51, -1, -1
    least_r, least_n = np.inf, np.inf
    for a in range(graph.dest.shape[1]):
        t, p, q = graph.dest[state, a], graph.success[state, a], graph.risk[state, a]
        r = added[t]
        if t == state or r == np.inf or p < MIN_SUCCESS:
            continue
        if q > 0.0 and free[state] != a:
            r = (r + q) * up
        if r > most or r > least_r:
            continue
        n = steps[t] + cost_of(graph, state, a)
        better = comes_before(r, n, least_r, least_n)
        if r == least_r and n == least_n:  # a tie
            better = comes_before(added[t], steps[t], added[end], steps[end])
            if added[t] == added[end] and steps[t] == steps[end]:
                better = t < end
        if better:
            least_r, least_n, best, end = r, n, a, t
    return least_r, least_n, best


@inner_kernel
def late_or_now(
    heap: list[tuple[float, float, np.int64]],
    late: list[tuple[float, float, np.int64]],
    until: float,
    risk: float,
    steps: float,
    state: Any,
) -> None:
    """Add a state with its key to `heap`, or to `late` if the risk exceeds `until`."""
    if risk <= until:
        heappush(heap, (risk, steps, np.int64(state)))
    else:
        late.append((risk, steps, np.int64(state)))


@kernel
def shortest_ways(
    graph: Graph,
    way: IntArray,
    free_risk: float,
    homes: IntArray,
    state: int,
    most: float,
    until: float,
    checked: IntArray,
    relied: IntArray,
    waiting: Waiting,
    keys: Keys,
    anew: bool,
) -> tuple[Waiting, IntArray, float, float]:
    """Write to `keys` the ways home that add the least risk; return the states that have to wait.

    An edge adds its `risk`, unless it is free: an edge of `way` [S] with a risk of at most
    `free_risk`, or on the way home from `state`. Ways that add more than `most` are left out.
    `checked` [n] and `waiting` are the states whose keys may not agree with their edges; `relied`
    [n] are states whose edges may not be free any more. If `anew`, nothing is known. Every key with
    a risk of at most `until` is final afterwards.

    Also returns the states [n] on the way home whose edges risk more than `free_risk`, the sum of
    the risks on it, and the largest lower bound on one of them; infinite and 1 without a way home.
    """
    free, added, steps, choice = keys
    heap, late = [(0.0, 0.0, np.int64(0))], [(0.0, 0.0, np.int64(0))]
    heap.pop()
    late.pop()
    suspects = [np.int64(s) for s in checked]
    if anew:
        for i in range(len(way)):
            free[i] = free_edge(graph, way, free_risk, i)
            added[i], steps[i], choice[i] = np.inf, np.inf, -1
        for h in homes:
            added[h], steps[h] = 0.0, 0.0
            for e in range(graph.first[h], graph.first[h + 1]):
                suspects.append(np.int64(graph.source[e]))  # noqa: PERF401
    for c in checked:
        free[c] = free_edge(graph, way, free_risk, c)
    for c in relied:
        now = free_edge(graph, way, free_risk, c)
        if free[c] != now:
            free[c] = now
            suspects.append(np.int64(c))
    doubtful, total, worst, leads_home = [np.int64(0) for _ in range(0)], 0.0, 0.0, False
    here = np.int64(state)
    for _ in range(len(way) + 1):
        a = way[here]
        leads_home = position(homes, here) >= 0
        if leads_home or a < 0:
            break
        if free[here] != a:
            free[here] = a
            suspects.append(here)
        if graph.risk[here, a] > free_risk:
            doubtful.append(here)
        total += graph.risk[here, a]
        k = position(graph.bounded, here * graph.dest.shape[1] + a)
        worst = max(worst, graph.least[k] if k >= 0 else graph.risk[here, a])
        here = np.int64(graph.dest[here, a])
    total *= 1.0 + len(way) * 2.0**-52
    if not leads_home:
        total, worst = np.inf, 1.0
    for i in range(len(waiting.state)):
        late_or_now(heap, late, until, waiting.risk[i], waiting.steps[i], waiting.state[i])
    for c in suspects:
        if position(homes, c) < 0:
            r, n, a = best_edge(graph, keys, c, most)
            if r != added[c] or n != steps[c] or a != choice[c]:
                if comes_before(added[c], steps[c], r, n):
                    r, n = added[c], steps[c]
                late_or_now(heap, late, until, r, n, c)
    up = 1.0 + 2.0**-51
    while heap:
        risk, taken, s = heappop(heap)
        r, n, a = best_edge(graph, keys, s, most)
        rises = comes_before(added[s], steps[s], r, n)
        is_same = r == added[s] and n == steps[s]
        if is_same and a == choice[s]:
            continue
        least_r, least_n = (added[s], steps[s]) if rises else (r, n)
        if comes_before(risk, taken, least_r, least_n):
            late_or_now(heap, late, until, least_r, least_n, s)
            continue
        if rises:
            added[s], steps[s], choice[s] = np.inf, np.inf, -1
            if a >= 0:
                late_or_now(heap, late, until, r, n, s)
        else:
            added[s], steps[s], choice[s] = r, n, a
        if is_same:
            continue
        for e in range(graph.first[s], graph.first[s + 1]):
            p, b = np.int64(graph.source[e]), graph.action[e]
            q, r, n = graph.risk[p, b], added[s], np.inf
            if r < np.inf and graph.success[p, b] >= MIN_SUCCESS:
                if q > 0.0 and free[p] != b:
                    r = (r + q) * up
                n = steps[s] + cost_of(graph, p, b)
            else:
                r = np.inf
            if r > most:
                r, n = np.inf, np.inf
            if comes_before(added[p], steps[p], r, n):
                if choice[p] != b:
                    continue
                r, n = added[p], steps[p]
            if r < np.inf and position(homes, p) < 0:
                late_or_now(heap, late, until, r, n, p)
    risks, further, states = np.empty(len(late)), np.empty(len(late)), np.empty(len(late), np.int64)
    for i in range(len(late)):
        risks[i], further[i], states[i] = late[i]
    return Waiting(risks, further, states), np.array(doubtful), total, worst


@kernel
def with_way(
    graph: Graph, way: IntArray, free: IntArray, choice: IntArray, homes: IntArray, state: int
) -> tuple[IntArray, float]:
    """Return the states [n] on the way home by `choice` [S] whose action in `way` [S] differs.

    Also returns the risk that the way home adds. `free` [S] edges add nothing. The risk is infinite
    if `choice` does not lead from `state` to a home.
    """
    changed, risk = [np.int64(0) for _ in range(0)], 0.0
    for _ in range(len(choice) + 1):
        if position(homes, state) >= 0:
            return np.array(changed), risk * (1.0 + len(choice) * 2.0**-52)
        a = choice[state]
        if a < 0:
            break
        if way[state] != a:
            changed.append(np.int64(state))
        if free[state] != a:
            risk += graph.risk[state, a]
        state = int64(graph.dest[state, a])
    return np.array(changed), np.inf


@kernel
def along(
    dest: IntArray, weights: FloatArray, choice: IntArray, homes: IntArray, states: IntArray
) -> FloatArray:
    """Return the sums [K, n] of `weights` [K, S, A] on the way home by `choice` [S] from `states`.

    They are rounded up, and infinite without a way home.
    """
    kinds = len(weights)
    total, state_of = np.empty((kinds, len(choice))), np.zeros(len(choice), np.int8)
    sums, path = np.empty((kinds, len(states))), [np.int64(0) for _ in range(0)]
    for i in range(len(states)):
        s = np.int64(states[i])
        while state_of[s] != 2:
            at_home = position(homes, s) >= 0
            if at_home or choice[s] < 0 or state_of[s] == 1:  # 1: a cycle
                total[:, s], state_of[s] = 0.0 if at_home else np.inf, 2
                break
            state_of[s] = 1
            path.append(s)
            s = np.int64(dest[s, choice[s]])
        while path:
            after, s = s, path.pop()
            if state_of[s] == 2:
                continue
            for k in range(kinds):
                q, before = weights[k, s, choice[s]], total[k, after]
                total[k, s] = (before + q) * (1.0 + 2.0**-51) if q > 0.0 else before
            state_of[s] = 2
        sums[:, i] = total[:, states[i]]
    return sums
