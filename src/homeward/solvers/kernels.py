"""Compiled loops on move-or-stay graphs. Arrays in, arrays out; the caller decides everything.

Axes: s state, a action, k reward column. ``success[s, a]`` moves from s to ``dest[s, a]``, the
rest stays in s. Trying until it works folds the self-loop away, so that under discount γ a
deterministic policy is an affine function along a functional graph::

    value[s] = (reward + γ·p·value[dest]) / (1 − γ + γ·p)
"""

import numpy as np
from numba import njit

from homeward.arrays import FloatArray, IntArray


@njit(cache=True)
def evaluate_graph(
    follow: IntArray,
    carry: FloatArray,
    gain: FloatArray,
    value: FloatArray,
    mark: IntArray,
    path: IntArray,
) -> None:
    """Solve ``value[k, s] = gain[k, s] + carry[s]·value[k, follow[s]]`` exactly, in O(K·S).

    ``mark`` [S] must be zero; ``mark`` and ``path`` [S] are scratch. ``carry < 1`` on every cycle.
    """
    columns, states = gain.shape
    for root in range(states):
        length = 0
        s = root
        while mark[s] == 0:
            mark[s] = 1
            path[length] = s
            length += 1
            s = follow[s]
        if mark[s] == 1:  # the walk closed a new cycle at s
            first = length - 1
            while path[first] != s:
                first -= 1
            for k in range(columns):
                total = 0.0
                factor = 1.0
                for i in range(first, length):
                    total += factor * gain[k, path[i]]
                    factor *= carry[path[i]]
                value[k, s] = total / (1.0 - factor)
            mark[s] = 2
            for i in range(length - 1, first, -1):
                node = path[i]
                for k in range(columns):
                    value[k, node] = gain[k, node] + carry[node] * value[k, follow[node]]
                mark[node] = 2
            length = first
        for i in range(length - 1, -1, -1):
            node = path[i]
            for k in range(columns):
                value[k, node] = gain[k, node] + carry[node] * value[k, follow[node]]
            mark[node] = 2


@njit(cache=True)
def sweep_moves(
    dest: IntArray,
    success: FloatArray,
    discount: float,
    reward: FloatArray,
    forward: bool,
    slack: float,
    value: FloatArray,
    policy: IntArray,
) -> int:
    """One Gauss–Seidel improvement sweep; writes ``value`` and ``policy``, counts the switches.

    A state switches only to an action that beats its own by more than ``slack``, so that rounding
    can't make two equal policies chase each other.
    """
    states, actions = dest.shape
    switches = 0
    for i in range(states):
        s = i if forward else states - 1 - i
        kept = policy[s]
        p = success[s, kept]
        best = (reward[s, kept] + discount * p * value[dest[s, kept]]) / (
            1.0 - discount + discount * p
        )
        choice = kept
        for a in range(actions):
            p = success[s, a]
            q = (reward[s, a] + discount * p * value[dest[s, a]]) / (1.0 - discount + discount * p)
            if q > best + slack:
                best = q
                choice = a
        if choice != kept:
            policy[s] = choice
            switches += 1
        value[s] = best
    return switches


@njit(cache=True)
def largest_gain_moves(
    dest: IntArray, success: FloatArray, discount: float, reward: FloatArray, value: FloatArray
) -> float:
    """Give the most that any action improves on ``value``: max over s, a of q[s, a] − value[s]."""
    states, actions = dest.shape
    largest = -np.inf
    for s in range(states):
        for a in range(actions):
            p = success[s, a]
            q = (reward[s, a] + discount * p * value[dest[s, a]]) / (1.0 - discount + discount * p)
            if q - value[s] > largest:
                largest = q - value[s]
    return largest


@njit(cache=True)
def reverse_edges(dest: IntArray) -> tuple[IntArray, IntArray]:
    """List edges by destination: ``edges[first[t]:first[t + 1]]`` are the s·A + a leading to t."""
    states, actions = dest.shape
    first = np.zeros(states + 1, np.int64)
    for s in range(states):
        for a in range(actions):
            if dest[s, a] != s:
                first[dest[s, a] + 1] += 1
    for t in range(states):
        first[t + 1] += first[t]
    edges = np.empty(first[states], np.int64)
    filled = first[:-1].copy()
    for s in range(states):
        for a in range(actions):
            t = dest[s, a]
            if t != s:
                edges[filled[t]] = s * actions + a
                filled[t] += 1
    return first, edges


@njit(cache=True)
def distances_home(
    success: FloatArray, cost: FloatArray, home: IntArray, first: IntArray, edges: IntArray
) -> tuple[FloatArray, IntArray]:
    """Dijkstra from home over reversed edges, up to distance 1.

    An edge costs ``cost[s, a] / success[s, a]`` and is not there where success is 0. Gives the
    distance [S] (infinite beyond 1) and the action that starts the shortest way (−1: none).
    Among equal ways the one found from the lower-numbered successor stays.
    """
    states, actions = success.shape
    distance = np.full(states, np.inf)
    choice = np.full(states, -1, np.int32)
    done = np.zeros(states, np.bool_)
    heap = np.empty(states, np.int32)  # states, ordered by (distance, index)
    where = np.full(states, -1, np.int32)
    size = 0
    for h in home:
        if distance[h] != 0.0:
            distance[h] = 0.0
            heap[size] = h
            where[h] = size
            size += 1
            _rise(heap, where, distance, size - 1)
    while size > 0:
        t = heap[0]
        size -= 1
        if size > 0:
            heap[0] = heap[size]
            where[heap[0]] = 0
            _sink(heap, where, distance, 0, size)
        done[t] = True
        for e in range(first[t], first[t + 1]):
            s = edges[e] // actions
            a = edges[e] % actions
            p = success[s, a]
            if done[s] or p <= 0.0:
                continue
            candidate = distance[t] + cost[s, a] / p
            if candidate < distance[s] and candidate < 1.0:
                if where[s] < 0:
                    heap[size] = s
                    where[s] = size
                    size += 1
                distance[s] = candidate
                choice[s] = a
                _rise(heap, where, distance, where[s])
    return distance, choice


@njit(cache=True)
def _before(distance: FloatArray, s: int, t: int) -> bool:
    return distance[s] < distance[t] or (distance[s] == distance[t] and s < t)


@njit(cache=True)
def _rise(heap: IntArray, where: IntArray, distance: FloatArray, i: int) -> None:
    s = heap[i]
    while i > 0:
        up = (i - 1) // 2
        if not _before(distance, s, heap[up]):
            break
        heap[i] = heap[up]
        where[heap[i]] = i
        i = up
    heap[i] = s
    where[s] = i


@njit(cache=True)
def _sink(heap: IntArray, where: IntArray, distance: FloatArray, i: int, size: int) -> None:
    s = heap[i]
    while True:
        down = 2 * i + 1
        if down >= size:
            break
        if down + 1 < size and _before(distance, heap[down + 1], heap[down]):
            down += 1
        if not _before(distance, heap[down], s):
            break
        heap[i] = heap[down]
        where[heap[i]] = i
        i = down
    heap[i] = s
    where[s] = i
