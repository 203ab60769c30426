"""The interface of a criterion: a function from a situation to a linear requirement.

A requirement is a reward [S, A] and a level. The discounted total of the reward from the current
state is a lower bound on the probability that the criterion holds, or on the expected earnings.
This total must be at least the level. The proofs are in ``docs/theory.md``. A plan can have several
criteria, each with its own level.

With a recall at a fixed step n (`AtStep`), the total is the undiscounted sum of the reward over n
steps, plus ``final`` [S] in the state after them.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from homeward.arrays import number
from homeward.errors import InvalidProblemError
from homeward.solvers import GIVE_UP, ReturnSolution, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.beliefs.corrections import Corrections
    from homeward.models import Model

BYTES_PER_STATE_STEP = 12
"""Bytes per state and step of a policy with a fixed recall: for an action and a value."""

MAX_POLICY_BYTES = 2**32
"""Largest size in bytes of a policy over a fixed number of steps."""

MAX_STEPS = 2**31 - 1
"""Largest number of steps of a horizon."""


@dataclass(frozen=True, slots=True)
class AtStep:
    """Recall at a fixed step: exploration lasts exactly this number of steps."""

    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", check_steps(self.steps, "the recall"))


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """The input of a criterion: the current state, the mean model and its corrections."""

    model: Model  # the mean model
    corrections: Corrections
    discount: float
    state: int
    start: int
    general: Callable[[], FloatArray] | None = None  # Theorem 2's σ [S, A], if available
    limits: Callable[[], tuple[float, float] | None] | None = None  # least and greatest reward
    steps: int | None = None  # steps until the recall; None if the recall is random

    def __post_init__(self) -> None:
        size = (self.steps or 0) * self.model.states * BYTES_PER_STATE_STEP
        if size > MAX_POLICY_BYTES:
            raise InvalidProblemError(
                f"a recall after {self.steps:,} steps with {self.model.states:,} states takes "
                f"{size:,} bytes for each policy, expected {MAX_POLICY_BYTES:,} at most"
            )

    def recall_reward(
        self, value: FloatArray, sigma: FloatArray, out: FloatArray | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return the reward [S, A] and the final reward [S] if a recall in s is worth `value[s]`.

        With a random recall the reward is ``(1 − γ)·value + γ·σ``, and the final reward is None.
        With a fixed recall the reward is σ, and the final reward is `value`. The reward is written
        to `out`, if given.
        """
        reward = np.empty(sigma.shape) if out is None else out
        if self.steps is not None:
            reward[:] = sigma
            return reward, value
        np.multiply(sigma, self.discount, out=reward)
        reward += ((1.0 - self.discount) * value)[:, None]
        return reward, None


@dataclass(frozen=True, slots=True, eq=False)
class Requirement:
    """A criterion in one situation: a reward whose total is a lower bound, and a level.

    The criterion's probability or earnings are at least ``least + unit·total``; this must be at
    least `level`.
    """

    name: str
    level: float
    reward: FloatArray  # [S, A] finite; see above for its total
    home: IntArray  # [n] states that count as home; empty if no return is required
    returns: ReturnSolution  # the return policy; its values are 0 if no return is required
    worth: FloatArray | None = None  # [S] value of a recall, or [S, A] of an action, without σ
    allowed: BoolArray | None = None  # [S, A] mask of the set to stay inside
    least: float = 0.0
    unit: float = 1.0
    final: FloatArray | None = None  # [S] value of a fixed recall in each state
    within: int | None = None  # largest number of steps of a return; None for any number
    kind: Literal["return", "stay", "earn"] = "return"


class Criterion(Protocol):
    """A condition that a plan must meet, with its level."""

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the requirement; its reward is written to `out` [S, A], if given."""


def no_return(states: int) -> tuple[IntArray, ReturnSolution]:
    """Return `home` and `returns` of a requirement without a return: no states, and values of 0."""
    policy = np.full(states, GIVE_UP, np.int32)
    return np.empty(0, np.int32), ReturnSolution(np.zeros(states), policy, 0.0, Status.OPTIMAL, 0)


def state_name(model: Model, state: int) -> str:
    """Return the name of a state, or "state 3" if the model has no names."""
    return model.state_names[state] if model.state_names else f"state {state}"


def check_level(delta: object) -> None:
    """Raise unless 0 < δ ≤ 1."""
    if not 0.0 < number(delta, "δ", InvalidProblemError) <= 1.0:
        raise InvalidProblemError(f"δ is {delta:g}, expected 0 < δ <= 1")


def check_steps(steps: object, what: str) -> int:
    """Return the number of steps; raise unless it is at least 1. Messages name `what` has it."""
    if isinstance(steps, bool | np.bool_) or not isinstance(steps, Integral):
        raise InvalidProblemError(f"{what} has a horizon of {steps!r}, expected a whole number")
    if not 1 <= int(steps) <= MAX_STEPS:
        limit = "least 1" if int(steps) < 1 else f"most {MAX_STEPS}"
        has = f"{what} has a horizon of {int(steps)} steps"
        raise InvalidProblemError(f"{has}, expected at {limit}")
    return int(steps)
