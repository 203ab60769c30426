"""Output files of a rover's run: its path, its map, and a summary for mission planners.

Everything is in the run's folder and in the raster's own coordinates:

- ``path.geojson``: the path, its start and its end.
- ``path_points.geojson``: the corners of the path with their height, step, bound and gain.
- ``way_home.geojson``: the way home from the end, with the proven probability.
- ``terrain.tif``: heights and their standard deviations in m, as GeoTIFF; ``terrain.qml``: its
  style for QGIS; ``way_home_probability.tif``; ``way_home.gpx``, if the terrain has a coordinate
  system. These need rasterio.
- ``keep_in.geojson``, ``keep_out.geojson``: the areas to keep in and out of, if there were any.
- ``summary.md`` for people and ``summary.json`` for programs: the results.

All but the summaries are identical, byte for byte, however often the run was stopped.
"""

from __future__ import annotations

import math
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.beliefs.fields import CorrelatedTerrainBelief
from homeward.beliefs.heights import SHARP, SlopeBelief, entropy_reduction
from homeward.errors import MissingExtraError
from homeward.files import replace_file, replace_json
from homeward.kinds.outcome import (
    account,
    conflict_at_end,
    describe_conflict,
    is_stranded,
)
from homeward.kinds.promises import place_of, promise_of, surely
from homeward.kinds.rover.config import MARS, SAMPLE, RoverConfig
from homeward.kinds.rover.correlated import text_of, warning_of
from homeward.kinds.rover.kind import area_of, cells_of, inside_of, keep_out_of, prior_of
from homeward.kinds.rover.terrain import SEEN_DEVIATION, crossings_of, pinned
from homeward.kinds.rover.way_home import (
    line_of,
    on_map,
    points_geojson,
    ways_geojson,
    ways_home,
)
from homeward.planning.plan import floored
from homeward.terrain import path_geojson, write_geojson, write_heights
from homeward.terrain.gdal import has_degrees
from homeward.terrain.polygons import area_geojson
from homeward.terrain.writing import raster_style, route_gpx
from homeward.words import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from homeward.arrays import BoolArray
    from homeward.kinds.rover.world import Rover
    from homeward.runs.kind import Ended
    from homeward.runs.log import Record
    from homeward.runs.manifest import Manifest
    from homeward.terrain import Cells

PATH, TERRAIN, SUMMARY, FACTS = "path.geojson", "terrain.tif", "summary.md", "summary.json"
POINTS, WAY, GPX = "path_points.geojson", "way_home.geojson", "way_home.gpx"
STYLE, CHANCES = "terrain.qml", "way_home_probability.tif"
AREA, OUT = "keep_in.geojson", "keep_out.geojson"
GROUND_COLOURS = ("#4f1906", "#933710", "#d0651a", "#ef9433", "#ffcb6b")
BANDS = ("height (m)", "standard deviation of the height (m)")


