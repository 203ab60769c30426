"""Gaussian heights on a grid: the belief of a vehicle that drives over measured terrain.

Every cell has an unknown height, independently normal. A move to one of eight neighbours works
where the slope over the true distance is between a descent and a climb limit; given the heights it
works or does not. Nothing leads into or out of a blocked cell. Staying always works; moving off the
map leads nowhere. Measurements are normal around the true height, and a Kalman update takes them
in.

After an update only the moves at cells that were measured get new chances, unless those are many.
They are the same, to the bit, as those of a belief that is made from nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from homeward.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    frozen,
    index,
    indices,
    marks,
    number,
    numbers,
    own,
    unless_given,
)
from homeward.beliefs.terrain_kernels import (
    BLOCKED,
    DOWN,
    FINE,
    NO_HEIGHT,
    NO_VARIANCE,
    OUTSIDE,
    RIGHT,
    TWICE,
    decide,
    fill,
    fill_in_parallel,
    learn,
    refresh,
)
from homeward.errors import InvalidBeliefError
from homeward.models import Moves
from homeward.safety.corrections import blocked_moves, general_on_moves, moves_corrections

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

NAMES = ("stay", "N", "NE", "E", "SE", "S", "SW", "W", "NW")
STEPS = tuple((int(down), int(right)) for down, right in zip(DOWN, RIGHT, strict=True))
"""How many rows down and columns to the right each action goes."""

SHARP = 0.01
"""The standard deviation in m up to which a height counts as known, as in the paper's figure."""

BOTH_CORES = 200_000
"""State-actions from which on starting threads pays."""

FEW = 4
"""Where fewer than one cell in so many was measured, only the moves there get new chances."""


@dataclass(frozen=True, slots=True, eq=False)
class Heights:
    """Measured heights of some cells, each with the variance of its error."""

    cells: IntArray  # [n]
    heights: FloatArray  # [n] m
    variances: FloatArray  # [n] m²; infinite where a measurement says nothing

    def __post_init__(self) -> None:
        error = InvalidBeliefError
        cells = self.cells
        if not _is_ready(cells):
            cells = indices(cells, "measured cell", None, (0, 2**31 - 1), "n", error)
            if cells.ndim != 1:
                raise error(f"the measured cells have shape {cells.shape}, expected [n]")
            object.__setattr__(self, "cells", cells)
        for name, said in (("heights", "the measured heights"), ("variances", "their variances")):
            given = getattr(self, name)
            object.__setattr__(self, name, own(numbers(given, said, cells.shape, error), given))

    def check(self, states: int) -> None:
        """Refuse cells that do not exist or come twice, and what is no measurement."""
        everywhere = np.zeros(states), np.ones(states), np.zeros(states, dtype=bool)
        self.take_in(np.zeros(states, dtype=bool), *everywhere)

    def take_in(
        self, blocked: BoolArray, height: FloatArray, variance: FloatArray, measured: BoolArray
    ) -> None:
        """Write the posterior into ``height`` and ``variance`` [S], and mark what was measured."""
        fault, at = learn(
            self.cells, self.heights, self.variances, blocked, height, variance, measured
        )
        if fault == FINE:
            return
        cell, states = int(self.cells[at]), len(height)
        raise InvalidBeliefError(
            {
                OUTSIDE: f"a measured cell is s={cell}, outside 0..{states - 1}",
                BLOCKED: f"cell s={cell} is measured and blocked",
                TWICE: f"cell s={cell} is measured twice at once",
                NO_HEIGHT: f"cell s={cell} is measured at a height of {self.heights[at]:g} m",
                NO_VARIANCE: f"cell s={cell} is measured with a variance of "
                f"{self.variances[at]:g}, expected > 0",
            }.get(fault, f"cell s={cell} is measured until no variance is left")
        )


