"""The probability that several moves work together, and what it proves of a policy.

On a finite belief worlds are counted. On a grid of independent levels every move that is not known
is a table over the heights of its two squares, and squares are summed out one after the other, the
least connected first. Where heights are correlated, pairs of moves bound what the moves added to
others lose. Nothing here is shared with the planner.

A policy of moves that work surely or never follows one path. With A_k the event that its first k
moves work and then the way home, and B_k that the next move works too, the explorer is where it is
worth 1 after a recall (probability 1 − γ before each step) with probability

    Σ_k (1 − γ) γᵏ Pr(A_k) + γᵏ⁺¹ (Pr(A_k) − Pr(B_k)).
"""

from __future__ import annotations

import math
from itertools import product
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import simpson
from scipy.special import ndtr

from homeward.beliefs import FiniteBelief, HeightBelief
from homeward.beliefs.fields import CorrelatedTerrainBelief
from homeward.models import Moves

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.certificates.claims import CriterionClaims

MAX_ENTRIES = 2**20
"""Largest table of heights."""

MIN_WEIGHT = 1e-12
"""Terms of a path are left out once γᵏ times the product of its success probabilities is less."""

MAX_DEVIATIONS = 9.0
"""Tails of normal distributions beyond so many standard deviations are left out."""

Edge = tuple[int, int]
"""A state and an action."""


def together(belief: Any, edges: Iterable[Edge]) -> float | None:
    """Return the probability that all edges ever work; None if the belief does not know it."""
    asked = set(edges)
    if isinstance(belief, FiniteBelief) and isinstance(belief.worlds[0], Moves):
        return fsum(
            weight
            for weight, world in zip(belief.weights, belief.worlds, strict=True)
            if all(_ever(world, edge) for edge in asked)
        )
    if isinstance(belief, HeightBelief):
        return _levels(belief, asked)
    return None


def added_risk(belief: Any, held: Iterable[Edge], new: Iterable[Edge]) -> float | None:
    """Return a bound on the probability that `held` edges work and one of `new` never does.

    Each new edge counts with the probability that it never works, less the probability that neither
    it nor the edge after it does, if that is held or was counted before. None if the belief does
    not know how likely two edges work together.
    """
    if not isinstance(belief, CorrelatedTerrainBelief):
        return None
    counted, left, total = dict(held), dict(new), 0.0
    dest, success = belief.mean().dest, belief.success_bounds()[0]
    if any(success[edge] <= 0.0 for edge in left.items()):
        return 1.0
    while left:
        ready = [s for s, a in left.items() if int(dest[s, a]) not in left] or [next(iter(left))]
        for s in ready:
            a = left.pop(s)
            t = int(dest[s, a])
            if success[s, a] < 1.0:
                total += 1.0 - float(belief.measured_success()[s, a])
                if t in counted and t != s:
                    total -= _both_fail(belief, (s, t, int(dest[t, counted[t]])), a, counted[t])
            counted[s] = a
    return min(1.0, max(0.0, total) / belief.outcome_mass) if belief.outcome_mass > 0.0 else 1.0


def _both_fail(
    belief: CorrelatedTerrainBelief, cells: tuple[int, int, int], action: int, following: int
) -> float:
    """Return the probability that two consecutive moves never work, by quadrature."""
    rises = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    places, where = np.unique(cells, return_inverse=True)
    matrix = rises @ belief.covariance(places)[np.ix_(where, where)] @ rises.T
    size = np.sqrt(np.maximum(np.diagonal(matrix), 0.0) + belief.least_variance)
    mean = rises @ belief.height[list(cells)]
    rho = min(1.0 - 1e-12, max(1e-12 - 1.0, float(matrix[0, 1] / size.prod())))
    bounds = []
    for k, a in enumerate((action, following)):
        drop, rise = (float(limit) for limit in belief.limits_at(np.array(cells[k]), np.array(a)))
        bounds.append(((rise - mean[k]) / size[k], (drop + mean[k]) / size[k]))
    total = 0.0
    for (i, h), (j, k) in product(enumerate(bounds[0]), enumerate(bounds[1])):
        r = rho if i == j else -rho  # both up or both down; one up and one down
        if max(h, k) < MAX_DEVIATIONS and min(h, k) > -math.inf:
            root = math.sqrt(1.0 - r * r)
            x = np.linspace(h, max(h, 0.0) + MAX_DEVIATIONS, 4001)
            density = np.exp(-0.5 * x * x) * ndtr((r * x - k) / root)
            total += float(simpson(density, x=x)) / math.sqrt(2.0 * math.pi)
    return total


def _ever(world: Any, edge: Edge) -> bool:
    return bool(world.success[edge] > 0.0 or world.dest[edge] == edge[0])


