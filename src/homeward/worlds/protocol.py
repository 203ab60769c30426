"""The interface of a world: a simulator or a robot that takes actions and returns observations."""

from __future__ import annotations

from typing import Any, Protocol


class World(Protocol):
    """The interface between an explorer and its world."""

    @property
    def state(self) -> int:
        """The current state of the explorer."""

    @property
    def ended(self) -> bool:
        """Whether the process has ended: the explorer can take no further action."""

    def look(self) -> Any:
        """Return the observation in the current state, for `Belief.update`, before any action."""

    def act(self, action: int) -> Any:
        """Take an action and return the observation after it, for `Belief.update`.

        A run on a `DirichletBelief` needs the action's `Transition`, alone or with visits.
        """
