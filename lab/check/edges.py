r"""Do the solvers hold at the edges of their numbers? An exact referee says.

Families of random problems go where rounding bites: δ = 1, γ = .99999, chances of 1e-12 and
1 − 1e-12, bonuses of 1e6, multipliers of zero and beyond all bounds, ties, nothing to earn. Each is
solved from nothing and from the answer to a problem nearby. An answer must be right or end in
another status than optimal and infeasible; whatever its status, what it reports must be true.

Referee: a float is a rational number, so a problem with few policies has an exact answer. Every
deterministic policy is evaluated by elimination without fractions (Bareiss), and the best mixture
is found by the simplex method over the integers, with Bland's rule. With more policies the
occupancy LP is asked; where it says otherwise, HiGHS may be the one that is wrong, and the answer
has to be proven: for its own λ ≥ 0 the Lagrangian bound max_π f(π) + λ·(g(π) − level) is computed
exactly, which no feasible policy's objective is above. An answer that is neither confirmed nor
proven counts as wrong. Policies are evaluated exactly in any case.

Feasible means what the solvers say it does: a total within
`FEASIBILITY_TOLERANCE` of a level meets it. So an
optimal objective has to lie between the best at the levels and the best at somewhat lower ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import inf, lcm, prod
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import numpy as np

from homeward.beliefs.corrections import Correction, Corrections
from homeward.models import Moves, SparseMDP
from homeward.safety import ReturnHome, Situation
from homeward.solvers import (
    ConstrainedProblem,
    Status,
    engine,
    occupancy_lp,
    solve_constrained,
    solve_return,
)
from homeward.solvers.tolerances import FEASIBILITY_TOLERANCE, met_within
from lab.check.agreement import Kind, random_corrections

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model
    from homeward.solvers import ConstrainedSolution, ReturnSolution

Referee = Literal["exact", "lp", "proof"]
Levels = Literal["between", "sure", "slack", "barely", "beyond"]
Answer = TypeVar("Answer")
Integers: TypeAlias = list[list[int]]
Point: TypeAlias = tuple[Fraction, ...]  # (f, g₁ … g_K) of a policy in the start state
Values: TypeAlias = tuple[Point, ...]  # [1 + K][S] of a policy

VALUE_TOLERANCE = Fraction(1, 10**9)
"""Largest error of a reported number, relative to the largest value of its kind."""

LEVEL_TOLERANCE = Fraction(FEASIBILITY_TOLERANCE)
"""Shortfall up to which a policy counts as meeting its level."""

ENUMERATED = 250
"""Up to this many deterministic policies a problem is solved exactly."""


@dataclass(frozen=True, slots=True)
class Family:
    """Problems that share an edge. What is not said is ordinary."""

    name: str
    levels: tuple[Levels, ...] = ("between",)
    deltas: tuple[float, ...] = (1.0,)  # where the levels are sure
    discounts: tuple[float, ...] = (0.9, 0.99, 0.999)
    chances: tuple[float, ...] = ()  # what most moves succeed with
    units: tuple[float, ...] = (1.0,)  # of the bonus
    spreads: tuple[float, ...] = (1.0,)  # of what a constraint can gain in a step
    earns: Literal["bonus", "ties", "nothing"] = "bonus"
    closed: float = 0.1  # the share of actions that can't be chosen
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
class Edge:
    """A problem at an edge, another one nearby to start from, and a way home on the same model."""

    family: str
    number: int
    kind: Kind
    problem: ConstrainedProblem
    nearby: ConstrainedProblem
    correction: FloatArray  # [S, A]
    home: IntArray  # [n]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a referee says of an answer."""

    status: Status | None  # None if something was raised instead
    referee: Referee
    difference: float  # from what is right, relative to the largest value
    faults: tuple[str, ...]  # what is wrong, in words


