"""A rover on terrain: true heights, and a sensor that measures them from afar.

A move works where the true slope is within the vehicle's limits; else the rover stays where it is.
After every action it reports whether it moved, and measures the height of each open cell in range
and in sight. The errors grow with distance. They depend only on the seed and the number of the
step, so the same actions give the same measurements, which need not be recorded.

If the sensor is on a mast, hills of the terrain model (`belief.terrain`) hide what is behind them.
True hills do not: that they hide a cell would tell something about its height, and a belief learns
from measured heights alone (``docs/theory.md``, section 11).

`Rover` serves an `Explorer`. `RoverEnv` is the same as a Gymnasium environment,
``homeward/Rover-v0``.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, index, number, numbers, own
from homeward.beliefs import Sensor, Transition
from homeward.beliefs.heights import SHARP, SlopeBelief, entropy_reduction
from homeward.beliefs.observations import Heights
from homeward.beliefs.sight import keep_visible
from homeward.errors import InvalidProblemError
from homeward.kinds.environment import MapEnv, Observation, coloured_text
from homeward.kinds.reachability import away_from_middle, can_reach_start
from homeward.terrain.synthetic import draw_belief

MEASURING, TERRAIN_ERROR, PRIOR = range(3)  # uses of random numbers; each has its own stream
MAX_HEIGHT = 1e5  # largest absolute height in m: the limit of the environment's observation space
PIXELS = 8  # side of a cell in a rendered frame, in pixels
LOW, HIGH = (94, 44, 24), (244, 214, 168)
FOG, ROCK, INK = (207, 210, 213), (58, 63, 68), (29, 36, 41)


def true_heights(centre: ArrayLike, error_variance: float | FloatArray, seed: int) -> FloatArray:
    """Draw true heights [S]: those of a terrain model at the cells' centres, plus its error.

    ``error_variance`` is v₀ in m², of all cells or of each [S]. Where the model is NaN, so is the
    true height.
    """
    heights = numbers(centre, "the terrain model", None, InvalidProblemError).ravel()
    variance: float | FloatArray = error_variance
    if not isinstance(error_variance, np.ndarray):
        variance = number(error_variance, "the error's variance", InvalidProblemError)
        if not 0.0 <= variance < np.inf:
            raise InvalidProblemError(f"the error's variance is {variance:g}, expected >= 0")
    errors = _randomness(seed, TERRAIN_ERROR).standard_normal(heights.size)
    return frozen(heights + np.sqrt(variance) * errors)


def draw_heights(belief: SlopeBelief, seed: int) -> FloatArray:
    """Draw true heights [S] in m from a belief."""
    return frozen(belief.draw(_randomness(seed, PRIOR)))


class Rover:
    """Terrain to explore: holds the rover's position and returns its measurements.

    Parameters
    ----------
    belief
        Belief that defines the grid of cells, the blocked cells and the slope limits.
    truth
        True heights [S] in m; those of blocked cells are ignored.
    state
        State of the start, which is also the home.
    sensor
        The rover's sensor; `Sensor()` unless given.
    seed
        Random seed of the measurement errors.
    """

    ended = False
    """The world never ends an episode: a stranded rover can still look around."""

    def __init__(
        self,
        belief: SlopeBelief,
        truth: ArrayLike,
        state: int,
        sensor: Sensor | None = None,
        seed: int = 0,
    ) -> None:
        error = InvalidProblemError
        if not isinstance(belief, SlopeBelief):
            raise error(f"the belief is {belief!r}, expected a TerrainBelief")
        if sensor is not None and not isinstance(sensor, Sensor):
            raise error(f"the sensor is {sensor!r}, expected a Sensor")
        self.shape, self.size, self.blocked = belief.shape, belief.size, belief.blocked
        self._terrain = belief.terrain.reshape(belief.shape)  # [R, C] m
        self.sensor = Sensor() if sensor is None else sensor
        self.seed = index(seed, 2**64, "the seed", error)
        self.start = self.state = index(state, len(belief.height), "the start", error)
        if self.blocked[self.start]:
            raise error(f"the rover starts in cell s={self.start}, which is blocked")
        self.truth = own(
            numbers(truth, "the true height", belief.height.shape, error), truth
        )  # [S] m
        self.moves = belief.model_of(self.truth)  # which moves work in the true world
        self.steps = 0

    @property
    def position(self) -> tuple[int, int]:
        """The row and the column of the cell where the rover is."""
        row, column = divmod(self.state, self.shape[1])
        return row, column

    @cached_property
    def way_back(self) -> BoolArray:
        """Mask [S] of cells with a way back to the start, in the true world."""
        return can_reach_start(self.moves, self.start)

    @property
    def stranded(self) -> bool:
        """Whether there is no way back to the start, in the true world."""
        return not self.way_back[self.state]

    def in_range(self) -> tuple[IntArray, FloatArray]:
        """Return the states [n] of the open cells in range, ascending, and their distances in m."""
        (row, column), reach, ranges = self.position, self.sensor.reach, []
        for at, count, side in zip(self.position, self.shape, self.size, strict=True):
            far = int(min(reach / side + 1.0, count))
            ranges.append(np.arange(max(0, at - far), min(count, at + far + 1), dtype=np.int32))
        rows, columns = ranges
        down, across = self.size[0] * (rows - row), self.size[1] * (columns - column)
        distance = np.sqrt((down * down)[:, None] + across * across)
        cells = rows[:, None] * np.int32(self.shape[1]) + columns
        near = (distance <= reach) & ~self.blocked[cells]
        return cells[near], distance[near]

    def look(self) -> Heights:
        """Measure the open cells in range and in sight; repeated calls give the same result."""
        return self._measure(None)

    def _measure(self, moved: Transition | None) -> Heights:
        """Return the measurements from the current cell, and the move before them, if any."""
        cells, distances = self.in_range()
        if self.sensor.mast is not None:
            count = keep_visible(self._terrain, *self.position, self.sensor.mast, cells, distances)
            cells, distances = cells[:count], distances[:count]
        variances = self.sensor.variance(distances)
        heights = _randomness(self.seed, MEASURING, self.steps).standard_normal(len(cells))
        heights *= np.sqrt(variances)
        heights += self.truth[cells]
        return Heights(frozen(cells), frozen(heights), frozen(variances), moved=moved)

    def act(self, action: int) -> Heights:
        """Try a move; return whether it worked, and the measurements after it."""
        action = index(action, self.moves.actions, "the action", InvalidProblemError)
        before = self.state
        if self.moves.success[self.state, action]:
            self.state = int(self.moves.dest[self.state, action])
        self.steps += 1
        return self._measure(Transition(before, action, self.state))


class RoverEnv(MapEnv):
    """The rover as a Gymnasium environment.

    An observation holds the ``state`` (row-major) and, for each cell [rows, columns], the mean
    ``heights`` and the standard ``deviation`` in m given all measurements so far. The reward is the
    entropy reduction of a step, in nats. Episodes never end; ``info["stranded"]`` is True if there
    is no way back to the start.

    Parameters
    ----------
    belief
        The belief before the first measurement. Unless given, each reset draws hills.
    truth
        The true heights [S] in m. Unless given, each reset draws them from the belief.
    start
        State of the start; the open cell nearest to the middle unless given.
    sensor
        The rover's sensor; unless given, it measures the whole map.
    rows, columns
        Size of drawn hills, in cells.
    render_mode
        ``"rgb_array"``: pixels. ``"ansi"``: coloured text. ``"human"``: that text, printed.
    """

    def __init__(
        self,
        belief: SlopeBelief | None = None,
        truth: ArrayLike | None = None,
        *,
        start: int | None = None,
        sensor: Sensor | None = None,
        rows: int = 12,
        columns: int = 24,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(render_mode)
        error = InvalidProblemError
        if belief is None and truth is not None:
            raise error("true heights are given without a belief: give both")
        self._given, self._truth, self._start, self._sensor = belief, truth, start, sensor
        if belief is None:
            for count, name in ((rows, "rows"), (columns, "columns")):
                if index(count, 2**16, f"the number of {name}", error) < 2:
                    raise error(f"the number of {name} is {count}, expected 2 or more")
        elif not isinstance(belief, SlopeBelief):
            raise error(f"the belief is {belief!r}, expected a TerrainBelief")
        else:
            rows, columns = belief.shape
            if not np.abs(belief.height).max() + belief.variance.max() < MAX_HEIGHT:
                raise error(f"the belief has heights or variances beyond {MAX_HEIGHT:g} m")
        self._shape = rows, columns
        self._begin(np.random.default_rng(0))
        self.action_space = spaces.Discrete(self.world.moves.actions)
        self.observation_space = spaces.Dict(
            {
                "state": spaces.Discrete(rows * columns),
                "heights": spaces.Box(-MAX_HEIGHT, MAX_HEIGHT, self._shape, np.float64),
                "deviation": spaces.Box(0.0, MAX_HEIGHT, self._shape, np.float64),
            }
        )

    def _begin(self, rng: np.random.Generator) -> None:
        """Place the rover at the start of its world, and update the belief by a first look."""
        belief = draw_belief(self._shape, rng) if self._given is None else self._given
        seed, truth_seed = (int(part) for part in rng.integers(2**63, size=2))
        truth = draw_heights(belief, truth_seed) if self._truth is None else self._truth
        start = middle_of(belief) if self._start is None else self._start
        self.world = Rover(belief, truth, start, self._sensor, seed)
        self.belief = belief.update(self.world.look())

    def _act(self, action: int) -> tuple[float, bool]:
        before = self.belief
        self.belief = before.update(self.world.act(action))
        return entropy_reduction(before, self.belief), False

    def _paint(self) -> NDArray[np.uint8]:
        rows, columns = self._shape
        picture = np.repeat(np.repeat(colours_of(self.belief), PIXELS, axis=0), PIXELS, axis=1)
        middle = np.abs(np.arange(PIXELS) - (PIXELS - 1) / 2)
        row, column = self.world.position
        square = picture.reshape(rows, PIXELS, columns, PIXELS, 3)[row, :, column]
        square[np.hypot(middle[:, None], middle) <= PIXELS / 2.5] = INK
        return picture

    def _write(self) -> str:
        rows, columns = self._shape
        colours = colours_of(self.belief).tolist()
        return coloured_text([" " * columns] * rows, colours, self.world.state)

    def _observe(self) -> Observation:
        return {
            "state": np.int64(self.world.state),
            "heights": self.belief.height.reshape(self._shape).copy(),
            "deviation": np.sqrt(self.belief.variance).reshape(self._shape),
        }


def middle_of(belief: SlopeBelief) -> int:
    """Return the state of the open cell nearest to the middle; the first if several are."""
    if belief.blocked.all():
        raise InvalidProblemError("every cell is blocked")
    away = away_from_middle(belief.shape, belief.size)
    return int(np.where(belief.blocked, np.inf, away).argmin())


def colours_of(belief: SlopeBelief) -> NDArray[np.uint8]:
    """Return the colour [R, C, 3] of each cell: dark if it is low, grey if it is uncertain."""
    open_cells = ~belief.blocked
    lowest = float(belief.height[open_cells].min(initial=MAX_HEIGHT))
    highest = float(belief.height[open_cells].max(initial=-MAX_HEIGHT))
    share = (belief.height - lowest) / max(highest - lowest, 1e-9)
    ground = np.array(LOW) + share[:, None] * (np.array(HIGH) - np.array(LOW))
    sharp = SHARP / np.maximum(np.sqrt(belief.variance), SHARP)
    shown = np.array(FOG) + sharp[:, None] ** 0.5 * (ground - np.array(FOG))
    shown[belief.blocked] = ROCK
    colours: NDArray[np.uint8] = np.rint(shown).astype(np.uint8)
    return colours.reshape(*belief.shape, 3)


def _randomness(seed: int, purpose: int, step: int = 0) -> np.random.Generator:
    """Return a random generator that is independent of those of other purposes and steps."""
    seed = index(seed, 2**64, "the seed", InvalidProblemError)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, step)))
