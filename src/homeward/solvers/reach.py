"""What can be reached from a state, and how that decides how large a number is.

"Optimal", "worthless" and rounding are judged by the largest value of an objective. A reward that
no policy can reach from the start must have no say in that: next to 1e12 elsewhere a plan worth 9
would look worth nothing. So where the largest rewards are out of reach, the objective is set to 0
in every state that is. That changes no value in the start.

The search goes over actions that can be chosen and transitions with a positive probability. It ends
where a reward of at least `ENOUGH` of the largest is met, which is usually near.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from homeward.models import Moves

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import Model

ENOUGH = 0.1
"""A reward in reach that is this fraction of the largest anywhere is of its size."""


def silence_unreachable(model: Model, objective: FloatArray, start: int) -> None:
    """Set an objective [S, A] to 0 out of reach, if its largest rewards are there; −inf stays."""
    lowest = float(objective.min())
    if lowest == -np.inf:
        lowest = float(objective.min(where=objective > -np.inf, initial=0.0))
    enough = ENOUGH * max(float(objective.max()), -lowest)
    seen = np.zeros(model.states, np.bool_)
    if isinstance(model, Moves):
        found = meet_moves(model.dest, model.success, objective, start, enough, seen)
    else:
        rows = model.transitions
        found = meet_rows(rows.indptr, rows.indices, rows.data, objective, start, enough, seen)
    if not found:
        silence(objective, seen)


@njit(cache=True, error_model="numpy")
def silence(objective: FloatArray, seen: BoolArray) -> None:
    """Write 0 for what is not −inf in states that were not seen."""
    states, actions = objective.shape
    for s in range(states):
        if not seen[s]:
            for a in range(actions):
                if objective[s, a] > -np.inf:
                    objective[s, a] = 0.0


@njit(cache=True, error_model="numpy")
def meet_moves(
    dest: IntArray,
    success: FloatArray,
    objective: FloatArray,
    start: int,
    enough: float,
    seen: BoolArray,
) -> bool:
    """Mark what can be reached; tell, at once, if a reward of that size is there."""
    queue = np.empty(len(seen), np.int64)
    queue[0], count, seen[start] = start, 1, True
    for i in range(len(queue)):
        if i == count:
            break
        s = queue[i]
        for a in range(dest.shape[1]):
            reward = objective[s, a]
            if reward == -np.inf:
                continue
            if abs(reward) >= enough:
                return True
            t = dest[s, a]
            if not seen[t] and success[s, a] > 0.0:
                seen[t] = True
                queue[count] = t
                count += 1
    return False


@njit(cache=True, error_model="numpy")
def meet_rows(
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    objective: FloatArray,
    start: int,
    enough: float,
    seen: BoolArray,
) -> bool:
    """Do the same over sparse rows [S·A]."""
    actions = objective.shape[1]
    queue = np.empty(len(seen), np.int64)
    queue[0], count, seen[start] = start, 1, True
    for i in range(len(queue)):
        if i == count:
            break
        s = queue[i]
        for a in range(actions):
            reward = objective[s, a]
            if reward == -np.inf:
                continue
            if abs(reward) >= enough:
                return True
            row = s * actions + a
            for k in range(indptr[row], indptr[row + 1]):
                t = indices[k]
                if not seen[t] and data[k] > 0.0:
                    seen[t] = True
                    queue[count] = t
                    count += 1
    return False


@njit(cache=True)
def reached(dest: IntArray, success: FloatArray, state: int) -> BoolArray:
    """Return which states [S] moves that may work lead to from a state."""
    found = np.zeros(len(dest), np.bool_)
    ahead = np.empty(len(dest), np.int64)
    found[state], ahead[0], count = True, state, 1
    while count > 0:
        count -= 1
        here = ahead[count]
        for a in range(dest.shape[1]):
            there = dest[here, a]
            if success[here, a] > 0.0 and not found[there]:
                found[there], ahead[count] = True, there
                count += 1
    return found
