"""Maps and films of explored terrain: what is known of the ground, and the rover's path.

As in the paper's figure, saturation shows how well a height is known: full where its standard
deviation is 1 cm or less, grey where it is as large as before the first measurement, on a
logarithmic scale in between. Hue and lightness show the height, shading from the north-west shows
slopes. The same data gives the same pixels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, withStroke
from matplotlib.textpath import TextPath
from matplotlib.ticker import FuncFormatter, MaxNLocator

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs.heights import SHARP, entropy_reduction
from homeward.beliefs.refutation import learned
from homeward.files import read_json
from homeward.kinds.outcome import FACTS, is_stranded
from homeward.kinds.promises import states_of
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import area_of, cells_of, make, prior_of
from homeward.kinds.rover.outputs import distance_of, path_of
from homeward.kinds.rover.summary import GROUND_COLOURS
from homeward.kinds.rover.targets import targets_of
from homeward.kinds.rover.terrain import pinned, stands_of
from homeward.models import Moves
from homeward.plots.films import write_frames
from homeward.plots.map_figures import PAPER, QUIET, FilmFigure, Layout, draw_key, draw_maps, mark
from homeward.replay import Replay
from homeward.runs import Run, RunStatus
from homeward.runs.config import checked
from homeward.terrain import Cells
from homeward.terrain.cells import cells_with
from homeward.terrain.crossings import Crossings
from homeward.terrain.elevation import to_grid
from homeward.terrain.points import Target
from homeward.terrain.polygons import Area
from homeward.words import ENDS

INK, ROCK, WAY = "#1b2024", "#2b2f33", "#0b3d91"
TARGET = "#ffd400"
OBSTACLE, KEPT_OUT = "#7a0f3c", "#a8548c"
GROUND = LinearSegmentedColormap.from_list("ground", GROUND_COLOURS)
KEY = {"fontsize": 8.5, "handlelength": 1.4, "handletextpad": 0.5, "columnspacing": 1.4}
"""Style of the legend; lengths are in units of the font's size."""

ROW = 0.2  # height of a row of the legend, in inches
LAYOUT = Layout(
    INK,
    left=0.62,
    gap=0.3,
    over=0.08,
    under=0.5,
    foot=0.98,
    head=(0.6, 0.18),
    title=(0.32, 14.0),
    line=0.18,
    letters=14.5,
    words=(0.0, 0.07, 0.6),
    min_width=5.2,
)
PIXELS = 800  # a map is smoothed up to about this many pixels along its longer side
BAND = 64  # rows of a map that are coloured at a time, which saves memory
OBSTACLE_PIXELS = 2000  # masks are reduced to less than twice this many pixels per side
SPARSE = 0.2  # path segments per cell of the map; with more segments, lines are finer
SHADE = 0.42  # strength of the shading of slopes
MAX_FRAMES = 120  # maximum number of frames of a film
MARKS = {
    "start": ("o", 8.5, PAPER, INK, 2.0),
    "now": ("o", 7.0, INK, PAPER, 1.2),
    "lost": ("X", 13.0, INK, PAPER, 1.4),
    "base": ("p", 10.0, PAPER, INK, 1.8),
    "target": ("*", 12.0, PAPER, INK, 1.2),
    "reached": ("*", 12.0, TARGET, INK, 1.2),
}
"""Marker, size in points, fill, edge colour, and edge width in points."""

Signs: TypeAlias = list[list[tuple[str, Any]]]  # rows of a legend: labels and their markers


class Span(NamedTuple):
    """Range of a map's colours."""

    low: float  # m, height of the darkest colour
    high: float  # m, height of the lightest colour
    vague: float  # m, standard deviations of this size or more are grey


@dataclass(frozen=True, slots=True, eq=False)
class TerrainPanel:
    """One run on one terrain, up to some step, with title and note."""

    cells: Cells
    height: FloatArray  # [R, C] m, mean of the heights
    deviation: FloatArray  # [R, C] m, standard deviation of the heights
    path: Sequence[int]  # states, from the start to the current one
    title: str = ""
    note: str = ""  # below the title
    stranded: bool = False  # there is no way back
    area: Area = ()  # area to keep in, in map coordinates, if any
    bases: Sequence[int] = ()  # states of the bases
    crossings: Crossings | None = None  # paths between cells; None draws straight lines
    obstacles: BoolArray | None = None  # [rows, columns] mask of pixels
    kept_out: BoolArray | None = None  # [rows, columns] mask of pixels in the area to keep out of
    targets: Sequence[Target] = ()  # places to visit, in map coordinates


