"""The figure of the counterexamples: worlds as graphs, and values by each definition of safety."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, Patch
from matplotlib.path import Path

from homeward.arrays import FloatArray
from homeward.models import Model
from homeward.paper.counterexamples import Row, Story, all_stories, way_home
from homeward.words import floored

PANEL, HEADER, FOOTER = 3.85, 0.4, 0.55  # inches
RADIUS = 0.3
MEASURE = "probability of returning after the recall"
INK = "#222222"
QUIET = "#666666"
ARROW: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 15, "lw": 1.4, "color": INK}
ARROW["zorder"] = 2
SERIES = {
    "naive definition": "#E69F00",
    "exact value": "#222222",
    "bound, general": "#56B4E9",
    "bound, moves": "#009E73",
}
"""Colours of `Row.values`, from Okabe and Ito's colour-blind safe palette."""

MAX_POLICIES = 2  # largest number of policies of a story
HOME_FILL, LOST_FILL, OTHER_FILL = "#CFE5F5", "#E3E3E3", "#FFFFFF"

PLACES: Mapping[tuple[str, ...], tuple[tuple[float, float], ...]] = {
    ("S", "B", "F", "E"): ((0.0, 0.0), (2.6, 0.0), (5.0, 0.0), (1.3, 1.6)),
    ("S", "B", "U", "L"): ((1.5, 1.6), (1.5, 0.0), (0.0, 0.0), (3.0, 0.0)),
    ("A", "B", "C"): ((0.0, 0.0), (1.0, 1.55), (2.0, 0.0)),
}
"""Positions of the states of a story, by their names."""

BENT: Mapping[tuple[str, str], float] = {("S", "E"): -0.25, ("B", "E"): 0.25}
"""Curvature of arrows that have no opposite arrow; positive bends to the right."""

LOOPS: Mapping[tuple[str, ...], Mapping[str, float]] = {
    ("S", "B", "F", "E"): {"B": 270.0, "E": 90.0},
    ("S", "B", "U", "L"): {"S": 90.0, "U": 270.0, "L": 270.0},
    ("A", "B", "C"): {"B": 90.0, "C": 270.0},
    ("camp", "ridge"): {"camp": 90.0, "ridge": 90.0},
    ("camp", "crater"): {"camp": 90.0, "crater": 90.0},
    ("home", "hut", "pass"): {"home": 270.0, "hut": 270.0, "pass": 90.0},
}
"""Direction, in degrees, of an arrow from a state to itself."""


def draw_stories(rows: Sequence[Row], discount: float) -> Figure:
    """Return a figure of all stories: their worlds on the left, numbers at one γ on the right."""
    stories = all_stories()
    tall = PANEL * len(stories) + HEADER + FOOTER
    figure = Figure(figsize=(13.0, tall), dpi=150, facecolor="white")

    def write(inches: float, text: str, size: float, colour: str, weight: str = "normal") -> None:
        style: dict[str, Any] = {"fontsize": size, "color": colour, "fontweight": weight}
        figure.text(0.025, inches / tall, text, va="center", **style)

    for i, story in enumerate(stories):
        base = FOOTER + PANEL * (len(stories) - 1 - i)
        write(base + 3.48, f"{i + 1}. {story.title}", 15, INK, "bold")
        write(base + 3.2, f"The naive definition: {story.naive}.", 11.5, QUIET)
        _draw_worlds(figure.add_axes((0.02, base / tall, 0.60, 3.1 / tall)), story)
        own = [row for row in rows if row.story == story.title and row.discount == discount]
        high = 2.75 * len(own) / MAX_POLICIES
        _draw_bars(figure.add_axes((0.745, (base + 3.1 - high) / tall, 0.225, high / tall)), own)
    figure.legend(
        handles=[Patch(color=colour) for colour in SERIES.values()],
        labels=list(SERIES),
        loc="upper right",
        bbox_to_anchor=(0.985, 1.0 - 0.12 / tall),
        ncols=len(SERIES),
        frameon=False,
        fontsize=11,
        handlelength=1.1,
        columnspacing=1.4,
    )
    caption = (
        f"γ = {discount:g}. Blue: home. Grey: no way home in that world. A number beside an action "
        "is its probability; without a number it is 1."
    )
    write(0.22, caption, 10.5, QUIET)
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


