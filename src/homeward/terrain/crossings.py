"""Ways across the ground between neighbouring cells, found on the pixels of a terrain model.

A vehicle has wheels at its middle, half a wheelbase before and half a wheelbase behind it, and half
a wheelbase to each side. Heights between pixel centres are bilinear. The slope ahead is that from
the middle to the front and from the rear to the middle; the slope aside is that from side to side.

The vehicle drives from pixel centre to neighbouring pixel centre. The *margin* of such a step is
the least distance of a slope from its limit, as a tangent, over the whole segment. Between the
points where a wheel crosses a line of pixel centres the slopes are quadratic in the position, so
the extremes are exact. A step on which a wheel touches missing data has no margin, and neither has
a diagonal step past missing data.

A move leads from the anchor of a cell to the anchor of a neighbour, over pixels of the two cells
alone and over steps with margins of 0 or more. Among such ways it takes the one of least cost: a
metre costs 1, and up to `NARROW_COST` more where the margin is below `COMFORTABLE`. The anchor is
the pixel nearest to the centre in the largest part of the cell within which the vehicle can drive
both ways. The time is linear in the number of pixels, for cells of a given size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, number
from homeward.beliefs.grid_graph import STEPS, back
from homeward.compiling import njit
from homeward.errors import InvalidInputError
from homeward.terrain.cells import Cells, place_cells, sides_of
from homeward.terrain.elevation import Elevation

COMFORTABLE = math.tan(math.radians(3.0))  # margin from which a step costs only its length
NARROW_COST = 3.0  # additional cost of a metre without any margin, in metres
BAND_PIXELS = 1 << 18  # about how many pixels a thread works on at once
DOWN, RIGHT = (np.array(axis) for axis in zip(*STEPS, strict=True))
ACTIONS = len(STEPS)
FIRST, LAST = 3, 6  # the actions E to SW, which visit every pair of neighbours once


@dataclass(frozen=True, slots=True)
class DrivingLimits:
    """The limits of what a vehicle can drive."""

    climb: float  # degrees, steepest slope up
    descend: float  # degrees, steepest slope down
    roll: float  # degrees, steepest slope aside
    wheelbase: float  # m, from the front wheels to the rear ones; the track is as wide

    def __post_init__(self) -> None:
        for name in ("climb", "descend", "roll"):
            if not 0.0 <= number(getattr(self, name), name, InvalidInputError) < 90.0:
                raise InvalidInputError(f"{name} is {getattr(self, name):g}°, expected 0 to 90")
        if not 0.0 < number(self.wheelbase, "the wheelbase", InvalidInputError) < math.inf:
            raise InvalidInputError(f"the wheelbase is {self.wheelbase:g} m, expected > 0")

    @property
    def limits(self) -> tuple[float, float, float]:
        """Tangents of the steepest slopes up, down and aside."""
        up, down, aside = (
            math.tan(math.radians(slope)) for slope in (self.climb, self.descend, self.roll)
        )
        return up, down, aside


class _Steps(NamedTuple):
    """Geometry of the steps in each direction [A], in pixels unless stated otherwise."""

    length: FloatArray  # [A] m
    ahead: FloatArray  # [A, 2] from the middle to the front wheels
    aside: FloatArray  # [A, 2] from the middle to the left wheels
    breaks: FloatArray  # [A, B] where a wheel crosses a line of pixel centres, from 0 to 1
    counts: IntArray  # [A] number of breaks


def _steps_of(pixel: tuple[float, float], wheelbase: float) -> _Steps:
    tall, wide = pixel
    north, east = DOWN * tall, RIGHT * wide
    length = np.hypot(north, east)
    half = 0.5 * wheelbase / np.maximum(length, 1e-300)
    ahead = np.stack([north * half / tall, east * half / wide], axis=1)
    aside = np.stack([east * half / tall, -north * half / wide], axis=1)
    tables = []
    for a in range(ACTIONS):
        found = {0.0, 1.0}
        for offset, direction in (
            *zip(ahead[a], STEPS[a], strict=True),
            *zip(aside[a], STEPS[a], strict=True),
        ):
            if direction:
                found |= {(sign * offset * direction) % 1.0 for sign in (-1, 1)}
        tables.append(sorted(found))
    counts = np.array([len(table) for table in tables])
    breaks = np.zeros((ACTIONS, counts.max()))
    for a, table in enumerate(tables):
        breaks[a, : len(table)] = table
    return _Steps(length, ahead, aside, breaks, counts)


@dataclass(frozen=True, slots=True, eq=False)
class Crossings:
    """Ways between neighbouring cells, over the pixels of a terrain model."""

    heights: FloatArray  # [rows, columns] m, of the pixels; NaN for no data and for obstacles
    pixel: tuple[float, float]  # m, height and width of a pixel
    sides: tuple[int, int]  # pixels, height and width of a cell
    vehicle: DrivingLimits  # what can be driven
    anchor: IntArray  # [S] pixel, row-major, where the vehicle stands in a cell; −1 if it can't
    up: FloatArray  # [S, A] margin (tangent) of the steepest slope up; −inf without a way
    down: FloatArray  # [S, A] the same for the steepest slope down

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        rows, columns = self.heights.shape
        return rows // self.sides[0], columns // self.sides[1]

    def way(self, state: int, action: int) -> IntArray:
        """Return the pixels [n, 2] (row, column) of a move, from anchor to anchor."""
        columns = self.shape[1]
        row, column = divmod(state, columns)
        other = row + STEPS[action][0], column + STEPS[action][1]
        if action == 0 or not math.isfinite(self.up[state, action]):
            raise InvalidInputError(f"there is no way for the move (s={state}, a={action})")
        tall, wide = self.sides
        reach = 2 + math.ceil(0.5 * self.vehicle.wheelbase / min(self.pixel))
        top = max(0, min(row, other[0]) * tall - reach)
        left = max(0, min(column, other[1]) * wide - reach)
        bottom = (max(row, other[0]) + 1) * tall + reach
        right = (max(column, other[1]) + 1) * wide + reach
        part = frozen(np.ascontiguousarray(self.heights[top:bottom, left:right]))
        steps = _steps_of(self.pixel, self.vehicle.wheelbase)
        margins = np.empty((*part.shape, ACTIONS, 2), np.float32)
        _measure(part, 0, steps, self.vehicle.wheelbase, self.vehicle.limits, margins)
        pixels = self.heights.shape[1]
        here, there = (
            (int(self.anchor[s]) // pixels - top, int(self.anchor[s]) % pixels - left)
            for s in (state, other[0] * columns + other[1])
        )
        boxes = [(r * tall - top, c * wide - left, tall, wide) for r, c in ((row, column), other)]
        room = _room(self.sides)
        _search(margins, part, boxes[0], boxes[1], here, there, steps.length, *room)
        found = _trace(boxes[0], boxes[1], here, there, room[1])
        return frozen(found + np.array([top, left]))

    def lengths(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the length of each move [S, A] in m, and how much it climbs and descends in m.

        Lengths are measured on the map, heights at the centres of pixels. Moves that stay or have
        no way get 0.
        """
        found = _cross(self.heights, self.pixel, self.sides, self.vehicle)[1]
        found[~np.isfinite(found)] = 0.0
        length, up, down = (frozen(np.ascontiguousarray(found[..., k])) for k in (2, 3, 4))
        return length, up, down

    def stands(self, states: Sequence[int] | IntArray) -> FloatArray:
        """Return the rows and columns [2, n] in pixels where the vehicle stands in cells."""
        return np.stack(np.divmod(self.anchor[states], self.heights.shape[1])) + 0.5

    def between(self, state: int, other: int) -> IntArray:
        """Return the pixels [n, 2] of the move between two neighbouring cells."""
        here, there = divmod(state, self.shape[1]), divmod(other, self.shape[1])
        return self.way(state, STEPS.index((there[0] - here[0], there[1] - here[1])))

    def _are_neighbours(self, state: int, other: int) -> bool:
        (row, column), (there, across) = (divmod(s, self.shape[1]) for s in (state, other))
        return max(abs(row - there), abs(column - across)) == 1

    def route(self, states: Sequence[int]) -> tuple[FloatArray, IntArray]:
        """Return the corners [n, 2] of a path over cells, in pixels, and the step [n] of each.

        The middle of the first pixel is at (0.5, 0.5). Cells are visited at their anchors. Between
        cells that are not neighbours, where a vehicle was moved, the path is straight.
        """
        ways = dict[tuple[int, int], FloatArray]()
        points, steps = [self.stands(states[:1]).T], [np.zeros(1, np.int64)]
        for step, move in enumerate(pairwise(states), start=1):
            if move[0] == move[1]:
                continue
            if move not in ways and not self._are_neighbours(*move):
                ways[move] = self.stands(move[1:]).T
            elif move not in ways:
                way = self.between(*move).astype(np.float64) + 0.5
                turns = np.diff(way, n=2, axis=0).any(axis=1)
                ways[move] = way[1:][np.r_[turns, True]]
            points.append(ways[move])
            steps.append(np.full(len(ways[move]), step))
        return np.concatenate(points), np.concatenate(steps)

    def steepest(self, states: Sequence[int]) -> tuple[float, float, float]:
        """Return the steepest slopes up, down and aside in degrees on a path over cells."""
        moves = {move for move in pairwise(states) if move[0] != move[1]}
        slopes = np.array([self.slopes(self.between(*move)) for move in moves]).reshape(-1, 3)
        up, down, aside = slopes.max(axis=0, initial=0.0).tolist()
        return up, down, aside

    def slopes(self, way: IntArray) -> tuple[float, float, float]:
        """Return the steepest slopes up, down and aside in degrees along pixels [n, 2]."""
        steps = _steps_of(self.pixel, self.vehicle.wheelbase)
        half, nothing = 0.5 * self.vehicle.wheelbase, np.zeros(2)
        up = down = aside = 0.0
        for (row, column), step in zip(way[:-1], np.diff(way, axis=0), strict=True):
            a = STEPS.index((int(step[0]), int(step[1])))
            where = self.heights, int(row), int(column), int(DOWN[a]), int(RIGHT[a])
            breaks, ahead, across = (
                steps.breaks[a, : steps.counts[a]],
                steps.ahead[a],
                steps.aside[a],
            )
            for front, rear in ((ahead, nothing), (nothing, ahead)):
                low, high = _rises(*where, front, rear, breaks)
                up, down = max(up, high / half), max(down, -low / half)
            low, high = _rises(*where, across, across, breaks)
            aside = max(aside, high / (2.0 * half), -low / (2.0 * half))
        return (
            math.degrees(math.atan(up)),
            math.degrees(math.atan(down)),
            math.degrees(math.atan(aside)),
        )


