"""Categorical heights on a grid: the belief of the paper's first experiment.

Every square has a height from 1 to H, drawn independently from its prior, or is a wall. A move to
one of eight neighbours works if the destination is at most c levels higher, where c is `climb`;
drops of any depth work. Moves off the map or into a wall never work. In each world a move always or
never works. Heights are seen exactly, so the height of a square is either known or distributed as
its prior.

With F[t] the cumulative distribution of t's height and w[t] the probability that t is a wall,

    p[s → t] = (1 − w[t]) · Σ_h Pr(height[s] = h) · F[t](h + c).

In this model a wall has a height too. An explorer is never in a wall, so moves out of a wall do not
matter: the risk that s is a wall counts only for moves into s. No move out of a known wall works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from homeward import arrays
from homeward.arrays import (
    BoolArray,
    Error,
    FloatArray,
    IntArray,
    frozen,
    index,
    indices,
    set_fields,
    unless_given,
)
from homeward.beliefs.base import NO_MOVES, NO_RISKS, Belief, MoveSets, Together
from homeward.beliefs.corrections import changes_state
from homeward.beliefs.grid_graph import attempt_of, grid_graph, grid_size
from homeward.beliefs.level_joint import level_sets
from homeward.beliefs.level_kernels import (
    CONTRADICTED,
    FINE,
    NO_HEIGHT,
    OUTSIDE,
    Tables,
    fill,
    find_fault,
    learn,
)
from homeward.beliefs.level_kernels import UNKNOWN as UNKNOWN
from homeward.beliefs.level_kernels import WALL as WALL
from homeward.beliefs.observations import Transition, in_turn
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import Moves

LEVELS = 5  # number of different heights in the paper's worlds
MAX_HEIGHT = 2**30  # limit of a height, and of a climb; their sum fits an int32


@dataclass(frozen=True, slots=True, eq=False)
class Reveal:
    """An observation of the exact heights of squares.

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


