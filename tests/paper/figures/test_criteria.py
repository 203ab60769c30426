from __future__ import annotations

from io import BytesIO
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from matplotlib.patches import Rectangle

from homeward.errors import InvalidProblemError
from homeward.paper.criteria import crater, picture_of, stories
from homeward.paper.figures.criteria import Dot, Picture, Plane, draw_criterion
from homeward.paper.figures.stories import Graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORLD = Graph("the world", crater().worlds[0], 0)
PLANE = Plane("a plane", ("kept", "worth"), (Dot("a", 1.0, 0.0), Dot("b", 0.5, 2.0)), 0.9)


def drawn(picture: Picture) -> Figure:
    figure = draw_criterion(picture)
    figure.savefig(BytesIO())  # only what is rendered has its place
    return figure


def planes(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_xlabel()]


@pytest.mark.parametrize("story", stories(), ids=lambda story: story.name)
def test_no_words_of_a_plane_or_a_world_lie_on_others(story: object) -> None:
    figure = drawn(picture_of(story))  # type: ignore[arg-type]
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
    plane = Plane(*("a plane", ("kept", "worth"), PLANE.dots, 0.9), None, (0.9, 0.4))
    (axes,) = planes(drawn(Picture("t", "w", (WORLD,), (plane,))))
    lines: list[Any] = list(axes.lines)
    marks = {(line.get_marker(), *line.get_xydata()[0]) for line in lines}
    assert {("o", 1.0, 0.0), ("o", 0.5, 2.0), ("D", 0.9, 0.4)} <= marks
    assert {text.get_text() for text in axes.texts} == {"a", "b"}
    assert axes.get_xlabel() == "kept"
    assert [t.get_text() for t in axes.get_xticklabels()] == ["0.5", "0.9", "1"]


def test_what_falls_short_of_the_level_is_shaded() -> None:
    (axes,) = planes(drawn(Picture("t", "w", (WORLD,), (PLANE,))))
    (short,) = (p for p in axes.patches if isinstance(p, Rectangle))
    assert short.get_x() + short.get_width() == pytest.approx(0.9)


def test_where_two_are_asked_for_what_keeps_both_is_shaded() -> None:
    both = Plane("p", ("x", "y"), (Dot("a", 2.0, 0.0), Dot("b", 0.0, 2.0)), 1.9, 0.5)
    (axes,) = planes(drawn(Picture("t", "w", (WORLD,), (both,))))
    (wanted,) = (p for p in axes.patches if isinstance(p, Rectangle))
    assert (wanted.get_x(), wanted.get_y()) == (1.9, 0.5)
    assert [t.get_text() for t in axes.get_xticklabels()] == ["0", "1.9"]  # 2 is too near


def test_the_same_story_gives_the_same_pixels() -> None:
    pictures = []
    for _ in range(2):
        out = BytesIO()
        draw_criterion(picture_of(stories()[0])).savefig(out, format="rgba")
        pictures.append(out.getvalue())
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize(
    "picture", [Picture("t", "w", (), (PLANE,)), Picture("t", "w", (WORLD,), ())]
)
def test_an_empty_picture_is_refused(picture: Picture) -> None:
    with pytest.raises(InvalidProblemError, match="“t” has no world or no plane"):
        draw_criterion(picture)
