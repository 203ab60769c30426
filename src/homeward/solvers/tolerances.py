"""Tolerances that the constrained solvers share."""

import numpy as np

FEASIBILITY_TOLERANCE = 1e-9  # largest shortfall without rounding; see `met_within`
GAP_TOLERANCE = 1e-8  # largest gap of an optimal solution, as a fraction of the largest value
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)  # relative rounding error of a value, per step


def met_within(span: float) -> float:
    """Return the largest shortfall at which a total over `span` steps still meets its level.

    Solvers, plans and budgets all use this number. The second term is for rounding, which exceeds
    `FEASIBILITY_TOLERANCE` near γ = 1.
    """
    return FEASIBILITY_TOLERANCE + 4.0 * ROUNDING * span


def aimed_within(span: float) -> float:
    """Return the largest shortfall that a solver allows for a policy, and then for a mixture.

    Twice this number is less than `met_within`; the difference is for the rounding of totals.
    """
    return 0.5 * FEASIBILITY_TOLERANCE + ROUNDING * span