class Frame(NamedTuple):
    """One frame of a film: what was known after a number of steps."""

    step: int
    height: FloatArray  # [R, C] m, mean
    deviation: FloatArray  # [R, C] m, standard deviation


def draw_terrain(panels: Sequence[TerrainPanel], columns: int = 1, title: str = "") -> Figure:
    """Return a figure of runs in rows of `columns` maps, with a legend below."""
    beside = min(max(1, columns), len(panels))
    signs = _signs(panels, LAYOUT.width(beside, _side(panels, beside))) if panels else []
    figure = draw_maps(
        panels,
        columns,
        title,
        _with_room(signs),
        lambda columns: _side(panels, columns),
        lambda panel: _aspect(panel.cells),
        lambda axes, panel: _draw_map(axes, panel, _span(panels, panel)),
    )
    _draw_key(figure, panels, signs)
    return figure


def draw_run(run: Run, path: Path) -> None:
    """Write a picture of a run, up to its last step, to the file `path`."""
    config = checked(RoverConfig, run.config, str(run.directory))
    replay, end = Replay(run.directory), run.manifest.end
    steps = len(replay.log)
    known = replay.layers(steps, ("height", "uncertainty"))
    states = [replay.history.start, *replay.log.nexts]
    driven = distance_of(config, states) / 1000.0
    learned = _learned(run, config, replay)
    note = f"{learned:,.0f} nats learned in {steps:,} steps and {driven:,.1f} km"
    panel = _panel(
        config,
        states,
        getattr(replay.setup.world, "moves", None),  # unknown in a mission
        height=known["height"],
        deviation=known["uncertainty"],
        title=f"{cells_of(config).name}: {title_of(config)}",
        note=note if end is None else f"{note}; {ENDS[end]}",
    )
    draw_terrain([panel]).savefig(path)


def _panel(
    config: RoverConfig, states: Sequence[int], moves: Moves | None, **fields: Any
) -> TerrainPanel:
    """Return the panel of a run with its path, areas, bases and targets, and other `fields`.

    `moves` are the true moves; None if they are unknown.
    """
    ground, columns = pinned(config), cells_of(config).shape[1]
    return TerrainPanel(
        ground.cells,
        path=states,
        stranded=moves is not None and is_stranded(config, moves, states, columns),
        area=area_of(config) or (),
        bases=states_of(config.bases, columns),
        crossings=ground.crossings,
        obstacles=ground.obstacles,
        kept_out=ground.kept_out,
        targets=targets_of(config),
        **fields,
    )


def _learned(run: Run, config: RoverConfig, replay: Replay) -> float:
    """Return how many nats a run learned: from its summary, or else from a replay."""
    steps, summary = len(replay.log), run.directory / FACTS
    if run.status is RunStatus.FINISHED and summary.is_file():
        facts = read_json(summary)
        if facts.get("steps") == steps and isinstance(facts.get("entropy_reduction"), float):
            return float(facts["entropy_reduction"])
    return entropy_reduction(prior_of(config), replay.at(steps).belief)  # type: ignore[arg-type]


def film_run(run: Run, path: Path) -> None:
    """Write a film of a run to the file `path`; the steps are simulated again."""
    config = checked(RoverConfig, run.config, str(run.directory / "config.json"))
    cells, setup = cells_of(config), make(config)
    world: Any = setup.world
    states = path_of(run.records(), world.start)
    shown = set(np.linspace(0, len(states) - 1, MAX_FRAMES).round().astype(int).tolist())

    def frames() -> Iterator[Frame]:
        belief: Any = setup.belief.update(world.look())
        for step, record in enumerate([None, *run.records()]):
            if record is not None:
                belief, _ = learned(belief, world.act(record.action), record.move)
            if step in shown:
                deviation = np.sqrt(belief.variance).reshape(cells.shape)
                yield Frame(step, belief.height.reshape(cells.shape), deviation)

    first = {"height": cells.mean, "deviation": np.sqrt(cells.variance)}
    panel = _panel(config, states, world.moves, title=title_of(config), **first)
    write_frames(RunFilm(panel).pictures(frames()), path, 12.0)


