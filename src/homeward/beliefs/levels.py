"""Unknown heights on a grid: the belief of the paper's first experiment.

Every square has a height from 1 to H, drawn independently from its prior, or is a wall. A move to
one of eight neighbours works if the destination is at most one higher, however deep the drop; off
the map and into a wall none does. Given the world every move works or does not. What is seen is
seen exactly, so a square is either as unknown as its prior or not unknown at all.

With F the distribution function of a square's height and w its chance to be a wall,

    p[s → t] = (1 − w[t]) · Σ_h Pr(height[s] = h) · F[t](h + 1).

A wall has a height as well, which nobody sees. What a move out of it would do is of no consequence,
since nobody stands there; so the chance that s is a wall is paid once, on the way in. Nothing leads
out of what is known to be a wall.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numba import njit

from homeward.arrays import (
    SUM_TOLERANCE,
    BoolArray,
    FloatArray,
    IntArray,
    floats,
    frozen,
    index,
    indices,
    marks,
    number,
    unless_given,
)
from homeward.beliefs.corrections import blocked_moves
from homeward.beliefs.heights import NAMES, grid_graph
from homeward.beliefs.observations import Transition
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import Moves

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homeward.errors import InvalidInputError

WALL, UNKNOWN = -1, 0
"""What stands in the place of a height where nobody can stand, and where nothing is known."""

LEVELS = 5
"""The heights of the paper's worlds go from 1 to this."""

HIGHEST = 2**30
"""No height is above this, so that one more is still a number."""

ACTIONS: tuple[str, ...] = ("stay", *NAMES[1:])
OPPOSITE = 4
"""How many eighths of a turn lie between a direction and the one back."""

FINE, OUTSIDE, NO_HEIGHT, CONTRADICTED, RULED_OUT = range(5)
"""What can be wrong with an observation."""


@dataclass(frozen=True, slots=True, eq=False)
class Reveal:
    """The exact heights of some squares were seen, by someone who stands on one of them."""

    cells: IntArray  # [n]
    heights: IntArray  # [n], WALL where a square is one
    here: int | None = None  # where the explorer stands: this square counts as visited

    def __post_init__(self) -> None:
        error, limit = InvalidBeliefError, 2**31 - 1
        ready = _is_ready(self.cells) and _is_ready(self.heights)
        if not (ready and self.cells.shape == self.heights.shape):
            shape = shape_of(self.cells, "the seen squares", "n", error)
            cells = indices(self.cells, "seen square", shape, (0, limit), "n", error)
            heights = indices(self.heights, "seen height", shape, (WALL, limit), "n", error)
            object.__setattr__(self, "cells", cells)
            object.__setattr__(self, "heights", heights)
        if self.here is not None:
            object.__setattr__(self, "here", index(self.here, limit, "the square here", error))


class Tables(NamedTuple):
    """The prior as the kernels read it; each has one row if it is the same for every square."""

    mass: FloatArray  # [1 or S, H] chance of each height
    below: FloatArray  # [1 or S, H + 2] chance of a height of at most 0, 1, ... H + 1
    wall: FloatArray  # [1 or S] chance to be a wall


