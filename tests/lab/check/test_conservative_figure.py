from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homeward.beliefs.corrections import Correction
from lab.check.conservative import Sample
from lab.check.conservative_figure import draw_conservative

if TYPE_CHECKING:
    from matplotlib.lines import Line2D

SAMPLES = [
    Sample(setting, correction, 0.9, 0.9 - 0.1 * n, 0.95 - 0.1 * n, 0.2 + 0.1 * n)
    for setting in ("here", "there")
    for correction in (Correction.GENERAL, Correction.MOVES)
    for n in range(3)
]


def points(line: Line2D) -> list[list[float]]:
    """Give the points of a line as [x, y]."""
    found: list[list[float]] = np.asarray(line.get_xydata()).round(9).tolist()
    return found


def test_every_setting_has_its_bounds_and_its_curve() -> None:
    figure = draw_conservative(SAMPLES, SAMPLES, {})
    upper, lower = figure.axes[:2], figure.axes[2:]
    assert [axes.get_title(loc="left") for axes in upper] == ["here", "there"]
    for axes in upper:
        diagonal, _, *both = axes.lines
        assert points(diagonal) == [[0.0, 0.0], [1.0, 1.0]]
        for line in both:
            assert points(line) == [[0.95, 0.9], [0.85, 0.8], [0.75, 0.7]]
    for axes in lower:
        assert len(axes.lines) == 2
        for line in axes.lines:
            assert points(line) == [[0.75, 0.4], [0.85, 0.3], [0.95, 0.2]]


def test_what_is_counted_says_so_and_shows_its_noise() -> None:
    exact, counted = draw_conservative(SAMPLES, SAMPLES, {"there": 100}).axes[:2]
    assert exact.get_xlabel() == "true probability of being home"
    assert not exact.collections
    assert counted.get_xlabel() == "probability of being home, counted\nin 100 worlds"
    (band,) = counted.collections
    corners = np.asarray(band.get_paths()[0].vertices)
    middle = corners[np.isclose(corners[:, 1], 0.5), 0]
    assert sorted(set(middle.round(9))) == [0.4, 0.6]  # 2·√(½·½/100) = 0.1


def test_the_corrections_are_told_apart_by_more_than_colour() -> None:
    axes = draw_conservative(SAMPLES, SAMPLES, {}).axes[0]
    alone, general, moves = axes.lines[1:]
    assert alone.get_label() == "by the correction alone"
    assert general.get_marker() != moves.get_marker()
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "by the correction alone",
        "general correction",
        "moves correction",
    ]
