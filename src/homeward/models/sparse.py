"""General MDPs: every state-action has its own sparse row of next-state probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from homeward.arrays import SUM_TOLERANCE, FloatArray, frozen, place, rewards, unless_given
from homeward.errors import InvalidModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, eq=False)
class SparseMDP:
    """An MDP with A actions in each of S states, its transitions as sparse rows.

    Row s·A + a holds the probabilities of the next state. A row may sum to less than one: the
    missing mass ends the process. A reward of −inf marks an action that can't be chosen.
    """

    transitions: csr_array  # [S·A, S]
    reward: FloatArray = unless_given()  # [S, A], zero unless given
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        matrix = csr_array(self.transitions, dtype=np.float64)
        if matrix is self.transitions or matrix.has_canonical_format is False:
            matrix = matrix.copy()
        matrix.sum_duplicates()
        rows, states = matrix.shape
        if states == 0 or rows == 0 or rows % states:
            raise InvalidModelError(
                f"the transitions have shape {matrix.shape}; expected [S·A, S] with S, A >= 1"
            )
        actions = rows // states
        bad = ~((matrix.data >= 0) & (matrix.data <= 1 + SUM_TOLERANCE))  # NaN is bad too
        if bad.any():
            entry = int(np.argmax(bad))
            row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
            at = place((row // actions, row % actions, int(matrix.indices[entry])), "sat")
            raise InvalidModelError(
                f"transition {at} is {matrix.data[entry]:g}, not a probability (t: next state)"
            )
        sums = matrix.sum(axis=1)
        if (sums > 1 + SUM_TOLERANCE).any():
            row = int(np.argmax(sums))
            at = place((row // actions, row % actions), "sa")
            raise InvalidModelError(f"row {at} of the transitions sums to {sums[row]:.10g}")
        object.__setattr__(self, "transitions", matrix)
        object.__setattr__(
            self, "reward", rewards(self.reward, (states, actions), InvalidModelError)
        )
        check_names(self.state_names, states, "state")
        check_names(self.action_names, actions, "action")

    @property
    def states(self) -> int:
        """The number of states, S."""
        return int(self.transitions.shape[1])

    @property
    def actions(self) -> int:
        """The number of actions, A."""
        return int(self.transitions.shape[0]) // self.states

    def sparse(self) -> SparseMDP:
        """Give the model itself: it is sparse already."""
        return self

    def row(self, state: int, action: int) -> FloatArray:
        """Give the probabilities of the next state, [S], after `action` in `state`."""
        index = state * self.actions + action
        dense = np.zeros(self.states)
        part = slice(self.transitions.indptr[index], self.transitions.indptr[index + 1])
        dense[self.transitions.indices[part]] = self.transitions.data[part]
        return dense

    def leaving(self, state: int) -> FloatArray:
        """Give, for each action, the probability [A] that it does not leave us in `state`."""
        return np.array([1.0 - self.row(state, a)[state] for a in range(self.actions)])

    @classmethod
    def from_dense(cls, transitions: ArrayLike, reward: ArrayLike | None = None) -> SparseMDP:
        """Build from a dense array [S, A, S] of probabilities."""
        dense = np.asarray(transitions, dtype=np.float64)
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
        there; a state that lists none is a sink, where the first action stays for good.
        """
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
                    dense[s, a, states[target]] += probability
        for (state, action), value in (reward or {}).items():
            if state not in states or action not in actions:
                raise InvalidModelError(
                    f"a reward is given for ({state!r}, {action!r}), which is not there"
                )
            gain[states[state], actions[action]] = value
        return cls(csr_array(dense.reshape(-1, len(states))), gain, tuple(states), tuple(actions))


def check_names(names: tuple[str, ...] | None, count: int, what: str) -> None:
    """Check that there is one name for each state or action."""
    if names is not None and len(names) != count:
        raise InvalidModelError(f"{len(names)} {what} names for {count} {what}s")


def rows_of(model: SparseMDP, policy: np.ndarray) -> csr_array:
    """Give the rows [S, S] that a deterministic policy [S] picks."""
    picked = np.arange(model.states) * model.actions + policy
    return model.transitions[picked]


__all__ = ["SparseMDP", "check_names", "frozen", "rows_of"]
