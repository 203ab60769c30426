"""The interface of a belief: a distribution over MDPs that can be planned on, updated and sampled.

No base class is needed: an object with the four methods of `Belief` is a belief. The other
protocols are optional. A belief that implements one of them gets tighter bounds, or can be used
with more bonuses and criteria.
"""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs.corrections import Correction, Corrections, changes_state
from homeward.errors import InvalidBeliefError
from homeward.models import Model, Moves


class Belief(Protocol):
    """A distribution over MDPs. It is immutable: `update` returns a new belief.

    The optional protocols of this module make bounds tighter. `update` raises an
    `InvalidBeliefError` for an observation of an unknown type, and an `ImpossibleObservationError`
    for an observation that no world allows.
    """

    def mean(self) -> Model:
        """Return the mean model: p = E[P] and r = E[R]."""

    def correction(self) -> FloatArray:
        """Return the general correction σ [S, A] (the paper's Theorem 2).

        It is σ[s, a] = Σ_t E[min(0, P[s, a, t] − p[s, a, t])].
        """

    def update(self, observation: Any) -> Self:
        """Return the belief after an observation."""

    def sample(self, rng: np.random.Generator) -> Model:
        """Return one model drawn from the belief."""


@runtime_checkable
class MoveBelief(Protocol):
    """A belief over move-or-stay worlds that have the same destinations."""

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        """Return the moves corrections (returning, exploring), each [S, A], for discount γ."""


@runtime_checkable
class SureMoves(Protocol):
    """A belief that declares whether moves can fail at random; for other beliefs they can."""

    @property
    def moves_work_or_never(self) -> bool:
        """Whether in each world every move to another state always or never works."""


@runtime_checkable
class BlockedMoves(Protocol):
    """A belief that knows the probability that a move never works."""

    def blocked_probability(self) -> FloatArray:
        """Return Pr(P = 0) [S, A] or an upper bound on it, where P is the success of a move.

        It is 0 for a move whose destination is its own state.
        """


@runtime_checkable
class BoundedMoves(Protocol):
    """A belief that knows only bounds on success probabilities; `mean` has the lower bounds."""

    def success_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds (low, high), each [S, A]; the success of `mean` is `low`."""


@runtime_checkable
class LeastBlocked(Protocol):
    """A belief that knows where `blocked_probability` is exact."""

    def least_blocked(self) -> tuple[IntArray, FloatArray]:
        """Return moves [m], ascending, and lower bounds [m] on Pr(P = 0), P as in `BlockedMoves`.

        A move is state·A + action. For other moves `blocked_probability` is exact.
        """


@runtime_checkable
class RewardLimits(Protocol):
    """A belief that knows the range of the rewards in its worlds."""

    def reward_limits(self) -> tuple[float, float]:
        """Return the least and the greatest finite reward of any world."""


@runtime_checkable
class Selective(Protocol):
    """A belief that learns nothing from transitions of some state-actions."""

    def teaches(self, state: int, action: int) -> bool:
        """Return whether the belief learns from transitions of a state-action."""


@runtime_checkable
class UncertainPlaces(Protocol):
    """A belief in which some states may be walls.

    In its mean model, the actions of such a state are those of a state that is not a wall.
    """

    def possible_walls(self) -> BoolArray:
        """Return the mask [S] of states that are walls in some worlds and not in others."""


class Counted(Protocol):
    """A belief that counts its observations; count-based bonuses need it."""

    @property
    def visited(self) -> BoolArray:
        """Mask [S] of the states that were visited."""

    @property
    def counts(self) -> IntArray:
        """Number of observations [S, A] of each state-action."""


def least_blocked_of(belief: Any, model: Moves) -> FloatArray:
    """Return lower bounds [S, A] on the probability that a move never works.

    Unless the belief declares `least_blocked`, they follow from the success probabilities.
    """
    if isinstance(belief, LeastBlocked) and isinstance(belief, BlockedMoves):
        least = np.array(belief.blocked_probability(), np.float64)
        moves, bounds = belief.least_blocked()
        least.reshape(-1)[moves] = bounds
        return least
    likely = belief.success_bounds()[1] if isinstance(belief, BoundedMoves) else model.success
    sure = isinstance(belief, SureMoves) and belief.moves_work_or_never
    never = 1.0 - likely if sure else np.where(likely <= 0.0, 1.0, 0.0)
    return np.where(changes_state(model.dest), never, 0.0)


def corrections_of(
    belief: Belief, model: Model, discount: float, kind: Correction | None = None
) -> Corrections:
    """Return the corrections of a belief with mean `model` for discount γ.

    The default `kind` is the tightest that applies.
    """
    moves = belief if isinstance(model, Moves) and isinstance(belief, MoveBelief) else None
    if kind is None:
        kind = Correction.GENERAL if moves is None else Correction.MOVES
    if kind is Correction.NAIVE:
        nothing = np.zeros((model.states, model.actions))
        return Corrections(kind, nothing, nothing)
    if kind is Correction.GENERAL:
        general = belief.correction()
        return Corrections(kind, general, general)
    if moves is None:
        raise InvalidBeliefError(
            "the moves correction needs a belief over move-or-stay models; "
            f"{type(belief).__name__} has a {type(model).__name__} as its mean"
        )
    sure = isinstance(belief, SureMoves) and belief.moves_work_or_never
    likely = belief.success_bounds()[1] if isinstance(belief, BoundedMoves) else None
    return Corrections(kind, *moves.move_corrections(discount), sure, likely)
