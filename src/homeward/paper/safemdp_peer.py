"""SafeMDP's exploration of its Mars task, written from a description of its constants.

Heights are a Gaussian process with a fixed kernel. The climb of a move has an interval of two
standard deviations around its mean. A move is called safe once its interval is within the limit,
and stays so. Each iteration measures the expander with the widest interval. An expander is a safe
move whose measurement might, by a Lipschitz constant, make another move safe.
"""

from __future__ import annotations

import math
import time

import numpy as np
from scipy.ndimage import distance_transform_edt

from homeward.arrays import BoolArray, FloatArray
from homeward.beliefs.covariance import Matern
from homeward.paper.safemdp_task import (
    CLAIM_LIMIT,
    MEASUREMENTS,
    UNSAFE_LIMIT,
    Ground,
    Outing,
    shortest_way,
)

KERNEL = Matern(100.0, 14.5, 2.5)  # safeMDP's kernel
NOISE = 0.075**2
"""Variance in m² of the measurements that SafeMDP assumes, although they are exact."""

WIDTH = 2.0
"""Standard deviations from a climb's mean to the ends of its interval."""

LIPSCHITZ = 0.2  # safeMDP's Lipschitz constant: largest change of an action's climb per metre
REFRESH_DISTANCE = 25  # Manhattan distance from new cells at which intervals are computed
FIRST_REPEATS = 5  # number of first measurements of both ends of each move from the start


class Intervals:
    """Heights under SafeMDP's kernel, and the interval [S, 4] of each move's climb in m."""

    def __init__(self, ground: Ground, capacity: int) -> None:
        rows, columns = ground.shape
        self.ground = ground
        self.row, self.column = np.divmod(np.arange(rows * columns), columns)
        self.table = KERNEL.covariance(np.hypot(np.arange(rows)[:, None], np.arange(columns)))
        self.columns = np.empty((capacity, rows * columns))
        self.count = 0
        self.mean = np.zeros(rows * columns)
        apart = 2.0 * (self.table[0, 0] - KERNEL.covariance(1.0))
        self.spread = np.full((2, rows * columns), float(apart))
        self.low = np.full((rows * columns, 4), -np.inf)
        self.high = np.full((rows * columns, 4), np.inf)

    def measure(self, cell: int) -> None:
        """Measure the height of a cell and update means and variances."""
        known = self.columns[: self.count]
        row, column = np.abs(self.row - self.row[cell]), np.abs(self.column - self.column[cell])
        joint = self.table[row, column] - known[:, cell] @ known
        total = joint[cell] + NOISE
        self.mean += joint * ((self.ground.height[cell] - self.mean[cell]) / total)
        new = joint / math.sqrt(total)
        self.columns[self.count] = new
        self.count += 1
        for axis in range(2):
            self.spread[axis] -= np.square(new[self.ground.dest[:, axis]] - new)

    def refresh(self, cells: tuple[int, int]) -> None:
        """Compute the intervals of all moves near two cells from the current posterior."""
        near = np.zeros(len(self.row), dtype=bool)
        for cell in cells:
            away = np.abs(self.row - self.row[cell]) + np.abs(self.column - self.column[cell])
            near |= away <= REFRESH_DISTANCE
        dest = self.ground.dest
        for a in range(4):
            here = np.flatnonzero(near & (dest[:, a] >= 0) & near[dest[:, a]])
            there = dest[here, a]
            spread = self.spread[a % 2, here if a < 2 else there]
            reach = WIDTH * np.sqrt(np.maximum(spread, 0.0) + NOISE)
            climb = self.mean[there] - self.mean[here]
            self.low[here, a], self.high[here, a] = climb - reach, climb + reach


def explore_as_peer(
    ground: Ground, start: int, *, measurements: int = MEASUREMENTS, expanders: bool = True
) -> Outing:
    """Run SafeMDP from a start and return the result.

    Without `expanders`, it measures the claimed move with the widest interval.
    """
    began = time.process_time()
    first, known = ground.known(start)
    dest, safe, state = ground.dest, known.copy(), start
    pairs = [(start, int(t)) for t in dest[start] if t >= 0]
    intervals = Intervals(ground, 2 * (FIRST_REPEATS * len(pairs) + measurements))
    intervals.high[known] = CLAIM_LIMIT
    for pair in pairs:
        for cell in FIRST_REPEATS * pair:
            intervals.measure(cell)
        intervals.refresh(pair)
    unsafe = moves = 0
    states, claimed = ground.closed(safe, first)
    for _ in range(measurements):
        safe |= intervals.high <= CLAIM_LIMIT
        states, claimed = ground.closed(safe, first)
        chosen = claimed
        if expanders:
            chosen = _expanders(ground, intervals.low, safe, claimed)
            chosen = chosen if chosen.any() else claimed
        width = np.where(chosen, intervals.high - intervals.low, -np.inf)
        s, a = (int(i) for i in np.unravel_index(int(width.argmax()), width.shape))
        for step in (*shortest_way(dest, safe, state, s), a):
            unsafe += bool(ground.rise[state, step] > UNSAFE_LIMIT)
            state = int(dest[state, step])
            moves += 1
        intervals.measure(s)
        intervals.measure(state)
        intervals.refresh((s, state))
    score = ground.score(start, states, claimed)
    seconds = time.process_time() - began
    counts = unsafe, score.false_claims, measurements, moves
    return Outing(score.coverage, *counts, None, None, seconds)


def _expanders(ground: Ground, low: FloatArray, safe: BoolArray, claimed: BoolArray) -> BoolArray:
    """Return the mask [S, 4] of claimed moves whose measurement might make another move safe."""
    found = np.zeros(safe.shape, dtype=bool)
    for a in range(4):
        inside = (safe[:, a] & (ground.dest[:, a] >= 0)).reshape(ground.shape)
        away = distance_transform_edt(inside).ravel()
        found[:, a] = claimed[:, a] & (low[:, a] + LIPSCHITZ * away <= CLAIM_LIMIT)
    return found
