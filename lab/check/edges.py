"""Compares the solvers with exact answers on extreme numbers, where rounding matters most.

Families of random problems have extreme numbers: δ = 1, γ = .99999, probabilities of 1e-12 and
1 − 1e-12, bonuses of 1e6, zero and unbounded multipliers, ties, and zero rewards. Each problem is
solved without a warm start and with one from a nearby problem. An answer must be right, or its
status must be neither optimal nor infeasible. The reported numbers must always be correct.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, TypeVar

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs.corrections import Correction, Corrections
from homeward.criteria import ReturnHome, Situation
from homeward.models import Model, Moves, SparseMDP
from homeward.solvers import (
    ConstrainedProblem,
    ConstrainedSolution,
    engine,
    solve_constrained,
    solve_return,
)
from lab.check.agreement import Kind, random_corrections
from lab.check.rationals import Exact, exact_way_home
from lab.check.referee import AnswerVerdict, enumerate_exactly, judge_by_any, judge_way_home

Levels = Literal["between", "sure", "slack", "barely", "beyond"]
Answer = TypeVar("Answer")

MAX_ENUMERATED_POLICIES = 250  # most policies of a problem that is solved exactly


@dataclass(frozen=True, slots=True)
class Family:
    """A family of random problems with extreme values; a field's default is an ordinary value."""

    name: str
    levels: tuple[Levels, ...] = ("between",)
    deltas: tuple[float, ...] = (1.0,)  # δ of the "sure" levels
    discounts: tuple[float, ...] = (0.9, 0.99, 0.999)
    chances: tuple[float, ...] = ()  # success probability of most moves
    units: tuple[float, ...] = (1.0,)  # scale of the bonus
    spreads: tuple[float, ...] = (1.0,)  # scale of a constraint's gain per step
    earns: Literal["bonus", "ties", "nothing"] = "bonus"
    closed: float = 0.1  # fraction of unavailable actions
    single: bool = False  # one state only


