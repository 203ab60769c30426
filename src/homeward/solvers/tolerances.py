"""Tolerances that the constrained solvers share."""

import numpy as np

FEASIBILITY_TOLERANCE = 1e-9
"""A total this far below its level still meets it; see `met_within`."""

GAP_TOLERANCE = 1e-8
"""Largest gap of an optimal solution, as a fraction of the largest value."""

ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
"""Relative rounding error of an evaluation, per step."""


def met_within(span: float) -> float:
    """Return the largest shortfall at which a total over `span` steps still meets its level.

    Solvers, plans and budgets all use this number. Near γ = 1 the rounding of the total, and of
    the bound that is reported for it, exceeds `FEASIBILITY_TOLERANCE`.
    """
    return FEASIBILITY_TOLERANCE + 4.0 * ROUNDING * span


def aimed_within(span: float) -> float:
    """Return the largest shortfall that a solver allows one policy, and again the mixture.

    Twice this is less than `met_within`, by the rounding of what is reported.
    """
    return 0.5 * FEASIBILITY_TOLERANCE + ROUNDING * span
