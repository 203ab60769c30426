"""Replay of a recorded run: its belief, plan, map layers and reasons at any step."""

from homeward.replay.moment import Moment
from homeward.replay.replay import InterruptedReplayError, NotRecordedError, Replay
from homeward.replay.scene import Scene

__all__ = ["InterruptedReplayError", "Moment", "NotRecordedError", "Replay", "Scene"]
