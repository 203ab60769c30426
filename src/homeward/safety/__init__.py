"""Safety: what must stay true while exploring, and the problem that it poses."""

from homeward.safety.criteria import (
    AtStep,
    Criterion,
    EarnAtLeast,
    Requirement,
    ReturnHome,
    ReturnWithin,
    Situation,
    StayInside,
    return_to_each,
)

__all__ = [
    "AtStep",
    "Criterion",
    "EarnAtLeast",
    "Requirement",
    "ReturnHome",
    "ReturnWithin",
    "Situation",
    "StayInside",
    "return_to_each",
]
