"""Comparison with SafeMDP on its own Mars task (`safemdp_task`, `safemdp_peer`).

Our explorer keeps a `CorrelatedTerrainBelief` and takes the same measurements. A move is unsafe if
it climbs more than a limit. From the joint posterior of the heights at both ends, it is safe with
probability p. An outing goes to a move, takes it and measures both its ends.

**The guarantee of a run.** An outing is charged Σ (1 − p) over the moves out and back that were
neither made nor charged before. All charges of a run sum to at most 1 − δ. Claim: under the belief,
with probability at least δ, no move that the run takes is unsafe, and all ways back that were
charged are safe. Proof: consider a run that goes on as if all its moves were safe. Its choices are
functions of the measurements alone. So a move that was charged 1 − p is unsafe with this
probability given the measurements, and the sum of all charges bounds the probability that any
charged move is unsafe. The real run is the same until its first unsafe move. ∎ The real run ends
there, because the guarantee covers nothing afterwards. If the kernel is fitted to the measurements,
the guarantee holds only if the fitted kernel is right.

**Choice.** Of the outings within the budget, and within a limit for a single outing, the explorer
takes the outing with the largest gain − price·charge. The gain is the sum of the standard
deviations in m of the two heights; a height counts only near ground that has no safe round trip
yet. A high price makes the explorer measure steep ground from where the heights are nearly known.
At first, each move of an outing is charged together with the move back. If there is no such outing,
the explorer takes an outing that is charged with any way home. If there is no such outing either,
it measures known cells again where this is free. A charged move is charged again if later
measurements make it doubtful.

**Kernel.** The explorer prefers smooth ground. So a kernel that is fitted to its measurements is
too smooth for unmeasured ground. A fitted kernel is therefore widened until the residuals of height
differences exceed 2 and 3 deviations as often as normal ones do. It also has a least roughness and
a least prior slope (`at_least_as_rough`). These constants, and those of the choice, were chosen on
SafeMDP's own map, so the study is not a held-out test of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.ndimage import binary_dilation

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs.covariance import Matern, check_calibration, fit_kernel
from homeward.beliefs.fields import CorrelatedTerrainBelief
from homeward.beliefs.observations import Heights
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

METHODS = ("safemdp", "ours, their kernel", "ours, fitted kernel")

RUN_LEVEL = 0.9  # safety level δ of a whole run: its charges sum to at most 1 − δ
CLAIM_RISK = 0.5 * math.erfc(math.sqrt(2.0))  # of a claimed move: two deviations, as in SafeMDP
TRIP_LEVEL = 0.98  # probability that a round trip is safe, in the stricter count
MAX_OUTING_RISK = 0.02  # largest charge of a single outing
PRICE = 400.0  # gain, in m of standard deviation, that justifies a charge of 1
LEAST_DEVIATION = 0.1  # standard deviation in m up to which a height counts as known
FRONTIER_REACH = 3  # largest distance in moves from an unknown cell at which a look has a gain
FRONTIER_EVERY = 5  # number of measurements after which the frontier is computed again
TRUSTED_RISK = 0.001  # risk up to which a move that was charged before stays free
ACCURACY = 1e-6  # variance in m² of measurements that our explorer assumes if it fits the kernel
FIT_NOISE = 1e-4  # variance in m² of the noise of heights that the fit of a kernel assumes
LEAST_SLOPE = 0.45  # least deviation in m of a climb over 1 m: a tenth of moves are unsafe
LEAST_ROUGHNESS = 0.0014
"""Least σ²/ℓ³ of a fitted kernel, in 1/m; it is 0.4 times that of the first kernel."""

FIRST_LENGTH = 20.0  # length scale in m until a kernel is fitted
FIRST_FIT, FIT_GROWTH = 40, 1.6  # number of measured cells at the first fit; its factor per fit
GRID_ACTIONS = (3, 5, 7, 1)  # the task's actions as those of `grid_graph`
ANY_DROP = 89.9  # slope in degrees that stands for any drop


class OurExplorer:
    """One run of our explorer; the module docstring defines its guarantee and its choices."""

    def __init__(self, ground: Ground, start: int, kernel: Matern | None, delta: float) -> None:
        self.ground, self.home, self.state = ground, start, start
        self.fits = kernel is None
        self.noise = ACCURACY if kernel is None else safemdp_peer.NOISE
        self.left = 1.0 - delta
        self.frontier: BoolArray | None = None
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
        """Return the belief of a kernel with mean height `prior`, after all measurements so far."""
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
        """Return the measurement of the heights of some cells."""
        at = np.array(cells, np.int32)
        return Heights(at, self.ground.height[at], np.full(len(at), self.noise))

    def refit(self) -> None:
        """Fit the kernel to all measurements so far; widen it if it is overconfident."""
        cells = np.array(self.measured, np.int32)
        heights, shape = self.ground.height[cells], self.ground.shape
        fit = fit_kernel(cells, heights, shape, noise=FIT_NOISE, smoothness=(1.5,))
        found = check_calibration(fit.kernel, cells, heights, shape, mean=fit.mean, noise=FIT_NOISE)
        kernel = at_least_as_rough(fit.kernel.scaled(max(1.0, found.inflation)))
        self.belief = self._belief(kernel, fit.mean)
        self.next_fit = FIT_GROWTH * len(cells)

    def risks(self) -> FloatArray:
        """Return the probability [S, 4] that each move is unsafe; infinite off the map."""
        unsafe = 1.0 - self.belief.measured_success()[:, GRID_ACTIONS]
        unsafe = np.where(self.failed | (self.ground.dest < 0), np.inf, unsafe)
        return np.where(self.made, 0.0, unsafe)

    def step(self) -> bool:
        """Make one outing; return False if the budget allows no outing."""
        if len(self.measured) >= self.next_fit:
            self.refit()
        return self._two_way() or self._loop() or self._two_way(again=True)

    def _two_way(self, *, again: bool = False) -> bool:
        """Make an outing that charges each move together with the move back, if one is affordable.

        With `again`, both ends of the measured move may be known. Return whether it was made.
        """
        risk = self.risks()
        price = self._price_of(risk + reverse_of(risk, self.ground.dest))
        out, came = least_risks(self.ground.dest, price, self.state, True)
        charge = out[:, None] + price
        target = self._best(charge, min(MAX_OUTING_RISK, self.left), again=again)
        target = self._best(charge, self.left) if target is None else target
        return self._go(target, price, came, None)

    def _loop(self) -> bool:
        """Make an outing that is charged with a way home from its end, if one is affordable."""
        dest, price = self.ground.dest, self._price_of(self.risks())
        out, came = least_risks(dest, price, self.state, True)
        back, following = least_risks(dest, price, self.home, False)
        charge = out[:, None] + price + np.where(dest >= 0, back[dest], np.inf)
        return self._go(self._best(charge, self.left), price, came, following)

    def _go(
        self,
        target: tuple[int, int] | None,
        price: FloatArray,
        came: IntArray,
        following: IntArray | None,
    ) -> bool:
        """Charge an outing to the move `target` and make it; return False if `target` is None."""
        if target is None:
            return False
        s, a = target
        way = [*way_along(self.ground.dest, came, self.state, s).tolist(), a]
        self._pay(price, way, following)
        if self._drive(way, s):
            self._measure((s, int(self.ground.dest[s, a])))
        return True

    def _price_of(self, risk: FloatArray) -> FloatArray:
        """Return the charge [S, 4] of moves: 0 if charged before, unless above `TRUSTED_RISK`."""
        return np.where(self.paid & (risk <= TRUSTED_RISK), 0.0, risk)

    def _best(
        self, charge: FloatArray, most: float, *, again: bool = False
    ) -> tuple[int, int] | None:
        """Return the best move (state, action) to measure with a `charge` [S, 4] of at most `most`.

        With `again`, both ends of the move may be known. Return None if no move is affordable.
        """
        dest, fits = self.ground.dest, charge <= most
        deviation, old = np.sqrt(self.belief.variance), self.belief.measured
        fits &= again | ~old[:, None] | ~old[dest]
        if not fits.any():
            return None
        value = np.where(self._frontier(), deviation, 0.0)
        gain = value[:, None] + value[dest]
        worth = np.where(fits, gain - PRICE * np.where(fits, charge, 0.0), -np.inf)
        s, a = np.unravel_index(int(worth.argmax()), worth.shape)
        return int(s), int(a)

    def _frontier(self) -> BoolArray:
        """Return the mask [S] of cells near uncertain ground that has no safe round trip yet."""
        if self.measurements % FRONTIER_EVERY == 0 or self.frontier is None:
            unsure = ~self.round_trips()[0] & (self.belief.variance > LEAST_DEVIATION**2)
            wide = binary_dilation(unsure.reshape(self.ground.shape), iterations=FRONTIER_REACH)
            self.frontier = wide.ravel()
        return self.frontier

    def _pay(self, price: FloatArray, way: list[int], following: IntArray | None) -> None:
        """Charge the moves of a way and its way back.

        The way back consists of the reverse moves, or of the actions `following` [S] home.
        """
        dest, state = self.ground.dest, self.state
        for a in way:
            there = int(dest[state, a])
            self.left -= float(price[state, a])
            self.paid[state, a] = True
            if following is None:
                self.paid[there, (a + 2) % 4] = True
            state = there
        while following is not None and state != self.home:
            a = int(following[state])
            self.left -= float(price[state, a])
            self.paid[state, a] = True
            state = int(dest[state, a])

    def _drive(self, way: list[int], last: int) -> bool:
        """Take moves until one is unsafe; return whether the last move was attempted."""
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
        """Measure both ends of a move; if the kernel is fitted, skip cells measured before."""
        self.measurements += 1
        old = self.belief.measured
        new = [c for c in cells if not (self.fits and old[c])]
        self.measured += [c for c in cells if not old[c]]
        if new:
            self.belief = self.belief.update(self._look(new))

    def claims(self) -> tuple[BoolArray, BoolArray]:
        """Return the masks of claimed states [S] and moves [S, 4], by SafeMDP's definition."""
        first, _ = self.ground.known(self.home)
        return self.ground.closed(self.risks() <= CLAIM_RISK, first)

    def round_trips(self) -> tuple[BoolArray, BoolArray]:
        """Return the masks of states [S] and moves [S, 4] whose round trip is safe.

        A round trip is safe if it has no unsafe move with probability at least `TRIP_LEVEL`.
        """
        dest, risk = self.ground.dest, self.risks()
        out, back = (least_risks(dest, risk, self.home, way)[0] for way in (True, False))
        around = out[:, None] + risk + np.where(dest >= 0, back[dest], np.inf)
        return out + back <= 1.0 - TRIP_LEVEL, around <= 1.0 - TRIP_LEVEL


