"""What a world can tell: the observations that the tabular beliefs learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homeward.arrays import floats, index
from homeward.errors import InvalidBeliefError

if TYPE_CHECKING:
    from homeward.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Visit:
    """We are in `state`."""

    state: int

    def check(self, states: int) -> None:
        """Refuse a state that does not exist."""
        index(self.state, states, f"the state of {self}", InvalidBeliefError)


@dataclass(frozen=True, slots=True)
class Transition:
    """`action` in `state` led to `next_state`, or ended the process (None)."""

    state: int
    action: int
    next_state: int | None

    def check(self, states: int, actions: int) -> None:
        """Refuse states or an action that do not exist."""
        index(self.state, states, f"the state of {self}", InvalidBeliefError)
        index(self.action, actions, f"the action of {self}", InvalidBeliefError)
        if self.next_state is not None:
            index(self.next_state, states, f"the next state of {self}", InvalidBeliefError)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The exact transition probabilities of some state-actions were seen."""

    pairs: tuple[tuple[int, int], ...]  # (state, action)
    probabilities: FloatArray  # [n, S]

    def check(self, states: int, actions: int) -> None:
        """Refuse pairs that do not exist, or rows that do not go with them."""
        for pair in self.pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise InvalidBeliefError(f"{pair!r} is not a (state, action)")
            index(pair[0], states, f"the state of observed row {pair}", InvalidBeliefError)
            index(pair[1], actions, f"the action of observed row {pair}", InvalidBeliefError)
        floats(
            self.probabilities, "the observed rows", (len(self.pairs), states), InvalidBeliefError
        )
