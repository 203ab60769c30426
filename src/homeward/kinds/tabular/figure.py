"""Picture of a run on tiles: the tiles, the path, and why the run ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from homeward.kinds.tabular.world import TILES, TileMap, tile_map
from homeward.plots.map_figures import PAPER, Layout, draw_key, draw_maps, mark
from homeward.words import ENDS

if TYPE_CHECKING:
    from homeward.runs import Run

INK = "#1d2429"
START, NOW = ("o", 9.0, PAPER, INK, 2.0), ("o", 7.0, INK, PAPER, 1.0)
COLOURS = {"floor": "#dfeaf2", "hole": "#3a3f44", "cliff": "#8c4a32", "goal": "#a9d3a9"}


class TilePanel(NamedTuple):
    """One run on one map of tiles, with title and note."""

    tiles: TileMap
    path: list[int]  # states, from the start to the end
    title: str
    note: str


def draw_run(run: Run, path: Path) -> None:
    """Write a picture of a run up to its last step."""
    config, tiles, end = run.config, tile_map(run.config["world"]), run.manifest.end
    states = [tiles.start, *(record.next_state for record in run.records())]
    level = "unsafe" if config["delta"] is None else f"safe at δ = {config['delta']:g}"
    note = f"{len(set(states))} tiles visited in {len(states) - 1} steps"
    note = note if end is None else f"{note}: {ENDS[end]}"
    panel = TilePanel(tiles, states, f"{config['world']}: {level}", note)
    rows, columns = tiles.shape
    side = min(max(2.6, 0.45 * columns), 7.0)
    figure = draw_maps(
        [panel],
        1,
        "",
        Layout(INK, edge=0.34),
        lambda count: side,
        lambda panel: rows / columns,
        _draw_board,
    )
    found = dict.fromkeys(TILES[tile] for tile in "".join(tiles.tiles))
    squares = [(name, Rectangle((0, 0), 1, 1, color=COLOURS[name])) for name in found]
    signs = [("start", mark(*START)), ("now", mark(*NOW)), *squares]
    draw_key(figure, signs, 0.3, fontsize=9.5, handlelength=1.2, columnspacing=1.2)
    figure.savefig(path)


def _draw_board(axes: Axes, panel: TilePanel) -> None:
    """Draw the tiles and the path."""
    rows, columns = panel.tiles.shape
    colours = [to_rgb(COLOURS[TILES[tile]]) for tile in "".join(panel.tiles.tiles)]
    axes.imshow(np.array(colours).reshape(rows, columns, 3))
    axes.set_xticks(np.arange(columns + 1) - 0.5, [])
    axes.set_yticks(np.arange(rows + 1) - 0.5, [])
    axes.grid(color=PAPER, linewidth=1.5)
    axes.tick_params(length=0)
    row, column = np.divmod(panel.path, columns)
    axes.add_line(Line2D(column, row, color=INK, lw=2.0, solid_capstyle="round", zorder=3))
    for look, at in ((START, 0), (NOW, -1)):
        sign = mark(*look)
        sign.set_data([column[at]], [row[at]])
        sign.set_zorder(4)
        axes.add_line(sign)
