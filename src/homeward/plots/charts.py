"""Charts of studies: the shared style, and the comparison of agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

INK, QUIET, LINES = "#222222", "#444444", "#e2e4e6"
COLOURS = (
    *("#2f6db3", "#e08a2e", "#7a7f85", "#58a06a", "#b7bcc2", "#a34e8b", "#c9b34b", "#8c6d5a"),
    *("#123f75", "#7fb0e0", "#9c3d12", "#37713f"),
)


def tidy(axis: Axes, *, below: bool = True) -> None:
    """Remove the top and right edges of the axes, and draw horizontal grid lines.

    If `below`, the grid lines are behind the data.
    """
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.yaxis.grid(color=LINES, linewidth=0.8)
    if below:
        axis.set_axisbelow(True)


def draw_comparison(agents: Sequence[dict[str, Any]], steps: int, title: str) -> Figure:
    """Return a figure that compares agents: gain by steps, and the fraction that can come home.

    `agents` are the summaries that `studies.compare` makes, one per agent. The gain is the median
    with quartiles over the runs; a cross marks where a run was stranded. Agents without a promise
    have dashed lines.
    """
    figure = Figure(figsize=(11.0, 5.6), dpi=140, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.35, 1.0))
    at = np.linspace(0.0, steps, len(agents[0]["home_curve"]))
    handles = []
    for number, each in enumerate(agents):
        colour = COLOURS[number % len(COLOURS)]
        low, middle, high = each["curves"]
        is_proven = each["promise"] != "none"
        dashes = (3.0 * number, (4.0, 3.0))  # shifted, so that equal curves are all visible
        line: dict[str, Any] = {
            "color": colour,
            "linestyle": "-" if is_proven else dashes,
            "linewidth": 2.4 if number == 0 else 1.6,
        }
        left.fill_between(at, low, high, color=colour, alpha=0.16 if is_proven else 0.06, lw=0)
        left.plot(at, middle, **line)
        if each["marks"]:
            left.plot(*zip(*each["marks"], strict=True), "x", color=colour, ms=5.0, alpha=0.8)
        right.plot(at, each["home_curve"], **line)
        lost = f"{each['stranded']} of {each['runs']} stranded"
        handles.append(Line2D([], [], label=f"{each['agent']}: {lost}", **line))
    left.set_title("Gain (median and quartiles; × a run is stranded)", loc="left", fontsize=11)
    left.set_ylabel(agents[0]["unit"])
    left.set_ylim(bottom=0.0)
    right.set_title("Can come home in the true world", loc="left", fontsize=11)
    right.set_ylabel("fraction of runs")
    right.set_ylim(-0.03, 1.03)
    for axis in (left, right):
        axis.set_xlabel("steps")
        axis.set_xlim(0.0, steps)
        tidy(axis)
    figure.suptitle(title, fontsize=12, color=INK)
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=8.5)
    return figure
