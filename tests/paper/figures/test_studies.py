from __future__ import annotations

import pytest

from homeward.paper.coverage import KEY, cells_of
from homeward.paper.figures.studies import draw_coverage

CELLS = [
    {**cell, "q1": 0.1, "median": 0.2, "q3": 0.5, "reached": 0.3, "stranded": 1, "runs": 2}
    for cell in cells_of(1.0)[0]
]
PLACES = [f"{size}² | .{walls}" for size in (10, 20, 30, 40) for walls in (2, 4, 6)]
EXPLORERS = ["Algorithm 1, safe", "adapted R-max", "R-max", "ours"]


def test_every_chart_has_its_bars_whiskers_and_notes() -> None:
    assert set(KEY) < set(CELLS[0])
    figure = draw_coverage(CELLS)
    every, safely, levels = figure.axes
    for axes, count, height, notes in (
        (every, 4 * 12, 0.2, 4 * 12),
        (safely, 4 * 12, 0.3, 0),
        (levels, 12 * 3, 0.2, 12 * 3),
    ):
        assert [bar.get_height() for bar in axes.patches] == [height] * count  # type: ignore[attr-defined]
        assert [text.get_text() for text in axes.texts] == ["1/2"] * notes
    for axes in (every, safely):
        assert [tick.get_text() for tick in axes.get_xticklabels()] == PLACES
        legend = axes.get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()] == EXPLORERS


def test_whiskers_end_at_the_quartiles() -> None:
    axes = draw_coverage(CELLS).axes[0]
    ends = [segment for c in axes.collections for segment in c.get_segments()]  # type: ignore[attr-defined]
    assert [tuple(y for _, y in s) for s in ends[:3]] == [pytest.approx((0.1, 0.5))] * 3
