"""The Mars task of SafeMDP (Turchetta, Berkenkamp & Krause 2016): its ground, moves and score.

A rover on a grid of 1 m steps moves to four neighbours. A move is safe if it climbs at most a
limit; any drop is allowed. Explorers measure two heights at a time, at both ends of a move that
they take. At the end they claim a set of safe states and moves. It is compared with the set T that
a clairvoyant could claim if only moves that climb at least `MARGIN` less than the limit were safe:

    coverage = |claimed ∩ T| / |T|.

A state belongs to such a set only if the rover can reach it from the start or its neighbours, and
return from it, by moves of the set.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, numbers
from homeward.compiling import njit
from homeward.errors import InvalidProblemError

STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
"""Offset of each action: rows down, columns to the right."""

CLAIM_LIMIT = math.tan(math.radians(25.0))  # largest rise in m of a move that SafeMDP calls safe
UNSAFE_LIMIT = math.tan(math.radians(30.0))  # rise in m beyond which a move counts as unsafe
MARGIN = 0.15  # moves in T climb at least this much, in m, less than `CLAIM_LIMIT`
START = (60, 61)  # row and column of SafeMDP's start
MEASUREMENTS = 525  # number of measurements of a run


@njit(cache=True)
def reached(dest: IntArray, allowed: BoolArray, first: IntArray, forward: bool) -> BoolArray:
    """Return the mask [S] of states reachable from the states ``first`` by allowed moves [S, 4].

    If not ``forward``, return the mask of states that can reach them.
    """
    seen = np.zeros(len(dest), np.bool_)
    queue = np.empty(len(dest), np.int64)
    count = 0
    for s in first:
        seen[s] = True
        queue[count] = s
        count += 1
    at = 0
    while at < count:
        s = queue[at]
        at += 1
        for a in range(4):
            t = dest[s, a]
            if t < 0 or seen[t]:
                continue
            if allowed[s, a] if forward else allowed[t, (a + 2) % 4]:
                seen[t] = True
                queue[count] = t
                count += 1
    return seen


@njit(cache=True)
def shortest_way(dest: IntArray, allowed: BoolArray, start: int, goal: int) -> IntArray:
    """Return the actions of a shortest path by allowed moves [S, 4]; [−1] without a path."""
    came = np.full(len(dest), -1)
    queue = np.empty(len(dest), np.int64)
    queue[0] = start
    came[start] = 4
    at, count = 0, 1
    while at < count and came[goal] < 0:
        s = queue[at]
        at += 1
        for a in range(4):
            t = dest[s, a]
            if t >= 0 and allowed[s, a] and came[t] < 0:
                came[t] = a
                queue[count] = t
                count += 1
    return way_along(dest, came, start, goal)


@njit(cache=True)
def way_along(dest: IntArray, came: IntArray, start: int, goal: int) -> IntArray:
    """Return the actions of the path from ``start`` to ``goal``; [−1] without a path.

    ``came`` [S] is the action by which the path enters each state, −1 without one.
    """
    if came[goal] < 0:
        return np.full(1, -1)
    actions = []
    s = goal
    while s != start:
        actions.append(came[s])
        s = dest[s, (came[s] + 2) % 4]
    return np.array(actions[::-1], dtype=np.int64)


@njit(cache=True)
def least_risks(
    dest: IntArray, risk: FloatArray, first: int, forward: bool
) -> tuple[FloatArray, IntArray]:
    """Return the least sum of risks [S] of a path from ``first`` to each state, and its last move.

    If not ``forward``, the paths lead to ``first``, and their first moves [S] are returned. Of
    paths with equal sums, the one with fewer moves counts.
    """
    least, moves = np.full(len(dest), np.inf), np.zeros(len(dest))
    action, done = np.full(len(dest), -1), np.zeros(len(dest), np.bool_)
    least[first], action[first] = 0.0, 4
    heap = [(0.0, 0.0, first)]
    while len(heap):
        sum_here, count, s = heapq.heappop(heap)
        if done[s]:
            continue
        done[s] = True
        for a in range(4):
            t = dest[s, a]
            if t < 0 or done[t]:
                continue
            taken = a if forward else (a + 2) % 4
            total = sum_here + (risk[s, a] if forward else risk[t, taken])
            if total < least[t] or (total == least[t] < np.inf and count + 1.0 < moves[t]):
                least[t], moves[t], action[t] = total, count + 1.0, taken
                heapq.heappush(heap, (total, count + 1.0, t))
    return least, action


@dataclass(frozen=True, eq=False)
class Ground:
    """The map of true heights [rows, columns] in m, of cells 1 m apart.

    A constant is subtracted from the heights, so that the lowest and the highest have the sum 0.
    """

    heights: FloatArray

    def __post_init__(self) -> None:
        given = np.asarray(self.heights)
        if given.ndim != 2:
            raise InvalidProblemError(f"the map has shape {given.shape}, expected [rows, columns]")
        values = numbers(given.astype(np.float64), "the map", given.shape, InvalidProblemError)
        if not np.isfinite(values).all():
            raise InvalidProblemError("the map has heights that are not finite")
        centre = 0.5 * (values.max() + values.min())
        object.__setattr__(self, "heights", frozen(values - centre))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.heights.shape[0], self.heights.shape[1]

    @cached_property
    def height(self) -> FloatArray:
        """Heights [S] in m, row-major."""
        return self.heights.ravel()

    @cached_property
    def dest(self) -> IntArray:
        """Destinations [S, 4]; −1 off the map."""
        rows, columns = self.shape
        row, column = np.divmod(np.arange(rows * columns), columns)
        dest = np.full((rows * columns, 4), -1)
        for a, (down, right) in enumerate(STEPS):
            r, c = row + down, column + right
            inside = (r >= 0) & (r < rows) & (c >= 0) & (c < columns)
            dest[inside, a] = (r * columns + c)[inside]
        return frozen(dest)

    @cached_property
    def rise(self) -> FloatArray:
        """True climb [S, 4] in m of each move; infinite off the map."""
        rise = self.height[self.dest] - self.height[:, None]
        return frozen(np.where(self.dest >= 0, rise, np.inf))

    def known(self, start: int) -> tuple[IntArray, BoolArray]:
        """Return what a run knows to be safe: states, the start first, and a mask of moves [S, 4].

        These are the moves between the start and its neighbours that are safe in both directions.
        """
        near = [
            a
            for a in range(4)
            if self.dest[start, a] >= 0 and abs(self.rise[start, a]) <= CLAIM_LIMIT
        ]
        moves = np.zeros(self.dest.shape, dtype=bool)
        for a in near:
            moves[start, a] = moves[self.dest[start, a], (a + 2) % 4] = True
        return np.array([start, *(self.dest[start, a] for a in near)]), moves

    def closed(self, allowed: BoolArray, first: IntArray) -> tuple[BoolArray, BoolArray]:
        """Return the masks of states [S] and moves [S, 4] on round trips from the states `first`.

        The round trips use only `allowed` moves [S, 4].
        """
        both = [reached(self.dest, allowed, first, forward) for forward in (True, False)]
        states: BoolArray = both[0] & both[1]
        inside = self.dest >= 0
        return states, allowed & inside & states[:, None] & states[self.dest]

    def score(self, start: int, states: BoolArray, moves: BoolArray) -> Score:
        """Return how many claimed states [S] and moves [S, 4] are true, as a `Score`."""
        first, _ = self.known(start)
        true_states, true_moves = self.closed(self.rise <= CLAIM_LIMIT - MARGIN, first)
        found = int((states & true_states).sum() + (moves & true_moves).sum())
        entries = int(true_states.sum() + true_moves.sum())
        return Score(found / entries, entries, int((moves & (self.rise > UNSAFE_LIMIT)).sum()))


@dataclass(frozen=True, slots=True)
class Score:
    """The comparison of claimed states and moves with T (see the top of this module)."""

    coverage: float  # claimed fraction of T
    entries: int  # size of T, states and moves
    false_claims: int  # claimed moves that are unsafe


@dataclass(frozen=True, slots=True)
class Outing:
    """The result of a run; `risk` and `round_trips` are None for SafeMDP."""

    coverage: float  # claimed fraction of T
    unsafe: int  # moves taken that climb more than `UNSAFE_LIMIT`
    false_claims: int  # claimed moves that are unsafe
    taken: int  # measurements taken
    moves: int  # moves taken
    risk: float | None  # sum of all charges
    round_trips: float | None  # fraction of T on round trips that are safe with a probability
    seconds: float  # processor time


def read_ground(file: str) -> Ground:
    """Return the ground of a NumPy file with heights [rows, columns] in m."""
    try:
        values = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as cause:
        raise InvalidProblemError(f"{file} is not a NumPy file of heights: {cause}") from cause
    return Ground(values)


def starts_of(ground: Ground, count: int, seed: int) -> list[int]:
    """Return SafeMDP's start, if it is on the map, and `count` random others.

    From each random start, the moves to all four neighbours and back are safe, and T has at least a
    tenth of the map's states.
    """
    rows, columns = ground.shape
    own = [START[0] * columns + START[1]] if START[0] < rows and START[1] < columns else []
    rng, found = np.random.default_rng(seed), list(own)
    allowed = ground.rise <= CLAIM_LIMIT - MARGIN
    for s in rng.permutation(rows * columns):
        if len(found) - len(own) == count:
            break
        first, _ = ground.known(int(s))
        if int(s) in found or len(first) < 5:
            continue
        states, _ = ground.closed(allowed, first)
        if states.mean() >= 0.1:
            found.append(int(s))
    return found
