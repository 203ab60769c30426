"""Solvers of MDPs. They take models and arrays; no solver uses a belief.

Read `problems` for what is solved (`steps_left` for fixed numbers of steps), `paths` and `policies`
for one reward, `returns` for the way home, `constrained` (with `master`) for a reward under
constraints, and `occupancy` for the second opinion on it. `tolerances` has every tolerance.
"""

from homeward.solvers.constrained import ConstrainedSolution as ConstrainedSolution
from homeward.solvers.constrained import solve_constrained as solve_constrained
from homeward.solvers.occupancy import Occupancy as Occupancy
from homeward.solvers.occupancy import occupancy_lp as occupancy_lp
from homeward.solvers.occupancy import solve_occupancy as solve_occupancy
from homeward.solvers.policies import Engine as Engine
from homeward.solvers.policies import engine as engine
from homeward.solvers.policies import engine_for as engine_for
from homeward.solvers.problems import ConstrainedProblem as ConstrainedProblem
from homeward.solvers.problems import PolicySolution as PolicySolution
from homeward.solvers.problems import Status as Status
from homeward.solvers.returns import GIVE_UP as GIVE_UP
from homeward.solvers.returns import ReturnSolution as ReturnSolution
from homeward.solvers.returns import return_value as return_value
from homeward.solvers.returns import solve_return as solve_return
from homeward.solvers.returns import solve_return_within as solve_return_within
