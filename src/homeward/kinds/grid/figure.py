"""Runs on grids of heights, as pictures and as films.

As in the paper's figure, the size and colour of a square say its height, what is unseen is grey and
the path is a line. Walls are dark. All that is drawn is handed in; the same data gives the same
pixels.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from homeward.arrays import index, indices, marks
from homeward.beliefs.levels import LEVELS, UNKNOWN, WALL, shape_of
from homeward.errors import InvalidProblemError
from homeward.kinds.grid.world import GROUND, INK, UNSEEN_COLOUR, colour_of, side_of
from homeward.plots.films import whole_blocks, write_frames

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.kinds.grid.maps import HeightMap

QUIET, PAPER, WARNING, LIKED = "#4d565e", "#ffffff", "#c4381d", "#1261b8"
DPI = 120
GAP, KEY = 0.34, 0.62  # inches, between panels and for the key below them
LINE = 0.17  # inches, one line of words
LETTERS = 13.5  # to an inch


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One run on one map, up to some moment, and what to say of it."""

    grid: HeightMap
    seen: BoolArray  # [S] the squares to show; others stay grey
    path: Sequence[int]  # states, from the start to where the explorer is
    title: str = ""
    note: str = ""
    refused: tuple[int, int] | None = None  # a move, from and to, that was held to be unsafe
    stranded: bool = False  # there is no way back
    taken: tuple[int, int] | None = None  # a move, from and to, that is to stand out
    doubt: int | None = None  # an unseen square that all depends on
    caption: str = ""  # below the panel

    def __post_init__(self) -> None:
        error = InvalidProblemError
        states = self.grid.states
        object.__setattr__(self, "seen", marks(self.seen, states, error))
        shape = shape_of(self.path, "the states of a path", "n", error)
        if not shape[0]:
            raise error("a path is empty; it begins with the start")
        path = indices(np.asarray(self.path), "the path", shape, (0, states), "n", error)
        object.__setattr__(self, "path", tuple(path.tolist()))
        for name, move in (("refused", self.refused), ("taken", self.taken)):
            if move is None:
                continue
            ends = indices(np.asarray(move), f"the {name} move", (2,), (0, states), "n", error)
            if ends[0] == ends[1]:
                raise error(f"the {name} move leads from s={ends[0]} to itself")
        if self.doubt is not None:
            index(self.doubt, states, "the doubted square", error)


def draw_panels(panels: Sequence[Panel], columns: int = 3, title: str = "") -> Figure:
    """Draw runs side by side, row after row, with the key to what is drawn below."""
    if not panels:
        raise InvalidProblemError("there is no panel to draw")
    columns = min(max(1, index(columns, 1000, "the columns", InvalidProblemError)), len(panels))
    lines = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    side = _side(panels)
    tall = [side * max(p.grid.shape[0] / p.grid.shape[1] for p in line) for line in lines]
    said = [max(len(_words(p, side)) for p in line) for line in lines]  # lines of words
    below = [max(len(_caption(p, side)) for p in line) for line in lines]
    head = 0.62 if title else 0.22
    wide = max(columns * (side + GAP) + GAP, 4.6)
    spoken = LINE * (sum(said) + sum(below))
    high = head + sum(tall) + spoken + (GAP + 0.06) * len(lines) - GAP + KEY + 0.1
    figure = Figure(figsize=(wide, high), dpi=DPI, facecolor=PAPER)
    FigureCanvasAgg(figure)
    left, top = (wide - columns * (side + GAP) + GAP) / 2, high - head
    for line, room, count, after in zip(lines, tall, said, below, strict=True):
        top -= LINE * count + 0.06 + room
        for c, panel in enumerate(line):
            box = ((left + c * (side + GAP)) / wide, top / high, side / wide, room / high)
            axes = figure.add_axes(box, anchor="N")
            _draw_panel(axes, panel, _words(panel, side), count)
            _draw_caption(axes, _caption(panel, side))
        top -= LINE * after + GAP
    figure.text(
        0.5, 1.0 - 0.34 / high, title, ha="center", va="center", color=INK, size=15, weight="bold"
    )
    _draw_key(figure, panels)
    return figure


def write_film(
    grid: HeightMap,
    path: Sequence[int],
    out: Path,
    *,
    fps: float = 8.0,
    title: str = "",
    walls_known: bool = True,
) -> None:
    """Write the film of a run, a step a frame, as .gif or .mp4: the whole file or none.

    However long the run, no more than a few frames are held at a time.
    """
    known = grid.walls if walls_known else np.zeros(grid.states, dtype=bool)
    write_frames(Scene(Panel(grid, known, path, title)).frames(), out, fps)