def draw(family: Family, number: int, seed: int = 0) -> Edge:
    """Draw a problem of a family: its number sets the kind, the constraints and the size.

    Numbers go through both kinds of model with 1 to 3 constraints; two rounds are small, with up to
    5 states and 3 actions, and every third has up to 30 states and 6 actions.
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
    return Edge(
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
    """Draw a model; in most of them action 0 stays, and always it can be chosen."""
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
    """Draw corrections that fit the chances: a rare outcome has a small one."""
    if isinstance(model, Moves):
        return random_corrections(model, discount, rng)
    shape = (model.states, model.actions)
    likely = model.transitions.toarray().max(axis=1).reshape(shape)
    apart = np.minimum(0.0, likely * (likely - 1.0))  # by rounding a chance may pass 1
    sigma = apart * rng.random(shape) * (rng.random(shape) < 0.6)
    return Corrections(Correction.GENERAL, sigma, sigma)


def _objective(family: Family, model: Model, rng: np.random.Generator) -> FloatArray:
    """Draw what is maximised, −inf where an action can't be chosen."""
    shape = (model.states, model.actions)
    unit = float(rng.choice(family.units))
    if family.earns == "nothing":
        worth = -float(rng.integers(0, 2)) * rng.integers(0, 2, shape)  # at best
    elif family.earns == "ties":
        worth = 1.0 * rng.integers(0, 2, shape)
    else:
        worth = rng.random(shape) ** 4
        if rng.random() < 0.3:  # costs as well
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
    """Place the levels [K], by what some policies achieve."""
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
    """Change every number of a problem by about one in a million."""

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


def solve_integers(matrix: Integers, sides: Integers) -> tuple[Integers, int]:
    """Solve ``matrix·x = sides``, [n][n] and [n][m], by elimination without fractions.

    Gives det·x and det > 0, the determinant up to its sign.
    """
    rest = [[*left, *right] for left, right in zip(matrix, sides, strict=True)]
    last = 1
    for k in range(len(rest)):
        pivot = next(i for i in range(k, len(rest)) if rest[i][0])
        rest[k], rest[pivot] = rest[pivot], rest[k]
        head, *here = rest[k]
        for i, (factor, *row) in enumerate(rest):
            if i != k:  # every entry is a minor, so that the division leaves no rest
                rest[i] = [(head * x - factor * y) // last for x, y in zip(row, here, strict=True)]
        rest[k], last = here, head
    if last < 0:
        return [[-x for x in row] for row in rest], -last
    return rest, last


class Exact:
    """A model under a discount in (0, 1] with totals [K, S, A], in integers.

    The rows are those of I − γP. One that sums to more than 1, by rounding, takes that from staying
    put, as the solvers do. With `stop` [S], stopping with that worth is one more action.
    """

    def __init__(
        self, model: Model, discount: float, totals: FloatArray, stop: FloatArray | None = None
    ) -> None:
        gamma, states, actions = Fraction(discount), range(model.states), range(model.actions)
        rows = [[_row(gamma, s, _outcomes(model, s, a)) for a in actions] for s in states]
        self.unit = lcm(*(x.denominator for row in rows for part in row for x in part.values()))
        self.rows = [
            [{t: int(x * self.unit) for t, x in part.items()} for part in row] for row in rows
        ]
        finite = np.where(np.isfinite(totals), totals, 0.0)
        self.scale = lcm(*(Fraction(x).denominator for x in finite.ravel().tolist()))
        self.gains = [
            [[int(Fraction(x) * self.scale) for x in finite[:, s, a].tolist()] for a in actions]
            for s in states
        ]
        self.choices = [np.flatnonzero(np.isfinite(row)).tolist() for row in totals[0]]
        for s, worth in enumerate(() if stop is None else stop.tolist()):
            self.choices[s].append(model.actions)
            self.rows[s].append({s: self.unit})
            self.gains[s].append([int(Fraction(worth) * self.scale)])

    def evaluate(self, policy: Sequence[int]) -> Values:
        """Return the values [K][S] of a policy [S]."""
        states = range(len(policy))
        matrix = [[self.rows[s][policy[s]].get(t, 0) for t in states] for s in states]
        found, det = solve_integers(matrix, [self.gains[s][policy[s]] for s in states])
        below = det * self.scale
        return tuple(
            tuple(Fraction(x * self.unit, below) for x in total)
            for total in zip(*found, strict=True)
        )

    def optimise(self, weights: Point, policy: Sequence[int]) -> Point:
        """Return the largest value [S] of ``Σ weights[k]·totals[k]``, by policy iteration."""
        kept, better = list(policy), True
        while better:
            better = False
            value = tuple(_dot(weights, here) for here in zip(*self.evaluate(kept), strict=True))
            for s, choices in enumerate(self.choices):
                most, a = max((self._gain(s, a, weights, value), a) for a in choices)
                if most > 0:
                    kept[s], better = a, True
        return value

    def _gain(self, s: int, a: int, weights: Point, value: Point) -> Fraction:
        """Return the gain of an action: ``Σ weights[k]·totals[k, s, a] + γP·value − value[s]``."""
        reward = _dot(weights, self.gains[s][a]) / self.scale
        row = self.rows[s][a]
        return reward - _dot([value[t] for t in row], list(row.values())) / self.unit


def _outcomes(model: Model, s: int, a: int) -> dict[int, Fraction]:
    """Return the exact probabilities of the next state, that of staying put among them."""
    if isinstance(model, Moves):
        t, chance = int(model.dest[s, a]), Fraction(float(model.success[s, a]))
        return {s: Fraction(1)} if t == s else {s: 1 - chance, t: chance}
    rows, i = model.transitions, s * model.actions + a
    part = slice(rows.indptr[i], rows.indptr[i + 1])
    entries = zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True)
    found = {t: Fraction(p) for t, p in entries}
    stays, moves = found.pop(s, Fraction(0)), sum(found.values(), Fraction(0))
    return {s: min(stays, 1 - moves), **found}


