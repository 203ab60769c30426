"""Maps of explored terrain: what is known of the ground, and the rover's path.

As in the paper's figure, saturation shows how well a height is known: full where its standard
deviation is 1 cm or less, grey where it is as large as before the first measurement, on a
logarithmic scale in between. Hue and lightness show the height, shading from the north-west shows
slopes. A line is the path, broader where taken more often; a broken line surrounds the area to keep
in. The same data gives the same pixels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.patheffects import Normal, withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator

from homeward.arrays import index, indices, numbers, own
from homeward.beliefs.heights import SHARP, entropy_reduction
from homeward.errors import InvalidProblemError
from homeward.kinds.promises import is_stranded
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import area_of, cells_of, prior_of
from homeward.kinds.rover.outputs import distance_of
from homeward.plots.films import write_frames
from homeward.plots.maps import (
    PAPER,
    QUIET,
    FilmFigure,
    Layout,
    checked_path,
    draw_key,
    draw_maps,
    mark,
)
from homeward.replay import Replay
from homeward.runs.config import checked
from homeward.terrain.elevation import to_grid
from homeward.words import ENDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from homeward.arrays import FloatArray, IntArray
    from homeward.runs import Run
    from homeward.terrain import Cells
    from homeward.terrain.polygons import Area

INK, ROCK, WAY = "#1b2024", "#2b2f33", "#0b3d91"
GROUND = LinearSegmentedColormap.from_list(
    "ground", ["#4f1906", "#933710", "#d0651a", "#ef9433", "#ffcb6b"]
)
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
PIXELS = 800
"""A map is smoothed up to about this many pixels along its longer side."""

SPARSE = 0.2
"""Path segments per cell of the map above which they are drawn finer."""

SHADE = 0.42
"""Strength of the shading of slopes."""


class Span(NamedTuple):
    """Range of a map's colours."""

    low: float  # m, height of the darkest colour
    high: float  # m, height of the lightest colour
    vague: float  # m, standard deviation from which on colours are grey


@dataclass(frozen=True, slots=True, eq=False)
class TerrainPanel:
    """One run on one terrain, up to some step, with its texts."""

    cells: Cells
    height: FloatArray  # [R, C] m, mean of the heights
    deviation: FloatArray  # [R, C] m, its standard deviation
    path: Sequence[int]  # states (row · columns + column), from the start to where the rover is
    title: str = ""
    note: str = ""  # below the title
    stranded: bool = False  # there is no way back
    home: int | None = None  # fixed place to return to, if any
    area: Area = ()  # area to keep in, in map coordinates, if any
    bases: Sequence[int] = ()  # states to be able to return to

    def __post_init__(self) -> None:
        error = InvalidProblemError
        shape = self.cells.shape
        states = shape[0] * shape[1]
        for name in ("height", "deviation"):
            given = getattr(self, name)
            array = numbers(given, f"the {name}", shape, error)
            faulty = ~np.isfinite(array) | ((name == "deviation") & (array < 0.0))
            faulty &= ~self.cells.blocked
            if faulty.any():
                row, column = (int(i) for i in np.argwhere(faulty)[0])
                raise error(f"the {name} of cell ({row}, {column}) is {array[row, column]:g} m")
            object.__setattr__(self, name, own(array, given))
        object.__setattr__(self, "path", checked_path(self.path, states))
        if self.home is not None:
            index(self.home, states, "home", error)
        bases = np.asarray(self.bases, np.int64)
        indices(bases, "a base", bases.shape, (0, states), "n", error)
        object.__setattr__(self, "bases", tuple(bases.tolist()))


class Frame(NamedTuple):
    """One frame of a film: what was known after a number of steps."""

    step: int
    height: FloatArray  # [R, C] m
    deviation: FloatArray  # [R, C] m


