"""The summary of a rover's run, in Markdown for mission planners, and the names of its files."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import Any

from homeward.beliefs.fields import CorrelatedTerrainBelief
from homeward.beliefs.heights import SlopeBelief
from homeward.kinds.outcome import FACTS, describe_conflict
from homeward.kinds.promises import place_of, promise_of, surely
from homeward.kinds.rover.config import MARS, SAMPLE, RoverConfig
from homeward.kinds.rover.correlated import refuted, text_of
from homeward.kinds.rover.kind import inside_of
from homeward.kinds.rover.targets import describe
from homeward.kinds.rover.terrain import cell_side, crossings_of, pinned
from homeward.planning.ends import End
from homeward.runs.manifest import Manifest
from homeward.terrain import Cells
from homeward.terrain.gdal import has_degrees
from homeward.words import ENDS, floored, length, levels_said, sentence

PATH, TERRAIN, SUMMARY = "path.geojson", "terrain.tif", "summary.md"
POINTS, WAY, GPX = "path_points.geojson", "way_home.geojson", "way_home.gpx"
PATH_GPX, PATH_KML, WAY_KML = "path.gpx", "path.kml", "way_home.kml"
STYLE, CHANCES = "terrain.qml", "way_home_probability.tif"
AREA, OUT, TARGETS = "keep_in.geojson", "keep_out.geojson", "targets.geojson"
GROUND_COLOURS = ("#4f1906", "#933710", "#d0651a", "#ef9433", "#ffcb6b")
BANDS = ("height (m)", "standard deviation of the height (m)")


def command_of(config: RoverConfig, limit: int | None = None, directory: Path | None = None) -> str:
    """Return the shell command that repeats a run.

    `limit` replaces the step limit. Areas and targets are read from files in `directory`.
    """
    words = ["homeward", "explore"]
    if config.terrain != MARS:
        words.append("--sample" if config.terrain == SAMPLE else config.terrain)
    if config.explorer != "safe":
        words.append(f"--{config.explorer}")
    defaults = RoverConfig(terrain=config.terrain)
    if defaults.is_driven != config.is_driven:
        defaults = RoverConfig(terrain=config.terrain, ground=config.rule)
        words += ["--ground", config.rule]
    for name in dict.fromkeys(
        ("start", "bases", "each_base", "keep_in", *RoverConfig.model_fields)
    ):
        value: Any = limit if name == "limit" and limit is not None else getattr(config, name)
        is_done = name in ("terrain", "terrain_sha256", "explorer", "ground")
        is_default = value == getattr(defaults, name)
        if name == "cell" and config.terrain == MARS:
            is_default = cell_side(config) == cell_side(config.model_copy(update={"cell": None}))
        elif name == "sensor_range" and config.is_driven:
            is_default = name not in config.model_fields_set
        if is_done or is_default:
            continue
        if name in ("sensor_range", "mast") and value is None:
            value = math.inf
        if name in ("keep_in", "keep_out", "targets") and not isinstance(value, str):
            file = f"{name}.geojson"
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
    """Return the summary for mission planners, in Markdown."""
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
        f"- Vehicle: {vehicle_words(config)}",
        f"- Sensor: reaches {sensor}; a height at distance d m is measured with a standard "
        f"deviation of {math.sqrt(config.sensor_noise):g} (d + {config.sensor_offset:g}) m.",
        *(f"- **Caution**: {caution}" for caution in facts["cautions"]),
        "",
        "## How it went",
        "",
        f"- It took {_count(facts['steps'], 'step') if facts['steps'] else 'no step'}. "
        f"{facts['why']}",
        f"- It started in {_place(cells, start)} and ended in {_place(cells, position)}.",
        f"- It drove {facts['distance_m']:,.0f} m and was in "
        f"{_count(facts['cells_visited'], 'cell')}.",
        *_steepest(facts),
        *(f"- {line}" for line in used_lines(config, facts)),
        *(f"- {line}" for line in describe(facts["targets"])),
        *_kept(facts),
        *(f"- {line}" for line in levels_said(facts["levels"])),
        f"- From where it ended, what it knows proves a way back to {place_of(config)} "
        f"{surely(float(floored(facts['return_bound'])))}."
        if facts["end"] != End.REFUTED
        else f"- Nothing is proven of a way back from where it ended: {ENDS[End.REFUTED]}.",
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
        *_goal(facts),
        "",
        "## How long it took",
        "",
        f"- {facts['seconds']:,.1f} s in {_count(len(manifest.sessions), 'session')}; a plan took "
        + ("no time, since none was made." if plans is None else f"{plans:.1f} ms (median)."),
        "",
        "## Files",
        "",
        f"- `{PATH}`: the path, its start and its end.",
        f"- `{POINTS}`: its corners with the terrain model's height, step, bound and gain.",
        f"- `{WAY}`: the way home from its end, with the proven probability.",
        *(_rasters(config, cells) if missing is None else [missing]),
        *([f"- `{TARGETS}`: the targets, and when each was reached."] if facts["targets"] else []),
        *([] if config.keep_in is None else [f"- `{AREA}`: the area to keep in."]),
        *([] if config.keep_out is None else [f"- `{OUT}`: the area to keep out of."]),
        "- `map.png`: the map with the path. The command line draws it, the page does not.",
        f"- `{FACTS}`: these figures for programs.",
        "- `steps.jsonl`, `config.json`, `manifest.json`, `fields.npz`: the record, which stays in "
        "the folder of the run and is no download of the page.",
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


def vehicle_words(config: RoverConfig) -> str:
    """Return a sentence on the slopes that the vehicle can drive, and where they are measured."""
    slopes = f"climbs slopes up to {config.climb:g}° and descends up to {config.descend:g}°"
    crossings = crossings_of(config)
    if crossings is None:
        return f"{slopes}, both between the centres of neighbouring cells."
    base = crossings.vehicle.wheelbase
    return (
        f"{slopes}, and stands on slopes of up to {config.roll:g}° to the side. The limits hold on "
        "the terrain model as given, along the whole way from cell to cell: slopes ahead are "
        f"measured over {base / 2:g} m, slopes to the side over {base:g} m."
    )


def cautions_of(config: RoverConfig, cells: Cells, belief: SlopeBelief) -> list[str]:
    """Return sentences on settings that are valid, but probably not intended."""
    cautions = []
    if isinstance(belief, CorrelatedTerrainBelief):
        calibration = belief.calibration()
        if calibration.overconfident:
            cautions.append(refuted(calibration))
    diagonal = math.hypot(*cells.size)
    if config.sensor_range is not None and config.sensor_range < diagonal:
        cautions.append(
            f"the sensor reaches {config.sensor_range:g} m, less than the {diagonal:.3g} m to a "
            "diagonal neighbour, so the rover drives there unseen; give a --sensor-range of "
            f"{math.ceil(diagonal):g} or smaller cells."
        )
    return cautions


def _goal(facts: dict[str, Any]) -> list[str]:
    """Return the line on how well heights were to be known, and how many are; [] without a goal."""
    if facts["goal"] is None:
        return []
    return [
        f"- Heights were to be known to {length(facts['goal'])}; {facts['known_to_goal']:.1%} of "
        "the open cells are. Learning them better gained nothing (--known)."
    ]


def _heights(config: RoverConfig) -> list[str]:
    """Return the line on the unit of a raster's heights."""
    named, given = pinned(config).height_unit, config.height_unit
    if config.terrain in (MARS, SAMPLE):
        return []
    bands = pinned(config).bands
    band = f"band 1 of {bands}, " if bands > 1 else ""
    if named is not None:
        return [f"- Heights: {band}in {named}, as the raster says."]
    if given is None:
        return [f"- Heights: {band}taken for metres, since the raster names no unit."]
    unit = given if isinstance(given, str) else f"units of {given:g} m"
    return [f"- Heights: {band}taken for {unit}, as given; the raster names no unit."]


