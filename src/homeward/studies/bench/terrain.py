"""The benchmarks' terrain: a synthetic height field, a belief about it, and a rover on it.

Relief on several scales, rougher than the rover's 5° in places, so that going down is easy and
coming back is not. What is believed is the field with an error of a fraction of a metre to a metre;
the truth is drawn from that belief. The rover measures every cell within reach, the nearer the
better, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.signal import fftconvolve

from homeward.beliefs.terrain import STEPS, Heights, TerrainBelief

if TYPE_CHECKING:
    from homeward.arrays import FloatArray

CELL = 20.0  # m
REACH = 200.0  # m, how far the rover sees
RELIEF = ((20.0, 25.0), (8.0, 12.0), (3.0, 4.0), (1.2, 1.0))  # cells across, m high


def measurement_variance(distance: FloatArray) -> FloatArray:
    """Give the paper's v(d) = 1e-6 (d + 1 m)², in m²."""
    return 1e-6 * (distance + 1.0) ** 2


def synthetic_belief(rows: int, columns: int, seed: int) -> tuple[TerrainBelief, FloatArray]:
    """Make a belief about a random field and draw the true heights [S] from it."""
    rng = np.random.default_rng(seed)
    field = np.zeros((rows, columns))
    for across, high in RELIEF:
        part = gaussian_filter(rng.standard_normal((rows, columns)), across, mode="reflect")
        field += high * part / part.std()
    deviation = 0.25 + 0.5 * rng.random(rows * columns)
    belief = TerrainBelief((rows, columns), field.ravel(), deviation**2 + 2.0**-4, CELL)
    truth = rng.normal(belief.height, np.sqrt(belief.variance))
    return belief, truth


@dataclass(frozen=True, slots=True, eq=False)
class InformationBonus:
    """ξ = Σ Var[H]/v(d) over the cells in reach, from a belief about terrain; once per belief."""

    reach: float = REACH

    def __call__(self, belief: TerrainBelief) -> FloatArray:
        """Give ξ[S, A], the same for every action."""
        span = int(self.reach // belief.cell)
        down, right = np.mgrid[-span : span + 1, -span : span + 1]
        distance = belief.cell * np.hypot(down, right)
        kernel = np.where(distance <= self.reach, 1.0 / measurement_variance(distance), 0.0)
        spread = fftconvolve(belief.variance.reshape(belief.shape), kernel, mode="same").ravel()
        return np.repeat(np.maximum(spread, 0.0)[:, None], len(STEPS), axis=1)


class Rover:
    """The world: true heights, where the rover is, and what it measures from there."""

    def __init__(self, belief: TerrainBelief, truth: FloatArray, state: int, seed: int) -> None:
        self.state, self.ended = state, False
        self._belief = belief
        self._truth = truth
        self._works = belief.model_of(truth)
        self._rng = np.random.default_rng(seed)

    def look(self) -> Heights:
        """Measure every cell in reach."""
        rows, columns = self._belief.shape
        span = int(REACH // CELL)
        row, column = divmod(self.state, columns)
        near = np.mgrid[
            max(0, row - span) : min(rows, row + span + 1),
            max(0, column - span) : min(columns, column + span + 1),
        ].reshape(2, -1)
        distance = CELL * np.hypot(near[0] - row, near[1] - column)
        seen = distance <= REACH
        cells = (near[0] * columns + near[1])[seen]
        variance = measurement_variance(distance[seen])
        return Heights(cells, self._rng.normal(self._truth[cells], np.sqrt(variance)), variance)

    def act(self, action: int) -> Heights:
        """Try to move, and measure."""
        if self._works.success[self.state, action] > 0.5:
            self.state = int(self._works.dest[self.state, action])
        return self.look()


def fresh(belief: TerrainBelief) -> TerrainBelief:
    """Give the same belief without anything computed from it, for a cold start."""
    return replace(belief)
