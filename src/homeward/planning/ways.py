"""Searches on a move-or-stay graph: ways home by risk, ways out by information per step.

Kernels only: arrays in, arrays out. States are numbered 0 to S − 1, actions 0 to A − 1. An edge
(s, a) leads to ``dest[s, a]``; ``success[s, a]`` is the mean probability that one attempt works (0
where it may not be taken), and ``blocked[s, a]`` bounds from above the probability that it never
works. Of equally good answers the searches return the one with the lowest state number, so the same
input gives the same answer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray

LEAST_SUCCESS = 1e-3
"""Attempts that work more rarely than this are not planned on."""


@njit(cache=True)
def _push(
    first: FloatArray, second: FloatArray, node: IntArray, count: int, a: float, b: float, s: int
) -> int:
    """Add (a, b, s) to a binary heap that is ordered by the three; return its new size."""
    i = count
    while i > 0:
        up = (i - 1) >> 1
        if (first[up], second[up], node[up]) <= (a, b, s):
            break
        first[i], second[i], node[i] = first[up], second[up], node[up]
        i = up
    first[i], second[i], node[i] = a, b, s
    return count + 1


@njit(cache=True)
def _pop(first: FloatArray, second: FloatArray, node: IntArray, count: int) -> int:
    """Remove the least entry of a heap; return its new size."""
    count -= 1
    a, b, s = first[count], second[count], node[count]
    i = 0
    while True:
        down = 2 * i + 1
        if down >= count:
            break
        if down + 1 < count and (first[down + 1], second[down + 1], node[down + 1]) < (
            first[down],
            second[down],
            node[down],
        ):
            down += 1
        if (first[down], second[down], node[down]) >= (a, b, s):
            break
        first[i], second[i], node[i] = first[down], second[down], node[down]
        i = down
    first[i], second[i], node[i] = a, b, s
    return count


@njit(cache=True)
def relied_on(
    dest: IntArray,
    blocked: FloatArray,
    least: FloatArray,
    way: IntArray,
    trusted: float,
    is_home: BoolArray,
    state: int,
) -> tuple[IntArray, float, float]:
    """Return the edges of `way` [S] that can be used at no charge, and the risks of its way home.

    These are the edges on the way home from `state`, and the others while their risk is at most
    `trusted`. The risks are the sum over the edges from `state`, infinite if it leads nowhere, and
    the largest lower bound `least` [S, A] of one of them.
    """
    free = np.full(len(way), -1, np.int32)
    for s in range(len(way)):
        if way[s] >= 0 and blocked[s, way[s]] <= trusted:
            free[s] = way[s]
    total, worst = 0.0, 0.0
    for _ in range(len(way) + 1):
        if is_home[state]:
            return free, total * (1.0 + len(way) * 2.0**-52), worst
        a = way[state]
        if a < 0:
            break
        free[state] = a
        total += blocked[state, a]
        worst = max(worst, least[state, a])
        state = dest[state, a]
    return free, np.inf, 1.0


@njit(cache=True)
def ways_home(
    success: FloatArray,
    blocked: FloatArray,
    free: IntArray,
    homes: IntArray,
    first: IntArray,
    source: IntArray,
    action: IntArray,
    most: float,
    shortest: bool,
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Find the ways home that add the least risk, or have the fewest steps, over reversed edges.

    An edge adds its `blocked`, the edge ``free[s]`` of a state nothing. Ways that add more than
    `most` are left out. Returns the added risk [S] (infinite where there is no way), the risk with
    free edges counted as well [S], the expected steps [S] and the first action [S] (−1 at home and
    where there is no way). With `shortest` steps come first and risk second.
    """
    states = len(free)
    added, total = np.full(states, np.inf), np.full(states, np.inf)
    steps, choice = np.full(states, np.inf), np.full(states, -1, np.int32)
    done = np.zeros(states, np.bool_)
    room = len(source) + len(homes) + 1
    key, second, node = np.empty(room), np.empty(room), np.empty(room, np.int64)
    count, up = 0, 1.0 + 2.0**-51
    for h in homes:
        added[h], total[h], steps[h] = 0.0, 0.0, 0.0
        count = _push(key, second, node, count, 0.0, 0.0, h)
    while count > 0:
        t = node[0]
        count = _pop(key, second, node, count)
        if done[t]:
            continue
        done[t] = True
        for e in range(first[t], first[t + 1]):
            s, a = source[e], action[e]
            p = success[s, a]
            if done[s] or p < LEAST_SUCCESS:
                continue
            q = blocked[s, a]
            r = added[t]
            if q > 0.0 and free[s] != a:
                r = (r + q) * up
            n = steps[t] + 1.0 / p
            if r > most:
                continue
            better = (n, r) < (steps[s], added[s]) if shortest else (r, n) < (added[s], steps[s])
            if better:
                added[s], steps[s], choice[s] = r, n, a
                total[s] = (total[t] + q) * up if q > 0.0 else total[t]
                if shortest:
                    count = _push(key, second, node, count, n, r, s)
                else:
                    count = _push(key, second, node, count, r, n, s)
    return added, total, steps, choice


