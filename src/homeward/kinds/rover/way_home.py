"""The way home from any step of a rover's run, and the probability that it works.

The way follows the return policy with the largest lower bound on the probability of reaching the
start or the bases, given all that was measured. The bound uses our correction for every explorer,
so that explorers can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs.corrections import returning_correction
from homeward.beliefs.heights import SlopeBelief
from homeward.errors import InvalidInputError
from homeward.files import replace_file
from homeward.kinds.outcome import homes_of
from homeward.kinds.promises import place_of, surely
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import cells_of
from homeward.kinds.rover.summary import no_degrees
from homeward.kinds.rover.terrain import crossings_of
from homeward.planning.promise import RunState
from homeward.replay import Replay
from homeward.runs import Run
from homeward.runs.config import checked
from homeward.runs.log import Record
from homeward.solvers import solve_return
from homeward.terrain import Cells
from homeward.terrain.elevation import to_map
from homeward.terrain.gdal import has_degrees
from homeward.terrain.writing import collection_of, feature, route_gpx, route_kml, write_geojson
from homeward.words import floored


class WaysHome(NamedTuple):
    """Ways home from a state of a run; if several homes are required, one way to each."""

    probability: FloatArray  # [S] proven lower bound of a way home from each cell
    ways: list[tuple[list[int], float]]  # cells from the state to a home, and the proven bound


class Line(NamedTuple):
    """A path over cells as a line on the ground."""

    corners: FloatArray  # [n, 2] row and column, in cells
    height: FloatArray  # [n] m, of the terrain model
    step: IntArray  # [n] step that leads to the corner


def ways_home(
    config: RoverConfig,
    belief: SlopeBelief,
    start: int,
    state: int,
    run: RunState | None = None,
    *,
    refuted: bool = False,
) -> WaysHome:
    """Return the ways home from a state of a run; homes without a proven way are left out.

    If the run or the return is limited, the ways are those that the `run` relies on, since they
    keep the limits. If the belief is `refuted`, all probabilities away from home are 0, and the
    ways are those that are best supported by what was driven.
    """
    model = belief.mean()
    correction = returning_correction(model.dest, model.success)
    probability, ways = np.ones(len(belief.height)), []
    homes = homes_of(config, start, belief.shape[1])
    for home in homes:
        if refuted:
            probability = np.where(np.isin(np.arange(len(probability)), home), probability, 0.0)
            continue
        solution = solve_return(model, correction, np.array(home))
        probability = np.minimum(probability, solution.value)
        if solution.value[state] > 0.0:
            way = [state]
            while way[-1] not in home:
                way.append(int(model.dest[way[-1], solution.policy[way[-1]]]))
            ways.append((way, float(solution.value[state])))
    is_limited = bool(config.run_limits()) or config.back_within is not None
    if run is not None and (is_limited or refuted):
        ways, blocked = [], belief.blocked_probability()
        # The promises with the limits are the last ones, in the order of the homes.
        for home, promise in zip(homes, run.promises[-len(homes) :], strict=True):
            way, risk = [state], 0.0
            while way[-1] not in home and promise.action(way[-1]) >= 0:
                edge = way[-1], promise.action(way[-1])
                risk += float(blocked[edge])
                way.append(int(model.dest[edge]))
            if way[-1] in home and (risk < 1.0 or refuted):
                ways.append((way, 0.0 if refuted else 1.0 - risk))
    return WaysHome(probability, ways)


def line_of(config: RoverConfig, path: Sequence[int]) -> Line:
    """Return a path over cells as the line that is driven; with ground "paper", through centres."""
    cells, crossings = cells_of(config), crossings_of(config)
    if crossings is None:
        states = np.asarray(path)
        corners = np.column_stack(np.divmod(states, cells.shape[1])) + 0.5
        return Line(corners, cells.centre.ravel()[states], np.arange(len(states)))
    pixels, step = crossings.route(path)
    row, column = pixels.astype(np.int64).T
    return Line(pixels / crossings.sides, crossings.heights[row, column], step)


def on_map(config: RoverConfig, line: Line) -> list[list[float]]:
    """Return map coordinates and height in m [n, 3] of each corner; a single corner is repeated."""
    transform = cells_of(config).transform
    places = [
        [*to_map(transform, column, row), height]
        for (row, column), height in zip(line.corners.tolist(), line.height.tolist(), strict=True)
    ]
    return places if len(places) > 1 else places * 2


def write_ways(run: Run, step: int | None, out: Path) -> int:
    """Write the ways home after a step of a run, or after every step, as GeoJSON, GPX or KML.

    Return the number of ways. A way depends only on the measurements up to its step.
    """
    replay = Replay(run.directory)
    config = checked(RoverConfig, run.config, str(run.directory / "config.json"))
    cells, is_geojson = cells_of(config), out.suffix.lower() == ".geojson"
    if not is_geojson and not has_degrees(cells.crs):
        raise InvalidInputError(f"{out}: {no_degrees(cells)}; GeoJSON is in map coordinates")
    features: list[dict[str, Any]] = []
    routes: list[tuple[str, list[list[float]]]] = []
    for number in range(len(replay.log) + 1) if step is None else (step,):
        moment, decisions = replay.at(number), replay.decisions
        run_state = None if decisions is None else decisions.kept.at(number)
        assert isinstance(moment.belief, SlopeBelief)
        about_it = config, moment.belief, moment.start, moment.state, run_state
        ways = ways_home(*about_it, refuted=moment.refuted)
        features += way_features(config, ways, step=number)
        routes += [(f"step {number}: {about}", line) for about, line in routes_home(config, ways)]
    if is_geojson:
        write_geojson(out, collection_of(cells, features))
    else:
        replace_file(out, routes_text(routes, cells, out).encode())
    return len(routes)


def way_features(config: RoverConfig, ways: WaysHome, **about: Any) -> list[dict[str, Any]]:
    """Return the ways home as GeoJSON features with the additional properties `about`."""
    columns = cells_of(config).shape[1]
    features = []
    for way, probability in ways.ways:
        row, column = divmod(way[-1], columns)
        own = {"probability": probability, "moves": len(way) - 1, "row": row, "column": column}
        line = on_map(config, line_of(config, way))
        features.append(feature("way home", "LineString", line, {**about, **own}))
    return features


def routes_home(config: RoverConfig, ways: WaysHome) -> list[tuple[str, list[list[float]]]]:
    """Return a description of each way home, and its map coordinates and heights [n, 3]."""
    place = place_of(config)
    return [
        (
            f"a way back to {place} {surely(float(floored(p))) if p > 0.0 else 'without a proof'}",
            on_map(config, line_of(config, way)),
        )
        for way, p in ways.ways
    ]


def routes_text(
    routes: Sequence[tuple[str, list[list[float]]]], cells: Cells, file: str | Path
) -> str:
    """Return routes (description, coordinates [n, 3]) as GPX or KML, by the suffix of `file`."""
    assert cells.crs is not None
    write = route_gpx if str(file).lower().endswith(".gpx") else route_kml
    return write(routes, f"{cells.name}: {Path(file).stem.replace('_', ' ')}", cells.crs)


def points_geojson(
    config: RoverConfig, path: Sequence[int], records: Iterable[Record]
) -> dict[str, Any]:
    """Return the corners of a path as GeoJSON points with their height, step, bound and gain.

    ``bound`` is the lowest bound that the plan of the step proves. ``gain`` is the plan's expected
    gain per step in nats; with Algorithm 1, the value of the plan. At the start both are null.
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
    return collection_of(cells_of(config), features)
