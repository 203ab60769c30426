"""Compiled policy iteration on move-or-stay graphs, and sweeps on general models.

Axes: s state, a action, k total. Action a in s moves to ``dest[s, a]`` with probability
p = ``success[s, a]``; otherwise the agent stays in s. Repeating the action until it works folds the
self-loop away. Under discount γ, the value of a deterministic policy is then affine along a
functional graph::

    value[s] = tries·(reward + γ·p·value[dest]),   tries = 1 / (1 − γ + γ·p)

where ``tries[s, a]`` is the discounted number of attempts. If ``dest[s, a]`` is s, then p counts
as 0.
"""

from typing import NamedTuple

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.compiling import announce, njit
from homeward.solvers.tolerances import SLACK

announce()

MAX_SWEEPS = 24  # largest number of improvement sweeps in one round of policy iteration
FEW = 50  # after the limit, iteration goes on for up to 50 rounds while at most S/50 states rise


class MoveProblem(NamedTuple):
    """A discounted problem on a move-or-stay graph, as arrays for compiled functions."""

    dest: IntArray  # [S, A] destination of each move, unsigned
    success: FloatArray  # [S, A] probability that a move works
    tries: FloatArray  # [S, A] discounted number of attempts, see the module docstring
    first: IntArray  # [S + 1] edges by destination, see `graphs.reverse_edges`
    source: IntArray  # [E] start of each edge
    discount: float  # γ
    totals: FloatArray  # [K, S, A] rewards


@njit(cache=True, error_model="numpy")
def combine(totals: FloatArray, weights: FloatArray, reward: FloatArray) -> None:
    """Write ``reward[s, a] = Σ_k weights[k]·totals[k, s, a]``; −inf in ``totals[0]`` stays −inf."""
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


@njit(cache=True, error_model="numpy", nogil=True)
def evaluate_moves(problem: MoveProblem, policy: IntArray, values: FloatArray) -> None:
    """Write the exact values [K, S] of a policy [S] under every total to ``values``, in O(K·S).

    A policy is a functional graph. Each of its cycles is solved in closed form; the states that
    lead to a cycle are then evaluated backwards.
    """
    dest, totals = problem.dest, problem.totals
    columns, states = values.shape
    mark = np.zeros(states, np.uint8)  # 1: on the path, 2: evaluated
    path = np.empty(states, np.uint32)
    for root in range(states):
        length = 0
        s = np.uint32(root)
        while mark[s] == 0:
            mark[s] = 1
            path[length] = s
            length += 1
            s = dest[s, policy[s]]
        if mark[s] == 1:  # the path closed a new cycle at s
            start = length - 1
            while path[start] != s:
                start -= 1
            for k in range(columns):
                total = 0.0
                factor = 1.0
                for i in range(start, length):
                    node = path[i]
                    share, scale = _fold(problem, node, policy[node])
                    total += factor * (totals[k, node, policy[node]] / scale)
                    factor *= share
                values[k, s] = total / (1.0 - factor)
            mark[s] = 2
        for i in range(length - 1, -1, -1):
            node = path[i]
            if mark[node] == 2:  # the state at which the cycle was closed
                continue
            mark[node] = 2
            a = policy[node]
            share, scale = _fold(problem, node, a)
            for k in range(columns):
                ahead = share * values[k, dest[node, a]]
                values[k, node] = totals[k, node, a] / scale + ahead


@njit(cache=True, error_model="numpy", inline="always")
def _fold(problem: MoveProblem, s: int, a: int) -> tuple[float, float]:
    """Return factor and divisor: under a, value[s] = reward / divisor + factor·value[dest]."""
    go = problem.discount * problem.success[s, a] if problem.dest[s, a] != s else 0.0
    scale = 1.0 - problem.discount + go
    return go / scale, scale


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
def sizes_of(values: FloatArray) -> FloatArray:
    """Return the largest absolute value [K] of each row of finite values [K, S]."""
    sizes = np.zeros(len(values))
    for k in range(len(values)):
        for value in values[k]:
            sizes[k] = max(sizes[k], abs(value))
    return sizes


@njit(cache=True, error_model="numpy")
def sweep_moves(
    problem: MoveProblem,
    reward: FloatArray,
    forward: bool,
    slack: float,
    value: FloatArray,
    policy: IntArray,
    stale: IntArray,
) -> int:
    """Improve ``value`` [S] and ``policy`` [S] by one Gauss–Seidel sweep.

    Return the number of states that rise: an action beats their value by more than ``slack``, so
    that rounding can't make two equal policies alternate. The sweep visits only states with
    ``stale`` = 1; this array [S] is padded with 0 to a multiple of 8. Among equal actions, the
    policy keeps its own. If a state rises, its predecessors become stale.
    """
    dest, tries, first, source = problem.dest, problem.tries, problem.first, problem.source
    stop = 1.0 - problem.discount
    rises = 0
    words = stale.view(np.int64)  # eight states at a time
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
            for a in range(dest.shape[1]):
                there = value[dest[s, a]]
                q = there + tries[s, a] * (reward[s, a] - stop * there)
                if q > best:
                    best = q
                    choice = a
            if best - value[s] > slack:
                own = policy[s]
                there = value[dest[s, own]]
                if there + tries[s, own] * (reward[s, own] - stop * there) < best:
                    policy[s] = choice
                value[s] = best
                rises += 1
                for e in range(first[s], first[s + 1]):
                    stale[source[e]] = 1
    return rises


