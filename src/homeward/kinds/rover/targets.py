"""Targets of a rover's run: what a visit is worth, and which were reached or why not.

A target is worth its weight times `LOOKS` looks at unknown ground, in nats, when its cell is first
visited. So a target of weight 1 comes first wherever a certified way home allows it, and one of
weight .01 is worth a single look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from homeward.arrays import BoolArray, FloatArray
from homeward.beliefs import Sensor
from homeward.beliefs.heights import SlopeBelief
from homeward.bonuses import Looks, view_of
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.terrain import cells_of
from homeward.planning.explorer import End
from homeward.planning.gain_search import Scratch, Shares, search_outward
from homeward.planning.graph import EVERYWHERE, Graph, graph_of
from homeward.planning.guide import Guide
from homeward.planning.rate import MIN_LEFT, RateSearch
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
    try:
        found = read_targets(given, cells) if isinstance(given, str) else check_targets(given)
        cells_of_targets(found, cells)
    except InvalidFileError:
        raise
    except InvalidInputError as cause:
        what = given if isinstance(given, str) else "the targets"
        raise InvalidInputError(f"{what}: {cause}") from cause
    return found


def worth_of(config: RoverConfig, belief: SlopeBelief, sensor: Sensor) -> FloatArray | None:
    """Return what the first visit of each cell is worth [S] in nats; None without targets."""
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


def told_of(ended: Ended, config: RoverConfig, path: Sequence[int]) -> list[dict[str, Any]]:
    """Return each target as JSON values: its place, and the step that reached it or why not."""
    targets, cells = targets_of(config), cells_of(config)
    states = cells_of_targets(targets, cells)
    first = {state: step for step, state in reversed(list(enumerate(path)))}
    codes = {} if set(states) <= first.keys() else _codes(ended, config)
    found = []
    for (x, y, weight), state in zip(targets, states, strict=True):
        row, column = divmod(state, cells.shape[1])
        step = first.get(state)
        why = None if step is not None else next(c for c, mask in codes.items() if mask[state])
        told = {"x": x, "y": y, "weight": weight, "row": row, "column": column}
        found.append({**told, "step": step, "why": why})
    return found


def target_features(told: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return targets as GeoJSON points with their weight, step, and why they were not reached."""
    kept = ("weight", "row", "column", "step", "why")
    return [
        feature("target", "Point", [each["x"], each["y"]], {key: each[key] for key in kept})
        for each in told
    ]


def describe(told: Sequence[dict[str, Any]]) -> list[str]:
    """Return sentences on which targets were reached and which were not."""
    if not told:
        return []
    steps = [each["step"] for each in told]
    reached = [step for step in steps if step is not None]
    weights = [sum(e["weight"] for e in told if e["step"] is not None or every) for every in (0, 1)]
    lines = [
        f"{len(reached)} of {len(told)} targets were reached, with {weights[0]:g} of the weight "
        f"{weights[1]:g}."
    ]
    for n, each in enumerate(told, start=1):
        name = (
            f"Target {n} (weight {each['weight']:g}) at x = {each['x']:.10g}, y = {each['y']:.10g}"
        )
        if each["step"] is None:
            lines.append(f"{name} was not reached: {WHY_NOT[each['why']]}.")
        else:
            lines.append(f"{name} was reached after step {each['step']:,}.")
    return lines


def _codes(ended: Ended, config: RoverConfig) -> dict[str, BoolArray]:
    """Return a mask [S] for each code of `WHY_NOT`; the first that has a cell says why."""
    setup, belief, world = ended.setup, ended.belief, ended.setup.world
    start, state = world.start, world.state  # type: ignore[attr-defined]
    guide, model = Guide(setup.planner, start, setup.floor), belief.mean()
    guide.ledgers(belief)
    search, held = guide.search, ended.held
    assert isinstance(search, RateSearch)
    assert held is not None
    allowed = search.task.allowed
    free = graph_of(belief, model, setup.planner.correction)  # type: ignore[arg-type]
    graph = free._replace(allowed=EVERYWHERE if allowed is None else allowed)
    share = np.zeros(len(free.dest))
    for ledger, account in zip(search.task.ledgers, held.accounts, strict=True):
        survey = replace(ledger, within=None, limits=None).survey(graph, account, state)
        np.maximum(share, survey.added / max(survey.left, MIN_LEFT), out=share)
    view = search.view(belief, model, state, held)  # type: ignore[arg-type]
    search.complete(view)
    parts = {
        "unreachable": _found(free, np.zeros(len(share)), state),
        "outside": _found(graph, np.zeros(len(share)), state),
        "risk": _found(graph, share, state),
        "limits": _found(view.graph, view.share, state),
    }
    last = "steps" if ended.manifest.end == End.STEPS else "worth"
    shut: BoolArray = belief.blocked  # type: ignore[attr-defined]
    return {
        "closed": shut,
        **{k: ~v for k, v in parts.items()},
        last: np.ones(len(share), np.bool_),
    }


def _found(graph: Graph, share: FloatArray, state: int) -> BoolArray:
    """Return the mask [S] of the states that a search outward from `state` reaches."""
    here, states = np.zeros(1, np.int64), len(share)
    nothing = Looks.of((1, states), (here, here), np.ones(1), np.zeros(states), False)
    bounds, scratch = np.full(states, np.inf), Scratch.of(states)
    scratch.visited[:] = state
    given = graph, Shares.given(share), 0.0, 0.0, state, nothing, 0.0, 1.0
    search_outward(*given, bounds, np.inf, scratch)
    found = np.zeros(states, np.bool_)
    found[scratch.visited] = True
    return found
