"""Options that several commands take, declared once."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

Table = Annotated[Path | None, typer.Option(help="Every run as a table: .csv or .parquet.")]
Workers = Annotated[
    int | None,
    typer.Option(min=0, help="Worker processes; 0 runs in this one.", show_default="one per core"),
]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler, instead of processes.")
]
Figure = Annotated[Path, typer.Option(help="The figure: .png, .pdf or .svg.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def study_option(default: str) -> Any:
    """Return the option --study; each command describes its own default."""
    text = "File that stores finished runs; the same command resumes from it."
    return typer.Option(help=text, show_default=default)


STOPPED = 130
"""The exit code of a command that was stopped by Ctrl-C."""


def find_modules_here() -> None:
    """Let module:name refer to a file in the current folder too, as ``python -m`` does."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
