"""``homeward run KIND``: start or resume a run of any kind, with the options of that kind."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from homeward.cli.options import Json, find_modules_here

if TYPE_CHECKING:
    from homeward.cli.settings import Settings

Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of the run.", show_default="a new one in runs"),
]


def run_command(name: str) -> Any:
    """Return the command that starts or resumes runs of the kind `name`."""
    from homeward.cli.running import run_and_report
    from homeward.cli.settings import make_command
    from homeward.runs.kind import find_kind

    kind = find_kind(name)

    def run(settings: Settings, out: Out = None, as_json: Json = False) -> None:
        run_and_report(settings, out, stem=kind.name, as_json=as_json)

    about = inspect.cleandoc(kind.config.__doc__ or f"A {kind.name} run.")
    summary = (
        f"{about}\n\n"
        "The folder of the run gets the record, a summary and, if the kind has pictures, map.png. "
        "Ctrl-C stops the run. To resume, run the same command, or only with --out. A larger "
        "--steps extends a run that reached its limit.\n\n"
        f"Example: homeward run {name} --steps 20 --out runs/first"
    )
    return make_command(run, name, kind.config, summary=summary)


class KindGroup(TyperGroup):
    """A group of commands that start runs: one per kind, which is imported when it is needed."""

    make = staticmethod(run_command)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all kinds."""
        from homeward.runs.kind import kind_names

        return kind_names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a kind, given its name or module:name."""
        find_modules_here()
        return self.make(cmd_name)


app = typer.Typer(
    cls=KindGroup,
    callback=lambda: None,  # makes it a group, although it has no fixed subcommand
    no_args_is_help=True,
    help="Start or resume a run of a kind, and run it to its end.\n\n"
    "A kind is one of the commands below, or module:name of a Kind of your own. Each kind has its "
    "own options.\n\nExample: homeward run grid --size 8 --seed 3 --out runs/one",
)
