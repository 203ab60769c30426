"""The master LP of column generation: the best mixture of the policies found so far.

A column is a policy with its objective f and its totals g_k. The variables are weights w ≥ 0 that
sum to 1, and shortfalls t ≥ 0; ``Σ w·g_k + t_k ≥ level_k``. First the total shortfall is minimised;
then it is fixed and ``Σ w·f`` is maximised. `simplex` solves the LP in full double precision, since
the usual tolerance of LP solvers, 1e-9, is too coarse here. It starts from the last optimal basis.
If it does not finish, HiGHS finds the basis, and weights and multipliers are recomputed from this
basis.

Simplex method: minimise c·x subject to A·x = b, x ≥ 0. Every round solves the basis system anew, so
rounding errors do not accumulate. The column with the most negative reduced cost enters. After
`BLAND_AFTER` rounds, the first column with a negative reduced cost enters and the first binding row
leaves, so the method can't cycle (Bland's rule). It stops if no reduced cost is below 0 by more
than rounding. The basis is then optimal if its values are not negative. After `MAX_ROUNDS` the
method stops without a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.compiling import njit

COST_TOLERANCE, VALUE_TOLERANCE = 1e-14, 1e-13  # reduced costs and values above −this count as 0
MIN_PIVOT = 1e-11  # smallest absolute value of a pivot
BLAND_AFTER, MAX_ROUNDS = 50, 400  # rounds before Bland's rule, and before the simplex stops
MAX_HIGHS_ITERATIONS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """The solution of the master LP: weights of all columns, and multipliers."""

    weights: FloatArray  # [J] weight of each column
    multipliers: FloatArray  # [K] λ ≥ 0
    shortfall: float  # total shortfall Σ t
    levels: FloatArray  # [K] levels that the mixture meets: level − t
    sound: bool  # whether the solution is proven optimal
    price: float  # f + λ·g of every used column; a column with a larger one improves the mixture


class Master:
    """The master LP. Columns are added one at a time; `solve` starts from the last basis.

    The variables are the shortfalls t [K], the surpluses [K] and the weights [J], in this order.
    """

    def __init__(self, levels: FloatArray, scale: float) -> None:
        self.levels = levels
        self.scale = scale  # objectives are divided by it, so that tolerances are relative
        self.points: list[FloatArray] = []  # each [1 + K]
        self.held: FloatArray | None = None  # [K] the shortfall after `fix_shortfall`
        self._basis: IntArray | None = None
        self._short = np.zeros(len(levels))  # [K] the least shortfall found

    def add(self, point: FloatArray) -> None:
        """Add a column with the `point` [1 + K]: f, g₁ … g_K."""
        self.points.append(point)

    def fix_shortfall(self) -> None:
        """Fix the shortfall at its minimum so far; `solve` then maximises the objective."""
        count = len(self.levels)
        self.held = self._short
        if self._basis is not None:  # a shortfall in the basis becomes the surplus of its row
            self._basis = np.where(self._basis < count, self._basis + count, self._basis)

    def solve(self) -> Mixture:
        """Return the best mixture of the columns added so far."""
        count, seeking = len(self.levels), self.held is None
        points = np.array(self.points)
        matrix = np.zeros((count + 1, 2 * count + len(points)))
        matrix[:count, :count] = np.eye(count)
        matrix[:count, count : 2 * count] = -np.eye(count)
        matrix[:count, 2 * count :] = points[:, 1:].T
        matrix[count, 2 * count :] = 1.0
        levels = self.levels if self.held is None else self.levels - self.held
        side = np.append(levels, 1.0)
        cost = np.zeros(matrix.shape[1])
        if seeking:
            cost[:count] = 1.0
        else:
            cost[2 * count :] = -points[:, 0] / self.scale
        basis = self._first(points) if self._basis is None else self._basis
        shift = 0 if seeking else count  # fixed shortfalls are no longer variables
        inner = basis - shift
        free = np.ascontiguousarray(matrix[:, shift:])  # so that one type is compiled
        sound = simplex(free, side, cost[shift:], inner)
        basis = inner + shift
        if not sound:
            sound, basis = self._solve_by_highs(matrix, side, cost, shift)
        self._basis = basis
        basic, dual, fine = at_basis(matrix, side, cost, basis)
        value = np.zeros(matrix.shape[1])
        value[basis] = np.maximum(0.0, basic)
        weights, unit = value[2 * count :], 1.0 if seeking else self.scale
        if seeking:
            self._short = value[:count]
        if not weights.sum() > 0.0:
            weights = np.ones_like(weights)
        short = self._short if self.held is None else self.held
        return Mixture(
            weights=weights / weights.sum(),
            multipliers=np.maximum(0.0, dual[:count]) * unit + 0.0,  # no −0
            shortfall=float(short.sum()),
            levels=self.levels - short,
            sound=bool(sound and fine),
            price=-float(dual[count]) * unit,
        )

    def _first(self, points: FloatArray) -> IntArray:
        """Return a basis [K + 1] with the one column that has the least total shortfall."""
        count = len(self.levels)
        short = self.levels - points[:, 1:]
        best = int(np.argmin(np.maximum(0.0, short).sum(axis=1)))
        rows = np.arange(count)
        missing: IntArray = np.where(short[best] > 0.0, rows, rows + count)
        return np.append(missing, 2 * count + best)

    def _solve_by_highs(
        self, matrix: FloatArray, side: FloatArray, cost: FloatArray, shift: int
    ) -> tuple[bool, IntArray]:
        """Solve the LP by HiGHS; return whether its basis is optimal, and the basis [m].

        The first `shift` variables are fixed at 0.
        """
        from highspy import Highs, HighsBasisStatus, HighsModelStatus, HighsStatus

        lp: Any = Highs()
        lp.silent()
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            lp.setOptionValue(option, 1e-10)
        lp.setOptionValue("simplex_iteration_limit", MAX_HIGHS_ITERATIONS)
        rows = np.arange(len(side), dtype=np.int32)
        for b in side:
            lp.addRow(float(b), float(b), 0, np.empty(0, np.int32), np.empty(0))
        for j, column in enumerate(matrix.T):
            high = 0.0 if j < shift else np.inf
            lp.addCol(float(cost[j]), 0.0, high, len(rows), rows, column.copy())
        finished = lp.run() == HighsStatus.kOk
        columns = lp.getBasis().col_status
        basis = np.flatnonzero([s == HighsBasisStatus.kBasic for s in columns])
        if not finished or len(basis) != len(side):  # degenerate: start again from one column
            first = self._first(np.array(self.points))
            return False, np.where(first < shift, first + shift, first)
        return lp.getModelStatus() == HighsModelStatus.kOptimal, basis


@njit(cache=True, error_model="numpy")
def simplex(matrix: FloatArray, side: FloatArray, cost: FloatArray, basis: IntArray) -> bool:
    """Improve a feasible ``basis`` [m] of column indices in place; return whether it is optimal.

    ``matrix`` A is [m, n], ``side`` b is [m], ``cost`` c is [n].
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
    """Return the values [m] of the basic variables, the duals [m] of the rows, and a flag.

    The flag is whether the basis is regular, that is, has an inverse.
    """
    square = matrix[:, basis].copy()
    value, fine = solve_small(square.copy(), side.copy())
    rest = side - square @ value  # one step of refinement
    more, _ = solve_small(square.copy(), rest)
    dual, also = solve_small(square.T.copy(), cost[basis].copy())
    return value + more, dual, fine and also


@njit(cache=True, error_model="numpy")
def solve_small(square: FloatArray, side: FloatArray) -> tuple[FloatArray, bool]:
    """Return x [m] with ``square·x = side``, and whether x exists. Overwrites both arguments."""
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
