"""Bounds on the probability that a move works, given which attempted moves worked or failed.

Given the measurements, heights are independent and normal. A is the set of informative outcomes
(see `attempts`); B is the set of almost certain outcomes. A move that touches no cell of A is
independent of A. For the other moves, ``docs/theory.md``, section 12, proves two upper bounds on
the probability of an event E (the move works, or the move fails), given A. The smaller bound is
used.

*Ratio.* Pr(E | A) ≤ Pr(E) / Pr(A_K), with A_K the outcomes of the components K that E touches.
Pr(A_K) is at least the mass of any product of intervals that agrees with A_K (`witness`).

*Box.* Each outcome *boxes* the one of its two cells that has the smaller variance; a cell without a
box is *free*. Given the boxed heights, free cells are independent. Each is normal, restricted by
its own outcomes to a union of intervals. A box is an interval of ±k standard deviations. Given A,
all boxed heights lie in their boxes with probability at least 1 − `BOX_DOUBT`. If they do, a free
height agrees with A only in an outer set, and surely in an inner set. So Pr(E | A) is at most
mass(outer set in which E is possible) / mass(inner set).

Outcomes in B add a factor 1/(1 − τ), where τ bounds the probability that an outcome in B is
violated. Given A, each is violated with probability at most `SURE`. So for fewer than
`MAX_ATTEMPTS` attempts the factor is within rounding.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs import height_kernels as kernels
from homeward.beliefs.attempts import SURE, Attempts, Components, components_of, edges_of, witness
from homeward.beliefs.grid_graph import STEPS
from homeward.beliefs.height_kernels import Ground
from homeward.beliefs.intervals import LINE, drop, keep, mass, mass_in, mass_with_rise, padded
from homeward.errors import InvalidBeliefError

Normal: TypeAlias = tuple[FloatArray, FloatArray]  # means and standard deviations, each [e] in m
Bounds: TypeAlias = tuple[FloatArray, FloatArray]  # two arrays [e] of bounds on probabilities

BOX_DOUBT = 1e-12  # largest probability that any boxed height near a move lies outside its box
MAX_BOXED = 17  # largest number of boxed cells near a move: its two ends and their neighbours
ROUNDING = 2.0**-36  # bound on the rounding error of a bivariate normal probability
MAX_ATTEMPTS = 2**26  # attempts whose doubts, `SURE` each, could exceed half a rounding error
PLAIN, BOXED, FREE = range(3)  # a cell that no informative outcome touches, or as in the module


class MoveEvents(NamedTuple):
    """Moves [e] that work if −down ≤ h[end] − h[start] ≤ up, where both heights are normal."""

    here: Normal  # of h[start]
    there: Normal  # of h[end]
    down: FloatArray  # [e] largest descent, m
    up: FloatArray  # [e] largest climb, m
    x: IntArray  # [e] index of the start in `Components.cells`
    w: IntArray | None  # [e] index of the end in `Components.cells`; None if it is in no component


class HeightBounds(NamedTuple):
    """Bounds on the distribution of the heights given measurements and attempts; see the module."""

    parts: Components
    log_mass: FloatArray  # [components] lower bound on ln Pr(A_K)
    role: IntArray  # [m] BOXED or FREE
    low: FloatArray  # [m] lower end of each box, m
    high: FloatArray  # [m] upper end of each box, m
    outer: FloatArray  # [m, intervals, 2] superset of a free cell's heights that agree with A, m
    inner: FloatArray  # [m] mass of a subset of a free cell's heights that agree with A


def move_bounds(
    informative: IntArray, attempts: Attempts, dest: IntArray, ground: Ground
) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Return the moves [m] near informative attempts, and bounds (low, high) [m] on their success.

    Also return the cells [c], ascending, that the bounds depend on: the result stays the same until
    one of these cells is measured or a move at one of them is tried. The outcomes of the attempts
    `informative` [k] are informative given the measurements alone; `dest` is [S, A]. Moves and
    attempts are numbers state·A + action, ascending.
    """
    if len(attempts) >= MAX_ATTEMPTS:
        raise InvalidBeliefError(
            f"{len(attempts)} attempted moves, expected fewer than {MAX_ATTEMPTS:,}"
        )
    bounds = _height_bounds(informative, attempts, dest, ground)
    moves = kernels.moves_at(bounds.parts.cells, ground.rows, ground.columns)
    state, action = np.divmod(moves, len(STEPS))
    end, near = dest[state, action], np.unique(state)
    affected = ~(ground.blocked[state] | ground.blocked[end])
    affected &= np.isfinite(ground.limits(state, action)[1])  # others never work
    moves, state, action, end = (part[affected] for part in (moves, state, action, end))
    success = kernels.refresh(ground, moves)
    return moves, *_bounds_on(state, end, action, success, bounds, ground), near


