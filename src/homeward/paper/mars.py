"""The paper's Mars figure: information that a rover gains on 2 km x 1 km at several safety levels.

The paper's window of a HiRISE terrain model is not included. The study runs on synthetic terrain,
or on a given raster with several draws of its error. The paper states neither the range of the
sensor nor the start. Here the sensor sees the cells around the rover, which reproduces the paper's
ranking. The likely moves divide the map into strongly connected components. The start is the cell
of the largest component that is nearest to the middle of the map, since in the exact middle one
rover in three would start in a pit.

The measure is the entropy reduction in nats. ``still`` is the measure for a rover that never moves.
Variances do not depend on the measured values, so ``still`` and the remaining steps of a stuck
rover have a closed form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from homeward.arrays import BoolArray, FloatArray
from homeward.beliefs.grid_graph import STEPS
from homeward.beliefs.heights import SHARP, TerrainBelief
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import cells_of, digest_of, make
from homeward.kinds.rover.world import Rover
from homeward.planning.ends import End
from homeward.planning.explorer import Loop, Step
from homeward.runs.config import checked
from homeward.solvers.paths import reached
from homeward.studies.table import grouped
from homeward.studies.work import play

if TYPE_CHECKING:
    from homeward.kinds.rover.figure import TerrainPanel

ROWS, COLUMNS = 1000, 2000  # size of the synthetic terrain in pixels of 1 m
RING = 29.0  # range in m of a sensor that sees the eight cells of 20 m around it
MARKS = (1000, 3000, 6000)  # numbers of steps after which nats are reported
POINTS = 60  # number of points of a run's curve of nats by steps
NEWS_NATS = 0.05  # smallest gain in nats of a step that counts as news: the floor of our explorer
PAPER_NATS: dict[tuple[str, float | None], float | None] = {
    ("safe", 0.98): 7680.0,
    ("safe", 0.90): 12660.0,
    ("safe", 0.70): 35975.0,
    ("unsafe", None): 3214.0,
    ("naive", 0.98): None,
}
"""Entropy reduction in the paper by explorer and level; None: the paper says only "as poor"."""

LEVELS = (0.98, 0.90, 0.70)
CHOICES = {"nearest": "certified-nearest", "best rate": "certified-rate"}
"""Agents of our baselines, by their names in the study."""

KEY = ("algorithm", "explorer", "delta", "correction", "choice")  # keys of a cell's setting


def settings_of(
    steps: int,
    scale: float = 1.0,
    correction: str = "general",
    sensor_range: float | None = RING,
    raster: str | None = None,
    window: str | None = None,
) -> list[dict[str, Any]]:
    """Return the study's cells (choices of settings) for Algorithm 1, in the paper's order.

    `scale` multiplies both sides of the paper's terrain; a raster has its own size.
    `sensor_range` is in m; None covers the whole map.
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
        for explorer, delta in PAPER_NATS
    ]


