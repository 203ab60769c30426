"""A world outside of the program: a real vehicle, which answers by reports."""

from __future__ import annotations

from typing import Any

from homeward.arrays import BoolArray
from homeward.errors import InvalidInputError


class Outside:
    """A world outside of the program: after an action it returns the reported observation.

    The explorer starts in `state`; states in the mask `final` [S], if given, end the process.
    """

    def __init__(self, state: int, final: BoolArray | None = None) -> None:
        self.start = self.state = state
        self.final = final
        self.first: Any = None  # the first observation; None until it is reported
        self._answer: tuple[int, Any] | None = None  # next state and observation

    @property
    def ended(self) -> bool:
        """Whether the vehicle is in a state that ends the process."""
        return self.final is not None and bool(self.final[self.state])

    def look(self) -> Any:
        """Return the first observation; raise if nothing was reported yet."""
        if self.first is None:
            raise InvalidInputError("nothing was reported yet: report a first look")
        return self.first

    def report(self, state: int, observation: Any) -> None:
        """Set the state and the observation after the next action."""
        self._answer = state, observation

    def act(self, action: int) -> Any:
        """Return the reported observation; raise if there is none."""
        if self._answer is None:
            raise InvalidInputError(f"the outcome of action {action} was not reported")
        (self.state, observation), self._answer = self._answer, None
        return observation
