"""Problems over a fixed number of steps, as ordinary problems over (steps left, state).

State s with ``left`` steps left, 0 ≤ left ≤ n, has the number ``left·S + s``. Each action uses one
step; with no steps left the process ends. So every row leads to lower states, γ is 1, and policy
iteration needs one round. A recall after n steps and a return within n steps both take this form.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, eye_array, kron

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.errors import InvalidProblemError
from homeward.models import Model, SparseMDP

MAX_STATES = 2**22  # largest number of states with their steps left


def check_horizon(model: Model, steps: int) -> None:
    """Raise unless `steps` is at least 1, and small enough for the memory of a computer."""
    if steps < 1:
        raise InvalidProblemError(f"the horizon is {steps} steps, expected at least 1")
    if (steps + 1) * model.states > MAX_STATES:
        raise InvalidProblemError(
            f"{steps:,} steps with {model.states:,} states are {(steps + 1) * model.states:,} "
            f"states with their steps left, expected at most {MAX_STATES:,}"
        )


def over_steps(model: Model, steps: int) -> SparseMDP:
    """Return the model over (steps left, state)."""
    check_horizon(model, steps)
    rows = csr_array(kron(eye_array(steps + 1, k=-1), model.sparse().transitions))
    return SparseMDP(rows, np.tile(model.reward, (steps + 1, 1)))


def rewards_over_steps(rewards: FloatArray, final: FloatArray, steps: int) -> FloatArray:
    """Return K rewards [K, S, A] over (steps left, state); with no steps left, `final` [K, S]."""
    count, states, actions = rewards.shape
    long = np.empty((count, steps + 1, states, actions))
    long[:, 0] = final[:, :, None]
    long[:, 1:] = rewards[:, None]
    return long.reshape(count, -1, actions)


def mask_over_steps(mask: BoolArray, steps: int) -> BoolArray:
    """Return a mask [S, A] over (steps left, state); with no steps left it is False."""
    long = np.tile(mask, (steps + 1, 1))
    long[: len(mask)] = False
    return long


def policies_by_step(policies: IntArray, states: int) -> IntArray:
    """Return policies [..., (1 + n)·S] over (steps left, state) as [..., n, S], by step."""
    left: IntArray = policies.reshape(*policies.shape[:-1], -1, states)
    return left[..., :0:-1, :]


def policies_by_state(policies: IntArray) -> IntArray:
    """Return policies [..., n, S] by step as [..., (1 + n)·S] over (steps left, state)."""
    last = np.zeros_like(policies[..., :1, :])
    left = np.concatenate([last, policies[..., ::-1, :]], axis=-2)
    return left.reshape(*policies.shape[:-2], -1)
