"""``python -m lab check progress``: check that long runs make progress."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from homeward.cli.options import Json, Scheduler, Table, Workers, study_option
from homeward.cli.study import complete_study
from lab.report import conclude

TASK = "lab.check.progress:explore"


def progress(
    raster: Annotated[
        list[Path] | None,
        typer.Option(help="An elevation raster; its middle is explored. Can be repeated."),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Maximum number of steps of a run.")] = 1500,
    side: Annotated[int, typer.Option(min=4, help="Cells along each side of terrain.")] = 12,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Number of runs, sampled evenly from all.", show_default="all"),
    ] = None,
    study: Annotated[
        Path | None, study_option("progress.sqlite, with changed options in its name")
    ] = None,
    table: Table = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Run the default explorer for many steps in many worlds, and check its progress.

    The worlds are synthetic Mars and rasters, with sensors of 0 to 5 cells and three noises; random
    grids; FrozenLake; and CliffWalking. δ is from 1 to .5. The rules: at most 200 consecutive steps
    without an observation whose gain is above the floor; no failed move is attempted again unless
    the belief about it has changed; and gain shortly before a step limit. The exit code is 1 if a
    run breaks a rule.

    If interrupted, run the same command again to resume.

    Example: python -m lab check progress --runs 50 --raster DTM.tif
    """
    from homeward.planning.ends import End
    from homeward.studies import check_table, define
    from homeward.terrain import read_elevation
    from homeward.words import ENDS
    from lab.check.progress import LIMIT, SIDE, cells_of, faults_of, summarise

    if table is not None:
        check_table(table)
    files = [str(path.absolute()) for path in dict.fromkeys(raster or [])]
    for path in files:
        read_elevation(path, pixel=1.0 if path.endswith(".npy") else None)
    cells, counts = cells_of(files, steps, side, runs)
    definition = define("progress", TASK, cells, range(max(counts)), counts=counts)
    usual = (steps, side, runs) == (LIMIT, SIDE, None)
    size = [] if usual else [f"{'all' if runs is None else runs}x{steps}x{side}"]
    name = "-".join(["progress", *(Path(path).stem for path in files), *size])
    file = study or Path(f"{name}.sqlite")
    found = [
        {"sensor": None, "noise": None, **row}
        for row in complete_study(file, definition, table, workers, scheduler, as_json=as_json)
    ]
    totals = summarise(found)
    keys = ("ground", "sensor", "noise", "delta", "seed", "steps", "end")
    broken = [
        {**{key: run[key] for key in keys}, "fault": "; ".join(faults_of(run))}
        for run in found
        if faults_of(run)
    ]
    ends = [
        {"end": code, "why": ENDS[End[code]], "runs": count}
        for code, count in Counter(str(run["end"]) for run in found).most_common()
    ]
    conclude(
        {
            "rows": totals if as_json else [_shown(total) for total in totals],
            "ends": ends,
            "broken": broken,
            "holds": not broken,
            "study": str(file),
        },
        {
            "rows": "Runs of the default explorer: medians of steps and of the longest stretch",
            "ends": "How they ended",
            "broken": "Runs that break a rule",
        },
        f"{len(broken)} of {len(found)} runs break a rule; the runs are in {file}",
        as_json,
    )


def _shown(total: dict[str, Any]) -> dict[str, Any]:
    """Return the summary of a group of runs, formatted as a row of the table."""
    cells = {
        "sensor": "{sensor:g} cells",
        "runs": "{runs}",
        "steps": "{steps:g}",
        "no news (worst)": "{longest:g} ({worst})",
        "failed moves (repeated)": "{failed} ({repeated})",
        "at the limit (gaining)": "{limited} ({gaining})",
        "stranded": "{stranded}",
        "broken": "{broken}",
    }
    if total["sensor"] is None:
        cells["sensor"] = ""
    return {"ground": total["ground"]} | {
        name: cell.format(**total) for name, cell in cells.items()
    }
