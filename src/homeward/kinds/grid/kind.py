"""The kind ``grid``: how a run in a grid world is made, checked, stored and shown.

A finished run has a ``summary.json`` with the lowest bound of each criterion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from homeward.arrays import BoolArray, FloatArray
from homeward.beliefs import HeightBelief, Reveal
from homeward.beliefs.corrections import Correction
from homeward.beliefs.levels import WALL
from homeward.bonuses import Uncover
from homeward.errors import InvalidInputError
from homeward.files import replace_json
from homeward.kinds import deferred
from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.scene import kept_layers, scene_of
from homeward.kinds.grid.world import HeightGridWorld, write
from homeward.kinds.outcome import (
    FACTS,
    account,
    can_return,
    check_start,
    conflict_at_end,
    is_stranded,
    recorded_outcome,
    trapped_at,
)
from homeward.kinds.promises import CRITERION_KEYS, SAFE_KEYS, criteria_of, state_of
from homeward.planning.algorithm1 import Planner
from homeward.runs.kind import MAX_CELLS, Ended, Form, Kind, Metrics, Setup

if TYPE_CHECKING:
    from homeward.worlds import World

STEPS_PER_SQUARE = 20  # default step limit, as a multiple of the number of squares
MAX_TERMINAL_SQUARES = 60  # maximum width, in squares, of a grid shown in a terminal


def map_of(config: GridConfig) -> HeightMap:
    """Return the true map: the given one, or one drawn from the seed."""
    if config.map is not None:
        return HeightMap.from_text(config.map, levels=config.levels, climb=config.climb)
    return HeightMap.random(
        (config.size, config.size),
        config.seed,
        prior=uniform(config.levels),
        walls=config.walls,
        start=config.start,
        climb=config.climb,
    )


def uniform(levels: int) -> FloatArray:
    """Return the uniform prior [H] of heights."""
    return np.full(levels, 1.0 / levels)


def window_of(config: GridConfig, shape: tuple[int, int], start: int) -> BoolArray | None:
    """Return the mask [S] of the squares to keep in; None without a window to keep in.

    Raise if the window is empty or off the map, or if the start is outside.
    """
    if config.keep_in is None:
        return None
    (top, bottom), (left, right) = config.keep_in
    window = f"the window to keep in, rows {top}:{bottom} and columns {left}:{right}"
    rows, columns = shape
    if bottom < top or right < left:
        raise InvalidInputError(f"{window}, is empty")
    if bottom >= rows or right >= columns:
        raise InvalidInputError(f"{window}, is off the map of {rows} rows and {columns} columns")
    inside = np.zeros(shape, dtype=bool)
    inside[top : bottom + 1, left : right + 1] = True
    if not inside.flat[start]:
        row, column = divmod(start, columns)
        raise InvalidInputError(f"the start, row {row} and column {column}, is outside {window}")
    return inside.ravel()


def make(config: GridConfig) -> Setup:
    """Return the setup of a run in a grid world."""
    grid = map_of(config)
    belief = grid.belief("known", prior=uniform(config.levels), stay=config.stay)
    world = HeightGridWorld(grid, stay=config.stay)
    return setup_of(config, belief, world, grid.start)


def setup_of(config: GridConfig, belief: HeightBelief, world: World, start: int) -> Setup:
    """Return the setup of a run in a world, given a belief that knows the walls, and the start."""
    for base in config.bases:
        state_of(base, "a base", belief.shape, belief.known == WALL, "a wall")
    criteria = criteria_of(config, belief.shape[1], window_of(config, belief.shape, start))
    correction = Correction(config.correction) if criteria else None
    planner = Planner(Uncover(), criteria, config.discount, correction, recall=config.recall)
    limit = STEPS_PER_SQUARE * len(belief.known) if config.limit is None else config.limit
    agent = config.explores_with()
    return Setup(planner, belief, world, limit, agent=agent, floor=config.floor, seed=config.seed)


def settle(config: GridConfig) -> GridConfig:
    """Return the configuration; raise if no policy meets its criteria from the start."""
    config.check_use()
    check_start(config, make(config))
    return config


def fields(belief: HeightBelief, world: HeightGridWorld) -> dict[str, NDArray[Any]]:
    """Return the arrays [R, C] to store: heights, and the masks of seen and visited squares."""
    shape = world.grid.shape
    return {
        "heights": world.grid.heights,
        "seen": world.seen.reshape(shape),
        "visited": belief.visited.reshape(shape),
    }


def metrics(config: GridConfig, setup: Setup) -> Metrics:
    """Return the metrics of a comparison: squares seen, and whether a way back exists in truth."""
    world = setup.world
    assert isinstance(world, HeightGridWorld)
    way_back = can_return(config, world.moves, world.grid.start, world.grid.shape[1])
    return Metrics(
        "% of squares seen",
        lambda belief: 100.0 * float(world.seen.mean()),
        lambda: float(way_back[world.state]),
    )


def products(ended: Ended) -> None:
    """Write ``summary.json``: the end, what was seen, and the bounds of the criteria."""
    config, world = ended.config, ended.setup.world
    assert isinstance(config, GridConfig)
    assert isinstance(world, HeightGridWorld)
    grid = world.grid
    path = [grid.start, *(record.next_state for record in ended.records())]
    facts = {
        "end": ended.manifest.end,
        "steps": ended.manifest.steps,
        "stranded": is_stranded(config, world.moves, path, grid.shape[1]),
        "trapped_at": trapped_at(config, world.moves, path, grid.shape[1]),
        "seen": float(world.seen.mean()),
        "reached": float(world.seen[grid.safely_seen & ~grid.walls].mean()),
        **account(config, ended.records()),
        "conflict": conflict_at_end(config, ended, grid.start),
        "why": ended.why,
        "levels": list(ended.levels),
    }
    replace_json(ended.directory / FACTS, facts)


def shape_of(config: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the number of rows and columns; None if the map has no lines."""
    if config.get("map") is None:
        return config["size"], config["size"]
    lines = [line.strip() for line in str(config["map"]).splitlines() if line.strip()]
    return (len(lines), len(lines[0])) if lines else None