class Scene:
    """A run as moving pictures, in which only what changes is set anew.

    The panel's `seen` is what was known before the first step; the rest is seen on the way.
    """

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        rows, columns = panel.grid.shape
        side = _side([panel])
        wide, high = whole_blocks(max(side + 0.5, 3.2), side * rows / columns + 0.85, DPI)
        self.figure = Figure(figsize=(wide, high), dpi=DPI, facecolor=PAPER)
        self._canvas: Any = FigureCanvasAgg(self.figure)
        axes = self.figure.add_axes((0.25 / wide, 0.2 / high, 1 - 0.5 / wide, 1 - 0.85 / high))
        self._tiles, self._squares = _draw_ground(axes, panel.grid, np.arange(panel.grid.states))
        self._line, _, self._here = _draw_path(axes, panel)
        self._text = self.figure.text(
            0.5, 1 - 0.35 / high, "", ha="center", va="center", color=INK, size=12
        )

    def frames(self) -> Iterator[Any]:
        """Yield the pixels [height, width, 3] of each step, from the start on."""
        grid, path = self.panel.grid, self.panel.path
        places = _places(path, grid)
        seen = self.panel.seen.copy()
        heights = grid.heights.ravel().tolist()
        colours = to_rgba_array([colour_of(height) for height in heights])
        ground = to_rgba_array([_tile_colour(height) for height in heights])
        unseen = to_rgba_array(UNSEEN_COLOUR)
        lead = f"{self.panel.title} · " if self.panel.title else ""
        for step, state in enumerate(path):
            seen[grid.around(state)] = True
            tiles: Any = np.where(seen[:, None], ground, unseen)
            squares: Any = np.where(seen[:, None], colours, unseen)
            self._tiles.set_facecolor(tiles)
            self._squares.set_facecolor(squares)
            self._line.set_data(*places[: step + 1].T)
            self._here.set_data(*places[step : step + 1].T)
            count = int((seen & ~grid.walls).sum())
            self._text.set_text(f"{lead}step {step} · {count} squares seen")
            self._canvas.draw()
            yield np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy()


def _draw_panel(axes: Axes, panel: Panel, words: list[str], count: int) -> None:
    """Draw one panel, with its words at the top of the room for `count` lines above it."""
    _draw_ground(axes, panel.grid, np.flatnonzero(panel.seen))
    _draw_path(axes, panel)
    if panel.refused is not None:
        _draw_refused(axes, _places(panel.refused, panel.grid))
    if panel.taken is not None:
        _draw_move(axes, _places(panel.taken, panel.grid), LIKED)
    if panel.doubt is not None:
        x, y = _places([panel.doubt], panel.grid)[0].tolist()
        axes.text(x, y, "?", ha="center", va="center", color=WARNING, size=15, weight="bold")
    for i, line in enumerate(words):
        is_title = i == 0 and bool(panel.title)
        axes.annotate(
            line,
            (0.5, 1.0),
            (0.0, 72.0 * (0.06 + LINE * (count - i - 0.55))),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="center",
            va="center",
            color=INK if is_title else QUIET,
            size=11 if is_title else 9.5,
            weight="bold" if is_title else "normal",
        )


def _draw_caption(axes: Axes, lines: list[str]) -> None:
    """Write the lines of a caption below a panel, from its left edge."""
    for i, line in enumerate(lines):
        axes.annotate(
            line,
            (0.0, 0.0),
            (0.0, -72.0 * (0.06 + LINE * (i + 0.45))),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            color=QUIET,
            size=9,
        )


def _draw_ground(
    axes: Axes, grid: HeightMap, states: IntArray
) -> tuple[PatchCollection, PatchCollection]:
    """Draw the map, and on it squares of the sizes and colours of their heights."""
    rows, columns = grid.shape
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), aspect="equal")
    axes.set_axis_off()
    axes.add_patch(Rectangle((-0.5, -0.5), columns, rows, facecolor=UNSEEN_COLOUR, zorder=0))
    tiles: list[Patch] = []
    squares: list[Patch] = []
    colours = []
    for state in states.tolist():
        height = int(grid.heights.flat[state])
        row, column = divmod(state, columns)
        side = side_of(height)
        tiles.append(Rectangle((column - 0.5, row - 0.5), 1.0, 1.0))
        corners = 0.0 if height == WALL else 0.18 * side
        corner = (column - side / 2, row - side / 2)
        bent = f"round,pad=0,rounding_size={corners:.4f}"
        squares.append(FancyBboxPatch(corner, side, side, boxstyle=bent))
        colours.append(colour_of(height))
    under = [_tile_colour(height) for height in grid.heights.ravel()[states].tolist()]
    below = PatchCollection(tiles, facecolor=under, edgecolor="none", antialiased=False, zorder=1)
    above = PatchCollection(squares, facecolor=colours, edgecolor="none", zorder=2)
    axes.add_collection(below)
    axes.add_collection(above)
    return below, above


def _tile_colour(height: int) -> str:
    """Give the colour of what a square lies on; a wall fills all of it."""
    return colour_of(WALL) if height == WALL else GROUND


