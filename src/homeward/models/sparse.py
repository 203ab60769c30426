"""General MDPs: every state-action has its own sparse row of next-state probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from homeward.arrays import (
    SUM_TOLERANCE,
    FloatArray,
    IntArray,
    names,
    number,
    place,
    rewards,
    unless_given,
)
from homeward.errors import InvalidModelError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class SparseMDP:
    """An MDP with A actions in each of S states and sparse transition rows.

    Row s·A + a holds the probabilities of the next state. If a row sums to less than 1, the missing
    mass ends the process. If it sums to more, within `SUM_TOLERANCE`, it is normalised. A reward of
    −inf marks an action that can't be chosen.
    """

    transitions: csr_array  # [S·A, S]
    reward: FloatArray = unless_given()  # [S, A], zero unless given
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        error = InvalidModelError
        try:
            matrix = csr_array(self.transitions, dtype=np.float64, copy=True)
        except (TypeError, ValueError) as cause:
            raise error(f"the transitions are not a matrix [S·A, S]: {cause}") from cause
        if matrix.ndim != 2 or 0 in matrix.shape or matrix.shape[0] % matrix.shape[1]:
            raise error(
                f"the transitions have shape {matrix.shape}; expected [S·A, S] with S, A >= 1"
            )
        rows, states = matrix.shape
        actions = rows // states
        bad = ~((matrix.data >= 0) & (matrix.data <= 1 + SUM_TOLERANCE))  # NaN is bad too
        if bad.any():
            entry = int(np.argmax(bad))
            row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
            at = place((row // actions, row % actions, int(matrix.indices[entry])), "sat")
            raise error(
                f"transition {at} is {matrix.data[entry]:g}, not a probability (t: next state)"
            )
        sums = matrix.sum(axis=1)
        if (sums > 1 + SUM_TOLERANCE).any():
            row = int(np.argmax(sums))
            at = place((row // actions, row % actions), "sa")
            raise error(f"row {at} of the transitions sums to {sums[row]:.10g}, expected <= 1")
        matrix.sum_duplicates()
        _normalise(matrix, np.flatnonzero(sums > 1.0 + 4.0 * EPSILON))
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.flags.writeable = False
        object.__setattr__(self, "transitions", matrix)
        object.__setattr__(self, "reward", rewards(self.reward, (states, actions), error))
        object.__setattr__(self, "state_names", names(self.state_names, states, "state", error))
        object.__setattr__(self, "action_names", names(self.action_names, actions, "action", error))

    @property
    def states(self) -> int:
        """The number of states, S."""
        return int(self.transitions.shape[1])

    @property
    def actions(self) -> int:
        """The number of actions, A."""
        return int(self.transitions.shape[0]) // self.states

    def sparse(self) -> SparseMDP:
        """Return the model itself: it is sparse already."""
        return self

    def row(self, state: int, action: int) -> FloatArray:
        """Return the probabilities of the next state, [S], after `action` in `state`."""
        index = state * self.actions + action
        dense = np.zeros(self.states)
        part = slice(self.transitions.indptr[index], self.transitions.indptr[index + 1])
        dense[self.transitions.indices[part]] = self.transitions.data[part]
        return dense

    def ahead(self, state: int, values: FloatArray) -> FloatArray:
        """Return the mean [K, A] of values [K, S] one step after each action in `state`."""
        rows = self.transitions[state * self.actions : (state + 1) * self.actions]
        return np.asarray((rows @ values.T).T, np.float64)

    def leaving(self, state: int) -> FloatArray:
        """Return the probability [A] that each action leads to another state or ends."""
        rows = (self.row(state, a) for a in range(self.actions))
        return np.array([max(0.0, math.fsum([1.0, -row[state]])) for row in rows])

    @classmethod
    def from_dense(cls, transitions: ArrayLike, reward: ArrayLike | None = None) -> SparseMDP:
        """Build from a dense array [S, A, S] of probabilities."""
        try:
            dense = np.asarray(transitions, dtype=np.float64)
        except (TypeError, ValueError) as cause:
            raise InvalidModelError(f"the transitions are not numbers: {cause}") from cause
        if dense.ndim != 3 or dense.shape[0] != dense.shape[2]:
            raise InvalidModelError(f"the transitions have shape {dense.shape}, expected [S, A, S]")
        rows = dense.reshape(-1, dense.shape[2])
        return cls(csr_array(rows), rewards(reward, dense.shape[:2], InvalidModelError))

    @classmethod
    def from_names(
        cls,
        rows: Mapping[str, Mapping[str, Mapping[str, float] | str]],
        reward: Mapping[tuple[str, str], float] | None = None,
    ) -> SparseMDP:
        """Build from names: ``{"camp": {"walk": {"hut": .9, "camp": .1}, "wait": "camp"}, ...}``.

        A bare name is a sure transition. An action that a state does not list can't be chosen
        there; a state without actions is a sink, where the first action stays for ever.
        """
        if not isinstance(rows, Mapping) or not all(isinstance(r, Mapping) for r in rows.values()):
            raise InvalidModelError("expected a mapping of states to mappings of actions")
        states = {name: s for s, name in enumerate(rows)}
        actions: dict[str, int] = {}
        for choices in rows.values():
            for name in choices:
                actions.setdefault(name, len(actions))
        if not states or not actions:
            raise InvalidModelError("a model needs at least one state and one action")
        dense = np.zeros((len(states), len(actions), len(states)))
        gain = np.full((len(states), len(actions)), -np.inf)
        for state, choices in rows.items():
            s = states[state]
            if not choices:
                dense[s, 0, s] = 1.0
                gain[s, 0] = 0.0
            for action, outcome in choices.items():
                a = actions[action]
                gain[s, a] = 0.0
                for target, probability in (
                    {outcome: 1.0} if isinstance(outcome, str) else outcome
                ).items():
                    if target not in states:
                        raise InvalidModelError(
                            f"action {action!r} in state {state!r} leads to {target!r}, "
                            "which is not a state"
                        )
                    dense[s, a, states[target]] += number(
                        probability,
                        f"the probability of {state!r} to {target!r}",
                        InvalidModelError,
                    )
        for pair, value in (reward or {}).items():
            listed = isinstance(pair, tuple) and len(pair) == 2 and pair[1] in rows.get(pair[0], {})
            if not listed:
                raise InvalidModelError(f"a reward is given for {pair!r}, which is not listed")
            gain[states[pair[0]], actions[pair[1]]] = number(
                value, f"the reward of {pair!r}", InvalidModelError
            )
        return cls(csr_array(dense.reshape(-1, len(states))), gain, tuple(states), tuple(actions))


def _normalise(matrix: csr_array, rows: IntArray) -> None:
    """Divide given rows of a matrix, in place, by their exact sums if those exceed 1.

    Normalising a second time changes nothing.
    """
    for row in rows:
        entries = matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]]
        total = math.fsum(entries)
        if total > 1.0 + EPSILON:
            entries /= total
