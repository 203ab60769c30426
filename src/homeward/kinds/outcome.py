"""Checks of a run's criteria: can the first plan meet them, and did the run meet them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from homeward.arrays import BoolArray
from homeward.errors import InvalidFileError, InvalidProblemError
from homeward.files import read_json
from homeward.kinds.promises import ASKED, SafeConfig, states_of
from homeward.kinds.reachability import can_reach_start
from homeward.models import Moves
from homeward.planning.explorer import End
from homeward.planning.guide import Guide
from homeward.planning.ledger import BUDGET_TOLERANCE
from homeward.planning.plan import floored
from homeward.runs.config import is_asked
from homeward.runs.kind import Ended, Setup
from homeward.runs.log import Record
from homeward.solvers import Status
from homeward.solvers.reach import reached

FACTS = "summary.json"  # file with the facts of a finished run


def describe_bounds(config: SafeConfig, criteria: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each criterion that has a lowest bound, that is, once a step was taken."""
    bound = "lower bound over the whole run" if config.of_the_run() else "lowest bound of a plan"
    return [
        f"{found['name']}: {bound} {floored(found['lowest'])}, required {found['level']:g}"
        for found in criteria
        if found["lowest"] is not None
    ]


def homes_of(config: SafeConfig, start: int, columns: int) -> list[list[int]]:
    """Return lists of home states; the explorer must be able to reach one state of each list."""
    bases = states_of(config.bases, columns)
    if config.each_base:
        return [[base] for base in bases]
    return [bases or [start]]


def is_stranded(config: SafeConfig, moves: Moves, state: int, start: int, columns: int) -> bool:
    """Return whether the explorer can't reach the homes from `state` in the true world."""
    found = reached(moves.dest, moves.success, state)
    return not all(found[homes].any() for homes in homes_of(config, start, columns))


def trapped_at(
    config: SafeConfig, moves: Moves, states: Sequence[int], start: int, columns: int
) -> int | None:
    """Return the number of steps after which no way home existed in truth; None if one exists.

    `states` are those of the run, from the start on. A trap has no way out, so a binary search
    finds the step.
    """
    stranded = partial(is_stranded, config, moves, start=start, columns=columns)
    if not stranded(states[-1]):
        return None
    return bisect_left(states, True, key=stranded)


def recorded_outcome(directory: Path) -> dict[str, Any]:
    """Return what became of the explorer, from the summary of a finished run; {} without one."""
    try:
        facts = read_json(directory / FACTS)
        stranded, seen = facts["stranded"], facts.get("seen", facts.get("known_to_10cm"))
        trapped, share = facts.get("trapped_at"), seen if isinstance(seen, float) else None
    except (InvalidFileError, AttributeError, KeyError, TypeError):
        return {}
    return {"stranded": stranded is True, "trapped_at": trapped, "seen": share}


def can_return(config: SafeConfig, moves: Moves, start: int, columns: int) -> BoolArray:
    """Return the mask [S] of the states that can reach the homes in the true world."""
    groups = homes_of(config, start, columns)
    found: BoolArray = np.all(
        [np.any([can_reach_start(moves, home) for home in homes], axis=0) for homes in groups],
        axis=0,
    )
    return found


def check_start(config: SafeConfig, setup: Setup) -> None:
    """Raise if no policy meets the criteria from the start; name a smallest conflicting set.

    Without additional criteria there is nothing to check: staying at the start meets δ.
    """
    if all(not is_asked(getattr(config, name, None)) for name in ASKED):
        return
    start, belief = setup.world.state, setup.belief.update(setup.world.look())
    if not config.of_the_run():
        plan = setup.planner.plan(belief, start)
        if plan.status is Status.INFEASIBLE:
            names = [str(config.promises()[k]) for k in plan.conflict]
            raise InvalidProblemError(f"from the start {describe_conflict(names)}")
        return
    guide = Guide(setup.planner, start)
    # The accounts are those of the first promises, in the same order.
    for promise, account in zip(config.promises(), guide.open(belief).accounts, strict=False):
        if account.spent > 1.0 - promise.level + BUDGET_TOLERANCE:
            raise InvalidProblemError(
                f"from the start no return policy meets {promise}: the largest lower bound is "
                f"{1.0 - account.spent:.4g}"
            )


def describe_conflict(conflict: Sequence[str]) -> str:
    """Return a clause that names the criteria which no policy meets together."""
    *others, last = conflict
    if not others:
        return f"no policy meets {last}, even alone"
    return f"no policy meets {', '.join(others)} and {last} together"


def conflict_at_end(config: SafeConfig, ended: Ended, start: int) -> list[str] | None:
    """Return the conflicting criteria if a run ended because of a conflict, else None."""
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
