from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import homeward as hw
from homeward.errors import InvalidProblemError

MODEL = hw.Moves(np.array([[0, 1], [1, 0]]), np.array([[1.0, 0.5], [1.0, 0.5]]))
BELIEF = hw.FiniteBelief([MODEL])


def test_our_worlds_pass() -> None:
    report = hw.check_world(lambda: hw.ModelWorld(MODEL, 0, 3), BELIEF)
    assert "observations" in report.checked
    grid = hw.HeightMap.from_text("12\n3b")
    hw.check_world(lambda: hw.HeightGridWorld(grid), grid.belief())


class Wrong(hw.ModelWorld):
    """A world of which subclasses break one thing."""

    def __init__(self) -> None:
        super().__init__(MODEL)


class Noisy(Wrong):
    def look(self) -> Any:
        return self._rng.normal()


class Deaf(hw.FiniteBelief):
    """A belief that learns nothing from a noisy look."""

    def update(self, observation: Any) -> Any:
        return self if isinstance(observation, float) else super().update(observation)


def test_a_sensor_may_draw_noise_at_each_look() -> None:
    hw.check_world(Noisy, Deaf([MODEL]))


class Unrepeatable(Wrong):
    def __init__(self) -> None:
        super().__init__()
        self._rng = np.random.default_rng()


class Lying(Wrong):
    def act(self, action: Any) -> Any:
        seen = super().act(action)
        return hw.Transition(seen.state, seen.action, 0)


class Impossible(Wrong):
    def act(self, action: Any) -> Any:
        before, self.state = self.state, 1
        return hw.Transition(before, 0, 1)


class Ended(Wrong):
    ended = property(lambda self: True, lambda self, value: None)


class Lost(Wrong):
    def act(self, action: Any) -> Any:
        self.state = 7
        return hw.Visit(1)


class Restless(Wrong):
    def look(self) -> Any:
        self.state = 1 - self.state
        return hw.Visit(self.state)


class Silent(Wrong):
    def act(self, action: Any) -> Any:
        super().act(action)


class Nothing:
    state = 0


@pytest.mark.parametrize(
    ("world", "code"),
    [
        (Unrepeatable, "world"),
        (Lying, "world"),
        (Impossible, "world"),
        (Ended, "world"),
        (Lost, "world"),
        (Restless, "world"),
        (Silent, "world"),
        (Nothing, "protocol"),
    ],
)
def test_a_world_that_breaks_its_protocol_is_refused(world: Any, code: str) -> None:
    with pytest.raises(InvalidProblemError, match=rf"\[{code}\] .*; expected"):
        hw.check_world(world, BELIEF, steps=100)


def test_an_observation_that_the_belief_excludes_is_refused() -> None:
    certain = hw.FiniteBelief([MODEL.with_success(np.ones((2, 2)))])
    with pytest.raises(InvalidProblemError, match=r"\[impossible\] act\(1\)"):
        hw.check_world(Wrong, certain)


def test_a_world_instead_of_a_function_that_makes_it_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="a function without arguments that returns"):
        hw.check_world(hw.ModelWorld(MODEL), BELIEF)  # type: ignore[arg-type]
