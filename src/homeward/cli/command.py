"""Run a command-line program, and turn its errors into one line and an exit code."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from homeward.cli.interrupts import CTRL_C, listening

if TYPE_CHECKING:
    import typer


def run() -> None:
    """Run the `homeward` command."""
    try:
        from homeward.cli.app import app
    except ModuleNotFoundError as cause:
        from homeward.extras import missing

        sys.stderr.write(f"homeward: {missing(cause, 'the command line')}\n")
        sys.exit(2)
    run_app(app, "homeward")


def run_app(app: typer.Typer, name: str) -> None:
    """Run a Typer application; on a `HomewardError`, print one line and exit with code 2."""
    from homeward.errors import HomewardError
    from homeward.memory import keep_freed

    keep_freed()
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files may have bytes that are not text
        sys.stdout.reconfigure(errors="backslashreplace")
    with listening():
        try:
            app()
        except HomewardError as error:
            if CTRL_C.pressed:
                raise
            sys.stderr.write(f"{name}: {error}\n")
            sys.exit(2)
