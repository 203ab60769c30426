"""Output of the command line: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from homeward.errors import InvalidFileError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

T = TypeVar("T")


def track(items: Iterable[T], label: str, *, quiet: bool, total: int | None = None) -> Iterable[T]:
    """Return the items; iterating shows a progress bar if stderr is a terminal and not `quiet`."""
    if quiet or not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.progress import track as bar

    return bar(items, label, total=total, console=Console(stderr=True), transient=True)


@contextmanager
def progress_bar(label: str, total: int, *, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that advances a progress bar by a number of items.

    Yield None, without a bar, if `quiet` or if stderr is not a terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda more: progress.advance(task, more)


def say(line: str) -> None:
    """Print a line of text."""
    sys.stdout.write(line + "\n")


def say_json(result: dict[str, Any]) -> None:
    """Print one JSON object."""
    say(json.dumps(result, ensure_ascii=False))


def show(result: dict[str, Any], titles: dict[str, str], conclusion: str, as_json: bool) -> None:
    """Print a result as JSON if `as_json`; otherwise print its tables and the text `conclusion`.

    `titles` has the keys of `result` that are printed as tables, each with the title of its table.
    """
    if as_json:
        say_json(result)
        return
    for key, title in titles.items():
        print_table(result[key], title)
    console().print(conclusion)


def print_table(
    rows: Sequence[dict[str, Any]],
    title: str | None = None,
    right: Collection[str] = (),
    red: Collection[int] = (),
) -> None:
    """Print rows as a table.

    Columns of numbers and the columns `right` are aligned right. `red` has the indices of the rows
    that are printed in red.
    """
    from rich.table import Table

    table = Table(title=title)
    for name, value in rows[0].items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        table.add_column(name, justify="right" if number or name in right else "left")
    for i, row in enumerate(rows):
        table.add_row(*map(_cell, row.values()), style="red" if i in red else None)
    console().print(table)


def console() -> Console:
    """Return a console for standard output; without a terminal it is 120 columns wide."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 120)


def check_writable(
    out: Path, kinds: tuple[str, ...] = (".png", ".pdf", ".svg"), what: str = "a figure"
) -> None:
    """Raise if `out` has none of the suffixes `kinds`, or can't be written.

    Commands call this before they compute. `what` names the content of the file in messages.
    """
    if out.suffix.lower() not in kinds:
        raise InvalidFileError(f"{out}: {what} can be written as {', '.join(kinds)}")
    if not out.parent.is_dir():
        raise InvalidFileError(f"{out}: there is no folder {out.parent}")
    if out.is_dir() or not os.access(out.parent, os.W_OK):
        raise InvalidFileError(f"{out}: can't be written")


def save(figure: Figure, out: Path) -> None:
    """Write a figure, completely or not at all."""
    from homeward.plots.films import completed

    check_writable(out)
    with completed(out) as part:
        figure.savefig(part)


def _cell(value: object) -> str:
    """Return the text of a value in a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if value == 0 or 1e-3 <= abs(value) < 1e4 else f"{value:.1e}"
    return str(value)
