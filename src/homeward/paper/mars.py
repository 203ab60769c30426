"""The paper's Mars figure: what a rover learns of 2 km x 1 km of ground at several safety levels.

The paper's rover explores a window of one HiRISE terrain model, which is not ours to ship. Here the
same is done on synthetic ground, over several terrains, or on a raster that is handed in, over
several draws of its error. As in the paper: cells of 20 m, slopes from −45° to 5°, γ = .999 and
15,000 steps. Algorithm 1 runs at the levels .98, .90 and .70 of each plan, beside an explorer that
keeps nothing safe and one that takes the mean model at its word. Our explorer runs at the same
levels, of the whole run, and without any; and twice more with its choice replaced by a simpler one.

The paper does not say what its rover sees. By default ours sees the cells around it, as in the
paper's grid world: that reading gives the paper's order. It does not say where the rover starts
either. Here it starts on a landing site that the terrain model speaks for: nearest to the middle in
the largest part of the map where moves that should work lead from everywhere to everywhere. In the
very middle, one rover in three would start in a pit.

The measure is the entropy reduction in nats, also as a share of what a clairvoyant would have. A
step brings news if it takes off `NEWS` or more. ``still`` is what a rover that never moves would
get. Variances do not depend on what is measured, so that, and the rest of a run whose rover sits
where no move works, have a closed form.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from homeward.beliefs.grid_graph import STEPS
from homeward.beliefs.heights import SHARP, TerrainBelief
from homeward.bonuses import Looks
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kernels import look_around
from homeward.kinds.rover.kind import cells_of, digest_of, make
from homeward.planning.explorer import End, Explorer
from homeward.planning.held import MAX_FREE_SHARE, Proposal
from homeward.planning.outward import best_rate, gain_at
from homeward.planning.rate import RateSearch
from homeward.runs.config import checked
from homeward.solvers.reach import reached

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homeward.arrays import BoolArray, FloatArray
    from homeward.kinds.rover.figure import TerrainPanel
    from homeward.kinds.rover.world import Rover
    from homeward.planning.explorer import Loop
    from homeward.planning.rate import View
    from homeward.runs.kind import Setup

LONGEST = 15_000
"""Steps of the paper's runs."""

ROWS, COLUMNS = 1000, 2000
"""Pixels of 1 m of synthetic ground."""

RING = 29.0
"""m, the range of a sensor that sees the eight cells around it, of 20 m each."""

MARKS = (1000, 3000, 6000)
"""Steps after which nats are reported."""

POINTS = 60
"""Points of a run's curve of nats over steps."""

NEWS = 0.05
"""Nats that a step must bring to count as news: the floor of our explorer."""

SAID = {
    "explorer": ("safe", "safe", "safe", "unsafe", "naive"),
    "delta": (0.98, 0.90, 0.70, None, 0.98),
    "paper": (7680.0, 12660.0, 35975.0, 3214.0, None),
}
"""The settings, and the paper's entropy reductions; of the naive one it only says "as poorly"."""

KEY = ("algorithm", "explorer", "delta", "correction", "choice")
"""What tells one setting from another."""


def settings_of(
    steps: int,
    scale: float = 1.0,
    correction: str = "general",
    sensor_range: float | None = RING,
    raster: str | None = None,
    window: str | None = None,
) -> list[dict[str, Any]]:
    """List Algorithm 1's cells of the study, in the paper's order.

    `scale` times the sides of the paper's ground, unless on a raster. Without a range the sensor
    reaches over the whole map.
    """
    ground: dict[str, Any] = {"sensor_range": sensor_range, "raster": raster, "window": window}
    if raster is None:
        ground |= {"rows": round(scale * ROWS), "columns": round(scale * COLUMNS)}
    return [
        {
            "algorithm": "paper",
            "explorer": explorer,
            "delta": delta,
            "correction": correction if explorer == "safe" else None,
            "choice": None,
            "limit": steps,
            **ground,
        }
        for explorer, delta in zip(SAID["explorer"], SAID["delta"], strict=True)
    ]


