"""Baselines that choose actions without a planner: random actions, and the nearest frontier.

Both use only the belief. They carry nothing from step to step, so a run resumes without acting
again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import binary_dilation
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.models import Model, Moves
from homeward.planning.ends import End

LIKELY = 0.5  # least probability of a move that a frontier explorer plans with


class Forgetful:
    """An agent without a memory."""

    def memory(self) -> None:
        """Return nothing to carry to the next step."""

    def remember(self, memory: None, /) -> None:
        """Do nothing, as there is no memory."""


class RandomAction(Forgetful):
    """Takes any action that can be chosen, each with the same probability."""

    def act(self, belief: Any, state: int, rng: np.random.Generator) -> int:
        """Return a random action."""
        possible = np.flatnonzero(np.isfinite(belief.mean().reward[state]))
        return int(rng.choice(possible))


class NearestFrontier(Forgetful):
    """Goes to the nearest frontier (Yamauchi 1997), as if each action had its likeliest outcome.

    On a map with unseen squares, the frontier is the set of unvisited squares that are unseen or
    next to an unseen square. On other models it is the set of unvisited states. A step costs the
    expected number of attempts. The way back does not matter.
    """

    def act(self, belief: Any, state: int, rng: np.random.Generator) -> int | End:
        """Return the first action on the way to the frontier; end if there is no such way."""
        model = belief.mean()
        new = frontier_of(belief)
        if not new.any():
            return End.ALL_SEEN
        there, chance = likely_outcomes(model)
        possible = (chance >= LIKELY) & np.isfinite(model.reward)
        possible &= there != np.arange(model.states)[:, None]
        cost = np.divide(1.0, chance, out=np.full(chance.shape, np.inf), where=possible)
        source, action = np.nonzero(possible)
        # Reversed edges, so that one search from the frontier gives the distances of all states.
        graph = csr_array(
            (cost[source, action], (there[source, action], source)), shape=(model.states,) * 2
        )
        steps = dijkstra(graph, indices=np.flatnonzero(new), min_only=True)
        ahead = steps[there[state]] + cost[state]
        return int(ahead.argmin()) if np.isfinite(ahead.min()) else End.OUT_OF_REACH


def frontier_of(belief: Any) -> BoolArray:
    """Return the mask [S] of the frontier states; see `NearestFrontier`."""
    if hasattr(belief, "uncovers"):  # a map with unseen squares
        near_unseen = binary_dilation(~belief.seen.reshape(belief.shape), np.ones((3, 3)))
        frontier: BoolArray = near_unseen.ravel() & ~belief.visited
        return frontier
    unvisited: BoolArray = ~belief.visited
    return unvisited


def likely_outcomes(model: Model) -> tuple[IntArray, FloatArray]:
    """Return the most likely next state [S, A] of each action, and its probability [S, A]."""
    if isinstance(model, Moves):
        return model.dest, np.asarray(model.success)
    rows = model.sparse().transitions.tocsr()
    shape = model.states, model.actions
    chance = np.asarray(rows.max(axis=1).todense()).reshape(shape)
    return np.asarray(rows.argmax(axis=1)).reshape(shape), chance