def _row(gamma: Fraction, s: int, outcomes: dict[int, Fraction]) -> dict[int, Fraction]:
    """Return a row of I − γP."""
    return {t: (t == s) - gamma * p for t, p in outcomes.items()}


def _dot(weights: Sequence[Fraction], values: Sequence[Fraction | int]) -> Fraction:
    return sum((w * x for w, x in zip(weights, values, strict=True)), Fraction(0))


def _rational(values: FloatArray) -> Point:
    return tuple(Fraction(x) for x in values.tolist())


def best_mixture(points: Sequence[Point], levels: Point) -> tuple[Fraction, Fraction]:
    """Return the least total shortfall of any mixture, and the best objective that comes with it.

    The simplex method over weights, surpluses and shortfalls, ``Σ w·g − over + short = level``. Of
    its two rewards, minus the shortfall goes before the objective. Bland's rule ends it.
    """
    count = len(levels)
    columns: Integers = []
    rewards: Integers = []
    for point in points:  # a multiple of a column does as well
        unit = lcm(*(x.denominator for x in point))
        columns.append([*(int(g * unit) for g in point[1:]), unit])
        rewards.append([0, int(point[0] * unit)])
    for sign, reward in ((-1, 0), (1, -1)):
        columns += [[sign * (i == k) for i in range(count + 1)] for k in range(count)]
        rewards += [[reward, 0]] * count
    one = lcm(*(level.denominator for level in levels))
    side = [*(int(level * one) for level in levels), one]
    lacks = [g < level for g, level in zip(points[0][1:], levels, strict=True)]
    basis = [*(len(points) + k + count * lack for k, lack in enumerate(lacks)), 0]
    while True:
        prices, det = solve_integers([columns[j] for j in basis], [rewards[j] for j in basis])
        enters = next(
            (
                j
                for j, (column, reward) in enumerate(zip(columns, rewards, strict=True))
                if [det * x for x in reward] > _priced(column, prices)
            ),
            None,
        )
        if enters is None:
            least, best = (Fraction(x, det * one) for x in _priced(side, prices))
            return -least, best
        square = [list(row) for row in zip(*(columns[j] for j in basis), strict=True)]
        sides = [list(row) for row in zip(side, columns[enters], strict=True)]
        found, _ = solve_integers(square, sides)
        ratios = [(Fraction(x, y), basis[i], i) for i, (x, y) in enumerate(found) if y > 0]
        basis[min(ratios)[2]] = enters


