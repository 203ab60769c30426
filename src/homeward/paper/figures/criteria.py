"""Pictures of criteria: a small world as a graph, and its policies in the plane.

A policy is a dot: its value of a criterion against its exploration value. Mixtures of two lie on
the line between them. Values below the level are shaded; the best policy above it is a diamond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from homeward.errors import InvalidProblemError
from homeward.paper.figures.stories import INK, QUIET, Graph, draw_graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from homeward.models import Model

Side: TypeAlias = Literal["left", "right", "above"]

BEST, SHORT, WANTED = "#D55E00", "#EDEDED", "#0072B2"  # Okabe and Ito's vermilion and blue; grey
HIGH, GRAPH, PLANE, GAP = 3.7, 2.5, 3.0, 0.75  # inches
CIRCLE_RADIUS = 0.52
TICK_DISTANCE = 0.07
"""Ticks closer to the level than this fraction of the axis are left out."""

OFFSETS: dict[Side, dict[str, Any]] = {
    "left": {"xytext": (-8, 0), "ha": "right", "va": "center"},
    "above": {"xytext": (-3, 7), "ha": "left", "va": "bottom"},
    "right": {"xytext": (8, 0), "ha": "left", "va": "center"},
}


@dataclass(frozen=True, slots=True)
class Dot:
    """A policy in the plane."""

    name: str
    x: float
    y: float
    side: Side = "left"  # side of its label


@dataclass(frozen=True, slots=True)
class Plane:
    """Values of policies, and the levels."""

    title: str
    axes: tuple[str, str]
    dots: tuple[Dot, ...]
    level: float  # along x
    other_level: float | None = None  # along y, of a second criterion
    best: tuple[float, float] | None = None  # the best policy that keeps the level


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """One story: its worlds, and a plane for each question."""

    title: str
    words: str
    graphs: tuple[Graph, ...]
    planes: tuple[Plane, ...]


def draw_criterion(picture: Picture) -> Figure:
    """Return a figure with the worlds on the left and the planes on the right."""
    if not picture.graphs or not picture.planes:
        raise InvalidProblemError(f"“{picture.title}” has no world or no plane to draw")
    worlds, planes = len(picture.graphs), len(picture.planes)
    wide = 0.3 + worlds * GRAPH + planes * (PLANE + GAP) + 0.25
    figure = Figure(figsize=(wide, HIGH), dpi=150, facecolor="white")
    left = 0.25 / wide
    figure.text(
        left, 1 - 0.24 / HIGH, picture.title, size=13, color=INK, weight="bold", va="center"
    )
    figure.text(left, 1 - 0.52 / HIGH, picture.words, size=10, color=QUIET, va="center")
    for i, graph in enumerate(picture.graphs):
        box = ((0.15 + i * GRAPH) / wide, 0.35 / HIGH, GRAPH / wide, 2.45 / HIGH)
        _draw_world(figure.add_axes(box), graph)
    for i, plane in enumerate(picture.planes):
        across = 0.3 + worlds * GRAPH + GAP + i * (PLANE + GAP) - 0.1
        box = (across / wide, 0.62 / HIGH, PLANE / wide, 2.0 / HIGH)
        _draw_plane(figure.add_axes(box), plane)
    return figure


def _draw_world(axes: Axes, graph: Graph) -> None:
    """Draw one world as a graph, its first state on the left."""
    axes.set_axis_off()
    axes.set_aspect("equal")
    spots = _spots(graph.model)
    draw_graph(axes, graph, spots, CIRCLE_RADIUS, 10.0)
    axes.set_xlim(-0.75, 3.15)
    axes.set_ylim(-1.55, 3.3)
    axes.text(1.2, 3.15, graph.title, ha="center", va="center", size=10, color=INK)


def _spots(model: Model) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the positions [S, 2] of two or three states."""
    if model.states == 2:
        return np.array([[0.0, 0.5], [2.4, 0.5]])
    return np.array([[0.0, -0.15], [2.4, -0.15], [1.2, 1.45]])


def _draw_plane(axes: Axes, plane: Plane) -> None:
    """Draw the policies, the level and the planner's answer."""
    x, y = ([getattr(dot, name) for dot in plane.dots] for name in ("x", "y"))
    right, top = max(*x, plane.level), max(*y, plane.other_level or 0.0)
    axes.set_xlim(-0.08 * right, 1.48 * right)
    axes.set_ylim(-0.12 * top, 1.22 * top)
    axes.spines["bottom"].set_bounds(-0.08 * right, 1.06 * right)
    if plane.other_level is None:
        short = Rectangle((-right, -top), right + plane.level, 4 * top, color=SHORT, zorder=0)
        axes.add_patch(short)
        axes.axvline(plane.level, color=WANTED, lw=1.4, zorder=1)
    else:
        corner = (plane.level, plane.other_level)
        axes.add_patch(Rectangle(corner, right, top, color=WANTED, alpha=0.2, lw=0, zorder=0))
        axes.plot([plane.level] * 2, [plane.other_level, 2 * top], color=WANTED, lw=1.4)
        axes.plot([plane.level, 2 * right], [plane.other_level] * 2, color=WANTED, lw=1.4)
    ends = sorted(plane.dots, key=lambda dot: (-dot.y, -dot.x))
    bold, safe = ends[0], max(plane.dots, key=lambda dot: (dot.x, -dot.y))
    axes.plot([safe.x, bold.x], [safe.y, bold.y], color=INK, lw=1.2, zorder=2)
    for dot in plane.dots:
        axes.plot([dot.x], [dot.y], "o", ms=6.5, color=INK, zorder=4)
        axes.annotate(
            dot.name,
            (dot.x, dot.y),
            textcoords="offset points",
            size=8.5,
            color=INK,
            zorder=6,
            **OFFSETS[dot.side],
        )
    if plane.best is not None:
        axes.plot([plane.best[0]], [plane.best[1]], "D", ms=8, color=BEST, mec="white", zorder=5)
    near = TICK_DISTANCE * right
    ticks = sorted({plane.level, *(v for v in x if abs(v - plane.level) > near)})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], size=8)
    heights = sorted({*y, *([] if plane.best is None else [round(plane.best[1], 9)])})
    if plane.other_level is not None:
        heights = sorted({*heights, plane.other_level})
    axes.set_yticks(heights, [f"{tick:g}" for tick in heights], size=8)
    axes.tick_params(length=2, colors=INK)
    axes.set_title(plane.title, size=9.5, color=INK, pad=5)
    axes.set_xlabel(plane.axes[0], size=8.5, color=QUIET, x=0.36)
    axes.set_ylabel(plane.axes[1], size=8.5, color=QUIET)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
