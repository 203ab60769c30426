"""Figures of the paper's studies: coverage, tests of levels, nats on Mars, and SafeMDP."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homeward.paper.coverage import CORRECTION, LEVELS, OTHER_SIZE, VARIANTS, papers
from homeward.plots.charts import COLOURS, INK, LINES, QUIET, tidy

if TYPE_CHECKING:
    from homeward.paper.levels import Level

    Cell: TypeAlias = dict[str, Any]

NOISES = ("#2f6db3", "#e08a2e", "#58a06a")
OURS = ("#123f75", "#2f6db3", "#7fb0e0", "#9aa3ab", "#58a06a", "#8c6d5a")
PAPERS = ("#8f3b12", "#d9682b", "#f0b07f", "#5c6268", "#b0a060", "#a34e8b")


def draw_coverage(cells: Sequence[Cell]) -> Figure:
    """Return the figure of the coverage study, from its summaries.

    The panels show fractions of all squares, fractions of safe squares, and several levels.
    """
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
    _draw_bars(
        every,
        "Uncovered of all squares (median and quartiles; above: stranded of runs)",
        "fraction of grid world",
        places,
        explorers,
    )
    _draw_bars(
        safely,
        "Uncovered of what a clairvoyant could have uncovered and kept the way back (median)",
        "fraction of what is safe",
        places,
        explorers,
        ("reached", "reached", "reached"),
    )
    _draw_bars(
        by_level,
        f"Algorithm 1 with both corrections and ours on {OTHER_SIZE}², at several levels",
        "fraction of grid world",
        walls,
        levels,
    )
    figure.supxlabel("grid world size | fraction of walls", fontsize=9, color=QUIET)
    return figure


def _draw_bars(
    axis: Axes,
    title: str,
    label: str,
    places: Collection[str],
    series: Mapping[str, Sequence[Cell]],
    columns: tuple[str, str, str] = ("q1", "median", "q3"),
) -> None:
    """Draw one bar per series and place; `columns` name its lower end, middle and upper end."""
    small: dict[str, Any] = {"fontsize": 6.5, "color": QUIET}
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
            axis.text(x, top + 0.02, note, ha="center", va="bottom", rotation=90, **small)
    axis.set_title(title, loc="left", fontsize=11)
    axis.set_ylabel(label)
    axis.set_ylim(0.0, 1.25 if notes else 1.03)
    axis.set_yticks(np.linspace(0.0, 1.0, 6))
    axis.set_xlim(-0.6, len(places) - 0.4)
    axis.set_xticks(at_places, list(places), fontsize=8.5)
    axis.tick_params(axis="x", length=0)
    tidy(axis)
    axis.legend(
        frameon=False,
        ncols=min(4, len(series)),
        fontsize=8.5,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.12),
    )


def draw_levels(found: Sequence[Level]) -> Figure:
    """Return a figure by level: the fraction of return paths that work, and the information."""
    figure = Figure(figsize=(10.0, 4.2), dpi=140, layout="constrained")
    left, right = figure.subplots(1, 2)
    deltas = sorted({level.delta for level in found}, reverse=True)
    places = np.arange(len(deltas))
    noises = list(dict.fromkeys(level.noise for level in found))
    for noise, colour in zip(noises, NOISES, strict=False):
        mine = {level.delta: level for level in found if level.noise == noise}
        order = [mine[delta] for delta in deltas]
        shift = 0.12 * (noises.index(noise) - (len(noises) - 1) / 2)
        for counts, marker, when in (
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
                label=f"noise {noise:g}, {when}",
            )
        middle = np.array([level.nats for level in order])
        spread = [[level.nats - level.low for level in order], [lv.high - lv.nats for lv in order]]
        right.errorbar(
            places + shift, middle, spread, fmt="-o", color=colour, markersize=4.5, capsize=2.0
        )
        right.text(places[-1] + 0.15, middle[-1], f"noise {noise:g}", color=colour, fontsize=8)
    left.hlines(deltas, places - 0.35, places + 0.35, color=QUIET, linewidth=1.4, label="δ")
    left.set_title("Return paths that work", loc="left", fontsize=11)
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
        tidy(axis)
    return figure


def draw_curves(found: Sequence[Any], steps: int, clairvoyant: Mapping[int, float]) -> Figure:
    """Return a figure of median nats by steps: Algorithm 1, and ours with the baselines.

    `clairvoyant` has the nats of a clairvoyant rover by seed; a line shows their median.
    """
    paper = [s for s in found if s["setting"].startswith(("safe", "unsafe", "naive"))]
    others = [s for s in found if s not in paper]
    panels = [
        (paper, PAPERS, "Algorithm 1: levels of each plan"),
        (others, OURS, "Ours and two baselines: levels of the whole run"),
    ]
    panels = [panel for panel in panels if panel[0]]
    figure = Figure(figsize=(5.5 * len(panels), 4.6), dpi=140, layout="constrained")
    level = float(np.median(list(clairvoyant.values())))
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, (settings, colours, title) in zip(axes, panels, strict=True):
        axis.axhline(level, color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)))
        axis.text(0.0, level, " clairvoyant", va="bottom", fontsize=7.5, color=QUIET)
        for setting, colour in zip(settings, colours, strict=False):
            name, lost, curve = (setting[key] for key in ("setting", "stranded", "curve"))
            label = f"{name}, {lost} of {setting['runs']} stranded" if lost else name
            style = "-" if "at" in name else "--"
            at = np.linspace(0.0, steps, len(curve))
            axis.plot(at, curve, style, color=colour, linewidth=1.6, label=label)
        axis.set_title(title, loc="left", fontsize=11)
        axis.set_xlabel("steps")
        axis.set_xlim(0.0, steps)
        axis.xaxis.grid(color=LINES, linewidth=0.8)
        tidy(axis, below=False)
        axis.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 0.06))
    axes[0].set_ylabel("nats learned (median over grounds)")
    axes[0].set_ylim(0.0, 1.12 * max(level, *(s["median"] for s in found)))
    return figure


def draw_safemdp(rows: Sequence[Cell]) -> Figure:
    """Return the figure of the comparison with SafeMDP; starts are ordered by its coverage."""
    figure = Figure(figsize=(8.0, 5.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    by_method: dict[str, dict[int, Cell]] = {}
    for row in rows:
        by_method.setdefault(row["method"], {})[row["start"]] = row
    peer = next(iter(by_method.values()))
    order = sorted(peer, key=lambda start: peer[start]["coverage"])
    place, width = np.arange(len(order)), 0.8 / len(by_method)
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
