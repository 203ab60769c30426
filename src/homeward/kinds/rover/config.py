"""What a rover run can be asked for."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from homeward.kinds.promises import Cell, Level, SafeConfig
from homeward.terrain.polygons import Area

MARS, SAMPLE = "mars", "sample"
"""Terrains that need no file: synthetic Mars, and the sample that Matplotlib carries."""

Positive = Annotated[float, Field(ge=1e-12, le=1e12)]  # beyond, squares and ratios overflow
Slope = Annotated[float, Field(ge=0.0, lt=90.0)]


class RoverConfig(SafeConfig):
    """A terrain model, a vehicle with its sensor, and how it explores. Lengths are in metres."""

    terrain: str = MARS  # "mars", "sample", or the path of a raster
    terrain_seed: Annotated[int, Field(ge=0, lt=2**63)] = 0  # which synthetic Mars
    terrain_sha256: str | None = None  # of the cells; filled in when a run is made, as the start is
    rows: Annotated[int, Field(ge=1)] | None = None  # pixels of synthetic Mars; 1000
    columns: Annotated[int, Field(ge=1)] | None = None  # and 2000
    pixel: Positive | None = None  # side of a pixel of synthetic Mars (1 m) or of a .npy raster
    window: str | None = None  # the part of the terrain to take, see `terrain.windows`
    cell: Positive = 20.0  # side of a cell
    blur: Annotated[float, Field(ge=0.0)] = 5.0  # σ of the filter that the prior is made with
    error: Positive = 2.0**-4  # m², the variance of the terrain model's heights
    climb: Slope = 5.0  # degrees, the steepest slope up
    descend: Slope = 45.0  # degrees, the steepest slope down
    sensor_range: Annotated[float, Field(ge=0.0)] | None = None  # None: the whole map
    sensor_noise: Positive = 1e-6  # a height at distance d has variance noise·(d + offset)²
    sensor_offset: Positive = 1.0
    start: Cell | None = None  # row, column; None: see `landing_site`
    explorer: Literal["safe", "unsafe", "naive"] = "safe"
    delta: Level = 0.98  # of the safe and the naive explorer
    keep_in: str | Area | None = None  # a GeoJSON file, in a run its polygons in map coordinates
    correction: Literal["moves", "general"] = "moves"  # of the safe one
    discount: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.999
    truth: Literal["model", "prior"] = "model"  # where the true heights come from
    film: Literal["gif", "mp4"] | None = None  # whether there is to be a film, and as what
    limit: Annotated[int, Field(ge=0)] = 2000  # steps

    @model_validator(mode="after")
    def _fits_the_terrain(self) -> Self:
        if not self.terrain:
            raise ValueError("the terrain has no name")
        if self.terrain != MARS:
            if self.rows is not None or self.columns is not None or self.terrain_seed:
                raise ValueError("rows, columns and terrain_seed are of synthetic Mars alone")
            if self.terrain == SAMPLE and self.pixel is not None:
                raise ValueError("the sample terrain has pixels of its own")
        return self

    def keeps_nothing(self) -> bool:
        """Tell whether the explorer keeps nothing safe."""
        return self.explorer == "unsafe"
