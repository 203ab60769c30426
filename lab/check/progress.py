"""Checks that long runs of the default explorer make progress in many worlds.

A run may oscillate although every plan is proven safe. So each run is followed to its end or to a
step limit, and judged by its observations alone. The rules:

- **News.** No `WINDOW` consecutive steps may be without news. News is an observation with a gain
  above the explorer's floor for one step. The gain is the difference between the beliefs before and
  after it: nats on terrain, otherwise newly seen squares or tiles. A failed move is not news.
- **Failed moves.** A move fails if it leaves the explorer where it was, although its believed
  success probability was above 0. It is repeated if it is attempted again while this probability is
  0, or if the failure had not changed the probability. No move may be repeated.
- **The end.** A run that reaches its step limit must have had news in its last `WINDOW` steps.

Rasters are scaled to the defaults: a cell is two pixels wide, and lengths in metres scale with the
cell (the defaults are for 20 m). The maximum climb is the median slope between neighbouring cells,
but at least the default, so about half of the moves succeed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np

from homeward.beliefs import HeightBelief
from homeward.beliefs.heights import TerrainBelief, entropy_reduction
from homeward.kinds.grid import kind as grid
from homeward.kinds.grid.config import GridConfig
from homeward.kinds.rover import kind as rover
from homeward.kinds.rover.config import MARS, RoverConfig
from homeward.kinds.tabular import kind as toytext
from homeward.kinds.tabular.config import ToyTextConfig
from homeward.paper.toytext import KNOWN_TO_SLIP, SURE_FOOTED
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer
from homeward.runs.config import checked
from homeward.runs.kind import Setup
from homeward.studies.table import grouped

WINDOW = 200  # maximum number of consecutive steps without news
DELTAS = (1.0, 0.98, 0.9, 0.7, 0.5)
NOISES = (1e-6, 1e-4, 1e-2)
RANGES = (0.0, 1.0, 1.5, 2.0, 3.0, 5.0)  # ranges of the sensor, in cells
SHORT = 1.5  # sensors up to this range in cells get more worlds, because moves often fail
SIDE = 12  # cells along each side of terrain; `LIMIT` steps can explore it; grids have 2·SIDE
LIMIT = 1500  # maximum number of steps of a run
CELL_METRES = 20.0  # side in m of the cells for which the defaults were chosen
GRIDS = {"grid, walls .2": 0.2, "grid, walls .4": 0.4}
TOYS = {
    "FrozenLake 4x4": ("lake", SURE_FOOTED),
    "FrozenLake 4x4, known to slip": ("slippery lake", KNOWN_TO_SLIP),
    "FrozenLake 4x4, believed firm": ("slippery lake", SURE_FOOTED),
    "FrozenLake 8x8": ("large lake", SURE_FOOTED),
    "FrozenLake 8x8, known to slip": ("large slippery lake", KNOWN_TO_SLIP),
    "FrozenLake 8x8, believed firm": ("large slippery lake", SURE_FOOTED),
    "CliffWalking": ("cliff", SURE_FOOTED),
}
"""World and prior of each toy-text ground."""


def cells_of(
    rasters: Sequence[str] = (), limit: int = LIMIT, side: int = SIDE, runs: int | None = None
) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the cells of the study and the number of worlds of each; `runs` limits the total."""
    size = {"side": side, "limit": limit}
    found: list[tuple[dict[str, Any], int]] = []
    for ground, delta in product((*GRIDS, *TOYS), DELTAS):
        found.append(({"ground": ground, "delta": delta, **size}, 4 if ground in GRIDS else 2))
    for ground, (i, sensor), (j, delta) in product(
        (*rasters, MARS), reversed([*enumerate(RANGES)]), enumerate(DELTAS)
    ):
        # Short sensors on synthetic ground get every noise with every level, others take turns.
        many = ground == MARS and sensor <= SHORT
        for noise in NOISES if many else [NOISES[(i + j) % len(NOISES)]]:
            cell = {"ground": ground, "sensor": sensor, "noise": noise, "delta": delta, **size}
            found.append((cell, 5 if many else 1))
    if runs is not None:
        each = np.repeat(np.arange(len(found)), [count for _, count in found])
        taken = Counter(np.random.default_rng(0).permutation(each)[:runs].tolist())
        found = [(cell, taken[i]) for i, (cell, _) in enumerate(found) if taken[i]]
    return [cell for cell, _ in found], [count for _, count in found]


def setup_of(cell: dict[str, Any], seed: int) -> Setup:
    """Return the setup of a run of the default explorer; terrain may have further `options`."""
    ground = cell["ground"]
    given: dict[str, Any] = {"seed": seed, "delta": cell["delta"], "limit": cell["limit"]}
    if ground in TOYS:
        world, prior = TOYS[ground]
        given |= {"world": world, "prior": prior}
        return toytext.make(checked(ToyTextConfig, given, ground))
    if ground in GRIDS:
        given |= {"size": 2 * cell["side"], "walls": GRIDS[ground]}
        return grid.make(checked(GridConfig, given, ground))
    if ground == MARS:
        pixels = int(CELL_METRES) * cell["side"]
        given |= {"rows": pixels, "columns": pixels, "terrain_seed": seed}
    else:
        given |= raster_of(ground, cell["side"])
    width = given.get("cell", CELL_METRES)
    given |= {"sensor_range": cell["sensor"] * width, "sensor_noise": cell["noise"]}
    given |= cell.get("options", {})
    return rover.make(checked(RoverConfig, given, ground))


