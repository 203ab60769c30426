"""What is true in a concrete world: exact values that share no code with the planner.

The planner works on the mean model with corrections. Here one world at a time is taken as known,
and the probability of an actual way out and back is computed by plain linear solves, or played out.
Averaged over a belief this is the exact value that every bound must stay below.
"""

from __future__ import annotations

from itertools import pairwise
from math import fsum
from typing import TYPE_CHECKING, Protocol

import numpy as np

from homeward.solvers import GIVE_UP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import Model


ONE_BY_ONE = 100
"""Steps of one return policy that are taken one by one."""


class Told(Protocol):
    """What a plan tells of a criterion, as far as its exact value needs it."""

    @property
    def kind(self) -> str:
        """One of return, stay and earn."""
        ...

    @property
    def home(self) -> IntArray:
        """The states [n] that count as home."""
        ...

    @property
    def return_policy(self) -> IntArray:
        """The way home [S], without a limit."""
        ...

    @property
    def allowed(self) -> BoolArray | None:
        """The set [S, A] to stay inside."""
        ...

    @property
    def within(self) -> int | None:
        """Steps that the way home may take."""
        ...

    @property
    def return_since(self) -> IntArray | None:
        """Steps left [L] from which on each of its policies is followed, if steps are limited."""
        ...

    def return_with(self, steps: int) -> IntArray:
        """Give the way home [S] with so many steps left."""
        ...


def dense_transitions(model: Model) -> FloatArray:
    """Give the transitions [S, A, S] of a small model."""
    dense: FloatArray = model.sparse().transitions.toarray()
    return dense.reshape(model.states, model.actions, model.states)


def can_return(transitions: FloatArray, policy: IntArray, home: IntArray) -> BoolArray:
    """Tell from which states [S] a return policy reaches home with positive probability."""
    followed = transitions[np.arange(len(policy)), np.maximum(policy, 0)]
    followed[policy == GIVE_UP] = 0.0
    reached = np.zeros(len(policy), dtype=bool)
    reached[home] = True
    while True:
        grown = reached | (followed @ reached > 0.0)
        if (grown == reached).all():
            return reached
        reached = grown


def exact_return(transitions: FloatArray, policy: IntArray, home: IntArray) -> FloatArray:
    """Give the probability [S] that a return policy [S] reaches home in a world [S, A, S].

    By eliminating one state after the other from the walk, which never subtracts: however rarely
    a state is left, its digits are kept.
    """
    states = np.arange(len(policy))
    alive = can_return(transitions, policy, home)
    walk = np.zeros((len(policy), len(policy) + 1))  # the last column: not coming home any more
    walk[:, :-1] = transitions[states, np.maximum(policy, 0)]
    missing = np.array([max(0.0, fsum([1.0, *-row])) for row in walk[:, :-1]])
    walk[:, -1] = missing + walk[:, :-1][:, ~alive].sum(axis=1)
    walk[:, :-1][:, ~alive] = 0.0
    value = np.zeros(len(policy))
    value[home] = 1.0
    inner = np.flatnonzero(alive & (value == 0.0))
    for k in inner:
        walk[k, k] = 0.0
        walk[k] /= walk[k].sum()
        others = inner[inner != k]
        walk[others] += walk[others, k, None] * walk[k]
        walk[others, k] = 0.0
    value[inner] = walk[inner][:, np.unique(home)].sum(axis=1)
    return value


def exact_recall(
    transitions: FloatArray, policy: IntArray, way_home: FloatArray, discount: float
) -> FloatArray:
    """Give E[way_home at recall] [S] under `policy`, recalled at each step with chance 1 − γ."""
    rows = transitions[np.arange(len(policy)), policy]
    among = np.eye(len(policy)) - discount * rows
    return np.asarray(np.linalg.solve(among, (1.0 - discount) * way_home), np.float64)


def exact_return_within(
    transitions: FloatArray, policies: Sequence[IntArray], home: IntArray
) -> FloatArray:
    """Give the probability [S] of reaching home within as many steps as there are policies.

    The last of the policies [S] is followed first, with all steps left; the first of them last.
    """
    states = np.arange(transitions.shape[0])
    value = np.zeros(len(states))
    value[home] = 1.0
    for policy in policies:
        value = transitions[states, np.maximum(policy, 0)] @ value * (policy != GIVE_UP)
        value[home] = 1.0
    return value