@njit(cache=True)
def new_risk(
    dest: IntArray,
    blocked: FloatArray,
    free: IntArray,
    choice: IntArray,
    is_home: BoolArray,
    state: int,
) -> float:
    """Return the risk of the edges that following `choice` [S] home adds to the `free` ones."""
    new = 0.0
    for _ in range(len(choice) + 1):
        if is_home[state]:
            return new * (1.0 + len(choice) * 2.0**-52)
        a = choice[state]
        if a < 0:
            break
        if free[state] != a:
            new += blocked[state, a]
        state = dest[state, a]
    return np.inf


@njit(cache=True)
def copy_way(
    dest: IntArray, choice: IntArray, is_home: BoolArray, state: int, way: IntArray
) -> None:
    """Write the actions of `choice` [S] along its way home from a state into `way` [S]."""
    for _ in range(len(choice)):
        if is_home[state] or choice[state] < 0:
            return
        way[state] = choice[state]
        state = dest[state, choice[state]]


@njit(cache=True)
def gain_at(
    state: int,
    shape: tuple[int, int],
    down: IntArray,
    right: IntArray,
    weight: FloatArray,
    amount: FloatArray,
    logarithmic: bool,
    looked: FloatArray,
) -> float:
    """Return what a look from a state adds to looks of accumulated weight `looked` [S].

    A cell of variance v that was looked at with total precision w tells ½ ln(1 + v·w) nats; where
    gains are not logarithmic it tells its amount once.
    """
    rows, columns = shape
    row, column = state // columns, state % columns
    total = 0.0
    for k in range(len(weight)):
        r, c = row + down[k], column + right[k]
        if 0 <= r < rows and 0 <= c < columns:
            t = r * columns + c
            v = amount[t]
            if v > 0.0:
                if logarithmic:
                    total += 0.5 * math.log1p(v * weight[k] / (1.0 + v * looked[t]))
                elif looked[t] == 0.0:
                    total += v
    return total


@njit(cache=True)
def look_from(
    state: int,
    shape: tuple[int, int],
    down: IntArray,
    right: IntArray,
    weight: FloatArray,
    looked: FloatArray,
    sign: float,
) -> None:
    """Add a look from a state to `looked` [S], or with a sign of −1 take it back."""
    rows, columns = shape
    row, column = state // columns, state % columns
    for k in range(len(weight)):
        r, c = row + down[k], column + right[k]
        if 0 <= r < rows and 0 <= c < columns:
            t = r * columns + c
            looked[t] = looked[t] + weight[k] if sign > 0.0 else 0.0


@njit(cache=True)
def _relax(
    dest: IntArray,
    success: FloatArray,
    allowed: BoolArray,
    reachable: BoolArray,
    s: int,
    steps: FloatArray,
    before: IntArray,
    done: BoolArray,
    first: FloatArray,
    second: FloatArray,
    node: IntArray,
    count: int,
) -> int:
    """Add the neighbours of a state that it is the shortest way to, so far, to the heap."""
    everywhere = allowed.shape[0] == 1
    for a in range(dest.shape[1]):
        t, p = dest[s, a], success[s, a]
        if done[t] or p < LEAST_SUCCESS or not reachable[t]:
            continue
        if not everywhere and not allowed[s, a]:
            continue
        away = steps[s] + 1.0 / p
        if away < steps[t]:
            steps[t], before[t] = away, s
            count = _push(first, second, node, count, away, 0.0, t)
    return count