def _draw_worlds(axes: Axes, story: Story) -> None:
    """Draw the worlds of a story side by side; "The average loop" also gets its mean model."""
    axes.set_axis_off()
    axes.set_aspect("equal")
    worlds = dict(zip(story.world_names, story.belief.worlds, strict=True))
    lost = {name: np.flatnonzero(way_home(world) == 0.0) for name, world in worlds.items()}
    if story.title == "The average loop":
        worlds["the mean model"] = story.belief.mean()
    width = 10.6
    share = width / len(worlds)
    for i, (name, world) in enumerate(worlds.items()):
        spots = np.array(PLACES[world.state_names or ()])
        shift = np.array([share * (i + 0.5) - (spots[:, 0].min() + spots[:, 0].max()) / 2, 0.0])
        draw_graph(axes, world, lost.get(name, ()), spots + shift)
        axes.text(share * (i + 0.5), 2.88, name, fontsize=11.5, color=INK, ha="center")
    axes.set_xlim(0.0, width)
    axes.set_ylim(-1.2, 3.25)


def draw_graph(
    axes: Axes,
    model: Model,
    lost: Collection[int],
    spots: FloatArray,
    radius: float = RADIUS,
    size: float = 13.0,
) -> None:
    """Draw a model, with states as circles at `spots` [S, 2]; state 0 is home, `lost` are grey."""
    names = model.state_names or ()
    nodes = []
    for s, (x, y) in enumerate(spots):
        fill = HOME_FILL if s == 0 else LOST_FILL if s in lost else OTHER_FILL
        edge = 2.4 if s == 0 else 1.3
        nodes.append(Circle((x, y), radius, facecolor=fill, edgecolor=INK, lw=edge, zorder=3))
        axes.add_patch(nodes[-1])
        _label(axes, (x, y - 0.01), names[s], size, zorder=4)
    arrows = edges(model)
    pairs = {(s, t) for s, t, _ in arrows}
    centre = spots.mean(axis=0)
    for s, t, label in arrows:
        if s == t:
            _draw_loop(axes, spots[s], np.radians(LOOPS[names][names[s]]), label, radius)
            continue
        bend = 0.22 if (t, s) in pairs else BENT.get((names[s], names[t]), 0.0)
        ends: dict[str, Any] = {"patchA": nodes[s], "patchB": nodes[t], "shrinkA": 0, "shrinkB": 0}
        ends["connectionstyle"] = f"arc3,rad={bend}"
        axes.add_patch(FancyArrowPatch(tuple(spots[s]), tuple(spots[t]), **ends, **ARROW))
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
    """Draw an arrow from a state to itself, in the direction `side` in radians."""
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
    axes.add_patch(FancyArrowPatch(path=path, **ARROW))
    room = 0.17 + 0.055 * len(label) * abs(np.cos(side))
    _label(axes, around(side, radius + 1.72 * RADIUS + room), label)


def _label(
    axes: Axes, at: Sequence[float] | FloatArray, text: str, size: float = 11.5, zorder: int = 5
) -> None:
    axes.text(at[0], at[1], text, ha="center", va="center", fontsize=size, color=INK, zorder=zorder)


def _draw_bars(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw one bar per policy and series, with its value beside it."""
    step = len(SERIES) + 1.2
    for r, row in enumerate(rows):
        for k, (value, colour) in enumerate(zip(row.values, SERIES.values(), strict=True)):
            y = r * step + k
            if value is None:
                axes.text(0.012, y, "does not apply", va="center", fontsize=9, color=QUIET)
                continue
            axes.barh(y, value, height=0.82, color=colour)
            text = floored(value, 4) if k > 1 else f"{value:.4f}"  # the last two are lower bounds
            axes.text(value + 0.012, y, text, va="center", fontsize=9, color=INK)
    axes.set_yticks(
        [r * step + (len(SERIES) - 1) / 2 for r in range(len(rows))],
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
