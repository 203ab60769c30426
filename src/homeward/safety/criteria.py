"""Criteria: what must stay true while exploring.

A criterion turns the mean model and its corrections into one linear requirement on the way out:
a reward [S, A] whose discounted total, from the current state, is a lower bound on the probability
that the criterion holds (or on what is earned), and the level that it must keep. The proofs are in
``docs/theory.md``; any number of criteria, of any kinds and levels, hold at once.

With recall at a fixed step n (`AtStep`) the reward is collected for n steps without discount, and
``final`` [S] is added where they end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from homeward.arrays import floats, indices, number, own, place
from homeward.beliefs.corrections import Correction, stay_moves
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.safety.kernels import earn, recall
from homeward.solvers import (
    GIVE_UP,
    ReturnSolution,
    Status,
    solve_return,
    solve_return_within,
)

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.beliefs.corrections import Corrections
    from homeward.models import Model

Home = Literal["current", "start"] | int | Sequence[int] | np.ndarray
"""Where to return to: the current state, the run's start, or given states of which any will do."""


@dataclass(frozen=True, slots=True)
class AtStep:
    """Recall at a fixed step: exploration goes on for exactly so many steps."""

    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _horizon(self.steps, "the recall"))


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """All that a criterion may look at: where we are and what the mean model says."""

    model: Model  # the mean
    corrections: Corrections
    discount: float
    state: int
    start: int
    general: Callable[[], FloatArray] | None = None  # Theorem 2's σ [S, A], where it can be had
    limits: Callable[[], tuple[float, float] | None] | None = None  # what worlds pay, if known
    steps: int | None = None  # until recall, if that is fixed

    def __post_init__(self) -> None:
        if self.steps is not None:
            room = self.steps * self.model.states * BYTES
            if room > MOST_BYTES:
                raise InvalidProblemError(
                    f"a recall after {self.steps:,} steps over {self.model.states:,} states takes "
                    f"{room:,} bytes for each policy, expected {MOST_BYTES:,} at most"
                )


BYTES = 12
"""What a step in a state takes where the recall is at a fixed step: an action and a value."""

MOST_BYTES = 2**32
"""What a policy over a fixed number of steps may take."""

LONGEST = 2**31 - 1
"""Steps of the longest horizon."""


@dataclass(frozen=True, slots=True, eq=False)
class Requirement:
    """A criterion made concrete: a floor on a total, and the way home behind it, if there is one.

    What is proven is ``least + unit·total``, and the level is in that measure.
    """

    name: str
    level: float
    reward: FloatArray  # [S, A] finite; its discounted total bounds the truth from below
    home: IntArray  # [n] what counts as home; nothing where no way home is asked for
    returns: ReturnSolution  # the way home, from every state; then none
    worth: FloatArray | None = None  # [S] or [S, A] of the reward, what no outcome can take away
    allowed: BoolArray | None = None  # [S, A] to be left at most with probability 1 − level
    least: float = 0.0
    unit: float = 1.0
    final: FloatArray | None = None  # [S] what a fixed recall there is worth, if there is one
    within: int | None = None  # steps that the way home may take
    kind: Literal["return", "stay", "earn"] = "return"


class Criterion(Protocol):
    """What must stay true, and at which level."""

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """State the criterion as a requirement on the way out; its reward goes to `out` [S, A]."""
        ...


