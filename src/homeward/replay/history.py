"""The beliefs of a recorded run after any number of its steps, without planning."""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.errors import InvalidFileError
from homeward.replay.checkpoints import Checkpoints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.beliefs import Belief
    from homeward.replay.log_reader import LogReader
    from homeward.replay.scene import Scene
    from homeward.runs import Setup

SPACING = 8
"""Initial number of steps between two checkpoints."""

MAX_BYTES = 160 << 20
"""Maximum size of the checkpoints of one run, in bytes."""


class History:
    """What a run learned: the belief after each step, and how much was known.

    Where the scene can place the world, the recorded actions are taken in it again. Otherwise the
    recorded observations, of these `types`, are read from the log.
    """

    def __init__(
        self,
        setup: Setup,
        scene: Scene,
        log: LogReader,
        types: Sequence[type] = (),
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.setup, self.scene, self.log, self.types = setup, scene, log, types
        self.start = setup.world.state
        seen = setup.world.look()
        self._last = setup.belief.update(seen)
        self.known = [scene.measure(seen, self._last, 0.0)]  # [steps + 1]
        self.beliefs = Checkpoints(
            self._last,
            lambda step, before: self._learn(step, before)[1],
            _bytes,
            SPACING,
            max_bytes,
        )

    @property
    def reached(self) -> int:
        """The last step that was learned."""
        return len(self.known) - 1

    def advance(self, step: int, seconds: float) -> bool:
        """Learn up to a step, within a time in seconds; return whether it was reached."""
        until = time.monotonic() + seconds
        while self.reached < step:
            if time.monotonic() > until:
                return False
            number = self.reached + 1
            observation, self._last = self._learn(number, self._last)
            self.known.append(self.scene.measure(observation, self._last, self.known[-1]))
            self.beliefs.keep(number, self._last)
        return True

    def at(self, step: int) -> Belief:
        """Return a copy of the belief after a number of steps, which is freed with its caches."""
        self.advance(step, float("inf"))
        return copy.copy(self._last if step == self.reached else self.beliefs.at(step))

    def _learn(self, number: int, belief: Belief) -> tuple[Any, Belief]:
        """Take a recorded step again and learn from it."""
        log, world = self.log, self.setup.world
        if self.scene.place is None:
            observation = log.observation(number, self.types)
            return observation, belief.update(observation)
        before, after = log.states[number - 1], log.nexts[number - 1]
        self.scene.place(before, number - 1)
        observation = world.act(log.actions[number - 1])
        if world.state != after:
            raise InvalidFileError(
                f"{log.path}: step {number} leads to {after} and now comes out at {world.state}"
            )
        return observation, belief.update(observation)


def _bytes(belief: Belief, before: Belief | None) -> int:
    """Return the bytes of a belief's arrays that it does not share with the one before."""
    shared = {id(value) for value in _values(before)}
    return sum(
        value.nbytes
        for value in _values(belief)
        if isinstance(value, np.ndarray) and id(value) not in shared
    )


def _values(belief: Any) -> list[Any]:
    """Return the values of a belief's attributes, with or without slots."""
    if hasattr(belief, "__dict__"):
        return list(vars(belief).values())
    return [getattr(belief, name, None) for name in getattr(belief, "__slots__", ())]
