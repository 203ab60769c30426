"""Independent normal heights on a grid: the belief of a vehicle on measured terrain.

A move to one of eight neighbours works if the rise between the cells is between two limits. By
default they are the slopes between the cells' centres. Given the heights, a move always or never
works. No move leads into or out of a blocked cell. Measurements are normal around the true height,
so updates are Kalman updates.

An attempted move is known from then on: it always or never works. Its effect on other moves is
bounded, see `attempt_bounds`; the mean model then has lower bounds on their success probabilities.

Beliefs share their arrays (`homeward.shared`). After an update only measured cells and the moves at
them are computed again, unless these are many. The result equals that of a new belief bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from homeward import arrays
from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, set_fields, unless_given
from homeward.beliefs import height_kernels as kernels
from homeward.beliefs.attempt_bounds import move_bounds
from homeward.beliefs.attempts import SURE, Attempts, Edges, draw, edges_of
from homeward.beliefs.corrections import changes_state, moves_corrections
from homeward.beliefs.grid_graph import STEPS, attempt_of, back, grid_graph, grid_size
from homeward.beliefs.observations import Transition, in_turn
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import Moves
from homeward.shared import LazyArrays, Shared

SHARP = 0.01  # deviation in m up to which a height counts as known, as in the paper's figure
PARALLEL_SIZE = 200_000  # smallest number of state-actions for which several threads are faster
REFRESH_SHARE = 0.25  # largest share of measured cells whose moves alone are computed again
SHARED = ("height", "variance", "looked")  # fields whose arrays beliefs share

_NO_MOVES: IntArray = frozen(np.empty(0, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Heights:
    """Measured heights of some cells.

    Attributes
    ----------
    cells : [n] measured cells
    heights : [n] m, measured heights
    variances : [n] m², variances of the errors; infinite for a measurement without information
    moved : Move before the measurement; None if there was no move
    """

    cells: IntArray
    heights: FloatArray
    variances: FloatArray
    moved: Transition | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        error = InvalidBeliefError
        if self.moved is not None and not isinstance(self.moved, Transition):
            raise error(f"the move before a measurement is {self.moved!r}, expected a Transition")
        cells = arrays.indices(self.cells, "measured cell", None, (0, 2**31 - 1), "n", error)
        if cells.ndim != 1:
            raise error(f"the measured cells have shape {cells.shape}, expected [n]")
        heights = arrays.numbers(self.heights, "the measured heights", cells.shape, error)
        variances = arrays.numbers(self.variances, "their variances", cells.shape, error)
        set_fields(self, cells=cells, heights=arrays.own(heights, self.heights))
        set_fields(self, variances=arrays.own(variances, self.variances))

    def posterior(
        self, blocked: BoolArray, height: FloatArray, variance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the posterior heights and variances [n] of the measured cells; priors are [S]."""
        given, told = (self.cells, self.heights, self.variances), np.empty((2, len(self.cells)))
        twice = np.zeros(len(self.cells), np.bool_)
        if (self.cells[1:] <= self.cells[:-1]).any():
            order = np.argsort(self.cells, kind="stable")
            twice[order[1:]] = self.cells[order[1:]] == self.cells[order[:-1]]
        fault, at = kernels.learn(*given, blocked, height, variance, twice, told)
        if fault == kernels.FINE:
            return told[0], told[1]
        cell, seen, error = (part[at] for part in given)
        measurement = f"cell s={cell} is measured"
        faults = {
            kernels.OUTSIDE: f"a measured cell is s={cell}, outside 0..{len(height) - 1}",
            kernels.BLOCKED: f"{measurement} and blocked",
            kernels.TWICE: f"{measurement} twice in one observation",
            kernels.NO_HEIGHT: f"{measurement} at a height of {seen:g} m",
            kernels.NO_VARIANCE: f"{measurement} with a variance of {error:g}, expected > 0",
            kernels.NOTHING_LEFT: f"{measurement} so precisely that its variance would be 0",
        }
        raise InvalidBeliefError(faults[fault])