@dataclass(frozen=True, slots=True)
class ReturnHome:
    """If exploration is called off, a way home exists that works with probability δ.

    Home is the run's ``"start"``, or given states of which any will do, or the ``"current"`` state,
    set anew at each plan as in the paper's Algorithm 1. A single plan promises it for a call that
    comes at any step with probability 1 − γ; an `Explorer` for the whole run.
    """

    delta: float
    home: Home = "start"

    def __post_init__(self) -> None:
        _check_level(self.delta)
        _check_home(self.home)

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Bound the probability of being out at recall and home afterwards."""
        home = _states(self.home, situation)
        returns = solve_return(situation.model, situation.corrections.returning, home)
        name = f"return to {_places(home, situation)}"
        return _returning(name, self.delta, situation, home, returns, out)


@dataclass(frozen=True, slots=True)
class ReturnWithin:
    """If exploration is called off, home is reached within so many steps with probability δ.

    Every attempt counts as a step. Home is as in `ReturnHome`.
    """

    steps: int
    delta: float
    home: Home = "start"

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _horizon(self.steps, "the return"))
        _check_level(self.delta)
        _check_home(self.home)

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Bound the probability of being out at recall and home so many steps later."""
        home = _states(self.home, situation)
        model, corrections = situation.model, situation.corrections
        sigma: FloatArray | None = corrections.returning
        at_once = corrections.kind is Correction.MOVES and isinstance(model, Moves)
        if at_once:  # the moves correction repeats an attempt without end: not for us
            general = None if corrections.work_or_never else situation.general
            sigma = None if general is None else general()
        returns = solve_return_within(model, self.steps, home, sigma, at_once=at_once)
        many = "step" if self.steps == 1 else "steps"
        name = f"return to {_places(home, situation)} within {self.steps} {many}"
        return _returning(name, self.delta, situation, home, returns, out, self.steps)


