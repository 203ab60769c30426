"""The sensor of a vehicle: it measures heights, nearer ones more precisely."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from homeward.arrays import FloatArray, number
from homeward.errors import InvalidProblemError


@dataclass(frozen=True, slots=True)
class Sensor:
    """Measures every height within ``range``, with the error's variance v(d) = noise·(d + offset)².

    The defaults are the paper's, whose sensor covers the whole map.

    Attributes
    ----------
    range : m; None or inf: the whole map
    noise : Variance in m² per m² of distance
    offset : m
    """

    range: float | None = None
    noise: float = 1e-6
    offset: float = 1.0

    def __post_init__(self) -> None:
        error = InvalidProblemError
        if self.range is not None:
            reach = number(self.range, "the sensor's range", error)
            if not reach >= 0.0:
                raise error(f"the sensor's range is {reach:g} m, expected >= 0")
            object.__setattr__(self, "range", None if reach == math.inf else reach)
        for name in ("noise", "offset"):
            value = number(getattr(self, name), f"the sensor's {name}", error)
            if not 0.0 < value < math.inf:
                raise error(f"the sensor's {name} is {value:g}, expected > 0")
            object.__setattr__(self, name, value)

    @property
    def reach(self) -> float:
        """Range in m; infinite for the whole map."""
        return math.inf if self.range is None else self.range

    def variance(self, distance: FloatArray | float) -> FloatArray:
        """Return v(d) in m² at distances in m."""
        away = np.asarray(distance, np.float64) + self.offset
        spread: FloatArray = self.noise * (away * away)
        return spread
