"""``homeward paper``: the paper's studies of many runs, with their figures and tables."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homeward.cli.options import Json, MaxSteps, SafeDelta, TerrainSeed, Workers
from homeward.cli.paper_study import PaperStudy, study_command
from homeward.cli.show import check_writable, save, show, track
from homeward.words import ENDS

if TYPE_CHECKING:
    from homeward.paper.levels import Count, Level

NO_RASTER = (
    "The paper's terrain, the HiRISE model DTEEC_010228_1490_016320_1490_A01.IMG, is not included; "
    "give it with --raster."
)
MAPPED = ("safe at .98", "ours at .98", "safe at .70", "ours at .70", "unsafe", "ours, unsafe")
"""Names of the settings whose runs on the first terrain are drawn as maps."""


class StudyCorrection(StrEnum):
    """Correction σ with which Algorithm 1 plans."""

    GENERAL = "general"
    MOVES = "moves"


class Explorers(StrEnum):
    """Explorers that the Mars study runs."""

    ALL = "all"
    PAPER = "paper"
    OURS = "ours"


TerrainScale = Annotated[
    float,
    typer.Option(min=0.05, max=5.0, help="Factor on the sides of synthetic terrain, 2 km x 1 km."),
]
AlgorithmCorrection = Annotated[
    StudyCorrection,
    typer.Option(help="Correction of Algorithm 1: general (the paper's) or moves (ours, tighter)."),
]


@study_command("coverage")
def coverage(
    study: PaperStudy,
    scale: Annotated[
        float, typer.Option(min=0.001, max=10.0, help="Factor on the paper's number of worlds.")
    ] = 1.0,
) -> None:
    """Run safe and unsafe explorers in random grid worlds, and draw how much they uncover.

    As in the paper, worlds have 10², 20², 30² and 40² squares; .2, .4 and .6 of these are walls;
    and there are 1000, 500, 100 and 20 worlds per size. The explorers are: Algorithm 1 (δ = 1),
    Algorithm 1 without safety (adapted R-max), R-max, and near-Bayesian exploration. The study also
    has our explorer (rate), other levels and both corrections. It counts the runs that ended
    stranded, and the fraction uncovered of all squares that can be uncovered safely.

    If interrupted, run the same command again to resume.

    Examples: homeward paper coverage --scale 0.05

    homeward paper coverage --scheduler tcp://node1:8786 --table runs.csv
    """
    from homeward.paper.coverage import cells_of, claims, steps_by_walls, summarise
    from homeward.paper.figures.studies import draw_coverage

    cells, counts = cells_of(scale)
    file = study.file(*([] if scale == 1.0 else [f"{scale:g}"]))
    rows = study.rows(file, cells, range(max(counts)), counts)
    summaries = summarise(rows)
    save(draw_coverage(summaries), study.out)
    study.show(
        {"rows": summaries, "claims": claims(summaries), "steps": steps_by_walls(rows)},
        {
            "rows": "Fraction of squares uncovered",
            "claims": "Medians, and whether they have the paper's order",
            "steps": "Steps of Algorithm 1 and of our explorer at δ = 1 (means)",
        },
        f"{len(rows)} runs",
        file,
    )


@study_command("levels")
def levels(
    study: PaperStudy,
    worlds: Annotated[int, typer.Option(min=1, help="Number of worlds per noise and level.")] = 300,
    steps: MaxSteps = 200,
) -> None:
    """Count runs that can return home, at several levels, on terrain drawn from the prior.

    The terrain is small and synthetic. The sensor sees the eight cells around it with a noise of
    1e-4 or 1e-2. The levels are 1, .98, .9, .7 and .5. The study counts the worlds in which the
    run's return policy succeeds, and the worlds in which any way home exists, after a recall at a
    random step and at the worst step. The exit code is 1 if a level is refuted at 99 % confidence.

    If interrupted, run the same command again to resume.

    Example: homeward paper levels --worlds 50
    """
    from homeward.paper.figures.studies import draw_levels
    from homeward.paper.levels import LIMIT, cells_of, summarise

    file = study.file(*([] if (worlds, steps) == (300, LIMIT) else [f"{worlds}x{steps}"]))
    rows = study.rows(file, cells_of(steps), range(worlds))
    counts = summarise(rows)
    save(draw_levels(counts), study.out)
    refuted = sum(not level.holds for level in counts)
    shown = [asdict(level) if study.as_json else _level_row(level) for level in counts]
    study.show(
        {"rows": shown, "refuted": refuted},
        {"rows": "Fraction of worlds with a way home (99 % lower bound), and nats learned"},
        f"{refuted} of {len(counts)} levels are refuted at 99 % confidence; {len(rows)} runs",
        file,
    )
    raise typer.Exit(0 if refuted == 0 else 1)


def _level_row(level: Level) -> dict[str, str]:
    """Return the counts at one level as a row of the printed table."""
    return {
        "noise": f"{level.noise:g}",
        "δ": f"{level.delta:g}",
        "policy, random step": _counted(level.held_random),
        "policy, worst step": _counted(level.held_worst),
        "any way, random step": _counted(level.random),
        "any way, worst step": _counted(level.worst),
        "nats": f"{level.nats:,.0f} ({level.low:,.0f} to {level.high:,.0f})",
        "gain on next higher level": "" if level.lead is None else f"{level.lead:+.1%}",
        "risk spent": f"{level.spent:.3g}",
    }


def _counted(count: Count) -> str:
    """Return the text of a fraction, with its lower bound in brackets."""
    return f"{count.fraction:.3f} ({count.lower:.3f})"


@study_command("mars")
def mars(
    study: PaperStudy,
    terrains: Annotated[
        int,
        typer.Option(
            min=1, help="Number of terrains; with a raster, number of draws of its error."
        ),
    ] = 5,
    steps: Annotated[int, typer.Option(min=1, help="Steps of each run.")] = 15_000,
    scale: TerrainScale = 1.0,
    correction: AlgorithmCorrection = StudyCorrection.GENERAL,
    explorers: Annotated[
        Explorers,
        typer.Option(help="Explorers: paper (Algorithm 1), ours (the others) or all."),
    ] = Explorers.ALL,
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
            help="Window of the raster, as in homeward explore.", show_default="the whole raster"
        ),
    ] = None,
) -> None:
    """Explore Mars at several safety levels: the paper's figure, on several terrains.

    The paper's Algorithm 1 keeps the levels .98, .90 and .70 in each plan. It is compared with a
    rover without a level, and with a rover that keeps the level on the mean model only (the naive
    constraint). Our explorer keeps the same levels over the whole run. It is compared with
    Algorithm 1 with the other correction, and with two baselines: go to the nearest certified
    place, and take the best certified rate without lookahead. All rovers run for 15,000 steps on
    the same terrains and see the eight cells around them. The result is the entropy reduction in
    nats, also as a fraction of a clairvoyant rover's. The figure plots nats against steps. A second
    figure, OUT-maps, has maps of the first terrain.

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

    if raster is None and window is not None:
        raise typer.BadParameter("--window needs --raster")
    if raster is not None and scale != 1.0:
        raise typer.BadParameter("--scale applies only to synthetic terrain; use --window")
    maps = study.out.with_stem(f"{study.out.stem}-maps")
    check_writable(maps)
    path = None if raster is None else str(raster.absolute())
    reach = None if whole_map else sensor_range
    papers = settings_of(steps, scale, correction.value, reach, path, window)
    cells = {Explorers.PAPER: papers, Explorers.OURS: beside(papers)}.get(
        explorers, papers + beside(papers)
    )
    cells = pinned(cells)
    ground = cells_of(config_of(cells[0], 0))
    defaults = {
        f"{terrains}x{steps}": f"5x{15_000}",
        f"scale{scale:g}": "scale1",
        correction.value: StudyCorrection.GENERAL.value,
        explorers.value: Explorers.ALL.value,
        "whole" if reach is None else f"{reach:g}m": "29m",
    }
    changed = [value for value, default in defaults.items() if value != default]
    changed += [] if raster is None else [raster.stem]
    changed += [] if window is None else ["".join(c if c.isalnum() else "_" for c in window)]
    file = study.file(*changed)
    _check_ground(file, cells)
    rows = study.rows(file, cells, range(terrains))
    summaries = summarise(rows)
    save(
        draw_curves(summaries, steps, {row["seed"]: row["clairvoyant"] for row in rows}), study.out
    )
    first = [row for row in rows if row["seed"] == 0 and name_of(row) in MAPPED]
    save(draw_terrain([panel_of(row) for row in first], 2, ground.name), maps)
    where = f"synthetic Mars, seeds 0 to {terrains - 1}."
    if raster is not None:
        where = f"{ground.name}, {terrains} draws of its error."
    study.show(
        {
            "rows": summaries if study.as_json else [_mars_row(setting) for setting in summaries],
            "terrain": where,
            "steps": steps,
            "sensor_range": reach,
            "correction": correction.value,
            "maps": str(maps),
        },
        {"rows": "Nats learned (medians), and the fraction of a clairvoyant rover's"},
        f"Terrain: {where} {NO_RASTER}\nAlgorithm 1 plans with the {correction.value} correction "
        f"unless another is named. Its levels hold in each plan, ours over the whole run.\n"
        f"{len(rows)} runs; maps of the first terrain are in {maps}",
        file,
    )