@lru_cache(maxsize=8)
def raster_of(path: str, side: int) -> dict[str, Any]:
    """Return the configuration of a rover on the middle of a raster, at most `side` cells wide."""
    from homeward.terrain import read_elevation

    pixel = 1.0 if path.endswith(".npy") else None
    whole = read_elevation(path, pixel=pixel)
    height, width = (min(2 * side, count) for count in whole.shape)
    top, left = ((n - m) // 2 for n, m in zip(whole.shape, (height, width), strict=True))
    cell = 2.0 * max(whole.pixel)
    scale = cell / CELL_METRES
    given = {
        "terrain": path,
        "pixel": pixel,
        "window": f"{left},{top},{width},{height}",
        "cell": cell,
        "ground": "paper",
        "blur": 5.0 * scale,
        "error": 2.0**-4 * scale**2,
        "sensor_offset": scale,
    }
    centre = rover.cells_of(checked(RoverConfig, given, path)).centre
    rise = np.concatenate([np.abs(np.diff(centre, axis=axis)).ravel() for axis in (0, 1)])
    slope = float(np.degrees(np.arctan(np.median(rise) / cell)))
    return {**given, "climb": max(slope, RoverConfig.model_fields["climb"].default)}


def explore(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the counts of one run; this is the task of the study."""
    setup = setup_of(cell, seed)
    return follow(cast("Explorer", setup.explorer()), setup.limit)


def follow(explorer: Explorer, limit: int) -> dict[str, Any]:
    """Run an explorer and return its counts; the module docstring defines news and failed moves.

    ``learned`` is the gain of all observations, in the unit of the bonus. ``longest`` is the
    largest number of consecutive steps without news, and ``last`` is the number of steps since the
    last news at the end. ``home`` is whether the explorer can return home from its last state in
    the true world.
    """
    floor = explorer.rules.floor
    attempts: dict[tuple[int, int], float] = {}  # probability of a failed move; 0 if learned
    learned, longest, last, failed, repeated = 0.0, 0, 0, 0, 0
    steps = explorer.explore(limit)
    before, state = explorer.belief, explorer.world.state
    for step in steps:
        move = state, step.action
        chance = float(before.mean().leaving(state)[step.action])
        repeated += move in attempts and chance in (attempts[move], 0.0)
        if chance > 0.0 and step.state == state:
            after = float(explorer.belief.mean().leaving(state)[step.action])
            attempts[move] = chance if after == chance else 0.0
            failed += 1
        gain = gain_between(before, explorer.belief)
        learned += gain
        last = 0 if gain > floor else last + 1
        longest = max(longest, last)
        before, state = explorer.belief, step.state
    assert explorer.end is not None
    home = not (explorer.world.ended or getattr(explorer.world, "stranded", False))
    found = {"steps": explorer.steps, "end": explorer.end.name, "learned": learned}
    found |= {"longest": longest, "last": last, "failed": failed}
    return {**found, "repeated": repeated, "home": home}


def gain_between(before: Any, after: Any) -> float:
    """Return the gain between two beliefs in nats, squares or tiles, by the kind of belief."""
    if isinstance(before, TerrainBelief):
        return entropy_reduction(before, after)
    if isinstance(before, HeightBelief):
        return float(np.count_nonzero(after.seen) - np.count_nonzero(before.seen))
    return float(np.count_nonzero(after.visited) - np.count_nonzero(before.visited))


def faults_of(run: dict[str, Any]) -> list[str]:
    """Return a sentence for each rule that a run breaks."""
    found = []
    if run["longest"] >= WINDOW:
        found.append(f"{run['longest']} steps without news")
    if run["repeated"]:
        found.append(f"{run['repeated']} failed moves repeated")
    if run["end"] == End.STEPS.name and run["last"] >= WINDOW:
        found.append("no news at the step limit")
    return found


def summarise(runs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the summary of each ground and sensor, in order, and of all runs at the end.

    ``steps`` and ``longest`` are medians; ``worst`` is the maximum of ``longest``. The others are
    numbers of runs: ``limited`` reached the step limit, ``gaining`` reached it and had news shortly
    before, ``stranded`` can't return home, and ``broken`` break a rule.
    """
    everything = list(runs)
    known = (MARS, *GRIDS, *TOYS)
    named = [
        run if run["ground"] in known else {**run, "ground": Path(run["ground"]).stem}
        for run in everything
    ]
    groups = grouped(named, ("ground", "sensor"))
    found = []
    for (ground, sensor), group in [*groups.items(), (("all", None), everything)]:
        limited = [run for run in group if run["end"] == End.STEPS.name]
        found.append(
            {
                "ground": ground,
                "sensor": sensor,
                "runs": len(group),
                "steps": float(np.median([run["steps"] for run in group])),
                "longest": float(np.median([run["longest"] for run in group])),
                "worst": max(run["longest"] for run in group),
                "failed": sum(run["failed"] for run in group),
                "repeated": sum(run["repeated"] for run in group),
                "limited": len(limited),
                "gaining": sum(run["last"] < WINDOW for run in limited),
                "stranded": sum(not run["home"] for run in group),
                "broken": sum(bool(faults_of(run)) for run in group),
            }
        )
    return found
