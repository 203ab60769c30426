"""The tolerances of the solvers, each with its one meaning."""

import numpy as np

EPSILON = float(np.finfo(np.float64).eps)
ROUNDING = 8.0 * EPSILON  # relative rounding error of a value, per step
UNIT = 32.0 * EPSILON  # bound on a probability's rounding error, per move of a way home

SLACK = 2e-14  # an action is better if it adds more than this share of the largest value
FEASIBILITY_TOLERANCE = 1e-9  # largest accepted shortfall, without the allowance for rounding
GAP_TOLERANCE = 1e-8  # largest gap of an optimal solution, as a share of the largest value
RETURN_GAP = 1e-9  # largest gap of an optimal return policy
PRICE_TOLERANCE = 1e-13  # a column improves a mixture if its value is larger by this share
CLOSE_GAP = 1e-11  # a search ends if the gap is below this share of the largest value
LP_TOLERANCE = 1e-10  # feasibility tolerance of HiGHS, its smallest
MAX_RESIDUAL = 4e-15  # largest residual of a GMRES solution, as a fraction of its largest value
WORTHLESS = 1e-12  # value of a plan that counts as 0, as a fraction of the largest possible total
SAME_CHANCE = 1e-12  # largest difference of two probabilities that counts as rounding

SMALLEST_GAP = 1e-290  # a gap up to this is accepted, however small the values are
LARGEST_TOTAL = 1e290  # limit of the absolute value of a total, so that no sum overflows
MIN_CHANCE = 1e-250  # smallest probability of leaving a state that does not count as 0


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