@dataclass(frozen=True, eq=False)
class HeightBelief:
    """Independent heights, each unknown or seen, one per square of a grid; states are row-major.

    The action `stay` comes first, then N, NE, E and so on; it can be left out. What was seen and
    visited so far can be given, to take up where another left off.
    """

    shape: tuple[int, int]  # rows, columns
    prior: FloatArray = unless_given()  # [H] for every square or [S, H]; 1 to 5 alike unless given
    walls: FloatArray | float = 0.0  # [S] or one for all: chance to be a wall, 1 if known
    stay: bool = True
    known: IntArray = unless_given()  # [S] the height, WALL or UNKNOWN
    visited: BoolArray = unless_given()  # [S]
    tables: Tables = field(init=False, repr=False)
    success: FloatArray = field(init=False, repr=False)  # [S, A] p
    returning: FloatArray = field(init=False, repr=False)  # [S, A] −p(1−p)
    unseen: IntArray = field(init=False, repr=False)  # [S] unknown in and around a square

    moves_work_or_never: ClassVar[bool] = True

    def __post_init__(self) -> None:
        error = InvalidBeliefError
        states = grid_size(self.shape, error)
        prior = check_prior(self.prior, states, error)
        walls = _check_walls(self.walls, states)
        mass = np.atleast_2d(prior)
        tables = Tables(frozen(mass), frozen(_cumulative(mass)), walls)
        known = np.where(np.broadcast_to(walls, states) == 1.0, WALL, UNKNOWN).astype(np.int32)
        if self.known is not None:
            bounds = (WALL, mass.shape[1] + 1)
            given = indices(self.known, "the known height", (states,), bounds, "s", error)
            cells = np.flatnonzero(given).astype(np.int32)  # UNKNOWN is zero
            said = frozen(cells), frozen(given[cells]), frozen(known)
            fault, at, _ = find_fault(*said, *tables)
            if fault != FINE:
                at = cells[at]
                raise error(f"square s={at} is known as {_said(given[at])}, which is ruled out")
            known[cells] = given[cells]
        visited = marks(self.visited, states, error)
        if visited[known == WALL].any():
            raise error(f"square s={int(np.argmax(visited & (known == WALL)))} is a wall, visited")
        if not isinstance(self.stay, bool):
            raise error(f"stay is {self.stay!r}, expected True or False")
        dest = height_graph(*self.shape, self.stay).dest
        success, returning = np.empty(dest.shape), np.empty(dest.shape)
        unseen = np.empty(states, np.int32)
        fill(dest, int(self.stay), known, *tables, success, returning, unseen)
        for name, value in (
            ("prior", prior),
            ("walls", np.broadcast_to(walls, states)),
            ("known", frozen(known)),
            ("visited", visited),
            ("tables", tables),
            ("success", frozen(success)),
            ("returning", frozen(returning)),
            ("unseen", frozen(unseen)),
        ):
            object.__setattr__(self, name, value)

    @property
    def seen(self) -> BoolArray:
        """Which squares [S] are known: seen, or a wall that was known before."""
        found: BoolArray = self.known != UNKNOWN
        return found

    @property
    def counts(self) -> FloatArray:
        """How many observations [S, A] speak of a move: infinitely many once its start is visited.

        Who stands on a square sees all around it and so knows exactly what its moves do.
        """
        told = np.where(self.visited, np.inf, 0.0)
        return np.broadcast_to(told[:, None], self.success.shape)

    def mean(self) -> Moves:
        """Give the mean model: each move's probability to work."""
        return self._mean

    @cached_property
    def _mean(self) -> Moves:
        return height_graph(*self.shape, self.stay).with_success(self.success)

    def correction(self) -> FloatArray:
        """Give Theorem 2's σ [S, A] = −2p(1−p)."""
        return 2.0 * self.returning

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        """Give our corrections (returning, exploring), each [S, A]."""
        return self.returning, (2.0 - discount) * self.returning

    def blocked_probability(self) -> FloatArray:
        """Return Pr(P = 0) = 1 − p [S, A]; 0 where a move would not lead elsewhere."""
        return blocked_moves(self._mean.dest, self._mean.success)

    def uncovers(self) -> FloatArray:
        """Give the expected number [S, A] of unseen squares that a move would reveal.

        It is the move's probability to work times the unseen among its destination and that
        one's neighbours; staying reveals nothing.
        """
        expected = np.empty(self.success.shape)
        expect_unseen(self._mean.dest, self.success, self.unseen, expected)
        return expected

    def update(self, observation: Reveal | Transition) -> Self:
        """Return the belief after seen heights, or after a move from a square that was seen.

        Only the moves at squares that were unknown are computed anew.
        """
        if isinstance(observation, Transition):
            return self._after_move(observation)
        if not isinstance(observation, Reveal):
            raise InvalidBeliefError(f"a height belief can't learn from {observation!r}")
        cells, heights, here = observation.cells, observation.heights, observation.here
        fault, at, news = find_fault(cells, heights, self.known, *self.tables)
        if fault != FINE:
            raise self._refusal(fault, int(cells[at]), int(heights[at]))
        changed = self._learned(cells, heights) if news else {}
        if here is not None:
            here = index(here, len(self.known), "the square here", InvalidBeliefError)
            if changed.get("known", self.known)[here] == WALL:
                raise ImpossibleObservationError(f"nobody stands in square s={here}, a wall")
            if not self.visited[here]:
                visited = self.visited.copy()
                visited[here] = True
                changed["visited"] = frozen(visited)
        if not changed:
            return self
        new = object.__new__(type(self))  # what is known to be sound is not checked again
        new.__dict__.update(self.__dict__)
        if news:
            new.__dict__.pop("_mean", None)
        new.__dict__.update(changed)
        return new

    def _after_move(self, moved: Transition) -> Self:
        """Condition the height of the square that a move led to, or failed to lead to.

        The move worked if that square is no wall and at most one higher than the one it began on.
        """
        state, action, after = moved.state, moved.action, moved.next_state
        moved.check(*self.success.shape)
        there = int(self._mean.dest[state, action])
        if after not in (state, there):
            raise ImpossibleObservationError(f"{moved} leads neither to s={there} nor nowhere")
        if self.known[state] == WALL:
            raise ImpossibleObservationError(f"nobody stands in square s={state}, a wall")
        if there == state:
            return self
        worked, chance = after == there, self.success[state, action]
        if chance == (0.0 if worked else 1.0):
            raise ImpossibleObservationError(f"the belief rules out {moved}")
        if self.known[there] != UNKNOWN and self.known[state] != UNKNOWN:
            return self
        if self.known[state] == UNKNOWN:
            raise InvalidBeliefError(
                f"{moved} began on a square of unknown height: reveal s={state} first"
            )
        states, top = len(self.known), self.tables.mass.shape[1]
        prior, walls = np.broadcast_to(self.prior, (states, top)).copy(), np.array(self.walls)
        low = np.arange(1, top + 1) <= self.known[state] + 1
        kept = np.where(low == worked, prior[there], 0.0)
        walls[there] = 0.0 if worked else walls[there] / (1.0 - chance)
        if kept.sum() > 0.0:
            prior[there] = kept / kept.sum()
        else:
            walls[there] = 1.0  # nothing else is left that could have stopped it
        return replace(self, prior=prior, walls=np.minimum(walls, 1.0))

    def _learned(self, cells: IntArray, heights: IntArray) -> dict[str, Any]:
        """Give the fields that seen heights [n] change."""
        known, unseen = self.known.copy(), self.unseen.copy()
        success, returning = self.success.copy(), self.returning.copy()
        dest = height_graph(*self.shape, self.stay).dest
        results = success, returning, unseen
        at = learn(cells, heights, dest, int(self.stay), known, *self.tables, *results)
        if at >= 0:
            raise ImpossibleObservationError(
                f"square s={cells[at]} is seen as {_said(known[cells[at]])} "
                f"and as {_said(heights[at])}"
            )
        return {
            "known": frozen(known),
            "success": frozen(success),
            "returning": frozen(returning),
            "unseen": frozen(unseen),
        }

    def sample(self, rng: np.random.Generator) -> Moves:
        """Draw every height that is unknown, and with them which moves work."""
        states = len(self.known)
        seen, free = self.known != UNKNOWN, self.known != WALL
        heights = np.where(seen, self.known, draw_heights(self.prior, states, rng))
        enters = np.where(seen, free, rng.random(states) >= self.tables.wall)
        return _model(self.shape, self.stay, heights, enters)

    def _refusal(self, fault: int, cell: int, height: int) -> Exception:
        """Say what is wrong with an observation that a square is of that height."""
        if fault == OUTSIDE:
            return InvalidBeliefError(
                f"a seen square is s={cell}, outside 0..{len(self.known) - 1}"
            )
        if fault == NO_HEIGHT:
            top = self.tables.mass.shape[1]
            return InvalidBeliefError(
                f"square s={cell} is seen at height {height}, expected 1 to {top} or {WALL}, a wall"
            )
        if fault == CONTRADICTED:
            known = _said(self.known[cell])
            return ImpossibleObservationError(
                f"square s={cell} is seen as {_said(height)} and known as {known}"
            )
        return ImpossibleObservationError(
            f"square s={cell} is seen as {_said(height)}, which the prior rules out"
        )


