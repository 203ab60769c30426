"""Targets of a rover's run: what a visit is worth, and which were reached or why not.

The first visit of a target's cell is worth as much, in nats, as `LOOKS` times its weight looks at
unknown ground. So the rover first visits targets of weight 1, as far as a certified way home
allows it. A target of weight .01 is worth a single look.
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
from homeward.errors import prefixed
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
    guide, model = Guide(setup.planner, start, setup.floor), belief.mean()
    guide.ledgers(belief)
    search, held = guide.search, ended.held
    assert isinstance(search, RateSearch)
    assert held is not None
    allowed = search.task.allowed
    free = graph_of(belief, model, setup.planner.correction)  # type: ignore[arg-type]
    graph = free._replace(allowed=EVERYWHERE if allowed is None else allowed)
    share = np.zeros(len(free.dest))
    for ledger, account in zip(search.task.ledgers, held.promises, strict=True):
        survey = replace(ledger, within=None, limits=None).survey(graph, account, state)
        np.maximum(share, survey.added / max(survey.left, MIN_LEFT), out=share)
    view = search.view(belief, model, state, held)  # type: ignore[arg-type]
    search.complete(view)
    last = "steps" if ended.manifest.end == End.STEPS else "worth"
    return {
        "closed": belief.blocked,  # type: ignore[attr-defined]
        "unreachable": _not_reached(free, np.zeros(len(share)), state),
        "outside": _not_reached(graph, np.zeros(len(share)), state),
        "risk": _not_reached(graph, share, state),
        "limits": _not_reached(view.graph, view.share, state),
        last: np.ones(len(share), np.bool_),
    }


def _not_reached(graph: Graph, share: FloatArray, state: int) -> BoolArray:
    """Return the mask [S] of the states that a search outward from `state` does not reach.

    `share` [S] is the share of the risk budget that a way home from a state would spend.
    """
    zero, states = np.zeros(1, np.int64), len(share)
    no_gain = Looks.of((1, states), (zero, zero), np.ones(1), np.zeros(states), False)
    bounds, scratch = np.full(states, np.inf), Scratch.of(states)
    scratch.visited[:] = state
    search = graph, Shares.given(share), 0.0, 0.0, state, no_gain, 0.0, 1.0
    search_outward(*search, bounds, np.inf, scratch)
    mask = np.ones(states, np.bool_)
    mask[scratch.visited] = False
    return mask
