from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeward.errors import InvalidInputError
from homeward.terrain.transforms import (
    Transform,
    check_transform,
    coarsened,
    from_corner,
    moved,
    spacing,
    to_grid,
    to_map,
)

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
    checked = check_transform(transform, InvalidInputError)
    assert checked == transform
    origin = to_map(transform, 0, 0)
    down, across = (
        math.dist(origin, to_map(transform, 0, 1)),
        math.dist(origin, to_map(transform, 1, 0)),
    )
    assert spacing(checked) == pytest.approx((down, across), abs=1e-9)


@given(placed(), st.integers(-50, 50), st.integers(-50, 50), NUMBERS, NUMBERS)
def test_a_part_of_a_grid_lies_where_it_lay(
    transform: Transform, first: int, top: int, column: float, row: float
) -> None:
    part = moved(transform, first, top)
    expected = to_map(transform, first + column, top + row)
    assert to_map(part, column, row) == pytest.approx(expected, abs=1e-8)


@given(placed(), st.integers(1, 9), st.integers(1, 9), NUMBERS, NUMBERS)
def test_cells_of_several_pixels_lie_where_the_pixels_lie(
    transform: Transform, across: int, down: int, column: float, row: float
) -> None:
    expected = to_map(transform, column * across, row * down)
    assert to_map(coarsened(transform, across, down), column, row) == pytest.approx(
        expected, abs=1e-8
    )


def test_a_grid_of_its_own_counts_metres_from_the_south_west() -> None:
    transform = from_corner(2.0, 10)
    assert to_map(transform, 0, 10) == (0.0, 0.0)
    assert to_map(transform, 3, 0) == (6.0, 20.0)


def test_minus_zero_becomes_zero() -> None:
    checked = check_transform((1.0, -0.0, 5.0, -0.0, -1.0, 7.0), InvalidInputError)
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
        check_transform(given, InvalidInputError)
