"""Terrain beliefs whose moves have limits of their own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from homeward.beliefs import TerrainBelief, Transition
from homeward.beliefs.grid_graph import STEPS, grid_graph
from homeward.errors import InvalidBeliefError

EAST, WEST = 3, 7


def drawn(seed: int, shape: tuple[int, int] = (3, 4)) -> TerrainBelief:
    rng = np.random.default_rng(seed)
    states = shape[0] * shape[1]
    drop, rise = (rng.normal(1.0, 1.0, (states, len(STEPS))) for _ in range(2))
    rise = np.maximum(rise, -drop)
    shut = rng.random(rise.shape) < 0.2
    drop[shut] = rise[shut] = -np.inf
    return TerrainBelief(
        shape,
        rng.normal(size=states),
        rng.uniform(0.1, 1.0, states),
        blocked=rng.random(states) < 0.1,
        limits=(drop, rise),
    )


@given(seed=st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_success_is_the_probability_that_the_rise_is_within_the_limits(seed: int) -> None:
    belief = drawn(seed)
    assert belief.limits is not None
    drop, rise = belief.limits
    dest, success = grid_graph(*belief.shape).dest, belief.mean().success
    for s in range(dest.shape[0]):
        for a in range(1, dest.shape[1]):
            t = dest[s, a]
            if t == s:
                continue
            spread = np.sqrt(belief.variance[s] + belief.variance[t])
            mean = belief.height[t] - belief.height[s]
            if belief.blocked[s] or belief.blocked[t] or rise[s, a] == -np.inf:
                assert success[s, a] == 0.0
                continue
            expected = norm.cdf(rise[s, a], mean, spread) - norm.cdf(-drop[s, a], mean, spread)
            assert success[s, a] == pytest.approx(expected, abs=1e-12)


def test_worlds_agree_with_the_success_probabilities() -> None:
    belief, rng = drawn(5), np.random.default_rng(0)
    counted = sum(belief.sample(rng).success for _ in range(4000)) / 4000
    assert np.abs(counted - belief.mean().success).max() < 0.04


def test_the_slopes_between_centres_are_limits_too() -> None:
    plain = TerrainBelief((3, 4), np.arange(12.0), np.ones(12), 20.0, 5.0, 45.0)
    length = 20.0 * np.hypot(*np.array(STEPS).T)
    drop, rise = (np.tile(np.tan(np.radians(slope)) * length, (12, 1)) for slope in (45.0, 5.0))
    same = TerrainBelief((3, 4), np.arange(12.0), np.ones(12), 20.0, limits=(drop, rise))
    assert np.array_equal(plain.mean().success, same.mean().success)


def test_a_move_that_worked_tells_of_its_reverse_only_if_the_limits_mirror() -> None:
    drop, rise = np.full((2, 9), 1.0), np.full((2, 9), 2.0)
    one = TerrainBelief((1, 2), np.zeros(2), np.ones(2), limits=(drop, rise))
    assert len(one.update(Transition(0, EAST, 1)).attempts) == 1
    rise[1, WEST], drop[1, WEST] = 1.0, 2.0
    both = TerrainBelief((1, 2), np.zeros(2), np.ones(2), limits=(drop, rise))
    assert len(both.update(Transition(0, EAST, 1)).attempts) == 2


def test_limits_of_another_shape_or_without_a_number_are_refused() -> None:
    with pytest.raises(InvalidBeliefError, match="largest drop"):
        TerrainBelief((1, 2), np.zeros(2), np.ones(2), limits=(np.zeros((2, 8)), np.zeros((2, 9))))
    bad = np.full((2, 9), np.nan)
    with pytest.raises(InvalidBeliefError, match="largest rise"):
        TerrainBelief((1, 2), np.zeros(2), np.ones(2), limits=(np.zeros((2, 9)), bad))


@pytest.mark.filterwarnings("error")
def test_a_move_without_a_way_stays_impossible_beside_an_informative_attempt() -> None:
    drop, rise = np.full((3, 9), 1.0), np.full((3, 9), 1.2)
    drop[1, EAST] = rise[1, EAST] = -np.inf
    belief = TerrainBelief((1, 3), np.zeros(3), np.ones(3), limits=(drop, rise))
    tried = belief.update(Transition(0, EAST, 0))
    assert len(tried.least_blocked()[0])
    low, high = tried.success_bounds()
    assert low[1, EAST] == high[1, EAST] == 0.0
    assert 0.0 <= low[2, WEST] <= high[2, WEST] <= 1.0