def _height_bounds(
    informative: IntArray, attempts: Attempts, dest: IntArray, ground: Ground
) -> HeightBounds:
    """Return bounds on the distribution of heights, given measurements and attempts.

    An outcome is informative if its doubt exceeds `SURE`, given the measurements alone or given the
    measurements and the informative outcomes at its cells.
    """
    before, limits = informative[:0], (ground.descend, ground.climb)
    while len(before) < len(informative):
        before = informative
        parts = components_of(edges_of(attempts.among(informative), dest, limits))
        cells = parts.cells
        centre, deviation = ground.height[cells], np.sqrt(ground.variance[cells])
        low, high = witness(parts, centre, deviation)
        share = mass((low - centre) / deviation, (high - centre) / deviation)
        log_mass = np.full(parts.number, -1e-9)
        near = attempts.among(kernels.moves_at(cells, ground.rows, ground.columns))
        edges = edges_of(near, dest, limits)
        doubt = kernels.doubts(edges, ground.height, ground.variance)
        with np.errstate(divide="ignore", over="ignore"):
            np.add.at(log_mass, parts.label, np.log(share))
            scale = np.exp(-_logmass_in(edges.start, edges.end, parts, log_mass))
        doubt = doubt * np.where(np.isinf(scale), 0.0, scale)  # an upper bound, given A
        informative = np.union1d(informative, near.pairs[np.isinf(scale) | (doubt > SURE)])
    start, end = parts.edges.start, parts.edges.end
    role = np.full(len(centre), FREE)
    role[np.where(deviation[start] <= deviation[end], start, end)] = BOXED
    width = np.sqrt(2.0 * (math.log(MAX_BOXED / BOX_DOUBT) - log_mass))[parts.label] * deviation
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
    sure = mass_in(padded(inner), centre, deviation)
    return HeightBounds(parts, log_mass, role, low, high, padded(outer), sure)


def _places(cells: IntArray, parts: Components) -> tuple[IntArray, BoolArray]:
    """Return indices [e] of cells in `parts.cells`, and the mask [e] of cells that are there."""
    at = np.minimum(np.searchsorted(parts.cells, cells), len(parts.cells) - 1)
    return at, parts.cells[at] == cells


def _logmass_in(
    start: IntArray, end: IntArray, parts: Components, log_mass: FloatArray
) -> FloatArray:
    """Return ln Pr(A_K) [e], where K are the distinct components of the cells start and end [e]."""
    total = np.zeros(len(start))
    (here, is_here), (there, is_there) = _places(start, parts), _places(end, parts)
    same = is_here & is_there & (parts.label[here] == parts.label[there])
    total[is_here] += log_mass[parts.label[here[is_here]]]
    other = is_there & ~same
    total[other] += log_mass[parts.label[there[other]]]
    return total


