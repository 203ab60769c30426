from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.conftest import tables

from homeward.solvers.master import Master, Mixture

if TYPE_CHECKING:
    from homeward.arrays import FloatArray


def master_of(points: FloatArray, levels: FloatArray) -> Master:
    """Build a master over points [J, 1 + K]."""
    master = Master(levels, 1.0)
    for point in points:
        master.add(point)
    return master


def worth(master: Master, mix: Mixture) -> float:
    """Give what a mixture is worth."""
    return float(mix.weights @ np.array(master.points)[:, 0])


def test_the_best_mixture_of_two_policies_is_found_by_hand() -> None:
    # (f, g) = (10, 0) and (0, 1), g ≥ ¼: one quarter of the second; a unit of g costs 10.
    master = master_of(np.array([[10.0, 0.0], [0.0, 1.0]]), np.array([0.25]))
    assert master.solve().shortfall == 0.0
    master.fix_shortfall()
    mix = master.solve()
    assert mix.weights == pytest.approx([0.75, 0.25], abs=1e-15)
    assert worth(master, mix) == pytest.approx(7.5, abs=1e-14)
    assert mix.multipliers == pytest.approx([10.0], abs=1e-14)
    assert mix.price == pytest.approx(10.0, abs=1e-14)
    assert mix.sound


def test_a_level_out_of_reach_leaves_the_least_shortfall() -> None:
    master = master_of(np.array([[10.0, 0.0], [0.0, 0.5]]), np.array([0.75]))
    mix = master.solve()
    assert mix.shortfall == pytest.approx(0.25, abs=1e-15)
    assert mix.weights == pytest.approx([0.0, 1.0], abs=1e-15)
    assert mix.multipliers == pytest.approx([1.0], abs=1e-15)


def test_what_is_held_is_the_level_less_its_shortfall() -> None:
    master = master_of(np.array([[10.0, 0.0], [0.0, 0.5]]), np.array([0.75]))
    master.solve()
    master.fix_shortfall()
    mix = master.solve()
    assert mix.levels == pytest.approx([0.5], abs=1e-15)
    assert worth(master, mix) == pytest.approx(0.0, abs=1e-14)


def test_a_column_that_is_added_later_is_used() -> None:
    master = master_of(np.array([[10.0, 0.0], [0.0, 1.0]]), np.array([0.25]))
    master.solve()
    master.fix_shortfall()
    master.solve()
    master.add(np.array([9.0, 0.25]))
    mix = master.solve()
    assert mix.weights == pytest.approx([0.0, 0.0, 1.0], abs=1e-15)
    assert worth(master, mix) == pytest.approx(9.0, abs=1e-14)


def test_a_level_that_costs_nothing_has_no_price() -> None:
    master = master_of(np.array([[10.0, 0.5], [0.0, 1.0]]), np.array([0.25]))
    master.solve()
    master.fix_shortfall()
    mix = master.solve()
    assert mix.multipliers.tolist() == [0.0]
    assert mix.weights.tolist() == [1.0, 0.0]


@given(st.integers(1, 5), st.integers(0, 3), st.data())
def test_the_mixture_is_the_optimum_of_the_same_lp_elsewhere(
    count: int, constraints: int, data: st.DataObject
) -> None:
    # Multiples of 1/8, so that what is feasible does not hang on a last digit.
    eighths = st.integers(-8, 8).map(lambda i: i / 8)
    points = data.draw(tables(eighths, count, 1 + constraints))
    levels = data.draw(tables(eighths, constraints))
    master = master_of(points, levels)
    reached = master.solve()
    least = linprog(
        np.concatenate([np.zeros(count), np.ones(constraints)]),
        A_ub=np.hstack([-points[:, 1:].T, -np.eye(constraints)]) if constraints else None,
        b_ub=-levels if constraints else None,
        A_eq=[[1.0] * count + [0.0] * constraints],
        b_eq=[1.0],
    )
    assert reached.shortfall == pytest.approx(least.fun if constraints else 0.0, abs=1e-9)
    if least.fun > 1e-9:
        return
    master.fix_shortfall()
    mix = master.solve()
    best = linprog(
        -points[:, 0],
        A_ub=-points[:, 1:].T if constraints else None,
        b_ub=-levels if constraints else None,
        A_eq=[[1.0] * count],
        b_eq=[1.0],
    )
    assert worth(master, mix) == pytest.approx(-best.fun, abs=1e-9)
    assert reached.sound
    assert mix.sound
    assert mix.weights.sum() == pytest.approx(1.0, abs=1e-15)
    assert (mix.weights >= 0.0).all()
    assert (mix.multipliers >= 0.0).all()
    assert (mix.weights @ points[:, 1:] >= levels - 1e-12).all()
    # No column prices above what is there: the mixture is optimal by its own multipliers.
    assert (points[:, 0] + points[:, 1:] @ mix.multipliers).max() <= mix.price + 1e-9


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e12])
def test_the_scale_is_that_of_the_objectives(unit: float) -> None:
    master = Master(np.array([0.25]), 10.0 * unit)
    for point in ([10.0 * unit, 0.0], [0.0, 1.0]):
        master.add(np.array(point))
    master.solve()
    master.fix_shortfall()
    mix = master.solve()
    assert mix.weights == pytest.approx([0.75, 0.25], abs=1e-15)
    assert mix.multipliers == pytest.approx([10.0 * unit], rel=1e-14, abs=0)
    assert mix.price == pytest.approx(10.0 * unit, rel=1e-14, abs=0)


def test_what_is_worth_nothing_or_less_is_mixed_too() -> None:
    # (−3, 0), (−1, 1) and (0, 0), g ≥ ½: half of the second with the third.
    master = master_of(np.array([[-3.0, 0.0], [-1.0, 1.0], [0.0, 0.0]]), np.array([0.5]))
    master.solve()
    master.fix_shortfall()
    mix = master.solve()
    assert mix.weights == pytest.approx([0.0, 0.5, 0.5], abs=1e-15)
    assert mix.multipliers == pytest.approx([1.0], abs=1e-14)
