"""The maps of a run on tiles: the known board and the visited tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.replay.scene import Scene, layer

if TYPE_CHECKING:
    from homeward.runs import Setup

TILES = {"F": "floor", ".": "floor", "S": "floor", "H": "hole", "C": "cliff", "G": "goal"}
"""Meaning of a board's letters; an explorer can start only on floor."""


def scene_of(setup: Setup) -> Scene:
    """Return the maps of a run."""
    tiles = setup.world.tiles  # type: ignore[attr-defined]
    names = list(dict.fromkeys(TILES.values()))
    board = np.array([names.index(TILES[tile]) for tile in "".join(tiles.tiles)], np.float64)
    categories = [{"value": number, "title": name} for number, name in enumerate(names)]

    def measure(observation: Any, belief: Any, before: float) -> float:
        """Return the fraction of all tiles that were visited."""
        return float(belief.visited.mean())

    return Scene(
        setup,
        tiles.shape,
        [layer("tiles", "Tiles", None, "categorical", lambda m: board, categories=categories)],
        [],
        ("actions that were tried too rarely", None),
        lambda moment: np.zeros(board.size, dtype=bool),
        measure,
    )
