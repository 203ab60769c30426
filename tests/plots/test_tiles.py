"""Paths on tile maps, drawn."""

import numpy as np

from homeward.plots.tiles import LOST, SAFE, Panel, draw_paths
from homeward.worlds.toytext import tile_map


def test_each_panel_shows_its_path_its_end_and_its_words() -> None:
    tiles = tile_map("lake")
    panels = [
        Panel(tiles, (0, 4, 8), "safe", "3 tiles", died=False),
        Panel(tiles, (0, 1, 5), "unsafe", "lost", died=True),
    ]
    figure = draw_paths(panels, 2, "both")
    safe, lost = figure.axes
    assert len(safe.patches) == len(lost.patches) == 16
    assert {line.get_color() for line in safe.lines} == {SAFE}
    assert {line.get_color() for line in lost.lines} == {LOST}
    assert lost.lines[-1].get_marker() == "X"
    assert np.array_equal(lost.lines[-1].get_xydata(), [[1.0, 1.0]])
    assert "3 tiles" in [text.get_text() for text in safe.texts]


def test_an_odd_number_of_panels_leaves_no_empty_frame() -> None:
    tiles = tile_map("lake")
    figure = draw_paths([Panel(tiles, (0,), "", "", died=False)] * 3, 2, "three")
    assert not figure.axes[3].axison
