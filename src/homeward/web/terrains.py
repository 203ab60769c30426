"""Terrains as the page names them: ``mars``, ``sample``, or an upload by its number.

No path comes from a client or goes to one.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homeward.files import read_json
from homeward.terrain import MapWindow, parse_window
from homeward.web.refusals import Refusal, RefusalError

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER, TERRAIN, ABOUT = ".uploads", "terrain.tif", "about.json"
PREFIX = "upload:"
NUMBER = re.compile(r"[0-9a-f]{16}")
FREE = ("mars", "sample")
"""Terrains that need no file."""


def path_of(terrain: Any, root: Path) -> str:
    """Give what a run's configuration names for a terrain; refuse what is no upload of ours."""
    if terrain in FREE:
        return str(terrain)
    number = terrain.removeprefix(PREFIX) if isinstance(terrain, str) else ""
    if not str(terrain).startswith(PREFIX) or not NUMBER.fullmatch(number):
        known = ", ".join(FREE)
        raise RefusalError(Refusal.INVALID, f"the terrain is not one of {known} and {PREFIX}…")
    path = root / FOLDER / number / TERRAIN
    if path.is_symlink() or not path.is_file():
        raise RefusalError(Refusal.NOT_FOUND, f"there is no {terrain}")
    return str(path)


def name_of(config: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Give a configuration as it is shown: an upload by its number, another file by its name."""
    shown = dict(config)
    terrain = shown.get("terrain")
    if isinstance(terrain, str) and terrain not in FREE:
        path = Path(terrain)
        ours = path.name == TERRAIN and path.parent.parent == root / FOLDER
        shown["terrain"] = f"{PREFIX}{path.parent.name}" if ours else path.name
    if isinstance(shown.get("keep_in"), str):
        shown["keep_in"] = Path(shown["keep_in"]).name
    return shown


def size_of(config: Mapping[str, Any]) -> tuple[tuple[int, int], tuple[float, float]] | None:
    """Give the pixels of a rover's terrain and their size in m; None where they are not known."""
    terrain = str(config["terrain"])
    if terrain == "mars":
        rows, columns, pixel = (config.get(name) for name in ("rows", "columns", "pixel"))
        shape = (1000 if rows is None else rows, 2000 if columns is None else columns)
        side = 1.0 if pixel is None else pixel
        return shape, (side, side)
    path = Path(terrain)
    if path.name != TERRAIN or not (path.parent / ABOUT).is_file():
        return None
    about = read_json(path.parent / ABOUT)
    (rows, columns), (high, wide) = about["shape"], about["size"]
    return (int(rows), int(columns)), (float(high), float(wide))


def cells_of(config: Mapping[str, Any]) -> tuple[int, int] | None:
    """Give the rows and columns of a rover's cells; None where they are not known.

    Of a window in map coordinates that is so.
    """
    found, part = size_of(config), config.get("window")
    window = parse_window(part) if part else None
    if found is None or isinstance(window, MapWindow):
        return None
    (rows, columns), (high, wide) = found
    if window is not None:
        rows, columns = window.height, window.width
    cell = float(config["cell"])
    return rows // max(1, round(cell / high)), columns // max(1, round(cell / wide))
