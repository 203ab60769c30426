"""Categorical heights on a grid: the belief of the paper's first experiment.

Every square has a height from 1 to H, drawn independently from its prior, or is a wall. A move to
one of eight neighbours works if the destination is at most c levels higher, where c is `climb`;
drops of any depth work. Moves off the map or into a wall never work. Heights are seen exactly. With
F[t] the cumulative distribution of t's height and w[t] the probability that t is a wall,

    p[s → t] = (1 − w[t]) · Σ_h Pr(height[s] = h) · F[t](h + c).

A wall has a height too in this model: an explorer is never in a wall, so moves out of one do not
matter. No move out of a known wall works. Read `heights` next.
"""

from __future__ import annotations

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
    locked,
    set_fields,
    unless_given,
    unlocked,
)
from homeward.beliefs.base import (
    NO_MOVES,
    NO_RISKS,
    InPlaceBelief,
    MoveSets,
    Together,
    need_generator,
)
from homeward.beliefs.corrections import changes_state
from homeward.beliefs.grid_graph import attempt_of, grid_graph, grid_size, moves_at
from homeward.beliefs.level_kernels import Tables, chances, level_sets
from homeward.beliefs.observations import UNKNOWN as UNKNOWN
from homeward.beliefs.observations import WALL as WALL
from homeward.beliefs.observations import Reveal, Transition
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import Moves

LEVELS = 5  # number of different heights in the paper's worlds
MAX_HEIGHT = 2**30  # limit of a height, and of a climb; their sum fits an int32


