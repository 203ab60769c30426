"""Return criteria: after the recall, the explorer reaches home with probability at least δ."""

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
"""Home: the current state, the start of the run, a state, or any one of several states."""


@dataclass(frozen=True, slots=True)
class ReturnHome:
    """After the recall, a return policy reaches home with probability at least δ.

    Home is the run's ``"start"``, any one of given states, or the ``"current"`` state of each plan
    as in the paper's Algorithm 1. A single plan guarantees δ for a recall that comes at each step
    with probability 1 − γ. An `Explorer` guarantees δ for a recall at any step of the whole run.
    """

    delta: float
    home: Home = "start"

    def __post_init__(self) -> None:
        _check(self.delta, self.home)

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the requirement: its total bounds the probability of reaching home from below."""
        return _require(self.delta, self.home, None, situation, out)


@dataclass(frozen=True, slots=True)
class ReturnWithin:
    """After the recall, a return policy reaches home within `steps` with probability at least δ.

    Every attempt counts as a step. Home is defined as in `ReturnHome`.
    """

    steps: int
    delta: float
    home: Home = "start"

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", check_steps(self.steps, "the return"))
        _check(self.delta, self.home)

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the requirement: its total bounds the probability of being home in time."""
        return _require(self.delta, self.home, self.steps, situation, out)


def return_to_each(
    bases: Sequence[int] | IntArray, delta: float, within: int | None = None
) -> list[ReturnHome | ReturnWithin]:
    """Return one criterion per base: each base can be reached with probability at least δ.

    If reaching any one base is enough, use ``ReturnHome(delta, bases)``. `within` is the largest
    number of steps of a return; None for any number.
    """
    given = _state_numbers(bases, "the bases")
    if given.size == 0:
        raise InvalidProblemError("the list of bases is empty")
    if within is None:
        return [ReturnHome(delta, int(base)) for base in given]
    return [ReturnWithin(within, delta, int(base)) for base in given]


def return_name(model: Model, home: IntArray, within: int | None) -> str:
    """Return the name of a return criterion with states `home` [n] and the limit `within`."""
    name = f"return to {', '.join(state_name(model, h) for h in home.tolist())}"
    return name if within is None else f"{name} within {within} step{'s' * (within != 1)}"


def _check(delta: float, home: Any) -> None:
    check_level(delta)
    if isinstance(home, str) and home not in ("current", "start"):
        raise InvalidProblemError(f"home is {home!r}, expected 'current', 'start' or states")


def _require(
    delta: float, given: Home, within: int | None, situation: Situation, out: FloatArray | None
) -> Requirement:
    """Return the requirement of a return to home, `within` a number of steps unless None."""
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
        if at_once:  # the moves correction does not apply: it assumes unlimited attempts
            general = None if corrections.work_or_never else situation.general
            sigma = None if general is None else general()
        returns = solve_return_within(model, within, home, sigma, at_once=at_once)
    reward, final = situation.recall_reward(returns.value, corrections.exploring, out)
    name = return_name(model, home, within)
    return Requirement(
        name, delta, reward, home, returns, returns.value, final=final, within=within
    )


def _state_numbers(states: ArrayLike, what: str) -> IntArray:
    """Return state numbers as an array [n]; it may be empty, and its range is not checked."""
    try:
        given = np.atleast_1d(np.asarray(states))
    except ValueError as cause:
        raise InvalidProblemError(f"{what}: {states!r} is not a list of state numbers") from cause
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InvalidProblemError(f"{what}: {states!r} is not a state number or a list of them")
    return given
