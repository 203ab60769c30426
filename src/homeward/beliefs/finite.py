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
    blocked_in,
    random_moves_exploring,
    random_moves_returning,
)
from homeward.beliefs.observations import Rows, Transition, Visit
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import Moves, SparseMDP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

    from homeward.models import Model

EPSILON = float(np.finfo(np.float64).eps)

MATCH = 1e-9
"""How closely a world's row must agree with an observed one."""


@dataclass(frozen=True, slots=True, eq=False)
class FiniteBelief:
    """M explicit worlds and their probabilities; exactly one of them is true.

    The worlds are all `Moves` with the same destinations, or all `SparseMDP`, and agree on which
    actions can be chosen.
    """

    worlds: Sequence[Model]
    weights: FloatArray = unless_given()  # [M], equal unless given
    visited: BoolArray = unless_given()  # [S]
    counts: IntArray = unless_given()  # [S, A]

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
        """Give the mean model, of the same kind as the worlds."""
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
        """Give Theorem 2's σ [S, A], by summing over the worlds."""
        first = self.worlds[0]
        if isinstance(first, Moves):
            success = self._success()
            gap = np.abs(success - np.tensordot(self.weights, success, axes=1))
            changes = first.dest != np.arange(first.states)[:, None]
            return np.where(changes, -np.tensordot(self.weights, gap, axes=1), 0.0)
        mean = self._mean_rows()
        total = np.zeros(mean.shape[0])
        for weight, world in zip(self.weights, self.worlds, strict=True):
            total += weight * (world.sparse().transitions - mean).minimum(0).sum(axis=1)
        return total.reshape(first.states, first.actions)

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        """Give our corrections (returning, exploring), each [S, A]; the worlds must be `Moves`."""
        first = self.worlds[0]
        if not isinstance(first, Moves):
            raise InvalidBeliefError(
                "the moves correction needs move-or-stay worlds, not SparseMDP"
            )
        success = self._success()
        return (
            random_moves_returning(first.dest, success, self.weights),
            random_moves_exploring(first.dest, success, self.weights, discount),
        )

    @property
    def moves_work_or_never(self) -> bool:
        """Whether every move works surely or never in each world that is possible."""
        first = self.worlds[0]
        if not isinstance(first, Moves):
            return False
        success = self._success()[self.weights > 0.0]
        elsewhere = first.dest != np.arange(first.states)[:, None]
        return not ((success > 0.0) & (success < 1.0) & elsewhere).any()

    def blocked_probability(self) -> FloatArray:
        """Return Pr(P = 0) [S, A]: the weight of the worlds in which a move never works."""
        first = self.worlds[0]
        if not isinstance(first, Moves):
            raise InvalidBeliefError("only moves can be blocked, and the worlds are SparseMDP")
        return blocked_in(first.dest, self._success(), self.weights)

    def update(self, observation: Visit | Transition | Rows) -> Self:
        """Weigh the worlds anew by how likely each made the observation."""
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
                visited[state] = True
                if next_state is not None:
                    visited[next_state] = True
                counts = counts.copy()
                counts[state, action] += 1
            case Rows(pairs, probabilities):
                observation.check(*counts.shape)
                likelihood = np.array(
                    [
                        float(
                            all(
                                np.abs(world.row(s, a) - row).max() <= MATCH
                                for (s, a), row in zip(pairs, probabilities, strict=True)
                            )
                        )
                        for world in self.worlds
                    ]
                )
            case _:
                raise InvalidBeliefError(f"a finite belief can't learn from {observation!r}")
        weights = self.weights * likelihood
        if weights.sum() <= 0:
            raise ImpossibleObservationError(
                f"no world that is still possible allows {observation}"
            )
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

    A row whose entries miss 1 by their rounding alone does not end.
    """
    row = world.row(state, action)
    if next_state is not None:
        return float(row[next_state])
    entries = row[row > 0.0]
    missing = fsum([1.0, *-entries])
    return missing if missing > EPSILON * len(entries) else 0.0
