"""Targets of a rover's run: what a visit is worth, and which were reached or why not.

The first visit of a target's cell is worth as much, in nats, as `LOOKS` times its weight looks at
unknown ground. So the rover first visits targets of weight 1, as far as a certified way home
allows it. A target of weight .01 is worth a single look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from homeward.arrays import BoolArray, FloatArray
from homeward.beliefs import Sensor
from homeward.beliefs.heights import SlopeBelief, TerrainBelief
from homeward.bonuses import Looks, view_of
from homeward.errors import prefixed
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.terrain import cells_of
from homeward.planning.ends import End
from homeward.planning.explorer import Rules
from homeward.planning.gain_kernels import EVERYWHERE, NO_REACH, Ground, Scratch, search_outward
from homeward.planning.proposals import MoveSearch
from homeward.planning.returning.moves import MoveReturning
from homeward.runs.kind import Ended
from homeward.terrain.points import Target, cells_of_targets, check_targets, read_targets
from homeward.terrain.writing import feature

LOOKS = 100.0  # looks at unknown ground that the first visit of a target of weight 1 is worth
WHY_NOT = {
    "closed": "its cell has no data, an obstacle, or no room for the vehicle",
    "outside": "it is outside the area to keep in",
    "unreachable": "there is no way that the vehicle could drive",
    "risk": "the way there or the way home from it would risk more than was left",
    "limits": "it is beyond what is left of the limits of the run",
    "steps": "the step limit came first",
    "worth": "its weight is too small for its way",
}
"""Why a target was not reached, by its code."""


def targets_of(config: RoverConfig) -> tuple[Target, ...]:
    """Return the targets in map coordinates; raise if they are invalid or off the map."""
    given, cells = config.targets, cells_of(config)
    if given is None:
        return ()
    targets = read_targets(given, cells) if isinstance(given, str) else given
    with prefixed(given if isinstance(given, str) else "the targets"):
        cells_of_targets(check_targets(targets), cells)
    return targets


def worth_of(config: RoverConfig, belief: SlopeBelief, sensor: Sensor) -> FloatArray | None:
    """Return the gain [S] in nats of the first visit of each cell; None without targets."""
    targets = targets_of(config)
    if not targets:
        return None
    *_, weight = view_of(belief.shape, belief.size, sensor)
    variance = float(np.median(belief.variance[~belief.blocked]))
    look = float(0.5 * np.log1p(variance * weight).sum())
    worth = np.zeros(len(belief.height))
    weights = [target[2] for target in targets]
    np.add.at(
        worth, cells_of_targets(targets, cells_of(config)), np.multiply(weights, LOOKS * look)
    )
    return worth


def target_facts(ended: Ended, config: RoverConfig, path: Sequence[int]) -> list[dict[str, Any]]:
    """Return each target as JSON values: its place, and the step that reached it or why not.

    `why` is a code of `WHY_NOT`, or None if the target was reached.
    """
    targets, cells = targets_of(config), cells_of(config)
    states = cells_of_targets(targets, cells)
    first = {state: step for step, state in reversed(list(enumerate(path)))}
    masks = {} if set(states) <= first.keys() else _masks(ended)
    facts: list[dict[str, Any]] = []
    for (x, y, weight), state in zip(targets, states, strict=True):
        row, column = divmod(state, cells.shape[1])
        step = first.get(state)
        why = None if step is not None else next(c for c, mask in masks.items() if mask[state])
        place = {"x": x, "y": y, "weight": weight, "row": row, "column": column}
        facts.append({**place, "step": step, "why": why})
    return facts


def target_features(facts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the targets of `target_facts` as GeoJSON points."""
    kept = ("weight", "row", "column", "step", "why")
    return [
        feature("target", "Point", [each["x"], each["y"]], {key: each[key] for key in kept})
        for each in facts
    ]


def describe(facts: Sequence[dict[str, Any]]) -> list[str]:
    """Return sentences on which targets of `target_facts` were reached and which were not."""
    if not facts:
        return []
    reached = [each["weight"] for each in facts if each["step"] is not None]
    weights = sum(reached), sum(each["weight"] for each in facts)
    lines = [
        f"{len(reached)} of {len(facts)} targets were reached, with {weights[0]:g} of the weight "
        f"{weights[1]:g}."
    ]
    for n, each in enumerate(facts, start=1):
        name = (
            f"Target {n} (weight {each['weight']:g}) at x = {each['x']:.10g}, y = {each['y']:.10g}"
        )
        if each["step"] is None:
            lines.append(f"{name} was not reached: {WHY_NOT[each['why']]}.")
        else:
            lines.append(f"{name} was reached after step {each['step']:,}.")
    return lines


def _masks(ended: Ended) -> dict[str, BoolArray]:
    """Return a mask [S] of cells for each code of `WHY_NOT`.

    The reason for a cell is the first code whose mask contains the cell.
    """
    setup, belief, world = ended.setup, ended.belief, ended.setup.world
    start, state = world.start, world.state  # type: ignore[attr-defined]
    run, belief_now = ended.run_state, cast("TerrainBelief", belief)
    assert run is not None
    rules = Rules.of(belief, setup.planner, start, setup.floor)
    search = rules.search
    assert isinstance(search, MoveSearch)
    options = [each.whole() for each in rules.options(belief, run, state)]
    ground = search.problem(belief, options, state).ground
    anywhere = ground._replace(added=ground.added[:0], left=ground.left[:0], reach=NO_REACH)
    free = [
        MoveReturning.of(replace(each.goal, within=None, limits=None), each.correction, belief)
        for each in rules.returning
        if isinstance(each, MoveReturning)
    ]
    pairs = zip(free, run.promises, strict=True)
    unlimited = [each.options(belief, p, state, None, whole=True) for each, p in pairs]
    risky = search.problem(belief, unlimited, state).ground
    last = "steps" if ended.manifest.end == End.STEPS else "worth"
    return {
        "closed": belief_now.blocked,
        "unreachable": _not_reached(anywhere._replace(allowed=EVERYWHERE), state),
        "outside": _not_reached(anywhere, state),
        "risk": _not_reached(risky, state),
        "limits": _not_reached(ground, state),
        last: np.ones(len(ground.dest), np.bool_),
    }


def _not_reached(ground: Ground, state: int) -> BoolArray:
    """Return the mask [S] of the states that a search outward from `state` does not reach."""
    zero, states = np.zeros(1, np.int64), len(ground.dest)
    no_gain = Looks.of((1, states), (zero, zero), np.ones(1), np.zeros(states), False)
    bounds, scratch = np.full(states, np.inf), Scratch.of(states)
    found = search_outward(
        ground, 1.0, state, no_gain, 0.0, 1.0, 0.0, bounds, np.inf, False, scratch
    )
    mask = np.ones(states, np.bool_)
    mask[scratch.visited[: found.met]] = False
    return mask
