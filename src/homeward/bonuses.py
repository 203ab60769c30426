"""Exploration bonuses: functions from a belief to an array ξ [S, A].

The planner adds the model's rewards to a bonus. This module has the classical count-based bonuses;
the paper's adapted R-max, which is proportional to the number of cells that an action would
uncover; and the information gain of heights measured from a distance.

On a grid of heights, a visit reveals the effect of every action in a state. The count of an action
is then 0 before the first visit and infinite after it, so R-max equals the near-Bayesian bonus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from homeward.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    first_of,
    frozen,
    number,
    numbers,
    place,
)
from homeward.beliefs.observations import Sensor
from homeward.errors import InvalidBeliefError, InvalidProblemError

if TYPE_CHECKING:
    from homeward.beliefs import Belief, HeightBelief, TerrainBelief

MAX_DIRECT_CELLS = 32  # most cells in range for which a direct sum is faster than an FFT
MAX_VIEW_CELLS = 121  # most cells that a planned look covers: the nearest cells in range


class Bonus(Protocol):
    """An exploration bonus: a callable from a belief to ξ[S, A]."""

    def __call__(self, belief: Any, /) -> FloatArray:
        """Return the bonus ξ[S, A] ≥ 0 under a belief."""


NO_ACTION: IntArray = frozen(np.empty(0, np.int32))  # `Looks.action` if arrival makes the look
NO_GROUND: FloatArray = frozen(np.empty((0, 0)))  # `Looks.ground` if no cell is hidden
NOWHERE: BoolArray = frozen(np.empty(0, np.bool_))  # `Looks.done` if no cell is done
NO_VISITS: FloatArray = frozen(np.empty(0))  # `Looks.visit` if being in a cell has no gain


class Looks(NamedTuple):
    """A model of observations ("looks") from the cells of a map, and of their joint gain.

    A look from a cell covers V cells, which are at given offsets. If gains are logarithmic, looks
    of total weight (precision) w at a cell of variance `amount` gain ½ ln(1 + amount·w) nats.
    Nothing is gained beyond the precision `enough`, at which a cell is known well enough. If gains
    are not logarithmic, the first look at a cell gains `amount`, and later looks gain 0. If the
    states are not on a map, the map has one row of S cells, and a look covers only its own cell.

    Attributes
    ----------
    shape : Rows and columns of the map; states are row-major
    down : [V] offset in rows
    right : [V] offset in columns
    weight : [V] weight of a look at each offset
    amount : [S] remaining variance of each cell, or its remaining gain
    logarithmic : Whether gains are logarithmic
    action : [S] action that makes the look in each cell; empty if arrival in the cell makes it
    ground : [R, C] m, heights that may hide cells; empty if no cell is hidden
    mast : m, height of the sensor above the ground
    done : [S] mask of cells from which another look has no gain; empty if there is no such cell
    visit : [S] gain of being in a cell for the first time; empty if it has no gain
    remaining : The value of `total` if the belief has computed it, else NaN
    largest : The largest `amount` if the belief has computed it, else NaN
    enough : 1/m², precision beyond which a cell has no gain; infinite if every look gains
    """

    shape: tuple[int, int]
    down: IntArray
    right: IntArray
    weight: FloatArray
    amount: FloatArray
    logarithmic: bool
    action: IntArray = NO_ACTION
    ground: FloatArray = NO_GROUND
    mast: float = 0.0
    done: BoolArray = NOWHERE
    visit: FloatArray = NO_VISITS
    remaining: float = np.nan
    largest: float = np.nan
    enough: float = np.inf

    @classmethod
    def of(
        cls,
        shape: tuple[int, int],
        offsets: Sequence[IntArray],
        weight: FloatArray,
        amount: FloatArray,
        logarithmic: bool,
        **optional: FloatArray | IntArray | BoolArray | float,
    ) -> Looks:
        """Return looks whose arrays have the same types for all bonuses.

        `offsets` are `down` and `right`; `optional` are fields that have defaults. A kernel is
        compiled for each combination of types, and a read-only array has another type.
        """
        down, right = (frozen(np.ascontiguousarray(part, np.int64)) for part in offsets)
        amount = np.require(amount, np.float64, ["C", "W"])
        fields: dict[str, Any] = {
            name: frozen(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value
            for name, value in optional.items()
        }
        return cls(shape, down, right, frozen(weight), amount, logarithmic, **fields)

    @property
    def total(self) -> float:
        """The remaining gain: one look with the largest weight at each cell, and all visits."""
        if not np.isnan(self.remaining):
            return self.remaining
        seen = self.amount
        if self.logarithmic:
            seen = nats_of(seen, self.weight.max(), self.enough)
        return float(seen.sum() + self.visit.sum())

    def left_from(self, states: BoolArray) -> float:
        """Return an upper bound on the remaining gain of looks from the masked `states` [S]."""
        rows, columns = self.shape
        places = states & ~self.done if self.done.size else states
        places, most = places.reshape(rows, columns), np.zeros((rows, columns))
        for down, right, weight in zip(self.down, self.right, self.weight, strict=True):
            here = _overlap(rows, down), _overlap(columns, right)
            there = _overlap(rows, -down), _overlap(columns, -right)
            most[there] = np.maximum(most[there], np.where(places[here], weight, 0.0))
        gain = np.where(most.ravel() > 0.0, self.amount, 0.0)
        if self.logarithmic:
            gain = nats_of(gain, most.ravel(), self.enough)
        visits = self.visit[states].sum() if self.visit.size else 0.0
        return float(gain.sum() + visits)

    @property
    def highest(self) -> float:
        """An upper bound on the gain of a look."""
        most = float(self.amount.max()) if np.isnan(self.largest) else self.largest
        seen = most + 0.0 * self.weight
        if self.logarithmic:
            seen = nats_of(np.float64(most), self.weight, self.enough)
        return float(seen.sum() + self.visit.max(initial=0.0)) * (1.0 + 1e-9)

    @property
    def extra_steps(self) -> float:
        """Number of steps that a look takes after arrival: 1 if it takes an action, else 0."""
        return float(self.action.size > 0)


def nats_of(
    variance: FloatArray | float, weight: FloatArray | float, enough: float = np.inf
) -> FloatArray:
    """Return ½ ln(1 + variance·weight), the nats that a look of precision `weight` gains.

    It is at most what a cell lacks to the precision `enough`.
    """
    gained = np.multiply(variance, weight)
    if np.isfinite(enough):
        gained = np.minimum(gained, np.maximum(np.multiply(variance, enough) - 1.0, 0.0))
    return np.asarray(0.5 * np.log1p(gained))


@runtime_checkable
class LookingBonus(Protocol):
    """A bonus that models the joint gain of several looks, as `Looks`."""

    def looks(self, belief: Any, /) -> Looks:
        """Return the looks under a belief."""


def check_suits(bonus: object, belief: object) -> None:
    """Raise if a bonus reads something that a belief does not have."""
    name = getattr(bonus, "needs", None)
    if name is not None and not hasattr(belief, name):
        raise InvalidProblemError(
            f"the bonus {type(bonus).__name__} needs a belief with {name}, and "
            f"{type(belief).__name__} has none: RMax counts visits, or write a bonus of your own"
        )


def once(bonus: FloatArray) -> Looks:
    """Return looks in which the first look from a state gains its largest `bonus` [S, A].

    Later looks from the state gain 0.
    """
    action = bonus.argmax(axis=1).astype(np.int32)
    zero = np.zeros(1, np.int64)
    shape, gain = (1, len(bonus)), bonus.max(axis=1)
    return Looks.of(shape, (zero, zero), np.ones(1), gain, False, action=action)


def checked_bonus(bonus: Bonus, belief: Any, reward: FloatArray) -> FloatArray:
    """Return ξ[S, A] of a belief, with 0 where `reward` [S, A] is −inf; raise unless 0 ≤ ξ < ∞."""
    given = numbers(bonus(belief), "the bonus", reward.shape, InvalidProblemError, packed=False)
    least, most = float(given.min()), float(given.max())
    if not (least >= 0.0 and most < np.inf):
        at = first_of(~((given >= 0.0) & (given < np.inf)))
        what = "expected at least 0" if given[at] < 0.0 else "expected a finite number"
        raise InvalidProblemError(f"the bonus {place(at, 'sa')} is {given[at]:g}, {what}")
    return np.where(np.isfinite(reward), given, 0.0)


@dataclass(frozen=True, slots=True)
class Uncover:
    """Adapted R-max: `reward` times the expected number of unseen cells that an action uncovers."""

    reward: float = 1.0
    needs: ClassVar[str] = "uncovers"

    def __call__(self, belief: HeightBelief, /) -> FloatArray:
        """Return ξ[S, A]."""
        return self.reward * belief.uncovers()

    def looks(self, belief: HeightBelief, /) -> Looks:
        """Return looks that cover a cell and its eight neighbours."""
        offsets = [part.ravel() - 1 for part in np.indices((3, 3))]
        unseen = np.where(belief.seen, 0.0, self.reward)
        return Looks.of(belief.shape, offsets, np.ones(9), unseen, False)


def _counted(belief: Belief, name: str, axes: int) -> NDArray[Any]:
    """Return the counts or the mask `name` of a belief; raise unless it has so many axes."""
    found = np.asarray(getattr(belief, name))
    if found.ndim != axes or found.dtype.kind not in "biuf":
        expected = "[S]" if axes == 1 else "[S, A]"
        raise InvalidBeliefError(
            f"{type(belief).__name__}.{name} is no array {expected} of numbers"
        )
    return found


@dataclass(frozen=True, slots=True)
class RMax:
    """R-max: `reward` for every action in a state that was never visited."""

    reward: float = 1.0

    def __call__(self, belief: Belief, /) -> FloatArray:
        """Return ξ[S, A]."""
        new = np.where(_counted(belief, "visited", 1), 0.0, self.reward)
        return np.repeat(new[:, None], _counted(belief, "counts", 2).shape[1], axis=1)


@dataclass(frozen=True, slots=True)
class NearBayesian:
    """Near-Bayesian exploration: β / (1 + n) after n observations of a state-action."""

    beta: float = 1.0

    def __call__(self, belief: Belief, /) -> FloatArray:
        """Return ξ[S, A]."""
        return self.beta / (1.0 + _counted(belief, "counts", 2))


@dataclass(frozen=True, slots=True)
class MbieEb:
    """MBIE-EB: β / √n after n observations of a state-action, and `unseen`·β for n = 0."""

    beta: float = 1.0
    unseen: float = 2.0

    def __call__(self, belief: Belief, /) -> FloatArray:
        """Return ξ[S, A]."""
        counts = _counted(belief, "counts", 2)
        return self.beta * np.where(counts > 0, 1.0 / np.sqrt(np.maximum(counts, 1)), self.unseen)


@dataclass(frozen=True, slots=True)
class _Measuring:
    """Base of bonuses that measurements by a sensor define."""

    sensor: Sensor = Sensor()
    needs: ClassVar[str] = "variance"

    def __post_init__(self) -> None:
        if not isinstance(self.sensor, Sensor):
            raise InvalidProblemError(f"the sensor is {self.sensor!r}, expected a Sensor")


@dataclass(frozen=True, slots=True)
class Information(_Measuring):
    """ξ[s, a] = Σ_t Var[H_t] / v(d(s, t)) over the cells t in range of a sensor in s.

    This is the paper's first-order approximation of the entropy reduction by a measurement from s,
    in units of half a nat. Here d(s, t) is the distance and v the sensor's error variance. It is
    the same for every action. Blocked cells count 0; cells behind hills count too.
    """

    def __call__(self, belief: TerrainBelief, /) -> FloatArray:
        """Return ξ[S, A], one column for all actions."""
        weights = weights_of(belief.shape, belief.size, self.sensor)
        gain = weights.add_up(belief.variance.reshape(belief.shape)).ravel()
        return np.broadcast_to(gain[:, None], (gain.size, belief.mean().actions))


@dataclass(frozen=True, slots=True)
class InformationGain(_Measuring):
    """ξ[s, a] = Σ_t ½ ln(1 + Var[H_t] / v(d(s, t))): nats gained by a measurement from s.

    Here d(s, t) is the distance and v the sensor's error variance. The gain is exact for
    independent normal heights, since the posterior variance does not depend on the measured values.
    For correlated heights it is an upper bound, since information that two neighbours share counts
    twice; `CorrelatedTerrainBelief.information_gain` is exact. It is the same for every action.
    Only the nearest `MAX_VIEW_CELLS` cells count.

    `targets` [S] are additional gains in nats for the first visit of each cell; None for no gain.
    A cell counts as visited after a measurement from it.

    `known` is the standard deviation in m at which a height is known well enough. A measurement
    then gains Σ_t ½ ln(Var[H_t] / max(posterior variance, known²)), and 0 from cells that are known
    well enough already. None gives every measurement its whole gain.
    """

    targets: FloatArray | None = field(default=None, compare=False)
    known: float | None = None

    def __post_init__(self) -> None:
        _Measuring.__post_init__(self)
        error = InvalidProblemError
        if self.known is not None and not 0.0 < number(self.known, "known", error) < np.inf:
            raise error(f"known is {self.known:g} m, expected more than 0, or None")

    def __call__(self, belief: TerrainBelief, /) -> FloatArray:
        """Return ξ[S, A] in nats, one column for all actions."""
        looks = self.looks(belief)
        rows, columns = looks.shape
        seen = np.ones((len(looks.amount), len(looks.weight)), np.bool_)
        if looks.ground.size:
            from homeward.beliefs.sight import views

            views(looks.ground, looks.mast, looks.down, looks.right, seen)
            seen[looks.done] = False
        variance, gain = looks.amount.reshape(rows, columns), np.zeros((rows, columns))
        for k, (down, right) in enumerate(zip(looks.down, looks.right, strict=True)):
            here = _overlap(rows, down), _overlap(columns, right)
            there = _overlap(rows, -down), _overlap(columns, -right)
            is_seen = seen[:, k].reshape(rows, columns)[here]
            nats = nats_of(variance[there], looks.weight[k], looks.enough)
            gain[here] += np.where(is_seen, nats, 0.0)
        if looks.visit.size:
            gain += looks.visit.reshape(rows, columns)
        return np.broadcast_to(gain.reshape(-1, 1), (gain.size, belief.mean().actions))

    def looks(self, belief: TerrainBelief, /) -> Looks:
        """Return the looks of the sensor.

        If the sensor has a mast, the terrain model decides which cells are hidden, as in `Rover`.
        A real vehicle may see fewer cells. So no gain counts for a second look from a cell with a
        mast, or a plan could wait for a cell that stays hidden.
        """
        *offsets, weight = view_of(belief.shape, belief.size, self.sensor)
        remaining, largest = np.nan, np.nan
        enough = np.inf if self.known is None else self.known**-2.0
        if hasattr(belief, "gain_left"):  # its variance is 0 in blocked cells
            amount = belief.lent_variance()
            remaining, largest = belief.gain_left(float(weight.max()), enough)
        else:
            amount = np.where(belief.blocked, 0.0, belief.variance)
        optional: dict[str, Any] = {"enough": enough}
        if self.sensor.mast is not None:
            ground = belief.terrain.reshape(belief.shape)
            optional |= {"ground": ground, "mast": self.sensor.mast, "done": belief.looked}
        if self.targets is not None:
            optional["visit"] = np.where(belief.looked, 0.0, self.targets)
        looks = Looks.of(belief.shape, offsets, weight, np.empty(0), True, **optional)
        remaining += float(looks.visit.sum())
        return looks._replace(amount=amount, remaining=remaining, largest=largest)


def unit_of(bonus: Bonus) -> str | None:
    """Return the unit of a bonus as a plural noun; None if the bonus has no unit."""
    if isinstance(bonus, InformationGain):
        return "nats"
    return "squares" if isinstance(bonus, Uncover) and bonus.reward == 1.0 else None


def _overlap(count: int, shift: int) -> slice:
    """Return the indices i of ``range(count)`` for which i + shift is in the range too."""
    return slice(max(0, -shift), count - max(0, shift))


@lru_cache(maxsize=8)
def view_of(
    shape: tuple[int, int], size: tuple[float, float], sensor: Sensor
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row and column offsets [V] of the cells in range, nearest first, and weights [V].

    A weight is 1/v, where v is the sensor's error variance in m². A cell has `size` metres.
    """
    reach = [
        int(min(count - 1, sensor.reach / side, MAX_VIEW_CELLS))
        for count, side in zip(shape, size, strict=True)
    ]
    down, right = np.meshgrid(*(np.arange(-n, n + 1) for n in reach), indexing="ij")
    distance = np.hypot(down * size[0], right * size[1]).ravel()
    order = np.argsort(distance, kind="stable")
    order = order[distance[order] <= sensor.reach][:MAX_VIEW_CELLS]
    weight = 1.0 / sensor.variance(distance[order])
    return frozen(down.ravel()[order]), frozen(right.ravel()[order]), frozen(weight)


