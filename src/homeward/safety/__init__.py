"""Safety criteria, one per file: conditions that a plan must meet.

`problem` builds one constrained MDP from the requirements of all criteria.
"""

from homeward.safety.criterion import AtStep, Criterion, Requirement, Situation
from homeward.safety.earn_at_least import EarnAtLeast
from homeward.safety.return_before import Allowance, ReturnBefore
from homeward.safety.return_home import Home, ReturnHome, ReturnWithin, return_to_each
from homeward.safety.stay_inside import StayInside

__all__ = [
    "Allowance",
    "AtStep",
    "Criterion",
    "EarnAtLeast",
    "Home",
    "Requirement",
    "ReturnBefore",
    "ReturnHome",
    "ReturnWithin",
    "Situation",
    "StayInside",
    "return_to_each",
]
