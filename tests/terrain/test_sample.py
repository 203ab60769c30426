from __future__ import annotations

import numpy as np
import pytest

from homeward.terrain import sample_terrain


def test_the_sample_is_the_hills_around_jacksboro() -> None:
    terrain = sample_terrain()
    assert terrain.shape == (344, 403)
    assert (terrain.heights.min(), terrain.heights.max()) == (236.0, 1076.0)
    assert not np.isnan(terrain.heights).any()


def test_its_pixels_are_three_arc_seconds_in_metres() -> None:
    height, width = sample_terrain().pixel
    assert height == pytest.approx(6_371_000 * 2 * np.pi / 360 / 1200, rel=1e-6)
    assert width / height == pytest.approx(np.cos(np.radians(36.5896)), rel=1e-4)


def test_it_lies_with_its_south_west_corner_at_the_origin() -> None:
    terrain = sample_terrain()
    a, b, c, d, e, f = terrain.transform
    assert (b, c, d) == (0.0, 0.0, 0.0)
    assert f + e * 344 == pytest.approx(0.0, abs=1e-6)
    assert a > 0 > e
