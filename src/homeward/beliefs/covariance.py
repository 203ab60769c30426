"""Covariances of heights: Matérn kernels, their fit to measurements, and a check of calibration.

With the correlation matrix C = M(ℓ) + η·I of n measured heights y, the mean and the variance of the
largest likelihood are μ = 1ᵀC⁻¹y / 1ᵀC⁻¹1 and σ² = (y − μ)ᵀC⁻¹(y − μ) / n. So `fit_kernel` searches
only the length ℓ: a grid of lengths, then a Nelder-Mead search from its best point, to 1 %. η is
the given noise over σ², in three rounds. The maximum is a local one.

A kernel is judged by pairs B of measured neighbours. If B is left out, its residual is
e = (Q_BB)⁻¹(Qy)_B with covariance (Q_BB)⁻¹, where Q is the inverse covariance of the measurements.
So each standardised residual is known without a second fit, and is standard normal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_solve, cholesky

from homeward.arrays import FloatArray, IntArray, indices, number, numbers
from homeward.errors import InvalidBeliefError
from homeward.threads import one_thread

SMOOTHNESSES = (1.5, 2.5)  # smoothness ν of the Matérn kernels that have a closed form here
LENGTHS_IN_CELLS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # length scales from which a fit starts
LEAST_NOISE_RATIO = 1e-9  # noise variance / height variance; keeps matrices invertible
IMPOSSIBLE = 1e300  # loss of a kernel under which the heights are impossible; finite for the search
MAX_FIT_CELLS = 600  # most measured cells that a fit uses, evenly spread over all measured cells
EXPECTED_BEYOND_TWO = math.erfc(math.sqrt(2.0))  # share of standard normal values beyond ±2
OVERCONFIDENT_SHARE = 2.0 * EXPECTED_BEYOND_TWO  # largest share beyond ±2 of a calibrated kernel
MIN_PAIRS = 30  # fewest pairs of neighbours by which a kernel is judged


@dataclass(frozen=True, slots=True)
class Matern:
    """The covariance of a Matérn field."""

    variance: float  # m², variance of each height
    length: float  # m, length scale ℓ
    smoothness: float = 1.5  # smoothness ν, 1.5 or 2.5

    def __post_init__(self) -> None:
        for name in ("variance", "length"):
            value = number(getattr(self, name), f"the kernel's {name}", InvalidBeliefError)
            if not 0.0 < value < math.inf:
                raise InvalidBeliefError(f"the kernel's {name} is {value:g}, expected > 0")
            object.__setattr__(self, name, value)
        if self.smoothness not in SMOOTHNESSES:
            raise InvalidBeliefError(
                f"the kernel's smoothness is {self.smoothness!r}, expected 1.5 or 2.5"
            )

    def covariance(self, distance: ArrayLike) -> FloatArray:
        """Return the covariance in m² of two heights at each `distance` in m."""
        return self.variance * _correlation(np.asarray(distance) / self.length, self.smoothness)

    def scaled(self, factor: float) -> Matern:
        """Return the kernel with `factor` times the variance."""
        return replace(self, variance=factor * self.variance)


class KernelFit(NamedTuple):
    """The result of `fit_kernel`."""

    kernel: Matern  # the kernel of the largest likelihood found
    mean: float  # m, constant prior mean
    log_likelihood: float  # in nats, of the measurements used


@dataclass(frozen=True, slots=True)
class Calibration:
    """Summary of the standardised residuals of height differences."""

    pairs: int  # number of pairs of measured neighbours
    beyond_two: float  # share of residuals beyond ±2; .046 under a correct kernel
    inflation: float  # factor on the kernel's variance that would calibrate it; 1 without pairs

    @property
    def overconfident(self) -> bool:
        """Whether more than `OVERCONFIDENT_SHARE` of the residuals are beyond ±2."""
        return self.pairs >= MIN_PAIRS and self.beyond_two > OVERCONFIDENT_SHARE


def fit_kernel(
    cells: ArrayLike,
    heights: ArrayLike,
    shape: tuple[int, int],
    *,
    cell: float | tuple[float, float] = 1.0,
    noise: float,
    smoothness: Sequence[float] = SMOOTHNESSES,
) -> KernelFit:
    """Return the Matérn kernel of the largest marginal likelihood.

    Parameters
    ----------
    cells : [n] measured cells of a grid, row-major, each once; at least 5
    heights : [n] m, measured heights
    shape : Rows and columns of the grid
    cell : m, height and width of a cell, or one number for both
    noise : m², variance of the measurements' errors
    smoothness : Which smoothness values to try
    """
    from scipy.optimize import minimize  # slow to import

    at, values = _measured(cells, heights, shape)
    if len(at) < 5:
        raise InvalidBeliefError(
            f"{len(at)} measured cells are too few to fit a kernel: expected 5 or more"
        )
    if len(at) > MAX_FIT_CELLS:
        chosen = np.linspace(0, len(at) - 1, MAX_FIT_CELLS).astype(np.intp)
        at, values = at[chosen], values[chosen]
    if np.ptp(values) == 0.0:
        raise InvalidBeliefError(
            f"all {len(at)} measured heights are {values[0]:g} m: expected different heights"
        )
    distance = _distances(at, shape, cell)
    side = max(cell) if isinstance(cell, tuple) else cell
    scale = max(float(values.var()), 1e-12)
    found: list[KernelFit] = []
    for kind in smoothness:

        def loss(point: FloatArray, kind: float = kind) -> float:
            length = math.exp(min(max(float(point[0]), -20.0), 20.0))
            fit = _fit_at(distance, values, kind, length, noise, scale)
            if fit is None:
                return IMPOSSIBLE
            found.append(fit)
            return -fit.log_likelihood

        starts = [np.log([length * side]) for length in LENGTHS_IN_CELLS]
        with one_thread():
            first = starts[int(np.argmin([loss(start) for start in starts]))]
            minimize(loss, first, method="Nelder-Mead", options={"xatol": 0.01, "fatol": 0.01})
    if not found:
        raise InvalidBeliefError("no kernel was found under which these heights are possible")
    return max(found, key=lambda fit: fit.log_likelihood)


def _fit_at(
    distance: FloatArray,
    values: FloatArray,
    smoothness: float,
    length: float,
    noise: float,
    scale: float,
) -> KernelFit | None:
    """Return the best mean and variance for a length; None if a matrix is singular.

    The noise ratio follows from the last fitted variance, at first from the variance `scale`.
    """
    correlation = _correlation(distance / length, smoothness)
    fit: KernelFit | None = None
    for _ in range(3):
        variance = scale if fit is None else fit.kernel.variance
        ratio = max(noise / variance, LEAST_NOISE_RATIO)
        fit = _profile(correlation, values, smoothness, length, ratio)
        if fit is None:
            return None
    return fit


def _profile(
    correlation: FloatArray, values: FloatArray, smoothness: float, length: float, ratio: float
) -> KernelFit | None:
    """Return the fit of mean and variance for a correlation matrix [n, n] and a noise ratio.

    Return None if the matrix is singular.
    """
    n = len(values)
    matrix = correlation.copy()
    matrix.flat[:: n + 1] += ratio
    try:
        lower = cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    both = cho_solve((lower, True), np.stack([np.ones(n), values], axis=1), check_finite=False)
    mean = float(both[:, 1].sum() / both[:, 0].sum())
    variance = float((values - mean) @ (both[:, 1] - mean * both[:, 0])) / n
    if not variance > 0.0:
        return None
    logdet = 2.0 * float(np.log(np.diagonal(lower)).sum())
    likelihood = -0.5 * (n * math.log(2.0 * math.pi * variance) + logdet + n)
    return KernelFit(Matern(variance, length, smoothness), mean, likelihood)


def check_calibration(
    kernel: Matern,
    cells: ArrayLike,
    heights: ArrayLike,
    shape: tuple[int, int],
    *,
    cell: float | tuple[float, float] = 1.0,
    mean: float = 0.0,
    noise: float | FloatArray,
) -> Calibration:
    """Return how well a kernel predicts height differences of measured neighbours.

    Each pair of neighbours is predicted from all other measured heights.

    Parameters
    ----------
    cells, heights, shape, cell : As in `fit_kernel`
    mean : m, prior mean
    noise : m², variance of the measurements' errors, > 0; an array [n], or one number for all
    """
    at, values = _measured(cells, heights, shape)
    errors = np.broadcast_to(np.asarray(noise, np.float64), values.shape)
    valid = np.isfinite(errors) & (errors > 0.0)
    if not valid.all():
        wrong = errors[~valid][0]
        raise InvalidBeliefError(f"the noise variance is {wrong:g}, expected > 0 and finite")
    matrix = kernel.covariance(_distances(at, shape, cell))
    matrix.flat[:: len(at) + 1] += errors
    size = np.abs(difference_residuals(matrix, at, values - mean, shape))
    if not len(size):
        return Calibration(0, 0.0, 1.0)
    ratios = [np.quantile(size, 1.0 - math.erfc(z / math.sqrt(2.0))) / z for z in (2.0, 3.0)]
    return Calibration(len(size), float((size > 2.0).mean()), float(max(ratios)) ** 2)


def difference_residuals(
    covariance: FloatArray, at: IntArray, values: FloatArray, shape: tuple[int, int]
) -> FloatArray:
    """Return the residual [p] of the height difference of each pair of measured neighbours.

    The cells `at` [n] were measured; `values` [n] are measured heights minus the prior mean, with
    `covariance` [n, n]. Neighbours are in the same row or in the same column. A difference is
    predicted from all other measurements, and the residual is divided by its standard deviation.
    """
    inverse = np.linalg.inv(covariance)
    weights = inverse @ values
    one, two = _neighbours(at, shape)
    a, b, c = inverse[one, one], inverse[two, two], inverse[one, two]
    # (Q_BB)⁻¹ = [[b, −c], [−c, a]] / (ab − c²); the difference has the direction (1, −1).
    determinant = np.maximum(a * b - c * c, np.finfo(float).tiny)
    difference = ((b + c) * weights[one] - (a + c) * weights[two]) / determinant
    variance = (a + b + 2.0 * c) / determinant
    result: FloatArray = difference / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    return result


def _correlation(x: FloatArray, smoothness: float) -> FloatArray:
    """Return the Matérn correlation m(x); see the module docstring."""
    y = math.sqrt(2.0 * smoothness) * x
    polynomial = 1.0 + y if smoothness == 1.5 else 1.0 + y + y * y / 3.0
    return polynomial * np.exp(-y)


def _measured(
    cells: ArrayLike, heights: ArrayLike, shape: tuple[int, int]
) -> tuple[IntArray, FloatArray]:
    """Return measured cells [n] and heights [n]; raise if they are invalid or repeat a cell."""
    error = InvalidBeliefError
    at = indices(cells, "measured cell", None, (0, shape[0] * shape[1]), "n", error)
    if at.ndim != 1 or len(np.unique(at)) < len(at):
        raise error("the measured cells are not an array [n] of different cells")
    values = numbers(heights, "the measured heights", at.shape, error)
    if not np.isfinite(values).all():
        raise error("a measured height is not finite")
    return at, values


def _distances(
    cells: IntArray, shape: tuple[int, int], cell: float | tuple[float, float]
) -> FloatArray:
    """Return the distances [n, n] in m between the centres of the cells with indices `cells` [n].

    `cell` is the side of a cell in m, or its height and width.
    """
    tall, wide = cell if isinstance(cell, tuple) else (cell, cell)
    row, column = np.divmod(cells.astype(np.float64), shape[1])
    return np.hypot(tall * (row[:, None] - row), wide * (column[:, None] - column))


def _neighbours(cells: IntArray, shape: tuple[int, int]) -> tuple[IntArray, IntArray]:
    """Return the pairs of neighbours in a row or a column, as indices [p] and [p] into `cells`."""
    place = np.full(shape[0] * shape[1], -1)
    place[cells] = np.arange(len(cells))
    grid = place.reshape(shape)
    pairs = [(grid[:, :-1].ravel(), grid[:, 1:].ravel()), (grid[:-1].ravel(), grid[1:].ravel())]
    one, two = (np.concatenate(part) for part in zip(*pairs, strict=True))
    both = (one >= 0) & (two >= 0)
    return one[both], two[both]
