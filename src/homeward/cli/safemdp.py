"""``homeward paper safemdp``: head to head with SafeMDP on its own Mars task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from homeward.cli.options import Figure, Json, Scheduler, Table, Workers, study_option
from homeward.cli.show import check_writable, save, show
from homeward.cli.study import complete_study


def safemdp(
    map: Annotated[
        Path, typer.Option(metavar="FILE.npy", help="Heights in m of cells 1 m apart.", exists=True)
    ],
    starts: Annotated[int, typer.Option(min=0, help="Random starts besides SafeMDP's own.")] = 20,
    measurements: Annotated[int, typer.Option(min=1, help="Measurements of each run.")] = 525,
    delta: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Probability that a run of ours stays safe.")
    ] = 0.9,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the starts.")] = 0,
    out: Figure = Path("safemdp.png"),
    study: Annotated[
        Path | None, study_option("safemdp.sqlite, with changed options in its name")
    ] = None,
    table: Table = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Explore a map with SafeMDP and with our explorer, from the same starts.

    Three methods are compared: SafeMDP (Turchetta, Berkenkamp & Krause 2016) with its own
    constants; our explorer with the kernel of SafeMDP; and our explorer with a kernel that is
    fitted to its own measurements alone. A row gives the coverage by SafeMDP's definition and the
    number of unsafe moves: those that climb more than 30°. Our explorer promises that a run has no
    unsafe move with probability δ; an unsafe move ends the run. False claims are unsafe moves that
    are called safe.

    The map is a NumPy file of rows and columns. It is read, never stored.

    If interrupted, run the same command again to resume.

    Example: homeward paper safemdp --map mars.npy --starts 2
    """
    from homeward.paper.figures.studies import draw_safemdp
    from homeward.paper.safemdp import METHODS, RUN_LEVEL, by_start, summary
    from homeward.paper.safemdp_task import MEASUREMENTS, START, read_ground, starts_of
    from homeward.studies import define

    check_writable(out)
    ground = read_ground(str(map))
    where = starts_of(ground, starts, seed)
    cells = [
        {
            "map": str(map.resolve()),
            "start": start,
            "method": method,
            "measurements": measurements,
            "delta": delta,
        }
        for start in where
        for method in METHODS
    ]
    definition = define("safemdp", "homeward.paper.safemdp:compare", cells, [seed])
    options = {"starts": starts, "measurements": measurements, "delta": delta, "seed": seed}
    usual = {"starts": 20, "measurements": MEASUREMENTS, "delta": RUN_LEVEL, "seed": 0}
    parts = [f"{name}{value:g}" for name, value in options.items() if value != usual[name]]
    file = study or Path(f"{'-'.join(['safemdp', *parts])}.sqlite")
    rows = complete_study(file, definition, table, workers, scheduler, as_json=as_json)
    save(draw_safemdp(rows), out)
    columns = ground.shape[1]
    show(
        {
            "starts": by_start(rows, columns),
            "summary": summary(rows, START[0] * columns + START[1]),
            "figure": str(out),
            "study": str(file),
        },
        {"starts": "Coverage and unsafe moves", "summary": "All starts"},
        f"{len(rows)} runs; the figure is in {out}, the runs are in {file}",
        as_json,
    )
