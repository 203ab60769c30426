"""Ways home, one file for each kind of knowledge: what a run relies on, and what an action spends.

A run keeps one `Promise` for each return criterion. `Returning` has the four verbs that it needs:
`open` a promise at the start, ask for the `options` in a state, `take` an action, and go on with
what was `observed`. `moves` has shortest ways on move-or-stay graphs. Read `planning.promise`
first: the state of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs.observations import Transition
from homeward.planning.promise import BUDGET_TOLERANCE, Promise

if TYPE_CHECKING:
    from homeward.beliefs import Belief


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """What a promise is about: to be in a home state again with probability `delta`."""

    name: str
    homes: IntArray  # [n] home states, ascending; any of them will do
    delta: float  # safety level δ
    within: int | None = None  # steps that a way home may take; None for any number

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

        It is charged for what it relies on then. All is spent, and more, if the limits forbid it.
        """

    def observed(
        self, belief: Belief, promise: Promise, observation: Any, moved: Transition | None
    ) -> Promise:
        """Return the promise after the belief was updated by an observation.

        `moved` is the move before the observation; None without a move.
        """

    def moved(self, belief: Belief, options: Any, there: int, used: tuple[float, ...]) -> Promise:
        """Return the promise of an explorer that was moved from the state of `options` to `there`.

        It pays for a way home from there. `used` is what the move used of each limited amount.
        """
