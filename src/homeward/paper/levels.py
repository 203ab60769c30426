"""Study of how often runs meet their level δ, and how much they learn, on drawn terrain.

The true heights are drawn from the prior, so the belief is calibrated and the guarantee can be
tested. The guarantee holds for every recall rule that uses only observations. Two recall steps are
counted: a step drawn beforehand, uniformly up to the step limit; and the step after which the
fewest worlds have a way home. A run that has ended stays where it is. The study counts the worlds
in which the run's stored return path works, as the theorem guarantees, and the worlds in which any
path home exists. Limits are Clopper and Pearson's, one-sided at 99 %. A level is refuted if it is
above the upper limit of the fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from homeward.beliefs.heights import TerrainBelief, entropy_reduction
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import make
from homeward.kinds.rover.world import Rover
from homeward.models import Moves
from homeward.paper.mars import RING, clairvoyant
from homeward.planning.explorer import Loop, Step
from homeward.planning.promise import RunState
from homeward.referee.sampling import ReturnCount
from homeward.runs.config import checked
from homeward.studies.study import combine
from homeward.studies.table import grouped
from homeward.studies.work import play

Holds: TypeAlias = Callable[[dict[str, Any], int], bool]

DELTAS = (1.0, 0.98, 0.9, 0.7, 0.5)
NOISES = (1e-4, 1e-2)
ROWS, COLUMNS = 160, 240  # size of the terrain in pixels of 1 m: 8 × 12 cells of 20 m
LIMIT = 200  # maximum number of steps of a run
FLOOR_NATS = 0.5  # a run ends below this gain in nats per step; a second visit of a cell gains more


def cells_of(limit: int = LIMIT) -> list[dict[str, Any]]:
    """Return the study's cells, one for each combination of noise and level."""
    return combine({"noise": NOISES, "delta": DELTAS, "limit": [limit]})


def config_of(cell: dict[str, Any], seed: int) -> RoverConfig:
    """Return the configuration of a run with a cell's settings, as for `homeward explore`."""
    given = {
        "rows": ROWS,
        "columns": COLUMNS,
        "terrain_seed": seed,
        "seed": seed,
        "truth": "prior",
        "sensor_range": RING,
        "sensor_noise": cell["noise"],
        "delta": cell["delta"],
        "floor": FLOOR_NATS,
        "limit": cell["limit"],
    }
    return checked(RoverConfig, given, "the rover")


