"""The progress of a run on standard error, where that is a terminal."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

    from homeward.planning.explorer import Step
    from homeward.runs import Run

REFRESH_SECONDS = 0.25
MAX_SHOWN_SQUARES = 60
"""Maximum width, in squares, of a grid shown in a terminal."""


def show_steps(run: Run, steps: Iterable[Step], limit: int | None, *, quiet: bool) -> None:
    """Take the steps of a run; show how far it is, what it keeps and what it has learned.

    Nothing is shown before the first step, so that messages come first.
    """
    steps = _stop_between(steps)
    if quiet or not sys.stderr.isatty():
        for _ in steps:
            pass
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    total = next((n for n in (limit, run.manifest.limit, run.config.get("limit")) if n), None)
    said = "step {task.completed:,.0f}" + ("" if total is None else " of {task.total:,.0f}")
    bar = Progress(
        TextColumn(said), BarColumn(None), TextColumn("{task.description}"), TimeRemainingColumn()
    )
    task, shown, live = bar.add_task("", total=total), 0.0, None
    describe: Callable[[Any], tuple[list[str], str]] | None = None
    try:
        for step in steps:
            if time.monotonic() - shown < REFRESH_SECONDS:
                continue
            shown = time.monotonic()
            if live is None or describe is None:
                describe = _describer(run)
                bar.reset(task, total=total, completed=step.number - 1)
                live = Live(bar, console=Console(stderr=True), transient=True)
                live.start()
            words, picture = describe(run.explorer)
            bounds = [criterion.kept_bound for criterion in step.plan.criteria]
            words.insert(0, _kept(bounds))
            bar.update(task, completed=step.number, description=" · ".join(words))
            live.update(Group(bar, Text.from_ansi(picture)) if picture else bar, refresh=True)
    finally:
        if live is not None:
            live.stop()


def _stop_between(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield steps, and raise KeyboardInterrupt after the one in which Ctrl-C came.

    Raised at once it would come out of compiled code as a SystemError. A second Ctrl-C does that.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield from steps
        return
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    signal.signal(signal.SIGINT, ask)
    try:
        for step in steps:
            yield step
            if asked:
                raise KeyboardInterrupt
        if asked:
            raise KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _kept(bounds: list[float]) -> str:
    """Return the lowest bound that is proven of a plan, as text."""
    if not bounds:
        return "no safety level"
    return f"{'home' if len(bounds) == 1 else 'all kept'} ≥ {min(bounds):.4f}"


def _describer(run: Run) -> Callable[[Any], tuple[list[str], str]]:
    """Return a function from an explorer to a text on what it knows, with a map of a small grid."""
    import numpy as np

    from homeward.beliefs.heights import TerrainBelief, entropy_reduction
    from homeward.cli.running import config_of
    from homeward.kinds.grid.world import HeightGridWorld, write
    from homeward.kinds.rover.config import RoverConfig
    from homeward.kinds.rover.kind import prior_of
    from homeward.kinds.rover.outputs import is_seen

    config = config_of(run)
    prior = prior_of(config) if isinstance(config, RoverConfig) else None

    def describe(explorer: Any) -> tuple[list[str], str]:
        belief, world = explorer.belief, explorer.world
        if prior is not None and isinstance(belief, TerrainBelief):
            nats = entropy_reduction(prior, belief)
            return [f"{is_seen(belief).mean():.0%} seen to 10 cm", f"{nats:,.0f} nats"], ""
        if not isinstance(world, HeightGridWorld):
            return [], ""
        grid, picture = world.grid, ""
        if max(grid.shape) <= MAX_SHOWN_SQUARES:
            known = np.where(world.seen | grid.walls, grid.heights.ravel(), 0)
            picture = write(known.reshape(grid.shape), world.state)
        return [f"{world.seen.mean():.0%} seen"], picture

    return describe
