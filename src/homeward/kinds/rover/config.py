"""The configuration of runs of a rover on terrain."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from homeward.errors import InvalidInputError, prefixed
from homeward.kinds.promises import (
    Cell,
    Delta,
    Discount,
    SafeConfig,
    StepLimit,
    cell_from_text,
    naming,
)
from homeward.runs.config import DEGREES, METRES, PIXELS, WATT_HOURS, Named, Option, checked
from homeward.terrain.points import Target
from homeward.terrain.polygons import Area

if TYPE_CHECKING:
    from homeward.terrain import Cells

MARS, SAMPLE = "mars", "sample"  # terrains without a file: synthetic, and Matplotlib's sample
MARS_KEYS = ("rows", "columns", "terrain_seed")  # keys of synthetic Mars alone
PAPER_VEHICLE = {"climb": 5.0, "descend": 45.0, "mast": None}
"""Defaults with ground "paper"."""

GROUND_KEYS = {"driven": ("roll", "wheelbase", "error_length"), "paper": ("blur",)}
"""Keys that have an effect with one ground alone."""

PLACE_FORM = "ROW,COL or map:X,Y"
HEIGHT_UNITS = {"m": 1.0, "ft": 0.3048}
MIN_VARIANCE = 1e-12  # m²
Positive = Annotated[float, Field(ge=1e-12, le=1e12)]  # squares and ratios of these are finite
Slope = Annotated[float, Field(ge=0.0, lt=90.0)]


def _error_of(value: Any) -> Any:
    """Return a variance in m², given as a number or text, or the name of a file.

    Raise if the variance is not in range.
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return value  # the name of a file
    if isinstance(value, int | float) and not MIN_VARIANCE <= value <= 1.0 / MIN_VARIANCE:
        raise ValueError(
            f"the variance is {value:g} m², expected {MIN_VARIANCE:g} to {1.0 / MIN_VARIANCE:g}"
        )
    return value


def _height_unit_of(value: Any) -> Any:
    """Return the unit of heights: a key of `HEIGHT_UNITS`, or its length in m as a number.

    Raise if it is invalid.
    """
    if isinstance(value, str) and value not in HEIGHT_UNITS:
        try:
            value = float(value)
        except ValueError:
            raise ValueError(f"{value!r} is not m, ft, or the length of a unit in m") from None
    if isinstance(value, int | float) and not 1e-6 <= value <= 1e6:
        raise ValueError(f"the unit of heights is {value:g} m, expected 1e-6 to 1e6 m")
    return value


def _kernel_of(value: Any) -> Any:
    """Return a kernel (smoothness, length, deviation), given as numbers or text.

    Raise if they are invalid.
    """
    if isinstance(value, str):
        try:
            value = [float(part) for part in value.split(",")]
        except ValueError:
            value = []
    if not isinstance(value, list | tuple):
        return value
    if len(value) != 3 or value[0] not in (1.5, 2.5):
        raise ValueError("expected a smoothness of 1.5 or 2.5, a length and a deviation")
    for what, part in zip(("length", "deviation"), value[1:], strict=True):
        if isinstance(part, int | float) and not 1e-12 <= part <= 1e12:
            raise ValueError(f"the {what} is {part:g} m, expected 1e-12 to 1e12")
    return tuple(value)


