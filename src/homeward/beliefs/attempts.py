"""Attempted moves on normal heights: what their outcomes say of other moves, and samples.

Given the heights, a move always or never works: it works if −down ≤ h[end] − h[start] ≤ up. So one
attempt shows whether it works. Given the measurements, heights are independent and normal. Given
the outcomes too, they follow the same distribution restricted to the heights that agree.

The doubt of an outcome is the probability of the opposite outcome, given the measurements. An
outcome with doubt ≤ `SURE` is *almost certain*, and treated as if it did not restrict heights; the
others are *informative*. Informative outcomes that share a cell form a *component*. Components are
independent of each other and of all other cells. ``docs/theory.md``, section 12, has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import erfc, ndtr, ndtri

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, set_fields
from homeward.beliefs.height_kernels import chances
from homeward.errors import ImpossibleObservationError, InvalidBeliefError

Intervals = list[tuple[float, float]]

SURE = 2.0**-80  # largest doubt of an outcome that is almost certain
WIDTHS = (4.0, 8.0, 16.0, 32.0)  # half-widths, in standard deviations, from which `witness` starts
ROUNDING = 1e-9  # allowance for rounding in the logarithm of a component's probability
MAX_BATCH = 2**16  # largest batch of samples; if all are rejected, `draw` uses Gibbs sampling
GIBBS_SWEEPS = 64  # sweeps over a component whose outcomes are too unlikely for rejection
MAX_RESTARTS = 64  # most restarts of `draw` after an almost certain outcome is violated


@dataclass(frozen=True, slots=True, eq=False)
class Attempts:
    """The attempted moves, each listed once, and whether each worked."""

    pairs: IntArray  # [n] state · A + action, ascending
    worked: BoolArray  # [n] whether the move worked

    def __post_init__(self) -> None:
        pairs, worked = np.asarray(self.pairs), np.asarray(self.worked)
        error = InvalidBeliefError
        if pairs.ndim != 1 or pairs.dtype.kind not in "iu" or (pairs < 0).any():
            raise error("the attempted moves are not an array [n] of state · A + action")
        if worked.shape != pairs.shape or worked.dtype != np.bool_:
            raise error(f"the outcomes are not {len(pairs)} booleans")
        if (np.diff(pairs.astype(np.int64)) <= 0).any():
            raise error("the attempted moves are not in strictly ascending order")
        set_fields(self, pairs=frozen(np.array(pairs, np.int64)), worked=frozen(worked.copy()))

    @classmethod
    def none(cls) -> Attempts:
        """Return `Attempts` without any attempt."""
        return cls(np.empty(0, np.int64), np.empty(0, np.bool_))

    def __len__(self) -> int:
        return len(self.pairs)

    def with_outcome(self, pair: int, worked: bool) -> Attempts:
        """Return the attempts with one more outcome; raise if it contradicts an earlier one."""
        at = int(np.searchsorted(self.pairs, pair))
        if at < len(self.pairs) and self.pairs[at] == pair:
            if self.worked[at] == worked:
                return self
            was, now = ("worked", "failed") if self.worked[at] else ("failed", "worked")
            raise ImpossibleObservationError(f"move {pair} (s·A + a) {was} before, but {now} now")
        return self._unchecked(
            _with_item(self.pairs, at, pair), _with_item(self.worked, at, worked)
        )

    def among(self, pairs: IntArray) -> Attempts:
        """Return the attempts whose moves are in `pairs`, which is ascending."""
        at = np.searchsorted(self.pairs, pairs)
        at = at[at < len(self.pairs)]
        at = at[self.pairs[at] == pairs[: len(at)]]
        return self._unchecked(self.pairs[at], self.worked[at])

    @staticmethod
    def _unchecked(pairs: IntArray, worked: BoolArray) -> Attempts:
        new = object.__new__(Attempts)
        set_fields(new, pairs=frozen(pairs), worked=frozen(worked))
        return new


def _with_item(array: NDArray[Any], at: int, value: Any) -> NDArray[Any]:
    """Return a copy [n + 1] of an array with `value` inserted at `at`; `np.insert` is slow."""
    new = np.empty(len(array) + 1, array.dtype)
    new[:at], new[at], new[at + 1 :] = array[:at], value, array[at:]
    return new


class Edges(NamedTuple):
    """Outcomes as constraints on heights h: −down ≤ h[end] − h[start] ≤ up iff `worked`."""

    start: IntArray  # [n] cell
    end: IntArray  # [n] cell
    down: FloatArray  # [n] largest descent, m
    up: FloatArray  # [n] largest climb, m
    worked: BoolArray  # [n]

    def of(self, chosen: BoolArray | IntArray) -> Edges:
        """Return the edges that a mask [n] or indices select."""
        return Edges._make(part[chosen] for part in self)

    def agree(self, heights: FloatArray) -> BoolArray:
        """Return the mask [..., n] of the outcomes that agree with `heights` [..., S]."""
        rise = heights[..., self.end] - heights[..., self.start]
        result: BoolArray = ((-self.down <= rise) & (rise <= self.up)) == self.worked
        return result

    def doubts(self, height: FloatArray, variance: FloatArray) -> FloatArray:
        """Return the probability [n] of the opposite outcomes, for heights N(height, variance)."""
        rise = height[self.end] - height[self.start]
        total = variance[self.start] + variance[self.end]
        per = 1.0 / np.sqrt(2.0 * total)
        fails = 0.5 * (erfc(per * (self.up - rise)) + erfc(per * (self.down + rise)))
        return np.where(self.worked, fails, chances(rise, total, self.down, self.up))


class Components(NamedTuple):
    """The informative outcomes, the cells that they touch, and the component of each cell."""

    cells: IntArray  # [m] ascending
    edges: Edges  # start and end are indices into `cells`
    label: IntArray  # [m] number of each cell's component
    number: int  # number of components

    @classmethod
    def of(cls, edges: Edges) -> Components:
        """Return the components that the informative outcomes `edges` form."""
        cells, place = np.unique(np.concatenate([edges.start, edges.end]), return_inverse=True)
        start, end = place[: len(edges.start)], place[len(edges.start) :]
        link = csr_array((np.ones(len(start)), (start, end)), shape=(len(cells), len(cells)))
        number, label = connected_components(link, directed=False)
        return cls(cells, edges._replace(start=start, end=end), label, int(number))

    def likelihoods(self, height: FloatArray, variance: FloatArray) -> FloatArray:
        """Return lower bounds [components] on ln Pr(the outcomes of a component).

        The probability is at least the mass of a product of intervals that agrees with the
        outcomes, and at least 1 minus the sum of their doubts. `height` and `variance` are [S].
        """
        mean, deviation = height[self.cells], np.sqrt(variance[self.cells])
        low, high = witness(self, mean, deviation)
        box, edges = np.zeros(self.number), self.edges
        with np.errstate(divide="ignore"):
            share = np.log(mass((low - mean) / deviation, (high - mean) / deviation))
            np.add.at(box, self.label, share)
            doubt = edges.doubts(mean, deviation * deviation) + 2.0**-50
            total = np.bincount(self.label[edges.start], doubt, self.number)
            union: FloatArray = np.log(np.maximum(0.0, 1.0 - total))
        return np.maximum(box, union) - ROUNDING

    def together(self, start: IntArray, end: IntArray, log_mass: FloatArray) -> FloatArray:
        """Return ln Pr(the outcomes of the components of the cells `start` and `end`), each [e]."""
        labels = []
        for cells in (start, end):
            at = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
            labels.append(np.where(self.cells[at] == cells, self.label[at], self.number))
        known = np.append(log_mass, 0.0)  # a cell without a component adds nothing
        other: FloatArray = np.where(labels[0] == labels[1], 0.0, known[labels[1]])
        result: FloatArray = known[labels[0]] + other
        return result


def mass(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return Pr(low < Z < high) for a standard normal Z, precise in both tails; 0 if low ≥ high."""
    upper = low > 0.0
    low, high = np.where(upper, -high, low), np.where(upper, -low, high)
    result: FloatArray = np.maximum(0.0, ndtr(high) - ndtr(low))
    return result