@njit(cache=True)
def best_rate(
    dest: IntArray,
    success: FloatArray,
    allowed: BoolArray,
    share: FloatArray,
    free: float,
    toll: float,
    state: int,
    shape: tuple[int, int],
    down: IntArray,
    right: IntArray,
    weight: FloatArray,
    amount: FloatArray,
    logarithmic: bool,
    extra: float,
    power: float,
    limit: FloatArray,
) -> tuple[int, float, float, IntArray]:
    """Search outward for the place with the most gain over steps to a `power`.

    Edges are taken that are `allowed` [S, A] or [1, 1]. Only states with a `share` [S] of 1 at most
    are entered; what the largest on the way exceeds `free` by takes `toll` times that off the gain.
    Getting the gain takes `extra` steps after arrival; without them the state itself has none.
    `limit` [S] bounds gains from above and is lowered to what is found. The search stops at the
    distance beyond which no gain could be worth the way. Returns the place (−1 if there is none),
    its gain, its steps and the predecessors [S].
    """
    states, actions = dest.shape
    steps, before = np.full(states, np.inf), np.full(states, -1, np.int32)
    done, looked, worst = np.zeros(states, np.bool_), np.zeros(states), np.zeros(states)
    room = states * actions + 1
    key, second, node = np.empty(room), np.empty(room), np.empty(room, np.int64)
    steps[state] = 0.0
    count = _push(key, second, node, 0, 0.0, 0.0, state)
    best, best_gain, best_steps, rate = -1, 0.0, 1.0, 0.0
    highest = limit.max()
    while count > 0:
        s = node[0]
        count = _pop(key, second, node, count)
        if done[s]:
            continue
        done[s] = True
        n = (steps[s] + extra) ** power
        if n > 0.0:
            if highest <= rate * n:
                break
            if limit[s] > rate * n:
                gain = gain_at(s, shape, down, right, weight, amount, logarithmic, looked)
                limit[s] = gain
                gain -= toll * worst[s]
                if gain > rate * n:
                    best, best_gain, rate = s, gain, gain / n
                    best_steps = steps[s] + extra
        for a in range(actions):
            t, p = dest[s, a], success[s, a]
            risk = max(worst[s], share[t] - free)
            if done[t] or p < LEAST_SUCCESS or share[t] > 1.0 or toll * risk >= highest:
                continue
            if allowed.shape[0] > 1 and not allowed[s, a]:
                continue
            away = steps[s] + 1.0 / p
            if away < steps[t]:
                steps[t], before[t], worst[t] = away, s, risk
                count = _push(key, second, node, count, away, 0.0, t)
    return best, best_gain, best_steps, before


@njit(cache=True)
def take(
    state: int,
    shape: tuple[int, int],
    down: IntArray,
    right: IntArray,
    amount: FloatArray,
    opens: FloatArray,
) -> float:
    """Set the `amount` [S] that a look from a state tells to 0; return the sum of its `opens`."""
    rows, columns = shape
    row, column = state // columns, state % columns
    total = 0.0
    for k in range(len(down)):
        r, c = row + down[k], column + right[k]
        if 0 <= r < rows and 0 <= c < columns:
            t = r * columns + c
            if amount[t] > 0.0:
                amount[t] = 0.0
                total += opens[t]
    return total


@njit(cache=True)
def told_nearby(
    dest: IntArray,
    success: FloatArray,
    allowed: BoolArray,
    reachable: BoolArray,
    state: int,
    shape: tuple[int, int],
    down: IntArray,
    right: IntArray,
    amount: FloatArray,
    radius: float,
) -> FloatArray:
    """Return the `amount` [S] of each cell that a place within `radius` steps tells of, else 0."""
    states, actions = dest.shape
    steps, before = np.full(states, np.inf), np.full(states, -1, np.int32)
    done, rest = np.zeros(states, np.bool_), amount.copy()
    room = states * actions + 1
    key, second, node = np.empty(room), np.empty(room), np.empty(room, np.int64)
    steps[state] = 0.0
    count = _push(key, second, node, 0, 0.0, 0.0, state)
    while count > 0 and key[0] <= radius:
        s = node[0]
        count = _pop(key, second, node, count)
        if done[s]:
            continue
        done[s] = True
        take(s, shape, down, right, rest, amount)
        count = _relax(
            dest, success, allowed, reachable, s, steps, before, done, key, second, node, count
        )
    return amount - rest


