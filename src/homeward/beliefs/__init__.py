"""Beliefs: distributions over MDPs. They never hear of a solver.

Those on a grid, which need a compiler, are loaded when first used.
"""

from typing import TYPE_CHECKING

from homeward.beliefs.dirichlet import DirichletBelief
from homeward.beliefs.finite import FiniteBelief
from homeward.beliefs.observations import Rows, Transition, Visit
from homeward.beliefs.protocol import Belief, Counted, MoveBelief, corrections_of

if TYPE_CHECKING:
    from homeward.beliefs.heights import HeightBelief, Reveal

__all__ = [
    "Belief",
    "Counted",
    "DirichletBelief",
    "FiniteBelief",
    "HeightBelief",
    "MoveBelief",
    "Reveal",
    "Rows",
    "Transition",
    "Visit",
    "corrections_of",
]


def __getattr__(name: str) -> object:
    if name not in ("HeightBelief", "Reveal"):
        raise AttributeError(f"module 'homeward.beliefs' has no attribute {name!r}")
    from homeward.beliefs import heights

    return getattr(heights, name)
