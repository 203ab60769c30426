"""New runs from the page: what it may set, and how large they may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.errors import InvalidInputError
from homeward.kinds.promises import ASKED
from homeward.runs.config import checked
from homeward.runs.kind import find_kind
from homeward.web.frames import pack
from homeward.web.refusals import Refusal, RefusalError
from homeward.web.terrains import PREFIX, cells_of, path_of, size_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from homeward.runs.config import Config

CELLS = 4_000_000
"""Cells of the largest map that is explored from the page."""

PIXELS = 16_000_000
"""Pixels of the largest synthetic terrain that is made for it."""

SMALLEST, LARGEST = 1e-3, 1e6
"""Sides of a pixel, in m."""

GROUND = (
    *("terrain", "terrain_seed", "rows", "columns", "pixel", "window", "cell", "blur", "error"),
)
KEYS = {
    "grid": (
        *("seed", "size", "walls", "start", "map", "explorer", "delta", "correction", "home"),
        *("algorithm", "floor", "stay", "discount", "limit", *ASKED),
    ),
    "rover": (
        *("seed", *GROUND, "climb", "descend", "sensor_range", "sensor_noise", "sensor_offset"),
        *("start", "home", "explorer", "algorithm", "floor", "delta", "correction", "discount"),
        *("truth", "limit", *ASKED),
    ),
}
"""What the page may set, by kind: nothing that could name a file or a module."""

CORNERS = 1000
"""Corners of the polygons to keep in, all together."""

PROMISES = ("delta", "correction", "home", *(name for name in ASKED if name != "recall"))
"""Keys that are for an explorer that keeps something safe."""

UNSAFE = {"grid": "uncover", "rover": "unsafe"}
"""The explorer of each kind that keeps nothing safe."""


def check_kind(kind: Any) -> str:
    """Refuse kinds that are not started from the page."""
    if not isinstance(kind, str) or kind not in KEYS:
        raise RefusalError(Refusal.INVALID, f"the kind of run is not one of {', '.join(KEYS)}")
    return kind


def pair_of(kind: str, config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Give the configurations of a safe and an unsafe explorer in the same world.

    The unsafe one promises nothing, and is called off when the safe one is.
    """
    free = {name: value for name, value in config.items() if name not in PROMISES}
    return {
        "safe": {**config, "explorer": "safe"},
        "unsafe": {**free, "explorer": UNSAFE[kind]},
    }


def settled(kind: str, config: Any, root: Path) -> Config:
    """Check a configuration from the page; give it with its terrain in place."""
    allowed = KEYS[check_kind(kind)]
    if not isinstance(config, dict):
        raise RefusalError(Refusal.INVALID, "the configuration is not a JSON object")
    for name in config:
        if name not in allowed:
            raise RefusalError(Refusal.INVALID, f"{str(name)[:40]!r} can't be set for a {kind} run")
    values = dict(config)
    if kind == "grid":
        _check_map(values.get("map"))
    else:
        _check_area(values.get("keep_in"))
        values["terrain"] = path_of(values.get("terrain", "mars"), root)
        if str(config.get("terrain", "")).startswith(PREFIX):
            values.pop("pixel", None)  # the upload has its own by now
    found: Config = checked(find_kind(kind).config, values, f"the configuration of a {kind} run")
    if kind == "rover":
        _check_size(found.model_dump(mode="json"))
    return found


def _check_map(text: Any) -> None:
    """Refuse a drawn world that is too large to be explored from the page."""
    if isinstance(text, str) and len(text) > CELLS:
        raise RefusalError(
            Refusal.INVALID, f"a map of {len(text):,} letters is more than {CELLS:,}"
        )


def _check_area(area: Any) -> None:
    """Refuse an area that is not given by its corners: the name of a file is not looked at."""
    if area is None:
        return
    try:
        corners = [corner for rings in area for ring in rings for corner in ring]
        numbers = all(
            len(corner) == 2 and all(type(x) in (int, float) for x in corner) for corner in corners
        )
    except TypeError:
        numbers = False
    if isinstance(area, str) or not numbers:
        raise RefusalError(
            Refusal.INVALID,
            "keep_in is a list of polygons, each a list of rings of corners [x, y] in m",
        )
    if len(corners) > CORNERS:
        raise RefusalError(
            Refusal.INVALID, f"keep_in has {len(corners)} corners, at most {CORNERS} are taken"
        )


def _check_size(config: dict[str, Any]) -> None:
    """Refuse a terrain that is too large to be explored from the page."""
    pixels = size_of(config)
    cells = cells_of(config) or cells_of({**config, "window": None})
    if not SMALLEST <= (config["pixel"] or 1.0) <= LARGEST:
        raise RefusalError(Refusal.INVALID, f"a pixel is {SMALLEST:g} to {LARGEST:g} m wide")
    if pixels is not None and config["terrain"] == "mars":
        rows, columns = pixels[0]
        if rows * columns > PIXELS:
            raise RefusalError(
                Refusal.INVALID, f"{rows} x {columns} pixels are more than {PIXELS:,}"
            )
    if cells is not None and cells[0] * cells[1] > CELLS:
        raise RefusalError(
            Refusal.INVALID, f"{cells[0]} x {cells[1]} cells are more than {CELLS:,}"
        )


def preview_of(query: Mapping[str, Any], root: Path) -> bytes:
    """Give the frame of the mean heights [R, C] of the cells that a rover would plan on.

    Beside them stand `cell`, the height and width of a cell in m, and `transform`, which leads from
    a column and a row to map coordinates, see `terrain.transforms`.
    """
    from homeward.kinds.rover.kind import cells_of as make_cells

    for name in query:
        if name not in GROUND:
            raise RefusalError(Refusal.INVALID, f"{name[:40]!r} says nothing of the terrain")
    config: Any = settled("rover", dict(query), root)
    try:
        cells = make_cells(config)
    except InvalidInputError as cause:
        raise RefusalError(Refusal.UNUSABLE, str(cause)) from cause
    heights = np.where(cells.blocked, np.nan, cells.mean)
    where = {"cell": list(cells.size), "transform": list(cells.transform)}
    return pack({"height": heights}, step=0, total=0, **where)


def schemas() -> dict[str, Any]:
    """Give the JSON Schema of each kind's configuration, of what the page may set."""
    found = {}
    for kind, keys in KEYS.items():
        schema = find_kind(kind).config.model_json_schema()
        schema["properties"] = {
            name: about for name, about in schema["properties"].items() if name in keys
        }
        if kind == "rover":  # the schema of the configuration would also take a path
            area = schema["properties"]["keep_in"]
            area["anyOf"] = [one for one in area["anyOf"] if one.get("type") != "string"]
        found[kind] = schema
    return found
