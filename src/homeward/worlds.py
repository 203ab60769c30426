"""Worlds: the real thing, simulated or real, that answers an action with an observation."""

from __future__ import annotations

from typing import Any, Protocol


class World(Protocol):
    """What an explorer needs of a world."""

    @property
    def state(self) -> int:
        """Where the explorer is."""

    @property
    def ended(self) -> bool:
        """Whether the explorer is lost: nothing it does matters any more."""

    def look(self) -> Any:
        """Return what can be seen before the first action, as an observation for the belief."""

    def act(self, action: int) -> Any:
        """Take an action and return what was observed."""
