"""Gaussian heights on a grid: the belief of a vehicle that drives over measured terrain.

Every cell has an unknown height, independently normal. A move to one of eight neighbours works
where the slope over the true distance is between a descent and a climb limit; given the heights it
works or does not. Nothing leads into or out of a blocked cell. Staying always works; moving off the
map leads nowhere. Measurements are normal around the true height, and a Kalman update takes them
in.

An attempted move is known from then on: it works surely or never. What it teaches about other
moves is bounded, see `attempt_bounds`; the mean model then has lower bounds on their chances.

After an update only the moves at cells that were measured get new chances, unless those are many.
They are the same, to the bit, as those of a belief that is made from nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, Self

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
from homeward.beliefs.attempt_bounds import Ends, bounds_on, learn_from
from homeward.beliefs.attempts import SURE, Attempts, Edges, draw
from homeward.beliefs.corrections import bounded_corrections, general_on_moves, moves_corrections
from homeward.beliefs.height_kernels import (
    BLOCKED,
    DOWN,
    FINE,
    NO_HEIGHT,
    NO_VARIANCE,
    OUTSIDE,
    RIGHT,
    TWICE,
    back,
    decide,
    doubts,
    fill,
    fill_in_parallel,
    learn,
    refresh,
)
from homeward.beliefs.observations import Transition
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import Moves

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
    """Measured heights of some cells, each with the variance of its error.

    ``moved`` is the move after which they were measured, None if they come without one.
    """

    cells: IntArray  # [n]
    heights: FloatArray  # [n] m
    variances: FloatArray  # [n] m²; infinite where a measurement says nothing
    moved: Transition | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        error = InvalidBeliefError
        if self.moved is not None and not isinstance(self.moved, Transition):
            raise error(f"the move before a measurement is {self.moved!r}, expected a Transition")
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
    The moves tried so far can be given, to take up where another belief left off.
    """

    shape: tuple[int, int]  # rows, columns
    height: FloatArray  # [S] m, the mean
    variance: FloatArray  # [S] m²
    cell: float | tuple[float, float] = 20.0  # m, the sides of a cell: height and width
    climb: float = 5.0  # degrees, the steepest slope up
    descend: float = 45.0  # degrees, the steepest slope down
    blocked: BoolArray = unless_given()  # [S] what can't be entered; nothing unless given
    attempts: Attempts = unless_given()  # moves that were tried; none unless given

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
        attempts = Attempts.none() if self.attempts is None else self.attempts
        object.__setattr__(self, "attempts", attempts)
        if len(attempts):
            edges = self._edges
            shut = (edges.start == edges.end) | blocked[edges.start] | blocked[edges.end]
            if shut.any():
                pair = divmod(int(attempts.pairs[np.argmax(shut)]), len(STEPS))
                raise error(f"move (s={pair[0]}, a={pair[1]}) can't have been attempted")

    @property
    def size(self) -> tuple[float, float]:
        """The height and width of a cell, in m."""
        assert isinstance(self.cell, tuple)
        return self.cell

    @property
    def exactness(self) -> Literal["exact", "bound"]:
        """What `mean` holds: the chance of each move, or a lower bound for some of them."""
        return "bound" if (self._doubt > SURE).any() else "exact"

    def mean(self) -> Moves:
        """Return the mean model: each move's chance to be neither too steep up nor down.

        Where attempts are informative (see `exactness`) it has lower bounds on the chance of the
        moves at the cells that they touch. Attempted moves have exactly 1 or 0.
        """
        return self._mean

    @cached_property
    def _mean(self) -> Moves:
        return grid_graph(*self.shape).with_success(self.success_bounds()[0])

    def blocked_probability(self) -> FloatArray:
        """Return an upper bound [S, A] on the chance that a move never works.

        It is exact but for the moves that `exactness` speaks of, and 0 or 1 for attempted ones.
        """
        return frozen(1.0 - self.success_bounds()[0])

    def success_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound [S, A] on the chance that each move works.

        They are the same array where every chance is exact.
        """
        return self._bounds

    @cached_property
    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        known, pairs = self._success, self.attempts.pairs
        exact = self.exactness == "exact"
        if exact and (known.ravel()[pairs] == self.attempts.worked).all():
            return known, known
        low = known.copy()
        low, high = (low, low) if exact else self._bounded(low)
        for bound in (low, high):
            bound.ravel()[pairs] = self.attempts.worked
        low = frozen(low)
        return low, low if exact else frozen(high)

    def _bounded(self, success: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds [S, A] on what informative attempts leave of each move's chance."""
        edges, dest = self._edges, grid_graph(*self.shape).dest
        climb, descend = self._limits
        lesson = learn_from(edges, self._doubt, self.height, self.variance)
        cells, actions = lesson.parts.cells, len(STEPS)
        ways = np.arange(1, actions)
        there, ways_back = dest[cells][:, ways], np.array([back(int(a)) for a in ways])
        pairs = np.concatenate(
            [(cells[:, None] * actions + ways).ravel(), (there * actions + ways_back).ravel()]
        )
        state, action = np.divmod(np.unique(pairs), actions)
        end = dest[state, action]
        taught = ~(self.blocked[state] | self.blocked[end]) & (state != end)
        state, action, end = state[taught], action[taught], end[taught]
        moves = Ends(state, end, descend[action], climb[action])
        low, high = success, success.copy()
        low[state, action], high[state, action] = bounds_on(
            moves, success[state, action], lesson, self.height, self.variance
        )
        if lesson.doubt >= 2.0**-54:
            certain = dest == np.arange(len(dest))[:, None]
            sure = 1.0 - min(lesson.doubt, 0.5)  # each is below SURE: they are not that many
            low = np.where(certain, 1.0, np.maximum(0.0, 1.0 - (1.0 - low) / sure))
            high = np.minimum(1.0, high / sure)
        return low, high

    @cached_property
    def _edges(self) -> Edges:
        """The attempted moves as restrictions of heights [n]."""
        dest = grid_graph(*self.shape).dest
        if len(self.attempts) and self.attempts.pairs[-1] >= dest.size:
            raise InvalidBeliefError(
                f"an attempted move is {self.attempts.pairs[-1]}, expected "
                f"state · {len(STEPS)} + action below {dest.size}"
            )
        state, action = np.divmod(self.attempts.pairs, len(STEPS))
        climb, descend = self._limits
        end = dest[state, action].astype(np.int64)
        return Edges(state, end, descend[action], climb[action], self.attempts.worked)

    @cached_property
    def _doubt(self) -> FloatArray:
        """How likely [n] the measurements alone make the other outcome of each attempted move."""
        doubt = np.empty(len(self.attempts))
        if len(doubt):
            doubts(*self._edges, self.height, self.variance, doubt)
        return doubt

    @cached_property
    def _success(self) -> FloatArray:
        """The chance [S, A] of each move given the measurements alone."""
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
        """Return Theorem 2's σ [S, A]."""
        low, high = self.success_bounds()
        if low is high:
            return general_on_moves(self._mean.dest, low)
        return bounded_corrections(self._mean.dest, low, high, 0.0)[1]

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        """Return our corrections (returning, exploring), each [S, A]."""
        low, high = self.success_bounds()
        if low is high:
            return moves_corrections(self._mean.dest, low, discount)
        return bounded_corrections(self._mean.dest, low, high, discount)

    def update(self, observation: Heights | Transition) -> Self:
        """Return the belief after measured heights, a move that was tried, or both."""
        match observation:
            case Heights():
                moved = observation.moved
            case Transition():
                moved = observation
            case _:
                raise InvalidBeliefError(f"a terrain belief can't learn from {observation!r}")
        attempts = self.attempts if moved is None else self._attempts_after(moved)
        new = object.__new__(type(self))  # what is known to be sound is not checked again
        new.__dict__.update(self.__dict__)
        for name in ("_mean", "_bounds", "_doubt"):
            new.__dict__.pop(name, None)
        if attempts is not self.attempts:
            new.__dict__.pop("_edges", None)
            new.__dict__["attempts"] = attempts
        if isinstance(observation, Transition):
            return new
        height, variance = self.height.copy(), self.variance.copy()
        measured = np.zeros(len(height), dtype=bool)
        observation.take_in(self.blocked, height, variance, measured)
        known = new.__dict__.pop("_success", None)
        if known is None and "_before" in self.__dict__:  # several updates, no model in between
            known, changed = self.__dict__["_before"]
            measured |= changed
        if known is not None:
            new.__dict__["_before"] = known, measured
        new.__dict__.update(height=frozen(height), variance=frozen(variance))
        return new

    def _attempts_after(self, moved: Transition) -> Attempts:
        """Return all attempts after one more; raise if it can't have come out like that."""
        dest = grid_graph(*self.shape).dest
        moved.check(*dest.shape)
        state, action, after = moved.state, moved.action, moved.next_state
        there = int(dest[state, action])
        if after not in (state, there):
            raise ImpossibleObservationError(f"{moved} leads neither to s={there} nor nowhere")
        if self.blocked[state]:
            raise ImpossibleObservationError(f"nobody stands in cell s={state}, which is blocked")
        if there == state:
            return self.attempts
        worked = after == there
        if self.blocked[there]:
            if worked:
                raise ImpossibleObservationError(f"{moved} leads into a blocked cell")
            return self.attempts
        pair = state * len(STEPS) + action
        try:
            attempts = self.attempts.with_outcome(pair, worked)
            if self.climb == self.descend:  # then a move works if and only if its way back does
                attempts = attempts.with_outcome(there * len(STEPS) + back(action), worked)
        except ImpossibleObservationError as cause:
            raise ImpossibleObservationError(
                f"{moved} contradicts what was tried before"
            ) from cause
        return attempts

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Draw heights [S] in m that agree with every attempted move; see `attempts.draw`."""
        return draw(self.height, self.variance, self._edges, self._doubt, rng)

    def sample(self, rng: np.random.Generator) -> Moves:
        """Draw heights, and with them which moves work."""
        return self.model_of(self.draw(rng))

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
