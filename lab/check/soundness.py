"""Checks that no bound exceeds the exact value, by enumeration on small random correlated beliefs.

A belief here is a few explicit worlds. The exact probability of being home after a recall is the
mean over worlds of two linear solves, for any deterministic outbound policy and the planner's
return policy. The bound of the same policies, with the planner's corrections, must not exceed it in
any state. The bound of a planner's mixture must not exceed its exact value either.

`examine_together` checks every criterion, pair and triple at random levels, on worlds with
different rewards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Literal

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs import Belief, FiniteBelief, corrections_of
from homeward.beliefs.corrections import Correction, Corrections
from homeward.criteria import Criterion, EarnAtLeast, ReturnHome, Situation, StayInside
from homeward.models import Moves, SparseMDP
from homeward.planning.algorithm1 import Planner, pose
from homeward.planning.plan import Plan
from homeward.referee.exact import (
    dense_transitions,
    exact_recall,
    exact_return,
    exact_value,
    exact_way,
)
from homeward.solvers import engine, engine_for
from homeward.solvers.steps_left import policies_by_state

Kind = Literal["moves", "chancy moves", "general"]
KINDS: tuple[Kind, ...] = ("moves", "chancy moves", "general")
DISCOUNTS = (0.1, 0.3, 0.6, 0.9, 0.99, 0.999)
CRITERION_KINDS = ("home", "within", "stay", "earn")  # the kinds of criteria
TOGETHER: tuple[tuple[str, ...], ...] = (
    *((one,) for one in CRITERION_KINDS),
    *combinations(CRITERION_KINDS, 2),
    *((one, one) for one in CRITERION_KINDS),
    *combinations(CRITERION_KINDS, 3),
)
"""Each kind, each pair (also of the same kind) and each triple."""

DELTAS = (0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)
OUTBOUND_POLICIES = 6  # number of random outbound policies that are compared for each plan


@dataclass(frozen=True, slots=True)
class Soundness:
    """The largest excess of a bound over the exact value; positive means unsound."""

    returning: float  # over all states
    exploring: float  # over all deterministic outbound policies and all states
    planned: float  # of the planner's mixture, and of its policies that start with the action
    acted: float  # over the other actions that the planner could take now
    looseness: float  # exact − corrected bound of the planner's mixture


def random_belief(kind: Kind, rng: np.random.Generator) -> FiniteBelief:
    """Draw 2 to 4 worlds with 2 to 4 states and 2 or 3 actions."""
    states, actions, count = (int(rng.integers(2, high)) for high in (5, 4, 5))
    weights = rng.dirichlet(np.ones(count))
    if kind == "general":
        sharp = rng.choice([0.05, 0.3, 1.0])
        rows = rng.dirichlet(np.full(states, sharp), (count, states, actions))
        # A row that sums to 1 − 2⁻⁵³ ends with probability 1e-16, which would dominate outcomes
        # that are rarer still. Such rows are excluded.
        rows[rows < 1e-6] = 0.0
        rows /= rows.sum(axis=3, keepdims=True)
        shared = rng.random((states, actions)) < 0.3  # some rows are known
        rows[:, shared] = rows[0, shared]
        rows[rng.random((count, states, actions)) < 0.1] *= 0.8  # the process may end in some rows
        reward = _availability(states, actions, rng)
        return FiniteBelief([SparseMDP.from_dense(world, reward) for world in rows], weights)
    dest = rng.integers(0, states, (states, actions))
    success = (rng.random((count, states, actions)) < rng.random((states, actions))) * 1.0
    if rng.random() < 0.5:  # two opposite worlds: a move works in exactly one of them
        success, weights = np.array([success[0], 1.0 - success[0]]), rng.dirichlet(np.ones(2))
    if kind == "chancy moves":
        success *= rng.choice([1.0, 0.5, 0.05], success.shape)
    reward = _availability(states, actions, rng)
    return FiniteBelief([Moves(dest, world, reward) for world in success], weights)


def examine(
    belief: FiniteBelief,
    correction: Correction,
    discount: float,
    home: int = 0,
    tamper: Callable[[Corrections, FiniteBelief], Corrections] | None = None,
) -> Soundness:
    """Compare bounds with exact values, and return the largest excess of bounds.

    `tamper`, if given, replaces the corrections by wrong ones.
    """
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

    planner = Planner(far_bonus, [ReturnHome(0.7, home)], discount, correction)
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
    acted = -np.inf
    for row in plan.evidence:
        if row.action != plan.action and np.isfinite(model.reward[0, row.action]):
            true = _acted(belief, worlds, ways, plan, row.action)
            acted = max(acted, row.safety[0] - true)
    return Soundness(
        returning,
        excess,
        float(max(criterion.bound - exact, criterion.kept_bound - kept)),
        float(acted),
        float(exact - criterion.corrected),
    )


@dataclass(frozen=True, slots=True)
class CriteriaSoundness:
    """The largest excess of a bound over the exact value; positive means unsound."""

    any_way: float  # of random deterministic outbound policies, for every criterion
    planned: float  # of the planner's mixture, and of its policies that start with the action
    status: str  # of the plan
    looseness: float  # maximum of exact − bound of the planner's mixture


def random_criteria(
    kinds: Sequence[str], belief: FiniteBelief, span: float, rng: np.random.Generator
) -> list[Criterion]:
    """Draw a criterion of each kind in `kinds`; rewards are earned over `span` steps."""
    shape = belief.counts.shape
    found: list[Criterion] = []
    for kind in kinds:
        delta = float(rng.choice(DELTAS))
        home = 0 if rng.random() < 0.6 else int(rng.integers(shape[0]))
        if kind == "home":
            found.append(ReturnHome(delta, home))
        elif kind == "within":
            found.append(ReturnHome(delta, home, within=int(rng.integers(1, 7))))
        elif kind == "stay":
            allowed = rng.random(shape if rng.random() < 0.7 else shape[:1]) < 0.7
            allowed[0] = True
            found.append(StayInside(allowed, delta))
        else:
            given = rng.uniform(-2.0, 3.0, shape) if rng.random() < 0.5 else None
            total = float(rng.uniform(-1.5, 1.0)) * span
            found.append(EarnAtLeast(total, given))
    return found


def paid(belief: FiniteBelief, rng: np.random.Generator) -> FiniteBelief:
    """Return the belief with random rewards, positive or negative, that differ between worlds."""
    low = float(rng.choice([-1.0, -1.0, 0.5]))
    worlds = [
        replace(world, reward=world.reward + rng.uniform(low, 2.0, world.reward.shape))
        for world in belief.worlds
    ]
    return replace(belief, worlds=tuple(worlds))


@dataclass(frozen=True, slots=True, eq=False)
class BoundCase:
    """A belief, criteria, and the corrections that apply to the belief."""

    belief: FiniteBelief
    criteria: list[Criterion]
    discount: float
    corrections: tuple[Correction, ...]
    recall: int | None  # steps until the recall; None: at each step with probability 1 − γ


def random_case(
    kinds: Sequence[str], number: int, rng: np.random.Generator, *, fixed: bool = False
) -> BoundCase:
    """Draw a belief and criteria of the kinds `kinds`; `number` determines the kind of belief."""
    kind = KINDS[number % len(KINDS)]
    belief, discount = random_belief(kind, rng), float(rng.choice(DISCOUNTS))
    if rng.random() < 0.7:
        belief = paid(belief, rng)
    both = (Correction.GENERAL, Correction.MOVES)
    corrections = both[:1] if kind == "general" else both
    recall = int(rng.integers(1, 6)) if fixed else None
    span = 1.0 / (1.0 - discount) if recall is None else float(recall)
    criteria = random_criteria(kinds, belief, span, rng)
    return BoundCase(belief, criteria, discount, corrections, recall)


def examine_together(
    case: BoundCase, correction: Correction, rng: np.random.Generator
) -> CriteriaSoundness:
    """Compare the bounds of a plan, and of random outbound policies, with exact values."""
    belief, criteria, recall = case.belief, case.criteria, case.recall
    planner = Planner(far_bonus, criteria, case.discount, correction, recall=recall)
    plan = planner.plan(belief, 0)
    sets = [c.allowed for c in plan.criteria if c.allowed is not None]
    exits = ~np.logical_and.reduce(sets) if sets else None
    worlds = [dense_transitions(world) for world in belief.worlds]
    ways_home = [[exact_way(world, c) for world in worlds] for c in plan.criteria]

    def truth(k: int, policy: IntArray) -> FloatArray:
        """Return the exact mean value [S] of a criterion under an outbound policy [S]."""
        criterion, claims = criteria[k], plan.criteria[k]
        given = criterion.rewards if isinstance(criterion, EarnAtLeast) else None
        total = np.zeros(len(belief.counts))
        for weight, world, rows, way in zip(
            belief.weights, belief.worlds, worlds, ways_home[k], strict=True
        ):
            rewards = world.reward if given is None else given
            usable = np.where(np.isfinite(world.reward), rewards, 0.0)
            how = (policy, plan.discount, exits, plan.afterwards, way)
            total += weight * exact_value(rows, usable, claims, *how)
        return total

    planned, loose = -np.inf, -np.inf
    for k, criterion in enumerate(plan.criteria):
        for weights, policies, bound in (
            (plan.weights, plan.outbound, criterion.bound),
            (plan.kept_weights, plan.kept_outbound, criterion.kept_bound),
        ):
            true = sum(w * truth(k, policy)[0] for w, policy in zip(weights, policies, strict=True))
            planned = max(planned, (bound - true) / criterion.unit)
            loose = max(loose, (true - bound) / criterion.unit)

    model = belief.mean()
    situation = planner.situation(belief, model, 0, 0)
    requirements = [criterion.require(situation) for criterion in criteria]
    totals = np.stack([model.reward + far_bonus(belief), *(r.reward for r in requirements)])
    problem = pose(model, case.discount, 0, totals, requirements, steps=recall).problem
    solver = engine_for(problem)
    usable = [np.flatnonzero(np.isfinite(row)) for row in model.reward]
    excess = -np.inf
    for _ in range(OUTBOUND_POLICIES):
        layers = [[rng.choice(u) for u in usable] for _ in range(recall or 1)]
        policy = np.array(layers[0] if recall is None else layers, np.int32)
        followed = policy if recall is None else policies_by_state(policy)
        bounds = solver.evaluate(followed)[1:, -model.states :]
        for k, (bound, r) in enumerate(zip(bounds, requirements, strict=True)):
            excess = max(excess, float((bound - (truth(k, policy) - r.least) / r.unit).max()))
    return CriteriaSoundness(float(excess), float(planned), plan.status, float(loose))


def half_exploring(corrections: Corrections, belief: FiniteBelief) -> Corrections:
    """Return a wrong correction, −p(1−p) for exploring, which `examine` must catch."""
    mean = belief.mean()
    assert isinstance(mean, Moves)
    wrong = -mean.success * (1.0 - mean.success)
    return replace(corrections, exploring=wrong)


def _exact(
    belief: FiniteBelief,
    worlds: list[FloatArray],
    ways: list[FloatArray],
    policy: IntArray,
    discount: float,
) -> FloatArray:
    """Return, for each start state [S], the exact probability of being home after the recall.

    `policy` [S] is followed until the recall. `worlds` are the transitions [S, A, S] of each world,
    and `ways` the probabilities [S] that the way home works in each world.
    """
    total = np.zeros(len(policy))
    for weight, world, way in zip(belief.weights, worlds, ways, strict=True):
        total += weight * exact_recall(world, policy, way, discount)
    return total


def _acted(
    belief: FiniteBelief,
    worlds: list[FloatArray],
    ways: list[FloatArray],
    plan: Plan,
    action: int,
) -> float:
    """Return the exact probability of being home after an action in state 0 and then the plan."""
    total = 0.0
    for chance, world, way in zip(belief.weights, worlds, ways, strict=True):
        onward = np.zeros(len(way))
        for weight, policy in zip(plan.weights, plan.outbound, strict=True):
            onward += weight * exact_recall(world, policy, way, plan.discount)
        later = plan.discount * (world[0, action] @ onward)
        total += chance * ((1.0 - plan.discount) * way[0] + later)
    return total


def far_bonus(belief: Belief) -> FloatArray:
    """Return a bonus [S, A] for being far from state 0, so that plans have a reason to leave."""
    model = belief.mean()
    return np.repeat(np.arange(model.states, dtype=np.float64)[:, None], model.actions, axis=1)


def _availability(states: int, actions: int, rng: np.random.Generator) -> FloatArray:
    """Draw rewards [S, A]: 0, or −inf for unavailable actions; the first action is available."""
    reward = np.zeros((states, actions))
    reward[:, 1:][rng.random((states, actions - 1)) < 0.15] = -np.inf
    return reward
