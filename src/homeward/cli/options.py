"""Options that several commands take, said once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

Table = Annotated[Path | None, typer.Option(help="Every run as a table: .csv or .parquet.")]
Workers = Annotated[
    int | None,
    typer.Option(min=0, help="Processes; 0 works in this one.", show_default="one per core"),
]
Scheduler = Annotated[
    str | None, typer.Option(help="The address of a Dask scheduler, instead of processes.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

# fmt: off
BackWithin = Annotated[int | None, typer.Option(
    metavar="STEPS", help="Be home within so many steps of the call, too.")]
BackWithinDelta = Annotated[float | None, typer.Option(
    help="How surely.", show_default="as --delta, or --budget")]
KeepInDelta = Annotated[float | None, typer.Option(
    help="How surely to keep in it.", show_default="as --delta, or --budget")]
EachBase = Annotated[bool, typer.Option(
    "--each-base", help="Keep a way to each base, not just to any.")]
RunBudget = Annotated[float | None, typer.Option("--budget",
    help="The level of the whole run, whose home is the start: called off at any time, it comes "
    "home with this chance.", show_default="none")]
Recall = Annotated[int | None, typer.Option(
    metavar="STEPS", help="Plan for a call after exactly so many steps.",
    show_default="at any step")]
# fmt: on

STOPPED = 130
"""The exit code of what was stopped by Ctrl-C."""


def find_modules_here() -> None:
    """Let module:name also mean a file in the current folder, as with ``python -m``."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
