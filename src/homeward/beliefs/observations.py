"""Observations of the tabular beliefs: visits, transitions and exact rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import floats, index
from homeward.errors import InvalidBeliefError

if TYPE_CHECKING:
    from homeward.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Visit:
    """The explorer is in `state`."""

    state: int

    def check(self, states: int) -> None:
        """Raise if the state does not exist."""
        index(self.state, states, f"the state of {self}", InvalidBeliefError)


@dataclass(frozen=True, slots=True)
class Transition:
    """`action` in `state` led to `next_state`, or ended the process (None)."""

    state: int
    action: int
    next_state: int | None

    def check(self, states: int, actions: int) -> None:
        """Raise if a state or the action does not exist."""
        index(self.state, states, f"the state of {self}", InvalidBeliefError)
        index(self.action, actions, f"the action of {self}", InvalidBeliefError)
        if self.next_state is not None:
            index(self.next_state, states, f"the next state of {self}", InvalidBeliefError)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The exact transition probabilities [n, S] of n pairs (state, action) were seen."""

    pairs: tuple[tuple[int, int], ...]
    probabilities: FloatArray

    def check(self, states: int, actions: int) -> None:
        """Raise if a pair does not exist or the probabilities have another shape."""
        for pair in self.pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise InvalidBeliefError(f"{pair!r} is not a (state, action)")
            index(pair[0], states, f"the state of observed row {pair}", InvalidBeliefError)
            index(pair[1], actions, f"the action of observed row {pair}", InvalidBeliefError)
        shape = len(self.pairs), states
        floats(self.probabilities, "the observed rows", shape, InvalidBeliefError)


def is_packed(values: object) -> bool:
    """Return whether `values` are read-only packed int32 [n], which kernels read as they are."""
    return (
        isinstance(values, np.ndarray)
        and values.dtype == np.int32
        and values.ndim == 1
        and values.flags.c_contiguous
        and not values.flags.writeable
    )
