"""Dirichlet beliefs: unknown outcome distributions, each its own or shared between places.

A state-action has O possible outcomes, which lead to states or end the process. Its unknown
outcome distribution is one of C kinds; each kind is Dirichlet, independently. With one kind per
state-action these are the classical independent rows. State-actions that share a kind are tied:
what is learned at one place is known at the others, which is what lets an explorer judge places
where it has not been.

Outcomes of a state-action that lead to the same state are merged; their sum is Dirichlet again.
All state-actions of a kind must merge alike, since otherwise an observation at one would not tell
which outcome happened at another and the posterior would leave the family.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.sparse import csr_array

from homeward.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    floats,
    frozen,
    indices,
    marks,
    names,
    place,
    rewards,
    tally,
    unless_given,
)
from homeward.beliefs.corrections import beta_shortfall
from homeward.beliefs.observations import Transition, Visit
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import SparseMDP

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LARGEST = 1e150
"""Concentrations beyond this are refused; what is so sure can be said with one outcome."""

END = -1
"""The outcome that ends the process."""


@dataclass(frozen=True, slots=True, eq=False)
class DirichletBelief:
    """Independent Dirichlet distributions over what each kind of state-action does."""

    outcomes: IntArray  # [S, A, O] the state that an outcome leads to, or END
    alpha: FloatArray  # [C, O] concentrations; zero where a kind has no such outcome
    kinds: IntArray = unless_given()  # [S, A] all apart unless given
    reward: FloatArray = unless_given()  # [S, A] zero unless given
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None
    visited: BoolArray = unless_given()  # [S]
    tallies: IntArray = unless_given()  # [C] observations so far

    def __post_init__(self) -> None:
        shape = np.shape(self.outcomes)
        if len(shape) != 3 or 0 in shape:
            raise InvalidBeliefError(f"the outcomes have shape {shape}, expected [S, A, O]")
        states, actions, count = shape
        outcomes = indices(
            self.outcomes, "outcome", shape, (END, states), "sao", InvalidBeliefError
        )
        alpha = floats(self.alpha, "alpha", None, InvalidBeliefError)
        if alpha.ndim != 2 or alpha.shape[1] != count or len(alpha) == 0:
            raise InvalidBeliefError(f"alpha has shape {alpha.shape}, expected [C, {count}]")
        bad = (alpha < 0) | ~np.isfinite(alpha)
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            raise InvalidBeliefError(f"alpha {place(at, 'ko')} is {alpha[at]:g}, expected >= 0")
        with np.errstate(over="ignore"):
            sums = alpha.sum(axis=1)
        if not (sums > 0).all():
            raise InvalidBeliefError(f"kind {int(np.argmin(sums > 0))} has no possible outcome")
        if not (sums < LARGEST).all():
            raise InvalidBeliefError(
                f"the concentrations of kind {int(np.argmax(sums))} pass {LARGEST:g}"
            )
        if self.kinds is None:
            if len(alpha) != states * actions:
                raise InvalidBeliefError(
                    f"{len(alpha)} kinds for {states * actions} untied state-actions"
                )
            given = np.arange(states * actions, dtype=np.int32).reshape(states, actions)
        else:
            given = np.asarray(self.kinds)
        kinds = indices(given, "kind", (states, actions), (0, len(alpha)), "sa", InvalidBeliefError)
        object.__setattr__(self, "outcomes", outcomes)
        object.__setattr__(self, "kinds", kinds)
        if self.tallies is None:  # what an update gives is merged already
            alpha = frozen(_merge(outcomes, alpha, kinds))
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(
            self, "reward", rewards(self.reward, (states, actions), InvalidBeliefError)
        )
        error = InvalidBeliefError
        object.__setattr__(self, "visited", marks(self.visited, states, error))
        object.__setattr__(self, "tallies", tally(self.tallies, (len(alpha),), error))
        object.__setattr__(self, "state_names", names(self.state_names, states, "state", error))
        object.__setattr__(self, "action_names", names(self.action_names, actions, "action", error))

    @classmethod
    def independent(cls, alpha: ArrayLike, reward: ArrayLike | None = None) -> DirichletBelief:
        """Build untied rows from concentrations [S, A, S] over next states; zero is impossible."""
        dense = floats(alpha, "alpha", None, InvalidBeliefError)
        if dense.ndim != 3 or dense.shape[0] != dense.shape[2]:
            raise InvalidBeliefError(f"alpha has shape {dense.shape}, expected [S, A, S]")
        if 0 in dense.shape:
            raise InvalidBeliefError(f"alpha has shape {dense.shape}: no state or no action")
        width = max(1, int((dense != 0).sum(axis=2).max()))
        outcomes = np.argsort(dense == 0, axis=2, kind="stable")[:, :, :width]
        rows = np.take_along_axis(dense, outcomes, axis=2).reshape(-1, width)
        return cls(outcomes, rows, reward=rewards(reward, dense.shape[:2], InvalidBeliefError))

    @property
    def counts(self) -> IntArray:
        """How many observations [S, A] speak of a state-action; tied ones share theirs."""
        shared: IntArray = self.tallies[self.kinds]
        return shared

    def mean(self) -> SparseMDP:
        """Give the mean model."""
        return self._model(self.alpha / self.alpha.sum(axis=1, keepdims=True))

    def correction(self) -> FloatArray:
        """Give Theorem 2's σ [S, A] in closed form: each entry of a row is marginally Beta."""
        # The others' concentrations are added up, not subtracted from the sum: beside an outcome
        # of 1e16 one of 0.5 keeps its digits.
        before = np.zeros_like(self.alpha)
        before[:, 1:] = np.cumsum(self.alpha[:, :-1], axis=1)
        after = np.zeros_like(self.alpha)
        after[:, :-1] = np.cumsum(self.alpha[:, :0:-1], axis=1)[:, ::-1]
        shortfall = beta_shortfall(self.alpha, before + after)
        per_row: FloatArray = np.where(self.outcomes == END, 0.0, shortfall[self.kinds]).sum(axis=2)
        return per_row

    def update(self, observation: Visit | Transition) -> Self:
        """Count an observed transition for the kind that it speaks of."""
        visited = self.visited.copy()
        match observation:
            case Visit(state):
                observation.check(len(visited))
                visited[state] = True
                return replace(self, visited=frozen(visited))
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
                return replace(self, alpha=alpha, tallies=frozen(tallies), visited=frozen(visited))
            case _:
                raise InvalidBeliefError(f"a Dirichlet belief can't learn from {observation!r}")

    def sample(self, rng: np.random.Generator) -> SparseMDP:
        """Draw one concrete model."""
        drawn = np.zeros_like(self.alpha)
        for kind, alpha in enumerate(self.alpha):
            possible = alpha > 0
            # One possible outcome is sure; a draw could round it off.
            drawn[kind, possible] = rng.dirichlet(alpha[possible]) if possible.sum() > 1 else 1.0
        return self._model(drawn)

    def _model(self, shares: FloatArray) -> SparseMDP:
        """Give the model in which each kind's outcomes happen with probabilities [C, O]."""
        states, actions, count = self.outcomes.shape
        data = shares[self.kinds].ravel()
        target = self.outcomes.ravel()
        kept = (data > 0) & (target != END)
        row = np.repeat(np.arange(states * actions), count)
        matrix = csr_array(
            (data[kept], (row[kept], target[kept])), shape=(states * actions, states)
        )
        return SparseMDP(matrix, self.reward, self.state_names, self.action_names)


