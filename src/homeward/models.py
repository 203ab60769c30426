"""The two types of MDP: `Moves`, whose actions move or stay, and `SparseMDP`, which is general.

In both, an action with reward −inf can't be chosen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from homeward.arrays import (
    SUM_TOLERANCE,
    FloatArray,
    IntArray,
    indices,
    names,
    number,
    place,
    probabilities,
    rewards,
    set_fields,
    unless_given,
)
from homeward.errors import InvalidModelError

EPSILON = float(np.finfo(np.float64).eps)


class Named:
    """Base of both models: rewards, and the numbers and names of states and actions."""

    __slots__ = ()

    reward: FloatArray
    state_names: tuple[str, ...] | None
    action_names: tuple[str, ...] | None

    def _check_labels(self, states: int, actions: int) -> None:
        """Check and set the reward and the names of a model with these numbers."""
        error = InvalidModelError
        set_fields(
            self,
            reward=rewards(self.reward, (states, actions), error),
            state_names=names(self.state_names, states, "state", error),
            action_names=names(self.action_names, actions, "action", error),
        )

    def __str__(self) -> str:
        return f"{type(self).__name__}: {self.states} states, {self.actions} actions."

    @property
    def states(self) -> int:
        """The number of states, S."""
        result: int = self.reward.shape[0]
        return result

    @property
    def actions(self) -> int:
        """The number of actions, A."""
        result: int = self.reward.shape[1]
        return result

    def state_name(self, state: int) -> str:
        """Return the name of a state, or "state 3" if the model has no names."""
        return f"state {state}" if self.state_names is None else self.state_names[state]

    def action_name(self, action: int) -> str:
        """Return the name of an action, or "action 3" if the model has no names."""
        return f"action {action}" if self.action_names is None else self.action_names[action]


@dataclass(frozen=True, slots=True, eq=False)
class SparseMDP(Named):
    """An MDP with A actions in each of S states, and a sparse matrix of transitions.

    If a row of the matrix sums to less than 1, the process ends with the missing probability. A row
    whose sum exceeds 1 by at most `SUM_TOLERANCE` is normalised.

    Attributes
    ----------
    transitions : [S·A, S] probability of each next state; row s·A + a is action a in state s
    reward : [S, A] reward of each action in each state; zero unless given
    state_names : Names of the states; None without names
    action_names : Names of the actions; None without names
    """

    transitions: csr_array
    reward: FloatArray = unless_given()
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
            at = place((*divmod(row, actions), int(matrix.indices[entry])), "sat")
            raise error(
                f"transition {at} is {matrix.data[entry]:g}, not a probability (t: next state)"
            )
        sums = matrix.sum(axis=1)
        if (sums > 1 + SUM_TOLERANCE).any():
            row = int(np.argmax(sums))
            at = place(divmod(row, actions), "sa")
            raise error(f"row {at} of the transitions sums to {sums[row]:.10g}, expected <= 1")
        matrix.sum_duplicates()
        for row in np.flatnonzero(sums > 1.0 + 4.0 * EPSILON).tolist():
            entries = matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]]
            total = math.fsum(entries)
            if total > 1.0 + EPSILON:  # so that normalising a second time changes nothing
                entries /= total
        for part in (matrix.data, matrix.indices, matrix.indptr):
            part.flags.writeable = False
        set_fields(self, transitions=matrix)
        self._check_labels(states, actions)

    def sparse(self) -> SparseMDP:
        """Return the model itself, which is sparse already."""
        return self

    def row(self, state: int, action: int) -> FloatArray:
        """Return the probability [S] of each next state after `action` in `state`."""
        at = state * self.actions + action
        result: FloatArray = self.transitions[at : at + 1].toarray()[0]
        return result

    def ahead(self, state: int, values: FloatArray) -> FloatArray:
        """Return the expected value [K, A] of the next state after each action in `state`.

        `values` [K, S] are K values of each state.
        """
        rows = self.transitions[state * self.actions : (state + 1) * self.actions]
        return np.asarray((rows @ values.T).T, np.float64)

    def leaving(self, state: int) -> FloatArray:
        """Return the probability [A] that an action leaves `state` or ends the process."""
        rows = (self.row(state, a) for a in range(self.actions))
        return np.array([max(0.0, math.fsum([1.0, -row[state]])) for row in rows])

    @classmethod
    def from_dense(
        cls,
        transitions: ArrayLike,
        reward: ArrayLike | None = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
    ) -> SparseMDP:
        """Return the model with these transition probabilities [S, A, S] and rewards [S, A]."""
        try:
            dense = np.asarray(transitions, dtype=np.float64)
        except (TypeError, ValueError) as cause:
            raise InvalidModelError(f"the transitions are not numbers: {cause}") from cause
        if dense.ndim != 3 or dense.shape[0] != dense.shape[2]:
            raise InvalidModelError(f"the transitions have shape {dense.shape}, expected [S, A, S]")
        rows = dense.reshape(-1, dense.shape[2])
        labels: Any = reward, state_names, action_names
        return cls(csr_array(rows), *labels)

    @classmethod
    def from_names(
        cls,
        rows: Mapping[str, Mapping[str, Mapping[str, float] | str]],
        reward: Mapping[tuple[str, str], float] | None = None,
    ) -> SparseMDP:
        """Return a model from names: ``{"hut": {"walk": {"camp": .9, "hut": .1}, "wait": "hut"}}``.

        A state name instead of probabilities means a transition with probability 1. `reward` maps
        pairs (state, action) to rewards, 0 by default. An action that a state does not list can't
        be chosen there. A state without actions is a sink: its only action stays there.
        """
        error = InvalidModelError
        if not isinstance(rows, Mapping) or not all(isinstance(r, Mapping) for r in rows.values()):
            raise error("expected a mapping of states to mappings of actions")
        states = {name: s for s, name in enumerate(rows)}
        actions = {
            name: a for a, name in enumerate(dict.fromkeys(n for r in rows.values() for n in r))
        }
        if not states or not actions:
            raise error("a model needs at least one state and one action")
        dense = np.zeros((len(states), len(actions), len(states)))
        gain = np.full((len(states), len(actions)), -np.inf)
        for state, choices in rows.items():
            s = states[state]
            for action, outcome in (choices or {next(iter(actions)): state}).items():
                a = actions[action]
                gain[s, a] = 0.0
                targets = {outcome: 1.0} if isinstance(outcome, str) else outcome
                if not isinstance(targets, Mapping):
                    raise error(
                        f"action {action!r} in state {state!r} leads to {outcome!r}, expected a "
                        "state, or a mapping of states to probabilities"
                    )
                for target, probability in targets.items():
                    if target not in states:
                        raise error(
                            f"action {action!r} in state {state!r} leads to {target!r}, "
                            "which is not a state"
                        )
                    what = f"the probability of {state!r} to {target!r}"
                    dense[s, a, states[target]] += number(probability, what, error)
        if not isinstance(reward, Mapping | None):
            raise error(f"the reward is {reward!r}, expected a mapping of (state, action)")
        for pair, value in (reward or {}).items():
            is_pair = isinstance(pair, tuple) and len(pair) == 2
            if not is_pair or pair[1] not in rows.get(pair[0], {}):
                raise error(f"the reward of {pair!r} is given, but that pair is not in the rows")
            amount = number(value, f"the reward of {pair!r}", error)
            gain[states[pair[0]], actions[pair[1]]] = amount
        return cls(csr_array(dense.reshape(-1, len(states))), gain, tuple(states), tuple(actions))


@dataclass(frozen=True, slots=True, eq=False)
class Moves(Named):
    """An MDP in which every action either moves to its one destination or stays.

    It models a robot on terrain: after a failed attempt the robot is still in the same state.

    Attributes
    ----------
    dest : [S, A] destination of each move
    success : [S, A] probability that the move works
    reward : [S, A] reward of each action in each state; zero unless given
    state_names : Names of the states; None without names
    action_names : Names of the actions; None without names
    memo : Cache of data derived from `dest`; see `with_success`
    """

    dest: IntArray
    success: FloatArray
    reward: FloatArray = unless_given()
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None
    memo: dict[str, Any] = unless_given()

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
        dest = memo["dest"]
        success = probabilities(self.success, "the success of move", dest.shape, "sa", error)
        set_fields(self, memo=memo, dest=dest, success=success)
        self._check_labels(*dest.shape)

    def with_success(self, success: FloatArray, *, valid: bool = False) -> Moves:
        """Return the model with these success probabilities [S, A]; both models share the memo.

        If `valid` is True, `success` is not checked.
        """
        if not valid:
            return replace(self, success=success)
        new = object.__new__(Moves)
        for name in self.__slots__:
            set_fields(new, **{name: getattr(self, name)})
        set_fields(new, success=success)
        return new

    def sparse(self) -> SparseMDP:
        """Return the same MDP as a `SparseMDP`."""
        rows = np.arange(self.dest.size)
        own = np.repeat(np.arange(self.states), self.actions)  # the state of each row
        data = np.concatenate([self.success.ravel(), 1.0 - self.success.ravel()])
        at = np.concatenate([rows, rows]), np.concatenate([self.dest.ravel(), own])
        matrix = csr_array((data, at), shape=(rows.size, self.states))
        matrix.eliminate_zeros()
        return SparseMDP(matrix, self.reward, self.state_names, self.action_names)

    def row(self, state: int, action: int) -> FloatArray:
        """Return the probability [S] of each next state after `action` in `state`."""
        dense = np.zeros(self.states)
        dense[self.dest[state, action]] += self.success[state, action]
        dense[state] += 1.0 - self.success[state, action]
        return dense

    def ahead(self, state: int, values: FloatArray) -> FloatArray:
        """Return the expected value [K, A] of the next state after each action in `state`.

        `values` [K, S] are K values of each state.
        """
        go = self.success[state]
        result: FloatArray = go * values[:, self.dest[state]] + (1.0 - go) * values[:, state, None]
        return result

    def leaving(self, state: int) -> FloatArray:
        """Return the probability [A] that an action leaves `state`."""
        return np.where(self.dest[state] == state, 0.0, self.success[state])


Model: TypeAlias = Moves | SparseMDP
