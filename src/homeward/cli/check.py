"""``homeward check``: the laws that the planner rests on, checked on random problems."""

from __future__ import annotations

import typer

app = typer.Typer(
    help="Check on random problems what the planner rests on.", no_args_is_help=True
)
