"""Unions of intervals, and the probability that independent normal heights lie in such unions."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, owens_t

from homeward.arrays import FloatArray

Intervals = list[tuple[float, float]]
LINE: Intervals = [(-math.inf, math.inf)]


def mass(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return Pr(low < Z < high) for a standard normal Z, precise in both tails; 0 if low ≥ high."""
    upper = low > 0.0
    low, high = np.where(upper, -high, low), np.where(upper, -low, high)
    result: FloatArray = np.maximum(0.0, ndtr(high) - ndtr(low))
    return result


def keep(intervals: Intervals, low: float, high: float) -> Intervals:
    """Return the intersection of disjoint intervals with [low, high]."""
    cut = ((max(a, low), min(b, high)) for a, b in intervals)
    return [(a, b) for a, b in cut if a < b]


def drop(intervals: Intervals, low: float, high: float) -> Intervals:
    """Return disjoint intervals without their intersection with [low, high]."""
    if low >= high:
        return intervals
    return sorted(keep(intervals, -math.inf, low) + keep(intervals, high, math.inf))


def padded(sets: list[Intervals]) -> FloatArray:
    """Return m lists of intervals as an array [m, intervals, 2], padded with empty intervals."""
    array = np.full((len(sets), max(map(len, sets), default=0), 2), np.inf)
    for row, intervals in zip(array, sets, strict=True):
        row[: len(intervals)] = np.array(intervals).reshape(-1, 2)
    return array


def mass_in(
    intervals: FloatArray,
    mean: FloatArray,
    deviation: FloatArray,
    above: FloatArray | float = -np.inf,
    below: FloatArray | float = np.inf,
) -> FloatArray:
    """Return the probability [e] that a normal height is in `intervals` and above < height < below.

    `intervals` are [e, n, 2] in m; `mean` and `deviation` are those of the height [e].
    """
    low = np.maximum(intervals[..., 0].T, above)
    high = np.minimum(intervals[..., 1].T, below)
    result: FloatArray = mass((low - mean) / deviation, (high - mean) / deviation).sum(axis=0)
    return result


def mass_with_rise(
    intervals: FloatArray,
    mean: FloatArray,
    deviation: FloatArray,
    intervals_there: FloatArray,
    mean_there: FloatArray,
    deviation_there: FloatArray,
    down: FloatArray,
    up: FloatArray,
) -> FloatArray:
    """Return the probability [e] that heights x, y are in their intervals and −down ≤ y − x ≤ up.

    `intervals` [e, n, 2] are those of x, and `intervals_there` [e, m, 2] those of y.

    {x ≤ a, y ≤ b, y − x ≤ c} is the union of {x ≤ min(a, b − c), y − x ≤ c} and, if b − c < a,
    {b − c < x ≤ a, y ≤ b}. The mass between two limits is the difference of the masses below them.
    The first axes [2, 2, 2] are the two limits of x, of y and of y − x.
    """
    a = intervals.T[:, None, None, :, None]  # [2, 1, 1, n, 1, e]
    b = intervals_there.T[None, :, None, None]  # [1, 2, 1, 1, m, e]
    c = np.stack([-down, up])[None, None, :, None, None]  # [1, 1, 2, 1, 1, e]
    spread = np.hypot(deviation, deviation_there)
    h = np.clip((np.minimum(a, b - c) - mean) / deviation, -38.0, 38.0)
    k = np.clip((c - (mean_there - mean)) / spread, -38.0, 38.0)
    below = _both_below(h, k, deviation / spread, deviation_there / spread)
    beyond = mass((b - c - mean) / deviation, (a - mean) / deviation)
    below = below + beyond * ndtr((b - mean_there) / deviation_there)
    for _ in range(3):
        below = below[1] - below[0]
    result: FloatArray = below.sum(axis=(0, 1))
    return result


def _both_below(h: FloatArray, k: FloatArray, share: FloatArray, rest: FloatArray) -> FloatArray:
    """Return Pr(X ≤ h, Y ≤ k) of standard normals with correlation −share; rest² = 1 − share²."""
    h, k = np.where(h == 0.0, 1e-300, h), np.where(k == 0.0, 1e-300, k)
    with np.errstate(over="ignore"):
        a, b = (k + share * h) / (h * rest), (h + share * k) / (k * rest)
    found: FloatArray = (
        0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, a) - owens_t(k, b) - 0.5 * (h * k < 0.0)
    )
    return found
