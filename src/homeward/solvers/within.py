r"""The return policy within H steps, and its lower bound on the probability of returning in time.

Problem: from every state, reach home within H steps. With h steps left, ``value_h[home] = 1``;
elsewhere ``value_0 = 0``, giving up has value 0, and action a in s has at least the value

- ``correction[s, a] + Σ_t p[s, a, t]·value_{h−1}[t]`` (a correction that holds for any policy), or
- on `Moves`, ``value_{h−1}[dest] − (1 − success)``: only the first attempt counts.

Either bound may be omitted. If both are used, each step takes the larger one. Both bounds hold for
every belief: success may be correlated between moves, and random within a world.

Method: layers h = 1, 2, … H are computed in this order, each from the one before. A state keeps its
value and action until a layer raises the value, so values never fall with h. With the second bound
alone, the problem is a shortest path of at most H edges of cost 1 − success, and a layer visits
only predecessors of states that rose in the layer before. For large H, shortest paths without a
limit are found first. If they all have at most H edges, they are the solution.

Stopping: a layer raises no value by more than `VALUE_TOLERANCE`. The bound is valid after every
layer.

The policy depends on the number of steps left. ``layers[i]`` [S] is followed while at least
``since[i]`` and fewer than ``since[i + 1]`` steps are left. Only layers that change the policy are
stored.

Rounding: each sum of the second bound is rounded down; for the first bound, `UNIT` is subtracted
for every layer.
"""

from __future__ import annotations

import numpy as np

from homeward.arrays import FloatArray, IntArray, frozen
from homeward.compiling import njit
from homeward.errors import InvalidProblemError
from homeward.models import Model, Moves
from homeward.solvers import graphs
from homeward.solvers.graphs import unsigned
from homeward.solvers.problems import Status
from homeward.solvers.returns import (
    GIVE_UP,
    UNIT,
    ReturnSolution,
    check_correction,
    check_home,
    open_success,
)

VALUE_TOLERANCE = 1e-15  # layers stop when no value rises by more than this
UNLIMITED_FACTOR = 2.0  # from this times √S steps on, paths without a limit are found first


def solve_return_within(
    model: Model,
    steps: int,
    home: IntArray,
    correction: FloatArray | None,
    *,
    at_once: bool = False,
) -> ReturnSolution:
    """Return the policies with the best lower bound on reaching `home` [n] within `steps`.

    The two bounds are in the module docstring. `correction` [S, A], at most 0, is used in the first
    bound; None omits this bound. `at_once` adds the second bound, which needs `Moves`.
    """
    error = InvalidProblemError
    if steps < 1:
        raise error(f"the horizon is {steps} steps, expected at least 1")
    home = check_home(model, home)
    if at_once and not isinstance(model, Moves):
        raise error("the bound by first attempts needs a move-or-stay model")
    if correction is None:
        if not (at_once and isinstance(model, Moves)):
            raise error("a bound is required: give a correction, or at_once=True")
        return _first_attempts(model, steps, home)
    return _layered(model, steps, home, check_correction(model, correction), at_once)


def _first_attempts(model: Moves, steps: int, home: IntArray) -> ReturnSolution:
    """Return the solution by shortest paths of at most `steps` edges with cost 1 − success."""
    success, home = open_success(model), unsigned(home)
    dest, ways = unsigned(model.dest), graphs.ways_to(model)
    correction = frozen((success - 1.0) * success)
    layers: IntArray | None = None
    if steps >= UNLIMITED_FACTOR * np.sqrt(model.states):
        distance, policy = graphs.distances_home(dest, success, correction, home, ways)
        if steps >= model.states - 1 or graphs.longest(dest, policy) <= steps:
            layers, count = policy[None], 1
    if layers is None:
        small: IntArray = np.empty(0, np.int32 if model.actions > 127 else np.int8)
        distance, layers, count = graphs.shortest_within(
            success, correction, home, ways, steps, small
        )
        layers = layers[:count] if count else np.full((1, model.states), GIVE_UP, small.dtype)
    policy, since = layers[-1].astype(np.int32), 1 + np.arange(len(layers))
    value = graphs.chances_home(distance)
    return ReturnSolution(value, policy, 0.0, Status.OPTIMAL, count, layers, since)


def _layered(
    model: Model, steps: int, home: IntArray, correction: FloatArray, at_once: bool
) -> ReturnSolution:
    """Return the solution by layers of the first bound, and of the second bound if `at_once`."""
    reward = np.where(np.isfinite(model.reward), correction, -np.inf)
    at_home = np.zeros(model.states, np.bool_)
    at_home[home] = True
    value, best = at_home.astype(np.float64), np.empty(model.states)
    policy = np.full(model.states, GIVE_UP, np.int32)
    choice = policy.copy()
    layers, since, count = [policy], [1], 0
    while count < steps:
        count += 1
        if isinstance(model, Moves):
            dest, success = unsigned(model.dest), model.success
            improve_moves(dest, success, reward, at_once, value, best, choice)
        else:
            q = reward + (model.transitions @ value).reshape(reward.shape)
            choice = q.argmax(axis=1).astype(np.int32)
            best = q[np.arange(model.states), choice]
        rises = (best > value) & ~at_home
        if not (best - value > VALUE_TOLERANCE)[rises].any():
            break
        value = np.where(rises, best, value)
        policy = np.where(rises, choice, policy)
        if (policy != layers[-1]).any():
            if count == 1:
                layers, since = [policy], [1]
            else:
                layers.append(policy)
                since.append(count)
    rounding = UNIT * count
    sure = np.where(at_home, 1.0, np.clip(value - rounding, 0.0, 1.0))
    status = Status.OPTIMAL
    return ReturnSolution(sure, policy, rounding, status, count, np.array(layers), np.array(since))


@njit(cache=True, error_model="numpy")
def improve_moves(
    dest: IntArray,
    success: FloatArray,
    reward: FloatArray,
    at_once: bool,
    value: FloatArray,
    best: FloatArray,
    choice: IntArray,
) -> None:
    """Write the best bound `best` [S] one step before `value` [S], and its action `choice` [S].

    `reward` [S, A] is the correction, or −inf if an action can't be chosen.
    """
    states, actions = dest.shape
    for s in range(states):
        best[s], choice[s] = -np.inf, 0
        for a in range(actions):
            t = dest[s, a]
            if reward[s, a] == -np.inf or t == s:
                continue
            p = success[s, a]
            q = reward[s, a] + p * value[t] + (1.0 - p) * value[s]
            if at_once:
                q = max(q, value[t] - (1.0 - p))
            if q > best[s]:
                best[s], choice[s] = q, a
