"""The paper's coverage figure: the fraction of random grid worlds that explorers uncover.

Worlds of 10², 20², 30² and 40² squares with walls on a fifth to three fifths of them. All explorers
of a cell see the same worlds. The reproduction uses the paper's settings: the general correction,
δ = 1, γ = .99. The paper does not state the start; here it is the middle, where the map's edge does
not limit what can be seen. Staying is allowed: on a peak from which every move is an irreversible
drop, an explorer that must move can't be safe at any level. ``safe`` is Algorithm 1, with a level
for each plan. Beyond the paper: our explorer, ``rate``, with a level for the whole run; other
levels of both; Algorithm 1 with our own correction; and for each run

- ``seen``: the fraction of all squares that were uncovered, as in the paper;
- ``reached``: the uncovered fraction of the squares, walls excluded, that a clairvoyant could
  uncover without ever losing the way back;
- ``stranded``: whether the true world has no way back to the start from where the run ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import make
from homeward.paper.figures.coverage import Chart, Series
from homeward.planning.explorer import End
from homeward.runs.config import checked
from homeward.studies.table import grouped
from homeward.studies.work import play

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homeward.kinds.grid.world import HeightGridWorld

WORLDS = {10: 1000, 20: 500, 30: 100, 40: 20}
"""Number of worlds of each size in the paper."""

WALLS = (0.2, 0.4, 0.6)
EXPLORERS = ("safe", "uncover", "rmax", "near-bayesian")
"""The paper's explorers."""

CORRECTION = {"safe": "general", "rate": "moves"}
"""Default correction of the explorers that keep a level."""

LEVELS = (1.0, 0.95, 0.9, 0.8)
VARIANTS = (("safe", "general"), ("safe", "moves"), ("rate", "moves"))
"""Explorers and corrections that run at all `LEVELS`."""

OTHER_SIZE, OTHER_WORLDS = 10, 200
"""Size and number of the worlds for `VARIANTS`."""

KEY = ("size", "walls", "explorer", "delta", "correction")
"""Keys of a cell."""


