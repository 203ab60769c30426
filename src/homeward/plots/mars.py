"""Curves of what rovers learn over their steps, one line a setting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from homeward.studies.mars import Setting

GREY = "#444444"
OURS = ("#123f75", "#2f6db3", "#7fb0e0", "#9aa3ab")
PAPERS = ("#8f3b12", "#d9682b", "#f0b07f", "#5c6268", "#b0a060", "#a34e8b")
OTHERS = ("#58a06a", "#8c6d5a")


def draw_curves(found: Sequence[Setting], steps: int, clairvoyant: Mapping[int, float]) -> Figure:
    """Draw median nats over steps; Algorithm 1 on the left, ours and baselines on the right.

    `clairvoyant` has what a clairvoyant would have, by seed; its median is a line.
    """
    figure = Figure(figsize=(11.0, 4.6), dpi=140, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    papers = [s for s in found if s.setting.startswith(("safe", "unsafe", "naive"))]
    others = [s for s in found if s not in papers]
    _draw(left, papers, steps, PAPERS, "Algorithm 1: levels of each plan")
    _draw(right, others, steps, (*OURS, *OTHERS), "Ours and two baselines: levels of the whole run")
    for axis in (left, right):
        level = float(np.median(list(clairvoyant.values())))
        axis.axhline(level, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
        axis.text(0.0, level, " clairvoyant", va="bottom", fontsize=7.5, color=GREY)
    left.set_ylabel("nats learned (median over grounds)")
    return figure


def _draw(
    axis: Axes, found: Sequence[Setting], steps: int, colours: Sequence[str], title: str
) -> None:
    """Draw one panel."""
    for setting, colour in zip(found, colours, strict=False):
        lost = f", {setting.stranded} of {setting.runs} stranded" if setting.stranded else ""
        style: dict[str, Any] = {"linestyle": "--"} if "at" not in setting.setting else {}
        at = np.linspace(0.0, steps, len(setting.curve))
        label = f"{setting.setting}{lost}"
        axis.plot(at, setting.curve, color=colour, linewidth=1.6, label=label, **style)
    axis.set_title(title, loc="left", fontsize=11)
    axis.set_xlabel("steps")
    axis.set_xlim(0.0, steps)
    axis.set_ylim(bottom=0.0)
    axis.grid(color="#e2e4e6", linewidth=0.8)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.legend(frameon=False, fontsize=8, loc="center right")
