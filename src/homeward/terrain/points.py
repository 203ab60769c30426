"""Targets on a map: points with weights from GeoJSON, and the cells that they lie in.

Coordinates are map coordinates of the terrain, unless a `crs` member of the whole file names
another system. A feature's property ``weight`` is the weight of its points; it is 1 unless given.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, TypeAlias

from homeward.errors import InvalidInputError
from homeward.terrain.elevation import Georeference, describe_extent, to_grid
from homeward.terrain.polygons import Convert, geometries, position, read_geojson

if TYPE_CHECKING:
    from homeward.terrain.cells import Cells

Target: TypeAlias = tuple[float, float, float]  # x and y on the map, and a weight above 0
MAX_TARGETS = 10_000
MAX_WEIGHT = 1e6


def read_targets(path: str | os.PathLike[str], cells: Georeference) -> tuple[Target, ...]:
    """Return the targets of a GeoJSON file, in the map coordinates of `cells`."""

    def converted(targets: tuple[Target, ...], convert: Convert) -> tuple[Target, ...]:
        x, y, weights = zip(*targets, strict=True)
        return tuple(zip(*convert(x, y), weights, strict=True))

    return read_geojson(path, cells, targets_from, converted, "the targets")


def targets_from(value: Any) -> tuple[Target, ...]:
    """Return the points of a GeoJSON geometry, feature or collection, with their weights."""
    targets: list[Target] = []
    for geometry, where, about in geometries(value):
        kind, given = geometry["type"], geometry.get("coordinates")
        if kind not in ("Point", "MultiPoint"):
            raise InvalidInputError(f"{where} is a {kind}, expected a Point or a MultiPoint")
        weight = about.get("weight") if isinstance(about, dict) else None
        weight = 1.0 if weight is None else weight
        if type(weight) not in (int, float) or not 0.0 < weight <= MAX_WEIGHT:
            raise InvalidInputError(
                f"{where} has the weight {weight!r}, expected a number above 0, "
                f"{MAX_WEIGHT:g} at most"
            )
        if not isinstance(given, list):
            raise InvalidInputError(f"is not GeoJSON: {where} has no coordinates")
        places = [given] if kind == "Point" else given
        targets += [(*position(place, where), float(weight)) for place in places]
    return check_targets(tuple(targets))


def check_targets(targets: tuple[Target, ...]) -> tuple[Target, ...]:
    """Return the targets themselves; raise if there are none or too many, or one is invalid."""
    if not targets:
        raise InvalidInputError("there is no point")
    if len(targets) > MAX_TARGETS:
        raise InvalidInputError(
            f"there are {len(targets):,} points, expected {MAX_TARGETS:,} at most"
        )
    for n, (x, y, weight) in enumerate(targets, start=1):
        if not (math.isfinite(x) and math.isfinite(y) and 0.0 < weight <= MAX_WEIGHT):
            raise InvalidInputError(
                f"point {n} is at x = {x:g}, y = {y:g} with the weight {weight:g}, expected finite "
                f"coordinates and a weight above 0, {MAX_WEIGHT:g} at most"
            )
    return targets


def cells_of_targets(targets: tuple[Target, ...], cells: Cells) -> list[int]:
    """Return the state of the cell that contains each target; raise if one is off the map."""
    states = []
    for n, (x, y, _) in enumerate(targets, start=1):
        column, row = (math.floor(part) for part in to_grid(cells.transform, x, y))
        if not (0 <= row < cells.shape[0] and 0 <= column < cells.shape[1]):
            raise InvalidInputError(
                f"point {n}, at x = {x:.10g}, y = {y:.10g}, is off the map, which reaches "
                f"{describe_extent(cells.transform, cells.shape)}; if the coordinates are "
                "longitudes and latitudes, add a crs member"
            )
        states.append(row * cells.shape[1] + column)
    return states
