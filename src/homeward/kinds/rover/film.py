"""The film of a finished run of a rover."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.figure import Frame, title_of, write_terrain_film
from homeward.kinds.rover.kind import area_of, cells_of, make
from homeward.kinds.rover.outputs import path_of, read_facts
from homeward.runs.config import checked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from homeward.kinds.rover.world import Rover
    from homeward.runs.run import Run

MAX_FRAMES = 120
"""Maximum number of frames of a film."""


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


def _config(run: Run) -> RoverConfig:
    return checked(RoverConfig, run.config, str(run.directory / "config.json"))
