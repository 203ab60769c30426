"""Compiled passes over [S, A] that every plan makes."""

import numpy as np
from numba import njit

from homeward.arrays import FloatArray, IntArray

SAME = 2.0**-50
"""A probability that is this close to another is the same but for rounding."""


@njit(cache=True, error_model="numpy")
def correct_moves(
    dest: IntArray, success: FloatArray, discount: float
) -> tuple[FloatArray, FloatArray]:
    """Give −p(1−p) and −(2−γ)p(1−p) [S, A]; zero where a move can't change the state."""
    states, actions = success.shape
    returning, exploring = np.empty(success.shape), np.empty(success.shape)
    for s in range(states):
        for a in range(actions):
            correction = (success[s, a] - 1.0) * success[s, a] if dest[s, a] != s else 0.0
            returning[s, a] = correction
            exploring[s, a] = (2.0 - discount) * correction
    return returning, exploring


@njit(cache=True, error_model="numpy")
def recall(exploring: FloatArray, value: FloatArray, discount: float, reward: FloatArray) -> None:
    """Write ``reward[s, a] = (1 − γ)·value[s] + γ·exploring[s, a]``, what a recall is worth."""
    states, actions = reward.shape
    for s in range(states):
        here = (1.0 - discount) * value[s]
        for a in range(actions):
            reward[s, a] = here + discount * exploring[s, a]


@njit(cache=True, error_model="numpy")
def earn(worth: FloatArray, correction: FloatArray, discount: float, reward: FloatArray) -> None:
    """Write ``reward[s, a] = (1 − γ)·worth[s, a] + γ·correction[s, a]``."""
    states, actions = reward.shape
    for s in range(states):
        for a in range(actions):
            reward[s, a] = (1.0 - discount) * worth[s, a] + discount * correction[s, a]


@njit(cache=True, error_model="numpy")
def stay_moves(
    success: FloatArray,
    returning: FloatArray,
    exploring: FloatArray,
    discount: float,
    staying: FloatArray,
) -> None:
    """Write what staying inside a set must be corrected by on a move-or-stay graph [S, A].

    Half of ``exploring``; where a move works or does not, which ``returning`` tells, (1 − γ) times
    that. All of ``exploring`` where it is more than (2 − γ) times that: then the model has a lower
    bound on the chance of the move, and half is not proven.
    """
    states, actions = success.shape
    for s in range(states):
        for a in range(actions):
            p, correction = success[s, a], returning[s, a]
            staying[s, a] = 0.5 * exploring[s, a]
            if correction <= (p - 1.0) * p + SAME * p:
                if exploring[s, a] < (2.0 - discount) * correction - SAME:
                    staying[s, a] = exploring[s, a]
                    continue
                staying[s, a] = max(staying[s, a], (1.0 - discount) * correction)


@njit(cache=True, error_model="numpy")
def all_known_or_not(dest: IntArray, success: FloatArray, returning: FloatArray) -> bool:
    """Tell whether every move, given the world, works or does not: −p·Pr(P = 0) is −p(1 − p)."""
    states, actions = success.shape
    for s in range(states):
        for a in range(actions):
            p = success[s, a]
            if dest[s, a] != s and returning[s, a] > (p - 1.0) * p + SAME * p:
                return False
    return True