def write_products(ended: Ended) -> None:
    """Write all outputs into the run's folder."""
    config, world = ended.config, ended.setup.world
    assert isinstance(config, RoverConfig)
    assert isinstance(ended.belief, SlopeBelief)
    cells = cells_of(config)
    path = path_of(ended.records(), world.start)  # type: ignore[attr-defined]
    facts = facts_of(config, ended.belief, world, ended.records, ended.manifest)  # type: ignore[arg-type]
    facts["conflict"] = conflict_at_end(config, ended, world.start)  # type: ignore[attr-defined]
    facts["why"] = ended.why
    about = {name: facts[name] for name in ("steps", "end", "stranded", "min_bound", "distance_m")}
    level = None if config.has_no_criterion() else config.delta
    told = {"explorer": config.explorer, "delta": level, "seed": config.seed, **about}
    corners = None if crossings_of(config) is None else line_of(config, path).corners
    write_geojson(ended.directory / PATH, path_geojson(cells, path, told, corners))
    points = points_geojson(config, path, ended.records())
    write_geojson(ended.directory / POINTS, points)
    ways = ways_home(config, ended.belief, world)  # type: ignore[arg-type]
    write_geojson(ended.directory / WAY, ways_geojson(config, ways))
    for file, area in ((AREA, area_of(config)), (OUT, keep_out_of(config))):
        if area is not None:
            part = file.removesuffix(".geojson").replace("_", " ")
            write_geojson(ended.directory / file, area_geojson(area, cells, part))
    missing = None
    known = np.stack([ended.belief.height, np.sqrt(ended.belief.variance)])
    try:
        write_heights(ended.directory / TERRAIN, known.reshape(2, *cells.shape), cells, BANDS)
        heights = known[0][~ended.belief.blocked]
        style = raster_style(float(heights.min()), float(heights.max()), GROUND_COLOURS)
        replace_file(ended.directory / STYLE, style.encode())
        chances, band = ways.probability.reshape(cells.shape), f"probability of {_way(config)}"
        write_heights(ended.directory / CHANCES, chances, cells, (band,), "")
        if cells.crs is not None and has_degrees(cells.crs):
            routes = [
                (f"{_way(config)} {surely(float(floored(p)))}", on_map(config, line_of(config, w)))
                for w, p in ways.ways
            ]
            gpx = route_gpx(routes, f"{cells.name}: way home", cells.crs)
            replace_file(ended.directory / GPX, gpx.encode())
    except MissingExtraError:
        missing = (
            f"There is no {TERRAIN}, {STYLE}, {CHANCES} or {GPX}, since rasterio is not "
            "installed: pip install 'homeward[terrain]' brings it."
        )
    replace_json(ended.directory / FACTS, {**facts, "missing": missing})
    text = summary_of(config, cells, facts, ended.manifest, ended.directory, missing)
    replace_file(ended.directory / SUMMARY, text.encode())


def path_of(records: Iterable[Record], start: int) -> list[int]:
    """Return the cells of a rover's path, from start to end."""
    return [start, *(record.next_state for record in records)]


def is_seen(belief: SlopeBelief) -> BoolArray:
    """Return the mask [n] of open cells that are known to within `SEEN_DEVIATION`."""
    seen: BoolArray = belief.variance[~belief.blocked] <= SEEN_DEVIATION**2
    return seen


def facts_of(
    config: RoverConfig,
    belief: SlopeBelief,
    world: Rover,
    records: Callable[[], Iterable[Record]],
    manifest: Manifest,
) -> dict[str, Any]:
    """Return the facts of a run so far, as JSON values; conflicts are known only at its end."""
    path, crossings = path_of(records(), world.start), crossings_of(config)
    kept = account(config, records())
    lows = [found["lowest"] for found in kept["criteria"] if found["lowest"] is not None]
    variance = belief.variance[~belief.blocked]
    timed = [session.plan_ms for session in manifest.sessions if session.plan_ms is not None]
    return {
        "status": str(manifest.status),
        "end": manifest.end,
        "steps": len(path) - 1,
        "stranded": is_stranded(config, world.moves, world.state, world.start, belief.shape[1]),
        "entropy_reduction": entropy_reduction(prior_of(config), belief),
        "cells_visited": len(set(path)),
        "seconds": round(sum(session.seconds for session in manifest.sessions), 3),
        "plan_ms_median": timed[-1] if timed else None,
        "min_bound": min(lows, default=None),
        "distance_m": distance_of(config, path),
        "steepest": None if crossings is None else list(crossings.steepest(path)),
        "start": list(divmod(world.start, belief.shape[1])),
        "position": list(world.position),
        "return_bound": return_bound(config, belief, world),
        "open_cells": int(variance.size),
        "known_to_1cm": float(np.mean(variance <= SHARP**2)),
        "known_to_10cm": float(np.mean(is_seen(belief))),
        "warning": _calibration(belief),
        **kept,
        "why": None,
        "conflict": None,
    }


def distance_of(config: RoverConfig, path: Sequence[int]) -> float:
    """Return the length of a path in m, along the ways driven or from centre to centre."""
    crossings, cells = crossings_of(config), cells_of(config)
    if crossings is None:
        corners = np.column_stack(np.divmod(np.asarray(path), cells.shape[1])) * cells.size
    else:
        corners = crossings.route(path)[0] * crossings.pixel
    return float(np.hypot(*np.diff(corners, axis=0).T).sum())


def return_bound(config: RoverConfig, belief: SlopeBelief, world: Rover) -> float:
    """Return a proven lower bound on the probability of a way back from the current state."""
    return float(ways_home(config, belief, world).probability[world.state])


