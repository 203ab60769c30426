"""Runs in Gymnasium's own FrozenLake and CliffWalking; see `kinds.tabular.world`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homeward.beliefs import Transition, Visit
from homeward.bonuses import RMax
from homeward.kinds.tabular.config import ToyTextConfig
from homeward.kinds.tabular.scene import scene_of
from homeward.kinds.tabular.world import ToyTextWorld, tile_belief, tile_map
from homeward.planning.planner import Planner
from homeward.runs.kind import Kind, Setup
from homeward.safety import ReturnHome

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from homeward.beliefs import DirichletBelief
    from homeward.runs import Run


def make(config: ToyTextConfig) -> Setup:
    """Return the setup of a run in a toy-text world."""
    world = ToyTextWorld(config.world, config.seed)
    criteria = [] if config.delta is None else [ReturnHome(config.delta, config.home)]
    planner = Planner(RMax(), criteria, config.discount)
    belief = tile_belief(world.tiles, config.prior)
    return Setup(planner, belief, world, config.limit, algorithm=config.algorithm)


def settle(config: ToyTextConfig) -> ToyTextConfig:
    """Raise if keys do not go together, or if a key changes nothing."""
    config.check_use()
    return config


def fields(belief: DirichletBelief, world: ToyTextWorld) -> dict[str, NDArray[Any]]:
    """Return the arrays to keep: visited states, and what was learned about actions."""
    return {"visited": belief.visited.reshape(world.tiles.shape), "alpha": belief.alpha}


def draw(run: Run, path: Path) -> None:
    """Write a picture of a run up to its last step."""
    from homeward.kinds.tabular.figure import draw_run

    draw_run(run, path)


TOYTEXT = Kind(
    name="toytext",
    version=2,  # version 1 had only the paper's Algorithm 1
    config=ToyTextConfig,
    make=make,
    observations=(Visit, Transition),
    fields=fields,
    settle=settle,
    title="Tiles with unknown slips",
    description="Gymnasium's FrozenLake and CliffWalking: the map is known, the dynamics are not.",
    draw=draw,
    scene=scene_of,
    shape=lambda config: tile_map(config["world"]).shape,
)
