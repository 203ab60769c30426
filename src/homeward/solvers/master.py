"""The master LP of column generation: the best mixture of the policies found so far.

A column is a policy with its objective f and its totals g_k. The variables are weights w ≥ 0 that
sum to 1, and shortfalls t ≥ 0; ``Σ w·g_k + t_k ≥ level_k``. First the total shortfall is minimised;
then it is fixed and ``Σ w·f`` is maximised. HiGHS finds an optimal basis, starting from the last
one. Its tolerance is too coarse here, so weights and multipliers are computed from this basis in
full double precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from homeward.arrays import FloatArray
from homeward.solvers.tolerances import LP_TOLERANCE

MAX_ITERATIONS = 10_000  # of the simplex method


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """The solution of the master LP: weights of all columns, and multipliers."""

    weights: FloatArray  # [J] weight of each column
    multipliers: FloatArray  # [K] λ ≥ 0
    shortfall: float  # total shortfall Σ t
    levels: FloatArray  # [K] levels that the mixture meets: level − t
    sound: bool  # whether HiGHS found an optimal, regular basis
    price: float  # f + λ·g of every used column; a column with a larger one improves the mixture


class Master:
    """The master LP. Columns are added one at a time; `solve` starts from the last basis.

    Its variables are the shortfalls t [K] and the weights [J], in this order. Its rows are the
    levels [K] and the sum of the weights.
    """

    def __init__(self, levels: FloatArray, scale: float) -> None:
        self.levels = levels
        self.scale = scale  # objectives are divided by it, so that tolerances are relative
        self.held: FloatArray | None = None  # [K] the shortfall after `fix_shortfall`
        self.points: list[FloatArray] = []  # each [1 + K]
        self._short = np.zeros(len(levels))  # [K] the least shortfall found
        self._lp = lp = highspy.Highs()
        lp.silent()
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            lp.setOptionValue(option, LP_TOLERANCE)
        lp.setOptionValue("simplex_iteration_limit", MAX_ITERATIONS)
        lp.setOptionValue("presolve", "off")
        lp.setOptionValue("threads", 1)
        nothing = np.empty(0, np.int32), np.empty(0)
        for level in levels.tolist():
            lp.addRow(level, np.inf, 0, *nothing)
        lp.addRow(1.0, 1.0, 0, *nothing)
        for k in range(len(levels)):
            lp.addCol(1.0, 0.0, np.inf, 1, np.array([k], np.int32), np.ones(1))

    def add(self, point: FloatArray) -> None:
        """Add a column with the `point` [1 + K]: f, g₁ … g_K."""
        cost = 0.0 if self.held is None else -float(point[0]) / self.scale
        rows = np.arange(len(point), dtype=np.int32)
        self._lp.addCol(cost, 0.0, np.inf, len(rows), rows, np.append(point[1:], 1.0))
        self.points.append(point)

    def fix_shortfall(self) -> None:
        """Fix the shortfall at its minimum so far; `solve` then maximises the objective."""
        self.held, count = self._short, len(self.levels)
        for k, level in enumerate((self.levels - self.held).tolist()):
            self._lp.changeColCost(k, 0.0)
            self._lp.changeColBounds(k, 0.0, 0.0)
            self._lp.changeRowBounds(k, level, np.inf)
        for j, point in enumerate(self.points):
            self._lp.changeColCost(count + j, -float(point[0]) / self.scale)

    def solve(self) -> Mixture:
        """Return the best mixture of the columns added so far."""
        count, points = len(self.levels), np.array(self.points)
        optimal = self._lp.run() == highspy.HighsStatus.kOk
        optimal = optimal and self._lp.getModelStatus() == highspy.HighsModelStatus.kOptimal
        basis, basic = self._lp.getBasis(), highspy.HighsBasisStatus.kBasic
        columns = np.flatnonzero([status == basic for status in basis.col_status])
        tight = np.flatnonzero([status != basic for status in basis.row_status])
        matrix = np.zeros((count + 1, count + len(points)))
        matrix[:count, :count] = np.eye(count)
        matrix[:count, count:] = points[:, 1:].T
        matrix[count, count:] = 1.0
        levels = self.levels if self.held is None else self.levels - self.held
        cost = np.zeros(matrix.shape[1])
        if self.held is None:
            cost[:count] = 1.0
        else:
            cost[count:] = -points[:, 0] / self.scale
        value, dual = np.zeros(matrix.shape[1]), np.zeros(count + 1)
        square = matrix[np.ix_(tight, columns)]
        try:
            value[columns] = _solved(square, np.append(levels, 1.0)[tight])
            dual[tight] = _solved(square.T, cost[columns])
        except np.linalg.LinAlgError:
            optimal = False
        value, unit = np.maximum(0.0, value), 1.0 if self.held is None else self.scale
        if self.held is None:
            self._short = value[:count]
        weights = value[count:] if value[count:].sum() > 0.0 else np.ones(len(points))
        short = self._short if self.held is None else self.held
        return Mixture(
            weights=weights / weights.sum(),
            multipliers=np.maximum(0.0, dual[:count]) * unit + 0.0,  # no −0
            shortfall=float(short.sum()),
            levels=self.levels - short,
            sound=bool(optimal),
            price=-float(dual[count]) * unit,
        )


def _solved(square: FloatArray, side: FloatArray) -> FloatArray:
    """Return x [m] with ``square·x = side``, refined once; raise if `square` is not regular."""
    if square.shape[0] != square.shape[1]:
        raise np.linalg.LinAlgError
    value = np.linalg.solve(square, side)
    return np.asarray(value + np.linalg.solve(square, side - square @ value), np.float64)
