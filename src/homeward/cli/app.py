"""The commands of ``homeward``. Heavy imports are inside the commands, so that --help is fast."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from homeward import __version__
from homeward.cli import certify, demo, mission, paper, run, runs, serve, study


class Root(TyperGroup):
    """The top-level commands; `cli.explore` is imported only when ``explore`` is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command for the arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        if name == "explore":
            from homeward.cli.explore import command
        return name, command, rest


app = typer.Typer(
    name="homeward",
    cls=Root,
    help="Explore unknown worlds and stay able to return home, with a probability that you set.\n\n"
    "Exit codes: 0 success, 1 a check or a run failed, 2 invalid input, 130 stopped by Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command()
def explore() -> None:
    """Explore terrain with a vehicle that stays able to return home, and draw the map."""


app.command()(demo.demo)
app.command()(certify.certify)
app.command()(serve.serve)
app.add_typer(run.app, name="run")
app.add_typer(runs.app, name="runs")
app.add_typer(mission.app, name="mission")
app.add_typer(study.app, name="study")
app.add_typer(paper.app, name="paper")


def _print_version(is_given: bool) -> None:
    """Print the version and exit if the option --version is given."""
    if is_given:
        typer.echo(f"homeward {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Explore unknown worlds and stay able to return home, with a probability that you set."""
