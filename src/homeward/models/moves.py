"""Move-or-stay graphs: every action leads to one place or leaves the agent where it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from homeward.arrays import (
    FloatArray,
    IntArray,
    indices,
    names,
    probabilities,
    rewards,
    unless_given,
)
from homeward.errors import InvalidModelError
from homeward.models.sparse import SparseMDP


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """A graph on which every action either moves to one state or stays.

    A common model of a robot on terrain: a failed attempt stays in place. A reward of −inf marks an
    action that can't be chosen.
    """

    dest: IntArray  # [S, A] where the move leads
    success: FloatArray  # [S, A] probability that it works
    reward: FloatArray = unless_given()  # [S, A], zero unless given
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None
    memo: dict[str, Any] = unless_given()  # derived data of the graph; kept by `with_success`

    def __post_init__(self) -> None:
        error = InvalidModelError
        memo = {} if self.memo is None else self.memo
        if self.dest is None or memo.get("dest") is not self.dest:
            try:
                shape = np.shape(self.dest)
            except ValueError as cause:
                raise error(f"the destinations are not an array [S, A]: {cause}") from cause
            if len(shape) != 2 or 0 in shape:
                raise error(f"the destinations have shape {shape}, expected [S, A]")
            memo = {"dest": indices(self.dest, "destination", shape, (0, shape[0]), "sa", error)}
        states, actions = shape = memo["dest"].shape
        success = probabilities(self.success, "the success of move", shape, "sa", error)
        object.__setattr__(self, "memo", memo)
        object.__setattr__(self, "dest", memo["dest"])
        object.__setattr__(self, "success", success)
        object.__setattr__(self, "reward", rewards(self.reward, shape, error))
        object.__setattr__(self, "state_names", names(self.state_names, states, "state", error))
        object.__setattr__(self, "action_names", names(self.action_names, actions, "action", error))

    @property
    def states(self) -> int:
        """The number of states, S."""
        return int(self.dest.shape[0])

    @property
    def actions(self) -> int:
        """The number of actions, A."""
        return int(self.dest.shape[1])

    def with_success(self, success: FloatArray) -> Moves:
        """Return the same graph with other success probabilities; it shares the memo."""
        return replace(self, success=success)

    def sparse(self) -> SparseMDP:
        """Return the same MDP as sparse rows: success to the destination, the rest to staying."""
        rows = np.arange(self.states * self.actions)
        here = np.repeat(np.arange(self.states), self.actions)
        go, moved = self.success.ravel(), self.dest.ravel()
        matrix = csr_array(
            (
                np.concatenate([go, 1.0 - go]),
                (np.concatenate([rows, rows]), np.concatenate([moved, here])),
            ),
            shape=(rows.size, self.states),
        )
        matrix.eliminate_zeros()
        return SparseMDP(matrix, self.reward, self.state_names, self.action_names)

    def row(self, state: int, action: int) -> FloatArray:
        """Return the probabilities of the next state, [S], after `action` in `state`."""
        dense = np.zeros(self.states)
        dense[self.dest[state, action]] += self.success[state, action]
        dense[state] += 1.0 - self.success[state, action]
        return dense

    def ahead(self, state: int, values: FloatArray) -> FloatArray:
        """Return the mean [K, A] of values [K, S] one step after each action in `state`."""
        go = self.success[state]
        mean: FloatArray = go * values[:, self.dest[state]] + (1.0 - go) * values[:, state, None]
        return mean

    def leaving(self, state: int) -> FloatArray:
        """Return the probability [A] that each action leads to another state."""
        return np.where(self.dest[state] == state, 0.0, self.success[state])
