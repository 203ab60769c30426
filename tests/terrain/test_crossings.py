"""Ways across the ground between cells, judged by a check that shares no code with the search."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeward.errors import InvalidInputError
from homeward.terrain import crossings as module
from homeward.terrain import synthetic_mars
from homeward.terrain.crossings import DrivingLimits, find_crossings
from lab.check.ground import follow

ROVER = DrivingLimits(20.0, 30.0, 20.0, 2.0)


def flat(rows: int, columns: int) -> np.ndarray:
    return np.zeros((rows, columns))


def works(found: module.Crossings, state: int, action: int) -> bool:
    return bool(min(found.up[state, action], found.down[state, action]) >= 0.0)


def test_on_flat_ground_every_move_keeps_the_whole_limits_as_margins() -> None:
    found = find_crossings(flat(30, 30), (1.0, 1.0), (10, 10), ROVER)
    middle = 4
    assert found.shape == (3, 3)
    assert found.anchor[middle] == 15 * 30 + 15
    assert np.allclose(found.up[middle, 1:], math.tan(math.radians(20.0)))
    assert np.allclose(found.down[middle, 1:], math.tan(math.radians(20.0)))  # roll is narrower


def test_a_steady_slope_is_climbed_below_the_limit_and_not_above_it() -> None:
    for degrees, expected in ((19.0, True), (21.0, False)):
        rising = np.tan(np.radians(degrees)) * np.arange(30.0)
        ground = np.broadcast_to(-rising[:, None], (30, 30))  # higher in the north
        found = find_crossings(ground, (1.0, 1.0), (10, 10), DrivingLimits(20.0, 30.0, 10.0, 2.0))
        assert works(found, 4, 1) is expected


def test_a_slope_beyond_the_limit_is_climbed_in_zigzag() -> None:
    ground = np.broadcast_to(np.tan(np.radians(25.0)) * -np.arange(40.0)[:, None], (40, 20))
    found = find_crossings(ground, (1.0, 1.0), (20, 20), DrivingLimits(20.0, 30.0, 20.0, 2.0))
    assert works(found, 1, 1)
    up, aside = np.diff(found.way(1, 1), axis=0).T
    assert aside[up < 0].all()  # no step straight up


def test_a_side_slope_is_limited_by_roll() -> None:
    ground = np.broadcast_to(np.tan(np.radians(25.0)) * np.arange(30.0), (30, 30))
    north, east = 1, 3
    tilted = find_crossings(ground, (1.0, 1.0), (10, 10), DrivingLimits(30.0, 30.0, 10.0, 2.0))
    assert not works(tilted, 4, north)
    assert works(tilted, 4, east)
    assert works(
        find_crossings(ground, (1.0, 1.0), (10, 10), DrivingLimits(30.0, 30.0, 26.0, 2.0)), 4, north
    )


def test_a_rock_is_driven_around_and_a_wall_is_not() -> None:
    ground = flat(10, 20)
    ground[4:7, 9:11] = 3.0
    found = find_crossings(ground, (1.0, 1.0), (10, 10), ROVER)
    assert works(found, 0, 3)
    way = found.way(0, 3)
    assert (ground[way[:, 0], way[:, 1]] == 0.0).all()
    assert way[:, 0].min() < 4  # not straight ahead
    ground[:, 9:11] = 3.0
    assert not works(find_crossings(ground, (1.0, 1.0), (10, 10), ROVER), 0, 3)


def test_missing_data_is_never_touched_by_a_wheel_and_corners_are_not_cut() -> None:
    ground = flat(20, 20)
    ground[9, 10] = np.nan  # beside the corner where four cells meet
    found = find_crossings(ground, (1.0, 1.0), (10, 10), DrivingLimits(20.0, 20.0, 20.0, 1.0))
    assert not works(found, 0, 4)
    assert works(found, 0, 3)
    way = found.way(0, 3)
    assert np.abs(way - [9, 10]).max(axis=1).min() >= 1


def test_a_longer_wheelbase_bridges_small_rocks() -> None:
    ground = flat(24, 48)
    ground[::3, ::3] = 0.3
    short = find_crossings(ground, (0.5, 0.5), (24, 24), DrivingLimits(15.0, 15.0, 15.0, 0.5))
    long = find_crossings(ground, (0.5, 0.5), (24, 24), DrivingLimits(15.0, 15.0, 15.0, 3.0))
    assert not works(short, 0, 3)
    assert works(long, 0, 3)


def test_cells_of_one_pixel_are_crossed_from_centre_to_centre() -> None:
    found = find_crossings(flat(5, 5), (1.0, 1.0), (1, 1), DrivingLimits(20.0, 20.0, 20.0, 1.0))
    assert works(found, 12, 3)
    assert found.way(12, 3).tolist() == [[2, 2], [2, 3]]


def test_bands_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    heights = synthetic_mars(3, 90, 120, 1.0).heights
    whole = find_crossings(heights, (1.0, 1.0), (7, 9), ROVER)
    monkeypatch.setattr(module, "BAND_PIXELS", 2000)
    parts = find_crossings(heights, (1.0, 1.0), (7, 9), ROVER)
    for name in ("anchor", "up", "down"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))


@given(
    seed=st.integers(0, 10_000),
    cell=st.integers(1, 12),
    climb=st.floats(5.0, 35.0),
    descend=st.floats(5.0, 35.0),
    roll=st.floats(5.0, 35.0),
    wheelbase=st.sampled_from([1.0, 1.37, 2.0, 3.0]),
)
@settings(max_examples=40, deadline=None)
def test_no_way_breaks_a_limit_under_the_wheels(
    seed: int, cell: int, climb: float, descend: float, roll: float, wheelbase: float
) -> None:
    rng = np.random.default_rng(seed)
    heights = synthetic_mars(seed, 48, 60, 1.0).heights + rng.normal(0.0, 0.05, (48, 60))
    heights[rng.random(heights.shape) < 0.01] = np.nan
    found = find_crossings(
        heights, (1.0, 1.0), (cell, cell), DrivingLimits(climb, descend, roll, wheelbase)
    )
    possible = np.argwhere(np.minimum(found.up, found.down) >= 0.0)
    for state, action in possible[rng.permutation(len(possible))[:25]]:
        way = found.way(int(state), int(action)).astype(float)
        driven = follow(way, heights, 1.0, (climb, descend, roll), wheelbase)
        assert driven.missing == 0
        assert driven.beyond == 0


@pytest.mark.parametrize("seed", range(6))
def test_over_the_usual_wheelbase_the_path_keeps_the_limits_around_turns_too(seed: int) -> None:
    heights = synthetic_mars(seed, 60, 60, 1.0).heights
    found = find_crossings(heights, (1.0, 1.0), (10, 10), ROVER)
    for state, action in np.argwhere(np.minimum(found.up, found.down) >= 0.0):
        way = found.way(int(state), int(action)).astype(float)
        driven = follow(way, heights, 1.0, (20.0, 30.0, 20.0), 2.0)
        assert (driven.beyond, driven.along, driven.missing) == (0, 0, 0)


def test_moves_are_as_long_and_as_steep_as_the_ways_that_are_driven() -> None:
    rng = np.random.default_rng(5)
    ground = rng.normal(0.0, 0.15, (24, 32))
    ground[8:12, 10:12] = np.nan
    found = find_crossings(ground, (1.0, 1.5), (8, 8), ROVER)
    length, up, down = found.lengths()
    assert (length[~np.isfinite(found.up)] == 0.0).all()
    for state, action in np.argwhere(np.isfinite(found.up))[::3]:
        if action:
            way = found.way(int(state), int(action))
            rise = np.diff(ground[tuple(way.T)])
            apart = np.hypot(*(np.diff(way, axis=0) * (1.0, 1.5)).T)
            assert length[state, action] == pytest.approx(apart.sum())
            assert up[state, action] == pytest.approx(rise[rise > 0.0].sum())
            assert down[state, action] == pytest.approx(-rise[rise < 0.0].sum())


def test_a_move_without_a_way_has_none() -> None:
    found = find_crossings(flat(5, 5), (1.0, 1.0), (5, 5), ROVER)
    with pytest.raises(InvalidInputError, match="no way"):
        found.way(0, 1)


@pytest.mark.parametrize(
    "limits", [(-1.0, 20.0, 20.0, 2.0), (20.0, 90.0, 20.0, 2.0), (20.0, 20.0, 20.0, 0.0)]
)
def test_a_vehicle_without_sense_is_refused(limits: tuple[float, float, float, float]) -> None:
    with pytest.raises(InvalidInputError):
        DrivingLimits(*limits)


def test_the_slope_of_a_cell_is_that_of_the_ground_where_the_vehicle_stands() -> None:
    row, column = np.mgrid[:20, :20]
    ground = 0.12 * row - 0.1 * column  # over pixels of 1 x 2 m: tangents of 0.12 and 0.05
    ground[4, 7:] = np.nan
    found = find_crossings(ground, (1.0, 2.0), (5, 5), ROVER)
    slopes = found.slopes()
    assert np.isfinite(slopes[found.anchor >= 0]).all()
    assert np.allclose(np.tan(np.radians(slopes[found.anchor >= 0])), 0.13)
    nowhere = np.full((5, 5), np.nan)
    assert np.isnan(find_crossings(nowhere, (1.0, 2.0), (5, 5), ROVER).slopes()).all()


def test_a_profile_has_the_length_of_its_moves_and_the_heights_under_the_path() -> None:
    ground = synthetic_mars(3, 60, 60, 1.0).heights
    found = find_crossings(ground, (1.0, 1.0), (10, 10), DrivingLimits(30.0, 30.0, 30.0, 2.0))
    path = [0, 1, 8, 8, 14]
    distance, height = found.profile(path)
    lengths = found.lengths()[0]
    moves = lengths[0, 3] + lengths[1, 4] + lengths[8, 5]  # E, SE, S
    assert distance[0] == 0.0
    assert math.isclose(distance[-1], moves)
    corners, _ = found.route(path)
    assert {*ground[*corners.astype(int).T]} <= {*height}
    carried, ends = found.profile([0, 28])
    assert carried.tolist() == [0.0, math.dist(*found.stands([0, 28]).T)]
    assert ends.tolist() == ground.ravel()[found.anchor[[0, 28]]].tolist()
