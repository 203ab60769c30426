"""The form for new rover runs: keys that a page may set, size limits, and a terrain preview."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from homeward.errors import InvalidInputError
from homeward.files import read_json
from homeward.kinds.promises import CRITERION_KEYS, SAFE_KEYS
from homeward.kinds.rover.config import MARS, SAMPLE, RoverConfig
from homeward.kinds.rover.terrain import CELLS, cell_side, cells_of, defaults_of, mars_pixels
from homeward.runs.kind import MAX_CELLS, Form
from homeward.terrain import MapWindow, parse_window

ABOUT = "about.json"  # file beside an uploaded raster, with its shape and pixel size
MAX_PIXELS = 16_000_000  # maximum number of pixels of a synthetic terrain
MIN_PIXEL_SIDE, MAX_PIXEL_SIDE = 1e-3, 1e6  # m
MAX_START_CELLS = 250_000  # maximum number of cells whose start is computed for a preview


def pixels_of(config: Mapping[str, Any]) -> tuple[tuple[int, int], tuple[float, float]] | None:
    """Return rows and columns of a terrain's pixels, and a pixel's height and width in m.

    Return None if that is known only after the raster is read.
    """
    terrain = str(config["terrain"])
    if terrain == MARS:
        return mars_pixels(config.get("rows"), config.get("columns"), config.get("pixel"))
    about = Path(terrain).with_name(ABOUT)
    if terrain == SAMPLE or not about.is_file():
        return None
    facts = read_json(about)
    (rows, columns), (high, wide) = facts["shape"], facts["size"]
    return (int(rows), int(columns)), (float(high), float(wide))


def shape_of(config: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the rows and columns of the cells; None if the raster has to be read."""
    pixels, part = pixels_of(config), config.get("window")
    window = parse_window(part) if part else None
    if pixels is None or isinstance(window, MapWindow):
        return None
    (rows, columns), (high, wide) = pixels
    if window is not None:
        rows, columns = window.height, window.width
    cell = float(config["cell"])
    return rows // max(1, round(cell / high)), columns // max(1, round(cell / wide))


def check(config: RoverConfig) -> None:
    """Raise if the terrain is too large for a run that a page starts."""
    values = config.model_dump(mode="json")
    if isinstance(config.error, str):
        raise InvalidInputError("error must be a number here, not the name of a file")
    if not MIN_PIXEL_SIDE <= (values["pixel"] or 1.0) <= MAX_PIXEL_SIDE:
        raise InvalidInputError(
            f"pixel is {values['pixel']:g} m, expected {MIN_PIXEL_SIDE:g} to {MAX_PIXEL_SIDE:g}"
        )
    pixels = pixels_of(values) if config.terrain == MARS else None
    values["cell"] = cell_side(config)
    cells = shape_of(values) or shape_of({**values, "window": None})
    for shape, what, most in (
        (None if pixels is None else pixels[0], "pixels", MAX_PIXELS),
        (cells, "cells", MAX_CELLS),
    ):
        if shape is not None and shape[0] * shape[1] > most:
            raise InvalidInputError(
                f"{shape[0]} x {shape[1]} {what}, expected {most:,} at most: choose a smaller part"
            )


def preview(config: RoverConfig) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the mean heights [R, C] in m of the cells to plan on, their size and transform.

    On driven ground of up to `MAX_START_CELLS` cells, ``start`` is the row and column where a rover
    starts unless a start is given; otherwise it is None.
    """
    from homeward.kinds.rover.kind import landing_site, mapped_prior  # which import this form

    cells, start = cells_of(config), None
    if config.is_driven and cells.mean.size <= MAX_START_CELLS and not cells.blocked.all():
        start = list(divmod(landing_site(mapped_prior(config)), cells.shape[1]))
    heights = np.where(cells.blocked, np.nan, cells.mean)
    where = {"cell": list(cells.size), "transform": list(cells.transform), "start": start}
    return {"height": heights}, where


FORM = Form(
    keys=(
        *("seed", *CELLS, "error_length", "sensor_range", "sensor_noise", "sensor_offset", "mast"),
        "known",
        *("start", "home", "explorer", "algorithm", "floor", "delta", "correction", "discount"),
        *("truth", "limit", *CRITERION_KEYS, "energy_per_metre", "energy_per_climb", "targets"),
    ),
    files={"terrain": (MARS, SAMPLE), "obstacles": (), "keep_out": ()},
    of_the_file={"terrain": ("pixel",)},
    check=check,
    safe={"explorer": "safe"},
    unsafe={"explorer": "unsafe"},
    promises=SAFE_KEYS,
    preview=preview,
    preview_keys=CELLS,
    defaults=defaults_of,
)
