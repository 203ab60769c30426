"""The command tree. Heavy imports stay inside the commands, so that --help is quick."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from homeward import __version__
from homeward.cli import certify, demo, explore, grid, paper, runs, serve, toytext
from homeward.errors import InvalidInputError

app = typer.Typer(
    name="homeward",
    help="Explore unknown worlds and keep a way home, with a probability that you set.\n\n"
    "Exit codes: 0 all went well, 1 a check did not hold or a run failed, 2 the input was wrong, "
    "130 stopped by Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(explore.explore)
app.command()(demo.demo)
app.command()(toytext.toytext)
app.command()(grid.grid)
app.command()(certify.certify)
app.command()(serve.serve)
app.add_typer(runs.app, name="runs")
app.add_typer(paper.app, name="paper")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"homeward {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Explore unknown worlds and keep a way home, with a probability that you set."""


_ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


@app.command("check", hidden=True, context_settings=_ANYTHING)
@app.command("bench", hidden=True, context_settings=_ANYTHING)
def moved(context: typer.Context) -> None:
    """Name the command that took the place of one that left the product."""
    name = str(context.info_name)
    now = shlex.join(["python", "-m", "lab", name, *context.args])
    raise InvalidInputError(f"{name} is no longer part of homeward; in its repository, run: {now}")