def command_of(config: RoverConfig, limit: int | None = None, directory: Path | None = None) -> str:
    """Return the command that repeats the exploration; the area is read from `directory`."""
    words = ["homeward", "explore"]
    if config.terrain != MARS:
        words.append("--sample" if config.terrain == SAMPLE else config.terrain)
    if config.explorer != "safe":
        words.append(f"--{config.explorer}")
    usual = RoverConfig(terrain=config.terrain)
    if usual.is_driven != config.is_driven:
        usual = RoverConfig(terrain=config.terrain, ground=config.rule)
        words += ["--ground", config.rule]
    for name in dict.fromkeys(
        ("start", "bases", "each_base", "keep_in", *RoverConfig.model_fields)
    ):
        value: Any = limit if name == "limit" and limit is not None else getattr(config, name)
        apart = name in ("terrain", "terrain_sha256", "explorer", "ground")
        if apart or value == getattr(usual, name):
            continue
        if name in ("sensor_range", "mast") and value is None:
            value = math.inf
        if name in ("keep_in", "keep_out") and not isinstance(value, str):
            file = AREA if name == "keep_in" else OUT
            value = file if directory is None else directory / file
        option = {"limit": "steps", "bases": "base"}.get(name, name.replace("_", "-"))
        for each in value if name == "bases" else [value]:
            text = ",".join(map(str, each)) if isinstance(each, tuple) else str(each)
            words += [f"--{option}"] if each is True else [f"--{option}", text]
    return shlex.join(words)


def summary_of(
    config: RoverConfig,
    cells: Cells,
    facts: dict[str, Any],
    manifest: Manifest,
    directory: Path,
    missing: str | None,
) -> str:
    """Write the summary that a mission planner reads."""
    (rows, columns), (high, wide) = cells.shape, cells.size
    blocked = int(cells.blocked.sum())
    shut = "without data or room to stand and turn" if config.is_driven else "without data"
    sensor = "the whole map" if config.sensor_range is None else f"{config.sensor_range:g} m"
    sensor += " and sees through hills" if config.mast is None else f" from {config.mast:g} m up"
    drawn = (
        f"the terrain model {'where the rover stands' if config.is_driven else 'at the centre'} in "
        f"each cell{'' if config.belief == 'unmapped' else ', plus its error'}"
        if config.truth == "model"
        else "drawn from the belief"
    )
    where = cells.crs_name or "map coordinates without a coordinate system, taken for metres"
    if cells.is_own:
        where = "metres from the south-west corner, on no map"
    start, position = facts["start"], facts["position"]
    plans = facts["plan_ms_median"]
    lines = [
        f"# Exploration of {cells.name}",
        "",
        "## What this run promises",
        "",
        f"- Safety: {_promise(config)}",
        *_more_promises(config, cells),
        f"- Not promised: {_no_promise(config)}",
        "",
        f"**The rover is {'stranded' if facts['stranded'] else 'well'}: there is "
        f"{'no' if facts['stranded'] else 'a'} way back to {place_of(config)}.**",
        "",
        "## What was explored",
        "",
        f"- Terrain: {cells.name}, {rows} × {columns} cells of {high:g} × {wide:g} m "
        f"({rows * high / 1000:g} × {columns * wide / 1000:g} km)"
        + (f", {blocked:,} of them {shut} and never entered." if blocked else "."),
        f"- Coordinates: {where}.",
        *_heights(config),
        *_closed(config),
        *([] if isinstance(config.error, float) else [f"- Errors of the terrain: {config.error}."]),
        *([] if config.belief == "independent" else [f"- Belief: {text_of(config)}"]),
        f"- True heights: {drawn}, from seed {config.seed}.",
        f"- Vehicle: {_vehicle(config)}",
        f"- Sensor: reaches {sensor}; a height at distance d m is measured with a standard "
        f"deviation of {math.sqrt(config.sensor_noise):g} (d + {config.sensor_offset:g}) m.",
        "",
        "## How it went",
        "",
        f"- It took {_count(facts['steps'], 'step') if facts['steps'] else 'no step'}. "
        f"{facts['why']}",
        f"- It started in {_place(cells, start)} and ended in {_place(cells, position)}.",
        f"- It drove {facts['distance_m']:,.0f} m and was in "
        f"{_count(facts['cells_visited'], 'cell')}.",
        *_steepest(facts),
        *_kept(facts),
        f"- From where it ended, what it knows proves a way back to {place_of(config)} "
        f"{surely(float(floored(facts['return_bound'])))}.",
        "- In the true terrain there is "
        + (
            f"no way back to {place_of(config)}: it is stranded."
            if facts["stranded"]
            else "such a way."
        ),
        "",
        "## What was learned",
        "",
        f"- Entropy taken off the heights: {facts['entropy_reduction']:,.0f} nats.",
        f"- Known to within 1 cm (standard deviation): {facts['known_to_1cm']:.1%} of the "
        f"{facts['open_cells']:,} open cells; to within 10 cm: {facts['known_to_10cm']:.1%}.",
        *([] if facts["warning"] is None else [f"- **Warning.** {facts['warning']}"]),
        "",
        "## How long it took",
        "",
        f"- {facts['seconds']:,.1f} s in {_count(len(manifest.sessions), 'session')}; a plan took "
        + ("no time, since none was made." if plans is None else f"{plans:.1f} ms (median)."),
        "",
        "## Files",
        "",
        f"- `{PATH}`: the path, its start and its end.",
        f"- `{POINTS}`: its corners with height, step, bound and gain.",
        f"- `{WAY}`: the way home from its end, with the proven probability.",
        *(_rasters(config, cells) if missing is None else [missing]),
        *([] if config.keep_in is None else [f"- `{AREA}`: the area to keep in."]),
        *([] if config.keep_out is None else [f"- `{OUT}`: the area to keep out of."]),
        "- `map.png`: the map with the path, as the command line draws it.",
        f"- `{FACTS}`: these figures for programs.",
        "- `steps.jsonl`, `config.json`, `manifest.json`, `fields.npz`: the record.",
        "",
        "## Resume or repeat",
        "",
        "```sh",
        f"homeward runs resume {shlex.quote(str(directory))} --steps "
        f"{2 * max(1, facts['steps'])}  # if it met its step limit",
        f"{command_of(config, manifest.limit, directory)}",
        "```",
        "",
    ]
    return "\n".join(lines)


