"""Return criteria: after the recall, the explorer reaches home with probability at least δ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from homeward.arrays import FloatArray, IntArray, named_index
from homeward.beliefs.corrections import Correction
from homeward.errors import InvalidProblemError
from homeward.models import Model, Moves
from homeward.safety.criterion import Requirement, Situation, check_level, check_steps
from homeward.solvers import solve_return, solve_return_within

Home = Literal["current", "start"] | int | str | Sequence[int | str] | np.ndarray
"""Home: the current state, the start of the run, a state, or any one of several states.

States are given by number or name. A state that is named "start" or "current" needs a list.
"""


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
        check_level(self.delta)

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
        check_level(self.delta)

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the requirement: its total bounds the probability of being home in time."""
        return _require(self.delta, self.home, self.steps, situation, out)


def return_to_each(
    bases: int | str | Sequence[int | str] | IntArray, delta: float, within: int | None = None
) -> list[ReturnHome | ReturnWithin]:
    """Return one criterion per base: each base can be reached with probability at least δ.

    If reaching any one base is enough, use ``ReturnHome(delta, bases)``. `within` is the largest
    number of steps of a return; None for any number.
    """
    given = _listed(bases, "the bases")
    homes: list[Home] = [[base] if isinstance(base, str) else base for base in given]
    if not homes:
        raise InvalidProblemError("the list of bases is empty")
    if within is None:
        return [ReturnHome(delta, home) for home in homes]
    return [ReturnWithin(within, delta, home) for home in homes]


def return_name(model: Model, home: IntArray, within: int | None) -> str:
    """Return the name of a return criterion with states `home` [n] and the limit `within`."""
    name = f"return to {', '.join(model.state_name(h) for h in home.tolist())}"
    return name if within is None else f"{name} within {within} step{'s' * (within != 1)}"


def _require(
    delta: float, given: Home, within: int | None, situation: Situation, out: FloatArray | None
) -> Requirement:
    """Return the requirement to reach the home `given` with probability at least `delta`.

    `within` is the largest number of steps of a return; None for any number.
    """
    model, corrections = situation.model, situation.corrections
    if isinstance(given, str) and given == "current":
        given = situation.state
    home = home_states(given, model, situation.start)
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
        name, delta, reward, home, returns, returns.value, final=final, within=within, kind="return"
    )


def home_states(given: Home, model: Model, start: int) -> IntArray:
    """Return the states [n] of the home `given`, ascending; raise if one does not exist.

    `start` is the first state of the run, for the home "start".
    """
    error = InvalidProblemError
    if isinstance(given, str) and given == "start":
        given = start
    names, count = model.state_names, model.states
    states = [named_index(s, names, count, "home", error) for s in _listed(given, "home")]
    if not states:
        raise error("home is an empty set of states")
    return np.unique(np.array(states, np.int32))


def _listed(states: Any, what: str) -> list[int | str]:
    """Return one state or several states as a list of numbers and names, which may be empty."""
    if isinstance(states, str):
        return [states]
    if isinstance(states, Sequence) and any(isinstance(state, str) for state in states):
        return list(states)
    try:
        given = np.atleast_1d(np.asarray(states))
    except ValueError as cause:
        raise InvalidProblemError(f"{what}: {states!r} is not a list of states") from cause
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InvalidProblemError(f"{what}: {states!r} is not a state number or a list of them")
    return list(given.tolist())
