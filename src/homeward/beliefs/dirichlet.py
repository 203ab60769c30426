"""Dirichlet beliefs: unknown outcome distributions, one per state-action or shared by several.

A state-action has O outcomes, which lead to a state or end the process, and one of C kinds. A kind
is an unknown distribution over the outcomes with a Dirichlet prior. State-actions of the same kind
are tied: an observation of one informs all of them.

Several outcomes may lead to the same state, for instance where walls block them. The probability of
that state is then Beta, so mean and correction are exact. If the outcomes coincide in all
state-actions of a kind, they are merged. If they coincide only in some, transitions there do not
determine the outcome and are never counted: the belief knows less than it could.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from homeward import arrays
from homeward.arrays import BoolArray, FloatArray, IntArray, place, set_fields, unless_given
from homeward.beliefs.base import Belief, need_generator
from homeward.beliefs.corrections import beta_shortfall
from homeward.beliefs.observations import Labels, Transition, Visit, in_turn
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import SparseMDP

MAX_CONCENTRATION = 1e150  # largest sum of a kind's concentrations
END = -1  # value in `outcomes` instead of a state: the outcome ends the process


@dataclass(frozen=True, slots=True, eq=False)
class DirichletBelief(Belief):
    """Independent Dirichlet distributions over the outcomes of each kind of state-action.

    Attributes
    ----------
    outcomes : [S, A, O] next state of each outcome; −1 if it ends the process
    alpha : [C, O] Dirichlet concentrations of each kind; 0 for an impossible outcome
    kinds : [S, A] kind of each state-action, from 0 to C − 1; all different by default. An
        observation of a state-action informs all state-actions of the same kind.
    reward : [S, A] reward of each state-action; zero by default
    visited : [S] mask of the states that were entered
    tallies : [C] number of observations of each kind
    """

    learns_transitions: ClassVar[bool] = True

    outcomes: IntArray
    alpha: FloatArray
    kinds: IntArray = unless_given()
    reward: FloatArray = unless_given()
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None
    visited: BoolArray = unless_given()
    tallies: IntArray = unless_given()

    def __post_init__(self) -> None:
        error = InvalidBeliefError
        shape = np.shape(self.outcomes)
        if len(shape) != 3 or 0 in shape:
            raise error(f"the outcomes have shape {shape}, expected [S, A, O]")
        states, actions, count = shape
        outcomes = arrays.indices(self.outcomes, "outcome", shape, (END, states), "sao", error)
        alpha = arrays.floats(self.alpha, "alpha", None, error)
        if alpha.ndim != 2 or alpha.shape[1] != count or len(alpha) == 0:
            raise error(f"alpha has shape {alpha.shape}, expected [C, {count}]")
        bad = (alpha < 0) | ~np.isfinite(alpha)
        if bad.any():
            at = arrays.first_of(bad)
            raise error(f"alpha {place(at, 'ko')} is {alpha[at]:g}, expected >= 0")
        with np.errstate(over="ignore"):
            sums = alpha.sum(axis=1)
        if not (sums > 0).all():
            raise error(f"kind {int(np.argmin(sums > 0))} has no possible outcome")
        if not (sums < MAX_CONCENTRATION).all():
            kind = int(np.argmax(sums))
            raise error(f"the concentrations of kind {kind} sum to {MAX_CONCENTRATION:g} or more")
        if self.kinds is None and len(alpha) != states * actions:
            raise error(f"alpha has {len(alpha)} rows for {states * actions} untied state-actions")
        untied = np.arange(states * actions).reshape(states, actions)
        given = untied if self.kinds is None else self.kinds
        kinds = arrays.indices(given, "kind", (states, actions), (0, len(alpha)), "sa", error)
        if self.tallies is None:  # after an update the outcomes are merged already
            alpha = arrays.frozen(_merge(outcomes, alpha, kinds))
        set_fields(
            self,
            outcomes=outcomes,
            kinds=kinds,
            alpha=alpha,
            reward=arrays.rewards(self.reward, (states, actions), error),
            visited=arrays.marks(self.visited, "visited", states, error),
            tallies=arrays.checked_counts(self.tallies, (len(alpha),), error),
            state_names=arrays.names(self.state_names, states, "state", error),
            action_names=arrays.names(self.action_names, actions, "action", error),
        )

    @classmethod
    def independent(cls, alpha: ArrayLike, reward: ArrayLike | None = None) -> DirichletBelief:
        """Return a belief in which each state-action has its own kind.

        `alpha` [S, A, S] are the concentrations of each next state, 0 if it is impossible; `reward`
        is [S, A].
        """
        error = InvalidBeliefError
        dense = arrays.floats(alpha, "alpha", None, error)
        if dense.ndim != 3 or dense.shape[0] != dense.shape[2] or 0 in dense.shape:
            raise error(f"alpha has shape {dense.shape}, expected [S, A, S] with S, A >= 1")
        width = max(1, int((dense != 0).sum(axis=2).max()))
        outcomes = np.argsort(dense == 0, axis=2, kind="stable")[:, :, :width]
        rows = np.take_along_axis(dense, outcomes, axis=2).reshape(-1, width)
        return cls(outcomes, rows, reward=arrays.rewards(reward, dense.shape[:2], error))

    @property
    def counts(self) -> IntArray:
        """Number of observations [S, A] of all state-actions of the same kind."""
        return self.tallies[self.kinds]

    def __str__(self) -> str:
        states, actions, _ = self.outcomes.shape
        total = f"{int(self.tallies.sum())} observations"
        visited = int(self.visited.sum())
        return f"DirichletBelief: {total}, {states} states ({visited} visited), {actions} actions."

    def mean(self) -> SparseMDP:
        """Return the mean model."""
        return self._model(self.alpha / self.alpha.sum(axis=1, keepdims=True))

    def correction(self) -> FloatArray:
        """Return the general correction σ [S, A]: Σ_t E[min(0, P[t] − p[t])] over next states t.

        P[t] is the probability of t in a world, and p[t] its mean. P[t] has a Beta distribution, so
        σ has a closed form.
        """
        # The sum of the other concentrations is not computed as total − alpha: in a total of 1e16,
        # a concentration of 0.5 would be lost by rounding.
        before = np.zeros_like(self.alpha)
        before[:, 1:] = np.cumsum(self.alpha[:, :-1], axis=1)
        after = np.zeros_like(self.alpha)
        after[:, :-1] = np.cumsum(self.alpha[:, :0:-1], axis=1)[:, ::-1]
        shortfall = beta_shortfall(self.alpha, before + after)
        leads = self.outcomes != END
        per_row: FloatArray = np.where(leads, shortfall[self.kinds], 0.0).sum(axis=2)
        label = _labels(self.outcomes, self.alpha[self.kinds])
        together = (label != np.arange(label.shape[2])).any(axis=2)
        if together.any():
            per_row[together] = self._together(label[together], together, leads[together])
        return per_row

    def _together(self, label: IntArray, rows: BoolArray, leads: BoolArray) -> FloatArray:
        """Return σ [n] of the n state-actions in the mask `rows` [S, A], whose outcomes coincide.

        `label` [n, O] is the first outcome that leads to the same state; `leads` [n, O] is the mask
        of outcomes that do not end the process.
        """
        alike = np.column_stack([self.kinds[rows], label])
        _, first, which = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        alpha = self.alpha[alike[first, 0]]
        merged = np.zeros_like(alpha)
        np.add.at(merged, (np.arange(len(alpha))[:, None], alike[first, 1:]), alpha)
        others = np.array([[np.delete(row, o).sum() for o in range(len(row))] for row in merged])
        shortfall = beta_shortfall(merged, others)[which.ravel()]
        return np.asarray(np.where(leads, shortfall, 0.0).sum(axis=1), np.float64)

    def teaches(self, state: int, action: int) -> bool:
        """Return whether all possible outcomes of a state-action lead to different states."""
        possible = self.alpha[self.kinds[state, action]] > 0.0
        targets = self.outcomes[state, action][possible]
        return len(np.unique(targets)) == len(targets)

    def lesson(self, state: int, action: int, next_state: int) -> tuple[int, int]:
        """Return the kind and the outcome that a transition counts for; −1 if it is not counted."""
        if not self.teaches(state, action):
            return -1, -1
        kind = int(self.kinds[state, action])
        leads = (self.outcomes[state, action] == next_state) & (self.alpha[kind] > 0.0)
        return kind, int(np.argmax(leads))

    def reward_limits(self) -> tuple[float, float]:
        """Return the least and the greatest finite reward."""
        paid = self.reward[np.isfinite(self.reward)]
        return float(paid.min()), float(paid.max())

    def update(self, observation: Visit | Transition | Sequence[Visit | Transition]) -> Self:
        """Return the belief after a visit, a transition, or a list of these.

        A transition is counted for its kind, unless it does not determine the outcome (see the
        module docstring).
        """
        visited = self.visited.copy()
        states, actions = self.kinds.shape
        labels = Labels(states, actions, self.state_names, self.action_names)
        match observation:
            case tuple() | list():
                result: Self = in_turn(self, observation)
                return result
            case Visit():
                visited[observation.number(labels)] = True
                return replace(self, visited=visited)
            case Transition():
                state, action, next_state = observation.numbers(labels)
                target = END if next_state is None else next_state
                kind = self.kinds[state, action]
                seen = (self.outcomes[state, action] == target) & (self.alpha[kind] > 0)
                if not seen.any():
                    raise ImpossibleObservationError(f"the belief rules out {observation}")
                visited[[state] if next_state is None else [state, next_state]] = True
                if not self.teaches(state, action):
                    return replace(self, visited=visited)
                alpha, tallies = self.alpha.copy(), self.tallies.copy()
                alpha[kind, np.argmax(seen)] += 1.0
                tallies[kind] += 1
                return replace(self, alpha=alpha, tallies=tallies, visited=visited)
            case _:
                raise InvalidBeliefError(f"a Dirichlet belief can't learn from {observation!r}")

    def sample(self, rng: np.random.Generator) -> SparseMDP:
        """Return one model drawn from the belief."""
        return self._model(self.draws(need_generator(rng), 1)[0])

    def draws(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Return the probabilities [count, C, O] of the outcomes in `count` drawn models."""
        drawn = np.zeros((count, *self.alpha.shape))
        for kind, alpha in enumerate(self.alpha):
            possible = alpha > 0
            # The only possible outcome has probability 1; a draw could be rounded below 1.
            several = possible.sum() > 1
            drawn[:, kind, possible] = rng.dirichlet(alpha[possible], count) if several else 1.0
        return drawn

    def _model(self, shares: FloatArray) -> SparseMDP:
        """Return the model in which the outcomes of each kind have the probabilities `shares`."""
        states, actions, count = self.outcomes.shape
        data = shares[self.kinds].ravel()
        target = self.outcomes.ravel()
        kept = (data > 0) & (target != END)
        row = np.repeat(np.arange(states * actions), count)
        at = row[kept], target[kept]
        matrix = csr_array((data[kept], at), shape=(states * actions, states))
        return SparseMDP(matrix, self.reward, self.state_names, self.action_names)