def draw_terrain(panels: Sequence[TerrainPanel], columns: int = 1, title: str = "") -> Figure:
    """Draw runs side by side, row after row, with a legend below."""
    figure = draw_maps(
        panels,
        columns,
        title,
        LAYOUT,
        lambda columns: _side(panels, columns),
        lambda panel: _aspect(panel.cells),
        lambda axes, panel: _draw_map(axes, panel, _span(panels, panel)),
    )
    _draw_key(figure, panels)
    return figure


def draw_run(run: Run, path: Path) -> None:
    """Write a picture of a run up to its last step."""
    config = checked(RoverConfig, run.config, str(run.directory))
    replay, cells = Replay(run.directory), cells_of(config)
    moves = replay.setup.world.moves  # type: ignore[attr-defined]
    known = replay.layers(len(replay.log), ("height", "uncertainty"))
    states = [replay.history.start, *replay.log.nexts]
    moment = replay.at(len(replay.log))
    learned = entropy_reduction(prior_of(config), moment.belief)  # type: ignore[arg-type]
    end = run.manifest.end
    driven = distance_of(states, cells.shape[1], cells.size) / 1000.0
    note = f"{learned:,.0f} nats learned in {len(states) - 1:,} steps and {driven:,.1f} km"
    panel = TerrainPanel(
        cells,
        known["height"],
        known["uncertainty"],
        states,
        f"{cells.name}: {title_of(config)}",
        note if end is None else f"{note}; {ENDS[end]}",
        is_stranded(config, moves, states[-1], states[0], cells.shape[1]),
        states[0] if config.home == "start" else None,
        area_of(config) or (),
        [row * cells.shape[1] + column for row, column in config.bases],
    )
    draw_terrain([panel]).savefig(path)


def title_of(config: RoverConfig) -> str:
    """Return the name of a run's explorer and its criteria."""
    if config.explorer == "unsafe":
        return "unsafe"
    home = "" if config.of_the_run() else ", Algorithm 1"
    more = f", back within {config.back_within} steps" if config.back_within is not None else ""
    more += ", kept in" if config.keep_in is not None else ""
    return f"{config.explorer} at δ = {config.delta:g}{home}{more}"


def write_terrain_film(
    cells: Cells,
    frames: Iterable[Frame],
    path: Sequence[int],
    out: Path,
    *,
    title: str = "",
    fps: float = 12.0,
    stranded: bool = False,
    area: Area = (),
    bases: Sequence[int] = (),
) -> None:
    """Write the film of a run as .gif or .mp4, completely or not at all.

    `path` is the whole path; a frame shows it up to its step. The last one shows how it ended. Only
    a few frames are in memory at a time, so `frames` may be a generator.
    """
    deviation = np.sqrt(cells.variance)
    scene = Scene(TerrainPanel(cells, cells.mean, deviation, path, title, area=area, bases=bases))
    write_frames(scene.pictures(frames, stranded=stranded), out, fps)


