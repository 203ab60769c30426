"""Compiled searches for the state or path with the most gain per step or per unit of risk.

`homeward.planning.graph` defines the graph and how ties are broken; `homeward.bonuses.Looks`
defines gains. A *look* is an observation of the cells around a state. A path [n] has the states
from the current one to the target, both included; it is empty if there is no target. If amounts
such as energy are limited, an edge costs its `pace` instead of one step. Searches write to the
arrays of a `Scratch` and reset the entries that they wrote. So the time of a search depends on the
states that it visits, not on the size of the map.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs.sight import sees
from homeward.bonuses import Looks
from homeward.compiling import inner_kernel, int64, kernel
from homeward.planning.graph import MIN_SUCCESS, Graph, affords, comes_before, spend


class Shares(NamedTuple):
    """The fraction of each remaining risk budget that a way home from a state would spend."""

    added: FloatArray  # [K, S] risk that the way home would add
    left: FloatArray  # [K] remaining budget, above 0; −1 if the budget does not count

    def at(self, states: IntArray) -> FloatArray:
        """Return the share [n] of each of the given states [n]: the largest over all budgets."""
        counts = self.left > 0.0
        shares = self.added[:, states][counts] / self.left[counts, None]
        return np.asarray(shares.max(axis=0, initial=0.0))

    @classmethod
    def given(cls, share: FloatArray) -> Shares:
        """Return an object in which state s has the share ``share[s]``."""
        return cls(share[None], np.ones(1))


@inner_kernel
def share_of(shares: Shares, state: int) -> float:
    """Return the share of a state: the largest over all budgets."""
    most = 0.0
    for k in range(len(shares.left)):
        if shares.left[k] > 0.0:
            most = max(most, shares.added[k, state] / shares.left[k])
    return most


@inner_kernel
def largest_share(shares: Shares, path: IntArray) -> float:
    """Return the largest share of the states on a path [n]; see `Shares`."""
    most = 0.0
    for k in range(len(path)):
        most = max(most, share_of(shares, path[k]))
    return most


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
        ends, visited = np.zeros(states, np.int8), np.empty(states, np.int32)
        return cls(*far, np.zeros(2 * states), before, done, ends, visited)


@inner_kernel
def clean(scratch: Scratch, count: int) -> None:
    """Reset the arrays after a search that reached the first `count` states of `visited`."""
    for k in range(count):
        s = scratch.visited[k]
        scratch.steps[s] = scratch.worst[s] = np.inf
        scratch.before[s], scratch.is_done[s] = -1, False


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
def gain_at(state: int, looks: Looks, looked: FloatArray, hides: bool) -> float:
    """Return the gain of a look from a state after earlier looks.

    The first half of `looked` [2S] has the total weight of the earlier looks at each cell. Looks of
    total precision w at a cell of variance v gain ½ ln(1 + v·w) nats, up to the precision
    `Looks.enough`. If gains are not logarithmic, the first look gains the cell's amount, and later
    looks gain 0. If visits gain, the second half of `looked` is 1 in the visited states. Without
    `hides`, the ground hides nothing, and the gain is an upper bound.
    """
    amount, done, visit, weight, total = looks.amount, looks.done, looks.visit, looks.weight, 0.0
    if visit.size > 0 and looked[len(amount) + state] == 0.0:
        total += visit[state]
    if done.size > 0 and done[state]:
        return total
    row, column = state // looks.shape[1], state % looks.shape[1]
    for k in range(len(weight)):
        t = cell_at(looks, row, column, k)
        if t < 0 or amount[t] <= 0.0 or (hides and is_hidden(looks, row, column, k)):
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
def look_from(state: int, looks: Looks, looked: FloatArray) -> None:
    """Add a look from a state to `looked` [2S]; see `gain_at`."""
    row, column = state // looks.shape[1], state % looks.shape[1]
    if looks.visit.size > 0:
        looked[len(looks.amount) + state] = 1.0
    for k in range(len(looks.weight)):
        t = cell_at(looks, row, column, k)
        if t >= 0 and not is_hidden(looks, row, column, k):
            looked[t] += looks.weight[k]


@inner_kernel
def forget(state: int, looks: Looks, looked: FloatArray) -> None:
    """Set `looked` [2S] to 0 in the cells that a look from a state covers; see `gain_at`."""
    row, column = state // looks.shape[1], state % looks.shape[1]
    if looks.visit.size > 0:
        looked[len(looks.amount) + state] = 0.0
    for k in range(len(looks.weight)):
        t = cell_at(looks, row, column, k)
        if t >= 0:
            looked[t] = 0.0


@inner_kernel
def attempt_cost(graph: Graph, used: FloatArray, row: int, s: int, a: int) -> float:
    """Return the expected steps of the edge of action `a` in `s`; infinite if it can't be taken.

    `used[row]` [K] are the amounts that the path to `s` used.
    """
    p, reach = float(graph.success[s, a]), graph.reach
    if p < MIN_SUCCESS or (graph.allowed.shape[0] > 1 and not graph.allowed[s, a]):
        return np.inf
    if len(reach.left) == 0:
        return 1.0 / p
    if not affords(reach, used, row, s, a, graph.dest[s, a], p >= 1.0):
        return np.inf
    return float(reach.pace[s, a]) / p


@kernel
def follow(
    graph: Graph,
    shares: Shares,
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
    dest, success, allowed, reach = graph.dest, graph.success, graph.allowed, graph.reach
    legs, limits = len(path) - 1, len(reach.left)
    actions, used = np.empty(legs, np.int32), np.zeros((1, limits))
    looked, gain, steps, hides = scratch.looked, 0.0, extra, looks.ground.size > 0
    row = int64(0)
    for k in range(legs + 1):
        s = path[k]
        if (k > 0) if along else (k == legs):
            gain += gain_at(s, looks, looked, hides)
        if along and k > 0:
            look_from(s, looks, looked)
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
        if share_of(shares, t) > most:
            steps = np.inf
        if limits:
            if not affords(reach, used, row, s, action, t, best >= 1.0):
                steps = np.inf
            spend(reach, used, row, s, action, used, row)
    if along:
        for k in range(legs):
            forget(path[k + 1], looks, looked)
    return actions, gain, steps


@kernel
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
    owed: float = 0.0,
) -> tuple[IntArray, float, float, float]:
    """Return the path to the state that maximises gain / steps**power, by a search from `state`.

    The gain of a state is reduced by toll · max(0, largest share on the path − free), in which the
    current state has the share `owed`. A state is
    not entered if this reduction is at least `highest`, or if its share is above 1. A look takes
    `extra` steps after arrival; if `extra` is 0, the current state has no gain. `limit` [S] are
    upper bounds on gains; they are lowered to the gains with nothing hidden. `highest` is an upper
    bound on all gains: the search stops at the distance beyond which no state can be the best. Also
    returns the gain, the steps and the largest share of the path, which is empty without a state.
    """
    dest, reach = graph.dest, graph.reach
    steps, worst, looked, before, is_done, _, visited = scratch
    steps[state], worst[state], heap = 0.0, max(0.0, owed - free), [(0.0, int64(state))]
    visited[0], count = state, int64(1)
    best, best_gain, best_steps, rate = int64(-1), 0.0, 1.0, 0.0
    hides, limits = looks.ground.size > 0, len(reach.left)
    used = np.zeros((len(dest) if limits else 1, limits))
    while heap:
        s = heappop(heap)[1]
        if is_done[s]:
            continue
        is_done[s] = True
        n = (steps[s] + extra) ** power
        if n > 0.0:
            if highest <= rate * n:
                break
            if limit[s] - toll * worst[s] > rate * n:
                gain = 0.0
                for hidden in (False, True):  # hidden cells are found only where they matter
                    if hidden and not (hides and gain - toll * worst[s] > rate * n):
                        break
                    gain = gain_at(s, looks, looked, hidden)
                    if not hidden:
                        limit[s] = gain
                gain -= toll * worst[s]
                if gain > rate * n:
                    best, best_gain, rate = s, gain, gain / n
                    best_steps = steps[s] + extra
        for a in range(dest.shape[1]):
            t = int64(dest[s, a])
            if is_done[t]:
                continue
            away = steps[s] + attempt_cost(graph, used, s, s, a)
            if away < steps[t]:
                share = share_of(shares, t)
                if share > 1.0 or toll * (share - free) >= highest:
                    continue
                if steps[t] == np.inf:
                    visited[count] = t
                    count += 1
                steps[t], before[t], worst[t] = away, s, max(worst[s], share - free)
                spend(reach, used, s, s, a, used, t)
                heappush(heap, (away, t))
    path = path_to(before, state, best)
    clean(scratch, count)
    return path, best_gain, best_steps, largest_share(shares, path)


@kernel
def best_per_risk(
    graph: Graph,
    shares: Shares,
    floor: float,
    state: int,
    looks: Looks,
    extra: float,
    scratch: Scratch,
) -> tuple[IntArray, float, float, float, float, float]:
    """Return the path to the state with the most gain per unit of risk, by a search from `state`.

    The risk of a path is the largest share of its states. Each state is reached by the path with
    the least risk and, of several such paths, with the fewest steps. States whose path has a risk
    above 1, or whose gain per step is below `floor`, are excluded. A look takes `extra` steps after
    arrival. Also returns the gain, the steps and the risk of the path. The last two values are the
    risk and the gain of the least risky state that only its risk excludes.
    """
    dest, reach = graph.dest, graph.reach
    steps, worst, looked, before, is_done, _, visited = scratch
    steps[state], worst[state] = 0.0, 0.0
    heap, visited[0], count = [(0.0, 0.0, int64(state))], state, int64(1)
    best, best_gain, best_steps, best_risk, per_risk = int64(-1), 0.0, 1.0, 0.0, 0.0
    over_risk, over_gain = np.inf, 0.0
    hides, limits = looks.ground.size > 0, len(reach.left)
    used = np.zeros((len(dest) if limits else 1, limits))
    while heap:
        s = heappop(heap)[2]
        if is_done[s]:
            continue
        is_done[s] = True
        n = steps[s] + extra
        if n > 0.0:
            gain = gain_at(s, looks, looked, hides)
            if gain >= floor * n and gain > 0.0:
                if worst[s] > 1.0:
                    if worst[s] < over_risk:
                        over_risk, over_gain = worst[s], gain
                elif gain > per_risk * worst[s] or best < 0:
                    best, best_gain, best_steps, best_risk = s, gain, n, worst[s]
                    per_risk = gain / worst[s] if worst[s] > 0.0 else np.inf
        for a in range(dest.shape[1]):
            t = int64(dest[s, a])
            if is_done[t]:
                continue
            away = steps[s] + attempt_cost(graph, used, s, s, a)
            r = max(worst[s], share_of(shares, t))
            if away < np.inf and r < np.inf and (r, away) < (worst[t], steps[t]):
                if steps[t] == np.inf:
                    visited[count] = t
                    count += 1
                worst[t], steps[t], before[t] = r, away, s
                spend(reach, used, s, s, a, used, t)
                heappush(heap, (r, away, t))
    path = path_to(before, state, best)
    clean(scratch, count)
    return path, best_gain, best_steps, best_risk, over_risk, over_gain


@kernel
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
) -> tuple[IntArray, float, float, float]:
    """Return the path [n] from `state` that maximises gain − price · steps, by beam search.

    The gain is the joint gain of looks along the path. States with a share above `free` are not
    entered. The search keeps the `width` best paths of each length up to `depth`, at most two
    of them with the same end. Also returns the gain, the expected steps and the largest share of
    the path.
    """
    dest, reach, looked, ends = graph.dest, graph.reach, scratch.looked, scratch.ends
    actions, limits, hides = dest.shape[1], len(reach.left), looks.ground.size > 0
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
                look_from(place[j], looks, looked)
                j = parent[j]
            for a in range(actions):
                t, cost = int64(dest[s, a]), attempt_cost(graph, used, i, s, a)
                if t == s or cost == np.inf or share_of(shares, t) > free:
                    continue
                spend(reach, used, i, s, a, new_used, count)
                new_place[count], new_parent[count] = t, i
                new_gain[count] = gain[i] + gain_at(t, looks, looked, hides)
                new_steps[count] = steps[i] + cost
                heappush(order, (price * new_steps[count] - new_gain[count], count))
                count += 1
            j = i
            while j > 0:
                forget(place[j], looks, looked)
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
    return path, gain[best], steps[best], largest_share(shares, path)


@inner_kernel
def take(state: int, looks: Looks, amount: FloatArray, opens: FloatArray) -> float:
    """Set `amount` [S] to 0 in the cells seen from a state.

    Return the sum of `opens` [S] over those of them whose amount was above 0.
    """
    row, column, total = state // looks.shape[1], state % looks.shape[1], 0.0
    for k in range(len(looks.weight)):
        t = cell_at(looks, row, column, k)
        if t >= 0 and amount[t] > 0.0 and not is_hidden(looks, row, column, k):
            amount[t] = 0.0
            total += opens[t]
    return total


@inner_kernel
def left_of(looks: Looks, amount: FloatArray) -> Looks:
    """Return the looks with `amount` [S] as the remaining gain of each cell."""
    shape, down, right, weight, _, logarithmic, action, ground, mast, done, visit, _, _, _ = looks
    rest = action, ground, mast, done, visit, np.nan, np.nan, looks.enough
    return Looks(shape, down, right, weight, amount, logarithmic, *rest)


@inner_kernel
def gain_nearby(
    graph: Graph, shares: Shares, free: float, state: int, looks: Looks, radius: float
) -> FloatArray:
    """Return the remaining gain [S] of the cells that can be seen within `radius` steps; else 0.

    States with a share above `free` are not entered.
    """
    (states, actions), unlimited = graph.dest.shape, np.zeros((1, 0))
    steps, rest, done = np.empty(states), np.empty(states), np.zeros(states, np.bool_)
    for s in range(states):
        steps[s], rest[s] = np.inf, looks.amount[s]
    steps[state], heap = 0.0, [(0.0, int64(state))]
    while heap and heap[0][0] <= radius:
        s = heappop(heap)[1]
        if done[s]:
            continue
        done[s] = True
        take(s, looks, rest, looks.amount)
        for a in range(actions):
            t = int64(graph.dest[s, a])
            away = steps[s] + attempt_cost(graph, unlimited, 0, s, a)
            if not done[t] and away < steps[t] and share_of(shares, t) <= free:
                steps[t] = away
                heappush(heap, (away, t))
    for t in range(states):
        rest[t] = looks.amount[t] - rest[t]
    return rest


@kernel
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
    """Return the path to the first stop of the cheapest tour, its gain and its steps.

    A second look at a cell has no gain. States whose share (see `Shares`) is above `free` are not
    entered. The candidates for the first stop are the `width` states with the largest
    gain / steps**power. From a candidate, a tour continues to the next best state by the same
    measure, until all near cells are seen. A cell is near if it can be seen within the steps of the
    first candidate plus `radius`.

    The cost of a tour is its number of steps, with the first leg counted twice, since later legs
    will be planned again. Some states of a tour show unseen cells that are not near. The explorer
    will leave the tour there and has to come back: each step of the tour that is left then costs
    `return_price` more. A tour that misses fewer near cells is always better.
    """
    states, highest = len(graph.dest), 0.0
    is_open, looked, amount = np.empty((1, states)), scratch.looked, looks.amount
    for s in range(states):
        is_open[0, s] = 0.0 if share_of(shares, s) <= free else 2.0  # 2: never entered
        highest = max(highest, amount[s])
    entered, highest = Shares(is_open, np.ones(1)), highest * len(looks.weight)
    limit, bounds, left = np.empty(states), np.empty(states), np.empty(states)
    outside, opens = np.empty(states), np.zeros(states)
    for s in range(states):
        limit[s] = highest
    near, beyond = amount, left_of(looks, outside)
    best: IntArray = np.empty(0, np.int64)
    best_gain, best_steps = 0.0, 1.0
    missed, least = np.inf, np.inf
    for i in range(width):
        first, gain, steps, _ = search_outward(
            graph, entered, 0.0, 0.0, state, looks, 0.0, power, limit, highest, scratch
        )
        if len(first) == 0:
            break
        limit[first[-1]] = 0.0
        if i == 0:
            near = gain_nearby(graph, shares, free, state, looks, steps + radius)
            for s in range(states):
                outside[s] = amount[s] - near[s]
            for s in range(states):
                if near[s] > 0.0:
                    opens[s] = gain_at(s, beyond, looked, looks.ground.size > 0)
        for s in range(states):
            left[s], bounds[s] = near[s], highest
        rest, path, there = left_of(looks, left), first, steps
        length, opened, later = 0.0, 0.0, 0.0
        while len(path) and (steps + length < least or missed > 0.0):
            length += there
            new = 0.0
            for k in range(len(path) - 1, 0, -1):
                new += take(path[k], looks, left, opens)
            opened, later = opened + new, later + new * length
            path, _, there, _ = search_outward(
                graph, entered, 0.0, 0.0, path[-1], rest, 0.0, power, bounds, highest, scratch
            )
        cost, unseen = steps + length, 0.0
        if opened > 0.0:
            cost += return_price * (length - later / opened)
        for s in range(states):
            unseen += left[s]
        if comes_before(unseen, cost, missed, least):
            best, best_gain, best_steps = first, gain, steps
            missed, least = unseen, cost
    return best, best_gain, best_steps
