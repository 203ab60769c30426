"""Gymnasium's FrozenLake and CliffWalking as worlds with a known map and unknown dynamics.

The explorer sees the whole map: where the holes, the cliff and the goal are. It does not know the
effects of actions: a move in a direction may lead ahead, to the left, to the right or back. This is
one unknown distribution, shared by all states in which the four outcomes differ. Where two outcomes
are blocked, as in a corner, both mean staying and can't be distinguished. Each such pattern of
blocked outcomes has its own unknown distribution (see `DirichletBelief`).

Waiting always succeeds. An episode ends in a hole, on the cliff or at the goal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

import gymnasium
import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs import DirichletBelief, Transition, Visit
from homeward.beliefs.dirichlet import END
from homeward.errors import InvalidProblemError
from homeward.models import SparseMDP
from homeward.solvers import solve_return

Name = Literal["lake", "slippery lake", "large lake", "large slippery lake", "cliff"]
NAMES: tuple[Name, ...] = get_args(Name)  # 4 × 4 tiles, 8 × 8 tiles; CliffWalking has 4 × 12
DIRECTIONS = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}
WAIT = len(DIRECTIONS)
TILES = {"F": "floor", ".": "floor", "S": "floor", "H": "hole", "C": "cliff", "G": "goal"}
"""Meaning of a board's letters; an explorer can start only on floor."""

FALL = -100  # reward of falling off the cliff
OUTCOMES = ("ahead", "left", "right", "back")
Prior: TypeAlias = tuple[float, float, float, float]  # concentrations of the four outcomes


@dataclass(frozen=True, slots=True, eq=False)
class TileMap:
    """A rectangle of tiles, known to the explorer."""

    tiles: tuple[str, ...]  # rows of letters: S start, F or . floor, H hole, C cliff, G goal

    def __post_init__(self) -> None:
        if not self.tiles or len({len(row) for row in self.tiles}) != 1:
            raise InvalidProblemError("the rows of a tile map must have equal lengths")
        if "".join(self.tiles).count("S") != 1:
            raise InvalidProblemError("a tile map needs exactly one start S")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.tiles), len(self.tiles[0])

    @property
    def start(self) -> int:
        """The state of the start tile."""
        return "".join(self.tiles).index("S")

    @property
    def deadly(self) -> BoolArray:
        """Mask [S] of holes and cliff."""
        return np.array([t in "HC" for t in "".join(self.tiles)])

    @property
    def final(self) -> BoolArray:
        """Mask [S] of states that end an episode: holes, cliff and goal."""
        return np.array([t in "HCG" for t in "".join(self.tiles)])

    def outcomes(self) -> IntArray:
        """Return the destination [S, 5, 4] of each outcome of each action, in every state.

        On final tiles every destination is `END`.
        """
        rows, columns = self.shape
        ways = list(DIRECTIONS.values())
        state = np.arange(rows * columns)
        found = np.tile(state[:, None, None], (1, WAIT + 1, len(OUTCOMES)))
        for a in range(WAIT):
            for o, turn in enumerate((0, 1, -1, 2)):  # counter-clockwise, as OUTCOMES
                down, right = ways[(a + turn) % len(ways)]
                row, column = state // columns + down, state % columns + right
                inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
                found[:, a, o] = np.where(inside, row * columns + column, state)
        found[self.final] = END
        return found


def tile_belief(tiles: TileMap, prior: Prior) -> DirichletBelief:
    """Return a Dirichlet belief about the effects of actions, shared by states as stated above.

    `prior` has the counts of the four outcomes.
    """
    outcomes = tiles.outcomes()
    same = outcomes[:, :, :, None] == outcomes[:, :, None, :]
    pattern = same.argmax(axis=3)  # which outcomes coincide with an earlier one
    patterns, kinds = np.unique(pattern.reshape(-1, len(OUTCOMES)), axis=0, return_inverse=True)
    return DirichletBelief(
        outcomes=outcomes,
        alpha=np.repeat(np.array(prior)[None], len(patterns), axis=0),
        kinds=kinds.reshape(outcomes.shape[:2]),
        state_names=tuple(
            f"{tile}({row},{column})"
            for row, line in enumerate(tiles.tiles)
            for column, tile in enumerate(line)
        ),
        action_names=(*DIRECTIONS, "wait"),
    )


class ToyTextWorld:
    """FrozenLake or CliffWalking of Gymnasium as a world for an `Explorer`."""

    def __init__(self, name: Name, seed: int) -> None:
        self.name, self.env = name, _environment(name)
        if name == "cliff":
            self._order = {"up": 0, "right": 1, "down": 2, "left": 3}
        else:
            self._order = {"left": 0, "down": 1, "right": 2, "up": 3}
        self.tiles = tile_map(name)
        self.state, self.ended = int(self.env.reset(seed=seed)[0]), False

    @property
    def died(self) -> bool:
        """Whether the episode ended in a hole or off the cliff."""
        return bool(self.ended and self.tiles.deadly[self.state])

    def look(self) -> Visit:
        """Return the current state."""
        return Visit(self.state)

    def act(self, action: int) -> Transition:
        """Move in a direction, or wait; return the transition."""
        before = self.state
        if action != WAIT and not self.ended:
            direction = list(DIRECTIONS)[action]
            after, reward, done, _, _ = self.env.step(self._order[direction])
            self.state, self.ended = int(after), bool(done)
            if self.name == "cliff" and reward <= FALL:
                # Gymnasium puts a fallen walker back at the start. In this world the episode ends.
                step = DIRECTIONS[direction]
                self.state = before + step[0] * self.tiles.shape[1] + step[1]
                self.ended = True
        return Transition(before, action, self.state)

    def way_back(self) -> FloatArray:
        """Return the largest probability [S] of reaching the start by the true dynamics."""
        table = self.env.unwrapped.P
        rows = np.zeros((len(table), len(table[0]), len(table)))
        for state, actions in table.items():
            for action, outcomes in actions.items():
                for probability, there, reward, done in outcomes:
                    if not (done or reward <= FALL):
                        rows[state, action, there] += probability
        rows[self.tiles.final] = 0.0
        home = np.array([self.tiles.start], np.int32)
        model = SparseMDP.from_dense(rows)
        return solve_return(model, np.zeros((model.states, model.actions)), home).value


@lru_cache
def tile_map(name: Name) -> TileMap:
    """Return the map of Gymnasium's environment."""
    env = _environment(name).unwrapped
    if name == "cliff":
        rows, columns = env.shape
        tiles = np.full((rows, columns), ".")
        tiles[env._cliff] = "C"
        tiles[-1, 0], tiles[-1, -1] = "S", "G"
        return TileMap(tuple("".join(row) for row in tiles))
    return TileMap(tuple("".join(t.decode() for t in row) for row in env.desc))


def _environment(name: Name) -> Any:
    if name == "cliff":
        return gymnasium.make("CliffWalking-v1")
    size = "8x8" if "large" in name else "4x4"
    return gymnasium.make("FrozenLake-v1", map_name=size, is_slippery="slippery" in name)
