"""Observations: visits, transitions and exact rows of a model; and the sensor of a rover."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from homeward.arrays import FloatArray, floats, index, number, set_fields
from homeward.errors import InvalidBeliefError, InvalidProblemError


@dataclass(frozen=True, slots=True)
class Visit:
    """The observation that the explorer is in `state`."""

    state: int

    def check(self, states: int) -> None:
        """Raise if the state does not exist."""
        index(self.state, states, f"the state of {self}", InvalidBeliefError)


@dataclass(frozen=True, slots=True)
class Transition:
    """The observation that `action` in `state` led to `next_state`, or ended the process (None)."""

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
    """The observation of the exact `probabilities` [n, S] of the next state for n `pairs`.

    A pair is (state, action).
    """

    pairs: tuple[tuple[int, int], ...]
    probabilities: FloatArray

    def check(self, states: int, actions: int) -> None:
        """Raise if a pair does not exist or the probabilities have another shape."""
        for pair in self.pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise InvalidBeliefError(f"{pair!r} is not a pair (state, action)")
            index(pair[0], states, f"the state of observed row {pair}", InvalidBeliefError)
            index(pair[1], actions, f"the action of observed row {pair}", InvalidBeliefError)
        shape = len(self.pairs), states
        floats(self.probabilities, "the observed rows", shape, InvalidBeliefError)


@dataclass(frozen=True, slots=True)
class Sensor:
    """A sensor of every height within ``range``; the error's variance is noise·(d + offset)².

    The defaults are those of the paper, whose sensor covers the whole map.

    Attributes
    ----------
    range : Largest distance d in m; None or inf for the whole map
    noise : Variance in m² per m² of distance
    offset : Distance in m that is added to d
    mast : m, height above the ground, for the line of sight; None or inf: nothing hides a cell
    """

    range: float | None = None
    noise: float = 1e-6
    offset: float = 1.0
    mast: float | None = None

    def __post_init__(self) -> None:
        error = InvalidProblemError
        for name in ("range", "mast"):
            if getattr(self, name) is not None:
                length = number(getattr(self, name), f"the sensor's {name}", error)
                if not length >= 0.0:
                    raise error(f"the sensor's {name} is {length:g} m, expected >= 0")
                set_fields(self, **{name: None if length == math.inf else length})
        for name in ("noise", "offset"):
            value = number(getattr(self, name), f"the sensor's {name}", error)
            if not 0.0 < value < math.inf:
                raise error(f"the sensor's {name} is {value:g}, expected > 0")
            set_fields(self, **{name: value})

    @property
    def reach(self) -> float:
        """The range in m; infinite if the sensor covers the whole map."""
        return math.inf if self.range is None else self.range

    def variance(self, distance: FloatArray | float) -> FloatArray:
        """Return the variance in m² of the error at each `distance` in m."""
        away = np.asarray(distance, np.float64) + self.offset
        spread: FloatArray = self.noise * (away * away)
        return spread
