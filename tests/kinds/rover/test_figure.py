from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import rgb_to_hsv
from PIL import Image, ImageSequence

from homeward.beliefs.heights import SHARP
from homeward.errors import InvalidProblemError
from homeward.kinds.rover.figure import (
    Frame,
    RunFilm,
    Span,
    TerrainPanel,
    colours_of,
    draw_run,
    draw_terrain,
)
from homeward.plots.films import BLOCK, write_frames
from homeward.replay import Replay
from homeward.runs import Run
from homeward.terrain import Cells

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHAPE = (6, 10)
UPRIGHT = (20.0, 0.0, 500.0, 0.0, -20.0, 900.0)
PATH = (0, 1, 2, 1, 2, 13, 13, 24)


def cells(transform: Any = UPRIGHT, crs: str | None = None, blocked: Any = None) -> Cells:
    row, column = np.indices(SHAPE)
    mean = 3.0 * row + column.astype(float)
    found = np.zeros(SHAPE, dtype=bool)
    if blocked is not None:
        found[blocked] = True
    return Cells(
        mean, np.full(SHAPE, 0.25), mean, found, transform=transform, crs=crs, name="hills"
    )


def panel(on: Cells | None = None, **changes: Any) -> TerrainPanel:
    on = cells() if on is None else on
    given = {"height": on.mean, "deviation": np.sqrt(on.variance), "path": PATH, **changes}
    return TerrainPanel(on, **given)


def pixels(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="rgba")
    return out.getvalue()


def ways(axes: Axes) -> Any:
    return [c for c in axes.collections if isinstance(c, LineCollection)][1]


def test_each_panel_has_a_map_with_its_title_and_note() -> None:
    figure = draw_terrain([panel(title="one", note="first"), panel(title="two")], 2, "both")
    said = [[text.get_text() for text in axes.texts] for axes in figure.axes[:2]]
    assert said[0][-2:] == ["one", "first"]
    assert said[1][-1] == "two"
    assert figure.texts[0].get_text() == "both"


def test_a_long_legend_stays_inside_the_picture() -> None:
    mask = np.ones(SHAPE, dtype=bool)
    signs: dict[str, Any] = {
        "obstacles": mask,
        "kept_out": mask,
        "targets": ((510.0, 890.0, 1.0),),
        "bases": (3,),
    }
    figure = draw_terrain([panel(**signs, stranded=True)])
    boxes = [legend.get_window_extent() for legend in figure.legends]
    assert len(boxes) == 2
    assert min(box.x0 for box in boxes) > 0.0
    assert max(box.x1 for box in boxes) < figure.bbox.width
    assert boxes[0].y1 < boxes[1].y0


def test_the_same_data_gives_the_same_pixels() -> None:
    assert pixels(draw_terrain([panel()])) == pixels(draw_terrain([panel()]))


def test_a_way_is_drawn_once_and_the_broader_the_more_often_it_was_taken() -> None:
    way = ways(draw_terrain([panel()]).axes[0])
    found = {
        tuple(map(tuple, segment.round(6).tolist())): breadth
        for segment, breadth in zip(way.get_segments(), way.get_linewidths(), strict=True)
    }
    first, twice = ((510.0, 890.0), (530.0, 890.0)), ((530.0, 890.0), (550.0, 890.0))
    assert set(found) == {
        first,
        twice,
        ((550.0, 890.0), (570.0, 870.0)),
        ((570.0, 870.0), (590.0, 850.0)),
    }
    assert found[twice] > found[first]


def test_ways_that_cover_the_map_are_finer() -> None:
    everywhere = [s for row in range(6) for s in range(10 * row, 10 * row + 10)]
    dense, sparse = (ways(draw_terrain([panel(path=p)]).axes[0]) for p in (everywhere, (0, 1)))
    assert max(dense.get_linewidths()) < 0.6
    assert sparse.get_linewidths().tolist() == [1.0]


def test_who_never_moved_has_no_way() -> None:
    assert ways(draw_terrain([panel(path=(7,))]).axes[0]).get_segments() == []


def test_what_is_sharp_has_full_colour_and_what_is_vague_has_hardly_any() -> None:
    span = Span(0.0, 10.0, 0.5)
    heights = np.linspace(0.0, 10.0, 7)
    sharp, between, vague = (
        rgb_to_hsv(colours_of(heights, np.full(7, saturation), 0.0, span))[:, 1]
        for saturation in (1.0, 0.5, 0.0)
    )
    assert (sharp > between).all()
    assert (between > vague).all()
    assert (vague < 1e-9).all()


def image(figure: Figure, at: int = 0) -> Any:
    return np.asarray(figure.axes[at].images[0].get_array())


