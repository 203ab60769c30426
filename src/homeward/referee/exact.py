"""Exact values of policies in a known world, and their mean over a finite belief.

The planner uses the mean model with corrections. This module evaluates policies in one known world,
by plain linear solves on dense arrays. The mean over a belief's worlds is the exact value, which no
lower bound may exceed.
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs import FiniteBelief
from homeward.models import Model

if TYPE_CHECKING:
    from homeward.referee.claims import CriterionClaims, PlanCase

GIVE_UP = -1  # action of a return policy that gives up
MAX_ENTRIES = 2_000_000  # largest number of entries of a world's dense transitions [S, A, S]
MAX_SINGLE_STEPS = 100  # largest number of steps of a return policy that are computed one by one


def dense_transitions(model: Model) -> FloatArray:
    """Return the transition probabilities [S, A, S] of a small model."""
    dense: FloatArray = model.sparse().transitions.toarray()
    return dense.reshape(model.states, model.actions, model.states)


def exact_return(
    transitions: FloatArray, policy: IntArray, home: IntArray, rounding: float = 0.0
) -> FloatArray:
    """Return the probability [S] that a return policy [S] reaches `home` [n] in a world [S, A, S].

    For m worlds [m, S, A, S] it is [m, S]. A row whose sum is below 1 by more than `rounding` may
    end the process.
    """
    worlds = transitions.reshape(-1, *transitions.shape[-3:])
    states, homes = np.arange(len(policy)), np.unique(home)
    walk = worlds[:, states, np.maximum(policy, 0)]  # [m, S, S]
    sums = [fsum([1.0, *-row]) for row in walk.reshape(-1, len(policy))]
    lacks = np.array(sums).reshape(*walk.shape[:2], 1)  # the last column: never to return
    walk = np.append(walk, np.where(lacks > rounding, lacks, 0.0), axis=2)
    walk[:, policy == GIVE_UP] = 0.0
    inner = np.setdiff1d(states, homes)
    for k in inner:  # eliminated without subtractions, so that no digits are lost
        others = inner[inner != k]
        walk[:, k, k] = 0.0
        leaving = walk[:, k].sum(axis=1)
        walk[:, k] /= np.where(leaving > 0.0, leaving, 1.0)[:, None]
        walk[leaving == 0.0, k, -1] = 1.0
        walk[:, others] += walk[:, others, k, None] * walk[:, None, k]
        walk[:, others, k] = 0.0
    value = np.zeros((len(walk), len(policy)))
    value[:, homes] = 1.0
    value[:, inner] = walk[:, inner][:, :, homes].sum(axis=2)
    return value.reshape(*transitions.shape[:-3], len(policy))


def exact_recall(
    transitions: FloatArray, policy: IntArray, way_home: FloatArray, discount: float
) -> FloatArray:
    """Return, for each start state [S], the mean of `way_home` [S] in the state at the recall.

    `policy` [S] is followed; the recall comes with probability 1 − γ before each step.
    """
    gain = np.repeat((1.0 - discount) * way_home[:, None], transitions.shape[1], axis=1)
    return exact_total(transitions, gain, policy, discount)


def exact_total(
    transitions: FloatArray,
    reward: FloatArray,
    policy: IntArray,
    discount: float,
    exits: BoolArray | None = None,
    afterwards: IntArray | None = None,
    ends: BoolArray | None = None,
) -> FloatArray:
    """Return the discounted total [S] of rewards [S, A] under a policy [S] in a world [S, A, S].

    After an action in `exits` [S, A], the process follows `afterwards` [S]. An action in `ends`
    [S, A] earns its reward and ends the process.
    """
    states = np.arange(len(policy))

    def rows_of(followed: IntArray) -> FloatArray:
        onward = discount * transitions[states, followed]
        if ends is not None:
            onward[ends[states, followed]] = 0.0
        return onward

    onward, gain = rows_of(policy), reward[states, policy].astype(np.float64)
    if exits is not None and afterwards is not None:
        left = exits[states, policy]
        outside = np.eye(len(policy)) - rows_of(afterwards)
        gain[left] += onward[left] @ np.linalg.solve(outside, reward[states, afterwards])
        onward[left] = 0.0
    return np.asarray(np.linalg.solve(np.eye(len(policy)) - onward, gain), np.float64)


def exact_way(transitions: FloatArray, criterion: CriterionClaims) -> FloatArray:
    """Return the probability [S] that a criterion's return policy reaches home in one world.

    If the criterion limits the steps of a return, they count.
    """
    home = criterion.home
    if criterion.within is None:
        return exact_return(transitions, criterion.return_policy, home)
    value = np.zeros(len(transitions))
    value[home] = 1.0
    for policy, steps in criterion.stages():
        walk = transitions[np.arange(len(policy)), np.maximum(policy, 0)]
        walk[policy == GIVE_UP] = 0.0
        walk[home] = 0.0
        walk[home, home] = 1.0
        value = _repeat(walk, value, steps)
    return value


def _repeat(walk: FloatArray, value: FloatArray, steps: int) -> FloatArray:
    """Return ``walkⁿ·value`` [S] for n = `steps`: step by step if n is small, else by squaring.

    Squaring adds a state that gets the missing probability of each row. After each squaring the
    rows are normalised, so that rounding errors do not accumulate.
    """
    if steps <= MAX_SINGLE_STEPS:
        for _ in range(steps):
            value = walk @ value
        return value
    walk = np.append(walk, np.maximum(0.0, 1.0 - walk.sum(axis=1, keepdims=True)), axis=1)
    walk = np.append(walk, np.eye(1, walk.shape[1], walk.shape[1] - 1), axis=0)
    value = np.append(value, 0.0)
    while steps:
        if steps % 2:
            value = walk @ value
        walk = walk @ walk
        walk /= walk.sum(axis=1, keepdims=True)
        steps //= 2
    return value[:-1]


def exact_value(
    transitions: FloatArray,
    rewards: FloatArray,
    criterion: CriterionClaims,
    policy: IntArray,
    discount: float,
    exits: BoolArray | None = None,
    afterwards: IntArray | None = None,
    way: FloatArray | None = None,
) -> FloatArray:
    """Return the exact value [S] of a criterion in one world [S, A, S] with `rewards` [S, A].

    The process follows `policy` until the recall, or `afterwards` after an action in `exits`
    [S, A]. After the recall it follows the criterion's return policy. If the policies are [n, S],
    the recall comes after n steps; if they are [S], with probability 1 − γ at each step. `way` [S]
    is the return probability; None computes it.
    """
    shape = transitions.shape[:2]
    final, ends = np.zeros(shape[0]), None
    if criterion.kind == "stay":
        assert criterion.allowed is not None
        final, ends = np.ones(shape[0]), ~criterion.allowed
    elif criterion.kind == "return":
        final = exact_way(transitions, criterion) if way is None else way
    if criterion.kind != "earn":
        now = 0.0 if policy.ndim == 2 else 1.0 - discount
        rewards = np.repeat(now * final[:, None], shape[1], axis=1)
    if policy.ndim == 1:
        return exact_total(transitions, rewards, policy, discount, exits, afterwards, ends)
    states, nothing = np.arange(shape[0]), np.zeros(shape, dtype=bool)
    left, ended = (nothing if mask is None else mask for mask in (exits, ends))
    inside = outside = final
    for step in range(len(policy) - 1, -1, -1):
        act = policy[step]
        ahead = transitions[states, act]
        ahead = np.where(left[states, act], ahead @ outside, ahead @ inside)
        if afterwards is not None:
            then = afterwards[step]
            on = (transitions[states, then] @ outside) * ~ended[states, then]
            outside = rewards[states, then] + on
        inside = rewards[states, act] + ahead * ~ended[states, act]
    return inside


def play_out(
    transitions: FloatArray,
    outbound: IntArray,
    back: IntArray,
    home: IntArray,
    start: int,
    discount: float,
    rng: np.random.Generator,
) -> bool:
    """Simulate one episode from state `start`, and return whether it reaches `home` [n].

    The episode follows `outbound` [S] until the recall and then `back` [S]. It fails if the process
    ends, or if it reaches a state from which `back` can't reach home.
    """
    cumulative = transitions.cumsum(axis=2)
    hopeful = exact_return(transitions, back, home) > 0.0
    at_home = np.zeros(len(outbound), dtype=bool)
    at_home[home] = True

    def act(state: int, action: int) -> int | None:
        """Return a random next state; None if the process ends."""
        row = cumulative[state, action]
        draw = rng.random()
        return int(np.searchsorted(row, draw, side="right")) if draw < row[-1] else None

    state: int | None = start
    while state is not None and rng.random() < discount:
        state = act(state, int(outbound[state]))
    while state is not None and hopeful[state]:
        if at_home[state]:
            return True
        state = act(state, int(back[state]))
    return False


def why_not_enumerable(case: PlanCase) -> str | None:
    """Return the reason why a plan's exact values can't be computed; None if they can."""
    belief = case.belief
    if not isinstance(belief, FiniteBelief):
        return f"only a FiniteBelief can be enumerated, but this is a {type(belief).__name__}"
    states, actions = belief.counts.shape
    if states * actions * states > MAX_ENTRIES:
        return f"a world of {states} states and {actions} actions is too large to enumerate"
    return None


def enumerated_values(case: PlanCase) -> dict[str, tuple[float, ...]]:
    """Return the exact values of all criteria under a finite belief, for each mixture of the plan.

    The keys are the names in `PlanCase.parts`. Rows whose sum is above 1 by rounding are
    normalised, since over 1/(1 − γ) steps they would give probabilities above 1. The weights of the
    worlds are normalised too.
    """
    belief, plan = case.belief, case.plan
    assert isinstance(belief, FiniteBelief)
    total = {part.name: np.zeros(len(plan.criteria)) for part in case.parts}
    leaving = (case.exits, plan.afterwards)
    for chance, world in zip(belief.weights / belief.weights.sum(), belief.worlds, strict=True):
        if chance == 0.0:
            continue
        rows = dense_transitions(world)
        rows /= np.maximum(rows.sum(axis=2, keepdims=True), 1.0)
        for k, criterion in enumerate(plan.criteria):
            given = case.rewards[k]
            paid = world.reward if given is None else given
            paid = np.where(np.isfinite(world.reward), paid, 0.0)
            way = exact_way(rows, criterion) if criterion.kind == "return" else None
            for part in case.parts:
                for weight, policy in zip(part.weights, part.outbound, strict=True):
                    value = exact_value(rows, paid, criterion, policy, plan.discount, *leaving, way)
                    total[part.name][k] += chance * weight * value[plan.state]
    return {name: tuple(values.tolist()) for name, values in total.items()}