def witness(
    parts: Components, mean: FloatArray, deviation: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return intervals (low, high) [m] in m, one per cell; all heights in them agree with `parts`.

    If no such intervals are found for a component, one of its intervals is empty (low ≥ high).
    `mean` and `deviation` [m] are those of the cells' heights, in m.
    """
    low, high = _shrunk(parts.edges, mean, deviation, WIDTHS[0])
    for width in WIDTHS[1:]:
        empty = np.bincount(parts.label, low >= high, parts.number)[parts.label] > 0
        if not empty.any():
            break
        wider = _shrunk(parts.edges, mean, deviation, width)
        low, high = np.where(empty, wider[0], low), np.where(empty, wider[1], high)
    return low, high


def _shrunk(
    edges: Edges, mean: FloatArray, deviation: FloatArray, width: float
) -> tuple[FloatArray, FloatArray]:
    """Return intervals (low, high) [m] of ±`width` deviations, shrunk until all outcomes hold.

    For each outcome, the intervals of its two cells shrink in proportion to their variances. One
    pass is enough: shrinking never violates an outcome that already holds.
    """
    low, high = mean - width * deviation, mean + width * deviation
    variance = deviation * deviation

    def shrink(x: int, y: int, limit: float) -> None:
        excess = high[x] - low[y] - limit
        if excess > 0.0:
            share = variance[x] / (variance[x] + variance[y])
            high[x] -= excess * share
            low[y] += excess * (1.0 - share)

    for s, t, down, up, worked in zip(*edges, strict=True):
        rise = 0.5 * (low[t] + high[t] - low[s] - high[s])
        if worked:
            shrink(t, s, up)
            shrink(s, t, down)
        elif up - rise <= down + rise:
            shrink(s, t, -up)
        else:
            shrink(t, s, -down)
    return low, high


def draw(
    mean: FloatArray,
    variance: FloatArray,
    edges: Edges,
    doubt: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return sampled heights [S], in m, that agree with every outcome.

    Each component is sampled by rejection, which is exact, in batches of up to `MAX_BATCH` samples.
    If all are rejected, `GIBBS_SWEEPS` sweeps of Gibbs sampling start from heights that agree. They
    are exact in the limit of many sweeps. If an almost certain outcome is violated, sampling starts
    again. After `MAX_RESTARTS` restarts all outcomes are treated as informative.
    """
    deviation = np.sqrt(variance)
    heights: FloatArray = rng.normal(mean, deviation)
    if not len(edges.start):
        return heights
    parts = Components.of(edges.of(doubt > SURE))
    inside = [np.flatnonzero(parts.label == label) for label in range(parts.number)]
    own = [parts.edges.of(parts.label[parts.edges.start] == label) for label in range(parts.number)]
    for _ in range(MAX_RESTARTS):
        for cells, outcomes in zip(inside, own, strict=True):
            place = np.zeros(len(parts.cells), np.intp)
            place[cells] = np.arange(len(cells))
            local = outcomes._replace(start=place[outcomes.start], end=place[outcomes.end])
            at = parts.cells[cells]
            heights[at] = _draw_component(local, mean[at], deviation[at], heights[at], rng)
        if edges.agree(heights).all():
            return heights
        heights = rng.normal(mean, deviation)
    return draw(mean, variance, edges, np.ones(len(doubt)), rng)


def _draw_component(
    edges: Edges,
    mean: FloatArray,
    deviation: FloatArray,
    first: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return sampled heights [m] of one component; `first` [m] is the first sample to be tested."""
    tried, batch = first[None], 1
    while batch <= MAX_BATCH:
        good = edges.agree(tried).all(axis=1)
        if good.any():
            result: FloatArray = tried[np.argmax(good)]
            return result
        batch *= 4
        tried = rng.normal(mean, deviation, (batch, len(mean)))
    alone = Components(np.arange(len(mean)), edges, np.zeros(len(mean), np.intp), 1)
    low, high = witness(alone, mean, deviation)
    if not (low < high).all():
        raise ImpossibleObservationError(
            f"no heights were found that agree with the outcomes of {len(edges.start)} moves "
            f"(batches of up to {MAX_BATCH} samples)"
        )
    heights = 0.5 * (low + high)
    for _ in range(GIBBS_SWEEPS):
        for cell in range(len(mean)):
            before = heights[cell]
            allowed = _allowed(edges, cell, heights)
            heights[cell] = _draw_within(allowed, mean[cell], deviation[cell], before, rng)
            if not edges.agree(heights).all():  # rounding at the end of an interval
                heights[cell] = before
    return heights


def keep(intervals: Intervals, low: float, high: float) -> Intervals:
    """Return the intersection of disjoint intervals with [low, high]."""
    cut = ((max(a, low), min(b, high)) for a, b in intervals)
    return [(a, b) for a, b in cut if a < b]


def _allowed(edges: Edges, cell: int, heights: FloatArray) -> Intervals:
    """Return the intervals of a cell's height that agree with `edges`, given all other heights."""
    allowed = [(-math.inf, math.inf)]
    for s, t, down, up, worked in zip(*edges, strict=True):
        if cell == t:
            low, high = float(heights[s] - down), float(heights[s] + up)
        elif cell == s:
            low, high = float(heights[t] - up), float(heights[t] + down)
        else:
            continue
        if worked:
            allowed = keep(allowed, low, high)
        elif low < high:
            allowed = [*keep(allowed, -math.inf, low), *keep(allowed, high, math.inf)]
            allowed.sort()
    return allowed


def _draw_within(
    allowed: Intervals, mean: float, deviation: float, before: float, rng: np.random.Generator
) -> float:
    """Return a sample of a normal distribution restricted to intervals.

    If the intervals have no mass, return `before`.
    """
    ends = (np.array(allowed).reshape(-1, 2) - mean) / deviation
    masses = mass(ends[:, 0], ends[:, 1])
    if not masses.sum() > 0.0:
        return before
    low, high = ends[rng.choice(len(masses), p=masses / masses.sum())]
    side = -1.0 if low > 0.0 else 1.0  # the smaller tail keeps its digits
    below, above = sorted((ndtr(side * low), ndtr(side * high)))
    return mean + deviation * side * float(ndtri(below + (above - below) * rng.random()))
