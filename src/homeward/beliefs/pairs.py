"""Hunter's bound on the probability that several moves all work, from moves and pairs of moves.

Let F be the event that a move never works. For a forest of pairs of moves (Hunter 1976),

    Pr(some move of a set never works) ≤ Σ Pr(F) − Σ over the pairs Pr(F ∩ F').

A move is paired with the move that starts where it ends: on a long slope, both are too steep
together. If moves A are added to moves E, the probability that all moves work falls by at most
Σ over a in A of Pr(Fₐ) − Pr(Fₐ ∩ F'). Here F' is the event of one move of E, or of one move of A
that was added before a.

The rises of two moves are jointly normal. With standard normal X and Y of correlation ρ ≥ 0,

    Pr(X > h, Y > k) = ∫ from h to ∞ of φ(x) Φ((ρx − k) / √(1 − ρ²)) dx.

The factor Φ grows with x. On each of `CUTS` intervals it is replaced by its least value, so the sum
is never above the integral. The probability grows with ρ too, so a value a little below ρ is used
to allow for rounding.

Given the outcomes W of attempted moves, Pr(· | W) ≤ Pr(·) / Pr(W), as in `fields`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs.grid_graph import grid_graph

if TYPE_CHECKING:
    from homeward.beliefs.fields import CorrelatedTerrainBelief

CUTS = 48  # intervals of the integral
SPAN = 12.0  # length of the integral, in standard deviations; in units of 1/h for h > 1
MIN_PAIR_RISK = 1e-9  # smallest risk of a move that is paired
RHO_ALLOWANCE = 2.0**-30  # allowance for rounding in a correlation
EPSILON = float(np.finfo(np.float64).eps)


def joint_tail(h: FloatArray, k: FloatArray, rho: FloatArray) -> FloatArray:
    """Return a lower bound [n] on Pr(X > h, Y > k) for standard normals of correlation rho >= 0."""
    step = SPAN / np.maximum(1.0, h) / CUTS
    x = h[:, None] + step[:, None] * np.arange(CUTS + 1)
    above = ndtr(-x)
    mass = np.append(above[:, :-1] - above[:, 1:], above[:, -1:], axis=1)
    least = np.clip(rho - RHO_ALLOWANCE, 0.0, 1.0 - RHO_ALLOWANCE)[:, None]
    factor = ndtr((least * x - k[:, None]) / np.sqrt(1.0 - least * least))
    result: FloatArray = np.maximum(0.0, (mass * factor).sum(axis=1) * (1.0 - 1e-12) - EPSILON)
    return result


def both_fail(
    belief: CorrelatedTerrainBelief, state: IntArray, action: IntArray, following: IntArray
) -> FloatArray:
    """Return lower bounds [n] on the probability that a move and the next move both never work.

    The move is (state, action) [n]. The next move takes the action ``following`` [n] at its end.
    """
    dest = grid_graph(*belief.shape).dest
    middle = dest[state, action].astype(np.int64)
    end = dest[middle, following].astype(np.int64)
    cells, place = np.unique(np.stack([state, middle, end]), return_inverse=True)
    a, b, c = place.reshape(3, -1)
    matrix = belief.covariance(cells)
    one = matrix[a, a] + matrix[b, b] - 2.0 * matrix[a, b]
    two = matrix[b, b] + matrix[c, c] - 2.0 * matrix[b, c]
    cross = matrix[b, c] - matrix[b, b] - matrix[a, c] + matrix[a, b]
    scale = [np.sqrt(np.maximum(v, 0.0) + belief.least_variance) for v in (one, two)]
    rho = cross / (scale[0] * scale[1])
    tails = []
    for start, stop, taken, size in (
        (state, middle, action, scale[0]),
        (middle, end, following, scale[1]),
    ):
        rise = belief.height[stop] - belief.height[start]
        drop, most = belief.limits_at(start, taken)
        tails.append(((most - rise) / size, (drop + rise) / size))  # too steep up, and down
    (up, down), (up_next, down_next) = tails
    alike = rho >= 0.0
    ends = [np.where(alike, up_next, down_next), np.where(alike, down_next, up_next)]
    both = joint_tail(up, ends[0], np.abs(rho)) + joint_tail(down, ends[1], np.abs(rho))
    return np.where(np.isfinite(both), both, 0.0)


def failure_bound(
    belief: CorrelatedTerrainBelief,
    state: IntArray,
    action: IntArray,
    held: tuple[IntArray, IntArray] | None = None,
) -> float:
    """Return an upper bound on the probability that any of the moves [n] never works.

    If ``held`` moves (states and actions, each [m]) are given, the bound is on the probability that
    all held moves work and any of the moves [n] never works.
    """
    success = belief.success_bounds()[0]
    if (success[state, action] <= 0.0).any():
        return 1.0
    unsure = success[state, action] < 1.0
    state, action = state[unsure], action[unsure]
    risk = 1.0 - belief.measured_success()[state, action]
    dest, count = grid_graph(*belief.shape).dest, len(state)
    # Index of the move that starts in each state: below `count`, or from `count` on if it is held.
    starts = np.full(len(dest), -1)
    if held is not None:
        starts[held[0]] = count + np.arange(len(held[0]))
    starts[state] = np.arange(count)
    following = np.concatenate([action, [] if held is None else held[1]]).astype(np.int64)
    root, pairs = list(range(count)), []
    for i in np.flatnonzero(risk > MIN_PAIR_RISK):
        j = int(starts[dest[state[i], action[i]]])
        if j < 0 or (j < count and not risk[j] > MIN_PAIR_RISK):
            continue
        if j < count:
            ends = []
            for k in (int(i), j):
                while root[k] != k:
                    k = root[k]
                ends.append(k)
            if ends[0] == ends[1]:
                continue  # a cycle of pairs would not be a forest
            root[ends[0]] = ends[1]
        pairs.append((int(i), int(following[j])))
    total = float(risk.sum()) * (1.0 + (count + 1) * EPSILON)
    if pairs:
        at, then = np.array(pairs).T
        total -= float(np.minimum(both_fail(belief, state[at], action[at], then), risk[at]).sum())
    mass = belief.outcome_mass
    return min(1.0, max(0.0, total) / mass) if mass > 0.0 else 1.0
