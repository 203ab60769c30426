"""Gaussian heights on a grid: the belief of a vehicle that drives over measured terrain.

Every cell has an unknown height, independently normal. A move to one of eight neighbours works
where the slope over the true distance is between a descent and a climb limit; given the heights it
works or does not. Waiting always works; moving off the map leads nowhere. Measurements are normal
around the true height, and a Kalman update takes them in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numba import njit, prange

from homeward.arrays import FloatArray, IntArray, floats, frozen, index, indices, number
from homeward.errors import InvalidBeliefError
from homeward.models import Moves
from homeward.safety.corrections import general_on_moves, moves_corrections

STEPS = ((0, 0), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
BOTH_CORES = 200_000
"""State-actions from which on starting threads pays."""

NAMES = ("wait", "N", "NE", "E", "SE", "S", "SW", "W", "NW")


@dataclass(frozen=True, slots=True, eq=False)
class Heights:
    """Measured heights of some cells, each with the variance of its error."""

    cells: IntArray  # [n]
    heights: FloatArray  # [n] m
    variances: FloatArray  # [n] m²

    def check(self, states: int) -> None:
        """Refuse cells that do not exist or come twice, and what is no measurement."""
        error = InvalidBeliefError
        cells = indices(self.cells, "measured cell", None, (0, states), "n", error)
        if cells.ndim != 1 or len(np.unique(cells)) != len(cells):
            raise error("the measured cells are not a list of different cells")
        heights = floats(self.heights, "the measured heights", cells.shape, error)
        variances = floats(self.variances, "their variances", cells.shape, error)
        if not np.isfinite(heights).all():
            raise error("a measured height is infinite")
        if len(variances) and not variances.min() >= 0.0:
            raise error(f"a measurement has a variance of {variances.min():g}, expected >= 0")


@dataclass(frozen=True, eq=False)
class TerrainBelief:
    """Independent normal heights, one per cell of a grid of square cells."""

    shape: tuple[int, int]  # rows, columns
    height: FloatArray  # [S] m, the mean
    variance: FloatArray  # [S] m²
    cell: float = 20.0  # m, the side of a cell
    climb: float = 5.0  # degrees, the steepest slope up
    descend: float = 45.0  # degrees, the steepest slope down

    def __post_init__(self) -> None:
        if not isinstance(self.shape, tuple) or len(self.shape) != 2:
            raise InvalidBeliefError(f"the shape is {self.shape!r}, expected (rows, columns)")
        rows, columns = (
            index(count, 2**31, f"the shape's {name}", InvalidBeliefError)
            for count, name in zip(self.shape, ("rows", "columns"), strict=True)
        )
        if rows < 1 or columns < 1:
            raise InvalidBeliefError(f"a grid of {rows} × {columns} cells has none")
        for name in ("height", "variance"):
            value = floats(
                getattr(self, name), f"the {name}", (rows * columns,), InvalidBeliefError
            )
            object.__setattr__(self, name, value)
            if not np.isfinite([value.min(), value.max()]).all():
                raise InvalidBeliefError(f"the {name} is infinite somewhere")
        if not self.variance.min() > 0.0:
            raise InvalidBeliefError(
                f"the variance of cell {int(self.variance.argmin())} is "
                f"{self.variance.min():g}, expected > 0"
            )
        if not 0.0 < number(self.cell, "the cells' side", InvalidBeliefError) < np.inf:
            raise InvalidBeliefError(f"the cells' side is {self.cell:g} m, expected > 0")
        for name in ("climb", "descend"):
            if not 0.0 <= number(getattr(self, name), name, InvalidBeliefError) < 90.0:
                raise InvalidBeliefError(f"{name} is {getattr(self, name):g}°, expected 0 to 90")

    def mean(self) -> Moves:
        """Give the mean model: each move's probability to be neither too steep up nor down."""
        return self._mean

    @cached_property
    def _mean(self) -> Moves:
        graph = grid_graph(*self.shape)
        success = np.empty(graph.dest.shape)
        limits = (math.tan(math.radians(self.climb)), -math.tan(math.radians(self.descend)))
        fill = chance_of_moves if success.size < BOTH_CORES else chance_of_moves_in_parallel
        fill(graph.dest, self.height, self.variance, *limits, _lengths(self.cell), success)
        return graph.with_success(frozen(success))

    def correction(self) -> FloatArray:
        """Give Theorem 2's σ [S, A]."""
        return general_on_moves(self._mean.dest, self._mean.success)

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        """Give our corrections (returning, exploring), each [S, A]."""
        return moves_corrections(self._mean.dest, self._mean.success, discount)

    def update(self, observation: Heights) -> Self:
        """Take measured heights in."""
        if not isinstance(observation, Heights):
            raise InvalidBeliefError(f"a terrain belief can't learn from {observation!r}")
        observation.check(len(self.height))
        height, variance = self.height.copy(), self.variance.copy()
        cells = observation.cells
        gain = variance[cells] / (variance[cells] + observation.variances)
        height[cells] += gain * (observation.heights - height[cells])
        variance[cells] *= 1.0 - gain
        return replace(self, height=frozen(height), variance=frozen(variance))

    def sample(self, rng: np.random.Generator) -> Moves:
        """Draw heights, and with them which moves work."""
        drawn = rng.normal(self.height, np.sqrt(self.variance))
        return self.model_of(drawn)

    def model_of(self, heights: FloatArray) -> Moves:
        """Give the model of a world with these heights [S]: every move works or does not."""
        heights = floats(heights, "the height", self.height.shape, InvalidBeliefError)
        graph = grid_graph(*self.shape)
        rise = heights[graph.dest] - heights[:, None]
        length = _lengths(self.cell)
        works = rise <= math.tan(math.radians(self.climb)) * length
        works &= rise >= -math.tan(math.radians(self.descend)) * length
        works |= graph.dest == np.arange(len(heights))[:, None]
        return graph.with_success(works.astype(np.float64))


