"""Return within H steps of the recall, with probability δ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homeward.beliefs.corrections import Correction
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.safety.criterion import check_level, check_steps
from homeward.safety.return_home import (
    ReturnHome,
    check_home,
    home_states,
    require_return,
    state_numbers,
)
from homeward.solvers import solve_return_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.safety.criterion import Requirement, Situation
    from homeward.safety.return_home import Home


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
        check_level(self.delta)
        check_home(self.home)

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the bound on the probability of being out at recall and home `steps` later."""
        home = home_states(self.home, situation)
        model, corrections = situation.model, situation.corrections
        sigma: FloatArray | None = corrections.returning
        at_once = corrections.kind is Correction.MOVES and isinstance(model, Moves)
        if at_once:  # the moves correction assumes any number of attempts: it does not apply
            general = None if corrections.work_or_never else situation.general
            sigma = None if general is None else general()
        returns = solve_return_within(model, self.steps, home, sigma, at_once=at_once)
        return require_return(self.delta, situation, home, returns, out, self.steps)


def return_to_each(
    bases: Sequence[int] | IntArray, delta: float, within: int | None = None
) -> list[ReturnHome | ReturnWithin]:
    """Return one criterion per base: a way to every one of them, each with probability δ.

    For a way to any of them, give `ReturnHome` the list. `within` limits the steps.
    """
    given = state_numbers(bases, "the bases")
    if given.size == 0:
        raise InvalidProblemError("the list of bases is empty")
    if within is None:
        return [ReturnHome(delta, int(base)) for base in given]
    return [ReturnWithin(within, delta, int(base)) for base in given]
