"""Figures of criteria: a small world as a graph, and the values of its policies in a plane.

A policy is a dot: its value for a criterion on one axis, its exploration value on the other.
Mixtures of two policies lie on the line between their dots. The region below the level is shaded.
A diamond is the planner's solution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from homeward.paper.figures.stories import INK, QUIET, draw_graph

if TYPE_CHECKING:
    from homeward.paper.criteria import Case, CriterionExample, Side

BEST, SHORT, WANTED = "#D55E00", "#EDEDED", "#0072B2"  # Okabe and Ito's vermilion and blue; grey
HIGH, GRAPH, PLANE, GAP = 3.7, 2.5, 3.0, 0.75  # inches
CIRCLE_RADIUS = 0.52
SPOTS = {
    2: np.array([[0.0, 0.5], [2.4, 0.5]]),
    3: np.array([[0.0, -0.15], [2.4, -0.15], [1.2, 1.45]]),
}
"""Positions [S, 2] of two or three states."""

TICK_DISTANCE = 0.07  # ticks closer to the level than this fraction of the axis are left out
OFFSETS: dict[Side, dict[str, Any]] = {
    "left": {"xytext": (-8, 0), "ha": "right", "va": "center"},
    "above": {"xytext": (-3, 7), "ha": "left", "va": "bottom"},
    "right": {"xytext": (8, 0), "ha": "left", "va": "center"},
}


def draw_criterion(story: CriterionExample) -> Figure:
    """Return a figure of a story: its worlds on the left, a plane for each case on the right."""
    worlds = dict(zip(story.worlds, story.cases[0].belief.worlds, strict=True))
    wide = 0.3 + len(worlds) * GRAPH + len(story.cases) * (PLANE + GAP) + 0.25
    figure = Figure(figsize=(wide, HIGH), dpi=150, facecolor="white")
    left = 0.25 / wide
    figure.text(left, 1 - 0.24 / HIGH, story.title, size=13, color=INK, weight="bold", va="center")
    figure.text(left, 1 - 0.52 / HIGH, story.words, size=10, color=QUIET, va="center")
    for i, (title, world) in enumerate(worlds.items()):
        box = ((0.15 + i * GRAPH) / wide, 0.35 / HIGH, GRAPH / wide, 2.45 / HIGH)
        axes = figure.add_axes(box)
        axes.set_axis_off()
        axes.set_aspect("equal")
        draw_graph(axes, world, story.outside, SPOTS[world.states], CIRCLE_RADIUS, 10.0)
        axes.set_xlim(-0.75, 3.15)
        axes.set_ylim(-1.55, 3.3)
        axes.text(1.2, 3.15, title, ha="center", va="center", size=10, color=INK)
    for i, case in enumerate(story.cases):
        across = 0.3 + len(worlds) * GRAPH + GAP + i * (PLANE + GAP) - 0.1
        box = (across / wide, 0.62 / HIGH, PLANE / wide, 2.0 / HIGH)
        _draw_plane(figure.add_axes(box), case)
    return figure


def _draw_plane(axes: Axes, case: Case) -> None:
    """Draw policies, levels and the planner's solution; y is the value or a second criterion."""
    plan, two = case.plan(), len(case.criteria) > 1
    dots = {
        name: (float(value[1]), float(value[2] if two else value[0]))
        for name, value in case.values().items()
    }
    level, other = plan.criteria[0].level, plan.criteria[1].level if two else None
    best = None if two else (plan.bounds[0], plan.exploration_value)
    x, y = zip(*dots.values(), strict=True)
    right, top = max(*x, level), max(*y, other or 0.0)
    axes.set_xlim(-0.08 * right, 1.48 * right)
    axes.set_ylim(-0.12 * top, 1.22 * top)
    axes.spines["bottom"].set_bounds(-0.08 * right, 1.06 * right)
    if other is None:
        short = Rectangle((-right, -top), right + level, 4 * top, color=SHORT, zorder=0)
        axes.add_patch(short)
        axes.axvline(level, color=WANTED, lw=1.4, zorder=1)
    else:
        corner = (level, other)
        axes.add_patch(Rectangle(corner, right, top, color=WANTED, alpha=0.2, lw=0, zorder=0))
        axes.plot([level] * 2, [other, 2 * top], color=WANTED, lw=1.4)
        axes.plot([level, 2 * right], [other] * 2, color=WANTED, lw=1.4)
    bold = max(dots.values(), key=lambda dot: (dot[1], dot[0]))
    safe = max(dots.values(), key=lambda dot: (dot[0], -dot[1]))
    axes.plot(*zip(safe, bold, strict=True), color=INK, lw=1.2, zorder=2)
    style: dict[str, Any] = {"textcoords": "offset points", "size": 8.5, "color": INK, "zorder": 6}
    for name, dot in dots.items():
        axes.plot(*dot, "o", ms=6.5, color=INK, zorder=4)
        axes.annotate(name, dot, **style, **OFFSETS[case.policies[name][1]])
    if best is not None:
        axes.plot(*best, "D", ms=8, color=BEST, mec="white", zorder=5)
    near = TICK_DISTANCE * right
    ticks = sorted({level, *(v for v in x if abs(v - level) > near)})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], size=8)
    marked = None if best is None else round(best[1], 9)
    heights = sorted({*y, *(height for height in (other, marked) if height is not None)})
    axes.set_yticks(heights, [f"{tick:g}" for tick in heights], size=8)
    axes.tick_params(length=2, colors=INK)
    axes.set_title(case.title, size=9.5, color=INK, pad=5)
    axes.set_xlabel(case.keeps, size=8.5, color=QUIET, x=0.36)
    axes.set_ylabel(case.other, size=8.5, color=QUIET)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