def _labels(outcomes: IntArray, alpha: FloatArray) -> IntArray:
    """Return for each outcome the index [S, A, O] of the first outcome with the same next state.

    Only possible outcomes (`alpha` [S, A, O] above 0) count; an impossible one has its own index.
    """
    return np.asarray(_same_target(outcomes, alpha).argmax(axis=3))


def _same_target(outcomes: IntArray, alpha: FloatArray) -> BoolArray:
    """Return the mask [S, A, O, O] of pairs of possible outcomes that lead to the same state."""
    apart = np.where(alpha > 0, outcomes, END - 1 - np.arange(outcomes.shape[2]))
    result: BoolArray = apart[:, :, :, None] == apart[:, :, None, :]
    return result


def _merge(outcomes: IntArray, alpha: FloatArray, kinds: IntArray) -> FloatArray:
    """Return concentrations [C, O]; outcomes that coincide in all state-actions of a kind merge.

    The first of these outcomes gets the sum of their concentrations, the others get 0.
    """
    count, flat = outcomes.shape[2], kinds.ravel()
    always = np.ones((len(alpha), count, count), np.bool_)
    same = _same_target(outcomes, alpha[kinds])
    np.logical_and.at(always, flat, same.reshape(-1, count, count))
    label = always.argmax(axis=2)  # [C, O]
    used = np.unique(flat)
    merged = alpha.copy()
    merged[used] = 0.0
    for o in range(count):
        np.add.at(merged, (used, label[used, o]), alpha[used, o])
    return merged
