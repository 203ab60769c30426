"""Shortest paths to home on move-or-stay graphs, by search over reversed edges.

The edge of action a in s costs ``−correction[s, a] / success[s, a]``; there is no edge if the
success is below `MIN_SUCCESS`. Distances of 1 or more count as infinite. Each sum is rounded up, so
no distance is too short.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.compiling import njit
from homeward.models import Moves

Ways: TypeAlias = tuple[IntArray, IntArray, IntArray]  # the result of `reverse_edges`

UP, DOWN = 1.0 + 2.0**-51, 1.0 - 2.0**-51  # more than the rounding of a quotient, sum and product
MIN_SUCCESS = 1e-250  # smallest success probability of an edge
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


@njit(cache=True, error_model="numpy")
def shortest_within(
    success: FloatArray,
    correction: FloatArray,
    home: IntArray,
    ways: Ways,
    steps: int,
    small: IntArray,
) -> tuple[FloatArray, IntArray, int]:
    """Return distances to home [S] over at most ``steps`` edges, policies [N, S], and a number L.

    Policy i < L has the first actions of shortest paths with at most i + 1 edges (−1: no path).
    Policies from L on are not set. The policies have the dtype of ``small``.
    """
    states, (first, source, action) = len(success), ways
    distance = np.full(states, np.inf)
    choice = np.full(states, -1, small.dtype)
    rose = np.zeros(states, np.bool_)
    front, ahead = np.empty(states, np.int64), np.empty(states, np.int64)
    here = np.empty(states)  # distances of the front before this layer
    count = 0
    for h in home:
        if distance[h] != 0.0:
            distance[h] = 0.0
            front[count] = h
            here[count] = 0.0
            count += 1
    layers = np.empty((min(steps, 8), states), small.dtype)
    layer = 0
    while layer < steps and count > 0:
        more = 0
        for i in range(count):
            t = front[i]
            for e in range(first[t], first[t + 1]):
                s = source[e]
                if distance[s] <= here[i]:
                    continue
                a = action[e]
                candidate = _extended(here[i], success[s, a], correction[s, a])
                if candidate >= 1.0 or candidate >= distance[s]:
                    continue
                distance[s] = candidate
                choice[s] = a
                if not rose[s]:
                    rose[s] = True
                    ahead[more] = s
                    more += 1
        if more == 0:
            break
        for i in range(more):
            s = ahead[i]
            rose[s] = False
            front[i] = s
            here[i] = distance[s]
        count = more
        if layer == len(layers):
            more_layers = min(steps, 2 * layer) - layer
            layers = np.concatenate((layers, np.empty((more_layers, states), small.dtype)))
        for s in range(states):
            layers[layer, s] = choice[s]
        layer += 1
    return distance, layers, layer


@njit(cache=True, error_model="numpy")
def longest(dest: IntArray, policy: IntArray) -> int:
    """Return the number of edges of the longest path of an acyclic policy [S]; −1 ends a path."""
    states = len(dest)
    edges = np.full(states, -1, np.int64)
    path = np.empty(states, np.int64)
    most = 0
    for root in range(states):
        s, length = root, 0
        while edges[s] < 0 and policy[s] >= 0:
            path[length] = s
            length += 1
            s = dest[s, policy[s]]
        if edges[s] < 0:
            edges[s] = 0
        total = edges[s]
        for i in range(length - 1, -1, -1):
            total += 1
            edges[path[i]] = total
        most = max(most, total)
    return most


@njit(cache=True, error_model="numpy", inline="always")
def _extended(distance: float, success: float, correction: float) -> float:
    """Return a distance extended by one edge, rounded up; infinite if there is no edge."""
    if success < MIN_SUCCESS:
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
