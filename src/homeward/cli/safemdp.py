"""``homeward paper safemdp``: head to head with SafeMDP on its own Mars task."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from homeward.cli.paper_study import PaperStudy, study_command
from homeward.cli.show import save


@study_command("safemdp")
def safemdp(
    study: PaperStudy,
    map: Annotated[
        Path, typer.Option(metavar="FILE.npy", help="Heights in m of cells 1 m apart.", exists=True)
    ],
    starts: Annotated[int, typer.Option(min=0, help="Random starts besides SafeMDP's own.")] = 20,
    measurements: Annotated[int, typer.Option(min=1, help="Measurements of each run.")] = 525,
    delta: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Probability that a run of ours stays safe.")
    ] = 0.9,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the starts.")] = 0,
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

    ground = read_ground(str(map))
    start_cells = starts_of(ground, starts, seed)
    cells = [
        {
            "map": str(map.resolve()),
            "start": start,
            "method": method,
            "measurements": measurements,
            "delta": delta,
        }
        for start in start_cells
        for method in METHODS
    ]
    options = {"starts": starts, "measurements": measurements, "delta": delta, "seed": seed}
    defaults = {"starts": 20, "measurements": MEASUREMENTS, "delta": RUN_LEVEL, "seed": 0}
    changed = [f"{name}{value:g}" for name, value in options.items() if value != defaults[name]]
    file = study.file(*changed)
    rows = study.rows(file, cells, [seed], function="compare")
    save(draw_safemdp(rows), study.out)
    columns = ground.shape[1]
    start = START[0] * columns + START[1]
    study.show(
        {"starts": by_start(rows, columns), "summary": summary(rows, start)},
        {"starts": "Coverage and unsafe moves", "summary": "All starts"},
        f"{len(rows)} runs",
        file,
    )
