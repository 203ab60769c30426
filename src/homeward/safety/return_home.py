"""Return home: when exploration is called off, a way home works with probability δ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from homeward.arrays import indices
from homeward.beliefs.corrections import Correction
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.safety.criterion import Requirement, check_level, check_steps, state_name
from homeward.solvers import solve_return, solve_return_within

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model
    from homeward.safety.criterion import Situation

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
        _check(self.delta, self.home)

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the bound on the probability of being out at recall and home afterwards."""
        return _require(self.delta, self.home, None, situation, out)


@dataclass(frozen=True, slots=True)
class ReturnWithin:
    """If exploration is called off, home is reached within `steps` with probability δ.

    Every attempt counts as a step. Home is as in `ReturnHome`.
    """

    steps: int
    delta: float
    home: Home = "start"

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", check_steps(self.steps, "the return"))
        _check(self.delta, self.home)

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the bound on the probability of being out at recall and home `steps` later."""
        return _require(self.delta, self.home, self.steps, situation, out)


def return_to_each(
    bases: Sequence[int] | IntArray, delta: float, within: int | None = None
) -> list[ReturnHome | ReturnWithin]:
    """Return one criterion per base: a way to every one of them, each with probability δ.

    For a way to any of them, give `ReturnHome` the list. `within` limits the steps.
    """
    given = _state_numbers(bases, "the bases")
    if given.size == 0:
        raise InvalidProblemError("the list of bases is empty")
    if within is None:
        return [ReturnHome(delta, int(base)) for base in given]
    return [ReturnWithin(within, delta, int(base)) for base in given]


def return_name(model: Model, home: IntArray, within: int | None) -> str:
    """Return the name of a criterion of a way home [n], `within` a number of steps if given."""
    name = f"return to {', '.join(state_name(model, h) for h in home.tolist())}"
    return name if within is None else f"{name} within {within} step{'s' * (within != 1)}"


def _check(delta: float, home: Any) -> None:
    check_level(delta)
    if isinstance(home, str) and home not in ("current", "start"):
        raise InvalidProblemError(f"home is {home!r}, expected 'current', 'start' or states")


def _require(
    delta: float, given: Home, within: int | None, situation: Situation, out: FloatArray | None
) -> Requirement:
    """Return the requirement of a way home, `within` a number of steps if that is given."""
    model, corrections = situation.model, situation.corrections
    if isinstance(given, str):
        home = np.array([situation.state if given == "current" else situation.start], np.int32)
    else:
        states = _state_numbers(given, "home")
        if states.size == 0:
            raise InvalidProblemError("home is an empty set of states")
        span = (0, model.states)
        home = np.unique(indices(states, "home", None, span, "n", InvalidProblemError))
    if within is None:
        returns = solve_return(model, corrections.returning, home)
    else:
        sigma: FloatArray | None = corrections.returning
        at_once = corrections.kind is Correction.MOVES and isinstance(model, Moves)
        if at_once:  # the moves correction assumes any number of attempts: it does not apply
            general = None if corrections.work_or_never else situation.general
            sigma = None if general is None else general()
        returns = solve_return_within(model, within, home, sigma, at_once=at_once)
    reward, final = situation.recall_reward(returns.value, corrections.exploring, out)
    name = return_name(model, home, within)
    return Requirement(
        name, delta, reward, home, returns, returns.value, final=final, within=within
    )


def _state_numbers(states: ArrayLike, what: str) -> IntArray:
    """Return state numbers as an array [n], which may be empty; their range is not checked."""
    try:
        given = np.atleast_1d(np.asarray(states))
    except ValueError as cause:
        raise InvalidProblemError(f"{what}: {states!r} are not state numbers") from cause
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InvalidProblemError(f"{what}: {states!r} is not a state number or a list of them")
    return given
