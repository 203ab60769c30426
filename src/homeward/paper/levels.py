"""Is the level of a whole run kept, and what does it buy? Terrain drawn from the prior.

Small synthetic ground whose true heights are drawn from what is believed before the first look, so
that the belief is right and the promise can be counted: our explorer with the ring sensor, whose
noise leaves real risk, at several levels δ of the whole run. The promise holds for every rule of
calling off that looks only at what was seen. Counted are two such rules:

- at a step drawn beforehand, uniformly up to the step limit;
- at the worst step: of all steps the one after which the fewest of the worlds have a way home.

A run that has ended stays where it is. Two things are counted at each step: whether the way home
that is held works in the true world, which is what the theorem promises; and whether any way home
exists, which is at least as often. The second can't come back once it is lost, so its worst step is
the last. Limits are Clopper and Pearson's, one-sided at 99 %; a level is refuted where the upper
limit of the fraction is below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from homeward.beliefs.heights import TerrainBelief, entropy_reduction
from homeward.certificates.intervals import ReturnCount
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import make
from homeward.paper.mars import RING, clairvoyant
from homeward.runs.config import checked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homeward.arrays import IntArray
    from homeward.kinds.rover.world import Rover
    from homeward.planning.held import Held

DELTAS = (1.0, 0.98, 0.9, 0.7, 0.5)
NOISES = (1e-4, 1e-2)
ROWS, COLUMNS = 160, 240
"""Pixels of 1 m: 8 × 12 cells of 20 m."""

LIMIT = 200
"""Steps of a run at most."""

FLOOR = 0.5
"""Nats per step that end a run: looking again tells less than that once all has been visited."""


def cells_of(
    limit: int = LIMIT, deltas: Sequence[float] = DELTAS, noises: Sequence[float] = NOISES
) -> list[dict[str, Any]]:
    """List the study's cells: every noise with every level."""
    return [
        {"noise": noise, "delta": delta, "limit": limit} for noise, delta in product(noises, deltas)
    ]


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
        "floor": FLOOR,
        "limit": cell["limit"],
    }
    return checked(RoverConfig, given, "the rover")


def explore(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Let one rover loose on one drawn terrain; a task of the study.

    ``turns`` has the steps after which the held way home began not to work or to work again,
    separated by spaces.
    """
    setup = make(config_of(cell, seed))
    prior, rover = cast("TerrainBelief", setup.belief), cast("Rover", setup.world)
    explorer = setup.explorer()
    works = held_works(explorer.held, rover)
    turns, stranded_at = ([] if works else [0]), None
    for step in explorer.explore(setup.limit):
        if held_works(step.held, rover) != works:
            works = not works
            turns.append(step.number)
        if rover.stranded and stranded_at is None:
            stranded_at = step.number
    known = clairvoyant(prior, rover)
    return {
        "nats": entropy_reduction(prior, cast("TerrainBelief", explorer.belief)),
        "clairvoyant": known.nats,
        "steps": explorer.steps,
        "stranded_at": stranded_at,
        "turns": " ".join(map(str, turns)),
        "recall": int(np.random.default_rng([seed, 1]).integers(setup.limit + 1)),
        "spent": 0.0 if explorer.held is None else 1.0 - explorer.held.kept,
        "end": str(explorer.end),
    }


def held_works(held: Held | None, rover: Rover) -> bool:
    """Tell whether the way home that is held leads home in the true world."""
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
    """Tell whether the held way worked after so many steps."""
    turns = str(row["turns"] or "").split()
    return sum(int(turn) <= step for turn in turns) % 2 == 0


def has_way(row: dict[str, Any], step: int) -> bool:
    """Tell whether there was any way home after so many steps."""
    return row["stranded_at"] is None or step < row["stranded_at"]


@dataclass(frozen=True, slots=True)
class Count(ReturnCount):
    """How many of some worlds have a way home.

    Attributes
    ----------
    home
        Worlds with one.
    worlds
        All worlds.
    level
        The level δ that was promised.
    step
        The step of the count; None where each world has its own.
    """

    home: int
    worlds: int
    level: float
    step: int | None = None

    @property
    def holds(self) -> bool:
        """Whether the level is not refuted at 99 %."""
        return self.upper >= self.level


@dataclass(frozen=True, slots=True)
class Level:
    """What the runs of one noise and level came to.

    Attributes
    ----------
    held_random, held_worst
        Worlds in which the held way works, at a random and at the worst step.
    random, worst
        Worlds in which any way home exists.
    nats, low, high
        Median information at the end, and its quartiles over worlds.
    lead
        Median over worlds of the share of nats that it has more than the next higher level.
    spent
        Mean of what was spent of 1 − δ; by the theorem at least the chance that the way is lost.
    """

    noise: float
    delta: float
    runs: int
    held_random: Count
    held_worst: Count
    random: Count
    worst: Count
    nats: float
    low: float
    high: float
    lead: float | None
    spent: float
    steps: float

    @property
    def holds(self) -> bool:
        """Whether no count refutes the level."""
        counts = (self.held_random, self.held_worst, self.random, self.worst)
        return all(count.holds for count in counts)


def summarise(rows: Iterable[dict[str, Any]]) -> list[Level]:
    """Put the runs of each noise and level together, in the order in which they first appear."""
    groups: dict[tuple[float, float], dict[int, dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["noise"], row["delta"]), {})[int(row["seed"])] = row
    found = []
    for (noise, delta), group in groups.items():
        runs = list(group.values())
        nats = np.array([row["nats"] for row in runs])
        higher = min((d for n, d in groups if n == noise and d > delta), default=None)
        before = {} if higher is None else groups[noise, higher]
        both = [seed for seed in group if seed in before]
        leads = [group[seed]["nats"] / before[seed]["nats"] - 1.0 for seed in both]
        low, middle, high = np.quantile(nats, (0.25, 0.5, 0.75)).tolist()
        found.append(
            Level(
                noise,
                delta,
                len(runs),
                _at_random(runs, delta, is_held),
                _at_worst(runs, delta, is_held),
                _at_random(runs, delta, has_way),
                _at_worst(runs, delta, has_way),
                middle,
                low,
                high,
                float(np.median(leads)) if leads else None,
                float(np.mean([row["spent"] for row in runs])),
                float(np.median([row["steps"] for row in runs])),
            )
        )
    return found


def _at_random(runs: Sequence[dict[str, Any]], delta: float, told: Any) -> Count:
    return Count(sum(told(row, row["recall"]) for row in runs), len(runs), delta)


def _at_worst(runs: Sequence[dict[str, Any]], delta: float, told: Any) -> Count:
    """Count at the step after which the fewest have a way home; only at turns does that change."""
    steps = {0}
    for row in runs:
        steps.update(int(turn) for turn in str(row["turns"] or "").split())
        if row["stranded_at"] is not None:
            steps.add(int(row["stranded_at"]))
    counts = {step: sum(told(row, step) for row in runs) for step in sorted(steps)}
    step = min(counts, key=lambda step: counts[step])
    return Count(counts[step], len(runs), delta, step)
