"""Searches on graphs: shortest paths to home over reversed edges, and reachable states.

The edge of action a in s costs ``−correction[s, a] / success[s, a]``; there is no edge if the
success is below `MIN_CHANCE`. Distances of 1 or more count as infinite. Each sum is rounded up, so
no distance is too short.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.compiling import njit
from homeward.models import Model, Moves
from homeward.solvers.tolerances import MIN_CHANCE

Ways: TypeAlias = tuple[IntArray, IntArray, IntArray]  # the result of `reverse_edges`

UP, DOWN = 1.0 + 2.0**-51, 1.0 - 2.0**-51  # more than the rounding of a quotient, sum and product
LARGE_FRACTION = 0.1  # if this share of the largest reward is reachable, nothing is changed
BUCKET_POWERS, BUCKET_BITS = 64, 6  # distances from 2**−64 to 1, in 2**6 buckets per power of 2


def unsigned(indices: IntArray) -> IntArray:
    """Return int32 indices as uint32, so that compiled code need not check for negative indices."""
    return indices.view(np.uint32)


def ways_to(model: Moves) -> Ways:
    """Return the reversed edges of a graph (see `reverse_edges`), cached in the graph's memo."""
    if "ways" not in model.memo:
        small: IntArray = np.empty(0, np.uint8 if model.actions <= 256 else np.uint32)
        model.memo["ways"] = reverse_edges(unsigned(model.dest), small)
    result: Ways = model.memo["ways"]
    return result


@njit(cache=True, error_model="numpy")
def reverse_edges(dest: IntArray, small: IntArray) -> Ways:
    """Return the edges between different states, sorted by destination: (first, source, action).

    The edges to t are e with ``first[t] <= e < first[t + 1]``. Edge e starts in ``source[e]`` by
    ``action[e]``; the array ``action`` has the dtype of ``small``.
    """
    states, actions = dest.shape
    first = np.zeros(states + 1, np.int32)
    for s in range(states):
        for a in range(actions):
            if dest[s, a] != s:
                first[dest[s, a] + 1] += 1
    for t in range(states):
        first[t + 1] += first[t]
    source = np.empty(first[states], np.uint32)
    action = np.empty(first[states], small.dtype)
    filled = first[:-1].copy()
    for s in range(states):
        for a in range(actions):
            t = dest[s, a]
            if t != s:
                source[filled[t]] = s
                action[filled[t]] = a
                filled[t] += 1
    return first, source, action


@njit(cache=True, error_model="numpy", nogil=True)
def distances_home(
    dest: IntArray, success: FloatArray, correction: FloatArray, home: IntArray, ways: Ways
) -> tuple[FloatArray, IntArray]:
    """Return the distance to home [S] and the first action [S] of a shortest path (−1: no path).

    Among equal paths, the action leads to the successor with the lowest number, if that successor
    is nearer to home.

    States are kept in buckets of nearly equal distance. The bucket follows from the exponent and
    the first bits of the distance. If the distance of a state falls after the state was processed,
    it is processed again, so the result is exact.
    """
    states, (first, source, action) = len(dest), ways
    distance = np.full(states, np.inf)
    choice = np.full(states, -1, np.int32)
    buckets = 1 + (BUCKET_POWERS << BUCKET_BITS)
    # Each bucket is a doubly linked ring of states and one node, states + number of the bucket.
    after = np.arange(states + buckets).astype(np.uint32)
    before = after.copy()
    for h in home:
        if distance[h] != 0.0:
            distance[h] = 0.0
            _link(after, before, h, states)
    now = states
    while now < len(after):
        t = after[now]
        if t == now:
            now += 1
            continue
        _unlink(after, before, t)
        here = distance[t]
        for e in range(first[t], first[t + 1]):
            s = source[e]
            if distance[s] <= here:
                continue
            a = action[e]
            candidate = _extended(here, success[s, a], correction[s, a])
            if candidate >= 1.0 or candidate > distance[s]:
                continue
            if candidate < distance[s]:
                distance[s] = candidate
                choice[s] = a
                power = int(np.float64(candidate).view(np.int64) >> (52 - BUCKET_BITS))
                bucket = power - ((1023 - BUCKET_POWERS) << BUCKET_BITS)
                _unlink(after, before, s)
                _link(after, before, s, states + (bucket if bucket > 0 else 0))
            elif t < dest[s, choice[s]]:
                choice[s] = a
    return distance, choice


