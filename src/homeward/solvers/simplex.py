"""A simplex method for the master LP: a handful of rows, a few dozen columns, exact to rounding.

Minimise c·x subject to A·x = b, x ≥ 0. Every round solves for the basis anew, so nothing drifts.
The most negative reduced cost enters; after `PATIENT` rounds the first negative one does, and the
first of those that bind leaves, so that it can't circle (Bland). At its end the answer is looked at
once more: what is basic is not negative, and no column is priced below 0 by more than rounding.
"""

import numpy as np
from numba import njit

from homeward.arrays import FloatArray, IntArray

PRICED, NEGATIVE = 1e-14, 1e-13
"""A reduced cost, and a basic value, that is below 0 by less than this is 0."""

PIVOT = 1e-11
"""What is below this can't be divided by."""

PATIENT, LIMIT = 50, 400
"""Rounds before the careful rule, and before giving up."""


@njit(cache=True, error_model="numpy")
def simplex(matrix: FloatArray, side: FloatArray, cost: FloatArray, basis: IntArray) -> bool:
    """Solve from a basis [m] of columns, which is feasible; it is written to.

    ``matrix`` is [m, n], ``side`` [m], ``cost`` [n]. Tells whether the basis is optimal.
    """
    rows, columns = matrix.shape
    basic = np.zeros(columns, np.bool_)
    for i in basis:
        basic[i] = True
    for count in range(LIMIT):
        value, dual, fine = at_basis(matrix, side, cost, basis)
        if not fine:
            return False
        enter, least = -1, -PRICED
        for j in range(columns):
            if basic[j]:
                continue
            reduced = cost[j]
            size = abs(cost[j])
            for i in range(rows):
                reduced -= dual[i] * matrix[i, j]
                size = max(size, abs(dual[i] * matrix[i, j]))
            if reduced < least * max(1.0, size):
                enter = j
                if count >= PATIENT:
                    break
                least = reduced / max(1.0, size)
        if enter < 0:
            return bool((value >= -NEGATIVE).all())
        step, fine = solve_small(matrix[:, basis].copy(), matrix[:, enter].copy())
        if not fine:
            return False
        leave, most = -1, np.inf
        for i in range(rows):
            if step[i] > PIVOT:
                ratio = max(0.0, value[i]) / step[i]
                if ratio < most or (ratio == most and basis[i] < basis[leave]):
                    leave, most = i, ratio
        if leave < 0:
            return False
        basic[basis[leave]] = False
        basic[enter] = True
        basis[leave] = enter
    return False


@njit(cache=True, error_model="numpy")
def at_basis(
    matrix: FloatArray, side: FloatArray, cost: FloatArray, basis: IntArray
) -> tuple[FloatArray, FloatArray, bool]:
    """Give what is basic [m], the rows' duals [m], and whether the basis can be solved for."""
    square = matrix[:, basis].copy()
    value, fine = solve_small(square.copy(), side.copy())
    rest = side - square @ value  # one step of refinement
    more, _ = solve_small(square.copy(), rest)
    dual, also = solve_small(square.T.copy(), cost[basis].copy())
    return value + more, dual, fine and also


@njit(cache=True, error_model="numpy")
def solve_small(square: FloatArray, side: FloatArray) -> tuple[FloatArray, bool]:
    """Solve ``square·x = side`` by elimination, both written to; tells whether it could be."""
    size = len(side)
    for k in range(size):
        pivot = k
        for i in range(k + 1, size):
            if abs(square[i, k]) > abs(square[pivot, k]):
                pivot = i
        if not abs(square[pivot, k]) > PIVOT:
            return side, False
        if pivot != k:
            for j in range(size):
                square[k, j], square[pivot, j] = square[pivot, j], square[k, j]
            side[k], side[pivot] = side[pivot], side[k]
        for i in range(k + 1, size):
            factor = square[i, k] / square[k, k]
            if factor != 0.0:
                for j in range(k, size):
                    square[i, j] -= factor * square[k, j]
                side[i] -= factor * side[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            side[k] -= square[k, j] * side[j]
        side[k] /= square[k, k]
    return side, True
