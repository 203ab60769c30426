"""A world that simulates a model."""

from __future__ import annotations

import math

import numpy as np

from homeward.arrays import index, named_index
from homeward.beliefs.observations import Transition, Visit
from homeward.errors import InvalidProblemError
from homeward.models import EPSILON, Model, Moves, SparseMDP


class ModelWorld:
    """Simulates a model. It returns a `Visit` at first, and a `Transition` after each action.

    Parameters
    ----------
    model : Moves or SparseMDP
        The true world.
    start : int or str
        The first state: its number or its name.
    seed : int
        Random seed of the transitions. The same seed and actions give the same transitions.

    Attributes
    ----------
    state : int
        The current state; the last one if the process has ended.
    ended : bool
        Whether the process has ended: a row of the model that sums to less than 1 ends it.
    """

    def __init__(self, model: Model, start: int | str = 0, seed: int = 0) -> None:
        error = InvalidProblemError
        if not isinstance(model, Moves | SparseMDP):
            kind = model.__name__ if isinstance(model, type) else type(model).__name__
            raise error(f"the model is {kind}, expected an object: Moves or SparseMDP")
        self.model = model
        self.state = named_index(start, model.state_names, model.states, "the start", error)
        self.seed = index(seed, 2**63, "the seed", error)
        self.ended = False
        self._rng = np.random.default_rng(self.seed)

    def look(self) -> Visit:
        """Return a `Visit` of the current state."""
        return Visit(self.state)

    def act(self, action: int | str) -> Transition:
        """Take an action, given by number or name; return the transition."""
        model, before, error = self.model, self.state, InvalidProblemError
        action = named_index(action, model.action_names, model.actions, "the action", error)
        if self.ended:
            raise error("the process has ended: no further action can be taken")
        if not np.isfinite(model.reward[before, action]):
            raise error(
                f"{model.action_name(action)} can't be chosen in {model.state_name(before)}"
            )
        row, draw = model.row(before, action), float(self._rng.random())
        possible = np.flatnonzero(row > 0.0)
        missing = math.fsum([1.0, *-row[possible]])
        if missing <= EPSILON * len(possible):  # the row sums to 1 up to rounding
            missing = 0.0
        if draw < missing:
            self.ended = True
            return Transition(before, action, None)
        reached = np.cumsum(row[possible])
        at = int(
            np.searchsorted(reached, (draw - missing) / (1.0 - missing) * reached[-1], "right")
        )
        self.state = int(possible[min(at, len(possible) - 1)])
        return Transition(before, action, self.state)
