"""The compiled correction of a graph of moves."""

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
