"""Compiled searches for the state or the path with the most gain per step or per unit of risk.

`homeward.bonuses.Looks` defines gains. A *look* is an observation of the cells around a state. A
path [n] has the states from the current one to the target, both included; it is empty if there is
no target. If amounts such as energy are limited, an edge costs its `pace` instead of one step.
Searches write to the arrays of a `Scratch` and reset the entries that they wrote. So the time of a
search depends on the states that it visits, not on the size of the map. Ties go to the lowest state
number.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen
from homeward.beliefs.sight import sees
from homeward.bonuses import Looks
from homeward.compiling import inner_kernel, int64, kernel
from homeward.planning.returning.shortest_ways import MIN_SUCCESS

EVERYWHERE: BoolArray = frozen(np.ones((1, 1), dtype=bool))  # mask that allows every edge


class Reach(NamedTuple):
    """What attempts use of K limited amounts, such as metres or energy, and how much is left."""

    use: FloatArray  # [K, S, A] amount that an attempt uses if it works
    lost: FloatArray  # [K, S, A] amount that an attempt uses if it fails
    left: FloatArray  # [K] amount that may still be used, the way home included
    home: FloatArray  # [K, S] amount that the way home from a state uses
    pace: FloatArray  # [S, A] use of an attempt over the mean use of one


NO_REACH = Reach(*(frozen(np.zeros((0,) * n)) for n in (3, 3, 1, 2, 2)))  # nothing is limited


class Ground(NamedTuple):
    """Where a path away from home may go, and the risk of coming back from there."""

    dest: IntArray  # [S, A] state that an edge leads to
    success: FloatArray  # [S, A] mean probability that an attempt works; 0 if it can't be chosen
    allowed: BoolArray  # [S, A] mask of the edges that may be taken; [1, 1]: all
    added: FloatArray  # [N, S] risk that the way home from a state adds, for each promise
    left: FloatArray  # [N] remaining budget, above 0; −1 if the budget does not count
    reach: Reach = NO_REACH  # the limited amounts

    def shares(self, states: IntArray) -> FloatArray:
        """Return the largest share [n] of a remaining budget that coming home would spend."""
        counts = self.left > 0.0
        shares = self.added[:, states][counts] / self.left[counts, None]
        return np.asarray(shares.max(axis=0, initial=0.0))


class Scratch(NamedTuple):
    """Arrays [S] that searches write to; between searches they have the values given here."""

    steps: FloatArray  # infinite
    worst: FloatArray  # infinite
    looked: FloatArray  # 0; [2S], see `gain_at`
    before: IntArray  # −1
    is_done: BoolArray  # False
    ends: IntArray  # 0
    visited: IntArray  # undefined

    @classmethod
    def of(cls, states: int) -> Scratch:
        """Return new arrays for a number of states."""
        far = np.full(states, np.inf), np.full(states, np.inf)
        before, done = np.full(states, -1, np.int32), np.zeros(states, np.bool_)
        ends, visited = np.zeros(states, np.int8), np.zeros(states, np.int32)
        return cls(*far, np.zeros(2 * states), before, done, ends, visited)


class Reached(NamedTuple):
    """The result of `search_outward`."""

    path: IntArray  # [n] states; empty if no state has a gain
    gain: float
    steps: float  # expected steps until the gain is collected
    share: float  # largest share of a budget of the states on the path
    over_share: float  # share of the least risky state that only its risk excludes; or infinite
    over_gain: float  # its gain
    met: int  # number of states that were met: the first entries of `Scratch.visited`


@inner_kernel
def share_of(ground: Ground, state: int) -> float:
    """Return the share of a state: the largest over all budgets."""
    most = 0.0
    for k in range(len(ground.left)):
        if ground.left[k] > 0.0:
            most = max(most, ground.added[k, state] / ground.left[k])
    return most


@inner_kernel
def largest_share(ground: Ground, path: IntArray) -> float:
    """Return the largest share of the states on a path [n]."""
    most = 0.0
    for k in range(len(path)):
        most = max(most, share_of(ground, path[k]))
    return most


@inner_kernel
def affords(
    reach: Reach, used: FloatArray, row: int, s: int, a: int, t: int, is_sure: bool
) -> bool:
    """Return whether the amounts suffice for an attempt of the edge from `s` to `t` and the return.

    `used[row]` [K] are the amounts used before the attempt. If the edge is not sure, the attempt
    may fail. Then the amounts must also suffice for the return from `s`.
    """
    for k in range(len(reach.left)):
        if used[row, k] + reach.use[k, s, a] + reach.home[k, t] > reach.left[k]:
            return False
        if not is_sure and used[row, k] + reach.lost[k, s, a] + reach.home[k, s] > reach.left[k]:
            return False
    return True


@inner_kernel
def spend(
    reach: Reach, used: FloatArray, row: int, s: int, a: int, after: FloatArray, to: int
) -> None:
    """Set `after[to]` [K] to `used[row]` [K] plus the use of an attempt that works."""
    for k in range(len(reach.left)):
        after[to, k] = used[row, k] + reach.use[k, s, a]


@inner_kernel
def attempt_cost(ground: Ground, used: FloatArray, row: int, s: int, a: int) -> float:
    """Return the expected steps of the edge of action `a` in `s`; infinite if it can't be taken.

    `used[row]` [K] are the amounts that the path to `s` used.
    """
    p, reach = float(ground.success[s, a]), ground.reach
    if p < MIN_SUCCESS or (ground.allowed.shape[0] > 1 and not ground.allowed[s, a]):
        return np.inf
    if len(reach.left) == 0:
        return 1.0 / p
    if not affords(reach, used, row, s, a, ground.dest[s, a], p >= 1.0):
        return np.inf
    return float(reach.pace[s, a]) / p


@inner_kernel
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


@inner_kernel
def cell_at(looks: Looks, row: int, column: int, k: int) -> int:
    """Return the index of the cell at offset `k` of a look; −1 outside of the map."""
    rows, columns = looks.shape
    r, c = row + looks.down[k], column + looks.right[k]
    return r * columns + c if 0 <= r < rows and 0 <= c < columns else -1


@inner_kernel
def is_hidden(looks: Looks, row: int, column: int, k: int) -> bool:
    """Return whether the ground hides the cell at offset `k` of a look."""
    down, right = looks.down[k], looks.right[k]
    if looks.ground.size == 0 or (down == 0 and right == 0):
        return False
    return not sees(looks.ground, row, column, looks.mast, down, right)


@kernel
def gain_at(state: int, looks: Looks, looked: FloatArray, hides: int) -> float:
    """Return the gain of a look from a state after earlier looks.

    The first half of `looked` [2S] has the total weight of the earlier looks at each cell. Looks of
    total precision w at a cell of variance v gain ½ ln(1 + v·w) nats, up to the precision
    `Looks.enough`. If gains are not logarithmic, the first look gains the cell's amount, and later
    looks gain 0. If visits gain, the second half of `looked` is 1 in the visited states. With
    `hides` 0, the ground hides nothing, and the gain is an upper bound; else it is 1.
    """
    amount, done, visit, weight, total = looks.amount, looks.done, looks.visit, looks.weight, 0.0
    if visit.size > 0 and looked[len(amount) + state] == 0.0:
        total += visit[state]
    if done.size > 0 and done[state]:
        return total
    row, column = state // looks.shape[1], state % looks.shape[1]
    for k in range(len(weight)):
        t = cell_at(looks, row, column, k)
        if t < 0 or amount[t] <= 0.0 or (hides > 0 and is_hidden(looks, row, column, k)):
            continue
        v = amount[t]
        if looks.logarithmic:
            known = 1.0 + v * looked[t]  # variance before the earlier looks / after them
            more = min(v * weight[k], v * looks.enough - known)
            if more > 0.0:
                total += 0.5 * math.log1p(more / known)
        elif looked[t] == 0.0:
            total += v
    return total


@inner_kernel
def look_from(state: int, looks: Looks, looked: FloatArray, sign: float) -> None:
    """Add a look from a state to `looked` [2S], or forget all looks at its cells for sign 0."""
    row, column = state // looks.shape[1], state % looks.shape[1]
    if looks.visit.size > 0:
        looked[len(looks.amount) + state] = sign
    for k in range(len(looks.weight)):
        t = cell_at(looks, row, column, k)
        if t >= 0 and sign == 0.0:
            looked[t] = 0.0
        elif t >= 0 and not is_hidden(looks, row, column, k):
            looked[t] += looks.weight[k]


@kernel
def follow(
    ground: Ground,
    most: float,
    path: IntArray,
    looks: Looks,
    along: bool,
    extra: float,
    scratch: Scratch,
) -> tuple[IntArray, float, float]:
    """Return the action [n − 1] of each leg of a path [n], the path's gain and its steps.

    The action of a leg is the likeliest one that leads to the next state; −1 if there is none. The
    gain is that of a look from the last state; with `along`, it is the joint gain of looks from all
    states after the first. A look takes `extra` steps after arrival. The steps are infinite if a
    leg has no action, if the share of a state exceeds `most`, or if a limited amount does not
    suffice for the path and the way home.
    """
    dest, success, allowed, reach = ground.dest, ground.success, ground.allowed, ground.reach
    legs, limits = len(path) - 1, len(reach.left)
    actions, used = np.empty(legs, np.int32), np.zeros((1, limits))
    looked, gain, steps, hides = scratch.looked, 0.0, extra, int64(looks.ground.size > 0)
    row = int64(0)
    for k in range(legs + 1):
        s = path[k]
        if (k > 0) if along else (k == legs):
            gain += gain_at(s, looks, looked, hides)
        if along and k > 0:
            look_from(s, looks, looked, 1.0)
        if k == legs:
            break
        t, action, best = path[k + 1], int64(-1), 0.0
        for a in range(dest.shape[1]):
            leads = dest[s, a] == t and (allowed.shape[0] == 1 or allowed[s, a])
            if leads and (action < 0 or success[s, a] > best):
                action, best = a, success[s, a]
        actions[k] = action
        cost = reach.pace[s, action] if limits else 1.0
        steps += cost / best if best >= MIN_SUCCESS else np.inf
        if share_of(ground, t) > most:
            steps = np.inf
        if limits:
            if not affords(reach, used, row, s, action, t, best >= 1.0):
                steps = np.inf
            spend(reach, used, row, s, action, used, row)
    if along:
        for k in range(legs):
            look_from(path[k + 1], looks, looked, 0.0)
    return actions, gain, steps


@kernel
def search_outward(
    ground: Ground,
    most: float,
    state: int,
    looks: Looks,
    extra: float,
    power: float,
    floor: float,
    limit: FloatArray,
    highest: float,
    by_risk: bool,
    scratch: Scratch,
) -> Reached:
    """Return the path to the state with the most gain, by a search from `state`.

    By default it maximises gain / steps**power over paths whose shares are at most `most`. If
    `by_risk`, it maximises gain / share over states with a gain of at least `floor` per step and a
    share of at most 1, each reached by the path with the least share and then the fewest steps.

    A look takes `extra` steps after arrival; if `extra` is 0, the current state has no gain.
    `limit` [S] are upper bounds on gains, which are lowered to the gains with nothing hidden.
    `highest` is an upper bound on all gains: the search stops at the distance beyond which no state
    can be the best.
    """
    dest, reach = ground.dest, ground.reach
    steps, worst, looked, before, is_done, _, visited = scratch
    steps[state], worst[state], heap = 0.0, 0.0, [(0.0, 0.0, int64(state))]
    visited[0], count = state, int64(1)
    best, best_gain, best_steps, best_share, rate = int64(-1), 0.0, 1.0, 0.0, 0.0
    over_share, over_gain = np.inf, 0.0
    hides, limits = int64(looks.ground.size > 0), len(reach.left)
    used = np.zeros((len(dest) if limits else 1, limits))
    while heap:
        s = heappop(heap)[2]
        if is_done[s]:
            continue
        is_done[s] = True
        away, risk = steps[s] + extra, worst[s]
        price = risk if by_risk else away**power
        if away > 0.0:
            if not by_risk and highest <= rate * price:
                break
            if limit[s] > rate * price or (by_risk and limit[s] > 0.0 and (best < 0 or risk > 1.0)):
                gain = limit[s] = gain_at(s, looks, looked, int64(0))
                if hides > 0 and (by_risk or gain > rate * price):  # only where it matters
                    gain = gain_at(s, looks, looked, hides)
                if by_risk and (gain < floor * away or gain <= 0.0):
                    pass
                elif risk > 1.0:
                    if risk < over_share:
                        over_share, over_gain = risk, gain
                elif gain > rate * price or (by_risk and best < 0):
                    best, best_gain, best_steps, best_share = s, gain, away, risk
                    rate = gain / price if price > 0.0 else np.inf
        for a in range(dest.shape[1]):
            t = int64(dest[s, a])
            if is_done[t]:
                continue
            n = steps[s] + attempt_cost(ground, used, s, s, a)
            if n == np.inf or (not by_risk and n >= steps[t]):
                continue
            share, r = share_of(ground, t), 0.0
            if by_risk:
                r = max(risk, share)
                if r == np.inf or (r, n) >= (worst[t], steps[t]):
                    continue
            elif share > most:
                continue
            if steps[t] == np.inf:
                visited[count] = t
                count += 1
            worst[t], steps[t], before[t] = r, n, s
            spend(reach, used, s, s, a, used, t)
            heappush(heap, (r, n, t))
    path = path_to(before, state, best)
    for k in range(count):
        s = int64(visited[k])
        steps[s] = worst[s] = np.inf
        before[s], is_done[s] = -1, False
    if not by_risk:
        best_share = largest_share(ground, path)
    return Reached(path, best_gain, best_steps, best_share, over_share, over_gain, count)


@kernel
def look_ahead(
    ground: Ground,
    most: float,
    state: int,
    looks: Looks,
    price: float,
    width: int,
    depth: int,
    scratch: Scratch,
) -> tuple[IntArray, float, float, float]:
    """Return the path [n] from `state` that maximises gain − price · steps, by beam search.

    The gain is the joint gain of looks along the path. States with a share above `most` are not
    entered. The search keeps the `width` best paths of each length up to `depth`, at most two
    of them with the same end. Also returns the gain, the expected steps and the largest share of
    the path.
    """
    dest, reach, looked, ends = ground.dest, ground.reach, scratch.looked, scratch.ends
    actions, limits, hides = dest.shape[1], len(reach.left), int64(looks.ground.size > 0)
    # Node i of the search tree is the end of a path; `low` to `high` are those of the last length.
    nodes, candidates = width * depth + 1, width * actions
    place, parent = np.empty(nodes, np.int64), np.empty(nodes, np.int32)
    gain, steps, used = np.zeros(nodes), np.zeros(nodes), np.zeros((nodes, limits))
    place[0], parent[0] = state, -1
    low, high, best, best_worth = 0, 1, int64(0), 0.0
    # Candidate k extends node `new_parent[k]` by one step.
    new_place, new_parent = np.empty(candidates, np.int64), np.empty(candidates, np.int32)
    new_gain, new_steps = np.empty(candidates), np.empty(candidates)
    new_used = np.zeros((candidates, limits))
    for _ in range(depth):
        count, order = int64(0), [(0.0, int64(0))]
        order.pop()
        for i in range(low, high):
            s, j = place[i], i
            while j > 0:
                look_from(place[j], looks, looked, 1.0)
                j = parent[j]
            for a in range(actions):
                t, cost = int64(dest[s, a]), attempt_cost(ground, used, i, s, a)
                if t == s or cost == np.inf or share_of(ground, t) > most:
                    continue
                spend(reach, used, i, s, a, new_used, count)
                new_place[count], new_parent[count] = t, i
                new_gain[count] = gain[i] + gain_at(t, looks, looked, hides)
                new_steps[count] = steps[i] + cost
                heappush(order, (price * new_steps[count] - new_gain[count], count))
                count += 1
            j = i
            while j > 0:
                look_from(place[j], looks, looked, 0.0)
                j = parent[j]
        low = high
        while order and high - low < width:
            loss, k = heappop(order)
            if ends[new_place[k]] == 2:
                continue
            ends[new_place[k]] += 1
            place[high], parent[high] = new_place[k], new_parent[k]
            gain[high], steps[high] = new_gain[k], new_steps[k]
            for m in range(limits):
                used[high, m] = new_used[k, m]
            if -loss > best_worth:
                best, best_worth = int64(high), -loss
            high += 1
        for i in range(low, high):
            ends[place[i]] = 0
        if high == low:
            break
    path = path_to(parent, int64(0), best)
    for k in range(len(path)):
        path[k] = place[path[k]]
    return path, gain[best], steps[best], largest_share(ground, path)
