"""The benchmarks' terrain: synthetic Mars in cells of 20 m, as a rover would set out on it.

What is believed is the paper's prior; the truth is the terrain model at the cells' centres and its
own error. A larger map is larger ground, seen with coarser pixels.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING

from homeward.beliefs import Sensor, TerrainBelief
from homeward.rasters import synthetic_mars, to_cells
from homeward.worlds.rover import true_heights

if TYPE_CHECKING:
    from homeward.arrays import FloatArray

CELL = 20.0  # m
ERROR = 2.0**-4  # m², the variance of the terrain model's error
FINEST = 20
"""Pixels along a cell at most: 1 m each."""

PIXELS = 4_000_000
"""Pixels of one terrain, about."""

SENSOR = Sensor()


@lru_cache(maxsize=2)
def mars(rows: int, columns: int, seed: int) -> tuple[TerrainBelief, FloatArray]:
    """Make a belief about a map of so many cells, and its true heights [S]."""
    along = max(1, min(FINEST, isqrt(PIXELS // (rows * columns))))
    ground = synthetic_mars(seed, rows * along, columns * along, CELL / along)
    cells = to_cells(ground, CELL, error=ERROR)
    belief = TerrainBelief(cells.shape, cells.mean.ravel(), cells.variance.ravel(), cells.size)
    return belief, true_heights(cells.centre, ERROR, seed)


def fresh(belief: TerrainBelief) -> TerrainBelief:
    """Give the same belief without anything computed from it, for a cold start."""
    return replace(belief)
