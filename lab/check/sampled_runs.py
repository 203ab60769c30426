"""Checks the level of whole runs with sampled certificates, in worlds drawn from the belief.

A world is drawn from a Dirichlet prior, and a run explores it. The run is recalled at its end, or
as soon as its way home works with probability less than δ on the mean model. Then its return policy
is evaluated in the drawn world, and a random number decides whether it comes home. The fraction of
returns over all worlds must not be below δ.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from homeward.beliefs import DirichletBelief
from homeward.bonuses import RMax
from homeward.criteria import ReturnHome
from homeward.kinds.tabular.world import Prior, TileMap, tile_belief
from homeward.paper.toytext import DrawnWorld
from homeward.planning.algorithm1 import Planner
from homeward.planning.explorer import Explorer
from homeward.planning.returning.sampled import Sampled
from homeward.referee.exact import dense_transitions, exact_return
from homeward.referee.sampling import ReturnCount

POND = TileMap(("SFF", "FHF", "FFF"))
PRIORS: dict[str, Prior] = {
    "pond, grip known a little": (12.0, 3.0, 3.0, 0.5),
    "pond, grip hardly known": (3.0, 1.0, 1.0, 0.25),
}
DELTAS = (0.9, 0.7)
STEPS = 25
SAMPLING = Sampled(confidence=0.99, worlds=500)
RULES = ("end", "doubtful")


class SampledRun(NamedTuple):
    """The result of one run."""

    home: tuple[bool, ...]  # whether it came home when recalled by each of `RULES`
    tiles: int  # number of tiles visited
    kept: float  # probability of coming home that the run claims


def follow(prior: Prior, delta: float, seed: int) -> SampledRun:
    """Explore a drawn world, recall the run by each of `RULES`, and return its result."""
    rng = np.random.default_rng(seed)
    belief = tile_belief(POND, prior)
    truth = belief.sample(rng)
    world = DrawnWorld(truth, POND.start, rng)
    sampled = Sampled(SAMPLING.confidence, SAMPLING.worlds, seed)
    planner = Planner(RMax(), [ReturnHome(delta)], sampled=sampled)
    explorer = Explorer(planner, belief, world)
    home, rows = np.array([POND.start]), dense_transitions(truth)
    values: dict[str, float] = {}

    def value() -> float:
        """Return the probability that the held return policy comes home in the drawn world."""
        if world.ended:
            return 0.0
        return float(exact_return(rows, explorer.run_state.promises[0].way, home)[world.state])

    for _ in explorer.explore(STEPS):
        way = explorer.run_state.promises[0].way
        mean = dense_transitions(explorer.belief.mean())
        if "doubtful" not in values and exact_return(mean, way, home)[world.state] < delta:
            values["doubtful"] = value()
    values["end"] = value()
    values.setdefault("doubtful", values["end"])
    home_by_rule = tuple(bool(rng.random() < values[rule]) for rule in RULES)
    assert isinstance(explorer.belief, DirichletBelief)
    return SampledRun(home_by_rule, int(explorer.belief.visited.sum()), explorer.run_state.kept)


def examine(title: str, delta: float, seeds: Iterable[int]) -> list[dict[str, Any]]:
    """Return a table row for each of `RULES`: runs with the prior `title`, one per seed."""
    runs = [follow(PRIORS[title], delta, seed) for seed in seeds]
    rows = []
    for k, rule in enumerate(RULES):
        count = ReturnCount(sum(run.home[k] for run in runs), len(runs))
        rows.append(
            {
                "belief": title,
                "δ": delta,
                "recall": rule,
                "worlds": count.worlds,
                "back home": count.home,
                "fraction": count.fraction,
                "99% at least": count.lower,
                "claimed (mean)": fmean(run.kept for run in runs),
                "tiles (mean)": fmean(run.tiles for run in runs),
                "holds": count.upper >= delta,
            }
        )
    return rows
