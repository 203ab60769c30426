"""Safe and unsafe explorers in Gymnasium's toy-text worlds, and whether plans meet their level.

The map is known; the effects of actions are not (see `kinds.tabular.world`). The study asks two
questions. In Gymnasium's own worlds, how many explorers end in a hole or off the cliff, and how
many tiles do they see? In worlds drawn from the prior, if one plan is followed until the recall and
then its return policy, is the fraction that comes home at least δ?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from homeward.beliefs import Visit
from homeward.bonuses import RMax
from homeward.certificates.intervals import ReturnCount
from homeward.certificates.policy_values import dense_transitions, play_out
from homeward.kinds.tabular.config import ToyTextConfig
from homeward.kinds.tabular.kind import make
from homeward.kinds.tabular.world import WAIT, tile_belief, tile_map
from homeward.planning.planner import Planner
from homeward.runs.config import checked
from homeward.safety import ReturnHome
from homeward.studies.work import play

if TYPE_CHECKING:
    from homeward.kinds.tabular.world import Name, Prior, TileMap, ToyTextWorld
    from homeward.planning.explorer import End

DISCOUNT = 0.99

SURE_FOOTED: Prior = (50.0, 0.05, 0.05, 0.01)
"""Prior counts as after about fifty trials on firm ground that all went ahead."""

KNOWN_TO_SLIP: Prior = (10_000.0, 10_000.0, 10_000.0, 1.0)
"""Prior counts as after long trials on ice: ahead, left and right equally often, back rarely."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A world and the prior over the effects of actions."""

    title: str
    world: Name
    prior: Prior


SETTINGS = (
    Setting("lake", "lake", SURE_FOOTED),
    Setting("slippery lake, known to slip", "slippery lake", KNOWN_TO_SLIP),
    Setting("slippery lake, believed firm", "slippery lake", SURE_FOOTED),
    Setting("cliff", "cliff", SURE_FOOTED),
)


@dataclass(frozen=True, slots=True, eq=False)
class Outing:
    """Result of one exploration."""

    tiles: TileMap
    path: tuple[int, ...]  # states, from the start
    died: bool  # whether it ended in a hole or off the cliff
    end: End


@dataclass(frozen=True, slots=True)
class Calibration(ReturnCount):
    """Number of worlds in which one plan, followed until the recall and back, came home."""

    setting: str
    worlds: int
    home: int
    bound: float  # the plan's lower bound on the probability of coming home
    leaves: bool  # whether the plan ever leaves the start


def explore(setting: Setting, delta: float | None, seed: int) -> Outing:
    """Explore a world with Algorithm 1 and level `delta`; None for no criterion."""
    given = {"world": setting.world, "prior": setting.prior, "delta": delta, "seed": seed}
    config = checked(ToyTextConfig, {**given, "algorithm": "paper"}, setting.title)
    setup = make(config)
    world = cast("ToyTextWorld", setup.world)
    path = [world.state]
    explorer = play(setup, lambda _, step: path.append(step.state))
    assert explorer.end is not None
    return Outing(world.tiles, tuple(path), world.died, explorer.end)


def calibrate(setting: Setting, delta: float, worlds: int, seed: int) -> Calibration:
    """Follow one plan, without replanning, in worlds drawn from its prior; count the returns."""
    rng = np.random.default_rng(seed)
    tiles = tile_map(setting.world)
    belief = tile_belief(tiles, setting.prior).update(Visit(tiles.start))
    plan = Planner(RMax(), [ReturnHome(delta)], DISCOUNT).plan(belief, tiles.start)
    (criterion,) = plan.criteria
    back, home = criterion.return_policy, criterion.home
    returns = 0
    for _ in range(worlds):
        outbound = plan.outbound[rng.choice(len(plan.weights), p=plan.weights)]
        transitions = dense_transitions(belief.sample(rng))
        returns += play_out(transitions, outbound, back, home, tiles.start, DISCOUNT, rng)
    leaves = plan.weights[plan.outbound[:, tiles.start] != WAIT].sum() > 0
    return Calibration(setting.title, worlds, returns, criterion.bound, bool(leaves))
