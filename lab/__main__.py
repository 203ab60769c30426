"""``python -m lab``: checks, benchmarks, the page's types, and its first screen."""

from __future__ import annotations

import typer

from homeward.cli.command import run_app
from lab.bench import commands as bench
from lab.check import commands as check
from lab.front import front
from lab.types import write as write_types

app = typer.Typer(
    name="lab",
    help="Check Homeward's guarantees, and compare its speed with other solvers.\n\n"
    "Exit codes: 0 success, 1 a check failed, 2 invalid input, 130 stopped by Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(check.app, name="check")
app.add_typer(bench.app, name="bench")
app.command("types", help="Write the page's TypeScript types of the server's API.")(write_types)
app.command()(front)

if __name__ == "__main__":
    run_app(app, "lab")
