"""A kind of run in one file outside the package: a corridor whose doors may be shut.

`tests/test_toy_kind.py` installs it by an entry point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from homeward import FiniteBelief, Moves, Planner, ReturnHome, RMax, Transition, Visit
from homeward.replay import Scene
from homeward.runs import Config, Kind, Setup
from homeward.runs.kind import Form

if TYPE_CHECKING:
    from pathlib import Path

    from homeward.runs import Run


class CorridorConfig(Config):
    """How long the corridor is, and how sure the way home has to be."""

    rooms: int = 6
    delta: float = 0.6
    limit: int = 9


class Corridor:
    """Rooms in a row; the actions are to stay, to go left and to go right."""

    ended = False

    def __init__(self, model: Moves) -> None:
        self.model, self.state = model, 0

    def look(self) -> Visit:
        return Visit(self.state)

    def act(self, action: int) -> Transition:
        before = self.state
        if self.model.success[before, action]:
            self.state = int(self.model.dest[before, action])
        return Transition(before, action, self.state)


def corridor(rooms: int, opens_left: float) -> Moves:
    room = np.arange(rooms)
    dest = np.stack([room, np.maximum(room - 1, 0), np.minimum(room + 1, rooms - 1)], axis=1)
    return Moves(dest, np.tile([1.0, opens_left, 1.0], (rooms, 1)))


def make(config: CorridorConfig) -> Setup:
    models = [corridor(config.rooms, p) for p in (1.0, 0.5)]
    planner = Planner(RMax(), [ReturnHome(config.delta, "start")], 0.9)
    return Setup(planner, FiniteBelief(models), Corridor(models[0]), config.limit)


def draw(run: Run, path: Path) -> None:
    figure = Figure()
    figure.subplots().plot([record.next_state for record in run.records()])
    figure.savefig(path)


def scene(config: CorridorConfig, setup: Setup) -> Scene:
    rooms = setup.belief.mean().states

    def measure(observation: Any, belief: Any, before: float) -> float:
        return float(belief.visited.mean())

    closed = np.zeros(rooms, dtype=bool)
    return Scene(setup, (1, rooms), [], [], ("rooms", None), lambda moment: closed, measure)


CORRIDOR = Kind(
    "corridor",
    1,
    CorridorConfig,
    make,
    (Visit, Transition),
    title="Corridor",
    draw=draw,
    scene=scene,
    shape=lambda config: (1, config["rooms"]),
    form=Form(("rooms", "delta", "limit", "seed")),
)


def explore(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Explore a corridor, as a task of a study."""
    from itertools import islice

    setup = make(CorridorConfig(**cell, seed=seed))
    steps = list(islice(setup.explorer().explore(setup.limit), setup.limit))
    return {"steps": len(steps), "room": setup.world.state}
