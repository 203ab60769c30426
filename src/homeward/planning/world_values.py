"""Exact values of a plan's policies on a `FiniteBelief`: evaluated in each world, then averaged.

In one world the probability that the return policy reaches home is one linear solve, or a walk
along the functional graph of the policy on `Moves`. A second linear solve then gives the total of a
criterion under an outbound policy. Nothing is corrected, so the mean over the worlds is the true
value. Only rounding is subtracted: `UNIT` per move of a way home, `ROUNDING` per step until recall.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.criteria import Requirement
from homeward.models import Model, Moves
from homeward.planning.returning.policies import can_reach
from homeward.solvers import GIVE_UP, return_value
from homeward.solvers.policies import engine
from homeward.solvers.problems import end_at
from homeward.solvers.steps_left import (
    mask_over_steps,
    over_steps,
    policies_by_state,
    rewards_over_steps,
)
from homeward.solvers.tolerances import ROUNDING, UNIT

if TYPE_CHECKING:
    from homeward.beliefs import FiniteBelief

MAX_LAYERS = 10_000  # most steps of a limited way home that are followed one by one


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """How the policies of a plan are followed: from which state, how long, and after an exit."""

    state: int
    discount: float
    steps: int | None = None  # steps until a fixed recall; None: it comes with probability 1 − γ
    exits: BoolArray | None = None  # [S, A] mask of the actions that leave the set to stay inside
    afterwards: IntArray | None = None  # [S] or [n, S] policy after such an action

    @property
    def span(self) -> float:
        """The expected number of steps until recall."""
        return 1.0 / (1.0 - self.discount) if self.steps is None else float(self.steps)


def world_values(
    belief: FiniteBelief,
    followed: Followed,
    requirement: Requirement,
    policies: Sequence[IntArray],
) -> FloatArray | None:
    """Return the mean value [J] over the worlds of each of J outbound policies under a criterion.

    A policy is [S], or [n, S] with a row for each step. The value is a probability or an expected
    reward, rounded down. None if the way home may take more than `MAX_LAYERS` steps.
    """
    if requirement.within is not None and requirement.within > MAX_LAYERS:
        return None
    totals = []
    for world in belief.worlds:
        usable = np.isfinite(world.reward)
        ends = None if requirement.allowed is None else ~requirement.allowed
        final, reward = np.ones(world.states), np.zeros(usable.shape)
        if requirement.kind == "return":
            final = way_home(world, requirement)
        if requirement.kind == "earn":
            given = requirement.rewards
            reward = np.where(usable, world.reward if given is None else given, 0.0)
            final = np.zeros(world.states)
        elif followed.steps is None:
            reward += (1.0 - followed.discount) * final[:, None]
        totals.append([*_totals(world, followed, reward, final, ends, policies)])
    weights, sums = belief.weights, np.array(totals).T
    mean = np.array([fsum(weights * each) for each in sums]) / fsum(weights)
    size = abs(requirement.least) + requirement.unit
    return mean - ROUNDING * (1.0 + followed.span) * size


def way_home(world: Model, requirement: Requirement) -> FloatArray:
    """Return the probability [S], rounded down, that the return policy leads home in a world."""
    at_home = np.zeros(world.states, dtype=bool)
    at_home[requirement.home] = True
    returns, each = requirement.returns, np.arange(world.states)
    if requirement.within is not None:
        rows, value, layers = world.sparse().transitions, at_home.astype(np.float64), 0
        since = [1] if returns.since is None else returns.since.tolist()
        policies = returns.policy[None] if returns.layers is None else returns.layers
        for layer, policy in enumerate(policies):
            first = max(1, since[layer]) if layer else 1
            last = since[layer + 1] if layer + 1 < len(since) else 1 + requirement.within
            act = policy.astype(np.int64)
            walk = rows[each * world.actions + np.maximum(act, 0)]
            for _ in range(first, min(last, 1 + requirement.within)):
                value = np.where(at_home, 1.0, np.where(act == GIVE_UP, 0.0, walk @ value))
                layers += 1
        return np.where(at_home, 1.0, np.clip(value - layers * UNIT, 0.0, 1.0))
    act = np.maximum(returns.policy, 0)
    if isinstance(world, Moves):
        moves = (world.success[each, act] > 0.0) & (returns.policy != GIVE_UP) & ~at_home
        ahead = np.where(moves, world.dest[each, act], each)
        for _ in range(world.states.bit_length()):
            ahead = ahead[ahead]
        return at_home[ahead].astype(np.float64)
    rows = world.transitions[each * world.actions + act]
    trying = (returns.policy != GIVE_UP) & ~at_home
    leads = can_reach(rows > 0.0, at_home, trying) & trying  # else the policy is not proper here
    policy = np.where(leads, returns.policy, GIVE_UP)
    return return_value(world, np.zeros(world.reward.shape), requirement.home, policy)


def _totals(
    world: Model,
    followed: Followed,
    reward: FloatArray,
    final: FloatArray,
    ends: BoolArray | None,
    policies: Sequence[IntArray],
) -> Iterator[float]:
    """Yield the total of a `reward` [S, A] in one world under each policy [S] or [n, S].

    The total is discounted. If the recall is fixed, it is the sum over the n steps and of `final`
    [S] after the last step. Actions in the mask `ends` [S, A] pay their reward and end the process.
    """
    γ, most, state, exits = followed.discount, None, followed.state, followed.exits
    afterwards, total = followed.afterwards, reward[None].copy()
    if (steps := followed.steps) is not None:
        γ, most, state = 1.0, 1 + steps, state + steps * world.states
        world, total = over_steps(world, steps), rewards_over_steps(total, final[None], steps)
        ends = None if ends is None else mask_over_steps(ends, steps)
        exits = None if exits is None else mask_over_steps(exits, steps)
        policies = [policies_by_state(policy) for policy in policies]
        afterwards = None if afterwards is None else policies_by_state(afterwards)
    if ends is not None:
        world = end_at(world, γ, ends, total, np.zeros(world.states))
    if exits is not None and afterwards is not None:
        left = exits if ends is None else exits & ~ends
        outside = engine(world, γ, total, most).evaluate(afterwards)[0]
        world = end_at(world, γ, left, total, outside)
    solver = engine(world, γ, total, most)
    for policy in policies:
        yield float(solver.evaluate(policy)[0, state])
