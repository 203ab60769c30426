"""Tolerances that the constrained solvers share."""

import numpy as np

FEASIBILITY_TOLERANCE = 1e-9  # largest accepted shortfall, without the allowance for rounding
GAP_TOLERANCE = 1e-8  # largest gap of an optimal solution, as a share of the largest value
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)  # relative rounding error of a value, per step


def met_within(span: float) -> float:
    """Return the largest shortfall at which a total over `span` steps still meets its level.

    Solvers, plans and budgets all use this number. The second term is an allowance for rounding,
    which exceeds `FEASIBILITY_TOLERANCE` near γ = 1.
    """
    return FEASIBILITY_TOLERANCE + 4.0 * ROUNDING * span


def aimed_within(span: float) -> float:
    """Return the largest amount by which a solver lets a total over `span` steps miss its level.

    A single policy may miss the level by this amount. A mixture of policies may add the same
    amount. Twice the amount is less than `met_within`, and the rest allows for rounding.
    """
    return 0.5 * FEASIBILITY_TOLERANCE + ROUNDING * span