def beside(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return further cells: Algorithm 1 with the other correction, our explorer, baselines."""
    safe, unsafe = cells[0], cells[3]
    other = "moves" if safe["correction"] == "general" else "general"
    ours = {**safe, "algorithm": "rate", "correction": "moves"}
    return [
        {**safe, "correction": other},
        *({**ours, "delta": delta} for delta in LEVELS),
        {**unsafe, "algorithm": "rate"},
        *({**ours, "choice": choice} for choice in CHOICES),
    ]


def pinned(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cells; on a raster, with its digest, so that a changed raster is a new study."""
    if not cells or cells[0].get("raster") is None:
        return list(cells)
    digest = digest_of(cells_of(config_of(cells[0], 0)))
    return [{**cell, "terrain_sha256": digest} for cell in cells]


def pair_of(delta: float, steps: int) -> list[dict[str, Any]]:
    """Return two cells of our explorer for the demo: with level `delta`, and without a level."""
    safe, *_ = settings_of(steps, correction="moves")
    safe |= {"delta": delta, "algorithm": "rate"}
    return [safe, {**safe, "explorer": "unsafe", "delta": None, "correction": None}]


def config_of(cell: dict[str, Any], seed: int) -> RoverConfig:
    """Return the configuration of a rover with a cell's settings, as for `homeward explore`."""
    given: dict[str, Any] = {"explorer": cell["explorer"], "limit": int(cell["limit"])}
    given["algorithm"] = cell.get("algorithm", "paper")
    if cell.get("choice") is not None:
        given["agent"] = CHOICES[cell["choice"]]
    if given["algorithm"] == "paper":
        given["home"] = "current"
    for name in ("delta", "correction", "sensor_range", "window", "terrain_sha256"):
        if cell.get(name) is not None:
            given[name] = cell[name]
    if cell.get("raster") is None:
        given |= {"terrain_seed": seed, "rows": cell["rows"], "columns": cell["columns"]}
    else:
        given |= {"terrain": cell["raster"], "ground": "paper"}
    return checked(RoverConfig, {"seed": seed, **given}, "the rover")


def after_looks(belief: TerrainBelief, rover: Rover, looks: int) -> FloatArray:
    """Return the variances [S] after `looks` further measurements from the rover's cell.

    A measurement from distance d adds 1/v(d) to a cell's precision.
    """
    seen, distances = rover.in_range()
    variance, error = belief.variance.copy(), rover.sensor.variance(distances)
    variance[seen] = variance[seen] * error / (error + looks * variance[seen])
    return variance


def is_stuck(rover: Rover) -> bool:
    """Return whether no move out of the rover's cell works in the true world."""
    dest, success = rover.moves.dest[rover.state], rover.moves.success[rover.state]
    return not np.any((success > 0.0) & (dest != rover.state))


def clairvoyant(prior: TerrainBelief, rover: Rover) -> tuple[BoolArray, float]:
    """Return the safe cells and the nats of a rover that knows the true heights in advance.

    The mask [S] of safe cells has the cells that the rover can reach from the start and return
    from. The nats are the gain of one measurement of each safe cell from inside, and of each
    neighbour of the safe cells from one cell away.
    """
    there = reached(rover.moves.dest, rover.moves.success, rover.start)
    inside = there & rover.way_back
    ring = np.zeros(len(inside), dtype=bool)
    ring[rover.moves.dest[inside]] = True
    ring &= ~inside & ~prior.blocked
    own, beside_it = rover.sensor.variance(np.array([0.0, min(prior.size)]))
    nats = np.log1p(prior.variance[inside] / own).sum()
    nats += np.log1p(prior.variance[ring] / beside_it).sum()
    return inside, 0.5 * float(nats)


def explore(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Run one rover on one terrain and return its row; this is a task of the study.

    ``moves`` has one digit per step: the action that leads to the next cell, 0 if the rover stays.
    ``curve`` has the nats at `POINTS` + 1 equally spaced steps, separated by spaces. If the rover
    of Algorithm 1 is stuck, it measures from its cell until the last step.
    """
    setup = make(config_of(cell, seed))
    prior, rover = cast("TerrainBelief", setup.belief), cast("Rover", setup.world)
    safe, most = clairvoyant(prior, rover)
    still = _nats(prior, after_looks(prior, rover, setup.limit + 1))
    explorer = setup.explorer()
    waits = setup.agent.paper  # our explorer ends its run if no move works
    path, stranded_at, lowest = [rover.state], None, 1.0
    nats = [_nats(prior, cast("TerrainBelief", explorer.belief).variance)]

    def measure(explorer: Loop, step: Step) -> bool:
        nonlocal stranded_at, lowest
        path.append(step.state)
        nats.append(_nats(prior, cast("TerrainBelief", explorer.belief).variance))
        lowest = min(lowest, *(each.bound for each in step.decision.bounds), 1.0)
        if rover.stranded and stranded_at is None:
            stranded_at = step.number
        return waits and step.state != path[-2] and is_stuck(rover)

    if not (waits and is_stuck(rover)):
        play(setup, measure, explorer)
    stuck = waits and is_stuck(rover)
    belief = cast("TerrainBelief", explorer.belief)
    left = setup.limit - explorer.steps if stuck else 0
    nats += [_nats(prior, after_looks(belief, rover, k + 1)) for k in range(left)]
    variance = after_looks(belief, rover, left)
    visited = np.unique(path)
    last = len(nats) - 1
    points = np.linspace(0, setup.limit, POINTS + 1).round().astype(int).clip(max=last)
    marks = {m: nats[min(m, last)] if m <= setup.limit else None for m in MARKS}
    return {
        "entropy": nats[-1],
        **{f"nats_{mark}": value for mark, value in marks.items()},
        "clairvoyant": most,
        "safe_cells": int(safe.sum()),
        "safe_visited": int(safe[visited].sum()),
        "still": still,
        "steps": explorer.steps + left,
        "without_news": longest_without_news(nats),
        "end": str(End.STUCK if stuck else explorer.end),
        "stranded": bool(rover.stranded),
        "stranded_at": stranded_at,
        "visited": len(visited),
        "sharp": float((variance[~prior.blocked] <= SHARP**2).mean()),
        "lowest_bound": lowest if setup.planner.criteria else None,
        "curve": " ".join(f"{nats[point]:.1f}" for point in points),
        "moves": digits_of(path, prior.shape[1]) + "0" * left,
    }


def longest_without_news(nats: Sequence[float]) -> int:
    """Return the largest number of consecutive steps that each gain less than `NEWS_NATS`."""
    at = np.flatnonzero(np.diff(nats) >= NEWS_NATS)
    return int(np.diff([-1, *at, len(nats) - 1]).max()) - 1


def _nats(prior: TerrainBelief, variance: FloatArray) -> float:
    """Return Σ ½ ln(prior variance / variance) over the cells that are not blocked."""
    counted = ~prior.blocked
    return float(0.5 * np.log(prior.variance[counted] / variance[counted]).sum())


def digits_of(path: Sequence[int], columns: int) -> str:
    """Return a path of states as digits: for each step the action, 0 for staying."""
    number = {step: str(a) for a, step in enumerate(STEPS)}
    places = [divmod(state, columns) for state in path]
    return "".join(number[r - row, c - column] for (row, column), (r, c) in pairwise(places))


def path_of(digits: str, start: int, columns: int) -> list[int]:
    """Return the path of states that `digits_of` encoded."""
    leap = [down * columns + right for down, right in STEPS]
    path = [start]
    for digit in digits:
        path.append(path[-1] + leap[int(digit)])
    return path


def name_of(row: dict[str, Any]) -> str:
    """Return the name of a row's setting, such as "safe at .98"."""
    ours = row.get("algorithm") == "rate"
    level = ""
    if row["delta"] is not None:  # at least two decimals, as in the paper
        delta = float(row["delta"])
        level = max(f"{delta:.2f}", f"{delta:.15g}", key=len).removeprefix("0")
    if row.get("choice") is not None:
        return f"{row['choice']} at {level}"
    if row["explorer"] == "unsafe":
        return "ours, unsafe" if ours else "unsafe"
    if ours:
        return f"ours at {level}"
    also = ", moves" if row.get("correction") == "moves" else ""
    return f"{row['explorer']} at {level}{also}"


def summarise(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the summary of each setting, in the order in which the settings first appear.

    Values are medians over the runs, except for ``least`` and ``most``, ``without_news`` and the
    counts ``stranded``, ``runs`` and ``ends``. ``marks`` are the nats after `MARKS` steps.
    ``shares`` are the nats after `MARKS` steps and at the end, divided by those of a clairvoyant
    rover. ``visited`` is the fraction of safe cells that were visited. ``without_news`` is the
    largest number of consecutive steps without news. ``paper`` are the nats in the paper, or None.
    """
    return [_setting(group) for group in grouped(rows, KEY).values()]


def _setting(group: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first = group[0]
    own = first["algorithm"] == "paper" and first["correction"] != "moves"
    nats = [row["entropy"] for row in group]
    lost = [row["stranded_at"] for row in group if row["stranded_at"] is not None]
    columns = [f"nats_{mark}" for mark in MARKS]
    curves = [[float(point) for point in row["curve"].split()] for row in group]
    return {
        "setting": name_of(first),
        "paper": PAPER_NATS.get((first["explorer"], first["delta"])) if own else None,
        "median": float(np.median(nats)),
        "least": min(nats),
        "most": max(nats),
        "marks": [_median(group, name) for name in columns],
        "shares": [_median(group, name, "clairvoyant") for name in (*columns, "entropy")],
        "visited": _median(group, "safe_visited", "safe_cells"),
        "still": _median(group, "still"),
        "stranded": sum(bool(row["stranded"]) for row in group),
        "runs": len(group),
        "stranded_at": float(np.median(lost)) if lost else None,
        "without_news": max(row["without_news"] for row in group),
        "curve": np.median(curves, axis=0).tolist(),
        "ends": dict(Counter(End(row["end"]) for row in group)),
    }


def _median(group: Sequence[dict[str, Any]], name: str, of: str | None = None) -> float | None:
    """Return the median of column `name`, or of name / of; None if a value is missing."""
    if any(row[name] is None for row in group):
        return None
    return float(np.median([row[name] / (1.0 if of is None else row[of]) for row in group]))


def panel_of(row: dict[str, Any]) -> TerrainPanel:
    """Return the panel of a run; the run is repeated from the path in its row."""
    from homeward.kinds.rover.figure import TerrainPanel  # tasks do not draw

    config = config_of(row, int(row["seed"]))
    setup = make(config)
    rover = cast("Rover", setup.world)
    path = path_of(row["moves"], rover.start, rover.shape[1])
    belief = cast("TerrainBelief", setup.belief.update(rover.look()))
    for state in path[1:]:
        rover.state = state
        rover.steps += 1
        belief = belief.update(rover.look())
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
    """Return a one-line summary of a run, from its row."""
    lost = f"no way back since step {row['stranded_at']:,}" if row["stranded"] else "can go back"
    steps = f"{row['steps']:,} steps, {row['visited']:,} cells visited"
    return f"{steps}, {row['entropy']:,.0f} nats learned; {lost}"
