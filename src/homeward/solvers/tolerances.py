"""How close is close: the tolerances that the constrained solvers share."""

import numpy as np
from numba import njit

FEASIBLE = 1e-9
"""What is this close to a level counts as meeting it, but for rounding; see `met_within`."""

GAP = 1e-8
"""An optimal answer's gap, as a fraction of the largest value, is at most this."""

EXACT = 1e-13
"""A column that prices above another by less than this fraction is above by rounding alone."""

CLOSE = 1e-11
"""A gap of this fraction is not worth another round."""

TINY = 1e-290
"""What is this small is nothing."""

ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
"""What an evaluation may be off by, as a fraction and times 1 − γ."""

PRICINGS = 2000
"""Ordinary MDPs that one constrained problem may take."""

PATIENCE = 1
"""Rounds of policy iteration that a column may take which only narrows a bracket."""

AROUND = (1.0, 2.0)
"""By which factors a multiplier's neighbourhood is searched for the first bracket."""


@njit(cache=True)
def met_within(span: float) -> float:
    """Return how far below its level a total over `span` steps may be and count as meeting it.

    All who judge a plan judge by this. Near γ = 1 rounding alone is more than `FEASIBLE`: of the
    total, and of what is taken off it to be reported as a bound.
    """
    return FEASIBLE + 4.0 * ROUNDING * span


@njit(cache=True)
def aimed_within(span: float) -> float:
    """Return how far below its level a solver lets a policy be, and again the mixture of some.

    Twice this is less than `met_within` by the rounding of what is reported.
    """
    return 0.5 * FEASIBLE + ROUNDING * span
