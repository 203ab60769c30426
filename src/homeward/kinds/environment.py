"""Base class of the Gymnasium environments of the kinds: reset, step and render."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from homeward.arrays import index
from homeward.errors import InvalidProblemError

Observation: TypeAlias = dict[str, Any]


class MapEnv(gymnasium.Env[Observation, np.int64]):
    """An explorer on a map; ``info["stranded"]`` is True if it can't get back to the start."""

    metadata = {"render_modes": ["human", "rgb_array", "ansi"], "render_fps": 8}  # noqa: RUF012
    world: Any

    def __init__(self, render_mode: str | None) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            known = ", ".join(self.metadata["render_modes"])
            raise InvalidProblemError(f"render_mode is {render_mode!r}, expected one of {known}")
        self.render_mode = render_mode

    @abstractmethod
    def _begin(self, rng: np.random.Generator) -> None: ...  # put the explorer at the start

    @abstractmethod
    def _act(self, action: int) -> tuple[float, bool]: ...  # reward, and whether the episode ends

    @abstractmethod
    def _observe(self) -> Observation: ...

    @abstractmethod
    def _paint(self) -> NDArray[np.uint8]: ...  # [height, width, 3]

    @abstractmethod
    def _write(self) -> str: ...  # text in colours

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Put the explorer at the start of the given world, or of a new random world."""
        super().reset(seed=seed)
        self._begin(self.np_random)
        return self._shown()

    def step(self, action: int | np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Try a move; return the observation, reward, terminated, truncated and info."""
        given = action.item() if isinstance(action, np.ndarray) and action.size == 1 else action
        count = self.world.moves.actions
        reward, done = self._act(index(given, count, "the action", InvalidProblemError))
        seen, info = self._shown()
        return seen, reward, done, False, info

    def render(self) -> Any:
        """Draw the known map: as an array [height, width, 3], as text, or to the terminal."""
        if self.render_mode == "rgb_array":
            return self._paint()
        if self.render_mode == "ansi":
            return self._write()
        if self.render_mode == "human":
            home = "\x1b[H\x1b[J" if sys.stdout.isatty() else ""
            sys.stdout.write(f"{home}{self._write()}\n")
            sys.stdout.flush()
        return None

    def _shown(self) -> tuple[Observation, dict[str, Any]]:
        if self.render_mode == "human":
            self.render()
        return self._observe(), {"stranded": self.world.stranded}


def coloured_text(letters: Sequence[Sequence[str]], colours: Any, state: int) -> str:
    """Return terminal text with `letters` [R, C] on `colours` [R, C, 3], and @ at `state`."""
    lines = []
    for row, line in enumerate(letters):
        cells = []
        for column, letter in enumerate(line):
            back = ";".join(str(part) for part in colours[row][column])
            shown = "@" if row * len(line) + column == state else letter
            cells.append(f"\x1b[48;2;{back}m\x1b[38;2;29;36;41m {shown}")
        lines.append("".join(cells) + " \x1b[0m")
    return "\n".join(lines)
