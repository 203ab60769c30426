"""Compiled walks in one world: out until the recall, and back home.

A world is sparse rows as in `SparseMDP`: row s·A + a holds the chances of the next state, and what
it lacks to 1 ends the process.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray

ENDED, CUT = -1, -2
"""In the place of a state: the process has ended, or the walk was too long to be followed."""

LOST, HOME, LONG = 0, 1, 2
"""How a way back came out; LONG where it was cut."""


@njit(cache=True)
def step(
    rng: np.random.Generator,
    starts: IntArray,
    next_state: IntArray,
    chance: FloatArray,
    row: int,
) -> int:
    """Draw the next state, or ENDED."""
    draw = rng.random()
    for i in range(starts[row], starts[row + 1]):
        draw -= chance[i]
        if draw < 0.0:
            return int(next_state[i])
    return ENDED


@njit(cache=True)
def walk_out(
    rng: np.random.Generator,
    starts: IntArray,
    next_state: IntArray,
    chance: FloatArray,
    start: int,
    discount: float,
    fixed: bool,
    limit: int,
    shares: FloatArray,
    outbound: IntArray,
    afterwards: IntArray,
    exits: BoolArray,
    allowed: BoolArray,
    rewards: FloatArray,
    ends: IntArray,
    stayed: BoolArray,
    earned: FloatArray,
) -> None:
    """Walk out as often as `ends` [E] is long; write where each walk is recalled, or ENDED, or CUT.

    A policy of `outbound` [J, n, S] is drawn once by the cumulative `shares` [J]; n is 1 unless the
    recall is `fixed` at step n. Else it comes before each step with chance 1 − γ. `afterwards`
    [n, S] is followed once an action out of `exits` [S, A] is taken. Writes `stayed` [K, E]: no
    action was outside of `allowed` [K, S, A], and the process went on; and `earned` [K, E]: the sum
    of `rewards` [K, S, A] over a fixed number of steps, or what the action at the recall would pay.
    """
    steps, actions = outbound.shape[1], exits.shape[1]
    for e in range(len(ends)):
        draw, j = rng.random(), 0
        while j < len(shares) - 1 and draw >= shares[j]:
            j += 1
        stayed[:, e] = True
        earned[:, e] = 0.0
        lasting = float(steps)
        if not fixed:
            lasting = math.floor(math.log(1.0 - rng.random()) / math.log(discount))
        if lasting > limit:
            ends[e] = CUT
            continue
        state, left = start, False
        for t in range(int(lasting)):
            at = t if fixed else 0
            action = afterwards[at, state] if left else outbound[j, at, state]
            for k in range(len(allowed)):
                if not allowed[k, state, action]:
                    stayed[k, e] = False
            if fixed:
                for k in range(len(rewards)):
                    earned[k, e] += rewards[k, state, action]
            left = left or exits[state, action]
            state = step(rng, starts, next_state, chance, state * actions + action)
            if state == ENDED:
                stayed[:, e] = False
                break
        ends[e] = state
        if not fixed and state != ENDED:
            action = afterwards[0, state] if left else outbound[j, 0, state]
            for k in range(len(rewards)):
                earned[k, e] = rewards[k, state, action]


@njit(cache=True)
def walk_back(
    rng: np.random.Generator,
    starts: IntArray,
    next_state: IntArray,
    chance: FloatArray,
    actions: int,
    ends: IntArray,
    at_home: BoolArray,
    policies: IntArray,
    since: IntArray,
    within: int,
    hopeful: BoolArray,
    limit: int,
    came: IntArray,
) -> None:
    """Follow return policies from `ends` [E]; write LOST, HOME or LONG into `came` [E].

    `policies` [L, S] are followed while at least `since` [L] steps are left of `within`; 0 is no
    limit, and then the only policy is followed while home can be reached from where it is
    (`hopeful` [S]). Whoever gives up, or whose process has ended, is lost.
    """
    for e in range(len(ends)):
        state, left, layer = ends[e], within, len(since) - 1
        if state == CUT:
            came[e] = LONG
            continue
        came[e] = LOST
        taken = 0
        while state != ENDED:
            if at_home[state]:
                came[e] = HOME
                break
            if within > 0:
                if left == 0:
                    break
                while layer > 0 and since[layer] > left:
                    layer -= 1
            elif not hopeful[state]:
                break
            action = policies[layer, state]
            if action < 0:
                break
            if taken == limit:
                came[e] = LONG
                break
            state = step(rng, starts, next_state, chance, state * actions + action)
            taken += 1
            left -= 1


@njit(cache=True)
def find_hope(
    starts: IntArray,
    next_state: IntArray,
    chance: FloatArray,
    actions: int,
    policy: IntArray,
    at_home: BoolArray,
) -> BoolArray:
    """Tell from which states [S] a policy [S] reaches home with some chance.

    From there it comes home or to where there is no hope, surely; elsewhere it never does.
    """
    states = len(policy)
    first = np.zeros(states + 1, np.int64)
    for s in range(states):
        if policy[s] >= 0 and not at_home[s]:
            row = s * actions + policy[s]
            for i in range(starts[row], starts[row + 1]):
                if chance[i] > 0.0:
                    first[next_state[i] + 1] += 1
    for s in range(states):
        first[s + 1] += first[s]
    source, place = np.empty(first[states], np.int64), first[:-1].copy()
    for s in range(states):
        if policy[s] >= 0 and not at_home[s]:
            row = s * actions + policy[s]
            for i in range(starts[row], starts[row + 1]):
                if chance[i] > 0.0:
                    source[place[next_state[i]]] = s
                    place[next_state[i]] += 1
    hopeful = at_home.copy()
    queue, count, at = np.empty(states, np.int64), 0, 0
    for s in range(states):
        if at_home[s]:
            queue[count] = s
            count += 1
    while at < count:
        t = queue[at]
        at += 1
        for i in range(first[t], first[t + 1]):
            if not hopeful[source[i]]:
                hopeful[source[i]] = True
                queue[count] = source[i]
                count += 1
    return hopeful
