"""The paper's coverage figure: how much of random grid worlds different explorers uncover.

Worlds of 10², 20², 30² and 40² squares with walls on a fifth to three fifths of them. All explorers
of a cell see the same worlds. The reproduction is the paper's: the general correction, δ = 1,
γ = .99. It does not say where an explorer starts: here in the middle, where the map's edge does not
decide how much can be seen. All may stay where they are: on a peak from which every move is a drop
for good, who has to move can't be safe at any level. ``safe`` is Algorithm 1, whose level is that
of each plan. Beyond the paper: our explorer, ``rate``, whose level is that of the whole run; other
levels of both and Algorithm 1 with our own correction; and for each run

- ``seen``: the fraction of all squares that were uncovered, which is what the paper shows;
- ``reached``: of the squares, walls apart, that a clairvoyant could uncover without ever losing the
  way back, the fraction that was uncovered;
- ``stranded``: whether the true world has no way back to the start from where the run ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.beliefs.corrections import Correction
from homeward.bonuses import Uncover
from homeward.kinds.grid.kind import LONGEST, bonus_of
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import HeightGridWorld
from homeward.paper.figures.coverage import Chart, Series
from homeward.planning.explorer import End, Explorer
from homeward.planning.paper import PaperExplorer
from homeward.planning.planner import Planner
from homeward.safety import ReturnHome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homeward.planning.explorer import Loop

DISCOUNT = 0.99
WORLDS = {10: 1000, 20: 500, 30: 100, 40: 20}
"""How many worlds the paper tried of each size."""

WALLS = (0.2, 0.4, 0.6)
EXPLORERS = ("safe", "uncover", "rmax", "near-bayesian")
"""The paper's."""

CORRECTION = {"safe": "general", "rate": "moves"}
"""What those plan with that keep a level."""

LEVELS = (1.0, 0.95, 0.9, 0.8)
VARIANTS = (("safe", "general"), ("safe", "moves"), ("rate", "moves"))
"""Explorers and corrections that are tried at other levels."""

OTHER_SIZE, OTHER_WORLDS = 10, 200
"""The size and number of worlds on which other levels and our own correction are tried."""

QUARTILES = (0.25, 0.5, 0.75)
KEY = ("size", "walls", "explorer", "delta", "correction")
"""What tells one cell from another."""


