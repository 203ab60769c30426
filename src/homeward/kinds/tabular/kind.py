"""The kind ``toytext``: how a run in FrozenLake or CliffWalking is made, stored and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from homeward.beliefs import DirichletBelief, Transition, Visit
from homeward.bonuses import RMax
from homeward.criteria import ReturnHome
from homeward.files import replace_json
from homeward.kinds import deferred
from homeward.kinds.tabular.config import ToyTextConfig
from homeward.kinds.tabular.world import TILES, ToyTextWorld, tile_belief, tile_map
from homeward.planning.algorithm1 import Planner
from homeward.replay.scene import Scene, layer
from homeward.runs.kind import Ended, Kind, Metrics, Setup
from homeward.words import certificate_of, lots_of

if TYPE_CHECKING:
    from homeward.worlds import World


def make(config: ToyTextConfig) -> Setup:
    """Return the setup of a run in FrozenLake or CliffWalking."""
    return setup_of(config, ToyTextWorld(config.world, config.seed))


def setup_of(config: ToyTextConfig, world: World) -> Setup:
    """Return the setup of a run in a world of tiles."""
    criteria = [] if config.delta is None else [ReturnHome(config.delta, config.home)]
    planner = Planner(RMax(), criteria, config.discount, sampled=config.sampled())
    belief = tile_belief(tile_map(config.world), config.prior)
    agent = config.explores_with()
    return Setup(planner, belief, world, config.limit, agent=agent, seed=config.seed)


def settle(config: ToyTextConfig) -> ToyTextConfig:
    """Return the configuration; raise if keys contradict each other or have no effect."""
    config.check_use()
    return config


def metrics(config: ToyTextConfig, setup: Setup) -> Metrics:
    """Return the metrics of a comparison: tiles visited, and the true probability of a way back."""
    world = setup.world
    assert isinstance(world, ToyTextWorld)
    way_back = world.way_back()
    return Metrics(
        "tiles visited",
        lambda belief: float(belief.visited.sum()),
        lambda: 0.0 if world.ended else float(way_back[world.state]),
    )


def fields(belief: DirichletBelief, world: ToyTextWorld) -> dict[str, NDArray[Any]]:
    """Return the arrays to store: the mask of visited tiles [R, C], and Dirichlet counts."""
    return {"visited": belief.visited.reshape(world.tiles.shape), "alpha": belief.alpha}


def summarise(ended: Ended) -> None:
    """Write ``summary.json``: the end, the tiles visited, and the certificate if there is one."""
    config: Any = ended.config
    belief: Any = ended.belief
    facts: dict[str, Any] = {
        "steps": ended.manifest.steps,
        "end": ended.manifest.end,
        "why": ended.why,
        "tiles_visited": int(belief.visited.sum()),
        "levels": list(ended.levels),
    }
    lots: list[tuple[int, float]] = []
    for record in ended.records():
        if record.holding is not None:
            for _, _, _, *chance in record.holding.get("sampled", ()):
                lots += [(record.step, one) for one in chance if one < 1.0]
        if record.holding is not None and record.bounds:
            kept = min(record.holding["kept"], facts.get("kept", 1.0))
            facts |= {"kept": kept, "evaluator": record.evaluators[0]}
    if "kept" in facts:
        given = facts["kept"], facts["evaluator"], config.confidence, config.worlds
        facts["certificate"] = " ".join(filter(None, (certificate_of(*given), lots_of(lots))))
    replace_json(ended.directory / "summary.json", facts)


def scene_of(config: ToyTextConfig, setup: Setup) -> Scene:
    """Return the map layers of a run."""
    tiles = setup.world.tiles  # type: ignore[attr-defined]
    names = list(dict.fromkeys(TILES.values()))
    board = np.array([names.index(TILES[tile]) for tile in "".join(tiles.tiles)], np.float64)
    categories = [{"value": number, "title": name} for number, name in enumerate(names)]

    def measure(observation: Any, belief: Any, before: float) -> float:
        """Return the fraction of all tiles that were visited."""
        return float(belief.visited.mean())

    return Scene(
        setup,
        tiles.shape,
        [layer("tiles", "Tiles", None, "categorical", lambda m: board, categories=categories)],
        [],
        ("actions that were tried too rarely", None),
        lambda moment: np.zeros(board.size, dtype=bool),
        measure,
    )


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
    draw=deferred("homeward.kinds.tabular.figure", "draw_run"),
    scene=scene_of,
    products=summarise,
    metrics=metrics,
    shape=lambda config: tile_map(config["world"]).shape,
    vehicle="homeward.kinds.tabular.mission:TileVehicle",
)