def exact_total(
    transitions: FloatArray,
    reward: FloatArray,
    policy: IntArray,
    discount: float,
    exits: BoolArray | None = None,
    afterwards: IntArray | None = None,
    ends: BoolArray | None = None,
) -> FloatArray:
    """Give the discounted total [S] of rewards [S, A] under a policy [S] in a world [S, A, S].

    Once an action out of `exits` [S, A] is taken, `afterwards` [S] is followed instead. An action
    out of `ends` [S, A] earns its reward, and nothing comes after it.
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


def exact_total_over(
    transitions: FloatArray,
    reward: FloatArray,
    final: FloatArray,
    policy: IntArray,
    exits: BoolArray | None = None,
    afterwards: IntArray | None = None,
    ends: BoolArray | None = None,
) -> FloatArray:
    """Give the total [S] of rewards [S, A] over n steps of a policy [n, S], and `final` [S] then.

    `exits`, `ends` [S, A] and `afterwards` [n, S] are as in `exact_total`.
    """
    states = np.arange(len(final))
    nothing = np.zeros(reward.shape, dtype=bool)
    ended = nothing if ends is None else ends
    left = nothing if exits is None else exits
    inside, outside = final.copy(), final.copy()
    for step in range(len(policy) - 1, -1, -1):
        act = policy[step]
        ahead = transitions[states, act]
        ahead = np.where(left[states, act], ahead @ outside, ahead @ inside)
        if afterwards is not None:
            then = afterwards[step]
            on = (transitions[states, then] @ outside) * ~ended[states, then]
            outside = reward[states, then] + on
        inside = reward[states, act] + ahead * ~ended[states, act]
    return inside


def exact_way(transitions: FloatArray, criterion: Told) -> FloatArray:
    """Give the probability [S] that a criterion's way home works in a world, in time if limited."""
    if criterion.within is None:
        return exact_return(transitions, criterion.return_policy, criterion.home)
    changes = [] if criterion.return_since is None else criterion.return_since[1:].tolist()
    starts = [1, *(h for h in changes if 1 < h <= criterion.within), 1 + criterion.within]
    value = np.zeros(len(transitions))
    value[criterion.home] = 1.0
    for first, last in pairwise(starts):
        walk = _walk(transitions, criterion.return_with(first), criterion.home)
        value = _repeat(walk, value, last - first)
    return value


def _walk(transitions: FloatArray, policy: IntArray, home: IntArray) -> FloatArray:
    """Return the steps [S, S] of a return policy [S], which stays once it is home."""
    walk: FloatArray = transitions[np.arange(len(policy)), np.maximum(policy, 0)]
    walk[policy == GIVE_UP] = 0.0
    walk[home] = 0.0
    walk[home, home] = 1.0
    return walk


def _repeat(walk: FloatArray, value: FloatArray, steps: int) -> FloatArray:
    """Return ``walkⁿ·value`` for n steps: one by one if few, else by squaring.

    Rows are kept at 1 with what is lost in a state of its own, so that rounding does not add up.
    """
    if steps <= ONE_BY_ONE:
        for _ in range(steps):
            value = walk @ value
        return value
    walk = np.append(walk, np.maximum(0.0, 1.0 - walk.sum(axis=1, keepdims=True)), axis=1)
    walk = np.append(
        walk, np.zeros((1, walk.shape[1])), axis=0
    )  # the last state: not home any more
    walk[-1, -1] = 1.0
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
    criterion: Told,
    policy: IntArray,
    discount: float,
    exits: BoolArray | None = None,
    afterwards: IntArray | None = None,
    way: FloatArray | None = None,
) -> FloatArray:
    """Give what a criterion really has [S] in one world [S, A, S] with its own rewards [S, A].

    The policy [S] is followed until recall, `afterwards` [S] once it took an action out of `exits`
    [S, A], and after the recall the criterion's return policy. Policies [n, S] are recalled after
    n steps, others at each with chance 1 − γ. Where the `way` home [S] is known it is not asked for
    again.
    """
    shape = transitions.shape[:2]
    fixed, none = policy.ndim == 2, np.zeros(shape[0])
    if criterion.kind == "earn":
        if fixed:
            return exact_total_over(transitions, rewards, none, policy, exits, afterwards)
        return exact_total(transitions, rewards, policy, discount, exits, afterwards)
    if criterion.kind == "stay":
        assert criterion.allowed is not None
        sure, ends = np.full(shape, 1.0 - discount), ~criterion.allowed
        if fixed:
            free = np.zeros(shape)
            return exact_total_over(transitions, free, none + 1.0, policy, exits, afterwards, ends)
        return exact_total(transitions, sure, policy, discount, exits, afterwards, ends)
    if way is None:
        way = exact_way(transitions, criterion)
    if fixed:
        return exact_total_over(transitions, np.zeros(shape), way, policy, exits, afterwards)
    recalled = np.repeat((1.0 - discount) * way[:, None], shape[1], axis=1)
    return exact_total(transitions, recalled, policy, discount, exits, afterwards)


def play_out(
    transitions: FloatArray,
    outbound: IntArray,
    back: IntArray,
    home: IntArray,
    start: int,
    discount: float,
    rng: np.random.Generator,
) -> bool:
    """Play one excursion in a world: `outbound` until recalled, then `back`; tell if it got home.

    It fails once the process has ended, or where the return policy has no way home left.
    """
    cumulative = transitions.cumsum(axis=2)
    hopeful = can_return(transitions, back, home)
    at_home = np.zeros(len(outbound), dtype=bool)
    at_home[home] = True

    def act(state: int, action: int) -> int | None:
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
