"""Corrections σ ≤ 0: the price of planning on the mean model instead of the belief.

A correction makes the mean model's value a lower bound on the belief's expected value, for any
policy (`GENERAL`, the paper's Theorem 2) or for mixtures of deterministic policies on move-or-stay
models (`MOVES`, ours, about half as large). ``docs/theory.md`` has both proofs in full and the
conditions under which each holds. `NAIVE` is no correction and no guarantee: it is the mean model
taken at its word, for comparison.

Under the exploration discount γ the transition measure is γp, so criteria add γ·exploring; the
return is not discounted and adds `returning` as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import gammaln

from homeward.arrays import FloatArray, IntArray, frozen


class Correction(StrEnum):
    """Which theorem stands behind a bound."""

    GENERAL = "general"
    MOVES = "moves"
    NAIVE = "naive"


@dataclass(frozen=True, slots=True, eq=False)
class Corrections:
    """The two corrections a plan needs, and what proves them."""

    kind: Correction
    returning: FloatArray  # [S, A] ≤ 0, for the undiscounted way home
    exploring: FloatArray  # [S, A] ≤ 0, for the discounted way out
    work_or_never: bool = False  # declared: in each world every move works surely or never
    likely: FloatArray | None = None  # [S, A] ≥ Pr(P > 0), where the mean is a lower bound on it

    def __post_init__(self) -> None:
        for name in ("returning", "exploring"):
            object.__setattr__(self, name, frozen(getattr(self, name)))


def beta_shortfall(a: FloatArray, b: FloatArray) -> FloatArray:
    """Give E[min(0, X − E X)] for X ~ Beta(a, b): minus half its mean absolute deviation.

    That is −aᵃ bᵇ / (B(a, b) (a+b)^(a+b+1)); zero where a or b is zero. With Stirling's formula and
    its remainder s its logarithm is ½ ln a + ½ ln b − ³⁄₂ ln(a+b) − ½ ln 2π + s(a+b) − s(a) − s(b),
    in which nothing large is left to cancel.
    """
    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    random = (a > 0) & (b > 0)
    a, b = np.where(random, a, 1.0), np.where(random, b, 1.0)
    both = a + b
    log = 0.5 * (np.log(a) + np.log(b) - 3.0 * np.log(both) - np.log(2.0 * np.pi))
    log += _stirling_remainder(both) - _stirling_remainder(a) - _stirling_remainder(b)
    return np.where(random, -np.exp(log), 0.0)


def _stirling_remainder(x: FloatArray) -> FloatArray:
    """Give ln Γ(x) − ((x − ½) ln x − x + ½ ln 2π), which is about 1/(12x)."""
    large = np.maximum(x, 20.0)
    square = large**-2.0
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / large
    small = np.minimum(x, 20.0)
    exact = gammaln(small) - ((small - 0.5) * np.log(small) - small + 0.5 * np.log(2.0 * np.pi))
    return np.where(x > 20.0, series, exact)


def blocked_moves(dest: IntArray, success: FloatArray) -> FloatArray:
    """Return Pr(P = 0) = 1 − p [S, A] for moves that, given the world, work or do not."""
    return np.where(_changes(dest), 1.0 - success, 0.0)


def general_on_moves(dest: IntArray, success: FloatArray) -> FloatArray:
    """Give Theorem 2's σ = −2p(1−p) [S, A] for moves that, given the world, work or do not."""
    return np.where(_changes(dest), -2.0 * success * (1.0 - success), 0.0)


def moves_returning(dest: IntArray, success: FloatArray) -> FloatArray:
    """Give our return correction −p(1−p) [S, A] for moves that, given the world, work or do not."""
    return moves_corrections(dest, success, 1.0)[0]


def moves_exploring(dest: IntArray, success: FloatArray, discount: float) -> FloatArray:
    """Give our exploration correction −(2−γ)p(1−p) [S, A], likewise."""
    return moves_corrections(dest, success, discount)[1]


def moves_corrections(
    dest: IntArray, success: FloatArray, discount: float
) -> tuple[FloatArray, FloatArray]:
    """Give both of them, (returning, exploring), in one pass."""
    from homeward.beliefs.correction_kernels import correct_moves

    return correct_moves(dest, success, discount)


def bounded_corrections(
    dest: IntArray, low: FloatArray, high: FloatArray, discount: float
) -> tuple[FloatArray, FloatArray]:
    """Return both of them for a model that has lower bounds in the place of the chances p.

    low ≤ p ≤ high, each [S, A]. Then −E[|P − low| f(P)] = −low(1 − p) − (1 − γ)(1 − low)p is at
    least −(1 − low)(low + (1 − γ)·high); with γ = 0 that is Theorem 2's. Where low = high they are
    those of `moves_corrections`.
    """
    changes = _changes(dest)
    returning = np.where(changes, (low - 1.0) * low, 0.0)
    exploring = np.where(changes, (low - 1.0) * (low + (1.0 - discount) * high), 0.0)
    return returning, np.where(low == high, (2.0 - discount) * returning, exploring)


def stay_moves(
    dest: IntArray, success: FloatArray, likely: FloatArray, discount: float
) -> FloatArray:
    """Return what staying inside a set is corrected by [S, A], for moves that work or never do.

    It is −(1 − γ)(1 − p)·Pr(P = 1), with `success` in the place of p and at most `likely` in that
    of Pr(P = 1): they differ where the mean model has lower bounds on chances.
    """
    return np.where(_changes(dest), (discount - 1.0) * (1.0 - success) * likely, 0.0)


def random_moves_returning(dest: IntArray, success: FloatArray, weights: FloatArray) -> FloatArray:
    """Give the return correction −p·Pr(P = 0) [S, A] where success is random even given the world.

    ``success`` [M, S, A] are the worlds' success probabilities P, ``weights`` [M] their chances.
    """
    return -np.tensordot(weights, success, axes=1) * blocked_in(dest, success, weights)


def blocked_in(dest: IntArray, success: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Pr(P = 0) [S, A] over such worlds; 0 where a move can't change the state."""
    return np.where(_changes(dest), np.tensordot(weights, success == 0.0, axes=1), 0.0)


def random_moves_exploring(
    dest: IntArray, success: FloatArray, weights: FloatArray, discount: float
) -> FloatArray:
    """Give the exploration correction −E[|P−p|·(1−γ)/(1−γ+γP)] [S, A], likewise."""
    mean = np.tensordot(weights, success, axes=1)
    stretch = (1.0 - discount) / (1.0 - discount + discount * success)
    return np.where(
        _changes(dest), -np.tensordot(weights, np.abs(success - mean) * stretch, axes=1), 0.0
    )


def _changes(dest: IntArray) -> np.ndarray:
    """Tell where a move would change the state; one that can't has nothing to correct."""
    changes: np.ndarray = dest != np.arange(len(dest))[:, None]
    return changes