@dataclass(frozen=True, slots=True, eq=False)
class StayInside:
    """Before exploration is called off, nothing outside a set is done, with probability δ.

    `allowed` [S] or [S, A] says which states, or what in them, belongs to the set. To be in a state
    is not to leave it; to act there otherwise than the set allows is. The way home, after the
    call, is not asked about.
    """

    allowed: BoolArray
    delta: float

    def __post_init__(self) -> None:
        _check_level(self.delta)
        try:
            given = np.asarray(self.allowed)
        except ValueError as cause:
            raise InvalidProblemError(f"the set to stay inside is no array: {cause}") from cause
        if given.dtype != np.bool_ or given.ndim not in (1, 2):
            raise InvalidProblemError(
                f"the set to stay inside is {given.dtype} of shape {given.shape}, "
                "expected booleans [S] or [S, A]"
            )
        if not given.any():
            raise InvalidProblemError("the set to stay inside is empty")
        object.__setattr__(self, "allowed", own(given, self.allowed))

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Bound the probability of no step outside the set before recall."""
        model, corrections = situation.model, situation.corrections
        shape = (model.states, model.actions)
        if self.allowed.shape != shape[: self.allowed.ndim]:
            raise InvalidProblemError(
                f"the set to stay inside has shape {self.allowed.shape}, expected "
                f"{shape[:1]} or {shape}"
            )
        given = self.allowed if self.allowed.ndim == 2 else self.allowed[:, None]
        allowed: BoolArray = np.broadcast_to(given, shape)
        here = allowed[situation.state] & np.isfinite(model.reward[situation.state])
        if not here.any():
            raise InvalidProblemError(
                f"{_place(situation.state, situation)} is outside the set to stay inside: "
                "no action there is in it"
            )
        reward = np.empty(shape) if out is None else out
        sigma = corrections.exploring
        if situation.steps is None and corrections.kind is Correction.MOVES:
            sigma = 0.5 * corrections.exploring
            if corrections.work_or_never and isinstance(model, Moves):
                likely = model.success if corrections.likely is None else corrections.likely
                sigma = stay_moves(model.dest, model.success, likely, situation.discount)
        sure = np.ones(model.states)
        final = _collect(situation, sure, sigma, reward)
        count = int(np.count_nonzero(allowed))
        what = "state-action" if self.allowed.ndim == 2 else "state"
        if self.allowed.ndim == 1:
            count //= model.actions
        name = f"stay inside the set of {count} {what}{'s' * (count != 1)}"
        return Requirement(
            name,
            self.delta,
            reward,
            *_nowhere(model),
            worth=sure,
            allowed=allowed,
            final=final,
            kind="stay",
        )


@dataclass(frozen=True, slots=True, eq=False)
class EarnAtLeast:
    """The expected total of rewards, discounted by γ and over the belief, is at least `total`.

    `rewards` [S, A] are known and the same in all worlds. Without them, the belief's own are
    counted, which may differ from world to world: then `limits` are the least and the greatest
    that any world may pay. A `FiniteBelief` and a `DirichletBelief` know theirs.
    """

    total: float
    rewards: FloatArray | None = None
    limits: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        error = InvalidProblemError
        if not np.isfinite(number(self.total, "the total to earn", error)):
            raise error(f"the total to earn is {self.total:g}, expected a finite number")
        if self.rewards is not None:
            rewards = floats(self.rewards, "the rewards to earn", None, error)
            if rewards.ndim != 2:
                raise error(f"the rewards to earn have shape {rewards.shape}, expected [S, A]")
            if not np.isfinite(rewards).all():
                at = tuple(int(i) for i in np.argwhere(~np.isfinite(rewards))[0])
                raise error(f"the reward to earn {place(at, 'sa')} is {rewards[at]:g}")
            if self.limits is not None:
                raise error("limits are for rewards that the belief knows, not for given ones")
            object.__setattr__(self, "rewards", rewards)
        if self.limits is not None:
            if not isinstance(self.limits, tuple | list) or len(self.limits) != 2:
                raise error(f"the limits are {self.limits!r}, expected (least, greatest)")
            low, high = (number(limit, "a limit of the rewards", error) for limit in self.limits)
            if not -np.inf < low <= high < np.inf:
                raise error(f"the limits are ({low:g}, {high:g}), expected least <= greatest")
            object.__setattr__(self, "limits", (low, high))

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Bound what is earned until recall."""
        model, corrections = situation.model, situation.corrections
        shape = (model.states, model.actions)
        usable = np.isfinite(model.reward)
        rewards: FloatArray = model.reward if self.rewards is None else self.rewards
        if rewards.shape != shape:
            raise InvalidProblemError(
                f"the rewards to earn have shape {rewards.shape}, expected {shape}"
            )
        paid = rewards[usable]
        low, high = float(paid.min()), float(paid.max())
        if self.rewards is None:
            known = None if situation.limits is None else situation.limits()
            limits = known if self.limits is None else self.limits
            if limits is not None and known is not None:
                if known[0] < limits[0] or known[1] > limits[1]:
                    raise InvalidProblemError(
                        f"the belief's worlds pay from {known[0]:g} to {known[1]:g}, outside the "
                        f"limits ({limits[0]:g}, {limits[1]:g})"
                    )
            elif limits is None:
                raise InvalidProblemError(
                    "the belief does not say what its worlds pay at least and at most: "
                    "give EarnAtLeast the rewards, or limits=(least, greatest)"
                )
            slack = 1e-12 * max(abs(low), abs(high))  # a mean is rounded
            if low < limits[0] - slack or high > limits[1] + slack:
                raise InvalidProblemError(
                    f"the mean rewards lie between {low:g} and {high:g}, outside the limits "
                    f"({limits[0]:g}, {limits[1]:g})"
                )
            low, high = limits
        if not isinstance(model, Moves):
            low = min(low, 0.0)  # where the process may end, nothing more is earned
        span = high - low
        sigma = corrections.exploring if span > 0.0 else np.zeros(shape)
        unit = span if span > 0.0 else 1.0
        worth = np.where(usable, np.clip((rewards - low) / unit, 0.0, 1.0), 0.0)
        reward = np.empty(shape) if out is None else out
        final = None
        if situation.steps is None:
            long = 1.0 / (1.0 - situation.discount)
            earn(worth, sigma, situation.discount, reward)
        else:
            long = float(situation.steps)
            np.add(worth / long, sigma, out=reward)
            final = np.zeros(model.states)
        return Requirement(
            f"earn a total of {self.total:g}",
            float(self.total),
            reward,
            *_nowhere(model),
            worth=worth,
            least=low * long,
            unit=unit * long,
            final=final,
            kind="earn",
        )


