"""One constraint on a move-or-stay graph: column generation as a secant search, compiled whole.

The method of `constrained` for K = 1. A column is a policy with its point (f, g) in the start
state; a bracket is one column that keeps the level and one below it, of all pairs the one whose
mixture is worth most; the slope between them is the multiplier that prices the next column. The
search ends where no policy prices above the bracket by more than rounding.

The columns live in slots j: ``policies[j]`` [S], ``values[j]`` [2, S], ``sizes[j]`` [2] and
``points[j]`` [2]. ``held`` lists the slots that are in use, in the order in which they came.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from homeward.arrays import FloatArray, IntArray
from homeward.solvers.engines import ROUND_LIMIT, SLACK, SWEEPS, MovesEngine
from homeward.solvers.kernels import (
    Graph,
    Scratch,
    optimise_moves,
    sizes_of,
    take_better,
    value_moves,
    weigh,
)
from homeward.solvers.tolerances import AROUND, EXACT, PATIENCE, PRICINGS, ROUNDING, aimed_within

MIXED, SINGLE, TOO_LOW, CUT_SHORT = range(4)
"""How a search ends: two policies, one, none that keeps the level, or at the limit of rounds."""

NONE = -1
SPARE, LEAST = 3, 4
"""Slots beside those of the policies that a search starts from, and how many at least.

