"""How often runs keep their level, and how much they learn, on terrain drawn from the prior.

The true heights are drawn from the prior, so that the belief is right and the promise can be
tested. It holds for every recall rule that uses observations only. Two are counted: at a step drawn
beforehand, uniformly up to the step limit; and at the step after which the fewest worlds have a way
home. A run that has ended stays where it is. Counted are the worlds in which the held way home
works, as the theorem promises, and those in which any exists. Limits are Clopper and Pearson's,
one-sided at 99 %; a level is refuted if the upper limit of the fraction is below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from homeward.beliefs.heights import TerrainBelief, entropy_reduction
from homeward.certificates.intervals import ReturnCount
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import make
from homeward.paper.mars import RING, clairvoyant
from homeward.runs.config import checked
from homeward.studies.study import combine
from homeward.studies.table import grouped
from homeward.studies.work import play

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from homeward.arrays import IntArray
    from homeward.kinds.rover.world import Rover
    from homeward.planning.explorer import Loop, Step
    from homeward.planning.held import Held

    Holds: TypeAlias = Callable[[dict[str, Any], int], bool]

DELTAS = (1.0, 0.98, 0.9, 0.7, 0.5)
NOISES = (1e-4, 1e-2)
ROWS, COLUMNS = 160, 240
"""Pixels of 1 m: 8 × 12 cells of 20 m."""

LIMIT = 200
"""Maximum number of steps of a run."""

FLOOR_NATS = 0.5
"""Nats per step below which a run ends: less than a second visit of each cell brings."""


def cells_of(limit: int = LIMIT) -> list[dict[str, Any]]:
    """Return the study's cells: every noise with every level."""
    return combine({"noise": NOISES, "delta": DELTAS, "limit": [limit]})


def config_of(cell: dict[str, Any], seed: int) -> RoverConfig:
    """Return the configuration of a run, as `homeward explore` would take it."""
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
    """Return the row of one rover on one drawn terrain; a task of the study.

    ``turns`` has the steps after which the held way home stopped or resumed working, separated by
    spaces.
    """
    setup = make(config_of(cell, seed))
    prior, rover = cast("TerrainBelief", setup.belief), cast("Rover", setup.world)
    explorer = setup.explorer()
    works = held_works(explorer.held, rover)
    turns, stranded_at = ([] if works else [0]), None

    def measure(_: Loop, step: Step) -> None:
        nonlocal works, stranded_at
        if held_works(step.held, rover) != works:
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
        "spent": 0.0 if explorer.held is None else 1.0 - explorer.held.kept,
        "end": str(explorer.end),
    }


def held_works(held: Held | None, rover: Rover) -> bool:
    """Return whether the held way home works in the true world."""
    if held is None:
        return False
    way: IntArray = held.accounts[0].way
    state = rover.state
    for _ in range(len(way)):
        if state == rover.start:
            return True
        if way[state] < 0 or not rover.moves.success[state, way[state]]:
            return False
        state = int(rover.moves.dest[state, way[state]])
    return state == rover.start


def is_held(row: dict[str, Any], step: int) -> bool:
    """Return whether the held way worked after a number of steps."""
    return sum(turn <= step for turn in _turns(row)) % 2 == 0


def has_way(row: dict[str, Any], step: int) -> bool:
    """Return whether any way home existed after a number of steps."""
    return row["stranded_at"] is None or step < row["stranded_at"]


def _turns(row: dict[str, Any]) -> list[int]:
    return [int(turn) for turn in str(row["turns"] or "").split()]


@dataclass(frozen=True, slots=True)
class Count(ReturnCount):
    """Number of worlds with a way home."""

    home: int
    worlds: int
    level: float  # δ that was promised
    step: int | None = None  # of the count; None where each world has its own

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
    held_random: Count  # worlds in which the held way works, at a random and at the worst step
    held_worst: Count
    random: Count  # worlds in which any way home exists
    worst: Count
    nats: float  # median information at the end, and its quartiles over worlds
    low: float
    high: float
    lead: float | None  # median over worlds of the relative gain over the next higher level
    spent: float  # mean risk spent of 1 − δ; by the theorem at least Pr(the way is lost)
    steps: float  # median

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
    """Count the runs with a way home, at the random step of each and after the worst step."""
    at_random = sum(holds(row, row["recall"]) for row in runs)
    # The worst step is one at which a way is lost.
    lost = {int(row["stranded_at"]) for row in runs if row["stranded_at"] is not None}
    steps = {0}.union(lost, *map(_turns, runs))
    counts = {step: sum(holds(row, step) for row in runs) for step in sorted(steps)}
    step = min(counts, key=lambda step: counts[step])
    return Count(at_random, len(runs), delta), Count(counts[step], len(runs), delta, step)
