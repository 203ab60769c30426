"""Corrections σ ≤ 0: the price of planning on the mean model instead of the belief.

A correction makes the mean model's value a lower bound on the belief's expected value, for any
policy (`GENERAL`, the paper's Theorem 2) or for mixtures of deterministic policies on move-or-stay
models (`MOVES`, ours, about half as large). ``docs/theory.md`` has both proofs and the conditions
under which each holds. `NAIVE` is no correction and guarantees nothing; it is for comparison.

Under the exploration discount γ the transition measure is γp, so criteria add γ·exploring; the
return is not discounted and adds `returning` as it is.

Below, p = E[P] is the probability that a move works, `dest` [S, A] are the destinations of moves,
and all corrections are zero where a move can't change the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import gammaln

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, settle


class Correction(StrEnum):
    """The theorem that proves a bound."""

    GENERAL = "general"
    MOVES = "moves"
    NAIVE = "naive"


@dataclass(frozen=True, slots=True, eq=False)
class Corrections:
    """The two corrections that a plan needs, and the theorem that proves them.

    Attributes
    ----------
    kind : The theorem
    returning : [S, A] ≤ 0, for the undiscounted return
    exploring : [S, A] ≤ 0, for the discounted exploration
    work_or_never : Whether in each world every move works surely or never
    likely : [S, A] ≥ Pr(P > 0), where the mean model holds lower bounds on it; else None
    """

    kind: Correction
    returning: FloatArray
    exploring: FloatArray
    work_or_never: bool = False
    likely: FloatArray | None = None

    def __post_init__(self) -> None:
        settle(self, returning=frozen(self.returning), exploring=frozen(self.exploring))


def beta_shortfall(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return E[min(0, X − E X)] for X ~ Beta(a, b): minus half its mean absolute deviation.

    That is −aᵃ bᵇ / (B(a, b) (a+b)^(a+b+1)); zero where a or b is zero. With Stirling's formula and
    its remainder s its logarithm is ½ ln a + ½ ln b − ³⁄₂ ln(a+b) − ½ ln 2π + s(a+b) − s(a) − s(b),
    in which no large terms cancel.
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
    """Return which moves [S, A] lead to another state."""
    changes: BoolArray = dest != np.arange(len(dest))[:, None]
    return changes


def blocked_moves(dest: IntArray, success: FloatArray) -> FloatArray:
    """Return Pr(P = 0) = 1 − p [S, A] for moves that work surely or never in each world."""
    return np.where(changes_state(dest), 1.0 - success, 0.0)


def moves_corrections(
    dest: IntArray, low: FloatArray, high: FloatArray, discount: float
) -> tuple[FloatArray, FloatArray]:
    """Return (returning, exploring) for moves that work surely or never in each world.

    They are −p(1−p) and −(2−γ)p(1−p). With bounds low ≤ p ≤ high, each [S, A], and a model that
    has `low` in the place of p, −E[|P − low| f(P)] = −low(1 − p) − (1 − γ)(1 − low)p is at least
    −(1 − low)(low + (1 − γ)·high). With γ = 0 `exploring` is Theorem 2's correction.
    """
    changes = changes_state(dest)
    returning = low - 1.0
    returning *= low  # in place: maps are large
    np.copyto(returning, 0.0, where=~changes)
    if low is high:
        return returning, (2.0 - discount) * returning
    exploring = np.where(changes, (low - 1.0) * (low + (1.0 - discount) * high), 0.0)
    return returning, np.where(low == high, (2.0 - discount) * returning, exploring)


def random_moves_corrections(
    dest: IntArray, success: FloatArray, weights: FloatArray, discount: float
) -> tuple[FloatArray, FloatArray]:
    """Return (returning, exploring) for moves that may fail at random in a world.

    They are −p·Pr(P = 0) and −E[|P−p|·(1−γ)/(1−γ+γP)]. ``success`` [M, S, A] holds P of each world,
    ``weights`` [M] the probabilities of the worlds.
    """
    mean = np.tensordot(weights, success, axes=1)
    stretch = (1.0 - discount) / (1.0 - discount + discount * success)
    exploring = -np.tensordot(weights, np.abs(success - mean) * stretch, axes=1)
    return (
        -mean * blocked_random_moves(dest, success, weights),
        np.where(changes_state(dest), exploring, 0.0),
    )


def blocked_random_moves(dest: IntArray, success: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Pr(P = 0) [S, A] over such worlds."""
    return np.where(changes_state(dest), np.tensordot(weights, success == 0.0, axes=1), 0.0)


def stay_moves(
    dest: IntArray, success: FloatArray, likely: FloatArray, discount: float
) -> FloatArray:
    """Return the correction [S, A] of staying inside a set, for moves that work surely or never.

    It is −(1 − γ)(1 − p)·Pr(P = 1), with `success` ≤ p and `likely` ≥ Pr(P = 1); they differ where
    the mean model holds lower bounds.
    """
    return np.where(changes_state(dest), (discount - 1.0) * (1.0 - success) * likely, 0.0)
