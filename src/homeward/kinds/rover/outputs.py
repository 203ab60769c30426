"""Output files of a rover's run: its path, its map, and a summary for mission planners.

All files are in the run's folder, and in the map coordinates of the terrain unless stated:

- ``path.geojson``: the path, its start and its end.
- ``path_points.geojson``: the corners of the path with their height, step, bound and gain.
- ``way_home.geojson``: the way home from the end, with the proven probability.
- ``terrain.tif``: heights and their standard deviations in m, as GeoTIFF.
- ``terrain.qml``: the style of ``terrain.tif`` for QGIS.
- ``way_home_probability.tif``: the proven probability of a way home from each cell.
- ``way_home.gpx``, ``way_home.kml``, ``path.gpx`` and ``path.kml`` in longitudes and latitudes, if
  the terrain has them. These and the GeoTIFF files need rasterio.
- ``targets.geojson``: the targets, when each was reached, or why not, if there were any.
- ``keep_in.geojson``, ``keep_out.geojson``: the areas to keep in and out of, if there were any.
- ``summary.md`` for people and ``summary.json`` for programs: the results.

All but the summaries are identical, byte for byte, however often the run was stopped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from homeward.arrays import BoolArray, narrowed
from homeward.beliefs.heights import SHARP, SlopeBelief, entropy_reduction
from homeward.errors import MissingExtraError
from homeward.files import replace_file, replace_json
from homeward.kinds.outcome import (
    FACTS,
    account,
    conflict_at_end,
    homes_of,
    is_stranded,
    trapped_at,
)
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import area_of, cells_of, keep_out_of, prior_of
from homeward.kinds.rover.summary import (
    AREA,
    BANDS,
    CHANCES,
    GPX,
    GROUND_COLOURS,
    OUT,
    PATH,
    PATH_GPX,
    PATH_KML,
    POINTS,
    STYLE,
    SUMMARY,
    TARGETS,
    TERRAIN,
    WAY,
    WAY_KML,
    cautions_of,
    summary_of,
    way_of,
)
from homeward.kinds.rover.targets import target_facts, target_features
from homeward.kinds.rover.terrain import SEEN_DEVIATION, crossings_of
from homeward.kinds.rover.way_home import (
    line_of,
    on_map,
    points_geojson,
    routes_home,
    routes_text,
    way_features,
    ways_home,
)
from homeward.kinds.rover.world import Rover
from homeward.planning.ends import End
from homeward.runs.kind import Ended
from homeward.runs.log import Record
from homeward.runs.manifest import Manifest
from homeward.terrain import path_geojson, write_geojson, write_heights
from homeward.terrain.gdal import has_degrees
from homeward.terrain.polygons import area_geojson
from homeward.terrain.writing import collection_of, raster_style


def write_products(ended: Ended) -> None:
    """Write all outputs into the run's folder."""
    config, world = ended.config, ended.setup.world
    assert isinstance(config, RoverConfig)
    assert isinstance(ended.belief, SlopeBelief)
    cells = cells_of(config)
    path = path_of(ended.records(), world.start)  # type: ignore[attr-defined]
    facts = facts_of(config, ended.belief, world, ended.records, ended.manifest)  # type: ignore[arg-type]
    facts["conflict"] = conflict_at_end(config, ended, path[0])
    facts["why"], facts["targets"] = ended.why, target_facts(ended, config, path)
    facts["levels"] = list(ended.levels)
    about = {name: facts[name] for name in ("steps", "end", "stranded", "min_bound", "distance_m")}
    level = None if config.has_no_criterion() else config.delta
    about = {"explorer": config.explorer_name, "delta": level, "seed": config.seed, **about}
    corners = None if crossings_of(config) is None else line_of(config, path).corners
    write_geojson(ended.directory / PATH, path_geojson(cells, path, about, corners))
    write_geojson(ended.directory / POINTS, points_geojson(config, path, ended.records()))
    refuted = ended.manifest.end is End.REFUTED
    ways = ways_home(config, ended.belief, path[0], world.state, ended.run_state, refuted=refuted)
    write_geojson(ended.directory / WAY, collection_of(cells, way_features(config, ways)))
    for file, area in ((AREA, area_of(config)), (OUT, keep_out_of(config))):
        if area is not None:
            part = file.removesuffix(".geojson").replace("_", " ")
            write_geojson(ended.directory / file, area_geojson(area, cells, part))
    if facts["targets"]:
        features = target_features(facts["targets"])
        write_geojson(ended.directory / TARGETS, collection_of(cells, features))
    missing = None
    known = np.stack([ended.belief.height, np.sqrt(ended.belief.variance)])
    try:
        write_heights(ended.directory / TERRAIN, known.reshape(2, *cells.shape), cells, BANDS)
        heights = known[0][~ended.belief.blocked]
        style = raster_style(float(heights.min()), float(heights.max()), GROUND_COLOURS)
        replace_file(ended.directory / STYLE, style.encode())
        chances, band = ways.probability.reshape(cells.shape), f"probability of {way_of(config)}"
        write_heights(ended.directory / CHANCES, narrowed(chances), cells, (band,), "")
        if has_degrees(cells.crs):
            home, line = routes_home(config, ways), on_map(config, line_of(config, path))
            driven = [("path", line)]
            for file, routes in (
                *((GPX, home), (WAY_KML, home)),
                *((PATH_GPX, driven), (PATH_KML, driven)),
            ):
                replace_file(ended.directory / file, routes_text(routes, cells, file).encode())
    except MissingExtraError:
        missing = (
            f"There is no {TERRAIN}, {STYLE}, {CHANCES}, {GPX} or KML, since rasterio is not "
            "installed: pip install 'homeward[terrain]' brings it."
        )
    replace_json(ended.directory / FACTS, {**facts, "missing": missing})
    text = summary_of(config, cells, facts, ended.manifest, ended.directory, missing)
    replace_file(ended.directory / SUMMARY, text.encode())


