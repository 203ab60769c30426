"""Missions of a rover on terrain: a report says where it is, and which heights it measured.

Each cell has one point at which its height is measured (`RoverVehicle.points`). With ground
"driven" it is where the vehicle stands in the cell, which may be beside a rock; with ground "paper"
it is the centre. A height from elsewhere in the cell would look like an error of the terrain model,
and prove moves that do not work. A measurement has a standard deviation (`error`, m) or a variance
(`variance`, m²). Measurements come as JSON, as CSV with a header, or as a GeoTIFF patch: band 1 has
heights and band 2 their standard deviations. Only the pixels of a patch at these points are used.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from homeward.arrays import FloatArray, IntArray, frozen
from homeward.beliefs import Belief, Transition
from homeward.beliefs.heights import Heights, SlopeBelief
from homeward.errors import InvalidFileError, InvalidInputError, MissingExtraError
from homeward.files import refusing
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import NO_DATA, cells_of, pinned_config, setup_of
from homeward.kinds.rover.summary import no_degrees
from homeward.kinds.rover.terrain import crossings_of
from homeward.kinds.rover.way_home import (
    WaysHome,
    collection_of,
    line_of,
    on_map,
    routes_home,
    routes_text,
    way_features,
)
from homeward.planning.remote import HeldWay, Outside
from homeward.runs.observation_codec import Digest
from homeward.runs.vehicle import Vehicle, cell_of, need
from homeward.terrain.elevation import to_grid, to_map, wkt_name
from homeward.terrain.gdal import has_degrees, same_system
from homeward.terrain.reading import UNKNOWN, read_elevation

NUMBERS = ("height", "error", "variance", "x", "y")
PLACES = (("row", "column"), ("x", "y"))
FORM = '{"row", "column", "height", "error"}, or with "x" and "y"'
MAX_HEIGHT = 1e6  # m
MAX_DEVIATIONS = 8.0  # of a height from what is believed, unless the report is sure
MIN_VARIANCE, MAX_VARIANCE = 1e-24, 1e24  # m²


class Measured(NamedTuple):
    """Measured heights."""

    cells: IntArray  # [n] ascending
    heights: FloatArray  # [n] m
    variances: FloatArray  # [n] m²
    sure: bool = False  # whether heights far from what is believed are taken


class RoverVehicle(Vehicle):
    """A rover on terrain. A position is [row, column], {"x", "y"} on the map, or either as text."""

    unused_keys: ClassVar = ("seed", "limit", "truth", "film")
    needed_keys: ClassVar = ("terrain",)
    report_keys: ClassVar = ("heights", "sure")
    suffixes: ClassVar = (".csv", ".tif", ".tiff")

    def __init__(self, config: RoverConfig) -> None:
        self.config = config

        def outside(belief: SlopeBelief, start: int, sensor: object) -> Outside:
            self.world, self.belief = Outside(start), belief
            return self.world

        self.setup = setup_of(config, outside)

    @classmethod
    def settled(cls, config: RoverConfig) -> RoverConfig:
        """Return the configuration with its terrain, area and start pinned."""
        return pinned_config(config)

    def state(self, position: Any) -> int:
        """Return the state of a position; raise if it is off the map or blocked."""
        if isinstance(position, str) and position.strip().startswith("map:"):
            parts = position.strip().removeprefix("map:").split(",")
            position = dict(zip("xy", parts, strict=False)) if len(parts) == 2 else position
        if isinstance(position, dict):
            if set(position) != {"x", "y"}:
                raise InvalidInputError('the position needs "x" and "y", and nothing else')
            x, y = (_number(position[key], f"the position's {key}") for key in "xy")
            row, column = cells_of(self.config).cell_of(x, y)
            state = row * self.belief.shape[1] + column
        else:
            state = cell_of(position, self.belief.shape)
        if self.belief.blocked[state]:
            row, column = divmod(state, self.belief.shape[1])
            raise InvalidInputError(f"row {row}, column {column} is {NO_DATA}")
        return state

    def points(self, states: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the map coordinates x [n] and y [n] at which heights of open cells are measured.

        On driven ground that is where the vehicle stands in a cell, on paper ground its centre.
        """
        cells, crossings = cells_of(self.config), crossings_of(self.config)
        row, column = np.stack(np.divmod(states, cells.shape[1])) + 0.5
        if crossings is not None:
            row, column = crossings.stands(states) / np.array(crossings.sides)[:, None]
        places: list[Any] = [column, row]
        x, y = to_map(cells.transform, *places)
        return np.asarray(x), np.asarray(y)

    def all_points(self) -> list[dict[str, Any]]:
        """Return row, column, x and y of the point of each open cell."""
        states = np.flatnonzero(~self.belief.blocked)
        rows, columns = np.divmod(states, self.belief.shape[1])
        table = (rows, columns, *self.points(states))
        lists = zip(*(part.tolist() for part in table), strict=True)
        return [{"row": row, "column": column, "x": x, "y": y} for row, column, x, y in lists]

    def line(self, state: int, other: int) -> list[list[float]]:
        """Return the way between two neighbours [n, 3]: map coordinates x, y and heights in m."""
        return on_map(self.config, line_of(self.config, [state, other]))

    def _check_point(self, state: int, x: float, y: float) -> None:
        """Raise on driven ground if a height was not measured in the pixel of its cell's point."""
        crossings = crossings_of(self.config)
        if crossings is None:
            return
        column, row = to_grid(cells_of(self.config).transform, x, y)
        here = np.array([row, column]) * crossings.sides
        if np.abs(here - crossings.stands([state])[:, 0]).max() > 0.5 + 1e-6:
            (east,), (north,) = self.points(np.array([state]))
            there = "row {}, column {}".format(*divmod(state, self.belief.shape[1]))
            raise InvalidInputError(
                f"({x:.10g}, {y:.10g}) is in {there}, but not where the vehicle stands in it: "
                f"measure at ({east:.10g}, {north:.10g}), or give a GeoTIFF patch"
            )

    def measured(self, report: Mapping[str, Any]) -> Measured:
        """Return the measured heights of a report."""
        given = need(report.get("heights", []), list, "heights", f"a list of {FORM}")
        sure = report.get("sure", False)
        if not isinstance(sure, bool):
            raise InvalidInputError(f"sure is {sure!r}, expected true or false")
        found = self._together([(f"height {n}", one) for n, one in enumerate(given, start=1)])
        return found._replace(sure=sure)

    def _together(self, given: Sequence[tuple[str, Any]]) -> Measured:
        """Return measurements as arrays; each one is given with its name for messages."""
        found: dict[int, tuple[float, float, str]] = {}
        for what, one in given:
            cell, height, variance = self._measurement(one, what)
            if cell in found:
                row, column = divmod(cell, self.belief.shape[1])
                raise InvalidInputError(
                    f"{what} is in row {row}, column {column} of the map, as is {found[cell][2]}: "
                    "combine them"
                )
            found[cell] = height, variance, what
        cells = sorted(found)
        heights, variances = (np.array([found[c][k] for c in cells], np.float64) for k in (0, 1))
        return Measured(frozen(np.array(cells, np.int32)), frozen(heights), frozen(variances))

    def _measurement(self, given: Any, what: str) -> tuple[int, float, float]:
        """Return cell, height and variance of one measurement."""
        if isinstance(given, list) and len(given) == 4:
            given = dict(zip(("row", "column", "height", "error"), given, strict=True))
        if not isinstance(given, dict):
            raise InvalidInputError(f"{what} is {str(given)[:60]}, expected {FORM}")
        place = next((keys for keys in PLACES if all(key in given for key in keys)), None)
        spread = [key for key in ("error", "variance") if key in given]
        known = {*(place or ()), *spread, "height"}
        if place is None or len(spread) != 1 or known != set(given):
            raise InvalidInputError(f"{what} has {', '.join(map(str, given))}, expected {FORM}")
        height = _number(given["height"], f"the height of {what}")
        if not abs(height) <= MAX_HEIGHT:
            raise InvalidInputError(f"{what} is {height:g} m, expected at most {MAX_HEIGHT:g}")
        deviation = _number(given[spread[0]], f"the {spread[0]} of {what}")
        variance = deviation if spread == ["variance"] else deviation * deviation
        if not (deviation > 0.0 and MIN_VARIANCE <= variance <= MAX_VARIANCE):
            least, most = MIN_VARIANCE, MAX_VARIANCE
            if spread == ["error"]:
                least, most = math.sqrt(least), math.sqrt(most)
            raise InvalidInputError(
                f"the {spread[0]} of {what} is {deviation:g}, expected a number from {least:g} "
                f"to {most:g}"
            )
        position: Any = {"x": given["x"], "y": given["y"]} if place == ("x", "y") else None
        if position is None:
            position = [_whole(given[key], f"the {key} of {what}") for key in place]
        try:
            state = self.state(position)
            if place == ("x", "y"):
                self._check_point(state, float(given["x"]), float(given["y"]))
            return state, height, variance
        except InvalidInputError as cause:
            raise InvalidInputError(f"{what}: {cause}") from cause

    def fingerprint(self, measured: Measured) -> str | None:
        """Return a digest of the measurements."""
        return Digest.of(tuple(measured[:3])).digest if len(measured.cells) else None

    def observation(
        self, measured: Measured, moved: Transition | None, state: int, belief: Belief
    ) -> Heights:
        """Return the measured heights and the move before them.

        Raise if a height is more than `MAX_DEVIATIONS` standard deviations from the believed one,
        unless the report says that it is sure.
        """
        cells, heights, variances, sure = measured
        if len(cells) and not sure:
            assert isinstance(belief, SlopeBelief)
            mean, deviation = belief.height[cells], np.sqrt(belief.variance[cells] + variances)
            away = np.abs(heights - mean) / deviation
            k = int(away.argmax())
            if away[k] > MAX_DEVIATIONS:
                row, column = divmod(int(cells[k]), belief.shape[1])
                raise InvalidInputError(
                    f"the height of row {row}, column {column} is {heights[k]:g} m, expected "
                    f"{mean[k]:g} ± {deviation[k]:.2g} m: check it and its unit; to record it all "
                    'the same, add "sure": true to the report (--sure)'
                )
        return Heights(cells, heights, variances, moved=moved)

    def read(self, path: Path) -> dict[str, Any]:
        """Return the measurements in a CSV file or a GeoTIFF patch."""
        suffix = path.suffix.lower()
        if suffix == ".csv":
            return {"heights": self._read_csv(path)}
        return (
            {"heights": self._read_patch(path)} if suffix in self.suffixes else super().read(path)
        )

    def _read_csv(self, path: Path) -> list[dict[str, float]]:
        """Return the measurements of a CSV file; messages name the row."""
        try:
            with refusing(path, "can't be read"), open(path, newline="", encoding="utf-8-sig") as f:
                lines = csv.reader(f, strict=True)
                header = [name.strip().lower() for name in next(lines, [])]
                rows = [(lines.line_num, row) for row in lines if any(cell.strip() for cell in row)]
        except (csv.Error, UnicodeDecodeError) as cause:
            raise InvalidFileError(f"{path}: is not a CSV file: {cause}") from cause
        if "height" not in header or not {"error", "variance"} & {*header}:
            expected = "row,column,height,error or x,y,height,error"
            raise InvalidFileError(
                f"{path}: the first row is {','.join(header)[:60]!r}, expected {expected}"
            )
        given: list[tuple[str, Any]] = []
        for number, row in rows:
            what = f"row {number}"
            if len(row) != len(header):
                raise InvalidFileError(
                    f"{path}: {what} has {len(row)} cells, the first row has {len(header)}"
                )
            given.append((what, dict(zip(header, row, strict=True))))
        try:
            return self._as_report(self._together(given))
        except InvalidInputError as cause:
            raise InvalidFileError(f"{path}: {cause}") from cause

    def _read_patch(self, path: Path) -> list[dict[str, float]]:
        """Return the measurements of a GeoTIFF patch at the points of cells."""
        cells = cells_of(self.config)
        if not path.is_file():
            raise InvalidFileError(f"{path}: there is no such file")
        patch = read_elevation(path)
        here, there = cells.crs, patch.crs
        if (here is None) != (there is None) or not same_system(here, there):
            raise InvalidFileError(
                f"{path}: is in {wkt_name(there or UNKNOWN)}, but the mission is in "
                f"{wkt_name(here or UNKNOWN)}: warp it with gdalwarp -t_srs first"
            )
        try:
            errors = read_elevation(path, band=2).heights
        except InvalidInputError as cause:
            raise InvalidFileError(
                f"{path}: band 2 must have the standard deviations of the heights in m: {cause}"
            ) from cause
        states = np.flatnonzero(~self.belief.blocked)
        places: list[Any] = [*self.points(states)]
        across, down = (np.floor(part) for part in to_grid(patch.transform, *places))
        tall, wide = patch.shape
        on = (across >= 0) & (across < wide) & (down >= 0) & (down < tall)
        at = states[on]
        pixel = down[on].astype(np.int64), across[on].astype(np.int64)
        heights, deviations = patch.heights[pixel], errors[pixel]
        known = np.isfinite(heights)
        if not known.any():
            raise InvalidFileError(f"{path}: no cell of the map has a height in this file")
        wrong = known & ~((deviations > 0.0) & (deviations < math.inf))
        if wrong.any():
            k = int(np.argmax(wrong))
            row, column = pixel[0][k], pixel[1][k]
            raise InvalidFileError(
                f"{path}: the error in row {row}, column {column} of band 2 is "
                f"{deviations[k]:g}, expected a number above 0"
            )
        found = Measured(at[known], heights[known], deviations[known] ** 2)
        return self._as_report(found)

    def _as_report(self, measured: Measured) -> list[dict[str, float]]:
        """Return measurements as JSON values, without loss."""
        rows, columns = np.divmod(measured.cells, self.belief.shape[1])
        table = (rows, columns, measured.heights, measured.variances)
        lists = zip(*(part.tolist() for part in table), strict=True)
        return [{"row": r, "column": c, "height": h, "variance": v} for r, c, h, v in lists]

    def on_map(self, ways: Sequence[HeldWay]) -> dict[str, Any]:
        """Return held ways home as GeoJSON and, if the map has degrees, as GPX."""
        kept = [(list(w.states), w.probability) for w in ways if w.states[-1] in w.homes]
        found, cells = WaysHome(np.empty(0), kept), cells_of(self.config)
        why, gpx = None, None
        if not has_degrees(cells.crs):
            why = no_degrees(cells)
        else:
            try:
                gpx = routes_text(routes_home(self.config, found), cells, "way_home.gpx")
            except MissingExtraError as cause:
                why = str(cause)
        geojson = collection_of(self.config, way_features(self.config, found))
        return {"geojson": geojson, "gpx": gpx, "why_no_gpx": why}


def _number(given: Any, what: str) -> float:
    """Return a finite number, also from a text."""
    if isinstance(given, str):
        try:
            given = float(given)
        except ValueError:
            raise InvalidInputError(f"{what} is {given[:40]!r}, expected a number") from None
    value = need(given, (int, float), what, "a number")
    if not abs(value) < 1e300:
        raise InvalidInputError(
            f"{what} is {value if value != value else 'too large'}, expected a finite number"
        )
    return float(value)


def _whole(given: Any, what: str) -> int:
    """Return a whole number, also from a text."""
    value = _number(given, what)
    if value != int(value):
        raise InvalidInputError(f"{what} is {value:g}, expected a whole number")
    return int(value)