@dataclass(frozen=True, eq=False)
class HeightBelief(Belief):
    """Independent heights of the squares of a grid, each known or unknown; states are row-major.

    Attributes
    ----------
    shape : Rows and columns
    prior : [H] or [S, H] probability of each height; uniform on 1 to 5 by default
    walls : [S] or a number: probability that a square is a wall; 1 for a known wall
    stay : Whether the first action is `stay`; the others are N, NE, E and so on clockwise
    climb : Largest rise of a move that works, in levels; 1 or more
    known : [S] height of each square, WALL or UNKNOWN
    visited : [S] mask of the squares in which the explorer has been
    success : [S, A] probability p that a move works
    unseen : [S] number of squares of unknown height among a square and its neighbours
    tables : Prior, cumulative prior, wall probabilities and climb, for compiled functions
    """

    shape: tuple[int, int]
    prior: FloatArray = unless_given()
    walls: FloatArray | float = 0.0
    stay: bool = True
    known: IntArray = unless_given()
    visited: BoolArray = unless_given()
    climb: int = 1
    tables: Tables = field(init=False, repr=False)
    success: FloatArray = field(init=False, repr=False)
    unseen: IntArray = field(init=False, repr=False)

    moves_work_or_never: ClassVar[bool] = True

    def __post_init__(self) -> None:
        error = InvalidBeliefError
        states = grid_size(self.shape, error)
        prior = check_prior(self.prior, states, error)
        walls = check_walls(self.walls, states)
        mass = np.atleast_2d(prior)
        climb = check_climb(self.climb, error)
        tables = Tables(frozen(mass), frozen(cumulative(mass)), walls, climb)
        known = np.where(np.broadcast_to(walls, states) == 1.0, WALL, UNKNOWN).astype(np.int32)
        if self.known is not None:
            bounds = (WALL, mass.shape[1] + 1)
            given = indices(self.known, "the known height", (states,), bounds, "s", error)
            cells = np.flatnonzero(given).astype(np.int32)  # UNKNOWN is zero
            fault, at, _ = find_fault(frozen(cells), frozen(given[cells]), frozen(known), tables)
            if fault != FINE:
                at = cells[at]
                raise error(
                    f"square s={at} is given as {_shown(given[at])}, which the prior excludes"
                )
            known[cells] = given[cells]
        visited = arrays.marks(self.visited, "visited", states, error)
        if visited[known == WALL].any():
            at = int(np.argmax(visited & (known == WALL)))
            raise error(f"square s={at} is marked as visited, but it is a wall")
        if not isinstance(self.stay, bool):
            raise error(f"stay is {self.stay!r}, expected True or False")
        dest = grid_graph(*self.shape, self.stay).dest
        success, unseen = np.empty(dest.shape), np.empty(states, np.int32)
        fill(dest, tables, known, success, unseen)
        set_fields(self, known=frozen(known), success=frozen(success), unseen=frozen(unseen))
        walls = np.broadcast_to(walls, states)
        set_fields(self, prior=prior, walls=walls, visited=visited, tables=tables)

    @property
    def seen(self) -> BoolArray:
        """Mask [S] of squares that are not UNKNOWN: their height was seen, or they are walls."""
        result: BoolArray = self.known != UNKNOWN
        return result

    @property
    def counts(self) -> FloatArray:
        """Number of observations [S, A] of each move: infinite if its start was visited, else 0.

        A visit to a square reveals all its neighbours, so its moves are known exactly.
        """
        known = np.where(self.visited, np.inf, 0.0)
        return np.broadcast_to(known[:, None], self.success.shape)

    def mean(self) -> Moves:
        """Return the mean model, whose success [S, A] is the probability that a move works."""
        return self._mean

    @cached_property
    def _mean(self) -> Moves:
        return grid_graph(*self.shape, self.stay).with_success(self.success)

    def correction(self) -> FloatArray:
        """Return the general correction σ [S, A] = −2p(1−p)."""
        return self.move_corrections(0.0)[1]

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        """Return the moves corrections (returning, exploring), each [S, A]."""
        returning = self.success * (self.success - 1.0)
        return returning, (2.0 - discount) * returning

    def blocked_probability(self) -> FloatArray:
        """Return Pr(P = 0) = 1 − p [S, A]; 0 for actions whose destination is the same state."""
        return np.where(changes_state(self._mean.dest), 1.0 - self._mean.success, 0.0)

    def least_blocked(self) -> tuple[IntArray, FloatArray]:
        """Return no moves: `blocked_probability` is exact."""
        return NO_MOVES, NO_RISKS

    def work_together(self, sets: MoveSets) -> Together:
        """Return bounds on the probability that all moves of each set work.

        They are exact, by a recursion over levels, for sets that are not too wide.
        """
        low, high = np.empty((2, len(sets.first) - 1))
        level_sets(self._mean.dest, self.known, self.tables, *sets, low, high)
        for i in np.flatnonzero(low < 0.0):  # a set that is too wide
            at = slice(sets.first[i], sets.first[i + 1])
            low[i], high[i] = self.all_work(sets.state[at], sets.action[at])
        return Together(low, high, self.evaluator)

    def possible_walls(self) -> BoolArray:
        """Return the mask [S] of unknown squares that may be walls."""
        wall = np.broadcast_to(self.tables.wall, len(self.known))
        result: BoolArray = (self.known == UNKNOWN) & (wall > 0.0) & (wall < 1.0)
        return result

    def uncovers(self) -> FloatArray:
        """Return the expected number [S, A] of unseen squares that a move would reveal.

        It is the probability that the move works, times the number `unseen` of its destination. It
        is 0 for `stay`.
        """
        dest = self._mean.dest
        return np.where(changes_state(dest), self.success * self.unseen[dest], 0.0)

    def update(self, observation: Reveal | Transition | Sequence[Reveal | Transition]) -> Self:
        """Return the belief after seen heights, a move from a square of known height, or a list.

        After seen heights, only moves into and out of squares that were unknown are computed again.
        """
        if isinstance(observation, tuple | list):
            result: Self = in_turn(self, observation)
            return result
        if isinstance(observation, Transition):
            return self._after_move(observation)
        if not isinstance(observation, Reveal):
            raise InvalidBeliefError(f"a height belief can't learn from {observation!r}")
        cells, heights = observation.cells, observation.heights
        fault, at, news = find_fault(cells, heights, self.known, self.tables)
        if fault != FINE:
            raise self._invalid(fault, int(cells[at]), int(heights[at]))
        new = object.__new__(type(self))  # no `__post_init__`: all values are valid already
        new.__dict__.update(self.__dict__)
        if news:
            known, success, unseen = self.known.copy(), self.success.copy(), self.unseen.copy()
            dest = grid_graph(*self.shape, self.stay).dest
            at = learn(cells, heights, dest, self.tables, known, success, unseen)
            if at >= 0:
                seen = _shown(known[cells[at]]), _shown(heights[at])
                raise ImpossibleObservationError(
                    f"square s={cells[at]} is seen as {seen[0]} and as {seen[1]}"
                )
            new.__dict__.pop("_mean", None)
            set_fields(new, known=frozen(known), success=frozen(success), unseen=frozen(unseen))
        if observation.here is None:
            return new if news else self
        here = index(observation.here, len(self.known), "the square here", InvalidBeliefError)
        if new.known[here] == WALL:
            raise ImpossibleObservationError(f"the explorer is in square s={here}, which is a wall")
        if self.visited[here]:
            return new if news else self
        visited = self.visited.copy()
        visited[here] = True
        set_fields(new, visited=frozen(visited))
        return new

    def _after_move(self, moved: Transition) -> Self:
        """Return the belief after a move: its destination is conditioned on whether it worked."""
        state, action, there, worked = attempt_of(moved, self._mean, self.known == WALL)
        if there == state:
            return self
        chance = self.success[state, action]
        if chance == (0.0 if worked else 1.0):
            raise ImpossibleObservationError(f"the belief rules out {moved}")
        if self.known[there] != UNKNOWN and self.known[state] != UNKNOWN:
            return self
        if self.known[state] == UNKNOWN:
            raise InvalidBeliefError(
                f"{moved} starts in a square of unknown height: update with a Reveal of "
                f"s={state} first"
            )
        states, top = len(self.known), self.tables.mass.shape[1]
        prior, walls = np.broadcast_to(self.prior, (states, top)).copy(), np.array(self.walls)
        low = np.arange(1, top + 1) <= self.known[state] + self.climb
        kept = np.where(low == worked, prior[there], 0.0)
        walls[there] = 0.0 if worked else walls[there] / (1.0 - chance)
        if kept.sum() > 0.0:
            prior[there] = kept / kept.sum()
        else:
            walls[there] = 1.0  # every height allows the move, so the destination is a wall
        return replace(self, prior=prior, walls=np.minimum(walls, 1.0))

    def sample(self, rng: np.random.Generator) -> Moves:
        """Return a model drawn from the belief: with drawn heights, each move works or does not."""
        states = len(self.known)
        seen, free = self.known != UNKNOWN, self.known != WALL
        heights = np.where(seen, self.known, draw_heights(self.prior, states, rng))
        enters = np.where(seen, free, rng.random(states) >= self.tables.wall)
        return _model(self.shape, self.stay, heights, enters, self.climb)

    def _invalid(self, fault: int, cell: int, height: int) -> Exception:
        """Return the exception for the seen `height` of a square; `fault` is from `find_fault`."""
        seen, states, top = f"square s={cell} is seen", len(self.known), self.tables.mass.shape[1]
        if fault == OUTSIDE:
            return InvalidBeliefError(f"a seen square is s={cell}, outside 0..{states - 1}")
        if fault == NO_HEIGHT:
            expected = f"expected 1 to {top}, or {WALL} for a wall"
            return InvalidBeliefError(f"{seen} at height {height}, {expected}")
        why = ", which the prior excludes"
        if fault == CONTRADICTED:
            why = f", but is known as {_shown(self.known[cell])}"
        return ImpossibleObservationError(f"{seen} as {_shown(height)}{why}")


