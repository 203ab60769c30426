from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeward.errors import InvalidInputError
from homeward.terrain import MapWindow, PixelWindow, Window, parse_window

NORTH_UP = (2.0, 0.0, 100.0, 0.0, -2.0, 500.0)
SOUTH_UP = (2.0, 0.0, 100.0, 0.0, 2.0, 500.0)
SHAPE = (50, 80)

WHOLE = st.integers(0, 10**6)
FINITE = st.floats(-1e9, 1e9)
WINDOWS = st.one_of(
    st.builds(PixelWindow, WHOLE, WHOLE, st.integers(1, 10**6), st.integers(1, 10**6)),
    st.builds(
        lambda x, y, w, h: MapWindow(x, y, x + w, y + h),
        FINITE,
        FINITE,
        st.floats(1, 1e6),
        st.floats(1, 1e6),
    ),
)


@given(WINDOWS)
def test_a_window_that_is_written_is_read_again(window: Window) -> None:
    assert parse_window(str(window)) == window


def test_the_two_forms() -> None:
    assert parse_window("100,200,30,40") == PixelWindow(100, 200, 30, 40)
    assert parse_window(" map:-1.5,2,3e2,4 ") == MapWindow(-1.5, 2.0, 300.0, 4.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not COLUMN,ROW,WIDTH,HEIGHT"),
        ("1,2,3", "is not COLUMN,ROW,WIDTH,HEIGHT"),
        ("1,2,3,4,5", "is not COLUMN,ROW,WIDTH,HEIGHT"),
        ("1,2,3,x", "invalid literal.*'x'"),
        ("1.5,2,3,4", "invalid literal.*'1.5'"),
        ("map:1,2,3", "is not COLUMN,ROW"),
        ("map:1,2,3,north", "'north'"),
        ("map:nan,2,3,4", "xmin is nan"),
        ("map:1,2,inf,4", "xmax is inf"),
        ("1,2,0,4", "has no size"),
        ("1,2,3,-4", "has no size"),
        ("map:1,2,1,4", "has no size"),
        ("map:1,4,3,2", "has no size"),
    ],
)
def test_text_that_is_no_window_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        parse_window(text)


def test_a_window_of_parts_of_pixels_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"window's row is 1.5"):
        PixelWindow(0, 1.5, 2, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["0,0,81,1", "0,0,1,51", "-1,0,2,2", "0,-1,2,2", "79,49,2,1"])
def test_a_window_that_passes_the_raster_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="but the raster has 80 columns and 50 rows"):
        parse_window(text).within(SHAPE, NORTH_UP)


def test_a_window_up_to_the_edges_is_let_pass() -> None:
    for window in (PixelWindow(0, 0, 80, 50), PixelWindow(79, 49, 1, 1)):
        assert window.within(SHAPE, NORTH_UP) == window


@given(st.integers(0, 79), st.integers(0, 49), st.data())
def test_a_map_window_takes_the_pixels_whose_centres_lie_in_it(
    column: int, row: int, data: st.DataObject
) -> None:
    pixels = PixelWindow(
        column, row, data.draw(st.integers(1, 80 - column)), data.draw(st.integers(1, 50 - row))
    )
    # Grow or shrink every side by less than half a pixel: the same centres are in it.
    left, right, top, bottom = (data.draw(st.floats(-0.49, 0.49)) for _ in range(4))
    for transform, sign in ((NORTH_UP, -1.0), (SOUTH_UP, 1.0)):
        ys = (500 + sign * 2 * (row + top), 500 + sign * 2 * (row + pixels.height + bottom))
        window = MapWindow(
            100 + 2 * (column + left), min(ys), 100 + 2 * (column + pixels.width + right), max(ys)
        )
        assert window.within(SHAPE, transform) == pixels


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("map:90,450,110,460", "leaves the raster"),
        ("map:100,300,110,460", "leaves the raster"),
        ("map:0,0,10,10", "leaves the raster"),
        ("map:100.1,450.1,100.2,450.2", "contains no pixel centre"),
    ],
)
def test_a_map_window_that_is_not_on_the_raster_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        parse_window(text).within(SHAPE, NORTH_UP)


def test_a_map_window_on_a_turned_raster_is_refused() -> None:
    turned = (math.sqrt(2), math.sqrt(2), 0.0, math.sqrt(2), -math.sqrt(2), 0.0)
    with pytest.raises(InvalidInputError, match=r"rotated: give the window .* in pixels"):
        MapWindow(0, 0, 1, 1).within(SHAPE, turned)
