r"""The way home within H steps: a lower bound on the probability of returning in time.

Problem: from every state, with H steps left, reach home. ``value_h[home] = 1``, ``value_0 = 0``
elsewhere, giving up is worth 0, and one step of action a in s is worth at least

- ``correction[s, a] + Σ_t p[s, a, t]·value_{h−1}[t]`` (a correction that holds for any policy), or
- on `Moves`, ``value_{h−1}[dest] − (1 − success)``: only the first attempt counts.

Either bound may be left out; with both, each step takes the better. Both hold for every belief,
whatever its correlations, also if success is random within a world.

Method: layer by layer, h = 1, 2, … H, each from the one before. A state keeps its value and action
until a layer raises it, so values rise with h. With the second bound alone it is a shortest path of
at most H edges of cost 1 − success, and a layer looks only at predecessors of states that rose in
the layer before. For large H the shortest path without a limit comes first: if all its ways have at
most H edges, that is the answer.

Stopping: a layer raises no value by more than `VALUE_TOLERANCE`. Stopping early is always sound.

The policy depends on the steps that are left. ``layers[i]`` [S] is followed while at least
``since[i]`` steps are left (and fewer than ``since[i + 1]``): only layers that change it are kept.

Proof of rounding: each sum of the second bound is rounded down; for the first, `UNIT` is
subtracted for every layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from homeward.errors import InvalidProblemError
from homeward.models import Moves
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

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model

VALUE_TOLERANCE = 1e-15
"""Largest rise of a value in the last layer."""

UNLIMITED_FACTOR = 2.0
"""From this times √S steps on, a search without the limit comes first."""


def solve_return_within(
    model: Model,
    steps: int,
    home: IntArray,
    correction: FloatArray | None,
    *,
    at_once: bool = False,
) -> ReturnSolution:
    """Maximise the bound on the probability of reaching `home` [n] within `steps`.

    `correction` [S, A], at most 0, gives the first bound; None leaves it out. `at_once` adds the
    second bound, on `Moves`.
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
    """Return the shortest ways home over at most `steps` edges of cost 1 − success."""
    success, home = open_success(model), unsigned(home)
    dest, ways = unsigned(model.dest), graphs.ways_to(model)
    correction = (success - 1.0) * success
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
    """Improve values layer by layer, and keep the layers that change the policy."""
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
    """Write the ``best`` value [S] one step before ``value`` [S], and its action ``choice`` [S].

    An action with reward −inf, or that leads back to its state, is never chosen.
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
