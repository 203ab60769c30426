"""The conservativeness figure: bounds against the truth, and exploration at the same safety."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from lab.check.conservative import Sample

INK, SHADE = "#222222", "#c9cdd1"
LOOKS = {"general": ("#e08a2e", "^"), "moves": ("#2f6db3", "o")}
"""Colour and marker of each correction; the markers differ too."""


def draw_conservative(
    samples: Sequence[Sample], averages: Sequence[Sample], counted: Mapping[str, int]
) -> Figure:
    """Return a figure with a column for each setting: bounds above, exploration below.

    `counted` has the number of sampled worlds by setting; the truth of other settings is exact.
    """
    settings = list(dict.fromkeys(sample.setting for sample in samples))
    figure = Figure(figsize=(3.9 * len(settings), 7.6), dpi=140, layout="constrained")
    axes = figure.subplots(2, len(settings), squeeze=False)
    for column, setting in enumerate(settings):
        upper, lower = axes[0, column], axes[1, column]
        _draw_bounds(upper, [s for s in samples if s.setting == setting])
        _draw_explored(lower, [a for a in averages if a.setting == setting])
        upper.set_title(setting, loc="left", fontsize=11)
        count = counted.get(setting)
        what = "true probability of being home"
        if count is not None:
            _draw_noise(upper, count)
            what = f"probability of being home, counted\nin {count} worlds"
        upper.set_xlabel(what)
        lower.set_xlabel(f"{what}, mean")
    axes[0, 0].set_ylabel("proven bound, plan by plan")
    axes[1, 0].set_ylabel("exploration / that without safety, mean")
    axes[0, 0].legend(frameon=False, fontsize=8.5, loc="upper left")
    return figure


def _draw_bounds(axis: Axes, samples: Sequence[Sample]) -> None:
    """Plot bounds against the truth; only sampling errors put a bound above the diagonal."""
    axis.plot([0.0, 1.0], [0.0, 1.0], color=INK, linewidth=0.9)
    alone = [(s.truth, s.corrected) for s in samples]
    plain: dict[str, Any] = {"color": INK, "alpha": 0.35, "markersize": 3.0}
    axis.plot(*zip(*alone, strict=True), "x", label="by the correction alone", **plain)
    for name, (colour, mark) in LOOKS.items():
        mine = [(s.truth, s.bound) for s in samples if str(s.correction) == name]
        size, fill, edge = (6.5, "none", 0.8) if name == "general" else (3.2, "full", 0.0)
        look: dict[str, Any] = {"color": colour, "alpha": 0.6, "label": f"{name} correction"}
        look |= {"markersize": size, "fillstyle": fill, "markeredgewidth": edge}
        axis.plot(*zip(*mine, strict=True), mark, **look)
    axis.set_xlim(-0.03, 1.03)
    axis.set_ylim(-0.03, 1.03)
    axis.set_aspect("equal")
    _tidy(axis)


def _draw_noise(axis: Axes, count: int) -> None:
    """Shade ± 2 standard errors of a count around the diagonal."""
    truth = np.linspace(0.0, 1.0, 201)
    error = 2.0 * np.sqrt(truth * (1.0 - truth) / count)
    style: dict[str, Any] = {"color": SHADE, "alpha": 0.7, "linewidth": 0.0, "zorder": 0.5}
    band = axis.fill_betweenx(truth, truth - error, truth + error, **style)
    band.set_label("± 2 standard errors of the count")
    axis.legend(frameon=False, fontsize=8.5, loc="upper left", handles=[band])


def _draw_explored(axis: Axes, averages: Sequence[Sample]) -> None:
    """Plot exploration against the true safety, level by level."""
    for name, (colour, mark) in LOOKS.items():
        mine = sorted((a.truth, a.explored) for a in averages if str(a.correction) == name)
        points = zip(*mine, strict=True)
        axis.plot(*points, marker=mark, color=colour, linewidth=1.6, markersize=5.0)
    axis.set_ylim(0.0, 1.03)
    _tidy(axis)


def _tidy(axis: Axes) -> None:
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.grid(color="#e2e4e6", linewidth=0.8)
    axis.set_axisbelow(True)