def _draw_path(axes: Axes, panel: Panel) -> tuple[Line2D, Line2D, Line2D]:
    """Draw the path, its start and where the explorer is."""
    inches = float(axes.get_figure(root=True).get_figwidth())  # type: ignore[union-attr]
    unit = 72.0 * inches * axes.get_position().width / panel.grid.shape[1]  # points to a square
    places = _places(panel.path, panel.grid)
    colour = WARNING if panel.stranded else INK
    line = Line2D(*places.T, color=colour, lw=max(1.0, 0.085 * unit), zorder=3)
    line.set_solid_joinstyle("round")
    line.set_solid_capstyle("round")
    start, here = _start(0.36 * unit), (_lost if panel.stranded else _now)(0.3 * unit)
    start.set(zorder=4)
    here.set(zorder=5)
    start.set_data(*places[:1].T)
    here.set_data(*places[-1:].T)
    for artist in (line, start, here):
        axes.add_line(artist)
    return line, start, here


def _start(points: float) -> Line2D:
    size = max(3.5, points)
    return Line2D([], [], ls="", marker="o", ms=size, mfc=PAPER, mec=INK, mew=0.22 * size)


def _now(points: float) -> Line2D:
    size = max(4.0, points)
    return Line2D([], [], ls="", marker="o", ms=size, mfc=INK, mec=PAPER, mew=0.12 * size)


def _lost(points: float) -> Line2D:
    size = max(5.0, 1.7 * points)
    return Line2D([], [], ls="", marker="X", ms=size, mfc=WARNING, mec=PAPER, mew=0.09 * size)


def _draw_refused(axes: Axes, ends: FloatArray) -> None:
    """Draw a move that was not made: an arrow, crossed out."""
    along = ends[1] - ends[0]
    _draw_move(axes, ends, WARNING)
    cross = np.array([[-0.16, -0.16], [0.16, 0.16], [np.nan, np.nan], [-0.16, 0.16], [0.16, -0.16]])
    cross += ends[0] + 0.5 * along
    axes.add_line(Line2D(*cross.T, color=WARNING, lw=2.4, solid_capstyle="round", zorder=7))


def _draw_move(axes: Axes, ends: FloatArray, colour: str) -> None:
    """Draw a move as an arrow."""
    along = ends[1] - ends[0]
    axes.add_patch(
        FancyArrowPatch(
            tuple(ends[0] + 0.22 * along),
            tuple(ends[0] + along),
            arrowstyle="-|>,head_length=.45,head_width=.24",
            mutation_scale=16,
            shrinkA=0,
            shrinkB=0,
            lw=2.0,
            color=colour,
            zorder=6,
        )
    )


def _draw_key(figure: Figure, panels: Sequence[Panel]) -> None:
    """Say below the panels what sizes, colours and marks mean."""
    height = figure.get_figheight()
    squares = [
        (str(h), Line2D([], [], ls="", marker="s", ms=15 * side_of(h), color=colour_of(h), mew=0))
        for h in range(1, LEVELS + 1)
    ]
    squares[0] = (f"height {squares[0][0]}", squares[0][1])
    for word, value in (("unseen", UNKNOWN), ("wall", WALL)):
        square = Line2D([], [], ls="", marker="s", ms=13, color=colour_of(value), mew=0)
        squares.append((word, square))
    signs = [("start", _start(9.0)), ("now", _now(8.0))]
    if any(panel.stranded for panel in panels):
        signs.append(("no way back to the start", _lost(6.0)))
    if any(panel.refused is not None for panel in panels):
        cross = Line2D([], [], ls="", marker="x", ms=8, color=WARNING, mew=2.4)
        signs.append(("held to be unsafe", cross))
    if any(panel.taken is not None for panel in panels):
        signs.append(("that move, taken", Line2D([], [], color=LIKED, lw=2.0)))
    for inches, entries in ((0.44, squares), (0.18, signs)):
        key = figure.legend(
            handles=[handle for _, handle in entries],
            labels=[word for word, _ in entries],
            loc="center",
            bbox_to_anchor=(0.5, inches / height),
            ncols=len(entries),
            frameon=False,
            borderpad=0,
            fontsize=9.5,
            handlelength=1.2,
            handletextpad=0.4,
            columnspacing=1.2,
            labelcolor=QUIET,
        )
        key.set_in_layout(False)


def _places(states: Sequence[int], grid: HeightMap) -> FloatArray:
    """Give the middles [n, 2] of squares, x and y."""
    row, column = np.divmod(np.asarray(states), grid.shape[1])
    return np.column_stack([column, row]).astype(np.float64)


def _side(panels: Sequence[Panel]) -> float:
    """Give how wide a panel is, in inches: so that squares can be seen and none is very tall."""
    wide = np.clip(0.34 * max(p.grid.shape[1] for p in panels), 2.6, 7.0)
    tallest = max(p.grid.shape[0] / p.grid.shape[1] for p in panels)
    return float(min(wide, 8.0 / tallest))


def _words(panel: Panel, side: float) -> list[str]:
    """Give the lines above a panel of that width."""
    note = wrap(panel.note, max(12, int(LETTERS * side)), break_on_hyphens=False)
    return [panel.title, *note] if panel.title else note


def _caption(panel: Panel, side: float) -> list[str]:
    """Give the lines below a panel of that width."""
    return wrap(panel.caption, max(12, int(1.12 * LETTERS * side)), break_on_hyphens=False)
