"""``homeward run KIND``: start or resume a run of any kind, with the options of that kind."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from homeward.cli.options import Json, find_modules_here

Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of the run.", show_default="a new one in runs"),
]


def run_command(name: str) -> Any:
    """Return the command that starts or resumes runs of a kind."""
    from homeward.cli.running import run_and_report
    from homeward.cli.settings import ConfigFile, Settings, make_command
    from homeward.runs.kind import find_kind

    kind = find_kind(name)

    def run(
        settings: dict[str, Any], out: Out = None, config: ConfigFile = None, as_json: Json = False
    ) -> None:
        given = Settings(name, kind.config, settings, config)
        run_and_report(kind, given, out, stem=kind.name, as_json=as_json)

    run.__annotations__ |= {"out": Out, "config": ConfigFile, "as_json": Json}
    about = inspect.cleandoc(kind.config.__doc__ or f"A {kind.name} run.")
    summary = (
        f"{about}\n\n"
        "The folder of the run gets the record, a summary and, if the kind has pictures, map.png. "
        "Ctrl-C stops the run. To resume, run the same command, or only with --out. A larger "
        "--steps extends a run that reached its limit.\n\n"
        f"Example: homeward run {name} --steps 20 --out runs/first"
    )
    return make_command(run, kind.config, name, summary=summary)


class KindGroup(TyperGroup):
    """The kinds as commands; a kind is imported only when its command is needed."""

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
