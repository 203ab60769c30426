"""Safe and unsafe explorers in Gymnasium's toy-text worlds, and whether plans meet their level.

The map is known; the effects of actions are not (see `kinds.tabular.world`). The study has three
questions:

- In Gymnasium's own worlds, how many explorers end in a hole or off the cliff, and how many tiles
  do they see?
- In worlds drawn from the prior, one plan is followed until the recall, and then its return policy.
  Is the fraction of returns at least δ?
- How much does a taxi explore that does not know whether it rains? In rain it slips.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import gymnasium
import numpy as np

from homeward.beliefs import FiniteBelief, Transition, Visit
from homeward.bonuses import RMax
from homeward.criteria import ReturnHome
from homeward.kinds.tabular.config import ToyTextConfig
from homeward.kinds.tabular.kind import make
from homeward.kinds.tabular.world import (
    WAIT,
    Name,
    Prior,
    TileMap,
    ToyTextWorld,
    tile_belief,
    tile_map,
)
from homeward.models import Model, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer, Loop
from homeward.planning.returning.worlds import set_of
from homeward.referee.exact import dense_transitions, play_out
from homeward.referee.sampling import ReturnCount
from homeward.runs.config import checked
from homeward.studies.work import play

DISCOUNT = 0.99

MAX_RETURN_STEPS = 10_000  # largest number of steps of a return at the end of a run
TAXI_START = 129  # the taxi is at 1,1, the passenger at a corner, bound for another
SURE_FOOTED: Prior = (50.0, 0.05, 0.05, 0.01)  # as after fifty trials that all went ahead
KNOWN_TO_SLIP: Prior = (10_000.0, 10_000.0, 10_000.0, 1.0)  # as after long trials on ice


@dataclass(frozen=True, slots=True)
class ToyTextSetting:
    """A world and the prior over the effects of actions."""

    title: str
    world: Name
    prior: Prior


SETTINGS = (
    ToyTextSetting("lake", "lake", SURE_FOOTED),
    ToyTextSetting("slippery lake, known to slip", "slippery lake", KNOWN_TO_SLIP),
    ToyTextSetting("slippery lake, believed firm", "slippery lake", SURE_FOOTED),
    ToyTextSetting("cliff", "cliff", SURE_FOOTED),
)


@dataclass(frozen=True, slots=True, eq=False)
class ToyTextResult:
    """Result of one exploration."""

    tiles: TileMap
    path: tuple[int, ...]  # states, from the start
    died: bool  # whether it ended in a hole or off the cliff
    end: End
    home: bool | None  # whether the way home that was held at the end led home; None without one


@dataclass(frozen=True, slots=True)
class ToyTextCalibration(ReturnCount):
    """Number of worlds in which one plan and its return policy came home after a recall."""

    setting: str
    bound: float  # the plan's lower bound on the probability of coming home
    leaves: bool  # whether the plan ever leaves the start


EXPLORERS: dict[str, dict[str, object]] = {
    "Algorithm 1": {"algorithm": "paper"},
    "ours": {},
    "ours, sampled": {"confidence": 0.999},
    "ours, sampled, lots": {"confidence": 0.999, "lots": True},
}
"""The explorers by name, with their keys of `ToyTextConfig`."""


def explore(
    setting: ToyTextSetting, delta: float | None, seed: int, explorer: str = "Algorithm 1"
) -> ToyTextResult:
    """Explore a world with level `delta`; None for no criterion."""
    given = {"world": setting.world, "prior": setting.prior, "delta": delta, "seed": seed}
    config = checked(ToyTextConfig, {**given, **EXPLORERS[explorer]}, setting.title)
    setup = make(config)
    world = cast("ToyTextWorld", setup.world)
    path = [world.state]
    loop = play(setup, lambda _, step: path.append(step.state))
    assert loop.end is not None
    return ToyTextResult(world.tiles, tuple(path), world.died, loop.end, _returns(loop, world))


def _returns(loop: Loop, world: ToyTextWorld) -> bool | None:
    """Return whether the held way home at the end of a run works; None if no way is held."""
    if loop.run_state is None or not loop.run_state.promises:
        return None
    way = loop.run_state.promises[0].way
    for _ in range(MAX_RETURN_STEPS):
        if world.state == loop.start or world.ended or way[world.state] < 0:
            break
        world.act(int(way[world.state]))
    return world.state == loop.start and not world.ended


@dataclass(frozen=True, slots=True)
class Ride:
    """Result of one exploration by a taxi in unknown weather."""

    rainy: bool
    states: int  # number of states seen
    steps: int
    end: End
    home: bool  # whether the way home that was held at the end led home


def ride(delta: float, limit: int, seed: int) -> Ride:
    """Explore Gymnasium's Taxi, which is dry or rainy with equal probability; then return.

    A delivery ends the episode, so there is no way back after it.
    """
    dry, wet = (_taxi(rainy=rainy) for rainy in (False, True))
    rng = np.random.default_rng(seed)
    rainy = bool(rng.random() < 0.5)
    world = DrawnWorld(wet if rainy else dry, TAXI_START, rng)
    planner = Planner(RMax(), [ReturnHome(delta)])
    explorer = Explorer(planner, FiniteBelief([dry, wet]), world)
    seen = {world.state, *(step.state for step in explorer.explore(limit))}
    belief: Any = explorer.belief
    promise = explorer.run_state.promises[0]
    for _ in range(MAX_RETURN_STEPS):
        if world.state == TAXI_START or world.ended:
            break
        policy = promise.policies.get(set_of(belief), promise.way)
        belief = belief.update(world.act(int(policy[world.state])))
    assert explorer.end is not None
    home = world.state == TAXI_START and not world.ended
    return Ride(rainy, len(seen), explorer.steps, explorer.end, home)


class DrawnWorld:
    """A world that behaves like a model."""

    def __init__(self, model: Model, start: int, rng: np.random.Generator) -> None:
        self.model, self.state, self.rng, self.ended = model, start, rng, False

    def look(self) -> Visit:
        """Return the current state."""
        return Visit(self.state)

    def act(self, action: int) -> Transition:
        """Take an action; return the transition."""
        before, ahead = self.state, self.model.row(self.state, action).cumsum()
        chance = self.rng.random()
        if chance >= ahead[-1]:
            self.ended = True
            return Transition(before, action, None)
        self.state = int(np.searchsorted(ahead, chance, side="right"))
        return Transition(before, action, self.state)


@lru_cache
def _taxi(*, rainy: bool) -> SparseMDP:
    """Return the model of Gymnasium's Taxi.

    Outcomes that end an episode are missing from its rows.
    """
    env: Any = gymnasium.make("Taxi-v4", is_rainy=rainy).unwrapped
    table = env.P
    rows = np.zeros((len(table), len(table[0]), len(table)))
    for s, actions in table.items():
        for a, outcomes in actions.items():
            for probability, there, _, done in outcomes:
                rows[s, a, there] += 0.0 if done else probability
    return SparseMDP.from_dense(rows)


def calibrate(setting: ToyTextSetting, delta: float, worlds: int, seed: int) -> ToyTextCalibration:
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
    return ToyTextCalibration(returns, worlds, setting.title, criterion.bound, bool(leaves))