def way_of(config: RoverConfig) -> str:
    """Return a phrase for a way home from any cell; such a way ignores the limits of the run."""
    limited = config.run_limits() or config.back_within is not None
    return f"a way back to {place_of(config)}{' of any length' if limited else ''}"


def _rasters(config: RoverConfig, cells: Cells) -> list[str]:
    """Return lines on the files that need rasterio."""
    routes = f"`{PATH_GPX}`, `{PATH_KML}`, `{GPX}` {{}} `{WAY_KML}`"
    return [
        f"- `{TERRAIN}`: band 1 {BANDS[0]}, band 2 {BANDS[1]}, both as known in the end. Measured "
        "heights differ from the terrain model by its error.",
        f"- `{STYLE}`: its colours for QGIS, which finds them by the name.",
        f"- `{CHANCES}`: the proven probability of {way_of(config)} from each cell.",
        f"- {routes.format('and')}: the path and the way home in degrees, with the "
        "terrain model's heights."
        if has_degrees(cells.crs)
        else f"- There is no {routes.format('or')}: {no_degrees(cells)}.",
    ]


def no_degrees(cells: Cells) -> str:
    """Return a message: why the terrain has no longitudes and latitudes, and what to do."""
    if cells.is_own:
        return f"{cells.name} is on no map, so it has no longitudes and latitudes"
    return (
        f"the coordinate system of {cells.name} has no longitudes and latitudes; if you know the "
        "right one, give it to the raster with gdal_edit.py -a_srs and explore again"
    )


