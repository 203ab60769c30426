"""Move-or-stay graphs: every action leads to one place or leaves the agent where it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from homeward.arrays import FloatArray, IntArray, indices, probabilities, rewards, unless_given
from homeward.errors import InvalidModelError
from homeward.models.sparse import SparseMDP, check_names


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """A graph on which every action either moves to one state or stays.

    The commonest model of a robot on terrain: attempts fail safely. A reward of −inf marks an
    action that can't be chosen.
    """

    dest: IntArray  # [S, A] where the move leads
    success: FloatArray  # [S, A] probability that it works
    reward: FloatArray = unless_given()  # [S, A], zero unless given
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        shape = np.shape(self.dest)
        if len(shape) != 2 or 0 in shape:
            raise InvalidModelError(f"the destinations have shape {shape}, expected [S, A]")
        states, actions = shape
        dest = indices(self.dest, "destination", shape, (0, states), "sa", InvalidModelError)
        success = probabilities(self.success, "the success of move", shape, "sa", InvalidModelError)
        object.__setattr__(self, "dest", dest)
        object.__setattr__(self, "success", success)
        object.__setattr__(
            self, "reward", rewards(self.reward, (states, actions), InvalidModelError)
        )
        check_names(self.state_names, states, "state")
        check_names(self.action_names, actions, "action")

    @property
    def states(self) -> int:
        """The number of states, S."""
        return int(self.dest.shape[0])

    @property
    def actions(self) -> int:
        """The number of actions, A."""
        return int(self.dest.shape[1])

    def sparse(self) -> SparseMDP:
        """See the same MDP as sparse rows: success to the destination, the rest to staying."""
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
        """Give the probabilities of the next state, [S], after `action` in `state`."""
        dense = np.zeros(self.states)
        dense[self.dest[state, action]] += self.success[state, action]
        dense[state] += 1.0 - self.success[state, action]
        return dense

    def leaving(self, state: int) -> FloatArray:
        """Give, for each action, the probability [A] that it does not leave us in `state`."""
        return np.where(self.dest[state] == state, 0.0, self.success[state])
