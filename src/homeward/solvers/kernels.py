"""Compiled loops on move-or-stay graphs. Arrays in, arrays out; the caller decides everything.

Axes: s state, a action, k reward column. ``success[s, a]`` moves from s to ``dest[s, a]``, the
rest stays in s. Trying until it works folds the self-loop away, so that under discount γ a
deterministic policy is an affine function along a functional graph::

    value[s] = tries·(reward + γ·p·value[dest]),   tries = 1 / (1 − γ + γ·p)

where ``tries[s, a]`` is the discounted number of attempts; one that leads back to s never works.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from homeward.arrays import FloatArray, IntArray
from homeward.compiling import announce

announce()

UP, DOWN = 1.0 + 2.0**-51, 1.0 - 2.0**-51
"""Make up for the rounding of a division, a sum or a difference, and of this product."""

DEEP, FINE = 64, 6
"""Distances are sorted roughly: down to 2**−DEEP, each power of 2 in 2**FINE steps."""

FEW = 50
"""A sweep that raises less than one state in so many is nearly done."""


class Graph(NamedTuple):
    """A move-or-stay graph as the kernels read it."""

    dest: IntArray  # [S, A]
    success: FloatArray  # [S, A]
    tries: FloatArray  # [S, A]
    first: IntArray  # [S + 1] of the edges by where they lead, see `reverse_edges`
    source: IntArray  # [E]


class Scratch(NamedTuple):
    """Room that the kernels work in; what is in it means nothing to others."""

    worth: FloatArray  # [S]
    blend: FloatArray  # [S]
    onto: IntArray  # [S]
    share: FloatArray  # [S]
    gain: FloatArray  # [K, S]
    mark: IntArray  # [S]
    path: IntArray  # [S]
    stale: IntArray  # [S], filled up to eights


@njit(cache=True, error_model="numpy")
def tries_of(dest: IntArray, success: FloatArray, discount: float, tries: FloatArray) -> None:
    """Write the discounted number of times that a move is attempted until it works."""
    states, actions = success.shape
    for s in range(states):
        for a in range(actions):
            go = success[s, a] if dest[s, a] != s else 0.0
            tries[s, a] = 1.0 / (1.0 - discount + discount * go)


@njit(cache=True, error_model="numpy")
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


@njit(cache=True, error_model="numpy")
def follow_moves(
    dest: IntArray,
    success: FloatArray,
    discount: float,
    totals: FloatArray,
    policy: IntArray,
    onto: IntArray,
    share: FloatArray,
    gain: FloatArray,
) -> None:
    """Write the functional graph of a policy [S], folded.

    ``onto[s]`` is where it leads, ``share[s]`` how much of the value there counts here, and
    ``gain[k, s]`` what it earns under each total until its move works.
    """
    columns, states, _ = totals.shape
    for s in range(states):
        a = policy[s]
        go = discount * success[s, a] if dest[s, a] != s else 0.0
        scale = 1.0 - discount + go
        onto[s] = dest[s, a]
        share[s] = go / scale
        for k in range(columns):
            gain[k, s] = totals[k, s, a] / scale


@njit(cache=True, error_model="numpy")
def evaluate_moves(
    onto: IntArray,
    share: FloatArray,
    gain: FloatArray,
    value: FloatArray,
    mark: IntArray,
    path: IntArray,
) -> None:
    """Solve ``value[k, s] = gain[k, s] + share[s]·value[k, onto[s]]``, O(K·S).

    Each cycle is solved in closed form, and what leads to it follows backwards. ``mark`` and
    ``path`` [S] are scratch.
    """
    columns, states = gain.shape
    mark[:] = 0
    for root in range(states):
        length = 0
        s = np.uint32(root)
        while mark[s] == 0:
            mark[s] = 1
            path[length] = s
            length += 1
            s = onto[s]
        if mark[s] == 1:  # the walk closed a new cycle at s
            first = length - 1
            while path[first] != s:
                first -= 1
            for k in range(columns):
                total = 0.0
                factor = 1.0
                for i in range(first, length):
                    total += factor * gain[k, path[i]]
                    factor *= share[path[i]]
                value[k, s] = total / (1.0 - factor)
            mark[s] = 2
        for i in range(length - 1, -1, -1):
            node = path[i]
            if mark[node] == 2:  # where the cycle was closed
                continue
            mark[node] = 2
            for k in range(columns):
                value[k, node] = gain[k, node] + share[node] * value[k, onto[node]]


@njit(cache=True, error_model="numpy")
def weigh(values: FloatArray, weights: FloatArray, worth: FloatArray) -> None:
    """Write ``worth[s] = Σ_k weights[k]·values[k, s]``."""
    columns, states = values.shape
    for s in range(states):
        worth[s] = weights[0] * values[0, s]
    for k in range(1, columns):
        weight = weights[k]
        for s in range(states):
            worth[s] += weight * values[k, s]


@njit(cache=True, fastmath={"nnan", "ninf", "nsz", "reassoc"})
def largest(values: FloatArray) -> float:
    """Give the largest size of some finite values [n]."""
    most = 0.0
    for value in values:
        most = max(most, abs(value))
    return most


@njit(cache=True, error_model="numpy")
def sizes_of(values: FloatArray) -> FloatArray:
    """Give the largest size [K] of each row of finite values [K, S]."""
    sizes = np.empty(len(values))
    for k in range(len(values)):
        sizes[k] = largest(values[k])
    return sizes


@njit(cache=True, error_model="numpy")
def sweep_moves(
    dest: IntArray,
    tries: FloatArray,
    reward: FloatArray,
    other: FloatArray | None,
    weight: float,
    discount: float,
    first: IntArray,
    source: IntArray,
    forward: bool,
    slack: float,
    value: FloatArray,
    policy: IntArray,
    stale: IntArray,
) -> int:
    """One Gauss–Seidel improvement sweep; raises ``value``, writes ``policy``, gives the rises.

    An action earns its ``reward`` and, where there is one, ``weight`` times its ``other`` reward.
    Looks at states that are ``stale`` only, 1 in an array [S] filled up to eights with 0. One rises
    where an action beats its value by more than ``slack``, so that rounding can't make two equal
    policies chase each other; among equal actions it keeps its own. What leads to it
    (`reverse_edges`) is stale from then on.
    """
    actions = dest.shape[1]
    stop = 1.0 - discount
    rises = 0
    words = stale.view(np.int64)  # eight states at a glance
    for i in range(len(words)):
        word = i if forward else len(words) - 1 - i
        if words[word] == 0:
            continue
        for j in range(8):
            s = np.uint32(8 * word + (j if forward else 7 - j))
            if stale[s] == 0:
                continue
            stale[s] = 0
            best = -np.inf
            choice = 0
            for a in range(actions):
                there = value[dest[s, a]]
                gain = reward[s, a]
                if other is not None:
                    gain += weight * other[s, a]
                q = there + tries[s, a] * (gain - stop * there)
                if q > best:
                    best = q
                    choice = a
            if best - value[s] > slack:
                own = policy[s]
                there = value[dest[s, own]]
                gain = reward[s, own]
                if other is not None:
                    gain += weight * other[s, own]
                if there + tries[s, own] * (gain - stop * there) < best:
                    policy[s] = choice
                value[s] = best
                rises += 1
                for e in range(first[s], first[s + 1]):
                    stale[source[e]] = 1
    return rises


@njit(cache=True, error_model="numpy", nogil=True)
def value_moves(
    graph: Graph,
    discount: float,
    totals: FloatArray,
    policy: IntArray,
    values: FloatArray,
    scratch: Scratch,
) -> None:
    """Write the exact values [K, S] of a policy [S] under every total."""
    onto, share, gain = scratch.onto, scratch.share, scratch.gain
    follow_moves(graph.dest, graph.success, discount, totals, policy, onto, share, gain)
    evaluate_moves(onto, share, gain, values, scratch.mark, scratch.path)


@njit(cache=True, error_model="numpy", nogil=True)
def optimise_moves(
    graph: Graph,
    discount: float,
    totals: FloatArray,
    weights: FloatArray,
    slack: float,
    sweeps: int,
    limit: int,
    state: int,
    size: float,
    policy: IntArray,
    worth: FloatArray,
    values: FloatArray,
    scratch: Scratch,
) -> tuple[int, float]:
    """Policy iteration on ``Σ_k weights[k]·totals[k]`` from ``policy`` [S], written in place.

    A round is some sweeps and an exact evaluation. Where ``size`` >= 0 is the largest sum of sizes,
    ``worth`` [S] is known, at most what one sweep would make of it, and is swept at once; else the
    policy is evaluated first. Ends when no action is better by more than ``slack·size``, or after
    ``limit`` rounds unless it is nearly done. Gives the rounds and what no action is better by,
    infinite where it was cut short. After a round ``values`` [K, S] are the policy's; with none,
    nothing is better than what was known, in ``state`` if that is not −1.
    """
    dest, tries, first, source = graph.dest, graph.tries, graph.first, graph.source
    blend, stale = scratch.blend, scratch.stale
    pair = len(totals) == 2 and weights[0] == 1.0  # then they are added up where they are read
    reward, other, weight = totals[0], totals[-1], weights[-1]
    if not pair and (len(totals) > 1 or weights[0] != 1.0):
        reward = np.empty(dest.shape)
        combine(totals, weights, reward)
    stale[: len(policy)] = 1
    stale[len(policy) :] = 0
    rounds = 0
    rises = 1
    enough = 0.0
    known = worth[state]
    while True:
        if slack * size < 0.5 * enough:  # what was let pass before is looked at again
            stale[: len(policy)] = 1
            enough = slack * size
        enough = max(enough, slack * size)
        if size >= 0.0:
            for i in range(sweeps):
                way = i % 2 == 0
                if pair:
                    rises = sweep_moves(
                        dest,
                        tries,
                        reward,
                        other,
                        weight,
                        discount,
                        first,
                        source,
                        way,
                        enough,
                        worth,
                        policy,
                        stale,
                    )
                else:
                    rises = sweep_moves(
                        dest,
                        tries,
                        reward,
                        None,
                        0.0,
                        discount,
                        first,
                        source,
                        way,
                        enough,
                        worth,
                        policy,
                        stale,
                    )
                if rises == 0:
                    break
            if rises == 0 and (i == 0 or (rounds == 0 and state >= 0 and worth[state] <= known)):
                break
        value_moves(graph, discount, totals, policy, values, scratch)
        rounds += 1
        now = (np.abs(weights) * sizes_of(values)).sum()
        if rises == 0 and slack * now >= 0.5 * enough:
            break
        if rounds >= limit and (FEW * rises > len(policy) or rounds >= limit + FEW):
            return rounds, np.inf
        weigh(values, weights, blend)
        if size >= 0.0:
            for s in range(len(worth)):
                if abs(blend[s] - worth[s]) > enough:
                    stale[s] = 1
                    for e in range(first[s], first[s + 1]):
                        stale[source[e]] = 1
        worth[:] = blend
        size = now
    # What was not looked at again has changed by no more than this in each evaluation.
    return rounds, (1 + 2 * rounds) * enough


@njit(cache=True, error_model="numpy")
def take_better(
    values: FloatArray,
    known: IntArray,
    weights: FloatArray,
    blend: FloatArray,
    worth: FloatArray,
    policy: IntArray,
) -> None:
    """Take the actions of the ``known`` policy where it is worth more than ``worth`` [S].

    ``values`` [K, S] of it are weighted by ``weights`` [K]. After several, ``policy`` is worth at
    least each of them, everywhere. ``blend`` [S] is scratch.
    """
    weigh(values, weights, blend)
    for s in range(len(policy)):
        better = blend[s] > worth[s]
        policy[s] = known[s] if better else policy[s]
        worth[s] = blend[s] if better else worth[s]


@njit(cache=True, error_model="numpy")
def reverse_edges(dest: IntArray, small: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """List the edges between states by where they lead.

    Those to t are ``first[t] <= e < first[t + 1]``, from ``source[e]`` by ``action[e]``, which is
    of the type of ``small``.
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
    dest: IntArray,
    success: FloatArray,
    correction: FloatArray,
    home: IntArray,
    first: IntArray,
    source: IntArray,
    action: IntArray,
) -> tuple[FloatArray, IntArray]:
    """Find the shortest ways home over reversed edges, up to distance 1.

    An edge costs ``−correction[s, a] / success[s, a]`` and is not there where success is 0. Gives
    the distance [S] (infinite beyond 1) and the action that starts the shortest way (−1: none).
    Of equal ways it is the one through the lower-numbered successor, unless that is no nearer.
    Every sum is rounded up, so that no way is taken for shorter than it is.

    States wait in buckets of nearly equal distance, by its exponent and first `FINE` bits; one
    whose distance still falls after its turn has another, so that the end is exact.
    """
    states = len(dest)
    distance = np.full(states, np.inf)
    choice = np.full(states, -1, np.int32)
    buckets = 1 + (DEEP << FINE)
    # Each bucket is a ring of states, closed by a node of its own, states + its number.
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
            p = success[s, a]
            if p < 1e-250:  # so rare a success is not counted on
                continue
            cost = -correction[s, a] / p
            candidate = (here + cost) * UP if cost > 0.0 else here
            if candidate >= 1.0 or candidate > distance[s]:
                continue
            if candidate < distance[s]:
                distance[s] = candidate
                choice[s] = a
                power = int(np.float64(candidate).view(np.int64) >> (52 - FINE))
                bucket = power - ((1023 - DEEP) << FINE)
                _unlink(after, before, s)
                _link(after, before, s, states + (bucket if bucket > 0 else 0))
            elif t < dest[s, choice[s]]:
                choice[s] = a
    return distance, choice


