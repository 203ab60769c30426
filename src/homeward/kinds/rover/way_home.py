"""The way home from the end of a rover's run, and how surely each cell has one.

The way follows the return policy with the largest lower bound on the probability of reaching the
start or the bases, given all that was measured. The bound uses our correction for every explorer,
so that explorers can be compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homeward.beliefs import corrections_of
from homeward.beliefs.corrections import Correction
from homeward.kinds.outcome import homes_of
from homeward.kinds.rover.kind import cells_of
from homeward.kinds.rover.terrain import crossings_of
from homeward.solvers import solve_return
from homeward.terrain.elevation import to_map
from homeward.terrain.writing import crs_member, feature

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.beliefs.heights import SlopeBelief
    from homeward.kinds.rover.config import RoverConfig
    from homeward.kinds.rover.world import Rover
    from homeward.runs.log import Record


class WaysHome(NamedTuple):
    """Ways from the end of a run; with several homes to reach, one to each."""

    probability: FloatArray  # [S] proven lower bound; with several homes the lowest
    ways: list[tuple[list[int], float]]  # cells from the end to a home, and the proven bound


class Line(NamedTuple):
    """A path over cells as a line on the ground."""

    corners: FloatArray  # [n, 2] row and column, in cells
    height: FloatArray  # [n] m, of the terrain model
    step: IntArray  # [n] step that leads to the corner


def ways_home(config: RoverConfig, belief: SlopeBelief, world: Rover) -> WaysHome:
    """Return the ways home from the current state; a home without a proven way has none."""
    model = belief.mean()
    corrections = corrections_of(belief, model, config.discount, Correction.MOVES)
    probability, ways = np.ones(len(belief.height)), []
    for home in homes_of(config, world.start, belief.shape[1]):
        found = solve_return(model, corrections.returning, np.array(home))
        probability = np.minimum(probability, found.value)
        if found.value[world.state] > 0.0:
            way = [world.state]
            while way[-1] not in home:
                way.append(int(model.dest[way[-1], found.policy[way[-1]]]))
            ways.append((way, float(found.value[world.state])))
    return WaysHome(probability, ways)


def line_of(config: RoverConfig, path: Sequence[int]) -> Line:
    """Return a path along the ways that are driven, or from centre to centre on paper ground."""
    cells, crossings = cells_of(config), crossings_of(config)
    if crossings is None:
        states = np.asarray(path)
        corners = np.column_stack(np.divmod(states, cells.shape[1])) + 0.5
        return Line(corners, cells.centre.ravel()[states], np.arange(len(states)))
    pixels, step = crossings.route(path)
    row, column = pixels.astype(np.int64).T
    return Line(pixels / crossings.sides, crossings.heights[row, column], step)


def on_map(config: RoverConfig, line: Line) -> list[list[float]]:
    """Return the map coordinates [n, 3] (x, y and the height in m) of a line, of 2 corners or more.

    A line of a single corner has it twice.
    """
    transform = cells_of(config).transform
    places = [
        [*to_map(transform, column, row), height]
        for (row, column), height in zip(line.corners.tolist(), line.height.tolist(), strict=True)
    ]
    return places if len(places) > 1 else places * 2


def ways_geojson(config: RoverConfig, ways: WaysHome) -> dict[str, Any]:
    """Return the ways home as a GeoJSON FeatureCollection."""
    columns = cells_of(config).shape[1]
    features = []
    for way, probability in ways.ways:
        row, column = divmod(way[-1], columns)
        about = {"probability": probability, "moves": len(way) - 1, "row": row, "column": column}
        line = on_map(config, line_of(config, way))
        features.append(feature("way home", "LineString", line, about))
    return _collection(config, features)


def points_geojson(
    config: RoverConfig, path: Sequence[int], records: Iterable[Record]
) -> dict[str, Any]:
    """Return the corners of a path as GeoJSON points with their height, step, bound and gain.

    ``bound`` is the lowest of the bounds that the step's plan proves, and ``gain`` what it expects
    to learn per step, in nats; with Algorithm 1 the value of the plan. At the start both are null.
    """
    plans: list[tuple[float | None, float | None]] = [(None, None)]
    for record in records:
        bound = min(record.kept_bounds, default=None)
        plans.append((bound, record.value if np.isfinite(record.value) else None))
    line = line_of(config, path)
    features = []
    for place, step in zip(on_map(config, line), line.step.tolist(), strict=False):
        bound, gain = plans[step]
        about = {"step": step, "z": place[2], "bound": bound, "gain": gain}
        features.append(feature("corner", "Point", place, about))
    return _collection(config, features)


def _collection(config: RoverConfig, features: list[Any]) -> dict[str, Any]:
    cells = cells_of(config)
    return {
        "type": "FeatureCollection",
        "name": cells.name,
        "crs": crs_member(cells),
        "features": features,
    }
