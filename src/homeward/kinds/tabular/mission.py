"""Missions on tiles: a report says on which tile a walker is, and which action it tried."""

from __future__ import annotations

from typing import Any, ClassVar

from homeward.beliefs import Belief, Transition, Visit
from homeward.errors import InvalidInputError
from homeward.kinds.tabular.config import ToyTextConfig
from homeward.kinds.tabular.kind import setup_of
from homeward.kinds.tabular.world import TileMap, tile_map
from homeward.runs.vehicle import Vehicle, cell_of
from homeward.worlds.outside import Outside


class Tiles(Outside):
    """A world of tiles outside the program; an episode ends in a hole, on the cliff or at the goal.

    `tiles` is its map.
    """

    def __init__(self, tiles: TileMap) -> None:
        super().__init__(tiles.start, tiles.final)
        self.tiles = tiles


class TileVehicle(Vehicle):
    """A walker on tiles. A position is [row, column], from 0."""

    unused_keys: ClassVar = ("limit",)

    def __init__(self, config: ToyTextConfig) -> None:
        self.tiles = tile_map(config.world)
        self.world = Tiles(self.tiles)
        self.setup = setup_of(config, self.world)

    @classmethod
    def settled(cls, config: ToyTextConfig) -> ToyTextConfig:
        """Return the configuration; raise if it is invalid.

        A seed is valid only if certificates are sampled.
        """
        if config.seed and config.confidence is None:
            raise InvalidInputError(
                "seed is for simulated worlds; a mission simulates nothing: remove it"
            )
        config.check_use()
        return config

    def state(self, position: Any) -> int:
        """Return the state of a position."""
        return cell_of(position, self.tiles.shape)

    def observation(
        self, measured: Any, moved: Transition | None, state: int, belief: Belief
    ) -> Any:
        """Return the transition, or a visit of the current tile if no action was tried."""
        return Visit(state) if moved is None else moved