def chances_home(distance: FloatArray) -> FloatArray:
    """Return lower bounds [S] on the probability of returning: 1 − distance, rounded down."""
    return np.where(distance > 0.0, np.maximum(0.0, (1.0 - distance) * DOWN), 1.0)


@njit(cache=True, error_model="numpy", inline="always")
def _extended(distance: float, success: float, correction: float) -> float:
    """Return a distance extended by one edge, rounded up; infinite if there is no edge."""
    if success < MIN_CHANCE:
        return np.inf
    cost = -correction / success
    return (distance + cost) * UP if cost > 0.0 else distance


@njit(cache=True, error_model="numpy", inline="always")
def _link(after: IntArray, before: IntArray, s: int, node: int) -> None:
    """Append state s to the ring of a bucket's `node`."""
    last = before[node]
    after[last] = s
    before[s] = last
    after[s] = node
    before[node] = s


@njit(cache=True, error_model="numpy", inline="always")
def _unlink(after: IntArray, before: IntArray, s: int) -> None:
    """Remove state s from its ring, if it is in one."""
    after[before[s]] = after[s]
    before[after[s]] = before[s]
    after[s] = s
    before[s] = s


def silence_unreachable(model: Model, objective: FloatArray, start: int) -> None:
    """Set `objective` [S, A] to 0 in unreachable states if its largest rewards are there.

    Tolerances are relative to the largest value of an objective. A reward that no policy can reach
    from `start` must not count: compared with an unreachable reward of 1e12, a value of 9 would be
    within the tolerance of 0. This does not change the value of the start. Rewards of −inf stay.
    """
    lowest = float(objective.min())
    if lowest == -np.inf:
        lowest = float(objective.min(where=objective > -np.inf, initial=0.0))
    large = LARGE_FRACTION * max(float(objective.max()), -lowest)
    if isinstance(model, Moves):
        edges = np.arange(model.dest.size + 1), model.dest.ravel(), model.success.ravel()
    else:
        rows = model.transitions
        edges = rows.indptr, rows.indices, rows.data
    found, seen = search(*edges, objective, start, large)
    if not found:
        objective[~seen[:, None] & (objective > -np.inf)] = 0.0


def reached(dest: IntArray, success: FloatArray, state: int) -> BoolArray:
    """Return the mask [S] of states that moves with positive probability reach from `state`."""
    edges = np.arange(dest.size + 1), dest.ravel(), success.ravel()
    return search(*edges, np.zeros(dest.shape), state, np.inf)[1]


@njit(cache=True, error_model="numpy")
def search(
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    objective: FloatArray,
    start: int,
    large: float,
) -> tuple[bool, BoolArray]:
    """Return whether a reward of absolute value ``large`` or more is reachable from ``start``.

    Also return the mask [S] of states that were reached until such a reward was found. Row s·A + a
    of the sparse matrix (indptr, indices, data) has the transitions of action a in state s.
    """
    states, actions = objective.shape
    seen = np.zeros(states, np.bool_)
    queue = np.empty(states, np.int64)
    queue[0], count, seen[start] = start, 1, True
    for i in range(states):
        if i == count:
            break
        s = queue[i]
        for a in range(actions):
            reward = objective[s, a]
            if reward == -np.inf:
                continue
            if abs(reward) >= large:
                return True, seen
            row = s * actions + a
            for k in range(indptr[row], indptr[row + 1]):
                t = indices[k]
                if not seen[t] and data[k] > 0.0:
                    seen[t] = True
                    queue[count] = t
                    count += 1
    return False, seen
