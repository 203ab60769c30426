"""Pictures and films of runs in grid worlds.

As in the paper's figure, the size and colour of a square show its height. Unseen squares are grey,
walls are dark, and the path is a line. The same data gives the same pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch, Rectangle

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs.levels import LEVELS, UNKNOWN, WALL
from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import map_of
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import (
    GROUND,
    INK,
    UNSEEN_COLOUR,
    HeightGridWorld,
    colour_of,
    side_of,
)
from homeward.kinds.outcome import is_stranded
from homeward.plots.films import write_frames
from homeward.plots.map_figures import PAPER, FilmFigure, Layout, draw_key, draw_maps, mark
from homeward.replay import Replay
from homeward.runs import Run
from homeward.runs.config import checked
from homeward.words import ENDS

WARNING, TAKEN = "#c4381d", "#1261b8"  # colours of warnings, and of the move that was taken
LAYOUT = Layout(INK, edge=0.34)
MARKS = {
    "start": ("o", 3.5, 1.0, PAPER, INK, 0.22),
    "now": ("o", 4.0, 1.0, INK, PAPER, 0.12),
    "lost": ("X", 5.0, 1.7, WARNING, PAPER, 0.09),
}
"""Marker, minimum size in points, factor on the size, fill, edge colour, edge width / size."""


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One run on one map up to a step, with title, note and caption."""

    grid: HeightMap
    seen: BoolArray  # [S] mask of the squares to show; others are grey
    path: Sequence[int]  # states, from the start to the current one
    title: str = ""
    note: str = ""
    refused: tuple[int, int] | None = None  # a move (from, to) that the planner calls unsafe
    stranded: bool = False  # the explorer can't get back to the start
    taken: tuple[int, int] | None = None  # a move (from, to) to highlight
    doubt: int | None = None  # an unseen square that the way back must cross, marked by "?"
    caption: str = ""  # text below the map


def draw_panels(panels: Sequence[Panel], columns: int = 3, title: str = "") -> Figure:
    """Return a figure of runs in rows of `columns` maps, with a legend below."""
    figure = draw_maps(
        panels, columns, title, LAYOUT, lambda columns: _side(panels), _aspect, _draw_panel
    )
    _draw_key(figure, panels)
    return figure


def draw_run(run: Run, path: Path) -> None:
    """Write a picture of a run, up to its last step, to the file `path`."""
    if run.is_mission:
        draw_panels([_reported(run)], 1).savefig(path)
        return
    config, world, states = _walk(run)
    end = run.manifest.end
    note = f"{world.seen.mean():.0%} seen in {len(states) - 1} steps"
    note = note if end is None else f"{note}: {ENDS[end]}"
    known = world.seen | world.grid.walls
    stranded = is_stranded(config, world.moves, states, world.grid.shape[1])
    panel = Panel(world.grid, known, states, _title(config), note, stranded=stranded)
    draw_panels([panel], 1).savefig(path)


def _reported(run: Run) -> Panel:
    """Return the panel of a mission, which shows the heights that were reported."""
    config = checked(GridConfig, run.config, str(run.directory / "config.json"))
    replay = Replay(run.directory)
    belief: Any = replay.at(len(replay.log)).belief
    seen = belief.known != UNKNOWN
    heights = np.where(seen, belief.known, LEVELS).reshape(belief.shape)
    states = [replay.history.start, *replay.log.nexts]
    note = f"{seen.mean():.0%} known after {len(replay.log)} steps"
    return Panel(HeightMap(heights, states[0]), seen, states, _title(config), note)


def film_run(run: Run, path: Path) -> None:
    """Write a film of a run, with one frame per step."""
    config, world, states = _walk(run)
    write_film(world.grid, states, path, title=_title(config))


def _walk(run: Run) -> tuple[GridConfig, HeightGridWorld, list[int]]:
    """Return the configuration, the world after the recorded steps, and the path."""
    config = checked(GridConfig, run.config, str(run.directory / "config.json"))
    world = HeightGridWorld(map_of(config), stay=config.stay)
    states = [world.state]
    for record in run.records():
        world.act(record.action)
        states.append(world.state)
    return config, world, states


