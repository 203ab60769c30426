"""What is true in a concrete world: exact values that share no code with the planner.

The planner works on the mean model with corrections. Here one world at a time is taken as known,
and the probability of an actual way out and back is computed by plain linear solves, or played out.
Averaged over a belief this is the exact value that every bound must stay below.
"""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from homeward.solvers import GIVE_UP

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import Model


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