def _closed(config: RoverConfig) -> list[str]:
    """Return lines on the obstacles and on the area to keep out of, if given."""
    ground = pinned(config)
    rule = "which no wheel touches" if config.is_driven else "whose cells are never entered"
    return [
        f"- {what}: {int(mask.sum()):,} of {mask.size:,} pixels, {rule}."
        for what, mask in (("Obstacles", ground.obstacles), ("Kept out of", ground.kept_out))
        if mask is not None
    ]


def used_lines(config: RoverConfig, facts: dict[str, Any]) -> list[str]:
    """Return a line on how much of its limits the run used; [] if it has no limits.

    The line also says whether the vehicle is home.
    """
    if not facts["used"]:
        return []
    used = " and ".join(f"{u['used']:,.1f} of {u['limit']:g} {u['unit']}" for u in facts["used"])
    home = "It is home." if facts["home"] else f"It is not at {place_of(config)}."
    return [f"It used {used}, failed attempts included. {home}"]


def _steepest(facts: dict[str, Any]) -> list[str]:
    """Return the line on the steepest ground that was driven, if it is known."""
    if facts["steepest"] is None:
        return []
    up, down, aside = facts["steepest"]
    return [
        f"- The steepest ground it drove, on the terrain model: {up:.1f}° up, {down:.1f}° down, "
        f"{aside:.1f}° to the side. From cell centre to cell centre it may be steeper: the way "
        "driven between them is longer."
    ]


def _promise(config: RoverConfig) -> str:
    """Return sentences on what the safety level of a run means."""
    if config.has_no_criterion():
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
    """Return sentences on what the safety level of a run does not mean."""
    if config.explores_with().promise is None:
        return "that there is a way back."
    limit = (
        "anything of a single history, since after bad news its own chance may be smaller."
        if config.of_the_run()
        else "anything of the whole run, since many plans together may risk more than one."
    )
    # On driven ground the belief has the terrain model as its mean, and its error as its variance.
    is_drawn = config.truth == "prior" or config.belief == "correlated" or config.is_driven
    this = "as this one was" if is_drawn else "which this one was not"
    return f"{limit} Probabilities are over worlds drawn from the belief, {this}."


def _more_promises(config: RoverConfig, cells: Cells) -> list[str]:
    """Return one line for each criterion besides the return home."""
    lines = []
    limits = config.run_limits()
    if limits:
        lines.append(
            "- Home by then: what the whole run has used and what the way home needs are never "
            f"more than {' and '.join(limits)} together. That way works {surely(config.delta)}. A "
            "failed attempt counts as the whole way out and back."
        )
        if config.energy is not None:
            lines.append(
                f"- Energy: {config.energy_per_metre:g} Wh per m driven and "
                f"{config.energy_per_climb:g} Wh per m climbed, on the terrain model as given."
            )
    if config.back_within is not None:
        lines.append(
            f"- Back in time: within {_count(config.back_within, 'step')} of the call "
            f"{surely(config.level('back_within'))}."
        )
    inside = inside_of(config)
    if inside is not None:
        level = "" if config.of_the_run() else f" {surely(config.level('keep_in'))}"
        lines.append(
            f"- Kept in: {_count(int(inside.sum()), 'cell')} of {cells.mean.size:,}. Until the "
            f"call, nothing is done in another{level}."
        )
    return lines


def _kept(facts: dict[str, Any]) -> list[str]:
    """Return lines on the lowest bound of each criterion, and on criteria that were not kept."""
    bounds = facts["criteria"]
    if not bounds:
        return ["- The lowest bound on the way home in the whole run: none was asked for."]
    lines = []
    for each in bounds:
        low = "no step was taken" if each["lowest"] is None else floored(each["lowest"])
        name = "the way home" if len(bounds) == 1 else f"“{each['name']}”"
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
