"""How a solve ended; not converged and infeasible are different statuses."""

from enum import StrEnum


class Status(StrEnum):
    """The status of a solve, a plan or a bound."""

    OPTIMAL = "optimal"
    """Solved, with the reported gap as evidence."""

    INFEASIBLE = "infeasible"
    """Proven: no policy meets the constraints. The result comes closest to them."""

    NOT_CONVERGED = "not converged"
    """Stopped at the round limit. The result is valid; its optimality is unproven."""

    NUMERICAL = "numerical trouble"
    """Rounding prevented the requested gap. The result is still valid."""
