"""The paper's coverage figure: the fraction of random grid worlds that explorers uncover.

For the comparison with the paper δ = 1, and the paper's explorers have its settings: γ = .99 and,
for ``safe``, the general correction. Other cells compare corrections and levels. The paper does not
state the start; here it is the middle of the map, far from the edges. The action stay is allowed:
on a peak from which every move is an irreversible drop, an explorer that must move can't be safe.
``safe`` is Algorithm 1, with a level for each plan; ``rate`` is our explorer, with a level for the
whole run. ``reached`` is the fraction that the explorer has seen of the squares (without walls)
that a clairvoyant explorer could see without ever losing its way back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, cast

import numpy as np

from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import make
from homeward.kinds.grid.world import HeightGridWorld
from homeward.planning.ends import End
from homeward.runs.config import checked
from homeward.studies.table import grouped
from homeward.studies.work import play

WORLDS = {10: 1000, 20: 500, 30: 100, 40: 20}  # number of worlds of each size in the paper
WALLS = (0.2, 0.4, 0.6)
EXPLORERS = ("safe", "uncover", "rmax", "near-bayesian")  # the paper's explorers
CORRECTION = {"safe": "general", "rate": "moves"}  # correction of each explorer with a level
LEVELS = (1.0, 0.95, 0.9, 0.8)
VARIANTS = (("safe", "general"), ("safe", "moves"), ("rate", "moves"))
"""Explorers and corrections that run at all `LEVELS`."""

OTHER_SIZE, OTHER_WORLDS = 10, 200  # size and number of the worlds for `VARIANTS`
KEY = ("size", "walls", "explorer", "delta", "correction")  # keys of a cell of the study


def config_of(cell: dict[str, Any], seed: int) -> GridConfig:
    """Return the configuration of a run with a cell's settings, as for `homeward run grid`."""
    size = int(cell["size"])
    given = {"size": size, "walls": cell["walls"], "start": (size // 2) * (size + 1), "seed": seed}
    if cell["explorer"] != "rate":
        given |= {"explorer": cell["explorer"], "algorithm": "paper", "home": "current"}
    if cell["delta"] is not None:
        given |= {"delta": cell["delta"], "correction": cell["correction"]}
    return checked(GridConfig, given, "the grid")


def explore(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Run one explorer in one world and return its row of results; this is a task of the study."""
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
    """Return the study's cells, and the number of worlds of each: `scale` times the paper's."""
    pairs = []
    for (size, worlds), walls, explorer in product(WORLDS.items(), WALLS, (*EXPLORERS, "rate")):
        correction = CORRECTION.get(explorer)
        delta = None if correction is None else 1.0
        pairs.append(((size, walls, explorer, delta, correction), worlds))
    for walls, delta, (explorer, correction) in product(WALLS, LEVELS, VARIANTS):
        pairs.append(((OTHER_SIZE, walls, explorer, delta, correction), OTHER_WORLDS))
    counts = dict(reversed(pairs))  # if a cell appears twice, its first number counts
    cells = dict.fromkeys(values for values, _ in pairs)
    named = [dict(zip(KEY, values, strict=True)) for values in cells]
    return named, [max(1, round(counts[values] * scale)) for values in cells]


def summarise(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row that summarises the runs of each cell, in the order in which cells appear.

    A cell is a combination of the settings `KEY`. Of the runs of a cell, ``q1``, ``median`` and
    ``q3`` are the quartiles of ``seen``; ``reached`` and ``steps`` are medians; ``stranded`` and
    ``cut_short`` are numbers of runs.
    """
    found = []
    for key, group in grouped(rows, KEY).items():
        column = {name: [row[name] for row in group] for name in group[0]}
        q1, median, q3 = np.quantile(column["seen"], (0.25, 0.5, 0.75)).tolist()
        found.append(
            {
                **dict(zip(KEY, key, strict=True)),
                "runs": len(group),
                "q1": q1,
                "median": median,
                "q3": q3,
                "reached": float(np.median(column["reached"])),
                "stranded": sum(map(bool, column["stranded"])),
                "steps": float(np.median(column["steps"])),
                "mean_steps": float(np.mean(column["steps"])),
                "cut_short": sum(End(end) is End.STEPS for end in column["end"]),
            }
        )
    return found


def papers(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return those summaries of `cells` (from `summarise`) that the paper's figure shows."""
    own = ("safe", 1.0, "general")
    keys = ("explorer", "delta", "correction")
    return [c for c in cells if c["delta"] is None or tuple(c[key] for key in keys) == own]


def claims(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each size and fraction of walls: medians, and whether the claims hold.

    The medians are the fractions seen by each explorer. The claims are the paper's rankings.
    """
    found = []
    for (size, walls), group in grouped(papers(cells), ("size", "walls")).items():
        median = {c["explorer"]: c["median"] for c in group}
        near = median.pop("near-bayesian")
        found.append(
            {
                "size": size,
                "walls": walls,
                **median,
                "safe >= uncover": median["safe"] >= median["uncover"],
                "uncover >= rmax": median["uncover"] >= median["rmax"],
                "rmax = near-bayesian": median["rmax"] == near,
            }
        )
    return found


def steps_by_walls(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows that compare Algorithm 1 with our explorer at δ = 1, by walls and size.

    ``steps`` and ``reached`` are means over the worlds of one size, or of all sizes.
    """
    rows = [row for row in rows if row["delta"] == 1.0]
    sizes = (*dict.fromkeys(row["size"] for row in rows), None)
    found: list[dict[str, Any]] = []
    for walls, size in product(dict.fromkeys(row["walls"] for row in rows), sizes):
        here = [r for r in rows if r["walls"] == walls and size in (None, r["size"])]
        groups = [
            [r for r in here if (r["explorer"], r["correction"]) == pair]
            for pair in CORRECTION.items()
        ]
        steps, reached = (
            [float(np.mean([r[name] for r in group])) for group in groups]
            for name in ("steps", "reached")
        )
        lost = [sum(r["stranded"] for r in group) for group in groups]
        row = {"walls": walls, "size": "all" if size is None else size, "worlds": len(groups[0])}
        row |= {"steps, Algorithm 1": steps[0], "steps, ours": steps[1]}
        row["fewer"] = 1.0 - steps[1] / steps[0] if steps[0] else 0.0
        row |= {"reached, Algorithm 1": reached[0], "reached, ours": reached[1]}
        found.append(row | {"stranded, Algorithm 1": lost[0], "stranded, ours": lost[1]})
    return found
