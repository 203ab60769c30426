"""Observations: visits, transitions, exact rows of a model, measured or seen heights; and `Sensor`.

States and actions are numbers, or names if the belief's models have names. A belief also learns
from a tuple or list of observations, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from homeward.arrays import (
    BoolArray,
    Error,
    FloatArray,
    IntArray,
    floats,
    index,
    indices,
    named_index,
    number,
    numbers,
    own,
    set_fields,
)
from homeward.errors import InvalidBeliefError, InvalidProblemError

if TYPE_CHECKING:
    from homeward.models import Model

WALL, UNKNOWN = -1, 0  # codes instead of a height: the square is a wall, or its height is unknown


class Labels(NamedTuple):
    """The numbers of states and actions of a model, and their names; they index observations."""

    states: int
    actions: int
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, model: Model) -> Labels:
        """Return the sizes and names of a model."""
        return cls(model.states, model.actions, model.state_names, model.action_names)

    def state(self, given: int | str, what: str) -> int:
        """Return the index of a state; raise if it does not exist. `what` begins the message."""
        return named_index(given, self.state_names, self.states, what, InvalidBeliefError)

    def action(self, given: int | str, what: str) -> int:
        """Return the index of an action; raise if it does not exist. `what` begins the message."""
        return named_index(given, self.action_names, self.actions, what, InvalidBeliefError)


@dataclass(frozen=True, slots=True)
class Visit:
    """The observation that the explorer is in `state`, an index or a name."""

    state: int | str

    def number(self, labels: Labels) -> int:
        """Return the index of the state; raise if the state does not exist."""
        return labels.state(self.state, f"the state of {self}")


@dataclass(frozen=True, slots=True)
class Transition:
    """The observation that `action` in `state` led to `next_state`.

    They are indices or names; `next_state` is None if the process ended.
    """

    state: int | str
    action: int | str
    next_state: int | str | None

    def numbers(self, labels: Labels) -> tuple[int, int, int | None]:
        """Return the indices of state, action and next state; raise if one does not exist."""
        state = labels.state(self.state, f"the state of {self}")
        action = labels.action(self.action, f"the action of {self}")
        if self.next_state is None:
            return state, action, None
        return state, action, labels.state(self.next_state, f"the next state of {self}")


@dataclass(frozen=True, slots=True)
class Likelihood:
    """The observation of an event with known probabilities `chances` [M], one for each world.

    The worlds are those of the belief before all updates. After updates that removed worlds,
    `FiniteBelief.labels` has the indices of the worlds that are left. Only a `FiniteBelief` learns
    from this observation, by Bayes' rule.
    """

    chances: tuple[float, ...]

    def check(self, labels: IntArray) -> None:
        """Raise unless there is a probability for each world of a belief, given by `labels`."""
        error, count = InvalidBeliefError, len(self.chances)
        for k, chance in enumerate(self.chances):
            if not 0.0 <= number(chance, f"entry {k} of a likelihood", error) <= 1.0:
                raise error(f"entry {k} of a likelihood is {chance:g}, not a probability")
        if labels.max() >= count:
            raise error(
                f"a likelihood has {count} entries, but the belief has world {labels.max()}"
            )


def in_turn(belief: Any, observations: Sequence[Any]) -> Any:
    """Return the belief after several observations, one after the other."""
    for observation in observations:
        belief = belief.update(observation)
    return belief


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The observation of the exact probabilities of next states of some state-actions.

    Probabilities are compared to about nine decimals.

    Attributes
    ----------
    pairs : The n observed state-actions, as indices or names
    probabilities : [n, S] probability of each next state
    """

    pairs: tuple[tuple[int | str, int | str], ...]
    probabilities: FloatArray

    def numbers(self, labels: Labels) -> list[tuple[int, int]]:
        """Return the pairs as indices; raise if one does not exist or a shape is wrong."""
        numbers = []
        for pair in self.pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise InvalidBeliefError(f"{pair!r} is not a pair (state, action)")
            state = labels.state(pair[0], f"the state of observed row {pair}")
            numbers.append((state, labels.action(pair[1], f"the action of observed row {pair}")))
        shape = len(self.pairs), labels.states
        floats(self.probabilities, "the observed rows", shape, InvalidBeliefError)
        return numbers


