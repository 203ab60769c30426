"""The picture of an exploration: where it went, and what it kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homeward.arrays import FloatArray, IntArray
from homeward.plots.charts import COLOURS, INK, QUIET, tidy

UNKNOWN = "#eceeef"


def draw(
    states: IntArray, kept: FloatArray, levels: Sequence[float], shape: tuple[int, int] | None
) -> Figure:
    """Return a figure: the path on a grid, or the states by step; and the bound on coming home.

    `states` are the states [n + 1] of a run of n steps, `kept` the bounds [n] after each step, and
    `levels` the required probabilities. `shape` has the rows and columns of a grid.
    """
    figure = Figure(figsize=(11.0, 4.6), dpi=140, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.35, 1.0))
    if shape is None:
        tidy(left)
        left.step(np.arange(len(states)), states, where="post", color=COLOURS[0], linewidth=1.2)
        left.set_xlabel("steps")
        left.set_ylabel("state")
    else:
        _draw_path(left, states, shape)
    count = len(np.unique(states))
    left.set_title(f"{count:,} different states in {len(kept):,} steps", color=INK)
    tidy(right)
    right.plot(1 + np.arange(len(kept)), kept, color=COLOURS[3], linewidth=1.6)
    for level in levels:
        right.axhline(level, color=QUIET, linewidth=1.0, linestyle=(0, (4, 3)))
        place = {"xy": (0.02, level), "xycoords": ("axes fraction", "data"), "xytext": (0, 3)}
        right.annotate(
            f"required: {level:g}", **place, textcoords="offset points", color=QUIET, fontsize=9
        )
    least = float(min([*levels, kept.min(initial=1.0)]))
    right.set_ylim(least - 0.05 * (1.01 - least), 1.0 + 0.05 * (1.01 - least))
    right.set_xlabel("steps")
    right.set_title("Probability of coming home, at least", color=INK)
    return figure


def _draw_path(axis: Axes, states: IntArray, shape: tuple[int, int]) -> None:
    """Draw a path [n] of states on a map with `shape` rows and columns, north up."""
    visits = np.bincount(states, minlength=shape[0] * shape[1]).reshape(shape)
    axis.imshow(np.where(visits > 0, np.log1p(visits), np.nan), cmap="Blues", vmin=0.0, vmax=4.0)
    axis.set_facecolor(UNKNOWN)
    row, column = np.divmod(states, shape[1])
    axis.plot(column, row, color=INK, linewidth=0.8, alpha=0.6)
    axis.plot(column[0], row[0], "o", color=COLOURS[3], markersize=9, label="start")
    axis.plot(column[-1], row[-1], "D", color=COLOURS[1], markersize=7, label="end")
    axis.set_xlabel("column")
    axis.set_ylabel("row")
    axis.legend(loc="upper right", fontsize=9)
