"""``homeward paper coverage``: the paper's figure of how much explorers uncover."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from homeward.cli.options import STUDY_HELP, Figure, Json, Scheduler, Table, Workers
from homeward.cli.show import check_writable, save, show
from homeward.cli.study import conducted


def coverage(
    scale: Annotated[
        float, typer.Option(min=0.001, max=10.0, help="Factor on the paper's worlds.")
    ] = 1.0,
    out: Figure = Path("coverage.png"),
    study: Annotated[
        Path | None,
        typer.Option(help=STUDY_HELP, show_default="coverage.sqlite, with the scale in its name"),
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
    from homeward.paper.coverage import cells_of, charts, claims, steps_by_walls, summarise
    from homeward.paper.figures.coverage import draw_coverage
    from homeward.studies import define

    check_writable(out)
    cells, counts = cells_of(scale)
    definition = define(
        "coverage", "homeward.paper.coverage:explore", cells, range(max(counts)), counts=counts
    )
    file = study or Path("coverage.sqlite" if scale == 1.0 else f"coverage-{scale:g}.sqlite")
    rows = conducted(file, definition, table, workers, scheduler, as_json=as_json)
    found = summarise(rows)
    save(draw_coverage(charts(found), "grid world size | fraction of walls"), out)
    said = claims(found)
    show(
        {
            "rows": [asdict(cell) for cell in found],
            "claims": said,
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
