"""Head to head with SafeMDP on its own Mars task (`safemdp_task`, `safemdp_peer`).

Our explorer keeps a `CorrelatedTerrainBelief` and takes the same measurements. A move that climbs
too much for certain limits is unsafe with probability 1 − p, p from the joint posterior of both
ends. An outing goes to a move, takes it, measures both its ends and can then return to the start.

**The promise of a run.** An outing is charged Σ (1 − p) over the moves out and the moves back home
that were neither made nor charged before. All charges of a run sum to at most 1 − δ. Claim: under
the belief, with probability at least δ no move that the run takes is unsafe and a way home that it
paid for is safe. Proof: consider the run that goes on as if all its moves were safe. Its choices
are functions of the measurements alone, so a move charged with 1 − p fails with that probability
given what was measured, and the sum of charges bounds the probability that any charged move fails.
The real run is the same until the first failure. ∎ For the same reason at most 1 − δ unsafe moves
are expected until then. With a kernel fitted to the measurements this holds as far as the kernel
does.

**Choice.** Of the outings within the budget, and within a level for a single outing, take the one
with the largest gain − price·charge; the gain is the sum of the standard deviations in m of the two
heights. A high price makes the explorer approach steep ground where it is nearly known. If a look
made the way home too risky, outings that return to the current cell are considered instead. If
there is none either, an outing may cost what is left of the budget.

**Kernel.** Before enough cells are measured, and wherever the measured part of the map is flat, a
fitted kernel would call unseen ground flat. So the prior standard deviation of a climb is never
below `LEAST_SLOPE`: the kernel keeps its small-scale roughness σ²/ℓ³ and gets a longer length.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.beliefs.covariance import Matern, check_calibration, fit_kernel
from homeward.beliefs.fields import CorrelatedTerrainBelief
from homeward.beliefs.measurements import Heights
from homeward.paper import safemdp_peer
from homeward.paper.safemdp_task import (
    MEASUREMENTS,
    UNSAFE_LIMIT,
    Ground,
    Outing,
    least_risks,
    read_ground,
    way_along,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import BoolArray, FloatArray, IntArray

METHODS = ("safemdp", "ours, their kernel", "ours, fitted kernel")

RUN_LEVEL = 0.9
"""Safety level δ of a whole run: its charges sum to at most 1 − δ."""

CLAIM_LEVEL = 0.98
"""Probability with which a claimed place or move can be visited from the start and left again."""

MAX_OUTING_RISK = 0.02
"""Largest charge of a single outing."""

PRICE = 1000.0
"""Metres of standard deviation that a sure failure would have to be worth."""

TRUSTED_RISK = 0.01
"""Risk up to which a move that was charged before stays free."""

ACCURACY = 1e-4
"""Variance in m² that ours assumes of measurements with a fitted kernel."""

LEAST_SLOPE = 0.45
"""Least prior standard deviation in m of a climb over 1 m: a tenth of all moves are unsafe."""

FIRST_LENGTH = 20.0
"""Length scale in m until a kernel is fitted."""

FIRST_FIT, FIT_GROWTH = 40, 1.6
"""Measured cells at the first fit, and the factor to each next one."""

GRID_ACTIONS = (3, 5, 7, 1)
"""The task's actions as those of `grid_graph`."""

ANY_DROP = 89.9
"""Slope in degrees that stands for any drop."""


