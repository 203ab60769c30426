"""The benchmarks' terrain: a synthetic height field, a belief about it, and a rover's sensor.

What is believed is a random relief with an error of a fraction of a metre to a metre; the truth is
drawn from that belief.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from homeward.beliefs import Sensor
from homeward.worlds.relief import draw_belief

if TYPE_CHECKING:
    from homeward.arrays import FloatArray
    from homeward.beliefs import TerrainBelief

SENSOR = Sensor(range=200.0)
"""The paper's, but not over the whole map."""


def synthetic_belief(rows: int, columns: int, seed: int) -> tuple[TerrainBelief, FloatArray]:
    """Make a belief about a random field and draw the true heights [S] from it."""
    rng = np.random.default_rng(seed)
    belief = draw_belief((rows, columns), rng)
    return belief, rng.normal(belief.height, np.sqrt(belief.variance))


def fresh(belief: TerrainBelief) -> TerrainBelief:
    """Give the same belief without anything computed from it, for a cold start."""
    return replace(belief)