def explore(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Let one explorer loose in one world; a task of the study."""
    size, walls = int(cell["size"]), float(cell["walls"])
    middle = (size // 2) * size + size // 2
    world = HeightGridWorld(HeightMap.random((size, size), seed, walls=walls, start=middle))
    name, belief = cell["explorer"], world.grid.belief("known")
    level = cell["delta"]
    explorer: Loop
    if name == "rate":
        planner = Planner(Uncover(), [ReturnHome(level)], DISCOUNT, Correction(cell["correction"]))
        explorer = Explorer(planner, belief, world)
    else:
        criteria = [] if level is None else [ReturnHome(level, "current")]
        correction = Correction(cell["correction"]) if criteria else None
        planner = Planner(bonus_of(name), criteria, DISCOUNT, correction)
        explorer = PaperExplorer(planner, belief, world)
    for _ in explorer.explore(LONGEST * size * size):
        pass
    safely = world.grid.safely_seen & ~world.grid.walls
    return {
        "seen": float(world.seen.mean()),
        "reached": float(world.seen[safely].mean()),
        "stranded": bool(world.stranded),
        "steps": explorer.steps,
        "end": str(explorer.end),
    }


def cells_of(scale: float) -> tuple[list[dict[str, Any]], list[int]]:
    """List the cells of the study and how many worlds each takes, `scale` times the paper's."""
    cells, counts = [], []
    for size, worlds in WORLDS.items():
        for walls in WALLS:
            for explorer in (*EXPLORERS, "rate"):
                correction = CORRECTION.get(explorer)
                level = None if correction is None else 1.0
                cells.append(_cell(size, walls, explorer, level, correction))
                counts.append(scaled(worlds, scale))
    for walls in WALLS:
        for delta in LEVELS:
            for explorer, correction in VARIANTS:
                cell = _cell(OTHER_SIZE, walls, explorer, delta, correction)
                if cell not in cells:
                    cells.append(cell)
                    counts.append(scaled(OTHER_WORLDS, scale))
    return cells, counts


def scaled(worlds: int, scale: float) -> int:
    """Give so many times a number of worlds, but at least one."""
    return max(1, round(worlds * scale))


def _cell(
    size: int, walls: float, explorer: str, delta: float | None, correction: str | None
) -> dict[str, Any]:
    return {
        "size": size,
        "walls": walls,
        "explorer": explorer,
        "delta": delta,
        "correction": correction,
    }


@dataclass(frozen=True, slots=True)
class Cell:
    """What the runs of one cell came to."""

    size: int
    walls: float
    explorer: str
    delta: float | None
    correction: str | None
    runs: int
    q1: float  # of the fraction of all squares that was uncovered
    median: float
    q3: float
    reached: float  # median of the fraction of what could be uncovered safely
    stranded: int
    steps: float  # median
    mean_steps: float
    cut_short: int  # runs that met the step limit


def summarise(rows: Iterable[dict[str, Any]]) -> list[Cell]:
    """Put the runs of each cell together, in the order in which the cells first appear."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in KEY), []).append(row)
    found = []
    for group in groups.values():
        q1, median, q3 = np.quantile([row["seen"] for row in group], QUARTILES).tolist()
        found.append(
            Cell(
                **{name: group[0][name] for name in KEY},
                runs=len(group),
                q1=q1,
                median=median,
                q3=q3,
                reached=float(np.median([row["reached"] for row in group])),
                stranded=sum(bool(row["stranded"]) for row in group),
                steps=float(np.median([row["steps"] for row in group])),
                mean_steps=float(np.mean([row["steps"] for row in group])),
                cut_short=sum(End(row["end"]) is End.STEPS for row in group),
            )
        )
    return found


def papers(cells: Sequence[Cell]) -> list[Cell]:
    """Pick the cells of the paper's own figure."""
    return [
        c
        for c in cells
        if c.delta is None or (c.explorer, c.delta, c.correction) == ("safe", 1.0, "general")
    ]


def ours(cells: Sequence[Cell]) -> list[Cell]:
    """Pick our explorer's cells at δ = 1."""
    return [c for c in cells if c.explorer == "rate" and c.delta == 1.0]


def beyond(cells: Sequence[Cell]) -> list[Cell]:
    """Pick the cells at every level, of both explorers and corrections, of one size."""
    return [c for c in cells if c.explorer in CORRECTION and c.size == OTHER_SIZE]


def claims(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Compare the medians of safe, adapted R-max and R-max in each of the paper's cells."""
    found = []
    median = {(c.size, c.walls, c.explorer): c for c in papers(cells)}
    for size, walls in dict.fromkeys((c.size, c.walls) for c in papers(cells)):
        safe, uncover, rmax, near = (median[size, walls, name].median for name in EXPLORERS)
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
    safe, rate = (
        [r for r in rows if (r["explorer"], r["correction"]) == pair] for pair in CORRECTION.items()
    )
    found: list[dict[str, Any]] = []
    for walls in dict.fromkeys(row["walls"] for row in rows):
        for size in (*dict.fromkeys(row["size"] for row in rows), None):
            here = [
                [r for r in group if r["walls"] == walls and size in (None, r["size"])]
                for group in (safe, rate)
            ]
            steps = [float(np.mean([r["steps"] for r in group])) for group in here]
            reached = [float(np.mean([r["reached"] for r in group])) for group in here]
            found.append(
                {
                    "walls": walls,
                    "size": "all" if size is None else size,
                    "worlds": len(here[0]),
                    "steps, Algorithm 1": steps[0],
                    "steps, ours": steps[1],
                    "fewer": 1.0 - steps[1] / steps[0] if steps[0] else 0.0,
                    "reached, Algorithm 1": reached[0],
                    "reached, ours": reached[1],
                    "stranded, Algorithm 1": sum(r["stranded"] for r in here[0]),
                    "stranded, ours": sum(r["stranded"] for r in here[1]),
                }
            )
    return found


def charts(cells: Sequence[Cell]) -> list[Chart]:
    """Lay the study out as the figure's panels."""
    mine = papers(cells)
    places = list(dict.fromkeys((c.size, c.walls) for c in mine))
    labels = [f"{size}² | {walls:g}".replace("0.", ".") for size, walls in places]
    shown = {"safe": "Algorithm 1, safe", "uncover": "adapted R-max", "rmax": "R-max"}
    explorers = {
        title: [
            c for place in places for c in mine if (c.size, c.walls, c.explorer) == (*place, name)
        ]
        for name, title in shown.items()
    }
    explorers["ours"] = ours(cells)
    levels: dict[str, list[Cell]] = {}
    others = beyond(cells)
    for name, correction in VARIANTS:
        said = "ours" if name == "rate" else f"Algorithm 1, {correction}"
        for delta in LEVELS:
            levels[f"{said}, δ = {delta:g}"] = [
                c
                for c in others
                if (c.explorer, c.correction, c.delta) == (name, correction, delta)
            ]
    walls = [f"walls {w:g}" for w in dict.fromkeys(c.walls for c in others)]
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
            [_flat(title, [c.reached for c in found]) for title, found in explorers.items()],
        ),
        Chart(
            f"Algorithm 1 with both corrections and ours on {OTHER_SIZE}², at several levels",
            "fraction of grid world",
            walls,
            [_series(title, found) for title, found in levels.items()],
        ),
    ]


def _flat(title: str, values: Sequence[float]) -> Series:
    """Give bars without whiskers."""
    return Series(title, values, values, values)


def _series(title: str, found: Iterable[Cell]) -> Series:
    """Give the bars of some cells, with their strandings above."""
    cells = list(found)
    return Series(
        title,
        [c.q1 for c in cells],
        [c.median for c in cells],
        [c.q3 for c in cells],
        [f"{c.stranded}/{c.runs}" for c in cells],
    )