def reverse_of(values: FloatArray, dest: IntArray) -> FloatArray:
    """Return for each move the value [S, 4] of its reverse move; infinite off the map."""
    back = np.stack([values[dest[:, a], (a + 2) % 4] for a in range(4)], axis=1)
    return np.where(dest >= 0, back, np.inf)


def at_least_as_rough(kernel: Matern) -> Matern:
    """Return a Matérn 3/2 kernel with at least `LEAST_ROUGHNESS` and `LEAST_SLOPE`.

    The roughness is σ²/ℓ³, with variance σ² and length ℓ. A small climb has a standard
    deviation of about √3·σ/ℓ per metre. If it is too small, the kernel gets a longer length and
    keeps its roughness.
    """
    length = kernel.length
    roughness = max(LEAST_ROUGHNESS, kernel.variance / length**3)
    length = max(length, LEAST_SLOPE**2 / (3.0 * roughness))
    return Matern(roughness * length**3, length)


def explore(
    ground: Ground,
    start: int,
    kernel: Matern | None,
    *,
    measurements: int = MEASUREMENTS,
    delta: float = RUN_LEVEL,
) -> Outing:
    """Run our explorer until its first unsafe move or `measurements`; return the result.

    Without a `kernel`, it fits a kernel to its measurements.
    """
    began = time.process_time()
    run = OurExplorer(ground, start, kernel, delta)
    while run.measurements < measurements and not run.unsafe and run.step():
        pass
    score, trips = (ground.score(start, *found) for found in (run.claims(), run.round_trips()))
    seconds = time.process_time() - began
    counts = run.unsafe, score.false_claims, run.measurements, run.moves
    return Outing(score.coverage, *counts, 1.0 - delta - run.left, trips.coverage, seconds)


def compare(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Run one method from one start and return its row; this is a task of the study."""
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


def summary(rows: Sequence[dict[str, Any]], own: int | None = None) -> list[dict[str, Any]]:
    """Return a table row for each method: medians and sums over the starts.

    ``own`` is SafeMDP's own start. Our runs end with their first unsafe move. With level δ for each
    of them, the expected number of unsafe moves is at most Σ (1 − δ) over the runs.
    """
    found = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        at_own = [row["coverage"] for row in mine if row["start"] == own]
        allowed = None if method == METHODS[0] else sum(1.0 - row["delta"] for row in mine)
        found.append(
            {
                "method": method,
                "starts": len(mine),
                "coverage (median)": float(np.median([row["coverage"] for row in mine])),
                "coverage (its own start)": at_own[0] if at_own else None,
                "unsafe moves": sum(row["unsafe"] for row in mine),
                "runs with one": sum(row["unsafe"] > 0 for row in mine),
                "allowed by δ": allowed,
                "false claims": sum(row["false_claims"] for row in mine),
                "seconds (median)": float(np.median([row["seconds"] for row in mine])),
            }
        )
    return found
