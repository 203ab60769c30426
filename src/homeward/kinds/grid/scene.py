"""Map layers of a run in a grid world: known and true heights, entropy, and seen squares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from homeward.beliefs.levels import LEVELS, UNKNOWN, WALL
from homeward.bonuses import Uncover
from homeward.replay.scene import Scene, layer, mask_layer
from homeward.runs import Config, Setup
from homeward.worlds.outside import Outside


def scene_of(config: Config, setup: Setup) -> Scene:
    """Return the map layers of a run."""
    belief: Any = setup.belief
    world: Any = setup.world
    is_outside = isinstance(world, Outside)  # then the truth is not known
    seen = np.zeros(len(belief.known), dtype=bool)
    mass = np.atleast_2d(belief.prior)
    bits = -np.where(mass > 0.0, mass * np.log2(np.where(mass > 0.0, mass, 1.0)), 0.0)
    entropy = bits.sum(axis=1)  # [1] or [S]
    levels = range(1, mass.shape[1] + 1)
    heights = [{"value": h, "title": f"height {h}"} for h in levels]
    values = [{"value": WALL, "title": "wall"}, *heights]

    def known(moment: Any) -> Any:
        return moment.belief.known

    def place(state: int, steps: int) -> None:
        world.state = state

    def measure(observation: Any, belief: Any, before: float) -> float:
        """Return the fraction of all squares, walls included, seen after an observation."""
        new = np.count_nonzero(~seen[observation.cells])
        seen[observation.cells] = True
        return before + new / seen.size

    uncovers = isinstance(setup.planner.bonus, Uncover)
    return Scene(
        setup,
        belief.shape,
        [
            layer(
                "height",
                "Height",
                None,
                "categorical",
                lambda m: np.where(known(m) == UNKNOWN, np.nan, known(m)),
                categories=values,
            ),
            layer(
                "uncertainty",
                "Entropy of the height",
                "bits",
                "sequential",
                lambda m: np.where(known(m) == UNKNOWN, entropy, 0.0),
            ),
            mask_layer("seen", "Seen", "not yet seen", "seen", lambda m: known(m) != UNKNOWN),
        ],
        []
        if is_outside
        else [
            layer(
                "truth",
                "True height",
                None,
                "categorical",
                lambda m: world.grid.heights.astype(np.float64),
                categories=values,
            )
        ],
        ("squares that it would uncover", "squares") if uncovers else ("what is left to see", None),
        lambda m: known(m) == WALL,
        measure,
        None if is_outside else place,
    )


def kept_layers(fields: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the layers [R, C] that the stored arrays of a finished run determine."""
    if not {"heights", "seen", "visited"} <= fields.keys():
        return {}
    heights = fields["heights"].astype(np.float64)
    known = fields["seen"] | (heights == WALL)
    return {
        "height": np.where(known, heights, np.nan),
        "uncertainty": np.where(known, 0.0, math.log2(max(LEVELS, float(heights.max())))),
        "seen": known,
        "visited": fields["visited"],
        "truth": heights,
    }
