"""MDPs in exact rational arithmetic: values of policies, the best policy, the best mixture.

A float is a rational number, so a problem has an exact answer. Policies are evaluated by
fraction-free elimination (Bareiss). The best mixture is found by the simplex method with integers
and Bland's rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import TypeAlias

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.models import Model, Moves

Integers: TypeAlias = list[list[int]]
Point: TypeAlias = tuple[Fraction, ...]  # (f, g₁ … g_K) of a policy in the start state
Values: TypeAlias = tuple[Point, ...]  # [1 + K][S] of a policy


def solve_integers(matrix: Integers, sides: Integers) -> tuple[Integers, int]:
    """Solve ``matrix·x = sides``, [n][n] and [n][m], by fraction-free elimination.

    Return det·x and det > 0, the absolute value of the determinant.
    """
    rest = [[*left, *right] for left, right in zip(matrix, sides, strict=True)]
    last = 1
    for k in range(len(rest)):
        pivot = next(i for i in range(k, len(rest)) if rest[i][0])
        rest[k], rest[pivot] = rest[pivot], rest[k]
        head, *here = rest[k]
        for i, (factor, *row) in enumerate(rest):
            if i != k:  # every entry is a minor, so the division is exact
                rest[i] = [(head * x - factor * y) // last for x, y in zip(row, here, strict=True)]
        rest[k], last = here, head
    if last < 0:
        return [[-x for x in row] for row in rest], -last
    return rest, last


class Exact:
    """A model with a discount γ in (0, 1] and K rewards, `totals` [K, S, A], scaled to integers.

    `rows` are the rows of I − γP. If rounding makes a row of P sum to more than 1, the probability
    of staying is reduced, as in the solvers. If `stop` [S] is given, there is one more action: it
    ends the process with this value.
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
        """Return the values [K][S] of a policy [S]: one for each of the K rewards."""
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
            value = tuple(dot(weights, here) for here in zip(*self.evaluate(kept), strict=True))
            for s, choices in enumerate(self.choices):
                most, a = max((self._gain(s, a, weights, value), a) for a in choices)
                if most > 0:
                    kept[s], better = a, True
        return value

    def _gain(self, s: int, a: int, weights: Point, value: Point) -> Fraction:
        """Return the gain of an action: ``Σ weights[k]·totals[k, s, a] + γP·value − value[s]``."""
        reward = dot(weights, self.gains[s][a]) / self.scale
        row = self.rows[s][a]
        return reward - dot([value[t] for t in row], list(row.values())) / self.unit


def _outcomes(model: Model, s: int, a: int) -> dict[int, Fraction]:
    """Return the exact probability of each next state, including the current state."""
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


def dot(weights: Sequence[Fraction], values: Sequence[Fraction | int]) -> Fraction:
    """Return Σ weight·value."""
    return sum((w * x for w, x in zip(weights, values, strict=True)), Fraction(0))


def rational(values: FloatArray) -> Point:
    """Return floats as exact fractions."""
    return tuple(Fraction(x) for x in values.tolist())


def best_mixture(points: Sequence[Point], levels: Point) -> tuple[Fraction, Fraction]:
    """Return the least total shortfall of any mixture, and the best objective at that shortfall.

    A mixture is of `points` with weights w ≥ 0 that sum to 1. A point is an objective and K gains
    g. With `levels` [K], the shortfalls `short` and the surpluses `over` satisfy
    ``Σ w·g − over + short = level``. The simplex method first minimises the sum of the shortfalls,
    then maximises the objective. Bland's rule ensures termination.
    """
    count = len(levels)
    columns: Integers = []
    rewards: Integers = []
    for point in points:  # a multiple of a column is equivalent
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
    """Return the two costs of a column [m]: one at each of two price vectors, `prices` [m][2]."""
    pairs = list(zip(column, prices, strict=True))
    return [sum(x * price[i] for x, price in pairs) for i in (0, 1)]


def exact_way_home(model: Model, correction: FloatArray, home: IntArray) -> Point:
    """Return the exact maximum [S] of the corrected return probability.

    Policy iteration starts with the policy that gives up everywhere. It ends with the value of a
    terminating policy that no action improves, which is optimal.
    """
    totals = np.where(np.isfinite(model.reward), correction, -np.inf)[None]
    stop = np.isin(np.arange(model.states), home).astype(np.float64)
    exact = Exact(model, 1.0, totals, stop)
    return exact.optimise((Fraction(1),), [model.actions] * model.states)
