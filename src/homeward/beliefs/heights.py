"""Independent normal heights on a grid: the belief of a vehicle on measured terrain.

A move to one of eight neighbours works if the rise between the two cells is within limits. By
default the limits follow from the steepest slopes, up and down, between the cells' centres. Given
the heights, a move always or never works. No move leads into or out of a blocked cell. Measurements
are normal around the true height, so updates are Kalman updates.

After one attempt, a move is known to work always or never. The effect of the attempt on other moves
is bounded (see `attempts`); the mean model then has lower bounds on their success probabilities.
`absorb` computes only the moves at measured cells again. Read `fields` next.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from homeward import arrays
from homeward.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    frozen,
    locked,
    set_fields,
    unless_given,
    unlocked,
)
from homeward.beliefs import height_kernels as kernels
from homeward.beliefs.attempts import SURE, Attempts, Components, Edges, draw
from homeward.beliefs.base import Belief, InPlaceBelief, MoveSets, Together, need_generator
from homeward.beliefs.corrections import changes_state
from homeward.beliefs.grid_graph import BACK, STEPS, attempt_of, grid_graph, grid_size, moves_at
from homeward.beliefs.observations import Heights, Transition
from homeward.beliefs.refutation import SURELY_NOT
from homeward.errors import ImpossibleObservationError, InvalidBeliefError, InvalidProblemError
from homeward.models import Moves

SHARP = (
    0.01  # standard deviation in m up to which a height counts as known, as in the paper's figure
)
REFRESH_SHARE = 0.25  # share of measured cells from which on all moves are computed again
CHUNK = 2**14  # moves that are computed at a time, which limits the memory


class SlopeBelief(Belief):
    """Base of beliefs in which the rise between two cells decides whether a move always works.

    A move whose rise is outside its limits never works. Subclasses are dataclasses with the fields
    below; their `_bounds` are bounds on the success probabilities of moves.
    """

    shape: tuple[int, int]
    height: FloatArray
    variance: FloatArray
    cell: float | tuple[float, float]
    climb: float
    descend: float
    blocked: BoolArray
    attempts: Attempts
    looked: BoolArray
    limits: tuple[FloatArray, FloatArray] | None
    terrain: FloatArray
    information: float | None = None
    """Information in nats of all measurements about all heights; None if these are independent."""

    moves_work_or_never: ClassVar[bool] = True

    @property
    @abstractmethod
    def _bounds(self) -> tuple[FloatArray, FloatArray]: ...

    @abstractmethod
    def _rise_variance(self, state: IntArray, action: IntArray, end: IntArray) -> FloatArray:
        """Return the variance [n] in m² of the rises of moves [n], given the measurements."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Draw heights [S] in m that agree with every attempted move."""

    @property
    def visited(self) -> BoolArray:
        """Mask [S] of blocked cells and of cells from which heights were measured."""
        return self.looked | self.blocked

    @property
    def counts(self) -> FloatArray:
        """Number of observations [S, A] of each move: infinite if its start was visited, else 0.

        A measurement from a cell shows the heights around that cell well.
        """
        known = np.where(self.visited, np.inf, 0.0)
        return np.broadcast_to(known[:, None], (len(known), len(STEPS)))

    def _check_common(self) -> None:
        """Check and set the fields that do not describe heights; raise if one is invalid."""
        error = InvalidBeliefError
        states = grid_size(self.shape, error)
        sides = self.cell if isinstance(self.cell, tuple) else (self.cell, self.cell)
        if len(sides) != 2:
            raise error(f"a cell's sides are {sides!r}, expected (height, width)")
        for side in sides:
            if not 0.0 < arrays.number(side, "a cell's side", error) < np.inf:
                raise error(f"a cell's side is {side:g} m, expected > 0")
        for name in ("climb", "descend"):
            if not 0.0 <= arrays.number(getattr(self, name), name, error) < 90.0:
                raise error(f"{name} is {getattr(self, name):g}°, expected 0 to 90")
        set_fields(
            self,
            cell=(float(sides[0]), float(sides[1])),
            blocked=arrays.marks(self.blocked, "blocked", states, error),
            looked=arrays.marks(self.looked, "looked", states, error),
            attempts=Attempts.none() if self.attempts is None else self.attempts,
        )
        if self.limits is not None:
            limits = tuple(
                arrays.floats(limit, f"the largest {what}", (states, len(STEPS)), error)
                for limit, what in zip(self.limits, ("drop", "rise"), strict=True)
            )
            set_fields(self, limits=limits)
        pairs = self.attempts.pairs
        if len(pairs) and pairs[-1] >= states * len(STEPS):
            raise error(
                f"an attempted move is {pairs[-1]}, expected state · {len(STEPS)} + action below "
                f"{states * len(STEPS)}"
            )
        edges = self._edges
        impossible = edges.start == edges.end
        impossible |= self.blocked[edges.start] | self.blocked[edges.end]
        if impossible.any():
            pair = divmod(int(pairs[np.argmax(impossible)]), len(STEPS))
            raise error(f"move {arrays.place(pair, 'sa')} can't have been attempted")

    @cached_property
    def _limits(self) -> tuple[FloatArray, FloatArray]:
        """Largest drop and rise of each move in m, [S, A], or [1, A] if the same everywhere."""
        if self.limits is not None:
            return self.limits
        tall, wide = self.size
        length = np.array([[math.hypot(tall * down, wide * right) for down, right in STEPS]])
        drop, rise = (
            frozen(math.tan(math.radians(slope)) * length) for slope in (self.descend, self.climb)
        )
        return drop, rise

    def limits_at(self, state: IntArray, action: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the largest drop and the largest rise [n] of moves [n], in m."""
        drop, rise = self._limits
        row = np.minimum(state, len(rise) - 1)
        return drop[row, action], rise[row, action]

    @property
    def size(self) -> tuple[float, float]:
        """Height and width of a cell, in m."""
        assert isinstance(self.cell, tuple)
        return self.cell

    def mean(self) -> Moves:
        """Return the mean model; the success of a move is the probability that it is not too steep.

        Near informative attempts, the success is a lower bound on this probability (see
        `least_blocked`). The success of an attempted move is exactly 1 or 0.
        """
        return self._mean

    @cached_property
    def _mean(self) -> Moves:
        return grid_graph(*self.shape).with_success(self._bounds[0], valid=True)

    def success_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds (low, high), each [S, A], on the success probabilities of moves.

        If all probabilities are exact, both are the same array.
        """
        return self._bounds

    def correction(self) -> FloatArray:
        """Return the general correction σ [S, A]: −2p(1−p), with p the success probability.

        If only bounds on p are known, it is a lower bound on the correction.
        """
        return self.move_corrections(0.0)[1]

    def _success_of(self, moves: IntArray) -> FloatArray:
        """Return the success [n] of moves, given as state·A + action, by the measurements alone."""
        state, action = np.divmod(moves, len(STEPS))
        end = grid_graph(*self.shape).dest.ravel()[moves]
        rise, variance = self.height[end] - self.height[state], self._rise_variance
        given = rise, variance(state, action, end), *self.limits_at(state, action)
        success = kernels.chances(*given)
        success[self.blocked[state] | self.blocked[end]] = 0.0
        success[end == state] = 1.0
        return success

    def _all_success(self) -> FloatArray:
        """Return the success probability [S, A] of each move by the measurements alone."""
        success = np.empty((len(self.height), len(STEPS)))
        for first in range(0, success.size, CHUNK):
            moves = np.arange(first, min(first + CHUNK, success.size))
            success.reshape(-1)[moves] = self._success_of(moves)
        return success

    def _edges_of(self, attempts: Attempts) -> Edges:
        """Return attempted moves [n] as constraints on heights."""
        state, action = np.divmod(attempts.pairs, len(STEPS))
        end = grid_graph(*self.shape).dest[state, action].astype(np.int64)
        return Edges(state, end, *self.limits_at(state, action), attempts.worked)

    @cached_property
    def _edges(self) -> Edges:
        """All attempted moves [n] as constraints on heights."""
        return self._edges_of(self.attempts)

    def _learned(self, observation: Any) -> tuple[Attempts, list[int], Heights | None]:
        """Return the attempts after an observation, the tried moves, and the measured heights.

        Moves are numbers state·A + action. Raise if the observation is invalid or impossible.
        """
        if not isinstance(observation, Heights | Transition):
            raise InvalidBeliefError(f"a terrain belief can't learn from {observation!r}")
        seen = observation if isinstance(observation, Heights) else None
        moved = observation.moved if isinstance(observation, Heights) else observation
        if moved is None:
            return self.attempts, [], seen
        state, action, there, worked = attempt_of(moved, grid_graph(*self.shape), self.blocked)
        if there == state:
            return self.attempts, [], seen
        if self.blocked[there]:
            if worked:
                raise ImpossibleObservationError(f"{moved} leads into a blocked cell")
            return self.attempts, [], seen
        reverse = int(BACK[action])
        tried = [state * len(STEPS) + action, there * len(STEPS) + reverse]
        try:
            attempts = self.attempts.with_outcome(tried[0], worked)
            both_ways = np.array([[state, there], [action, reverse]])
            (drop, drop_back), (rise, rise_back) = self.limits_at(*both_ways)
            if (drop, rise) == (rise_back, drop_back):  # the reverse works if and only if this does
                attempts = attempts.with_outcome(tried[1], worked)
        except ImpossibleObservationError as cause:
            raise ImpossibleObservationError(f"{moved} contradicts an earlier attempt") from cause
        return attempts, [] if attempts is self.attempts else tried, seen

    def sample(self, rng: np.random.Generator) -> Moves:
        """Return the model of heights drawn from the belief."""
        return self.model_of(self.draw(need_generator(rng)))

    def model_of(self, heights: ArrayLike) -> Moves:
        """Return the model of a world with these heights [S]: each move works or does not."""
        known = finite_heights(heights, "the height", self.blocked)
        graph, (drop, most) = grid_graph(*self.shape), self._limits
        open_heights = np.where(self.blocked, np.nan, known)  # a rise of NaN exceeds any limit
        rise = open_heights[graph.dest] - open_heights[:, None]
        works = (-drop <= rise) & (rise <= most)
        works |= ~changes_state(graph.dest)
        return graph.with_success(frozen(works.astype(np.float64)))


class _Near(NamedTuple):
    """The moves near informative attempts; moves are numbers state·A + action, ascending."""

    informative: IntArray  # [k] attempts with an informative outcome
    moves: IntArray  # [m] moves whose success probability is not exact
    low: FloatArray  # [m] lower bounds on their success
    high: FloatArray  # [m] upper bounds
    cells: IntArray  # [c] cells that these bounds depend on, ascending


class _Chances(NamedTuple):
    """What a belief has computed of its moves; `absorb` writes to the arrays."""

    success: FloatArray  # [S, A] lower bounds on the success probabilities
    never: FloatArray  # [S, A] 1 − success
    near: _Near


class _Sums(NamedTuple):
    """What `TerrainBelief.gain_left` has summed."""

    key: tuple[float, float]  # `weight` and `enough`
    tiles: FloatArray  # [2, T] gain and largest variance of each tile


@dataclass(frozen=True, eq=False)
class TerrainBelief(SlopeBelief, InPlaceBelief):
    """Independent normal heights, one per cell of a grid; states are row-major.

    Attributes
    ----------
    shape : Rows and columns
    height : [S] m, mean height; set to 0 in blocked cells
    variance : [S] m²; set to 0 in blocked cells
    cell : m, height and width of a cell, or one number for both
    climb : Degrees, steepest slope up
    descend : Degrees, steepest slope down
    blocked : [S] cells that can't be entered; no cell by default
    attempts : Moves tried so far; empty by default
    looked : [S] mask of cells from which heights were measured: in each observation, the cell with
        the most precise height; no cell by default
    limits : Largest drop and largest rise of each move, each [S, A] in m, −inf if a move never
        works; by default they follow from `climb` and `descend` between the cells' centres
    terrain : [S] m, heights before any measurement, which decide what a sensor on a mast sees; set
        to NaN in blocked cells; `height` by default
    """

    shape: tuple[int, int]
    height: FloatArray
    variance: FloatArray
    cell: float | tuple[float, float] = 20.0
    climb: float = 5.0
    descend: float = 45.0
    blocked: BoolArray = unless_given()
    attempts: Attempts = unless_given()
    looked: BoolArray = unless_given()
    limits: tuple[FloatArray, FloatArray] | None = None
    terrain: FloatArray = unless_given()
    _chances: _Chances | None = field(init=False, repr=False, default=None)
    _sums: _Sums | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        self._check_common()
        height = finite_heights(self.height, "the height", self.blocked)
        variance = finite_heights(self.variance, "the variance", self.blocked)
        if not variance.min(where=~self.blocked, initial=np.inf) > 0.0:
            cell = int(np.argmax(~self.blocked & (variance <= 0.0)))
            raise InvalidBeliefError(
                f"the variance of cell {cell} is {variance[cell]:g}, expected > 0"
            )
        known = height
        if self.terrain is not None:
            known = finite_heights(self.terrain, "the terrain model", self.blocked)
        set_fields(self, terrain=frozen(np.where(self.blocked, np.nan, known)))
        for name, array in (("height", height), ("variance", variance), ("looked", self.looked)):
            set_fields(self, **{name: locked(array.copy())})

    def copy(self) -> Self:
        """Return a belief with arrays of its own."""
        new = object.__new__(type(self))  # skips the checks: all values are valid already
        new.__dict__.update(self.__dict__)
        for name in ("height", "variance", "looked"):
            new.__dict__[name] = locked(self.__dict__[name].copy())
        if self._chances is not None:
            success, never, near = self._chances
            chances = _Chances(locked(success.copy()), locked(never.copy()), near)
            new.__dict__["_chances"] = chances
        if self._sums is not None:
            new.__dict__["_sums"] = self._sums._replace(tiles=self._sums.tiles.copy())
        for name in ("_mean", "_bounds"):
            new.__dict__.pop(name, None)
        return new

    def _rise_variance(self, state: IntArray, action: IntArray, end: IntArray) -> FloatArray:
        return self.variance[state] + self.variance[end]

    def blocked_probability(self) -> FloatArray:
        """Return an upper bound [S, A] on Pr(a move never works); it is exact where `mean` is."""
        return self._known().never

    def least_blocked(self) -> tuple[IntArray, FloatArray]:
        """Return moves [m] without an exact probability, and lower bounds [m] on Pr(never works).

        A move is the number state·A + action, ascending.
        """
        near = self._known().near
        return near.moves, 1.0 - near.high

    def work_together(self, sets: MoveSets) -> Together:
        """Return bounds on the probability that all moves of each set work.

        They are found by integrals over heights (see `height_kernels`).
        """
        (low, high), moves = np.empty((2, len(sets.first) - 1)), sets[1:]
        likely, numbers = self._mean.success[moves], sets.state * len(STEPS) + sets.action
        bounded, least = self.least_blocked()
        apart = arrays.are_among(bounded, numbers)
        likely[apart] = 1.0 - least[np.searchsorted(bounded, numbers[apart])]
        end, (drop, rise) = self._mean.dest[moves], self.limits_at(*moves)
        risk = self.blocked_probability()[moves]
        rises = kernels.MoveRises(sets.state, end, -drop, rise, risk, likely, apart)
        given = sets.first, rises, kernels.BINS
        kernels.height_sets(self.height, self.variance, *given, low, high)
        return Together(low, high, self.evaluator)

    @cached_property
    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        low, _, near = self._known()
        if not len(near.moves):
            return low, low
        high = low.copy()
        high.reshape(-1)[near.moves] = near.high
        return low, frozen(high)

    def is_contradicted(self) -> bool:
        """Return whether the measurements alone rule out the outcome of an attempted move."""
        attempts = self.attempts.among(self._known().near.informative)
        doubt = self._edges_of(attempts).doubts(self.height, self.variance)
        return bool((doubt >= 1.0 - SURELY_NOT).any())

    def _known(self) -> _Chances:
        """Return what is known of the moves; compute it at the first call."""
        if self._chances is None:
            success, pairs = self._all_success(), self.attempts.pairs
            near = self._near_to(pairs[self._doubt > SURE])
            success.reshape(-1)[near.moves] = near.low
            success.reshape(-1)[pairs] = self.attempts.worked
            chances = _Chances(locked(success), locked(1.0 - success), near)
            set_fields(self, _chances=chances)
            return chances
        return self._chances

    def _near_to(self, informative: IntArray) -> _Near:
        """Return bounds on the success of the moves near `informative` attempts.

        With A the outcomes of the components that a move touches, Pr(it works | A) is at most
        Pr(it works) / Pr(A), and the same holds for Pr(it fails | A). An outcome that is almost
        certain by the measurements is informative if it may be doubtful given A.
        """
        nothing: IntArray = np.empty(0, np.int64)
        if not len(informative):
            return _Near(nothing, nothing, np.empty(0), np.empty(0), nothing)
        before, dest = nothing, grid_graph(*self.shape).dest
        while len(before) < len(informative):
            before = informative
            parts = Components.of(self._edges_of(self.attempts.among(informative)))
            log_mass = parts.likelihoods(self.height, self.variance)
            moves = moves_at(parts.cells, dest)
            others = self.attempts.among(moves)
            edges = self._edges_of(others)
            with np.errstate(over="ignore"):
                scale = np.exp(-parts.together(edges.start, edges.end, log_mass))
            doubt = edges.doubts(self.height, self.variance)
            with np.errstate(invalid="ignore"):
                doubtful = np.isinf(scale) | (doubt * scale > SURE)
            informative = np.union1d(informative, others.pairs[doubtful])
        state, action = np.divmod(moves, len(STEPS))
        cells, end = np.unique(state), dest[state, action]
        open_ = ~(self.blocked[state] | self.blocked[end])
        open_ &= np.isfinite(self.limits_at(state, action)[1])  # others never work
        moves, state, end = moves[open_], state[open_], end[open_]
        success = self._success_of(moves)
        with np.errstate(over="ignore"):
            scale = np.exp(-parts.together(state, end, log_mass))
        low = 1.0 - np.minimum(1.0, (1.0 - success + 2.0**-52) * scale)
        high = np.minimum(1.0, (success + 2.0**-52) * scale)
        tried = self.attempts.among(moves)
        for bound in (low, high):
            bound[np.searchsorted(moves, tried.pairs)] = tried.worked
        return _Near(informative, moves, low, high, cells)

    @cached_property
    def _doubt(self) -> FloatArray:
        """Probability [n] of the opposite outcome of each attempt, given the measurements alone."""
        return self._edges.doubts(self.height, self.variance)

    def lent_variance(self) -> FloatArray:
        """Return `variance` [S] in m² for compiled searches, which must not write to it."""
        return unlocked(self.variance)

    def gain_left(self, weight: float, enough: float = math.inf) -> tuple[float, float]:
        """Return Σ ½ ln(1 + variance·weight) over the cells, in nats, and the largest variance.

        A cell counts at most the nats until its precision is `enough`, in 1/m². The sums of tiles
        are kept; `absorb` sums only tiles with measured cells again.
        """
        sums = self._sums
        if sums is None or sums.key != (weight, enough):
            tiles = np.arange(-(-len(self.blocked) // kernels.TILE))
            sums = _Sums((weight, enough), np.empty((2, len(tiles))))
            kernels.sum_tiles(self.variance, weight, enough, tiles, sums.tiles)
            set_fields(self, _sums=sums)
        return float(sums.tiles[0].sum()), float(sums.tiles[1].max())

    def _absorb(self, observation: Heights | Transition) -> IntArray | None:
        attempts, tried, seen = self._learned(observation)
        cells: IntArray = np.empty(0, np.int64)
        if seen is not None:
            posterior = seen.posterior(self.blocked, self.height, self.variance)
            cells = seen.cells.astype(np.int64)
            for array, values in zip((self.height, self.variance), posterior, strict=True):
                unlocked(array)[cells] = values
            if len(cells):
                unlocked(self.looked)[cells[seen.variances.argmin()]] = True
            if self._sums is not None:
                tiles = np.unique(cells // kernels.TILE)
                kernels.sum_tiles(self.variance, *self._sums.key, tiles, self._sums.tiles)
        set_fields(self, attempts=attempts)
        for name in ("_mean", "_bounds", "_edges", "_doubt"):
            self.__dict__.pop(name, None)
        if self._chances is None or len(cells) >= REFRESH_SHARE * len(self.blocked):
            set_fields(self, _chances=None)
            return None
        moves = self._refresh(self._chances, cells, np.array(tried, np.int64))
        changed: IntArray = np.unique(moves // len(STEPS))
        return changed

    def _refresh(self, chances: _Chances, cells: IntArray, tried: IntArray) -> IntArray:
        """Compute the moves at measured `cells`, and those that were `tried`, again.

        Return all moves [n] that may have changed, as state·A + action, ascending.
        """
        moves = np.union1d(moves_at(cells, grid_graph(*self.shape).dest), tried)
        attempts, near = self.attempts.among(moves), chances.near
        doubt = self._edges_of(attempts).doubts(self.height, self.variance)
        doubtful, at = attempts.pairs[doubt > SURE], np.append(cells, tried // len(STEPS))
        if len(doubtful) or arrays.are_among(near.cells, at).any():
            kept, before = np.setdiff1d(near.informative, moves, assume_unique=True), near.moves
            near = self._near_to(np.union1d(kept, doubtful))
            moves = np.unique(np.concatenate([moves, near.moves, before]))
            attempts = self.attempts.among(moves)
            set_fields(self, _chances=chances._replace(near=near))
        success = self._success_of(moves)
        inside = arrays.are_among(near.moves, moves)
        success[inside] = near.low[np.searchsorted(near.moves, moves[inside])]
        success[np.searchsorted(moves, attempts.pairs)] = attempts.worked
        unlocked(chances.success).reshape(-1)[moves] = success
        unlocked(chances.never).reshape(-1)[moves] = 1.0 - success
        return moves

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Draw heights [S] in m that agree with every attempted move; see `attempts.draw`."""
        return draw(self.height, self.variance, self._edges, self._doubt, rng)


def entropy_reduction(prior: SlopeBelief, posterior: SlopeBelief) -> float:
    """Return the decrease in nats of the entropy of the heights of all cells that are not blocked.

    It is Σ ½ ln(prior variance / posterior variance) where heights are independent.
    """
    for belief in (prior, posterior):
        if not isinstance(belief, SlopeBelief):
            name = type(belief).__name__
            raise InvalidProblemError(f"the belief is {name}, expected a TerrainBelief")
    if prior.shape != posterior.shape or (prior.blocked != posterior.blocked).any():
        raise InvalidBeliefError("the prior and the posterior have different cells")
    if prior.information is not None and posterior.information is not None:
        return posterior.information - prior.information
    counted = ~prior.blocked
    return float(0.5 * np.log(prior.variance[counted] / posterior.variance[counted]).sum())


def finite_heights(values: ArrayLike, name: str, blocked: BoolArray) -> FloatArray:
    """Return `values` [S] as read-only float64, 0 in blocked cells; raise unless all are finite."""
    array = arrays.numbers(values, name, blocked.shape, InvalidBeliefError)
    if blocked.any():
        array = np.where(blocked, 0.0, array)
    if not np.isfinite([array.min(), array.max()]).all():
        at = int(np.argmin(np.isfinite(array)))
        kind = "NaN" if np.isnan(array[at]) else "infinite"
        raise InvalidBeliefError(f"{name} is {kind} at ({at},)")
    return arrays.own(array, values)
