"""Line of sight, against a viewshed that follows each line in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from homeward.beliefs.sight import keep_visible, sees, views


def is_seen(heights: np.ndarray, start: tuple[int, int], mast: float, end: tuple[int, int]) -> bool:
    """Walk along the line in every place where it crosses a row or a column of centres."""
    (r0, c0), (r1, c1) = start, end
    top, low = Fraction(float(heights[start])) + Fraction(mast), Fraction(float(heights[end]))
    places = {Fraction(i, abs(r1 - r0)) for i in range(1, abs(r1 - r0))}
    places |= {Fraction(i, abs(c1 - c0)) for i in range(1, abs(c1 - c0))}
    for t in sorted(places):
        row, column = r0 + t * (r1 - r0), c0 + t * (c1 - c0)
        corners = {
            (r, c)
            for r in {row.__floor__(), row.__ceil__()}
            for c in {column.__floor__(), column.__ceil__()}
        }
        if any(np.isnan(heights[corner]) for corner in corners):
            return False
        ground = sum(
            (1 - abs(row - r)) * (1 - abs(column - c)) * Fraction(float(heights[r, c]))
            for r, c in corners
        )
        if ground > top + t * (low - top):
            return False
    return True


@pytest.mark.parametrize("seed", range(200))
def test_what_is_seen_equals_an_exact_viewshed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 12, size=2))
    heights = rng.integers(-8, 9, size=shape) / 4.0  # exact in binary, with many ties
    if seed % 4 == 0:
        heights[rng.random(shape) < 0.1] = np.nan
    row, column = (int(rng.integers(n)) for n in shape)
    heights[row, column] = 0.0
    mast = float(rng.integers(0, 9)) / 4.0
    for r in range(shape[0]):
        for c in range(shape[1]):
            if (r, c) == (row, column) or np.isnan(heights[r, c]):
                continue
            expected = is_seen(heights, (row, column), mast, (r, c))
            found = sees(heights, row, column, mast, r - row, c - column)
            if found != expected:  # a line that only touches the ground may be rounded
                above = is_seen(heights, (row, column), mast + 1e-9, (r, c))
                below = is_seen(heights, (row, column), mast - 1e-9, (r, c))
                assert above != below


def test_a_ridge_hides_the_valley_behind_it_and_a_mast_looks_over_it() -> None:
    heights = np.array([[0.0, 0.0, 2.0, 0.0, 0.0]])
    cells, distances = np.array([0, 1, 2, 3, 4]), np.arange(5.0)
    assert keep_visible(heights, 0, 0, 1.0, cells, distances) == 3
    assert list(cells[:3]) == [0, 1, 2]
    cells = np.array([0, 1, 2, 3, 4])
    assert keep_visible(heights, 0, 0, 4.0, cells, distances) == 4
    assert list(cells[:4]) == [0, 1, 2, 4]


def test_views_from_every_cell_agree_with_single_lines() -> None:
    heights = np.random.default_rng(1).normal(size=(6, 7))
    down, right = (a.ravel() for a in np.meshgrid(np.arange(-2, 3), np.arange(-2, 3)))
    seen = np.empty((42, 25), dtype=bool)
    views(heights, 0.5, down, right, seen)
    for s in range(42):
        row, column = divmod(s, 7)
        for i in range(25):
            r, c = row + down[i], column + right[i]
            inside = 0 <= r < 6 and 0 <= c < 7
            here = down[i] == right[i] == 0
            line = inside and (here or sees(heights, row, column, 0.5, down[i], right[i]))
            assert seen[s, i] == line


def test_missing_heights_hide_what_is_behind_them() -> None:
    heights = np.array([[0.0, np.nan, 0.0]])
    assert not sees(heights, 0, 0, 5.0, 0, 2)
    assert not sees(heights, 0, 0, 5.0, 0, 1)