def model_of_heights(
    shape: tuple[int, int], heights: ArrayLike, stay: bool = True, climb: int = 1
) -> Moves:
    """Return the model of a world with `heights` [S], WALL for walls.

    A move works if it rises at most `climb` levels and does not lead into a wall.
    """
    error = InvalidBeliefError
    states = grid_size(shape, error)
    known = indices(heights, "the height", (states,), (WALL, MAX_HEIGHT + 1), "s", error)
    if not known.all():
        raise error(f"the height of square s={int(np.argmin(known != 0))} is 0, expected 1 or more")
    return _model(shape, bool(stay), known, known != WALL, check_climb(climb, error))


def check_climb(climb: object, error: Error) -> int:
    """Return the largest rise of a move, in levels; raise unless it is a whole number above 0."""
    if index(climb, MAX_HEIGHT, "the climb", error) < 1:
        raise error("the climb is 0, expected 1 or more")
    result: int = int(climb)  # type: ignore[call-overload]
    return result


def _model(
    shape: tuple[int, int], stay: bool, heights: IntArray, enters: BoolArray, climb: int
) -> Moves:
    """Return the model in which moves rise at most `climb` levels into squares of mask `enters`.

    No move out of a square of height WALL works.
    """
    graph = grid_graph(*shape, stay)
    works = (heights[graph.dest] <= heights[:, None] + climb) & (heights != WALL)[:, None]
    works &= enters[graph.dest] & changes_state(graph.dest)
    if stay:
        works[:, 0] = True
    return graph.with_success(works.astype(np.float64))


