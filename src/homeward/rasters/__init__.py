"""Rasters: terrain models in, cells to plan on, maps and paths out.

Names are loaded when they are first used; rasterio only where a file needs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homeward.rasters.cells import Cells, to_cells
    from homeward.rasters.elevation import Elevation
    from homeward.rasters.reading import read_elevation
    from homeward.rasters.sample import sample_terrain
    from homeward.rasters.synthetic import synthetic_mars
    from homeward.rasters.windows import MapWindow, PixelWindow, Window, parse_window
    from homeward.rasters.writing import path_geojson, write_geojson, write_heights

_MODULE_OF = {
    "Cells": "cells",
    "Elevation": "elevation",
    "MapWindow": "windows",
    "PixelWindow": "windows",
    "Window": "windows",
    "parse_window": "windows",
    "path_geojson": "writing",
    "read_elevation": "reading",
    "sample_terrain": "sample",
    "synthetic_mars": "synthetic",
    "to_cells": "cells",
    "write_geojson": "writing",
    "write_heights": "writing",
}

__all__ = [
    "Cells",
    "Elevation",
    "MapWindow",
    "PixelWindow",
    "Window",
    "parse_window",
    "path_geojson",
    "read_elevation",
    "sample_terrain",
    "synthetic_mars",
    "to_cells",
    "write_geojson",
    "write_heights",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'homeward.rasters' has no attribute {name!r}")
    return getattr(import_module(f"homeward.rasters.{_MODULE_OF[name]}"), name)