@dataclass(frozen=True, eq=False)
class TerrainBelief:
    """Independent normal heights, one per cell of a grid; states are row-major.

    What is given as the height and variance of a blocked cell is not looked at; 0 takes its place.
    """

    shape: tuple[int, int]  # rows, columns
    height: FloatArray  # [S] m, the mean
    variance: FloatArray  # [S] m²
    cell: float | tuple[float, float] = 20.0  # m, the sides of a cell: height and width
    climb: float = 5.0  # degrees, the steepest slope up
    descend: float = 45.0  # degrees, the steepest slope down
    blocked: BoolArray = unless_given()  # [S] what can't be entered; nothing unless given

    moves_work_or_never: ClassVar[bool] = True

    def __post_init__(self) -> None:
        error = InvalidBeliefError
        if not isinstance(self.shape, tuple) or len(self.shape) != 2:
            raise error(f"the shape is {self.shape!r}, expected (rows, columns)")
        rows, columns = (
            index(count, 2**31, f"the shape's {name}", error)
            for count, name in zip(self.shape, ("rows", "columns"), strict=True)
        )
        if not 1 <= rows * columns < 2**31:
            raise error(f"a grid of {rows} × {columns} cells has none, or too many")
        blocked = marks(self.blocked, rows * columns, error)
        object.__setattr__(self, "blocked", blocked)
        for name in ("height", "variance"):
            value = _finite(getattr(self, name), f"the {name}", blocked)
            object.__setattr__(self, name, value)
        low = np.where(blocked, np.inf, self.variance) if blocked.any() else self.variance
        if not low.min() > 0.0:
            raise error(f"the variance of cell {int(low.argmin())} is {low.min():g}, expected > 0")
        sides = self.cell if isinstance(self.cell, tuple) else (self.cell, self.cell)
        if len(sides) != 2:
            raise error(f"a cell's sides are {sides!r}, expected (height, width)")
        for side in sides:
            if not 0.0 < number(side, "a cell's side", error) < np.inf:
                raise error(f"a cell's side is {side:g} m, expected > 0")
        object.__setattr__(self, "cell", (float(sides[0]), float(sides[1])))
        for name in ("climb", "descend"):
            if not 0.0 <= number(getattr(self, name), name, error) < 90.0:
                raise error(f"{name} is {getattr(self, name):g}°, expected 0 to 90")

    @property
    def size(self) -> tuple[float, float]:
        """The height and width of a cell, in m."""
        assert isinstance(self.cell, tuple)
        return self.cell

    def mean(self) -> Moves:
        """Give the mean model: each move's probability to be neither too steep up nor down."""
        return self._mean

    @cached_property
    def _mean(self) -> Moves:
        return grid_graph(*self.shape).with_success(self._success)

    @cached_property
    def _success(self) -> FloatArray:
        """The chance [S, A] of each move."""
        rows, columns = self.shape
        climb, descend = self._limits
        heights = self.height, self.variance, self.blocked
        before, changed = self.__dict__.pop("_before", (None, None))
        if before is not None and np.count_nonzero(changed) * FEW < len(changed):
            success: FloatArray = before.copy()
            refresh(rows, columns, changed, *heights, climb, descend, success)
        else:
            success = np.empty((rows * columns, len(STEPS)))
            make = fill if success.size < BOTH_CORES else fill_in_parallel
            make(rows, columns, *heights, climb, descend, success)
        return frozen(success)

    @property
    def _limits(self) -> tuple[FloatArray, FloatArray]:
        """How far up and down each action may go, in m [A]."""
        length = _lengths(*self.size)
        climb, descend = (math.tan(math.radians(slope)) for slope in (self.climb, self.descend))
        return climb * length, descend * length

    def correction(self) -> FloatArray:
        """Give Theorem 2's σ [S, A]."""
        return general_on_moves(self._mean.dest, self._mean.success)

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        """Give our corrections (returning, exploring), each [S, A]."""
        return moves_corrections(self._mean.dest, self._mean.success, discount)

    def blocked_probability(self) -> FloatArray:
        """Return Pr(P = 0) = 1 − p [S, A]; 0 where a move would not lead elsewhere."""
        return blocked_moves(self._mean.dest, self._mean.success)

    def update(self, observation: Heights) -> Self:
        """Take measured heights in."""
        if not isinstance(observation, Heights):
            raise InvalidBeliefError(f"a terrain belief can't learn from {observation!r}")
        height, variance = self.height.copy(), self.variance.copy()
        measured = np.zeros(len(height), dtype=bool)
        observation.take_in(self.blocked, height, variance, measured)
        new = object.__new__(type(self))  # what is known to be sound is not checked again
        new.__dict__.update(self.__dict__)
        new.__dict__.pop("_mean", None)
        known = new.__dict__.pop("_success", None)
        if known is None and "_before" in self.__dict__:  # several updates, no model in between
            known, changed = self.__dict__["_before"]
            measured |= changed
        if known is not None:
            new.__dict__["_before"] = known, measured
        new.__dict__.update(height=frozen(height), variance=frozen(variance))
        return new

    def sample(self, rng: np.random.Generator) -> Moves:
        """Draw heights, and with them which moves work."""
        drawn = rng.normal(self.height, np.sqrt(self.variance))
        return self.model_of(drawn)

    def model_of(self, heights: ArrayLike) -> Moves:
        """Give the model of a world with these heights [S]: every move works or does not."""
        known = _finite(heights, "the height", self.blocked)
        success = np.empty((len(known), len(STEPS)))
        decide(*self.shape, known, self.blocked, *self._limits, success)
        return grid_graph(*self.shape).with_success(frozen(success))


