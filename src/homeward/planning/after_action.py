"""Lower bounds on the probability of coming home after each action in the present state.

On a move-or-stay graph an action a in s leads to t or stays. Let W_s and W_t be the events that all
moves of the ways home from s and t work, and P the random success probability of a. Besides the two
bounds of `returning.corrected` for any action, these are lower bounds:

- Pr(a can work and W_t): a is repeated until it works;
- Pr(W_s and W_t): either way works;
- if each move always or never works, Pr(a works and W_t) + Pr(W_s) − Pr(a works and W_s);
- on a `FiniteBelief`, E[P 1(W_t) + (1 − P) 1(W_s)], evaluated in each world.

The largest bound is taken (``docs/theory.md``, section 18). If a way home is limited, an attempt
also uses some of what is left, and a way beyond the limits counts as none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from homeward.arrays import FloatArray
from homeward.beliefs import Belief, FiniteBelief, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.models import Moves
from homeward.planning.ledger import Edges, Ledger, Survey

ROUNDED = 1.0 + 2.0**-46  # more than a sum of a few products of probabilities is rounded
NOTHING: Edges = np.empty(0, np.int64), np.empty(0, np.int64)


def after_moves(
    ledger: Ledger,
    survey: Survey,
    belief: Belief,
    state: int,
    correction: Correction | None = None,
    sharp: Belief | None = None,
) -> FloatArray:
    """Return the bounds [A] on a move-or-stay graph; 0 for actions that can't be chosen.

    `survey` has the ways home of all states, whatever their risk. `sharp` is the belief if it knows
    how likely moves work together, else None.
    """
    model, sigma = belief.mean(), None
    assert isinstance(model, Moves)
    if not belief.moves_work_or_never:
        kind = Correction.NAIVE if correction is Correction.NAIVE else Correction.GENERAL
        sigma = corrections_of(belief, model, 0.5, kind).exploring[state]
    bounds = np.zeros(model.actions)
    for action in np.flatnonzero(np.isfinite(model.reward[state])).tolist():
        given = ledger, survey, belief, sharp, state, action
        bounds[action] = _after_move(*given, None if sigma is None else float(sigma[action]))
    return bounds


def _after_move(
    ledger: Ledger,
    survey: Survey,
    belief: Belief,
    sharp: Belief | None,
    state: int,
    action: int,
    sigma: float | None,
) -> float:
    """Return the bound of one action; `sigma` is None if each move always or never works."""
    model, graph = belief.mean(), survey.graph
    assert isinstance(model, Moves)
    there, low = int(model.dest[state, action]), float(model.success[state, action])
    high = float(belief.success_bounds()[1][state, action])
    attempt: Edges = np.array([state]), np.array([action])
    use = [np.zeros(len(graph.reach.left))] * 2
    if ledger.limits is not None:
        each, count = (ledger.limits.use, ledger.limits.lost), ledger.limits.count
        use = [np.where(np.arange(len(part)) < count, part[:, state, action], 0.0) for part in each]
    if there == state:
        low, high, attempt, use = 1.0, 1.0, NOTHING, [np.maximum(*use)] * 2
    onward, back = ledger.way_from(survey, there, use[0]), ledger.way_from(survey, state, use[1])
    pairs = (attempt, onward), (onward, back), (attempt, back)
    sets = [onward, back, *(_joined(model.actions, *pair) for pair in pairs)]
    least, most = ledger.bounds(
        sharp, graph, *(NOTHING if edges is None else edges for edges in sets)
    )
    lost = [
        1.0 if edges is None else min(1.0 - works, float(graph.blocked[edges].sum()) * ROUNDED)
        for edges, works in zip(sets, least, strict=True)
    ]
    found = [lost[2], lost[3], min(high, lost[0]) + min(1.0 - low, lost[1])]
    if sigma is None:
        found.append(lost[2] - max(0.0, 1.0 - lost[1] - most[4]))
    else:
        found.append(low * lost[0] + (1.0 - low) * lost[1] - sigma)
        if isinstance(belief, FiniteBelief) and sharp is not None and not ledger.is_limited:
            found.append(_lost_in_worlds(belief, (state, action), onward, back))
    return min(1.0, max(0.0, 1.0 - min(found) * ROUNDED))


def _joined(actions: int, one: Edges | None, other: Edges | None) -> Edges | None:
    """Return the moves that are in one of both sets; None if one of them is missing."""
    if one is None or other is None:
        return None
    codes = np.unique(np.concatenate([s * actions + a for s, a in (one, other)]))
    states, chosen = np.divmod(codes, actions)
    return states, chosen


def _lost_in_worlds(
    belief: FiniteBelief, attempt: tuple[int, int], onward: Edges | None, back: Edges | None
) -> float:
    """Return 1 − E[P 1(W_t) + (1 − P) 1(W_s)], summed over the worlds."""

    def fails(world: Any, way: Edges | None) -> bool:
        return way is None or not (world.success[way] > 0.0).all()

    lost = 0.0
    for weight, world in zip(belief.weights, belief.worlds, strict=True):
        works = float(world.success[attempt]) if isinstance(world, Moves) else 0.0
        lost += weight * (works * fails(world, onward) + (1.0 - works) * fails(world, back))
    return lost * ROUNDED