@dataclass(frozen=True, slots=True, eq=False)
class Heights:
    """Measured heights of some cells, each cell at most once.

    Attributes
    ----------
    cells : [n] measured cells
    heights : [n] m, measured heights
    variances : [n] m², variances of the errors; infinite for a measurement without information
    moved : Move before the measurement; None if there was no move
    """

    cells: IntArray
    heights: FloatArray
    variances: FloatArray
    moved: Transition | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        error = InvalidBeliefError
        if self.moved is not None and not isinstance(self.moved, Transition):
            raise error(f"the move before a measurement is {self.moved!r}, expected a Transition")
        cells = indices(self.cells, "measured cell", None, (0, 2**31 - 1), "n", error)
        if cells.ndim != 1:
            raise error(f"the measured cells have shape {cells.shape}, expected [n]")
        heights = numbers(self.heights, "the measured heights", cells.shape, error)
        variances = numbers(self.variances, "their variances", cells.shape, error)
        if not np.isfinite(heights).all():
            at = int(np.argmin(np.isfinite(heights)))
            raise error(f"cell s={cells[at]} is measured at a height of {heights[at]:g} m")
        if not (variances > 0.0).all():
            at = int(np.argmin(variances > 0.0))
            raise error(
                f"cell s={cells[at]} is measured with a variance of {variances[at]:g}, expected > 0"
            )
        if (cells[1:] <= cells[:-1]).any():
            ordered = np.sort(cells)
            twice = ordered[1:][ordered[1:] == ordered[:-1]]
            if len(twice):
                raise error(f"cell s={twice[0]} is measured twice in one observation")
        set_fields(self, cells=cells, heights=own(heights, self.heights))
        set_fields(self, variances=own(variances, self.variances))

    def posterior(
        self, blocked: BoolArray, height: FloatArray, variance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the posterior heights [n] and variances [n] of the measured cells.

        `height` and `variance` [S] are the prior ones. Raise if a cell can't be measured.
        """
        cells, error = self.cells, InvalidBeliefError
        if len(cells) and cells.max() >= len(height):
            raise error(f"a measured cell is s={cells.max()}, outside 0..{len(height) - 1}")
        if blocked[cells].any():
            raise error(f"cell s={cells[blocked[cells]][0]} is measured and blocked")
        before, spread = height[cells], variance[cells]
        total = spread + self.variances
        informs = np.isfinite(total)
        with np.errstate(invalid="ignore"):
            after = before + np.where(informs, spread / total * (self.heights - before), 0.0)
            left = np.where(informs, spread * (self.variances / total), spread)
        if not left.all():
            raise error(
                f"cell s={cells[int(np.argmin(left))]} is measured so precisely that its variance "
                "would be 0"
            )
        return after, left


@dataclass(frozen=True, slots=True, eq=False)
class Reveal:
    """An observation of the exact heights of squares, in levels.

    Attributes
    ----------
    cells : [n] seen squares
    heights : [n] their heights, or WALL
    here : Square in which the explorer is; it becomes visited. None if unknown
    """

    cells: IntArray
    heights: IntArray
    here: int | None = None

    def __post_init__(self) -> None:
        error, limit = InvalidBeliefError, 2**31 - 1
        shape = shape_of(self.cells, "the seen squares", "n", error)
        cells = indices(self.cells, "seen square", shape, (0, limit), "n", error)
        heights = indices(self.heights, "seen height", shape, (WALL, limit), "n", error)
        set_fields(self, cells=cells, heights=heights)
        if self.here is not None:
            set_fields(self, here=index(self.here, limit, "the square here", error))


def shape_of(values: ArrayLike, name: str, axes: str, error: Error) -> tuple[int, ...]:
    """Return the shape of `values`; raise unless they form an array with one axis per letter."""
    try:
        shape: tuple[int, ...] = np.shape(values)
    except ValueError as cause:
        raise error(f"{name} are not an array [{', '.join(axes)}]: {cause}") from cause
    if len(shape) != len(axes):
        raise error(f"{name} have shape {shape}, expected [{', '.join(axes)}]")
    return shape


@dataclass(frozen=True, slots=True)
class Sensor:
    """A sensor of all heights within `range`; its error variance is noise·(d + offset)².

    The defaults are those of the paper, whose sensor covers the whole map.

    Attributes
    ----------
    range : Largest distance d in m of a measured cell; None or inf for the whole map
    noise : Variance in m² per m² of distance
    offset : Distance in m that is added to d
    mast : Height in m of the sensor above the ground, for the line of sight over the terrain model;
        None or inf if no cell is ever hidden
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
        return self.noise * (away * away)
