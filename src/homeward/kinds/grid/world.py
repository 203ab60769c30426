"""The paper's grid world: heights are seen from neighbouring squares, and descents may be final.

A move to one of eight neighbours succeeds if the destination is not a wall and at most `climb`
levels higher; the map defines `climb`. Any descent succeeds. If a move fails, the explorer stays
where it is. The explorer sees the heights of its square and of its neighbours, without error.

`HeightGridWorld` is the world for an `Explorer`. `HeightGridEnv` is the same world as a Gymnasium
environment, ``homeward/HeightGrid-v0``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from homeward.arrays import BoolArray, IntArray, frozen, index
from homeward.beliefs.levels import LEVELS, UNKNOWN, WALL
from homeward.beliefs.observations import Reveal
from homeward.errors import InvalidProblemError
from homeward.kinds.environment import MapEnv, Observation, coloured_text
from homeward.kinds.grid.maps import MAX_LEVELS, HeightMap

UNSEEN_COLOUR, GROUND, WALL_COLOUR, INK = "#cfd2d5", "#f7f7f5", "#3a3f44", "#1d2429"
COLOURS = {
    **{UNKNOWN: UNSEEN_COLOUR, WALL: WALL_COLOUR, 1: "#aab4f2", 2: "#a9d3a9", 3: "#dfc7a8"},
    **{4: "#f2aca6", 5: "#cfa3d6", 6: "#9fd3d6", 7: "#e6d98c", 8: "#b9bccb", 9: "#e8b48a"},
}
"""Colour of a square by its height; those of heights 1 to 5 are the paper's."""

PIXELS = 24  # side of a square in a rendered frame, in pixels


class HeightGridWorld:
    """A map to explore: holds the explorer's position and returns what it sees."""

    ended = False
    """The world never ends an episode: a stranded explorer can still look around."""

    def __init__(self, grid: HeightMap, *, stay: bool = True) -> None:
        if not isinstance(grid, HeightMap):
            raise InvalidProblemError(f"the grid is {grid!r}, expected a HeightMap")
        self.grid = grid
        self.moves = grid.moves(stay)
        self.state = grid.start
        self._seen = np.zeros(grid.states, dtype=bool)
        self._heights = grid.heights.ravel()
        self._views: dict[int, Reveal] = {}
        self.look()

    @property
    def seen(self) -> BoolArray:
        """Mask [S] of squares seen so far."""
        return frozen(self._seen)

    @property
    def stranded(self) -> bool:
        """Whether the explorer can't get back to the start in the true world."""
        return self.grid.stranded(self.state)

    def look(self) -> Reveal:
        """Return the heights of the explorer's square and of its neighbours."""
        view = self._views.get(self.state)
        if view is None:
            cells = self.grid.around(self.state)
            view = Reveal(cells, frozen(self._heights[cells]), self.state)
            self._views[self.state] = view
            self._seen[cells] = True
        return view

    def act(self, action: int) -> Reveal:
        """Try a move; return the heights that are seen after it."""
        action = index(action, self.moves.actions, "the action", InvalidProblemError)
        if self.moves.success[self.state, action]:
            self.state = int(self.moves.dest[self.state, action])
        return self.look()


