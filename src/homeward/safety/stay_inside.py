"""The criterion `StayInside`: stay inside a set until the recall with probability at least δ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from homeward.arrays import BoolArray, FloatArray, named_index, own
from homeward.beliefs.corrections import Correction, stay_moves
from homeward.errors import InvalidProblemError
from homeward.models import Model, Moves
from homeward.safety.criterion import Requirement, Situation, check_level


@dataclass(frozen=True, slots=True, eq=False)
class StayInside:
    """Before the recall, only actions in a set are taken, with probability at least δ.

    Arriving in a state does not leave the set; taking an action that is not in the set does. After
    the recall, the return policy may take any action.

    Parameters
    ----------
    allowed : [S] or [S, A] mask of the set's states or state-actions, or the names of its states
    delta : The safety level, 0 < δ ≤ 1
    """

    allowed: BoolArray | Sequence[str]
    delta: float

    def __post_init__(self) -> None:
        check_level(self.delta)
        names: tuple[object, ...] = ()
        if isinstance(self.allowed, Iterable) and not isinstance(self.allowed, np.ndarray | str):
            names = tuple(self.allowed)
        if names and all(isinstance(name, str) for name in names):
            object.__setattr__(self, "allowed", names)
            return
        try:
            given = np.asarray(self.allowed)
        except ValueError as cause:
            raise InvalidProblemError(f"the set to stay inside is not an array: {cause}") from cause
        if given.dtype != np.bool_ or given.ndim not in (1, 2):
            raise InvalidProblemError(
                f"the set to stay inside is {given.dtype} of shape {given.shape}, "
                "expected booleans [S] or [S, A]"
            )
        if not given.any():
            raise InvalidProblemError("the set to stay inside is empty")
        object.__setattr__(self, "allowed", own(given, self.allowed))

    @property
    def name(self) -> str:
        """The name of the criterion, with the size of the set."""
        by_name = isinstance(self.allowed, tuple)
        count = len(set(self.allowed)) if by_name else int(np.count_nonzero(self.allowed))
        by_action = not by_name and np.ndim(self.allowed) == 2
        what = f"state{'-action' * by_action}{'s' * (count != 1)}"
        return f"stay inside the set of {count} {what}"

    def mask(self, model: Model) -> BoolArray:
        """Return the mask [S, A] of the set; raise if the model has no such states or shape."""
        error, shape = InvalidProblemError, (model.states, model.actions)
        if isinstance(self.allowed, tuple):
            given = np.zeros(model.states, np.bool_)
            for name in self.allowed:
                what = "a state of the set to stay inside"
                given[named_index(name, model.state_names, model.states, what, error)] = True
        else:
            given = np.asarray(self.allowed)
        if given.shape != shape[: given.ndim]:
            raise error(
                f"the set to stay inside has shape {given.shape}, expected {shape[:1]} or {shape}"
            )
        return np.broadcast_to(given if given.ndim == 2 else given[:, None], shape)

    def surely_inside(self, model: Model) -> BoolArray:
        """Return the mask [S, A] of actions that surely lead to a state with an action in the set.

        The actions themselves are in the set too.
        """
        allowed = self.mask(model)
        inside: BoolArray = np.any(allowed, axis=1)
        if isinstance(model, Moves):
            return allowed & inside[model.dest]
        leaves: FloatArray = model.transitions @ (~inside).astype(np.float64)
        return allowed & (leaves.reshape(allowed.shape) <= 0.0)

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the requirement: its total bounds the probability of staying inside from below."""
        model, corrections = situation.model, situation.corrections
        allowed = self.mask(model)
        here = allowed[situation.state] & np.isfinite(model.reward[situation.state])
        if not here.any():
            raise InvalidProblemError(
                f"{model.state_name(situation.state)} is outside the set to stay inside: "
                "the set has no action there"
            )
        sigma = corrections.exploring
        if situation.steps is None and corrections.kind is Correction.MOVES:
            sigma = 0.5 * corrections.exploring
            if corrections.work_or_never and isinstance(model, Moves):
                likely = model.success if corrections.likely is None else corrections.likely
                sigma = stay_moves(model.dest, model.success, likely, situation.discount)
        sure = np.ones(model.states)
        reward, final = situation.recall_reward(sure, sigma, out)
        return Requirement(
            self.name, self.delta, reward, worth=sure, allowed=allowed, final=final, kind="stay"
        )
