"""Tile maps with the path an explorer took on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from homeward.worlds.toytext import TileMap

INK = "#22303c"
FILL = {
    "S": "#dbe9f4",
    "F": "#eef3f7",
    ".": "#eef3f7",
    "H": "#22303c",
    "C": "#22303c",
    "G": "#f3e2b3",
}
SAFE, LOST = "#0072b2", "#d55e00"  # told apart by any eye


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One map with one path, and what to say of it."""

    tiles: TileMap
    path: tuple[int, ...]
    title: str
    note: str
    died: bool


def draw_paths(panels: Sequence[Panel], columns: int, title: str) -> Figure:
    """Draw panels on a grid of that many columns."""
    rows = -(-len(panels) // columns)
    heights = [
        max(p.tiles.shape[0] / p.tiles.shape[1] for p in panels[r * columns : (r + 1) * columns])
        for r in range(rows)
    ]
    figure = Figure(figsize=(5.2 * columns, 5.2 * sum(heights) + 0.9 * rows + 0.6), dpi=120)
    grid = figure.subplots(rows, columns, squeeze=False, height_ratios=heights)
    for axes, panel in zip(grid.flat, panels, strict=False):
        _draw(axes, panel)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    figure.suptitle(title, color=INK, fontsize=14, fontweight="bold")
    key = "Dot: where it began. Square: where it stopped, alive. Cross: where it was lost."
    figure.text(0.5, 0.008, key, ha="center", color=INK, fontsize=9.5)
    figure.tight_layout(rect=(0, 0.015, 1, 0.98))
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    rows, columns = panel.tiles.shape
    seen = set(panel.path)
    for s in range(rows * columns):
        letter = panel.tiles.tile(s)
        row, column = divmod(s, columns)
        axes.add_patch(
            FancyBboxPatch(
                (column - 0.44, row - 0.44),
                0.88,
                0.88,
                boxstyle="round,pad=0,rounding_size=0.12",
                facecolor=FILL[letter],
                edgecolor="#8fb8d4" if s in seen else "#c9d3db",
                linewidth=2.0 if s in seen else 0.8,
            )
        )
        label = {"S": "start", "G": "goal", "H": "hole"}.get(letter)
        if label:
            colour = "#b9c6d0" if letter == "H" else INK
            axes.text(column, row + 0.32, label, ha="center", va="center", fontsize=8, color=colour)
    colour = LOST if panel.died else SAFE
    places = np.array([(s % columns, s // columns) for s in panel.path], dtype=np.float64)
    spread = 0.16 * np.sin(np.arange(len(places))[:, None] * np.array([2.4, 1.7]))
    spread[[0, -1]] = 0.0  # a revisited tile shows each pass beside the others
    places += spread
    axes.plot(*places.T, color=colour, linewidth=1.8, alpha=0.85, solid_joinstyle="round")
    axes.plot(*places[0], "o", color=colour, markersize=8)
    axes.plot(
        *places[-1],
        "X" if panel.died else "s",
        color=colour,
        markersize=15 if panel.died else 9,
        markeredgecolor="white",
        markeredgewidth=1.2,
    )
    axes.set(xlim=(-0.6, columns - 0.4), ylim=(rows - 0.4, -0.6), aspect="equal")
    axes.set_axis_off()
    axes.set_title(f"{panel.title}\n", color=INK, fontsize=12, fontweight="bold")
    axes.text(
        0.5, 1.02, panel.note, transform=axes.transAxes, ha="center", fontsize=9.5, color=colour
    )
