"""The beliefs of a recorded run after any number of its steps, without planning.

The recorded actions are taken in the world again. Every so many steps the belief is kept; from
there any later one is a few steps away. When what is kept takes more room than there is, every
other of them is dropped, and from then on twice as many steps lie between two.
"""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.errors import InvalidFileError

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.replay.log_reader import LogTail
    from homeward.runs import Setup
    from homeward.web.scenes import Scene

SPACING = 8
"""Steps between two beliefs that are kept, while there is room."""

ROOM = 160 << 20
"""Bytes that the kept beliefs of one run may take."""


class History:
    """A run as it was learned: the belief after each step, and how much was known."""

    def __init__(self, setup: Setup, scene: Scene, tail: LogTail, room: int = ROOM) -> None:
        self.setup, self.scene, self.tail, self.room = setup, scene, tail, room
        self.start = setup.world.state
        seen = setup.world.look()
        first = setup.belief.update(seen)
        self.spacing = SPACING
        self.kept: dict[int, Belief] = {0: first}
        self.known = [scene.measure(seen, first, 0.0)]  # [steps + 1]
        self._last = first
        self._size = _size(first, None)
        self._recent: tuple[int, Belief] = (0, first)

    @property
    def reached(self) -> int:
        """Up to which step it was learned."""
        return len(self.known) - 1

    def advance(self, step: int, seconds: float) -> bool:
        """Learn on up to a step, for so long at most; tell whether it was reached."""
        until = time.monotonic() + seconds
        while self.reached < step:
            if time.monotonic() > until:
                return False
            number = self.reached + 1
            observation, self._last = self._learn(number, self._last)
            self.known.append(self.scene.measure(observation, self._last, self.known[-1]))
            if number % self.spacing == 0:
                self._keep(number, self._last)
        return True

    def at(self, step: int) -> Belief:
        """Give the belief after so many steps; a copy, so that what is made of it goes with it."""
        self.advance(step, float("inf"))
        if step == self.reached:
            return copy.copy(self._last)
        first = step - step % self.spacing
        if first < self._recent[0] <= step:
            first, belief = self._recent
        else:
            belief = self.kept[first]
        for number in range(first + 1, step + 1):
            _, belief = self._learn(number, belief)
        self._recent = step, belief
        return copy.copy(belief)

    def _learn(self, number: int, belief: Belief) -> tuple[Any, Belief]:
        """Take a recorded step again and learn from it."""
        tail, world = self.tail, self.setup.world
        before, after = tail.states[number - 1], tail.nexts[number - 1]
        self.scene.place(before, number - 1)
        observation = world.act(tail.actions[number - 1])
        if world.state != after:
            raise InvalidFileError(
                f"{tail.path}: step {number} leads to {after} and now comes out at {world.state}"
            )
        return observation, belief.update(observation)

    def _keep(self, number: int, belief: Belief) -> None:
        self._size += _size(belief, self.kept[number - self.spacing])
        self.kept[number] = belief
        while self._size > self.room and len(self.kept) > 2:
            self.spacing *= 2
            self.kept = {n: b for n, b in self.kept.items() if n % self.spacing == 0}
            before: Belief | None = None
            self._size = 0
            for there in self.kept.values():
                self._size += _size(there, before)
                before = there


def _size(belief: Belief, before: Belief | None) -> int:
    """Give the bytes of a belief's arrays that are not those of the one before."""
    shared = set() if before is None else {id(value) for value in vars(before).values()}
    return sum(
        value.nbytes
        for value in vars(belief).values()
        if isinstance(value, np.ndarray) and id(value) not in shared
    )