def beside(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """List what stands beside Algorithm 1's cells: its other correction, ours, and baselines."""
    safe, unsafe = cells[0], cells[3]
    other = "moves" if safe["correction"] == "general" else "general"
    ours = {**safe, "algorithm": "rate", "correction": "moves"}
    return [
        {**safe, "correction": other},
        *({**ours, "delta": delta} for delta in SAID["delta"][:3]),
        {**unsafe, "algorithm": "rate"},
        *({**ours, "choice": choice} for choice in SEARCHES),
    ]


def pinned(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the study's cells with the digest of the raster's cells, if they are on one.

    So a raster that has changed makes another study, and a task refuses one that changes meanwhile.
    """
    if not cells or cells[0].get("raster") is None:
        return list(cells)
    digest = digest_of(cells_of(config_of(cells[0], 0)))
    return [{**cell, "terrain_sha256": digest} for cell in cells]


def pair_of(delta: float, steps: int) -> list[dict[str, Any]]:
    """List the demo's two: safe with a level for the whole run, and unsafe; both near-sighted."""
    safe, *_ = settings_of(steps, correction="moves", sensor_range=RING)
    safe |= {"delta": delta, "algorithm": "rate"}
    return [safe, {**safe, "explorer": "unsafe", "delta": None, "correction": None}]


def config_of(cell: dict[str, Any], seed: int) -> RoverConfig:
    """Give the configuration of a run: what `homeward explore` would be told to do the same."""
    given: dict[str, Any] = {"explorer": cell["explorer"], "limit": int(cell["limit"])}
    given["algorithm"] = cell.get("algorithm", "paper")
    if given["algorithm"] == "paper":
        given["home"] = "current"
    for name in ("delta", "correction", "sensor_range", "window", "terrain_sha256"):
        if cell.get(name) is not None:
            given[name] = cell[name]
    if cell.get("raster") is None:
        given |= {"terrain_seed": seed, "rows": cell["rows"], "columns": cell["columns"]}
    else:
        given["terrain"] = cell["raster"]
    return checked(RoverConfig, {"seed": seed, **given}, "the rover")


def after_looks(belief: TerrainBelief, rover: Rover, looks: int) -> FloatArray:
    """Give the variances [S] after so many more looks from where the rover is.

    A look from distance d adds 1/v(d) to a cell's precision, whatever it shows.
    """
    states = len(belief.variance)
    cells, distances = np.empty(states, np.int32), np.empty(states)
    reach = look_around(
        *rover.position,
        rover.shape,
        rover.size,
        rover.sensor.reach,
        rover.blocked,
        cells,
        distances,
    )
    variance = belief.variance.copy()
    seen, error = cells[:reach], rover.sensor.variance(distances[:reach])
    variance[seen] = variance[seen] * error / (error + looks * variance[seen])
    return variance


def is_stuck(rover: Rover) -> bool:
    """Tell whether no move out of the rover's cell works, in the true world."""
    dest, success = rover.moves.dest[rover.state], rover.moves.success[rover.state]
    return not np.any((success > 0.0) & (dest != rover.state))


class BestRate(RateSearch):
    """Takes the certified place with the most gain per step, without looking ahead."""

    looks_ahead = False


class Nearest(RateSearch):
    """Takes the nearest certified place that was not visited yet."""

    def best(self, view: View) -> Proposal | None:
        """Return the nearest place."""
        looks, here = view.whole, np.zeros(1, np.int32)
        once = looks.weight.max()  # a look from inside leaves a precision of at least that
        unvisited = (looks.amount * once > 1.0).astype(np.float64)
        itself = Looks(looks.shape, here, here, np.ones(1), unvisited, False)
        reachable = np.where(view.share <= MAX_FREE_SHARE, 0.0, 2.0)
        bounds = np.full(len(unvisited), np.inf)
        path, _, steps = best_rate(
            view.edges, reachable, 0.0, 0.0, view.state, itself, 0.0, 1.0, bounds
        )
        if not len(path):
            return None
        gain = gain_at(path[-1], looks, np.zeros(len(unvisited)))
        return Proposal(tuple(path.tolist()), gain, steps, float(view.share[path].max()))


SEARCHES: dict[str, type[RateSearch]] = {"nearest": Nearest, "best rate": BestRate}
"""Simple baselines in our loop, by name."""


def explorer_of(setup: Setup, choice: str | None) -> Loop:
    """Return the explorer of a run, with its search replaced by a baseline's if one is named."""
    explorer = setup.explorer()
    if choice is not None and isinstance(explorer, Explorer):
        ours = cast("RateSearch", explorer.guide.search)
        explorer.guide.search = SEARCHES[choice](ours.task)
    return explorer


class Clairvoyant(NamedTuple):
    """What one who knows the true ground would have.

    Attributes
    ----------
    inside
        Mask [S] of the cells that can be visited and left again, back to the start.
    nats
        What one look from inside each of them tells of it, and one look at each cell of the ring
        around them from beside it.
    """

    inside: BoolArray
    nats: float


def clairvoyant(prior: TerrainBelief, rover: Rover) -> Clairvoyant:
    """Return what a clairvoyant would have who saw each cell once, whatever the sensor's range."""
    there = reached(rover.moves.dest, rover.moves.success, rover.start)
    inside = there & rover.way_back
    ring = np.zeros(len(inside), dtype=bool)
    ring[rover.moves.dest[inside]] = True
    ring &= ~inside & ~prior.blocked
    own, beside_it = rover.sensor.variance(np.array([0.0, min(prior.size)]))
    nats = np.log1p(prior.variance[inside] / own).sum()
    nats += np.log1p(prior.variance[ring] / beside_it).sum()
    return Clairvoyant(inside, 0.5 * float(nats))


def explore(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Let one rover loose on one terrain; a task of the study.

    ``moves`` has a digit for each step, the number of the action whose place it led to: 0 for none.
    ``curve`` has the nats after `POINTS` equal parts of the steps, separated by spaces. Algorithm
    1's rover that can't move any more measures on from where it is until the last step.
    """
    setup = make(config_of(cell, seed))
    prior, rover = cast("TerrainBelief", setup.belief), cast("Rover", setup.world)
    known = clairvoyant(prior, rover)
    still = _nats(prior, after_looks(prior, rover, setup.limit + 1))
    explorer = explorer_of(setup, cell.get("choice"))
    sits = setup.algorithm == "paper"  # ours ends by itself where no move works
    stuck = sits and is_stuck(rover)
    path, stranded_at, lowest = [rover.state], None, 1.0
    nats = [_nats(prior, cast("TerrainBelief", explorer.belief).variance)]
    if not stuck:
        for step in explorer.explore(setup.limit):
            path.append(step.state)
            nats.append(_nats(prior, cast("TerrainBelief", explorer.belief).variance))
            for criterion in step.plan.criteria:
                lowest = min(lowest, criterion.kept_bound)
            if rover.stranded and stranded_at is None:
                stranded_at = step.number
            if sits and step.state != path[-2] and is_stuck(rover):
                stuck = True
                break
    belief = cast("TerrainBelief", explorer.belief)
    left = setup.limit - explorer.steps if stuck else 0
    nats += [_nats(prior, after_looks(belief, rover, k + 1)) for k in range(left)]
    variance = after_looks(belief, rover, left)
    open_cells = ~prior.blocked
    visited = np.unique(path)
    points = np.linspace(0, setup.limit, POINTS + 1).round().astype(int).clip(max=len(nats) - 1)
    return {
        "entropy": nats[-1],
        **{
            f"nats_{mark}": nats[min(mark, len(nats) - 1)] if mark <= setup.limit else None
            for mark in MARKS
        },
        "clairvoyant": known.nats,
        "safe_cells": int(known.inside.sum()),
        "safe_visited": int(known.inside[visited].sum()),
        "still": still,
        "steps": explorer.steps + left,
        "without_news": longest_without_news(nats),
        "end": str(End.STUCK if stuck else explorer.end),
        "stranded": bool(rover.stranded),
        "stranded_at": stranded_at,
        "visited": len(visited),
        "sharp": float((variance[open_cells] <= SHARP**2).mean()),
        "lowest_bound": lowest if setup.planner.criteria else None,
        "curve": " ".join(f"{nats[point]:.1f}" for point in points),
        "moves": digits_of(path, prior.shape[1]) + "0" * left,
    }


def longest_without_news(nats: Sequence[float]) -> int:
    """Return the most steps in a row of which none brought `NEWS`."""
    at = np.flatnonzero(np.diff(nats) >= NEWS)
    return int(np.diff([-1, *at, len(nats) - 1]).max()) - 1


def _nats(prior: TerrainBelief, variance: FloatArray) -> float:
    """Give Σ ½ ln(prior variance / variance) over the open cells."""
    counted = ~prior.blocked
    return float(0.5 * np.log(prior.variance[counted] / variance[counted]).sum())


def digits_of(path: Sequence[int], columns: int) -> str:
    """Give a path as digits: for each step the number of the move that was made, 0 for none."""
    number = {step: str(a) for a, step in enumerate(STEPS)}
    places = [divmod(state, columns) for state in path]
    return "".join(number[r - row, c - column] for (row, column), (r, c) in pairwise(places))


def path_of(digits: str, start: int, columns: int) -> list[int]:
    """Give the path that digits tell of."""
    leap = [down * columns + right for down, right in STEPS]
    path = [start]
    for digit in digits:
        path.append(path[-1] + leap[int(digit)])
    return path


@dataclass(frozen=True, slots=True)
class Setting:
    """What the runs of one setting came to.

    Attributes
    ----------
    paper
        The paper's nats, of Algorithm 1's own settings.
    median, least, most
        Nats of our runs at the end.
    marks
        Median nats after each of `MARKS`; None beyond the last step.
    shares
        The same and at the end, as median shares of what a clairvoyant would have.
    visited
        Median share of the cells that can be visited and left again.
    still
        Median nats of rovers that never move.
    stranded_at
        Median step after which there was no way back, of those that were stranded.
    without_news
        Most steps in a row without news, over all runs.
    curve
        Median nats [POINTS + 1] over the steps.
    ends
        How many runs ended how.
    """

    setting: str
    paper: float | None
    median: float
    least: float
    most: float
    marks: tuple[float | None, ...]
    shares: tuple[float | None, ...]
    visited: float
    still: float
    stranded: int
    runs: int
    stranded_at: float | None
    without_news: int
    curve: tuple[float, ...]
    ends: dict[str, int]


def name_of(row: dict[str, Any]) -> str:
    """Name a setting."""
    ours = row.get("algorithm") == "rate"
    level = "" if row["delta"] is None else level_said(float(row["delta"]))
    if row.get("choice") is not None:
        return f"{row['choice']} at {level}"
    if row["explorer"] == "unsafe":
        return "ours, unsafe" if ours else "unsafe"
    if ours:
        return f"ours at {level}"
    also = ", moves" if row.get("correction") == "moves" else ""
    return f"{row['explorer']} at {level}{also}"


def level_said(delta: float) -> str:
    """Return a level with two digits as in the paper; more where there are more."""
    return max(f"{delta:.2f}", f"{delta:.15g}", key=len).removeprefix("0")


def summarise(rows: Iterable[dict[str, Any]]) -> list[Setting]:
    """Put the runs of each setting together, in the order in which they first appear."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in KEY), []).append(row)
    return [_setting(group) for group in groups.values()]


def _setting(group: Sequence[dict[str, Any]]) -> Setting:
    first = group[0]
    said: Iterable[tuple[Any, Any, Any]] = zip(*SAID.values(), strict=True)
    own = first["algorithm"] == "paper" and first["correction"] != "moves"
    paper = {(explorer, delta): nats for explorer, delta, nats in said if own}
    nats = [row["entropy"] for row in group]
    lost = [row["stranded_at"] for row in group if row["stranded_at"] is not None]
    columns = [f"nats_{mark}" for mark in MARKS]
    curves = [[float(point) for point in row["curve"].split()] for row in group]
    return Setting(
        setting=name_of(first),
        paper=paper.get((first["explorer"], first["delta"])),
        median=float(np.median(nats)),
        least=min(nats),
        most=max(nats),
        marks=tuple(_median(group, name) for name in columns),
        shares=tuple(_median(group, name, "clairvoyant") for name in (*columns, "entropy")),
        visited=cast("float", _median(group, "safe_visited", "safe_cells")),
        still=float(np.median([row["still"] for row in group])),
        stranded=sum(bool(row["stranded"]) for row in group),
        runs=len(group),
        stranded_at=float(np.median(lost)) if lost else None,
        without_news=max(row["without_news"] for row in group),
        curve=tuple(np.median(curves, axis=0).tolist()),
        ends=dict(Counter(End(row["end"]) for row in group)),
    )


def _median(group: Sequence[dict[str, Any]], name: str, of: str | None = None) -> float | None:
    """Return the median of a column, or of its share of another; None where a value is missing."""
    if any(row[name] is None for row in group):
        return None
    return float(np.median([row[name] / (1.0 if of is None else row[of]) for row in group]))


def panel_of(row: dict[str, Any]) -> TerrainPanel:
    """Draw up one run: its way from the row, what was measured along it from the seed."""
    from homeward.kinds.rover.figure import TerrainPanel  # late: no task of the study draws

    seed = int(row["seed"])
    config = config_of(row, seed)
    setup = make(config)
    rover = cast("Rover", setup.world)
    path = path_of(row["moves"], rover.start, rover.shape[1])
    belief = replay(cast("TerrainBelief", setup.belief), rover, path)
    cells = cells_of(config)
    return TerrainPanel(
        cells,
        belief.height.reshape(cells.shape),
        np.sqrt(belief.variance).reshape(cells.shape),
        path,
        title=name_of(row).capitalize(),
        note=story_of(row),
        stranded=bool(row["stranded"]),
    )


def story_of(row: dict[str, Any]) -> str:
    """Tell in a line what became of a run."""
    lost = f"no way back since step {row['stranded_at']:,}" if row["stranded"] else "can go back"
    steps = f"{row['steps']:,} steps, {row['visited']:,} cells visited"
    return f"{steps}, {row['entropy']:,.0f} nats learned; {lost}"


def replay(belief: TerrainBelief, rover: Rover, path: Sequence[int]) -> TerrainBelief:
    """Give what is believed after a path was taken; the rover takes it."""
    belief = belief.update(rover.look())
    for state in path[1:]:
        rover.state = state
        rover.steps += 1
        belief = belief.update(rover.look())
    return belief