def _levels(belief: HeightBelief, edges: set[Edge]) -> float | None:
    """Return the probability by elimination; None if a table would be too large."""
    dest, known = belief.mean().dest, belief.known
    prior = np.broadcast_to(belief.prior, (len(known), np.shape(belief.prior)[-1]))
    heights = np.arange(1, prior.shape[1] + 1)
    factors: list[tuple[tuple[int, ...], FloatArray]] = []
    touched, entered = set(), set()
    for s, a in edges:
        t = int(dest[s, a])
        if s == t:
            continue
        if known[s] == -1 or known[t] == -1:
            return 0.0
        entered.add(t)
        touched |= {s, t}
        low = heights if known[s] == 0 else known[s : s + 1]
        high = heights if known[t] == 0 else known[t : t + 1]
        fits = (high[None] <= low[:, None] + 1).astype(np.float64)
        cells = tuple(c for c in (s, t) if known[c] == 0)
        factors.append((cells, fits.reshape([len(heights)] * len(cells))))
    for c in touched:
        if known[c] == 0:
            free = 1.0 - float(np.broadcast_to(belief.walls, len(known))[c]) * (c in entered)
            factors.append(((c,), free * prior[c] / prior[c].sum()))
    left = {c for cells, _ in factors for c in cells}
    while left:
        linked = {c: {d for cells, _ in factors if c in cells for d in cells} for c in left}
        cell = min(sorted(left), key=lambda c: len(linked[c]))
        axes = [*sorted(linked[cell] - {cell}), cell]
        if len(heights) ** len(axes) > MAX_ENTRIES:
            return None
        mine = [f for f in factors if cell in f[0]]
        table = np.ones([len(heights)] * len(axes))
        for cells, values in mine:
            order = np.argsort([axes.index(c) for c in cells])
            shape = [len(heights) if c in cells else 1 for c in axes]
            table = table * values.transpose(order).reshape(shape)
        factors = [f for f in factors if cell not in f[0]]
        factors.append((tuple(axes[:-1]), table.sum(axis=-1)))
        left.remove(cell)
    return float(np.prod([float(values) for _, values in factors]))


def path_total(
    belief: Any,
    criterion: CriterionClaims,
    policy: IntArray,
    worth: FloatArray,
    state: int,
    discount: float,
    exits: BoolArray | None,
) -> float:
    """Return a lower bound on the total of `worth` [S, A] at recall under a policy [S].

    A way home counts for a return only. Nothing counts after an action of `exits` [S, A].
    """
    model, risk = belief.mean(), belief.blocked_probability()
    path: list[int] = []
    power, likely, total = 1.0, 1.0, 0.0

    def chance(s: int, *more: Edge) -> float | None:
        """Return the probability of A_k, or of B_k with the next edge as `more`."""
        back = _way_home(model.dest, criterion, s)
        if back is None:
            return 0.0
        return together(belief, [*((p, int(policy[p])) for p in path), *back, *more])

    def least(s: int) -> float:
        """Return a lower bound on the probability of A_k: by the union bound if need be."""
        found = chance(s)
        if found is None:
            back = _way_home(model.dest, criterion, s) or []
            found = 1.0 - sum(risk[edge] for edge in {*((p, int(policy[p])) for p in path), *back})
        return max(0.0, found)

    while power * likely >= MIN_WEIGHT:
        here = path[-1] if path else None
        s = state if here is None else int(model.dest[here, policy[here]])
        if s in path:
            round_ = path[path.index(s) :]
            for i, place in enumerate(round_):
                share = (1.0 - discount) * discount**i / (1.0 - discount ** len(round_))
                total += power * share * float(worth[place, policy[place]]) * least(place)
            break
        edge, now = (s, int(policy[s])), least(s)
        paid = power * float(worth[edge]) * now
        if exits is not None and exits[edge]:
            total += (1.0 - discount) * paid
            break
        if model.dest[edge] == s or model.success[edge] <= 0.0:
            total += paid
            break
        on = chance(s, edge)
        stays = max(0.0, now - (now if on is None else on))
        total += (1.0 - discount) * paid + discount * power * float(worth[edge]) * stays
        path.append(s)
        power, likely = power * discount, likely * float(model.success[edge])
    return total


def _way_home(dest: IntArray, criterion: CriterionClaims, state: int) -> list[Edge] | None:
    """Return the edges of a criterion's way home from a state; None if there is none."""
    if criterion.kind != "return":
        return []
    homes: set[int] = set(criterion.home.tolist())
    found: list[Edge] = []
    steps = len(dest) if criterion.within is None else criterion.within
    for left in range(steps, -1, -1):
        if state in homes:
            return found
        layer = 0
        if criterion.within is not None and criterion.return_since is not None:
            layer = max(0, int(np.searchsorted(criterion.return_since, left, side="right")) - 1)
        action = int(criterion.return_policies[layer, state])
        if action < 0 or left == 0:
            return None
        found.append((state, action))
        state = int(dest[state, action])
    return None