class OurExplorer:
    """One run of ours; see the module for its promise and its choices."""

    def __init__(self, ground: Ground, start: int, kernel: Matern | None, delta: float) -> None:
        self.ground, self.home, self.state = ground, start, start
        self.fits = kernel is None
        self.noise = ACCURACY if kernel is None else safemdp_peer.NOISE
        self.left = 1.0 - delta
        self.unsafe = self.moves = self.measurements = 0
        first, known = ground.known(start)
        self.made, self.failed = known.copy(), np.zeros(known.shape, dtype=bool)
        self.paid = np.zeros(known.shape, dtype=bool)
        self.measured: list[int] = [int(s) for s in first]
        self.next_fit = FIRST_FIT if self.fits else math.inf
        slope = LEAST_SLOPE * FIRST_LENGTH / math.sqrt(3.0)
        kernel = Matern(slope * slope, FIRST_LENGTH) if kernel is None else kernel
        prior = float(ground.height[first].mean()) if self.fits else 0.0
        self.belief = self._belief(kernel, prior)

    def _belief(self, kernel: Matern, prior: float) -> CorrelatedTerrainBelief:
        """Return the belief of a kernel given everything measured so far."""
        fresh = CorrelatedTerrainBelief(
            self.ground.shape,
            kernel,
            prior,
            cell=1.0,
            climb=math.degrees(math.atan(UNSAFE_LIMIT)),
            descend=ANY_DROP,
        )
        return fresh.update(self._look(self.measured))

    def _look(self, cells: Sequence[int]) -> Heights:
        at = np.array(cells, np.int32)
        return Heights(at, self.ground.height[at], np.full(len(at), self.noise))

    def refit(self) -> None:
        """Fit the kernel to everything measured so far; widen it if it is overconfident."""
        cells = np.array(self.measured, np.int32)
        heights, shape = self.ground.height[cells], self.ground.shape
        fit = fit_kernel(cells, heights, shape, noise=self.noise, smoothness=(1.5,))
        found = check_calibration(
            fit.kernel, cells, heights, shape, mean=fit.mean, noise=self.noise, warn=False
        )
        kernel = at_least_as_steep(fit.kernel.scaled(max(1.0, found.inflation)), LEAST_SLOPE)
        self.belief = self._belief(kernel, fit.mean)
        self.next_fit = FIT_GROWTH * len(cells)

    def risks(self) -> FloatArray:
        """Return the probability [S, 4] that each move is unsafe; infinite off the map."""
        unsafe = 1.0 - self.belief.measured_success()[:, GRID_ACTIONS]
        unsafe = np.where(self.failed | (self.ground.dest < 0), np.inf, unsafe)
        return np.where(self.made, 0.0, unsafe)

    def step(self) -> bool:
        """Make one outing; return False if none is within the budget."""
        if len(self.measured) >= self.next_fit:
            self.refit()
        dest, risk = self.ground.dest, self.risks()
        price = np.where(self.paid & (risk <= TRUSTED_RISK), 0.0, risk)
        out, came = least_risks(dest, price, self.state, True)
        for most, goal in product((MAX_OUTING_RISK, 1.0), (self.home, self.state)):
            back, following = least_risks(dest, price, goal, False)
            charge = out[:, None] + price + np.where(dest >= 0, back[dest], np.inf)
            target = self._best(charge, min(most, self.left))
            if target is not None:
                break
        else:
            return False
        s, a = target
        way = [*way_along(dest, came, self.state, s).tolist(), a]
        self._pay(price, way, following, int(dest[s, a]), goal)
        if self._drive(way, s):
            self._measure((s, int(dest[s, a])))
        return True

    def _best(self, charge: FloatArray, most: float) -> tuple[int, int] | None:
        """Return the best move to take and measure among those that cost at most `most`."""
        dest, fits = self.ground.dest, charge <= most
        deviation, old = np.sqrt(self.belief.variance), self.belief.measured
        new = ~old[:, None] | ~old[dest]
        fits = fits & new if (fits & new).any() else fits
        if not fits.any():
            return None
        gain = deviation[:, None] + deviation[dest]
        worth = np.where(fits, gain - PRICE * np.where(fits, charge, 0.0), -np.inf)
        s, a = np.unravel_index(int(worth.argmax()), worth.shape)
        return int(s), int(a)

    def _pay(
        self, price: FloatArray, way: list[int], following: IntArray, end: int, goal: int
    ) -> None:
        """Charge the moves of a way out, and of the way from its end to the goal."""
        dest, state = self.ground.dest, self.state
        edges = []
        for a in way:
            edges.append((state, a))
            state = int(dest[state, a])
        state = end
        while state != goal:
            a = int(following[state])
            edges.append((state, a))
            state = int(dest[state, a])
        for edge in dict.fromkeys(edges):
            self.left -= float(price[edge])
            self.paid[edge] = True

    def _drive(self, way: list[int], last: int) -> bool:
        """Take moves until one is unsafe; return whether the last one was taken or tried."""
        for a in way:
            here = self.state
            self.moves += 1
            if self.ground.rise[here, a] > UNSAFE_LIMIT:
                self.unsafe += 1
                self.failed[here, a] = True
                return here == last and a == way[-1]
            self.made[here, a] = True
            self.state = int(self.ground.dest[here, a])
        return True

    def _measure(self, cells: tuple[int, int]) -> None:
        """Measure both ends of a move; exact heights are taken in once if the noise is small."""
        self.measurements += 1
        old = self.belief.measured
        new = [c for c in cells if not (self.fits and old[c])]
        self.measured += [c for c in cells if not old[c]]
        if new:
            self.belief = self.belief.update(self._look(new))

    def claims(self) -> tuple[BoolArray, BoolArray]:
        """Return the states [S] and moves [S, 4] that can be visited and left at `CLAIM_LEVEL`."""
        dest, risk = self.ground.dest, self.risks()
        out, back = (least_risks(dest, risk, self.home, way)[0] for way in (True, False))
        around = out[:, None] + risk + np.where(dest >= 0, back[dest], np.inf)
        return out + back <= 1.0 - CLAIM_LEVEL, around <= 1.0 - CLAIM_LEVEL


