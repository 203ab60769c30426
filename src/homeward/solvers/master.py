"""The master LP of column generation: the best mixture of the policies found so far.

Over weights w ≥ 0 that sum to 1 and shortfalls t ≥ 0, with ``Σ w·g_k + t_k ≥ level_k``: first
minimise the total shortfall, then, with the shortfall held, maximise ``Σ w·f``. HiGHS finds the
basis; weights and multipliers are then recomputed from it in full double precision, since an LP
solver's own tolerance of 1e-9 is coarser than the exact values that go in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from highspy import Highs, HighsBasisStatus, HighsModelStatus

if TYPE_CHECKING:
    from homeward.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """The master's answer: weights over all columns, and what they price."""

    weights: FloatArray  # [J]
    multipliers: FloatArray  # [K] λ ≥ 0
    shortfall: float  # Σ t
    levels: FloatArray  # [K] what the constraints are held to: level − t
    sound: bool  # the LP solver called it optimal
    price: float  # f + λ·g of every column with weight; a column above it helps


class Master:
    """The LP itself, growing by a column at a time and solved warm."""

    def __init__(self, levels: FloatArray, scale: float) -> None:
        self.levels = levels
        self.scale = scale  # objectives are divided by it, so that tolerances mean something
        self.points: list[FloatArray] = []  # each [1 + K]
        self.held = np.full(
            len(levels), np.inf
        )  # upper bounds on t: infinite while it is minimised
        self.lp = Highs()
        self.lp.silent()
        for option in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self.lp.setOptionValue(option, 1e-10)
        nothing = (0, np.empty(0, np.int32), np.empty(0))
        for level in levels:
            self.lp.addRow(float(level), np.inf, *nothing)
        self.lp.addRow(1.0, 1.0, *nothing)
        for k in range(len(levels)):
            self.lp.addCol(1.0, 0.0, np.inf, 1, np.array([k], np.int32), np.ones(1))

    def add(self, point: FloatArray) -> None:
        """Add a policy by its (f, g₁ … g_K)."""
        rows = np.arange(len(point), dtype=np.int32)
        cost = -float(point[0]) / self.scale if np.isfinite(self.held).all() else 0.0
        self.lp.addCol(cost, 0.0, np.inf, len(point), rows, np.append(point[1:], 1.0))
        self.points.append(point)

    def fix_shortfall(self) -> None:
        """Hold the shortfall at its present least, and turn to the objective."""
        count = len(self.levels)
        solution = np.array(self.lp.getSolution().col_value)
        self.held = np.maximum(0.0, solution[:count])
        for k in range(count):
            self.lp.changeColCost(k, 0.0)
            self.lp.changeColBounds(k, 0.0, float(self.held[k]))
        for j, point in enumerate(self.points):
            self.lp.changeColCost(count + j, -float(point[0]) / self.scale)

    def solve(self) -> Mixture:
        """Solve the LP, and sharpen its answer."""
        self.lp.run()
        if self.lp.getModelStatus() != HighsModelStatus.kOptimal:
            self.lp.clearSolver()  # once more, without what it remembers
            self.lp.run()
        count = len(self.levels)
        points = np.array(self.points)
        matrix = np.zeros((count + 1, count + len(points)))
        matrix[:count, :count] = np.eye(count)
        matrix[:count, count:] = points[:, 1:].T
        matrix[count, count:] = 1.0
        seeking = not np.isfinite(self.held).all()
        cost = np.concatenate(
            [
                np.full(count, 1.0 if seeking else 0.0),
                np.zeros(len(points)) if seeking else -points[:, 0] / self.scale,
            ]
        )
        value, dual = self._sharpen(matrix, cost)
        shortfall, weights = value[:count], np.maximum(0.0, value[count:])
        unit = 1.0 if seeking else self.scale
        total = weights.sum()
        if not total > 0.0:
            weights, total = np.ones_like(weights), float(len(weights))
        return Mixture(
            weights=weights / total,
            multipliers=np.maximum(0.0, dual[:count]) * unit,
            shortfall=float(np.maximum(0.0, shortfall).sum()),
            levels=self.levels - np.maximum(0.0, shortfall),
            sound=self.lp.getModelStatus() == HighsModelStatus.kOptimal,
            price=-float(dual[count]) * unit,
        )

    def _sharpen(self, matrix: FloatArray, cost: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Recompute the basic solution: primal values per column and duals per row."""
        solution = self.lp.getSolution()
        value, dual = np.array(solution.col_value), np.array(solution.row_dual)
        basis = self.lp.getBasis()
        basic = np.array([s == HighsBasisStatus.kBasic for s in basis.col_status])
        tight = np.array([s != HighsBasisStatus.kBasic for s in basis.row_status])
        square = matrix[np.ix_(tight, basic)]
        if square.shape[0] != square.shape[1] or np.linalg.cond(square) > 1e12:
            return value, dual
        side = np.append(self.levels, 1.0)[tight] - matrix[np.ix_(tight, ~basic)] @ value[~basic]
        sharp, prices = value.copy(), np.zeros_like(dual)
        sharp[basic] = np.linalg.solve(square, side)
        prices[tight] = np.linalg.solve(square.T, cost[basic])
        if np.abs(sharp - value).max() > 1e-6 or sharp.min() < -1e-9:
            return value, dual
        return sharp, prices
