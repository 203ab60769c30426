"""Compiled functions for normal heights: the success of moves, alone and together; sums over maps.

The success of a move is ½(erfc(near) − erfc(far)), where near < far are the limits of its rise in
units of √2 standard deviations, mirrored so that far ≥ |near|. So tails keep their digits.

A set of moves is a graph of cells, in which each pair of cells has a window of allowed rises. A
forest of the riskiest pairs is integrated cell by cell, leaves first; the risks of other pairs are
subtracted (union bound). Let g(x) be the probability that all pairs work in the part of a cell's
subtree that is integrated so far, given its height x. Masses of φ·g are log-concave in x, so on a
grid of x they are bounded from below by their values at the ends of bins. What lies outside the
windows is subtracted for the upper bound (``docs/theory.md``, section 14).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.compiling import njit

REACH = 7  # standard deviations up to which a height is integrated; the rest has a mass of 3e-12
FINEST, COARSEST = 512, 32  # largest and smallest number of bins per standard deviation
BINS_PER_RATIO = 8  # bins of a cell per standard deviation of its most precisely known child
NEGLIGIBLE = 1e-8  # largest risk of a move that is subtracted instead of integrated
ROUNDING = 2.0**-36  # bound on the rounding error of a probability, per cell
CANCELLED = 2.0**-40  # relative rounding error of a sum over bins, in a difference of two sums
NUDGE = 2.0**-47  # rounding error of the end of a window, relative to the lengths that add up to it
TILE = 256  # cells per tile of a sum over the map; only changed tiles are summed again
ERFC_ZERO, ERFC_TWO, NEGLIGIBLE_SQUARES = 27.3, -6.0, 39.0
"""In double precision, erfc is 0 from the first number on, and 2 up to the second. The third is
the least far² − near² at which subtracting erfc(far) from erfc(near) changes nothing: beyond it,
erfc(far) ≤ erfc(near)·exp(near² − far²) is below half a unit in the last place of erfc(near)."""


@njit(cache=True, error_model="numpy")
def chances(
    rise: FloatArray, variance: FloatArray, drop: FloatArray, climb: FloatArray
) -> FloatArray:
    """Return Pr(−drop ≤ X ≤ climb) [n] for normal rises X with mean `rise` and `variance`, in m."""
    result = np.empty(len(rise))
    for i in range(len(rise)):
        per = 1.0 / math.sqrt(2.0 * variance[i])
        near = per * max(-drop[i] - rise[i], rise[i] - climb[i])
        far = per * max(climb[i] - rise[i], drop[i] + rise[i])
        tail = 2.0
        if near > ERFC_TWO:
            tail = math.erfc(near) if near < ERFC_ZERO else 0.0
        if far * far - max(near, 0.0) ** 2 < NEGLIGIBLE_SQUARES:
            tail -= math.erfc(far)
        result[i] = max(0.0, 0.5 * tail)
    return result


@njit(cache=True)
def sum_tiles(
    variance: FloatArray, weight: float, enough: float, tiles: IntArray, sums: FloatArray
) -> None:
    """Write Σ ½ ln(1 + variance·weight) and the largest variance of each tile in `tiles` [n].

    A cell counts at most the nats until its precision is `enough`. They are written to the columns
    ``tiles`` of `sums` [2, T]. Tile i has the cells from i·`TILE` to (i + 1)·`TILE` − 1.
    """
    for tile in tiles:
        total, most = 0.0, 0.0
        for c in range(tile * TILE, min((tile + 1) * TILE, len(variance))):
            if variance[c] > 0.0:
                gained = min(variance[c] * weight, variance[c] * enough - 1.0)
                total += math.log1p(max(gained, 0.0))
                most = max(most, variance[c])
        sums[0, tile], sums[1, tile] = 0.5 * total, most


@njit(cache=True)
def sum_near(weight: FloatArray, values: FloatArray) -> FloatArray:
    """Return for each cell Σ weight[|down|, |right|]·value over nearby cells; `values` is [R, C].

    The other cell is `down` rows below and `right` columns to the right.
    """
    rows, columns = values.shape
    total = np.zeros(values.shape)
    for row in range(rows):
        for other in range(max(0, row - len(weight) + 1), min(rows, row + len(weight))):
            for right in range(1 - weight.shape[1], weight.shape[1]):
                each = weight[abs(other - row), abs(right)]
                if each > 0.0:
                    for column in range(max(0, -right), columns - max(0, right)):
                        total[row, column] += each * values[other, column + right]
    return total


class Bins(NamedTuple):
    """The standard normal distribution on grids of 512, 256, 128, 64 and 32 bins per unit."""

    mass: FloatArray  # [5, n] probability of each bin
    place: FloatArray  # [5, n] mean place in each bin, from 0 to 1
    density: FloatArray  # [5, n + 1] density at the ends of the bins


def _standard() -> Bins:
    strides = 2 ** np.arange(int(math.log2(FINEST // COARSEST)) + 1)
    bins = Bins(*(np.zeros((len(strides), 2 * REACH * FINEST + 1)) for _ in range(3)))
    for row, per in enumerate(FINEST // strides):
        z = np.arange(-REACH * per, REACH * per + 1) / per
        beyond = np.array([0.5 * math.erfc(abs(x) / math.sqrt(2.0)) for x in z])
        density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        mass = np.abs(np.diff(beyond))  # 0 is the end of a bin
        bins.mass[row, : len(mass)] = mass
        bins.place[row, : len(mass)] = (-np.diff(density) / mass - z[:-1]) * per
        bins.density[row, : len(z)] = density
    return bins


BINS = _standard()


class MoveRises(NamedTuple):
    """n moves as windows of the rise from start to end, and what is known of each alone."""

    start: IntArray  # [n] cell
    end: IntArray  # [n] cell
    lower: FloatArray  # [n] m, least rise at which the move works
    upper: FloatArray  # [n] m, greatest rise at which it works
    risk: FloatArray  # [n] upper bound on the probability that it never works
    likely: FloatArray  # [n] upper bound on the probability that it works
    apart: BoolArray  # [n] whether only these two bounds hold: its height is not just normal


@njit(cache=True)
def height_sets(
    height: FloatArray,
    variance: FloatArray,
    first: IntArray,
    moves: MoveRises,
    bins: Bins,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Write bounds `low` and `high` [N] on the probability that all moves of each set work.

    `height` and `variance` [S] are those of the independent heights, in m and m². Set i has the
    moves e with ``first[i] <= e < first[i + 1]``.
    """
    last: tuple[IntArray, FloatArray] = np.empty(0, np.int64), np.empty((0, 2))
    result = 1.0, 1.0, 0.0
    for i in range(len(low)):
        pair, rise, risk, left, total, most = _pairs(len(height), moves, first[i], first[i + 1])
        # Along a path, neighbouring sets often have the same doubtful moves.
        if not (np.array_equal(pair, last[0]) and np.array_equal(rise, last[1])):
            last, result = (pair, rise), _forest(height, variance, pair, rise, risk, bins)
        least, upper, others = result
        more = 1.0 + (first[i + 1] - first[i]) * 2.0**-52
        low[i] = max(0.0, least - (left + others) * more, min(most, 1.0 - total * more))
        high[i] = max(low[i], min(most, upper))