def at_least_as_steep(kernel: Matern, slope: float) -> Matern:
    """Return a Matérn 3/2 kernel whose heights 1 m apart differ by `slope` or more a priori.

    The standard deviation of a small climb is about √3·σ/ℓ per metre. Where it is too small, the
    kernel gets a longer length ℓ and keeps the roughness σ²/ℓ³.
    """
    if 3.0 * kernel.variance >= (slope * kernel.length) ** 2:
        return kernel
    length = slope * slope * kernel.length**3 / (3.0 * kernel.variance)
    return Matern(kernel.variance * (length / kernel.length) ** 3, length)


def explore(
    ground: Ground,
    start: int,
    kernel: Matern | None,
    *,
    measurements: int = MEASUREMENTS,
    delta: float = RUN_LEVEL,
) -> Outing:
    """Run ours from a start, with a kernel or, if None, with one fitted to the measurements."""
    began = time.process_time()
    run = OurExplorer(ground, start, kernel, delta)
    for _ in range(2 * measurements):  # an outing with an unsafe move may end without measuring
        if run.measurements == measurements or not run.step():
            break
    score = ground.score(start, *run.claims())
    seconds = time.process_time() - began
    counts = run.unsafe, score.false_claims, run.measurements, run.moves
    return Outing(score.coverage, *counts, 1.0 - delta - run.left, seconds)


def compare(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the row of one method from one start; a task of the study."""
    ground = read_ground(cell["map"])
    start, count = int(cell["start"]), int(cell["measurements"])
    if cell["method"] == METHODS[0]:
        found = safemdp_peer.explore_as_peer(ground, start, measurements=count)
    else:
        kernel = safemdp_peer.KERNEL if cell["method"] == METHODS[1] else None
        found = explore(ground, start, kernel, measurements=count, delta=cell["delta"])
    return asdict(found)


def by_start(rows: Sequence[dict[str, Any]], columns: int) -> list[dict[str, Any]]:
    """Return a table row for each start: coverage and unsafe moves of each method."""
    table: dict[int, dict[str, Any]] = {}
    for row in rows:
        place = "({}, {})".format(*divmod(int(row["start"]), columns))
        entry = table.setdefault(row["start"], {"start": place})
        entry[f"coverage, {row['method']}"] = row["coverage"]
        entry[f"unsafe, {row['method']}"] = row["unsafe"]
    return list(table.values())


def summary(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a table row for each method: medians and sums over the starts."""
    found = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        risk = float(np.sum([row["risk"] for row in mine])) if method != METHODS[0] else None
        found.append(
            {
                "method": method,
                "starts": len(mine),
                "coverage (median)": float(np.median([row["coverage"] for row in mine])),
                "unsafe moves": sum(row["unsafe"] for row in mine),
                "unsafe moves allowed": risk,
                "false claims": sum(row["false_claims"] for row in mine),
                "seconds (median)": float(np.median([row["seconds"] for row in mine])),
            }
        )
    return found