@njit(cache=True, error_model="numpy")
def sweep_rows(
    first: IntArray,
    target: IntArray,
    onward: FloatArray,
    leave: FloatArray,
    reward: FloatArray,
    stop: FloatArray,
    slack: float,
    value: FloatArray,
    policy: IntArray,
) -> None:
    """Improve ``value`` [S] and ``policy`` [S] by Gauss–Seidel sweeps on a folded general model.

    Row s·A + a has the entries ``first[row]`` to ``first[row + 1]`` of ``target`` and ``onward``;
    ``leave`` and ``reward`` are [S, A]. Stopping, action −1, is worth ``stop`` [S]. A state rises
    as in `sweep_moves`. The sweeps alternate in direction and end after `MAX_SWEEPS`, or when no
    state rises.
    """
    states, actions = leave.shape
    for i in range(MAX_SWEEPS):
        rises = 0
        for j in range(states):
            s = j if i % 2 == 0 else states - 1 - j
            best, own, choice = stop[s], stop[s], -1
            if policy[s] >= 0:
                own = -np.inf
            for a in range(actions):
                if leave[s, a] == 0.0:
                    continue
                q = reward[s, a]
                for e in range(first[s * actions + a], first[s * actions + a + 1]):
                    q += onward[e] * value[target[e]]
                q /= leave[s, a]
                if a == policy[s]:
                    own = q
                if q > best:
                    best, choice = q, a
            if best - value[s] > slack:
                if own < best:
                    policy[s] = choice
                value[s] = best
                rises += 1
        if rises == 0:
            break


@njit(cache=True, error_model="numpy")
def evaluate_rows(
    first: IntArray,
    target: IntArray,
    onward: FloatArray,
    leave: FloatArray,
    totals: FloatArray,
    policy: IntArray,
    values: FloatArray,
) -> None:
    """Write the values [K, S] of a policy [S] on a folded model whose rows lead to lower states.

    The value of a state with action −1 is given in ``values``. The model is as in `sweep_rows`.
    """
    states, actions = leave.shape
    for s in range(states):
        a = policy[s]
        if a >= 0:
            for k in range(len(totals)):
                value = totals[k, s, a]
                for e in range(first[s * actions + a], first[s * actions + a + 1]):
                    value += onward[e] * values[k, target[e]]
                values[k, s] = value / leave[s, a]


@njit(cache=True, error_model="numpy", nogil=True)
def optimise_moves(
    problem: MoveProblem,
    weights: FloatArray,
    policy: IntArray,
    worth: FloatArray,
    size: float,
    limit: int,
    state: int,
) -> tuple[int, float, FloatArray]:
    """Maximise ``Σ_k weights[k]·totals[k]`` by policy iteration from ``policy`` [S], in place.

    A round is up to `MAX_SWEEPS` sweeps and an exact evaluation. ``size`` is the weighted sum of
    the largest absolute values of the totals, or negative if unknown. If ``size`` is known,
    ``worth`` [S] is a lower bound on the weighted value that a sweep would not lower, and sweeps
    start from ``worth``; otherwise the policy is evaluated first. Iteration ends if no action is
    better by more than ``SLACK·size``, or after ``limit`` rounds unless few states still rise
    (`FEW`).

    Return the number of rounds, an upper bound on max(TV − V) (infinite at the limit), and the
    policy's values [K, S]. Here V is the weighted value, and T is an optimal improvement step.
    After 0 rounds the values are not set: the given policy is optimal in ``state`` or, if ``state``
    is −1, in every state.
    """
    dest, totals, first, source = problem.dest, problem.totals, problem.first, problem.source
    states = len(policy)
    values = np.empty(totals.shape[:2])
    blend = np.empty(states)
    reward = totals[0]
    if len(totals) > 1 or weights[0] != 1.0:
        reward = np.empty(dest.shape)
        combine(totals, weights, reward)
    stale = np.zeros(-(-states // 8) * 8, np.uint8)
    stale[:states] = 1
    rounds = 0
    rises = 1
    enough = 0.0
    known = worth[state]
    while True:
        if SLACK * size < 0.5 * enough:  # the tolerance is now smaller: visit all states again
            stale[:states] = 1
            enough = SLACK * size
        enough = max(enough, SLACK * size)
        if size >= 0.0:
            for i in range(MAX_SWEEPS):
                rises = sweep_moves(problem, reward, i % 2 == 0, enough, worth, policy, stale)
                if rises == 0:
                    break
            if rises == 0 and (i == 0 or (rounds == 0 and state >= 0 and worth[state] <= known)):
                break
        evaluate_moves(problem, policy, values)
        rounds += 1
        now = (np.abs(weights) * sizes_of(values)).sum()
        if rises == 0 and SLACK * now >= 0.5 * enough:
            break
        if rounds >= limit and (FEW * rises > states or rounds >= limit + FEW):
            return rounds, np.inf, values
        weigh(values, weights, blend)
        if size >= 0.0:
            for s in range(states):
                if abs(blend[s] - worth[s]) > enough:
                    stale[s] = 1
                    for e in range(first[s], first[s + 1]):
                        stale[source[e]] = 1
        worth[:] = blend
        size = now
    # A state that was not visited again changed by at most `enough` in each evaluation.
    return rounds, (1 + 2 * rounds) * enough, values
