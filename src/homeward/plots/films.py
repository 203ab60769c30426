"""Films: write frames to a .gif or .mp4 file, atomically."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from homeward.arrays import number
from homeward.errors import InvalidFileError, InvalidProblemError
from homeward.extras import need
from homeward.files import PART, refusing

FILMS = (".gif", ".mp4")
BLOCK = 16  # the sides of a film are multiples of this number of pixels, as players require


def check_film(out: Path) -> None:
    """Raise `InvalidFileError` if no film can be written to `out`; call this before the work."""
    if out.suffix.lower() not in FILMS:
        raise InvalidFileError(f"{out}: a film can be written as {', '.join(FILMS)}")
    if not out.parent.is_dir():
        raise InvalidFileError(f"{out}: there is no folder {out.parent}")
    if out.is_dir():
        raise InvalidFileError(f"{out}: is a folder")
    if out.suffix.lower() == ".mp4":
        need("imageio.v2", "films", f"{out}: a film as .mp4 needs imageio")


def whole_blocks(wide: float, high: float, dpi: int) -> tuple[float, float]:
    """Return the sides in inches, rounded up to whole blocks of `BLOCK` pixels."""
    blocks = np.ceil(np.array([wide, high]) * dpi / BLOCK) * BLOCK / dpi
    return float(blocks[0]), float(blocks[1])


def write_frames(frames: Iterator[Any], out: Path, fps: float) -> None:
    """Write frames [height, width, 3] to a .gif or .mp4 file, atomically.

    Only a few frames are in memory at a time.
    """
    check_film(out)
    if not 0.0 < number(fps, "the frames per second", InvalidProblemError) <= 50.0:
        raise InvalidProblemError(f"the frames per second are {fps:g}, expected 0 to 50")
    with completed(out) as part:
        (_write_gif if out.suffix.lower() == ".gif" else _write_mp4)(frames, part, fps)


def _write_gif(frames: Iterator[Any], part: Path, fps: float) -> None:
    from PIL import Image

    images = (Image.fromarray(frame) for frame in frames)
    few = (image.quantize(64, dither=Image.Dither.NONE) for image in images)
    pause = round(1000.0 / fps)
    next(few).save(part, "GIF", save_all=True, append_images=few, duration=pause, loop=0)


def _write_mp4(frames: Iterator[Any], part: Path, fps: float) -> None:
    from imageio.v2 import get_writer

    writer: Any = get_writer(
        part,
        format="FFMPEG",
        fps=fps,
        codec="libx264",
        quality=8,
        macro_block_size=BLOCK,
        output_params=["-threads", "1", "-fflags", "+bitexact"],
    )
    with closing(writer):  # otherwise the process of FFmpeg would continue after an error
        for frame in frames:
            writer.append_data(frame)


@contextmanager
def completed(out: Path) -> Iterator[Path]:
    """Yield a temporary path with the same file name; the file replaces `out` at the end."""
    # Writers choose the format by the suffix. A killed process leaves the folder behind; a resumed
    # run deletes it.
    folder = out.with_name(f".{out.name}.{os.getpid()}{PART}")
    try:
        with refusing(out, "can't be written"):
            folder.mkdir(exist_ok=True)
            yield folder / out.name
            os.replace(folder / out.name, out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
