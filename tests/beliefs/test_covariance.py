"""Matérn kernels: their values, their fit to heights, and the check of calibration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gamma, kv
from scipy.stats import multivariate_normal

from homeward.beliefs.covariance import (
    Matern,
    check_calibration,
    difference_residuals,
    fit_kernel,
)
from homeward.errors import InvalidBeliefError

SHAPE = (12, 14)
EVERY = np.arange(SHAPE[0] * SHAPE[1], dtype=np.int32)


def drawn(kernel: Matern, seed: int, noise: float = 1e-6) -> np.ndarray:
    """Draw heights [S] of a field on cells of 1 m."""
    row, column = np.divmod(EVERY, SHAPE[1])
    covariance = kernel.covariance(np.hypot(row[:, None] - row, column[:, None] - column))
    covariance += noise * np.eye(len(EVERY))
    rng = np.random.default_rng(seed)
    return np.linalg.cholesky(covariance) @ rng.standard_normal(len(EVERY))


@given(st.floats(0.01, 8.0), st.sampled_from([1.5, 2.5]))
def test_the_kernel_is_the_general_matern_formula(distance: float, smoothness: float) -> None:
    x = np.sqrt(2.0 * smoothness) * distance / 2.0
    exact = 3.0 * 2.0 ** (1.0 - smoothness) / gamma(smoothness) * x**smoothness * kv(smoothness, x)
    kernel = Matern(3.0, 2.0, smoothness)
    assert kernel.covariance(distance) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("smoothness", [1.5, 2.5])
def test_a_fit_finds_the_kernel_that_heights_were_drawn_from(smoothness: float) -> None:
    true = Matern(4.0, 4.0, smoothness)
    fits = [fit_kernel(EVERY, 7.0 + drawn(true, seed), SHAPE, noise=1e-6) for seed in range(3)]
    assert [fit.kernel.smoothness for fit in fits] == [smoothness] * 3
    lengths = [fit.kernel.length for fit in fits]
    assert 2.0 < float(np.median(lengths)) < 8.0


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(2.0, 6.0))
def test_a_fit_is_at_least_as_likely_as_the_kernel_drawn_from(seed: int, length: float) -> None:
    true = Matern(1.0, length)
    heights = drawn(true, seed, noise=1e-3)
    row, column = np.divmod(EVERY, SHAPE[1])
    matrix = true.covariance(np.hypot(row[:, None] - row, column[:, None] - column))
    law = multivariate_normal(np.zeros(len(EVERY)), matrix + 1e-3 * np.eye(len(EVERY)))
    assert fit_kernel(EVERY, heights, SHAPE, noise=1e-3).log_likelihood > law.logpdf(heights) - 0.5


def test_equal_heights_fit_no_kernel() -> None:
    with pytest.raises(InvalidBeliefError, match=r"all 168 measured heights are -3\.5 m"):
        fit_kernel(EVERY, np.full(len(EVERY), -3.5), SHAPE, noise=1e-3)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_residuals_are_those_of_leaving_each_pair_out(seed: int) -> None:
    rng, kernel = np.random.default_rng(seed), Matern(2.0, 3.0, 2.5)
    cells = np.array([0, 1, 5, 14, 15, 40, 41, 55], np.int32)
    heights, noise = rng.normal(size=len(cells)), 0.1
    row, column = np.divmod(cells, SHAPE[1])
    matrix = kernel.covariance(np.hypot(row[:, None] - row, column[:, None] - column))
    matrix += noise * np.eye(len(cells))
    found = difference_residuals(matrix, cells, heights - 0.5, SHAPE)
    pairs = [(0, 1), (3, 4), (5, 6), (0, 3), (1, 4), (6, 7)]
    for (i, j), residual in zip(pairs, found, strict=True):
        rest = [k for k in range(len(cells)) if k not in (i, j)]
        weights = np.linalg.solve(matrix[np.ix_(rest, rest)], matrix[np.ix_(rest, [i, j])]).T
        error = heights[[i, j]] - 0.5 - weights @ (heights[rest] - 0.5)
        spread = matrix[np.ix_([i, j], [i, j])] - weights @ matrix[np.ix_(rest, [i, j])]
        deviation = np.sqrt(spread[0, 0] + spread[1, 1] - 2.0 * spread[0, 1])
        assert residual == pytest.approx((error[0] - error[1]) / deviation, abs=1e-8)


def test_the_right_kernel_is_calibrated_and_a_smooth_one_is_not() -> None:
    rough = Matern(4.0, 4.0, 1.5)
    heights = drawn(rough, 2)
    fine = check_calibration(rough, EVERY, heights, SHAPE, noise=1e-6)
    assert not fine.overconfident
    assert 0.4 < fine.inflation < 2.0
    bold = check_calibration(Matern(4.0, 12.0, 1.5), EVERY, heights, SHAPE, noise=1e-6)
    assert bold.overconfident
    assert bold.inflation > 2.0
    wide = Matern(4.0, 12.0, 1.5).scaled(bold.inflation)
    assert not check_calibration(wide, EVERY, heights, SHAPE, noise=1e-6).overconfident


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(InvalidBeliefError, match="length is 0"):
        Matern(1.0, 0.0)
    with pytest.raises(InvalidBeliefError, match="smoothness is"):
        Matern(1.0, 1.0, 0.5)
    with pytest.raises(InvalidBeliefError, match="too few"):
        fit_kernel([0, 1], [0.0, 1.0], SHAPE, noise=1e-3)
    with pytest.raises(InvalidBeliefError, match="different cells"):
        fit_kernel([0, 0, 1, 2, 3], np.zeros(5), SHAPE, noise=1e-3)
    with pytest.raises(InvalidBeliefError, match="noise variance is 0"):
        check_calibration(Matern(1.0, 1.0), [0, 1], [0.0, 1.0], SHAPE, noise=0.0)
