"""Reachable states, and an objective whose scale depends on reachable states alone.

Tolerances are relative to the largest value of an objective. A reward that no policy can reach from
the start must not count: compared with an unreachable reward of 1e12, a value of 9 would be within
the tolerance of 0. So if the largest rewards are unreachable, the objective is set to 0 in every
unreachable state. This does not change the value of the start.

The search goes over actions that can be chosen and transitions with a positive probability. It
stops at a reward of at least `LARGE_FRACTION` of the largest, which is usually near.
"""

from __future__ import annotations

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.compiling import njit
from homeward.models import Model, Moves

LARGE_FRACTION = 0.1  # if this share of the largest reward is reachable, nothing is changed


def silence_unreachable(model: Model, objective: FloatArray, start: int) -> None:
    """Set `objective` [S, A] to 0 in unreachable states if its largest rewards are there.

    Rewards of −inf stay.
    """
    lowest = float(objective.min())
    if lowest == -np.inf:
        lowest = float(objective.min(where=objective > -np.inf, initial=0.0))
    large = LARGE_FRACTION * max(float(objective.max()), -lowest)
    if isinstance(model, Moves):
        edges = np.arange(model.dest.size + 1), model.dest.ravel(), model.success.ravel()
    else:
        rows = model.transitions
        edges = rows.indptr, rows.indices, rows.data
    found, seen = search(*edges, objective, start, large)
    if not found:
        objective[~seen[:, None] & (objective > -np.inf)] = 0.0


def reached(dest: IntArray, success: FloatArray, state: int) -> BoolArray:
    """Return the mask [S] of states that moves with positive probability reach from `state`."""
    edges = np.arange(dest.size + 1), dest.ravel(), success.ravel()
    return search(*edges, np.zeros(dest.shape), state, np.inf)[1]


@njit(cache=True, error_model="numpy")
def search(
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    objective: FloatArray,
    start: int,
    large: float,
) -> tuple[bool, BoolArray]:
    """Return whether a reward of absolute value ``large`` or more is reachable from ``start``.

    Also return the mask [S] of states that were reached until such a reward was found. Row s·A + a
    of the sparse matrix (indptr, indices, data) has the transitions of action a in state s.
    """
    states, actions = objective.shape
    seen = np.zeros(states, np.bool_)
    queue = np.empty(states, np.int64)
    queue[0], count, seen[start] = start, 1, True
    for i in range(states):
        if i == count:
            break
        s = queue[i]
        for a in range(actions):
            reward = objective[s, a]
            if reward == -np.inf:
                continue
            if abs(reward) >= large:
                return True, seen
            row = s * actions + a
            for k in range(indptr[row], indptr[row + 1]):
                t = indices[k]
                if not seen[t] and data[k] > 0.0:
                    seen[t] = True
                    queue[count] = t
                    count += 1
    return False, seen
