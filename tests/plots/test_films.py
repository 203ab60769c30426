from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from imageio_ffmpeg import count_frames_and_secs  # type: ignore[import-untyped]
from PIL import Image, ImageSequence

from homeward.errors import InvalidFileError, InvalidProblemError
from homeward.plots.films import BLOCK, check_film, whole_blocks, write_frames

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def frames(count: int) -> Iterator[Any]:
    for i in range(count):
        yield np.full((2 * BLOCK, 3 * BLOCK, 3), 40 * i, np.uint8)


@pytest.mark.parametrize("name", ["film.gif", "FILM.GIF"])
def test_a_gif_has_its_frames_in_order(tmp_path: Path, name: str) -> None:
    write_frames(frames(4), tmp_path / name, 4.0)
    with Image.open(tmp_path / name) as film:
        shown = [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(film)]
    assert {frame.shape for frame in shown} == {(2 * BLOCK, 3 * BLOCK, 3)}
    assert [round(float(frame.mean()) / 40) for frame in shown] == [0, 1, 2, 3]
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_an_mp4_has_its_frames_at_their_rate(tmp_path: Path) -> None:
    write_frames(frames(4), tmp_path / "film.mp4", 4.0)
    assert count_frames_and_secs(str(tmp_path / "film.mp4")) == (4, 1.0)
    assert [file.name for file in tmp_path.iterdir()] == ["film.mp4"]


def test_a_film_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[Any]:
        yield from frames(2)
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        write_frames(broken(), tmp_path / "film.gif", 4.0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["film.avi", "film", "no/such/film.gif"])
def test_what_can_not_be_a_film_is_refused_before_the_work(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidFileError, match=name):
        check_film(tmp_path / name)


@pytest.mark.parametrize("fps", [0.0, -1.0, 51.0, float("nan")])
def test_frames_per_second_are_above_none_and_at_most_fifty(tmp_path: Path, fps: float) -> None:
    with pytest.raises(InvalidProblemError, match="frames per second"):
        write_frames(frames(1), tmp_path / "film.gif", fps)


def test_sides_are_whole_blocks_and_no_smaller_than_asked() -> None:
    wide, high = whole_blocks(3.01, 1.0, 100)
    assert [wide * 100, high * 100] == pytest.approx([304.0, 112.0])