def model_of_heights(shape: tuple[int, int], heights: ArrayLike, stay: bool = True) -> Moves:
    """Give the model of a world with these heights [S], or WALL: every move works or does not."""
    states = grid_size(shape, InvalidBeliefError)
    known = indices(heights, "the height", (states,), (WALL, HIGHEST + 1), "s", InvalidBeliefError)
    if not known.all():
        raise InvalidBeliefError(f"the height of square s={int(np.argmin(known != 0))} is 0")
    return _model(shape, bool(stay), known, known != WALL)


def _model(shape: tuple[int, int], stay: bool, heights: IntArray, enters: BoolArray) -> Moves:
    """Give the model in which moves climb by one at most, into squares that can be entered.

    Nothing leads out of a wall: as a height, it is two below the lowest.
    """
    graph = height_graph(*shape, stay)
    works = heights[graph.dest] <= heights[:, None] + 1
    works &= enters[graph.dest]
    works &= graph.dest != np.arange(len(heights))[:, None]
    if stay:
        works[:, 0] = True
    return graph.with_success(works.astype(np.float64))


@lru_cache(maxsize=16)
def height_graph(rows: int, columns: int, stay: bool) -> Moves:
    """Give the graph of a grid: stay, if one may, and eight neighbours; off the map is nowhere."""
    kept = slice(0 if stay else 1, None)
    dest = grid_graph(rows, columns).dest[:, kept]
    blank = np.broadcast_to(np.float64(0.0), dest.shape)
    return Moves(dest, blank, action_names=ACTIONS[kept])


