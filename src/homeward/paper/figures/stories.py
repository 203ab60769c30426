"""One figure of small stories: their worlds as graphs, and policies' values by each definition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, Patch
from matplotlib.path import Path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from homeward.arrays import FloatArray
    from homeward.models import Model

PANEL, HEADER, FOOTER = 3.85, 0.4, 0.55  # inches
RADIUS = 0.3
MEASURE = "chance to get home when called off"
INK = "#222222"
QUIET = "#666666"
COLOURS = ("#E69F00", "#222222", "#56B4E9", "#009E73")  # Okabe and Ito's colour-blind safe palette
HOME_FILL, LOST_FILL, OTHER_FILL = "#CFE5F5", "#E3E3E3", "#FFFFFF"

PLACES: Mapping[tuple[str, ...], tuple[tuple[float, float], ...]] = {
    ("S", "B", "F", "E"): ((0.0, 0.0), (2.6, 0.0), (5.0, 0.0), (1.3, 1.6)),
    ("S", "B", "U", "L"): ((1.5, 1.6), (1.5, 0.0), (0.0, 0.0), (3.0, 0.0)),
    ("A", "B", "C"): ((0.0, 0.0), (1.0, 1.55), (2.0, 0.0)),
}
"""Positions of the states of a story; other models are drawn on a circle."""

BENT: Mapping[tuple[str, str], float] = {("S", "E"): -0.25, ("B", "E"): 0.25}
"""Curvature of arrows without an opposite arrow; positive bends to the right."""

LOOPS: Mapping[tuple[str, ...], Mapping[str, float]] = {
    ("S", "B", "F", "E"): {"B": 270.0, "E": 90.0},
    ("S", "B", "U", "L"): {"S": 90.0, "U": 270.0, "L": 270.0},
    ("A", "B", "C"): {"B": 90.0, "C": 270.0},
    ("camp", "ridge"): {"camp": 90.0, "ridge": 90.0},
    ("camp", "crater"): {"camp": 90.0, "crater": 90.0},
    ("home", "hut", "pass"): {"home": 270.0, "hut": 270.0, "pass": 90.0},
}
"""Direction, in degrees, of an arrow from a state to itself; outward by default."""


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """One model as a graph."""

    title: str
    model: Model
    home: int
    lost: frozenset[int] = frozenset()  # states without any way home, shaded


@dataclass(frozen=True, slots=True)
class Bars:
    """Values of one policy; None where a number does not exist."""

    policy: str
    values: tuple[float | None, ...]  # [series]


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One story: graphs on the left, numbers on the right."""

    title: str
    subtitle: str
    graphs: tuple[Graph, ...]
    bars: tuple[Bars, ...]


def draw_stories(panels: Sequence[Panel], series: Sequence[str], caption: str = "") -> Figure:
    """Return a figure of panels below one another; `series` names the entries of `Bars.values`."""
    tall = PANEL * len(panels) + HEADER + FOOTER
    figure = Figure(figsize=(13.0, tall), dpi=150, facecolor="white")
    most = max((len(panel.bars) for panel in panels), default=1)
    for i, panel in enumerate(panels):
        base = FOOTER + PANEL * (len(panels) - 1 - i)
        _write(figure, (base + 3.48) / tall, panel.title, 15, INK, "bold")
        _write(figure, (base + 3.2) / tall, panel.subtitle, 11.5, QUIET)
        left = figure.add_axes((0.02, base / tall, 0.60, 3.1 / tall))
        _draw_graphs(left, panel.graphs)
        if panel.bars:
            share = 2.75 * len(panel.bars) / most
            right = figure.add_axes((0.745, (base + 3.1 - share) / tall, 0.225, share / tall))
            _draw_bars(right, panel.bars, series)
    figure.legend(
        handles=[Patch(color=COLOURS[k % len(COLOURS)]) for k in range(len(series))],
        labels=list(series),
        loc="upper right",
        bbox_to_anchor=(0.985, 1.0 - 0.12 / tall),
        ncols=len(series),
        frameon=False,
        fontsize=11,
        handlelength=1.1,
        columnspacing=1.4,
    )
    _write(figure, 0.22 / tall, caption, 10.5, QUIET)
    return figure


def edges(model: Model) -> list[tuple[int, int, str]]:
    """Return (from, to, label) of a model's arrows; actions with the same arrow share it."""
    found: dict[tuple[int, int], list[str]] = {}
    for s in range(model.states):
        for a in np.flatnonzero(np.isfinite(model.reward[s])):
            name = model.action_names[a] if model.action_names else str(a)
            row = model.row(s, int(a))
            for t in np.flatnonzero(row):
                chance = "" if row[t] == 1.0 else f" {row[t]:.3g}".replace("0.", ".")
                found.setdefault((s, int(t)), []).append(name + chance)
    return [(s, t, ", ".join(labels)) for (s, t), labels in found.items()]


def _write(
    figure: Figure, height: float, text: str, size: float, colour: str, weight: str = "normal"
) -> None:
    figure.text(0.025, height, text, fontsize=size, color=colour, fontweight=weight, va="center")


def _draw_graphs(axes: Axes, graphs: Sequence[Graph]) -> None:
    """Draw graphs side by side."""
    axes.set_axis_off()
    axes.set_aspect("equal")
    width = 10.6
    share = width / len(graphs)
    for i, graph in enumerate(graphs):
        spots = _spots(graph.model)
        shift = np.array([share * (i + 0.5) - (spots[:, 0].min() + spots[:, 0].max()) / 2, 0.0])
        draw_graph(axes, graph, spots + shift)
        axes.text(share * (i + 0.5), 2.88, graph.title, fontsize=11.5, color=INK, ha="center")
    axes.set_xlim(0.0, width)
    axes.set_ylim(-1.2, 3.25)