def _check_ground(file: Path, cells: list[dict[str, Any]]) -> None:
    """Raise if the raster changed since the study started."""
    from homeward.errors import InvalidFileError
    from homeward.studies import StudyFile

    digest = cells[0].get("terrain_sha256")
    if digest is None or not file.exists() or not file.stat().st_size:
        return
    with StudyFile.read(file) as study_file:
        known = study_file.study.cells[0]
    changed = known.get("terrain_sha256", digest) != digest
    if known.get("raster") == cells[0]["raster"] and changed:
        raise InvalidFileError(
            f"{file}: {cells[0]['raster']} has changed since the study started; restore the old "
            "raster, or name another study file with --study"
        )


def _mars_row(summary: dict[str, Any]) -> dict[str, str]:
    """Return the summary of a setting, as in `summarise`, as a row of the printed table."""
    from homeward.paper.mars import MARKS

    paper, shares = summary["paper"], summary["shares"]
    row = {"setting": summary["setting"], "paper": "" if paper is None else f"{paper:,.0f}"}
    for mark, nats, share in zip(MARKS, summary["marks"], shares, strict=False):
        if nats is not None and share is not None:
            row[f"{mark:,}"] = f"{nats:,.0f} ({share:.0%})"
    return row | {
        "end": f"{summary['median']:,.0f} ({shares[-1]:.0%})",
        "cells": f"{summary['visited']:.0%}",
        "stranded": f"{summary['stranded']} of {summary['runs']}",
        "steps without gain": f"{summary['without_news']:,}",
        "ends": "; ".join(f"{count} {ENDS[end]}" for end, count in summary["ends"].items()),
    }


