"""Options that several commands take, said once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from homeward.errors import InvalidInputError

KEPT = "Where the runs are kept as they come; the same command goes on from there."
"""The help of --study, whose default is named by each command."""


def _refuse_budget(value: float | None) -> None:
    """Say what took the place of an option that is gone."""
    if value is not None:
        raise InvalidInputError(
            f"--budget is gone: --delta is the level of the whole run now; use --delta {value:g}"
        )


Table = Annotated[Path | None, typer.Option(help="Every run as a table: .csv or .parquet.")]
Workers = Annotated[
    int | None,
    typer.Option(min=0, help="Processes; 0 works in this one.", show_default="one per core"),
]
Scheduler = Annotated[
    str | None, typer.Option(help="The address of a Dask scheduler, instead of processes.")
]
Figure = Annotated[Path, typer.Option(help="The figure: .png, .pdf or .svg.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

# fmt: off
BackWithin = Annotated[int | None, typer.Option(
    metavar="STEPS", help="Also be able to be home within this number of steps of the call.")]
BackWithinDelta = Annotated[float | None, typer.Option(
    help="Probability required for --back-within.", show_default="as --delta")]
KeepInDelta = Annotated[float | None, typer.Option(
    help="With --algorithm paper: probability required for --keep-in. By default the "
    "area is never left.", show_default="as --delta")]
EachBase = Annotated[bool, typer.Option(
    "--each-base", help="Keep a way to each base, not just to any.")]
Recall = Annotated[int | None, typer.Option(
    metavar="STEPS", help="With --algorithm paper: plan for a call after exactly this many steps.",
    show_default="at any step")]
Algorithm = Annotated[str | None, typer.Option(
    help="rate: go where there is most to learn per step, and keep the level over the whole run. "
    "paper: Algorithm 1 of the paper, which keeps it plan by plan.", show_default="rate")]
Floor = Annotated[float | None, typer.Option(
    help="End when nothing is left that gains this much per step.",
    show_default="0.05 nats, or 0.001 squares")]
Budget = Annotated[float | None, typer.Option(
    "--budget", hidden=True, callback=_refuse_budget)]
# fmt: on

STOPPED = 130
"""The exit code of what was stopped by Ctrl-C."""


def find_modules_here() -> None:
    """Let module:name also mean a file in the current folder, as with ``python -m``."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
