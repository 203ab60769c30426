"""Curves of nats learned over steps, one line per setting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

GREY = "#444444"
OURS = ("#123f75", "#2f6db3", "#7fb0e0", "#9aa3ab")
PAPERS = ("#8f3b12", "#d9682b", "#f0b07f", "#5c6268", "#b0a060", "#a34e8b")
OTHERS = ("#58a06a", "#8c6d5a")


def draw_curves(found: Sequence[Any], steps: int, clairvoyant: Mapping[int, float]) -> Figure:
    """Return a figure of median nats over steps: Algorithm 1, and ours with the baselines.

    `clairvoyant` has the nats of a clairvoyant by seed; its median is a line.
    """
    papers = [s for s in found if s["setting"].startswith(("safe", "unsafe", "naive"))]
    others = [s for s in found if s not in papers]
    panels = [
        (papers, PAPERS, "Algorithm 1: levels of each plan"),
        (others, (*OURS, *OTHERS), "Ours and two baselines: levels of the whole run"),
    ]
    panels = [panel for panel in panels if panel[0]]
    figure = Figure(figsize=(5.5 * len(panels), 4.6), dpi=140, layout="constrained")
    level = float(np.median(list(clairvoyant.values())))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, (settings, colours, title) in zip(axes, panels, strict=True):
        axis.axhline(level, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
        axis.text(0.0, level, " clairvoyant", va="bottom", fontsize=7.5, color=GREY)
        _draw(axis, settings, steps, colours, title)
    axes[0].set_ylabel("nats learned (median over grounds)")
    axes[0].set_ylim(0.0, 1.12 * max(level, *(s["median"] for s in found)))
    return figure


def _draw(axis: Axes, found: Sequence[Any], steps: int, colours: Sequence[str], title: str) -> None:
    """Draw one panel."""
    for setting, colour in zip(found, colours, strict=False):
        name, lost, curve = (setting[key] for key in ("setting", "stranded", "curve"))
        label = f"{name}, {lost} of {setting['runs']} stranded" if lost else name
        style = "-" if "at" in name else "--"
        at = np.linspace(0.0, steps, len(curve))
        axis.plot(at, curve, style, color=colour, linewidth=1.6, label=label)
    axis.set_title(title, loc="left", fontsize=11)
    axis.set_xlabel("steps")
    axis.set_xlim(0.0, steps)
    axis.grid(color="#e2e4e6", linewidth=0.8)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 0.06))