Near a hint two columns may be found, then the safest; from then on three are held at most while a
fourth is looked for.
"""


class Columns(NamedTuple):
    """Room for columns."""

    policies: IntArray  # [J, S]
    values: FloatArray  # [J, 2, S]
    sizes: FloatArray  # [J, 2]
    points: FloatArray  # [J, 2]
    held: IntArray  # [J]


class Found(NamedTuple):
    """What a search has found."""

    ending: int
    above: int  # the slot of the column that keeps the level, or comes closest to it
    below: int  # the slot of the one below the level, or NONE
    slope: float  # the multiplier that proves it
    upper: float  # no mixture that keeps the level is worth more
    most: float  # where none keeps the level: none comes closer to it than this
    scale: float  # the largest value of the objective seen, anywhere
    rounds: int  # ordinary MDPs solved


def narrow(
    engine: MovesEngine, start: int, level: float, seeds: Sequence[IntArray], hint: float
) -> tuple[Found, Columns]:
    """Search from known policies [S] and a multiplier, where that is above 0 and finite."""
    states, slots = engine.model.states, max(LEAST, len(seeds) + SPARE)
    columns = Columns(
        np.empty((slots, states), np.uint32),
        np.empty((slots, 2, states)),
        np.empty((slots, 2)),
        np.empty((slots, 2)),
        np.empty(slots, np.int64),
    )
    for slot, seed in enumerate(seeds):
        columns.policies[slot] = seed
    ending = search(
        engine.graph,
        engine.discount,
        engine.totals,
        start,
        level,
        len(seeds),
        hint,
        (SLACK, SWEEPS, ROUND_LIMIT),
        columns,
        engine.scratch,
    )
    return Found(*ending), columns


@njit(cache=True, error_model="numpy", nogil=True)
def search(
    graph: Graph,
    discount: float,
    totals: FloatArray,
    start: int,
    level: float,
    seeds: int,
    hint: float,
    how: tuple[float, int, int],
    columns: Columns,
    scratch: Scratch,
) -> tuple[int, int, int, float, float, float, float, int]:
    """Narrow the bracket until nothing is better; see `Found` for what is given."""
    held, points = columns.held, columns.points
    count, rounds, scale = 0, 0, 0.0
    for slot in range(seeds):
        policy, values = columns.policies[slot], columns.values[slot]
        value_moves(graph, discount, totals, policy, values, scratch)
        if columns.values[slot, 0].min() > -np.inf:  # all of it can be chosen now
            count = _enter(columns, slot, count, start, level, discount)
            scale = max(scale, columns.sizes[slot, 0])
    weights = np.ones(2)
    brief = (how[0], how[1], PATIENCE)

    if 0.0 < hint < np.inf:  # what is missing of a bracket is first looked for near the hint
        for factor in AROUND:
            above, below = bracket(columns, count, level)
            if below != NONE:
                break
            weights[1] = hint * factor if above == NONE else hint / factor
            column, count, _ = _price(
                graph, discount, totals, weights, brief, start, level, columns, count, scratch
            )
            rounds += 1
            scale = max(scale, columns.sizes[column, 0])
    if bracket(columns, count, level)[0] == NONE:
        weights[0], weights[1] = 0.0, 1.0
        column, count, most = _price(
            graph, discount, totals, weights, how, start, level, columns, count, scratch
        )
        rounds += 1
        scale = max(scale, columns.sizes[column, 0])
        if points[column, 1] < level:
            return TOO_LOW, column, NONE, np.inf, -np.inf, most, scale, rounds

    weights[0] = 1.0
    upper = np.inf
    while True:
        above, below = bracket(columns, count, level)
        last = held[count - 1]
        if below == NONE:  # unless something is, what is worth most keeps the level
            weights[1] = 0.0
            held[0], held[1], count = above, last, 1 if last == above else 2
            column, count, upper = _price(
                graph, discount, totals, weights, how, start, level, columns, count, scratch
            )
            rounds += 1
            scale = max(scale, columns.sizes[column, 0])
            if points[column, 1] >= level:
                above = column
            elif _improves(points[column], points[above], 0.0, scale):
                continue
            return SINGLE, above, NONE, 0.0, upper, 0.0, scale, rounds
        slope = (points[below, 0] - points[above, 0]) / (points[above, 1] - points[below, 1])
        # The best to start from, and what was being worked on; the others' room is free.
        held[0], held[1], count = above, below, 2
        if last != above and last != below:
            held[2], count = last, 3
        weights[1] = slope
        column, count, bound = _price(
            graph, discount, totals, weights, brief, start, level, columns, count, scratch
        )
        rounds += 1
        scale = max(scale, columns.sizes[column, 0])
        upper = min(upper, bound - slope * level)
        if bound < np.inf and not _improves(points[column], points[above], slope, scale):
            return MIXED, above, below, slope, upper, 0.0, scale, rounds
        if rounds >= PRICINGS:
            return CUT_SHORT, above, below, slope, upper, 0.0, scale, rounds


@njit(cache=True, error_model="numpy")
def bracket(columns: Columns, count: int, level: float) -> tuple[int, int]:
    """Pick the columns, one that keeps the level and one below it, whose mixture is worth most.

    Of mixtures worth the same, it is the one whose slope leaves no column above it. The second is
    NONE where none is worth more than the best that keeps the level, the first where none does.
    """
    points, held = columns.points, columns.held
    best, most = NONE, -np.inf
    for i in range(count):
        f, g = points[held[i]]
        if g >= level and (best == NONE or f > most):
            best, most = held[i], f
    above, below, worth, steepest = best, NONE, -np.inf, -np.inf
    for i in range(count):
        f, g = points[held[i]]
        if g < level:
            continue
        for j in range(count):
            f_low, g_low = points[held[j]]
            if g_low >= level or f_low <= most:
                continue
            mixed = f + (f_low - f) * (g - level) / (g - g_low)
            slope = (f_low - f) / (g - g_low)
            if below == NONE or mixed > worth or (mixed == worth and slope > steepest):
                above, below, worth, steepest = held[i], held[j], mixed, slope
    return above, below


@njit(cache=True, error_model="numpy")
def _price(
    graph: Graph,
    discount: float,
    totals: FloatArray,
    weights: FloatArray,
    how: tuple[float, int, int],
    start: int,
    level: float,
    columns: Columns,
    count: int,
    scratch: Scratch,
) -> tuple[int, int, float]:
    """Maximise ``weights``·(f, g): the slot of a column, how many are held, and a bound above."""
    held, sizes = columns.held, columns.sizes
    slot = 0
    while _is_held(held, count, slot):
        slot += 1
    policy, worth = columns.policies[slot], scratch.worth
    size = -1.0
    if count == 0:
        _choose_any(totals[0], policy)
    else:
        policy[:] = columns.policies[held[0]]
        weigh(columns.values[held[0]], weights, worth)
        for i in range(1, count):
            known = columns.policies[held[i]]
            take_better(columns.values[held[i]], known, weights, scratch.blend, worth, policy)
        for i in range(count):
            size = max(size, (weights * sizes[held[i]]).sum())
    slack, sweeps, limit = how
    rounds, most = optimise_moves(
        graph,
        discount,
        totals,
        weights,
        slack,
        sweeps,
        limit,
        start,
        size,
        policy,
        worth,
        columns.values[slot],
        scratch,
    )
    if rounds > 0:
        count = _enter(columns, slot, count, start, level, discount)
    else:  # nothing is better than what is held
        slot = held[0]
        for i in range(1, count):
            if _worth(columns, held[i], weights, start) > _worth(columns, slot, weights, start):
                slot = held[i]
    rounding = ROUNDING / (1.0 - discount) * (weights * sizes[slot]).sum()
    bound = _worth(columns, slot, weights, start) + most / (1.0 - discount) + rounding
    return slot, count, bound


@njit(cache=True, error_model="numpy")
def _enter(
    columns: Columns, slot: int, count: int, start: int, level: float, discount: float
) -> int:
    """Hold an evaluated column; within `aimed_within` of the level it counts as meeting it."""
    columns.sizes[slot] = sizes_of(columns.values[slot])
    columns.points[slot] = columns.values[slot, :, start]
    if level - aimed_within(1.0 / (1.0 - discount)) <= columns.points[slot, 1] < level:
        columns.points[slot, 1] = level
    assert count < len(columns.held)
    columns.held[count] = slot
    return count + 1


@njit(cache=True, error_model="numpy")
def _is_held(held: IntArray, count: int, slot: int) -> bool:
    """Tell whether a slot is among the first `count` that are held."""
    return bool((held[:count] == slot).any())


@njit(cache=True, error_model="numpy")
def _choose_any(objective: FloatArray, policy: IntArray) -> None:
    """Write the first action of each state that can be chosen."""
    for s in range(len(policy)):
        a = 0
        while objective[s, a] == -np.inf:
            a += 1
        policy[s] = a


@njit(cache=True, error_model="numpy")
def _worth(columns: Columns, slot: int, weights: FloatArray, start: int) -> float:
    """Give what a column is worth in the start state, weighted."""
    values = columns.values[slot]
    return float(weights[0] * values[0, start] + weights[1] * values[1, start])


@njit(cache=True, error_model="numpy")
def _improves(point: FloatArray, held: FloatArray, slope: float, scale: float) -> bool:
    """Tell whether a column prices above one that is held by more than rounding."""
    gain = point[0] - held[0] + slope * (point[1] - held[1])
    return bool(gain > EXACT * (scale + slope * abs(held[1])))
