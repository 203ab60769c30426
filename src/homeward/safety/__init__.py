"""Safety criteria, one per file: what must hold while exploring.

`problem` turns the requirements of criteria into one constrained problem.
"""

from homeward.safety.criterion import AtStep, Criterion, Requirement, Situation
from homeward.safety.earn_at_least import EarnAtLeast
from homeward.safety.return_home import Home, ReturnHome, ReturnWithin, return_to_each
from homeward.safety.stay_inside import StayInside

__all__ = [
    "AtStep",
    "Criterion",
    "EarnAtLeast",
    "Home",
    "Requirement",
    "ReturnHome",
    "ReturnWithin",
    "Situation",
    "StayInside",
    "return_to_each",
]
