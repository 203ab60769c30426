"""Agents of a user: a function, classes with and without a memory, and wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from homeward import RMax
from homeward.agents.setup import PlanningAgent
from homeward.planning.ends import End

PLANS = PlanningAgent(paper=True, safe=False, bonus=RMax(2.0))
NUMBER = 7


def first_move(belief: Any, state: int, rng: np.random.Generator) -> int:
    """Take the first action that may leave the state, else wait."""
    return int(np.argmax(belief.mean().leaving(state) > 0.0))


class Counting:
    """Alternates between random actions and waiting; counts its steps in an attribute."""

    def __init__(self) -> None:
        self.count = 0

    def act(self, belief: Any, state: int, rng: np.random.Generator) -> int | End:
        self.count += 1
        if self.count > 30:
            return End.TOO_LITTLE
        return int(rng.integers(belief.mean().actions)) if self.count % 2 else 0


class Remembering(Counting):
    """The same, with a recorded memory; it was told where it starts."""

    start: int = -1

    def reset(self, belief: Any, state: int, rng: np.random.Generator) -> None:
        self.start = state

    def memory(self) -> Any:
        return {"count": self.count}

    def remember(self, memory: Any) -> None:
        self.count = memory["count"]


class Unwritable(Remembering):
    """Its memory is not JSON."""

    def memory(self) -> Any:
        return np.zeros(2)


class Wrong(Counting):
    """Returns what the class attribute says."""

    answer: Any = 99

    def act(self, belief: Any, state: int, rng: np.random.Generator) -> Any:
        return self.answer


class Moody(Counting):
    """Acts by what other objects of the class did: not deterministic given the seed."""

    calls = 0

    def act(self, belief: Any, state: int, rng: np.random.Generator) -> int:
        type(self).calls += 1
        return type(self).calls % 3


class Empty:
    """Has no method act."""