@njit(cache=True)
def _pairs(
    size: int, moves: MoveRises, begin: int, stop: int
) -> tuple[IntArray, FloatArray, FloatArray, float, float, float]:
    """Return the pairs of cells [n], ascending, between which a move of a set is integrated.

    The set has the moves from `begin` to `stop` − 1. A pair of cells s < t is the number s·S + t,
    for S = `size`. Also return the window [n, 2] of the rise from s to t, the risk [n] of each
    pair, the summed risk of moves that are in no pair, the summed risk of all moves, and the
    smallest of `likely`.
    """
    start, end, lowest, highest, risks, likely, apart = moves
    edges, most, left, total = stop - begin, 1.0, 0.0, 0.0
    keys = np.empty(edges, np.int64)
    for n in range(edges):  # a move back, from t to s, comes after that from s to t
        s, t = np.int64(start[begin + n]), np.int64(end[begin + n])
        keys[n] = 2 * (min(s, t) * size + max(s, t)) + (s > t)
    order = np.argsort(keys)
    pair, rise, risk = np.empty(edges, np.int64), np.empty((edges, 2)), np.empty(edges)
    count, before = 0, -1
    for n in order:
        e = begin + n
        if keys[n] == before or start[e] == end[e]:
            continue
        before = keys[n]
        most, total = min(most, likely[e]), total + risks[e]
        if apart[e] or likely[e] <= 0.0 or risks[e] <= NEGLIGIBLE:
            left += risks[e]
            continue
        lower, upper = lowest[e], highest[e]
        if start[e] > end[e]:
            lower, upper = -upper, -lower
        if count and pair[count - 1] == before // 2:
            rise[count - 1, 0] = max(rise[count - 1, 0], lower)
            rise[count - 1, 1] = min(rise[count - 1, 1], upper)
            risk[count - 1] += risks[e]
        else:
            pair[count], risk[count] = before // 2, risks[e]
            rise[count, 0], rise[count, 1] = lower, upper
            count += 1
    return pair[:count], rise[:count], risk[:count], left, total, most


