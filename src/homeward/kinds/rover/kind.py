"""The kind ``rover``: how a run of a rover on terrain is made, checked, stored and shown.

The errors of the rover's measurements depend on the seed and the step alone, so only a digest of
the measurements is recorded. A run records a digest of its cells: if the raster has changed, the
run can't be resumed. The configuration holds the corners of the areas to keep in and out of; their
files are not read again. `outputs` writes the results.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from homeward.arrays import BoolArray
from homeward.beliefs import Sensor, Transition
from homeward.beliefs.corrections import Correction
from homeward.beliefs.heights import SlopeBelief, TerrainBelief, entropy_reduction
from homeward.beliefs.observations import Heights
from homeward.bonuses import Information, InformationGain
from homeward.errors import InvalidInputError
from homeward.kinds import deferred
from homeward.kinds.outcome import can_return, check_start, recorded_outcome
from homeward.kinds.promises import criteria_of, state_of
from homeward.kinds.reachability import away_from_middle, move_graph
from homeward.kinds.rover.config import MARS, SAMPLE, RoverConfig
from homeward.kinds.rover.correlated import correlated_prior, kernel_of
from homeward.kinds.rover.form import FORM, shape_of
from homeward.kinds.rover.scene import kept_layers, scene_of
from homeward.kinds.rover.targets import targets_of, worth_of
from homeward.kinds.rover.terrain import CELLS as CELLS
from homeward.kinds.rover.terrain import (
    SEEN_DEVIATION,
    cell_side,
    check_cell,
    check_stretch,
    limits_of,
    of_file,
    pinned,
    polygons_of,
    run_limits_of,
    sensor_range,
)
from homeward.kinds.rover.terrain import cells_of as cells_of
from homeward.kinds.rover.terrain import digest_of as digest_of
from homeward.kinds.rover.world import Rover, draw_heights, true_heights
from homeward.planning.algorithm1 import Planner
from homeward.runs.kind import Kind, Location, Metrics, Setup
from homeward.terrain.gdal import has_degrees
from homeward.terrain.polygons import Area, cells_inside
from homeward.words import length

if TYPE_CHECKING:
    from homeward.worlds import World

SPACING = 50  # steps between two recorded warm starts; a resumed run plans again from the last one
SURE = 0.9  # minimum success probability of the moves that a landing site is chosen by


def prior_of(config: RoverConfig) -> SlopeBelief:
    """Return the belief about the terrain before the first measurement."""
    return mapped_prior(config) if config.belief == "independent" else correlated_prior(config)


def mapped_prior(config: RoverConfig) -> TerrainBelief:
    """Return the belief that the errors of the terrain model are independent between cells."""
    cells = cells_of(config)
    return TerrainBelief(
        cells.shape,
        cells.mean.ravel(),
        cells.variance.ravel(),
        cells.size,
        config.climb,
        config.descend,
        cells.blocked.ravel(),
        limits=limits_of(config),
    )


def area_of(config: RoverConfig) -> Area | None:
    """Return the area to keep in, in map coordinates; raise if it is invalid."""
    return polygons_of(config.keep_in, "the area to keep in", cells_of(config))


def keep_out_of(config: RoverConfig) -> Area | None:
    """Return the area to keep out of, in map coordinates; raise if it is invalid."""
    return polygons_of(config.keep_out, "the area to keep out of", cells_of(config))


def inside_of(config: RoverConfig) -> BoolArray | None:
    """Return the mask [S] of the cells in the area to keep in; None without an area."""
    area = area_of(config)
    if area is None:
        return None
    with of_file(config.keep_in):
        return cells_inside(area, cells_of(config)).ravel()


def landing_site(belief: SlopeBelief, inside: BoolArray | None = None) -> int:
    """Return the state of a start with room around it; `inside` [S] masks the area to keep in.

    Moves that work with probability `SURE` or more divide the map into strongly connected
    components. The site is the cell of the largest component that is nearest to the middle. Among
    components of the same size, the one nearest to the middle is chosen, then the first in row
    order.
    """
    from scipy.sparse.csgraph import connected_components

    moves = belief.mean()
    works, open_cells = moves.success >= SURE, ~belief.blocked
    if inside is not None:
        works, open_cells = works & inside[:, None], open_cells & inside
        if not open_cells.any():
            raise InvalidInputError("the area to keep in has no cell with data")
    graph = move_graph(moves.dest, works)
    count, part = connected_components(graph, connection="strong")
    counts = np.bincount(part[open_cells], minlength=count)
    largest = (counts[part] == counts.max()) & open_cells
    return int(np.where(largest, away_from_middle(belief.shape, belief.size), np.inf).argmin())


NO_DATA = "blocked: the terrain has no data there, or an obstacle, or the vehicle can't stand on it"


def place_in(config: RoverConfig, cell: tuple[int, int], what: str, belief: SlopeBelief) -> int:
    """Return the state of a cell; raise if it is off the map or blocked, with the reason.

    `what` names the cell in messages.
    """
    kept_out, (row, column), (rows, columns) = pinned(config).is_kept_out, cell, belief.shape
    is_kept_out = kept_out is not None and row < rows and column < columns and kept_out[cell]
    why = "blocked by the area to keep out of" if is_kept_out else NO_DATA
    return state_of(cell, what, belief.shape, belief.blocked, why)


def start_of(config: RoverConfig, belief: SlopeBelief, inside: BoolArray | None = None) -> int:
    """Return the state of the start; raise if it is off the map, blocked or not `inside` [S]."""
    if config.start is None:
        return landing_site(mapped_prior(config) if config.belief == "unmapped" else belief, inside)
    state = place_in(config, config.start, "the start", belief)
    if inside is not None and not inside[state]:
        row, column = config.start
        raise InvalidInputError(
            f"the start, row {row} and column {column}, is outside the area to keep in"
        )
    return state


def settle(config: RoverConfig) -> RoverConfig:
    """Return the configuration of a new run; raise if no policy meets its criteria from the start.

    It has all that `pinned_config` adds.
    """
    settled = pinned_config(config)
    _check_start(settled)
    return settled


def known_of(config: RoverConfig, belief: SlopeBelief) -> float:
    """Return the standard deviation in m to which heights are to be known; 0 without such a goal.

    `belief` is the prior. On a terrain model, the default is `SEEN_DEVIATION`, or half the median
    error if that is less. Synthetic Mars and Algorithm 1 have no goal: their nats are the paper's.
    """
    if config.known is not None:
        return config.known
    if config.terrain == MARS or config.algorithm == "paper":
        return 0.0
    half = 0.5 * math.sqrt(np.median(belief.variance[~belief.blocked]))
    return min(SEEN_DEVIATION, float(f"{half:.2g}"))


def pinned_config(config: RoverConfig) -> RoverConfig:
    """Return the configuration with absolute paths and all that is read from files or computed.

    That is the digest of the cells, their side, the sensor's range, the start, the ground, the
    kernel, the areas to keep in and out of, the targets, and the deviation to which heights are to
    be known.
    """
    config.check_use()
    files = {"obstacles": config.obstacles}
    if isinstance(config.error, str):
        files["error"] = config.error
    if config.terrain not in (MARS, SAMPLE):
        files["terrain"] = config.terrain
    config = config.model_copy(
        update={key: str(Path(file).absolute()) for key, file in files.items() if file is not None}
    )
    config = config.model_copy(
        update={"cell": cell_side(config), "sensor_range": sensor_range(config)}
    )
    check_cell(config)
    check_stretch(config)
    belief = prior_of(config)  # raises if the terrain differs from a recorded digest
    known: dict[str, Any] = {
        "terrain_sha256": pinned(config).digest,
        "start": divmod(start_of(config, belief, inside_of(config)), belief.shape[1]),
        "keep_in": area_of(config),
        "ground": config.rule,
        "keep_out": keep_out_of(config),
        "targets": targets_of(config) or None,
        "known": known_of(config, belief),
    }
    if config.belief != "independent":
        kernel = kernel_of(config)
        known["kernel"] = kernel.smoothness, kernel.length, math.sqrt(kernel.variance)
    return config.model_copy(update=known)


@lru_cache(maxsize=1)
def _check_start(config: RoverConfig) -> None:
    """Raise if no policy meets the criteria from the start; cached by configuration."""
    check_start(config, make(config))


def make(config: RoverConfig) -> Setup:
    """Return the setup of a simulated rover on its terrain."""

    def simulated(belief: SlopeBelief, start: int, sensor: Sensor) -> Rover:
        # A correlated belief has the terrain model as its mean, so a draw is the model plus errors.
        if config.truth == "prior" or config.belief == "correlated":
            truth = draw_heights(belief, config.seed)
        else:
            error = pinned(config).error if config.belief == "independent" else 0.0
            truth = true_heights(cells_of(config).centre, error, config.seed)
        return Rover(belief, truth, start, sensor, config.seed)

    return setup_of(config, simulated)


def setup_of(config: RoverConfig, world_of: Callable[[SlopeBelief, int, Sensor], World]) -> Setup:
    """Return the setup of a rover; `world_of` makes its world from prior, start and sensor."""
    belief = prior_of(config)
    for base in config.bases:
        place_in(config, base, "a base", belief)
    inside = inside_of(config)
    start = start_of(config, belief, inside)
    sensor = Sensor(sensor_range(config), config.sensor_noise, config.sensor_offset, config.mast)
    world = world_of(belief, start, sensor)
    criteria = criteria_of(config, belief.shape[1], inside, run_limits_of(config))
    correction = Correction(config.correction if criteria else "naive")
    known = known_of(config, belief) or None
    bonus = InformationGain(sensor, worth_of(config, belief, sensor), known)
    planner = Planner(bonus, criteria, config.discount, correction, recall=config.recall)
    return Setup(
        planner,
        belief,
        world,
        config.limit,
        agent=config.explores_with(),
        floor=config.floor,
        plan_bonus=Information(sensor),
        seed=config.seed,
    )


def metrics(config: RoverConfig, setup: Setup) -> Metrics:
    """Return the metrics of a comparison: nats learned, and whether a way back exists in truth."""
    prior, rover = setup.belief, setup.world
    assert isinstance(prior, SlopeBelief)
    assert isinstance(rover, Rover)
    way_back = can_return(config, rover.moves, rover.start, rover.shape[1])
    return Metrics(
        "nats",
        lambda belief: entropy_reduction(prior, belief),
        lambda: float(way_back[rover.state]),
    )


def fields(belief: SlopeBelief, world: Rover) -> dict[str, NDArray[Any]]:
    """Return the arrays to store: mean heights [R, C] in m and their standard deviations in m."""
    return {
        "height": belief.height.reshape(belief.shape),
        "deviation": np.sqrt(belief.variance).reshape(belief.shape),
    }


def live(config: RoverConfig) -> Callable[[Any], tuple[list[str], str]]:
    """Return a function from an explorer to texts on how much it knows; it returns no map."""
    from homeward.kinds.rover.outputs import is_known

    prior = prior_of(config)
    goal = known_of(config, prior) or SEEN_DEVIATION

    def progress(explorer: Any) -> tuple[list[str], str]:
        nats = entropy_reduction(prior, explorer.belief)
        share = is_known(explorer.belief, goal).mean()
        return [f"{share:.0%} known to {length(goal)}", f"{nats:,.0f} nats"], ""

    return progress


def located(config: RoverConfig) -> Location:
    """Return where the cells are on the map."""
    cells = cells_of(config)
    return Location(cells.transform, cells.crs_name, has_degrees(cells.crs))


ROVER = Kind(
    name="rover",
    version=2,  # in version 1, the belief did not learn from moves
    config=RoverConfig,
    make=make,
    observations=(Heights, Transition),
    fields=fields,
    settle=settle,
    products=deferred("homeward.kinds.rover.outputs", "write_products"),
    metrics=metrics,
    digests=True,
    spacing=SPACING,
    title="Rover on terrain",
    description="A vehicle with slope limits on a terrain model whose heights have errors.",
    draw=deferred("homeward.kinds.rover.figure", "draw_run"),
    film=deferred("homeward.kinds.rover.figure", "film_run"),
    live=live,
    write_ways=deferred("homeward.kinds.rover.way_home", "write_ways"),
    scene=scene_of,
    located=located,
    kept_layers=kept_layers,
    outcome=recorded_outcome,
    shape=shape_of,
    form=FORM,
    vehicle="homeward.kinds.rover.mission:RoverVehicle",
)