# fmt: off
class RoverConfig(SafeConfig):
    """A rover on terrain: a terrain model, a vehicle with its sensor, and how it explores.

    The rover measures heights from afar. It can drive slopes up to a limit up and a limit down.
    """

    terrain: Annotated[str, Field(
        description="mars (synthetic), sample (Matplotlib's), or a raster: GeoTIFF, PDS .IMG or "
        ".LBL, ISIS, ESRI ASCII, .npy.")] = MARS
    terrain_seed: Annotated[int, Field(
        ge=0, lt=2**63, description="Random seed of synthetic Mars. In a comparison each world has "
        "other terrain, unless this seed is given.")] = 0
    terrain_sha256: Annotated[str | None, Field(
        description="Digest of the terrain's cells, filled in when a run is made."),
        Option(hidden=True)] = None
    rows: Annotated[Annotated[int, Field(ge=1)] | None, Field(
        json_schema_extra=PIXELS,
        description="Rows of pixels of synthetic Mars."), Option(unset="1000")] = None
    columns: Annotated[Annotated[int, Field(ge=1)] | None, Field(
        json_schema_extra=PIXELS,
        description="Columns of pixels of synthetic Mars."), Option(unset="2000")] = None
    pixel: Annotated[Positive | None, Field(
        title="Pixel size", json_schema_extra=METRES,
        description="Side of a pixel in m, for .npy and synthetic Mars."),
        Option(unset="1 on Mars")] = None
    height_unit: Annotated[str | float | None, BeforeValidator(_height_unit_of), Field(
        description="Unit of the heights if the raster names no unit: m, ft, or its length in m."),
        Option(unset="m")] = None
    window: Annotated[str | None, Field(
        title="Part of the terrain",
        description="Part of the terrain: COLUMN,ROW,WIDTH,HEIGHT in pixels, or "
        "map:XMIN,YMIN,XMAX,YMAX."), Option(unset="all")] = None
    cell: Annotated[Positive | None, Field(
        title="Cell size", json_schema_extra=METRES,
        description="Side of a cell in m."),
        Option(unset="whole pixels, about 100 cells along the longer side; 20 on Mars")] = None
    blur: Annotated[float, Field(
        json_schema_extra=METRES,
        ge=0.0, description="Standard deviation in m of the Gaussian filter that separates ground "
        "from roughness.")] = 5.0
    error: Annotated[str | float, BeforeValidator(_error_of), Field(
        json_schema_extra={"unit": "m²"},
        description="Variance of the terrain model's heights in m², or a raster on the same grid "
        "with the standard deviation of each pixel in m."), Option(form="M² or FILE")] = 2.0**-4
    obstacles: Annotated[str | None, Field(
        description="Obstacles, which no wheel may touch: polygons as GeoJSON, in map coordinates "
        "unless a crs member says otherwise, or a raster on the same grid that is 0 elsewhere."),
        Option(form="FILE")] = None
    error_length: Annotated[Positive | None, Field(
        json_schema_extra=METRES,
        description="Correlation length in m of the terrain model's errors. Within it errors are "
        "similar, so slopes are more accurate than heights."), Option(unset="10 pixels")] = None
    belief: Annotated[Literal["independent", "correlated", "unmapped"], Field(
        description="What is known at first. independent: the terrain model, with an independent "
        "error in each cell. correlated: the terrain model, with errors that are similar nearby. "
        "unmapped: only the mean height, and how similar heights are nearby. The last two allow "
        "10,000 cells at most."
    )] = "independent"
    kernel: Annotated[tuple[float, Positive, Positive] | None, BeforeValidator(_kernel_of), Field(
        description="Correlation of heights: Matérn smoothness 1.5 or 2.5, length in m and "
        "standard deviation in m."), Option(form="SMOOTHNESS,LENGTH,DEVIATION",
        unset="from --error and --error-length; fitted to the terrain if unmapped")] = None
    ground: Annotated[Literal["driven", "paper"] | None, Field(
        description="Where slopes are limited. driven: under the wheels, on the path from cell to "
        "cell. paper: on the line between the cells' centres."),
        Option(unset="driven; paper on synthetic Mars")] = None
    climb: Annotated[Slope, Field(
        title="Maximum climb", json_schema_extra=DEGREES,
        description="Steepest slope up, in degrees; 5 with --ground paper.")] = 20.0
    descend: Annotated[Slope, Field(
        title="Maximum descent", json_schema_extra=DEGREES,
        description="Steepest slope down, in degrees; 45 with --ground paper.")] = 30.0
    roll: Annotated[Slope, Field(
        title="Maximum side slope", json_schema_extra=DEGREES,
        description="Steepest slope to the side, in degrees, with --ground driven.")] = 20.0
    wheelbase: Annotated[Positive | None, Field(
        json_schema_extra=METRES,
        description="Distance of the front and rear wheels in m, with --ground driven. Slopes up "
        "and down are measured over half of it, slopes to the side over all of it."),
        Option(unset="2, or a pixel if that is larger")] = None
    sensor_range: Annotated[Annotated[float, Field(ge=0.0)] | None, Field(
        json_schema_extra=METRES,
        description="Range of the sensor in m, inf for the whole map."),
        Option(unset="five cells; inf with --ground paper")] = None
    mast: Annotated[Annotated[float, Field(ge=0.0)] | None, Field(
        json_schema_extra=METRES,
        description="Height of the sensor above the ground in m, for the line of sight over "
        "the terrain model; inf sees through hills, the default with --ground paper.")] = 2.0
    sensor_noise: Annotated[Positive, Field(
        description="NOISE: a height at distance d m is measured with variance "
        "NOISE·(d + OFFSET)² m²; OFFSET is --sensor-offset."
    )] = 1e-6
    sensor_offset: Annotated[Positive, Field(
        json_schema_extra=METRES,
        description="The offset of --sensor-noise in m.")] = 1.0
    known: Annotated[Annotated[float, Field(ge=0.0, le=1e6)] | None, Field(
        title="Known to", json_schema_extra=METRES,
        description="Standard deviation in m to which heights are to be known. Learning a height "
        "more exactly gains nothing, and the run ends when nothing else is left. 0: as exactly as "
        "the sensor can."), Option(form="METRES",
        unset="0.1, or half the terrain's error if that is less; 0 on synthetic Mars")] = None
    start: Annotated[Cell | None, Field(description="Where to start."),
        Option(form=PLACE_FORM, unset="near the middle, with room around")] = None
    bases: Annotated[tuple[Cell, ...], Field(
        description=str(SafeConfig.model_fields["bases"].description)),
        Option("base", form=PLACE_FORM)] = ()
    explorer: Annotated[Literal["safe", "unsafe", "naive"], Field(
        title="Type of explorer",
        description="safe: keeps the safety level. unsafe: has no safety level. naive: keeps the "
        "level on the mean terrain only, which proves nothing.")] = "safe"
    delta: Delta = 0.98
    keep_in: Annotated[str | Area | None, Field(
        title="Stay inside",
        description="Never act outside of these polygons, which are in map coordinates unless a "
        "crs member says otherwise."), Option(form="FILE.geojson")] = None
    keep_out: Annotated[str | Area | None, Field(
        title="Keep out of",
        description="Never touch these polygons, not even on the way home. They are in map "
        "coordinates unless a crs member says otherwise."), Option(form="FILE.geojson")] = None
    targets: Annotated[str | tuple[Target, ...] | None, Field(
        description="Points to visit, in map coordinates unless a crs member says otherwise. The "
        "first visit of a point is worth a hundred looks at unknown ground, times its property "
        "weight (1 unless given)."), Option(form="FILE.geojson")] = None
    distance: Annotated[Positive | None, Field(
        title="Distance in all", json_schema_extra=METRES,
        description="Be home before the whole run has driven this many m. A failed attempt counts "
        "as the whole path out and back."), Option(form="METRES")] = None
    energy: Annotated[Positive | None, Field(
        title="Energy in all", json_schema_extra=WATT_HOURS,
        description="Be home before the whole run has used this many Wh."),
        Option(form="WH")] = None
    energy_per_metre: Annotated[Positive, Field(
        json_schema_extra=WATT_HOURS,
        description="Wh per m driven, for --energy.")] = 0.06
    energy_per_climb: Annotated[Annotated[float, Field(ge=0.0, le=1e12)], Field(
        title="Energy per metre climbed", json_schema_extra=WATT_HOURS,
        description="Wh per m climbed, for --energy; driving down gives nothing back.")] = 0.4
    correction: Annotated[Literal["moves", "general"], Field(
        description="Correction of the bounds: moves (ours) or general (the paper's).")] = "moves"
    discount: Discount = 0.999
    truth: Annotated[Literal["model", "prior"], Field(
        title="True heights",
        description="True heights: the terrain model plus its error, or drawn from the prior."
    )] = "model"
    film: Annotated[Literal["gif", "mp4"] | None, Field(
        description="Write a film as well, in this format.")] = None
    limit: StepLimit = 2000
    # fmt: on

    @model_validator(mode="after")
    def _set_vehicle_defaults(self) -> Self:
        defaults = {} if self.is_driven else PAPER_VEHICLE
        self.__dict__.update({k: v for k, v in defaults.items() if k not in self.model_fields_set})
        return self

    @property
    def rule(self) -> Literal["driven", "paper"]:
        """The ground, or its default."""
        if self.ground is not None:
            return self.ground
        return "paper" if self.belief == "unmapped" or self.terrain == MARS else "driven"

    @property
    def is_driven(self) -> bool:
        """Whether slopes are limited under the wheels, not between the cells' centres."""
        return self.rule == "driven"

    @model_validator(mode="after")
    def _fits_the_terrain(self, info: ValidationInfo) -> Self:
        if not self.terrain:
            raise ValueError("the terrain has an empty name")
        self._check_terrain((), naming(info))
        return self

    def _check_terrain(self, explicit: Collection[str], named: Named) -> None:
        """Raise if a key does not apply to the terrain."""
        for name in MARS_KEYS:
            if self.terrain != MARS and (getattr(self, name) or name in explicit):
                raise InvalidInputError(
                    f"{named(name)} is for synthetic Mars only, not for {self.terrain}"
                )
        if self.terrain in (MARS, SAMPLE) and self.height_unit is not None:
            raise InvalidInputError(f"{named('height_unit')} is for rasters only: remove it")
        if self.terrain == SAMPLE and self.pixel is not None:
            raise InvalidInputError(f"{named('pixel')}: the sample terrain has its own pixel size")

    def check_use(self, explicit: Collection[str] = (), named: Named = str) -> None:
        """Raise if keys contradict each other, or if a key that was set has no effect."""
        self._check_terrain(explicit, named)
        other = "paper" if self.is_driven else "driven"
        for name in GROUND_KEYS[other]:
            used = name == "error_length" and self.belief == "correlated"
            if not used and (
                name in explicit or getattr(self, name) != type(self).model_fields[name].default
            ):
                raise InvalidInputError(f"{named(name)} changes nothing without --ground {other}")
        if self.targets is not None and self.algorithm == "paper":
            raise InvalidInputError(
                f"{named('targets')} need {named('algorithm')} rate, which goes where most is "
                "gained per step"
            )
        if self.known and self.algorithm == "paper":
            raise InvalidInputError(
                f"{named('known')} needs {named('algorithm')} rate; the paper's counts every look"
            )
        for name in ("energy_per_metre", "energy_per_climb"):
            if self.energy is None and name in explicit:
                raise InvalidInputError(f"{named(name)} changes nothing without {named('energy')}")
        self._check_belief(explicit, named)
        super().check_use(explicit, named)

    def _check_belief(self, explicit: Collection[str], named: Named) -> None:
        """Raise if a key contradicts the belief, or has no effect with it."""
        belief = f"{named('belief')} {self.belief}"
        if self.belief == "independent":
            if self.kernel is not None:
                raise InvalidInputError(
                    f"{named('kernel')} needs {named('belief')} correlated or unmapped"
                )
        elif isinstance(self.error, str):
            raise InvalidInputError(f"{belief} needs a single {named('error')}, not a raster")
        elif self.belief == "unmapped" and self.is_driven:
            raise InvalidInputError(
                f"{belief} needs {named('ground')} paper: without a terrain model the ground "
                "between the cells' centres is not known"
            )
        for name in ("error", "error_length"):
            if self.belief == "correlated" and self.kernel is not None and name in explicit:
                raise InvalidInputError(
                    f"{named(name)} changes nothing with {named('kernel')}, which gives the "
                    "length and the deviation"
                )
        if self.belief != "independent" and self.algorithm == "paper":
            raise InvalidInputError(
                f"{belief} does not go with {named('algorithm')} paper, whose bonus assumes "
                "independent heights"
            )

    @classmethod
    def resolved(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return values with places ``map:X,Y`` converted to cells, and infinity to None."""
        resolved = dict(values)
        for name in ("sensor_range", "mast"):
            if resolved.get(name) == math.inf:
                resolved[name] = None
        places = [resolved.get("start"), *(resolved.get("bases") or ())]
        if any(isinstance(place, str) and "map:" in place for place in places):
            from homeward.kinds.rover.kind import CELLS, cells_of

            cells = cells_of(checked(cls, {n: v for n, v in resolved.items() if n in CELLS}))
            if "start" in resolved:
                resolved["start"] = _cell_at(resolved["start"], cells, "the start")
            bases = resolved.get("bases", ())
            resolved["bases"] = [_cell_at(base, cells, "a base") for base in bases]
        return resolved

    def seeded(self, seed: int) -> Self:
        """Return the configuration with another seed; it also draws other synthetic terrain.

        The terrain stays the same if the key `terrain_seed` was set.
        """
        drawn = self.terrain == MARS and "terrain_seed" not in self.model_fields_set
        return self.model_copy(update={"seed": seed, **({"terrain_seed": seed} if drawn else {})})

    def run_limits(self) -> list[str]:
        """Return the limits of the whole run as text."""
        limits = (self.distance, "m"), (self.energy, "Wh")
        return [f"{amount:g} {unit}" for amount, unit in limits if amount is not None]


def _cell_at(place: Any, cells: Cells, what: str) -> Any:
    """Return the row and column of a place ``map:X,Y``, or as `cell_from_text` does."""
    if not isinstance(place, str) or not place.strip().startswith("map:"):
        return cell_from_text(place)
    try:
        x, y = (float(part) for part in place.strip().removeprefix("map:").split(","))
    except ValueError:
        raise InvalidInputError(f"{what} is {place!r}, expected {PLACE_FORM}") from None
    with prefixed(what):
        return cells.cell_of(x, y)
