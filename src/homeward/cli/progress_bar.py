"""Progress of a run, shown on standard error if that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from homeward.cli.interrupts import stop_between
from homeward.words import floored

if TYPE_CHECKING:
    from homeward.planning.explorer import Step
    from homeward.runs import Run

REFRESH_SECONDS = 0.25


def show_steps(run: Run, steps: Iterable[Step], limit: int | None, *, quiet: bool) -> None:
    """Execute the steps of a run, and show a progress bar with the number of the last step.

    Beside the bar are the lowest bound of the run's criteria and the texts of the run's kind. The
    bar appears after the first step, so that earlier messages stay visible.
    """
    steps = stop_between(steps)
    if quiet or not sys.stderr.isatty():
        for _ in steps:
            pass
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    from homeward.cli.running import config_of, kind_of

    total = next((n for n in (limit, run.manifest.limit, run.config.get("limit")) if n), None)
    number = "step {task.completed:,.0f}" + ("" if total is None else " of {task.total:,.0f}")
    bar = Progress(
        TextColumn(number), BarColumn(None), TextColumn("{task.description}"), TimeRemainingColumn()
    )
    task, shown, live = bar.add_task("", total=total), 0.0, None
    describe: Callable[[Any], tuple[list[str], str]] | None = None
    try:
        for step in steps:
            if time.monotonic() - shown < REFRESH_SECONDS:
                continue
            shown = time.monotonic()
            if live is None:
                live_text = kind_of(run).live
                describe = None if live_text is None else live_text(config_of(run))
                bar.reset(task, total=total, completed=step.number - 1)
                live = Live(bar, console=Console(stderr=True), transient=True)
                live.start()
            texts, picture = ([], "") if describe is None else describe(run.explorer)
            bounds = [each.bound for each in step.decision.bounds]
            name = "bound" if len(bounds) == 1 else "lowest bound"
            level = f"{name} ≥ {floored(min(bounds), 4)}" if bounds else "no safety level"
            bar.update(task, completed=step.number, description=" · ".join([level, *texts]))
            live.update(Group(bar, Text.from_ansi(picture)) if picture else bar, refresh=True)
    finally:
        if live is not None:
            live.stop()