@njit(cache=True)
def best_tour(
    dest: IntArray,
    success: FloatArray,
    allowed: BoolArray,
    reachable: BoolArray,
    state: int,
    shape: tuple[int, int],
    down: IntArray,
    right: IntArray,
    weight: FloatArray,
    amount: FloatArray,
    extra: float,
    power: float,
    width: int,
    radius: float,
    patience: float,
) -> tuple[int, float, float, IntArray]:
    """Search for the place with which the shortest tour begins, for gains that come once.

    The candidates are the `width` places with the most gain over steps to a `power`. From each, a
    tour goes on to the best place by the same measure until all is told that places within
    `radius` steps of the first one tell of. Looks on the way count unless a gain takes `extra`
    steps. A tour costs its steps, those of its first leg twice, as later ones will be planned anew;
    and `patience` times the steps that are left when it comes to what opens new ground, which leads
    away from what is left. A tour that can't come to all of it loses to one that misses less.
    Returns the place (−1 if there is none), its gain, its steps and the predecessors [S].
    """
    states = len(dest)
    share = np.where(reachable, 0.0, 2.0)  # states above 1 are not entered
    most = np.full(states, amount.max() * len(weight))
    limit, looked = most.copy(), np.zeros(states)
    near, opens = amount, amount
    best, best_gain, best_steps = -1, 0.0, 1.0
    best_before: IntArray = np.full(states, -1, np.int32)
    missed, least = np.inf, np.inf
    for i in range(width):
        target, gain, steps, before = best_rate(
            dest, success, allowed, share, 0.0, 0.0, state, shape, down, right, weight, amount,
            False, extra, power, limit,
        )  # fmt: skip
        if target < 0:
            break
        limit[target] = 0.0
        if i == 0:
            near = told_nearby(
                dest, success, allowed, reachable, state, shape, down, right, amount, steps + radius
            )
            opens, beyond = np.zeros(states), amount - near
            for s in range(states):
                if near[s] > 0.0:
                    opens[s] = gain_at(s, shape, down, right, weight, beyond, False, looked)
        left, bounds = near.copy(), most.copy()
        s, t, there, way = state, target, steps, before
        length, opened, later = 0.0, 0.0, 0.0
        while t >= 0 and (steps + length < least or missed > 0.0):
            length += there
            new = take(t, shape, down, right, left, opens)
            u = t
            while u != s and extra == 0.0:
                new += take(u, shape, down, right, left, opens)
                u = way[u]
            opened, later, s = opened + new, later + new * length, t
            t, _, there, way = best_rate(
                dest, success, allowed, share, 0.0, 0.0, s, shape, down, right, weight, left,
                False, extra, power, bounds,
            )  # fmt: skip
        cost = steps + length
        if opened > 0.0:
            cost += patience * (length - later / opened)
        rest = left.sum()
        if (rest, cost) < (missed, least):
            best, best_gain, best_steps, best_before = target, gain, steps, before
            missed, least = rest, cost
    return best, best_gain, best_steps, best_before


