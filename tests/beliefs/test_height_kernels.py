"""The chance of a slope between its limits, against tails in full; skipping changes nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erfc

from homeward.beliefs.grid_graph import BACK, STEPS, back
from homeward.beliefs.height_kernels import (
    ERFC_TWO,
    ERFC_ZERO,
    NEGLIGIBLE_SQUARES,
    chances,
    sum_near,
)


def chance(rise: float, variance: float, drop: float, climb: float) -> float:
    return float(chances(*(np.array([value]) for value in (rise, variance, drop, climb)))[0])


@given(st.floats(-40.0, 40.0), st.floats(0.0, 40.0))
def test_what_is_skipped_changes_no_bit(near: float, beyond: float) -> None:
    far = abs(near) + beyond
    plain = max(0.0, 0.5 * (math.erfc(near) - math.erfc(far)))
    assert chance(0.0, 0.5, -near, far) == plain


@pytest.mark.parametrize("near", [0.0, 1.0, 5.0, 20.0, 27.0, -3.0])
def test_at_the_edge_of_what_is_skipped_nothing_is_lost(near: float) -> None:
    far = math.sqrt(NEGLIGIBLE_SQUARES + max(near, 0.0) ** 2)
    for beside in (math.nextafter(far, 0.0), math.nextafter(far, 99.0)):
        assert chance(0.0, 0.5, -near, beside) == 0.5 * math.erfc(near)
    assert math.erfc(ERFC_ZERO) == 0.0
    assert math.erfc(ERFC_TWO) == 2.0


@given(
    st.floats(-50.0, 50.0),
    st.floats(1e-6, 100.0),
    st.floats(0.0, 20.0),
    st.floats(0.0, 40.0),
)
def test_a_move_and_its_way_back_have_the_chances_of_their_slopes(
    rise: float, spread: float, climb: float, descend: float
) -> None:
    deviation = math.sqrt(2.0 * spread)
    for lowest, highest, got in (
        (-descend - rise, climb - rise, chance(rise, spread, descend, climb)),
        (-descend + rise, climb + rise, chance(-rise, spread, descend, climb)),
    ):
        low, high = lowest / deviation, highest / deviation
        wanted = 0.5 * (erfc(low) - erfc(high) if low + high > 0 else erfc(-high) - erfc(-low))
        assert 0.0 <= got <= 1.0
        assert got == pytest.approx(wanted, rel=1e-11, abs=2e-15 * (1.0 + abs(rise) / deviation))


def test_the_way_back_undoes_a_step() -> None:
    for a in range(1, 9):
        down, right = STEPS[a]
        assert STEPS[back(a)] == STEPS[BACK[a]] == (-down, -right)


def test_a_sum_of_what_is_near_is_weighted_by_its_distance() -> None:
    values = np.array([[1.0, 10.0, 100.0], [1e3, 1e4, 1e5]])
    total = sum_near(np.array([[1.0, 0.5], [0.25, 0.0]]), values)
    assert total[0].tolist() == [1 + 5 + 250, 10 + 0.5 + 50 + 2500, 100 + 5 + 25000]
    assert total[1, 1] == 1e4 + 500 + 5e4 + 2.5