def _priced(column: Sequence[int], prices: Integers) -> list[int]:
    """Return what a column [m] costs at prices [m][2]."""
    pairs = list(zip(column, prices, strict=True))
    return [sum(x * price[i] for x, price in pairs) for i in (0, 1)]


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What a referee holds to be right."""

    referee: Referee
    values: dict[tuple[int, ...], Values]  # exact, of every policy that it may be asked about
    sizes: Point  # [1 + K] the largest of each total, in a step or of any of them in any state
    room: Point  # [K] how far below its level an answer may be
    short: Fraction  # the least total shortfall
    best: Fraction | None  # the best objective with no more than that
    most: Fraction | None  # the best objective at the levels less the room


def enumerate_exactly(problem: ConstrainedProblem, exact: Exact) -> Truth:
    """Solve a problem with few policies exactly."""
    values = {policy: exact.evaluate(policy) for policy in product(*exact.choices)}
    sizes, room = _sizes(problem, values)
    points = list({tuple(total[problem.start] for total in value) for value in values.values()})
    levels = _rational(problem.levels)
    short, best = best_mixture(points, levels)
    over, most = best_mixture(points, tuple(x - y for x, y in zip(levels, room, strict=True)))
    return Truth("exact", values, sizes, room, short, best, None if over else most)


def ask_lp(problem: ConstrainedProblem, values: dict[tuple[int, ...], Values]) -> Truth | None:
    """Solve a problem by the occupancy LP, if that has an answer. What is asked about is given."""
    lp = occupancy_lp(problem)
    if lp.status is Status.OPTIMAL:
        best = Fraction(lp.objective)
        return Truth("lp", values, *_sizes(problem, values), Fraction(0), best, best)
    if lp.status is Status.INFEASIBLE:
        return Truth("lp", values, *_sizes(problem, values), Fraction(lp.shortfall), None, None)
    return None


def prove(
    problem: ConstrainedProblem,
    found: ConstrainedSolution,
    exact: Exact,
    values: dict[tuple[int, ...], Values],
) -> Truth:
    """Bound what is best, or the least shortfall, by an answer's own multipliers."""
    infeasible = found.status is Status.INFEASIBLE
    multipliers = found.multipliers
    if infeasible and (largest := multipliers.max()) > 0.0:  # a unit of shortfall costs one
        multipliers = multipliers / largest if largest < inf else np.isinf(multipliers) * 1.0
    if not np.isfinite(multipliers).all():
        return Truth("proof", values, *_sizes(problem, values), Fraction(0), None, None)
    solver = engine(problem.model, problem.discount, problem.totals)
    near = solver.optimise(np.append(0.0 if infeasible else 1.0, multipliers)).policy
    weights = (Fraction(not infeasible), *_rational(multipliers))
    bound = exact.optimise(weights, near.tolist())[problem.start]
    bound -= _dot(weights[1:], _rational(problem.levels))
    if infeasible:
        return Truth("proof", values, *_sizes(problem, values), -bound, None, None)
    return Truth("proof", values, *_sizes(problem, values), Fraction(0), bound, None)


def _sizes(
    problem: ConstrainedProblem, values: dict[tuple[int, ...], Values]
) -> tuple[Point, Point]:
    """Return the largest of each total, [1 + K], and what an answer may lack to its levels, [K].

    The largest of its values and its single rewards. A mixture counts as meeting a level from
    `met_within` below it; and a number may be off.
    """
    finite = np.where(np.isfinite(problem.totals), problem.totals, 0.0)
    single = _rational(np.abs(finite).max(axis=(1, 2)))
    totals = zip(single, *values.values(), strict=True)
    sizes = tuple(max(most, *(abs(x) for row in rows for x in row)) for most, *rows in totals)
    within = Fraction(met_within(problem.span))
    return sizes, tuple(within + VALUE_TOLERANCE * size for size in sizes[1:])


