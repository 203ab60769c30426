from __future__ import annotations

from io import BytesIO
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.patches import Circle, FancyArrowPatch, Rectangle

from homeward.models import Moves
from homeward.paper.counterexamples import all_stories, compare, known_odds
from homeward.paper.figures.stories import RADIUS, SERIES, draw_stories, edges
from homeward.words import floored

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROWS = compare([0.99])


@pytest.fixture(scope="module")
def drawn() -> Figure:
    figure = draw_stories(ROWS, 0.99)
    figure.savefig(BytesIO())  # only what is rendered has its place
    return figure


def graph_axes(drawn: Figure) -> list[Axes]:
    return [axes for axes in drawn.axes if any(isinstance(p, Circle) for p in axes.patches)]


def arrows(axes: Axes) -> list[FancyArrowPatch]:
    return [p for p in axes.patches if isinstance(p, FancyArrowPatch)]


def circles(axes: Axes) -> list[Circle]:
    return [p for p in axes.patches if isinstance(p, Circle)]


def words(artist: Any) -> list[str]:
    return [text.get_text() for text in artist.texts]


def test_an_arrow_carries_its_action_and_its_probability_unless_sure() -> None:
    model = known_odds().belief.worlds[0]
    names = model.state_names or ()
    found = {(names[s], names[t]): label for s, t, label in edges(model)}
    assert found == {
        ("S", "B"): "a .8",
        ("S", "E"): "a .2",
        ("B", "F"): "a",
        ("B", "S"): "b",
        ("B", "B"): "c .9",
        ("B", "E"): "c .1",
        ("F", "B"): "b",
        ("E", "E"): "a",
    }


def test_actions_that_do_the_same_share_an_arrow() -> None:
    model = Moves(np.array([[1, 1], [1, 1]]), np.ones((2, 2)), action_names=("a", "b"))
    assert edges(model) == [(0, 1, "a, b"), (1, 1, "a, b")]


def test_every_state_and_every_arrow_is_drawn(drawn: Figure) -> None:
    states = [len(circles(axes)) for axes in graph_axes(drawn)]
    assert states == [4, 8, 9]
    assert [len(arrows(axes)) for axes in graph_axes(drawn)] == [8, 12, 11]


def test_the_two_worlds_and_the_mean_stand_side_by_side(drawn: Figure) -> None:
    third = graph_axes(drawn)[2]
    left_to_right = sorted({round(float(c.center[0]), 3) for c in circles(third)})
    assert len(left_to_right) == 9
    assert "the mean model" in words(third)


def test_no_two_words_overlap(drawn: Figure) -> None:
    for axes in drawn.axes:
        boxes = [(t.get_text(), t.get_window_extent()) for t in axes.texts if t.get_text()]
        for (one, box), (other, beside) in combinations(boxes, 2):
            assert not box.overlaps(beside), (one, other)


def test_no_arrow_s_label_lies_on_a_state(drawn: Figure) -> None:
    for axes in graph_axes(drawn):
        names = {"S", "B", "F", "E", "U", "L", "A", "C"}
        labels = [t for t in axes.texts if t.get_text() not in names]
        for label in labels:
            for circle in circles(axes):
                assert not label.get_window_extent().overlaps(circle.get_window_extent()), label


def test_every_word_is_on_the_page(drawn: Figure) -> None:
    page = drawn.bbox
    for text in [*drawn.texts, *(t for axes in drawn.axes for t in axes.texts)]:
        box = text.get_window_extent()
        assert page.x0 <= box.x0, text
        assert box.x1 <= page.x1, text
        assert page.y0 <= box.y0, text
        assert box.y1 <= page.y1, text


def test_arrows_begin_and_end_at_the_edge_of_a_state(drawn: Figure) -> None:
    loops = 0
    for axes in graph_axes(drawn):
        centres = np.array([c.center for c in circles(axes)])
        for arrow in arrows(axes):
            points = np.asarray(arrow.get_path().vertices)
            nearest = np.sort(np.hypot(*(points[:, None] - centres[None]).T).min(axis=1))
            ends = 1 if arrow.patchA is None else 2
            loops += ends == 1
            assert nearest[:ends] == pytest.approx(np.full(ends, RADIUS), abs=0.06)
    assert loops == 10


def test_home_has_the_heavier_ring_and_the_lost_are_shaded(drawn: Figure) -> None:
    home, other, _, lost = circles(graph_axes(drawn)[0])
    assert home.get_linewidth() > other.get_linewidth()
    assert len({home.get_facecolor(), other.get_facecolor(), lost.get_facecolor()}) == 3


def test_every_number_is_written_beside_its_bar(drawn: Figure) -> None:
    bars = [axes for axes in drawn.axes if axes not in graph_axes(drawn)]
    assert [len(axes.get_yticks()) for axes in bars] == [2, 2, 1]
    numbered = [(k, value) for row in ROWS for k, value in enumerate(row.values)]
    values = [value for _, value in numbered]
    said = [
        "does not apply"
        if value is None
        else floored(value, 4)
        if k > 1  # the last two are lower bounds
        else f"{value:.4f}"
        for k, value in numbered
    ]
    assert [word for axes in bars for word in words(axes)] == said
    lengths = [p.get_width() for axes in bars for p in axes.patches if isinstance(p, Rectangle)]
    assert lengths == [value for value in values if value is not None]


def test_the_legend_names_every_series(drawn: Figure) -> None:
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == list(SERIES)


def test_titles_subtitles_and_the_caption_are_written(drawn: Figure) -> None:
    for number, story in enumerate(all_stories(), start=1):
        assert f"{number}. {story.title}" in words(drawn)
        assert f"The naive definition: {story.naive}." in words(drawn)
    assert any(text.startswith("γ = 0.99. Blue: home.") for text in words(drawn))