def config_of(cell: dict[str, Any], seed: int) -> GridConfig:
    """Return the configuration of a run, as `homeward grid` would take it."""
    size = int(cell["size"])
    given = {"size": size, "walls": cell["walls"], "start": (size // 2) * (size + 1), "seed": seed}
    if cell["explorer"] == "rate":
        given |= {"delta": cell["delta"], "correction": cell["correction"]}
    else:
        given |= {"explorer": cell["explorer"], "algorithm": "paper", "home": "current"}
        if cell["delta"] is not None:
            given |= {"delta": cell["delta"], "correction": cell["correction"]}
    return checked(GridConfig, given, "the grid")


def explore(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the row of one explorer in one world; a task of the study."""
    setup = make(config_of(cell, seed))
    explorer, world = play(setup), cast("HeightGridWorld", setup.world)
    safely = world.grid.safely_seen & ~world.grid.walls
    return {
        "seen": float(world.seen.mean()),
        "reached": float(world.seen[safely].mean()),
        "stranded": bool(world.stranded),
        "steps": explorer.steps,
        "end": str(explorer.end),
    }


def cells_of(scale: float) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the cells of the study and the number of worlds of each, `scale` times the paper's."""
    cells: list[dict[str, Any]] = []
    counts = []
    for (size, worlds), walls, explorer in product(WORLDS.items(), WALLS, (*EXPLORERS, "rate")):
        correction = CORRECTION.get(explorer)
        values = (size, walls, explorer, None if correction is None else 1.0, correction)
        cells.append(dict(zip(KEY, values, strict=True)))
        counts.append(scaled(worlds, scale))
    for walls, delta, (explorer, correction) in product(WALLS, LEVELS, VARIANTS):
        values = (OTHER_SIZE, walls, explorer, delta, correction)
        cell = dict(zip(KEY, values, strict=True))
        if cell not in cells:
            cells.append(cell)
            counts.append(scaled(OTHER_WORLDS, scale))
    return cells, counts


def scaled(worlds: int, scale: float) -> int:
    """Return `scale` times a number of worlds, rounded, at least one."""
    return max(1, round(worlds * scale))


@dataclass(frozen=True, slots=True)
class Cell:
    """Summary of the runs of one cell."""

    size: int
    walls: float
    explorer: str
    delta: float | None
    correction: str | None
    runs: int
    q1: float  # quartiles of the uncovered fraction of all squares
    median: float
    q3: float
    reached: float  # median of the uncovered fraction of what could be uncovered safely
    stranded: int
    steps: float  # median and mean of the steps
    mean_steps: float
    cut_short: int  # runs that met the step limit


def summarise(rows: Iterable[dict[str, Any]]) -> list[Cell]:
    """Return the summary of each cell, in the order in which the cells first appear."""
    found = []
    for group in grouped(rows, KEY).values():
        q1, median, q3 = np.quantile([row["seen"] for row in group], (0.25, 0.5, 0.75)).tolist()
        steps = [row["steps"] for row in group]
        found.append(
            Cell(
                **{name: group[0][name] for name in KEY},
                runs=len(group),
                q1=q1,
                median=median,
                q3=q3,
                reached=float(np.median([row["reached"] for row in group])),
                stranded=sum(bool(row["stranded"]) for row in group),
                steps=float(np.median(steps)),
                mean_steps=float(np.mean(steps)),
                cut_short=sum(End(row["end"]) is End.STEPS for row in group),
            )
        )
    return found


def papers(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of the paper's own figure."""
    own = ("safe", 1.0, "general")
    return [c for c in cells if c.delta is None or (c.explorer, c.delta, c.correction) == own]


def beyond(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of `OTHER_SIZE` of the explorers that keep a level."""
    return [c for c in cells if c.explorer in CORRECTION and c.size == OTHER_SIZE]


def claims(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Compare the medians of safe, adapted R-max and R-max in each of the paper's cells."""
    found = []
    median = {(c.size, c.walls, c.explorer): c.median for c in papers(cells)}
    for size, walls in dict.fromkeys(place[:2] for place in median):
        safe, uncover, rmax, near = (median[size, walls, name] for name in EXPLORERS)
        found.append(
            {
                "size": size,
                "walls": walls,
                "safe": safe,
                "uncover": uncover,
                "rmax": rmax,
                "safe >= uncover": safe >= uncover,
                "uncover >= rmax": uncover >= rmax,
                "rmax = near-bayesian": rmax == near,
            }
        )
    return found


def steps_by_walls(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare Algorithm 1 and ours at δ = 1 in the worlds of every size, by walls.

    Steps, and the fraction reached of what is safe, are means over the worlds of one size or all.
    """
    rows = [row for row in rows if row["delta"] == 1.0]
    sizes = (*dict.fromkeys(row["size"] for row in rows), None)
    found: list[dict[str, Any]] = []
    for walls, size in product(dict.fromkeys(row["walls"] for row in rows), sizes):
        here = [r for r in rows if r["walls"] == walls and size in (None, r["size"])]
        one, ours = (
            [r for r in here if (r["explorer"], r["correction"]) == pair]
            for pair in CORRECTION.items()
        )
        steps = [float(np.mean([r["steps"] for r in group])) for group in (one, ours)]
        reached = [float(np.mean([r["reached"] for r in group])) for group in (one, ours)]
        found.append(
            {
                "walls": walls,
                "size": "all" if size is None else size,
                "worlds": len(one),
                "steps, Algorithm 1": steps[0],
                "steps, ours": steps[1],
                "fewer": 1.0 - steps[1] / steps[0] if steps[0] else 0.0,
                "reached, Algorithm 1": reached[0],
                "reached, ours": reached[1],
                "stranded, Algorithm 1": sum(r["stranded"] for r in one),
                "stranded, ours": sum(r["stranded"] for r in ours),
            }
        )
    return found


def charts(cells: Sequence[Cell]) -> list[Chart]:
    """Return the figure's panels."""
    mine, others = papers(cells), beyond(cells)
    places = dict.fromkeys((c.size, c.walls) for c in mine)
    labels = [f"{size}² | {walls:g}".replace("0.", ".") for size, walls in places]
    shown = {"safe": "Algorithm 1, safe", "uncover": "adapted R-max", "rmax": "R-max"}
    explorers = {title: [c for c in mine if c.explorer == n] for n, title in shown.items()}
    explorers["ours"] = [c for c in cells if c.explorer == "rate" and c.delta == 1.0]
    levels = {}
    for (name, correction), delta in product(VARIANTS, LEVELS):
        title = "ours" if name == "rate" else f"Algorithm 1, {correction}"
        key = (name, correction, delta)
        levels[f"{title}, δ = {delta:g}"] = [
            c for c in others if (c.explorer, c.correction, c.delta) == key
        ]
    safely = {title: [c.reached for c in found] for title, found in explorers.items()}
    return [
        Chart(
            "Uncovered of all squares (median and quartiles; above: stranded of runs)",
            "fraction of grid world",
            labels,
            [_series(title, found) for title, found in explorers.items()],
        ),
        Chart(
            "Uncovered of what a clairvoyant could have uncovered and kept the way back (median)",
            "fraction of what is safe",
            labels,
            [Series(title, values, values, values) for title, values in safely.items()],
        ),
        Chart(
            f"Algorithm 1 with both corrections and ours on {OTHER_SIZE}², at several levels",
            "fraction of grid world",
            [f"walls {walls:g}" for walls in dict.fromkeys(c.walls for c in others)],
            [_series(title, found) for title, found in levels.items()],
        ),
    ]


def _series(title: str, cells: Sequence[Cell]) -> Series:
    """Return the bars of some cells, with the number of stranded runs above."""
    low, middle, high = ([getattr(c, name) for c in cells] for name in ("q1", "median", "q3"))
    return Series(title, low, middle, high, [f"{c.stranded}/{c.runs}" for c in cells])