@njit(cache=True, error_model="numpy")
def chances_home(distance: FloatArray) -> None:
    """Turn distances [S] into what a way home is worth at least: 1 less that, rounded down."""
    for s in range(len(distance)):
        worth = (1.0 - distance[s]) * DOWN if distance[s] > 0.0 else 1.0
        distance[s] = worth if worth > 0.0 else 0.0


@njit(cache=True, error_model="numpy")
def are_within(values: FloatArray, low: float, high: float) -> bool:
    """Tell whether all values [S, A] are above one bound and at most another; NaN is not."""
    outside = 0
    for value in values.reshape(-1):
        outside += 0 if (value > low) & (value <= high) else 1
    return outside == 0


@njit(cache=True, error_model="numpy", inline="always")
def _link(after: IntArray, before: IntArray, s: int, node: int) -> None:
    """Put a state at the end of the ring that a node closes."""
    last = before[node]
    after[last] = s
    before[s] = last
    after[s] = node
    before[node] = s


@njit(cache=True, error_model="numpy", inline="always")
def _unlink(after: IntArray, before: IntArray, s: int) -> None:
    """Take a state out of the ring that it is in, if it is in one."""
    after[before[s]] = after[s]
    before[after[s]] = before[s]
    after[s] = s
    before[s] = s
