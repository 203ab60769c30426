"""Correlated normal heights on a grid: a belief that generalises from measured cells to others.

Heights are jointly normal with a given mean and covariance K. Measurements are normal around the
true heights, so the posterior is exact: cov = K − WᵀW, where each measured height appends one
column w [S] to W. Mean, variances and the variances of rises between neighbours are kept up to
date; no matrix [S, S] is formed. A second measurement of a cell waits until the waiting ones would
together divide the variance of its height by `FOLD`; then they are used as one.

The outcomes W of attempted moves have at least the probability `outcome_mass`, and any event E has
Pr(E | W) ≤ Pr(E) / Pr(W). ``docs/theory.md``, section 15, has the proofs. All assume the given
kernel. Read `covariance` next, which fits a kernel and judges it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import fft2, next_fast_len
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, numbers, own, unless_given
from homeward.beliefs.attempts import Attempts, Edges, mass
from homeward.beliefs.corrections import changes_state
from homeward.beliefs.covariance import Calibration, Matern, check_calibration
from homeward.beliefs.grid_graph import BACK, STEPS, grid_graph, grid_size
from homeward.beliefs.heights import SlopeBelief, finite_heights
from homeward.beliefs.observations import Heights, Transition, in_turn
from homeward.beliefs.refutation import SURELY_NOT
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.threads import one_thread

ROUNDING = 2.0**-44  # allowance for rounding in a variance, relative to the largest prior variance
JITTER = 2.0**-36  # added to the diagonal before a draw, relative to the largest prior variance
DOUBTFUL = 2.0**-20  # an outcome is doubtful if its opposite has more than this probability
FIRST, LAST = 3, 6  # actions E to SW: taken from every cell, they meet each pair of cells once
BOX_CAPS = (1.0, 2.0, 4.0, 8.0)  # largest widths of a box's intervals, in standard deviations
FOLD = 4.0  # waiting measurements are used if they divide a height's variance by this or more
MAX_CELLS = 10_000  # each measured cell has a column [S], so memory grows with the square of S
MAX_JUDGED = 1500  # largest number of cells by which a kernel is judged
MAX_DRAWS = 4096  # largest number of draws until heights agree with every attempted move


def _append(blocks: tuple[FloatArray, ...], new: FloatArray) -> tuple[FloatArray, ...]:
    """Return blocks of columns, each [k, S], with a `new` block, merged so that there are few."""
    while blocks and len(blocks[-1]) <= len(new):
        blocks, new = blocks[:-1], np.concatenate([blocks[-1], new])
    return *blocks, new


@dataclass(frozen=True, eq=False)
class CorrelatedTerrainBelief(SlopeBelief):
    """Correlated normal heights, one per cell of a grid; states are row-major.

    Attributes
    ----------
    shape : Rows and columns
    kernel : A Matérn kernel, or the prior covariance [S, S] in m²
    prior : [S] m, prior mean of each height, or one number for all heights
    cell : m, height and width of a cell, or one number for both
    climb : Degrees, steepest slope up
    descend : Degrees, steepest slope down
    blocked : [S] cells that can't be entered; no cell by default
    attempts : Moves tried so far; empty by default
    looked, limits : As in `TerrainBelief`
    information : Exact information in nats of the measurements about all heights together
    height : [S] m, mean height given the measurements
    variance : [S] m², variance of each height given the measurements
    terrain : [S] m, prior mean, which decides what a sensor on a mast sees; NaN in blocked cells
    _spread : [4, S] m², variance of the rise to the neighbours E, SE, S and SW
    _columns : The columns W, as the rows of blocks [k, S]
    _precision, _weighted : [S] Σ 1/v and Σ y/v over the used measurements y, of variance v, of each
        cell
    _waiting : [2, S] both sums over the measurements that still wait
    """

    shape: tuple[int, int]
    kernel: Matern | FloatArray
    prior: float | FloatArray = 0.0
    cell: float | tuple[float, float] = 20.0
    climb: float = 5.0
    descend: float = 45.0
    blocked: BoolArray = unless_given()
    attempts: Attempts = unless_given()
    looked: BoolArray = unless_given()
    limits: tuple[FloatArray, FloatArray] | None = None
    information: float = field(init=False, default=0.0)
    height: FloatArray = field(init=False)
    variance: FloatArray = field(init=False)
    terrain: FloatArray = field(init=False, repr=False)
    _spread: FloatArray = field(init=False, repr=False)
    _columns: tuple[FloatArray, ...] = field(init=False, repr=False)
    _precision: FloatArray = field(init=False, repr=False)
    _weighted: FloatArray = field(init=False, repr=False)
    _waiting: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        error = InvalidBeliefError
        states = grid_size(self.shape, error)
        if states > MAX_CELLS:
            raise error(
                f"a correlated belief of {self.shape[0]} x {self.shape[1]} cells has {states:,} "
                f"cells, expected at most {MAX_CELLS:,}: use larger cells or a part of the map"
            )
        self._check_common()
        prior = np.asarray(self.prior, np.float64)
        prior = np.full(states, prior) if prior.ndim == 0 else prior
        kernel = self.kernel
        self.__dict__.update(
            kernel=kernel if isinstance(kernel, Matern) else _covariance(kernel, states),
            _columns=(),
            _precision=frozen(np.zeros(states)),
            _weighted=frozen(np.zeros(states)),
            _waiting=frozen(np.zeros((2, states))),
        )
        prior = finite_heights(prior, "the prior mean", self.blocked)
        terrain = frozen(np.where(self.blocked, np.nan, prior))
        known = {"height": prior, "variance": self._prior_variance, "terrain": terrain}
        self.__dict__.update(prior=prior, **known)
        self.__dict__["_spread"] = self._prior_spread()

    @property
    def measured(self) -> BoolArray:
        """Mask [S] of the cells that were measured."""
        return self._precision > 0.0

    def measured_success(self) -> FloatArray:
        """Return the success probability [S, A] of each move given the measurements alone."""
        return self._success

    @cached_property
    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        success, pairs, likely = self._success, self.attempts.pairs, self.outcome_mass
        if not len(pairs):
            return success, success
        if likely >= 1.0 - 2.0**-52:
            low = high = success.copy()
        elif likely > 0.0:
            low = np.clip(1.0 - (1.0 - success) / likely, 0.0, 1.0)
            high = np.minimum(success / likely, 1.0)
        else:
            low, high = np.zeros_like(success), np.ones_like(success)
        stays = ~changes_state(grid_graph(*self.shape).dest)
        for bound in (low, high):
            bound[stays] = 1.0
            bound.ravel()[pairs] = self.attempts.worked
        low.flags.writeable = high.flags.writeable = False
        return low, high

    @cached_property
    def _success(self) -> FloatArray:
        return frozen(self._all_success())

    def _rise_variance(self, state: IntArray, action: IntArray, end: IntArray) -> FloatArray:
        ahead = (action >= FIRST) & (action <= LAST)
        entry = np.where(ahead, action, BACK[action]) - FIRST, np.where(ahead, state, end)
        spread: FloatArray = self._spread[entry]
        return np.maximum(0.0, spread) + self.least_variance

    # The prior.

    @cached_property
    def _table(self) -> FloatArray:
        """Prior covariance [R, C] in m² by distance in rows and columns, for a Matérn kernel."""
        assert isinstance(self.kernel, Matern)
        (rows, columns), (tall, wide) = self.shape, self.size
        return self.kernel.covariance(
            np.hypot(tall * np.arange(rows)[:, None], wide * np.arange(columns))
        )

    @cached_property
    def _prior_variance(self) -> FloatArray:
        if isinstance(self.kernel, Matern):
            return frozen(np.full(len(self.blocked), self.kernel.variance))
        return frozen(np.diagonal(self.kernel).copy())

    @cached_property
    def least_variance(self) -> float:
        """Limit in m² for rounding, added to the variance of each rise."""
        return ROUNDING * float(self._prior_variance.max())

    def _prior_spread(self) -> FloatArray:
        """Return the prior variance [4, S] in m² of the rise to the neighbours E, SE, S and SW.

        An entry without a neighbour is 1.
        """
        dest = grid_graph(*self.shape).dest
        spread = np.ones((LAST - FIRST + 1, len(dest)))
        state = np.arange(len(dest))
        for a in range(FIRST, LAST + 1):
            start = state[dest[:, a] != state]
            if not len(start):
                continue
            if isinstance(self.kernel, Matern):
                down, right = (abs(d) for d in STEPS[a])
                spread[a - FIRST, start] = 2.0 * (self._table[0, 0] - self._table[down, right])
                continue
            end, variance = dest[start, a], self._prior_variance
            cross = self.kernel[start, end]
            spread[a - FIRST, start] = variance[start] + variance[end] - 2.0 * cross
        return frozen(spread)

    def _prior_rows(self, cells: IntArray) -> FloatArray:
        """Return the prior covariances [k, S] in m² of heights at `cells` [k] with all heights."""
        if not isinstance(self.kernel, Matern):
            return self.kernel[cells]
        row, column = (part[:, None] for part in np.divmod(cells, self.shape[1]))
        down, right = (
            np.abs(at - np.arange(n)) for at, n in zip((row, column), self.shape, strict=True)
        )
        return self._table[down[:, :, None], right[:, None]].reshape(len(cells), len(self.blocked))

    def covariance(self, cells: ArrayLike) -> FloatArray:
        """Return the covariance [k, k] in m² of heights at `cells` [k], given the measurements."""
        at = np.asarray(cells, np.intp)
        matrix = self._prior_rows(at)[:, at]
        for block in self._columns:
            matrix = matrix - block[:, at].T @ block[:, at]
        return matrix

    def information_gain(self, cells: ArrayLike, variances: ArrayLike) -> float:
        """Return the exact gain in nats of measuring cells [k] with error variances [k] in m².

        It is the information ½ ln det(I + R⁻¹Σ) of the measurement about all heights together. Σ is
        the covariance of the cells' heights, and R is the diagonal matrix of the error variances.
        """
        error = np.sqrt(np.broadcast_to(np.asarray(variances, np.float64), np.shape(cells)))
        if not (error > 0.0).all():
            raise InvalidBeliefError("a measurement's variance is not above 0")
        matrix = self.covariance(cells) / error[:, None] / error
        matrix.flat[:: len(error) + 1] += 1.0
        return float(np.log(np.diagonal(cholesky(matrix, lower=True))).sum())

    def calibration(self) -> Calibration:
        """Return how well a Matérn kernel fits the `MAX_JUDGED` most precisely measured cells."""
        if not isinstance(self.kernel, Matern):
            raise InvalidBeliefError(
                "only a Matérn kernel can be calibrated, not a given covariance"
            )
        cells = np.flatnonzero(self._precision)
        cells = np.sort(cells[np.argsort(-self._precision[cells], kind="stable")[:MAX_JUDGED]])
        errors = 1.0 / self._precision[cells]
        residuals = self._weighted[cells] * errors - np.asarray(self.prior)[cells]
        return check_calibration(
            self.kernel, cells, residuals, self.shape, cell=self.size, noise=errors
        )

    def update(self, observation: Heights | Transition | Sequence[Heights | Transition]) -> Self:
        """Return the belief after measured heights, a tried move, both, or a list of these."""
        if isinstance(observation, tuple | list):
            result: Self = in_turn(self, observation)
            return result
        attempts, _, seen = self._learned(observation)
        new = object.__new__(type(self))  # skips the checks: all values are valid already
        new.__dict__.update(self.__dict__, attempts=attempts)
        for name in ("_mean", "_bounds", "outcome_mass", "_edges"):
            new.__dict__.pop(name, None)
        if seen is not None:
            for name in ("_success", "_solver"):
                new.__dict__.pop(name, None)
            new._learn(seen)
        return new

    def _learn(self, seen: Heights) -> None:
        """Condition this new belief on measured heights, except on those that have to wait."""
        floor = np.maximum(self.variance, self.least_variance)
        seen.posterior(self.blocked, self.height, floor)  # raises if a measurement is invalid
        if len(seen.cells):
            looked = self.looked.copy()
            looked[seen.cells[seen.variances.argmin()]] = True
            self.__dict__["looked"] = frozen(looked)
        finite = np.isfinite(seen.variances)
        cells, values, errors = seen.cells[finite], seen.heights[finite], seen.variances[finite]
        waiting = self._waiting.copy()
        waiting[:, cells] += 1.0 / errors, values / errors
        enough = waiting[0, cells] * self.variance[cells] >= FOLD - 1.0
        cells = cells[enough | (self._precision[cells] == 0.0)]
        precision, weighted = waiting[:, cells]
        waiting[:, cells] = 0.0
        self.__dict__["_waiting"] = frozen(waiting)
        if len(cells):
            with one_thread():
                self._condition(cells, weighted / precision, 1.0 / precision)

    def _condition(self, cells: IntArray, values: FloatArray, errors: FloatArray) -> None:
        """Append the columns of measured cells [k], and update means and variances.

        `values` [k] are measured heights in m, and `errors` [k] their error variances in m².
        """
        rows = self._prior_rows(cells)
        for block in self._columns:
            rows = rows - block[:, cells].T @ block
        matrix = rows[:, cells]
        matrix.flat[:: len(cells) + 1] += errors
        try:
            lower = cholesky(matrix, lower=True, check_finite=False)
        except LinAlgError as cause:
            raise InvalidBeliefError(
                f"the measurements of cells {cells[:9].tolist()} are too precise for the kernel: "
                "their covariance, given earlier measurements, is not positive definite"
            ) from cause
        both = np.concatenate([rows, (values - self.height[cells])[:, None]], axis=1)
        both = solve_triangular(lower, both, lower=True, check_finite=False, overwrite_b=True)
        new, innovations = np.ascontiguousarray(both[:, :-1]), both[:, -1].copy()
        precision, weighted = self._precision.copy(), self._weighted.copy()
        precision[cells] += 1.0 / errors
        weighted[cells] += values / errors
        gain = float(np.log(np.diagonal(lower)).sum() - 0.5 * np.log(errors).sum())  # nats
        variance = np.maximum(self.variance - (new * new).sum(axis=0), self.least_variance)
        spread, dest = self._spread.copy(), grid_graph(*self.shape).dest
        for a in range(FIRST, LAST + 1):
            rises = new[:, dest[:, a]] - new
            spread[a - FIRST] -= (rises * rises).sum(axis=0)
        self.__dict__.update(
            _columns=_append(self._columns, new),
            height=frozen(self.height + innovations @ new),
            variance=frozen(variance),
            _spread=frozen(spread),
            _precision=frozen(precision),
            _weighted=frozen(weighted),
            information=self.information + gain,
        )

    def is_contradicted(self) -> bool:
        """Return whether the measurements alone rule out the outcome of an attempted move."""
        works = self._success.ravel()[self.attempts.pairs]
        likely = np.where(self.attempts.worked, works, 1.0 - works)
        return bool((likely <= SURELY_NOT).any())

    @cached_property
    def outcome_mass(self) -> float:
        """Lower bound on the probability of the outcomes of all attempts given the measurements."""
        if not len(self.attempts):
            return 1.0
        works = self._success.ravel()[self.attempts.pairs]
        doubt = np.where(self.attempts.worked, 1.0 - works, works)
        doubtful = doubt > DOUBTFUL
        likely = self._box_mass(self._edges.of(doubtful)) if doubtful.any() else 1.0
        return likely - float(doubt[~doubtful].sum())

    def _box_mass(self, edges: Edges) -> float:
        """Return a lower bound on the probability of the outcomes `edges`: the mass of a box."""
        if self.limits is None and self.climb == self.descend:  # both directions were stored
            edges = edges.of(edges.start < edges.end)
        cells, place = np.unique(np.concatenate([edges.start, edges.end]), return_inverse=True)
        count = len(edges.start)
        rise = np.zeros((count, len(cells)))
        rise[np.arange(count), place[count:]] = 1.0
        rise[np.arange(count), place[:count]] = -1.0
        matrix = rise @ self.covariance(cells) @ rise.T
        matrix.flat[:: count + 1] += self.least_variance
        try:
            lower = cholesky(matrix, lower=True)
        except LinAlgError:
            return 0.0
        mean = self.height[edges.end] - self.height[edges.start]
        low, high = -edges.down - mean, edges.up - mean
        above = np.abs(high) <= np.abs(low)  # a failed move was too steep on the likelier side
        least = np.where(edges.worked, low, np.where(above, high, -np.inf))
        most = np.where(edges.worked, high, np.where(above, np.inf, low))
        boxes = [_box(lower, least, most, cap) for cap in BOX_CAPS]
        return max(float(np.prod(mass(box[:, 0], box[:, 1]))) for box in boxes)

    def _draw_error(self, rng: np.random.Generator) -> FloatArray:
        """Draw the deviations [S] in m of the heights from the prior mean, without measurements."""
        if self._torus is not None:
            waves = rng.standard_normal((2, *self._torus.shape))
            rows, columns = self.shape
            drawn = fft2((waves[0] + 1j * waves[1]) * self._torus, workers=1).real
            return np.ascontiguousarray(drawn[:rows, :columns]).ravel()
        return self._prior_factor @ rng.standard_normal(len(self.blocked))

    @cached_property
    def _torus(self) -> FloatArray | None:
        """Standard deviations [N, M] of the Fourier modes on a torus that contains the map.

        On a torus the covariance matrix of a stationary field is circulant, so Fourier modes are
        independent. If the kernel is not positive definite on a torus, a larger torus is tried.
        None if no torus works.
        """
        if not isinstance(self.kernel, Matern):
            return None
        for times in (2, 4, 8):
            sides = [next_fast_len(times * count) for count in self.shape]
            down, across = (
                side * np.minimum(np.arange(n), n - np.arange(n))
                for n, side in zip(sides, self.size, strict=True)
            )
            power = fft2(self.kernel.covariance(np.hypot(down[:, None], across))).real
            if power.min() >= -JITTER * power.max():
                return frozen(np.sqrt(np.maximum(power, 0.0) / power.size))
        return None

    @cached_property
    def _prior_factor(self) -> FloatArray:
        """Lower Cholesky factor [S, S] of the prior covariance plus `JITTER` on the diagonal."""
        matrix = self._prior_rows(np.arange(len(self.blocked)))
        matrix = matrix.copy() if matrix is self.kernel else matrix
        matrix.flat[:: len(matrix) + 1] += JITTER * float(self._prior_variance.max())
        result: FloatArray = cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        return result

    @cached_property
    def _solver(self) -> tuple[IntArray, FloatArray, tuple[FloatArray, bool]]:
        """Measured cells [n], their prior covariances [n, S] with all heights, and a factor.

        The factor is the lower Cholesky factor of the covariance [n, n] of the measurements.
        """
        cells = np.flatnonzero(self._precision)
        rows = self._prior_rows(cells)
        matrix = rows[:, cells]
        matrix.flat[:: len(cells) + 1] += 1.0 / self._precision[cells]
        return cells, rows, (cholesky(matrix, lower=True), True)

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Draw heights [S] in m that agree with every attempted move, by rejection.

        A draw of the prior, with its own simulated measurements, is corrected to the real ones
        (Matheron's rule). Raise `ImpossibleObservationError` if none of `MAX_DRAWS` draws agrees
        with the attempts.
        """
        cells, rows, solver = self._solver
        edges = self._edges
        error = 1.0 / np.sqrt(self._precision[cells])
        for _ in range(MAX_DRAWS):
            drawn = self._draw_error(rng)
            if len(cells):
                shown = drawn[cells] + error * rng.standard_normal(len(cells))
                drawn = drawn - cho_solve(solver, shown) @ rows
            heights = self.height + drawn
            if edges.agree(heights).all():
                return np.where(self.blocked, 0.0, heights)
        raise ImpossibleObservationError(
            f"none of {MAX_DRAWS} drawn worlds agrees with the {len(edges.start)} attempted moves"
        )


