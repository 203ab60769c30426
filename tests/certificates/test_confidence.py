"""Intervals against what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from homeward.certificates.confidence import bernstein, clopper_pearson, lower_limit


@given(st.integers(1, 200), st.floats(0.0, 1.0), st.sampled_from([0.5, 0.05, 1e-4]))
def test_the_limits_are_where_so_many_hits_are_just_that_rare(
    trials: int, share: float, doubt: float
) -> None:
    hits = round(share * trials)
    low, high = clopper_pearson(hits, trials, doubt)
    assert 0.0 <= low <= hits / trials <= high <= 1.0
    if hits:
        assert binom.sf(hits - 1, trials, low) == pytest.approx(doubt / 2, rel=1e-6)
    if hits < trials:
        assert binom.cdf(hits, trials, high) == pytest.approx(doubt / 2, rel=1e-6)


def test_nothing_and_everything_reach_the_ends() -> None:
    assert clopper_pearson(0, 10, 0.05)[0] == 0.0
    assert clopper_pearson(10, 10, 0.05)[1] == 1.0
    assert clopper_pearson(0, 10, 0.05)[1] == pytest.approx(1.0 - 0.025**0.1)


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.5])
def test_a_counted_probability_is_missed_as_rarely_as_said(chance: float) -> None:
    hits = np.arange(51)
    limits = np.array([clopper_pearson(int(h), 50, 0.1) for h in hits])
    missed = (limits[:, 0] > chance) | (limits[:, 1] < chance)
    assert binom.pmf(hits, 50, chance)[missed].sum() <= 0.1


def test_a_bounded_mean_is_missed_as_rarely_as_said() -> None:
    rng = np.random.default_rng(0)
    draws = 3.0 * (rng.random((4000, 200)) < 0.2)
    off = [bernstein(float(row.var(ddof=1)), 200, 3.0, 0.05) for row in draws]
    assert (np.abs(draws.mean(axis=1) - 0.6) > off).mean() <= 0.05
    assert np.median(off) < 0.5


def test_bernstein_is_the_formula() -> None:
    expected = math.sqrt(2 * 0.25 * math.log(40) / 100) + 7 * 2 * math.log(40) / (3 * 99)
    assert bernstein(0.25, 100, 2.0, 0.1) == pytest.approx(expected)
    assert bernstein(0.0, 1, 1.0, 0.1) == math.inf


def test_more_doubt_gives_a_higher_limit() -> None:
    assert lower_limit(90, 100, 0.05) > lower_limit(90, 100, 0.01)
