"""Random hills on several scales, with slopes that a rover may be unable to climb back up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homeward.beliefs.heights import TerrainBelief

if TYPE_CHECKING:
    from homeward.arrays import FloatArray

RELIEF = ((20.0, 25.0), (8.0, 12.0), (3.0, 4.0), (1.2, 1.0))  # cells across, m high
CELL = 20.0  # m
MODEL_VARIANCE = 2.0**-4  # m², the paper's v₀: variance of a terrain model's own error


def draw_relief(shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    """Draw heights [R, C] in m: the sum of smooth noise on the scales of `RELIEF`."""
    from scipy.ndimage import gaussian_filter

    field = np.zeros(shape)
    for across, high in RELIEF:
        part = gaussian_filter(rng.standard_normal(shape), across, mode="reflect")
        field += high * (part - part.mean()) / part.std()
    return field


def draw_belief(shape: tuple[int, int], rng: np.random.Generator) -> TerrainBelief:
    """Draw a relief, and a prior on it with errors of a fraction of a metre."""
    field = draw_relief(shape, rng).ravel()
    deviation = 0.25 + 0.5 * rng.random(field.size)
    return TerrainBelief(shape, field, deviation**2 + MODEL_VARIANCE, CELL)
