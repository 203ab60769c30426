"""Missions of a rover on terrain: a report says where it is, and which heights it measured.

Each cell has one point at which its height is measured (`RoverVehicle.points`). With ground
"driven" it is where the vehicle stands in the cell; with ground "paper" it is the centre. A height
from elsewhere in the cell would look like an error of the terrain model, and could prove moves that
do not work. A measurement has a standard deviation (`error`, m) or a variance (`variance`, m²).
Measurements come as JSON, as CSV with a header, or as a GeoTIFF patch: band 1 has heights and band
2 their standard deviations. Only the pixels of a patch at these points are used.
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
from homeward.beliefs.heights import SlopeBelief
from homeward.beliefs.observations import Heights
from homeward.errors import InvalidFileError, InvalidInputError, MissingExtraError, prefixed
from homeward.files import refusing
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import NO_DATA, cells_of, pinned_config, setup_of
from homeward.kinds.rover.summary import no_degrees
from homeward.kinds.rover.terrain import crossings_of, stands_of
from homeward.kinds.rover.way_home import (
    WaysHome,
    line_of,
    on_map,
    routes_home,
    routes_text,
    way_features,
)
from homeward.planning.explorer import WayHome
from homeward.runs.observation_codec import Digest
from homeward.runs.vehicle import Vehicle, cell_of, need
from homeward.terrain.elevation import to_grid, to_map, wkt_name
from homeward.terrain.gdal import has_degrees, same_system
from homeward.terrain.reading import UNKNOWN, read_elevation
from homeward.terrain.writing import collection_of
from homeward.worlds.outside import Outside

PLACES = (("row", "column"), ("x", "y"))
FORM = '{"row", "column", "height", "error"}, or "x" and "y" for "row" and "column"'
MAX_HEIGHT = 1e6  # m
MAX_DEVIATIONS = 8.0  # standard deviations of a height from its mean, unless the report is sure
MIN_VARIANCE, MAX_VARIANCE = 1e-24, 1e24  # m²


class Measured(NamedTuple):
    """Measured heights."""

    cells: IntArray  # [n] ascending
    heights: FloatArray  # [n] m
    variances: FloatArray  # [n] m²
    sure: bool = False  # whether heights far from the belief's mean are accepted


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
        """Return the configuration with all that `pinned_config` adds to it."""
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
        """Return the map coordinates x [n] and y [n] at which the heights of cells are measured."""
        cells = cells_of(self.config)
        row, column = stands_of(cells, crossings_of(self.config), states)
        places: list[Any] = [column, row]
        x, y = to_map(cells.transform, *places)
        return np.asarray(x), np.asarray(y)

    def all_points(self) -> list[dict[str, Any]]:
        """Return row, column, x and y of the measuring point of each open cell."""
        states = np.flatnonzero(~self.belief.blocked)
        rows, columns = np.divmod(states, self.belief.shape[1])
        table = (rows, columns, *self.points(states))
        lists = zip(*(part.tolist() for part in table), strict=True)
        return [{"row": row, "column": column, "x": x, "y": y} for row, column, x, y in lists]

    def line(self, state: int, other: int) -> list[list[float]]:
        """Return the path between neighbouring cells [n, 3]: map coordinates and heights in m."""
        return on_map(self.config, line_of(self.config, [state, other]))

    def _check_point(self, state: int, x: float, y: float) -> None:
        """Raise unless (x, y) is in the pixel where the vehicle stands in its cell.

        With ground "paper" there is no such pixel, and every point is accepted.
        """
        crossings = crossings_of(self.config)
        if crossings is None:
            return
        column, row = to_grid(cells_of(self.config).transform, x, y)
        point = np.array([row, column]) * crossings.sides
        if np.abs(point - crossings.stands([state])[:, 0]).max() > 0.5 + 1e-6:
            (east,), (north,) = self.points(np.array([state]))
            cell = "row {}, column {}".format(*divmod(state, self.belief.shape[1]))
            raise InvalidInputError(
                f"({x:.10g}, {y:.10g}) is in {cell}, but not where the vehicle stands in it: "
                f"measure at ({east:.10g}, {north:.10g}), or give a GeoTIFF patch"
            )

    def measured(self, report: Mapping[str, Any]) -> Measured:
        """Return the measured heights of a report."""
        given = need(report.get("heights", []), list, "heights", f"a list of {FORM}")
        sure = report.get("sure", False)
        if not isinstance(sure, bool):
            raise InvalidInputError(f"sure is {sure!r}, expected true or false")
        named = [(f"height {n}", one) for n, one in enumerate(given, start=1)]
        return self._combined(named)._replace(sure=sure)

    def _combined(self, given: Sequence[tuple[str, Any]]) -> Measured:
        """Return measurements as arrays; each is given with its name in messages."""
        by_cell: dict[int, tuple[float, float, str]] = {}
        for what, one in given:
            cell, height, variance = self._measurement(one, what)
            if cell in by_cell:
                row, column = divmod(cell, self.belief.shape[1])
                raise InvalidInputError(
                    f"{what} is in row {row}, column {column} of the map, as is "
                    f"{by_cell[cell][2]}: combine them"
                )
            by_cell[cell] = height, variance, what
        cells = sorted(by_cell)
        heights, variances = (np.array([by_cell[c][k] for c in cells], np.float64) for k in (0, 1))
        return Measured(frozen(np.array(cells, np.int32)), frozen(heights), frozen(variances))

    def _measurement(self, given: Any, what: str) -> tuple[int, float, float]:
        """Return state, height in m and variance in m² of one measurement, a JSON value.

        `what` names it in messages.
        """
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
        if place == ("x", "y"):
            position: Any = {"x": given["x"], "y": given["y"]}
        else:
            position = [_whole(given[key], f"the {key} of {what}") for key in place]
        with prefixed(what):
            state = self.state(position)
            if place == ("x", "y"):
                self._check_point(state, float(given["x"]), float(given["y"]))
            return state, height, variance

    def fingerprint(self, measured: Measured) -> str | None:
        """Return a digest of the measurements; None without measurements."""
        return Digest.of(tuple(measured[:3])).digest if len(measured.cells) else None

    def observation(
        self, measured: Measured, moved: Transition | None, state: int, belief: Belief
    ) -> Heights:
        """Return the measured heights and the move before them.

        Raise if a height is more than `MAX_DEVIATIONS` standard deviations from the belief's mean,
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
        """Return the measured heights in a CSV file or a GeoTIFF, as part of a mission's report."""
        suffix = path.suffix.lower()
        if suffix not in self.suffixes:
            return super().read(path)
        return {"heights": (self._read_csv if suffix == ".csv" else self._read_patch)(path)}

    def _read_csv(self, path: Path) -> list[dict[str, float]]:
        """Return the measurements of a CSV file; error messages name the row."""
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
        with prefixed(path, InvalidFileError):
            return self._as_report(self._combined(given))

    def _read_patch(self, path: Path) -> list[dict[str, float]]:
        """Return the measurements of a GeoTIFF patch at the measuring points of the cells."""
        cells = cells_of(self.config)
        if not path.is_file():
            raise InvalidFileError(f"{path}: there is no such file")
        patch = read_elevation(path)
        if (cells.crs is None) != (patch.crs is None) or not same_system(cells.crs, patch.crs):
            raise InvalidFileError(
                f"{path}: is in {wkt_name(patch.crs or UNKNOWN)}, but the mission is in "
                f"{wkt_name(cells.crs or UNKNOWN)}: warp it with gdalwarp -t_srs first"
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
        inside = (across >= 0) & (across < wide) & (down >= 0) & (down < tall)
        pixel = down[inside].astype(np.int64), across[inside].astype(np.int64)
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
        states = states[inside][known]
        return self._as_report(Measured(states, heights[known], deviations[known] ** 2))

    def _as_report(self, measured: Measured) -> list[dict[str, float]]:
        """Return measurements as JSON values of a report, at full precision."""
        rows, columns = np.divmod(measured.cells, self.belief.shape[1])
        table = (rows, columns, measured.heights, measured.variances)
        lists = zip(*(part.tolist() for part in table), strict=True)
        return [{"row": r, "column": c, "height": h, "variance": v} for r, c, h, v in lists]

    def on_map(self, ways: Sequence[WayHome]) -> dict[str, Any]:
        """Return held ways home as GeoJSON and, if the map has degrees, as GPX and KML."""
        kept = [(list(w.states), w.probability) for w in ways if w.states[-1] in w.homes]
        complete, cells = WaysHome(np.empty(0), kept), cells_of(self.config)
        why, texts = None, dict[str, Any](gpx=None, kml=None)
        if not has_degrees(cells.crs):
            why = no_degrees(cells)
        else:
            try:
                routes = routes_home(self.config, complete)
                texts = {form: routes_text(routes, cells, f"way_home.{form}") for form in texts}
            except MissingExtraError as cause:
                why = str(cause)
        geojson = collection_of(cells, way_features(self.config, complete))
        return {"geojson": geojson, **texts, "why_no_degrees": why}


def _number(given: Any, what: str) -> float:
    """Return a finite number, given as a number or as text; `what` names it in messages."""
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
    """Return a whole number, given as a number or as text; `what` names it in messages."""
    value = _number(given, what)
    if value != int(value):
        raise InvalidInputError(f"{what} is {value:g}, expected a whole number")
    return int(value)
