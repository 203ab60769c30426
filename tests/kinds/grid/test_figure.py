"""Runs on grids of heights, drawn and filmed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from imageio_ffmpeg import count_frames_and_secs  # type: ignore[import-untyped]
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PatchCollection
from matplotlib.colors import to_hex
from matplotlib.patches import FancyArrowPatch
from PIL import Image

from homeward.errors import InvalidFileError, InvalidProblemError
from homeward.kinds.grid import figure
from homeward.kinds.grid.figure import TAKEN, WARNING, Panel, RunFilm, draw_panels, write_film
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import COLOURS, GROUND, INK, UNSEEN_COLOUR, WALL_COLOUR

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GRID = HeightMap.from_text("""
    a234
    1#15
    1115
""")
PATH = (0, 4, 9)
ALL = np.ones(12, dtype=bool)


def panel(**options: Any) -> Panel:
    return Panel(**{"grid": GRID, "seen": GRID.seen_from(PATH), "path": PATH, **options})


def pixels(figure: Figure) -> np.ndarray[Any, Any]:
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def squares(axes: Axes) -> list[str]:
    """Give the colours of the squares that are drawn."""
    _, above = (c for c in axes.collections if isinstance(c, PatchCollection))
    return colours(above)


def colours(drawn: Any) -> list[str]:
    return [to_hex(colour) for colour in drawn.get_facecolor()]


def test_the_seen_squares_have_the_colours_of_their_heights() -> None:
    figure = draw_panels([panel(seen=ALL)])
    expected = {1: COLOURS[1], 2: COLOURS[2], 3: COLOURS[3], 4: COLOURS[4], 5: COLOURS[5]}
    heights = GRID.heights.ravel().tolist()
    assert squares(figure.axes[0]) == [expected.get(h, WALL_COLOUR) for h in heights]


def test_what_is_unseen_stays_grey() -> None:
    axes = draw_panels([panel()]).axes[0]
    assert len(squares(axes)) == GRID.seen_from(PATH).sum() < 12
    assert to_hex(axes.patches[0].get_facecolor()) == UNSEEN_COLOUR


def test_higher_squares_are_drawn_larger() -> None:
    axes = draw_panels([panel(seen=ALL)]).axes[0]
    _, above = (c for c in axes.collections if isinstance(c, PatchCollection))
    sides = [path.get_extents().width for path in above.get_paths()]
    for state, height in enumerate(GRID.heights.ravel().tolist()):
        assert sides[state] == pytest.approx(1.0 if height == -1 else 0.4 + 0.1 * height)


def test_the_path_runs_from_the_start_to_where_the_explorer_is() -> None:
    line, start, here = draw_panels([panel()]).axes[0].lines
    assert np.array_equal(line.get_xydata(), [[0.0, 0.0], [0.0, 1.0], [1.0, 2.0]])
    assert np.array_equal(start.get_xydata(), [[0.0, 0.0]])
    assert np.array_equal(here.get_xydata(), [[1.0, 2.0]])
    assert line.get_color() == INK
    assert here.get_marker() == "o"


def test_whoever_is_stranded_is_crossed_in_another_colour() -> None:
    line, _, here = draw_panels([panel(stranded=True)]).axes[0].lines
    assert line.get_color() == here.get_markerfacecolor() == WARNING
    assert here.get_marker() == "X"


def test_a_refused_move_is_an_arrow_crossed_out() -> None:
    axes = draw_panels([panel(refused=(0, 1))]).axes[0]
    (arrow,) = (p for p in axes.patches if isinstance(p, FancyArrowPatch))
    cross = np.asarray(axes.lines[3].get_xydata())
    assert to_hex(arrow.get_edgecolor()) == WARNING
    assert np.nanmean(cross, axis=0) == pytest.approx([0.5, 0.0])
    assert not any(isinstance(p, FancyArrowPatch) for p in draw_panels([panel()]).axes[0].patches)


def test_a_move_that_stands_out_is_an_arrow_over_the_path() -> None:
    axes = draw_panels([panel(taken=(4, 9))]).axes[0]
    (arrow,) = (p for p in axes.patches if isinstance(p, FancyArrowPatch))
    line, start, here = axes.lines
    assert to_hex(arrow.get_edgecolor()) == TAKEN
    assert arrow.get_zorder() > max(line.get_zorder(), start.get_zorder(), here.get_zorder())
    box = arrow.get_path().get_extents()
    assert (box.x1, box.y1) == pytest.approx((1.0, 2.0), abs=0.2)
    assert box.x0 >= 0.0
    assert box.y0 >= 1.0


def test_a_square_in_doubt_bears_a_question_mark() -> None:
    figure = draw_panels([panel(doubt=7)])
    (mark,) = figure.axes[0].texts
    assert mark.get_text() == "?"
    assert mark.get_position() == (3.0, 1.0)


def words(figure: Figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_the_key_names_the_marks_that_are_there() -> None:
    plain = ["height 1", "2", "3", "4", "5", "unseen", "wall", "start", "now"]
    assert words(draw_panels([panel()])) == plain
    marked = draw_panels([panel(), panel(stranded=True, refused=(0, 1))])
    assert words(marked) == [*plain, "no way back to the start", "planner calls it unsafe"]
    assert words(draw_panels([panel(taken=(0, 1))])) == [*plain, "move taken"]


def test_nine_panels_stand_three_by_three_without_touching() -> None:
    note = "Moving East is safe with probability .8, since the way back is blocked by one height."
    figure = draw_panels([panel(title=f"{i}", note=note) for i in range(9)], 3, "all nine")
    boxes = [axes.get_position() for axes in figure.axes]
    assert len(boxes) == 9
    assert len({round(box.x0, 6) for box in boxes}) == len({round(box.y0, 6) for box in boxes}) == 3
    for i, one in enumerate(boxes):
        assert 0.0 <= one.x0 < one.x1 <= 1.0
        assert 0.0 < one.y0 < one.y1 < 1.0
        assert not any(one.overlaps(other) for other in boxes[:i])
    assert "all nine" in [text.get_text() for text in figure.texts]


def test_the_words_of_a_panel_stand_above_it_and_below_what_is_above() -> None:
    note = "A long note that takes more than one line of so narrow a panel, and then some more."
    figure = draw_panels([panel(title="title", note=note)] * 2, 1)
    pixels(figure)
    upper, lower = figure.axes
    texts = [text.get_window_extent() for text in lower.texts]
    assert len(texts) > 2
    assert min(t.y0 for t in texts) >= lower.get_window_extent().y1
    assert max(t.y1 for t in texts) <= upper.get_window_extent().y0
    assert " ".join(t.get_text() for t in lower.texts) == f"title {note}"


def test_a_caption_stands_below_its_panel_and_above_what_is_below() -> None:
    caption = "A long caption that takes more than one line of so narrow a panel, and some more."
    figure = draw_panels([panel(title="title", caption=caption), panel(title="other")], 1)
    pixels(figure)
    upper, lower = figure.axes
    title, *texts = upper.texts
    boxes = [text.get_window_extent() for text in texts]
    assert " ".join(text.get_text() for text in texts) == caption
    assert len(texts) > 1
    assert title.get_text() == "title"
    assert max(box.y1 for box in boxes) <= upper.get_window_extent().y0
    assert min(box.y0 for box in boxes) >= lower.texts[0].get_window_extent().y1
    assert [box.x0 for box in boxes] == pytest.approx([upper.get_window_extent().x0] * len(boxes))


def test_captions_side_by_side_do_not_touch() -> None:
    figure = draw_panels([panel(caption="Moving South-West was worth more. " * 4)] * 3)
    pixels(figure)
    for one, two in pairwise(figure.axes):
        right = max(text.get_window_extent().x1 for text in one.texts)
        assert right < two.get_window_extent().x0


def test_the_captions_of_the_last_row_stand_above_the_key() -> None:
    figure = draw_panels([panel(caption="a caption " * 12)])
    pixels(figure)
    least = min(text.get_window_extent().y0 for text in figure.axes[0].texts)
    assert least >= max(key.get_window_extent().y1 for key in figure.legends)


def test_the_titles_of_a_row_stand_at_one_height() -> None:
    figure = draw_panels([panel(title="one"), panel(title="two", note="a note " * 12)])
    pixels(figure)
    one, two = (axes.texts[0].get_window_extent() for axes in figure.axes)
    assert one.y0 == pytest.approx(two.y0, abs=1.0)


def test_a_tall_map_is_not_drawn_taller_than_a_page() -> None:
    grid = HeightMap.random((60, 3), 0)
    assert draw_panels([Panel(grid, grid.walls, [0])]).get_figheight() < 10.0


def test_the_same_data_gives_the_same_pixels() -> None:
    one, two = (pixels(draw_panels([panel(title="t", refused=(0, 1))])) for _ in range(2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one[:, :, :3], pixels(draw_panels([panel(title="t")]))[:, :, :3])


def test_no_panels_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match="no panel"):
        draw_panels([])
    with pytest.raises(InvalidProblemError, match="the columns"):
        draw_panels([panel()], -1)


def test_a_film_uncovers_step_by_step_what_the_path_shows() -> None:
    scene = RunFilm(panel(seen=GRID.walls, title="δ = 1"))
    seen = []
    for step, _ in enumerate(scene.frames()):
        tiles = colours(scene.film.figure.axes[0].collections[0])
        line, _start, here = scene.film.figure.axes[0].lines
        walked = np.asarray(line.get_xydata())
        assert len(walked) == step + 1
        assert np.array_equal(here.get_xydata(), walked[-1:])
        seen.append(np.flatnonzero([tile != UNSEEN_COLOUR for tile in tiles]).tolist())
        free = (GRID.seen_from(PATH[: step + 1]) & ~GRID.walls).sum()
        (text,) = scene.film.figure.texts
        assert text.get_text() == f"δ = 1 · step {step} · {free} squares seen"
    assert seen == [
        [0, 1, 4, 5],
        [0, 1, 4, 5, 8, 9],
        [0, 1, 4, 5, 6, 8, 9, 10],
    ]


@pytest.mark.parametrize("shape", [(1, 2), (9, 7), (7, 13), (12, 50)])
def test_the_sides_of_a_film_are_such_that_every_player_can_show_it(shape: tuple[int, int]) -> None:
    grid = HeightMap.random(shape, 0)
    (frame,) = RunFilm(Panel(grid, grid.walls, [0])).frames()
    assert frame.shape[0] % 16 == frame.shape[1] % 16 == 0
    assert frame.shape[2] == 3


def test_a_wall_fills_its_square() -> None:
    below, _ = draw_panels([panel(seen=ALL)]).axes[0].collections
    walls = [colour == WALL_COLOUR for colour in colours(below)]
    assert walls == GRID.walls.tolist()
    assert set(colours(below)) == {WALL_COLOUR, GROUND}


def test_a_frame_shows_the_ground_where_something_is_seen() -> None:
    first, *_, last = RunFilm(panel(seen=GRID.walls)).frames()
    ground = [int(GROUND[i : i + 2], 16) for i in (1, 3, 5)]
    assert (first == ground).all(axis=2).sum() < (last == ground).all(axis=2).sum()


@pytest.mark.parametrize("kind", ["gif", "mp4"])
def test_a_film_has_a_frame_for_every_step_and_is_the_same_every_time(
    kind: str, tmp_path: Path
) -> None:
    one, two = (tmp_path / f"{name}.{kind}" for name in ("one", "two"))
    for out in (one, two):
        write_film(GRID, PATH, out, fps=4)
    assert sorted(p.name for p in tmp_path.iterdir()) == [one.name, two.name]
    assert one.read_bytes() == two.read_bytes()
    if kind == "gif":
        with Image.open(one) as film:
            assert getattr(film, "n_frames", 1) == 3
            assert film.info["duration"] == 250
    else:
        assert count_frames_and_secs(str(one)) == (3, 0.75)


def test_a_film_that_breaks_off_leaves_nothing_and_harms_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def frames(scene: RunFilm) -> Iterator[Any]:
        yield np.zeros((32, 32, 3), np.uint8)
        raise OSError("the disk is full")

    monkeypatch.setattr(figure.RunFilm, "frames", frames)
    for kind in ("gif", "mp4"):
        old = tmp_path / f"old.{kind}"
        old.write_text("as it was")
        for out in (old, tmp_path / f"new.{kind}"):
            with pytest.raises(InvalidFileError, match="can't be written: the disk is full"):
                write_film(GRID, PATH, out)
        assert old.read_text() == "as it was"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["old.gif", "old.mp4"]


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("film.avi", "a film can be written as .gif, .mp4"),
        ("nowhere/film.gif", "there is no folder"),
        ("folder.gif", "is a folder"),
    ],
)
def test_a_film_that_can_not_be_written_is_refused(name: str, match: str, tmp_path: Path) -> None:
    (tmp_path / "folder.gif").mkdir()
    with pytest.raises(InvalidFileError, match=match):
        write_film(GRID, PATH, tmp_path / name)


@pytest.mark.parametrize("fps", [0.0, -1.0, 51.0, "fast"])
def test_a_speed_that_is_none_is_refused(fps: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidProblemError, match="frames per second"):
        write_film(GRID, PATH, tmp_path / "film.gif", fps=fps)