def test_colour_fades_with_the_logarithm_of_the_deviation() -> None:
    middle = (SHARP * 0.5) ** 0.5
    levels = [SHARP / 5, SHARP, middle, 0.5, 5.0]
    pictures = [image(draw_terrain([panel(deviation=np.full(SHAPE, d))])) for d in levels]
    full, at_one, half, grey, beyond = pictures
    assert np.array_equal(full, at_one)
    assert np.array_equal(grey, beyond)
    assert np.allclose(half, (full + grey) / 2, atol=0.02)
    assert not np.allclose(full, grey, atol=0.2)


def test_low_ground_is_dark_and_slopes_to_the_north_west_are_bright() -> None:
    span = Span(0.0, 10.0, 0.5)
    low, high = colours_of(np.array([0.0, 10.0]), np.ones(2), 0.0, span).sum(axis=1)
    assert low < high
    row, column = np.indices(SHAPE)
    hill = -np.hypot(row - 2.5, column - 4.5)
    picture = image(draw_terrain([panel(height=hill)])).mean(axis=2)
    tall, wide = picture.shape
    assert picture[: tall // 2, : wide // 2].mean() > picture[tall // 2 :, wide // 2 :].mean() + 0.1


def test_light_comes_from_the_north_west_of_the_map_whichever_way_rows_go() -> None:
    row, column = np.indices(SHAPE)
    hill = -np.hypot(row - 2.5, column - 4.5)
    south_up = cells((20.0, 0.0, 0.0, 0.0, 20.0, 0.0))
    picture = image(draw_terrain([panel(south_up, height=hill)])).mean(axis=2)
    tall, wide = picture.shape
    assert picture[tall // 2 :, : wide // 2].mean() > picture[: tall // 2, wide // 2 :].mean() + 0.1


def test_north_is_up_and_the_axes_have_map_coordinates() -> None:
    for transform in (UPRIGHT, (20.0, 0.0, 500.0, 0.0, 20.0, 780.0)):
        axes = draw_terrain([panel(cells(transform, 'PROJCRS["Mars plane",X]'))]).axes[0]
        assert axes.get_xlim() == (500.0, 700.0)
        assert axes.get_ylim() == (780.0, 900.0)
        assert axes.get_xlabel() == "x in m, Mars plane"
        assert axes.get_ylabel() == "y in m"


def test_what_has_an_origin_but_no_coordinate_system_is_not_said_to_begin_at_its_corner() -> None:
    axes = draw_terrain([panel(cells())]).axes[0]
    assert axes.get_xlabel() == "x in m, map coordinates without a coordinate system"
    axes = draw_terrain([panel(replace(cells(), is_own=True))]).axes[0]
    assert axes.get_xlabel() == "m from the corner"


def test_a_turned_grid_is_drawn_along_its_own_sides() -> None:
    turned = (12.0, 16.0, 0.0, 16.0, -12.0, 0.0)
    axes = draw_terrain([panel(cells(turned, 'PROJCRS["Mars plane",X]'))]).axes[0]
    assert (axes.get_xlim(), axes.get_ylim()) == ((0.0, 200.0), (0.0, 120.0))
    assert axes.get_xlabel() == "m from the corner"
    assert ways(axes).get_segments()[0].tolist() == [[10.0, 110.0], [30.0, 110.0]]


def test_the_scale_bar_has_its_length() -> None:
    axes = draw_terrain([panel()]).axes[0]
    (said,) = [text.get_text() for text in axes.texts if text.get_text().endswith(" m")]
    (bar,) = [line for line in axes.lines if line.get_linewidth() == 3.0]
    assert said == "20 m"
    assert np.ptp(np.asarray(bar.get_xdata())) == pytest.approx(20.0)


def key(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_key_says_what_is_there_and_nothing_else() -> None:
    assert key(draw_terrain([panel()])) == ["path, broader where taken often", "start", "end"]
    blocked = cells(blocked=(5, 9))
    full = [panel(blocked, stranded=True, bases=[3]), panel(blocked)]
    assert key(draw_terrain(full)) == [
        "path, broader where taken often",
        "start",
        "end",
        "end: no way back to the start",
        "base",
        "no data, not entered",
    ]


def test_the_key_gives_heights_and_the_deviation_that_is_grey() -> None:
    said = [text.get_text() for text in draw_terrain([panel()]).axes[-1].texts]
    assert said == ["0 m", "height", "24 m", "known to 1 cm", "to 50 cm or worse"]


def test_blocked_cells_are_covered_and_what_they_hold_does_not_matter() -> None:
    on = cells(blocked=(slice(0, 2), 9))
    height = on.mean.copy()
    height[:2, 9] = np.nan
    figure = draw_terrain([panel(on, height=height)])
    cover = np.asarray(figure.axes[0].images[1].get_array())
    assert (cover[..., 3] == on.blocked).all()
    assert pixels(figure) == pixels(draw_terrain([panel(on)]))


def test_a_figure_needs_a_panel() -> None:
    with pytest.raises(InvalidProblemError, match="no panel"):
        draw_terrain([])


def test_a_film_shows_the_path_as_it_grows_and_what_became_known(tmp_path: Path) -> None:
    on = cells()
    vague, sharp = np.full(SHAPE, 0.5), np.full(SHAPE, 0.005)
    frames = [Frame(0, on.mean, vague), Frame(3, on.mean, vague), Frame(7, on.mean, sharp)]
    out = tmp_path / "film.gif"
    write_frames(RunFilm(panel(on, title="run", stranded=True)).pictures(frames), out, 12.0)
    with Image.open(out) as film:
        shown = [np.asarray(f.convert("RGB"), float) for f in ImageSequence.Iterator(film)]
    assert len(shown) == 3
    assert shown[0].shape[0] % BLOCK == shown[0].shape[1] % BLOCK == 0
    assert np.abs(shown[1] - shown[0]).mean() > 0.05
    colourful = [float(np.ptp(frame, axis=2).mean()) for frame in shown]
    assert colourful[2] > 2 * colourful[1]


def test_a_frame_shows_the_path_up_to_its_step() -> None:
    on = cells()
    scene = RunFilm(panel(on))
    frames = [Frame(step, on.mean, np.sqrt(on.variance)) for step in (0, 1, 7)]
    none, one, all_ = (
        int((shown[..., 2].astype(int) - shown[..., 0] > 40).sum())  # blue is the path alone
        for shown in scene.pictures(frames)
    )
    assert none < one < all_


RING = ((510.0, 790.0), (660.0, 790.0), (660.0, 890.0), (510.0, 790.0))
TURNED = (0.0, 20.0, 500.0, 20.0, 0.0, 900.0)


def edges(axes: Axes) -> list[Any]:
    return [line for line in axes.lines if len(line.get_xdata()) == len(RING)]  # type: ignore[arg-type]


def test_the_edge_of_the_area_is_drawn_where_it_lies_on_the_map() -> None:
    axes = draw_terrain([panel(area=((RING, RING[::-1]),))]).axes[0]
    assert len(edges(axes)) == 2
    x, y = edges(axes)[0].get_data()
    assert np.allclose(np.column_stack([x, y]), RING)
    assert not edges(draw_terrain([panel()]).axes[0])


def test_on_a_turned_grid_the_edge_lies_along_the_grid() -> None:
    # The middle of cell (1, 2) is at column 2.5 and row 1.5: 50 m right and 30 m below the top.
    on = cells(TURNED)
    middle = on.centre_of(1, 2)
    ring = (middle, on.centre_of(1, 5), on.centre_of(4, 5), middle)
    axes = draw_terrain([panel(on, area=((ring,),))]).axes[0]
    x, y = edges(axes)[0].get_data()
    assert (x[0], y[0]) == pytest.approx((50.0, 120.0 - 30.0))


def test_bases_are_marked_but_for_the_start() -> None:
    found = draw_terrain([panel(bases=[0, 17, 25])])
    marks: list[Any] = [line for line in found.axes[0].lines if line.get_marker() == "p"]
    places = [(float(mark.get_xdata()[0]), float(mark.get_ydata()[0])) for mark in marks]
    assert places == [(650.0, 870.0), (610.0, 850.0)]
    labels = [text.get_text() for text in found.legends[0].get_texts()]
    assert "base" in labels
    plain = draw_terrain([panel(area=((RING,),))]).legends[0].get_texts()
    assert [t.get_text() for t in plain] == [
        *("path, broader where taken often", "start", "end", "edge to keep within"),
    ]


def test_a_film_shows_the_area_and_the_bases(tmp_path: Path) -> None:
    on = cells()
    frames = [Frame(0, on.mean, np.sqrt(on.variance))]
    for name, more in (("plain", {}), ("area", {"area": ((RING,),)}), ("bases", {"bases": [17]})):
        film = RunFilm(panel(on, **more)).pictures(frames)
        write_frames(film, tmp_path / f"{name}.gif", 12.0)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 3


def test_the_picture_of_a_finished_run_needs_no_step_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"rows": 100, "columns": 120, "cell": 20.0, "limit": 3}
    run = Run.create(tmp_path / "one", "rover", given)
    run.resume()
    pictures = tmp_path / "fresh.png", tmp_path / "followed.png"
    with monkeypatch.context() as patch:
        patch.setattr(Replay, "at", None)
        draw_run(run, pictures[0])
    (run.directory / "summary.json").unlink()
    draw_run(run, pictures[1])
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
