"""The move-or-stay graph of a belief, and compiled searches for ways home on it.

States are numbered 0 to S − 1, actions 0 to A − 1. Kernels know only arrays; ties go to the lowest
state number, so the same input gives the same answer.

A way home has a key: the risk r that it adds and its expected steps n, compared in this order. An
edge gives its source a key: the key of its end, plus the risk and the steps of the edge. The key of
a state is the least that its edges give. An edge adds at least one step, so the source has a larger
key than the end, also after rounding. Therefore only one assignment of keys is consistent with all
edges: if there were two, consider the smallest key at which they differ. So repairing keys after
changes (`settle`, after Ramalingam and Reps) gives the result of a complete search, bit by bit. If
two edges give the same key, the edge whose end has the smaller key is taken, then the lower end.

The search goes by ascending keys and may stop early. If all states whose keys are not consistent
with their edges have keys above k, then every key up to k is final, by the same argument.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import breadth_first_order

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, is_default_zero
from homeward.beliefs import Belief
from homeward.beliefs.corrections import Correction
from homeward.compiling import inner_kernel, int64, kernel
from homeward.models import Model, Moves
from homeward.solvers.paths import ways_to

MIN_SUCCESS = 1e-3  # smallest success probability of an attempt that a plan relies on
EVERYWHERE: BoolArray = frozen(np.ones((1, 1), dtype=bool))  # mask that allows every edge


class Reach(NamedTuple):
    """What attempts use of K limited amounts, such as metres or energy, and how much is left."""

    use: FloatArray  # [K, S, A] amount that an attempt uses if it works
    lost: FloatArray  # [K, S, A] amount that an attempt uses if it fails
    left: FloatArray  # [K] amount that may still be used, the way home included
    home: FloatArray  # [K, S] amount that the way home from a state uses; empty if unknown
    pace: FloatArray  # [S, A] use of an attempt over the mean use of one; empty if unknown


NO_REACH = Reach(*(frozen(np.zeros((0,) * n)) for n in (3, 3, 1, 2, 2)))  # nothing is limited


class Graph(NamedTuple):
    """A move-or-stay graph with the risks of its edges."""

    dest: IntArray  # [S, A] state that an edge leads to
    success: FloatArray  # [S, A] mean probability that an attempt works; 0 if it can't be chosen
    blocked: FloatArray  # [S, A] upper bound on the probability that an edge never works
    bounded: IntArray  # [m] edges, state · A + action ascending, whose `blocked` is not exact
    least: FloatArray  # [m] lower bound on the probability that such an edge never works
    allowed: BoolArray  # [S, A] mask of the edges that a path away from home may take; [1, 1]: all
    first: IntArray  # with `source` and `action`: the edges by destination, as from `ways_to`
    source: IntArray
    action: IntArray
    reach: Reach = NO_REACH  # the limited amounts


def may_reach(model: Model, usable: BoolArray, state: int) -> BoolArray:
    """Return the mask [S] of the states that `usable` [S, A] actions may reach from `state`.

    Moves that succeed with a probability below `MIN_SUCCESS` do not count.
    """
    if isinstance(model, Moves):
        usable = usable & (model.success >= MIN_SUCCESS)
        starts = np.repeat(np.arange(model.states), usable.sum(axis=1))
        pairs = np.ones(len(starts), np.bool_), (starts, model.dest[usable])
        links = csr_array(pairs, shape=(model.states, model.states))
    else:
        rows = (diags_array(usable.ravel().astype(np.float64)) @ model.transitions).tocsr()
        rows.eliminate_zeros()
        parts = rows.data, rows.indices, rows.indptr[:: model.actions].copy()
        links = csr_array(parts, shape=(model.states, model.states))
    reached = np.zeros(model.states, np.bool_)
    reached[breadth_first_order(links, state, return_predecessors=False)] = True
    return reached


def graph_of(
    belief: Belief, model: Moves, correction: Correction | None, allowed: BoolArray = EVERYWHERE
) -> Graph:
    """Return the mean graph of a belief, with the risk that each edge never works."""
    success = model.success
    bounded: IntArray = np.empty(0, np.int64)
    least: FloatArray = np.empty(0)
    if not is_default_zero(model.reward):
        success = np.where(np.isfinite(model.reward), success, 0.0)
    if correction is Correction.NAIVE:
        blocked = np.where(success > 0.0, 0.0, 1.0)
    else:
        blocked = belief.blocked_probability()
        bounded, least = belief.least_blocked()
        if correction is Correction.GENERAL:
            known = np.array(blocked, np.float64)
            known.reshape(-1)[bounded] = least
            with np.errstate(divide="ignore", invalid="ignore"):
                by_correction = -belief.correction() / model.success
            blocked = np.where(model.success > 0.0, np.clip(by_correction, 0.0, 1.0), 1.0)
            bounded = np.flatnonzero(known != blocked)
            least = known.ravel()[bounded]
    edges = frozen(success), frozen(blocked), frozen(bounded), frozen(least), frozen(allowed)
    return Graph(model.dest, *edges, *ways_to(model))


@kernel
def mask_of(states: int, homes: IntArray) -> BoolArray:
    """Return the mask [S] of the home states [n]."""
    mask = np.zeros(states, np.bool_)
    for h in homes:
        mask[h] = True
    return mask


@inner_kernel
def trusted_edge(graph: Graph, way: IntArray, trusted: float, s: Any) -> int:
    """Return the action of `way` [S] in `s` if its risk is at most `trusted`; else −1."""
    return way[s] if way[s] >= 0 and graph.blocked[s, way[s]] <= trusted else -1


@kernel
def relied_on(
    graph: Graph, way: IntArray, trusted: float, homes: IntArray, state: int
) -> tuple[IntArray, float, float]:
    """Return the free edges [S] of `way` [S], those that can be used at no charge; −1 for none.

    Edges on the way home from `state` are free, and other edges with a risk of at most `trusted`.
    Also returns the two risks that `hold_way` returns.
    """
    free = np.empty(len(way), np.int32)
    for s in range(len(way)):
        free[s] = trusted_edge(graph, way, trusted, s)
    _, total, worst = hold_way(graph, way, trusted, homes, state, free)
    return free, total, worst


@kernel
def ways_home(
    graph: Graph,
    way: IntArray,
    trusted: float,
    homes: IntArray,
    state: int,
    most: float,
    shortest: bool,
) -> tuple[IntArray, float, float, FloatArray, FloatArray, FloatArray, IntArray, FloatArray]:
    """Find the way home from each state that adds the least risk, or has the fewest steps.

    An edge adds its `blocked` to the risk; the free edges of `relied_on` add nothing. Ways that add
    more than `most` are left out. With `shortest`, ways are compared by steps first and risk
    second. If amounts are limited, what a way uses of them counts instead of steps.

    Returns what `relied_on` returns; then of each state's way the added risk [S] (infinite without
    a way), the risk including free edges [S], the steps [S], the first action [S] (−1 at home and
    without a way), and the use of each limited amount [K, S].
    """
    free, held, worst = relied_on(graph, way, trusted, homes, state)
    states, success, blocked = len(free), graph.success, graph.blocked
    added, total = np.full(states, np.inf), np.full(states, np.inf)
    steps, choice = np.full(states, np.inf), np.full(states, -1, np.int32)
    done, limits = np.zeros(states, np.bool_), len(graph.reach.left)
    need, use = np.full((limits, states), np.inf), graph.reach.use
    scale = graph.reach.left[:1] / np.maximum(graph.reach.left, 1e-300)
    for h in homes:
        added[h], total[h], steps[h], need[:, h] = 0.0, 0.0, 0.0, 0.0
    up, heap = 1.0 + 2.0**-51, [(0.0, 0.0, np.int64(h)) for h in homes]
    heapify(heap)
    while heap:
        _, _, t = heappop(heap)
        if done[t]:
            continue
        done[t] = True
        for e in range(graph.first[t], graph.first[t + 1]):
            s, a = graph.source[e], graph.action[e]
            if done[s]:
                continue
            q, r = blocked[s, a], added[t]
            if q > 0.0 and free[s] != a:
                r = (r + q) * up
            if r > (most if shortest else min(most, added[s])) or success[s, a] < MIN_SUCCESS:
                continue
            n = steps[t] + (1.0 / success[s, a] if limits == 0 else 0.0)
            for k in range(limits):
                n += scale[k] * use[k, s, a]
            better = (n, r) < (steps[s], added[s]) if shortest else (r, n) < (added[s], steps[s])
            if better:
                added[s], steps[s], choice[s] = r, n, a
                total[s] = (total[t] + q) * up if q > 0.0 else total[t]
                for k in range(limits):
                    need[k, s] = need[k, t] + use[k, s, a]
                heappush(heap, (n, r, np.int64(s)) if shortest else (r, n, np.int64(s)))
    return free, held, worst, added, total, steps, choice, need


class Keys(NamedTuple):
    """The best way home from each state for one budget, with its key (`added`, `steps`)."""

    free: IntArray  # [S] action whose edge can be used at no charge; −1 for none
    added: FloatArray  # [S] risk that the way home would add; infinite without a way
    steps: FloatArray  # [S] expected steps of the way home
    choice: IntArray  # [S] first action of the way home; −1 at home and without a way


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


class Waiting(NamedTuple):
    """States whose keys were not needed yet, each with a lower bound on its key."""

    risk: FloatArray  # [n]
    steps: FloatArray  # [n]
    state: IntArray  # [n]


@inner_kernel
def hold_way(
    graph: Graph, way: IntArray, trusted: float, homes: IntArray, state: int, free: IntArray
) -> tuple[IntArray, float, float]:
    """Write the edges of the way home from `state` along `way` [S] to `free` [S].

    Returns the states [n] of these edges whose risk is above `trusted`, the sum of the edges'
    risks, and the largest lower bound on an edge's risk. Without a way home, the sum is infinite
    and the lower bound is 1.
    """
    held, total, worst = [np.int64(0) for _ in range(0)], 0.0, 0.0
    for _ in range(len(way) + 1):
        if position(homes, state) >= 0:
            return np.array(held), total * (1.0 + len(way) * 2.0**-52), worst
        a = way[state]
        if a < 0:
            break
        free[state] = a
        if graph.blocked[state, a] > trusted:
            held.append(np.int64(state))
        total += graph.blocked[state, a]
        k = position(graph.bounded, state * graph.dest.shape[1] + a)
        worst = max(worst, graph.least[k] if k >= 0 else graph.blocked[state, a])
        state = int64(graph.dest[state, a])
    return np.array(held), np.inf, 1.0


@inner_kernel
def best_edge(graph: Graph, keys: Keys, state: Any, most: float) -> tuple[float, float, int]:
    """Return the least key that the edges of a state give, and the action of that edge.

    Without an edge of risk at most `most`, the key is infinite and the action is −1.
    """
    free, added, steps, _ = keys
    up, best, end = 1.0 + 2.0**-51, -1, -1
    least_r, least_n = np.inf, np.inf
    for a in range(graph.dest.shape[1]):
        t, p, q = graph.dest[state, a], graph.success[state, a], graph.blocked[state, a]
        r = added[t]
        if t == state or r == np.inf or p < MIN_SUCCESS:
            continue
        if q > 0.0 and free[state] != a:
            r = (r + q) * up
        if r > most or r > least_r:
            continue
        n = steps[t] + 1.0 / p
        better = comes_before(r, n, least_r, least_n)
        if r == least_r and n == least_n:  # a tie
            better = comes_before(added[t], steps[t], added[end], steps[end])
            if added[t] == added[end] and steps[t] == steps[end]:
                better = t < end
        if better:
            least_r, least_n, best, end = r, n, a, t
    return least_r, least_n, best


@kernel
def start_keys(
    graph: Graph, way: IntArray, trusted: float, homes: IntArray, state: int, keys: Keys
) -> tuple[IntArray, float, float]:
    """Prepare `keys` for a complete search by `settle`; return what `hold_way` returns.

    Only homes have a key. The free edges are those of `relied_on`.
    """
    free, added, steps, choice = keys
    for s in range(len(way)):
        free[s] = trusted_edge(graph, way, trusted, s)
        added[s], steps[s], choice[s] = np.inf, np.inf, -1
    for h in homes:
        added[h], steps[h] = 0.0, 0.0
    return hold_way(graph, way, trusted, homes, state, free)


@kernel
def free_again(
    graph: Graph,
    way: IntArray,
    trusted: float,
    homes: IntArray,
    state: int,
    suspects: IntArray,
    relied: IntArray,
    free: IntArray,
) -> tuple[IntArray, IntArray, float, float]:
    """Update the `free` edges [S] of `relied_on`; return the states [m] that `settle` must check.

    `suspects` [n] are the states whose edges or whose entry in `way` [S] may have changed, and the
    states that `hold_way` returned last. `relied` [n] are further states whose edges may not be
    free any more, because `trusted` has changed. Also returns what `hold_way` returns.
    """
    unsettled = [np.int64(s) for s in suspects]
    for s in suspects:
        free[s] = trusted_edge(graph, way, trusted, s)
    for s in relied:
        now = trusted_edge(graph, way, trusted, s)
        if free[s] != now:
            free[s] = now
            unsettled.append(np.int64(s))
    s = state
    for _ in range(len(way) + 1):
        if position(homes, s) >= 0 or way[s] < 0:
            break
        if free[s] != way[s]:
            unsettled.append(np.int64(s))
        s = graph.dest[s, way[s]]
    held, risk, worst = hold_way(graph, way, trusted, homes, state, free)
    return np.array(unsettled), held, risk, worst


@kernel
def settle(
    graph: Graph,
    homes: IntArray,
    most: float,
    until: float,
    suspects: IntArray,
    waiting: Waiting,
    keys: Keys,
) -> Waiting:
    """Write to `keys` the ways home that add the least risk; return the states that have to wait.

    An edge adds its `blocked` to the risk; `free` edges add nothing. Ways that add more than `most`
    are left out. `suspects` [n] and `waiting` are the states whose keys may not agree with their
    edges. Every key with a risk of at most `until` is final afterwards. Other states have a larger
    risk, and their keys may have to wait.
    """
    free, added, steps, choice = keys
    heap, late = [(0.0, 0.0, np.int64(0))], [(0.0, 0.0, np.int64(0))]
    heap.pop()
    late.pop()
    for i in range(len(waiting.state)):
        late_or_now(heap, late, until, waiting.risk[i], waiting.steps[i], waiting.state[i])
    for s in suspects:
        if position(homes, s) < 0:
            r, n, a = best_edge(graph, keys, s, most)
            if r != added[s] or n != steps[s] or a != choice[s]:
                if comes_before(added[s], steps[s], r, n):
                    r, n = added[s], steps[s]
                late_or_now(heap, late, until, r, n, s)
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
            q, r, n = graph.blocked[p, b], added[s], np.inf
            if r < np.inf and graph.success[p, b] >= MIN_SUCCESS:
                if q > 0.0 and free[p] != b:
                    r = (r + q) * up
                n = steps[s] + 1.0 / graph.success[p, b]
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
    return Waiting(risks, further, states)


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
            risk += graph.blocked[state, a]
        state = graph.dest[state, a]
    return np.array(changed), np.inf


@kernel
def total_risks(graph: Graph, choice: IntArray, homes: IntArray, states: IntArray) -> FloatArray:
    """Return the risk [n] of the way home from each of `states` [n] by the actions `choice` [S].

    It is the sum of the risks of the edges on the way, also of those that an account has paid for,
    and infinite without a way home.
    """
    total, is_known = np.empty(len(choice)), np.zeros(len(choice), np.bool_)
    risks, path = np.empty(len(states)), [np.int64(0) for _ in range(0)]
    for i in range(len(states)):
        s = np.int64(states[i])
        while not is_known[s]:
            if position(homes, s) >= 0 or choice[s] < 0:
                total[s], is_known[s] = 0.0 if position(homes, s) >= 0 else np.inf, True
                break
            path.append(s)
            s = np.int64(graph.dest[s, choice[s]])
        while path:
            before, s = total[s], path.pop()
            q = graph.blocked[s, choice[s]]
            total[s], is_known[s] = (before + q) * (1.0 + 2.0**-51) if q > 0.0 else before, True
        risks[i] = total[states[i]]
    return risks


@kernel
def used_by(graph: Graph, way: IntArray, homes: IntArray, state: int) -> FloatArray:
    """Return how much of each amount [K] the way home from `state` by `way` [S] uses.

    The amounts are infinite without a way home.
    """
    total = np.zeros(len(graph.reach.left))
    for _ in range(len(way) + 1):
        if position(homes, state) >= 0:
            return total
        a = way[state]
        if a < 0:
            break
        total += graph.reach.use[:, state, a]
        state = graph.dest[state, a]
    return np.full(len(total), np.inf)


@inner_kernel
def affords(reach: Reach, used: FloatArray, row: int, s: int, a: int, t: int, sure: bool) -> bool:
    """Return whether the amounts suffice for an attempt of the edge from `s` to `t` and the return.

    `used[row]` [K] are the amounts used before the attempt. If the edge is not `sure`, the attempt
    may fail. Then the amounts must also suffice for the return from `s`.
    """
    for k in range(len(reach.left)):
        if used[row, k] + reach.use[k, s, a] + reach.home[k, t] > reach.left[k]:
            return False
        if not sure and used[row, k] + reach.lost[k, s, a] + reach.home[k, s] > reach.left[k]:
            return False
    return True


@inner_kernel
def spend(
    reach: Reach, used: FloatArray, row: int, s: int, a: int, after: FloatArray, to: int
) -> None:
    """Set `after[to]` [K] to `used[row]` [K] plus the use of an attempt that works."""
    for k in range(len(reach.left)):
        after[to, k] = used[row, k] + reach.use[k, s, a]
