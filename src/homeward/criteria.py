"""The three safety criteria: `ReturnHome`, `StayInside` and `EarnAtLeast`.

A criterion says what must hold, and at which level. For one plan it becomes a linear requirement: a
reward [S, A] whose total from the current state is a lower bound on the probability (or on the
earnings) that the criterion asks for. The total is discounted; with a recall after n steps it is
the sum over n steps plus `final` in the state after them. The proofs are in ``docs/theory.md``.

Read next: `planning.algorithm1` plans with requirements, `planning.explorer` keeps criteria over a
run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np

from homeward.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    first_of,
    floats,
    named_index,
    number,
    numbers,
    own,
    place,
    set_fields,
    unless_given,
)
from homeward.beliefs.corrections import Correction, Corrections, stay_moves
from homeward.errors import InvalidProblemError
from homeward.models import Model, Moves
from homeward.solvers import GIVE_UP, ReturnSolution, Status, solve_return, solve_return_within

MAX_STEPS = 2**31 - 1  # largest number of steps of a horizon

Home = Literal["current", "start"] | int | str | Sequence[int | str] | np.ndarray
"""The run's start, the current state, a state, or any one of several states.

States are given by number or name. A state that is named "start" or "current" needs a list.
"""


class Limit(NamedTuple):
    """A total amount that a run may use, such as metres or watt-hours.

    Attributes
    ----------
    amount : The total amount, above 0
    unit : The unit of the amount, such as m
    use : [S, A] amount that an attempt uses if it works, at least 0
    lost : [S, A] amount that an attempt uses if it fails, at least 0. For actions that stay, it is
        the amount that they use.
    """

    amount: float
    unit: str
    use: FloatArray
    lost: FloatArray


class Criterion(ABC):
    """Base of the three criteria: what must stay true, and at which level."""

    __slots__ = ()

    @abstractmethod
    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the criterion as a linear requirement; its reward is written to `out` [S, A]."""

    def permits(self, model: Model, state: int) -> bool:
        """Return whether a plan may start in `state`."""
        return True