def entropy_reduction(prior: TerrainBelief, posterior: TerrainBelief) -> float:
    """Give how much less is unknown, in nats: Σ ½ ln(prior variance / posterior variance).

    Blocked cells don't count.
    """
    if prior.shape != posterior.shape or (prior.blocked != posterior.blocked).any():
        raise InvalidBeliefError("the prior and the posterior are not of the same cells")
    counted = ~prior.blocked
    return float(0.5 * np.log(prior.variance[counted] / posterior.variance[counted]).sum())


@lru_cache(maxsize=4)
def grid_graph(rows: int, columns: int) -> Moves:
    """Give the graph of a grid: stay and eight neighbours; moving off the map leads nowhere."""
    state = np.arange(rows * columns, dtype=np.int32)
    row, column = np.divmod(state, np.int32(columns))
    dest = np.empty((rows * columns, len(STEPS)), np.int32)
    for a, (down, right) in enumerate(STEPS):
        there = (row + down, column + right)
        inside = (there[0] >= 0) & (there[0] < rows) & (there[1] >= 0) & (there[1] < columns)
        dest[:, a] = np.where(inside, there[0] * columns + there[1], state)
    blank = np.broadcast_to(np.float64(1.0), dest.shape)
    return Moves(dest, blank, action_names=NAMES)


def _lengths(height: float, width: float) -> FloatArray:
    """Give how far each action goes, in m [A], between the centres of such cells."""
    return np.array([math.hypot(height * down, width * right) for down, right in STEPS])


def _finite(values: ArrayLike, name: str, blocked: BoolArray) -> FloatArray:
    """Check that numbers [S] are finite; give read-only float64, 0 where a cell is blocked."""
    array = numbers(values, name, blocked.shape, InvalidBeliefError)
    if blocked.any():
        array = np.where(blocked, 0.0, array)
    if not np.isfinite([array.min(), array.max()]).all():
        at = int(np.argmin(np.isfinite(array)))
        said = "NaN" if np.isnan(array[at]) else "infinite"
        raise InvalidBeliefError(f"{name} is {said} at ({at},)")
    return own(array, values)


def _is_ready(cells: object) -> bool:
    """Tell whether a list of cells is such as the kernels read, which then look at each."""
    return (
        isinstance(cells, np.ndarray)
        and cells.dtype == np.int32
        and cells.ndim == 1
        and cells.flags.c_contiguous
        and not cells.flags.writeable
    )