def _bounds_on(
    start: IntArray,
    end: IntArray,
    action: IntArray,
    success: FloatArray,
    bounds: HeightBounds,
    ground: Ground,
) -> Bounds:
    """Return bounds (low, high) [e] on the success of moves, given measurements and attempts.

    `success` [e] is their probability of success given the measurements alone.
    """
    parts, (down, up) = bounds.parts, ground.limits(start, action)
    with np.errstate(over="ignore"):
        scale = np.exp(-_logmass_in(start, end, parts, bounds.log_mass))
    (here, is_here), (there, is_there) = _places(start, parts), _places(end, parts)
    first = np.where(is_here, bounds.role[here], PLAIN)
    second = np.where(is_there, bounds.role[there], PLAIN)
    swap = second > first
    pairs = (first, second), (here, there), (start, end), (down, up)
    (first, second), (here, there), (start, end), (down, up) = (
        (np.where(swap, two, one), np.where(swap, one, two)) for one, two in pairs
    )
    fails = np.minimum(1.0, (1.0 - success + 2.0**-52) * scale)
    works = np.minimum(1.0, (success + 2.0**-52) * scale)
    for kinds, bound in (
        ((BOXED, PLAIN), _box_and_plain),
        ((BOXED, BOXED), _box_and_box),
        ((FREE, BOXED), _free_and_box),
        ((FREE, PLAIN), _free_and_other),
        ((FREE, FREE), _free_and_other),
    ):
        chosen = np.flatnonzero(np.isfinite(scale) & (first == kinds[0]) & (second == kinds[1]))
        if not len(chosen):
            continue
        one, two = (
            (ground.height[cells], np.sqrt(ground.variance[cells]))
            for cells in (start[chosen], end[chosen])
        )
        w = there[chosen] if kinds[1] != PLAIN else None
        event = MoveEvents(one, two, down[chosen], up[chosen], here[chosen], w)
        for total, part in zip((fails, works), bound(event, bounds), strict=True):
            total[chosen] = np.fmin(total[chosen], part + BOX_DOUBT)
    return np.minimum(1.0 - fails, works), works


def _box_and_plain(event: MoveEvents, bounds: HeightBounds) -> Bounds:
    """Return upper bounds [e] on Pr(fails) and Pr(works) of moves from a boxed to a plain cell.

    They are the probabilities at the worst height in the box of the start.
    """
    centre, deviation = event.there

    def chance(height: FloatArray) -> FloatArray:
        low, high = height - event.down - centre, height + event.up - centre
        return mass(low / deviation, high / deviation)

    low, high = bounds.low[event.x], bounds.high[event.x]
    best = np.clip(centre - 0.5 * (event.up - event.down), low, high)
    least = np.minimum(chance(low), chance(high))
    return 1.0 - least + ROUNDING, chance(best) + ROUNDING


def _box_and_box(event: MoveEvents, bounds: HeightBounds) -> Bounds:
    """Return upper bounds [e] on Pr(fails) and Pr(works) of moves between two boxed cells.

    A bound is 0 if the two boxes rule the event out, and 1 otherwise.
    """
    low, high = bounds.low, bounds.high
    least, most = low[event.w] - high[event.x], high[event.w] - low[event.x]
    always = (least >= -event.down) & (most <= event.up)
    never = (most < -event.down) | (least > event.up)
    return np.where(always, 0.0, 1.0), np.where(never, 0.0, 1.0)


def _free_and_box(event: MoveEvents, bounds: HeightBounds) -> Bounds:
    """Return upper bounds [e] on Pr(fails) and Pr(works) of moves from a free to a boxed cell.

    They are the probabilities at the worst height in the box of the end.
    """
    low, high = bounds.low[event.w], bounds.high[event.w]
    outer, given = bounds.outer[event.x], bounds.inner[event.x]
    sure_low, sure_high = high - event.up, low + event.down
    sure_high = np.maximum(sure_low, sure_high)  # if empty, any height may fail
    fails = mass_in(outer, *event.here, above=sure_high)
    fails = fails + mass_in(outer, *event.here, below=sure_low)
    works = mass_in(outer, *event.here, low - event.up, high + event.down)
    return _over(fails, given), _over(works, given)


def _free_and_other(event: MoveEvents, bounds: HeightBounds) -> Bounds:
    """Return upper bounds [e] on Pr(fails) and Pr(works) of moves from a free to a plain cell.

    If ``event.w`` is given, the end is a free cell too.
    """
    outer, outer_there = bounds.outer[event.x], np.array([[[-np.inf, np.inf]]])
    total, given = mass_in(outer, *event.here), bounds.inner[event.x]
    if event.w is not None:
        outer_there = bounds.outer[event.w]
        total, given = total * mass_in(outer_there, *event.there), given * bounds.inner[event.w]
    works = mass_with_rise(outer, *event.here, outer_there, *event.there, event.down, event.up)
    return _over(total - works, given), _over(works, given)


def _over(part: FloatArray, given: FloatArray) -> FloatArray:
    """Return min(1, part / given) [e], rounded up: an upper bound on a conditional probability."""
    with np.errstate(divide="ignore"):
        return np.minimum(1.0, (np.maximum(0.0, part) + ROUNDING) / given)
