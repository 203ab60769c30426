from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeward.errors import InvalidInputError
from homeward.terrain import Elevation
from homeward.terrain.elevation import (
    Georeference,
    Transform,
    check_transform,
    from_corner,
    to_grid,
    to_map,
    window_transform,
)

PLACE = (2.0, 0.0, 10.0, 0.0, -3.0, 20.0)


def test_a_terrain_model_says_its_shape_and_its_pixels() -> None:
    terrain = Elevation(np.zeros((4, 5)), transform=PLACE)
    assert terrain.shape == (4, 5)
    assert terrain.pixel == (3.0, 2.0)


def test_pixels_of_a_map_in_feet_are_given_in_metres() -> None:
    terrain = Elevation(np.zeros((4, 5)), transform=PLACE, unit=0.3048)
    assert terrain.pixel == pytest.approx((0.9144, 0.6096))


def test_a_turned_map_has_pixels_of_the_same_size() -> None:
    terrain = Elevation(np.zeros((4, 5)), transform=(1.6, 2.4, 0.0, 1.2, -3.2, 0.0))
    assert terrain.pixel == pytest.approx((4.0, 2.0))


def test_nan_is_no_data_and_not_an_error() -> None:
    assert np.isnan(Elevation(np.full((2, 2), np.nan), transform=PLACE).heights).all()


def test_heights_can_not_be_written_from_either_side() -> None:
    mine = np.zeros((2, 2))
    terrain = Elevation(mine, transform=PLACE)
    mine[0, 0] = 7.0
    assert terrain.heights[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        terrain.heights[0, 0] = 1.0


PARTS: dict[str, Any] = {"heights": np.zeros((2, 2)), "transform": PLACE}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"heights": np.zeros(4)}, r"shape \(4,\)"),
        ({"heights": np.zeros((0, 4))}, r"shape \(0, 4\)"),
        ({"heights": [["a"]]}, "not an array of numbers"),
        ({"heights": [[0.0, np.inf]]}, r"height at \(r=0, c=1\) is inf"),
        ({"heights": [[0.0, np.nan], [-np.inf, 0.0]]}, r"height at \(r=1, c=0\) is -inf"),
        ({"transform": (1.0, 1.0, 0.0, 0.0, 1.0, 0.0)}, "sheared"),
        ({"unit": 0.0}, "unit of the map is 0 m"),
        ({"unit": np.nan}, "unit of the map is nan"),
    ],
)
def test_what_is_no_terrain_model_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        Elevation(**(PARTS | change))


NUMBERS = st.floats(-1000, 1000)


@st.composite
def placed(draw: st.DrawFn) -> Transform:
    """Draw a grid that is turned by any angle, with rectangular pixels, mirrored or not."""
    angle, width, height = draw(st.floats(0, 6.3)), draw(st.floats(0.1, 9)), draw(st.floats(0.1, 9))
    mirror = draw(st.sampled_from([1.0, -1.0]))
    a, d = width * math.cos(angle), width * math.sin(angle)
    b, e = -mirror * height * math.sin(angle), mirror * height * math.cos(angle)
    return a, b, draw(NUMBERS), d, e, draw(NUMBERS)


@given(placed(), NUMBERS, NUMBERS)
def test_to_the_map_and_back_leads_to_the_same_point(
    transform: Transform, column: float, row: float
) -> None:
    there = to_grid(transform, *to_map(transform, column, row))
    assert there == pytest.approx((column, row), abs=1e-8)


@given(placed())
def test_a_turned_grid_is_let_pass_and_keeps_the_size_of_its_pixels(transform: Transform) -> None:
    checked = check_transform(transform)
    assert checked == transform
    origin = to_map(transform, 0, 0)
    down, across = (
        math.dist(origin, to_map(transform, 0, 1)),
        math.dist(origin, to_map(transform, 1, 0)),
    )
    assert Georeference(transform=checked).size == pytest.approx((down, across), abs=1e-9)


@given(placed(), st.integers(-50, 50), st.integers(-50, 50), NUMBERS, NUMBERS)
def test_a_part_of_a_grid_lies_where_it_lay(
    transform: Transform, first: int, top: int, column: float, row: float
) -> None:
    part = window_transform(transform, first, top)
    expected = to_map(transform, first + column, top + row)
    assert to_map(part, column, row) == pytest.approx(expected, abs=1e-8)


def test_a_grid_of_its_own_counts_metres_from_the_south_west() -> None:
    transform = from_corner(2.0, 10)
    assert to_map(transform, 0, 10) == (0.0, 0.0)
    assert to_map(transform, 3, 0) == (6.0, 20.0)


def test_minus_zero_becomes_zero() -> None:
    checked = check_transform((1.0, -0.0, 5.0, -0.0, -1.0, 7.0))
    assert "-0.0" not in repr(checked)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((1.0, 0.0, 0.0, 0.0, -1.0), "six numbers"),
        (None, "six numbers"),
        ((1.0, 0.0, 0.0, 0.0, "x", 0.0), "the transform's e is 'x'"),
        ((math.inf, 0.0, 0.0, 0.0, -1.0, 0.0), "not finite"),
        ((0.0, 0.0, 0.0, 0.0, -1.0, 0.0), "size 0"),
        ((1.0, 0.0, 0.0, 0.0, 0.0, 0.0), "size 0"),
        ((1.0, 0.5, 0.0, 0.0, -1.0, 0.0), "sheared"),
    ],
)
def test_what_places_no_grid_is_refused(given: object, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        check_transform(given)
