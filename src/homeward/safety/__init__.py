"""Safety: corrections that make a bound sound, criteria that use them, exact values to check.

The criteria, which need solvers, are loaded when first used: beliefs need the corrections alone.
"""

from typing import TYPE_CHECKING

from homeward.safety.corrections import Correction, Corrections

if TYPE_CHECKING:
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
    "Correction",
    "Corrections",
    "Criterion",
    "EarnAtLeast",
    "Requirement",
    "ReturnHome",
    "ReturnWithin",
    "Situation",
    "StayInside",
    "return_to_each",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'homeward.safety' has no attribute {name!r}")
    from homeward.safety import criteria

    return getattr(criteria, name)
