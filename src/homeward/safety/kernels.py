"""Compiled passes over [S, A] that every plan makes."""

from numba import njit

from homeward.arrays import FloatArray


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
