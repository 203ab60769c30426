"""Return home: whenever exploration is called off, a way home works with probability δ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from homeward.arrays import indices
from homeward.errors import InvalidProblemError
from homeward.safety.criterion import Requirement, check_level
from homeward.solvers import solve_return

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homeward.arrays import FloatArray, IntArray
    from homeward.safety.criterion import Situation
    from homeward.solvers import ReturnSolution

Home = Literal["current", "start"] | int | Sequence[int] | np.ndarray
"""Where to return to: the current state, the run's start, or any of the given states."""


@dataclass(frozen=True, slots=True)
class ReturnHome:
    """If exploration is called off, a way home exists that works with probability δ.

    Home is the run's ``"start"``, or any of given states, or the ``"current"`` state, set anew at
    each plan as in the paper's Algorithm 1. A single plan promises it for a recall that comes at
    any step with probability 1 − γ; an `Explorer` for the whole run.
    """

    delta: float
    home: Home = "start"

    def __post_init__(self) -> None:
        check_level(self.delta)
        check_home(self.home)

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the bound on the probability of being out at recall and home afterwards."""
        home = home_states(self.home, situation)
        returns = solve_return(situation.model, situation.corrections.returning, home)
        return require_return(self.delta, situation, home, returns, out)


def require_return(
    delta: float,
    situation: Situation,
    home: IntArray,
    returns: ReturnSolution,
    out: FloatArray | None,
    within: int | None = None,
) -> Requirement:
    """Return the requirement of a way home, `within` a number of steps if that is given."""
    name = f"return to {', '.join(situation.name_of(int(h)) for h in home)}"
    if within is not None:
        name += f" within {within} step{'s' * (within != 1)}"
    exploring = situation.corrections.exploring
    reward, final = situation.recall_reward(returns.value, exploring, out)
    return Requirement(
        name, delta, reward, home, returns, returns.value, final=final, within=within
    )


def check_home(home: Any) -> None:
    """Raise an error for a string other than ``"start"`` or ``"current"``."""
    if isinstance(home, str) and home not in ("current", "start"):
        raise InvalidProblemError(f"home is {home!r}, expected 'current', 'start' or states")


def home_states(home: ArrayLike, situation: Situation) -> IntArray:
    """Return the states [n] that count as home, in order."""
    if isinstance(home, str):
        state = situation.state if home == "current" else situation.start
        return np.array([state], np.int32)
    given = state_numbers(home, "home")
    if given.size == 0:
        raise InvalidProblemError("home is an empty set of states")
    states = (0, situation.model.states)
    return np.unique(indices(given, "home", None, states, "n", InvalidProblemError))


def state_numbers(states: ArrayLike, what: str) -> IntArray:
    """Return state numbers as an array [n], which may be empty; their range is not checked."""
    try:
        given = np.atleast_1d(np.asarray(states))
    except ValueError as cause:
        raise InvalidProblemError(f"{what}: {states!r} are not state numbers") from cause
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InvalidProblemError(f"{what}: {states!r} is not a state number or a list of them")
    return given
