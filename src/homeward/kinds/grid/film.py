"""The film of a run in a grid world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.figure import write_film as write_walk
from homeward.kinds.grid.kind import make
from homeward.runs.config import checked

if TYPE_CHECKING:
    from pathlib import Path

    from homeward.runs.run import Run


def write_film(run: Run, out: Path) -> None:
    """Write a film of a run, with one frame per step."""
    config, world, path = _walk(run)
    write_walk(world.grid, path, out, title=_title(config))


def _walk(run: Run) -> tuple[GridConfig, Any, list[int]]:
    """Return the configuration, the world after the recorded steps, and the path [steps + 1]."""
    config = checked(GridConfig, run.config, str(run.directory / "config.json"))
    world: Any = make(config).world
    world.look()
    path = [world.state]
    for record in run.records():
        world.act(record.action)
        path.append(world.state)
    return config, world, path


def _title(config: GridConfig) -> str:
    return f"safe at δ = {config.delta:g}" if config.explorer == "safe" else config.explorer