@lru_cache(maxsize=4)
def grid_graph(rows: int, columns: int) -> Moves:
    """Give the graph of a grid: wait and eight neighbours; moving off the map leads nowhere."""
    state = np.arange(rows * columns, dtype=np.int32)
    row, column = np.divmod(state, np.int32(columns))
    dest = np.empty((rows * columns, len(STEPS)), np.int32)
    for a, (down, right) in enumerate(STEPS):
        there = (row + down, column + right)
        inside = (there[0] >= 0) & (there[0] < rows) & (there[1] >= 0) & (there[1] < columns)
        dest[:, a] = np.where(inside, there[0] * columns + there[1], state)
    blank = np.broadcast_to(np.float64(1.0), dest.shape)
    return Moves(dest, blank, action_names=NAMES)


def _lengths(cell: float) -> FloatArray:
    """Give how far each action goes, in m."""
    return np.array([cell * math.hypot(*step) for step in STEPS])


def _chance_of_moves(
    dest: IntArray,
    height: FloatArray,
    variance: FloatArray,
    climb: float,
    descend: float,
    length: FloatArray,
    success: FloatArray,
) -> None:
    """Write the chance that each move's rise per run is from ``descend`` to ``climb``."""
    states, actions = dest.shape
    for s in prange(states):
        for a in range(actions):
            t = dest[s, a]
            if t == s:
                success[s, a] = 1.0
                continue
            rise = height[t] - height[s]
            spread = math.sqrt(2.0 * (variance[s] + variance[t]))
            high = (climb * length[a] - rise) / spread
            low = (descend * length[a] - rise) / spread
            # Of two equal tails take the smaller difference, which keeps its digits.
            if low > 0.0:
                p = 0.5 * (math.erfc(low) - math.erfc(high))
            else:
                p = 0.5 * (math.erfc(-high) - math.erfc(-low))
            success[s, a] = min(1.0, max(0.0, p))


chance_of_moves = njit(cache=True)(_chance_of_moves)
chance_of_moves_in_parallel = njit(cache=True, parallel=True)(_chance_of_moves)
