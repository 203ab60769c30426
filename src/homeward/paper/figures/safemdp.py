"""Figure of the comparison with SafeMDP: coverage and unsafe moves from each start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from homeward.paper.safemdp import METHODS
from homeward.plots.charts import COLOURS, QUIET, tidy


def draw_safemdp(rows: Sequence[dict[str, Any]]) -> Figure:
    """Return a figure of the study's rows: starts are ordered by SafeMDP's coverage."""
    figure = Figure(figsize=(8.0, 5.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    by_method = {m: {r["start"]: r for r in rows if r["method"] == m} for m in METHODS}
    order = sorted(
        by_method[METHODS[0]], key=lambda start: by_method[METHODS[0]][start]["coverage"]
    )
    place, width = np.arange(len(order)), 0.8 / len(METHODS)
    for k, (method, found) in enumerate(by_method.items()):
        mine = [found[start] for start in order]
        coverage = [100.0 * row["coverage"] for row in mine]
        unsafe = [row["unsafe"] for row in mine]
        label = f"{method}: median {np.median(coverage):.1f} %, {sum(unsafe)} unsafe moves"
        upper.plot(place, coverage, "o", color=COLOURS[k], label=label)
        upper.axhline(float(np.median(coverage)), color=COLOURS[k], linewidth=0.8)
        lower.bar(place + (k - 1) * width, unsafe, width, color=COLOURS[k])
    upper.set(ylim=(0.0, 100.0), ylabel="coverage, %")
    upper.legend(loc="lower right", frameon=False, fontsize=9)
    lower.set(ylabel="unsafe moves", xlabel="start, by SafeMDP's coverage", xticks=[])
    for axis in (upper, lower):
        tidy(axis)
        axis.tick_params(colors=QUIET)
    return figure
