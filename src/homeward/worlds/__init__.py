"""Worlds: simulated real things, the small MDPs of the paper among them.

The grid world of heights and the rover on terrain are loaded when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homeward.worlds.height_grid import HeightGridEnv, HeightGridWorld
    from homeward.worlds.maps import HeightMap
    from homeward.worlds.rover import Rover, RoverEnv, draw_heights, true_heights

_MODULE_OF = {
    "HeightGridEnv": "height_grid",
    "HeightGridWorld": "height_grid",
    "HeightMap": "maps",
    "Rover": "rover",
    "RoverEnv": "rover",
    "draw_heights": "rover",
    "true_heights": "rover",
}

__all__ = [
    "HeightGridEnv",
    "HeightGridWorld",
    "HeightMap",
    "Rover",
    "RoverEnv",
    "draw_heights",
    "true_heights",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'homeward.worlds' has no attribute {name!r}")
    return getattr(import_module(f"homeward.worlds.{_MODULE_OF[name]}"), name)