def judge(
    problem: ConstrainedProblem, found: ConstrainedSolution, truth: Truth, tolerance: float
) -> Verdict:
    """Compare an answer with the true one; `tolerance` is relative to the largest value."""
    faults = _misfits(problem, found)
    if faults:
        return Verdict(found.status, truth.referee, 0.0, tuple(faults))
    values = [truth.values[tuple(policy)] for policy in found.policies.tolist()]
    weights, levels = _rational(found.weights), _rational(problem.levels)
    mixed = [
        _dot(weights, [value[k][problem.start] for value in values]) for k in range(1 + len(levels))
    ]
    faults = _untruths(found, values, mixed, truth.sizes)
    objective, *achieved = mixed
    lacks = [x - g for x, g in zip(levels, achieved, strict=True)]
    size, off = truth.sizes[0], [Fraction(0)]
    rounding = VALUE_TOLERANCE if truth.referee == "exact" else Fraction(tolerance)
    if found.status is Status.INFEASIBLE:
        size = max(truth.sizes[1:])
        off.append(sum(max(Fraction(0), x) for x in lacks) - truth.short)
        if truth.short <= LEVEL_TOLERANCE / 2:
            faults.append("the levels can be met")
        if off[-1] > Fraction(found.gap) + len(levels) * LEVEL_TOLERANCE + rounding * size:
            faults.append("the gap is larger")
    else:
        if found.gap < found.upper - objective - rounding * size:
            faults.append("the gap is not up to the bound")
        if truth.short == 0 and truth.best is not None and truth.referee != "proof":
            if found.upper < truth.best - rounding * size:
                faults.append("the bound is below the best")
            if found.gap < truth.best - objective - rounding * size:
                faults.append("the gap is larger")
    if found.status is Status.OPTIMAL:
        if found.gap > tolerance * size:
            faults.append("the bound is far above")
        if any(lack > room for lack, room in zip(lacks, truth.room, strict=True)):
            faults.append("a level is missed")
        if truth.best is not None and truth.short <= LEVEL_TOLERANCE / 2:
            off.append(truth.best - objective)
        elif truth.most is None:
            faults.append("the levels can't be met")
        if truth.most is not None:
            off.append(objective - truth.most)
    if max(off) > Fraction(tolerance) * size:
        faults.append("it is not the best")
    difference = max(off) / size if size else max(off)
    return Verdict(found.status, truth.referee, float(difference), tuple(faults))


def _misfits(problem: ConstrainedProblem, found: ConstrainedSolution) -> list[str]:
    """List what makes an answer invalid, whatever the true one is."""
    states = np.arange(problem.model.states)
    claims = [*found.values.ravel(), found.objective, *found.achieved]
    wrong = {
        "a number is NaN or infinite": not np.isfinite(claims).all()
        or bool(np.isnan([found.upper, found.gap]).any()),
        "the weights are not a distribution": not (found.weights > 0.0).all()
        or abs(found.weights.sum() - 1.0) > 1e-12,
        "a multiplier is negative": not (found.multipliers >= 0.0).all(),
        "it takes what can't be chosen": bool(
            np.isinf(problem.objective[states, found.policies]).any()
        ),
        "it is infeasible and has a bound": found.status is Status.INFEASIBLE
        and found.upper != -inf,
        "the bound is below the objective": found.status is Status.OPTIMAL
        and found.upper < found.objective,
    }
    return [fault for fault, present in wrong.items() if present]


def _untruths(
    found: ConstrainedSolution, values: Sequence[Values], mixed: Sequence[Fraction], sizes: Point
) -> list[str]:
    """List which reported numbers are not what the policies and their mixture are worth."""
    faults = []
    claims = [found.objective, *found.achieved.tolist()]
    for k, size in enumerate(sizes):
        name = f"constraint {k - 1}" if k else "the objective"
        if abs(Fraction(claims[k]) - mixed[k]) > VALUE_TOLERANCE * size:
            faults.append(f"{name} is not the mixture's")
        each = zip(found.values[:, k].tolist(), values, strict=True)
        if any(
            abs(Fraction(x) - y) > VALUE_TOLERANCE * size
            for claimed, value in each
            for x, y in zip(claimed, value[k], strict=True)
        ):
            faults.append(f"{name} is not a policy's")
    return faults


