"""What attempted moves teach about other moves: bounds on the chance that each works.

Heights are independent normal given the measurements; A are the informative outcomes (see
`attempts`), B the all but certain ones. For a move that touches no cell of A the outcomes A say
nothing. For the others ``docs/theory.md``, section 12, proves two bounds on the chance of an event
E of the move (it works, or it does not), given A; the smaller one counts.

*The ratio.* Pr(E | A) ≤ Pr(E) / Pr(A_K), with A_K the outcomes of the components K that E touches.
Pr(A_K) is at least the mass of any product of intervals that agrees with A_K (`witness`).

*The box.* Of the two cells of an outcome the one that is known better is *boxed*; a cell that is
boxed by none is *free*. Given the boxed heights, free cells are independent, each normal and
restricted to a union of intervals by its own outcomes. Every boxed height is within k of its
standard deviations with probability 1 − `TAIL` given A; with those as slack, E has at most the mass
of the outer set with E over the mass of the inner set.

Outcomes in B cost a factor 1/(1 − τ), where τ bounds the chance that one of them is missed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr, owens_t

from homeward.beliefs.attempts import (
    LINE,
    SURE,
    Components,
    Edges,
    Intervals,
    components_of,
    drop,
    keep,
    mass,
    witness,
)

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray

TAIL = 1e-12
"""Chance given to a boxed height outside its box, for all boxed cells near a move together."""

NEAR = 17
"""Boxed cells near a move at most: the neighbours of both its ends."""

ROUNDING = 2.0**-36
"""What is added to a computed mass: more than the rounding of a bivariate normal chance."""

PLAIN, BOXED, FREE = range(3)


class Ends(NamedTuple):
    """Moves between two cells; one works if −down ≤ h[end] − h[start] ≤ up."""

    start: IntArray  # [e] cell
    end: IntArray  # [e] cell
    down: FloatArray  # [e] m
    up: FloatArray  # [e] m

    def of(self, chosen: IntArray) -> Ends:
        """Return some of them."""
        return Ends(self.start[chosen], self.end[chosen], self.down[chosen], self.up[chosen])

    def swapped(self, chosen: BoolArray) -> Ends:
        """Return the same events with the chosen moves seen from their other end."""
        start, end, down, up = self
        return Ends(
            np.where(chosen, end, start),
            np.where(chosen, start, end),
            np.where(chosen, up, down),
            np.where(chosen, down, up),
        )


class Lesson(NamedTuple):
    """The law of the heights given the measurements and the attempts, as far as it is bounded."""

    parts: Components
    log_mass: FloatArray  # [components] lower bound on ln Pr(A_K)
    doubt: float  # τ: upper bound on the chance that an outcome of B is missed, given A
    role: IntArray  # [m] BOXED or FREE
    low: FloatArray  # [m] m, the box
    high: FloatArray  # [m]
    outer: FloatArray  # [m, intervals, 2] m, contains every height of a free cell that agrees
    inner: FloatArray  # [m] mass of a set that has only such heights


def learn_from(edges: Edges, doubt: FloatArray, mean: FloatArray, variance: FloatArray) -> Lesson:
    """Return what outcomes with these doubts [n] say; heights have this law [S].

    An outcome that is not all but certain once the informative ones at its cells are given, as far
    as is proven, is taken as informative too.
    """
    informative, found = doubt > SURE, doubt > np.inf
    while (informative != found).any():
        found = informative
        parts = components_of(edges.of(found))
        centre, deviation = mean[parts.cells], np.sqrt(variance[parts.cells])
        low, high = witness(parts, centre, deviation)
        share = mass((low - centre) / deviation, (high - centre) / deviation)
        log_mass = np.full(parts.number, -1e-9)
        with np.errstate(divide="ignore", over="ignore"):
            np.add.at(log_mass, parts.label, np.log(share))
            scale = np.exp(-_log_mass_of(edges.start, edges.end, parts, log_mass))
        missed = doubt * np.where(np.isinf(scale), 0.0, scale)
        informative = found | np.isinf(scale) | (missed > SURE)
    start, end = parts.edges.start, parts.edges.end
    role = np.full(len(centre), FREE)
    role[np.where(deviation[start] <= deviation[end], start, end)] = BOXED
    width = np.sqrt(2.0 * (math.log(NEAR / TAIL) - log_mass))[parts.label] * deviation
    low, high = centre - width, centre + width
    outer, inner = [LINE] * len(centre), [LINE] * len(centre)
    for s, t, down, up, worked in zip(*parts.edges, strict=True):
        if role[t] == FREE:
            cell, other, below, above = t, s, down, up
        elif role[s] == FREE:
            cell, other, below, above = s, t, up, down
        else:
            continue
        wide = float(low[other] - below), float(high[other] + above)
        tight = float(high[other] - below), float(low[other] + above)
        if worked:
            outer[cell], inner[cell] = keep(outer[cell], *wide), keep(inner[cell], *tight)
        else:
            outer[cell], inner[cell] = drop(outer[cell], *tight), drop(inner[cell], *wide)
    sure = _mass_of(_padded(inner), centre, deviation)
    total = float(missed[~found].sum())
    return Lesson(parts, log_mass, total, role, low, high, _padded(outer), sure)


def _padded(sets: list[Intervals]) -> FloatArray:
    """Return sets of intervals as one array [m, intervals, 2], filled up with empty ones."""
    found = np.full((len(sets), max(map(len, sets), default=0), 2), np.inf)
    for row, intervals in zip(found, sets, strict=True):
        row[: len(intervals)] = np.array(intervals).reshape(-1, 2)
    return found


def _places(cells: IntArray, parts: Components) -> tuple[IntArray, BoolArray]:
    """Return where in the components cells [e] stand, and which of them do."""
    at = np.minimum(np.searchsorted(parts.cells, cells), len(parts.cells) - 1)
    return at, parts.cells[at] == cells


def _log_mass_of(
    start: IntArray, end: IntArray, parts: Components, log_mass: FloatArray
) -> FloatArray:
    """Return ln Pr(A_K) [e], K the components of two cells, each once."""
    total = np.zeros(len(start))
    (here, is_here), (there, is_there) = _places(start, parts), _places(end, parts)
    same = is_here & is_there & (parts.label[here] == parts.label[there])
    total[is_here] += log_mass[parts.label[here[is_here]]]
    other = is_there & ~same
    total[other] += log_mass[parts.label[there[other]]]
    return total


def bounds_on(
    moves: Ends, success: FloatArray, lesson: Lesson, mean: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return bounds (low, high) [e] on the chance that each move works.

    ``success`` [e] is that chance given the measurements alone.
    """
    parts = lesson.parts
    with np.errstate(over="ignore"):
        scale = np.exp(-_log_mass_of(moves.start, moves.end, parts, lesson.log_mass))
    (here, is_here), (there, is_there) = _places(moves.start, parts), _places(moves.end, parts)
    roles = (
        np.where(is_here, lesson.role[here], PLAIN),
        np.where(is_there, lesson.role[there], PLAIN),
    )
    swap = roles[1] > roles[0]
    ends = moves.swapped(swap)
    first, second = np.where(swap, roles[1], roles[0]), np.where(swap, roles[0], roles[1])
    x, w = np.where(swap, there, here), np.where(swap, here, there)
    fails = np.minimum(1.0, (1.0 - success + 2.0**-52) * scale)
    works = np.minimum(1.0, (success + 2.0**-52) * scale)
    usable = np.isfinite(scale)
    for kinds, bound in (
        ((BOXED, PLAIN), _box_and_plain),
        ((BOXED, BOXED), _box_and_box),
        ((FREE, BOXED), _free_and_box),
        ((FREE, PLAIN), _free_and_other),
        ((FREE, FREE), _free_and_other),
    ):
        chosen = np.flatnonzero(usable & (first == kinds[0]) & (second == kinds[1]))
        if not len(chosen):
            continue
        other = w[chosen] if kinds[1] != PLAIN else None
        event = ends.of(chosen)
        found = bound(event, x[chosen], other, lesson, mean, variance)
        for total, part in ((fails, found[0]), (works, found[1])):
            total[chosen] = np.fmin(total[chosen], part + TAIL)
    low, high = 1.0 - fails, works
    return np.minimum(low, high), high


