from __future__ import annotations

import numpy as np
import pytest

from homeward.terrain.sources import FILLS, holes


@pytest.mark.parametrize(
    "value", [np.nan, np.inf, -np.inf, -3.4028226550889045e38, 1.0001e30, 9.96921e36]
)
def test_special_numbers_are_no_heights(value: float) -> None:
    assert holes(np.array([[1.0, value, -8200.0]]), ()).tolist() == [[False, True, False]]


def test_fills_are_no_heights_where_they_are_asked_for() -> None:
    raw = np.array([-9999.0, -99999.0, -32767.0, -32768.0, -9998.0, 0.0])
    assert holes(raw, FILLS).tolist() == [True, True, True, True, False, False]
    assert not holes(raw, ()).any()
