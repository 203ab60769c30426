"""Options that several commands share."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

Table = Annotated[
    Path | None, typer.Option(help="Also write a table of all runs: .csv or .parquet.")
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=0, help="Worker processes; 0 computes in this process.", show_default="one per core"
    ),
]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, instead of local workers.")
]
Figure = Annotated[Path, typer.Option(help="File of the figure: .png, .pdf or .svg.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def study_option(default: str) -> Any:
    """Return the option --study with a description of its default."""
    text = "File that stores finished runs; the same command resumes from it."
    return typer.Option(help=text, show_default=default)


def find_modules_here() -> None:
    """Add the current folder to the module search path, as ``python -m`` does."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
