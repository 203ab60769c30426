"""Is every bound below the truth? Exact enumeration on small random correlated beliefs.

A belief here is a handful of explicit worlds. For every deterministic way out, and for the best
provable way home, the exact probability of being home after a recall is the average over worlds of
two linear solves. The bound of the same policies, with the same corrections that the planner uses,
must not be above it, in any state. So must the bound of the mixture that a planner returns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np

from homeward.beliefs import FiniteBelief, corrections_of
from homeward.models import Moves, SparseMDP
from homeward.planner import Planner
from homeward.safety import Correction, Corrections, ReturnHome, Situation
from homeward.safety.certify import dense_transitions, exact_recall, exact_return
from homeward.solvers import engine

if TYPE_CHECKING:
    from collections.abc import Callable

    from homeward.arrays import FloatArray, IntArray

Kind = Literal["moves", "chancy moves", "general"]
KINDS: tuple[Kind, ...] = ("moves", "chancy moves", "general")
DISCOUNTS = (0.1, 0.3, 0.6, 0.9, 0.99, 0.999)


@dataclass(frozen=True, slots=True)
class Soundness:
    """The largest excess of a bound over the exact value; positive means unsound."""

    kind: Kind
    correction: Correction
    returning: float  # over all states
    exploring: float  # over all deterministic ways out and all states
    planned: float  # of the planner's own mixture, and of the part that its action starts
    looseness: float  # exact − bound of the planner's mixture


def random_belief(kind: Kind, rng: np.random.Generator) -> FiniteBelief:
    """Draw 2 to 4 worlds with 2 to 4 states and 2 or 3 actions."""
    states, actions, count = (int(rng.integers(2, high)) for high in (5, 4, 5))
    weights = rng.dirichlet(np.ones(count))
    if kind == "general":
        sharp = rng.choice([0.05, 0.3, 1.0])
        rows = rng.dirichlet(np.full(states, sharp), (count, states, actions))
        # A row that sums to 1 − 2⁻⁵³ ends once in 1e16, as written; next to a way out that is rarer
        # still, that would be all that happens. Such rows are not what is asked about here.
        rows[rows < 1e-6] = 0.0
        rows /= rows.sum(axis=3, keepdims=True)
        shared = rng.random((states, actions)) < 0.3  # some rows are known
        rows[:, shared] = rows[0, shared]
        rows[rng.random((count, states, actions)) < 0.1] *= 0.8  # some may end
        reward = _availability(states, actions, rng)
        return FiniteBelief([SparseMDP.from_dense(world, reward) for world in rows], weights)
    dest = rng.integers(0, states, (states, actions))
    success = (rng.random((count, states, actions)) < rng.random((states, actions))) * 1.0
    if rng.random() < 0.5:  # two opposite worlds: what works in one fails in the other
        success, weights = np.array([success[0], 1.0 - success[0]]), rng.dirichlet(np.ones(2))
    if kind == "chancy moves":
        success *= rng.choice([1.0, 0.5, 0.05], success.shape)
    reward = _availability(states, actions, rng)
    return FiniteBelief([Moves(dest, world, reward) for world in success], weights)


def examine(
    belief: FiniteBelief,
    kind: Kind,
    correction: Correction,
    discount: float,
    home: int = 0,
    tamper: Callable[[Corrections, FiniteBelief], Corrections] | None = None,
) -> Soundness:
    """Compare bounds with exact values; `tamper` may swap in a wrong correction, to be caught."""
    model = belief.mean()
    corrections = corrections_of(belief, model, discount, correction)
    if tamper is not None:
        corrections = tamper(corrections, belief)
    worlds = [dense_transitions(world) for world in belief.worlds]
    requirement = ReturnHome(0.5, home).require(Situation(model, corrections, discount, 0, 0))
    back = requirement.returns.policy
    ways = [exact_return(world, back, requirement.home) for world in worlds]
    returning = float((requirement.returns.value - belief.weights @ np.array(ways)).max())

    solver = engine(model, discount, requirement.reward[None])
    excess = -np.inf
    usable = [np.flatnonzero(np.isfinite(row)) for row in model.reward]
    for choice in product(*usable):
        policy = np.array(choice, np.int32)
        bound = solver.evaluate(policy)[0]
        excess = max(excess, float((bound - _exact(belief, worlds, ways, policy, discount)).max()))

    planner = Planner(_bonus, [ReturnHome(0.7, home)], discount, correction)
    plan = planner.plan(belief, 0)
    ways = [exact_return(world, plan.return_policy, requirement.home) for world in worlds]
    exact, kept = (
        sum(
            weight * _exact(belief, worlds, ways, policy, discount)[0]
            for weight, policy in zip(weights, policies, strict=True)
        )
        for weights, policies in (
            (plan.weights, plan.outbound),
            (plan.kept_weights, plan.kept_outbound),
        )
    )
    (criterion,) = plan.criteria
    return Soundness(
        kind,
        correction,
        returning,
        excess,
        float(max(criterion.bound - exact, criterion.kept_bound - kept)),
        float(exact - criterion.bound),
    )


def half_exploring(corrections: Corrections, belief: FiniteBelief) -> Corrections:
    """Give the tempting wrong correction, −p(1−p) for exploring, which `examine` must catch."""
    mean = belief.mean()
    assert isinstance(mean, Moves)
    wrong = -mean.success * (1.0 - mean.success)
    return Corrections(corrections.kind, corrections.returning, wrong)


def _exact(
    belief: FiniteBelief,
    worlds: list[FloatArray],
    ways: list[FloatArray],
    policy: IntArray,
    discount: float,
) -> FloatArray:
    """Give the exact probability [S] of being home after a recall from `policy`."""
    total = np.zeros(len(policy))
    for weight, world, way in zip(belief.weights, worlds, ways, strict=True):
        total += weight * exact_recall(world, policy, way, discount)
    return total


def _bonus(belief: FiniteBelief) -> FloatArray:
    """Pay for being far from state 0, so that plans have a reason to leave."""
    shape = belief.counts.shape
    return np.repeat(np.arange(shape[0], dtype=np.float64)[:, None], shape[1], axis=1)


def _availability(states: int, actions: int, rng: np.random.Generator) -> FloatArray:
    """Draw rewards of 0 and, for some actions but the first, −inf: they can't be chosen."""
    reward = np.zeros((states, actions))
    reward[:, 1:][rng.random((states, actions - 1)) < 0.15] = -np.inf
    return reward
