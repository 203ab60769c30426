"""Which safety levels would have given the moves of a run, tried one by one in the same world.

A level is compared by exploring again with it, until an action differs. Levels further from the
run's own are not assumed to differ as well, or to be the same: only what was tried is told. On each
side of the run's own level the furthest one is tried first, then the steps between are halved.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from homeward.planning.ends import End
from homeward.runs.config import Config
from homeward.runs.kind import Kind

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
"""Levels to try, besides none; in ascending order."""

MIN_SECONDS, MAX_SECONDS = (
    1.0,
    5.0,
)  # limits of the time for levels after a run, else that of the run
MAX_STATES = 100_000  # most states of a world in which levels are tried after each run


OUT_OF_TIME = -1  # result of `_parts` if the time was over first


class Tried(NamedTuple):
    """A level that was tried."""

    level: float | None  # None without a safety level
    parts: int | None  # first step with another action, or one step too many; None if all are equal


def tried_after(
    kind: Kind, config: Config, actions: Sequence[int], end: End | None, seconds: float, states: int
) -> tuple[dict[str, Any], ...]:
    """Return the levels that could be tried after a run that took some `seconds`, as JSON values.

    They take no more time than the run did, or `MIN_SECONDS` after a shorter one. None is tried in
    a world of too many `states`.
    """
    if states > MAX_STATES:
        return ()
    limit = min(max(seconds, MIN_SECONDS), MAX_SECONDS)
    tried = tried_levels(kind, config, actions, end, limit)
    return tuple(each._asdict() for each in tried)


def tried_levels(
    kind: Kind, config: Config, actions: Sequence[int], end: End | None, seconds: float | None
) -> list[Tried]:
    """Return the levels that were tried, without one first, then in ascending order.

    `actions` are those of the run, and `end` is why it ended. A level is not in the result if the
    `seconds` for all of them were over before its moves were compared; None is no limit.
    """
    until = None if seconds is None else time.perf_counter() + seconds
    order = [level for level in (None, *LEVELS) if config.at_level(level) is not None]
    here = strictness(config.own_level())
    below = [level for level in reversed(order) if strictness(level) < here]
    above = [level for level in order if strictness(level) > here]
    tried: list[Tried] = []
    for side in (below, above):
        low, high, at = -1, len(side), len(side) - 1
        while low < at < high:
            changed = config.at_level(side[at])
            assert changed is not None
            found = _parts(kind, changed, actions, end, until)
            if found == OUT_OF_TIME:
                break
            tried.append(Tried(side[at], found))
            low, high = (at, high) if found is None else (low, at)
            at = (low + high) // 2
    return sorted(tried, key=lambda each: strictness(each.level))


def strictness(level: float | None) -> float:
    """Return a number that orders levels; no level comes first."""
    return -1.0 if level is None else level


def _parts(
    kind: Kind, config: Config, actions: Sequence[int], end: End | None, until: float | None
) -> int | None:
    """Return the first step in which a run of `config` differs from `actions`; None without one."""
    explorer: Any = kind.set_up(config).explorer()
    limit = len(actions) if end is End.STEPS else len(actions) + 1
    number = 0
    if until is not None and time.perf_counter() > until:
        return OUT_OF_TIME
    for number, step in enumerate(explorer.explore(limit), start=1):
        if number > len(actions) or step.action != actions[number - 1]:
            return number
        if until is not None and time.perf_counter() > until:
            return OUT_OF_TIME
    return None if number == len(actions) else number + 1
