"""Beliefs: distributions over MDPs. They never hear of a solver."""

from homeward.beliefs.dirichlet import DirichletBelief
from homeward.beliefs.finite import FiniteBelief
from homeward.beliefs.observations import Rows, Transition, Visit
from homeward.beliefs.protocol import Belief, Counted, MoveBelief, corrections_of

__all__ = [
    "Belief",
    "Counted",
    "DirichletBelief",
    "FiniteBelief",
    "MoveBelief",
    "Rows",
    "Transition",
    "Visit",
    "corrections_of",
]