def path_of(records: Iterable[Record], start: int) -> list[int]:
    """Return the cells of a rover's path, from start to end."""
    return [start, *(record.next_state for record in records)]


def is_known(belief: SlopeBelief, deviation: float) -> BoolArray:
    """Return, for each open cell, whether its standard deviation is at most `deviation` m."""
    return np.asarray(belief.variance[~belief.blocked] * deviation**-2.0 <= 1.0)


def facts_of(
    config: RoverConfig,
    belief: SlopeBelief,
    world: Rover,
    records: Callable[[], Iterable[Record]],
    manifest: Manifest,
) -> dict[str, Any]:
    """Return the facts of a run so far, as JSON values; `write_products` adds the last four."""
    path, crossings = path_of(records(), world.start), crossings_of(config)
    homes = homes_of(config, world.start, belief.shape[1])
    home, refuted = all(world.state in each for each in homes), manifest.end is End.REFUTED
    kept = account(config, records())
    lows = [each["lowest"] for each in kept["criteria"] if each["lowest"] is not None]
    timed = [session.plan_ms for session in manifest.sessions if session.plan_ms is not None]
    return {
        "status": str(manifest.status),
        "end": manifest.end,
        "steps": len(path) - 1,
        "stranded": is_stranded(config, world.moves, path, belief.shape[1]),
        "trapped_at": trapped_at(config, world.moves, path, belief.shape[1]),
        "entropy_reduction": entropy_reduction(prior_of(config), belief),
        "cells_visited": len(set(path)),
        "seconds": round(sum(session.seconds for session in manifest.sessions), 3),
        "plan_ms_median": timed[-1] if timed else None,
        "min_bound": min(lows, default=None),
        "distance_m": distance_of(config, path),
        "steepest": None if crossings is None else list(crossings.steepest(path)),
        "used": used_of(config, records()),
        "home": home,
        "start": list(divmod(world.start, belief.shape[1])),
        "position": list(world.position),
        "return_bound": float(home) if refuted else return_bound(config, belief, world),
        "open_cells": int((~belief.blocked).sum()),
        "known_to_1cm": float(np.mean(is_known(belief, SHARP))),
        "known_to_10cm": float(np.mean(is_known(belief, SEEN_DEVIATION))),
        "goal": config.known or None,
        "known_to_goal": float(np.mean(is_known(belief, config.known))) if config.known else None,
        **kept,
        "cautions": cautions_of(config, cells_of(config), belief),
        "why": None,
        "conflict": None,
        "targets": [],
        "levels": [],
    }


def distance_of(config: RoverConfig, path: Sequence[int]) -> float:
    """Return the length in m of a path over cells; with ground "paper", from centre to centre."""
    crossings, cells = crossings_of(config), cells_of(config)
    if crossings is None:
        corners = np.column_stack(np.divmod(np.asarray(path), cells.shape[1])) * cells.size
    else:
        corners = crossings.route(path)[0] * crossings.pixel
    return float(np.hypot(*np.diff(corners, axis=0).T).sum())


def used_of(config: RoverConfig, records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return each limit of a run, its unit and the amount used, as JSON values."""
    limits = [(config.distance, "m"), (config.energy, "Wh")]
    given = [(limit, unit) for limit, unit in limits if limit is not None]
    used = [0.0] * len(given)
    for record in deque(records, maxlen=1) if given else ():
        used = record.holding["used"][0]
    return [
        {"limit": limit, "unit": unit, "used": amount}
        for (limit, unit), amount in zip(given, used, strict=True)
    ]


def return_bound(config: RoverConfig, belief: SlopeBelief, world: Rover) -> float:
    """Return a proven lower bound on the probability of a way back from the current state."""
    return float(ways_home(config, belief, world.start, world.state).probability[world.state])
