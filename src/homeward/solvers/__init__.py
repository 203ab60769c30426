"""Solvers: numbers in, numbers out. None of them has heard of a belief.

Each can be used alone: `solve_return` and `solve_return_within` for the way home, `engine` for
ordinary discounted MDPs, `solve_constrained` and `solve_occupancy` for constrained ones.
"""

from homeward.solvers.constrained import (
    ConstrainedProblem,
    ConstrainedSolution,
    Problem,
    engine_for,
    solve_constrained,
)
from homeward.solvers.engines import Engine, PolicySolution, engine
from homeward.solvers.horizon import HorizonProblem
from homeward.solvers.occupancy import Occupancy, occupancy_lp, solve_occupancy
from homeward.solvers.returns import GIVE_UP, ReturnSolution, solve_return
from homeward.solvers.status import Status
from homeward.solvers.within import solve_return_within

__all__ = [
    "GIVE_UP",
    "ConstrainedProblem",
    "ConstrainedSolution",
    "Engine",
    "HorizonProblem",
    "Occupancy",
    "PolicySolution",
    "Problem",
    "ReturnSolution",
    "Status",
    "engine",
    "engine_for",
    "occupancy_lp",
    "solve_constrained",
    "solve_occupancy",
    "solve_return",
    "solve_return_within",
]
