"""Beliefs: distributions over MDPs. They never hear of a solver.

Those on a grid, which need a compiler, are loaded when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from homeward.beliefs.dirichlet import DirichletBelief
from homeward.beliefs.finite import FiniteBelief
from homeward.beliefs.observations import Rows, Transition, Visit
from homeward.beliefs.protocol import (
    Belief,
    Counted,
    DeclaredMoves,
    MoveBelief,
    corrections_of,
)
from homeward.beliefs.sensor import Sensor

if TYPE_CHECKING:
    from homeward.beliefs.heights import HeightBelief, Reveal
    from homeward.beliefs.terrain import Heights, TerrainBelief, entropy_reduction

_MODULE_OF = {
    "HeightBelief": "heights",
    "Heights": "terrain",
    "Reveal": "heights",
    "TerrainBelief": "terrain",
    "entropy_reduction": "terrain",
}

__all__ = [
    "Belief",
    "Counted",
    "DeclaredMoves",
    "DirichletBelief",
    "FiniteBelief",
    "HeightBelief",
    "Heights",
    "MoveBelief",
    "Reveal",
    "Rows",
    "Sensor",
    "TerrainBelief",
    "Transition",
    "Visit",
    "corrections_of",
    "entropy_reduction",
]


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'homeward.beliefs' has no attribute {name!r}")
    return getattr(import_module(f"homeward.beliefs.{_MODULE_OF[name]}"), name)
