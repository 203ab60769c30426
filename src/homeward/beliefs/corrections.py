"""Corrections σ ≤ 0: rewards that make the mean model's value a lower bound under the belief.

`GENERAL` (the paper's Theorem 2) holds for any policy. `MOVES` (ours, about half as large) holds
for mixtures of deterministic policies on move-or-stay models. `NAIVE` is no correction and
guarantees nothing. ``docs/theory.md`` has the proofs. Exploration is discounted by γ, so criteria
add γ·exploring to the reward; the return problem adds `returning` itself.

Below, p = E[P] is the mean probability that a move works, and `dest` [S, A] are the destinations of
moves. Every correction is 0 for a move whose destination is its own state.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import gammaln

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, set_fields


class Correction(StrEnum):
    """How bounds are corrected for uncertainty; see the module docstring."""

    GENERAL = "general"
    MOVES = "moves"
    NAIVE = "naive"


@dataclass(frozen=True, slots=True, eq=False)
class Corrections:
    """The two corrections that a plan needs: for the return, and for exploration."""

    kind: Correction
    returning: FloatArray  # [S, A] ≤ 0, for the undiscounted return
    exploring: FloatArray  # [S, A] ≤ 0, for the discounted exploration
    work_or_never: bool = False  # whether in each world every move always or never works
    likely: FloatArray | None = None  # [S, A] at least Pr(P > 0); None if the mean model is exact

    def __post_init__(self) -> None:
        set_fields(self, returning=frozen(self.returning), exploring=frozen(self.exploring))


def beta_shortfall(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return E[min(0, X − E X)] for X ~ Beta(a, b): minus half its mean absolute deviation.

    It equals −aᵃ bᵇ / (B(a, b) (a+b)^(a+b+1)), and 0 if a or b is 0. By Stirling's formula with
    remainder s, the logarithm of its absolute value is
    ½ ln a + ½ ln b − ³⁄₂ ln(a+b) − ½ ln 2π + s(a+b) − s(a) − s(b). No large terms cancel in it.
    """
    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    random = (a > 0) & (b > 0)
    a, b = np.where(random, a, 1.0), np.where(random, b, 1.0)
    both = a + b
    log = 0.5 * (np.log(a) + np.log(b) - 3.0 * np.log(both) - np.log(2.0 * np.pi))
    log += _stirling_remainder(both) - _stirling_remainder(a) - _stirling_remainder(b)
    return np.where(random, -np.exp(log), 0.0)


def _stirling_remainder(x: FloatArray) -> FloatArray:
    """Return ln Γ(x) − ((x − ½) ln x − x + ½ ln 2π), which is about 1/(12x)."""
    large = np.maximum(x, 20.0)
    square = large**-2.0
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / large
    small = np.minimum(x, 20.0)
    exact = gammaln(small) - ((small - 0.5) * np.log(small) - small + 0.5 * np.log(2.0 * np.pi))
    return np.where(x > 20.0, series, exact)


def changes_state(dest: IntArray) -> BoolArray:
    """Return the mask [S, A] of the moves whose destination is another state."""
    result: BoolArray = dest != np.arange(len(dest))[:, None]
    return result


def returning_correction(dest: IntArray, success: FloatArray) -> FloatArray:
    """Return −p(1−p) [S, A] for moves that always or never work; `success` ≤ p is used for p."""
    returning = success - 1.0
    returning *= success  # in place: maps are large
    np.copyto(returning, 0.0, where=~changes_state(dest))
    return returning


def moves_corrections(
    dest: IntArray, low: FloatArray, high: FloatArray, discount: float
) -> tuple[FloatArray, FloatArray]:
    """Return (returning, exploring) [S, A] for moves that in each world always or never work.

    They are −p(1−p) and −(2−γ)p(1−p) if p is known: low = high = p. Otherwise low ≤ p ≤ high, each
    [S, A], and the model uses `low` instead of p. Then −E[|P − low| f(P)] =
    −low(1 − p) − (1 − γ)(1 − low)p is at least −(1 − low)(low + (1 − γ)·high), which is returned.
    With γ = 0, `exploring` is the general correction.
    """
    returning = returning_correction(dest, low)
    if low is high:
        return returning, (2.0 - discount) * returning
    exploring = np.where(changes_state(dest), (low - 1.0) * (low + (1.0 - discount) * high), 0.0)
    return returning, np.where(low == high, (2.0 - discount) * returning, exploring)


def random_moves_corrections(
    dest: IntArray, success: FloatArray, weights: FloatArray, discount: float
) -> tuple[FloatArray, FloatArray]:
    """Return (returning, exploring) [S, A] for moves that may fail at random in a world.

    They are −p·Pr(P = 0) and −E[|P−p|·(1−γ)/(1−γ+γP)], where P is the success probability of a
    move. ``success`` [M, S, A] is P in each world, and ``weights`` [M] are the probabilities of the
    worlds.
    """
    mean = np.tensordot(weights, success, axes=1)
    stretch = (1.0 - discount) / (1.0 - discount + discount * success)
    exploring = -np.tensordot(weights, np.abs(success - mean) * stretch, axes=1)
    return (
        -mean * blocked_random_moves(dest, success, weights),
        np.where(changes_state(dest), exploring, 0.0),
    )


def blocked_random_moves(dest: IntArray, success: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Pr(P = 0) [S, A], with P = `success` [M, S, A] in worlds of probability [M]."""
    return np.where(changes_state(dest), np.tensordot(weights, success == 0.0, axes=1), 0.0)


def stay_moves(
    dest: IntArray, success: FloatArray, likely: FloatArray, discount: float
) -> FloatArray:
    """Return the correction [S, A] of staying inside a set, for moves that always or never work.

    It is −(1 − γ)(1 − p)·Pr(P = 1), computed with `success` ≤ p and `likely` ≥ Pr(P = 1). These two
    differ if the mean model has only lower bounds on p.
    """
    return np.where(changes_state(dest), (discount - 1.0) * (1.0 - success) * likely, 0.0)
