"""Simulated worlds that play the vehicle of a mission: their observations as reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import make as make_grid
from homeward.kinds.grid.kind import map_of
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import make as make_rover

if TYPE_CHECKING:
    from pathlib import Path

    from homeward.missions import Mission

GRID = {"size": 8, "walls": 0.15, "seed": 4, "delta": 0.9}
ROVER = {"terrain": "mars", "rows": 200, "columns": 200, "sensor_range": 29.0, "error": 0.01}
HEIGHTS = "heights"


class GridPlayer:
    """A grid world that reports what it sees."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        self.config = GridConfig(**(GRID if config is None else config))
        self.world = make_grid(self.config).world
        self.columns = self.config.size

    @property
    def mission(self) -> dict[str, Any]:
        """The configuration of a mission in the same world."""
        return {"map": str(map_of(self.config)), "delta": self.config.delta}

    def look(self, **more: Any) -> dict[str, Any]:
        return self.told(self.world.look(), **more)

    def act(self, action: int, **more: Any) -> dict[str, Any]:
        return self.told(self.world.act(action), tried=action, **more)

    def told(self, seen: Any, **more: Any) -> dict[str, Any]:
        pairs = zip(seen.cells.tolist(), seen.heights.tolist(), strict=True)
        heights = [[*divmod(cell, self.columns), height] for cell, height in pairs]
        return {"position": list(divmod(self.world.state, self.columns)), HEIGHTS: heights, **more}


class RoverPlayer:
    """A rover on synthetic terrain that reports what it measures."""

    def __init__(self, seed: int = 0, **config: Any) -> None:
        self.mission: dict[str, Any] = {**ROVER, **config}
        setup = make_rover(RoverConfig(**self.mission, seed=seed))
        self.world: Any = setup.world
        self.columns = int(setup.belief.shape[1])  # type: ignore[attr-defined]

    def look(self, **more: Any) -> dict[str, Any]:
        return self.told(self.world.look(), **more)

    def act(self, action: int, **more: Any) -> dict[str, Any]:
        return self.told(self.world.act(action), tried=action, **more)

    def told(self, seen: Any, **more: Any) -> dict[str, Any]:
        table = (part.tolist() for part in (seen.cells, seen.heights, seen.variances))
        heights = [
            {"row": c // self.columns, "column": c % self.columns, "height": h, "variance": v}
            for c, h, v in zip(*table, strict=True)
        ]
        return {"position": list(self.world.position), HEIGHTS: heights, **more}


def play(mission: Mission, player: Any, steps: int) -> list[dict[str, Any]]:
    """Follow the advice of a mission for some steps, from its first look; return the reports."""
    reports = [player.look(id="look")]
    mission.observe(reports[0])
    for number in range(steps):
        action = mission.next()["action"]
        if action is None:
            break
        reports.append(player.act(action, id=f"step {number}"))
        mission.observe(reports[-1])
    return reports


def start(folder: Path, player: Any, kind: str) -> Mission:
    from homeward.missions import Mission

    return Mission.start(folder, kind, player.mission)