def explore(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Run one rover on one drawn terrain and return its row; this is a task of the study.

    ``turns`` lists the steps after which the stored return path stopped or resumed working,
    separated by spaces.
    """
    setup = make(config_of(cell, seed))
    prior, rover = cast("TerrainBelief", setup.belief), cast("Rover", setup.world)
    explorer = setup.explorer()
    works = held_works(explorer.run_state, rover)
    turns, stranded_at = ([] if works else [0]), None

    def measure(_: Loop, step: Step) -> None:
        nonlocal works, stranded_at
        if held_works(step.run_state, rover) != works:
            works = not works
            turns.append(step.number)
        if rover.stranded and stranded_at is None:
            stranded_at = step.number

    play(setup, measure, explorer)
    return {
        "nats": entropy_reduction(prior, cast("TerrainBelief", explorer.belief)),
        "clairvoyant": clairvoyant(prior, rover)[1],
        "steps": explorer.steps,
        "stranded_at": stranded_at,
        "turns": " ".join(map(str, turns)),
        "recall": int(np.random.default_rng([seed, 1]).integers(setup.limit + 1)),
        "spent": 0.0 if explorer.run_state is None else 1.0 - explorer.run_state.kept,
        "end": str(explorer.end),
    }


def held_works(held: RunState | None, rover: Rover) -> bool:
    """Return whether the run's stored return path works in the true world."""
    return held is not None and held_chance(held, rover, rover.moves) > 0.0


def held_chance(held: RunState, rover: Rover, model: Moves) -> float:
    """Return the product of the success probabilities of the moves on the stored return path.

    The probabilities are those of `model`. Return 0 if the path does not lead home.
    """
    way, state, chance = held.promises[0].way, rover.state, 1.0
    for _ in range(len(way)):
        if state == rover.start or way[state] < 0:
            break
        chance *= float(model.success[state, way[state]])
        state = int(model.dest[state, way[state]])
    return chance if state == rover.start else 0.0


def is_held(row: dict[str, Any], step: int) -> bool:
    """Return whether the stored return path of a run worked after `step` steps."""
    return sum(turn <= step for turn in _turns(row)) % 2 == 0


def has_way(row: dict[str, Any], step: int) -> bool:
    """Return whether any path home existed after `step` steps of a run."""
    return row["stranded_at"] is None or step < row["stranded_at"]


def _turns(row: dict[str, Any]) -> list[int]:
    """Return the steps after which the stored return path stopped or resumed working."""
    return [int(turn) for turn in str(row["turns"] or "").split()]


@dataclass(frozen=True, slots=True)
class Count(ReturnCount):
    """Number of worlds with a way home, and the level that it is compared with."""

    level: float  # δ
    step: int | None = None  # step of the count; None if each world has its own step

    @property
    def holds(self) -> bool:
        """Whether the level is not refuted at 99 %."""
        return self.upper >= self.level


@dataclass(frozen=True, slots=True)
class Level:
    """Summary of the runs of one noise and level."""

    noise: float
    delta: float
    runs: int
    held_random: Count  # worlds in which the stored return path works at a random step
    held_worst: Count  # the same at the worst step
    random: Count  # worlds in which any path home exists at a random step
    worst: Count  # the same at the worst step
    nats: float  # median over worlds of the information at the end
    low: float  # its lower quartile
    high: float  # its upper quartile
    lead: float | None  # median of nats / (nats at the next higher level) − 1
    spent: float  # mean risk spent of 1 − δ; by the theorem at least Pr(the path does not work)
    steps: float  # median number of steps

    @property
    def holds(self) -> bool:
        """Whether no count refutes the level."""
        counts = (self.held_random, self.held_worst, self.random, self.worst)
        return all(count.holds for count in counts)


def summarise(rows: Iterable[dict[str, Any]]) -> list[Level]:
    """Return the summary of each noise and level, in the order in which they first appear."""
    groups = grouped(rows, ("noise", "delta"))
    nats_of = {key: {r["seed"]: r["nats"] for r in group} for key, group in groups.items()}
    found = []
    for (noise, delta), runs in groups.items():
        nats = np.array([row["nats"] for row in runs])
        higher = min((d for n, d in groups if n == noise and d > delta), default=None)
        before = {} if higher is None else nats_of[noise, higher]
        leads = [r["nats"] / before[r["seed"]] - 1.0 for r in runs if r["seed"] in before]
        low, middle, high = np.quantile(nats, (0.25, 0.5, 0.75)).tolist()
        found.append(
            Level(
                noise,
                delta,
                len(runs),
                *_counts(runs, delta, is_held),
                *_counts(runs, delta, has_way),
                *(middle, low, high),
                lead=float(np.median(leads)) if leads else None,
                spent=float(np.mean([row["spent"] for row in runs])),
                steps=float(np.median([row["steps"] for row in runs])),
            )
        )
    return found


def _counts(runs: Sequence[dict[str, Any]], delta: float, holds: Holds) -> tuple[Count, Count]:
    """Return the counts of runs with a way home: at each run's random step, at the worst step."""
    at_random = sum(holds(row, row["recall"]) for row in runs)
    # The worst step is 0 or a step at which a run loses its way home.
    lost = {int(row["stranded_at"]) for row in runs if row["stranded_at"] is not None}
    steps = {0}.union(lost, *map(_turns, runs))
    counts = {step: sum(holds(row, step) for row in runs) for step in sorted(steps)}
    step = min(counts, key=lambda step: counts[step])
    return Count(at_random, len(runs), delta), Count(counts[step], len(runs), delta, step)
