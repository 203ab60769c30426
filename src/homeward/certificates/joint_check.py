"""The joint probability that several moves all work, computed anew to check a plan's claims.

- On a finite belief, the weights of the worlds in which all moves work are added.
- On a grid of independent levels, an uncertain move is a table over the heights of its two squares.
  Squares are summed out one after the other, those with the fewest linked squares first.
- On terrain with independent heights, the riskiest moves that form no cycle are integrated with
  cubic splines. The risks of the other moves are subtracted.
- On terrain with correlated heights, pairs of consecutive moves bound the risk of further moves.

No code is shared with the planner.

If every move always or never works, a policy follows one path. Let A_k be the event that the first
k moves of this path and all moves of the way home from its end work. Let B_k be the event that A_k
occurs and the next move of the path works too. A recall comes with probability 1 − γ before each
step. The probability of being home after it is

    Σ_k (1 − γ) γᵏ Pr(A_k) + γᵏ⁺¹ (Pr(A_k) − Pr(B_k)).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import ndtr

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs import FiniteBelief, HeightBelief, TerrainBelief
from homeward.models import Moves

if TYPE_CHECKING:
    from homeward.certificates.claims import CriterionClaims

MAX_ENTRIES = 2**20  # largest number of entries of a table over heights
MIN_RISK = 1e-8  # on terrain, smaller risks of moves are subtracted instead of integrated
INTEGRATION_ERROR = 5e-10  # largest error of an integral; added in favour of the checked claim
MIN_SURPRISE = 2.0**-80  # an attempt is uninformative if its opposite outcome was less likely
MIN_WEIGHT = 1e-12  # a path ends when γᵏ times the product of its success probabilities is less
MAX_DEVIATIONS = 9.0  # tails of a normal distribution beyond this many deviations are ignored

Edge = tuple[int, int]  # a state and an action


def together(belief: Any, edges: Iterable[Edge]) -> tuple[float, float] | None:
    """Return a lower and an upper bound on the probability that no edge always fails.

    The two bounds are equal except on terrain. Return None if the probability can't be computed.
    """
    edges = set(edges)
    if isinstance(belief, TerrainBelief):
        return _terrain(belief, edges)
    probability: float | None = None
    if isinstance(belief, FiniteBelief) and isinstance(belief.worlds[0], Moves):
        worlds = [world for world in belief.worlds if isinstance(world, Moves)]
        probability = fsum(
            weight
            for weight, world in zip(belief.weights, worlds, strict=True)
            if all(world.success[edge] > 0.0 or world.dest[edge] == edge[0] for edge in edges)
        )
    elif isinstance(belief, HeightBelief):
        probability = _levels(belief, edges)
    return None if probability is None else (probability, probability)


def _levels(belief: HeightBelief, edges: set[Edge]) -> float | None:
    """Return the probability that all `edges` work; None if a table would be too large."""
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
        fits = (high[None] <= low[:, None] + belief.climb).astype(np.float64)
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


def _terrain(belief: TerrainBelief, edges: set[Edge]) -> tuple[float, float]:
    """Return a lower and an upper bound on the probability that all `edges` work.

    The riskiest pairs of cells that form no cycle are integrated.
    """
    dest, risks = belief.mean().dest, belief.blocked_probability()
    windows: dict[Edge, list[float]] = {}  # for two cells: risk, least rise, greatest rise
    dependent, lost, total, most = _dependent(belief), 0.0, 0.0, 1.0
    for s, a in sorted(edges, key=lambda e: (min(e[0], int(dest[e])), e)):
        t, risk = int(dest[s, a]), float(risks[s, a])
        if s == t:
            continue
        total, most = total + risk, min(most, float(belief.success_bounds()[1][s, a]))
        if risk <= MIN_RISK or dependent & {s, t}:
            lost += risk
            continue
        drop, rise = (float(x) for x in belief.limits_at(np.array(s), np.array(a)))
        window = [-drop, rise] if s < t else [-rise, drop]
        known = windows.setdefault((min(s, t), max(s, t)), [0.0, -np.inf, np.inf])
        known[:] = known[0] + risk, max(known[1], window[0]), min(known[2], window[1])
    tree: dict[int, dict[int, tuple[float, float]]] = {}
    group: dict[int, set[int]] = {}
    for (s, t), (risk, least, rise) in sorted(windows.items(), key=lambda w: (-w[1][0], w[0])):
        one, two = group.setdefault(s, {s}), group.setdefault(t, {t})
        if one is two:
            lost += risk
            continue
        one |= two
        group.update(dict.fromkeys(one, one))
        tree.setdefault(s, {})[t] = least, rise
        tree.setdefault(t, {})[s] = -rise, -least
    works, deviation = 1.0, np.sqrt(belief.variance)
    for cells in {id(cells): cells for cells in group.values()}.values():
        root = min(sorted(cells), key=lambda c: float(deviation[c]))
        density = _integral(belief.height, deviation, tree, root, None)
        works *= float(density.integrate(density.x[0], density.x[-1]))
    error = INTEGRATION_ERROR if windows else 0.0
    return max(0.0, works - lost + error, 1.0 - total), min(most, works - error)


def _dependent(belief: TerrainBelief) -> set[int]:
    """Return the cells whose heights depend on the outcomes of attempted moves."""
    state, action = np.divmod(belief.attempts.pairs, belief.mean().actions)
    end = belief.mean().dest[state, action]
    drop, rise = belief.limits_at(state, action)
    mean = belief.height[end] - belief.height[state]
    deviation = np.sqrt(belief.variance[state] + belief.variance[end])
    fails = ndtr((mean - rise) / deviation) + ndtr((-drop - mean) / deviation)
    works = np.where(
        mean > 0.5 * (rise - drop),
        ndtr((rise - mean) / deviation) - ndtr((-drop - mean) / deviation),
        ndtr((mean + drop) / deviation) - ndtr((mean - rise) / deviation),
    )
    informative = np.where(belief.attempts.worked, fails, works) > MIN_SURPRISE
    return {*state[informative].tolist(), *end[informative].tolist()}


def _integral(
    mean: FloatArray, deviation: FloatArray, tree: Any, cell: int, parent: int | None
) -> CubicSpline:
    """Return the density of a cell's height times the probability that its subtree's moves work.

    Both are functions of the height. Grid points are dense where the density of a child changes
    fast.
    """
    below = {
        other: (_integral(mean, deviation, tree, other, cell).antiderivative(), window)
        for other, window in tree.get(cell, {}).items()
        if other != parent
    }
    unit = np.linspace(-8.0, 8.0, 16 * 48 + 1)
    points = [mean[cell] + deviation[cell] * unit]
    for other, (_, window) in below.items():
        if deviation[other] < 0.5 * deviation[cell]:
            points += [mean[other] - rise + deviation[other] * unit for rise in window]
    x = np.unique(np.concatenate(points)) if len(points) > 1 else points[0]
    x = x[np.isfinite(x) & (np.abs(x - mean[cell]) <= 8.0 * deviation[cell])]
    x = x[np.r_[True, np.diff(x) > 1e-3 * min(deviation[c] for c in (cell, *below))]]
    z = (x - mean[cell]) / deviation[cell]
    density = np.exp(-0.5 * z * z) / (math.sqrt(2.0 * math.pi) * deviation[cell])
    for mass, (least, most) in below.values():
        low, high = (np.clip(x + rise, mass.x[0], mass.x[-1]) for rise in (least, most))
        density = density * np.maximum(0.0, mass(high) - mass(low))
    return CubicSpline(x, density)


def path_total(
    belief: Any,
    criterion: CriterionClaims,
    policy: IntArray,
    worth: FloatArray,
    state: int,
    discount: float,
    exits: BoolArray | None,
) -> float:
    """Return a lower bound on the expected worth of the recall under `policy` [S] from `state`.

    The recall is worth `worth` [S, A] of the state and action at that time. It is worth 0 if a move
    of the way home of a return criterion does not work, or after an action in `exits` [S, A]. An
    explorer whose move fails stays in its state, because the move never works.
    """
    model, risk = belief.mean(), belief.blocked_probability()
    path: list[int] = []
    power, likely, total = 1.0, 1.0, 0.0  # γᵏ, the probability of the path, and the sum so far

    def bounds(s: int, *more: Edge) -> tuple[float, float]:
        """Return bounds on Pr(A_k), or on Pr(B_k) if `more` is the next edge of the path."""
        back = _way_home(model.dest, criterion, s)
        if back is None:
            return 0.0, 0.0
        edges = [*((p, int(policy[p])) for p in path), *back, *more]
        union = max(0.0, 1.0 - float(sum(risk[edge] for edge in set(edges))))
        return together(belief, edges) or (union, math.inf)

    s = state
    while power * likely >= MIN_WEIGHT:
        if s in path:
            cycle = path[path.index(s) :]
            for i, place in enumerate(cycle):
                share = (1.0 - discount) * discount**i / (1.0 - discount ** len(cycle))
                total += power * share * float(worth[place, policy[place]]) * bounds(place)[0]
            break
        edge, now = (s, int(policy[s])), float(bounds(s)[0])
        paid = power * float(worth[edge]) * now
        if exits is not None and exits[edge]:
            total += (1.0 - discount) * paid
            break
        if model.dest[edge] == s or model.success[edge] <= 0.0:
            total += paid
            break
        stays = max(0.0, now - bounds(s, edge)[1])
        total += (1.0 - discount) * paid + discount * power * float(worth[edge]) * stays
        path.append(s)
        power, likely = power * discount, likely * float(model.success[edge])
        s = int(model.dest[edge])
    return total


def _way_home(dest: IntArray, criterion: CriterionClaims, state: int) -> list[Edge] | None:
    """Return the edges of a criterion's way home from a state; None if no way leads home."""
    if criterion.kind != "return":
        return []
    homes: set[int] = set(criterion.home.tolist())
    way: list[Edge] = []
    steps = len(dest) if criterion.within is None else criterion.within
    for left in range(steps, -1, -1):
        if state in homes:
            return way
        layer = 0
        if criterion.within is not None and criterion.return_since is not None:
            layer = max(0, int(np.searchsorted(criterion.return_since, left, side="right")) - 1)
        action = int(criterion.return_policies[layer, state])
        if action < 0 or left == 0:
            return None
        way.append((state, action))
        state = int(dest[state, action])
    return None
