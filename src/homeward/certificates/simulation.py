"""Compiled simulation of policies in one world: outbound until the recall, and back home.

A world is given as sparse rows, as in `SparseMDP`: a tuple of the row starts [S·A + 1], the next
state of each entry, and its probability. Row s·A + a belongs to action a in state s. If the sum of
a row is below 1, the process ends with the missing probability.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.compiling import njit

Rows = tuple[IntArray, IntArray, FloatArray]

ENDED, CUT = -1, -2  # codes instead of a state: the process ended; the walk was too long
LOST, HOME, LONG = 0, 1, 2  # outcomes of a walk back: not home, at home, too long


def rows_of(matrix: csr_array) -> Rows:
    """Return a copy of sparse rows [S·A, S] as the tuple that the compiled functions take."""
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), np.array(matrix.data)


@njit(cache=True)
def step(rng: np.random.Generator, rows: Rows, row: int) -> int:
    """Return the next state drawn from a row, or ENDED."""
    starts, next_state, chance = rows
    draw = rng.random()
    for i in range(starts[row], starts[row + 1]):
        draw -= chance[i]
        if draw < 0.0:
            return int(next_state[i])
    return ENDED


@njit(cache=True)
def walk_out(
    rng: np.random.Generator,
    rows: Rows,
    start: int,
    discount: float,
    fixed: bool,
    limit: int,
    mixture: tuple[FloatArray, IntArray],
    afterwards: IntArray,
    exits: BoolArray,
    allowed: BoolArray,
    rewards: FloatArray,
    episodes: int,
) -> tuple[IntArray, BoolArray, FloatArray]:
    """Follow a mixture of policies until the recall, in each of E episodes.

    The mixture has cumulative weights [J] and policies [J, n, S]; one is drawn per episode. If
    `fixed`, the recall comes after n steps; otherwise n is 1, and it comes before each step with
    probability 1 − γ. After `limit` steps an episode is cut. After an action in `exits` [S, A], the
    policy `afterwards` [n, S] is followed. `allowed` and `rewards`, each [K, S, A], are sets to
    stay inside and rewards to earn.

    Return the state [E] at the recall, or ENDED, or CUT; the mask [K, E] of episodes in which every
    action was allowed and the process did not end; and the earnings [K, E]: the sum of rewards if
    the recall is fixed, otherwise the reward of the action at the recall.
    """
    shares, outbound = mixture
    ends = np.empty(episodes, np.int64)
    stayed = np.ones((len(allowed), episodes), np.bool_)
    earned = np.zeros((len(rewards), episodes))
    steps, actions = outbound.shape[1], exits.shape[1]
    for e in range(episodes):
        draw, j = rng.random(), 0
        while j < len(shares) - 1 and draw >= shares[j]:
            j += 1
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
            state = step(rng, rows, state * actions + action)
            if state == ENDED:
                stayed[:, e] = False
                break
        ends[e] = state
        if not fixed and state != ENDED:
            action = afterwards[0, state] if left else outbound[j, 0, state]
            for k in range(len(rewards)):
                earned[k, e] = rewards[k, state, action]
    return ends, stayed, earned


@njit(cache=True)
def walk_back(
    rng: np.random.Generator,
    rows: Rows,
    actions: int,
    ends: IntArray,
    at_home: BoolArray,
    policies: IntArray,
    since: IntArray,
    within: int,
    hopeful: BoolArray,
    limit: int,
) -> IntArray:
    """Follow return policies from the states `ends` [E]; return LOST, HOME or LONG for each.

    ``policies[i]`` [S] is followed while at least ``since[i]`` of the `within` steps are left. If
    `within` is 0, steps are not limited, and the only policy is followed while it can reach home
    (`hopeful` [S]). A walk is LOST if its policy gives up or the process has ended.
    """
    came = np.full(len(ends), LOST)
    for e in range(len(ends)):
        state, taken, layer = ends[e], 0, len(since) - 1
        if state == CUT:
            came[e] = LONG
            continue
        while state != ENDED:
            if at_home[state]:
                came[e] = HOME
                break
            if taken == within if within > 0 else not hopeful[state]:
                break
            while layer > 0 and since[layer] > within - taken:
                layer -= 1
            action = policies[layer, state]
            if action < 0:
                break
            if taken == limit:
                came[e] = LONG
                break
            state = step(rng, rows, state * actions + action)
            taken += 1
    return came


@njit(cache=True)
def can_reach(rows: Rows, actions: int, policy: IntArray, goal: BoolArray) -> BoolArray:
    """Return the mask [S] of states from which a policy [S] can reach `goal` [S]; −1 gives up."""
    starts, next_state, chance = rows
    # Linked lists of the entries that lead to each state: `last` [S] is the head of a list, and
    # `before` has the next element of each entry.
    last, before = np.full(len(policy), -1), np.empty(len(chance), np.int64)
    source = np.empty(len(chance), np.int64)
    for s in range(len(policy)):
        if policy[s] >= 0 and not goal[s]:
            row = s * actions + policy[s]
            for i in range(starts[row], starts[row + 1]):
                if chance[i] > 0.0:
                    source[i], before[i] = s, last[next_state[i]]
                    last[next_state[i]] = i
    found, waiting = goal.copy(), np.empty(len(policy), np.int64)
    count = 0
    for s in range(len(goal)):
        if goal[s]:
            waiting[count] = s
            count += 1
    while count:
        count -= 1
        i = last[waiting[count]]
        while i >= 0:
            if not found[source[i]]:
                found[source[i]] = True
                waiting[count] = source[i]
                count += 1
            i = before[i]
    return found
