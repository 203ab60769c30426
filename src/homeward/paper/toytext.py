"""Safe and unsafe explorers in Gymnasium's toy-text worlds, and whether the promise holds.

The map is known, what an action does is not (see `kinds.tabular.world`). Two questions. In the
worlds as they are: how many explorers end in a hole or off the cliff, and how many tiles do they
see? And, with dynamics drawn from the prior itself: if one plan is followed until its recall and
then its return policy, is the fraction that comes home at least δ?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homeward.beliefs import Visit
from homeward.bonuses import RMax
from homeward.certificates.intervals import ReturnCount
from homeward.certificates.policy_values import dense_transitions, play_out
from homeward.kinds.tabular.world import WAIT, ToyTextWorld, tile_belief, tile_map
from homeward.planning.paper import PaperExplorer
from homeward.planning.planner import Planner
from homeward.safety import ReturnHome

if TYPE_CHECKING:
    from homeward.kinds.tabular.world import Name, Prior, TileMap
    from homeward.planning.explorer import End

STEP_LIMIT = 300
DISCOUNT = 0.99

SURE_FOOTED: Prior = (50.0, 0.05, 0.05, 0.01)
"""As after some fifty trials on firm ground that all went as told."""

KNOWN_TO_SLIP: Prior = (10_000.0, 10_000.0, 10_000.0, 1.0)
"""As after long trials on ice: ahead, left and right alike, hardly ever back."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A world and what the explorer believed of its own actions beforehand."""

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
    """How one exploration went."""

    tiles: TileMap
    path: tuple[int, ...]  # states, from the start
    died: bool  # in a hole or off the cliff
    seen: int  # tiles entered
    end: End


@dataclass(frozen=True, slots=True)
class Calibration(ReturnCount):
    """How often one plan, followed to the end, came home."""

    setting: str
    worlds: int
    home: int
    bound: float  # what the plan promised
    leaves: bool  # whether the plan ever leaves the start

    @property
    def low(self) -> float:
        """The one-sided 99 % lower limit of the true fraction (Clopper–Pearson)."""
        return self.lower


def explore(setting: Setting, delta: float | None, seed: int) -> Outing:
    """Explore a world as it is; without δ, unsafely."""
    world = ToyTextWorld(setting.world, seed)
    criteria = [] if delta is None else [ReturnHome(delta, "start")]
    explorer = PaperExplorer(
        Planner(RMax(), criteria, DISCOUNT), tile_belief(world.tiles, setting.prior), world
    )
    path = [world.state, *(step.state for step in explorer.explore(STEP_LIMIT))]
    assert explorer.end is not None
    return Outing(world.tiles, tuple(path), world.died, len(set(path)), explorer.end)


def calibrate(setting: Setting, delta: float, worlds: int, seed: int) -> Calibration:
    """Follow one plan, without replanning, in worlds drawn from the prior that it was made with."""
    rng = np.random.default_rng(seed)
    tiles = tile_map(setting.world)
    belief = tile_belief(tiles, setting.prior).update(Visit(tiles.start))
    plan = Planner(RMax(), [ReturnHome(delta)], DISCOUNT).plan(belief, tiles.start)
    criterion = plan.criteria[0]
    home = 0
    for _ in range(worlds):
        outbound = plan.outbound[rng.choice(len(plan.weights), p=plan.weights)]
        transitions = dense_transitions(belief.sample(rng))
        home += play_out(
            transitions,
            outbound,
            criterion.return_policy,
            criterion.home,
            tiles.start,
            DISCOUNT,
            rng,
        )
    return Calibration(
        setting=setting.title,
        worlds=worlds,
        home=home,
        bound=criterion.bound,
        leaves=bool(plan.weights[plan.outbound[:, tiles.start] != WAIT].sum() > 0),
    )