def timing(
    steps: Annotated[int, typer.Option(min=1, help="Number of steps to time per setting.")] = 300,
    seed: TerrainSeed = 0,
    scale: TerrainScale = 1.0,
    correction: AlgorithmCorrection = StudyCorrection.GENERAL,
    as_json: Json = False,
) -> None:
    """Measure the time of the first steps on Mars, and compare with the paper's table.

    The map has 50 x 100 cells unless scaled; γ = .999. Times are for a whole step. The paper's
    times are for planning alone, on a computer of 2012. Run no other program at the same time.

    Example: homeward paper timing --steps 100
    """
    from homeward.paper.timing import MAP, time_settings

    timings = time_settings(steps, seed, scale, correction.value)
    shown = [
        {
            "setting": t["setting"],
            "paper, s": f"{t['paper'] / 1000:.2f} ± {t['spread'] / 1000:.2f}",
            "median, ms": f"{t['median']:.2f}",
            "quartiles, ms": f"{t['q1']:.2f} to {t['q3']:.2f}",
            "longest, ms": f"{t['longest']:.1f}",
        }
        | ({"times faster": f"{t['times faster']:,.0f}"} if t["times faster"] else {})
        for t in timings
    ]
    size = timings[0]["shape"]
    conclusion = f"Synthetic Mars, seed {seed}; the {correction.value} correction."
    if size != MAP:
        conclusion += (
            f" The paper's times are for {MAP[0]} x {MAP[1]} cells, so don't compare them."
        )
    show(
        {
            "rows": timings if as_json else shown,
            "steps": steps,
            "correction": correction.value,
            "map": list(size),
        },
        {"rows": f"Time of a step on {size[0]} x {size[1]} cells of Mars, first {steps:,} steps"},
        conclusion,
        as_json,
    )