class Scene:
    """A film of a run; each frame updates only what changed."""

    def __init__(self, panel: TerrainPanel) -> None:
        self.panel = panel
        self._span = _span([panel], panel)
        side = 0.62 * _side([panel], 1)
        room = side * _aspect(panel.cells)
        below = LAYOUT.under + LAYOUT.foot
        self.film = film = FilmFigure(
            LAYOUT.left + side + LAYOUT.gap, room + LAYOUT.under + 0.5 + LAYOUT.foot, INK, 0.28
        )
        wide, high = film.wide, film.high
        box = (LAYOUT.left / wide, below / high, side / wide, room / high)
        axes = film.figure.add_axes(box)
        self._image, self._end = _draw_map(axes, panel, self._span)
        self._ways = [c for c in axes.collections if isinstance(c, LineCollection)]
        _draw_key(film.figure, [panel])

    def pictures(self, frames: Iterable[Frame], *, stranded: bool = False) -> Iterator[Any]:
        """Yield the pixels [height, width, 3] of each frame."""
        panel = self.panel
        steps = len(panel.path) - 1
        lead = f"{panel.title} · " if panel.title else ""
        places = _places(panel.path, panel.cells)
        for frame in frames:
            step = index(frame.step, steps + 1, "the step of a frame", InvalidProblemError)
            shown = TerrainPanel(panel.cells, frame.height, frame.deviation, panel.path[: step + 1])
            self._image.set_data(_paint(shown, self._span, PIXELS // 2))
            ends, often = _ways(shown.path)
            breadths = _breadths(often, panel.cells)
            for way, breadth in zip(self._ways, breadths, strict=True):
                way.set_segments(list(_lines(ends, panel.cells)))
                way.set_linewidth(breadth.tolist())
            self._end.set_data(*places[step : step + 1].T)
            lost = stranded and step == steps
            self._end.set_marker("X" if lost else "o")
            self._end.set_markersize(11.0 if lost else 7.0)
            fate = ", no way back" if lost else ""
            yield self.film.frame(f"{lead}step {step}{fate}")


def _draw_map(axes: Axes, panel: TerrainPanel, span: Span) -> tuple[AxesImage, Line2D]:
    """Draw the ground, the path and its marks; return what a film updates."""
    extent = _extent(panel.cells)
    image = axes.imshow(
        _paint(panel, span), extent=extent, origin="upper", interpolation="antialiased", zorder=0
    )
    if panel.cells.blocked.any():
        _draw_blocked(axes, panel.cells, extent)
    axes.set_xlim(*sorted(extent[:2]))
    axes.set_ylim(*sorted(extent[2:]))
    ends, often = _ways(panel.path)
    lines = list(_lines(ends, panel.cells))
    breadths = _breadths(often, panel.cells)
    for colour, breadth, z in zip((PAPER, WAY), breadths, (2, 3), strict=True):
        axes.add_collection(
            LineCollection(lines, colors=colour, linewidths=breadth, capstyle="round", zorder=z),
            autolim=False,
        )
    _draw_area(axes, panel)
    places = _places(panel.path, panel.cells)
    marks = [(_start(), places[0], 5), ((_lost if panel.stranded else _now)(), places[-1], 6)]
    marks += [(_home(), place, 4) for place in _places(_homes(panel), panel.cells)]
    for sign, place, z in marks:
        sign.set(zorder=z, clip_on=False)
        sign.set_data(*place[:, None])
        axes.add_line(sign)
    _draw_scale(axes, panel.cells)
    _draw_coordinates(axes, panel.cells)
    return image, marks[1][0]


def _draw_area(axes: Axes, panel: TerrainPanel) -> None:
    """Draw the edges of the area to keep in, above the path and below the marks."""
    left, right, bottom, top = _extent(panel.cells)
    rows, columns = panel.cells.shape
    for ring in (ring for rings in panel.area for ring in rings):
        grid = np.array([to_grid(panel.cells.transform, x, y) for x, y in ring])
        x = left + (right - left) * grid[:, 0] / columns
        y = top + (bottom - top) * grid[:, 1] / rows
        edge = _edge()
        edge.set(zorder=3.5)
        edge.set_data(x, y)
        axes.add_line(edge)


def _homes(panel: TerrainPanel) -> list[int]:
    """Return the cells to mark as places to return to; the start has its own mark."""
    asked = [*panel.bases, *([] if panel.home is None else [panel.home])]
    return [state for state in dict.fromkeys(asked) if state != panel.path[0]]


def _paint(panel: TerrainPanel, span: Span, pixels: int = PIXELS) -> FloatArray:
    """Return the colours [rows, columns, 3] of a map, smoothed where cells are few."""
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
    down, across = (side / times for side in _signed_sides(panel.cells))
    return colours_of(height, 1.0 - vagueness, _shade(height, down, across), span)


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
    """Return how much the ground faces the north-west, from −1 to 1."""
    rise = np.zeros(height.shape)
    if height.shape[1] > 1:
        rise += np.gradient(height, across, axis=1)
    if height.shape[0] > 1:
        rise += np.gradient(height, down, axis=0)
    steep = float(np.quantile(np.abs(rise), 0.9))
    return np.tanh(rise / steep) if steep > 0.0 else rise


def _draw_blocked(axes: Axes, cells: Cells, extent: tuple[float, ...]) -> None:
    """Cover the cells that can't be entered."""
    cover = np.zeros((*cells.shape, 4))
    cover[cells.blocked] = (*(int(ROCK[i : i + 2], 16) / 255 for i in (1, 3, 5)), 1.0)
    axes.imshow(cover, extent=extent, origin="upper", interpolation="nearest", zorder=1)  # type: ignore[arg-type]


def _ways(path: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Return the pairs [n, 2] of neighbours along the path, and how often [n] each was taken."""
    states = np.asarray(path)
    pairs = np.sort(np.column_stack([states[:-1], states[1:]]), axis=1)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if not len(pairs):
        return np.empty((0, 2), np.int64), np.empty(0, np.int64)
    ways: tuple[IntArray, IntArray] = np.unique(pairs, axis=0, return_counts=True)
    return ways


def _breadths(often: IntArray, cells: Cells) -> tuple[FloatArray, FloatArray]:
    """Return the widths in points of borders and of path segments, by how often each was taken.

    If they cover the map they are finer, so that the ground stays visible.
    """
    fine = math.sqrt(min(1.0, SPARSE * cells.mean.size / max(1, len(often))))
    breadth: FloatArray = fine * np.minimum(1.0 + 0.35 * np.log2(np.maximum(often, 1)), 2.6)
    return breadth + 1.6 * fine * fine, breadth


def _lines(ends: IntArray, cells: Cells) -> FloatArray:
    """Return lines [n, 2, 2] between cells."""
    return np.stack([_places(ends[:, i], cells) for i in (0, 1)], axis=1)


def _places(states: Sequence[int] | IntArray, cells: Cells) -> FloatArray:
    """Return the middles [n, 2] of cells on the picture, x and y."""
    row, column = np.divmod(np.asarray(states, np.int64), cells.shape[1])
    left, right, bottom, top = _extent(cells)
    x = left + (right - left) * (column + 0.5) / cells.shape[1]
    y = top + (bottom - top) * (row + 0.5) / cells.shape[0]
    return np.column_stack([x, y])


def _is_upright(cells: Cells) -> bool:
    """Return whether the grid's rows lie along the map's x axis."""
    _, b, _, d, _, _ = cells.transform
    return b == 0.0 and d == 0.0


def _extent(cells: Cells) -> tuple[float, float, float, float]:
    """Return (left, right, bottom, top) of the first and last corners of the grid.

    In units of the map where the grid is upright on it; else in metres along the grid's own sides.
    """
    rows, columns = cells.shape
    if not _is_upright(cells):
        height, width = cells.size
        return 0.0, columns * width, 0.0, rows * height
    a, _, c, _, e, f = cells.transform
    return c, c + a * columns, f + e * rows, f


def _signed_sides(cells: Cells) -> tuple[float, float]:
    """Return a cell's height and width in m, negative where rows go north or columns west."""
    height, width = cells.size
    if _is_upright(cells):
        a, _, _, _, e, _ = cells.transform
        return math.copysign(height, -e), math.copysign(width, a)
    return height, width


def _aspect(cells: Cells) -> float:
    """Return the height of a map over its width."""
    (rows, columns), (height, width) = cells.shape, cells.size
    return rows * height / (columns * width)


def _side(panels: Sequence[TerrainPanel], columns: int) -> float:
    """Return the width of a map in inches, such that no map is very tall."""
    wide = 8.0 if columns == 1 else 6.2 if columns == 2 else 4.6
    return float(min(wide, 8.0 / max(_aspect(p.cells) for p in panels)))


def _span(panels: Sequence[TerrainPanel], panel: TerrainPanel) -> Span:
    """Return the range of a panel's colours; the same for all panels of the same cells."""
    lows, highs = [], []
    for other in panels:
        if other.cells is panel.cells:
            known = other.height[~other.cells.blocked]
            if known.size:
                low, high = np.quantile(known, (0.005, 0.995)).tolist()
                lows.append(low)
                highs.append(high)
    prior = np.sqrt(panel.cells.variance[~panel.cells.blocked])
    vague = max(float(np.median(prior)) if prior.size else 0.0, 2.0 * SHARP)
    return Span(min(lows, default=0.0), max(highs, default=1.0), vague)


def _start() -> Line2D:
    return mark("o", 8.5, PAPER, INK, 2.0)


def _now() -> Line2D:
    return mark("o", 7.0, INK, PAPER, 1.2)


def _lost() -> Line2D:
    return mark("X", 13.0, INK, PAPER, 1.4)


def _home() -> Line2D:
    return mark("p", 10.0, PAPER, INK, 1.8)


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
    said = f"{metres / 1000:g} km" if metres >= 1000.0 else f"{metres:g} m"
    axes.annotate(
        said,
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
    if cells.crs_name is None:
        name = "map coordinates without a coordinate system"
    else:
        name = cells.crs_name
    axes.set_xlabel(f"x in {unit}, {name}", size=8, color=QUIET, labelpad=2)
    axes.set_ylabel(f"y in {unit}", size=8, color=QUIET, labelpad=2)


def _draw_key(figure: Figure, panels: Sequence[TerrainPanel]) -> None:
    """Write the legend of colours and marks below the maps."""
    wide, high = (float(side) for side in figure.get_size_inches())
    span = _span(panels, panels[0])
    same = all(panel.cells is panels[0].cells for panel in panels)
    middle = 0.5 * wide
    width, height = 1.7, 0.3
    box = ((middle - 0.5 * width) / wide, 0.47 / high, width / wide, height / high)
    axes = figure.add_axes(box)
    heights, saturations = np.meshgrid(
        np.linspace(span.low, span.high, 120), np.linspace(1.0, 0.0, 30)
    )
    axes.imshow(
        colours_of(heights, saturations, 0.0, span), aspect="auto", extent=(0.0, 1.0, 0.0, 1.0)
    )
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color=QUIET, linewidth=0.5)
    words: dict[str, Any] = {"color": QUIET, "size": 8.5, "va": "center"}
    low, top = (f"{span.low:,.0f} m", f"{span.high:,.0f} m") if same else ("low", "high")
    axes.text(0.0, -0.28, low, ha="left", **words)
    axes.text(0.5, -0.28, "height", ha="center", **words)
    axes.text(1.0, -0.28, top, ha="right", **words)
    axes.text(-0.03, 0.85, "known to 1 cm", ha="right", **words)
    grey = f"to {100.0 * span.vague:.0f} cm or worse" if same else "as little as at first"
    axes.text(-0.03, 0.15, grey, ha="right", **words)
    _draw_signs(figure, panels)


def _draw_signs(figure: Figure, panels: Sequence[TerrainPanel]) -> None:
    """Write the legend of the marks."""
    signs: list[tuple[str, Line2D | Patch]] = [
        ("path, broader where taken often", Line2D([], [], color=WAY, lw=1.6)),
        ("start", _start()),
    ]
    if any(not panel.stranded for panel in panels):
        signs.append(("end", _now()))
    if any(panel.stranded for panel in panels):
        signs.append(("end: no way back to the start", _lost()))
    if any(panel.area for panel in panels):
        signs.append(("edge to keep within", _edge()))
    if any(_homes(panel) for panel in panels):
        signs.append(("base" if any(panel.bases for panel in panels) else "home", _home()))
    if any(panel.cells.blocked.any() for panel in panels):
        signs.append(("no data, not entered", Rectangle((0, 0), 1, 1, color=ROCK)))
    room = {"fontsize": 8.5, "handlelength": 1.4, "handletextpad": 0.5, "columnspacing": 1.4}
    draw_key(figure, signs, 0.14, **room)
