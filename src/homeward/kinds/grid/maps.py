"""Maps of heights and walls, given as text or drawn at random, and their reachable squares.

A map is written with one character per square::

    1 2 ... 5   the height; up to 9 if a map has more levels
    # a wall, which can't be entered
    a b ... e   where the explorer starts, on height 1, 2, ... 5; up to i for 9

For example, the lines ``11#`` and ``5b2`` are a grid of two rows and three columns; the start is in
the middle of the second row, at height 2. States are row-major. From a square the explorer sees
that square and its eight neighbours. It can move to a neighbour that is not a wall and at most
`climb` levels higher (see `HeightBelief`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from homeward.arrays import BoolArray, IntArray, frozen, index, indices, number
from homeward.beliefs.grid_graph import grid_size
from homeward.beliefs.levels import (
    LEVELS,
    UNKNOWN,
    WALL,
    HeightBelief,
    check_climb,
    check_prior,
    draw_heights,
    model_of_heights,
)
from homeward.beliefs.observations import shape_of
from homeward.errors import InvalidFileError, InvalidProblemError
from homeward.kinds.reachability import can_reach_start, move_graph
from homeward.models import Moves

MAX_LEVELS = 9  # largest number of different heights of a map, since each is one digit
STARTS = "abcdefghi"  # letters that mark the start, by its height from 1 to `MAX_LEVELS`


@dataclass(frozen=True, eq=False)
class HeightMap:
    """A map of two or more squares, each a wall or of a known height, and a start on it.

    Attributes
    ----------
    heights : [rows, columns] array of int
        Heights from 1 to 9, or WALL.
    start : int
        State of the start: row·columns + column.
    climb : int
        Largest rise of a move that works, in levels.
    """

    heights: IntArray
    start: int
    climb: int = 1

    def __post_init__(self) -> None:
        error = InvalidProblemError
        shape = shape_of(self.heights, "the heights of a map", "rc", error)
        heights = indices(self.heights, "the height", shape, (WALL, MAX_LEVELS + 1), "rc", error)
        if heights.size < 2:
            raise error(f"a map of {shape[0]} × {shape[1]} squares, expected two or more")
        if not heights.all():
            row, column = (int(i) for i in np.argwhere(heights == UNKNOWN)[0])
            raise error(f"the height (r={row}, c={column}) is 0, expected 1 or more, or {WALL}")
        start = index(self.start, heights.size, "the start", error)
        if heights.flat[start] == WALL:
            raise error(f"the start s={start} is a wall")
        check_climb(self.climb, error)
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "start", start)

    @classmethod
    def from_text(cls, text: str, *, levels: int = LEVELS, climb: int = 1) -> HeightMap:
        """Return the map of a text with one character per square; outer whitespace is ignored.

        Heights are from 1 to `levels`; a move climbs at most `climb` levels.
        """
        known = {str(height): height for height in range(1, levels + 1)} | {"#": WALL}
        starts = {STARTS[height - 1]: height for height in range(1, levels + 1)}
        if not isinstance(text, str):
            raise InvalidFileError(f"a map is {text!r}, expected text")
        lines = text.splitlines()
        full = [n for n, line in enumerate(lines) if line.strip()]
        if not full:
            raise InvalidFileError("the map is empty")
        rows = [line.strip() for line in lines[full[0] : full[-1] + 1]]
        start: int | None = None
        for n, row in enumerate(rows):
            line = lines[full[0] + n]
            indent, number = len(line) - len(line.lstrip()), full[0] + n + 1
            others = ((c, letter) for c, letter in enumerate(row) if letter not in known)
            for c, character in others:
                at = f"line {number}, column {indent + c + 1}"
                if character not in starts:
                    raise InvalidFileError(
                        f"{at}: {character!r} is neither a height 1 to {levels}, "
                        f"nor a wall #, nor a start a to {STARTS[levels - 1]}"
                    )
                if start is not None:
                    raise InvalidFileError(f"{at}: a second start {character!r}")
                start = n * len(rows[0]) + c
            if len(row) != len(rows[0]):
                raise InvalidFileError(
                    f"line {number}, column {indent + min(len(row), len(rows[0])) + 1}: "
                    f"the row has {len(row)} squares, the first has {len(rows[0])}"
                )
        if len(rows) * len(rows[0]) < 2:
            raise InvalidFileError(
                f"line {full[0] + 1}, column 1: a map of one square, expected two or more"
            )
        if start is None:
            raise InvalidFileError(
                f"lines {full[0] + 1} to {full[-1] + 1}: no start; mark one by a letter a to "
                f"{STARTS[levels - 1]}"
            )
        height_of = np.zeros(128, np.int64)
        for letter, height in (known | starts).items():
            height_of[ord(letter)] = height
        letters = np.frombuffer("".join(rows).encode("ascii"), np.uint8)
        return cls(height_of[letters].reshape(len(rows), -1), start, climb)

    @classmethod
    def random(
        cls,
        shape: tuple[int, int],
        seed: int | np.random.Generator,
        *,
        prior: ArrayLike | None = None,
        walls: float = 0.0,
        start: int | None = None,
        climb: int = 1,
    ) -> HeightMap:
        """Draw a map: heights, walls and a start.

        Heights have the distribution `prior` [H] or [S, H], by default uniform on 1 to 5. Each
        square except the start is a wall with probability `walls`. By default the start is drawn
        uniformly. With the same seed, a larger `walls` only adds walls; heights and start stay the
        same.
        """
        error = InvalidProblemError
        states = grid_size(shape, error)
        mass = check_prior(prior, states, error)
        if mass.shape[-1] > MAX_LEVELS:
            raise error(f"the prior has {mass.shape[-1]} heights, expected {MAX_LEVELS} at most")
        if not 0.0 <= number(walls, "the fraction of walls", error) <= 1.0:
            raise error(f"the fraction of walls is {walls:g}, expected 0 to 1")
        if not isinstance(seed, np.random.Generator):
            seed = np.random.default_rng(index(seed, 2**63, "the seed", error))
        rng = seed
        heights = draw_heights(mass, states, rng)
        drawn = int(rng.integers(states))
        start = drawn if start is None else index(start, states, "the start", error)
        blocked = rng.random(states) < walls
        blocked[start] = False
        return cls(np.where(blocked, WALL, heights).reshape(shape), start, climb)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.heights.shape
        return rows, columns

    @property
    def states(self) -> int:
        """The number of squares, S."""
        return int(self.heights.size)

    @property
    def walls(self) -> BoolArray:
        """Mask [S] of walls."""
        return np.asarray(self.heights.ravel() == WALL)

    def moves(self, stay: bool = True) -> Moves:
        """Return the true world as a deterministic model; with `stay`, its first action waits."""
        return model_of_heights(self.shape, self.heights.ravel(), stay, self.climb)

    def belief(
        self,
        walls: Literal["known", "prior"] = "known",
        *,
        chance: float = 0.0,
        prior: ArrayLike | None = None,
        stay: bool = True,
    ) -> HeightBelief:
        """Return the belief about the map before any observation.

        Walls are known, or each square is a wall with probability `chance`. Heights have the
        distribution `prior` [H] or [S, H]; by default it is uniform on 1 to 5.
        """
        if walls not in ("known", "prior"):
            raise InvalidProblemError(f"walls is {walls!r}, expected 'known' or 'prior'")
        chance = number(chance, "the chance of a wall", InvalidProblemError)
        if (walls == "prior") != (chance != 0.0):
            raise InvalidProblemError(
                f"walls {walls!r} with a chance of {chance:g}: the chance must be above 0 for "
                "walls 'prior', and 0 for walls 'known'"
            )
        believed = self.walls.astype(np.float64) if walls == "known" else chance
        prior = check_prior(prior, self.states, InvalidProblemError)
        highest = int(self.heights.max())
        if prior.shape[-1] < highest:
            raise InvalidProblemError(
                f"the map has height {highest}, but the prior has {prior.shape[-1]} heights: give "
                "a prior of all heights"
            )
        return HeightBelief(self.shape, prior, believed, stay, climb=self.climb)

    def around(self, state: int) -> IntArray:
        """Return the states of a square and its neighbours, ascending; they are seen from it."""
        return around(self.shape, index(state, self.states, "the state", InvalidProblemError))

    def seen_from(self, states: Iterable[int]) -> BoolArray:
        """Return the mask [S] of squares that are seen from at least one of `states`."""
        seen = np.zeros(self.states, dtype=bool)
        for state in states:
            seen[self.around(state)] = True
        return seen

    @cached_property
    def component(self) -> BoolArray:
        """Mask [S] of squares that the start can reach and that can reach the start."""
        from scipy.sparse.csgraph import connected_components

        true = self.moves(stay=False)
        graph = move_graph(true.dest, true.success > 0.0)
        _, labels = connected_components(graph, connection="strong")
        return frozen(labels == labels[self.start])

    @cached_property
    def way_back(self) -> BoolArray:
        """Mask [S] of squares that can reach the start in the true world."""
        return can_reach_start(self.moves(stay=False), self.start)

    @cached_property
    def safely_seen(self) -> BoolArray:
        """Mask [S] of squares seen from `component`: the most that can be seen safely."""
        return frozen(self.seen_from(np.flatnonzero(self.component).tolist()))

    def stranded(self, state: int) -> bool:
        """Return whether `state` can't reach the start in the true world."""
        return not self.way_back[index(state, self.states, "the state", InvalidProblemError)]

    def __str__(self) -> str:
        squares = ["#" if h == WALL else str(h) for h in self.heights.ravel().tolist()]
        squares[self.start] = STARTS[self.heights.flat[self.start] - 1]
        width = self.shape[1]
        rows = ("".join(squares[i : i + width]) for i in range(0, self.states, width))
        return "\n".join(rows)


@lru_cache(maxsize=1 << 16)
def around(shape: tuple[int, int], state: int) -> IntArray:
    """Return the states of a square and its neighbours, ascending."""
    rows, columns = shape
    row, column = divmod(state, columns)
    across = range(max(0, column - 1), min(columns, column + 2))
    down = range(max(0, row - 1), min(rows, row + 2))
    return frozen(np.array([r * columns + c for r in down for c in across], np.int32))
