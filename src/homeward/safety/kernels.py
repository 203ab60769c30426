"""Compiled passes over [S, A] that every plan makes."""

import numpy as np
from numba import njit

from homeward.arrays import FloatArray, IntArray


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
