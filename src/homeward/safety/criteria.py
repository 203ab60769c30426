"""Criteria: what must stay true while exploring.

A criterion turns the mean model and its corrections into one linear requirement on the way out:
a reward [S, A] whose discounted total, from the current state, is a lower bound on the probability
that the criterion holds, and the level δ that it must keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from homeward.arrays import indices, number
from homeward.errors import InvalidProblemError
from homeward.safety.kernels import recall
from homeward.solvers import solve_return

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model
    from homeward.safety.corrections import Corrections
    from homeward.solvers import ReturnSolution


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """All that a criterion may look at: where we are and what the mean model says."""

    model: Model  # the mean
    corrections: Corrections
    discount: float
    state: int
    start: int


@dataclass(frozen=True, slots=True, eq=False)
class Requirement:
    """A criterion made concrete: a floor on a discounted total, and the way home behind it."""

    name: str
    level: float
    reward: FloatArray  # [S, A] finite; its discounted total bounds the probability from below
    home: IntArray  # [n] the states that count as home
    returns: ReturnSolution  # the way home, from every state


class Criterion(Protocol):
    """What must stay true, and with which probability."""

    @property
    def delta(self) -> float:
        """The safety level δ."""
        ...

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """State the criterion as a requirement on the way out; its reward goes to `out` [S, A]."""
        ...


@dataclass(frozen=True, slots=True)
class ReturnHome:
    """If exploration is called off, a way home exists that works with probability δ.

    The call may come at any step with probability 1 − γ. Home is the ``"current"`` state, set anew
    at each plan as in the paper's Algorithm 1, or the run's ``"start"``, or given states of which
    any will do.
    """

    delta: float
    home: Literal["current", "start"] | int | Sequence[int] | IntArray = "current"

    def __post_init__(self) -> None:
        if not 0.0 < number(self.delta, "δ", InvalidProblemError) <= 1.0:
            raise InvalidProblemError(f"δ is {self.delta:g}, expected 0 < δ <= 1")
        if isinstance(self.home, str) and self.home not in ("current", "start"):
            raise InvalidProblemError(
                f"home is {self.home!r}, expected 'current', 'start' or states"
            )

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Bound the probability of being out at recall and home afterwards."""
        home = self._states(situation)
        discount, corrections = situation.discount, situation.corrections
        returns = solve_return(situation.model, corrections.returning, home)
        reward = np.empty(corrections.exploring.shape) if out is None else out
        recall(corrections.exploring, returns.value, discount, reward)
        names = situation.model.state_names
        places = ", ".join(names[h] if names else f"state {h}" for h in home)
        return Requirement(f"return to {places}", self.delta, reward, home, returns)

    def _states(self, situation: Situation) -> IntArray:
        if isinstance(self.home, str):
            state = situation.state if self.home == "current" else situation.start
            return np.array([state], np.int32)
        given = np.atleast_1d(np.asarray(self.home))
        if given.size == 0:
            raise InvalidProblemError("home is an empty set of states")
        if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
            raise InvalidProblemError(f"home {self.home!r} is not a state number, nor several")
        home = indices(
            given,
            "home",
            None,
            (0, situation.model.states),
            "n",
            InvalidProblemError,
        )
        return np.unique(home)


__all__ = ["Criterion", "Requirement", "ReturnHome", "Situation"]
