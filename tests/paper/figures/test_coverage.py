from __future__ import annotations

import pytest

from homeward.paper.figures.coverage import Chart, Series, draw_coverage

CHART = Chart(
    "Title",
    "fraction",
    ("a", "b", "c"),
    (
        Series("one", (0.1, 0.2, 0.3), (0.2, 0.3, 0.4), (0.5, 0.6, 0.7), ("1/2", "0/2", "2/2")),
        Series("two", (0.0, 0.0, 0.0), (0.1, 0.1, 0.1), (0.2, 0.2, 0.2)),
    ),
)


def test_every_chart_has_its_bars_whiskers_and_notes() -> None:
    figure = draw_coverage([CHART, CHART], "below")
    assert len(figure.axes) == 2
    for axes in figure.axes:
        heights = [bar.get_height() for bars in axes.containers[:1] for bar in bars]
        assert heights == [0.2, 0.3, 0.4]
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["a", "b", "c"]
        assert [text.get_text() for text in axes.texts] == ["1/2", "0/2", "2/2"]
        legend = axes.get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()] == ["one", "two"]


def test_whiskers_end_at_the_quartiles() -> None:
    figure = draw_coverage([CHART], "below")
    ends = [segment for c in figure.axes[0].collections for segment in c.get_segments()]  # type: ignore[attr-defined]
    assert [tuple(y for _, y in s) for s in ends[:3]] == [
        pytest.approx((low, high)) for low, high in ((0.1, 0.5), (0.2, 0.6), (0.3, 0.7))
    ]
