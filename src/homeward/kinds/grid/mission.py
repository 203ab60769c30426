"""Missions in a grid world: a report says where the explorer is, and which heights it sees.

A mission takes only the walls and the start from the configured map; the heights come from the
reports. Without a map, no walls are known, and the start must be given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from homeward.arrays import frozen
from homeward.beliefs import Belief, HeightBelief, Reveal, Transition
from homeward.beliefs.levels import UNKNOWN, WALL
from homeward.errors import InvalidInputError, prefixed
from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import setup_of, uniform
from homeward.kinds.grid.maps import HeightMap, around
from homeward.runs.vehicle import Vehicle, cell_of, need
from homeward.worlds.outside import Outside

FORM = "[row, column, height]"


class GridVehicle(Vehicle):
    """An explorer of a grid. A position is [row, column] and a height [row, column, height].

    Each report of a position must have the heights of that square and of its neighbours, unless
    they are known. A height is 1 to the number of levels, or -1 for a wall.
    """

    unused_keys: ClassVar = ("seed", "limit", "walls")
    report_keys: ClassVar = ("heights",)

    def __init__(self, config: GridConfig) -> None:
        if config.map is not None:
            grid = HeightMap.from_text(config.map, levels=config.levels, climb=config.climb)
            prior = uniform(config.levels)
            belief, start = grid.belief("known", prior=prior, stay=config.stay), grid.start
        elif config.start is None:
            raise InvalidInputError("the start is missing: say where the vehicle is, or give a map")
        else:
            shape, start = (config.size, config.size), config.start
            if start >= config.size**2:
                raise InvalidInputError(f"the start is {start}, outside 0..{config.size**2 - 1}")
            prior, walls = uniform(config.levels), np.zeros(config.size**2)
            belief = HeightBelief(shape, prior, walls, config.stay, climb=config.climb)
        self.shape, self.walls = belief.shape, belief.known == WALL
        self.levels, self.climb = config.levels, config.climb
        self.world = Outside(start)
        self.setup = setup_of(config, belief, self.world, start)

    def state(self, position: Any) -> int:
        """Return the state of a position; raise if it is a wall."""
        state = cell_of(position, self.shape)
        if self.walls[state]:
            row, column = divmod(state, self.shape[1])
            raise InvalidInputError(f"row {row}, column {column} is a wall")
        return state

    def measured(self, report: Mapping[str, Any]) -> dict[int, int]:
        """Return the reported height of each square, by state."""
        heights: dict[int, int] = {}
        for number, given in enumerate(
            need(report.get("heights", []), list, "heights", f"a list of {FORM}"), start=1
        ):
            what = f"height {number}"
            if not isinstance(given, list) or len(given) != 3:
                raise InvalidInputError(f"{what} is {str(given)[:40]}, expected {FORM}")
            with prefixed(what):
                state = cell_of(given[:2], self.shape)
            expected = f"1 to {self.levels}, or {WALL} for a wall"
            height = need(given[2], int, what, expected)
            if not (1 <= height <= self.levels or height == WALL):
                raise InvalidInputError(f"{what} is {height}, expected {expected}")
            if heights.setdefault(state, height) != height:
                raise InvalidInputError(
                    f"{what}: square {given[:2]} is given twice, with different heights"
                )
        return heights

    def observation(
        self, measured: dict[int, int], moved: Transition | None, state: int, belief: Belief
    ) -> Reveal:
        """Return the heights that are seen; raise if one is missing or known to be another."""
        known: Any = belief.known  # type: ignore[attr-defined]
        heights = {int(s): int(known[s]) for s in around(self.shape, state)} | measured
        for square, height in heights.items():
            row, column = divmod(square, self.shape[1])
            if known[square] not in (UNKNOWN, height):
                was = "a wall" if known[square] == WALL else f"of height {known[square]}"
                raise InvalidInputError(
                    f"row {row}, column {column} is known to be {was}, and heights are exact: "
                    "check the position and the heights"
                )
            if height == UNKNOWN:
                raise InvalidInputError(
                    f"the height of row {row}, column {column} is missing: report the heights of "
                    "the square and its neighbours"
                )
        cells = np.array(sorted(heights), np.int32)
        return Reveal(cells, frozen(np.array([heights[int(c)] for c in cells], np.int32)), state)
