"""Checks the level of whole runs with sampled certificates, in worlds drawn from the belief.

A world is drawn from a Dirichlet prior, and a run explores it. It is recalled at its end, or by a
rule that looks only at what was seen: as soon as the way home works with less than δ on the mean
model. The held return policy is then evaluated in the world itself, and a random number decides
whether it comes home. The fraction must not be below δ, over the worlds and all draws of the runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np

from homeward.beliefs import DirichletBelief
from homeward.bonuses import RMax
from homeward.certificates.confidence import ReturnCount
from homeward.certificates.policy_values import dense_transitions, exact_return
from homeward.kinds.tabular.world import Prior, TileMap, tile_belief
from homeward.paper.toytext import DrawnWorld
from homeward.planning.explorer import Explorer
from homeward.planning.planner import Planner
from homeward.planning.sampled import Sampled
from homeward.safety import ReturnHome

POND = TileMap(("SFF", "FHF", "FFF"))
PRIORS: dict[str, Prior] = {
    "pond, grip known a little": (12.0, 3.0, 3.0, 0.5),
    "pond, grip hardly known": (3.0, 1.0, 1.0, 0.25),
}
DELTAS = (0.9, 0.7)
STEPS = 25
ASKED = Sampled(confidence=0.99, worlds=500)
RULES = ("end", "doubtful")


class SampledRun(NamedTuple):
    """What became of one run."""

    home: tuple[bool, bool]  # whether it came home when recalled by each of `RULES`
    tiles: int
    kept: float  # probability that the run claims


class RuleRow(NamedTuple):
    """Runs in many worlds, recalled by one rule."""

    title: str
    delta: float
    rule: str
    returns: RecallCount
    tiles: float
    kept: float


@dataclass(frozen=True, slots=True)
class RecallCount(ReturnCount):
    """Number of runs that came home."""

    home: int
    worlds: int


def follow(prior: Prior, delta: float, seed: int) -> SampledRun:
    """Explore a drawn world, and recall the run by each rule."""
    rng = np.random.default_rng(seed)
    belief = tile_belief(POND, prior)
    truth = belief.sample(rng)
    world = DrawnWorld(truth, POND.start, rng)
    asked = Sampled(ASKED.confidence, ASKED.worlds, seed)
    planner = Planner(RMax(), [ReturnHome(delta)], sampled=asked)
    explorer = Explorer(planner, belief, world)
    home, rows = np.array([POND.start]), dense_transitions(truth)
    values: dict[str, float] = {}

    def value() -> float:
        if world.ended:
            return 0.0
        return float(exact_return(rows, explorer.held.accounts[0].way, home)[world.state])

    for _ in explorer.explore(STEPS):
        way = explorer.held.accounts[0].way
        mean = dense_transitions(explorer.belief.mean())
        if "doubtful" not in values and exact_return(mean, way, home)[world.state] < delta:
            values["doubtful"] = value()
    values["end"] = value()
    values.setdefault("doubtful", values["end"])
    came = tuple(bool(rng.random() < values[rule]) for rule in RULES)
    assert isinstance(explorer.belief, DirichletBelief)
    return SampledRun((came[0], came[1]), int(explorer.belief.visited.sum()), explorer.held.kept)


def examine(title: str, delta: float, seeds: Iterable[int]) -> list[RuleRow]:
    """Return a row for each rule of recall."""
    runs = [follow(PRIORS[title], delta, seed) for seed in seeds]
    tiles, kept = fmean(run.tiles for run in runs), fmean(run.kept for run in runs)
    return [
        RuleRow(
            title,
            delta,
            rule,
            RecallCount(sum(run.home[k] for run in runs), len(runs)),
            tiles,
            kept,
        )
        for k, rule in enumerate(RULES)
    ]
