"""Beliefs of a rover whose heights are correlated (``--belief correlated`` and ``unmapped``).

- ``correlated``: the terrain model with a correlated error. Its kernel is a Matérn field
  of smoothness 3/2 with the variance ``error`` and the length ``error_length``.
- ``unmapped``: no terrain model, only its mean height and a kernel. Unless given, the kernel is
  fitted to blocks of the terrain; its variance is increased if the residuals are too large for it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from homeward.beliefs.covariance import Calibration, Matern, check_calibration, fit_kernel
from homeward.beliefs.fields import MAX_CELLS, CorrelatedTerrainBelief
from homeward.errors import InvalidInputError
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.terrain import cells_of, error_length_of, limits_of
from homeward.terrain import Cells

BLOCKS, SIDE = 24, 5  # number and side, in cells, of the blocks that a kernel is fitted to
FIT_NOISE = 1e-4  # variance in m² of the heights that a kernel is fitted to


def correlated_prior(config: RoverConfig) -> CorrelatedTerrainBelief:
    """Return the belief before the first measurement; raise if there are too many cells."""
    cells, kernel = cells_of(config), kernel_of(config)
    rows, columns = cells.shape
    if rows * columns > MAX_CELLS:
        raise InvalidInputError(
            f"belief {config.belief}: {rows} x {columns} cells are more than {MAX_CELLS:,}, the "
            "most with correlated heights: give larger cells or a window"
        )
    centre = np.where(cells.blocked, 0.0, cells.centre)
    is_mapped = config.belief == "correlated"
    return CorrelatedTerrainBelief(
        cells.shape,
        kernel,
        centre.ravel() if is_mapped else float(centre[~cells.blocked].mean()),
        cells.size,
        config.climb,
        config.descend,
        cells.blocked.ravel(),
        limits=limits_of(config, kernel),
    )


def kernel_of(config: RoverConfig) -> Matern:
    """Return the kernel of a configuration: given, from the error, or fitted to the terrain."""
    if config.kernel is not None:
        smoothness, length, deviation = config.kernel
        return Matern(deviation**2, length, smoothness)
    if config.belief == "correlated":
        assert isinstance(config.error, float)
        return Matern(config.error, error_length_of(config))
    return _fitted(cells_of(config))


@lru_cache(maxsize=4)
def _fitted(cells: Cells) -> Matern:
    """Return a kernel fitted to the heights of `BLOCKS` random blocks of cells."""
    rng = np.random.default_rng(0)
    chosen = np.zeros(cells.shape, dtype=bool)
    for _ in range(BLOCKS):
        row, column = (int(rng.integers(max(1, n - SIDE + 1))) for n in cells.shape)
        chosen[row : row + SIDE, column : column + SIDE] = True
    at = np.flatnonzero(chosen & ~cells.blocked)
    heights = cells.centre.ravel()[at]
    given = at, heights, cells.shape
    fit = fit_kernel(*given, cell=cells.size, noise=FIT_NOISE)
    calibration = check_calibration(
        fit.kernel, *given, cell=cells.size, mean=fit.mean, noise=FIT_NOISE
    )
    return fit.kernel.scaled(max(1.0, calibration.inflation))


def text_of(config: RoverConfig) -> str:
    """Return a sentence that describes the prior of the heights."""
    kernel = kernel_of(config)
    lead = (
        "The terrain model's error has"
        if config.belief == "correlated"
        else "No terrain model is known, only its mean height. Heights have"
    )
    return (
        f"{lead} a standard deviation of {math.sqrt(kernel.variance):.3g} m and a correlation "
        f"length of {kernel.length:.3g} m (Matérn, smoothness {kernel.smoothness:g})."
    )


def refuted(calibration: Calibration) -> str:
    """Return a sentence which says that the measured heights refute the kernel."""
    share, factor = calibration.beyond_two, math.sqrt(calibration.inflation)
    return (
        f"the kernel is overconfident: {share:.0%} of {calibration.pairs:,} measured height "
        "differences are beyond two standard deviations, expected 5 %. Probabilities are too high. "
        f"Give a --kernel with {factor:.2g} times the deviation."
    )
