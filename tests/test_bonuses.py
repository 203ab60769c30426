from __future__ import annotations

import numpy as np
import pytest

from homeward.beliefs import (
    DirichletBelief,
    FiniteBelief,
    HeightBelief,
    Reveal,
    Transition,
    Visit,
)
from homeward.bonuses import MbieEb, NearBayesian, RMax, Uncover
from homeward.models import Moves

BELIEF = FiniteBelief([Moves(np.array([[1, 0], [0, 1]]), np.full((2, 2), 0.5))])
SEEN = BELIEF.update(Transition(0, 0, 0)).update(Transition(0, 0, 0)).update(Transition(0, 1, 0))


def test_r_max_pays_for_every_action_out_of_a_state_that_was_never_visited() -> None:
    assert RMax()(BELIEF.update(Visit(0))).tolist() == [[0.0, 0.0], [1.0, 1.0]]


def test_r_max_pays_what_it_is_told() -> None:
    assert RMax(2.5)(BELIEF).tolist() == [[2.5, 2.5], [2.5, 2.5]]


def test_r_max_pays_nothing_once_all_is_visited() -> None:
    assert not RMax()(BELIEF.update(Visit(0)).update(Visit(1))).any()


def test_near_bayesian_pays_less_with_every_observation() -> None:
    assert NearBayesian(6.0)(SEEN) == pytest.approx(np.array([[2.0, 3.0], [6.0, 6.0]]))


def test_mbie_eb_pays_by_the_root_of_the_observations() -> None:
    expected = np.array([[3.0 / np.sqrt(2.0), 3.0], [6.0, 6.0]])
    assert MbieEb(3.0)(SEEN) == pytest.approx(expected)


def test_mbie_eb_pays_what_it_is_told_for_the_unseen() -> None:
    assert MbieEb(3.0, unseen=5.0)(BELIEF).tolist() == [[15.0, 15.0], [15.0, 15.0]]


@pytest.mark.parametrize("bonus", [RMax(), NearBayesian(), MbieEb()])
def test_a_bonus_reads_any_belief_that_counts(bonus: RMax | NearBayesian | MbieEb) -> None:
    belief = DirichletBelief.independent(np.ones((3, 2, 3)))
    found = bonus(belief)
    assert found.shape == (3, 2)
    assert found.dtype == np.float64
    assert (found > 0.0).all()


def test_tied_places_share_their_counts() -> None:
    tied = DirichletBelief(
        np.array([[[1, 0]], [[0, 1]]]), np.array([[1.0, 1.0]]), np.zeros((2, 1), int)
    )
    assert NearBayesian()(tied.update(Transition(0, 0, 1))).tolist() == [[0.5], [0.5]]


def looked_around() -> HeightBelief:
    """Stand in the middle of a row of five squares of height 3 and see three of them."""
    belief = HeightBelief((1, 5))
    return belief.update(Reveal(np.array([1, 2, 3]), np.array([3, 3, 3]), 2))


def test_uncover_pays_for_what_a_move_is_expected_to_show() -> None:
    stay, east, west = 0, 3, 7
    bonus = Uncover()(looked_around())
    assert bonus[2, [stay, east, west]].tolist() == [0.0, 1.0, 1.0]
    assert bonus[3, east] == pytest.approx(0.8)  # the last square may be too high
    assert bonus[3, west] == 0.0
    assert bonus[:, [1, 2, 4, 5, 6, 8]].sum() == 0.0  # off the map


def test_uncover_pays_what_it_is_told() -> None:
    assert np.array_equal(Uncover(2.5)(looked_around()), 2.5 * Uncover()(looked_around()))


def test_uncover_pays_nothing_once_all_is_seen() -> None:
    belief = looked_around().update(Reveal(np.array([0, 4]), np.array([1, 5])))
    assert not Uncover()(belief).any()


def test_uncover_does_not_count_known_walls() -> None:
    walled = HeightBelief((1, 4), walls=np.array([0.0, 0.0, 0.0, 1.0]))
    belief = walled.update(Reveal(np.array([0, 1]), np.array([1, 1]), 0))
    assert Uncover()(belief)[0, 3] == 1.0


def test_where_a_visit_shows_all_near_bayesian_is_r_max() -> None:
    belief = looked_around()
    assert RMax()(belief).tolist() == [[1.0] * 9, [1.0] * 9, [0.0] * 9, [1.0] * 9, [1.0] * 9]
    for beta in (1.0, 3.0):
        assert np.array_equal(NearBayesian(beta)(belief), RMax(beta)(belief))


def test_mbie_eb_pays_nothing_where_a_visit_shows_all() -> None:
    assert MbieEb(3.0)(looked_around())[:, 0].tolist() == [6.0, 6.0, 0.0, 6.0, 6.0]


@pytest.mark.parametrize("bonus", [RMax(), NearBayesian(), MbieEb()])
def test_a_bonus_leaves_the_belief_as_it_was(bonus: RMax | NearBayesian | MbieEb) -> None:
    before = SEEN.counts.copy(), SEEN.visited.copy()
    bonus(SEEN)
    assert (SEEN.counts == before[0]).all()
    assert (SEEN.visited == before[1]).all()
