"""``homeward paper levels``: how often runs keep their level, and how much they learn."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from homeward.cli.options import STUDY_HELP, Figure, Json, Scheduler, Table, Workers
from homeward.cli.show import check_writable, save, show
from homeward.cli.study import conducted

if TYPE_CHECKING:
    from homeward.paper.levels import Count, Level


def levels(
    worlds: Annotated[int, typer.Option(min=1, help="Number of worlds per noise and level.")] = 300,
    steps: Annotated[int, typer.Option(min=1, help="Maximum number of steps of a run.")] = 200,
    out: Figure = Path("levels.png"),
    study: Annotated[
        Path | None,
        typer.Option(
            help=STUDY_HELP, show_default="levels.sqlite, with changed options in its name"
        ),
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
    from homeward.paper.figures.levels import draw_levels
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
            "rows": [asdict(level) if as_json else _shown(level) for level in found],
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


def _shown(level: Level) -> dict[str, str]:
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
