"""Budgets of runs on beliefs of a user's own, whose claims may be bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pytest

import homeward as hw


@dataclass(frozen=True, eq=False)
class Own:
    """A belief with the four methods; planners can't look into its worlds."""

    inner: hw.FiniteBelief

    def mean(self) -> Any:
        return self.inner.mean()

    def correction(self) -> Any:
        return self.inner.correction()

    def update(self, observation: Any) -> Self:
        return replace(self, inner=self.inner.update(observation))

    def sample(self, rng: np.random.Generator) -> Any:
        return self.inner.sample(rng)


@dataclass(frozen=True, eq=False)
class Doubting(Own):
    """Knows only that the sure way back is blocked with at most `doubt`, once it is out there."""

    doubt: float = 0.0

    def blocked_probability(self) -> Any:
        blocked = self.inner.blocked_probability().copy()
        blocked[1, 0] = self.doubt * self.inner.visited[1]
        return blocked


def look_twice(belief: Any) -> np.ndarray:
    bonus = np.zeros((2, 3))
    bonus[0, 0], bonus[1, 2] = not belief.inner.visited[1], belief.inner.counts[1, 2] < 2
    return bonus


@pytest.mark.parametrize("doubt", [0.41, 0.5, 1.0])
def test_a_way_home_is_not_given_up_at_the_price_of_an_upper_bound_on_its_risk(
    doubt: float,
) -> None:
    # In the site 1: action 0 always leads home, action 1 in .6 of the worlds, action 2 stays.
    works = np.ones((2, 3))
    shut = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    worlds = [hw.Moves(np.array([[1, 1, 0], [0, 0, 1]]), success) for success in (works, shut)]
    belief = Doubting(hw.FiniteBelief(worlds, [0.6, 0.4]), doubt)
    planner = hw.Planner(look_twice, [hw.ReturnHome(0.9)])
    explorer = hw.Explorer(planner, belief, hw.ModelWorld(worlds[1], 0))
    for step in explorer.explore(5):
        (account,) = step.held.accounts  # type: ignore[union-attr]
        right = (0.6, 1.0)[int(account.way[1] == 0)]
        assert right >= 0.9, f"step {step.number} relies on a way home that works with {right}"
    assert explorer.steps == 3
