"""Runs in Gymnasium's own FrozenLake and CliffWalking; see `worlds.toytext`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from homeward.beliefs import Transition, Visit
from homeward.bonuses import RMax
from homeward.errors import InvalidInputError
from homeward.planning.planner import Planner
from homeward.runs.config import Config
from homeward.runs.criteria import misfit, unused
from homeward.runs.kinds import Kind, Setup
from homeward.safety import ReturnHome
from homeward.worlds.toytext import Name, ToyTextWorld, tile_belief

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homeward.beliefs import DirichletBelief

Concentration = Annotated[float, Field(gt=0.0, le=1e150)]


class ToyTextConfig(Config):
    """A world, what was believed of one's own actions beforehand, and the safety level."""

    world: Name
    prior: tuple[Concentration, Concentration, Concentration, Concentration]
    delta: Annotated[float, Field(ge=0.0, le=1.0)] | None = 0.95  # none explores unsafely
    algorithm: Literal["rate", "paper"] = "rate"
    home: Literal["start", "current"] = "start"
    discount: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.99
    limit: Annotated[int, Field(ge=0)] = 300  # steps


def make(config: ToyTextConfig) -> Setup:
    """Set an explorer out in a toy-text world."""
    world = ToyTextWorld(config.world, config.seed)
    criteria = [] if config.delta is None else [ReturnHome(config.delta, config.home)]
    planner = Planner(RMax(), criteria, config.discount)
    belief = tile_belief(world.tiles, config.prior)
    return Setup(planner, belief, world, config.limit, algorithm=config.algorithm)


def settle(config: ToyTextConfig) -> ToyTextConfig:
    """Refuse keys that do not go together, or that would change nothing."""
    keys = ("algorithm", "home", "discount")
    plain = {name: ToyTextConfig.model_fields[name].default for name in keys}
    given = {name: getattr(config, name) for name in keys if getattr(config, name) != plain[name]}
    nothing = config.delta is None
    fault = misfit(given, nothing, str) or unused(given, nothing, str)
    if fault is not None:
        raise InvalidInputError(fault)
    return config


def fields(belief: DirichletBelief, world: ToyTextWorld) -> dict[str, NDArray[Any]]:
    """Keep where it has been, and what was learned of its actions."""
    return {"visited": belief.visited.reshape(world.tiles.shape), "alpha": belief.alpha}


TOYTEXT = Kind(
    name="toytext",
    version=2,  # 1: the paper's Algorithm 1 was all there was
    config=ToyTextConfig,
    make=make,
    observations=(Visit, Transition),
    fields=fields,
    settle=settle,
)
