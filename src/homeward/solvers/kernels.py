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
def fold_moves(success: FloatArray, discount: float, carry: FloatArray) -> None:
    """Write ``carry = γp / (1 − γ + γp)``, the share of the destination's value in a move's."""
    states, actions = success.shape
    for s in range(states):
        for a in range(actions):
            onward = discount * success[s, a]
            carry[s, a] = onward / (1.0 - discount + onward)


@njit(cache=True)
def combine_moves(
    success: FloatArray,
    discount: float,
    totals: FloatArray,
    weights: FloatArray,
    reward: FloatArray,
) -> None:
    """Write the weighted sum of totals that an attempted move earns until it works, folded."""
    combine(totals, weights, reward)
    folded, chance = reward.reshape(-1), success.reshape(-1)
    stop = 1.0 - discount
    for i in range(folded.size):
        folded[i] /= stop + discount * chance[i]


@njit(cache=True)
def combine(totals: FloatArray, weights: FloatArray, reward: FloatArray) -> None:
    """Write ``reward[s, a] = Σ_k weights[k]·totals[k, s, a]``; −inf in the first column stays."""
    columns = totals.shape[0]
    flat = totals.reshape(columns, -1)
    total = reward.reshape(-1)
    if weights[0] > 0.0:
        for i in range(total.size):
            total[i] = weights[0] * flat[0, i]
    else:
        for i in range(total.size):
            total[i] = flat[0, i] if flat[0, i] == -np.inf else 0.0
    for k in range(1, columns):
        if weights[k] != 0.0:
            for i in range(total.size):
                total[i] += weights[k] * flat[k, i]


@njit(cache=True)
def evaluate_moves(
    dest: IntArray,
    carry: FloatArray,
    gain: FloatArray,
    policy: IntArray,
    value: FloatArray,
    mark: IntArray,
    path: IntArray,
) -> None:
    """Solve ``value[k, s] = gain[k, s] + carry[s, a]·value[k, dest[s, a]]`` for a = policy[s].

    A deterministic policy is a functional graph: each cycle is solved in closed form, and what
    leads to it follows backwards; O(K·S). ``mark`` and ``path`` [S] are scratch.
    """
    columns, states = gain.shape
    mark[:] = 0
    for root in range(states):
        length = 0
        s = root
        while mark[s] == 0:
            mark[s] = 1
            path[length] = s
            length += 1
            s = dest[s, policy[s]]
        if mark[s] == 1:  # the walk closed a new cycle at s
            first = length - 1
            while path[first] != s:
                first -= 1
            for k in range(columns):
                total = 0.0
                factor = 1.0
                for i in range(first, length):
                    total += factor * gain[k, path[i]]
                    factor *= carry[path[i], policy[path[i]]]
                value[k, s] = total / (1.0 - factor)
            mark[s] = 2
        for i in range(length - 1, -1, -1):
            node = path[i]
            if mark[node] == 2:  # where the cycle was closed
                continue
            mark[node] = 2
            a = policy[node]
            for k in range(columns):
                value[k, node] = gain[k, node] + carry[node, a] * value[k, dest[node, a]]


@njit(cache=True)
def gains_of(
    success: FloatArray, discount: float, totals: FloatArray, policy: IntArray, gain: FloatArray
) -> None:
    """Write what a policy earns under each total until its move works, ``gain[k, s]``."""
    columns, states, _ = totals.shape
    for s in range(states):
        a = policy[s]
        scale = 1.0 - discount + discount * success[s, a]
        for k in range(columns):
            gain[k, s] = totals[k, s, a] / scale


@njit(cache=True)
def sweep_moves(
    dest: IntArray,
    carry: FloatArray,
    reward: FloatArray,
    forward: bool,
    slack: float,
    value: FloatArray,
    policy: IntArray,
) -> tuple[int, float]:
    """One Gauss–Seidel improvement sweep; writes ``value`` and ``policy``.

    A state switches only to an action that beats its own by more than ``slack``, so that rounding
    can't make two equal policies chase each other. Gives the number of switches and the most that
    any action beat the kept one by.
    """
    states, actions = dest.shape
    switches = 0
    gain = 0.0
    for i in range(states):
        s = i if forward else states - 1 - i
        kept = policy[s]
        own = reward[s, kept] + carry[s, kept] * value[dest[s, kept]]
        best = own
        choice = kept
        for a in range(actions):
            q = reward[s, a] + carry[s, a] * value[dest[s, a]]
            if q > best:
                best = q
                choice = a
        if best - own > gain:
            gain = best - own
        if best > own + slack:
            policy[s] = choice
            switches += 1
            value[s] = best
        else:
            value[s] = own
    return switches, gain


@njit(cache=True)
def optimise_moves(
    dest: IntArray,
    carry: FloatArray,
    reward: FloatArray,
    slack: float,
    sweeps: int,
    limit: int,
    policy: IntArray,
    gain: FloatArray,
    value: FloatArray,
    mark: IntArray,
    path: IntArray,
) -> tuple[int, int, float]:
    """Policy iteration from ``policy`` [S], written in place; what follows it is scratch.

    Ends when a sweep finds no action better by more than ``slack`` times the largest value. Gives
    the rounds, the switches of the last sweep and the most that any action was still better by.
    """
    rounds = 0
    switches = 1
    most = np.inf
    while switches > 0 and rounds < limit:
        rounds += 1
        for s in range(len(policy)):
            gain[0, s] = reward[s, policy[s]]
        evaluate_moves(dest, carry, gain, policy, value, mark, path)
        enough = slack * np.abs(value).max()
        switches, most = sweep_moves(dest, carry, reward, True, enough, value[0], policy)
        for i in range(1, sweeps):
            if switches == 0:
                break
            sweep_moves(dest, carry, reward, i % 2 == 0, enough, value[0], policy)
    return rounds, switches, most


@njit(cache=True)
def take_better(
    values: FloatArray, known: IntArray, weights: FloatArray, worth: FloatArray, policy: IntArray
) -> None:
    """Take the actions of the ``known`` policy where it is worth more than ``worth`` [S].

    ``values`` [K, S] of it are weighted by ``weights`` [K]. After several, ``policy`` is worth at
    least each of them, everywhere.
    """
    columns, states = values.shape
    for s in range(states):
        total = 0.0
        for k in range(columns):
            total += weights[k] * values[k, s]
        if total > worth[s]:
            worth[s] = total
            policy[s] = known[s]


@njit(cache=True)
def reverse_edges(dest: IntArray) -> tuple[IntArray, IntArray]:
    """List edges by destination: ``edges[first[t]:first[t + 1]]`` are the s·A + a leading to t."""
    states, actions = dest.shape
    first = np.zeros(states + 1, np.int32)
    for s in range(states):
        for a in range(actions):
            if dest[s, a] != s:
                first[dest[s, a] + 1] += 1
    for t in range(states):
        first[t + 1] += first[t]
    edges = np.empty(first[states], np.int32)
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
    success: FloatArray, correction: FloatArray, home: IntArray, first: IntArray, edges: IntArray
) -> tuple[FloatArray, IntArray]:
    """Dijkstra from home over reversed edges, up to distance 1.

    An edge costs ``−correction[s, a] / success[s, a]`` and is not there where success is 0. Gives
    the distance [S] (infinite beyond 1) and the action that starts the shortest way (−1: none).
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
            if done[s] or p < 1e-250:  # so rare a success is not counted on
                continue
            candidate = distance[t] - correction[s, a] / p
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
