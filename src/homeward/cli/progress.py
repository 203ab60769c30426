"""``homeward check progress``: whether runs get on, or go to and fro."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homeward.cli.options import Json, Scheduler, Table, Workers
from homeward.cli.runs import do_all
from homeward.cli.show import show

if TYPE_CHECKING:
    from homeward.studies.progress import Total


def progress(
    raster: Annotated[
        list[Path] | None,
        typer.Option(help="An elevation raster to explore the middle of; can be repeated."),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of a run at most.")] = 1500,
    side: Annotated[int, typer.Option(min=4, help="Cells along each side of terrain.")] = 12,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Make so many of the runs, drawn evenly.", show_default="all"),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            help="Where the runs are kept as they come; the same command goes on from there.",
            show_default="progress.sqlite, with what is not the default in its name",
        ),
    ] = None,
    table: Table = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Let the default explorer run long on many grounds, and judge what the runs do.

    Synthetic Mars and rasters with sensors of 0 to 5 cells and three noises, random grids,
    FrozenLake and CliffWalking, at δ from 1 to .5. The law: no 200 steps in a row without an
    observation worth more than the floor; no failed move attempted again with nothing learned about
    it; news shortly before a step limit. Exit code 1 if a run breaks it.

    Killed or interrupted, the same command goes on where it was.

    Example: homeward check progress --runs 50 --raster DTM.tif
    """
    from homeward.planning.explorer import End
    from homeward.rasters import read_elevation
    from homeward.studies.machine import Ledger, check_table, define, table_of, write_table
    from homeward.studies.progress import LIMIT, SIDE, cells_of, faults_of, summarise

    if table is not None:
        check_table(table)
    files = [str(path.absolute()) for path in dict.fromkeys(raster or [])]
    for path in files:
        read_elevation(path, pixel=1.0 if path.endswith(".npy") else None)
    cells, counts = cells_of(files, steps, side, runs)
    definition = define(
        "progress", "homeward.studies.progress:explore", cells, range(max(counts)), counts=counts
    )
    usual = (steps, side, runs) == (LIMIT, SIDE, None)
    size = [] if usual else [f"{'all' if runs is None else runs}x{steps}x{side}"]
    name = "-".join(["progress", *(Path(path).stem for path in files), *size])
    file = study or Path(f"{name}.sqlite")
    with Ledger.open(file, definition) as ledger:
        do_all(ledger, workers, scheduler, as_json=as_json)
        laid, failed = table_of(ledger), ledger.failures()
    if table is not None:
        write_table(laid, table)
    if failed:
        typer.echo(f"{len(failed)} runs failed; the first: {failed[0].error}", err=True)
        raise typer.Exit(1)
    found: list[dict[str, Any]] = [
        {"sensor": None, "noise": None, **dict(zip(laid.columns, row, strict=True))}
        for row in laid.rows
    ]
    totals = summarise(found)
    asked = ("ground", "sensor", "noise", "delta", "seed", "steps", "end")
    broken = [
        {**{key: run[key] for key in asked}, "fault": "; ".join(faults_of(run))}
        for run in found
        if faults_of(run)
    ]
    ends = [
        {"end": code, "why": str(End[code]), "runs": count}
        for code, count in Counter(str(run["end"]) for run in found).most_common()
    ]
    show(
        {
            "rows": [asdict(total) if as_json else _shown(total) for total in totals],
            "ends": ends,
            "broken": broken,
            "holds": not broken,
            "study": str(file),
        },
        {
            "rows": "Runs of the default explorer: medians of steps and of the longest stretch",
            "ends": "How they ended",
            **({"broken": "Runs that break the law"} if broken else {}),
        },
        f"{len(broken)} of {len(found)} runs break the law; the runs are in {file}",
        as_json,
    )
    raise typer.Exit(1 if broken else 0)


def _shown(total: Total) -> dict[str, Any]:
    """Lay a total out for people."""
    return {
        "ground": total.ground,
        "sensor": "" if total.sensor is None else f"{total.sensor:g} cells",
        "runs": total.runs,
        "steps": f"{total.steps:g}",
        "no news (worst)": f"{total.longest:g} ({total.worst})",
        "failed moves (repeated)": f"{total.failed} ({total.repeated})",
        "at the limit (gaining)": f"{total.limited} ({total.gaining})",
        "stranded": total.stranded,
        "broken": total.broken,
    }