@njit(cache=True)
def best_per_risk(
    dest: IntArray,
    success: FloatArray,
    allowed: BoolArray,
    risk: FloatArray,
    floor: float,
    state: int,
    shape: tuple[int, int],
    down: IntArray,
    right: IntArray,
    weight: FloatArray,
    amount: FloatArray,
    logarithmic: bool,
    extra: float,
) -> tuple[int, float, float, float, IntArray, float, float]:
    """Search outward for the place with the most gain per unit of risk.

    The risk of a place is the largest `risk` [S] of the states on the way there and its own; ways
    have the least such risk, then the fewest steps. Places with a risk above 1 or a rate below
    `floor` are out. Returns the place (−1), its gain, steps, risk and predecessors [S]; then, of
    the places that only their risk excludes, the least risk and its gain.
    """
    states, actions = dest.shape
    steps, worst = np.full(states, np.inf), np.full(states, np.inf)
    before, done = np.full(states, -1, np.int32), np.zeros(states, np.bool_)
    looked = np.zeros(states)
    room = states * actions + 1
    key, second, node = np.empty(room), np.empty(room), np.empty(room, np.int64)
    steps[state], worst[state] = 0.0, 0.0
    count = _push(key, second, node, 0, 0.0, 0.0, state)
    best, best_gain, best_steps, best_risk, per_risk = -1, 0.0, 1.0, 0.0, 0.0
    over_risk, over_gain = np.inf, 0.0
    everywhere = allowed.shape[0] == 1
    while count > 0:
        s = node[0]
        count = _pop(key, second, node, count)
        if done[s]:
            continue
        done[s] = True
        n = steps[s] + extra
        if n > 0.0:
            gain = gain_at(s, shape, down, right, weight, amount, logarithmic, looked)
            if gain >= floor * n and gain > 0.0:
                if worst[s] > 1.0:
                    if worst[s] < over_risk:
                        over_risk, over_gain = worst[s], gain
                elif gain > per_risk * worst[s] or best < 0:
                    best, best_gain, best_steps, best_risk = s, gain, n, worst[s]
                    per_risk = gain / worst[s] if worst[s] > 0.0 else np.inf
        for a in range(actions):
            t, p = dest[s, a], success[s, a]
            if done[t] or p < LEAST_SUCCESS or risk[t] == np.inf:
                continue
            if not everywhere and not allowed[s, a]:
                continue
            r, away = max(worst[s], risk[t]), steps[s] + 1.0 / p
            if (r, away) < (worst[t], steps[t]):
                worst[t], steps[t], before[t] = r, away, s
                count = _push(key, second, node, count, r, away, t)
    return best, best_gain, best_steps, best_risk, before, over_risk, over_gain


@njit(cache=True)
def look_ahead(
    dest: IntArray,
    success: FloatArray,
    allowed: BoolArray,
    reachable: BoolArray,
    state: int,
    shape: tuple[int, int],
    down: IntArray,
    right: IntArray,
    weight: FloatArray,
    amount: FloatArray,
    logarithmic: bool,
    price: float,
    width: int,
    depth: int,
) -> tuple[IntArray, float, float]:
    """Search a beam of paths for the most gain less `price` per step, each cell told of once.

    Keeps the `width` best paths of each length up to `depth`, two at most that end in one place.
    Returns the best path [n] from `state` on, its gain and its expected steps.
    """
    states, actions = dest.shape
    room = width * depth + 1
    place, parent = np.empty(room, np.int64), np.empty(room, np.int64)
    gain, steps = np.zeros(room), np.zeros(room)
    place[0], parent[0] = state, -1
    low, high, best, best_worth = 0, 1, 0, 0.0
    most = width * actions
    to, of = np.empty(most, np.int64), np.empty(most, np.int64)
    told, taken, worth = np.empty(most), np.empty(most), np.empty(most)
    looked, ends = np.zeros(states), np.zeros(states, np.int8)
    everywhere = allowed.shape[0] == 1
    for _ in range(depth):
        count = 0
        for i in range(low, high):
            s, j = place[i], i
            while j > 0:
                look_from(place[j], shape, down, right, weight, looked, 1.0)
                j = parent[j]
            for a in range(actions):
                t, p = dest[s, a], success[s, a]
                if t == s or p < LEAST_SUCCESS or not reachable[t]:
                    continue
                if not everywhere and not allowed[s, a]:
                    continue
                more = gain_at(t, shape, down, right, weight, amount, logarithmic, looked)
                to[count], of[count] = t, i
                told[count], taken[count] = gain[i] + more, steps[i] + 1.0 / p
                worth[count] = told[count] - price * taken[count]
                count += 1
            j = i
            while j > 0:
                look_from(place[j], shape, down, right, weight, looked, -1.0)
                j = parent[j]
        low = high
        order = np.argsort(-worth[:count], kind="mergesort")
        for k in order:
            if ends[to[k]] == 2:
                continue
            ends[to[k]] += 1
            place[high], parent[high] = to[k], of[k]
            gain[high], steps[high] = told[k], taken[k]
            if worth[k] > best_worth:
                best, best_worth = high, worth[k]
            high += 1
            if high - low == width:
                break
        for i in range(low, high):
            ends[place[i]] = 0
        if high == low:
            break
    length, j = 0, best
    while j >= 0:
        length, j = length + 1, parent[j]
    path, j = np.empty(length, np.int64), best
    for k in range(length - 1, -1, -1):
        path[k], j = place[j], parent[j]
    return path, gain[best], steps[best]
