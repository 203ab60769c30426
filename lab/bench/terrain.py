"""The terrain of the benchmarks: synthetic Mars in cells of 20 m.

The belief is the paper's prior. The true heights are those of the terrain model at the centres of
the cells plus its error. A larger map covers more terrain, with larger pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import isqrt

import numpy as np

from homeward.arrays import FloatArray
from homeward.beliefs import Sensor, TerrainBelief
from homeward.kinds.rover.world import Rover, true_heights
from homeward.terrain import synthetic_mars, to_cells

CELL = 20.0  # m
ERROR = 2.0**-4  # m², the variance of the terrain model's error
MAX_CELL_PIXELS = 20  # maximum number of pixels of 1 m along a cell
PIXELS = 4_000_000  # approximate number of pixels of one terrain
SENSOR = Sensor()


@lru_cache(maxsize=2)
def mars(rows: int, columns: int, seed: int) -> tuple[TerrainBelief, FloatArray]:
    """Return a belief about a map of rows × columns cells, and its true heights [S]."""
    along = max(1, min(MAX_CELL_PIXELS, isqrt(PIXELS // (rows * columns))))
    ground = synthetic_mars(seed, rows * along, columns * along, CELL / along)
    cells = to_cells(ground, CELL, error=ERROR)
    belief = TerrainBelief(cells.shape, cells.mean.ravel(), cells.variance.ravel(), cells.size)
    return belief, true_heights(cells.centre, ERROR, seed)


def set_out(shape: tuple[int, int], seed: int) -> tuple[TerrainBelief, Rover]:
    """Return the belief after a first look from the middle of a map, and the rover."""
    belief, truth = mars(*shape, seed)
    rover = Rover(belief, truth, (shape[0] // 2) * shape[1] + shape[1] // 2, SENSOR, seed)
    return belief.update(rover.look()), rover


def quartiles(seconds: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, the lower and the upper quartile."""
    low, middle, high = np.quantile(seconds, [0.25, 0.5, 0.75]).tolist()
    return middle, low, high
