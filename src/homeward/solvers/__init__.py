"""Solvers: numbers in, numbers out. No solver uses a belief.

Each can be used alone: `solve_return` and `solve_return_within` for the way home, `engine` for
ordinary discounted MDPs, `solve_constrained` and `solve_occupancy` for constrained ones.
"""

from homeward.solvers.constrained import ConstrainedSolution, solve_constrained
from homeward.solvers.engines import Engine, engine, engine_for
from homeward.solvers.occupancy import Occupancy, occupancy_lp, solve_occupancy
from homeward.solvers.policies import PolicySolution
from homeward.solvers.problems import ConstrainedProblem, HorizonProblem, Problem
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
