from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import typeof

from homeward.beliefs import (
    DirichletBelief,
    FiniteBelief,
    HeightBelief,
    Reveal,
    Sensor,
    TerrainBelief,
    Transition,
    Visit,
)
from homeward.bonuses import (
    Information,
    InformationGain,
    MbieEb,
    NearBayesian,
    RMax,
    Uncover,
    once,
    unit_of,
    weights_of,
)
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.planning.gain_kernels import gain_at
from homeward.words import amount

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


def summed(belief: TerrainBelief, sensor: Sensor) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Add up variance over v(d) of every open cell in reach of each cell, as it is defined."""
    rows, columns = belief.shape
    at = np.array([(r * belief.size[0], c * belief.size[1]) for r, c in np.ndindex(rows, columns)])
    distance = np.hypot(*(at[:, None] - at).transpose(2, 0, 1))
    counted = (distance <= sensor.reach) & ~belief.blocked
    parts = np.where(counted, belief.variance / sensor.variance(distance), 0.0)
    return np.asarray(parts.sum(axis=1))


@given(
    st.sampled_from([(6, 9), (1, 40), (40, 1), (2, 2), (1, 1), (13, 11)]),
    st.sampled_from([20.0, (20.0, 5.0), (3.0, 20.0)]),
    st.sampled_from([None, 0.0, 19.9, 20.0, 40.0, 61.0, 100.0, 1e9]),
    st.integers(0, 2**32 - 1),
)
def test_information_is_the_sum_of_variance_over_error_in_reach(
    shape: tuple[int, int], cell: Any, reach: float | None, seed: int
) -> None:
    rng, states = np.random.default_rng(seed), shape[0] * shape[1]
    belief = TerrainBelief(
        shape,
        np.zeros(states),
        10.0 ** rng.uniform(-6.0, 1.0, states),
        cell,
        blocked=rng.random(states) < 0.2,
    )
    sensor = Sensor(reach)
    found = Information(sensor)(belief)
    assert found.shape == (states, 9)
    assert found == pytest.approx(np.repeat(summed(belief, sensor)[:, None], 9, axis=1), rel=1e-9)
    assert (found >= 0.0).all()
    assert Information(sensor)(belief).tobytes() == found.tobytes()
    assert not found.flags.writeable


def test_information_by_transforms_and_one_by_one_is_the_same() -> None:
    variance = np.random.default_rng(0).uniform(0.1, 1.0, (30, 40))
    for reach in (20.0, 60.0, 200.0, None):
        by_waves = weights_of((30, 40), (20.0, 10.0), Sensor(reach), nearby=0)
        plain = weights_of((30, 40), (20.0, 10.0), Sensor(reach), nearby=10**9)
        assert by_waves.transform is not None
        assert plain.transform is None
        assert by_waves.add_up(variance) == pytest.approx(plain.add_up(variance), rel=1e-12)


def test_the_weights_of_a_map_are_computed_once() -> None:
    one = weights_of((30, 40), (20.0, 10.0), Sensor(500.0))
    assert weights_of((30, 40), (20.0, 10.0), Sensor(500.0)) is one
    assert weights_of((30, 40), (10.0, 20.0), Sensor(500.0)) is not one


def test_information_needs_a_sensor() -> None:
    with pytest.raises(InvalidProblemError, match="the sensor is 200"):
        Information(200)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bonus", "one", "more"),
    [
        (InformationGain(Sensor(60.0)), "1 nat", "2.5 nats"),
        (Uncover(), "1 square", "2.5 squares"),
        (Uncover(3.0), "1 unit of bonus", "2.5 units of bonus"),
        (RMax(), "1 unit of bonus", "2.5 units of bonus"),
    ],
)
def test_a_gain_is_written_with_its_unit(bonus: Any, one: str, more: str) -> None:
    assert (amount(1.0, unit_of(bonus)), amount(2.5, unit_of(bonus))) == (one, more)


def type_of(value: Any) -> Any:
    return typeof(value)  # type: ignore[no-untyped-call]


def test_all_looks_have_one_type_so_that_searches_are_compiled_once() -> None:
    ground = TerrainBelief((3, 4), np.zeros(12), np.ones(12), (20.0, 20.0), 30.0, 30.0)
    looks = [
        Uncover().looks(HeightBelief((3, 4))),
        InformationGain(Sensor(60.0)).looks(ground),
        InformationGain(Sensor(60.0, mast=2.0)).looks(ground),
        once(RMax()(BELIEF)),
    ]
    assert len({type_of(each) for each in looks}) == 1


@given(st.sampled_from([None, 1.0, 0.1, 0.01]), st.integers(0, 2**32 - 1))
def test_a_gain_counts_down_to_the_deviation_to_be_known(known: float | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    variance = 10.0 ** rng.uniform(-6.0, 1.0, 42)
    blocked = rng.random(42) < 0.2
    belief = TerrainBelief((6, 7), np.zeros(42), variance, 20.0, blocked=blocked)
    sensor, least = Sensor(50.0), 0.0 if known is None else known**2
    bonus = InformationGain(sensor, known=known)
    at = np.array(list(np.ndindex(6, 7))) * 20.0
    distance = np.hypot(*(at[:, None] - at).transpose(2, 0, 1))
    after = 1.0 / (1.0 / variance + 1.0 / sensor.variance(distance))
    nats = 0.5 * np.log(variance / np.maximum(after, np.minimum(least, variance)))
    gain = np.where((distance <= 50.0) & ~blocked, nats, 0.0).sum(axis=1)
    np.testing.assert_allclose(bonus(belief)[:, 0], gain, rtol=1e-9, atol=1e-9)
    looks = bonus.looks(belief)
    assert looks.highest >= gain.max() - 1e-9
    assert looks.total == pytest.approx(looks._replace(remaining=np.nan).total)
    looked = np.zeros(84)
    joint = 0.0
    for state in rng.integers(0, 42, 30).tolist():  # no sequence of looks exceeds what is left
        joint += gain_at(state, looks, looked, 0)
        near = (distance[state] <= 50.0) & ~blocked
        looked[:42] += np.where(near, 1.0 / sensor.variance(distance[state]), 0.0)
    if known is not None:
        most = 0.5 * np.log(np.maximum(variance / least, 1.0))[~blocked].sum()
        assert joint <= most + 1e-9
    assert looks.left_from(np.ones(42, bool)) >= gain.max() - 1e-9
    assert looks.left_from(np.zeros(42, bool)) == 0.0


@pytest.mark.parametrize("known", [0.0, -1.0, np.inf, np.nan])
def test_a_deviation_to_be_known_is_above_0(known: float) -> None:
    with pytest.raises(InvalidProblemError, match="known is"):
        InformationGain(known=known)