@njit(cache=True)
def _forest(
    height: FloatArray,
    variance: FloatArray,
    pair: IntArray,
    rise: FloatArray,
    risk: FloatArray,
    bins: Bins,
) -> tuple[float, float, float]:
    """Return bounds on the probability that a forest of the riskiest pairs works.

    Also return the summed risk of the pairs that are not in the forest. `pair`, `rise` and `risk`
    are as returned by `_pairs`.
    """
    size, both = len(height), np.empty((len(pair), 2), np.int64)
    both[:, 0], both[:, 1] = pair // size, pair % size
    cells = np.unique(both)
    ends, count = np.searchsorted(cells, both.ravel()).reshape(both.shape), len(cells)
    group, chosen, left = np.arange(count), 0, 0.0
    ranked = np.argsort(-risk, kind="mergesort")  # ties in the order of pairs
    for n in range(len(pair)):
        p = ranked[n]
        i, j = ends[p]
        while group[i] != i:
            i = group[i]
        while group[j] != j:
            j = group[j]
        if i == j:
            left += risk[p]
        else:
            group[i], ranked[chosen] = j, p
            chosen += 1
    used = ranked[:chosen]
    deviation = np.sqrt(variance[cells])
    least, upper = _integrate(height[cells], deviation, ends[used], rise[used], bins)
    return least - count * ROUNDING, upper + count * ROUNDING, left


@njit(cache=True)
def _integrate(
    mean: FloatArray, deviation: FloatArray, ends: IntArray, rise: FloatArray, bins: Bins
) -> tuple[float, float]:
    """Return bounds on the probability that all pairs [n] of a forest have rises in their windows.

    Pair p rises from cell ``ends[p, 0]`` to ``ends[p, 1]``; its window is ``rise[p]``.
    """
    count, pairs = len(mean), len(ends)
    degree = np.zeros(count, np.int64)
    for p in range(pairs):
        degree[ends[p, 0]] += 1
        degree[ends[p, 1]] += 1
    # Leaves are integrated into their neighbours, the leaf with the largest deviation first: the
    # result is then smooth in the neighbour's height.
    done, order = np.zeros(pairs, np.bool_), np.empty((pairs, 3), np.int64)
    grid = np.full(count, len(bins.mass) - 1)
    for n in range(pairs):
        best, leaf = -1, -1
        for p in range(pairs):
            if not done[p]:
                for c in ends[p]:
                    if degree[c] == 1 and (leaf < 0 or deviation[c] > deviation[leaf]):
                        best, leaf = p, c
        other = ends[best].sum() - leaf
        done[best] = True
        degree[leaf] -= 1
        degree[other] -= 1
        order[n, 0], order[n, 1], order[n, 2] = best, leaf, other
        need = BINS_PER_RATIO * deviation[other] / deviation[leaf]
        while grid[other] > 0 and need * 2 ** grid[other] > FINEST:
            grid[other] -= 1
    offset = np.zeros(count + 1, np.int64)
    for c in range(count):
        offset[c + 1] = offset[c] + 2 * REACH * (FINEST >> grid[c]) + 1
    g, upper = np.ones(offset[count]), np.ones(count)
    for n in range(pairs):
        p, leaf, other = order[n]
        lower, above = rise[p]
        if leaf == ends[p, 1]:  # the rise from the leaf instead
            lower, above = -above, -lower
        fails = _pass_on(
            mean[other] - mean[leaf],
            (deviation[leaf], deviation[other]),
            (lower, above),
            (grid[leaf], grid[other]),
            g[offset[leaf] : offset[leaf + 1]],
            g[offset[other] : offset[other + 1]],
            bins,
        )
        upper[other] = max(0.0, upper[other] * upper[leaf] - fails)
        degree[leaf] = -1
    least, most = 1.0, 1.0
    for c in range(count):
        if degree[c] == 0:
            g_root = g[offset[c] : offset[c + 1]]
            mass = np.empty(len(g_root) - 1)
            _masses(g_root, grid[c], bins, mass)
            least, most = least * mass.sum(), most * upper[c]
    return least, most


