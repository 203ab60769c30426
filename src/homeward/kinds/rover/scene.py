"""The maps of a rover's run: heights in m with their deviations, and cells without data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.beliefs.heights import entropy_reduction
from homeward.bonuses import InformationGain
from homeward.kinds.rover.terrain import SEEN_DEVIATION
from homeward.replay.scene import Scene, layer, mask_layer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from homeward.runs import Setup


def scene_of(setup: Setup) -> Scene:
    """Return the maps of a run."""
    prior: Any = setup.belief
    world: Any = setup.world
    blocked = prior.blocked

    def where_open(values: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda moment: np.where(blocked, np.nan, values(moment.belief))

    def place(state: int, steps: int) -> None:
        world.state, world.steps = state, steps

    def measure(observation: Any, belief: Any, before: float) -> float:
        """Return the entropy reduction of the heights so far, in nats."""
        return entropy_reduction(prior, belief)

    gain = isinstance(setup.planner.bonus, InformationGain)
    return Scene(
        setup,
        prior.shape,
        [
            layer("height", "Mean height", "m", "sequential", where_open(lambda b: b.height)),
            layer(
                "uncertainty",
                "Standard deviation of the height",
                "m",
                "sequential",
                where_open(lambda b: np.sqrt(b.variance)),
            ),
            mask_layer(
                "seen",
                f"Seen: known to within {100 * SEEN_DEVIATION:g} cm",
                "not yet seen",
                "seen",
                lambda m: (m.belief.variance <= SEEN_DEVIATION**2) & ~blocked,  # type: ignore[attr-defined]
            ),
        ],
        [layer("truth", "True height", "m", "sequential", where_open(lambda b: world.truth))],
        ("what a look would tell", "nats")
        if gain
        else ("Σ variance / the sensor's, in its reach", None),
        lambda moment: blocked,
        measure,
        place,
        prior.size,
    )


def kept_layers(fields: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the layers that can be made from the arrays of a finished run."""
    if not {"height", "deviation"} <= fields.keys():
        return {}
    closed = fields["deviation"] == 0.0
    return {
        "height": np.where(closed, np.nan, fields["height"]),
        "uncertainty": np.where(closed, np.nan, fields["deviation"]),
        "seen": (fields["deviation"] ** 2 <= SEEN_DEVIATION**2) & ~closed,
    }