def _box_and_plain(
    event: Ends, x: IntArray, w: IntArray | None, lesson: Lesson, mean: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Take the worst height in the box of the first end; the second is normal."""
    centre, deviation = mean[event.end], np.sqrt(v[event.end])

    def chance(height: FloatArray) -> FloatArray:
        low, high = height - event.down - centre, height + event.up - centre
        return mass(low / deviation, high / deviation)

    low, high = lesson.low[x], lesson.high[x]
    best = np.clip(centre - 0.5 * (event.up - event.down), low, high)
    least = np.minimum(chance(low), chance(high))
    return 1.0 - least + ROUNDING, chance(best) + ROUNDING


def _box_and_box(
    event: Ends, x: IntArray, w: IntArray | None, lesson: Lesson, mean: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Tell what both boxes rule out."""
    least, most = lesson.low[w] - lesson.high[x], lesson.high[w] - lesson.low[x]
    always = (least >= -event.down) & (most <= event.up)
    never = (most < -event.down) | (least > event.up)
    return np.where(always, 0.0, 1.0), np.where(never, 0.0, 1.0)


def _free_and_box(
    event: Ends, x: IntArray, w: IntArray | None, lesson: Lesson, mean: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Restrict a free height to where the move may fail, or work, for some height in the box."""
    low, high = lesson.low[w], lesson.high[w]
    law = mean[event.start], np.sqrt(v[event.start])
    outer, given = lesson.outer[x], lesson.inner[x]
    sure_low, sure_high = high - event.up, low + event.down
    sure_high = np.maximum(sure_low, sure_high)  # where it is never sure to work
    fails = _mass_of(outer, *law, above=sure_high) + _mass_of(outer, *law, below=sure_low)
    works = _mass_of(outer, *law, low - event.up, high + event.down)
    return _over(fails, given), _over(works, given)


def _free_and_other(
    event: Ends, x: IntArray, w: IntArray | None, lesson: Lesson, mean: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Restrict one free height or two to their outer sets, and the rise to its limits."""
    here, there = ((mean[end], np.sqrt(v[end])) for end in (event.start, event.end))
    outer, outer_there = lesson.outer[x], np.array([[[-np.inf, np.inf]]])
    total, given = _mass_of(outer, *here), lesson.inner[x]
    if w is not None:
        outer_there = lesson.outer[w]
        total, given = total * _mass_of(outer_there, *there), given * lesson.inner[w]
    works = _mass_with_move(outer, *here, outer_there, *there, event)
    return _over(total - works, given), _over(works, given)


def _over(part: FloatArray, given: FloatArray) -> FloatArray:
    """Return an upper bound on a conditional chance, 1 where nothing is left to condition on."""
    with np.errstate(divide="ignore"):
        return np.minimum(1.0, (np.maximum(0.0, part) + ROUNDING) / given)


def _mass_of(
    intervals: FloatArray,
    mean: FloatArray,
    deviation: FloatArray,
    above: FloatArray | float = -np.inf,
    below: FloatArray | float = np.inf,
) -> FloatArray:
    """Return the chance [e] that normal heights lie in intervals [e, n, 2] and between limits."""
    low = np.maximum(intervals[..., 0].T, above)
    high = np.minimum(intervals[..., 1].T, below)
    found: FloatArray = mass((low - mean) / deviation, (high - mean) / deviation).sum(axis=0)
    return found


def _mass_with_move(
    intervals: FloatArray,
    mean: FloatArray,
    deviation: FloatArray,
    intervals_there: FloatArray,
    mean_there: FloatArray,
    deviation_there: FloatArray,
    event: Ends,
) -> FloatArray:
    """Return the chance [e] that both heights lie in their intervals [e, n, 2] and the moves work.

    {x ≤ a, y ≤ b, y − x ≤ c} is {x ≤ min(a, b − c), y − x ≤ c} and, if b − c < a, {b − c < x ≤ a,
    y ≤ b}. What lies between limits is the difference of what lies below them, for each of the
    three: the first axes [2, 2, 2].
    """
    a = intervals.T[:, None, None, :, None]  # [2, 1, 1, n, 1, e]
    b = intervals_there.T[None, :, None, None]  # [1, 2, 1, 1, m, e]
    c = np.stack([-event.down, event.up])[None, None, :, None, None]  # [1, 1, 2, 1, 1, e]
    spread = np.hypot(deviation, deviation_there)
    h = np.clip((np.minimum(a, b - c) - mean) / deviation, -38.0, 38.0)
    k = np.clip((c - (mean_there - mean)) / spread, -38.0, 38.0)
    below = _both_below(h, k, deviation / spread, deviation_there / spread)
    beyond = mass((b - c - mean) / deviation, (a - mean) / deviation)
    below = below + beyond * ndtr((b - mean_there) / deviation_there)
    for _ in range(3):
        below = below[1] - below[0]
    found: FloatArray = below.sum(axis=(0, 1))
    return found


def _both_below(h: FloatArray, k: FloatArray, share: FloatArray, rest: FloatArray) -> FloatArray:
    """Return Pr(X ≤ h, Y ≤ k) of standard normals with correlation −share; rest² = 1 − share²."""
    h, k = np.where(h == 0.0, 1e-300, h), np.where(k == 0.0, 1e-300, k)
    with np.errstate(over="ignore"):
        a, b = (k + share * h) / (h * rest), (h + share * k) / (k * rest)
    found: FloatArray = (
        0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, a) - owens_t(k, b) - 0.5 * (h * k < 0.0)
    )
    return found