def title_of(config: RoverConfig) -> str:
    """Return the name of a run's explorer, and its criteria."""
    if config.has_no_criterion():
        return config.explorer_name
    title = f"{config.explorer_name} at δ = {config.delta:g}"
    title += "" if config.of_the_run() else ", Algorithm 1"
    title += "" if config.back_within is None else f", back within {config.back_within} steps"
    return title + ("" if config.keep_in is None else ", kept in")


class RunFilm:
    """A film of a run; each frame updates only what changed.

    The last frame shows whether the rover is stranded.
    """

    def __init__(self, panel: TerrainPanel) -> None:
        self.panel = panel
        self._span = _span([panel], panel)
        side = 0.62 * _side([panel], 1)
        room = side * _aspect(panel.cells)
        beginning, wide = replace(panel, stranded=False), LAYOUT.left + side + LAYOUT.gap
        signs = _signs([beginning], wide)
        below = LAYOUT.under + _with_room(signs).foot
        self.film = film = FilmFigure(wide, room + 0.5 + below, INK, 0.28)
        wide, high = film.wide, film.high
        box = (LAYOUT.left / wide, below / high, side / wide, room / high)
        axes = film.figure.add_axes(box)
        self._image, self._end = _draw_map(axes, beginning, self._span)
        self._ways = [c for c in axes.collections if isinstance(c, LineCollection)]
        _draw_key(film.figure, [beginning], signs)

    def pictures(self, frames: Iterable[Frame]) -> Iterator[Any]:
        """Yield the pixels [height, width, 3] of each frame, one at a time."""
        panel = self.panel
        steps = len(panel.path) - 1
        lead = f"{panel.title} · " if panel.title else ""
        places = _places(panel.path, panel)
        for frame in frames:
            step = frame.step
            path = panel.path[: step + 1]
            shown = replace(panel, height=frame.height, deviation=frame.deviation, path=path)
            self._image.set_data(_paint(shown, self._span, PIXELS // 2))
            lines, *breadths = _ways(shown)
            for way, breadth in zip(self._ways, breadths, strict=True):
                way.set_segments(lines)
                way.set_linewidth(breadth.tolist())
            self._end.set_data(*places[step : step + 1].T)
            lost = panel.stranded and step == steps
            self._end.set_marker("X" if lost else "o")
            self._end.set_markersize(11.0 if lost else 7.0)
            yield self.film.frame(f"{lead}step {step}{', no way back' if lost else ''}")


def _draw_map(axes: Axes, panel: TerrainPanel, span: Span) -> tuple[AxesImage, Line2D]:
    """Draw the ground, the path and its marks; return the ground and the mark at the end."""
    cells, extent = panel.cells, _extent(panel.cells)
    image = axes.imshow(
        _paint(panel, span), extent=extent, origin="upper", interpolation="antialiased", zorder=0
    )
    if cells.blocked.any():
        cover = np.zeros((*cells.shape, 4))
        cover[cells.blocked] = to_rgba(ROCK)
        axes.imshow(cover, extent=extent, origin="upper", interpolation="nearest", zorder=1)
    for mask, colour in ((panel.kept_out, KEPT_OUT), (panel.obstacles, OBSTACLE)):
        if mask is None:
            continue
        times = max(1, max(mask.shape) // OBSTACLE_PIXELS)
        reduced = cells_with(mask, (times, times))
        cover = np.zeros((*reduced.shape, 4), np.float32)
        cover[reduced] = to_rgba(colour)
        axes.imshow(cover, extent=extent, origin="upper", interpolation="nearest", zorder=1.5)
    axes.set_xlim(*sorted(extent[:2]))
    axes.set_ylim(*sorted(extent[2:]))
    lines, *breadths = _ways(panel)
    for colour, breadth, z in zip((PAPER, WAY), breadths, (2, 3), strict=True):
        axes.add_collection(
            LineCollection(lines, colors=colour, linewidths=breadth, capstyle="round", zorder=z),
            autolim=False,
        )
    for ring in (ring for rings in panel.area for ring in rings):
        edge = _edge()
        edge.set(zorder=3.5)
        corners = np.array([to_grid(cells.transform, x, y) for x, y in ring])
        edge.set_data(*_on_axes(corners[:, 0], corners[:, 1], cells).T)
        axes.add_line(edge)
    end = mark(*MARKS["lost" if panel.stranded else "now"])
    places = _places(panel.path, panel)
    marks = [(mark(*MARKS["start"]), places[0], 5), (end, places[-1], 6)]
    marks += [(mark(*MARKS["base"]), place, 4) for place in _places(_bases(panel), panel)]
    visited = set(panel.path)
    for x, y, _ in panel.targets:
        column, row = to_grid(cells.transform, x, y)
        state = math.floor(row) * cells.shape[1] + math.floor(column)
        sign = mark(*MARKS["reached" if state in visited else "target"])
        marks.append((sign, _on_axes(np.array([column]), np.array([row]), cells)[0], 4))
    for sign, place, z in marks:
        sign.set(zorder=z, clip_on=False)
        sign.set_data(*place[:, None])
        axes.add_line(sign)
    _draw_scale(axes, cells)
    _draw_coordinates(axes, cells)
    return image, end


def _bases(panel: TerrainPanel) -> list[int]:
    """Return the states of the bases to mark; the start has its own mark."""
    return [state for state in dict.fromkeys(panel.bases) if state != panel.path[0]]


def _paint(panel: TerrainPanel, span: Span, pixels: int = PIXELS) -> FloatArray:
    """Return the colours [height, width, 3] of a map, smoothed to about `pixels` per side.

    A map with more cells than that is not smoothed.
    """
    rows, columns = panel.cells.shape
    times = max(1, min(16, pixels // max(rows, columns)))
    blocked = panel.cells.blocked
    height = np.where(blocked, panel.cells.mean, panel.height)
    deviation = np.where(blocked, span.vague, panel.deviation)
    vagueness = np.log(np.maximum(deviation, SHARP) / SHARP) / math.log(span.vague / SHARP)
    if times > 1:
        from scipy.ndimage import zoom

        height, vagueness = (
            zoom(array, times, order=order, mode="nearest", grid_mode=True)
            for array, order in ((height, 3), (vagueness, 1))
        )
    left, right, bottom, top = _extent(panel.cells)  # rows may go north, columns west
    high, wide = (side / times for side in panel.cells.size)
    down, across = math.copysign(high, top - bottom), math.copysign(wide, right - left)
    clear, shade = 1.0 - vagueness, _shade(height, down, across)
    bands = [slice(row, row + BAND) for row in range(0, len(height), BAND)]
    return np.concatenate([colours_of(height[b], clear[b], shade[b], span) for b in bands])


def colours_of(
    height: FloatArray, saturation: FloatArray, shade: FloatArray | float, span: Span
) -> FloatArray:
    """Return colours [..., 3] of heights in m, with saturations from 0 to 1 and shades −1 to 1."""
    share = (height - span.low) / max(span.high - span.low, 1e-9)
    full = GROUND(np.clip(share, 0.0, 1.0))[..., :3]
    light = (full @ np.array([0.299, 0.587, 0.114]))[..., None]
    grey = 0.30 + 0.62 * light
    clear = np.clip(saturation, 0.0, 1.0)[..., None]
    flat = grey + clear * (full - grey)
    turned = SHADE * np.asarray(shade)[..., None]
    lit: FloatArray = np.where(turned < 0.0, flat * (1.0 + turned), flat + (1.0 - flat) * turned)
    return lit


def _shade(height: FloatArray, down: float, across: float) -> FloatArray:
    """Return the shade of each pixel, from −1 (facing south-east) to 1 (facing north-west).

    `down` and `across` are the distances of rows and columns in m, negative if reversed.
    """
    rise = np.zeros(height.shape)
    if height.shape[1] > 1:
        rise += np.gradient(height, across, axis=1)
    if height.shape[0] > 1:
        rise += np.gradient(height, down, axis=0)
    steep = float(np.quantile(np.abs(rise), 0.9))
    return np.tanh(rise / steep) if steep > 0.0 else rise


def _ways(panel: TerrainPanel) -> tuple[list[FloatArray], FloatArray, FloatArray]:
    """Return n lines of the path, the widths [n] of their borders and their own widths [n].

    A line is an array [·, 2] of points (x, y); widths are in points. A line that was driven more
    often is broader. All lines are finer if there are many.
    """
    states = np.asarray(panel.path)
    pairs = np.column_stack([states[:-1], states[1:]])
    if panel.crossings is None:
        pairs.sort(axis=1)
    ends, often = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0, return_counts=True)
    fine = math.sqrt(min(1.0, SPARSE * panel.cells.mean.size / max(1, len(often))))
    breadth = fine * np.minimum(1.0 + 0.35 * np.log2(often), 2.6)
    if panel.crossings is None:
        lines = list(np.stack([_places(ends[:, i], panel) for i in (0, 1)], axis=1))
    else:
        routes = [panel.crossings.route(move)[0] / panel.crossings.sides for move in ends.tolist()]
        lines = [_on_axes(route[:, 1], route[:, 0], panel.cells) for route in routes]
    return lines, breadth + 1.6 * fine * fine, breadth


def _places(states: Sequence[int] | IntArray, panel: TerrainPanel) -> FloatArray:
    """Return the points (x, y) on the axes [n, 2] at which the rover stands in each cell."""
    row, column = stands_of(panel.cells, panel.crossings, states)
    return _on_axes(column, row, panel.cells)


def _on_axes(column: FloatArray, row: FloatArray, cells: Cells) -> FloatArray:
    """Return the points (x, y) on the axes [n, 2] of points of the grid, given in cells."""
    (rows, columns), (left, right, bottom, top) = cells.shape, _extent(cells)
    x = left + (right - left) * column / columns
    return np.column_stack([x, top + (bottom - top) * row / rows])


def _is_upright(cells: Cells) -> bool:
    """Return whether the rows of the grid are parallel to the x axis of the map."""
    _, b, _, d, _, _ = cells.transform
    return b == 0.0 and d == 0.0


def _extent(cells: Cells) -> tuple[float, float, float, float]:
    """Return (left, right, bottom, top) of the axes in map units; of a tilted grid, in m."""
    rows, columns = cells.shape
    if not _is_upright(cells):
        height, width = cells.size
        return 0.0, columns * width, 0.0, rows * height
    a, _, c, _, e, f = cells.transform
    return c, c + a * columns, f + e * rows, f


def _aspect(cells: Cells) -> float:
    """Return the height of a map over its width."""
    (rows, columns), (height, width) = cells.shape, cells.size
    return rows * height / (columns * width)


def _side(panels: Sequence[TerrainPanel], columns: int) -> float:
    """Return the width of a map in inches, such that no map is very tall."""
    wide = 8.0 if columns == 1 else 6.2 if columns == 2 else 4.6
    return float(min(wide, 8.0 / max(_aspect(p.cells) for p in panels)))


def _span(panels: Sequence[TerrainPanel], panel: TerrainPanel) -> Span:
    """Return the range of a panel's colours; it is the same for all panels of the same cells."""
    same = [other.height[~panel.cells.blocked] for other in panels if other.cells is panel.cells]
    ends = [np.quantile(known, (0.005, 0.995)).tolist() for known in same if known.size]
    lows, highs = zip(*ends, strict=True) if ends else ((0.0,), (1.0,))
    prior = np.sqrt(panel.cells.variance[~panel.cells.blocked])
    vague = max(float(np.median(prior)) if prior.size else 0.0, 2.0 * SHARP)
    return Span(min(lows), max(highs), vague)


def _edge() -> Line2D:
    edge = Line2D([], [], color=INK, lw=1.5, ls=(0, (5.0, 2.6)))
    edge.set_path_effects([withStroke(linewidth=3.4, foreground=PAPER), Normal()])
    return edge


def _draw_scale(axes: Axes, cells: Cells) -> None:
    """Draw a bar of a round number of metres in the lower left corner."""
    left, right, bottom, top = _extent(cells)
    unit = cells.unit if _is_upright(cells) else 1.0
    wide, high = abs(right - left), abs(top - bottom)
    aim = 0.22 * wide * unit
    power = 10.0 ** math.floor(math.log10(aim))
    metres = max(n * power for n in (1.0, 2.0, 5.0) if n * power <= aim)
    x = min(left, right) + 0.025 * wide
    y = min(bottom, top) + 0.035 * max(high, 0.5 * wide)
    bar = Line2D([x, x + metres / unit], [y, y], color=INK, lw=3.0, solid_capstyle="butt", zorder=7)
    bar.set_path_effects([withStroke(linewidth=6.0, foreground=PAPER)])
    axes.add_line(bar)
    axes.annotate(
        f"{metres / 1000:g} km" if metres >= 1000.0 else f"{metres:g} m",
        (x + 0.5 * metres / unit, y),
        (0.0, 3.5),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=INK,
        size=8.5,
        zorder=7,
        path_effects=[withStroke(linewidth=2.8, foreground=PAPER)],
    )


def _draw_coordinates(axes: Axes, cells: Cells) -> None:
    """Write the coordinates and the name of their system on the axes."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.tick_params(labelsize=8, colors=QUIET, length=3, width=0.7)
    for label in axes.get_yticklabels():
        label.set(rotation=90, va="center")
    for spine in axes.spines.values():
        spine.set(color=QUIET, linewidth=0.7)
    unit = "m" if cells.unit == 1.0 or not _is_upright(cells) else f"units of {cells.unit:g} m"
    if cells.is_own or not _is_upright(cells):
        axes.set_xlabel(f"{unit} from the corner", size=8, color=QUIET, labelpad=2)
        return
    name = cells.crs_name or "map coordinates without a coordinate system"
    axes.set_xlabel(f"x in {unit}, {name}", size=8, color=QUIET, labelpad=2)
    axes.set_ylabel(f"y in {unit}", size=8, color=QUIET, labelpad=2)


def _draw_key(figure: Figure, panels: Sequence[TerrainPanel], signs: Signs) -> None:
    """Draw the legend of colours and the rows of `signs` below the maps."""
    wide, high = (float(side) for side in figure.get_size_inches())
    span = _span(panels, panels[0])
    same = all(panel.cells is panels[0].cells for panel in panels)
    width, height, bottom = 1.7, 0.3, 0.47 + ROW * (len(signs) - 1)
    left = (0.5 * wide - 0.5 * width) / wide
    axes = figure.add_axes((left, bottom / high, width / wide, height / high))
    heights, saturations = np.meshgrid(
        np.linspace(span.low, span.high, 120), np.linspace(1.0, 0.0, 30)
    )
    ground = colours_of(heights, saturations, 0.0, span)
    axes.imshow(ground, aspect="auto", extent=(0.0, 1.0, 0.0, 1.0))
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color=QUIET, linewidth=0.5)
    words: dict[str, Any] = {"color": QUIET, "size": 8.5, "va": "center"}
    low, top = (f"{span.low:,.0f} m", f"{span.high:,.0f} m") if same else ("low", "high")
    grey = f"to {100.0 * span.vague:.0f} cm or worse" if same else "as little as at first"
    for x, y, text, side in (
        (0.0, -0.28, low, "left"),
        (0.5, -0.28, "height", "center"),
        (1.0, -0.28, top, "right"),
        (-0.03, 0.85, "known to 1 cm", "right"),
        (-0.03, 0.15, grey, "right"),
    ):
        axes.text(x, y, text, ha=side, **words)
    for row, shown in enumerate(reversed(signs)):
        draw_key(figure, shown, 0.14 + ROW * row, **KEY)


def _with_room(signs: Signs) -> Layout:
    """Return the layout with room for the rows of `signs`."""
    return LAYOUT._replace(foot=LAYOUT.foot + ROW * max(0, len(signs) - 1))


def _signs(panels: Sequence[TerrainPanel], wide: float) -> Signs:
    """Return the markers of the maps with their labels, in rows that fit into `wide` inches."""
    driven = any(panel.crossings is not None for panel in panels)
    closed = "not entered: no data, or too steep" if driven else "no data, not entered"
    square = partial(Rectangle, (0, 0), 1, 1)
    signs: list[tuple[Callable[[TerrainPanel], object], str, Any]] = [
        (lambda p: True, "path, broader where taken often", Line2D([], [], color=WAY, lw=1.6)),
        (lambda p: True, "start", mark(*MARKS["start"])),
        (lambda p: not p.stranded, "end", mark(*MARKS["now"])),
        (lambda p: p.stranded, "end: no way back to the start", mark(*MARKS["lost"])),
        (lambda p: p.area, "edge to keep within", _edge()),
        (_bases, "base", mark(*MARKS["base"])),
        (lambda p: p.targets, "target reached", mark(*MARKS["reached"])),
        (lambda p: p.targets, "target not reached", mark(*MARKS["target"])),
        (lambda p: p.cells.blocked.any(), closed, square(color=ROCK)),
        (lambda p: p.obstacles is not None, "obstacle", square(color=OBSTACLE)),
        (lambda p: p.kept_out is not None, "kept out of", square(color=KEPT_OUT)),
    ]
    size = KEY["fontsize"]
    beside = size * sum(KEY[name] for name in ("handlelength", "handletextpad", "columnspacing"))
    rows, used = Signs(), math.inf
    for shows, label, handle in signs:
        if any(map(shows, panels)):
            points = beside + float(TextPath((0.0, 0.0), label, size=size).get_extents().width)
            if used + points > 72.0 * wide:
                rows.append([])
                used = 0.0
            used += points
            rows[-1].append((label, handle))
    return rows
