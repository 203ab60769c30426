"""``homeward paper``: the paper's small stories, figures and tables."""

from __future__ import annotations

import typer

app = typer.Typer(help="The paper's stories, figures and tables.", no_args_is_help=True)
