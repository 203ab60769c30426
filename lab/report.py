"""Shared options of the lab's commands, and the report of a check."""

from __future__ import annotations

from typing import Annotated, Any, NoReturn

import typer

from homeward.cli.show import show

Seed = Annotated[int, typer.Option(help="Random seed.", min=0)]
Tolerance = Annotated[float, typer.Option(help="Largest error allowed, for rounding.")]
Beliefs = Annotated[int, typer.Option(help="Random beliefs of each kind.", min=1)]
Steps = Annotated[int, typer.Option(help="Steps of each exploration.", min=1)]


def conclude(
    result: dict[str, Any], titles: dict[str, str], conclusion: str, as_json: bool
) -> NoReturn:
    """Print the result of a check without empty tables; exit with 0 if the check holds, else 1.

    `result` has tables (lists of rows) by key, numbers, and whether the check ``holds``.
    """
    show(result, {key: title for key, title in titles.items() if result[key]}, conclusion, as_json)
    raise typer.Exit(0 if result["holds"] else 1)