def draw_heights(prior: FloatArray, states: int, rng: np.random.Generator) -> IntArray:
    """Draw heights [S] independently from a prior [H] or [S, H]."""
    below = _cumulative(np.atleast_2d(prior))
    drawn: IntArray = 1 + (rng.random((states, 1)) >= below[:, 1:-2]).sum(axis=1, dtype=np.int32)
    return drawn


def shape_of(
    values: ArrayLike, name: str, axes: str, error: type[InvalidInputError]
) -> tuple[int, ...]:
    """Check that `values` make an array with these axes; give its shape."""
    try:
        shape: tuple[int, ...] = np.shape(values)
    except ValueError as cause:
        raise error(f"{name} are not an array [{', '.join(axes)}]: {cause}") from cause
    if len(shape) != len(axes):
        raise error(f"{name} have shape {shape}, expected [{', '.join(axes)}]")
    return shape


def grid_size(shape: object, error: type[InvalidInputError]) -> int:
    """Check that `shape` is (rows, columns) of a grid; give its number of squares."""
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise error(f"the shape is {shape!r}, expected (rows, columns)")
    rows = index(shape[0], 2**31, "the shape's rows", error)
    columns = index(shape[1], 2**31, "the shape's columns", error)
    if not 1 <= rows * columns < 2**31:
        raise error(f"a grid of {rows} × {columns} squares has none, or too many")
    return rows * columns


def check_prior(prior: ArrayLike | None, states: int, error: type[InvalidInputError]) -> FloatArray:
    """Check a distribution of heights, [H] or [S, H]; uniform from 1 to 5 unless given."""
    if prior is None:
        return frozen(np.full(LEVELS, 1.0 / LEVELS))
    mass = floats(prior, "the prior", None, error)
    if np.ndim(prior) not in (1, 2) or mass.shape[:-1] not in ((), (states,)):
        raise error(f"the prior has shape {np.shape(prior)}, expected [H] or [{states}, H]")
    if mass.shape[-1] == 0:
        raise error("the prior has no heights")
    rows = np.atleast_2d(mass)

    def whose(row: int) -> str:
        return "" if mass.ndim == 1 else f" of square s={row}"

    if not (rows.min() >= 0.0 and rows.max() <= 1.0):
        row, column = (int(i) for i in np.argwhere((rows < 0.0) | (rows > 1.0))[0])
        raise error(
            f"the prior{whose(row)} has height {column + 1} at {rows[row, column]:g}, "
            "not a probability"
        )
    sums = rows.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1.0)))
    if abs(sums[worst] - 1.0) > SUM_TOLERANCE:
        raise error(f"the prior{whose(worst)} sums to {sums[worst]:.10g}")
    return mass


def _check_walls(walls: ArrayLike, states: int) -> FloatArray:
    """Check the chances of walls; give one for all [1] or [S]."""
    error = InvalidBeliefError
    if np.ndim(walls) == 0:
        chance = np.array([number(walls, "the chance of a wall", error)])
    else:
        chance = floats(walls, "the chance of a wall", (states,), error)
    if not (chance.min() >= 0.0 and chance.max() <= 1.0):
        at = int(np.argmax((chance < 0.0) | (chance > 1.0)))
        raise error(f"the chance of a wall at s={at} is {chance[at]:g}, not a probability")
    return frozen(chance)


def _cumulative(mass: FloatArray) -> FloatArray:
    """Give the chances [R, H + 2] of a height of at most 0, 1, ... H + 1; exactly 1 where sure."""
    below = np.zeros((len(mass), mass.shape[1] + 2))
    np.cumsum(mass, axis=1, out=below[:, 1:-1])
    np.minimum(below, 1.0, out=below)
    last = mass.shape[1] - np.argmax(mass[:, ::-1] > 0.0, axis=1)
    below[np.arange(below.shape[1]) >= last[:, None]] = 1.0
    return below


def _is_ready(values: object) -> bool:
    """Tell whether a list of numbers is such as the kernels read, which then look at each."""
    return (
        isinstance(values, np.ndarray)
        and values.dtype == np.int32
        and values.ndim == 1
        and values.flags.c_contiguous
        and not values.flags.writeable
    )


def _said(height: int) -> str:
    return "a wall" if height == WALL else f"height {height}"


