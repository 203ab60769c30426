"""Beliefs and promises of a recorded run after any step, computed without planning.

`History` has the beliefs. `Decisions` has the `RunState` of a run whose level holds over all of it:
its promises with their return policies, and its proposal. Both keep checkpoints at regular steps
and compute other steps from the nearest earlier checkpoint.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from homeward.arrays import IntArray
from homeward.beliefs.refutation import absorbed
from homeward.errors import InvalidFileError
from homeward.planning.explorer import Rules
from homeward.planning.promise import RunState
from homeward.replay.moment import proving
from homeward.solvers import ReturnSolution, Status

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.replay.log_reader import LogReader
    from homeward.replay.moment import Moment
    from homeward.replay.scene import Scene
    from homeward.runs import Setup

T = TypeVar("T")
BELIEF_SPACING, HELD_SPACING = 8, 32  # initial number of steps between two checkpoints
MAX_BELIEF_BYTES, MAX_HELD_BYTES = 160 << 20, 64 << 20  # of the checkpoints of one run


class Checkpoints(Generic[T]):
    """Checkpoints of a sequence in which each value is computed from the previous value.

    `follow` returns the value after a step, given the step's number and the previous value; `first`
    is the value after 0 steps. `size` returns the bytes that a value takes in addition to the
    previous checkpoint. If the checkpoints take more than `max_bytes`, every other one is dropped,
    so the spacing doubles.
    """

    def __init__(
        self,
        first: T,
        follow: Callable[[int, T], T],
        size: Callable[[T, T | None], int],
        spacing: int,
        max_bytes: int,
    ) -> None:
        self.follow, self.size = follow, size
        self.spacing, self.max_bytes = spacing, max_bytes
        self.kept: dict[int, T] = {0: first}
        self.bytes = size(first, None)
        self._recent: tuple[int, T] = (0, first)

    def at(self, step: int) -> T:
        """Return the value after a number of steps, computed from the last value before it."""
        number = min(step - step % self.spacing, max(self.kept))
        value = self.kept[number]
        if number < self._recent[0] <= step:
            number, value = self._recent
        while number < step:
            number += 1
            value = self.follow(number, value)
            self.keep(number, value)
        self._recent = step, value
        return value

    def is_due(self, step: int) -> bool:
        """Return whether a step is the next checkpoint."""
        return step == max(self.kept) + self.spacing

    def keep(self, step: int, value: T) -> None:
        """Store the value after a step if this step is the next checkpoint."""
        last = max(self.kept)
        if not self.is_due(step):
            return
        self.bytes += self.size(value, self.kept[last])
        self.kept[step] = value
        while self.bytes > self.max_bytes and len(self.kept) > 2:
            self.spacing *= 2
            self.kept = {n: v for n, v in self.kept.items() if n % self.spacing == 0}
            values = list(self.kept.values())
            before = [None, *values[:-1]]
            self.bytes = sum(self.size(v, b) for v, b in zip(values, before, strict=True))


class History:
    """The belief of a run after each step, and how much was known, measured by `Scene.measure`.

    If the scene has a function `place`, the simulated world repeats the recorded actions. Otherwise
    observations are read from the log; `types` are their dataclasses.
    """

    def __init__(
        self,
        setup: Setup,
        scene: Scene,
        log: LogReader,
        types: Sequence[type] = (),
        max_bytes: int = MAX_BELIEF_BYTES,
    ) -> None:
        self.setup, self.scene, self.log, self.types = setup, scene, log, types
        self.start = setup.world.state
        observation = setup.world.look()
        self._last = setup.belief.update(observation)
        self.known = [scene.measure(observation, self._last, 0.0)]  # [steps + 1]
        self.beliefs = Checkpoints(
            self._last.copy(),
            lambda n, before: self._learn(n, before.copy())[1],
            _bytes,
            BELIEF_SPACING,
            max_bytes,
        )

    @property
    def reached(self) -> int:
        """The last step whose observation was used."""
        return len(self.known) - 1

    def advance(self, step: int, seconds: float) -> bool:
        """Update the belief up to a step, for at most `seconds`; return whether it was reached."""
        until = time.monotonic() + seconds
        while self.reached < step:
            if time.monotonic() > until:
                return False
            number = self.reached + 1
            observation, self._last = self._learn(number, self._last)
            self.known.append(self.scene.measure(observation, self._last, self.known[-1]))
            if self.beliefs.is_due(number):
                self.beliefs.keep(number, self._last.copy())
        return True

    def at(self, step: int) -> Belief:
        """Return the belief after a number of steps; a copy, so that its caches can be freed."""
        self.advance(step, float("inf"))
        belief = self._last if step == self.reached else self.beliefs.at(step)
        return copy.copy(belief.copy())

    def _learn(self, number: int, belief: Belief) -> tuple[Any, Belief]:
        """Repeat a recorded step; return its observation and the belief, updated in place."""
        log, world = self.log, self.setup.world
        if self.scene.place is None:
            observation = log.observation(number, self.types)
            return observation, absorbed(belief, observation, log.move(number)).belief
        before, after = log.states[number - 1], log.nexts[number - 1]
        self.scene.place(before, number - 1)
        observation = world.act(log.actions[number - 1])
        if world.state != after:
            raise InvalidFileError(
                f"{log.path}: step {number} ends in state {after}, but repeating it gives "
                f"{world.state}"
            )
        return observation, absorbed(belief, observation, log.move(number)).belief


class Decisions:
    """The `RunState` of a run after each step, and new `Rules` to repeat its decisions."""

    def __init__(self, setup: Setup, start: int, first: Belief, log: LogReader) -> None:
        self.setup, self.start, self.first = setup, start, first
        opened = self.rules().open(first, start)
        size = max(1, sum(promise.way.nbytes for promise in opened.promises))
        self.kept = Checkpoints(
            opened,
            lambda step, before: RunState.decode(log.holdings[step - 1], before),
            lambda run, before: size,
            HELD_SPACING,
            MAX_HELD_BYTES,
        )

    def rules(self, *, proven: bool = False) -> Rules:
        """Return new rules; used ones remember gains that are valid only for later steps.

        If `proven`, they have a correction that proves bounds, also for a run that has none.
        """
        planner = self.setup.planner
        if proven:
            planner = replace(planner, correction=proving(planner))
        return Rules.of(self.first, planner, self.start, self.setup.floor)

    def returns(self, moment: Moment) -> tuple[IntArray, ReturnSolution] | None:
        """Return the homes of the first return criterion, and the return policy at a moment.

        The policy prefers moves whose risk the run has already spent to safer moves. Return None if
        no criterion has a home.
        """
        rules = self.rules(proven=True)
        if not rules.goals:
            return None
        promise, homes = self.kept.at(moment.step).promises[0], rules.goals[0].homes
        if moment.refuted:
            value, policy = np.zeros(moment.model.states), promise.way
        else:
            given = moment.belief, promise, moment.state, None
            options = rules.returning[0].options(*given)
            value, policy = options.value(), options.policy()
        solution = ReturnSolution(value, policy, 0.0, Status.OPTIMAL, 1)
        return homes.astype(np.int32), solution


def _bytes(belief: Belief, before: Belief | None) -> int:
    """Return the bytes of the arrays of `belief` that `before` does not share."""

    def arrays(state: Any) -> dict[int, Any]:
        names = vars(state) if hasattr(state, "__dict__") else getattr(state, "__slots__", ())
        values = [getattr(state, name, None) for name in names]
        parts = [part for value in values if isinstance(value, tuple) for part in value]
        return {id(each): each for each in values + parts if isinstance(each, np.ndarray)}

    shared = arrays(before)
    return sum(value.nbytes for key, value in arrays(belief).items() if key not in shared)
