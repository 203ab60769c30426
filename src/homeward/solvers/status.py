"""How a solve ended. Not converged and infeasible are different words, and neither is silent."""

from enum import StrEnum


class Status(StrEnum):
    """The end of a solve, a plan or a bound."""

    OPTIMAL = "optimal"
    """Solved, with the reported gap as evidence."""

    INFEASIBLE = "infeasible"
    """Proven: no policy meets the constraints. What is returned comes closest."""

    NOT_CONVERGED = "not converged"
    """The round limit came first. What is returned is valid, its optimality unproven."""

    NUMERICAL = "numerical trouble"
    """Rounding got in the way of the requested gap. What is returned is still valid."""
