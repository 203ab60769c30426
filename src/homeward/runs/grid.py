"""Runs in grid worlds of heights; see `worlds.height_grid`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from homeward.beliefs import Reveal
from homeward.bonuses import NearBayesian, RMax, Uncover
from homeward.budget import Budget
from homeward.planner import Planner
from homeward.runs.config import Config
from homeward.runs.kinds import Kind, Setup
from homeward.safety import Correction, ReturnHome
from homeward.worlds.height_grid import HeightGridWorld
from homeward.worlds.maps import HeightMap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homeward.beliefs import HeightBelief
    from homeward.bonuses import Bonus

ExplorerName = Literal["safe", "uncover", "rmax", "near-bayesian"]
LONGEST = 20
"""Unless a limit is given, no run takes more steps than this times the squares there are."""


class GridConfig(Config):
    """A world, drawn from the seed or given as text, and who explores it."""

    size: Annotated[int, Field(ge=2, le=2000)] = 10  # squares along each side
    walls: Annotated[float, Field(ge=0.0, le=1.0)] = 0.2  # the mean fraction of squares
    start: Annotated[int, Field(ge=0)] | None = None  # drawn unless given
    map: str | None = None  # a map as text, instead
    explorer: ExplorerName = "safe"
    delta: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0  # of the safe explorer
    correction: Literal["moves", "general", "naive"] = "moves"
    home: Literal["current", "start"] = "current"
    stay: bool = True
    discount: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.99
    limit: Annotated[int, Field(ge=0)] | None = None  # steps
    budget: Annotated[float, Field(gt=0.0, le=1.0)] | None = None  # δ of the whole run

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.map is not None and self.start is not None:
            raise ValueError("a map says itself where the start is")
        unproven = self.explorer != "safe" or self.correction == "naive"
        if self.budget is not None and (self.home != "start" or unproven):
            raise ValueError("a budget is for a safe explorer whose home is the start")
        return self


def bonus_of(explorer: ExplorerName) -> Bonus:
    """Give what an explorer finds worth seeing."""
    if explorer == "rmax":
        return RMax()
    return NearBayesian() if explorer == "near-bayesian" else Uncover()


def map_of(config: GridConfig) -> HeightMap:
    """Give the true world."""
    if config.map is not None:
        return HeightMap.from_text(config.map)
    shape = (config.size, config.size)
    return HeightMap.random(shape, config.seed, walls=config.walls, start=config.start)


def make(config: GridConfig) -> Setup:
    """Set an explorer out in a grid world."""
    grid = map_of(config)
    safe = config.explorer == "safe"
    criteria = [ReturnHome(config.delta, config.home)] if safe else []
    correction = Correction(config.correction) if safe else None
    planner = Planner(bonus_of(config.explorer), criteria, config.discount, correction)
    limit = LONGEST * grid.states if config.limit is None else config.limit
    world = HeightGridWorld(grid, stay=config.stay)
    budget = None if config.budget is None else Budget(config.budget)
    return Setup(planner, grid.belief("known", stay=config.stay), world, limit, budget=budget)


def fields(belief: HeightBelief, world: HeightGridWorld) -> dict[str, NDArray[Any]]:
    """Keep what was seen and where it has been."""
    shape = world.grid.shape
    return {
        "heights": world.grid.heights,
        "seen": world.seen.reshape(shape),
        "visited": belief.visited.reshape(shape),
    }


GRID = Kind(
    name="grid", version=1, config=GridConfig, make=make, observations=(Reveal,), fields=fields
)
