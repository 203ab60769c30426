"""``homeward paper safemdp``: head to head with SafeMDP on its own Mars task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from homeward.cli.options import Json, Scheduler, Table, Workers, study_option
from homeward.cli.show import show
from homeward.cli.study import complete_study


def safemdp(
    map: Annotated[
        Path, typer.Option(metavar="FILE.npy", help="Heights in m of cells 1 m apart.", exists=True)
    ],
    starts: Annotated[int, typer.Option(min=0, help="Starts drawn beside the peer's own.")] = 20,
    measurements: Annotated[int, typer.Option(min=1, help="Measurements of each run.")] = 525,
    delta: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Probability that a run of ours stays safe.")
    ] = 0.9,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the starts.")] = 0,
    study: Annotated[Path, study_option("safemdp.sqlite")] = Path("safemdp.sqlite"),
    table: Table = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Explore a map as SafeMDP does and as ours does, from the same starts.

    SafeMDP (Turchetta, Berkenkamp & Krause 2016) with its own constants; ours with its kernel; and
    ours with a kernel fitted to its measurements alone. A row gives the coverage by SafeMDP's
    definition and the number of unsafe moves: those that climb more than 30°.

    The map is a NumPy file [rows, columns]. It is read, never stored.

    If interrupted, run the same command again to resume.

    Example: homeward paper safemdp --map mars.npy --starts 2
    """
    from homeward.paper.safemdp import METHODS, by_start, summary
    from homeward.paper.safemdp_task import read_ground, starts_of
    from homeward.studies import define

    ground = read_ground(str(map))
    cells = [
        {
            "map": str(map.resolve()),
            "start": start,
            "method": method,
            "measurements": measurements,
            "delta": delta,
        }
        for start in starts_of(ground, starts, seed)
        for method in METHODS
    ]
    definition = define("safemdp", "homeward.paper.safemdp:compare", cells, [seed])
    rows = complete_study(study, definition, table, workers, scheduler, as_json=as_json)
    show(
        {"starts": by_start(rows, ground.shape[1]), "summary": summary(rows), "study": str(study)},
        {"starts": "Coverage and unsafe moves", "summary": "All starts"},
        f"{len(rows)} runs, kept in {study}",
        as_json,
    )
