from __future__ import annotations

from io import BytesIO
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from matplotlib.patches import Rectangle

from homeward.paper.criteria import CriterionExample, stories
from homeward.paper.figures.criteria import draw_criterion

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STORIES = {story.name: story for story in stories()}


def drawn(story: CriterionExample) -> Figure:
    figure = draw_criterion(story)
    figure.savefig(BytesIO())  # only what is rendered has its place
    return figure


def planes(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_xlabel()]


@pytest.mark.parametrize("story", stories(), ids=lambda story: story.name)
def test_no_words_of_a_plane_or_a_world_lie_on_others(story: CriterionExample) -> None:
    figure = drawn(story)
    for axes in figure.axes:
        texts = [t for t in axes.texts if t.get_text()]
        texts += [t for t in (*axes.get_xticklabels(), *axes.get_yticklabels()) if t.get_text()]
        if not axes.get_xlabel():
            texts = [t for t in axes.texts if t.get_text()]
        boxes = [(t.get_text(), t.get_window_extent().shrunk(0.9, 0.8)) for t in texts]
        for (one, a), (other, b) in combinations(boxes, 2):
            assert not a.overlaps(b), f"{one} and {other} of {story}"
        for text, box in boxes:
            assert figure.bbox.contains(box.x0, box.y0), text
            assert figure.bbox.contains(box.x1, box.y1), text


def test_every_policy_is_a_dot_with_its_name_and_the_answer_a_diamond() -> None:
    figure = drawn(STORIES["return"])
    (axes,) = planes(figure)
    lines: list[Any] = list(axes.lines)
    marks = {(line.get_marker(), *line.get_xydata()[0].round(9)) for line in lines}
    assert {("o", 1.0, 0.0), ("o", 0.75, 1.0), ("D", 0.9, 0.4)} <= marks
    assert {text.get_text() for text in axes.texts} == {"never go", "go and stay"}
    assert axes.get_xlabel() == "probability of returning after the recall"
    assert [t.get_text() for t in axes.get_xticklabels()] == ["0.75", "0.9", "1"]
    assert len(figure.axes) == 3


def test_what_falls_short_of_the_level_is_shaded() -> None:
    (axes,) = planes(drawn(STORIES["return"]))
    (short,) = (p for p in axes.patches if isinstance(p, Rectangle))
    assert short.get_x() + short.get_width() == pytest.approx(0.9)


def test_where_two_are_asked_for_what_keeps_both_is_shaded() -> None:
    (axes,) = planes(drawn(STORIES["conflict"]))
    (wanted,) = (p for p in axes.patches if isinstance(p, Rectangle))
    assert (wanted.get_x(), wanted.get_y()) == (1.9, 0.5)
    assert [t.get_text() for t in axes.get_xticklabels()] == ["0", "1.9"]  # 2 is too near


def test_the_same_story_gives_the_same_pixels() -> None:
    pictures = []
    for _ in range(2):
        out = BytesIO()
        draw_criterion(stories()[0]).savefig(out, format="rgba")
        pictures.append(out.getvalue())
    assert pictures[0] == pictures[1]
