"""Return policies on general models: what a promise allows in a state, and policies that are quick.

On a `SparseMDP` an action may lead anywhere, so a run relies on a return policy ρ instead of single
moves. Let Y be the probability, given all observations, that ρ leads home. Each action is charged
an upper bound on the expected decrease of Y (``docs/theory.md``, section 11). `worlds`, `corrected`
and `sampled` compute the charges, each for one kind of knowledge. `planning.ratios` chooses among
the actions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen
from homeward.beliefs.observations import Labels, Transition, Visit
from homeward.errors import InvalidProblemError
from homeward.models import Model, SparseMDP
from homeward.planning.promise import Promise
from homeward.planning.returning import Goal
from homeward.solvers import GIVE_UP, engine

MIN_LEFT = 1e-300  # smallest remaining budget, to avoid division by 0
HASTE = 1e-4  # loss of value per step when a policy is chosen, not when it is evaluated
LEAST_LINK = 2.0**-53  # largest probability of a transition that a linear solve can't tell from 0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PolicyOptions:
    """What a promise allows in one state of a general model; see `returning.Options`."""

    goal: Goal
    state: int
    promise: Promise  # the return policy that the run relies on now
    best: Promise  # the same spent, with the best return policy
    bounds: FloatArray  # [S] lower bound on the probability that the best policy leads home
    charge: FloatArray  # [S, A] probability that an action spends; below 0 if the way gets safer
    ahead: FloatArray  # [A] lower bound on the probability of coming home after each action
    least: float  # lower bound on Y in the state
    most: float  # upper bound on Y in the state, or the bound whose fall is charged
    lost: bool  # whether there is surely no way home left
    exact: bool = False  # whether charges are exact also in other states than the present one
    choices: tuple[Promise, ...] = ()  # [A] what is relied on after each action; empty: `best`

    @property
    def left(self) -> float:
        """Probability that may still be spent, at least 0."""
        return max(0.0, self.goal.budget - self.promise.spent)

    def share_of(self, budget: float) -> FloatArray:
        """Return the share [S, A] of a budget that each action would spend."""
        return np.zeros_like(self.charge) if self.lost else self.charge / max(budget, MIN_LEFT)

    def shares(self) -> FloatArray:
        """Return the share [A] of `left` that each action in the state would spend."""
        share: FloatArray = self.share_of(self.left)[self.state]
        return share

    def works(self) -> float:
        """Return a lower bound on the probability that what is relied on leads home."""
        return 0.0 if self.lost else self.least

    def value(self) -> FloatArray:
        """Return lower bounds [S] on the probability of coming home by `policy`."""
        return self.bounds

    def policy(self) -> IntArray:
        """Return the best return policy [S]; −1 at home and where there is none."""
        return self.best.way

    def after(self) -> FloatArray:
        """Return lower bounds [A] on the probability of coming home after each action."""
        return self.ahead


@dataclass(frozen=True, slots=True, eq=False)
class PolicyReturning(ABC):
    """The part of `returning.Returning` that is the same for all kinds of knowledge."""

    goal: Goal

    @abstractmethod
    def options(
        self, belief: Any, promise: Promise, state: int, changed: IntArray | None
    ) -> PolicyOptions:
        """Return what the promise allows in a state."""

    def take(self, options: PolicyOptions, state: int, action: int, chance: float = 1.0) -> Promise:
        """Return the promise after an action that is taken with probability `chance`.

        A negative charge reduces what is spent.
        """
        cost = 0.0 if options.lost else chance * float(options.charge[state, action])
        after = options.choices[action] if options.choices else options.best
        return replace(after, spent=min(1.0, max(0.0, options.promise.spent + cost)))

    def observed(
        self,
        belief: Any,
        promise: Promise,
        observation: Any,
        moved: Transition | None,
        state: int,
    ) -> Promise:
        """Return the promise after the belief was updated by an observation."""
        return promise

    def moved(
        self, belief: Any, options: PolicyOptions, there: int, used: tuple[float, ...]
    ) -> Promise:
        """Return the promise of an explorer that was moved from the state of `options` to `there`.

        It is charged for the decrease of the bound on coming home.
        """
        now = self.options(belief, options.promise, there, None)
        cost = 0.0 if options.lost else max(0.0, options.most - float(now.bounds[there]))
        return replace(now.best, spent=min(1.0, options.promise.spent + cost))


def check_answer(observation: Any, moved: Transition | None, model: Model, what: str) -> None:
    """Raise unless an observation holds the transition of a move, and nothing else but visits.

    Without a move it may hold visits only. `model` has the names of states; the message says `what`
    needs this.
    """
    parts = observation if isinstance(observation, tuple | list) else (observation,)
    told = [part for part in parts if not isinstance(part, Visit)]
    labels = Labels.of(model)
    moves = [part.numbers(labels) for part in told if isinstance(part, Transition)]
    expected: list[list[tuple[int, int, int | None]]] = [[]]
    if moved is not None:
        state, action, there = moved.numbers(labels)
        expected = [[(state, action, there)], [(state, action, None)]]
    if len(moves) == len(told) and moves in expected:
        return
    answer = " and ".join(type(part).__name__ for part in parts) or "nothing"
    if moved is None:
        raise InvalidProblemError(f"{what} allows only visits without an action, not {answer}")
    raise InvalidProblemError(
        f"the world answered with {answer}; {what} needs the action's own Transition, alone or "
        "with visits"
    )


def quick_way(transitions: csr_array, closed: BoolArray, at_home: BoolArray) -> IntArray:
    """Return the policy [S] that maximises E[(1 − `HASTE`)^steps; home] on a model.

    `transitions` is [S·A, S]; actions `closed` [S, A] can't be chosen. Without the loss per step, a
    policy could repeat a move that works in one world of two: on the mean model the move works in
    the end, but in the other world it never does.
    """
    arrives = (transitions @ at_home.astype(np.float64)).reshape(closed.shape)
    away = diags_array((~at_home).astype(np.float64))
    model = SparseMDP((transitions @ away).tocsr())  # entering home ends the process
    total = np.where(closed, -np.inf, arrives)
    solved = engine(model, 1.0 - HASTE, total[None]).optimise(np.ones(1))
    gives_up = at_home | (solved.values[0] <= 0.0)
    return frozen(np.where(gives_up, GIVE_UP, solved.policy).astype(np.int32))


def can_reach(links: csr_array, targets: BoolArray, moving: BoolArray | None = None) -> BoolArray:
    """Return the mask [S] of states from which boolean `links` [S, S] lead to `targets` [S].

    Only states in the mask `moving` [S] are left again; None allows all states.
    """
    reached = targets
    while True:
        more = links @ reached
        more = reached | (more if moving is None else more & moving)
        if (more == reached).all():
            return reached
        reached = more


def leads_home(
    transitions: csr_array, actions: int, policy: IntArray, at_home: BoolArray
) -> BoolArray:
    """Return the mask [S] of states from which a policy [S] may reach home."""
    rows = transitions[np.arange(len(policy)) * actions + np.maximum(policy, 0)]
    return can_reach(rows > LEAST_LINK, at_home, (policy != GIVE_UP) & ~at_home)


def common_transitions(worlds: Sequence[coo_array]) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the N transitions that are possible in any of M worlds.

    The result is the row s·A + a [N] and the next state [N] of each transition, in ascending order,
    and its probability in each world [M, N].
    """
    states = worlds[0].shape[1]
    keys = [world.row.astype(np.int64) * states + world.col for world in worlds]
    every = np.unique(np.concatenate(keys))
    chances = np.zeros((len(worlds), len(every)))
    for chance, key, world in zip(chances, keys, worlds, strict=True):
        np.add.at(chance, np.searchsorted(every, key), world.data)
    return *np.divmod(every, states), chances


def mask_of(states: int, homes: IntArray) -> BoolArray:
    """Return the mask [S] of the home states [n]."""
    mask = np.zeros(states, np.bool_)
    mask[homes] = True
    return mask