def _calibration(belief: SlopeBelief) -> str | None:
    """Return a warning if measured heights refute a correlated belief's kernel."""
    if not isinstance(belief, CorrelatedTerrainBelief):
        return None
    return warning_of(belief.calibration())


def _vehicle(config: RoverConfig) -> str:
    """Return what the vehicle can drive, and what its limits apply to."""
    slopes = f"climbs slopes up to {config.climb:g}° and descends up to {config.descend:g}°"
    crossings = crossings_of(config)
    if crossings is None:
        return f"{slopes}, both between the centres of neighbouring cells."
    return (
        f"{slopes}, and stands on slopes of up to {config.roll:g}° to the side. The limits hold on "
        f"the terrain model as given, under wheels {crossings.vehicle.wheelbase:g} m apart, along "
        "the whole way from cell to cell."
    )


def _heights(config: RoverConfig) -> list[str]:
    """Return the line on the unit of a raster's heights."""
    named, given = pinned(config).height_unit, config.height_unit
    if config.terrain in (MARS, SAMPLE):
        return []
    if named is not None:
        return [f"- Heights: in {named}, as the raster says."]
    if given is None:
        return ["- Heights: taken for metres, since the raster names no unit."]
    unit = given if isinstance(given, str) else f"units of {given:g} m"
    return [f"- Heights: taken for {unit}, as given; the raster names no unit."]


def _way(config: RoverConfig) -> str:
    return f"a way back to {place_of(config)}"


def _rasters(config: RoverConfig, cells: Cells) -> list[str]:
    """Return lines on the files that need rasterio."""
    return [
        f"- `{TERRAIN}`: band 1 {BANDS[0]}, band 2 {BANDS[1]}.",
        f"- `{STYLE}`: its colours for QGIS, which finds them by the name.",
        f"- `{CHANCES}`: the proven probability of {_way(config)} from each cell.",
        f"- There is no `{GPX}`, since the terrain has no longitudes and latitudes."
        if not has_degrees(cells.crs)
        else f"- `{GPX}`: the way home in degrees.",
    ]


