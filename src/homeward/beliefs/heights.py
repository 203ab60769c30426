"""Independent normal heights on a grid: the belief of a vehicle on measured terrain.

A move to one of eight neighbours works if the rise between the two cells is within limits. By
default the limits follow from the steepest slopes, up and down, between the cells' centres. Given
the heights, a move always or never works. No move leads into or out of a blocked cell. Measurements
are normal around the true height, so updates are Kalman updates.

After one attempt, a move is known to work always or never. The effect of the attempt on other moves
is bounded (see `attempt_bounds`); the mean model then has lower bounds on their success
probabilities.

Beliefs share their arrays (`homeward.shared`). After an update, only the measured cells and the
moves at these cells are computed again. If many cells were measured, all moves are computed again.
Both ways give the same numbers, bit by bit.
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
from homeward.beliefs.base import Belief, MoveSets, Together
from homeward.beliefs.corrections import changes_state
from homeward.beliefs.grid_graph import STEPS, attempt_of, back, grid_graph, grid_size
from homeward.beliefs.height_joint import BINS, height_sets
from homeward.beliefs.observations import Transition, in_turn
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import Moves
from homeward.shared import LazyArrays, Shared

SHARP = (
    0.01  # standard deviation in m up to which a height counts as known, as in the paper's figure
)
PARALLEL_SIZE = 200_000  # smallest number of state-actions for which several threads are faster
REFRESH_SHARE = 0.25  # share of measured cells from which on all moves are computed again
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
        """Return the posterior heights [n] and variances [n] of the measured cells.

        `height` and `variance` [S] are the prior ones. Raise if a measurement is invalid.
        """
        measured, posterior = (
            (self.cells, self.heights, self.variances),
            np.empty((2, len(self.cells))),
        )
        twice = np.zeros(len(self.cells), np.bool_)
        if (self.cells[1:] <= self.cells[:-1]).any():
            order = np.argsort(self.cells, kind="stable")
            twice[order[1:]] = self.cells[order[1:]] == self.cells[order[:-1]]
        fault, at = kernels.learn(*measured, blocked, height, variance, twice, posterior)
        if fault == kernels.FINE:
            return posterior[0], posterior[1]
        cell, seen, error = (part[at] for part in measured)
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
    """Bounds on the success probabilities of moves.

    Moves and attempts in [k] and [m] are numbers state·A + action, ascending.
    """

    low: Shared  # [S, A] lower bounds on the success probability
    never: Shared  # [S, A] 1 − low, an upper bound on the probability that a move never works
    informative: IntArray  # [k] attempts with an informative outcome (see `attempts`)
    bounded: IntArray  # [m] moves near informative attempts; `low` is exact for all other moves
    high: FloatArray  # [m] upper bounds on the success probability of the `bounded` moves
    near: IntArray  # [c] cells that the bounds of the `bounded` moves depend on, ascending


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

    if TYPE_CHECKING:

        @property
        def _bounds(self) -> tuple[FloatArray, FloatArray]: ...

        def _after(
            self, attempts: Attempts, moved: Transition | None, seen: Heights | None
        ) -> Self:
            """Return the belief with these `attempts`, after a move and measured heights `seen`."""

        def draw(self, rng: np.random.Generator) -> FloatArray:
            """Draw heights [S] in m that agree with every attempted move."""

    moves_work_or_never: ClassVar[bool] = True

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
        edges = self._edges
        impossible = edges.start == edges.end
        impossible |= self.blocked[edges.start] | self.blocked[edges.end]
        if impossible.any():
            pair = divmod(int(self.attempts.pairs[np.argmax(impossible)]), len(STEPS))
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
        `exactness`). The success of an attempted move is exactly 1 or 0.
        """
        return self._mean

    @cached_property
    def _mean(self) -> Moves:
        return grid_graph(*self.shape).with_success(self.success_bounds()[0])

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

    @cached_property
    def _edges(self) -> Edges:
        """The attempted moves [n] as constraints on heights."""
        dest = grid_graph(*self.shape).dest
        if len(self.attempts) and self.attempts.pairs[-1] >= dest.size:
            raise InvalidBeliefError(
                f"an attempted move is {self.attempts.pairs[-1]}, expected "
                f"state · {len(STEPS)} + action below {dest.size}"
            )
        return edges_of(self.attempts, dest, self._limits)

    def _attempts_after(self, moved: Transition) -> Attempts:
        """Return the attempts and the observed move `moved`; raise if its outcome is impossible."""
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
            both_ways = np.array([[state, there], [action, back(action)]])
            (drop, drop_back), (rise, rise_back) = self.limits_at(*both_ways)
            if (drop, rise) == (rise_back, drop_back):  # the reverse works if and only if this does
                attempts = attempts.with_outcome(there * len(STEPS) + back(action), worked)
        except ImpossibleObservationError as cause:
            raise ImpossibleObservationError(f"{moved} contradicts an earlier attempt") from cause
        return attempts

    def update(self, observation: Heights | Transition | Sequence[Heights | Transition]) -> Self:
        """Return the belief after measured heights, a tried move, both, or a list of these."""
        if isinstance(observation, tuple | list):
            result: Self = in_turn(self, observation)
            return result
        if not isinstance(observation, Heights | Transition):
            raise InvalidBeliefError(f"a terrain belief can't learn from {observation!r}")
        seen = observation if isinstance(observation, Heights) else None
        moved = observation.moved if isinstance(observation, Heights) else observation
        attempts = self.attempts if moved is None else self._attempts_after(moved)
        return self._after(attempts, moved, seen)

    def sample(self, rng: np.random.Generator) -> Moves:
        """Return the model of heights drawn from the belief."""
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
        terrain = frozen(np.where(self.blocked, np.nan, known))
        set_fields(self, height=height, variance=variance, terrain=terrain)
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
        """The array of `blocked_probability`, with its changes since earlier beliefs.

        `mean` can differ from the mean of an earlier belief only where this array changed.
        """
        return self._chances.never

    def blocked_probability(self) -> FloatArray:
        """Return an upper bound [S, A] on Pr(a move never works); it is exact where `mean` is."""
        return self._chances.never.read()

    def least_blocked(self) -> tuple[IntArray, FloatArray]:
        """Return moves [m] without an exact probability, and lower bounds [m] on Pr(never works).

        A move is the number state·A + action, ascending.
        """
        return self._chances.bounded, 1.0 - self._chances.high

    def work_together(self, sets: MoveSets) -> Together:
        """Return bounds on the probability that all moves of each set work.

        They are found by integrals over heights (see `height_joint`).
        """
        (low, high), model, moves = np.empty((2, len(sets.first) - 1)), self._mean, sets[1:]
        likely, numbers = model.success[moves], sets.state * model.actions + sets.action
        bounded, least = self.least_blocked()
        apart = arrays.are_among(bounded, numbers)
        likely[apart] = 1.0 - least[np.searchsorted(bounded, numbers[apart])]
        given = model.dest[moves], self.blocked_probability()[moves], likely, apart, BINS
        height_sets(self.ground, sets, *given, low, high)
        return Together(low, high, self.evaluator)

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
        """Bounds on the success of every move; only bounds that changed are computed again."""
        chances, cells, tried = self.__dict__.get("_kept", (None, (), ()))
        if chances is None or sum(map(len, cells)) >= REFRESH_SHARE * len(self.blocked):
            chances = self._all_chances()
        elif cells or tried:
            chances = self._updated_chances(chances, cells, tried)
        self.__dict__["_kept"] = chances, (), ()
        result: Chances = chances
        return result

    def _all_chances(self) -> Chances:
        """Compute all bounds from scratch."""
        success, ground = np.ones((len(self.blocked), len(STEPS))), self.ground
        if success.size >= PARALLEL_SIZE:
            kernels.fill(ground, success)
        else:
            moves = np.flatnonzero(changes_state(grid_graph(*self.shape).dest))
            success.reshape(-1)[moves] = kernels.refresh(ground, moves)
        pairs = self.attempts.pairs
        informative = pairs[self._doubt > SURE]
        bounded, low, high, near = self._given_attempts(informative)
        success.reshape(-1)[bounded] = low
        success.reshape(-1)[pairs] = self.attempts.worked
        return Chances(Shared(success), Shared(1.0 - success), informative, bounded, high, near)

    def _updated_chances(
        self, before: Chances, cells: tuple[IntArray, ...], tried: tuple[int, ...]
    ) -> Chances:
        """Return the bounds after the bounds `before`; since then, `cells` were measured.

        `tried` are the moves that were attempted since then, as state·A + action.
        """
        moves = kernels.moves_at(np.concatenate([*cells, _NO_MOVES]), *self.shape)
        pairs: IntArray = np.array(tried, np.int64)
        if not arrays.are_among(moves, pairs).all():
            moves = np.union1d(moves, pairs)
        attempts = self.attempts.among(moves)
        edges = edges_of(attempts, grid_graph(*self.shape).dest, self._limits)
        doubtful = attempts.pairs[kernels.doubts(edges, self.height, self.variance) > SURE]
        informative, bounded, high, near = before[2:]
        low: FloatArray | None = None
        changed_cells = np.concatenate([*cells, pairs // len(STEPS)])
        if len(doubtful) or arrays.are_among(near, changed_cells).any():
            kept = np.setdiff1d(informative, moves, assume_unique=True)
            informative = np.union1d(kept, doubtful)
            bounded, low, high, near = self._given_attempts(informative)
            moves = np.unique(np.concatenate([moves, bounded, before.bounded]))
            attempts = self.attempts.among(moves)
        success = kernels.refresh(self.ground, moves)
        if low is not None:
            success[np.searchsorted(moves, bounded)] = low
        success[np.searchsorted(moves, attempts.pairs)] = attempts.worked
        changed = before.low.changed(moves, success), before.never.changed(moves, 1.0 - success)
        return Chances(*changed, informative, bounded, high, near)

    def _given_attempts(
        self, informative: IntArray
    ) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
        """Return the moves [m] near `informative` attempts, and bounds (low, high) [m] on success.

        Also return the cells [c], ascending, that these bounds depend on.
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
        return kernels.doubts(self._edges, self.height, self.variance)

    def lent_variance(self) -> FloatArray:
        """Return `variance` [S] in m² for compiled searches, which must not write to it."""
        result: FloatArray = self.__dict__["_sources"]["variance"].lend()
        return result

    def gain_left(self, weight: float, enough: float = math.inf) -> tuple[float, float]:
        """Return Σ ½ ln(1 + variance·weight) over the cells, in nats, and the largest variance.

        A cell counts at most the nats until its precision is `enough`, in 1/m².

        The sums of tiles are kept; only tiles with measured cells are summed again.
        """
        (before, sums), cells = self.__dict__.get("_sums", ((None, None), ()))
        if before != (weight, enough):
            tiles = np.arange(-(-len(self.blocked) // kernels.TILE))
            sums = np.empty((2, len(tiles)))
        else:
            tiles = np.unique(np.concatenate([*cells, _NO_MOVES]) // kernels.TILE)
            sums = sums.copy() if len(tiles) else sums
        kernels.sum_tiles(self.variance, weight, enough, tiles, sums)
        self.__dict__["_sums"] = ((weight, enough), sums), ()
        return float(sums[0].sum()), float(sums[1].max())

    @property
    def ground(self) -> kernels.Ground:
        """Heights and variances given the measurements alone, and the limits of every move."""
        drop, rise = self._limits
        rows, columns = self.shape
        return kernels.Ground(rows, columns, self.height, self.variance, self.blocked, rise, drop)

    def _after(self, attempts: Attempts, moved: Transition | None, seen: Heights | None) -> Self:
        tried: tuple[int, ...] = ()
        if moved is not None and attempts is not self.attempts:
            attempt = attempt_of(moved, grid_graph(*self.shape), self.blocked)
            both_ways = (attempt.state, attempt.action), (attempt.there, back(attempt.action))
            tried = tuple(state * len(STEPS) + action for state, action in both_ways)
        cells: tuple[IntArray, ...] = ()
        versions: dict[str, Shared] = self.__dict__["_sources"]
        if seen is not None:
            posterior = seen.posterior(self.blocked, self.height, self.variance)
            cells, versions = (seen.cells,), dict(versions)
            for name, values in zip(("height", "variance"), posterior, strict=True):
                versions[name] = versions[name].changed(seen.cells, values)
            if len(seen.cells):
                best = seen.cells[[seen.variances.argmin()]]
                versions["looked"] = versions["looked"].changed(best, True)
        for name in ("_mean", "_bounds"):  # while they hold a shared array, a change would copy it
            self.__dict__.pop(name, None)
        new = object.__new__(type(self))  # skips the checks: all values are valid already
        new.__dict__.update(self.__dict__)
        for name in (*SHARED, "_edges", "_doubt"):
            new.__dict__.pop(name, None)
        set_fields(new, attempts=attempts, _sources=versions)
        # Each cache holds a value and the changes since it was computed: measured cells, and moves.
        for name in ("_kept", "_sums"):
            if name in self.__dict__:
                value, *changes = self.__dict__[name]
                more = zip(changes, (cells, tried)[: len(changes)], strict=True)
                new.__dict__[name] = value, *((*old, *late) for old, late in more)
        return new

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Draw heights [S] in m that agree with every attempted move; see `attempts.draw`."""
        return draw(self.height, self.variance, self._edges, self._doubt, rng)


def entropy_reduction(prior: SlopeBelief, posterior: SlopeBelief) -> float:
    """Return the decrease in nats of the entropy of the heights of all cells that are not blocked.

    It is Σ ½ ln(prior variance / posterior variance) where heights are independent.
    """
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
