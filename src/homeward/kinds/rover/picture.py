"""The map and the film of a rover's run that has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from homeward.errors import InvalidFileError
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.figure import Frame, TerrainPanel, draw_terrain, write_terrain_film
from homeward.kinds.rover.kind import area_of, cells_of, make
from homeward.kinds.rover.outputs import path_of, read_facts
from homeward.runs.config import checked
from homeward.runs.run import FIELDS
from homeward.words import ENDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.figure import Figure

    from homeward.kinds.rover.world import Rover
    from homeward.runs.run import Run

MAX_FRAMES = 120
"""Frames of a film."""


def draw_map(run: Run) -> Figure:
    """Return a map of what is known at the end of a run, with its path."""
    config = _config(run)
    facts, known = read_facts(run.directory), run.fields()
    for name in ("height", "deviation"):
        if name not in known:
            raise InvalidFileError(f"{run.directory / FIELDS}: is damaged: there is no {name}")
    cells = cells_of(config)
    columns = cells.shape[1]
    start = facts["start"][0] * columns + facts["start"][1]
    panel = TerrainPanel(
        cells,
        known["height"],
        known["deviation"],
        path_of(run.records(), start),
        f"{cells.name}: {title_of(config)}",
        f"{facts['entropy_reduction']:,.0f} nats learned in {facts['steps']:,} steps and "
        f"{facts['distance_m'] / 1000:,.1f} km; {ENDS[facts['end']]}",
        facts["stranded"],
        start if config.home == "start" else None,
        area_of(config) or (),
        [row * columns + column for row, column in config.bases],
    )
    return draw_terrain([panel])


def write_film(run: Run, out: Path) -> None:
    """Write a film of a run, by taking its steps again."""
    config = _config(run)
    facts, cells, setup = read_facts(run.directory), cells_of(config), make(config)
    world = cast("Rover", setup.world)
    shown = set(np.linspace(0, facts["steps"], MAX_FRAMES).round().astype(int).tolist())

    def frames() -> Iterator[Frame]:
        belief: Any = setup.belief.update(world.look())
        for step, record in enumerate([None, *run.records()]):
            if record is not None:
                belief = belief.update(world.act(record.action))
            if step in shown:
                deviation = np.sqrt(belief.variance).reshape(cells.shape)
                yield Frame(step, belief.height.reshape(cells.shape), deviation)

    write_terrain_film(
        cells,
        frames(),
        path_of(run.records(), world.start),
        out,
        title=title_of(config),
        stranded=facts["stranded"],
        area=area_of(config) or (),
        bases=[row * cells.shape[1] + column for row, column in config.bases],
    )


def title_of(config: RoverConfig) -> str:
    """Return the explorer of a run and what it keeps."""
    if config.explorer == "unsafe":
        return "unsafe"
    home = "" if config.of_the_run() else ", Algorithm 1"
    more = f", back within {config.back_within} steps" if config.back_within is not None else ""
    more += ", kept in" if config.keep_in is not None else ""
    return f"{config.explorer} at δ = {config.delta:g}{home}{more}"


def _config(run: Run) -> RoverConfig:
    return checked(RoverConfig, run.config, str(run.directory / "config.json"))
