"""Ways home, one file for each kind of knowledge: what a run relies on, and what an action spends.

A run keeps one `Promise` for each return criterion. `Returning` has the verbs that it needs: `open`
a promise at the start, ask for the `options` in a state, `take` an action, go on with what was
`observed`, and go on where the explorer was `moved` to. `Search` finds what to do next within the
options. Both come in pairs: `moves` with `planning.proposals` on move-or-stay graphs, the others
with `planning.ratios` on general models. Read `planning.promise` first: the state of a run; then
`planning.explorer`: the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs.observations import Transition
from homeward.planning.promise import BUDGET_TOLERANCE, Promise, Proposal

if TYPE_CHECKING:
    from homeward.beliefs import Belief


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """What a promise is about: to be in a home state again with probability `delta`."""

    name: str
    homes: IntArray  # [n] home states, ascending; any of them will do
    delta: float  # safety level δ
    within: int | None = None  # steps that a way home may take; None for any number
    limits: Any = None  # limits of the whole run, see `moves.Limits`; None without any

    @property
    def budget(self) -> float:
        """The probability that a run may spend."""
        return 1.0 - self.delta + BUDGET_TOLERANCE


class Options(Protocol):
    """What a promise allows in one state; valid until the next call of `Returning.options`."""

    @property
    def promise(self) -> Promise:
        """What is relied on now; after bad news it may be another way home, which is charged."""

    @property
    def left(self) -> float:
        """Probability that may still be spent, at least 0."""

    @property
    def lost(self) -> bool:
        """Whether there is surely no way home left."""

    def shares(self) -> FloatArray:
        """Return the share [A] of `left` that each action in the state would spend."""

    def works(self) -> float:
        """Return a lower bound on the probability that what is relied on leads home."""

    def value(self) -> FloatArray:
        """Return lower bounds [S] on the probability of coming home by `policy`."""

    def policy(self) -> IntArray:
        """Return the best return policy [S]; −1 at home and where there is none."""

    def after(self) -> FloatArray:
        """Return lower bounds [A] on the probability of coming home after each action."""


class Returning(Protocol):
    """Keeps one return criterion over a run, for one kind of knowledge about its moves."""

    @property
    def goal(self) -> Goal:
        """The homes and the level."""

    @property
    def evaluator(self) -> str:
        """How the promise and its charges are evaluated: a code of `words.EVALUATORS`."""

    def open(self, belief: Belief, start: int) -> Promise:
        """Return the promise of a run before its first step; it pays for the way home."""

    def options(
        self, belief: Belief, promise: Promise, state: int, changed: IntArray | None
    ) -> Options:
        """Return what the promise allows in a state.

        `changed` [n] are the states where the belief changed since the last call, ascending; None
        means anywhere.
        """

    def take(self, options: Any, state: int, action: int, chance: float = 1.0) -> Promise:
        """Return the promise after an action that is taken with probability `chance`.

        It is charged for what it relies on then. An infinite probability is spent if the limits
        forbid the action.
        """

    def observed(
        self,
        belief: Belief,
        promise: Promise,
        observation: Any,
        moved: Transition | None,
        state: int,
    ) -> Promise:
        """Return the promise in `state` after the belief was updated by an observation.

        `moved` is the move before the observation; None without a move.
        """

    def moved(self, belief: Belief, options: Any, there: int, used: tuple[float, ...]) -> Promise:
        """Return the promise of an explorer that was moved from the state of `options` to `there`.

        It pays for a way home from there. `used` is what the move used of each limited amount.
        """


class Found(NamedTuple):
    """What a search found: an action and what it is for, or why nothing is worth its risk."""

    action: int | None  # None: the run ends
    proposal: Proposal | None  # what the action is for; None if the run ends
    left: float  # remaining gain of all states
    rate: float = 0.0  # largest gain per step without risk, if that is below the floor
    gain: float = 0.0  # gain of the least risky proposal beyond the budget; 0 without one
    share: float = np.inf  # its risk over the remaining budget; infinite without one
    chance: float = 1.0  # probability with which the action is taken
    earns: bool = False  # whether the action only earns rewards


class Search(Protocol):
    """Finds what to do next within the options of all promises."""

    def find(
        self,
        belief: Belief,
        options: Sequence[Any],
        state: int,
        pursued: Proposal | None,
        *,
        news: float,
        idle: int,
        learn: bool,
    ) -> Found:
        """Return an action and its proposal, or why there is none.

        `pursued` is the proposal of the last step; it is dropped if the remaining gain has fallen
        to `news` or below. `idle` are the decisions since then. Without `learn`, only what needs no
        information is done: earning, or going home within the limits.
        """

    def retreat(self, belief: Belief, options: Sequence[Any], state: int, refused: Found) -> Found:
        """Return what to do instead of a `refused` action, which a budget can't pay."""

    def rates(self, belief: Belief, options: Sequence[Any], state: int, found: Found) -> FloatArray:
        """Return the best gain per step [A] of a proposal that begins with each action."""