RARE, NEARLY = 1e-12, 1.0 - 1e-12
FAMILIES = (
    Family("δ = 1", levels=("sure",)),
    Family("δ near 1", levels=("sure",), deltas=(1.0 - 1e-15, NEARLY, 1.0 - 1e-9, 1.0 - 1e-6)),
    Family("γ = .99999", discounts=(0.99999,)),
    Family("chances 1e-12", chances=(RARE,), levels=("between", "sure")),
    Family("chances 1 − 1e-12", chances=(NEARLY,), levels=("between", "sure")),
    Family("bonus 1e6", units=(1e6,), levels=("between", "sure")),
    Family("bonus 1e-6", units=(1e-6,)),
    Family("no multiplier", levels=("slack",)),
    Family("steep multipliers", spreads=(1e-3, 1e-6, 1e-9, 1e-12), units=(1.0, 1e6)),
    Family("infinite multiplier", levels=("barely",)),
    Family("just out of reach", levels=("beyond",)),
    Family("ties", earns="ties", levels=("between", "sure", "slack", "barely")),
    Family("nothing to earn", earns="nothing", levels=("between", "sure", "slack", "barely")),
    Family("closed actions", closed=0.5, levels=("between", "sure", "beyond")),
    Family("single state", single=True, levels=("between", "slack", "barely", "beyond")),
    Family(
        "all at once",
        levels=("between", "sure", "slack", "barely", "beyond"),
        deltas=(1.0, NEARLY),
        discounts=(0.9, 0.99999),
        chances=(RARE, NEARLY),
        units=(1e6, 1.0, 1e-6),
        spreads=(1.0, 1e-6),
        closed=0.3,
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class ExtremeProblem:
    """An extreme problem, a similar problem for a warm start, and a return problem."""

    family: str
    number: int
    kind: Kind
    problem: ConstrainedProblem
    nearby: ConstrainedProblem
    correction: FloatArray  # [S, A] correction of the return problem
    home: IntArray  # [n] home of the return problem


def draw(family: Family, number: int, seed: int = 0) -> ExtremeProblem:
    """Draw a problem of a family; `number` determines kind of model, constraints and size.

    Numbers cycle through both kinds of model with 1 to 3 constraints. In two of three cycles,
    problems have up to 5 states and 3 actions; in the third, up to 30 states and 6 actions.
    """
    rng = np.random.default_rng([seed, *family.name.encode(), number])
    kind: Kind = "moves" if number % 2 == 0 else "general"
    constraints = 1 + number // 2 % 3
    states, actions = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    if number // 6 % 3 == 2:
        states, actions = int(rng.integers(8, 31)), int(rng.integers(2, 7))
    if family.single:
        states = 1
    discount = float(rng.choice(family.discounts))
    model = _model(family, kind, states, actions, rng)
    corrections = _corrections(model, discount, rng)
    mode: Levels = family.levels[int(rng.integers(len(family.levels)))]
    situation = Situation(model, corrections, discount, 0, 0)
    rewards, deltas, homes = [], [], []
    for _ in range(constraints):
        delta = float(rng.choice(family.deltas))
        home = 0 if rng.random() < 0.7 else int(rng.integers(states))
        spread = float(rng.choice(family.spreads))
        if mode == "sure" or (spread == 1.0 and rng.random() < 0.5):
            rewards.append(ReturnHome(delta, home).require(situation).reward)
        else:
            gain = 0.5 + spread * (rng.random((states, actions)) - 0.5)
            rewards.append((1.0 - discount) * gain)
        deltas.append(delta)
        homes.append(home)
    totals = np.stack([_objective(family, model, rng), *rewards])
    levels = _levels(mode, deltas, model, discount, totals, rng)
    problem = ConstrainedProblem(model, discount, 0, totals, levels)
    return ExtremeProblem(
        family.name,
        number,
        kind,
        problem,
        _near(problem, rng),
        corrections.returning,
        np.array(homes[:1], np.int32),
    )


def _model(
    family: Family, kind: Kind, states: int, actions: int, rng: np.random.Generator
) -> Model:
    """Draw a model; action 0 is always available, and stays in most models."""
    shape = (states, actions)
    reward = np.zeros(shape)
    reward[:, 1:][rng.random((states, actions - 1)) < family.closed] = -np.inf
    chance = rng.random(shape)
    chance = np.where(chance < 0.5, 1.0, np.where(chance < 0.6, 0.0, chance))
    if family.chances:
        chance = np.where(rng.random(shape) < 0.6, rng.choice(family.chances, shape), chance)
    dest = rng.integers(0, states, shape)
    if rng.random() < 0.7:
        dest[:, 0] = np.arange(states)
    if kind == "moves":
        return Moves(dest, chance, reward)
    identity = np.eye(states)
    first, second = identity[dest], identity[rng.integers(0, states, shape)]
    spread = rng.random(shape) < 0.3
    first[spread] = rng.dirichlet(np.full(states, 0.5), int(spread.sum()))
    stays = rng.random(shape) < 0.5
    second[stays] = np.broadcast_to(identity[:, None], (*shape, states))[stays]
    second[rng.random(shape) < 0.15] = 0.0  # the process ends instead
    rows = chance[:, :, None] * first + (1.0 - chance[:, :, None]) * second
    return SparseMDP.from_dense(rows, reward)


def _corrections(model: Model, discount: float, rng: np.random.Generator) -> Corrections:
    """Draw corrections consistent with the probabilities: small for rare outcomes."""
    if isinstance(model, Moves):
        return random_corrections(model, discount, rng)
    shape = (model.states, model.actions)
    likely = model.transitions.toarray().max(axis=1).reshape(shape)
    apart = np.minimum(0.0, likely * (likely - 1.0))  # rounding may make a probability exceed 1
    sigma = apart * rng.random(shape) * (rng.random(shape) < 0.6)
    return Corrections(Correction.GENERAL, sigma, sigma)


def _objective(family: Family, model: Model, rng: np.random.Generator) -> FloatArray:
    """Draw the objective [S, A]; it is −inf for unavailable actions."""
    shape = (model.states, model.actions)
    unit = float(rng.choice(family.units))
    if family.earns == "nothing":
        worth = -float(rng.integers(0, 2)) * rng.integers(0, 2, shape)  # 0 or negative
    elif family.earns == "ties":
        worth = 1.0 * rng.integers(0, 2, shape)
    else:
        worth = rng.random(shape) ** 4
        if rng.random() < 0.3:  # negative rewards too
            worth = 2.0 * worth - 1.0
    objective: FloatArray = unit * worth + model.reward
    return objective


def _levels(
    mode: Levels,
    deltas: Sequence[float],
    model: Model,
    discount: float,
    totals: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return levels [K] of the constraints, by `mode` relative to the values of some policies."""
    count = len(deltas)
    solver = engine(model, discount, totals)

    def reached(weight: float, multipliers: FloatArray) -> FloatArray:
        return solver.optimise(np.append(weight, multipliers)).values[1:, 0]

    levels: FloatArray = np.array(deltas)
    safest = reached(0.0, 0.1 + rng.random(count))
    if mode == "slack":
        lowest = [reached(0.0, -unit)[k] for k, unit in enumerate(np.eye(count))]
        levels = np.array(lowest) - rng.choice([0.0, 1e-12, 1e-3, 10.0], count)
    elif mode == "barely":
        levels = safest - rng.choice([0.0, 0.0, 1e-12, 1e-10, 1e-8], count)
    elif mode == "beyond":
        levels = safest + rng.choice([1e-12, 2e-10, 5e-9, 1e-7, 1e-3, 10.0], count)
    elif mode == "between":
        share = rng.uniform(0.1, 0.9)
        levels = share * safest + (1.0 - share) * reached(1.0, np.zeros(count))
    return levels


def _near(problem: ConstrainedProblem, rng: np.random.Generator) -> ConstrainedProblem:
    """Return the problem with every number changed by at most 1e-6 of its value."""

    def nudge(values: FloatArray) -> FloatArray:
        return values * (1.0 + 1e-6 * rng.uniform(-1.0, 1.0, values.shape))

    model = problem.model
    if isinstance(model, Moves):
        model = model.with_success(np.clip(nudge(model.success), 0.0, 1.0))
    else:
        rows = model.transitions.copy()
        rows.data = rows.data * (1.0 - 1e-6 * rng.random(rows.data.shape))
        model = SparseMDP(rows, model.reward)
    return replace(problem, model=model, totals=nudge(problem.totals), levels=nudge(problem.levels))


@dataclass(frozen=True, slots=True)
class Examination:
    """The verdicts on the solutions of a problem."""

    edge: ExtremeProblem
    cold: AnswerVerdict  # on the solution without a warm start
    warm: AnswerVerdict  # on the solution with a warm start from the similar problem
    way_home: AnswerVerdict  # on the solution of the return problem

    @property
    def faults(self) -> list[tuple[str, str]]:
        """Pairs (name of the solution, fault)."""
        answers = {"cold": self.cold, "warm": self.warm, "way home": self.way_home}
        return [(name, fault) for name, verdict in answers.items() for fault in verdict.faults]


def examine(edge: ExtremeProblem, tolerance: float = 1e-7) -> Examination:
    """Solve a problem with and without a warm start, and its return problem; return verdicts."""
    problem = edge.problem
    exact = Exact(problem.model, problem.discount, problem.totals)
    few = prod(len(choices) for choices in exact.choices) <= MAX_ENUMERATED_POLICIES
    truth = enumerate_exactly(problem, exact) if few else None

    def from_nearby() -> ConstrainedSolution:
        nearby = solve_constrained(edge.nearby)
        return solve_constrained(problem, tuple(nearby.policies), nearby.multipliers)

    def of(solve: Callable[[], ConstrainedSolution]) -> AnswerVerdict:
        found = _attempt(solve)
        if isinstance(found, AnswerVerdict):
            return found
        return judge_by_any(problem, found, exact, truth, tolerance)

    back = _attempt(lambda: solve_return(problem.model, edge.correction, edge.home))
    if not isinstance(back, AnswerVerdict):
        best = exact_way_home(problem.model, edge.correction, edge.home)
        back = judge_way_home(back, best, tolerance)
    return Examination(edge, of(lambda: solve_constrained(problem)), of(from_nearby), back)


def _attempt(solve: Callable[[], Answer]) -> Answer | AnswerVerdict:
    """Return the answer of a solver; if it raises, return a verdict with this fault."""
    try:
        return solve()
    except Exception as error:
        return AnswerVerdict(None, "exact", 0.0, (f"it raised {type(error).__name__}",))
