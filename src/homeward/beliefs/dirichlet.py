"""Dirichlet beliefs: unknown outcome distributions, one per state-action or shared by several.

A state-action has O outcomes. Each outcome leads to a state or ends the process. Each state-action
has one of C kinds. A kind is an unknown distribution over the O outcomes, with a Dirichlet prior
that is independent of the other kinds. With one kind per state-action, these are the classical
independent rows. State-actions of the same kind are tied: an observation of one informs all of
them, so an explorer can predict transitions in states that it has not visited.

Outcomes of a state-action that lead to the same state are merged: their concentrations are added,
and the distribution is Dirichlet again. All state-actions of a kind must merge the same outcomes.
Otherwise an observation would not determine one outcome of the kind, and the posterior would not be
Dirichlet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.sparse import csr_array

from homeward import arrays
from homeward.arrays import BoolArray, FloatArray, IntArray, place, set_fields, unless_given
from homeward.beliefs.corrections import beta_shortfall
from homeward.beliefs.observations import Transition, Visit
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import SparseMDP

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MAX_CONCENTRATION = 1e150
"""Largest sum of a kind's concentrations; a certain outcome needs no large one, only no others."""

END = -1
"""Value in `outcomes` instead of a state: the outcome ends the process."""


@dataclass(frozen=True, slots=True, eq=False)
class DirichletBelief:
    """Independent Dirichlet distributions over the outcomes of each kind of state-action.

    Attributes
    ----------
    outcomes : [S, A, O] next state of each outcome, or END
    alpha : [C, O] concentrations; 0 for an impossible outcome
    kinds : [S, A] kind of each state-action; all different by default
    reward : [S, A], zero by default
    visited : [S] states that were entered
    tallies : [C] number of observations of each kind
    """

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
            visited=arrays.marks(self.visited, states, error),
            tallies=arrays.checked_counts(self.tallies, (len(alpha),), error),
            state_names=arrays.names(self.state_names, states, "state", error),
            action_names=arrays.names(self.action_names, actions, "action", error),
        )

    @classmethod
    def independent(cls, alpha: ArrayLike, reward: ArrayLike | None = None) -> DirichletBelief:
        """Return a belief with untied rows, from concentrations [S, A, S]; 0 is impossible."""
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
        """Number of observations [S, A] of each kind: of a state-action and those tied to it."""
        shared: IntArray = self.tallies[self.kinds]
        return shared

    def mean(self) -> SparseMDP:
        """Return the mean model."""
        return self._model(self.alpha / self.alpha.sum(axis=1, keepdims=True))

    def correction(self) -> FloatArray:
        """Return Theorem 2's σ [S, A] in closed form: each entry of a row is marginally Beta."""
        # The sum of the other concentrations is not computed as total − alpha: beside 1e16,
        # a concentration of 0.5 would be rounded away.
        before = np.zeros_like(self.alpha)
        before[:, 1:] = np.cumsum(self.alpha[:, :-1], axis=1)
        after = np.zeros_like(self.alpha)
        after[:, :-1] = np.cumsum(self.alpha[:, :0:-1], axis=1)[:, ::-1]
        shortfall = beta_shortfall(self.alpha, before + after)
        per_row: FloatArray = np.where(self.outcomes == END, 0.0, shortfall[self.kinds]).sum(axis=2)
        return per_row

    def reward_limits(self) -> tuple[float, float]:
        """Return the least and the greatest finite reward."""
        paid = self.reward[np.isfinite(self.reward)]
        return float(paid.min()), float(paid.max())

    def update(self, observation: Visit | Transition) -> Self:
        """Return the belief after a visit, or after a transition that is counted for its kind."""
        visited = self.visited.copy()
        match observation:
            case Visit(state):
                observation.check(len(visited))
                visited[state] = True
                return replace(self, visited=visited)
            case Transition(state, action, next_state):
                observation.check(*self.kinds.shape)
                target = END if next_state is None else next_state
                kind = self.kinds[state, action]
                seen = (self.outcomes[state, action] == target) & (self.alpha[kind] > 0)
                if not seen.any():
                    raise ImpossibleObservationError(f"the belief rules out {observation}")
                alpha, tallies = self.alpha.copy(), self.tallies.copy()
                alpha[kind, np.argmax(seen)] += 1.0
                tallies[kind] += 1
                visited[[state] if next_state is None else [state, next_state]] = True
                return replace(self, alpha=alpha, tallies=tallies, visited=visited)
            case _:
                raise InvalidBeliefError(f"a Dirichlet belief can't learn from {observation!r}")

    def sample(self, rng: np.random.Generator) -> SparseMDP:
        """Return one model drawn from the belief."""
        return self._model(self.draws(rng, 1)[0])

    def draws(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Return the probabilities of the outcomes in `count` drawn models, [count, C, O]."""
        drawn = np.zeros((count, *self.alpha.shape))
        for kind, alpha in enumerate(self.alpha):
            possible = alpha > 0
            # A single possible outcome is certain; a draw could be rounded below 1.
            several = possible.sum() > 1
            drawn[:, kind, possible] = rng.dirichlet(alpha[possible], count) if several else 1.0
        return drawn

    def _model(self, shares: FloatArray) -> SparseMDP:
        """Return the model in which the outcomes of each kind have the probabilities [C, O]."""
        states, actions, count = self.outcomes.shape
        data = shares[self.kinds].ravel()
        target = self.outcomes.ravel()
        kept = (data > 0) & (target != END)
        row = np.repeat(np.arange(states * actions), count)
        at = row[kept], target[kept]
        matrix = csr_array((data[kept], at), shape=(states * actions, states))
        return SparseMDP(matrix, self.reward, self.state_names, self.action_names)


def _merge(outcomes: IntArray, alpha: FloatArray, kinds: IntArray) -> FloatArray:
    """Return concentrations [C, O] in which outcomes that lead to the same state are merged.

    Raise unless all state-actions of a kind merge the same outcomes.
    """
    states, actions, count = outcomes.shape
    possible = alpha[kinds] > 0  # [S, A, O]
    apart = np.where(possible, outcomes, END - 1 - np.arange(count))
    same = apart[:, :, :, None] == apart[:, :, None, :]
    label = same.argmax(axis=3).reshape(-1, count)  # first outcome with the same target
    flat = kinds.ravel()
    model = np.zeros(len(alpha), np.int64)
    model[flat[::-1]] = np.arange(states * actions)[::-1]  # first row of each kind
    odd = (label != label[model[flat]]).any(axis=1)
    if odd.any():
        row = int(np.argmax(odd))
        here, there = (place((r // actions, r % actions), "sa") for r in (row, model[flat[row]]))
        raise InvalidBeliefError(
            f"state-actions {here} and {there} share kind {flat[row]}, but different outcomes "
            "lead to the same state; give them different kinds"
        )
    used = np.unique(flat)
    merged = alpha.copy()
    merged[used] = 0.0
    for o in range(count):
        np.add.at(merged, (used, label[model[used], o]), alpha[used, o])
    return merged
