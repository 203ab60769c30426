"""The interface of a criterion: a function from a situation to a linear requirement.

A requirement is a reward [S, A] and a level. The discounted total of the reward from the current
state is a lower bound on the probability that the criterion holds, or on the expected earnings.
This total must be at least the level. The proofs are in ``docs/theory.md``. A plan can have several
criteria, each with its own level.

With a recall at a fixed step n (`AtStep`), the total is the undiscounted sum of the reward over n
steps, plus ``final`` [S] in the state after them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Literal, Protocol

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray, number, set_fields, unless_given
from homeward.beliefs.corrections import Corrections
from homeward.errors import InvalidProblemError
from homeward.models import Model
from homeward.solvers import GIVE_UP, ReturnSolution, Status

BYTES_PER_STATE_STEP = 12  # memory for an action and a value, for a recall at a fixed step
MAX_POLICY_BYTES = 2**32  # largest size in bytes of a policy over a fixed number of steps
MAX_STEPS = 2**31 - 1  # largest number of steps of a horizon


@dataclass(frozen=True, slots=True)
class AtStep:
    """Recall at a fixed step: exploration lasts exactly this number of steps."""

    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", check_steps(self.steps, "the recall"))


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """The input of a criterion: the current state, the mean model and its corrections.

    Attributes
    ----------
    model : The mean model
    corrections : The corrections σ: `returning` and `exploring`, each [S, A] and at most 0
    discount : γ, the probability that exploration goes on for another step
    state, start : The current state, and the first state of the run
    general : Function that returns the general correction σ [S, A]
    limits : Function that returns the least and the greatest reward of any world; None if unknown
    steps : Steps until the recall; None if the recall is random
    """

    model: Model
    corrections: Corrections
    discount: float
    state: int
    start: int
    general: Callable[[], FloatArray] | None = None
    limits: Callable[[], tuple[float, float] | None] | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        size = (self.steps or 0) * self.model.states * BYTES_PER_STATE_STEP
        if size > MAX_POLICY_BYTES:
            raise InvalidProblemError(
                f"a recall after {self.steps:,} steps with {self.model.states:,} states needs "
                f"{size:,} bytes for each policy, expected at most {MAX_POLICY_BYTES:,}"
            )

    def recall_reward(
        self, value: FloatArray, sigma: FloatArray, out: FloatArray | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return the reward [S, A] and final reward [S] if a recall in s has the value `value[s]`.

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

    The criterion's probability or earnings are at least ``least + unit·total``, where `total` is
    the total of `reward` as defined in the module docstring. This lower bound must be at least
    `level`. A user-defined criterion needs only the first three attributes.

    Attributes
    ----------
    name : What is required, in words
    level : The required probability or amount
    reward : [S, A] reward whose total is required; finite
    home : [n] states that count as home; empty by default, if no return is required
    returns : The return policy and its values; by default a policy that never returns
    worth : [S] lower bound on the probability that a recall in each state meets the criterion; if
        `kind` is ``"earn"``, [S, A] reward of each action, scaled to [0, 1]. The correction for
        exploring is not included. None counts as 0.
    allowed : [S, A] mask of the set to stay inside
    least, unit : Offset and scale of the total
    final : [S] value of being in each state at a recall at a fixed step; None for a random recall
    within : Largest number of steps of a return; None for any number
    kind : ``"return"``, ``"stay"``, ``"earn"``, or ``"own"`` for a user-defined criterion
    """

    name: str
    level: float
    reward: FloatArray
    home: IntArray = unless_given()
    returns: ReturnSolution = unless_given()
    worth: FloatArray | None = None
    allowed: BoolArray | None = None
    least: float = 0.0
    unit: float = 1.0
    final: FloatArray | None = None
    within: int | None = None
    kind: Literal["return", "stay", "earn", "own"] = "own"

    def __post_init__(self) -> None:
        if self.home is None or self.returns is None:
            states = len(self.reward)
            nowhere = np.zeros(states), np.full(states, GIVE_UP, np.int32)
            returns = ReturnSolution(*nowhere, 0.0, Status.OPTIMAL, 0)
            set_fields(self, home=np.empty(0, np.int32), returns=returns)


class Criterion(Protocol):
    """A condition that a plan must meet, with its level."""

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the requirement; its reward is written to `out` [S, A], if given."""


def check_level(delta: object) -> None:
    """Raise unless 0 < δ ≤ 1."""
    if not 0.0 < number(delta, "δ", InvalidProblemError) <= 1.0:
        raise InvalidProblemError(f"δ is {delta:g}, expected 0 < δ <= 1")


def check_steps(steps: object, what: str) -> int:
    """Return `steps` as int; raise unless it is a whole number from 1 to `MAX_STEPS`.

    `what` begins the message.
    """
    if isinstance(steps, bool | np.bool_) or not isinstance(steps, Integral):
        raise InvalidProblemError(f"{what} has a horizon of {steps!r}, expected a whole number")
    if not 1 <= int(steps) <= MAX_STEPS:
        limit = "least 1" if int(steps) < 1 else f"most {MAX_STEPS}"
        has = f"{what} has a horizon of {int(steps)} steps"
        raise InvalidProblemError(f"{has}, expected at {limit}")
    return int(steps)