class Weights(NamedTuple):
    """The weight 1/v(d) of a cell's variance, by its distance in rows and columns."""

    weight: FloatArray  # [row distance, column distance], 0 out of range
    transform: FloatArray | None  # [N, M // 2 + 1] FFT of `weight`, except at distance 0; or None
    size: tuple[int, int]  # N, M of the transform, large enough that nothing wraps around

    def add_up(self, variance: FloatArray) -> FloatArray:
        """Return for each cell of a map the weighted sum of `variance`, both [R, C].

        Without a transform the sum is computed directly.
        """
        if self.transform is None:
            from homeward.beliefs.height_kernels import sum_near

            return frozen(sum_near(self.weight, variance))
        from scipy.fft import fft, ifft, irfft, rfft

        (rows, columns), (down, right) = variance.shape, self.size
        waves = fft(rfft(variance, right, axis=1), down, axis=0, overwrite_x=True)
        waves *= self.transform
        back = ifft(waves, axis=0, overwrite_x=True)[:rows]
        total = irfft(back, right, axis=1, overwrite_x=True)[:, :columns]
        # The cell's own weight is by far the largest. Its rounding would exceed the other terms.
        total = total + self.weight[0, 0] * variance
        return frozen(np.maximum(total, 0.0, out=total))


@lru_cache(maxsize=8)
def weights_of(
    shape: tuple[int, int],
    size: tuple[float, float],
    sensor: Sensor,
    nearby: int = MAX_DIRECT_CELLS,
) -> Weights:
    """Return the weights on a map of `shape` cells, each of `size` metres.

    They have a transform if more than `nearby` cells are in range of the sensor.
    """
    from scipy.fft import next_fast_len, rfft2

    spans = [
        min(float(count - 1), sensor.reach / side + 1.0)
        for count, side in zip(shape, size, strict=True)
    ]
    down, right = (side * np.arange(int(n) + 1) for n, side in zip(spans, size, strict=True))
    distance = np.sqrt(down[:, None] ** 2 + right**2)
    weight = np.where(distance <= sensor.reach, 1.0 / sensor.variance(distance), 0.0)
    in_reach = 4 * np.count_nonzero(weight)  # approximately, by quadrants
    if in_reach <= nearby:
        return Weights(frozen(weight), None, (0, 0))
    rows, columns = weight.shape
    fast = (next_fast_len(shape[0] + rows - 1), next_fast_len(shape[1] + columns - 1, real=True))
    around = np.zeros(fast)
    around[:rows, :columns] = weight
    around[0, 0] = 0.0
    if columns > 1:
        around[:rows, 1 - columns :] = around[:rows, columns - 1 : 0 : -1]
    if rows > 1:
        around[1 - rows :] = around[rows - 1 : 0 : -1]
    return Weights(frozen(weight), frozen(rfft2(around).real.copy()), fast)
