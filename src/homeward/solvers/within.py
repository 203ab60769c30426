r"""The way home within a number of steps: how likely it can be made, bounded from below.

Problem: from every state, with H steps left, reach home. ``value_h[home] = 1``, ``value_0 = 0``
elsewhere, giving up is worth 0, and one step of action a in s is worth at least

- ``correction[s, a] + Σ_t p[s, a, t]·value_{h−1}[t]`` (a correction that holds for any policy), or
- on `Moves`, ``value_{h−1}[dest] − (1 − success)``: it works at once or is not counted on.

Either bound may be left out; where both are given each step takes the better. Both hold for every
belief, whatever its correlations and also where success is random within a world.

Method: layer by layer, h = 1, 2, … H, each from the one before. A state keeps its value and action
until a layer gives it more, so values rise with h, and a layer in which nothing rises (by more than
`STILL`) is the last that is needed: stopping there, or anywhere, is sound. With the second bound
alone it is a shortest path of at most H edges of cost 1 − success, and a layer looks only at what
leads to states that rose in the layer before. For large H the shortest path without a limit comes
first: where all its ways have at most H edges, that is the answer.

The policy depends on the steps that are left. ``layers[i]`` [S] is followed while at least
``since[i]`` steps are left (and fewer than ``since[i + 1]``): only layers that change it are kept.
From a state with H steps left it needs no more than ``since`` says.

Proof of rounding: sums of the second bound are rounded against us, one by one; of the first,
`UNIT` is taken off for every layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from homeward.arrays import indices, is_nothing, numbers, place
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.solvers import kernels
from homeward.solvers.graphs import (
    chances_home,
    distances_home,
    longest,
    shortest_within,
    unsigned,
    ways_to,
)
from homeward.solvers.returns import GIVE_UP, UNIT, ReturnSolution
from homeward.solvers.status import Status

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model, SparseMDP

STILL = 1e-15
"""A layer that raises no value by more than this is the last."""

FAR = 2.0
"""Beyond this times √S steps, most ways are shorter than the limit: try without it first."""


def solve_return_within(
    model: Model,
    steps: int,
    home: IntArray,
    correction: FloatArray | None,
    *,
    at_once: bool = False,
) -> ReturnSolution:
    """Maximise the bound on the probability of reaching `home` [n] within so many steps.

    `correction` [S, A] is at most 0, or None to count on first attempts alone; `at_once` allows
    for these, on `Moves`.
    """
    error = InvalidProblemError
    if steps < 1:
        raise error(f"a horizon of {steps} steps: nothing can be reached in less than 1")
    home = indices(home, "home", None, (0, model.states), "n", error)
    if home.ndim != 1 or home.size == 0:
        raise error(f"home has shape {home.shape}, expected at least one state [n]")
    if at_once and not isinstance(model, Moves):
        raise error("first attempts are counted on for move-or-stay models alone")
    if correction is None:
        if not (at_once and isinstance(model, Moves)):
            raise error("without a correction, first attempts must be counted on")
        return _first_attempts(model, steps, home)
    correction = numbers(correction, "the correction", (model.states, model.actions), error)
    if not kernels.are_within(correction, -np.inf, 0.0):
        at = np.argwhere(~((correction <= 0.0) & (correction > -np.inf)))[0]
        where = place(tuple(int(i) for i in at), "sa")
        raise error(f"the correction {where} is {correction[tuple(at)]:g}, expected at most 0")
    if isinstance(model, Moves):
        closed = ~np.isfinite(model.reward)
        found = layer_moves(
            unsigned(model.dest),
            model.success,
            closed,
            correction,
            unsigned(home),
            steps,
            at_once,
            STILL,
        )
        return _answer(*found, home)
    return _layered(model, steps, home, correction)


def _first_attempts(model: Moves, steps: int, home: IntArray) -> ReturnSolution:
    """Find the shortest ways of at most so many edges, of cost 1 − success."""
    success = model.success
    if not is_nothing(model.reward):  # some actions may not be chosen
        success = np.where(np.isfinite(model.reward), success, 0.0)
    dest, ways = unsigned(model.dest), ways_to(model)
    correction = (success - 1.0) * success
    if steps >= FAR * np.sqrt(model.states):
        distance, policy = distances_home(dest, success, correction, unsigned(home), *ways)
        if steps >= model.states - 1 or longest(dest, policy) <= steps:
            chances_home(distance)
            since = np.ones(1, np.int64)
            return ReturnSolution(distance, policy, 0.0, Status.OPTIMAL, 1, policy[None], since)
    small: IntArray = np.empty(0, np.int32 if model.actions > 127 else np.int8)
    distance, layers, count = shortest_within(
        dest, success, correction, unsigned(home), *ways, steps, small
    )
    chances_home(distance)
    layers = layers[:count] if count else np.full((1, model.states), GIVE_UP, small.dtype)
    policy, since = layers[-1].astype(np.int32), 1 + np.arange(len(layers))
    return ReturnSolution(distance, policy, 0.0, Status.OPTIMAL, count, layers, since)


def _layered(
    model: SparseMDP, steps: int, home: IntArray, correction: FloatArray
) -> ReturnSolution:
    """Go layer by layer on a general model."""
    reward = np.where(np.isfinite(model.reward), correction, -np.inf)
    value = np.zeros(model.states)
    value[home] = 1.0
    policy = np.full(model.states, GIVE_UP, np.int32)
    layers, since, each = [policy], [1], np.arange(model.states)
    count = 0
    while count < steps:
        count += 1
        q = reward + (model.transitions @ value).reshape(reward.shape)
        choice = q.argmax(axis=1).astype(np.int32)
        best = q[each, choice]
        rises = best > value
        rises[home] = False
        if not (best - value > STILL)[rises].any():
            break
        value = np.where(rises, best, value)
        policy = np.where(rises, choice, policy)
        if (policy != layers[-1]).any():
            if count == 1:
                layers, since = [policy], [1]
            else:
                layers.append(policy)
                since.append(count)
    return _answer(value, np.array(layers), np.array(since), count, home)


def _answer(
    value: FloatArray, layers: IntArray, since: IntArray, count: int, home: IntArray
) -> ReturnSolution:
    """Take the rounding of so many layers off the values."""
    sure = np.clip(value - UNIT * count, 0.0, 1.0)
    sure[home] = 1.0
    return ReturnSolution(sure, layers[-1], UNIT * count, Status.OPTIMAL, count, layers, since)


@njit(cache=True, error_model="numpy")
def layer_moves(
    dest: IntArray,
    success: FloatArray,
    closed: IntArray,
    correction: FloatArray,
    home: IntArray,
    steps: int,
    at_once: bool,
    still: float,
) -> tuple[FloatArray, IntArray, IntArray, int]:
    """Go layer by layer on a move-or-stay graph: values [S], layers [L, S], since [L], the count.

    Actions that are ``closed`` [S, A] can't be chosen.
    """
    states, actions = dest.shape
    before, value = np.zeros(states), np.zeros(states)
    at_home = np.zeros(states, np.bool_)
    for h in home:
        before[h] = value[h] = 1.0
        at_home[h] = True
    layers = np.full((1, states), GIVE_UP, np.int32)
    since = np.ones(1, np.int64)
    kept, count = 1, 0
    policy = layers[0].copy()
    while count < steps:
        count += 1
        most = 0.0
        changed = False
        for s in range(states):
            if at_home[s]:
                continue
            best, choice = before[s], GIVE_UP
            for a in range(actions):
                t = dest[s, a]
                if closed[s, a] or t == s:
                    continue
                p = success[s, a]
                q = correction[s, a] + p * before[t] + (1.0 - p) * before[s]
                if at_once:
                    q = max(q, before[t] - (1.0 - p))
                if q > best:
                    best, choice = q, a
            if choice != GIVE_UP:
                most = max(most, best - before[s])
                value[s] = best
                if policy[s] != choice:
                    policy[s] = choice
                    changed = True
        if most <= still:
            break
        before[:] = value
        if changed:
            if count > 1:
                if kept == len(layers):
                    more = np.empty((2 * kept, states), np.int32)
                    more[:kept] = layers
                    later = np.empty(2 * kept, np.int64)
                    later[:kept] = since
                    layers, since = more, later
                kept += 1
            layers[kept - 1] = policy
            since[kept - 1] = count
    return before, layers[:kept], since[:kept], count
