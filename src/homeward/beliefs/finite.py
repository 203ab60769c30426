"""A belief over finitely many explicit MDPs, correlated in any way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from math import fsum
from typing import TYPE_CHECKING, Self

import numpy as np

from homeward.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    floats,
    frozen,
    marks,
    tally,
    unless_given,
)
from homeward.beliefs.corrections import (
    blocked_random_moves,
    changes_state,
    random_moves_corrections,
)
from homeward.beliefs.observations import Rows, Transition, Visit
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import Moves, SparseMDP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

    from homeward.models import Model

EPSILON = float(np.finfo(np.float64).eps)

ROW_TOLERANCE = 1e-9
"""Largest difference of an entry between a world's row and an observed one."""


@dataclass(frozen=True, slots=True, eq=False)
class FiniteBelief:
    """M explicit worlds and their probabilities; exactly one of them is true.

    The worlds are all `Moves` with the same destinations, or all `SparseMDP`, and have the same
    available actions.

    Attributes
    ----------
    worlds : [M] models
    weights : [M] probabilities, equal by default; given ones are normalised
    visited : [S] states that were entered
    counts : [S, A] number of observed transitions
    """

    worlds: Sequence[Model]
    weights: FloatArray = unless_given()
    visited: BoolArray = unless_given()
    counts: IntArray = unless_given()

    def __post_init__(self) -> None:
        if not isinstance(self.worlds, Iterable):
            raise InvalidBeliefError("the worlds of a finite belief are not a sequence of models")
        worlds = tuple(self.worlds)
        if not worlds:
            raise InvalidBeliefError("a finite belief needs at least one world")
        first = worlds[0]
        for i, world in enumerate(worlds):
            if not isinstance(world, Moves | SparseMDP):
                raise InvalidBeliefError(f"world {i} is a {type(world).__name__}, not a model")
            if type(world) is not type(first):
                raise InvalidBeliefError(
                    f"world {i} is a {type(world).__name__}, world 0 a {type(first).__name__}"
                )
            if (world.states, world.actions) != (first.states, first.actions):
                raise InvalidBeliefError(
                    f"world {i} has {world.states} states and {world.actions} actions, "
                    f"world 0 has {first.states} and {first.actions}"
                )
            if (
                isinstance(world, Moves)
                and isinstance(first, Moves)
                and (world.dest != first.dest).any()
            ):
                raise InvalidBeliefError(f"the moves of world {i} lead elsewhere than world 0's")
            if (np.isfinite(world.reward) != np.isfinite(first.reward)).any():
                raise InvalidBeliefError(f"world {i} allows other actions than world 0")
        count = len(worlds)
        given = np.full(count, 1.0 / count) if self.weights is None else self.weights
        weights = floats(given, "the weights", (count,), InvalidBeliefError)
        if (weights < 0).any() or not np.isfinite(weights).all():
            worst = int(np.argmax((weights < 0) | ~np.isfinite(weights)))
            raise InvalidBeliefError(f"weight {worst} is {weights[worst]:g}, expected >= 0")
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        if not 0 < total < np.inf:
            raise InvalidBeliefError(f"the weights sum to {total:g}")
        object.__setattr__(self, "worlds", worlds)
        object.__setattr__(self, "weights", frozen(weights / total))
        shape = (first.states, first.actions)
        object.__setattr__(self, "visited", marks(self.visited, shape[0], InvalidBeliefError))
        object.__setattr__(self, "counts", tally(self.counts, shape, InvalidBeliefError))

    def mean(self) -> Model:
        """Return the mean model, of the same type as the worlds."""
        first = self.worlds[0]
        gain = np.stack([w.reward for w in self.worlds])
        reward = np.where(
            np.isfinite(first.reward),
            np.tensordot(self.weights, np.where(np.isfinite(gain), gain, 0.0), axes=1),
            -np.inf,
        )
        if isinstance(first, Moves):
            success = np.clip(np.tensordot(self.weights, self._success(), axes=1), 0.0, 1.0)
            return Moves(first.dest, success, reward, first.state_names, first.action_names)
        return SparseMDP(self._mean_rows(), reward, first.state_names, first.action_names)

    def correction(self) -> FloatArray:
        """Return Theorem 2's σ [S, A]."""
        first = self.worlds[0]
        if isinstance(first, Moves):
            success = self._success()
            gap = np.abs(success - np.tensordot(self.weights, success, axes=1))
            return np.where(
                changes_state(first.dest), -np.tensordot(self.weights, gap, axes=1), 0.0
            )
        mean = self._mean_rows()
        total = np.zeros(mean.shape[0])
        for weight, world in zip(self.weights, self.worlds, strict=True):
            total += weight * (world.sparse().transitions - mean).minimum(0).sum(axis=1)
        return total.reshape(first.states, first.actions)

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        """Return the moves corrections (returning, exploring), each [S, A]."""
        first = self._first_moves()
        return random_moves_corrections(first.dest, self._success(), self.weights, discount)

    def reward_limits(self) -> tuple[float, float]:
        """Return the least and the greatest finite reward of any world."""
        paid = np.concatenate([world.reward[np.isfinite(world.reward)] for world in self.worlds])
        return float(paid.min()), float(paid.max())

    @property
    def moves_work_or_never(self) -> bool:
        """Whether every move works surely or never in each possible world."""
        first = self.worlds[0]
        if not isinstance(first, Moves):
            return False
        success = self._success()[self.weights > 0.0]
        return not ((success > 0.0) & (success < 1.0) & changes_state(first.dest)).any()

    def blocked_probability(self) -> FloatArray:
        """Return Pr(P = 0) [S, A]: the weight of the worlds in which a move never works."""
        first = self._first_moves()
        return blocked_random_moves(first.dest, self._success(), self.weights)

    def update(self, observation: Visit | Transition | Rows) -> Self:
        """Return the belief with weights multiplied by the observation's likelihood, normalised."""
        visited, counts = self.visited.copy(), self.counts
        match observation:
            case Visit(state):
                observation.check(len(visited))
                visited[state] = True
                return replace(self, visited=frozen(visited))
            case Transition(state, action, next_state):
                observation.check(*counts.shape)
                likelihood = np.array(
                    [_chance(world, state, action, next_state) for world in self.worlds]
                )
                visited[[state] if next_state is None else [state, next_state]] = True
                counts = counts.copy()
                counts[state, action] += 1
            case Rows(pairs, probabilities):
                observation.check(*counts.shape)
                likelihood = np.array([_has_rows(w, pairs, probabilities) for w in self.worlds])
            case _:
                raise InvalidBeliefError(f"a finite belief can't learn from {observation!r}")
        weights = self.weights * likelihood
        if weights.sum() <= 0:
            raise ImpossibleObservationError(f"no possible world allows {observation}")
        kept = weights > 0
        return replace(
            self,
            worlds=tuple(w for w, keep in zip(self.worlds, kept, strict=True) if keep),
            weights=weights[kept],
            visited=frozen(visited),
            counts=frozen(counts),
        )

    def sample(self, rng: np.random.Generator) -> Model:
        """Draw one of the worlds."""
        return self.worlds[int(rng.choice(len(self.worlds), p=self.weights))]

    def _first_moves(self) -> Moves:
        first = self.worlds[0]
        if not isinstance(first, Moves):
            raise InvalidBeliefError("moves corrections need move-or-stay worlds, not SparseMDP")
        return first

    def _success(self) -> FloatArray:
        return np.stack([w.success for w in self.worlds if isinstance(w, Moves)])

    def _mean_rows(self) -> csr_array:
        parts = [
            weight * world.sparse().transitions
            for weight, world in zip(self.weights, self.worlds, strict=True)
        ]
        return reduce(lambda a, b: a + b, parts)


def _chance(world: Model, state: int, action: int, next_state: int | None) -> float:
    """Return the probability of a transition, or of ending (None), in one world.

    A row that sums to 1 up to rounding does not end.
    """
    row = world.row(state, action)
    if next_state is not None:
        return float(row[next_state])
    entries = row[row > 0.0]
    missing = fsum([1.0, *-entries])
    return missing if missing > EPSILON * len(entries) else 0.0


def _has_rows(world: Model, pairs: tuple[tuple[int, int], ...], rows: FloatArray) -> float:
    """Return 1 if a world has the observed rows [n, S], else 0."""
    return float(
        all(
            np.abs(world.row(s, a) - row).max() <= ROW_TOLERANCE
            for (s, a), row in zip(pairs, rows, strict=True)
        )
    )