def find_crossings(
    heights: FloatArray, pixel: tuple[float, float], sides: tuple[int, int], vehicle: DrivingLimits
) -> Crossings:
    """Return the ways between neighbouring cells of `sides` pixels (height, width).

    `heights` [rows, columns] are in m, NaN for no data and for obstacles; `pixel` is the height and
    width of a pixel in m. Incomplete cells at the far edges are left out.
    """
    heights = frozen(np.ascontiguousarray(heights, np.float64))
    anchor, found = _cross(heights, pixel, sides, vehicle, parts=2)
    up, down = (frozen(np.ascontiguousarray(found[..., k])) for k in range(2))
    return Crossings(heights, pixel, sides, vehicle, frozen(anchor), up, down)


def _cross(
    heights: FloatArray,
    pixel: tuple[float, float],
    sides: tuple[int, int],
    vehicle: DrivingLimits,
    parts: int = 5,
) -> tuple[IntArray, FloatArray]:
    """Return the anchor [S] of each cell, and what is known of each move [S, A, parts].

    These are its margins up and down, its length in m, and how much it climbs and descends in m.
    """
    (tall, wide), pixels = sides, heights.shape[1]
    rows, columns = heights.shape[0] // tall, pixels // wide
    steps = _steps_of(pixel, vehicle.wheelbase)
    anchor = np.full(rows * columns, -1)
    found = np.full((rows * columns, ACTIONS, parts), -np.inf)
    band = max(1, BAND_PIXELS // (tall * pixels))

    def cross(first: int) -> None:
        last = min(rows, first + band + 1)  # one more, for the moves to the next band
        part = heights[first * tall : last * tall]
        margins = np.empty((*part.shape, ACTIONS, 2), np.float32)
        _measure(heights, first * tall, steps, vehicle.wheelbase, vehicle.limits, margins)
        local = np.full((last - first) * columns, -1)
        _settle(np.isfinite(part), margins, sides, columns, local)
        moves = np.full((len(local), ACTIONS, parts), -np.inf)
        _connect(margins, part, sides, columns, steps.length, local, moves)
        there = slice(first * columns, last * columns)
        np.maximum(found[there], moves, out=found[there])
        anchor[there] = np.where(local < 0, -1, local + first * tall * pixels)

    with ThreadPoolExecutor() as pool:  # kernels release the lock
        list(pool.map(cross, range(0, rows, band)))
    return anchor, found


def crossed_cells(
    elevation: Elevation, cell: float, error: float | FloatArray, vehicle: DrivingLimits
) -> tuple[Cells, Crossings]:
    """Return cells of ``cell`` m over a terrain model, and the ways between them.

    Heights are those at the anchors, with variance ``error`` in m², of all pixels or of each. A
    cell is blocked if the vehicle can't stand and turn in it.
    """
    sides = sides_of(elevation, cell)
    crossings = find_crossings(elevation.heights, elevation.pixel, sides, vehicle)
    blocked = (crossings.anchor < 0).reshape(crossings.shape)
    if blocked.all():
        raise InvalidInputError(
            f"{elevation.name}: there is no cell of {cell:g} m in which a vehicle with these "
            "limits can stand and turn"
        )
    height = elevation.heights.ravel()[crossings.anchor].reshape(crossings.shape)
    variance = np.zeros(crossings.shape)
    if isinstance(error, np.ndarray):
        error = error.ravel()[crossings.anchor].reshape(crossings.shape)
    cells = place_cells(elevation, sides, height.copy(), variance, height, blocked, error)
    return cells, crossings


@njit(cache=True, error_model="numpy", inline="always")
def _height(heights: FloatArray, row: float, column: float) -> float:
    """Return the bilinear height at a place; NaN beyond the pixel centres and next to NaN."""
    rows, columns = heights.shape
    if not (0.0 <= row <= rows - 1.0 and 0.0 <= column <= columns - 1.0):
        return math.nan
    r, c = int(row), int(column)
    down, right = row - r, column - c
    found = 0.0
    if right < 1.0:
        found += (1.0 - down) * (1.0 - right) * heights[r, c]
    if right > 0.0:
        found += (1.0 - down) * right * heights[r, c + 1]
    if down > 0.0:
        found += down * (1.0 - right) * heights[r + 1, c]
        if right > 0.0:
            found += down * right * heights[r + 1, c + 1]
    return found


@njit(cache=True, error_model="numpy")
def _rises(
    heights: FloatArray,
    row: int,
    column: int,
    down: int,
    right: int,
    front: FloatArray,
    rear: FloatArray,
    breaks: FloatArray,
) -> tuple[float, float]:
    """Return the least and the greatest h(x + front) − h(x − rear) along a step; NaN if undefined.

    ``front`` and ``rear`` [2] are in pixels; between ``breaks`` [B] the difference is quadratic.
    """
    low, high, before = math.inf, -math.inf, 0.0
    bent = down != 0 and right != 0
    for i in range(len(breaks)):
        r, c = row + breaks[i] * down, column + breaks[i] * right
        here = _height(heights, r + front[0], c + front[1]) - _height(
            heights, r - rear[0], c - rear[1]
        )
        if math.isnan(here):
            return math.nan, math.nan
        low, high = min(low, here), max(high, here)
        if i > 0 and bent:
            middle = 0.5 * (breaks[i - 1] + breaks[i])
            r, c = row + middle * down, column + middle * right
            mid = _height(heights, r + front[0], c + front[1]) - _height(
                heights, r - rear[0], c - rear[1]
            )
            if math.isnan(mid):
                return math.nan, math.nan
            curve, slope = 2.0 * (before + here - 2.0 * mid), 4.0 * mid - 3.0 * before - here
            if (curve != 0.0 and 0.0 < -slope < 2.0 * curve) or 0.0 < slope < -2.0 * curve:
                extreme = before - 0.25 * slope * slope / curve
                low, high = min(low, extreme), max(high, extreme)
        before = here
    return low, high


@njit(cache=True, error_model="numpy", nogil=True)
def _measure(
    heights: FloatArray,
    top: int,
    steps: _Steps,
    wheelbase: float,
    limits: tuple[float, float, float],
    margins: NDArray[np.float32],
) -> None:
    """Write the margins [R, C, A, 2] up and down of the steps from all pixels from row ``top`` on.

    Slopes of a step are those of its reverse with the opposite sign, so both are written at once.
    """
    (rows, columns), count = heights.shape, len(margins)
    climb, descend, roll = limits
    margins[:] = -math.inf
    for i in range(count + 1):
        row, nothing = top + i - 1, np.zeros(2)
        for column in range(columns):
            for a in range(FIRST, LAST + 1):
                r, c = row + DOWN[a], column + RIGHT[a]
                if not (row >= 0 and r < rows and 0 <= c < columns):
                    continue
                if math.isnan(heights[row, c]) or math.isnan(heights[r, column]):
                    continue
                breaks, ahead = steps.breaks[a, : steps.counts[a]], steps.ahead[a]
                low, high = _rises(heights, row, column, DOWN[a], RIGHT[a], ahead, nothing, breaks)
                least, most = _rises(
                    heights, row, column, DOWN[a], RIGHT[a], nothing, ahead, breaks
                )
                if math.isnan(low) or math.isnan(least):
                    continue
                low, high = 2.0 * min(low, least) / wheelbase, 2.0 * max(high, most) / wheelbase
                aside = steps.aside[a]
                least, most = _rises(heights, row, column, DOWN[a], RIGHT[a], aside, aside, breaks)
                level = roll - max(most, -least) / wheelbase
                if math.isnan(least) or level < 0.0:
                    continue
                up, down = min(climb - high, level), min(descend + low, level)
                if i > 0 and up >= 0.0 and down >= 0.0:
                    margins[i - 1, column, a, 0] = up
                    margins[i - 1, column, a, 1] = down
                up, down = min(climb + low, level), min(descend - high, level)
                if 0 <= r - top < count and up >= 0.0 and down >= 0.0:
                    margins[r - top, c, back(a), 0] = up
                    margins[r - top, c, back(a), 1] = down


@njit(cache=True)
def _is_open(margins: NDArray[np.float32], row: int, column: int, action: int) -> bool:
    """Return whether a step can be driven both ways."""
    there = row + DOWN[action], column + RIGHT[action]
    return bool(
        margins[row, column, action, 0] >= 0.0 and margins[there[0], there[1], back(action), 0] >= 0
    )


@njit(cache=True, nogil=True)
def _settle(
    standing: BoolArray,
    margins: NDArray[np.float32],
    sides: tuple[int, int],
    columns: int,
    anchor: IntArray,
) -> None:
    """Write the anchor [n] of each cell of a band: a pixel of the band, or −1."""
    tall, wide = sides
    for row in range(len(anchor) // columns):
        part, queue = np.empty(tall * wide, np.int64), np.empty(tall * wide, np.int64)
        for column in range(columns):
            top, left = row * tall, column * wide
            part[:] = -1
            best, size = -1, 1
            for first in range(tall * wide):
                if part[first] >= 0 or not standing[top + first // wide, left + first % wide]:
                    continue
                part[first], queue[0], head, tail = first, first, 0, 1
                while head < tail:
                    r, c = queue[head] // wide, queue[head] % wide
                    head += 1
                    for a in range(1, ACTIONS):
                        i, j = r + DOWN[a], c + RIGHT[a]
                        if not (0 <= i < tall and 0 <= j < wide) or part[i * wide + j] >= 0:
                            continue
                        if _is_open(margins, top + r, left + c, a):
                            part[i * wide + j] = first
                            queue[tail] = i * wide + j
                            tail += 1
                if tail > size or tail == tall * wide:
                    best, size = first, tail
            least = tall * tall + wide * wide
            for p in range(tall * wide):
                if best >= 0 and part[p] == best:
                    away = (p // wide - tall // 2) ** 2 + (p % wide - wide // 2) ** 2
                    if away < least:
                        least = away
                        anchor[row * columns + column] = (
                            (top + p // wide) * margins.shape[1] + left + p % wide
                        )


def _room(sides: tuple[int, int]) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    """Return the work arrays of `_search`."""
    most = 4 * sides[0] * sides[1]
    return (
        np.empty(most),
        np.empty(most, np.int64),
        np.empty(8 * most),
        np.empty(8 * most, np.int64),
    )


@njit(cache=True)
def _search(
    margins: NDArray[np.float32],
    heights: FloatArray,
    one: tuple[int, int, int, int],
    two: tuple[int, int, int, int],
    here: tuple[int, int],
    there: tuple[int, int],
    length: FloatArray,
    cost: FloatArray,
    came: IntArray,
    key: FloatArray,
    node: IntArray,
) -> tuple[float, float, float, float, float]:
    """Find the way of least cost over two cells (top, left, height, width); return its margins.

    Also return its length in m, and how much it climbs and descends over ``heights`` [R, C] in m.
    The way is written to ``came`` [n]: the last action to each pixel of the box around both cells.
    All results are −inf if there is no way.
    """
    top, left = min(one[0], two[0]), min(one[1], two[1])
    broad = max(one[1] + one[3], two[1] + two[3]) - left
    count = (max(one[0] + one[2], two[0] + two[2]) - top) * broad
    cost[:count] = math.inf
    start = (here[0] - top) * broad + here[1] - left
    goal = (there[0] - top) * broad + there[1] - left
    cost[start], key[0], node[0], size = 0.0, 0.0, start, 1
    while size > 0:
        reached, p = key[0], node[0]
        size -= 1
        last, at, hole = key[size], node[size], 0
        while 2 * hole + 1 < size:  # the last entry sinks from the top
            child = 2 * hole + 1
            if child + 1 < size and key[child + 1] < key[child]:
                child += 1
            if key[child] >= last:
                break
            key[hole], node[hole] = key[child], node[child]
            hole = child
        key[hole], node[hole] = last, at
        if p == goal:
            break
        if reached > cost[p]:
            continue
        row, column = top + p // broad, left + p % broad
        for a in range(1, ACTIONS):
            margin = min(margins[row, column, a, 0], margins[row, column, a, 1])
            if not margin >= 0.0:
                continue
            r, c = row + DOWN[a], column + RIGHT[a]
            if not (
                (one[0] <= r < one[0] + one[2] and one[1] <= c < one[1] + one[3])
                or (two[0] <= r < two[0] + two[2] and two[1] <= c < two[1] + two[3])
            ):
                continue
            narrow = max(0.0, 1.0 - margin / COMFORTABLE)
            new, q = (
                reached + length[a] * (1.0 + NARROW_COST * narrow),
                p + DOWN[a] * broad + RIGHT[a],
            )
            if new < cost[q]:
                cost[q], came[q], hole = new, a, size
                size += 1
                while hole > 0 and key[(hole - 1) // 2] > new:
                    key[hole], node[hole] = key[(hole - 1) // 2], node[(hole - 1) // 2]
                    hole = (hole - 1) // 2
                key[hole], node[hole] = new, q
    if cost[goal] == math.inf:
        return -math.inf, -math.inf, -math.inf, -math.inf, -math.inf
    up, down, p = math.inf, math.inf, goal
    metres, climbed, descended = 0.0, 0.0, 0.0
    while p != start:
        a = came[p]
        p -= DOWN[a] * broad + RIGHT[a]
        row, column = top + p // broad, left + p % broad
        up = min(up, margins[row, column, a, 0])
        down = min(down, margins[row, column, a, 1])
        rise = heights[row + DOWN[a], column + RIGHT[a]] - heights[row, column]
        metres += length[a]
        climbed += max(0.0, rise)
        descended += max(0.0, -rise)
    return up, down, metres, climbed, descended


def _trace(
    one: tuple[int, int, int, int],
    two: tuple[int, int, int, int],
    here: tuple[int, int],
    there: tuple[int, int],
    came: IntArray,
) -> IntArray:
    """Return the pixels [n, 2] of the way that `_search` found."""
    top, left = min(one[0], two[0]), min(one[1], two[1])
    broad = max(one[1] + one[3], two[1] + two[3]) - left
    row, column = there
    found = [there]
    while (row, column) != here:
        a = came[(row - top) * broad + column - left]
        row, column = row - STEPS[a][0], column - STEPS[a][1]
        found.append((row, column))
    return np.array(found[::-1])


@njit(cache=True, nogil=True)
def _connect(
    margins: NDArray[np.float32],
    heights: FloatArray,
    sides: tuple[int, int],
    columns: int,
    length: FloatArray,
    anchor: IntArray,
    found: FloatArray,
) -> None:
    """Write the results of `_search` for the moves of a band, as many as `found` has room for."""
    (tall, wide), pixels = sides, margins.shape[1]
    rows = len(anchor) // columns
    most = 4 * tall * wide
    for row in range(rows):
        cost, came = np.empty(most), np.empty(most, np.int64)
        key, node = np.empty(8 * most), np.empty(8 * most, np.int64)
        for column in range(columns):
            s = row * columns + column
            if anchor[s] < 0:
                continue
            here = anchor[s] // pixels, anchor[s] % pixels
            one = row * tall, column * wide, tall, wide
            for a in range(1, ACTIONS):
                r, c = row + DOWN[a], column + RIGHT[a]
                if not (0 <= r < rows and 0 <= c < columns) or anchor[r * columns + c] < 0:
                    continue
                end = anchor[r * columns + c]
                there, two = (end // pixels, end % pixels), (r * tall, c * wide, tall, wide)
                way = _search(
                    margins, heights, one, two, here, there, length, cost, came, key, node
                )
                for k in range(found.shape[2]):
                    found[s, a, k] = way[k]
