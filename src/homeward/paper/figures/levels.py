"""The levels figure: the fraction of held ways home that work, and the information gained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.paper.levels import Level

COLOURS = ("#2f6db3", "#e08a2e", "#58a06a")
GREY = "#444444"


def draw_levels(found: Sequence[Level]) -> Figure:
    """Return a figure over the levels: fractions of held ways that work, and the information."""
    figure = Figure(figsize=(10.0, 4.2), dpi=140, layout="constrained")
    left, right = figure.subplots(1, 2)
    deltas = sorted({level.delta for level in found}, reverse=True)
    places = np.arange(len(deltas))
    noises = list(dict.fromkeys(level.noise for level in found))
    for noise, colour in zip(noises, COLOURS, strict=False):
        mine = {level.delta: level for level in found if level.noise == noise}
        order = [mine[delta] for delta in deltas]
        shift = 0.12 * (noises.index(noise) - (len(noises) - 1) / 2)
        for counts, marker, said in (
            ([level.held_random for level in order], "o", "random step"),
            ([level.held_worst for level in order], "v", "worst step"),
        ):
            fractions = np.array([count.fraction for count in counts])
            below = fractions - [count.lower for count in counts]
            left.errorbar(
                places + shift + (0.05 if marker == "v" else -0.05),
                fractions,
                [below, np.zeros_like(below)],
                fmt=marker,
                color=colour,
                markersize=4.5,
                elinewidth=0.9,
                capsize=2.0,
                label=f"noise {noise:g}, {said}",
            )
        middle = np.array([level.nats for level in order])
        spread = [[level.nats - level.low for level in order], [lv.high - lv.nats for lv in order]]
        right.errorbar(
            places + shift, middle, spread, fmt="-o", color=colour, markersize=4.5, capsize=2.0
        )
        right.text(places[-1] + 0.15, middle[-1], f"noise {noise:g}", color=colour, fontsize=8)
    left.hlines(deltas, places - 0.35, places + 0.35, color=GREY, linewidth=1.4, label="δ")
    left.set_title("Held ways home that work", loc="left", fontsize=11)
    left.set_ylabel("fraction of worlds (bars: one-sided 99 %)")
    left.set_ylim(min(deltas) - 0.05, 1.02)
    left.legend(frameon=False, fontsize=8, loc="lower left")
    right.set_title("Information at the end (median, quartiles)", loc="left", fontsize=11)
    right.set_ylabel("nats")
    right.set_ylim(bottom=0.0)
    for axis in (left, right):
        axis.set_xticks(places, [f"{delta:g}" for delta in deltas])
        axis.set_xlim(-0.6, len(deltas) - 0.1)
        axis.set_xlabel("level δ of the whole run")
        axis.yaxis.grid(color="#e2e4e6", linewidth=0.8)
        axis.set_axisbelow(True)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
    return figure
