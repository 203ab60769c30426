"""Options that several commands share."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
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
RunsFolder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder with the runs.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
SafeDelta = Annotated[
    float,
    typer.Option(help="Lower bound on the probability that the safe explorer can return home."),
]
TerrainSeed = Annotated[int, typer.Option(min=0, help="Random seed of the terrain.")]
MaxSteps = Annotated[int, typer.Option(min=1, help="Maximum number of steps of a run.")]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Settings in TOML or JSON, such as config.json of a run; options override them.",
    ),
]


def study_option(default: str) -> Any:
    """Return the option --study; its help shows the text `default` as the default."""
    text = "File that stores finished runs; the same command resumes from it."
    return typer.Option(help=text, show_default=default)


def output_option(content: str, default: str) -> Any:
    """Return the option --out for a file; `content` and `default` are texts for its help."""
    return typer.Option(metavar="FILE", help=content, show_default=default)


def set_options(
    command: Callable[..., None],
    function: Callable[..., None],
    options: Mapping[str, tuple[Any, Any]],
    **types: Any,
) -> None:
    """Give `command` the parameters of `function` except the first one, and further options.

    `options` has the Typer annotation and the default of each further option, by name. `types` are
    classes that annotations of `function` name and its module does not import.
    """
    only = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.signature(function, locals=types, eval_str=True)
    parameters = [own.replace(kind=only) for own in [*signature.parameters.values()][1:]]
    for name, (hint, default) in options.items():
        parameters.append(inspect.Parameter(name, only, default=default, annotation=hint))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {own.name: own.annotation for own in parameters}


def find_modules_here() -> None:
    """Add the current folder to the module search path, as ``python -m`` does."""
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
