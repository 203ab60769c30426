"""Compiled searches for the state or path with the most gain per step or per unit of risk.

`homeward.planning.graph` defines the graph and how ties are broken; `homeward.bonuses.Looks`
defines gains. A path [n] has the states from the current one to the target, both included; it is
empty if there is no target. If amounts such as energy are limited, an edge costs its `pace` instead
of one step. Searches write to a `Scratch` and clean what they wrote, so that they cost what they
visit, however large the map is.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from homeward.beliefs.sight import sees
from homeward.bonuses import Looks
from homeward.planning.graph import MIN_SUCCESS, affords

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.planning.graph import Graph


class Shares(NamedTuple):
    """The fraction of each remaining budget that a way home from a state would spend."""

    added: FloatArray  # [K, S] risk that the way home would add
    left: FloatArray  # [K] remaining budget, above 0; −1 if the budget does not count

    def at(self, states: IntArray) -> FloatArray:
        """Return the largest share [n] of a remaining budget in some states [n]."""
        return shares_at(self, np.ascontiguousarray(states, np.int64))

    @classmethod
    def given(cls, share: FloatArray) -> Shares:
        """Return shares with these values [S]."""
        return cls(share[None], np.ones(1))


@njit(cache=True)
def share_of(shares: Shares, state: int) -> float:
    """Return the largest share of a remaining budget that a way home from a state would spend."""
    most = 0.0
    for k in range(len(shares.left)):
        if shares.left[k] > 0.0:
            most = max(most, shares.added[k, state] / shares.left[k])
    return most


@njit(cache=True)
def shares_at(shares: Shares, states: IntArray) -> FloatArray:
    """Return the largest share [n] of a remaining budget in some states [n]."""
    found = np.empty(len(states))
    for i in range(len(states)):
        found[i] = share_of(shares, states[i])
    return found


class Scratch(NamedTuple):
    """Arrays [S] that searches write to; between searches they have the values given here."""

    steps: FloatArray  # infinite
    worst: FloatArray  # infinite
    looked: FloatArray  # 0; [2S], whose second half counts visits
    before: IntArray  # −1
    is_done: BoolArray  # False
    ends: IntArray  # 0
    visited: IntArray  # undefined

    @classmethod
    def of(cls, states: int) -> Scratch:
        """Return arrays for a number of states."""
        far = np.full(states, np.inf), np.full(states, np.inf)
        before, done = np.full(states, -1, np.int32), np.zeros(states, np.bool_)
        ends, visited = np.zeros(states, np.int8), np.empty(states, np.int32)
        return cls(*far, np.zeros(2 * states), before, done, ends, visited)


@njit(cache=True)
def clean(scratch: Scratch, count: int) -> None:
    """Undo a search that reached `count` states."""
    for s in scratch.visited[:count]:
        scratch.steps[s] = scratch.worst[s] = np.inf
        scratch.before[s], scratch.is_done[s] = -1, False


@njit(cache=True)
def path_to(before: IntArray, state: int, target: int) -> IntArray:
    """Return the path [n] from `state` to `target` by predecessors [S]; empty for target −1."""
    length, s = int(target >= 0), target
    while s >= 0 and s != state:
        length, s = length + 1, before[s]
    path, s = np.empty(length, np.int64), target
    for k in range(length - 1, -1, -1):
        path[k] = s
        s = before[s]
    return path


@njit(cache=True)
def gain_at(state: int, looks: Looks, looked: FloatArray, hides: bool) -> float:
    """Return the gain of a look from a state after earlier looks of total weight `looked` [S].

    Looks of total precision w at a cell of variance v gain ½ ln(1 + v·w) nats. If gains are not
    logarithmic, the first look gains the cell's amount, and later looks gain 0. Without `hides`,
    the ground hides nothing, and the gain is an upper bound. If visits gain, `looked` is [2S] and
    its second half counts visits.
    """
    (rows, columns), down, right, weight = looks.shape, looks.down, looks.right, looks.weight
    amount, ground, done, visit = looks.amount, looks.ground, looks.done, looks.visit
    total, hides = 0.0, hides and ground.size > 0
    if visit.size > 0 and looked[len(amount) + state] == 0.0:
        total += visit[state]
    if done.size > 0 and done[state]:
        return total
    row, column = state // columns, state % columns
    for k in range(len(weight)):
        r, c = row + down[k], column + right[k]
        if not (0 <= r < rows and 0 <= c < columns):
            continue
        t = r * columns + c
        v = amount[t]
        if v <= 0.0:
            continue
        if hides and t != state and not sees(ground, row, column, looks.mast, down[k], right[k]):
            continue
        if looks.logarithmic:
            total += 0.5 * math.log1p(v * weight[k] / (1.0 + v * looked[t]))
        elif looked[t] == 0.0:
            total += v
    return total


@njit(cache=True)
def look_from(state: int, looks: Looks, looked: FloatArray, forget: bool) -> None:
    """Add a look from a state to `looked` [S]; with `forget`, set the cells that it covers to 0."""
    (rows, columns), down, right, weight = looks.shape, looks.down, looks.right, looks.weight
    row, column, ground = state // columns, state % columns, looks.ground
    hides = not forget and ground.size > 0
    if looks.visit.size > 0:
        looked[len(looks.amount) + state] = 0.0 if forget else 1.0
    for k in range(len(weight)):
        r, c = row + down[k], column + right[k]
        if not (0 <= r < rows and 0 <= c < columns):
            continue
        t = r * columns + c
        if hides and t != state and not sees(ground, row, column, looks.mast, down[k], right[k]):
            continue
        looked[t] = 0.0 if forget else looked[t] + weight[k]


@njit(cache=True)
def follow(
    graph: Graph, path: IntArray, looks: Looks, along: bool, extra: float, scratch: Scratch
) -> tuple[IntArray, float, float]:
    """Return the likeliest action [n − 1] on each leg of a path [n], the gain and the steps.

    The gain is that of a look from the last state; with `along`, it is the joint gain of looks from
    all states after the first. A look takes `extra` steps after arrival. If no allowed edge leads
    from a state to the next one, the action is −1 and the steps are infinite, as they are where
    home would be out of reach.
    """
    actions, steps = np.full(len(path) - 1, -1, np.int32), extra
    used = np.zeros(len(graph.reach.left))
    looked, gain = scratch.looked, 0.0
    everywhere = graph.allowed.shape[0] == 1
    for k in range(len(path) - 1):
        s, best = path[k], 0.0
        for a in range(graph.dest.shape[1]):
            leads = graph.dest[s, a] == path[k + 1] and (everywhere or graph.allowed[s, a])
            if leads and (actions[k] < 0 or graph.success[s, a] > best):
                actions[k], best = a, graph.success[s, a]
        cost = graph.reach.pace[s, actions[k]] if len(used) else 1.0
        steps += cost / best if best >= MIN_SUCCESS else np.inf
        if len(used):
            if not affords(graph.reach, used, s, actions[k], path[k + 1], best >= 1.0):
                steps = np.inf
            used += graph.reach.use[:, s, actions[k]]
        if along:
            gain += gain_at(path[k + 1], looks, looked, True)
            look_from(path[k + 1], looks, looked, False)
    if along:
        for s in path[1:]:
            look_from(s, looks, looked, True)
    else:
        gain = gain_at(path[-1], looks, looked, True)
    return actions, gain, steps


@njit(cache=True)
def search_outward(
    graph: Graph,
    shares: Shares,
    free: float,
    toll: float,
    state: int,
    looks: Looks,
    extra: float,
    power: float,
    limit: FloatArray,
    highest: float,
    scratch: Scratch,
) -> tuple[IntArray, float, float]:
    """Find the state that maximises gain / steps**power, by a search outward from `state`.

    The gain of a state is reduced by toll · max(0, largest share on the path − free). States are
    not entered if that exceeds any gain, or if their share is above 1. A look takes `extra` steps
    after arrival; if `extra` is 0, the current state has no gain. `limit` [S] are upper bounds on
    gains; they are lowered to the gains found with nothing hidden. `highest` is an upper bound on
    all gains: the search stops at the distance beyond which no state can be the best. Returns the
    path to the state (empty if there is none), its gain and its steps.
    """
    dest, success, allowed = graph.dest, graph.success, graph.allowed
    steps, worst, looked, before, is_done, _, visited = scratch
    steps[state], worst[state], heap = 0.0, 0.0, [(0.0, np.int64(state))]
    visited[0], count = state, 1
    best, best_gain, best_steps, rate = -1, 0.0, 1.0, 0.0
    reach = graph.reach
    used = np.zeros((len(dest) if len(reach.left) else 1, len(reach.left)))
    while heap:
        s = int(heappop(heap)[1])
        if is_done[s]:
            continue
        is_done[s] = True
        n = (steps[s] + extra) ** power
        if n > 0.0:
            if highest <= rate * n:
                break
            if limit[s] - toll * worst[s] > rate * n:
                gain = gain_at(s, looks, looked, False)
                limit[s] = gain
                if looks.ground.size > 0 and gain - toll * worst[s] > rate * n:
                    gain = gain_at(s, looks, looked, True)
                gain -= toll * worst[s]
                if gain > rate * n:
                    best, best_gain, rate = s, gain, gain / n
                    best_steps = steps[s] + extra
        for a in range(dest.shape[1]):
            t, p = dest[s, a], success[s, a]
            if is_done[t] or p < MIN_SUCCESS or (allowed.shape[0] > 1 and not allowed[s, a]):
                continue
            if len(reach.left) and not affords(reach, used[s], s, a, t, p >= 1.0):
                continue
            away = steps[s] + (reach.pace[s, a] if len(reach.left) else 1.0) / p
            if away < steps[t]:
                share = share_of(shares, t)
                if share > 1.0 or toll * (share - free) >= highest:
                    continue
                if steps[t] == np.inf:
                    visited[count] = t
                    count += 1
                steps[t], before[t], worst[t] = away, s, max(worst[s], share - free)
                if len(reach.left):
                    used[t] = used[s] + reach.use[:, s, a]
                heappush(heap, (away, np.int64(t)))
    path = path_to(before, state, best)
    clean(scratch, count)
    return path, best_gain, best_steps


@njit(cache=True)
def best_per_risk(
    graph: Graph,
    shares: Shares,
    floor: float,
    state: int,
    looks: Looks,
    extra: float,
    scratch: Scratch,
) -> tuple[IntArray, float, float, float, float, float]:
    """Find the state with the most gain per unit of risk, by a search outward from `state`.

    The risk of a path is the largest share of its states. Each state is reached by the path with
    the least risk and, among these, with the fewest steps. States whose path has a risk above 1, or
    whose gain per step is below `floor`, are excluded. Returns the path to the state, its gain,
    steps and risk. Also returns, of the states that are excluded only by their risk, the least risk
    and the gain of that state. A look takes `extra` steps after arrival.
    """
    dest, success, allowed = graph.dest, graph.success, graph.allowed
    steps, worst, looked, before, is_done, _, visited = scratch
    steps[state], worst[state] = 0.0, 0.0
    heap, visited[0], count = [(0.0, 0.0, np.int64(state))], state, 1
    best, best_gain, best_steps, best_risk, per_risk = -1, 0.0, 1.0, 0.0, 0.0
    over_risk, over_gain = np.inf, 0.0
    everywhere, reach = allowed.shape[0] == 1, graph.reach
    used = np.zeros((len(dest) if len(reach.left) else 1, len(reach.left)))
    while heap:
        s = int(heappop(heap)[2])
        if is_done[s]:
            continue
        is_done[s] = True
        n = steps[s] + extra
        if n > 0.0:
            gain = gain_at(s, looks, looked, True)
            if gain >= floor * n and gain > 0.0:
                if worst[s] > 1.0:
                    if worst[s] < over_risk:
                        over_risk, over_gain = worst[s], gain
                elif gain > per_risk * worst[s] or best < 0:
                    best, best_gain, best_steps, best_risk = s, gain, n, worst[s]
                    per_risk = gain / worst[s] if worst[s] > 0.0 else np.inf
        for a in range(dest.shape[1]):
            t, p = dest[s, a], success[s, a]
            if is_done[t] or p < MIN_SUCCESS or not (everywhere or allowed[s, a]):
                continue
            risk = share_of(shares, t)
            if risk == np.inf:
                continue
            if len(reach.left) and not affords(reach, used[s], s, a, t, p >= 1.0):
                continue
            away = steps[s] + (reach.pace[s, a] if len(reach.left) else 1.0) / p
            r = max(worst[s], risk)
            if (r, away) < (worst[t], steps[t]):
                if steps[t] == np.inf:
                    visited[count] = t
                    count += 1
                worst[t], steps[t], before[t] = r, away, s
                if len(reach.left):
                    used[t] = used[s] + reach.use[:, s, a]
                heappush(heap, (r, away, np.int64(t)))
    path = path_to(before, state, best)
    clean(scratch, count)
    return path, best_gain, best_steps, best_risk, over_risk, over_gain


@njit(cache=True)
def look_ahead(
    graph: Graph,
    shares: Shares,
    free: float,
    state: int,
    looks: Looks,
    price: float,
    width: int,
    depth: int,
    scratch: Scratch,
) -> tuple[IntArray, float, float]:
    """Find the path that maximises gain − price · steps, by beam search.

    The gain is the joint gain of looks along the path. States with a share above `free` are not
    entered. The search keeps the `width` best paths of each length up to `depth`, at most two
    of them with the same end. Returns the path [n] from `state`, its gain and its expected steps.
    """
    dest, success, allowed = graph.dest, graph.success, graph.allowed
    actions = dest.shape[1]
    room = width * depth + 1
    place, parent = np.empty(room, np.int64), np.empty(room, np.int64)
    gain, steps = np.zeros(room), np.zeros(room)
    place[0], parent[0] = state, -1
    low, high, best, best_worth = 0, 1, 0, 0.0
    most = width * actions
    to, of = np.empty(most, np.int64), np.empty(most, np.int64)
    told, taken, worth = np.empty(most), np.empty(most), np.empty(most)
    looked, ends = scratch.looked, scratch.ends
    everywhere, reach = allowed.shape[0] == 1, graph.reach
    used, uses = np.zeros((room, len(reach.left))), np.zeros((most, len(reach.left)))
    for _ in range(depth):
        count = 0
        for i in range(low, high):
            s, j = place[i], i
            while j > 0:
                look_from(place[j], looks, looked, False)
                j = parent[j]
            for a in range(actions):
                t, p = dest[s, a], success[s, a]
                if t == s or p < MIN_SUCCESS or share_of(shares, t) > free:
                    continue
                if not everywhere and not allowed[s, a]:
                    continue
                if len(reach.left):
                    if not affords(reach, used[i], s, a, t, p >= 1.0):
                        continue
                    uses[count] = used[i] + reach.use[:, s, a]
                cost = (reach.pace[s, a] if len(reach.left) else 1.0) / p
                more = gain_at(t, looks, looked, True)
                to[count], of[count] = t, i
                told[count], taken[count] = gain[i] + more, steps[i] + cost
                worth[count] = told[count] - price * taken[count]
                count += 1
            j = i
            while j > 0:
                look_from(place[j], looks, looked, True)
                j = parent[j]
        low = high
        order = np.argsort(-worth[:count], kind="mergesort")
        for k in order:
            if ends[to[k]] == 2:
                continue
            ends[to[k]] += 1
            place[high], parent[high] = to[k], of[k]
            gain[high], steps[high], used[high] = told[k], taken[k], uses[k]
            if worth[k] > best_worth:
                best, best_worth = high, worth[k]
            high += 1
            if high - low == width:
                break
        for i in range(low, high):
            ends[place[i]] = 0
        if high == low:
            break
    return place[path_to(parent, 0, best)], gain[best], steps[best]


@njit(cache=True)
def best_path(
    graph: Graph,
    shares: Shares,
    free: float,
    toll: float,
    state: int,
    looks: Looks,
    extra: float,
    power: float,
    limit: FloatArray,
    floor: float,
    highest: float,
    beam_price: float,
    width: int,
    depth: int,
    scratch: Scratch,
) -> tuple[IntArray, float, float, bool]:
    """Return the path to the best state of `search_outward`, or a better path of `look_ahead`.

    The beam search runs if `width` is above 0 and gain / steps of the best state is at least
    `floor`; its price per step is `beam_price` · gain / steps. Returns the path, its gain, its
    steps, and whether the gain is that of all looks along the path.
    """
    path, gain, steps = search_outward(
        graph, shares, free, toll, state, looks, extra, power, limit, highest, scratch
    )
    price = beam_price * (gain / steps)
    if len(path) and width > 0 and gain / steps >= floor:
        near, told, taken = look_ahead(
            graph, shares, free, state, looks, price, width, depth, scratch
        )
        if len(near) > 1 and told - price * taken > gain - price * steps:
            return near, told, taken, True
    return path, gain, steps, False


@njit(cache=True)
def take(state: int, looks: Looks, amount: FloatArray, opens: FloatArray) -> float:
    """Set `amount` [S] to 0 in the cells seen from a state; return the sum of `opens` [S] there."""
    (rows, columns), down, right, ground = looks.shape, looks.down, looks.right, looks.ground
    row, column, total = state // columns, state % columns, 0.0
    for k in range(len(down)):
        r, c = row + down[k], column + right[k]
        if not (0 <= r < rows and 0 <= c < columns):
            continue
        t = r * columns + c
        if amount[t] <= 0.0:
            continue
        if (
            ground.size == 0
            or t == state
            or sees(ground, row, column, looks.mast, down[k], right[k])
        ):
            amount[t] = 0.0
            total += opens[t]
    return total


@njit(cache=True)
def left_of(looks: Looks, amount: FloatArray) -> Looks:
    """Return the looks with `amount` [S] as the remaining gain of each cell."""
    shape, down, right, weight, _, logarithmic, action, ground, mast, done, visit, _, _ = looks
    rest = action, ground, mast, done, visit, np.nan, np.nan
    return Looks(shape, down, right, weight, amount, logarithmic, *rest)


@njit(cache=True)
def told_nearby(
    graph: Graph, shares: Shares, free: float, state: int, looks: Looks, radius: float
) -> FloatArray:
    """Return the remaining gain [S] of cells that can be seen within `radius` steps; else 0."""
    dest, success, allowed = graph.dest, graph.success, graph.allowed
    states, actions = dest.shape
    steps, rest = np.full(states, np.inf), looks.amount.copy()
    done = np.zeros(states, np.bool_)
    steps[state], heap = 0.0, [(0.0, np.int64(state))]
    while heap and heap[0][0] <= radius:
        s = int(heappop(heap)[1])
        if done[s]:
            continue
        done[s] = True
        take(s, looks, rest, looks.amount)
        for a in range(actions):
            t, p = dest[s, a], success[s, a]
            if done[t] or p < MIN_SUCCESS or share_of(shares, t) > free:
                continue
            if allowed.shape[0] > 1 and not allowed[s, a]:
                continue
            if steps[s] + 1.0 / p < steps[t]:
                steps[t] = steps[s] + 1.0 / p
                heappush(heap, (steps[t], np.int64(t)))
    return looks.amount - rest


@njit(cache=True)
def best_tour(
    graph: Graph,
    shares: Shares,
    free: float,
    state: int,
    looks: Looks,
    power: float,
    width: int,
    radius: float,
    return_price: float,
    scratch: Scratch,
) -> tuple[IntArray, float, float]:
    """Find the first stop of the cheapest tour, for gains that come only once.

    States with a share above `free` are not entered. The candidates are the `width` states
    with the largest gain / steps**power. From a candidate, a tour continues to the next best state
    by the same measure until it has seen all cells near the first candidate: those that can be seen
    within its distance plus `radius` steps. The cost of a tour is its steps, with the first leg
    counted twice, since later legs will be planned again. The cost also has `return_price` for each
    step that remains when the tour reaches a state from which unseen cells beyond the radius can be
    seen, because the explorer will then leave the tour. A tour that misses fewer cells is always
    better. Returns the path to the first stop, its gain and its steps.
    """
    states = len(graph.dest)
    is_open = np.empty((1, states))
    for s in range(states):
        is_open[0, s] = 0.0 if share_of(shares, s) <= free else 2.0  # 2: never entered
    entered = Shares(is_open, np.ones(1))
    highest = looks.amount.max() * len(looks.weight)
    most = np.full(states, highest)
    limit, looked = most.copy(), scratch.looked
    near, opens = looks.amount, looks.amount
    best: IntArray = np.empty(0, np.int64)
    best_gain, best_steps = 0.0, 1.0
    missed, least = np.inf, np.inf
    for i in range(width):
        first, gain, steps = search_outward(
            graph, entered, 0.0, 0.0, state, looks, 0.0, power, limit, highest, scratch
        )
        if len(first) == 0:
            break
        limit[first[-1]] = 0.0
        if i == 0:
            near = told_nearby(graph, shares, free, state, looks, steps + radius)
            opens, beyond = np.zeros(states), left_of(looks, looks.amount - near)
            for s in range(states):
                if near[s] > 0.0:
                    opens[s] = gain_at(s, beyond, looked, True)
        left, bounds = near.copy(), most.copy()
        path, there = first, steps
        length, opened, later = 0.0, 0.0, 0.0
        while len(path) and (steps + length < least or missed > 0.0):
            length += there
            new = 0.0
            for u in path[:0:-1]:
                new += take(u, looks, left, opens)
            opened, later = opened + new, later + new * length
            rest = left_of(looks, left)
            path, _, there = search_outward(
                graph, entered, 0.0, 0.0, path[-1], rest, 0.0, power, bounds, highest, scratch
            )
        cost = steps + length
        if opened > 0.0:
            cost += return_price * (length - later / opened)
        unseen = left.sum()
        if (unseen, cost) < (missed, least):
            best, best_gain, best_steps = first, gain, steps
            missed, least = unseen, cost
    return best, best_gain, best_steps
