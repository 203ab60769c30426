"""Baselines that choose actions without a plan of ours: random actions, and the nearest frontier.

Both know only the belief. They carry nothing from step to step, so a run resumes without acting
again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.errors import InvalidBeliefError
from homeward.models import Model, Moves
from homeward.planning.explorer import End

LIKELY = 0.5  # least probability of a move that a frontier explorer holds to be possible


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
    """Goes to the nearest frontier (Yamauchi 1997) by the most likely outcome of each action.

    On a map that is uncovered, a frontier is a square next to an unseen square. Elsewhere it is a
    state that was not visited. A step costs the expected number of attempts. The way back does not
    matter.
    """

    def act(self, belief: Any, state: int, rng: np.random.Generator) -> int | End:
        """Return the first action on the way; end if no frontier can be reached."""
        model = belief.mean()
        new = frontier_of(belief)
        if not new.any():
            return End.ALL_SEEN
        there, chance = likely_outcomes(model)
        possible = (chance >= LIKELY) & np.isfinite(model.reward)
        possible &= there != np.arange(model.states)[:, None]
        cost = np.divide(1.0, chance, out=np.full(chance.shape, np.inf), where=possible)
        source, action = np.nonzero(possible)
        # The nearest frontier lies where a way from any frontier, walked backwards, is shortest.
        graph = csr_array(
            (cost[source, action], (there[source, action], source)), shape=(model.states,) * 2
        )
        steps = dijkstra(graph, indices=np.flatnonzero(new), min_only=True)
        ahead = steps[there[state]] + cost[state]
        return int(ahead.argmin()) if np.isfinite(ahead.min()) else End.OUT_OF_REACH


def frontier_of(belief: Any) -> BoolArray:
    """Return the mask [S] of the frontier states."""
    if hasattr(belief, "uncovers"):  # a map: a square beside an unseen one
        seen, (rows, columns) = belief.seen, belief.shape
        dark = np.pad(~seen.reshape(rows, columns), 1)
        beside = np.zeros((rows, columns), dtype=bool)
        for down in range(3):
            for right in range(3):
                beside |= dark[down : down + rows, right : right + columns]
        found: BoolArray = beside.ravel() & ~belief.visited
        return found
    try:
        unvisited: BoolArray = ~belief.visited
    except AttributeError:
        raise InvalidBeliefError(
            f"{type(belief).__name__} does not tell which states were visited (visited [S]), which "
            "a frontier explorer needs"
        ) from None
    return unvisited


def likely_outcomes(model: Model) -> tuple[IntArray, FloatArray]:
    """Return the most likely next state [S, A] of each action, and its probability [S, A]."""
    if isinstance(model, Moves):
        return model.dest, np.asarray(model.success)
    rows = model.sparse().transitions.tocsr()
    shape = model.states, model.actions
    chance = np.asarray(rows.max(axis=1).todense()).reshape(shape)
    return np.asarray(rows.argmax(axis=1)).reshape(shape), chance
