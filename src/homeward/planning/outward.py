"""Compiled searches for the state or path with the most gain per step or per unit of risk.

`homeward.planning.graph` defines the graph and how ties are broken; `homeward.bonuses.Looks`
defines gains. A path [n] has the states from the current one to the target, both included; it is
empty if there is no target. Where amounts are limited, an edge costs its `pace` instead of a step.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from homeward.beliefs.sight import sees
from homeward.bonuses import Looks
from homeward.planning.graph import MIN_SUCCESS, affords

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.planning.graph import Graph


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
def covers(state: int, looks: Looks, k: int, hides: bool) -> bool:
    """Return whether a look from a state covers the cell at offset `k`, on the map and in sight.

    Without `hides`, the ground hides nothing.
    """
    rows, columns = looks.shape
    row, column = state // columns, state % columns
    r, c = row + looks.down[k], column + looks.right[k]
    if not (0 <= r < rows and 0 <= c < columns):
        return False
    if not hides or looks.ground.size == 0 or (r == row and c == column):
        return True
    return bool(sees(looks.ground, row, column, looks.mast, looks.down[k], looks.right[k]))


@njit(cache=True)
def unlooked(looks: Looks) -> FloatArray:
    """Return `looked` [S] before any look; [2S] where visits gain."""
    return np.zeros(len(looks.amount) + len(looks.visit))


@njit(cache=True)
def gain_at(state: int, looks: Looks, looked: FloatArray, hides: bool) -> float:
    """Return the gain of a look from a state after earlier looks of total weight `looked` [S].

    Looks of total precision w at a cell of variance v gain ½ ln(1 + v·w) nats. If gains are not
    logarithmic, the first look gains the cell's amount, and later looks gain 0. Without `hides`,
    the ground hides nothing, and the gain is an upper bound. Where visits gain, `looked` is [2S]
    and its second half counts them.
    """
    total = 0.0
    if looks.visit.size > 0 and looked[len(looks.amount) + state] == 0.0:
        total += looks.visit[state]
    if looks.done.size > 0 and looks.done[state]:
        return total
    for k in range(len(looks.weight)):
        if covers(state, looks, k, hides):
            t = state + looks.down[k] * looks.shape[1] + looks.right[k]
            v = looks.amount[t]
            if v > 0.0:
                if looks.logarithmic:
                    total += 0.5 * math.log1p(v * looks.weight[k] / (1.0 + v * looked[t]))
                elif looked[t] == 0.0:
                    total += v
    return total


@njit(cache=True)
def look_from(state: int, looks: Looks, looked: FloatArray, forget: bool) -> None:
    """Add a look from a state to `looked` [S]; with `forget`, set the cells that it covers to 0."""
    if looks.visit.size > 0:
        looked[len(looks.amount) + state] = 0.0 if forget else 1.0
    for k in range(len(looks.weight)):
        if covers(state, looks, k, True):
            t = state + looks.down[k] * looks.shape[1] + looks.right[k]
            looked[t] = 0.0 if forget else looked[t] + looks.weight[k]


@njit(cache=True)
def follow(
    graph: Graph, path: IntArray, looks: Looks, along: bool, extra: float
) -> tuple[IntArray, float, float]:
    """Return the likeliest action [n − 1] on each leg of a path [n], the gain and the steps.

    The gain is that of a look from the last state; with `along`, it is the joint gain of looks from
    all states after the first. A look takes `extra` steps after arrival. If no allowed edge leads
    from a state to the next one, the action is −1 and the steps are infinite, as they are where
    home would be out of reach.
    """
    actions, steps = np.full(len(path) - 1, -1, np.int32), extra
    used = np.zeros(len(graph.reach.left))
    looked, gain = unlooked(looks), 0.0
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
    return actions, gain if along else gain_at(path[-1], looks, looked, True), steps


@njit(cache=True)
def search_outward(
    graph: Graph,
    share: FloatArray,
    free: float,
    toll: float,
    state: int,
    looks: Looks,
    extra: float,
    power: float,
    limit: FloatArray,
) -> tuple[int, float, float, IntArray]:
    """Find the state that maximises gain / steps**power, by a search outward from `state`.

    `share` [S] is risk / remaining budget; states with share > 1 are not entered. The gain of a
    state is reduced by toll · max(0, largest share on the path − free). A look takes `extra` steps
    after arrival; if `extra` is 0, the current state has no gain. `limit` [S] are upper bounds on
    gains; they are lowered to the gains found with nothing hidden. The search stops at the distance
    beyond which no state can be the best. Returns the state (−1 if none), its gain and steps, and
    predecessors [S].
    """
    dest, success, allowed = graph.dest, graph.success, graph.allowed
    states, actions = dest.shape
    steps, before = np.full(states, np.inf), np.full(states, -1, np.int32)
    done, looked, worst = np.zeros(states, np.bool_), unlooked(looks), np.zeros(states)
    steps[state], heap = 0.0, [(0.0, np.int64(state))]
    best, best_gain, best_steps, rate = -1, 0.0, 1.0, 0.0
    reach = graph.reach
    used = np.zeros((states if len(reach.left) else 1, len(reach.left)))
    highest = limit.max()
    while heap:
        s = int(heappop(heap)[1])
        if done[s]:
            continue
        done[s] = True
        n = (steps[s] + extra) ** power
        if n > 0.0:
            if highest <= rate * n:
                break
            if limit[s] > rate * n:
                gain = gain_at(s, looks, looked, False)
                limit[s] = gain
                if looks.ground.size > 0 and gain - toll * worst[s] > rate * n:
                    gain = gain_at(s, looks, looked, True)
                gain -= toll * worst[s]
                if gain > rate * n:
                    best, best_gain, rate = s, gain, gain / n
                    best_steps = steps[s] + extra
        for a in range(actions):
            t, p = dest[s, a], success[s, a]
            risk = max(worst[s], share[t] - free)
            if done[t] or p < MIN_SUCCESS or share[t] > 1.0 or toll * risk >= highest:
                continue
            if allowed.shape[0] > 1 and not allowed[s, a]:
                continue
            if len(reach.left) and not affords(reach, used[s], s, a, t, p >= 1.0):
                continue
            away = steps[s] + (reach.pace[s, a] if len(reach.left) else 1.0) / p
            if away < steps[t]:
                steps[t], before[t], worst[t] = away, s, risk
                if len(reach.left):
                    used[t] = used[s] + reach.use[:, s, a]
                heappush(heap, (away, np.int64(t)))
    return best, best_gain, best_steps, before


@njit(cache=True)
def best_per_risk(
    graph: Graph, risk: FloatArray, floor: float, state: int, looks: Looks, extra: float
) -> tuple[IntArray, float, float, float, float, float]:
    """Find the state with the most gain per unit of risk, by a search outward from `state`.

    The risk of a path is the largest `risk` [S] of its states. Each state is reached by the path
    with the least risk and, among these, with the fewest steps. States whose path has a risk above
    1, or whose gain per step is below `floor`, are excluded. Returns the path to the state, its
    gain, steps and risk; then the least risk among the states that only their risk excludes, and
    the gain there.
    """
    dest, success, allowed = graph.dest, graph.success, graph.allowed
    states, actions = dest.shape
    steps, worst = np.full(states, np.inf), np.full(states, np.inf)
    before, done = np.full(states, -1, np.int32), np.zeros(states, np.bool_)
    looked = unlooked(looks)
    steps[state], worst[state] = 0.0, 0.0
    heap = [(0.0, 0.0, np.int64(state))]
    best, best_gain, best_steps, best_risk, per_risk = -1, 0.0, 1.0, 0.0, 0.0
    over_risk, over_gain = np.inf, 0.0
    everywhere, reach = allowed.shape[0] == 1, graph.reach
    used = np.zeros((states if len(reach.left) else 1, len(reach.left)))
    while heap:
        s = int(heappop(heap)[2])
        if done[s]:
            continue
        done[s] = True
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
        for a in range(actions):
            t, p = dest[s, a], success[s, a]
            if done[t] or p < MIN_SUCCESS or risk[t] == np.inf:
                continue
            if not everywhere and not allowed[s, a]:
                continue
            if len(reach.left) and not affords(reach, used[s], s, a, t, p >= 1.0):
                continue
            away = steps[s] + (reach.pace[s, a] if len(reach.left) else 1.0) / p
            r = max(worst[s], risk[t])
            if (r, away) < (worst[t], steps[t]):
                worst[t], steps[t], before[t] = r, away, s
                if len(reach.left):
                    used[t] = used[s] + reach.use[:, s, a]
                heappush(heap, (r, away, np.int64(t)))
    path = path_to(before, state, best)
    return path, best_gain, best_steps, best_risk, over_risk, over_gain


@njit(cache=True)
def look_ahead(
    graph: Graph,
    share: FloatArray,
    free: float,
    state: int,
    looks: Looks,
    price: float,
    width: int,
    depth: int,
) -> tuple[IntArray, float, float]:
    """Find the path that maximises gain − price · steps, by beam search.

    The gain is the joint gain of looks along the path. States with a `share` [S] above `free` are
    not entered. The search keeps the `width` best paths of each length up to `depth`, at most two
    of them with the same end. Returns the path [n] from `state`, its gain and its expected steps.
    """
    dest, success, allowed = graph.dest, graph.success, graph.allowed
    states, actions = dest.shape
    room = width * depth + 1
    place, parent = np.empty(room, np.int64), np.empty(room, np.int64)
    gain, steps = np.zeros(room), np.zeros(room)
    place[0], parent[0] = state, -1
    low, high, best, best_worth = 0, 1, 0, 0.0
    most = width * actions
    to, of = np.empty(most, np.int64), np.empty(most, np.int64)
    told, taken, worth = np.empty(most), np.empty(most), np.empty(most)
    looked, ends = unlooked(looks), np.zeros(states, np.int8)
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
                if t == s or p < MIN_SUCCESS or share[t] > free:
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
    share: FloatArray,
    free: float,
    toll: float,
    state: int,
    looks: Looks,
    extra: float,
    power: float,
    limit: FloatArray,
    floor: float,
    beam_price: float,
    width: int,
    depth: int,
) -> tuple[IntArray, float, float, bool]:
    """Return the path to the best state of `search_outward`, or a better path of `look_ahead`.

    The beam search runs if `width` is above 0 and gain / steps of the best state is at least
    `floor`; its price per step is `beam_price` · gain / steps. Returns the path, its gain, its
    steps, and whether the gain is that of all looks along the path.
    """
    place, gain, steps, before = search_outward(
        graph, share, free, toll, state, looks, extra, power, limit
    )
    path = path_to(before, state, place)
    price = beam_price * (gain / steps)
    if place >= 0 and width > 0 and gain / steps >= floor:
        near, told, taken = look_ahead(graph, share, free, state, looks, price, width, depth)
        if len(near) > 1 and told - price * taken > gain - price * steps:
            return near, told, taken, True
    return path, gain, steps, False


@njit(cache=True)
def take(state: int, looks: Looks, amount: FloatArray, opens: FloatArray) -> float:
    """Set `amount` [S] to 0 in the cells seen from a state; return the sum of `opens` [S] there."""
    total = 0.0
    for k in range(len(looks.down)):
        if covers(state, looks, k, True):
            t = state + looks.down[k] * looks.shape[1] + looks.right[k]
            if amount[t] > 0.0:
                amount[t] = 0.0
                total += opens[t]
    return total


@njit(cache=True)
def left_of(looks: Looks, amount: FloatArray) -> Looks:
    """Return the looks with `amount` [S] as the remaining gain of each cell."""
    shape, down, right, weight, _, logarithmic, action, ground, mast, done, visit = looks
    return Looks(shape, down, right, weight, amount, logarithmic, action, ground, mast, done, visit)


@njit(cache=True)
def told_nearby(
    graph: Graph, share: FloatArray, free: float, state: int, looks: Looks, radius: float
) -> FloatArray:
    """Return the amount [S] of each cell that can be seen within `radius` steps; 0 for others."""
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
            if done[t] or p < MIN_SUCCESS or share[t] > free:
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
    share: FloatArray,
    free: float,
    state: int,
    looks: Looks,
    power: float,
    width: int,
    radius: float,
    return_price: float,
) -> tuple[IntArray, float, float]:
    """Find the first stop of the cheapest tour, for gains that come only once.

    States with a `share` [S] above `free` are not entered. The candidates are the `width` states
    with the largest gain / steps**power. From a candidate, a tour continues to the next best state
    by the same measure until it has seen all cells near the first candidate: those that can be seen
    within its distance plus `radius` steps. The cost of a tour is its steps, with the first leg
    counted twice, since later legs will be planned again. The cost also has `return_price` for each
    step that remains when the tour reaches a state from which unseen cells beyond the radius can be
    seen, because the explorer will then leave the tour. A tour that misses fewer cells is always
    better. Returns the path to the first stop, its gain and its steps.
    """
    states = len(graph.dest)
    entered = np.where(share <= free, 0.0, 2.0)  # 2: never entered
    most = np.full(states, looks.amount.max() * len(looks.weight))
    limit, looked = most.copy(), unlooked(looks)
    near, opens = looks.amount, looks.amount
    best, best_gain, best_steps = -1, 0.0, 1.0
    best_before: IntArray = np.full(states, -1, np.int32)
    missed, least = np.inf, np.inf
    for i in range(width):
        target, gain, steps, before = search_outward(
            graph, entered, 0.0, 0.0, state, looks, 0.0, power, limit
        )
        if target < 0:
            break
        limit[target] = 0.0
        if i == 0:
            near = told_nearby(graph, share, free, state, looks, steps + radius)
            opens, beyond = np.zeros(states), left_of(looks, looks.amount - near)
            for s in range(states):
                if near[s] > 0.0:
                    opens[s] = gain_at(s, beyond, looked, True)
        left, bounds = near.copy(), most.copy()
        s, t, there, way = state, target, steps, before
        length, opened, later = 0.0, 0.0, 0.0
        while t >= 0 and (steps + length < least or missed > 0.0):
            length += there
            new = take(t, looks, left, opens)
            u = t
            while u != s:
                new += take(u, looks, left, opens)
                u = way[u]
            opened, later, s = opened + new, later + new * length, t
            t, _, there, way = search_outward(
                graph, entered, 0.0, 0.0, s, left_of(looks, left), 0.0, power, bounds
            )
        cost = steps + length
        if opened > 0.0:
            cost += return_price * (length - later / opened)
        rest = left.sum()
        if (rest, cost) < (missed, least):
            best, best_gain, best_steps, best_before = target, gain, steps, before
            missed, least = rest, cost
    return path_to(best_before, state, best), best_gain, best_steps
