"""`Belief`, the base class of all beliefs; and what contradicts a belief.

A belief has three methods of its own: `mean`, `update` and `sample`. Everything else that a belief
may know has a default that is valid for every belief, since it follows from the mean model alone. A
subclass overrides what it knows better, and all bounds that use it become sharper. With p = E[P]:

- the correction is −Σ_t p(1 − p), since E|P − p| ≤ 2p(1 − p) for P in [0, 1];
- a move never works with probability at most 1 − p, since E[P] ≤ Pr(P > 0);
- several moves all work with probability at least 1 minus the sum of these (the union bound).

``docs/theory.md`` has the proofs. Read `finite` next, the belief that knows everything exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from homeward.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    are_among,
    first_of,
    frozen,
    numbers,
    place,
)
from homeward.beliefs.corrections import (
    Correction,
    Corrections,
    changes_state,
    moves_corrections,
)
from homeward.errors import InvalidBeliefError, InvalidProblemError
from homeward.models import Model, Moves, SparseMDP

EPSILON = float(np.finfo(np.float64).eps)
NO_MOVES: IntArray = frozen(np.empty(0, np.int64))
NO_RISKS: FloatArray = frozen(np.empty(0))

B = TypeVar("B", bound="Belief")


class MoveSets(NamedTuple):
    """N sets of moves. Set i has the moves e with ``first[i] <= e < first[i + 1]``."""

    first: IntArray  # [N + 1] index of the first move of each set, and the number of moves
    state: IntArray  # [n] state in which each move starts
    action: IntArray  # [n] action of each move


class Together(NamedTuple):
    """Bounds on the probability that all moves of each set work."""

    low: FloatArray  # [N] lower bounds
    high: FloatArray  # [N] upper bounds
    evaluator: str  # a code of `words.EVALUATORS`


class Uncounted:
    """An attribute of beliefs that count nothing: reading it raises `InvalidBeliefError`."""

    def __get__(self, belief: object, owner: type) -> Any:
        if belief is None:
            return self
        name = owner.__name__
        raise InvalidBeliefError(
            f"{name} does not count observations: a count-based bonus needs {name}.visited and "
            f"{name}.counts"
        )


class Belief(ABC):
    """A distribution over MDPs with the same states and actions.

    It is a value: `update` returns a new belief. An explorer that owns its belief uses `absorb`,
    which may be cheaper. A move *works* in a world if its success
    probability there is above 0.
    """

    learns_transitions: ClassVar[bool] = False
    """Whether it learns from nothing but transitions and visits, so that each update is foreseen.

    Then a run is charged by the expected bound after the update, and worlds must answer with
    transitions.
    """

    evaluator: ClassVar[str] = "union"
    """How `work_together` knows its bounds: a code of `words.EVALUATORS`.

    It is ``"path"`` in a class that overrides `all_work` or `work_together` and does not set it.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls)
        if "evaluator" not in own and ("all_work" in own or "work_together" in own):
            cls.evaluator = "path"

    @abstractmethod
    def mean(self) -> Model:
        """Return the mean model: p = E[P] and r = E[R]."""

    @abstractmethod
    def update(self, observation: Any) -> Self:
        """Return the belief after an observation.

        Raise `InvalidBeliefError` for an observation of an unknown type, and
        `ImpossibleObservationError` for one that no world allows.
        """

    @abstractmethod
    def sample(self, rng: np.random.Generator) -> Model:
        """Return one model drawn from the belief."""

    def absorb(self, observation: Any) -> tuple[Self, IntArray | None]:
        """Learn from an observation, in place where the belief can.

        Return the belief, and the states [n], ascending, where `mean`, `blocked_probability` or the
        bounds of some action may differ from before; None if they may differ anywhere. `self` must
        not be used afterwards.
        """
        return self.update(observation), None

    def is_contradicted(self) -> bool:
        """Return whether some outcome that it learned from is surely impossible by all else.

        That an outcome is so improbable by what was measured later may happen with a probability of
        at most `refutation.SURELY_NOT`. The default is False: `update` raises.
        """
        return False

    def copy(self) -> Self:
        """Return a belief that `absorb` on this one does not change.

        That is `self` for beliefs whose `absorb` never writes in place.
        """
        return self

    # Corrections

    def correction(self) -> FloatArray:
        """Return the general correction σ [S, A] (the paper's Theorem 2), or a lower bound on it.

        It is σ[s, a] = Σ_t E[min(0, P[s, a, t] − p[s, a, t])].
        """
        model = self.mean()
        if isinstance(model, Moves):
            spread = model.success * (model.success - 1.0)
            return np.where(changes_state(model.dest), 2.0 * spread, 0.0)
        rows = model.transitions.copy()
        rows.data = rows.data * (rows.data - 1.0)
        return np.asarray(rows.sum(axis=1), np.float64).reshape(model.states, model.actions)

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        """Return the moves corrections (returning, exploring), each [S, A], for discount γ."""
        model = self._moves()
        low, high = self.success_bounds()
        if self.moves_work_or_never:
            return moves_corrections(model.dest, low, high, discount)
        return -model.success * self.blocked_probability(), self.correction()

    # Moves

    @property
    def moves_work_or_never(self) -> bool:
        """Whether in each world every move to another state always or never works."""
        return False

    def success_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds (low, high), each [S, A], on E[P]; the success of `mean` is `low`.

        They may differ only if moves always or never work.
        """
        success = self._moves().success
        return success, success

    def blocked_probability(self) -> FloatArray:
        """Return Pr(P = 0) [S, A] or an upper bound on it, where P is the success of a move.

        It is 0 for a move whose destination is its own state.
        """
        return np.where(changes_state(self._moves().dest), 1.0 - self.success_bounds()[0], 0.0)

    def least_blocked(self) -> tuple[IntArray, FloatArray]:
        """Return moves [m] whose `blocked_probability` is not exact, and lower bounds on Pr(P = 0).

        Moves are numbers state·A + action, ascending.
        """
        model, likely = self._moves(), self.success_bounds()[1]
        never = 1.0 - likely if self.moves_work_or_never else np.where(likely <= 0.0, 1.0, 0.0)
        least = np.where(changes_state(model.dest), never, 0.0).ravel()
        moves = np.flatnonzero(least != self.blocked_probability().ravel())
        return moves, least[moves]

    def all_work(self, state: IntArray, action: IntArray) -> tuple[float, float]:
        """Return bounds (low, high) on the probability that all moves [n] work.

        Override this method to make bounds on ways home and on plans sharper.
        """
        blocked = self.blocked_probability()
        risk = blocked[state, action]
        most, moves = risk.copy(), state * blocked.shape[1] + action
        bounded, least = self.least_blocked()
        apart = are_among(bounded, moves)
        most[apart] = least[np.searchsorted(bounded, moves[apart])]
        low = 1.0 - float(risk.sum()) * (1.0 + len(risk) * EPSILON)
        return max(0.0, low), 1.0 - float(most.max(initial=0.0))

    def work_together(self, sets: MoveSets) -> Together:
        """Return bounds on the probability that all moves of each set work."""
        low, high = np.empty((2, len(sets.first) - 1))
        for i in range(len(low)):
            at = slice(sets.first[i], sets.first[i + 1])
            low[i], high[i] = self.all_work(sets.state[at], sets.action[at])
        return Together(low, high, self.evaluator)

    def lost_by_adding(self, sets: MoveSets) -> float:
        """Return an upper bound on Pr(all of set 0 work) − Pr(all of set 1 work)."""
        bounds = self.work_together(sets)
        return max(0.0, float(bounds.high[0] - bounds.low[1]))

    # Rewards, observations and counts

    def reward_limits(self) -> tuple[float, float] | None:
        """Return the least and the greatest finite reward of any world; None if unknown."""
        return None

    visited: Any = Uncounted()
    """Mask [S] of the states that were visited; for count-based bonuses."""

    counts: Any = Uncounted()
    """Number of observations [S, A] of each state-action; for count-based bonuses."""

    def teaches(self, state: int, action: int) -> bool:
        """Return whether the belief learns from transitions of a state-action."""
        return True

    def lesson(self, state: int, action: int, next_state: int) -> Hashable:
        """Return what is learned from a transition; equal lessons lead to equal mean models."""
        return state, action, next_state

    def possible_walls(self) -> BoolArray:
        """Return the mask [S] of states that are walls in some worlds and not in others.

        In the mean model, the actions of such a state are those of a state that is not a wall.
        """
        return np.zeros(self.mean().states, np.bool_)

    def _moves(self) -> Moves:
        """Return the mean model; raise unless it is a move-or-stay model."""
        model = self.mean()
        if not isinstance(model, Moves):
            raise InvalidBeliefError(
                "the moves correction needs a belief over move-or-stay models; "
                f"{type(self).__name__} has a {type(model).__name__} as its mean"
            )
        return model


class InPlaceBelief(Belief):
    """A belief over a large map: it learns in place, and `update` is copy and absorb."""

    @abstractmethod
    def copy(self) -> Self:
        """Return a belief with arrays of its own."""

    @abstractmethod
    def _absorb(self, observation: Any) -> IntArray | None:
        """Learn from one observation in place; return the changed states, as `absorb` does.

        If it raises, the belief is as it was.
        """

    def absorb(self, observation: Any) -> tuple[Self, IntArray | None]:
        """Learn in place from an observation, or from a list of them; see `Belief.absorb`."""
        return self._absorb_each(observation)

    def update(self, observation: Any) -> Self:
        """Return the belief after an observation, or after a list of them."""
        return self.copy()._absorb_each(observation)[0]

    def _absorb_each(self, observation: Any) -> tuple[Self, IntArray | None]:
        if not isinstance(observation, tuple | list):
            return self, self._absorb(observation)
        after = self.copy()
        changed: IntArray | None = NO_MOVES
        for part in observation:
            after, states = after._absorb_each(part)
            changed = None if changed is None or states is None else np.union1d(changed, states)
        return after, changed

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "update" in vars(cls) and "absorb" not in vars(cls):
            # What a subclass learns is what its `update` says.
            cls.absorb = Belief.absorb  # type: ignore[method-assign]


def need_belief(found: object) -> Belief:
    """Return an object if it is a belief; raise otherwise."""
    if isinstance(found, Belief):
        return found
    kind = f"the class {found.__name__}" if isinstance(found, type) else type(found).__name__
    raise InvalidProblemError(
        f"the belief is {kind}, expected an object of a subclass of homeward.Belief"
    )


def need_generator(rng: object) -> np.random.Generator:
    """Return a random generator; raise if it is none."""
    if isinstance(rng, np.random.Generator):
        return rng
    raise InvalidProblemError(
        f"the source of random numbers is {rng!r}, expected numpy.random.default_rng(seed)"
    )


def mean_of(belief: object) -> Model:
    """Return the mean model of a belief; raise unless it is a model."""
    model = need_belief(belief).mean()
    if not isinstance(model, Moves | SparseMDP):
        raise InvalidBeliefError(
            f"{type(belief).__name__}.mean() returned a {type(model).__name__}, expected Moves or "
            "SparseMDP"
        )
    return model


def updated(belief: B, observation: Any) -> B:
    """Return the belief after an observation; raise unless it is a belief."""
    return need_updated(belief, belief.update(observation))


def need_updated(belief: B, after: Any) -> B:
    """Return the belief `after` an observation; raise unless it is a belief."""
    if isinstance(after, Belief):
        return after  # type: ignore[return-value]
    raise InvalidBeliefError(
        f"{type(belief).__name__}.update() returned a {type(after).__name__}, expected the "
        "belief after the observation"
    )


def claim_of_moves(belief: Belief) -> str | None:
    """Return the name of a method that a belief overrides to claim something of moves, if any."""
    for name, given in (("blocked_probability", ()), ("move_corrections", (0.5,))):
        try:
            getattr(belief, name)(*given)
        except InvalidBeliefError:  # the belief itself says that it knows nothing of moves
            continue
        return name
    return None


def corrections_of(
    belief: Belief, model: Model, discount: float, kind: Correction | None = None
) -> Corrections:
    """Return the corrections of a belief with mean `model` for discount γ.

    The default `kind` is the tightest that applies.
    """
    if kind is None:
        kind = Correction.MOVES if isinstance(model, Moves) else Correction.GENERAL
    if kind is Correction.NAIVE:
        nothing = np.zeros((model.states, model.actions))
        return Corrections(kind, nothing, nothing)
    if kind is Correction.GENERAL:
        general = claimed(belief, "correction", belief.correction(), model)
        return Corrections(kind, general, general)
    returning, exploring = (
        claimed(belief, "move_corrections", part, model)
        for part in belief.move_corrections(discount)
    )
    low, high = belief.success_bounds()
    likely = None if low is high else high
    return Corrections(kind, returning, exploring, belief.moves_work_or_never, likely)


def claimed(belief: Belief, method: str, values: Any, model: Model) -> FloatArray:
    """Return what a method of a belief returned; raise unless it is numbers [S, A]."""
    name, shape = f"{type(belief).__name__}.{method}()", (model.states, model.actions)
    array = numbers(values, name, shape, InvalidBeliefError)
    if np.isnan(array.min()):
        raise InvalidBeliefError(f"{name} {place(first_of(np.isnan(array)), 'sa')} is NaN")
    return frozen(array)
