"""A sample of real terrain: the elevation model that comes with Matplotlib."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from homeward.terrain.elevation import Elevation

EARTH_RADIUS = 6_371_000.0  # m, mean


def sample_terrain() -> Elevation:
    """Return the hills around Jacksboro, Tennessee: 344 x 403 pixels of about 74 m by 93 m.

    The model is on a grid of 3 arc seconds. Its pixels are treated as rectangles with the size of
    an arc second at the middle latitude on a sphere; over its 32 km the error is below half a per
    cent. Coordinates are metres from the south-west corner.
    """
    from matplotlib.cbook import get_sample_data

    data: Any
    with get_sample_data("jacksboro_fault_dem.npz") as data:  # type: ignore[union-attr]
        heights = data["elevation"].astype(np.float64)
        south, north = sorted((float(data["ymin"]), float(data["ymax"])))
        across, down = (abs(math.radians(float(data[step]))) for step in ("dx", "dy"))
    heights.flags.writeable = False
    width = EARTH_RADIUS * across * math.cos(math.radians((south + north) / 2))
    height = EARTH_RADIUS * down
    transform = (width, 0.0, 0.0, 0.0, -height, height * len(heights))
    name = "the hills around Jacksboro, Tennessee"
    return Elevation(heights, transform, None, name, is_own=True)
