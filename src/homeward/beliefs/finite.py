"""A belief over finitely many explicit MDPs; transitions may be correlated in any way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import compress
from math import fsum
from operator import add
from typing import TYPE_CHECKING, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from homeward.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    checked_counts,
    floats,
    frozen,
    indices,
    marks,
    set_fields,
    unless_given,
)
from homeward.beliefs import corrections as sigma
from homeward.beliefs.base import Belief, MoveSets, Together, need_generator
from homeward.beliefs.corrections import changes_state
from homeward.beliefs.observations import Labels, Likelihood, Rows, Transition, Visit, in_turn
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import Model, Moves, SparseMDP

EPSILON = float(np.finfo(np.float64).eps)

Observed: TypeAlias = Visit | Transition | Rows | Likelihood  # observations of a finite belief
LEAST_WEIGHT = 1e-250  # smallest weight of a possible world, so that no product of weights is 0
ROW_PRECISION = 1e-9  # width of an interval of probabilities that count as equal in observed rows
ROW_OFFSET = 0.381966  # offset of these intervals, so that no simple fraction is near a boundary


@dataclass(frozen=True, slots=True, eq=False)
class FiniteBelief(Belief):
    """M explicit worlds and their probabilities; exactly one world is the true one.

    The worlds are all `Moves` with the same destinations, or all `SparseMDP`. The same actions can
    be chosen in all of them.

    Attributes
    ----------
    worlds : [M] models
    weights : [M] probabilities of the worlds, which are normalised; equal by default
    visited : [S] mask of the states that were entered
    counts : [S, A] number of observed transitions of each state-action
    labels : [M] index of each world in the belief before all updates, which may remove worlds
    """

    evaluator: ClassVar[str] = "exact"

    worlds: Sequence[Model]
    weights: FloatArray = unless_given()
    visited: BoolArray = unless_given()
    counts: IntArray = unless_given()
    labels: IntArray = unless_given()

    if TYPE_CHECKING:  # lists are accepted, and stored as arrays

        def __init__(
            self,
            worlds: Sequence[Model],
            weights: ArrayLike | None = None,
            visited: ArrayLike | None = None,
            counts: ArrayLike | None = None,
            labels: ArrayLike | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        error = InvalidBeliefError
        if not isinstance(self.worlds, Iterable):
            raise error("the worlds of a finite belief are not a sequence of models")
        worlds = tuple(self.worlds)
        if not worlds:
            raise error("a finite belief needs at least one world")
        first = worlds[0]
        for i, world in enumerate(worlds):
            kind = type(world).__name__
            if not isinstance(world, Moves | SparseMDP):
                raise error(f"world {i} is a {kind}, not a model")
            if type(world) is not type(first):
                raise error(f"world {i} is a {kind}, but world 0 is a {type(first).__name__}")
            if (world.states, world.actions) != (first.states, first.actions):
                raise error(
                    f"world {i} has {world.states} states and {world.actions} actions, "
                    f"but world 0 has {first.states} states and {first.actions} actions"
                )
            if (
                isinstance(world, Moves)
                and isinstance(first, Moves)
                and (world.dest != first.dest).any()
            ):
                raise error(f"world {i} and world 0 have different destinations")
            for part in ("state", "action"):
                _check_names(part, i, *(getattr(w, f"{part}_names") for w in (world, first)))
            if (np.isfinite(world.reward) != np.isfinite(first.reward)).any():
                raise error(f"world {i} and world 0 differ in the actions that can be chosen")
        count, shape = len(worlds), (first.states, first.actions)
        given = np.full(count, 1.0 / count) if self.weights is None else self.weights
        weights = floats(given, "the weights", (count,), error)
        bad = (weights < 0) | ~np.isfinite(weights)
        if bad.any():
            worst = int(np.argmax(bad))
            raise error(f"weight {worst} is {weights[worst]:g}, expected >= 0")
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        if not 0 < total < np.inf:
            raise error(f"the weights sum to {total:g}, expected a finite number above 0")
        labels = np.arange(count) if self.labels is None else self.labels
        set_fields(
            self,
            worlds=worlds,
            weights=frozen(weights / total),
            visited=marks(self.visited, "visited", shape[0], error),
            counts=checked_counts(self.counts, shape, error),
            labels=indices(labels, "label", (count,), (0, 2**31), "m", error),
        )

    def __str__(self) -> str:
        states, actions = self.counts.shape
        worlds = f"{len(self.worlds)} worlds" if len(self.worlds) > 1 else "1 world"
        visited = int(self.visited.sum())
        return f"FiniteBelief: {worlds}, {states} states ({visited} visited), {actions} actions."

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
        """Return the general correction σ [S, A]: Σ_t E[min(0, P[t] − p[t])] over next states t.

        P[t] is the probability of t in a world, and p[t] its mean.
        """
        first = self.worlds[0]
        if isinstance(first, Moves):
            success = self._success()
            gap = np.abs(success - np.tensordot(self.weights, success, axes=1))
            changes = changes_state(first.dest)
            return np.where(changes, -np.tensordot(self.weights, gap, axes=1), 0.0)
        mean = self._mean_rows()
        total = np.zeros(mean.shape[0])
        for weight, world in zip(self.weights, self.worlds, strict=True):
            total += weight * (world.sparse().transitions - mean).minimum(0).sum(axis=1)
        return total.reshape(first.states, first.actions)

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        """Return the moves corrections (returning, exploring), each [S, A]."""
        first = self._first_moves()
        return sigma.random_moves_corrections(first.dest, self._success(), self.weights, discount)

    def reward_limits(self) -> tuple[float, float]:
        """Return the least and the greatest finite reward of any world."""
        paid = np.concatenate([world.reward[np.isfinite(world.reward)] for world in self.worlds])
        return float(paid.min()), float(paid.max())

    @property
    def moves_work_or_never(self) -> bool:
        """Whether every move always or never works in each possible world."""
        first = self.worlds[0]
        if not isinstance(first, Moves):
            return False
        success = self._success()[self.weights > 0.0]
        return not ((success > 0.0) & (success < 1.0) & changes_state(first.dest)).any()

    def blocked_probability(self) -> FloatArray:
        """Return Pr(P = 0) [S, A]: the weight of the worlds in which a move never works."""
        first = self._first_moves()
        return sigma.blocked_random_moves(first.dest, self._success(), self.weights)

    def least_blocked(self) -> tuple[IntArray, FloatArray]:
        """Return the moves [m] whose risk a subclass has made larger, and their Pr(P = 0) [m]."""
        least = FiniteBelief.blocked_probability(self).ravel()
        moves = np.flatnonzero(least != self.blocked_probability().ravel())
        return moves, least[moves]

    def work_together(self, sets: MoveSets) -> Together:
        """Return bounds on the probability that all moves of each set work, exact but for rounding.

        They are the weights of the worlds in which all moves of a set work.
        """
        first = self._first_moves()
        fails = self._success()[:, sets.state, sets.action] <= 0.0
        fails &= first.dest[sets.state, sets.action] != sets.state
        before = np.zeros((len(fails), fails.shape[1] + 1), np.int64)
        np.cumsum(fails, axis=1, out=before[:, 1:])
        works = before[:, sets.first[1:]] == before[:, sets.first[:-1]]
        total, slack = self.weights @ works, (1.0 + len(works)) * EPSILON
        low = np.where(works.all(axis=0), 1.0, np.maximum(0.0, total - slack))
        high = np.where(works.any(axis=0), np.minimum(1.0, total + slack), 0.0)
        return Together(low, high, self.evaluator)

    def update(self, observation: Observed | Sequence[Observed]) -> Self:
        """Return the belief after an observation or a list of observations, by Bayes' rule.

        Impossible worlds are removed. The weight of a possible world is at least `LEAST_WEIGHT`
        before the weights are normalised.
        """
        visited, counts, labels = self.visited.copy(), self.counts, Labels.of(self.worlds[0])
        match observation:
            case tuple() | list():
                result: Self = in_turn(self, observation)
                return result
            case Visit():
                visited[observation.number(labels)] = True
                return replace(self, visited=visited)
            case Transition():
                state, action, next_state = observation.numbers(labels)
                chances = (_chance(w, state, action, next_state) for w in self.worlds)
                likelihood = np.array(list(chances))
                visited[[state] if next_state is None else [state, next_state]] = True
                counts = counts.copy()
                counts[state, action] += 1
            case Rows():
                pairs = observation.numbers(labels)
                seen = _row_cells(pairs, np.array(observation.probabilities, np.float64))
                rows = (
                    np.array([w.row(*p) for p in pairs]).reshape(seen.shape) for w in self.worlds
                )
                alike = (np.array_equal(_row_cells(pairs, row), seen) for row in rows)
                likelihood = np.array([*alike], np.float64)
            case Likelihood():
                observation.check(self.labels)
                likelihood = np.array(observation.chances, np.float64)[self.labels]
            case _:
                raise InvalidBeliefError(f"a finite belief can't learn from {observation!r}")
        kept = (self.weights > 0.0) & (likelihood > 0.0)
        if not kept.any():
            raise ImpossibleObservationError(f"no possible world allows {observation}")
        return replace(
            self,
            worlds=list(compress(self.worlds, kept)),
            weights=np.maximum(self.weights[kept] * likelihood[kept], LEAST_WEIGHT),
            visited=visited,
            counts=counts,
            labels=self.labels[kept],
        )

    def as_moves(self) -> FiniteBelief | None:
        """Return the same belief with `Moves` worlds; None if the worlds are not move-or-stay.

        Worlds are move-or-stay if each state-action either leads to one destination, the same in
        all worlds, or stays, and never ends the process. The bounds of `Moves` are tighter, so
        planners use this form.
        """
        first = self.worlds[0]
        if isinstance(first, Moves):
            return self
        dest = destinations([world.sparse() for world in self.worlds])
        if dest is None:
            return None
        worlds = []
        for world in self.worlds:
            works = np.asarray(world.sparse().transitions[np.arange(dest.size), dest.ravel()])
            works = np.clip(works.reshape(dest.shape), 0.0, 1.0)
            success = np.where(changes_state(dest), works, 1.0)
            names = first.state_names, first.action_names
            worlds.append(Moves(dest, success, world.reward, *names))
        return replace(self, worlds=worlds)

    def sample(self, rng: np.random.Generator) -> Model:
        """Return one of the worlds, drawn with its probability."""
        return self.worlds[int(need_generator(rng).choice(len(self.worlds), p=self.weights))]

    def _first_moves(self) -> Moves:
        first = self.worlds[0]
        if not isinstance(first, Moves):
            raise InvalidBeliefError("the moves correction needs Moves worlds, not SparseMDP")
        return first

    def _success(self) -> FloatArray:
        return np.stack([w.success for w in self.worlds if isinstance(w, Moves)])

    def _mean_rows(self) -> csr_array:
        pairs = zip(self.weights, self.worlds, strict=True)
        return reduce(add, [weight * world.sparse().transitions for weight, world in pairs])


def destinations(worlds: Sequence[SparseMDP]) -> IntArray | None:
    """Return the one destination [S, A] of each state-action, besides the state itself.

    It is the same in all worlds. If a state-action leads to no other state, the destination is the
    state itself. Return None if a state-action leads to several other states, or may end the
    process.
    """
    shape = worlds[0].states, worlds[0].actions
    here = np.repeat(np.arange(shape[0]), shape[1])
    dest = here.copy()
    for world in worlds:
        rows = world.transitions.tocoo()
        away = (rows.data > 0.0) & (rows.col != here[rows.row])
        at, there = rows.row[away], rows.col[away]
        new = dest[at] == here[at]
        dest[at[new]] = there[new]
        entries = np.diff(world.transitions.indptr)
        sums = world.transitions.sum(axis=1)
        if (dest[at] != there).any() or (sums < 1.0 - EPSILON * np.maximum(1, entries)).any():
            return None
    return dest.reshape(shape).astype(np.int32)


def _chance(world: Model, state: int, action: int, next_state: int | None) -> float:
    """Return the probability that the next state is `next_state`; None means that the process ends.

    If the probabilities of all next states sum to 1 up to rounding, the probability of ending is 0.
    """
    row = world.row(state, action)
    if next_state is not None:
        return float(row[next_state])
    entries = row[row > 0.0]
    missing = fsum([1.0, *-entries])
    return missing if missing > EPSILON * len(entries) else 0.0


def _row_cells(pairs: Sequence[tuple[int, int]], rows: FloatArray) -> FloatArray:
    """Return whole numbers [n, S] that are equal for `rows` [n, S] that are equal up to rounding.

    They depend on these rows alone, so worlds with equal numbers can't be told apart in any order.
    The probability of staying is 1 minus the others in `Moves`, so the sum of the row replaces it.
    """
    for (state, _), row in zip(pairs, rows, strict=True):
        row[state] = row.sum()
    return np.floor(rows / ROW_PRECISION + ROW_OFFSET)


def _check_names(
    part: str, world: int, names: Sequence[str] | None, first: Sequence[str] | None
) -> None:
    """Raise if the `names` of states or actions in a world differ from the names in world 0."""
    if names is None or first is None or names == first:
        return
    for k, (name, expected) in enumerate(zip(names, first, strict=True)):
        if name != expected:
            raise InvalidBeliefError(
                f"{part} {k} is {name!r} in world {world} but {expected!r} in world 0: list the "
                f"same {part}s in the same order in all worlds"
            )
