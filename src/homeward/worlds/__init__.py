"""Worlds: the real thing, simulated or real, that answers an action with an observation."""

from homeward.worlds.protocol import World

__all__ = ["World"]
