"""Checks that column generation and the occupancy LP agree on random problems.

The reference is the status and objective that HiGHS reports for the LP. Problems have two kinds of
model and two kinds of criteria: return to one of several homes (also at δ = 1), and random totals.
Some problems are infeasible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from homeward.beliefs.corrections import Correction, Corrections, moves_corrections
from homeward.criteria import ReturnHome, Situation
from homeward.models import Model, Moves, SparseMDP
from homeward.solvers import ConstrainedProblem, Status, occupancy_lp, solve_constrained

Kind = Literal["moves", "general"]
KINDS: tuple[Kind, ...] = ("moves", "general")
DISCOUNTS = (0.9, 0.99, 0.999)
LEVELS = (1.0, 1.0, 0.95, 0.8, 0.5, 0.2)


@dataclass(frozen=True, slots=True)
class Agreement:
    """The comparison of two solutions of one problem."""

    sure: bool  # whether some level is 1
    status: Status  # by column generation
    referee: Status  # by the LP
    difference: float  # of the objectives, relative to them or to the largest single reward

    @property
    def agrees(self) -> bool:
        """Whether the statuses are equal, or ours is numerical trouble."""
        return self.status is self.referee or self.status is Status.NUMERICAL


def compare(problem: ConstrainedProblem) -> Agreement:
    """Solve a problem by column generation and by the LP; return the comparison."""
    ours, referee = solve_constrained(problem), occupancy_lp(problem)
    largest = np.abs(problem.objective[np.isfinite(problem.objective)]).max()
    size = max(abs(referee.objective), float(largest))
    answers = (Status.OPTIMAL, Status.NUMERICAL)
    solved = ours.status in answers and referee.status is Status.OPTIMAL
    return Agreement(
        sure=bool((problem.levels == 1.0).any()),
        status=ours.status,
        referee=referee.status,
        difference=abs(ours.objective - referee.objective) / size if solved else 0.0,
    )


def random_problem(kind: Kind, constraints: int, rng: np.random.Generator) -> ConstrainedProblem:
    """Draw a problem with 2 to 30 states, 2 to 6 actions and `constraints` constraints."""
    states, actions = int(rng.integers(2, 31)), int(rng.integers(2, 7))
    discount = float(rng.choice(DISCOUNTS))
    model = random_model(kind, states, actions, rng)
    objective = rng.random((states, actions)) ** 4
    if (taste := rng.random()) < 0.3:  # negative rewards too
        objective = 2.0 * objective - 1.0
    elif taste < 0.4:  # the best objective is zero
        objective = np.minimum(0.0, objective - 0.5)
    objective[:, 1:][rng.random((states, actions - 1)) < 0.1] = -np.inf
    if rng.random() < 0.5:
        rewards = rng.random((constraints, states, actions)) * (1.0 - discount)
        levels = rng.uniform(0.2, 0.7, constraints)
        return ConstrainedProblem(model, discount, 0, np.stack([objective, *rewards]), levels)
    situation = Situation(model, random_corrections(model, discount, rng), discount, 0, 0)
    homes = np.where(rng.random(constraints) < 0.5, 0, rng.integers(0, states, constraints))
    requirements = [
        ReturnHome(float(rng.choice(LEVELS)), int(home)).require(situation) for home in homes
    ]
    return ConstrainedProblem(
        model,
        discount,
        0,
        np.stack([objective, *(r.reward for r in requirements)]),
        np.array([r.level for r in requirements]),
    )


def random_model(kind: Kind, states: int, actions: int, rng: np.random.Generator) -> Model:
    """Draw a model whose action 0 stays."""
    if kind == "moves":
        dest = rng.integers(0, states, (states, actions))
        dest[:, 0] = np.arange(states)
        chance = rng.random((states, actions))
        return Moves(dest, np.where(chance < 0.5, 1.0, np.where(chance < 0.6, 0.0, chance)))
    rows = rng.dirichlet(np.full(states, 0.2), (states, actions))
    rows[rng.random((states, actions)) < 0.1] *= 0.9  # the process may end
    rows[:, 0] = np.eye(states)
    return SparseMDP.from_dense(rows)


def random_corrections(model: Model, discount: float, rng: np.random.Generator) -> Corrections:
    """Draw corrections that a belief with this mean could have."""
    if isinstance(model, Moves):
        return Corrections(
            Correction.MOVES,
            *moves_corrections(model.dest, model.success, model.success, discount),
            work_or_never=True,
        )
    sigma = -rng.random((model.states, model.actions)) * 0.1
    sigma[rng.random(sigma.shape) < 0.7] = 0.0
    sigma[:, 0] = 0.0
    return Corrections(Correction.GENERAL, sigma, sigma)
