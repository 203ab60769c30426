"""A recorded run at any step: belief, plan, map layers and reasons."""

from homeward.replay.moment import Moment
from homeward.replay.replay import InterruptedReplayError, NotRecordedError, Replay
from homeward.replay.scene import Scene

__all__ = ["InterruptedReplayError", "Moment", "NotRecordedError", "Replay", "Scene"]
