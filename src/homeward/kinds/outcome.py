"""Checks of a run's criteria: whether the first plan can meet them, and whether the run did."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from homeward.arrays import BoolArray
from homeward.errors import InvalidFileError, InvalidProblemError
from homeward.files import read_json
from homeward.kinds.promises import CRITERION_KEYS, SafeConfig, states_of
from homeward.kinds.reachability import can_reach_start
from homeward.models import Moves
from homeward.planning.ends import End
from homeward.planning.explorer import Rules
from homeward.planning.promise import BUDGET_TOLERANCE
from homeward.runs.config import is_asked
from homeward.runs.kind import Ended, Setup
from homeward.runs.log import Record
from homeward.solvers import Status
from homeward.words import at_least, floored

FACTS = "summary.json"  # file with the facts of a finished run


def describe_bounds(config: SafeConfig, criteria: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line on the lowest bound of each criterion; no lines if no step was taken.

    `criteria` are those that `account` returns.
    """
    bound = "lower bound over the whole run" if config.of_the_run() else "lowest bound of a plan"
    return [
        f"{each['name']}: {bound} {floored(each['lowest'])}, required {each['level']:g}"
        for each in criteria
        if each["lowest"] is not None
    ]


def homes_of(config: SafeConfig, start: int, columns: int) -> list[list[int]]:
    """Return lists of home states; the explorer must be able to reach one state of each list.

    `start` is the state of the start, and `columns` the number of columns of the map.
    """
    bases = states_of(config.bases, columns)
    if config.each_base:
        return [[base] for base in bases]
    return [bases or [start]]


def can_return(config: SafeConfig, moves: Moves, start: int, columns: int) -> BoolArray:
    """Return the mask [S] of the states that can reach the homes by the true `moves`."""
    groups = homes_of(config, start, columns)
    reach = [[can_reach_start(moves, home) for home in homes] for homes in groups]
    return np.asarray(np.all([np.any(masks, axis=0) for masks in reach], axis=0))


def is_stranded(config: SafeConfig, moves: Moves, states: Sequence[int], columns: int) -> bool:
    """Return whether the explorer can't reach the homes from the last of `states`.

    `states` are those of the run, from the start on.
    """
    return not can_return(config, moves, states[0], columns)[states[-1]]


def trapped_at(config: SafeConfig, moves: Moves, states: Sequence[int], columns: int) -> int | None:
    """Return the number of steps after which no way home existed; None if one exists at the end.

    `states` are those of the run, from the start on. A trap has no way out, so a binary search
    finds the step.
    """
    way_back = can_return(config, moves, states[0], columns)
    if way_back[states[-1]]:
        return None
    return bisect_left(states, True, key=lambda state: not way_back[state])


def recorded_outcome(directory: Path) -> dict[str, Any]:
    """Return the outcome in the summary of a finished run, as `Kind.outcome` states; {} without."""
    try:
        facts = read_json(directory / FACTS)
        stranded, seen = facts["stranded"], facts.get("seen", facts.get("known_to_10cm"))
        trapped, share = facts.get("trapped_at"), seen if isinstance(seen, float) else None
    except (InvalidFileError, AttributeError, KeyError, TypeError):
        return {}
    return {"stranded": stranded is True, "trapped_at": trapped, "seen": share}


def check_start(config: SafeConfig, setup: Setup) -> None:
    """Raise if no policy meets the criteria from the start; the message names criteria in conflict.

    Without additional criteria there is nothing to check: staying at the start meets δ.
    """
    if not any(is_asked(getattr(config, name, None)) for name in CRITERION_KEYS):
        return
    start, belief = setup.world.state, setup.belief.update(setup.world.look())
    if not config.of_the_run():
        plan = setup.planner.plan(belief, start)
        if plan.status is Status.INFEASIBLE:
            names = [str(config.promises()[k]) for k in plan.conflict]
            raise InvalidProblemError(f"from the start {describe_conflict(names)}")
        return
    opened = Rules.of(belief, setup.planner, start).open(belief, start)
    # The first promises of the configuration are those of the run, in the same order.
    for promise, kept in zip(config.promises(), opened.promises, strict=False):
        if kept.spent > 1.0 - promise.level + BUDGET_TOLERANCE:
            raise InvalidProblemError(
                f"from the start no return policy meets {promise}: the largest lower bound is "
                f"{at_least(1.0 - kept.spent, 4)}"
            )


def describe_conflict(conflict: Sequence[str]) -> str:
    """Return a clause that names the criteria which no policy meets together."""
    *others, last = conflict
    if not others:
        return f"no policy meets {last}, even alone"
    return f"no policy meets {', '.join(others)} and {last} together"


def conflict_at_end(config: SafeConfig, ended: Ended, start: int) -> list[str] | None:
    """Return texts of the conflicting criteria if a run ended because of a conflict, else None."""
    if ended.manifest.end is not End.INFEASIBLE:
        return None
    names = [str(promise) for promise in config.promises()]
    if config.of_the_run():
        return names
    plan = ended.setup.planner.plan(ended.belief, ended.setup.world.state, start)
    return [names[k] for k in plan.conflict]


def account(config: SafeConfig, records: Iterable[Record]) -> dict[str, Any]:
    """Return, as JSON values, each criterion's lowest bound and the number of infeasible steps.

    If the levels hold for the whole run, so do the bounds; otherwise each bound is of one plan.
    """
    lowest = [math.inf] * len(config.promises())
    infeasible = 0
    for record in records:
        lowest = [min(pair) for pair in zip(lowest, record.kept_bounds, strict=True)]
        infeasible += record.status == str(Status.INFEASIBLE)
    criteria = [
        {**promise._asdict(), "lowest": low if math.isfinite(low) else None}
        for promise, low in zip(config.promises(), lowest, strict=True)
    ]
    return {"criteria": criteria, "infeasible_steps": infeasible}