def _closed(config: RoverConfig) -> list[str]:
    """Return lines on the pixels that are closed by the user."""
    ground = pinned(config)
    return [
        f"- {what}: {int(mask.sum()):,} of {mask.size:,} pixels, {rule}."
        for what, mask in (("Obstacles", ground.obstacles), ("Kept out of", ground.kept_out))
        if mask is not None
        for rule in [
            "which no wheel touches" if config.is_driven else "whose cells are never entered"
        ]
    ]


def _steepest(facts: dict[str, Any]) -> list[str]:
    """Return the line on the steepest ground that was driven, if it is known."""
    if facts["steepest"] is None:
        return []
    up, down, aside = facts["steepest"]
    return [
        f"- The steepest ground it drove, on the terrain model: {up:.1f}° up, {down:.1f}° down, "
        f"{aside:.1f}° to the side."
    ]


def _promise(config: RoverConfig) -> str:
    """Return what the safety level means."""
    if config.explorer == "unsafe":
        return "none. The rover only looked for what it could learn."
    if config.explorer == "naive":
        return (
            f"δ = {config.delta:g}, but on the average terrain alone, without the correction for "
            "what is uncertain: the bounds prove nothing."
        )
    if config.of_the_run():
        return (
            f"δ = {config.delta:g} for the whole run. {sentence(promise_of(config, 'the rover'))} "
            "That holds for every rule of calling it off that looks only at what was seen."
        )
    called = f"at each step with probability {1.0 - config.discount:g}"
    if config.recall is not None:
        called = f"{_count(config.recall, 'step')} later"
    place = "where it was when it planned" if config.home == "current" else place_of(config)
    return (
        f"δ = {config.delta:g}, plan by plan (Algorithm 1). At each step, given what it knew, the "
        f"rover could get back to {place} {surely(config.delta)} if the "
        f"exploration was called off ({called}); correction: {config.correction}."
    )


def _no_promise(config: RoverConfig) -> str:
    """Return what the safety level does not mean."""
    if config.explorer != "safe":
        return "that there is a way back."
    said = (
        "anything of a single history, since after bad news its own chance may be smaller."
        if config.of_the_run()
        else "anything of the whole run, since many plans together may risk more than one."
    )
    if config.truth == "prior" or config.belief == "correlated":
        return f"{said} Probabilities are over worlds drawn from the belief, as this one was."
    return f"{said} Probabilities are over worlds drawn from the belief, which this one was not."


def _more_promises(config: RoverConfig, cells: Cells) -> list[str]:
    """Return the other criteria as text."""
    found = []
    if config.back_within is not None:
        found.append(
            f"- Back in time: within {_count(config.back_within, 'step')} of the call "
            f"{surely(config.level('back_within'))}."
        )
    inside = inside_of(config)
    if inside is not None:
        level = "" if config.of_the_run() else f" {surely(config.level('keep_in'))}"
        found.append(
            f"- Kept in: {_count(int(inside.sum()), 'cell')} of {cells.mean.size:,}. Until the "
            f"call, nothing is done in another{level}."
        )
    return found


def _kept(facts: dict[str, Any]) -> list[str]:
    """Return the lowest bound of each criterion, and the criteria that could not be kept."""
    bounds = facts["criteria"]
    if not bounds:
        return ["- The lowest bound on the way home in the whole run: none was asked for."]
    lines = []
    for found in bounds:
        low = "no step was taken" if found["lowest"] is None else floored(found["lowest"])
        name = "the way home" if len(bounds) == 1 else f"“{found['name']}”"
        lines.append(f"- The lowest bound on {name} in the whole run: {low}.")
    if facts["infeasible_steps"]:
        lines.append(
            f"- In {_count(facts['infeasible_steps'], 'step')} no policy kept all of it; the one "
            "that came closest was followed."
        )
    if facts["conflict"]:
        lines.append(f"- Where it ended, {describe_conflict(facts['conflict'])}.")
    return lines


def _place(cells: Cells, cell: list[int]) -> str:
    x, y = cells.centre_of(*cell)
    return f"cell {cell[0]},{cell[1]} (row, column), at x = {x:.10g}, y = {y:.10g}"


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"
