"""The coverage figure: the fraction of random grid worlds that explorers uncover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

INK = "#222222"
SMALL: dict[str, Any] = {"fontsize": 6.5, "color": "#444444"}
COLOURS = (
    *("#2f6db3", "#e08a2e", "#7a7f85", "#58a06a", "#b7bcc2", "#a34e8b", "#c9b34b", "#8c6d5a"),
    *("#123f75", "#7fb0e0", "#9c3d12", "#37713f"),
)


@dataclass(frozen=True, slots=True)
class Series:
    """One explorer's bars: a median with its quartiles at each position along the axis."""

    name: str
    low: Sequence[float]  # the lower quartile
    middle: Sequence[float]  # the median
    high: Sequence[float]  # the upper quartile
    notes: Sequence[str] = ()  # above each bar


@dataclass(frozen=True, slots=True)
class Chart:
    """One panel: positions along the x axis and the series over them."""

    title: str
    label: str  # of the y axis
    places: Sequence[str]
    series: Sequence[Series]


def draw_coverage(charts: Sequence[Chart], caption: str) -> Figure:
    """Return a figure of the charts below one another."""
    figure = Figure(figsize=(11.0, 4.0 * len(charts) + 0.4), dpi=140, layout="constrained")
    axes = figure.subplots(len(charts), 1, squeeze=False)[:, 0]
    for axis, chart in zip(axes, charts, strict=True):
        _draw(axis, chart)
    figure.supxlabel(caption, fontsize=9, color="#444444")
    return figure


def _draw(axis: Axes, chart: Chart) -> None:
    """Draw one chart."""
    width = 0.8 / len(chart.series)
    places = np.arange(len(chart.places))
    for i, series in enumerate(chart.series):
        at = places + (i - (len(chart.series) - 1) / 2) * width
        middle = np.asarray(series.middle)
        spread = np.abs(np.array([series.low, series.high]) - middle)
        axis.bar(at, middle, 0.92 * width, color=COLOURS[i % len(COLOURS)], label=series.name)
        if spread.any():
            axis.errorbar(at, middle, spread, fmt="none", ecolor=INK, elinewidth=0.9, capsize=2.5)
        for x, top, note in zip(at, series.high, series.notes, strict=False):
            axis.text(x, top + 0.02, note, ha="center", va="bottom", rotation=90, **SMALL)
    axis.set_title(chart.title, loc="left", fontsize=11)
    axis.set_ylabel(chart.label)
    axis.set_ylim(0.0, 1.25 if any(series.notes for series in chart.series) else 1.03)
    axis.set_yticks(np.linspace(0.0, 1.0, 6))
    axis.set_xlim(-0.6, len(chart.places) - 0.4)
    axis.set_xticks(places, chart.places, fontsize=8.5)
    axis.tick_params(axis="x", length=0)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.yaxis.grid(color="#e2e4e6", linewidth=0.8)
    axis.set_axisbelow(True)
    axis.legend(
        frameon=False,
        ncols=min(4, len(chart.series)),
        fontsize=8.5,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.12),
    )