def _title(config: GridConfig) -> str:
    return (
        f"safe at δ = {config.delta:g}" if config.explorer_name == "safe" else config.explorer_name
    )


def write_film(
    grid: HeightMap, path: Sequence[int], out: Path, *, fps: float = 8.0, title: str = ""
) -> None:
    """Write the film of a path on a map, one frame per step, to a .gif or .mp4 file, atomically."""
    write_frames(RunFilm(Panel(grid, grid.walls, path, title)).frames(), out, fps)


class RunFilm:
    """A film of a run; each frame redraws only what changed.

    The mask `seen` of the panel marks the squares that are known before the first step.
    """

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        side = _side([panel])
        self.film = film = FilmFigure(max(side + 0.5, 3.2), side * _aspect(panel) + 0.85, INK, 0.35)
        wide, high = film.wide, film.high
        axes = film.figure.add_axes((0.25 / wide, 0.2 / high, 1 - 0.5 / wide, 1 - 0.85 / high))
        self._tiles, self._squares = _draw_ground(axes, panel.grid, np.arange(panel.grid.states))
        self._line, self._here = _draw_path(axes, panel)

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
            yield self.film.frame(f"{lead}step {step} · {count} squares seen")


def _draw_panel(axes: Axes, panel: Panel) -> None:
    _draw_ground(axes, panel.grid, np.flatnonzero(panel.seen))
    _draw_path(axes, panel)
    if panel.refused is not None:
        ends = _places(panel.refused, panel.grid)
        _draw_move(axes, ends, WARNING)
        cross = 0.16 * np.array([[-1, -1], [1, 1], [np.nan, np.nan], [-1, 1], [1, -1]])
        cross += ends[0] + 0.5 * (ends[1] - ends[0])
        axes.add_line(Line2D(*cross.T, color=WARNING, lw=2.4, solid_capstyle="round", zorder=7))
    if panel.taken is not None:
        _draw_move(axes, _places(panel.taken, panel.grid), TAKEN)
    if panel.doubt is not None:
        x, y = _places([panel.doubt], panel.grid)[0].tolist()
        axes.text(x, y, "?", ha="center", va="center", color=WARNING, size=15, weight="bold")


def _draw_ground(
    axes: Axes, grid: HeightMap, states: IntArray
) -> tuple[PatchCollection, PatchCollection]:
    """Draw `states` as squares, sized and coloured by height; return backgrounds and squares."""
    rows, columns = grid.shape
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5), aspect="equal")
    axes.set_axis_off()
    axes.add_patch(Rectangle((-0.5, -0.5), columns, rows, facecolor=UNSEEN_COLOUR, zorder=0))
    tiles: list[Patch] = []
    squares: list[Patch] = []
    heights = grid.heights.ravel()[states].tolist()
    for state, height in zip(states.tolist(), heights, strict=True):
        row, column = divmod(state, columns)
        side = side_of(height)
        tiles.append(Rectangle((column - 0.5, row - 0.5), 1.0, 1.0))
        bent = f"round,pad=0,rounding_size={0.0 if height == WALL else 0.18 * side:.4f}"
        corner = (column - side / 2, row - side / 2)
        squares.append(FancyBboxPatch(corner, side, side, boxstyle=bent))
    under = [_tile_colour(height) for height in heights]
    colours = [colour_of(height) for height in heights]
    below = PatchCollection(tiles, facecolor=under, edgecolor="none", antialiased=False, zorder=1)
    above = PatchCollection(squares, facecolor=colours, edgecolor="none", zorder=2)
    axes.add_collection(below)
    axes.add_collection(above)
    return below, above


def _tile_colour(height: int) -> str:
    """Return the background colour of a square; a wall is wholly in this colour."""
    return colour_of(WALL) if height == WALL else GROUND


