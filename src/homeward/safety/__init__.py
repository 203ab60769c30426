"""Safety: corrections that make a bound sound, criteria that use them, exact values to check."""

from homeward.safety.corrections import Correction, Corrections
from homeward.safety.criteria import Criterion, Requirement, ReturnHome, Situation

__all__ = ["Correction", "Corrections", "Criterion", "Requirement", "ReturnHome", "Situation"]
