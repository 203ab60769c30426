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
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaln, xlogy

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray


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


def beta_shortfall(a: FloatArray, b: FloatArray) -> FloatArray:
    """Give E[min(0, X − E X)] for X ~ Beta(a, b): minus half its mean absolute deviation.

    That is −aᵃ bᵇ / (B(a, b) (a+b)^(a+b+1)), in logarithms; zero where a or b is zero.
    """
    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    random = (a > 0) & (b > 0)
    a, b = np.where(random, a, 1.0), np.where(random, b, 1.0)
    log = xlogy(a, a) + xlogy(b, b) - betaln(a, b) - (a + b + 1.0) * np.log(a + b)
    return np.where(random, -np.exp(log), 0.0)


def general_on_moves(dest: IntArray, success: FloatArray) -> FloatArray:
    """Give Theorem 2's σ = −2p(1−p) [S, A] for moves that, given the world, work or do not."""
    return np.where(_changes(dest), -2.0 * success * (1.0 - success), 0.0)


def moves_returning(dest: IntArray, success: FloatArray) -> FloatArray:
    """Give our return correction −p(1−p) [S, A] for moves that, given the world, work or do not."""
    return np.where(_changes(dest), -success * (1.0 - success), 0.0)


def moves_exploring(dest: IntArray, success: FloatArray, discount: float) -> FloatArray:
    """Give our exploration correction −(2−γ)p(1−p) [S, A], likewise."""
    return (2.0 - discount) * moves_returning(dest, success)


def random_moves_returning(dest: IntArray, success: FloatArray, weights: FloatArray) -> FloatArray:
    """Give the return correction −p·Pr(P = 0) [S, A] where success is random even given the world.

    ``success`` [M, S, A] are the worlds' success probabilities P, ``weights`` [M] their chances.
    """
    mean = np.tensordot(weights, success, axes=1)
    never = np.tensordot(weights, success == 0.0, axes=1)
    return np.where(_changes(dest), -mean * never, 0.0)


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
