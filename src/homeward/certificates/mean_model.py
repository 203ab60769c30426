r"""The mean model of a belief and its corrections, recomputed from the belief's definition.

This module calls no solver, and neither `mean` nor `correction` of the belief. It computes both
from the numbers that define the belief, by the formulas of ``docs/theory.md``:

- The general correction of any model is Σ_t E[min(0, P[t] − p[t])], where P[t] is the probability
  of the next state t in a world, and p[t] its mean.
- On a move-or-stay graph, P is the probability that a move works in a world, p its mean, and
  f(P) = (1 − γ)/(1 − γ + γP). The correction is −p·Pr(P = 0) for returning, −E[|P − p| f(P)] for
  exploring, and half of the latter for staying inside a set. If every move always or never works
  in each world, the correction for staying is −(1 − γ)p(1 − p).

An entry of a Dirichlet row is X ~ Beta(a, b) with mean μ, and
E[min(0, X − μ)] = −∫₀^μ Pr(X ≤ x) dx = −μ(I(a, b; μ) − I(a + 1, b; μ)), where I is the regularised
incomplete beta function. If a + b is so large that this difference would be mostly rounding,
asymptotic limits are used. They are symmetric in a and b, so let a be the smaller. If both are
large, the limit is −√(2/π)/2 standard deviations. Otherwise it is −μ aᵃe⁻ᵃ/Γ(a + 1), from the gamma
distribution, times √(b/(a + b)); its relative error is at most about 1/b.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.special import betainc, ndtr

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs import Belief, DirichletBelief, FiniteBelief, HeightBelief, TerrainBelief
from homeward.errors import InvalidInputError
from homeward.models import Moves

Support = list[tuple["FloatArray | float", "FloatArray | float"]]

COMPASS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
"""Offset of each move: rows down, columns to the right; from N clockwise."""

WALL, UNKNOWN, END = -1, 0, -1
MAX_CONCENTRATION = 1e12  # sum a + b above which the asymptotic limits of a shortfall are used
MIN_NORMAL_CONCENTRATION = 1e6  # of min(a, b): the normal limit above it, the gamma limit below


@dataclass(frozen=True, slots=True, eq=False)
class UncertainGraph:
    """A move-or-stay graph in which P, the probability that a move works, is random."""

    dest: IntArray  # [S, A] destinations
    success: FloatArray  # [S, A] p, the mean of P
    support: Support  # pairs (probability, value of P), each [S, A] or one number for all moves

    def expect(self, what: Callable[[Any], Any]) -> FloatArray:
        """Return E[what(P)] [S, A]; 0 for a move whose destination is its own state."""
        total = np.zeros(self.dest.shape)
        for chance, works in self.support:
            total += chance * what(works)
        return np.where(self.dest != np.arange(len(self.dest))[:, None], total, 0.0)

    def returning(self) -> FloatArray:
        """Return the correction [S, A] of returning: −p·Pr(P = 0)."""
        return -self.success * self.expect(lambda works: np.equal(works, 0.0))

    def exploring(self, discount: float) -> FloatArray:
        """Return the correction [S, A] of exploring: −E[|P − p| f(P)]."""
        return self._weighted(np.abs, discount)

    def staying(self, discount: float) -> FloatArray:
        """Return the correction [S, A] of staying inside a set; see the top of this module."""
        between = self.expect(lambda works: (np.greater(works, 0.0) & np.less(works, 1.0)) * 1.0)
        if between.any():
            return 0.5 * self.exploring(discount)
        return self._weighted(lambda excess: np.maximum(excess, 0.0), discount)

    def _weighted(self, part: Callable[[Any], Any], discount: float) -> FloatArray:
        """Return −E[part(P − p) f(P)] [S, A]; the top of this module defines P, p and f."""
        stop = 1.0 - discount
        return -self.expect(
            lambda works: part(works - self.success) * (stop / (stop + discount * works))
        )


@dataclass(frozen=True, slots=True, eq=False)
class MeanModel:
    """The mean model of a belief and its corrections."""

    rows: csr_array  # [S·A, S] mean probabilities of the next state
    ending: FloatArray  # [S·A] mean probability that the process ends
    reward: FloatArray  # [S, A] mean reward; −inf if an action can't be chosen
    general: FloatArray  # [S, A] the general correction σ (the paper's Theorem 2)
    graph: UncertainGraph | None  # the graph if the worlds are move-or-stay; else None
    paid: tuple[float, float]  # the least and the greatest reward of any world

    @property
    def shape(self) -> tuple[int, int]:
        """The number of states and of actions."""
        states, actions = self.reward.shape
        return int(states), int(actions)

    def restricted(self, states: IntArray) -> MeanModel:
        """Return the model of only `states` [n], in this order; no action may leave them."""
        actions = self.shape[1]
        at = (states[:, None] * actions + np.arange(actions)).ravel()
        rows, reward, general = self.rows[at][:, states], self.reward[states], self.general[states]
        return MeanModel(rows, self.ending[at], reward, general, None, self.paid)


def mean_model(belief: Belief) -> MeanModel:
    """Return the mean model of a belief; raise `InvalidInputError` if its type is not known."""
    known: tuple[tuple[type, Callable[[Any], MeanModel]], ...] = (
        (FiniteBelief, _finite),
        (DirichletBelief, _dirichlet),
        (HeightBelief, _heights),
        (TerrainBelief, _terrain),
    )
    for kind, recompute in known:
        if isinstance(belief, kind):
            return recompute(belief)
    raise InvalidInputError(
        f"the arithmetic of a {type(belief).__name__} can't be checked: no formula for its mean "
        "model is known"
    )


def _of_graph(
    dest: IntArray, success: FloatArray, support: Support, reward: FloatArray, paid: Any
) -> MeanModel:
    """Return the mean model of a move-or-stay graph with mean success probabilities [S, A]."""
    graph = UncertainGraph(dest, success, support)
    general = -graph.expect(lambda works: np.abs(works - success))
    pairs, here = np.arange(dest.size), np.repeat(np.arange(len(dest)), dest.shape[1])
    column = np.stack([dest.ravel(), here], axis=1).ravel()
    chance = np.stack([success.ravel(), 1.0 - success.ravel()], axis=1).ravel()
    rows = csr_array((chance, (np.repeat(pairs, 2), column)), shape=(dest.size, len(dest)))
    return MeanModel(rows, np.zeros(dest.size), reward, general, graph, paid)


def _finite(belief: FiniteBelief) -> MeanModel:
    worlds, weights = belief.worlds, belief.weights
    usable = np.isfinite(worlds[0].reward)
    reward = np.full(usable.shape, -np.inf)
    reward[usable] = sum(w * m.reward[usable] for w, m in zip(weights, worlds, strict=True))
    given = np.concatenate([world.reward[usable] for world in worlds])
    paid = (float(given.min()), float(given.max()))
    first = worlds[0]
    if isinstance(first, Moves):
        chances = [w.success for w in worlds if isinstance(w, Moves)]
        success = np.minimum(sum(w * p for w, p in zip(weights, chances, strict=True)), 1.0)
        support: Support = [(float(w), p) for w, p in zip(weights, chances, strict=True)]
        return _of_graph(first.dest, success, support, reward, paid)
    each = []
    for world in worlds:  # rows whose sum is above 1 are normalised
        rows = world.sparse().transitions
        each.append(diags_array(1.0 / np.maximum(np.asarray(rows.sum(axis=1)), 1.0)) @ rows)
    mean = sum(w * rows for w, rows in zip(weights, each, strict=True))
    lacks = [1.0 - np.asarray(rows.sum(axis=1)) for rows in each]  # below 1e-15 counts as rounding
    left = sum(w * np.where(x > 1e-15, x, 0.0) for w, x in zip(weights, lacks, strict=True))
    short = sum(
        w * (rows - mean).minimum(0).sum(axis=1) for w, rows in zip(weights, each, strict=True)
    )
    return MeanModel(csr_array(mean), left, reward, short.reshape(usable.shape), None, paid)


def _dirichlet(belief: DirichletBelief) -> MeanModel:
    alpha, outcomes, kinds = belief.alpha, belief.outcomes, belief.kinds
    states, actions, count = outcomes.shape
    sums = np.array([math.fsum(row) for row in alpha])
    mean = alpha / sums[:, None]
    short = np.zeros(alpha.shape)
    for c, o in np.argwhere(alpha > 0):
        rest = math.fsum(np.delete(alpha[c], o))
        short[c, o] = _shortfall(float(alpha[c, o]), rest)
    chance, ends = mean[kinds], outcomes == END
    row = np.repeat(np.arange(states * actions), count)
    kept = ~ends.ravel()
    entries = (chance.ravel()[kept], (row[kept], outcomes.ravel()[kept]))
    rows = csr_array(entries, shape=(states * actions, states))
    left = np.where(ends, chance, 0.0).sum(axis=2).ravel()
    general = np.where(ends, 0.0, short[kinds]).sum(axis=2)
    for s, a in np.ndindex(states, actions):  # outcomes that lead to one state are added
        possible = np.flatnonzero(alpha[kinds[s, a]] > 0)
        targets = outcomes[s, a, possible]
        if len(set(targets.tolist())) < len(targets):
            weights, general[s, a] = alpha[kinds[s, a], possible], 0.0
            for target in set(targets.tolist()) - {END}:
                mine = math.fsum(weights[targets == target])
                general[s, a] += _shortfall(mine, math.fsum(weights[targets != target]))
    given = belief.reward[np.isfinite(belief.reward)]
    paid = (float(given.min()), float(given.max()))
    return MeanModel(rows, left, np.array(belief.reward), general, None, paid)


def _shortfall(a: float, b: float) -> float:
    """Return E[min(0, X − E X)] for X ~ Beta(a, b)."""
    if b == 0.0:
        return 0.0
    mean = a / (a + b)
    if a + b > MAX_CONCENTRATION:
        few, many = min(a, b), max(a, b)
        if few > MIN_NORMAL_CONCENTRATION:
            spread = math.sqrt((few / (a + b)) * (many / (a + b)) / (a + b + 1.0))
            return -math.sqrt(0.5 / math.pi) * spread
        gamma = math.exp(few * math.log(few) - few - math.lgamma(few + 1.0))
        return -few / (a + b) * gamma * math.sqrt(many / (a + b))
    return -float(mean * max(0.0, betainc(a, b, mean) - betainc(a + 1.0, b, mean)))


def _neighbours(shape: tuple[int, int]) -> IntArray:
    """Return the neighbours [S, 8] of each cell; the cell itself for a neighbour off the map."""
    rows, columns = shape
    cells = np.arange(rows * columns)[:, None]
    down, right = np.array(COMPASS).T
    row, column = cells // columns + down, cells % columns + right
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    return np.where(inside, row * columns + column, cells)


def _on_grid(
    success: FloatArray, dest: IntArray, stay: bool, high: FloatArray | None = None
) -> MeanModel:
    """Return the mean model of moves [S, 8] that always or never work; `stay` adds action 0.

    If `success` is only a lower bound, `high` is an upper bound. Corrections then use the largest
    probability of each outcome: 1 − success for failure, and high for success.
    """
    high = success if high is None else high
    if stay:
        dest = np.insert(dest, 0, np.arange(len(dest)), axis=1)
        success, high = (np.insert(chance, 0, 1.0, axis=1) for chance in (success, high))
    support: Support = [(1.0 - success, 0.0), (high, 1.0)]
    return _of_graph(dest, success, support, np.zeros(dest.shape), (0.0, 0.0))


def _heights(belief: HeightBelief) -> MeanModel:
    known, states = belief.known, len(belief.known)
    prior = np.broadcast_to(belief.prior, (states, belief.prior.shape[-1]))
    seen = known > UNKNOWN
    heights = np.where(seen[:, None], 1 + np.arange(prior.shape[1]) == known[:, None], prior)
    below = np.minimum(np.cumsum(heights, axis=1), 1.0)  # Pr(height ≤ 1 … H)
    below[:, -1] = 1.0
    steps = min(belief.climb, below.shape[1])
    more = np.ones((states, steps))
    reach = np.concatenate([below[:, steps:], more], axis=1)  # Pr(height ≤ h + climb)
    free = np.where(known == WALL, 0.0, np.where(seen, 1.0, 1.0 - belief.walls))
    dest = _neighbours(belief.shape)
    success = np.stack([(heights * reach[to]).sum(axis=1) * free[to] for to in dest.T], axis=1)
    success[known == WALL] = 0.0
    return _on_grid(np.clip(success, 0.0, 1.0), dest, belief.stay)


def _terrain(belief: TerrainBelief) -> MeanModel:
    dest = _neighbours(belief.shape)
    if belief.limits is None:
        high, wide = belief.size
        length = np.array([math.hypot(high * down, wide * right) for down, right in COMPASS])
        slopes = belief.descend, belief.climb
        descend, climb = (math.tan(math.radians(slope)) * length for slope in slopes)
    else:
        descend, climb = (limit[:, 1:] for limit in belief.limits)
    rise = belief.height[dest] - belief.height[:, None]
    variance = np.where(belief.blocked, 1.0, belief.variance)
    spread = np.sqrt(variance[dest] + variance[:, None])
    up, down = (climb - rise) / spread, (descend + rise) / spread
    # Pr(not too steep up) − Pr(too steep down), computed from the smaller tails.
    success = np.where(up < down, ndtr(up) - ndtr(-down), ndtr(down) - ndtr(-up))
    shut = belief.blocked[dest] | belief.blocked[:, None]
    success = np.where(shut, 0.0, np.clip(success, 0.0, 1.0))
    if not len(belief.attempts):
        return _on_grid(success, dest, True)
    # For moves at cells with attempts the belief's own bounds are used; only sampling checks these.
    start, action = np.divmod(belief.attempts.pairs, len(COMPASS) + 1)
    tried = np.zeros(len(dest), dtype=bool)
    tried[start] = tried[dest[start, action - 1]] = True
    at = tried[:, None] | tried[dest]
    low, upper = (np.where(at, bound[:, 1:], success) for bound in belief.success_bounds())
    return _on_grid(low, dest, True, upper)
