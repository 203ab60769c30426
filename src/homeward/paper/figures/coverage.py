"""The coverage figure: the fraction of random grid worlds that explorers uncover."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from homeward.paper.coverage import CORRECTION, LEVELS, OTHER_SIZE, VARIANTS, papers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import TypeAlias

    from matplotlib.axes import Axes

    Cell: TypeAlias = Mapping[str, Any]

INK = "#222222"
SMALL: dict[str, Any] = {"fontsize": 6.5, "color": "#444444"}
COLOURS = (
    *("#2f6db3", "#e08a2e", "#7a7f85", "#58a06a", "#b7bcc2", "#a34e8b", "#c9b34b", "#8c6d5a"),
    *("#123f75", "#7fb0e0", "#9c3d12", "#37713f"),
)


def draw_coverage(cells: Sequence[Cell]) -> Figure:
    """Return a figure of summaries: of all squares, of what is safe, and at several levels."""
    mine = papers(cells)
    explorers = {
        title: [c for c in mine if c["explorer"] == name]
        for name, title in (
            ("safe", "Algorithm 1, safe"),
            ("uncover", "adapted R-max"),
            ("rmax", "R-max"),
        )
    }
    explorers["ours"] = [c for c in cells if c["explorer"] == "rate" and c["delta"] == 1.0]
    others = [c for c in cells if c["explorer"] in CORRECTION and c["size"] == OTHER_SIZE]
    levels = {}
    for (name, correction), delta in product(VARIANTS, LEVELS):
        title = "ours" if name == "rate" else f"Algorithm 1, {correction}"
        levels[f"{title}, δ = {delta:g}"] = [
            c
            for c in others
            if (c["explorer"], c["correction"], c["delta"]) == (name, correction, delta)
        ]
    places = dict.fromkeys(f"{c['size']}² | {c['walls']:g}".replace("0.", ".") for c in mine)
    walls = dict.fromkeys(f"walls {c['walls']:g}" for c in others)
    figure = Figure(figsize=(11.0, 12.4), dpi=140, layout="constrained")
    every, safely, by_level = figure.subplots(3, 1)
    _draw(
        every,
        "Uncovered of all squares (median and quartiles; above: stranded of runs)",
        "fraction of grid world",
        places,
        explorers,
    )
    _draw(
        safely,
        "Uncovered of what a clairvoyant could have uncovered and kept the way back (median)",
        "fraction of what is safe",
        places,
        explorers,
        ("reached", "reached", "reached"),
    )
    _draw(
        by_level,
        f"Algorithm 1 with both corrections and ours on {OTHER_SIZE}², at several levels",
        "fraction of grid world",
        walls,
        levels,
    )
    figure.supxlabel("grid world size | fraction of walls", fontsize=9, color="#444444")
    return figure


def _draw(
    axis: Axes,
    title: str,
    label: str,
    places: Collection[str],
    series: Mapping[str, Sequence[Cell]],
    columns: tuple[str, str, str] = ("q1", "median", "q3"),
) -> None:
    """Draw the bars of each series over the places: lower end, middle and upper end."""
    width, notes = 0.8 / len(series), columns[0] != columns[1]
    at_places = np.arange(len(places))
    for i, (name, cells) in enumerate(series.items()):
        at = at_places + (i - (len(series) - 1) / 2) * width
        low, middle, high = np.array([[c[column] for c in cells] for column in columns])
        spread = np.abs(np.array([low, high]) - middle)
        axis.bar(at, middle, 0.92 * width, color=COLOURS[i], label=name)
        if spread.any():
            axis.errorbar(at, middle, spread, fmt="none", ecolor=INK, elinewidth=0.9, capsize=2.5)
        for x, top, cell in zip(at, high, cells if notes else (), strict=False):
            note = f"{cell['stranded']}/{cell['runs']}"
            axis.text(x, top + 0.02, note, ha="center", va="bottom", rotation=90, **SMALL)
    axis.set_title(title, loc="left", fontsize=11)
    axis.set_ylabel(label)
    axis.set_ylim(0.0, 1.25 if notes else 1.03)
    axis.set_yticks(np.linspace(0.0, 1.0, 6))
    axis.set_xlim(-0.6, len(places) - 0.4)
    axis.set_xticks(at_places, list(places), fontsize=8.5)
    axis.tick_params(axis="x", length=0)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.yaxis.grid(color="#e2e4e6", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.legend(
        frameon=False,
        ncols=min(4, len(series)),
        fontsize=8.5,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.12),
    )
