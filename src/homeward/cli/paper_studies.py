"""``homeward paper``: the paper's studies of many runs, with their figures and tables."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homeward.cli.options import Figure, Json, Scheduler, Table, Workers, study_option
from homeward.cli.show import check_writable, save, show, track
from homeward.cli.study import conducted
from homeward.words import ENDS

if TYPE_CHECKING:
    from homeward.paper.levels import Count, Level

NO_RASTER = (
    "The paper's own ground, HiRISE's DTEEC_010228_1490_016320_1490_A01.IMG, is not included; "
    "pass it with --raster."
)
MAPPED = ("safe at .98", "ours at .98", "safe at .70", "ours at .70", "unsafe", "ours, unsafe")
"""Settings of Mars that are drawn as maps, on the first ground."""


class Theorem(StrEnum):
    """Correction of the safe explorers."""

    GENERAL = "general"
    MOVES = "moves"


class Which(StrEnum):
    """Which explorers of the Mars study run."""

    ALL = "all"
    PAPER = "paper"
    OURS = "ours"


def coverage(
    scale: Annotated[
        float, typer.Option(min=0.001, max=10.0, help="Factor on the paper's worlds.")
    ] = 1.0,
    out: Figure = Path("coverage.png"),
    study: Annotated[
        Path | None, study_option("coverage.sqlite, with the scale in its name")
    ] = None,
    table: Table = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Run safe and unsafe explorers in random grid worlds, and draw what they uncover.

    Worlds of 10², 20², 30² and 40² squares, walls on .2, .4 and .6 of them; the safe explorer
    (δ = 1), the same without safety (adapted R-max), R-max and near-Bayesian exploration, all in
    the same worlds: 1000, 500, 100 and 20 of each size, as in the paper. Beyond it: our explorer
    (rate) beside the paper's, other levels and both corrections, how many runs ended without a way
    back, and how much was uncovered of what can be uncovered without ever losing it.

    If interrupted, run the same command again to resume.

    Examples: homeward paper coverage --scale 0.05

    homeward paper coverage --scheduler tcp://node1:8786 --table runs.csv
    """
    from homeward.paper.coverage import cells_of, claims, steps_by_walls, summarise
    from homeward.paper.figures.studies import draw_coverage
    from homeward.studies import define

    check_writable(out)
    cells, counts = cells_of(scale)
    task = "homeward.paper.coverage:explore"
    definition = define("coverage", task, cells, range(max(counts)), counts=counts)
    file = study or Path("coverage.sqlite" if scale == 1.0 else f"coverage-{scale:g}.sqlite")
    rows = conducted(file, definition, table, workers, scheduler, as_json=as_json)
    found = summarise(rows)
    save(draw_coverage(found), out)
    show(
        {
            "rows": found,
            "claims": claims(found),
            "steps": steps_by_walls(rows),
            "figure": str(out),
            "study": str(file),
        },
        {
            "rows": "What explorers uncover",
            "claims": "Medians, and whether the paper's order shows",
            "steps": "Algorithm 1 and ours at δ = 1: means",
        },
        f"{len(rows)} runs; the figure is in {out}, the runs are in {file}",
        as_json,
    )


