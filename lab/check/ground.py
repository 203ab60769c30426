"""Checks that the exported path of a run keeps the vehicle's limits on the given terrain model.

The check shares no code with the planner. It follows the line of ``path.geojson`` in steps of a
fraction of a pixel. Heights are interpolated linearly from the raster. At every place of the line:

- **Under the wheels**: if the middle of the vehicle is at the place and its heading is along the
  line, the slopes from rear to front and from side to side are within the limits.
- **Along the path**: between two places that are a wheelbase apart along the line, also around a
  turn, the slopes up and down are within the limits. The planner does not require this. It follows
  from its limits if a wheelbase has at most two pixels.
- **Obstacles**: no wheel is on an obstacle (random rocks as a raster, or random polygons) or in an
  area to keep out of.

Missing data under a wheel break the first two rules. A path that stays in one place has no slope.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.ndimage import binary_dilation, map_coordinates
from shapely import MultiPolygon, Polygon, contains_xy, convex_hull, union_all

from homeward.arrays import BoolArray, FloatArray
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.terrain import elevation_of
from homeward.runs import Run
from homeward.runs.config import checked
from homeward.terrain.elevation import Elevation

Closed = Callable[[FloatArray], BoolArray]

STEP = 0.23  # distance between two places that are checked, in pixels
TOLERANCE = 1e-6  # largest excess of a slope over its limit, as a tangent, that counts as rounding


LIMITS = {"climb": 20.0, "descend": 30.0, "roll": 20.0}  # degrees up, down and aside of the vehicle


@dataclass(frozen=True, slots=True)
class Driven:
    """Numbers of places of a path that break a limit, and its steepest slopes in degrees."""

    places: int  # number of checked places
    beyond: int  # slopes under the wheels beyond a limit
    along: int  # slopes over a wheelbase along the path beyond a limit
    missing: int  # slopes with missing data
    closed: int  # wheels on obstacles or in areas to keep out of
    up: float
    down: float
    aside: float


def follow(
    line: FloatArray,
    heights: FloatArray,
    pixel: float,
    limits: tuple[float, float, float],
    wheelbase: float,
    closed: Closed | None = None,
) -> Driven:
    """Check a line [n, 2] of rows and columns, where the centre of a pixel has whole numbers.

    ``heights`` [rows, columns] are in m, NaN for no data; ``limits`` are the steepest slopes up,
    down and aside in degrees; ``wheelbase`` and ``pixel`` are in m. ``closed`` returns the mask of
    the points [2, m] that no wheel may touch.
    """
    length = pixel * np.hypot(*np.diff(line, axis=0).T)
    line, length = line[np.r_[True, length > 0.0]], length[length > 0.0]
    if not len(length):
        return Driven(0, 0, 0, 0, 0, 0.0, 0.0, 0.0)
    at = np.r_[0.0, np.cumsum(length)]
    places = np.arange(0.0, at[-1], STEP * pixel)
    segment = np.minimum(np.searchsorted(at, places, side="right") - 1, len(length) - 1)
    heading = (np.diff(line, axis=0) * (pixel / length)[:, None])[segment].T
    aside = np.stack([heading[1], -heading[0]])
    here, half = _along(line, at, places), 0.5 * wheelbase / pixel

    lost = np.isnan(heights)
    ground, share = np.where(lost, 0.0, heights), lost.astype(np.float64)

    def height(where: FloatArray) -> FloatArray:
        found: FloatArray = map_coordinates(ground, where, order=1, cval=np.nan, prefilter=False)
        missing = map_coordinates(share, where, order=1, cval=1.0, prefilter=False)
        return np.where(missing > TOLERANCE, np.nan, found)

    front, rear, left, right = (here + half * way for way in (heading, -heading, aside, -aside))
    pitch = (height(front) - height(rear)) / wheelbase
    roll = np.abs(height(left) - height(right)) / wheelbase
    wheels = np.concatenate([here, front, rear, left, right], axis=1)
    early = places[places <= at[-1] - wheelbase]
    rise = height(_along(line, at, early + wheelbase)) - height(_along(line, at, early))
    rises = rise / wheelbase
    up, down, side = (np.tan(np.radians(limit)) + TOLERANCE for limit in limits)
    ahead = np.r_[pitch, rises]
    return Driven(
        len(places),
        int((pitch > up).sum() + (pitch < -down).sum() + (roll > side).sum()),
        int((rises > up).sum() + (rises < -down).sum()),
        int(np.isnan(ahead).sum() + np.isnan(roll).sum()),
        0 if closed is None else int(closed(wheels).sum()),
        *(
            float(np.degrees(np.arctan(np.nanmax(slope, initial=0.0))))
            for slope in (ahead, -ahead, roll)
        ),
    )


def _along(line: FloatArray, at: FloatArray, places: FloatArray) -> FloatArray:
    """Return the points [2, m] at some distances along a line."""
    return np.stack([np.interp(places, at, line[:, axis]) for axis in range(2)])


def close(
    elevation: Elevation, kind: str, folder: Path, rng: np.random.Generator
) -> tuple[dict[str, str], Closed]:
    """Write files of random obstacles and areas to keep out of.

    The obstacles are rocks in a raster or, for `kind` "polygons", polygons. Return the keys of a
    rover's configuration, and a function that returns the mask of forbidden points. It takes points
    [2, m] in rows and columns, where the centre of a pixel has whole numbers.
    """
    (rows, columns), (a, b, c, d, e, f) = elevation.heights.shape, elevation.transform

    def to_map(row: FloatArray, column: FloatArray) -> tuple[FloatArray, FloatArray]:
        return a * (column + 0.5) + b * (row + 0.5) + c, d * (column + 0.5) + e * (row + 0.5) + f

    def polygons(count: int, radius: float, file: Path) -> MultiPolygon:
        found = []
        for centre in rng.uniform((0, 0), (rows, columns), (count, 2)):
            corners = centre + rng.uniform(-radius, radius, (7, 2))
            found.append(convex_hull(Polygon(np.stack(to_map(*corners.T), axis=1))))
        rings = [[[list(point) for point in hull.exterior.coords]] for hull in found]
        file.write_text(json.dumps({"type": "MultiPolygon", "coordinates": rings}))
        return union_all(found)

    out = polygons(4, 0.06 * min(rows, columns), folder / "out.geojson")
    rocks = np.zeros((rows, columns), dtype=bool)
    if kind == "polygons":
        file = folder / "rocks.geojson"
        out = union_all([out, polygons(rows * columns // 500, 1.5, file)])
    else:
        file = folder / "rocks.npy"
        rocks = binary_dilation(rng.random((rows, columns)) < 0.002)
        np.save(file, rocks.astype(np.float32))

    def closed(points: FloatArray) -> BoolArray:
        row, column = (np.rint(axis).astype(int) for axis in points)
        found: BoolArray = contains_xy(out, *to_map(*points))
        found |= rocks[row.clip(0, rows - 1), column.clip(0, columns - 1)]
        return found

    return {"keep_out": str(folder / "out.geojson"), "obstacles": str(file)}, closed


def explore(
    terrain: str, cell_pixels: int, ground: str, steps: int, seed: int, **more: Any
) -> dict[str, Any]:
    """Explore a terrain with the default explorer, and follow its exported path.

    ``terrain`` is a raster or "mars N" for synthetic Mars with random seed N; a cell has
    ``cell_pixels`` along each side. ``ground`` is "driven", "paper", or "rocks" or "polygons" for
    driven ground with such obstacles and areas to keep out of. The same limits of a real vehicle
    hold on all of them.
    """
    config: dict[str, Any] = {"seed": seed, "limit": steps, **LIMITS, **more}
    config["ground"] = "paper" if ground == "paper" else "driven"
    pixel = 1.0 if terrain.endswith(".npy") else None
    if terrain.startswith("mars "):
        config |= {"terrain_seed": int(terrain.split()[1]), "rows": 300, "columns": 300}
    else:
        config |= {"terrain": terrain, "pixel": pixel}
    if ground == "paper":
        del config["roll"]
    given = checked(RoverConfig, config)
    elevation = elevation_of(given)
    side, closed = max(elevation.pixel), None
    config["cell"], config["sensor_range"] = cell_pixels * side, 5 * cell_pixels * side
    with TemporaryDirectory() as folder:
        if ground in ("rocks", "polygons"):
            rng = np.random.default_rng([seed, cell_pixels])
            files, closed = close(elevation, ground, Path(folder), rng)
            config |= files
        run = Run.create(Path(folder) / "run", "rover", config)
        run.resume()
        path = json.loads((run.directory / "path.geojson").read_text())
        facts = json.loads((run.directory / "summary.json").read_text())
    a, b, c, d, e, f = elevation.transform
    inverse = np.linalg.inv(np.array([[a, b, c], [d, e, f], [0.0, 0.0, 1.0]]))
    points = np.array(path["features"][0]["geometry"]["coordinates"])
    column, row, _ = inverse @ np.c_[points, np.ones(len(points))].T
    line = np.c_[row, column] - 0.5
    limits = LIMITS["climb"], LIMITS["descend"], LIMITS["roll"]
    base = max(2.0, side)
    found = follow(line, elevation.heights, side, limits, base, closed)
    return {
        "terrain": Path(terrain).name,
        "cell": cell_pixels,
        "ground": ground,
        "steps": facts["steps"],
        "cells": facts["cells_visited"],
        "open": facts["open_cells"],
        "stranded": facts["stranded"],
        **asdict(found),
    }