def _merge(outcomes: IntArray, alpha: FloatArray, kinds: IntArray) -> FloatArray:
    """Add up the concentrations of outcomes that lead to the same state; check that ties agree."""
    states, actions, count = outcomes.shape
    possible = alpha[kinds] > 0  # [S, A, O]
    apart = np.where(possible, outcomes, END - 1 - np.arange(count))
    same = apart[:, :, :, None] == apart[:, :, None, :]
    label = same.argmax(axis=3).reshape(states * actions, count)  # the first outcome like this one
    flat = kinds.ravel()
    model = np.zeros(len(alpha), np.int64)
    model[flat[::-1]] = np.arange(states * actions)[::-1]  # the first row of each kind
    odd = (label != label[model[flat]]).any(axis=1)
    if odd.any():
        row = int(np.argmax(odd))
        here, there = (place((r // actions, r % actions), "sa") for r in (row, model[flat[row]]))
        raise InvalidBeliefError(
            f"state-actions {here} and {there} are tied as kind {flat[row]}, but different "
            "outcomes of theirs lead to one state; tie them apart"
        )
    used = np.unique(flat)
    merged = alpha.copy()
    merged[used] = 0.0
    for o in range(count):
        np.add.at(merged, (used, label[model[used], o]), alpha[used, o])
    return merged