def draw_graph(
    axes: Axes, graph: Graph, spots: FloatArray, radius: float = RADIUS, size: float = 13.0
) -> None:
    """Draw one graph with its states as circles at `spots` [S, 2]; `size` is the font's."""
    names = _names(graph.model)
    nodes = []
    for s, (x, y) in enumerate(spots):
        fill = HOME_FILL if s == graph.home else LOST_FILL if s in graph.lost else OTHER_FILL
        edge = 2.4 if s == graph.home else 1.3
        nodes.append(Circle((x, y), radius, facecolor=fill, edgecolor=INK, lw=edge, zorder=3))
        axes.add_patch(nodes[-1])
        name = names[s]
        axes.text(x, y - 0.01, name, ha="center", va="center", fontsize=size, color=INK, zorder=4)
    arrows = edges(graph.model)
    pairs = {(s, t) for s, t, _ in arrows}
    centre = spots.mean(axis=0)
    for s, t, label in arrows:
        if s == t:
            outward = spots[s] - centre
            side = LOOPS.get(names, {}).get(
                names[s], float(np.degrees(np.arctan2(outward[1], outward[0])))
            )
            _draw_loop(axes, spots[s], np.radians(side), label, radius)
            continue
        bend = 0.22 if (t, s) in pairs else BENT.get((names[s], names[t]), 0.0)
        axes.add_patch(
            FancyArrowPatch(
                tuple(spots[s]),
                tuple(spots[t]),
                connectionstyle=f"arc3,rad={bend}",
                arrowstyle="-|>",
                mutation_scale=15,
                lw=1.4,
                color=INK,
                patchA=nodes[s],
                patchB=nodes[t],
                shrinkA=0,
                shrinkB=0,
                zorder=2,
            )
        )
        along = spots[t] - spots[s]
        length = float(np.hypot(*along))
        right = np.array([along[1], -along[0]]) / length
        side_sign = -1.0 if bend < 0 else 1.0
        if bend == 0.0 and (right @ ((spots[s] + spots[t]) / 2 - centre)) < -1e-9:
            side_sign = -1.0
        reach = 0.22 + 0.055 * len(label) * abs(right[0])
        spot = (spots[s] + spots[t]) / 2 + right * (bend * length / 2 + side_sign * reach)
        _label(axes, spot, label)


def _draw_loop(axes: Axes, spot: FloatArray, side: float, label: str, radius: float) -> None:
    """Draw an arrow from a state to itself on the side given in radians."""
    spread, reach = 0.5 * RADIUS / radius, radius + 2.3 * RADIUS

    def around(angle: float, away: float) -> FloatArray:
        return spot + away * np.array([np.cos(angle), np.sin(angle)])

    curve = [
        around(side + spread, radius),
        around(side + 0.85 * spread, reach),
        around(side - 0.85 * spread, reach),
        around(side - spread, radius),
    ]
    path = Path(np.array(curve), [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    axes.add_patch(
        FancyArrowPatch(path=path, arrowstyle="-|>", mutation_scale=15, lw=1.4, color=INK, zorder=2)
    )
    room = 0.17 + 0.055 * len(label) * abs(np.cos(side))
    _label(axes, around(side, radius + 1.72 * RADIUS + room), label)


def _label(axes: Axes, spot: FloatArray, label: str) -> None:
    axes.text(spot[0], spot[1], label, ha="center", va="center", fontsize=11.5, color=INK, zorder=5)


def _draw_bars(axes: Axes, rows: Sequence[Bars], series: Sequence[str]) -> None:
    """Draw one bar per policy and number, with the number beside it."""
    step = len(series) + 1.2
    for r, row in enumerate(rows):
        for k, value in enumerate(row.values):
            y = r * step + k
            if value is None:
                axes.text(0.012, y, "does not apply", va="center", fontsize=9, color=QUIET)
                continue
            axes.barh(y, value, height=0.82, color=COLOURS[k % len(COLOURS)])
            axes.text(value + 0.012, y, f"{value:.4f}", va="center", fontsize=9, color=INK)
    axes.set_yticks(
        [r * step + (len(series) - 1) / 2 for r in range(len(rows))],
        [row.policy for row in rows],
        fontsize=10.5,
    )
    axes.set_ylim(len(rows) * step - 0.5 - 0.6, -1.1)
    axes.set_xlim(0.0, 1.16)
    axes.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", ".25", ".5", ".75", "1"], fontsize=9)
    axes.tick_params(length=0, colors=INK)
    axes.set_xlabel(MEASURE, fontsize=9, color=QUIET)
    axes.grid(axis="x", color="#DDDDDD", lw=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)


def _spots(model: Model) -> FloatArray:
    """Return the positions [S, 2] of the states."""
    names = _names(model)
    if names in PLACES:
        return np.array(PLACES[names])
    turn = np.pi / 2 - 2 * np.pi * np.arange(model.states) / model.states
    circle: FloatArray = 1.2 * np.column_stack([np.cos(turn), np.sin(turn)]) + (0.0, 1.0)
    return circle


def _names(model: Model) -> tuple[str, ...]:
    return model.state_names or tuple(str(s) for s in range(model.states))