@dataclass(frozen=True, slots=True)
class ReturnHome(Criterion):
    """After the recall, a return policy reaches home with probability at least δ.

    A single plan guarantees δ for a recall that comes at each step with probability 1 − γ. An
    `Explorer` guarantees δ for a recall at any step of the whole run.

    Parameters
    ----------
    delta : The safety level, 0 < δ ≤ 1
    home : The run's ``"start"``, a state, any one of several states, or the ``"current"`` state of
        each plan as in the paper's Algorithm 1
    within : Largest number of steps of a return, where every attempt counts; None for any number
    limits : Amounts that the whole run may use, the way home included, each a `Limit`. At every
        step of a run, what was used so far plus what the way home uses is within each limit.
    """

    delta: float
    home: Home = "start"
    within: int | None = None
    limits: Sequence[Limit] = ()

    def __post_init__(self) -> None:
        check_level(self.delta)
        if self.within is not None:
            object.__setattr__(self, "within", check_steps(self.within, "the return"))
        if isinstance(self.limits, Limit):
            raise InvalidProblemError("limits is one Limit, expected a list of them")
        object.__setattr__(self, "limits", tuple(self.limits))
        for limit in self.limits:
            _check_limit(limit)

    @property
    def described(self) -> str:
        """What the return is limited to, such as "8 steps and 500 m in all"; "" without limits."""
        steps = [] if self.within is None else [f"{self.within} step{'s' * (self.within != 1)}"]
        return " and ".join([*steps, *(f"{x.amount:g} {x.unit} in all" for x in self.limits)])

    def name(self, model: Model, start: int) -> str:
        """Return what is required, in words; `start` is the first state of the run."""
        homes = home_states(self.home, model, start).tolist()
        named = f"return to {', '.join(model.state_name(home) for home in homes)}"
        return f"{named} within {self.described}" if self.described else named

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the requirement: its total bounds the probability of reaching home from below."""
        if self.limits:
            raise InvalidProblemError("limits are kept over a whole run: use Explorer")
        model, corrections = situation.model, situation.corrections
        current = isinstance(self.home, str) and self.home == "current"
        home = home_states(situation.state if current else self.home, model, situation.start)
        if self.within is None:
            returns = solve_return(model, corrections.returning, home)
        else:
            sigma: FloatArray | None = corrections.returning
            at_once = corrections.kind is Correction.MOVES and isinstance(model, Moves)
            if at_once:  # the moves correction does not apply: it assumes unlimited attempts
                general = None if corrections.work_or_never else situation.general
                sigma = None if general is None else general()
            returns = solve_return_within(model, self.within, home, sigma, at_once=at_once)
        reward = situation.reward(returns.value, corrections.exploring, out)
        name = replace(self, home=home).name(model, situation.start)
        given = name, self.delta, reward, returns.value, home, returns, self.within
        return Requirement("return", *given)


@dataclass(frozen=True, slots=True, eq=False)
class StayInside(Criterion):
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
        if not isinstance(self.allowed, np.ndarray | str) and isinstance(self.allowed, Iterable):
            names: tuple[object, ...] = tuple(self.allowed)
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
        what = f"state{'-action' * (np.ndim(self.allowed) == 2)}{'s' * (count != 1)}"
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

    def permits(self, model: Model, state: int) -> bool:
        """Return whether the set has an action in `state` that can be chosen."""
        return bool((self.mask(model)[state] & np.isfinite(model.reward[state])).any())

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
        if not self.permits(model, situation.state):
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
        reward = situation.reward(sure, sigma, out)
        return Requirement("stay", self.name, self.delta, reward, sure, allowed=allowed)


@dataclass(frozen=True, slots=True, eq=False)
class EarnAtLeast(Criterion):
    """The expected total of rewards, discounted by γ, is at least `total` under the belief.

    `rewards` [S, A] are the same in all worlds. If they are None, the rewards of the belief's
    worlds count, which may differ between worlds; `limits` are then the least and the greatest
    reward of any world. A `FiniteBelief` and a `DirichletBelief` know their limits.
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
                at = first_of(~np.isfinite(rewards))
                raise error(
                    f"the reward to earn {place(at, 'sa')} is {rewards[at]:g}, expected a finite "
                    "number"
                )
            if self.limits is not None:
                raise error("rewards and limits can't both be given: limits are for rewards=None")
            object.__setattr__(self, "rewards", rewards)
        if self.limits is not None:
            if not isinstance(self.limits, tuple | list) or len(self.limits) != 2:
                raise error(f"the limits are {self.limits!r}, expected (least, greatest)")
            low, high = (number(limit, "a limit of the rewards", error) for limit in self.limits)
            if not -np.inf < low <= high < np.inf:
                raise error(f"the limits are ({low:g}, {high:g}), expected least <= greatest")
            object.__setattr__(self, "limits", (low, high))

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the requirement: its total is a lower bound on the earnings until the recall."""
        model, corrections = situation.model, situation.corrections
        shape = (model.states, model.actions)
        usable = np.isfinite(model.reward)
        rewards: FloatArray = model.reward if self.rewards is None else self.rewards
        if rewards.shape != shape:
            raise InvalidProblemError(
                f"the rewards to earn have shape {rewards.shape}, expected {shape}"
            )
        low, high = float(rewards[usable].min()), float(rewards[usable].max())
        if self.rewards is None:
            low, high = self._limits(situation, low, high)
        if not isinstance(model, Moves):
            low = min(low, 0.0)  # after the process ends, the reward is 0
        span = high - low
        sigma = corrections.exploring if span > 0.0 else np.zeros(shape)
        unit = span if span > 0.0 else 1.0
        worth = np.where(usable, np.clip((rewards - low) / unit, 0.0, 1.0), 0.0)
        reward = situation.reward(worth, sigma, out)
        long, name = situation.span, f"earn a total of {self.total:g}"
        given, least, unit = (name, float(self.total), reward, worth), low * long, unit * long
        return Requirement("earn", *given, least=least, unit=unit, rewards=self.rewards)

    def _limits(self, situation: Situation, low: float, high: float) -> tuple[float, float]:
        """Return the least and the greatest reward of any world.

        Raise if the least and the greatest reward of the mean model, `low` and `high`, are outside.
        """
        known = None if situation.limits is None else situation.limits()
        limits = known if self.limits is None else self.limits
        if limits is None:
            raise InvalidProblemError(
                "the belief does not know the limits of its rewards: "
                "give EarnAtLeast the argument rewards, or limits=(least, greatest)"
            )
        slack = 1e-12 * max(abs(low), abs(high))  # a mean is rounded
        for what, least, greatest, room in (
            ("the belief's worlds pay from {:g} to {:g}", *(known or limits), 0.0),
            ("the mean rewards lie between {:g} and {:g}", low, high, slack),
        ):
            if least < limits[0] - room or greatest > limits[1] + room:
                raise InvalidProblemError(
                    f"{what.format(least, greatest)}, outside the limits "
                    f"({limits[0]:g}, {limits[1]:g})"
                )
        return limits


@dataclass(frozen=True, slots=True, eq=False)
class Situation:
    """Where a plan is made: the current state, the mean model and its corrections.

    Attributes
    ----------
    model : The mean model
    corrections : The corrections σ: `returning` and `exploring`, each [S, A] and at most 0
    discount : γ, the probability that exploration goes on for another step
    state, start : The current state, and the first state of the run
    general : Function that returns the general correction σ [S, A]
    limits : Function that returns the least and the greatest reward of any world; None if unknown
    steps : Steps until the recall; None if the recall is random
    """

    model: Model
    corrections: Corrections
    discount: float
    state: int
    start: int
    general: Callable[[], FloatArray] | None = None
    limits: Callable[[], tuple[float, float] | None] | None = None
    steps: int | None = None

    @property
    def span(self) -> float:
        """The expected number of steps until the recall."""
        return 1.0 / (1.0 - self.discount) if self.steps is None else float(self.steps)

    def reward(self, worth: FloatArray, sigma: FloatArray, out: FloatArray | None) -> FloatArray:
        """Return the reward [S, A] of a criterion with `worth` and correction `sigma` [S, A].

        `worth` is the value of a recall in each state [S], or the reward of each action [S, A].
        With a random recall the reward is ``(1 − γ)·worth + γ·σ``. With a recall after n steps it
        is σ, plus 1/n of the reward of the action. The reward is written to `out`, if given.
        """
        reward = np.empty(sigma.shape) if out is None else out
        if self.steps is None:
            np.multiply(sigma, self.discount, out=reward)
            reward += (1.0 - self.discount) * (worth if worth.ndim == 2 else worth[:, None])
        elif worth.ndim == 2:
            np.add(worth / self.steps, sigma, out=reward)
        else:
            reward[:] = sigma
        return reward


@dataclass(frozen=True, slots=True, eq=False)
class Requirement:
    """A criterion in one situation: ``least + unit·(total of reward)`` is at least `level`.

    Attributes
    ----------
    kind : ``"return"``, ``"stay"`` or ``"earn"``
    name : What is required, in words
    level : The required probability or amount
    reward : [S, A] reward whose total, times `unit` plus `least`, is the lower bound
    worth : [S] value of a recall in each state; for ``"earn"``, [S, A] reward of each action,
        scaled to [0, 1]. The correction for exploring is not included.
    home, returns, within : States that are home, the return policy and its largest number of steps
    allowed : [S, A] mask of the set to stay inside
    least, unit : The bound is ``least + unit·total``
    rewards : [S, A] rewards to earn that are the same in all worlds
    """

    kind: Literal["return", "stay", "earn"]
    name: str
    level: float
    reward: FloatArray
    worth: FloatArray
    home: IntArray = unless_given()
    returns: ReturnSolution = unless_given()
    within: int | None = None
    allowed: BoolArray | None = None
    least: float = 0.0
    unit: float = 1.0
    rewards: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.home is None or self.returns is None:
            nowhere = np.zeros(len(self.reward)), np.full(len(self.reward), GIVE_UP, np.int32)
            returns = ReturnSolution(*nowhere, 0.0, Status.OPTIMAL, 0)
            set_fields(self, home=np.empty(0, np.int32), returns=returns)

    @property
    def final(self) -> FloatArray:
        """The value [S] of being in each state at a recall after a fixed number of steps."""
        return self.worth if self.worth.ndim == 1 else np.zeros(len(self.worth))

    def paid(self, discount: float, steps: int | None) -> FloatArray:
        """Return what an action [S, A] that leaves the set to stay inside still collects.

        A random recall may come before the action. One after n `steps` does not, but the action has
        its own reward.
        """
        worth: FloatArray = self.worth if self.worth.ndim == 2 else self.worth[:, None]
        if steps is None:
            worth = (1.0 - discount) * worth
        else:
            worth = worth / steps if self.worth.ndim == 2 else np.zeros((1, 1))
        result: FloatArray = np.broadcast_to(worth, self.reward.shape)
        return result


def check_level(delta: object) -> None:
    """Raise unless 0 < δ ≤ 1."""
    if not 0.0 < number(delta, "δ", InvalidProblemError) <= 1.0:
        raise InvalidProblemError(f"δ is {delta:g}, expected 0 < δ <= 1")


def check_steps(steps: object, what: str) -> int:
    """Return `steps` as int; raise unless it is a whole number from 1 to `MAX_STEPS`.

    `what` begins the message.
    """
    if isinstance(steps, bool | np.bool_) or not isinstance(steps, Integral):
        raise InvalidProblemError(f"{what} has a horizon of {steps!r}, expected a whole number")
    if not 1 <= int(steps) <= MAX_STEPS:
        limit = "least 1" if int(steps) < 1 else f"most {MAX_STEPS}"
        has = f"{what} has a horizon of {int(steps)} steps"
        raise InvalidProblemError(f"{has}, expected at {limit}")
    return int(steps)


def _check_limit(limit: Limit) -> None:
    """Raise unless the amount is positive and finite, and what attempts use is [S, A], ≥ 0."""
    error = InvalidProblemError
    if not 0.0 < number(limit.amount, "the limit", error) < np.inf:
        raise error(f"the limit is {limit.amount:g} {limit.unit}, expected above 0 and finite")
    for name in ("use", "lost"):
        what = f"{name} in {limit.unit}"
        used = numbers(getattr(limit, name), what, None, error)
        if used.ndim != 2:
            raise error(f"{what} has shape {used.shape}, expected [S, A]")
        if not (used >= 0.0).all():
            raise error(f"{what} is {used.min():g}, expected >= 0")


def home_states(given: Home, model: Model, start: int) -> IntArray:
    """Return the states [n] of the home `given`, ascending; raise if one does not exist.

    `start` is the first state of the run, for the home "start".
    """
    error = InvalidProblemError
    if isinstance(given, str) and given == "start":
        given = start
    names, count = model.state_names, model.states
    states = [named_index(s, names, count, "home", error) for s in _listed(given)]
    if not states:
        raise error("home is an empty set of states")
    return np.unique(np.array(states, np.int32))


def _listed(states: Any) -> list[int | str]:
    """Return one state or several states as a list of numbers and names, which may be empty."""
    if isinstance(states, str):
        return [states]
    if isinstance(states, Sequence) and any(isinstance(state, str) for state in states):
        return list(states)
    try:
        given = np.atleast_1d(np.asarray(states))
    except ValueError as cause:
        raise InvalidProblemError(f"home: {states!r} is not a list of states") from cause
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InvalidProblemError(f"home: {states!r} is not a state number or a list of them")
    return list(given.tolist())
