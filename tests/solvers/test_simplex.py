from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.conftest import tables

from homeward.solvers.master import at_basis, simplex, solve_small


def test_a_small_lp_is_solved_by_hand() -> None:
    # Maximise x + 2y with x + y + s = 4 and y + u = 3: x = 1, y = 3, a unit of either row 1.
    matrix = np.array([[1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    side, cost = np.array([4.0, 3.0]), np.array([-1.0, -2.0, 0.0, 0.0])
    basis = np.array([2, 3])
    assert simplex(matrix, side, cost, basis)
    value, dual, fine = at_basis(matrix, side, cost, basis)
    assert fine
    assert sorted(zip(basis.tolist(), value.tolist(), strict=True)) == [(0, 1.0), (1, 3.0)]
    assert dual.tolist() == [-1.0, -1.0]


def test_what_has_no_end_is_not_called_optimal() -> None:
    matrix, side = np.array([[1.0, -1.0]]), np.array([1.0])
    assert not simplex(matrix, side, np.array([0.0, -1.0]), np.array([0]))


def test_a_singular_system_is_not_solved() -> None:
    assert not solve_small(np.ones((2, 2)), np.ones(2))[1]


@given(st.integers(1, 4), st.data())
def test_a_small_system_is_solved(size: int, data: st.DataObject) -> None:
    square = data.draw(tables(st.integers(-5, 5).map(float), size, size))
    side = data.draw(tables(st.integers(-5, 5).map(float), size))
    found, fine = solve_small(square.copy(), side.copy())
    if abs(np.linalg.det(square)) > 0.5:
        assert fine
        assert square @ found == pytest.approx(side, abs=1e-9)


@given(st.integers(1, 3), st.integers(1, 6), st.data())
def test_it_ends_where_another_solver_ends(rows: int, columns: int, data: st.DataObject) -> None:
    eighths = st.integers(-4, 4).map(lambda i: i / 4)  # full of ties
    inner = data.draw(tables(eighths, rows, columns))
    side = np.abs(data.draw(tables(eighths, rows)))
    cost = np.concatenate([data.draw(tables(eighths, columns)), np.zeros(rows)])
    matrix = np.hstack([inner, np.eye(rows)])
    basis = columns + np.arange(rows)
    ended = simplex(matrix, side, cost, basis)
    theirs = linprog(cost, A_eq=matrix, b_eq=side)
    assert ended == (theirs.status == 0)
    if ended:
        value, _, _ = at_basis(matrix, side, cost, basis)
        assert cost[basis] @ value == pytest.approx(theirs.fun, abs=1e-9)