def _box(lower: FloatArray, least: FloatArray, most: FloatArray, cap: float) -> FloatArray:
    """Return intervals [n, 2] such that least ≤ L·z ≤ most for every z [n] in the box.

    `lower` [n, n] is L, a lower triangular matrix. Each interval is at most `cap` wide. If one is
    empty, the box has no mass.
    """
    box = np.zeros((len(least), 2))
    for i, row in enumerate(lower):
        ends = row[:i, None] * box[:i]
        start = (least[i] - ends.min(axis=1).sum()) / row[i]
        end = (most[i] - ends.max(axis=1).sum()) / row[i]
        if end - start > cap:
            middle = min(max(0.0, start + 0.5 * cap), end - 0.5 * cap)
            start, end = middle - 0.5 * cap, middle + 0.5 * cap
        box[i] = start, max(start, end)
    return box


def _covariance(values: ArrayLike, states: int) -> FloatArray:
    """Return a covariance [S, S] as read-only float64; raise unless it is positive definite."""
    error = InvalidBeliefError
    matrix = numbers(values, "the covariance", (states, states), error)
    if not np.isfinite(matrix).all():
        raise error("the covariance is not finite")
    skew = np.abs(matrix - matrix.T)
    if float(skew.max()) > 1e-9 * float(np.abs(matrix).max()):
        at = np.unravel_index(int(skew.argmax()), skew.shape)
        raise error(f"the covariance is not symmetric at (s={at[0]}, t={at[1]})")
    try:
        cholesky(matrix, lower=True, check_finite=False)
    except LinAlgError as cause:
        raise error("the covariance is not positive definite") from cause
    return own(matrix, values)