def exact_way_home(model: Model, correction: FloatArray, home: IntArray) -> Point:
    """Return the best corrected probability [S] of returning, exactly.

    From giving up everywhere: what policy iteration ends with is the value of a policy that does
    end, and no action improves it, so that it is above the value of every other.
    """
    totals = np.where(np.isfinite(model.reward), correction, -np.inf)[None]
    stop = np.isin(np.arange(model.states), home).astype(np.float64)
    exact = Exact(model, 1.0, totals, stop)
    return exact.optimise((Fraction(1),), [model.actions] * model.states)


def judge_way_home(found: ReturnSolution, exact: Point, tolerance: float) -> Verdict:
    """Compare a way home with the exact one; it must not be above it in any state."""
    lacks = [y - Fraction(x) for x, y in zip(found.value.tolist(), exact, strict=True)]
    faults = []
    if min(lacks) < 0:
        faults.append("it is above the best")
    if found.status is Status.OPTIMAL and max(lacks) > found.gap + tolerance:
        faults.append("it is not the best")
    return Verdict(found.status, "exact", float(max(map(abs, lacks))), tuple(faults))


@dataclass(frozen=True, slots=True)
class Examination:
    """The verdicts on a problem's answers."""

    edge: Edge
    cold: Verdict  # solved from nothing
    warm: Verdict  # solved from the policies and multipliers of the problem nearby
    way_home: Verdict

    @property
    def faults(self) -> list[tuple[str, str]]:
        """All that is wrong: with which answer, and what."""
        answers = {"cold": self.cold, "warm": self.warm, "way home": self.way_home}
        return [(name, fault) for name, verdict in answers.items() for fault in verdict.faults]


def examine(edge: Edge, tolerance: float = 1e-7) -> Examination:
    """Solve a problem from nothing and from a nearby answer, and its way home; judge all three."""
    problem = edge.problem
    exact = Exact(problem.model, problem.discount, problem.totals)
    few = prod(len(choices) for choices in exact.choices) <= ENUMERATED
    truth = enumerate_exactly(problem, exact) if few else None

    def from_nearby() -> ConstrainedSolution:
        nearby = solve_constrained(edge.nearby)
        return solve_constrained(problem, tuple(nearby.policies), nearby.multipliers)

    def of(solve: Callable[[], ConstrainedSolution]) -> Verdict:
        found = _attempt(solve)
        if isinstance(found, Verdict):
            return found
        return _judge(problem, found, exact, truth, tolerance)

    back = _attempt(lambda: solve_return(problem.model, edge.correction, edge.home))
    if not isinstance(back, Verdict):
        best = exact_way_home(problem.model, edge.correction, edge.home)
        back = judge_way_home(back, best, tolerance)
    return Examination(edge, of(lambda: solve_constrained(problem)), of(from_nearby), back)


def _attempt(solve: Callable[[], Answer]) -> Answer | Verdict:
    """Solve; whatever is raised is a fault, since an edge has to end in a status."""
    try:
        return solve()
    except Exception as error:
        return Verdict(None, "exact", 0.0, (f"it raised {type(error).__name__}",))


def _judge(
    problem: ConstrainedProblem,
    found: ConstrainedSolution,
    exact: Exact,
    truth: Truth | None,
    tolerance: float,
) -> Verdict:
    """Judge by the exact answer if there is one; else by the LP or, if that differs, a proof."""
    if truth is not None:
        return judge(problem, found, truth, tolerance)
    values = {tuple(policy): exact.evaluate(policy) for policy in found.policies.tolist()}
    lp = ask_lp(problem, values)
    verdict = None if lp is None else judge(problem, found, lp, tolerance)
    if verdict is None or verdict.faults:
        verdict = judge(problem, found, prove(problem, found, exact, values), tolerance)
    return verdict