def return_to_each(
    bases: Sequence[int] | IntArray, delta: float, within: int | None = None
) -> list[ReturnHome | ReturnWithin]:
    """Give one criterion per base: a way to every one of them, each with probability δ.

    For a way to any of them, give `ReturnHome` the list. `within` limits the steps.
    """
    given = _list(bases, "the bases")
    if given.size == 0:
        raise InvalidProblemError("there are no bases")
    if within is None:
        return [ReturnHome(delta, int(base)) for base in given]
    return [ReturnWithin(within, delta, int(base)) for base in given]


def _returning(
    name: str,
    delta: float,
    situation: Situation,
    home: IntArray,
    returns: ReturnSolution,
    out: FloatArray | None,
    within: int | None = None,
) -> Requirement:
    """Require a way home."""
    exploring = situation.corrections.exploring
    reward = np.empty(exploring.shape) if out is None else out
    final = _collect(situation, returns.value, exploring, reward)
    return Requirement(
        name, delta, reward, home, returns, returns.value, final=final, within=within
    )


def _nowhere(model: Model) -> tuple[IntArray, ReturnSolution]:
    """Give no home and no way there."""
    policy = np.full(model.states, GIVE_UP, np.int32)
    nothing = ReturnSolution(np.zeros(model.states), policy, 0.0, Status.OPTIMAL, 0)
    return np.empty(0, np.int32), nothing


def _collect(
    situation: Situation, value: FloatArray, sigma: FloatArray, reward: FloatArray
) -> FloatArray | None:
    """Write what a step collects of what a recall is worth [S]; give what is left for the end."""
    if situation.steps is None:
        recall(sigma, value, situation.discount, reward)
        return None
    reward[:] = sigma
    return value


def _check_level(delta: object) -> None:
    if not 0.0 < number(delta, "δ", InvalidProblemError) <= 1.0:
        raise InvalidProblemError(f"δ is {delta:g}, expected 0 < δ <= 1")


def _check_home(home: Any) -> None:
    if isinstance(home, str) and home not in ("current", "start"):
        raise InvalidProblemError(f"home is {home!r}, expected 'current', 'start' or states")


def _horizon(steps: object, what: str) -> int:
    """Check a number of steps."""
    if isinstance(steps, bool | np.bool_) or not isinstance(steps, Integral):
        raise InvalidProblemError(f"{what} has a horizon of {steps!r}, expected whole steps")
    if int(steps) < 1:
        raise InvalidProblemError(
            f"{what} has a horizon of {int(steps)} steps, expected at least 1"
        )
    if int(steps) > LONGEST:
        raise InvalidProblemError(
            f"{what} has a horizon of {int(steps)} steps, expected at most {LONGEST}"
        )
    return int(steps)


def _states(home: ArrayLike, situation: Situation) -> IntArray:
    """Give the states that count as home, in order."""
    if isinstance(home, str):
        state = situation.state if home == "current" else situation.start
        return np.array([state], np.int32)
    given = _list(home, "home")
    if given.size == 0:
        raise InvalidProblemError("home is an empty set of states")
    states = (0, situation.model.states)
    return np.unique(indices(given, "home", None, states, "n", InvalidProblemError))


def _list(states: ArrayLike, what: str) -> IntArray:
    """Give state numbers [n], of which there may be none; they may be out of range."""
    try:
        given = np.atleast_1d(np.asarray(states))
    except ValueError as cause:
        raise InvalidProblemError(f"{what}: {states!r} are no state numbers") from cause
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InvalidProblemError(f"{what}: {states!r} is not a state number, nor several")
    return given


def _place(state: int, situation: Situation) -> str:
    names = situation.model.state_names
    return names[state] if names else f"state {state}"


def _places(home: IntArray, situation: Situation) -> str:
    return ", ".join(_place(int(h), situation) for h in home)


__all__ = [
    "AtStep",
    "Criterion",
    "EarnAtLeast",
    "Home",
    "Requirement",
    "ReturnHome",
    "ReturnWithin",
    "Situation",
    "StayInside",
    "return_to_each",
]