def shape_of(values: ArrayLike, name: str, axes: str, error: Error) -> tuple[int, ...]:
    """Return the shape of `values`; raise unless they form an array with one axis per letter."""
    try:
        shape: tuple[int, ...] = np.shape(values)
    except ValueError as cause:
        raise error(f"{name} are not an array [{', '.join(axes)}]: {cause}") from cause
    if len(shape) != len(axes):
        raise error(f"{name} have shape {shape}, expected [{', '.join(axes)}]")
    return shape


def _shown(height: int) -> str:
    return "a wall" if height == WALL else f"height {height}"


def check_prior(prior: ArrayLike | None, states: int, error: Error) -> FloatArray:
    """Return the prior of heights, [H] or [S, H], uniform on 1 to 5 for None; raise if invalid."""
    if prior is None:
        return frozen(np.full(LEVELS, 1.0 / LEVELS))
    mass = arrays.floats(prior, "the prior", None, error)
    if mass.ndim not in (1, 2) or mass.shape[:-1] not in ((), (states,)):
        raise error(f"the prior has shape {mass.shape}, expected [H] or [{states}, H]")
    if mass.shape[-1] == 0:
        raise error("the prior has no heights")
    rows = np.atleast_2d(mass)
    bad = (rows < 0.0) | (rows > 1.0)
    sums = rows.sum(axis=1)
    row = arrays.first_of(bad)[0] if bad.any() else int(np.argmax(np.abs(sums - 1.0)))
    name = "the prior" if mass.ndim == 1 else f"the prior of square s={row}"
    if bad.any():
        height = int(np.argmax(bad[row]))
        raise error(f"{name} of height {height + 1} is {rows[row, height]:g}, not a probability")
    if abs(sums[row] - 1.0) > arrays.SUM_TOLERANCE:
        raise error(f"{name} sums to {sums[row]:.10g}, expected 1")
    return mass


def check_walls(walls: ArrayLike, states: int) -> FloatArray:
    """Return the probabilities of walls, [S], or [1] for one number; raise if they are invalid."""
    name, shape, error = "the probability of a wall", (states,), InvalidBeliefError
    if np.ndim(walls) == 0:
        walls, shape = [arrays.number(walls, name, error)], (1,)
    return arrays.probabilities(walls, name, shape, "s", error)


def cumulative(mass: FloatArray) -> FloatArray:
    """Return Pr(height ≤ h) [R, H + 2] for h = 0 to H + 1, from the probabilities `mass` [R, H].

    It is exactly 1 from the largest possible height on.
    """
    below = np.zeros((len(mass), mass.shape[1] + 2))
    np.cumsum(mass, axis=1, out=below[:, 1:-1])
    np.minimum(below, 1.0, out=below)
    last = mass.shape[1] - np.argmax(mass[:, ::-1] > 0.0, axis=1)
    below[np.arange(below.shape[1]) >= last[:, None]] = 1.0
    return below


def draw_heights(prior: FloatArray, states: int, rng: np.random.Generator) -> IntArray:
    """Return heights [S] drawn independently from a prior [H] or [S, H]."""
    below = cumulative(np.atleast_2d(prior))
    result: IntArray = 1 + (rng.random((states, 1)) >= below[:, 1:-2]).sum(axis=1, dtype=np.int32)
    return result