@njit(cache=True)
def _mean(u: float, v: float) -> float:
    """Return the harmonic mean: a lower bound on the mean of a log-concave function from u to v."""
    return 2.0 * u * v / (u + v) if u > 0.0 and v > 0.0 else 0.0


@njit(cache=True)
def _between(u: float, v: float, t: float) -> float:
    """Return a lower bound on u^(1−t)·v^t, for t in [0, 1]; sharp for t near ½."""
    middle = math.sqrt(u * v)
    if middle <= 0.0:
        return 0.0
    end, share = (v, 2.0 * t - 1.0) if t > 0.5 else (u, 1.0 - 2.0 * t)
    return middle * end / ((1.0 - share) * end + share * middle)


@njit(cache=True)
def _masses(g: FloatArray, grid: int, bins: Bins, mass: FloatArray) -> None:
    """Write lower bounds [n] on the mass of φ·g in each bin; `g` [n + 1] is given at the ends."""
    for k in range(len(mass)):
        mass[k] = bins.mass[grid, k] * _between(g[k], g[k + 1], bins.place[grid, k])


@njit(cache=True, error_model="numpy")
def _pass_on(
    rise: float,
    deviations: tuple[float, float],
    window: tuple[float, float],
    grids: tuple[int, int],
    g: FloatArray,
    there: FloatArray,
    bins: Bins,
) -> float:
    """Integrate a leaf into its neighbour; return a lower bound on Pr(rise outside the window).

    `g` is the function g of the leaf. `there` is that of the neighbour; at each height it is
    multiplied by the mass of the leaf's φ·g for which the rise is within the window. `rise` is the
    mean rise from the leaf. `deviations` and `grids` have the leaf's entry first.
    """
    (deviation, deviation_there), (lower, above) = deviations, window
    last, width = len(g) - 1, 2.0 * REACH / (len(g) - 1)
    mass, f, sums = np.empty(last), np.empty(last + 1), np.zeros(last + 1)
    _masses(g, grids[0], bins, mass)
    for k in range(last):
        f[k] = g[k] * bins.density[grids[0], k]
        sums[k + 1] = sums[k] + mass[k]
    f[last] = g[last] * bins.density[grids[0], last]
    under, over = np.empty_like(there), np.empty_like(there)
    lengths = abs(rise) + 10.0 * deviation_there
    for limit in window:
        lengths += abs(limit) if abs(limit) < np.inf else 0.0
    lost = NUDGE * lengths / deviation  # the density is below 1
    step, per = 2.0 * REACH / (len(there) - 1), 1.0 / (deviation * width)
    for k in range(len(there)):
        x = rise + deviation_there * (k * step - REACH)
        low = min(float(last), max(0.0, (x - above) * per + 0.5 * last))
        high = min(float(last), max(0.0, (x - lower) * per + 0.5 * last))
        i, j = min(int(low), last - 1), min(int(high), last - 1)
        low, high = low - i, high - j
        at_low, at_high = _between(f[i], f[i + 1], low), _between(f[j], f[j + 1], high)
        below = sums[i] + low * width * _mean(f[i], at_low)
        beyond = max(0.0, sums[last] * (1.0 - CANCELLED) - sums[j + 1])
        beyond += (1.0 - high) * width * _mean(at_high, f[j + 1])
        inside = 0.0
        if i < j:
            inside = max(0.0, sums[j] * (1.0 - CANCELLED) - sums[i + 1])
            inside += (1.0 - low) * width * _mean(at_low, f[i + 1])
            inside += high * width * _mean(f[j], at_high)
        elif low < high:
            inside = (high - low) * width * _mean(at_low, at_high)
        under[k] = there[k] * max(0.0, below - lost)
        over[k] = there[k] * max(0.0, beyond - lost)
        there[k] *= max(0.0, inside - 2.0 * lost)
    mass = np.empty(len(there) - 1)
    _masses(under, grids[1], bins, mass)
    fails = mass.sum()
    _masses(over, grids[1], bins, mass)
    return float(fails + mass.sum())