class Chances(NamedTuple):
    """Bounds on the success of moves (state·A + action, ascending), and attempts behind them."""

    low: Shared  # [S, A] lower bounds
    never: Shared  # [S, A] 1 − low
    informative: IntArray  # [k] informative attempts
    bounded: IntArray  # [m] moves near these; the bounds of all others are exact
    high: FloatArray  # [m] upper bounds of these
    near: IntArray  # [c] cells that these bounds depend on, ascending


class SlopeBelief:
    """Moves to neighbouring cells; the slope decides whether a move always or never works.

    Subclasses are dataclasses with these fields. They give bounds on the success of moves.
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
    information: float | None = None
    """Nats that the measurements tell about all heights together; None if they are independent."""

    if TYPE_CHECKING:

        @property
        def _bounds(self) -> tuple[FloatArray, FloatArray]: ...

        def update(
            self, observation: Heights | Transition | Sequence[Heights | Transition]
        ) -> Self:
            """Return the belief after measured heights, a move that was tried, or both."""

        def draw(self, rng: np.random.Generator) -> FloatArray:
            """Draw heights [S] in m that agree with every attempted move."""

    moves_work_or_never: ClassVar[bool] = True

    @property
    def visited(self) -> BoolArray:
        """Mask [S] of cells that measurements were made from, and of blocked cells."""
        found: BoolArray = self.looked | self.blocked
        return found

    @property
    def counts(self) -> FloatArray:
        """Number of observations [S, A] of a move: infinite if its start was visited, else 0.

        From inside a cell, the heights around it are measured well.
        """
        known = np.where(self.visited, np.inf, 0.0)
        return np.broadcast_to(known[:, None], (len(known), len(STEPS)))

    def _checked_sides(self) -> tuple[float, float]:
        """Return the sides of a cell in m; raise if a side or a slope limit is invalid."""
        error = InvalidBeliefError
        sides = self.cell if isinstance(self.cell, tuple) else (self.cell, self.cell)
        if len(sides) != 2:
            raise error(f"a cell's sides are {sides!r}, expected (height, width)")
        for side in sides:
            if not 0.0 < arrays.number(side, "a cell's side", error) < np.inf:
                raise error(f"a cell's side is {side:g} m, expected > 0")
        for name in ("climb", "descend"):
            if not 0.0 <= arrays.number(getattr(self, name), name, error) < 90.0:
                raise error(f"{name} is {getattr(self, name):g}°, expected 0 to 90")
        return float(sides[0]), float(sides[1])

    def _checked_limits(self) -> tuple[FloatArray, FloatArray] | None:
        """Return `limits` (drop, rise; each [S, A] in m) or None; raise if they are invalid."""
        if self.limits is None:
            return None
        limits = []
        for given, what in zip(self.limits, ("drop", "rise"), strict=True):
            shape = len(self.blocked), len(STEPS)
            limit = arrays.numbers(given, f"the largest {what}", shape, InvalidBeliefError)
            if np.isnan(limit).any():
                at = tuple(int(i) for i in np.argwhere(np.isnan(limit))[0])
                raise InvalidBeliefError(f"the largest {what} {arrays.place(at, 'sa')} is NaN")
            limits.append(arrays.own(limit, given))
        return limits[0], limits[1]

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

    def _check_attempts(self) -> None:
        """Raise if a move can't have been attempted."""
        if len(self.attempts):
            edges, blocked = self._edges, self.blocked
            shut = (edges.start == edges.end) | blocked[edges.start] | blocked[edges.end]
            if shut.any():
                pair = divmod(int(self.attempts.pairs[np.argmax(shut)]), len(STEPS))
                raise InvalidBeliefError(
                    f"move (s={pair[0]}, a={pair[1]}) can't have been attempted"
                )

    @property
    def size(self) -> tuple[float, float]:
        """Height and width of a cell, in m."""
        assert isinstance(self.cell, tuple)
        return self.cell

    def mean(self) -> Moves:
        """Return the mean model: the probability that each move is not too steep up or down.

        Moves at cells of informative attempts have lower bounds instead (see `exactness`).
        Attempted moves have exactly 1 or 0.
        """
        return self._mean

    @cached_property
    def _mean(self) -> Moves:
        return grid_graph(*self.shape).with_success(self.success_bounds()[0])

    def blocked_probability(self) -> FloatArray:
        """Return an upper bound [S, A] on Pr(a move never works); it is exact where `mean` is."""
        return frozen(1.0 - self.success_bounds()[0])

    def least_blocked(self) -> tuple[IntArray, FloatArray]:
        """Return inexact moves [m] (state·A + action, ascending), and lower bounds on blocking."""
        low, high = (bound.ravel() for bound in self.success_bounds())
        moves = np.flatnonzero(low != high)
        return moves, 1.0 - high[moves]

    def success_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds low and high [S, A] on the success of moves; one array if all are exact."""
        return self._bounds

    @property
    def surface(self) -> FloatArray:
        """Mean heights [S] in m, NaN in blocked cells."""
        return np.where(self.blocked, np.nan, self.height)

    def correction(self) -> FloatArray:
        """Return the general correction σ [S, A]."""
        return self.move_corrections(0.0)[1]

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        """Return the moves corrections (returning, exploring), each [S, A]."""
        return moves_corrections(self._mean.dest, *self.success_bounds(), discount)

    @cached_property
    def _edges(self) -> Edges:
        """Attempted moves [n] as constraints on heights."""
        dest = grid_graph(*self.shape).dest
        if len(self.attempts) and self.attempts.pairs[-1] >= dest.size:
            raise InvalidBeliefError(
                f"an attempted move is {self.attempts.pairs[-1]}, expected "
                f"state · {len(STEPS)} + action below {dest.size}"
            )
        return edges_of(self.attempts, dest, self._limits)

    def _attempts_after(self, moved: Transition) -> Attempts:
        """Return the attempts with one more; raise if its outcome is impossible."""
        graph = grid_graph(*self.shape)
        state, action, there, worked = attempt_of(moved, graph, self.blocked)
        if there == state:
            return self.attempts
        if self.blocked[there]:
            if worked:
                raise ImpossibleObservationError(f"{moved} leads into a blocked cell")
            return self.attempts
        pair = state * len(STEPS) + action
        try:
            attempts = self.attempts.with_outcome(pair, worked)
            ways = np.array([[state, there], [action, back(action)]])
            (drop, drop_back), (rise, rise_back) = self.limits_at(*ways)
            if (drop, rise) == (rise_back, drop_back):  # it works if and only if its reverse does
                attempts = attempts.with_outcome(there * len(STEPS) + back(action), worked)
        except ImpossibleObservationError as cause:
            raise ImpossibleObservationError(f"{moved} contradicts an earlier attempt") from cause
        return attempts

    def _looked_after(self, seen: Heights) -> BoolArray:
        """Return the mask [S] of cells that measurements were made from, including `seen`."""
        if not len(seen.cells):
            return self.looked
        looked = self.looked.copy()
        looked[seen.cells[seen.variances.argmin()]] = True
        return frozen(looked)

    def sample(self, rng: np.random.Generator) -> Moves:
        """Draw heights, and with them which moves work."""
        return self.model_of(self.draw(rng))

    def model_of(self, heights: ArrayLike) -> Moves:
        """Return the model of a world with these heights [S]: each move works or does not."""
        known = finite_heights(heights, "the height", self.blocked)
        graph, (drop, most) = grid_graph(*self.shape), self._limits
        open_heights = np.where(self.blocked, np.nan, known)  # a rise of NaN exceeds any limit
        rise = open_heights[graph.dest] - open_heights[:, None]
        works = (-drop <= rise) & (rise <= most)
        works |= ~changes_state(graph.dest)
        return graph.with_success(frozen(works.astype(np.float64)))


@dataclass(frozen=True, eq=False)
class TerrainBelief(SlopeBelief, LazyArrays):
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
    looked : [S] cells that measurements were made from: in each observation, the most precise ones
    limits : [S, A] m, largest drop and largest rise of each move, −inf if it never works; from the
        slopes between the cells' centres by default
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

    def __post_init__(self) -> None:
        error = InvalidBeliefError
        blocked = arrays.marks(self.blocked, "blocked", grid_size(self.shape, error), error)
        height = finite_heights(self.height, "the height", blocked)
        variance = finite_heights(self.variance, "the variance", blocked)
        low = np.where(blocked, np.inf, variance) if blocked.any() else variance
        if not low.min() > 0.0:
            raise error(f"the variance of cell {int(low.argmin())} is {low.min():g}, expected > 0")
        sides = self._checked_sides()
        attempts = Attempts.none() if self.attempts is None else self.attempts
        set_fields(self, blocked=blocked, height=height, variance=variance, attempts=attempts)
        looked = arrays.marks(self.looked, "looked", len(blocked), error)
        set_fields(self, cell=sides, looked=looked)
        set_fields(self, limits=self._checked_limits())
        self._check_attempts()
        self._defer(*SHARED)

    @property
    def exactness(self) -> Literal["exact", "bound"]:
        """Whether `mean` holds exact success probabilities, or lower bounds for some moves."""
        return "bound" if len(self._chances.informative) else "exact"

    @cached_property
    def _mean(self) -> Moves:
        return grid_graph(*self.shape).with_success(self._chances.low.read(), valid=True)

    @property
    def risks(self) -> Shared:
        """The version of `blocked_probability`; where it changed, `mean` may have changed too."""
        return self._chances.never

    def blocked_probability(self) -> FloatArray:
        """Return an upper bound [S, A] on Pr(a move never works); it is exact where `mean` is."""
        return self._chances.never.read()

    def least_blocked(self) -> tuple[IntArray, FloatArray]:
        """Return the moves [m] without an exact probability, and lower bounds [m] on blocking."""
        return self._chances.bounded, 1.0 - self._chances.high

    @cached_property
    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        chances = self._chances
        low: FloatArray = self._mean.success
        if not len(chances.bounded):
            return low, low
        high = low.copy()
        high.reshape(-1)[chances.bounded] = chances.high
        return low, frozen(high)

    @property
    def _chances(self) -> Chances:
        """Bounds on the success of every move; only those that changed are computed again."""
        known, cells, tried = self.__dict__.get("_kept", (None, (), ()))
        if known is not None and not cells and not tried:
            found: Chances = known
            return found
        if known is not None and sum(map(len, cells)) < REFRESH_SHARE * len(self.blocked):
            found = self._updated_chances(known, cells, tried)
        else:
            found = self._all_chances()
        self.__dict__["_kept"] = found, (), ()
        return found

    def _all_chances(self) -> Chances:
        """Compute all bounds from scratch."""
        success, ground = np.ones((len(self.blocked), len(STEPS))), self.ground
        if success.size >= PARALLEL_SIZE:
            kernels.fill(ground, success)
        else:
            moves = np.flatnonzero(changes_state(grid_graph(*self.shape).dest))
            told = np.empty(len(moves))
            kernels.refresh(ground, moves, told)
            success.reshape(-1)[moves] = told
        pairs = self.attempts.pairs
        informative = pairs[self._doubt > SURE]
        bounded, low, high, near = self._given_attempts(informative)
        success.reshape(-1)[bounded] = low
        success.reshape(-1)[pairs] = self.attempts.worked
        return Chances(Shared(success), Shared(1.0 - success), informative, bounded, high, near)

    def _updated_chances(
        self, known: Chances, cells: tuple[IntArray, ...], tried: tuple[int, ...]
    ) -> Chances:
        """Update `known` bounds after some cells were measured and moves tried."""
        touched = kernels.moves_at(np.concatenate([*cells, _NO_MOVES]), *self.shape)
        ways: IntArray = np.array(tried, np.int64)
        if not arrays.are_among(touched, ways).all():
            touched = np.union1d(touched, ways)
        attempts = self.attempts.among(touched)
        doubt = np.empty(len(attempts))
        kernels.doubts(
            edges_of(attempts, grid_graph(*self.shape).dest, self._limits),
            self.height,
            self.variance,
            doubt,
        )
        news, moves = attempts.pairs[doubt > SURE], touched
        informative, bounded, high, near = known[2:]
        at = np.concatenate([*cells, ways // len(STEPS)])
        is_known = not len(news) and not arrays.are_among(near, at).any()
        low: FloatArray = np.empty(0)
        if not is_known:
            kept = np.setdiff1d(informative, touched, assume_unique=True)
            informative = np.union1d(kept, news)
            bounded, low, high, near = self._given_attempts(informative)
            moves = np.unique(np.concatenate([touched, bounded, known.bounded]))
            attempts = self.attempts.among(moves)
        success = np.empty(len(moves))
        kernels.refresh(self.ground, moves, success)
        if not is_known:
            success[np.searchsorted(moves, bounded)] = low
        success[np.searchsorted(moves, attempts.pairs)] = attempts.worked
        changed = known.low.changed(moves, success), known.never.changed(moves, 1.0 - success)
        return Chances(*changed, informative, bounded, high, near)

    def _given_attempts(
        self, informative: IntArray
    ) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
        """Return the moves [m] near informative attempts, and bounds (low, high) [m] on them.

        Also return the cells [c] that these depend on, ascending.
        """
        if not len(informative):
            return _NO_MOVES, np.empty(0), np.empty(0), _NO_MOVES
        dest = grid_graph(*self.shape).dest
        moves, low, high, near = move_bounds(informative, self.attempts, dest, self.ground)
        tried = self.attempts.among(moves)
        low[np.searchsorted(moves, tried.pairs)] = tried.worked
        high[np.searchsorted(moves, tried.pairs)] = tried.worked
        return moves, low, high, near

    @cached_property
    def _doubt(self) -> FloatArray:
        """Probability [n] of the opposite outcome of each attempt, given the measurements alone."""
        doubt = np.empty(len(self.attempts))
        if len(doubt):
            kernels.doubts(self._edges, self.height, self.variance, doubt)
        return doubt

    @property
    def surface(self) -> FloatArray:
        """Mean heights [S] in m, NaN in blocked cells."""
        version, cells = self.__dict__.get("_surface", (None, ()))
        if version is None:
            version = Shared(np.where(self.blocked, np.nan, self.height))
        elif cells:
            at = np.unique(np.concatenate(cells))
            version = version.changed(at, self.height[at])
        self.__dict__["_surface"] = version, ()
        surface: FloatArray = version.read()
        return surface

    def lent_variance(self) -> FloatArray:
        """Return `variance` for compiled searches; see `Shared.lend`."""
        variance: FloatArray = self.__dict__["_sources"]["variance"].lend()
        return variance

    def gain_left(self, weight: float) -> tuple[float, float]:
        """Return Σ ½ ln(1 + variance·weight) over the cells, in nats, and the largest variance."""
        (before, sums), cells = self.__dict__.get("_sums", ((None, None), ()))
        if before != weight:
            tiles = np.arange(-(-len(self.blocked) // kernels.TILE))
            sums = np.empty((2, len(tiles)))
        else:
            tiles = np.unique(np.concatenate([*cells, _NO_MOVES]) // kernels.TILE)
            sums = sums.copy() if len(tiles) else sums
        kernels.sum_tiles(self.variance, weight, tiles, sums)
        self.__dict__["_sums"] = (weight, sums), ()
        return float(sums[0].sum()), float(sums[1].max())

    @property
    def ground(self) -> kernels.Ground:
        """Heights and variances given the measurements alone, and the limits of every move."""
        drop, rise = self._limits
        rows, columns = self.shape
        return kernels.Ground(rows, columns, self.height, self.variance, self.blocked, rise, drop)

    def update(self, observation: Heights | Transition | Sequence[Heights | Transition]) -> Self:
        """Return the belief after measured heights, a tried move, or both, or a list of these."""
        if isinstance(observation, tuple | list):
            return in_turn(self, observation)
        if not isinstance(observation, Heights | Transition):
            raise InvalidBeliefError(f"a terrain belief can't learn from {observation!r}")
        moved = observation.moved if isinstance(observation, Heights) else observation
        attempts = self.attempts if moved is None else self._attempts_after(moved)
        tried: tuple[int, ...] = ()
        if moved is not None and attempts is not self.attempts:
            attempt = attempt_of(moved, grid_graph(*self.shape), self.blocked)
            ways = (attempt.state, attempt.action), (attempt.there, back(attempt.action))
            tried = tuple(state * len(STEPS) + action for state, action in ways)
        cells: tuple[IntArray, ...] = ()
        versions: dict[str, Shared] = self.__dict__["_sources"]
        if isinstance(observation, Heights):
            told = observation.posterior(self.blocked, self.height, self.variance)
            cells, at = (observation.cells,), observation.cells
            versions = dict(versions)
            for name, values in zip(("height", "variance"), told, strict=True):
                versions[name] = versions[name].changed(at, values)
            if len(at):
                best = at[[observation.variances.argmin()]]
                versions["looked"] = versions["looked"].changed(best, True)
        for name in ("_mean", "_bounds"):  # they hold arrays, which can't be changed meanwhile
            self.__dict__.pop(name, None)
        new = object.__new__(type(self))  # skips the checks: all values are valid already
        new.__dict__.update(self.__dict__)
        for name in (*SHARED, "_edges", "_doubt"):
            new.__dict__.pop(name, None)
        set_fields(new, attempts=attempts, _sources=versions)
        for name in ("_kept", "_sums", "_surface"):  # of earlier beliefs, and what changed since
            if name in self.__dict__:
                value, *before = self.__dict__[name]
                since = zip(before, (cells, tried)[: len(before)], strict=True)
                new.__dict__[name] = value, *((*old, *late) for old, late in since)
        return new

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Draw heights [S] in m that agree with every attempted move; see `attempts.draw`."""
        return draw(self.height, self.variance, self._edges, self._doubt, rng)


def entropy_reduction(prior: SlopeBelief, posterior: SlopeBelief) -> float:
    """Return by how many nats the entropy of the open cells' heights fell.

    It is Σ ½ ln(prior variance / posterior variance) where heights are independent.
    """
    if prior.shape != posterior.shape or (prior.blocked != posterior.blocked).any():
        raise InvalidBeliefError("the prior and the posterior have different cells")
    if prior.information is not None and posterior.information is not None:
        return posterior.information - prior.information
    counted = ~prior.blocked
    return float(0.5 * np.log(prior.variance[counted] / posterior.variance[counted]).sum())


def finite_heights(values: ArrayLike, name: str, blocked: BoolArray) -> FloatArray:
    """Return numbers [S] as read-only float64, 0 in blocked cells; raise unless all are finite."""
    array = arrays.numbers(values, name, blocked.shape, InvalidBeliefError)
    if blocked.any():
        array = np.where(blocked, 0.0, array)
    if not np.isfinite([array.min(), array.max()]).all():
        at = int(np.argmin(np.isfinite(array)))
        kind = "NaN" if np.isnan(array[at]) else "infinite"
        raise InvalidBeliefError(f"{name} is {kind} at ({at},)")
    return arrays.own(array, values)
