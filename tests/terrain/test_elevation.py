from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from homeward.errors import InvalidInputError
from homeward.terrain import Elevation

PLACE = (2.0, 0.0, 10.0, 0.0, -3.0, 20.0)


def test_a_terrain_model_says_its_shape_and_its_pixels() -> None:
    terrain = Elevation(np.zeros((4, 5)), PLACE)
    assert terrain.shape == (4, 5)
    assert terrain.pixel == (3.0, 2.0)


def test_pixels_of_a_map_in_feet_are_given_in_metres() -> None:
    terrain = Elevation(np.zeros((4, 5)), PLACE, unit=0.3048)
    assert terrain.pixel == pytest.approx((0.9144, 0.6096))


def test_a_turned_map_has_pixels_of_the_same_size() -> None:
    terrain = Elevation(np.zeros((4, 5)), (1.6, 2.4, 0.0, 1.2, -3.2, 0.0))
    assert terrain.pixel == pytest.approx((4.0, 2.0))


def test_nan_is_no_data_and_not_an_error() -> None:
    assert np.isnan(Elevation(np.full((2, 2), np.nan), PLACE).heights).all()


def test_heights_can_not_be_written_from_either_side() -> None:
    mine = np.zeros((2, 2))
    terrain = Elevation(mine, PLACE)
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
