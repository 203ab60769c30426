"""Figures of runs: maps side by side, with titles above and a legend below; and film frames.

Each kind of run draws its own terrain and path. This module draws the layout, texts, markers,
legend and film frames. Equal data gives equal pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from homeward.arrays import index
from homeward.errors import InvalidProblemError
from homeward.plots.films import whole_blocks

QUIET, PAPER = "#4d565e", "#ffffff"
DPI = 120


class Layout(NamedTuple):
    """The layout around maps; lengths are in inches."""

    ink: str  # colour of titles
    left: float = 0.0  # space for coordinates left of a map
    gap: float = 0.34  # space between maps
    edge: float = 0.0  # space right of the last map
    over: float = 0.06  # space between the text and a map
    under: float = 0.34  # space below a map
    foot: float = 0.38  # space for the legend, in addition to `under`
    head: tuple[float, float] = (0.62, 0.22)  # space above the maps, with and without a title
    title: tuple[float, float] = (0.34, 15.0)  # distance from the edge, and font size in points
    line: float = 0.17  # height of a line of text
    letters: float = 13.5  # characters per inch
    words: tuple[float, float, float] = (0.5, 0.06, 0.55)
    # text above a map: x as a fraction of its width, distance from the map, offset of a line from
    # its top as a fraction of a line
    min_width: float = 4.6

    def width(self, columns: int, side: float) -> float:
        """Return the width of a figure with `columns` maps, each `side` inches wide."""
        return max(columns * (self.left + side + self.gap) + self.edge, self.min_width)


class MapPanel(Protocol):
    """One map with its texts."""

    @property
    def title(self) -> str:
        """The title above the map, in bold."""

    @property
    def note(self) -> str:
        """The text below the title."""


P = TypeVar("P", bound=MapPanel)


def draw_maps(
    panels: Sequence[P],
    columns: int,
    title: str,
    layout: Layout,
    side: Callable[[int], float],
    aspect: Callable[[P], float],
    draw: Callable[[Axes, P], object],
) -> Figure:
    """Return a figure with the maps in rows of `columns`; the caller draws the legend.

    `side` returns the width of a map in inches, given the number of columns. `aspect` returns the
    height of a panel's map divided by its width. `draw` draws a panel's map.
    """
    if not panels:
        raise InvalidProblemError("there is no panel to draw")
    columns = min(max(1, index(columns, 1000, "the columns", InvalidProblemError)), len(panels))
    rows = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    wide_map = side(columns)

    def lines(text: str, scale: float = 1.0) -> list[str]:
        return wrap(text, max(12, int(scale * layout.letters * wide_map)), break_on_hyphens=False)

    def words(panel: P) -> list[str]:
        return [panel.title, *lines(panel.note)] if panel.title else lines(panel.note)

    def caption(panel: P) -> list[str]:
        return lines(getattr(panel, "caption", ""), 1.12)

    tall = [wide_map * max(aspect(panel) for panel in row) for row in rows]
    above = [max(len(words(panel)) for panel in row) for row in rows]
    below = [max(len(caption(panel)) for panel in row) for row in rows]
    head = layout.head[0] if title else layout.head[1]
    pitch = layout.left + wide_map + layout.gap
    wide = layout.width(columns, wide_map)
    text_height = layout.line * (sum(above) + sum(below))
    between = (layout.over + layout.under) * len(rows)
    high = head + sum(tall) + text_height + between + layout.foot
    figure = Figure(figsize=(wide, high), dpi=DPI, facecolor=PAPER)
    FigureCanvasAgg(figure)
    left, top = (wide - columns * pitch + layout.edge) / 2 + layout.left, high - head
    for row, room, count, after in zip(rows, tall, above, below, strict=True):
        top -= layout.line * count + layout.over + room
        for c, panel in enumerate(row):
            box = ((left + c * pitch) / wide, top / high, wide_map / wide, room / high)
            axes = figure.add_axes(box, anchor="N")
            draw(axes, panel)
            _draw_words(axes, words(panel), count, bool(panel.title), layout)
            for i, line in enumerate(caption(panel)):
                y = -72.0 * (0.06 + layout.line * (i + 0.45))
                _write(axes, line, (0.0, 0.0), y, color=QUIET, size=9)
        top -= layout.line * after + layout.under
    down, size = layout.title
    style: dict[str, Any] = {"color": layout.ink, "size": size, "weight": "bold"}
    figure.text(0.5, 1.0 - down / high, title, ha="center", va="center", **style)
    return figure


def _draw_words(axes: Axes, words: list[str], count: int, has_title: bool, layout: Layout) -> None:
    """Write a title and a note above a map, at the top of the space for `count` lines."""
    x, first, half = layout.words
    for i, line in enumerate(words):
        is_title = has_title and i == 0
        _write(
            axes,
            line,
            (x, 1.0),
            72.0 * (first + layout.line * (count - i - half)),
            ha="center" if x else "left",
            color=layout.ink if is_title else QUIET,
            size=11 if is_title else 9.5,
            weight="bold" if is_title else "normal",
        )


def _write(axes: Axes, line: str, at: tuple[float, float], points: float, **style: Any) -> None:
    """Write a line `points` above the position `at`, which is in fractions of the map's sides."""
    near: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    axes.annotate(line, at, (0.0, points), va="center", **near, **style)


def mark(marker: str, size: float, fill: str, edge: str, width: float) -> Line2D:
    """Return a marker without a position, for maps and legends; `size` and `width` are in points.

    `width` is the width of its edge.
    """
    return Line2D([], [], ls="", marker=marker, ms=size, mfc=fill, mec=edge, mew=width)


def draw_key(
    figure: Figure, entries: Sequence[tuple[str, Any]], inches: float, **style: Any
) -> None:
    """Draw the legend (label, marker) below the maps, `inches` above the lower edge."""
    figure.legend(
        handles=[handle for _, handle in entries],
        labels=[word for word, _ in entries],
        loc="center",
        bbox_to_anchor=(0.5, inches / figure.get_figheight()),
        ncols=len(entries),
        frameon=False,
        borderpad=0,
        labelcolor=QUIET,
        **style,
    )


class FilmFigure:
    """A figure that renders the frames of a film, with a line of text at the top."""

    def __init__(self, wide: float, high: float, ink: str, down: float) -> None:
        self.wide, self.high = whole_blocks(wide, high, DPI)
        self.figure = Figure(figsize=(self.wide, self.high), dpi=DPI, facecolor=PAPER)
        self._canvas: Any = FigureCanvasAgg(self.figure)
        self._text = self.figure.text(
            0.5, 1.0 - down / self.high, "", ha="center", va="center", color=ink, size=12
        )

    def frame(self, words: str) -> Any:
        """Return the pixels [height, width, 3] of the figure with `words` as its text."""
        self._text.set_text(words)
        self._canvas.draw()
        return np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy()
