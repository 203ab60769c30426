"""Options that several commands take, said once."""

from __future__ import annotations

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

STOPPED = 130
"""The exit code of what was stopped by Ctrl-C."""
