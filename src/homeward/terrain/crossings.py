"""Paths of a vehicle between neighbouring cells, over the pixels of a terrain model.

A vehicle has wheels at its middle, half a wheelbase before and half a wheelbase behind it, and half
a wheelbase to each side. Heights between pixel centres are bilinear. The slope ahead is measured
from the middle to the front and from the rear to the middle. The side slope is measured from the
left to the right wheels.

The vehicle drives from pixel centre to neighbouring pixel centre. A slope has a limit; both are
tangents. The *margin* of such a step is the least value of limit − slope over the whole segment.
Between the points where a wheel crosses a line of pixel centres the slopes are quadratic in the
position, so their extremes are exact. A step has no margin if a wheel touches missing data, or if
it is diagonal and passes missing data.

Each cell has an *anchor*, the pixel where the vehicle stands. The largest set of pixels of the cell
between which the vehicle can drive in both directions contains it; of this set, the anchor is the
pixel nearest to the centre of the cell.

A move leads from the anchor of a cell to the anchor of a neighbour, over pixels of these two cells
and over steps with margins of 0 or more. Of all such paths it takes the one of least cost: a metre
costs 1, and up to `NARROW_COST` more where the margin is below `COMFORTABLE`. For cells of a given
size, the time of the computation is linear in the number of pixels.
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

COMFORTABLE = math.tan(math.radians(3.0))  # from this margin on, a step costs only its length
NARROW_COST = 3.0  # additional cost per metre of a step with margin 0
BAND_PIXELS = 1 << 18  # approximate number of pixels that a thread processes at once
DOWN, RIGHT = (np.array(axis) for axis in zip(*STEPS, strict=True))
ACTIONS = len(STEPS)
FIRST, LAST = 3, 6  # actions E, SE, S, SW: with their reverses they are all eight directions


@dataclass(frozen=True, slots=True)
class DrivingLimits:
    """Steepest slopes that a vehicle can drive, and its wheelbase."""

    climb: float  # degrees, steepest slope up
    descend: float  # degrees, steepest slope down
    roll: float  # degrees, steepest side slope
    wheelbase: float  # m between front and rear wheels, and between left and right wheels

    def __post_init__(self) -> None:
        for name in ("climb", "descend", "roll"):
            if not 0.0 <= number(getattr(self, name), name, InvalidInputError) < 90.0:
                raise InvalidInputError(f"{name} is {getattr(self, name):g}°, expected 0 to 90")
        if not 0.0 < number(self.wheelbase, "the wheelbase", InvalidInputError) < math.inf:
            raise InvalidInputError(f"the wheelbase is {self.wheelbase:g} m, expected > 0")

    @property
    def limits(self) -> tuple[float, float, float]:
        """Tangents of the steepest slopes up, down and to the side."""
        up, down, side = (
            math.tan(math.radians(slope)) for slope in (self.climb, self.descend, self.roll)
        )
        return up, down, side


class _Steps(NamedTuple):
    """Geometry of the steps of each action; lengths are in pixels unless stated otherwise."""

    length: FloatArray  # [A] m
    ahead: FloatArray  # [A, 2] from the middle to the front wheels
    aside: FloatArray  # [A, 2] from the middle to the left wheels
    breaks: tuple[FloatArray, ...]  # A ascending arrays of fractions of the step, from 0 to 1, at
    # which a wheel crosses a line of pixel centres


def _steps_of(pixel: tuple[float, float], wheelbase: float) -> _Steps:
    """Return the geometry of steps over pixels of the given height and width in m."""
    tall, wide = pixel
    south, east = DOWN * tall, RIGHT * wide
    length = np.hypot(south, east)
    half = 0.5 * wheelbase / np.maximum(length, 1e-300)
    ahead = np.stack([south * half / tall, east * half / wide], axis=1)
    aside = np.stack([east * half / tall, -south * half / wide], axis=1)
    breaks = []
    for a in range(ACTIONS):
        fractions = {0.0, 1.0}
        for offsets in (ahead[a], aside[a]):
            for offset, direction in zip(offsets, STEPS[a], strict=True):
                if direction:
                    fractions |= {(sign * offset * direction) % 1.0 for sign in (-1, 1)}
        breaks.append(np.array(sorted(fractions)))
    return _Steps(length, ahead, aside, tuple(breaks))


@dataclass(frozen=True, slots=True, eq=False)
class Crossings:
    """Paths between neighbouring cells, over the pixels of a terrain model."""

    heights: FloatArray  # [rows, columns] m, of the pixels; NaN for no data and for obstacles
    pixel: tuple[float, float]  # m, height and width of a pixel
    sides: tuple[int, int]  # pixels, height and width of a cell
    vehicle: DrivingLimits
    anchor: IntArray  # [S] anchor of each cell, as a row-major index of pixels; −1 without one
    up: FloatArray  # [S, A] least margin (tangent) of slopes up on the path; −inf without a path
    down: FloatArray  # [S, A] least margin (tangent) of slopes down; −inf without a path

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of cells."""
        rows, columns = self.heights.shape
        return rows // self.sides[0], columns // self.sides[1]

    def way(self, state: int, action: int) -> IntArray:
        """Return the pixels [n, 2] (row, column) on the path of a move, from anchor to anchor."""
        columns = self.shape[1]
        row, column = divmod(state, columns)
        other = row + STEPS[action][0], column + STEPS[action][1]
        if action == 0 or not math.isfinite(self.up[state, action]):
            raise InvalidInputError(f"there is no way to drive the move (s={state}, a={action})")
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
        start, goal = (
            (int(self.anchor[s]) // pixels - top, int(self.anchor[s]) % pixels - left)
            for s in (state, other[0] * columns + other[1])
        )
        one, two = ((r * tall - top, c * wide - left) for r, c in ((row, column), other))
        work = _work_arrays(self.sides)
        _search(margins, part, self.sides, one, two, start, goal, steps.length, work)
        box_top, box_left = min(one[0], two[0]), min(one[1], two[1])
        broad = wide + abs(one[1] - two[1])
        pixel, path = goal, [goal]
        while pixel != start:
            a = work[1][(pixel[0] - box_top) * broad + pixel[1] - box_left]
            pixel = pixel[0] - STEPS[a][0], pixel[1] - STEPS[a][1]
            path.append(pixel)
        return frozen(np.array(path[::-1]) + np.array([top, left]))

    def lengths(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the length of each move [S, A] in m, and how much it climbs and descends in m.

        Lengths are measured on the map, heights at the centres of pixels. Actions that stay, and
        moves without a path, have 0.
        """
        results = _cross(self.heights, self.pixel, self.sides, self.vehicle, 5)[1]
        results[~np.isfinite(results)] = 0.0
        length, up, down = (frozen(np.ascontiguousarray(results[..., k])) for k in (2, 3, 4))
        return length, up, down

    def stands(self, states: Sequence[int] | IntArray) -> FloatArray:
        """Return where the vehicle stands in each of n cells: rows and columns [2, n] in pixels."""
        return np.stack(np.divmod(self.anchor[states], self.heights.shape[1])) + 0.5

    def _between(self, state: int, other: int) -> IntArray | None:
        """Return the pixels [n, 2] on the path to another cell; None if it is no neighbour."""
        (row, column), (there, across) = (divmod(s, self.shape[1]) for s in (state, other))
        offset = there - row, across - column
        return self.way(state, STEPS.index(offset)) if offset in STEPS else None

    def route(self, states: Sequence[int]) -> tuple[FloatArray, IntArray]:
        """Return the corners [n, 2] of a path over cells, in pixels, and the step [n] of each.

        The middle of the first pixel is at (0.5, 0.5). Cells are visited at their anchors. Between
        cells that are not neighbours the path is straight; such a vehicle was carried.
        """
        ways = dict[tuple[int, int], FloatArray]()
        points, steps = [self.stands(states[:1]).T], [np.zeros(1, np.int64)]
        for step, move in enumerate(pairwise(states), start=1):
            if move[0] == move[1]:
                continue
            if move not in ways:
                way = self._between(*move)
                if way is None:
                    ways[move] = self.stands(move[1:]).T
                else:
                    turns = np.diff(way, n=2, axis=0).any(axis=1)
                    ways[move] = way[1:][np.r_[turns, True]].astype(np.float64) + 0.5
            points.append(ways[move])
            steps.append(np.full(len(ways[move]), step))
        return np.concatenate(points), np.concatenate(steps)

    def profile(self, states: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Return the distance [n] along a path over cells and the height [n], pixel by pixel, in m.

        Between cells that are not neighbours the path is straight.
        """
        anchors = self.anchor[np.asarray(states)]
        stands = np.stack(np.divmod(anchors, self.heights.shape[1]), axis=1)
        ways = [stands[:1]]
        for end, move in zip(stands[1:], pairwise(states), strict=True):
            if move[0] != move[1]:
                way = self._between(*move)
                ways.append(end[None] if way is None else way[1:])
        pixels = np.concatenate(ways)
        length = np.linalg.norm(np.diff(pixels, axis=0) * self.pixel, axis=1)
        return np.concatenate([[0.0], np.cumsum(length)]), self.heights[*pixels.T]

    def slopes(self) -> FloatArray:
        """Return the slope [S] of the ground at the anchor of each cell, in degrees.

        It is the steepest slope in any direction, measured over a wheelbase. NaN without an anchor.
        """
        base = self.vehicle.wheelbase
        rise = _uphill(self.heights, self.anchor, 0.5 * base / np.array(self.pixel))
        return np.degrees(np.arctan(rise / (0.5 * base)))

    def steepest(self, states: Sequence[int]) -> tuple[float, float, float]:
        """Return the steepest slopes up, down and to the side on a path over cells, in degrees."""
        steps = _steps_of(self.pixel, self.vehicle.wheelbase)
        half, nothing = 0.5 * self.vehicle.wheelbase, np.zeros(2)
        up = down = side = 0.0
        for move in {move for move in pairwise(states) if move[0] != move[1]}:
            way = self._between(*move)
            if way is None:
                continue
            for (row, column), step in zip(way[:-1], np.diff(way, axis=0), strict=True):
                a = STEPS.index((int(step[0]), int(step[1])))
                where = self.heights, int(row), int(column), int(DOWN[a]), int(RIGHT[a])
                breaks, ahead, aside = steps.breaks[a], steps.ahead[a], steps.aside[a]
                for front, rear in ((ahead, nothing), (nothing, ahead)):
                    low, high = _rises(*where, front, rear, breaks)
                    up, down = max(up, high / half), max(down, -low / half)
                low, high = _rises(*where, aside, aside, breaks)
                side = max(side, high / (2.0 * half), -low / (2.0 * half))
        up, down, side = (math.degrees(math.atan(slope)) for slope in (up, down, side))
        return up, down, side


def find_crossings(
    heights: FloatArray, pixel: tuple[float, float], sides: tuple[int, int], vehicle: DrivingLimits
) -> Crossings:
    """Return the paths between neighbouring cells of `sides` pixels (height, width).

    `heights` [rows, columns] are in m, NaN for no data and for obstacles; `pixel` is the height and
    width of a pixel in m. Incomplete cells at the bottom and right edges are left out.
    """
    heights = frozen(np.ascontiguousarray(heights, np.float64))
    anchor, margins = _cross(heights, pixel, sides, vehicle, 2)
    up, down = (frozen(np.ascontiguousarray(margins[..., k])) for k in range(2))
    return Crossings(heights, pixel, sides, vehicle, frozen(anchor), up, down)


def _cross(
    heights: FloatArray,
    pixel: tuple[float, float],
    sides: tuple[int, int],
    vehicle: DrivingLimits,
    count: int,
) -> tuple[IntArray, FloatArray]:
    """Return the anchor [S] of each cell, and the first `count` results [S, A, count] of each move.

    The results of a move are its margins up and down, its length in m, and how much it climbs and
    descends in m. All are −inf without a path.
    """
    (tall, wide), pixels = sides, heights.shape[1]
    rows, columns = heights.shape[0] // tall, pixels // wide
    steps = _steps_of(pixel, vehicle.wheelbase)
    anchor = np.full(rows * columns, -1)
    results = np.full((rows * columns, ACTIONS, count), -np.inf)
    band = max(1, BAND_PIXELS // (tall * pixels))

    def cross(first: int) -> None:
        last = min(rows, first + band + 1)  # one more row of cells, for the moves to the next band
        part = heights[first * tall : last * tall]
        margins = np.empty((*part.shape, ACTIONS, 2), np.float32)
        _measure(heights, first * tall, steps, vehicle.wheelbase, vehicle.limits, margins)
        local = np.full((last - first) * columns, -1)
        _choose_anchors(np.isfinite(part), margins, sides, columns, local)
        moves = np.full((len(local), ACTIONS, count), -np.inf)
        _connect(margins, part, sides, columns, steps.length, local, moves)
        there = slice(first * columns, last * columns)
        np.maximum(results[there], moves, out=results[there])
        anchor[there] = np.where(local < 0, -1, local + first * tall * pixels)

    with ThreadPoolExecutor() as pool:  # kernels release Python's global lock
        list(pool.map(cross, range(0, rows, band)))
    return anchor, results


def crossed_cells(
    elevation: Elevation, cell: float, error: float | FloatArray, vehicle: DrivingLimits
) -> tuple[Cells, Crossings]:
    """Return cells with sides of ``cell`` m over a terrain model, and the paths between them.

    The height of a cell is that of its anchor. Its variance is ``error`` in m², a number for all
    pixels or an array [rows, columns]. A cell without an anchor is blocked.
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
    """Return the bilinear height at a point, given in pixels from the first pixel's centre.

    It is NaN beyond the outer pixel centres, and if a pixel that it depends on is NaN.
    """
    rows, columns = heights.shape
    if not (0.0 <= row <= rows - 1.0 and 0.0 <= column <= columns - 1.0):
        return math.nan
    r, c = int(row), int(column)
    down, right = row - r, column - c  # both below 1
    height: float = (1.0 - down) * (1.0 - right) * heights[r, c]
    if right > 0.0:
        height += (1.0 - down) * right * heights[r, c + 1]
    if down > 0.0:
        height += down * (1.0 - right) * heights[r + 1, c]
        if right > 0.0:
            height += down * right * heights[r + 1, c + 1]
    return height


@njit(cache=True, error_model="numpy")
def _uphill(heights: FloatArray, anchor: IntArray, half: FloatArray) -> FloatArray:
    """Return the rise [S] in m of the ground at each anchor over half a wheelbase, straight uphill.

    ``half`` [2] is half a wheelbase in pixels, down and to the right. The rise is NaN without an
    anchor. If the height on one side is missing, the other side alone counts.
    """
    rises = np.full(len(anchor), math.nan)
    for s in range(len(anchor)):
        if anchor[s] < 0:
            continue
        row, column = anchor[s] // heights.shape[1], anchor[s] % heights.shape[1]
        here, square = heights[row, column], 0.0
        for down, right in ((half[0], 0.0), (0.0, half[1])):
            ahead = _height(heights, row + down, column + right) - here
            behind = here - _height(heights, row - down, column - right)
            if math.isnan(ahead):
                ahead = behind
            elif math.isnan(behind):
                behind = ahead
            if not math.isnan(ahead):
                square += (0.5 * (ahead + behind)) ** 2
        rises[s] = math.sqrt(square)
    return rises


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
    """Return the least and the greatest h(x + front) − h(x − rear) over the points x of a step.

    h is the height. The step leads from pixel (row, column) by ``down`` and ``right`` pixels.
    ``front`` and ``rear`` [2] are in pixels. ``breaks`` [B] are fractions of the step, between
    which the difference is quadratic. Both results are NaN if a height is NaN.
    """
    low, high, before = math.inf, -math.inf, 0.0
    is_diagonal = down != 0 and right != 0
    for i in range(len(breaks)):
        r, c = row + breaks[i] * down, column + breaks[i] * right
        here = _height(heights, r + front[0], c + front[1]) - _height(
            heights, r - rear[0], c - rear[1]
        )
        if math.isnan(here):
            return math.nan, math.nan
        low, high = min(low, here), max(high, here)
        if i > 0 and is_diagonal:
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
    """Write the margins [R, C, A, 2] up and down of the steps from the pixels of R rows.

    The first of these rows is row ``top`` of ``heights``. The slopes of a step and of its reverse
    differ only in sign, so the margins of both are written at once.
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
                breaks, ahead = steps.breaks[a], steps.ahead[a]
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
    """Return whether the vehicle can drive a step and its reverse."""
    there = row + DOWN[action], column + RIGHT[action]
    return bool(
        margins[row, column, action, 0] >= 0.0 and margins[there[0], there[1], back(action), 0] >= 0
    )


@njit(cache=True, nogil=True)
def _choose_anchors(
    has_data: BoolArray,
    margins: NDArray[np.float32],
    sides: tuple[int, int],
    columns: int,
    anchor: IntArray,
) -> None:
    """Write the anchor [n] of each cell of a band: a row-major index of its pixels, or −1."""
    tall, wide = sides
    for row in range(len(anchor) // columns):
        part, queue = np.empty(tall * wide, np.int64), np.empty(tall * wide, np.int64)
        for column in range(columns):
            top, left = row * tall, column * wide
            part[:] = -1
            best, size = -1, 1
            for first in range(tall * wide):
                if part[first] >= 0 or not has_data[top + first // wide, left + first % wide]:
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


@njit(cache=True)
def _work_arrays(sides: tuple[int, int]) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    """Return the arrays that `_search` writes to: cost, last action, heap keys, heap pixels."""
    most = 4 * sides[0] * sides[1]
    heap = np.empty(8 * most), np.empty(8 * most, np.int64)
    return np.empty(most), np.empty(most, np.int64), heap[0], heap[1]


@njit(cache=True)
def _search(
    margins: NDArray[np.float32],
    heights: FloatArray,
    sides: tuple[int, int],
    one: tuple[int, int],
    two: tuple[int, int],
    origin: tuple[int, int],
    target: tuple[int, int],
    length: FloatArray,
    work: tuple[FloatArray, IntArray, FloatArray, IntArray],
) -> tuple[float, float, float, float, float]:
    """Find the path of least cost from pixel `origin` to pixel `target` over two cells.

    `one` and `two` are the first pixels (row, column) of the cells. Return the margins of the path
    up and down, its length in m, and how much it climbs and descends over ``heights`` [R, C] in m;
    all are −inf if there is no path. The second array of ``work`` gets the last action to each
    pixel of the box around both cells.
    """
    (tall, wide), (cost, came, key, node) = sides, work
    top, left = min(one[0], two[0]), min(one[1], two[1])
    broad = wide + abs(one[1] - two[1])
    cost[: (tall + abs(one[0] - two[0])) * broad] = math.inf
    start = (origin[0] - top) * broad + origin[1] - left
    goal = (target[0] - top) * broad + target[1] - left
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
                (0 <= r - one[0] < tall and 0 <= c - one[1] < wide)
                or (0 <= r - two[0] < tall and 0 <= c - two[1] < wide)
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


@njit(cache=True, nogil=True)
def _connect(
    margins: NDArray[np.float32],
    heights: FloatArray,
    sides: tuple[int, int],
    columns: int,
    length: FloatArray,
    anchor: IntArray,
    results: FloatArray,
) -> None:
    """Write the first K values that `_search` returns for each move of a band to `results`.

    `anchor` [n] has the anchors of the n cells of the band, and `results` has shape [n, A, K].
    """
    (tall, wide), pixels, work = sides, margins.shape[1], _work_arrays(sides)
    rows = len(anchor) // columns
    for s in range(len(anchor)):
        row, column = s // columns, s % columns
        for a in range(1, ACTIONS):
            r, c = row + DOWN[a], column + RIGHT[a]
            if anchor[s] < 0 or not (0 <= r < rows and 0 <= c < columns):
                continue
            end = anchor[r * columns + c]
            if end < 0:
                continue
            origin, target = (
                (anchor[s] // pixels, anchor[s] % pixels),
                (end // pixels, end % pixels),
            )
            one, two = (row * tall, column * wide), (r * tall, c * wide)
            path = _search(margins, heights, sides, one, two, origin, target, length, work)
            for k in range(results.shape[2]):
                results[s, a, k] = path[k]