def toytext(
    seeds: Annotated[int, typer.Option(help="Runs per explorer and world.", min=1)] = 200,
    worlds: Annotated[
        int, typer.Option(help="Number of worlds for the calibration.", min=1)
    ] = 2000,
    delta: SafeDelta = 0.95,
    seed: Annotated[
        int, typer.Option(help="Random seed of the first run; the others follow.", min=0)
    ] = 0,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Compare safe and unsafe explorers in FrozenLake and CliffWalking: losses and tiles visited.

    Our explorer also runs with sampled certificates of confidence .999. "Lost" counts the runs that
    ended in a hole or off the cliff. "Not back" counts the lost runs and those whose return policy,
    followed from the last state, does not lead home. In a further world a taxi drives in unknown
    weather; it has one run for every twenty of the other worlds.

    The calibration draws dynamics from the prior, follows one plan until its recall and then its
    return policy, and compares the fraction of returns with δ. The exit code is 1 if the 99 % lower
    bound of that fraction is below δ.

    Example: homeward paper toytext --seeds 20 --worlds 200
    """
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    from functools import partial
    from statistics import mean

    import numpy as np

    from homeward.paper.toytext import EXPLORERS, SETTINGS, calibrate, explore, ride
    from homeward.studies.crews import cores

    rows, count = [], len(SETTINGS)
    number = cores() if workers is None else workers
    with ProcessPoolExecutor(number) if number else ThreadPoolExecutor(1) as pool:
        for setting in SETTINGS:
            kinds = [(name, delta) for name in EXPLORERS] + [("Algorithm 1", None)]
            for kind, level in kinds:
                name = f"{kind}, {'unsafe' if level is None else f'safe at {level:g}'}"
                runs = range(seed, seed + seeds)
                work = pool.map(partial(explore, setting, level, explorer=kind), runs, chunksize=4)
                label = f"{setting.title}, {name}"
                outings = list(track(work, label, quiet=as_json, total=seeds))
                returns = [o.home for o in outings if o.home is not None]
                rows.append(
                    {
                        "world": setting.title,
                        "explorer": name,
                        "runs": seeds,
                        "lost": sum(o.died for o in outings),
                        "not back": sum(not home for home in returns) if returns else None,
                        "tiles seen (mean)": mean(
                            len({*o.path} - {*np.flatnonzero(o.tiles.deadly).tolist()})
                            for o in outings
                        ),
                        "tiles to see": int((~outings[0].tiles.deadly).sum()),
                        "steps (mean)": mean(len(o.path) - 1 for o in outings),
                    }
                )
        trips = range(seed, seed + seeds // 20)
        driven = pool.map(partial(ride, delta, 500), trips)
        rides = list(track(driven, "taxi in unknown weather", quiet=as_json, total=len(trips)))
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
    taxi = [
        {
            "weather": "rainy" if rainy else "dry",
            "runs": len(mine),
            "not back": sum(not r.home for r in mine),
            "states seen (mean)": mean(r.states for r in mine),
            "steps (mean)": mean(r.steps for r in mine),
        }
        for rainy in (False, True)
        if (mine := [r for r in rides if r.rainy is rainy])
    ]
    holds = all(c.lower >= delta for c in kept)
    titles = {"runs": "Runs in Gymnasium's worlds"}
    titles["taxi"] = f"Ours with a taxi that is dry or rainy with equal probability, δ = {delta:g}"
    titles["calibration"] = f"Calibration: one plan in worlds drawn from the prior, δ = {delta:g}"
    verdict = "the safety level holds" if holds else "the safety level was not shown to hold"
    result = {"runs": rows, "taxi": taxi, "calibration": calibration, "holds": holds}
    show(result, titles, verdict, as_json)
    raise typer.Exit(0 if holds else 1)
