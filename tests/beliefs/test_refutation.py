from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from homeward.beliefs import (
    FiniteBelief,
    HeightBelief,
    Heights,
    Reveal,
    TerrainBelief,
    Transition,
    Visit,
)
from homeward.beliefs.refutation import SURELY_NOT, is_ruled_out, learned
from homeward.models import Moves, SparseMDP

EAST = 3


def ground(deviation: float, climb: float = 45.0) -> TerrainBelief:
    """Return two cells, 1 m apart, of equal mean height; a move fails beyond a rise of 1 m."""
    return TerrainBelief((1, 2), np.zeros(2), np.full(2, deviation**2 / 2), 1.0, climb, climb)


def two_ways(chance: float) -> FiniteBelief:
    """Return a belief in which the way from 0 to 1 works with this probability."""
    dest = np.array([[0, 1], [0, 1]])
    shut = Moves(dest, np.array([[1.0, 0.0], [1.0, 1.0]]))
    return FiniteBelief([Moves(dest, np.ones((2, 2))), shut], np.array([chance, 1.0 - chance]))


@pytest.mark.parametrize(
    ("chance", "refuted"),
    [(1.0, True), (1.0 - 1e-12, True), (1.0 - 1e-7, False), (0.9, False)],
)
def test_a_move_that_was_held_certain_and_fails_refutes_the_belief(
    chance: float, refuted: bool
) -> None:
    belief, failed = two_ways(chance), Transition(0, 1, 0)
    after, found = learned(belief, failed, failed)
    assert found is refuted
    assert (after is belief) is refuted
    assert after.mean().row(0, 1)[1] == (chance if refuted else 0.0)


@pytest.mark.parametrize(
    ("deviation", "refuted"), [(0.05, True), (0.16, True), (0.18, False), (0.3, False)]
)
def test_on_terrain_the_line_is_at_the_same_probability(deviation: float, refuted: bool) -> None:
    belief = ground(deviation)
    assert (belief.blocked_probability()[0, EAST] <= SURELY_NOT) is np.bool_(refuted)
    failed = Transition(0, EAST, 0)
    after, found = learned(belief, failed, failed)
    assert found is refuted
    assert len(after.attempts) == (0 if refuted else 2)


def test_a_move_that_was_ruled_out_and_works_refutes_the_belief() -> None:
    belief = TerrainBelief((1, 2), np.array([0.0, 9.0]), np.full(2, 1e-6), 1.0, 45.0, 45.0)
    assert learned(belief, Transition(0, EAST, 1))[1]
    assert not learned(belief, Transition(0, EAST, 0))[1]
    assert learned(belief, Transition(0, 0, 1))[1]  # to stay leads nowhere else


def test_what_is_measured_beside_a_move_that_refutes_is_learned_all_the_same() -> None:
    belief, failed = ground(0.01), Transition(0, EAST, 0)
    seen = Heights(np.array([1]), np.array([0.5]), np.array([1e-8]), moved=failed)
    after, refuted = learned(belief, seen, failed)
    assert refuted
    assert not len(after.attempts)
    assert after.height[1] == pytest.approx(0.5, abs=0.01)
    again, refuted = learned(after, [failed, seen], failed)
    assert refuted
    assert not len(again.attempts)


@pytest.mark.parametrize("first", [True, False])
def test_outcomes_that_contradict_each_other_are_taken_as_they_come(first: bool) -> None:
    belief = ground(0.9)
    outcomes = {True: Transition(0, EAST, 1), False: Transition(0, EAST, 0)}
    belief, refuted = learned(belief, outcomes[first])
    assert not refuted
    for worked in (not first, first, not first):
        after, refuted = learned(belief, outcomes[worked])
        assert refuted is (worked is not first)
        assert after.mean().success[0, EAST] == float(first)


def test_heights_that_are_exact_and_the_move_before_them_may_contradict_each_other() -> None:
    belief = HeightBelief((1, 2)).update(Reveal(np.array([0]), np.array([1]), 0))
    moved = Transition(0, EAST, 1)  # up four levels
    assert 0.0 < belief.success[0, EAST] < 1.0
    climbed = Reveal(np.array([1]), np.array([5]), 1)
    after, refuted = learned(belief, climbed, moved)
    assert refuted
    assert after.known[1] == 5
    assert not learned(belief, Reveal(np.array([1]), np.array([2]), 1), moved)[1]


def test_what_no_belief_can_say_of_a_general_model_is_refuted_by_an_impossible_row() -> None:
    rows = np.zeros((2, 1, 2))
    rows[0, 0, 1] = rows[1, 0, 0] = 1.0
    belief = FiniteBelief([SparseMDP.from_dense(rows)])
    assert learned(belief, Transition(0, 0, 0)) == (belief, True)
    assert not learned(belief, Transition(0, 0, 1))[1]
    assert not is_ruled_out(belief, Transition(0, 0, None))  # the process ended
    assert not learned(belief, Visit(0))[1]


def test_a_belief_that_only_bounds_a_probability_is_not_refuted_by_the_bound() -> None:
    class Bounded(TerrainBelief):
        def success_bounds(self) -> Any:
            return self._bounds[0], np.full((2, 9), 0.6)

    sure = Bounded((1, 2), np.array([0.0, 9.0]), np.full(2, 1e-6), 1.0, 45.0, 45.0)
    assert not is_ruled_out(sure, Transition(0, EAST, 1))
