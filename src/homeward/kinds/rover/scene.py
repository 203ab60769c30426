"""Map layers of a rover's run: heights in m, their deviations, seen cells and slopes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from homeward.beliefs.heights import entropy_reduction
from homeward.bonuses import InformationGain
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.correlated import kernel_of
from homeward.kinds.rover.targets import targets_of
from homeward.kinds.rover.terrain import SEEN_DEVIATION, cells_of, crossings_of, slope_deviation
from homeward.replay.scene import Profile, Scene, layer, mask_layer
from homeward.runs import Setup
from homeward.terrain.crossings import Crossings
from homeward.terrain.points import cells_of_targets
from homeward.worlds.outside import Outside

MAX_CACHED_MOVES = 20_000  # whose pixels and slopes are kept


def scene_of(config: RoverConfig, setup: Setup) -> Scene:
    """Return the map layers of a run."""
    prior: Any = setup.belief
    world: Any = setup.world
    is_outside = isinstance(world, Outside)  # then the truth is not known
    blocked = prior.blocked

    def where_open(values: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda moment: np.where(blocked, np.nan, values(moment.belief))

    def place(state: int, steps: int) -> None:
        world.state, world.steps = state, steps

    def measure(observation: Any, belief: Any, before: float) -> float:
        """Return the entropy reduction of the heights so far, in nats."""
        return entropy_reduction(prior, belief)

    gain = isinstance(setup.planner.bonus, InformationGain)
    crossings = crossings_of(config)
    if crossings is None:
        title = "Steepest slope of the mean height"
        ground = [
            layer(
                *("slope", title, "°", "sequential"),
                lambda m: steepest(where_open(lambda b: b.height)(m), prior.shape, prior.size),
            )
        ]
    else:
        slopes, title = crossings.slopes(), "Height in the terrain model"
        kernel = kernel_of(config) if config.belief == "correlated" else None
        ground = [
            layer("model", title, "m", "sequential", where_open(lambda b: prior.height)),
            layer(
                *("slope", "Slope of the terrain model", "°", "sequential", lambda m: slopes),
                deviation=slope_deviation(config, kernel),
            ),
        ]
    truth = layer("truth", "True height", "m", "sequential", where_open(lambda b: world.truth))
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
        [
            *([] if is_outside else [truth]),
            *ground,
        ],
        ("what a look would tell", "nats")
        if gain
        else ("Σ variance / the sensor's, in its reach", None),
        lambda moment: blocked,
        measure,
        None if is_outside else place,
        prior.size,
        None if crossings is None else driven_profiles(crossings),
        cells_of_targets(targets_of(config), cells_of(config)),
    )


def driven_profiles(crossings: Crossings) -> Callable[[Sequence[int]], Profile]:
    """Return the function from a path over cells to its profile, on the way that is driven.

    Heights are those of the terrain model. The slopes are those under the wheels, to which the
    vehicle's limits apply. Moves are cached, since ways home of successive steps share most of
    them.
    """

    @lru_cache(maxsize=MAX_CACHED_MOVES)
    def profile_of(move: tuple[int, int]) -> tuple[list[float], list[float], dict[str, float]]:
        distance, height = crossings.profile(move)
        slopes = dict(zip(("up", "down", "side"), crossings.steepest(move), strict=True))
        return distance.tolist(), height.tolist(), slopes

    def profile(path: Sequence[int]) -> Profile:
        distance, height = [0.0], [float(crossings.heights.ravel()[crossings.anchor[path[0]]])]
        slopes: list[dict[str, float | None] | None] = []
        for move in pairwise(path):
            along, heights, steepest = profile_of(move)
            distance += [distance[-1] + each for each in along[1:]]
            height += heights[1:]
            slopes.append({**steepest})
        return Profile(distance, list(height), slopes)

    return profile


def steepest(
    height: NDArray[Any], shape: tuple[int, int], size: tuple[float, float]
) -> NDArray[Any]:
    """Return the slope [S] to the steepest of the four neighbours, in degrees.

    `size` is the height and width of a cell in m. Cells of height NaN don't count as neighbours;
    their slope, and that of a cell without another neighbour, is NaN.
    """
    ground = np.asarray(height).reshape(shape)
    down = np.abs(np.diff(ground, axis=0)) / size[0]
    across = np.abs(np.diff(ground, axis=1)) / size[1]
    tangent = np.full(shape, np.nan)
    for part, rise in (
        *((tangent[1:], down), (tangent[:-1], down)),
        *((tangent[:, 1:], across), (tangent[:, :-1], across)),
    ):
        np.fmax(part, rise, out=part)
    return np.asarray(np.degrees(np.arctan(tangent)).ravel())


def kept_layers(fields: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the layers [R, C] that the stored arrays of a finished run determine."""
    if not {"height", "deviation"} <= fields.keys():
        return {}
    closed = fields["deviation"] == 0.0
    return {
        "height": np.where(closed, np.nan, fields["height"]),
        "uncertainty": np.where(closed, np.nan, fields["deviation"]),
        "seen": (fields["deviation"] ** 2 <= SEEN_DEVIATION**2) & ~closed,
    }