def check(config: GridConfig) -> None:
    """Raise if a map is too large for a run that a page starts."""
    if config.map is not None and len(config.map) > MAX_CELLS:
        raise InvalidInputError(f"a map of {len(config.map):,} letters is more than {MAX_CELLS:,}")


DEMO_WORLD = {"size": 12, "walls": 0.15, "seed": 36, "start": 78, "home": "start"}
"""A world in which the unsafe explorer soon enters a hole that it can't leave."""


def live(config: GridConfig) -> Callable[[Any], tuple[list[str], str]]:
    """Return a function from an explorer to texts on its progress and a map for a terminal.

    The map is "" if it is too wide.
    """

    def progress(explorer: Any) -> tuple[list[str], str]:
        world, grid = explorer.world, explorer.world.grid
        known = np.where(world.seen | grid.walls, grid.heights.ravel(), 0).reshape(grid.shape)
        small = max(grid.shape) <= MAX_TERMINAL_SQUARES
        return [f"{world.seen.mean():.0%} seen"], write(known, world.state) if small else ""

    return progress


GRID = Kind(
    name="grid",
    version=2,  # version 1 had only the paper's Algorithm 1
    config=GridConfig,
    make=make,
    observations=(Reveal,),
    fields=fields,
    settle=settle,
    products=products,
    metrics=metrics,
    title="Grid world",
    description="Squares with heights that are seen from neighbouring squares, and walls.",
    draw=deferred("homeward.kinds.grid.figure", "draw_run"),
    film=deferred("homeward.kinds.grid.figure", "film_run"),
    live=live,
    scene=scene_of,
    kept_layers=kept_layers,
    outcome=recorded_outcome,
    shape=shape_of,
    demo={
        "demo-safe": {**DEMO_WORLD, "explorer": "safe", "delta": 0.9},
        "demo-unsafe": {**DEMO_WORLD, "explorer": "uncover"},
    },
    form=Form(
        keys=(
            *("seed", "size", "walls", "start", "map", "explorer", "delta", "correction", "home"),
            *("algorithm", "floor", "stay", "discount", "limit"),
            *(key for key in CRITERION_KEYS if key in GridConfig.model_fields),
        ),
        check=check,
        safe={"explorer": "safe"},
        unsafe={"explorer": "uncover"},
        promises=SAFE_KEYS,
    ),
    vehicle="homeward.kinds.grid.mission:GridVehicle",
)
