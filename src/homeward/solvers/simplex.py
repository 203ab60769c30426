"""A simplex method for the master LP: a handful of rows, a few dozen columns, exact to rounding.

Minimise c·x subject to A·x = b, x ≥ 0. Every round solves for the basis anew, so nothing drifts.
The most negative reduced cost enters; after `BLAND_AFTER` rounds the first negative one does, and
the first of the binding rows leaves, so that it can't cycle (Bland's rule).

Stopping: no reduced cost is below 0 by more than rounding. The basis is optimal if its values are
then not negative; after `MAX_ROUNDS` the method gives up.
"""

import numpy as np
from numba import njit

from homeward.arrays import FloatArray, IntArray

COST_TOLERANCE, VALUE_TOLERANCE = 1e-14, 1e-13
"""A reduced cost, and a basic value, below 0 by less than this counts as 0."""

MIN_PIVOT = 1e-11
"""Smallest absolute value of a pivot."""

BLAND_AFTER, MAX_ROUNDS = 50, 400
"""Rounds before Bland's rule, and before giving up."""


@njit(cache=True, error_model="numpy")
def simplex(matrix: FloatArray, side: FloatArray, cost: FloatArray, basis: IntArray) -> bool:
    """Improve a feasible basis [m] of columns in place; return whether it is optimal.

    ``matrix`` is [m, n], ``side`` [m], ``cost`` [n].
    """
    rows, columns = matrix.shape
    basic = np.zeros(columns, np.bool_)
    for i in basis:
        basic[i] = True
    for count in range(MAX_ROUNDS):
        value, dual, fine = at_basis(matrix, side, cost, basis)
        if not fine:
            return False
        enter, least = -1, -COST_TOLERANCE
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
                if count >= BLAND_AFTER:
                    break
                least = reduced / max(1.0, size)
        if enter < 0:
            return bool((value >= -VALUE_TOLERANCE).all())
        step, fine = solve_small(matrix[:, basis].copy(), matrix[:, enter].copy())
        if not fine:
            return False
        leave, most = -1, np.inf
        for i in range(rows):
            if step[i] > MIN_PIVOT:
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
    """Return the basic values [m], the rows' duals [m], and whether the basis is regular."""
    square = matrix[:, basis].copy()
    value, fine = solve_small(square.copy(), side.copy())
    rest = side - square @ value  # one step of refinement
    more, _ = solve_small(square.copy(), rest)
    dual, also = solve_small(square.T.copy(), cost[basis].copy())
    return value + more, dual, fine and also


@njit(cache=True, error_model="numpy")
def solve_small(square: FloatArray, side: FloatArray) -> tuple[FloatArray, bool]:
    """Solve ``square·x = side``; return x and whether it exists. Overwrites both arguments."""
    size = len(side)
    for k in range(size):
        pivot = k
        for i in range(k + 1, size):
            if abs(square[i, k]) > abs(square[pivot, k]):
                pivot = i
        if not abs(square[pivot, k]) > MIN_PIVOT:
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
