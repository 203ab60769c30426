from __future__ import annotations

import numpy as np
import pytest

from homeward.beliefs import DirichletBelief, FiniteBelief, Transition, Visit
from homeward.bonuses import MbieEb, NearBayesian, RMax
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


@pytest.mark.parametrize("bonus", [RMax(), NearBayesian(), MbieEb()])
def test_a_bonus_leaves_the_belief_as_it_was(bonus: RMax | NearBayesian | MbieEb) -> None:
    before = SEEN.counts.copy(), SEEN.visited.copy()
    bonus(SEEN)
    assert (SEEN.counts == before[0]).all()
    assert (SEEN.visited == before[1]).all()