def _chance(
    s: int,
    t: int,
    known: IntArray,
    mass: FloatArray,
    below: FloatArray,
    wall: FloatArray,
) -> float:
    """Give the probability that the move from s to its neighbour t works.

    Nothing leads out of a wall: as a height, it is two below the lowest.
    """
    here, there = known[s], known[t]
    if there == WALL:
        return 0.0
    i, j = min(s, len(below) - 1), min(t, len(below) - 1)  # one row speaks for all
    if there != UNKNOWN:
        if here != UNKNOWN:
            return 1.0 if there <= here + 1 else 0.0
        return 1.0 - float(below[i, max(0, there - 2)])  # the start is at least one below
    free = 1.0 - float(wall[min(t, len(wall) - 1)])
    if here != UNKNOWN:
        return float(below[j, here + 1]) * free
    total, sure = 0.0, True
    for k in range(mass.shape[1]):
        reach = below[j, k + 2]
        total += mass[i, k] * reach
        if mass[i, k] > 0.0 and reach < 1.0:
            sure = False
    return free if sure else min(1.0, total) * free


chance = njit(cache=True)(_chance)


def _fill(
    dest: IntArray,
    first: int,
    known: IntArray,
    mass: FloatArray,
    below: FloatArray,
    wall: FloatArray,
    success: FloatArray,
    returning: FloatArray,
    unseen: IntArray,
) -> None:
    """Write p and −p(1−p) [S, A] of every move, and the unseen [S] around each square."""
    states, actions = dest.shape
    for s in range(states):
        unseen[s] = 1 if known[s] == UNKNOWN else 0
        for a in range(actions):
            t = dest[s, a]
            p = 1.0 if a < first else 0.0
            if t != s:
                p = chance(s, t, known, mass, below, wall)
                unseen[s] += 1 if known[t] == UNKNOWN else 0
            success[s, a] = p
            returning[s, a] = p * (p - 1.0)


fill = njit(cache=True)(_fill)


def _find_fault(
    cells: IntArray,
    heights: IntArray,
    known: IntArray,
    mass: FloatArray,
    below: FloatArray,
    wall: FloatArray,
) -> tuple[int, int, int]:
    """Give what is wrong with seen heights [n], at which of them, and how many are news."""
    news = 0
    for i in range(len(cells)):
        c, height = cells[i], heights[i]
        if not 0 <= c < len(known):
            return OUTSIDE, i, news
        if height != WALL and not 1 <= height <= mass.shape[1]:
            return NO_HEIGHT, i, news
        if known[c] == height:
            continue
        if known[c] != UNKNOWN:
            return CONTRADICTED, i, news
        news += 1
        if height == WALL:
            likely = wall[min(c, len(wall) - 1)]
        else:
            likely = mass[min(c, len(mass) - 1), height - 1]
        if likely == 0.0:
            return RULED_OUT, i, news
    return FINE, -1, news


find_fault = njit(cache=True)(_find_fault)


def _learn(
    cells: IntArray,
    heights: IntArray,
    dest: IntArray,
    first: int,
    known: IntArray,
    mass: FloatArray,
    below: FloatArray,
    wall: FloatArray,
    success: FloatArray,
    returning: FloatArray,
    unseen: IntArray,
) -> int:
    """Write seen heights [n] and what changes with them; give the first that contradicts, or −1."""
    new = np.empty(len(cells), np.int32)
    news = 0
    for i in range(len(cells)):
        c = cells[i]
        if known[c] == UNKNOWN:
            known[c] = heights[i]
            new[news] = c
            news += 1
        elif known[c] != heights[i]:
            return i
    for c in new[:news]:
        unseen[c] -= 1
        for a in range(first, dest.shape[1]):
            t = dest[c, a]
            if t == c:
                continue
            unseen[t] -= 1
            out = chance(c, t, known, mass, below, wall)
            success[c, a] = out
            returning[c, a] = out * (out - 1.0)
            back = first + (a - first + OPPOSITE) % (2 * OPPOSITE)
            into = chance(t, c, known, mass, below, wall)
            success[t, back] = into
            returning[t, back] = into * (into - 1.0)
    return -1


learn = njit(cache=True)(_learn)


def _expect_unseen(
    dest: IntArray, success: FloatArray, unseen: IntArray, expected: FloatArray
) -> None:
    """Write success × the unseen around the destination [S, A]; zero where nothing is entered."""
    states, actions = dest.shape
    for s in range(states):
        for a in range(actions):
            t = dest[s, a]
            expected[s, a] = success[s, a] * unseen[t] if t != s else 0.0


expect_unseen = njit(cache=True)(_expect_unseen)
