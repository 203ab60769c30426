"""Bounds on the probability that several moves all work, by type of belief.

- `FiniteBelief`: exact, by the worlds in which all of them work;
- `HeightBelief`: exact, by a recursion over levels (`level_joint`);
- `TerrainBelief`: by one-dimensional integrals over heights (`height_joint`);
- `CorrelatedTerrainBelief`: bounded by pairs of moves (`pairs`).

A move *works* in a world if its success probability there is above 0. For sets with too many
dependent moves the union bound is used: 1 minus the probabilities that each move never works.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from homeward.arrays import FloatArray, IntArray, are_among
from homeward.beliefs.categorical_heights import HeightBelief
from homeward.beliefs.fields import CorrelatedTerrainBelief
from homeward.beliefs.finite import FiniteBelief
from homeward.beliefs.height_joint import BINS, height_sets
from homeward.beliefs.heights import TerrainBelief
from homeward.beliefs.level_joint import level_sets
from homeward.beliefs.pairs import failure_bound
from homeward.models import Moves

EPSILON = float(np.finfo(np.float64).eps)


class MoveSets(NamedTuple):
    """N sets of moves. Set i has the moves e with ``first[i] <= e < first[i + 1]``."""

    first: IntArray  # [N + 1] index of the first move of each set, and the number of moves
    state: IntArray  # [n] state in which each move starts
    action: IntArray  # [n] action of each move


class Together(NamedTuple):
    """Bounds on the probability that all moves of each set work."""

    low: FloatArray  # [N] lower bounds
    high: FloatArray  # [N] upper bounds
    evaluator: str  # "exact", "path" or "pairs", a code of `words.EVALUATORS`


def evaluator_of(belief: Any) -> str | None:
    """Return the code of the evaluator that `work_together` uses; None if the belief has none."""
    if isinstance(belief, FiniteBelief):
        return "exact" if isinstance(belief.worlds[0], Moves) else None
    if isinstance(belief, CorrelatedTerrainBelief):
        return "pairs"
    return "path" if isinstance(belief, HeightBelief | TerrainBelief) else None


def work_together(belief: Any, sets: MoveSets) -> Together | None:
    """Return bounds on the probability that all moves of each set work; None if unknown.

    They are known for the beliefs in the module docstring.
    """
    count = len(sets.first) - 1
    if isinstance(belief, FiniteBelief) and isinstance(belief.worlds[0], Moves):
        works = np.zeros((len(belief.worlds), count), bool)
        for m, world in enumerate(belief.worlds):
            assert isinstance(world, Moves)
            fails = world.success[sets.state, sets.action] <= 0.0
            fails &= world.dest[sets.state, sets.action] != sets.state
            before = np.concatenate([[0], np.cumsum(fails)])
            works[m] = before[sets.first[1:]] == before[sets.first[:-1]]
        total, sure = belief.weights @ works, works.all(axis=0)
        slack = (1.0 + len(belief.worlds)) * EPSILON
        low = np.where(sure, 1.0, np.maximum(0.0, total - slack))
        high = np.where(works.any(axis=0), np.minimum(1.0, total + slack), 0.0)
        return Together(low, high, "exact")
    if isinstance(belief, HeightBelief):
        low, high = np.empty(count), np.empty(count)
        dest = belief.mean().dest
        level_sets(dest, belief.known, belief.tables, *sets, low, high)
        wide = np.flatnonzero(low < 0.0)
        if wide.size:
            risks = belief.blocked_probability()[sets.state, sets.action]
            for i in wide:
                risk = risks[sets.first[i] : sets.first[i + 1]]
                low[i] = max(0.0, 1.0 - risk.sum() * (1.0 + len(risk) * EPSILON))
                high[i] = 1.0 - risk.max()
        return Together(low, high, "path")
    if isinstance(belief, TerrainBelief):
        low, high, model, moves = np.empty(count), np.empty(count), belief.mean(), sets[1:]
        risk, likely = belief.blocked_probability()[moves], model.success[moves]
        bounded, least = belief.least_blocked()
        numbers = sets.state * model.actions + sets.action
        apart = are_among(bounded, numbers)
        likely[apart] = 1.0 - least[np.searchsorted(bounded, numbers[apart])]
        height_sets(belief.ground, sets, model.dest[moves], risk, likely, apart, BINS, low, high)
        return Together(low, high, "path")
    if isinstance(belief, CorrelatedTerrainBelief):
        low, high = np.empty(count), np.empty(count)
        most = belief.success_bounds()[1]
        for k in range(count):
            at = slice(sets.first[k], sets.first[k + 1])
            low[k] = 1.0 - failure_bound(belief, sets.state[at], sets.action[at])
            high[k] = most[sets.state[at], sets.action[at]].min(initial=1.0)
        return Together(low, high, "pairs")
    return None


def lost_by_adding(belief: Any, sets: MoveSets) -> float:
    """Return an upper bound on Pr(all of set 0 work) − Pr(all of set 1 work), for any two sets."""
    if not isinstance(belief, CorrelatedTerrainBelief):
        bounds = work_together(belief, sets)
        return 1.0 if bounds is None else max(0.0, float(bounds.high[0] - bounds.low[1]))
    held, both = (slice(*sets.first[i : i + 2]) for i in range(2))
    actions = len(belief.mean().dest[0])
    codes = sets.state * actions + sets.action
    new = np.flatnonzero(~np.isin(codes[both], codes[held])) + both.start
    known = sets.state[held], sets.action[held]
    return failure_bound(belief, sets.state[new], sets.action[new], known)