@dataclass(frozen=True, eq=False)
class HeightBelief(InPlaceBelief):
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
        climb, given = check_climb(self.climb, error), self.known
        tables = Tables(frozen(mass), frozen(cumulative(mass)), walls, climb)
        known = np.where(np.broadcast_to(walls, states) == 1.0, WALL, UNKNOWN).astype(np.int32)
        set_fields(self, known=known, tables=tables, prior=prior)
        if given is not None:
            bounds = (WALL, mass.shape[1] + 1)
            heights = indices(given, "the known height", (states,), bounds, "s", error)
            cells = np.flatnonzero(heights)
            ruled_out = np.any(self._faults(cells, heights[cells]), axis=0)
            if ruled_out.any():
                at = cells[np.argmax(ruled_out)]
                raise error(
                    f"square s={at} is given as {_shown(heights[at])}, which the prior excludes"
                )
            known[cells] = heights[cells]
        visited = arrays.marks(self.visited, "visited", states, error)
        if visited[known == WALL].any():
            at = int(np.argmax(visited & (known == WALL)))
            raise error(f"square s={at} is marked as visited, but it is a wall")
        if not isinstance(self.stay, bool):
            raise error(f"stay is {self.stay!r}, expected True or False")
        success = self._success_of(np.arange(states * self._dest.shape[1]))
        set_fields(
            self,
            known=locked(known),
            visited=locked(visited.copy()),
            success=locked(success.reshape(self._dest.shape)),
            unseen=locked(self._unseen_at(np.arange(states))),
            walls=np.broadcast_to(walls, states),
        )

    def copy(self) -> Self:
        """Return a belief with arrays of its own."""
        new = object.__new__(type(self))  # no `__post_init__`: all values are valid already
        new.__dict__.update(self.__dict__)
        for name in ("known", "visited", "success", "unseen"):
            new.__dict__[name] = locked(self.__dict__[name].copy())
        new.__dict__.pop("_mean", None)
        return new

    @property
    def _dest(self) -> IntArray:
        return grid_graph(*self.shape, self.stay).dest

    def _success_of(self, moves: IntArray) -> FloatArray:
        """Return the success probability [n] of moves, given as state·A + action."""
        actions = self._dest.shape[1]
        state, end = moves // actions, self._dest.ravel()[moves]
        stays = moves % actions < actions - 8
        return np.where(end == state, stays, chances(state, end, self.known, self.tables))

    def _unseen_at(self, cells: IntArray) -> IntArray:
        """Return the number [n] of unknown squares among each of `cells` and its neighbours."""
        unknown, there = self.known == UNKNOWN, self._dest[cells]
        near = (unknown[there] & (there != cells[:, None])).sum(axis=1, dtype=np.int32)
        result: IntArray = near + unknown[cells]
        return result

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

    def _absorb(self, observation: Reveal | Transition) -> IntArray | None:
        if isinstance(observation, Transition):
            return self._absorb_move(observation)
        if not isinstance(observation, Reveal):
            raise InvalidBeliefError(f"a height belief can't learn from {observation!r}")
        cells, heights = self._news(observation)
        here = observation.here
        if here is not None:
            here = index(here, len(self.known), "the square here", InvalidBeliefError)
            if self.known[here] == WALL or WALL in heights[cells == here]:
                raise ImpossibleObservationError(
                    f"the explorer is in square s={here}, which is a wall"
                )
            unlocked(self.visited)[here] = True
        if not len(cells):
            return NO_MOVES
        self.__dict__.pop("_mean", None)
        unlocked(self.known)[cells] = heights
        moves = moves_at(cells, self._dest)
        changed: IntArray = np.unique(moves // self._dest.shape[1])
        unlocked(self.success).reshape(-1)[moves] = self._success_of(moves)
        unlocked(self.unseen)[changed] = self._unseen_at(changed)
        return changed

    def _news(self, seen: Reveal) -> tuple[IntArray, IntArray]:
        """Return the seen squares [n] whose height was unknown, and their heights; check all."""
        (cells, heights), top = (seen.cells, seen.heights), self.tables.mass.shape[1]
        if len(cells) and cells.max() >= len(self.known):
            at = int(np.argmax(cells >= len(self.known)))
            raise InvalidBeliefError(
                f"a seen square is s={cells[at]}, outside 0..{len(self.known) - 1}"
            )
        no_height, contradicted, excluded = self._faults(cells, heights)
        if (no_height | contradicted | excluded).any():
            at = int(np.argmax(no_height | contradicted | excluded))
            cell, shown = f"square s={cells[at]} is seen", _shown(heights[at])
            if no_height[at]:
                expected = f"expected 1 to {top}, or {WALL} for a wall"
                raise InvalidBeliefError(f"{cell} at height {heights[at]}, {expected}")
            if contradicted[at]:
                why = f"but is known as {_shown(self.known[cells[at]])}"
                raise ImpossibleObservationError(f"{cell} as {shown}, {why}")
            raise ImpossibleObservationError(f"{cell} as {shown}, which the prior excludes")
        new = self.known[cells] == UNKNOWN
        found, first, which = np.unique(cells[new], return_index=True, return_inverse=True)
        heights = heights[new]
        twice = heights != heights[first][which]
        if twice.any():
            at = int(np.argmax(twice))
            raise ImpossibleObservationError(
                f"square s={found[which[at]]} is seen as {_shown(heights[first][which[at]])} and "
                f"as {_shown(heights[at])}"
            )
        return found, heights[first]

    def _faults(self, cells: IntArray, heights: IntArray) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Return the masks [n] of seen heights that are none, contradict, or are excluded."""
        (mass, _, wall, _), known = self.tables, self.known[cells]
        none = (heights != WALL) & ((heights < 1) | (heights > mass.shape[1]))
        level = np.clip(heights, 1, mass.shape[1]) - 1
        likely = mass[np.minimum(cells, len(mass) - 1), level]
        likely = np.where(heights == WALL, wall[np.minimum(cells, len(wall) - 1)], likely)
        is_new = known == UNKNOWN
        return none, ~is_new & (known != heights), is_new & (likely == 0.0)

    def _absorb_move(self, moved: Transition) -> IntArray | None:
        """Learn from a move: its destination is conditioned on whether it worked."""
        state, action, there, worked = attempt_of(moved, self._mean, self.known == WALL)
        if there == state:
            return NO_MOVES
        chance = self.success[state, action]
        if chance == (0.0 if worked else 1.0):
            raise ImpossibleObservationError(f"the belief rules out {moved}")
        if self.known[there] != UNKNOWN and self.known[state] != UNKNOWN:
            return NO_MOVES
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
        after = replace(self, prior=prior, walls=np.minimum(walls, 1.0))
        self.__dict__.pop("_mean", None)
        self.__dict__.update(after.__dict__)
        return None

    def sample(self, rng: np.random.Generator) -> Moves:
        """Return a model drawn from the belief: with drawn heights, each move works or does not."""
        states = len(self.known)
        seen, free = self.known != UNKNOWN, self.known != WALL
        heights = np.where(seen, self.known, draw_heights(self.prior, states, need_generator(rng)))
        enters = np.where(seen, free, rng.random(states) >= self.tables.wall)
        return _model(self.shape, self.stay, heights, enters, self.climb)


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