def _draw_path(axes: Axes, panel: Panel) -> tuple[Line2D, Line2D]:
    """Draw the path and its marks; return the line of the path and the mark at its end."""
    inches = float(axes.get_figure(root=True).get_figwidth())  # type: ignore[union-attr]
    unit = 72.0 * inches * axes.get_position().width / panel.grid.shape[1]  # points per square
    places = _places(panel.path, panel.grid)
    colour = WARNING if panel.stranded else INK
    line = Line2D(*places.T, color=colour, lw=max(1.0, 0.085 * unit), zorder=3)
    line.set(solid_joinstyle="round", solid_capstyle="round")
    start = _mark("start", 0.36 * unit)
    here = _mark("lost" if panel.stranded else "now", 0.3 * unit)
    for sign, place, z in ((start, places[:1], 4), (here, places[-1:], 5)):
        sign.set(zorder=z)
        sign.set_data(*place.T)
    for artist in (line, start, here):
        axes.add_line(artist)
    return line, here


def _mark(name: str, points: float) -> Line2D:
    """Return the mark `name`, scaled to a size of about `points`."""
    marker, least, times, fill, edge, width = MARKS[name]
    size = max(least, times * points)
    return mark(marker, size, fill, edge, width * size)


def _draw_move(axes: Axes, ends: FloatArray, colour: str) -> None:
    along = ends[1] - ends[0]
    first, last = tuple(ends[0] + 0.22 * along), tuple(ends[0] + along)
    head = "-|>,head_length=.45,head_width=.24"
    style: dict[str, Any] = {"mutation_scale": 16, "shrinkA": 0, "shrinkB": 0, "lw": 2.0}
    axes.add_patch(FancyArrowPatch(first, last, arrowstyle=head, color=colour, zorder=6, **style))


def _draw_key(figure: Figure, panels: Sequence[Panel]) -> None:
    """Write the legend of sizes, colours and marks below the panels."""
    square = partial(Line2D, [], [], ls="", marker="s", mew=0)
    levels = max([LEVELS, *(int(p.grid.heights.max()) for p in panels)])
    scale = LEVELS / levels  # so that more levels fit into the same width
    squares = [
        (str(h) if h > 1 else f"height {h}", square(ms=15 * scale * side_of(h), color=colour_of(h)))
        for h in range(1, levels + 1)
    ]
    for word, value in (("unseen", UNKNOWN), ("wall", WALL)):
        squares.append((word, square(ms=13 * scale, color=colour_of(value))))
    signs = [("start", _mark("start", 9.0)), ("now", _mark("now", 8.0))]
    if any(panel.stranded for panel in panels):
        signs.append(("no way back to the start", _mark("lost", 6.0)))
    if any(panel.refused is not None for panel in panels):
        cross = Line2D([], [], ls="", marker="x", ms=8, color=WARNING, mew=2.4)
        signs.append(("planner calls it unsafe", cross))
    if any(panel.taken is not None for panel in panels):
        signs.append(("move taken", Line2D([], [], color=TAKEN, lw=2.0)))
    room = {"fontsize": 9.5, "handlelength": 1.2, "handletextpad": 0.4, "columnspacing": 1.2}
    size = max(7.5, 9.5 * scale)
    draw_key(figure, squares, 0.44, **{**room, "fontsize": size, "columnspacing": 1.2 * scale**2})
    draw_key(figure, signs, 0.18, **room)


def _places(states: Sequence[int], grid: HeightMap) -> FloatArray:
    """Return the coordinates x, y [n, 2] of the middles of squares."""
    row, column = np.divmod(np.asarray(states), grid.shape[1])
    return np.column_stack([column, row]).astype(np.float64)


def _side(panels: Sequence[Panel]) -> float:
    """Return the width of a map in inches; wide enough for its squares, and no map is very tall."""
    wide = np.clip(0.34 * max(p.grid.shape[1] for p in panels), 2.6, 7.0)
    return float(min(wide, 8.0 / max(_aspect(p) for p in panels)))


def _aspect(panel: Panel) -> float:
    rows, columns = panel.grid.shape
    return rows / columns