def levels(
    worlds: Annotated[int, typer.Option(min=1, help="Number of worlds per noise and level.")] = 300,
    steps: Annotated[int, typer.Option(min=1, help="Maximum number of steps of a run.")] = 200,
    out: Figure = Path("levels.png"),
    study: Annotated[
        Path | None, study_option("levels.sqlite, with changed options in its name")
    ] = None,
    table: Table = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Count runs that can come home, at several levels, on terrain drawn from the prior.

    Small synthetic ground, a sensor that sees the eight cells around it with a noise of 1e-4 and
    1e-2, and the levels 1, .98, .9, .7 and .5. Counted are the worlds in which the way home that
    is held works, and those in which any exists, when the run is called off at a random step and
    at the worst one. Exit code 1 if a level is refuted at 99 %.

    If interrupted, run the same command again to resume.

    Example: homeward paper levels --worlds 50
    """
    from homeward.paper.figures.studies import draw_levels
    from homeward.paper.levels import LIMIT, cells_of, summarise
    from homeward.studies import define

    check_writable(out)
    definition = define("levels", "homeward.paper.levels:explore", cells_of(steps), range(worlds))
    usual = (worlds, steps) == (300, LIMIT)
    file = study or Path("levels.sqlite" if usual else f"levels-{worlds}x{steps}.sqlite")
    rows = conducted(file, definition, table, workers, scheduler, as_json=as_json)
    found = summarise(rows)
    save(draw_levels(found), out)
    refuted = sum(not level.holds for level in found)
    show(
        {
            "rows": [asdict(level) if as_json else _level_row(level) for level in found],
            "refuted": refuted,
            "figure": str(out),
            "study": str(file),
        },
        {"rows": "Worlds with a way home (99 % at least), and nats learned"},
        f"{refuted} of {len(found)} levels refuted at 99 %; {len(rows)} runs; the figure is in "
        f"{out}, the runs are in {file}",
        as_json,
    )
    raise typer.Exit(0 if refuted == 0 else 1)


def _level_row(level: Level) -> dict[str, str]:
    """Return a level as a row of the table."""
    return {
        "noise": f"{level.noise:g}",
        "δ": f"{level.delta:g}",
        "held, random step": _counted(level.held_random),
        "held, worst step": _counted(level.held_worst),
        "any, random step": _counted(level.random),
        "any, worst step": _counted(level.worst),
        "nats": f"{level.nats:,.0f} ({level.low:,.0f} to {level.high:,.0f})",
        "over the level above": "" if level.lead is None else f"{level.lead:+.1%}",
        "spent": f"{level.spent:.3g}",
    }


def _counted(count: Count) -> str:
    return f"{count.fraction:.3f} ({count.lower:.3f})"


def mars(
    terrains: Annotated[
        int,
        typer.Option(min=1, help="Number of grounds; with a raster, of draws of its error."),
    ] = 5,
    steps: Annotated[int, typer.Option(min=1, help="Steps of each run.")] = 15_000,
    scale: Annotated[
        float,
        typer.Option(min=0.05, max=5.0, help="Synthetic ground: factor on the sides, 2 km x 1 km."),
    ] = 1.0,
    correction: Annotated[
        Theorem,
        typer.Option(help="Algorithm 1's: general (the paper's) or moves (ours)."),
    ] = Theorem.GENERAL,
    explorers: Annotated[
        Which, typer.Option(help="Settings to run: Algorithm 1's (paper), the others, or all.")
    ] = Which.ALL,
    sensor_range: Annotated[float, typer.Option(min=0.0, help="Range of the sensor in m.")] = 29.0,
    whole_map: Annotated[
        bool, typer.Option("--whole-map", help="Let rovers measure the whole map at every step.")
    ] = False,
    raster: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A terrain model to explore.", show_default="synthetic Mars"
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            help="The part of the raster to take, as in homeward explore.", show_default="all of it"
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The figure: .png, .pdf or .svg; maps go beside it, in OUT-maps.")
    ] = Path("mars.png"),
    study: Annotated[
        Path | None, study_option("mars.sqlite, with changed options in its name")
    ] = None,
    table: Table = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Explore Mars at several safety levels: the paper's figure, over several grounds.

    The paper's Algorithm 1 keeps a way back with probability .98, .90 and .70 in each plan; beside
    it run a rover that keeps none and one that takes the mean model at its word (the naive
    constraint). Our explorer keeps the same levels over the whole run. With it stand Algorithm 1
    with its other correction and two baselines in our loop: nearest certified place, and best
    certified rate without looking ahead. All run on the same grounds for 15,000 steps and see the
    eight cells around them. What they learn is measured in nats of entropy, and as a share of what
    a clairvoyant would have. The figure has nats over steps, the maps show the first ground.

    If interrupted, run the same command again to resume.

    Examples: homeward paper mars --terrains 2 --steps 1000

    homeward paper mars --raster DTEEC_010228_1490_016320_1490_A01.IMG --window 0,0,2000,1000
    """
    from homeward.kinds.rover.figure import draw_terrain
    from homeward.kinds.rover.kind import cells_of
    from homeward.paper.figures.studies import draw_curves
    from homeward.paper.mars import (
        beside,
        config_of,
        name_of,
        panel_of,
        pinned,
        settings_of,
        summarise,
    )
    from homeward.studies import define

    if raster is None and window is not None:
        raise typer.BadParameter("--window is a part of a raster; give --raster too")
    if raster is not None and scale != 1.0:
        raise typer.BadParameter("--scale is for synthetic ground; a raster has its --window")
    maps = out.with_stem(f"{out.stem}-maps")
    check_writable(out)
    check_writable(maps)
    path = None if raster is None else str(raster.absolute())
    reach = None if whole_map else sensor_range
    papers = settings_of(steps, scale, correction.value, reach, path, window)
    cells = {Which.PAPER: papers, Which.OURS: beside(papers)}.get(
        explorers, papers + beside(papers)
    )
    cells = pinned(cells)
    ground = cells_of(config_of(cells[0], 0))
    definition = define("mars", "homeward.paper.mars:explore", cells, range(terrains))
    named = {
        f"{terrains}x{steps}": f"5x{15_000}",
        f"scale{scale:g}": "scale1",
        correction.value: Theorem.GENERAL.value,
        explorers.value: Which.ALL.value,
        "whole" if reach is None else f"{reach:g}m": "29m",
    }
    parts = ["mars", *(value for value, default in named.items() if value != default)]
    parts += [] if raster is None else [raster.stem]
    parts += [] if window is None else ["".join(c if c.isalnum() else "_" for c in window)]
    file = study or Path(f"{'-'.join(parts)}.sqlite")
    _check_ground(file, cells)
    rows = conducted(file, definition, table, workers, scheduler, as_json=as_json)
    found = summarise(rows)
    save(draw_curves(found, steps, {row["seed"]: row["clairvoyant"] for row in rows}), out)
    first = [row for row in rows if row["seed"] == 0 and name_of(row) in MAPPED]
    save(draw_terrain([panel_of(row) for row in first], 2, ground.name), maps)
    where = f"synthetic Mars, seeds 0 to {terrains - 1}."
    if raster is not None:
        where = f"{ground.name}, {terrains} draws of its error."
    show(
        {
            "rows": found if as_json else [_mars_row(setting) for setting in found],
            "terrain": where,
            "steps": steps,
            "sensor_range": reach,
            "correction": correction.value,
            "figure": str(out),
            "maps": str(maps),
            "study": str(file),
        },
        {"rows": "Nats learned (medians), and the share of what a clairvoyant would have"},
        f"Terrain: {where} {NO_RASTER}\nAlgorithm 1 plans with the {correction.value} correction "
        f"unless another is named; its levels are of each plan, ours of the whole run.\n"
        f"{len(rows)} runs; the figure is in {out}, maps of the first ground in {maps}, the runs "
        f"in {file}",
        as_json,
    )


def _check_ground(file: Path, cells: list[dict[str, Any]]) -> None:
    """Raise if the raster changed since the study was begun."""
    from homeward.errors import InvalidFileError
    from homeward.studies import Ledger

    now = cells[0].get("terrain_sha256")
    if now is None or not file.exists() or not file.stat().st_size:
        return
    with Ledger.read(file) as ledger:
        known = ledger.study.cells[0]
    was = known.get("terrain_sha256", now)
    if known.get("raster") == cells[0]["raster"] and was != now:
        raise InvalidFileError(
            f"{file}: {cells[0]['raster']} is not what it was when the study was begun: the "
            "terrain has changed; bring the old one back, or name another file with --study"
        )


def _mars_row(found: dict[str, Any]) -> dict[str, str]:
    """Return a setting as a row of the table."""
    from homeward.paper.mars import MARKS

    paper, shares = found["paper"], found["shares"]
    row = {"setting": found["setting"], "paper": "" if paper is None else f"{paper:,.0f}"}
    for mark, nats, share in zip(MARKS, found["marks"], shares, strict=False):
        if nats is not None and share is not None:
            row[f"{mark:,}"] = f"{nats:,.0f} ({share:.0%})"
    return row | {
        "end": f"{found['median']:,.0f} ({shares[-1]:.0%})",
        "cells": f"{found['visited']:.0%}",
        "stranded": f"{found['stranded']} of {found['runs']}",
        "no news": f"{found['without_news']:,}",
        "ends": "; ".join(f"{count} {ENDS[end]}" for end, count in found["ends"].items()),
    }


def timing(
    steps: Annotated[int, typer.Option(min=1, help="Number of steps to time per setting.")] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Which synthetic ground.")] = 0,
    scale: Annotated[
        float, typer.Option(min=0.05, max=5.0, help="Factor on the sides, 2 km x 1 km.")
    ] = 1.0,
    correction: Annotated[
        Theorem, typer.Option(help="Correction: general (the paper's) or moves (ours, tighter).")
    ] = Theorem.GENERAL,
    as_json: Json = False,
) -> None:
    """Time the first steps on Mars, beside the paper's table of planning times.

    A map of 50 x 100 cells unless scaled, γ = .999. Times are of the whole step; the paper's are of
    planning alone, on a machine of 2012. Run no other program meanwhile.

    Example: homeward paper timing --steps 100
    """
    from homeward.paper.timing import MAP, time_settings

    found = time_settings(steps, seed, scale, correction.value)
    shown = [
        {
            "setting": t["setting"],
            "paper, s": f"{t['paper'] / 1000:.2f} ± {t['spread'] / 1000:.2f}",
            "median, ms": f"{t['median']:.2f}",
            "quartiles, ms": f"{t['q1']:.2f} to {t['q3']:.2f}",
            "longest, ms": f"{t['longest']:.1f}",
        }
        | ({"times faster": f"{t['times faster']:,.0f}"} if t["times faster"] else {})
        for t in found
    ]
    size = found[0]["shape"]
    words = f"Synthetic Mars, seed {seed}; the {correction.value} correction."
    if size != MAP:
        words += f" The paper's times are of {MAP[0]} x {MAP[1]} cells, so they don't compare."
    show(
        {
            "rows": found if as_json else shown,
            "steps": steps,
            "correction": correction.value,
            "map": list(size),
        },
        {"rows": f"A step on {size[0]} x {size[1]} cells of Mars, the first {steps:,} of each"},
        words,
        as_json,
    )


def toytext(
    seeds: Annotated[int, typer.Option(help="Runs of each explorer in each world.", min=1)] = 200,
    worlds: Annotated[int, typer.Option(help="Worlds drawn for the calibration.", min=1)] = 2000,
    delta: Annotated[
        float, typer.Option(help="Probability that the safe explorer can come home.")
    ] = 0.95,
    seed: Annotated[
        int, typer.Option(help="Random seed of the first run; the others follow.", min=0)
    ] = 0,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Count losses and tiles seen in FrozenLake and CliffWalking, safe against unsafe.

    Then draw dynamics from the prior, follow one plan until its recall and its way home after
    that, and compare the fraction that comes home with δ. Exit code 1 if that is below δ.

    Example: homeward paper toytext --seeds 20 --worlds 200
    """
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    from functools import partial
    from statistics import mean

    from homeward.paper.toytext import SETTINGS, calibrate, explore
    from homeward.studies.crews import cores

    rows, count = [], len(SETTINGS)
    number = cores() if workers is None else workers
    with ProcessPoolExecutor(number) if number else ThreadPoolExecutor(1) as pool:
        for setting in SETTINGS:
            for level in (delta, None):
                name = "unsafe" if level is None else f"safe at {level:g}"
                runs = range(seed, seed + seeds)
                work = pool.map(partial(explore, setting, level), runs, chunksize=4)
                label = f"{setting.title}, {name}"
                outings = list(track(work, label, quiet=as_json, total=seeds))
                rows.append(
                    {
                        "world": setting.title,
                        "explorer": name,
                        "runs": seeds,
                        "lost": sum(o.died for o in outings),
                        "tiles seen (mean)": mean(len(set(o.path)) for o in outings),
                        "tiles to see": int((~outings[0].tiles.deadly).sum()),
                        "steps (mean)": mean(len(o.path) - 1 for o in outings),
                    }
                )
        starts = range(seed, seed + count)
        kept = list(pool.map(calibrate, SETTINGS, [delta] * count, [worlds] * count, starts))
    calibration = [
        {
            "world": c.setting,
            "worlds": c.worlds,
            "came home": c.fraction,
            "99% at least": c.lower,
            "promised": c.bound,
            "leaves the start": c.leaves,
        }
        for c in kept
    ]
    holds = all(c.lower >= delta for c in kept)
    titles = {"runs": "Toy-text worlds as they are"}
    titles["calibration"] = f"Drawn from the prior, one plan followed to the end, δ = {delta:g}"
    verdict = "the promise holds" if holds else "the promise was not shown to hold"
    found = {"runs": rows, "calibration": calibration, "holds": holds}
    show(found, titles, verdict, as_json)
    raise typer.Exit(0 if holds else 1)