class HeightGridEnv(MapEnv):
    """The grid world as a Gymnasium environment.

    An observation holds the ``state`` (row-major) and the ``heights`` [rows, columns] seen so far:
    0 is unseen, −1 is a wall. The reward is the number of squares that a step uncovered. The
    episode ends once every square except walls is seen. ``info["stranded"]`` is True if the
    explorer can't get back to the start.

    Parameters
    ----------
    grid
        A map, or a map as text (see `maps`). If None, each reset draws a new map.
    rows, columns, walls, prior
        Parameters of a drawn map, see `HeightMap.random`.
    walls_known
        Whether observations show all walls, or only walls that were seen.
    stay
        Whether the first action is to stay; the moves to the eight neighbours follow, clockwise
        from N.
    climb
        Largest rise of a move that works, in levels.
    render_mode
        ``"rgb_array"``: pixels. ``"ansi"``: coloured text. ``"human"``: that text, printed.
    """

    def __init__(
        self,
        grid: HeightMap | str | None = None,
        *,
        rows: int = 10,
        columns: int = 10,
        walls: float = 0.0,
        prior: ArrayLike | None = None,
        walls_known: bool = True,
        stay: bool = True,
        climb: int = 1,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(render_mode)
        if climb != 1 and isinstance(grid, HeightMap):
            raise InvalidProblemError("a HeightMap has a climb of its own: remove climb")
        if isinstance(grid, str):
            grid = HeightMap.from_text(grid, levels=MAX_LEVELS, climb=climb)
        elif grid is not None and not isinstance(grid, HeightMap):
            raise InvalidProblemError(f"the grid is {grid!r}, expected a HeightMap or its text")
        self._given = grid
        self._drawn: dict[str, Any] = {"prior": prior, "walls": walls, "climb": climb}
        self._shape = (rows, columns) if grid is None else grid.shape
        self._stay, self._walls_known = stay, walls_known
        first = HeightMap.random(self._shape, 0, **self._drawn) if grid is None else grid
        self.world = HeightGridWorld(first, stay=stay)
        self.action_space = spaces.Discrete(self.world.moves.actions)
        self.observation_space = spaces.Dict(
            {
                "state": spaces.Discrete(first.states),
                "heights": spaces.Box(WALL, self._top(first), self._shape, np.int8),
            }
        )

    def _top(self, first: HeightMap) -> int:
        """Return the greatest height that can be seen."""
        prior = self._drawn["prior"]
        return max(int(first.heights.max()), LEVELS if prior is None else np.shape(prior)[-1])

    def _begin(self, rng: np.random.Generator) -> None:
        grid = self._given
        if grid is None:
            grid = HeightMap.random(self._shape, rng, **self._drawn)
        self.world = HeightGridWorld(grid, stay=self._stay)

    def _act(self, action: int) -> tuple[float, bool]:
        before = int(self.world.seen.sum())
        self.world.act(action)
        done = bool((self.world.seen | self.world.grid.walls).all())
        return float(self.world.seen.sum() - before), done

    def _paint(self) -> NDArray[np.uint8]:
        return paint(self._observe()["heights"], self.world.state)

    def _write(self) -> str:
        return write(self._observe()["heights"], self.world.state)

    def _observe(self) -> Observation:
        grid = self.world.grid
        shown = self.world.seen | grid.walls if self._walls_known else self.world.seen
        heights = np.where(shown.reshape(grid.shape), grid.heights, UNKNOWN)
        return {"state": np.int64(self.world.state), "heights": heights.astype(np.int8)}


def paint(known: IntArray, state: int) -> NDArray[np.uint8]:
    """Return a picture [height, width, 3] of the heights `known` [rows, columns].

    A disc marks the explorer's `state`.
    """
    rows, columns = known.shape
    picture = np.empty((rows, PIXELS, columns, PIXELS, 3), np.uint8)
    picture[...] = _rgb(UNSEEN_COLOUR)
    middle = np.abs(np.arange(PIXELS) - (PIXELS - 1) / 2)
    for (row, column), height in np.ndenumerate(known):
        if height != UNKNOWN:
            within = middle <= PIXELS / 2 * side_of(int(height))
            square = picture[row, :, column]
            square[...] = _rgb(GROUND)
            square[np.ix_(within, within)] = _rgb(colour_of(int(height)))
    row, column = divmod(state, columns)
    disc = np.hypot(middle[:, None], middle) <= PIXELS / 5
    picture[row, :, column][disc] = _rgb(INK)
    return picture.reshape(rows * PIXELS, columns * PIXELS, 3)


def write(known: IntArray, state: int) -> str:
    """Return the heights `known` [rows, columns] as coloured text, with @ at `state`."""
    letters = {UNKNOWN: "·", WALL: " "}
    lines = known.tolist()
    return coloured_text(
        [[letters.get(height, str(height)) for height in line] for line in lines],
        [[_rgb(colour_of(height)) for height in line] for line in lines],
        state,
    )


def colour_of(height: int) -> str:
    """Return the colour of a height, a wall or an unseen square, such as ``#aab4f2``."""
    return COLOURS[height]


def side_of(height: int) -> float:
    """Return the drawn side of a square, as a fraction of its cell; it grows with the height."""
    return 1.0 if height == WALL else min(0.95, 0.4 + 0.1 * height)


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
