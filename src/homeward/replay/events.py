"""Events of a recorded run: targets reached, changes of target, spent risk, traps and refusals.

All events come from the records except two. ``trapped`` needs the true world: after that step, no
sequence of moves that work leads home. ``refused`` needs the evidence of the decisions, which
`refused_actions` repeats.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from homeward.arrays import IntArray
from homeward.models import Moves
from homeward.replay.moment import looks_of
from homeward.replay.replay import Replay
from homeward.solvers.paths import reached

MIN_SPENT = 1e-6  # smallest risk whose spending is an event
MIN_TURN_CELLS = 4  # smallest distance, in rows or columns, of two targets to be an event
MAX_REPEATED = 1_000_000  # maximum of states × steps for which decisions are repeated


class Event(NamedTuple):
    """Something that happened after a number of steps; ``news`` is a change of the target."""

    step: int
    code: str  # "reached", "news", "spent", "refused", "trapped" or "ended"
    cell: int | None = None  # the target, the refused cell, or the state of the explorer
    amount: float | None = None  # the risk that was spent, or the bonus of the refused look


def events_of(replay: Replay) -> list[Event]:
    """Return the events that follow from the records and the true world, in order of steps."""
    events = [*_of_proposals(replay), *_of_budgets(replay)]
    trapped, steps = trapped_at(replay), len(replay.log)
    if trapped is not None:
        events.append(Event(trapped, "trapped", int(replay.log.path_to(trapped)[-1])))
    if replay.run.manifest.end is not None:
        events.append(Event(steps, "ended", int(replay.log.path_to(steps)[-1]) if steps else None))
    return sorted(events, key=lambda event: (event.step, event.code))


def trapped_at(replay: Replay) -> int | None:
    """Return the number of steps after which no way home exists in the true world.

    Return None if a way home always exists, or if the true world is unknown.
    """
    moves = getattr(replay.setup.world, "moves", None)
    if not isinstance(moves, Moves) or not len(replay.log):
        return None
    path = replay.log.path_to(len(replay.log))
    homes = homes_of(replay, int(path[0]))

    def is_trapped(step: int) -> bool:
        mask = reached(moves.dest, moves.success, int(path[step]))
        return not all(mask[group].any() for group in homes)

    if not is_trapped(len(path) - 1):
        return None
    return bisect_left(range(len(path)), True, key=is_trapped)  # a trapped explorer stays trapped


def homes_of(replay: Replay, start: int) -> Sequence[IntArray]:
    """Return the home states of each criterion that names home states; by default the start."""
    given = (getattr(criterion, "home", None) for criterion in replay.setup.planner.criteria)
    fixed = [home for home in given if home is not None and not isinstance(home, str)]
    return [np.atleast_1d(np.asarray(home, np.int32)) for home in fixed or [start]]


def refused_actions(replay: Replay) -> Iterator[Event]:
    """Yield an event for each decision that refused a look with a higher bonus as unsafe.

    Of consecutive such decisions, only the first has an event. The decisions are computed again, so
    this takes about as long as the run did. Runs with more than `MAX_REPEATED` states × steps have
    no such events.
    """
    steps, mean = len(replay.log), replay.setup.belief.mean()
    is_safe = replay.setup.planner.criteria and isinstance(mean, Moves)
    if mean.states * steps > MAX_REPEATED or not is_safe:
        return
    before = False
    for step in range(steps):
        replay.check_interrupted()
        moment, plan = replay.at(step), replay.plan(step)[0]
        looks = looks_of(moment)
        unsafe = [e.action for e in plan.evidence if e.verdict == "unsafe" and e.leaves > 0.0]
        better = [action for action in unsafe if looks[action] > looks[plan.action or 0]]
        if better and not before:
            best = max(better, key=lambda action: looks[action])
            model: Any = moment.model
            cell = int(model.dest[moment.state, best])
            yield Event(step, "refused", cell, looks[best])
        before = bool(better)


def _of_proposals(replay: Replay) -> Iterator[Event]:
    """Yield an event when the target is reached, and when new information changes the target."""
    target: int | None = None
    path: list[int] = []
    columns = replay.scene.shape[1]
    for step, holding in enumerate(replay.log.holdings, start=1):
        if not isinstance(holding, dict):
            return
        written = holding.get("path")  # the new path, or the number of cells passed on the old one
        if written is None:
            continue
        path = path[written:] if isinstance(written, int) else [int(cell) for cell in written]
        after = path[-1] if path else None
        if target is not None and replay.log.states[step - 1] == target:
            yield Event(step - 1, "reached", target)
        elif target is not None and after is not None:
            apart = np.subtract(divmod(target, columns), divmod(after, columns))
            if abs(apart).max() >= MIN_TURN_CELLS:
                yield Event(step - 1, "news", after)
        target = after


def _of_budgets(replay: Replay) -> Iterator[Event]:
    """Yield an event for each step that spends more than `MIN_SPENT` of the allowed risk."""
    before = 0.0
    for step, holding in enumerate(replay.log.holdings, start=1):
        if not isinstance(holding, dict):
            return
        spent = max((float(s) for s in holding.get("spent", ())), default=0.0)
        if spent > before + MIN_SPENT:
            yield Event(step, "spent", None, spent - before)
        before = max(before, spent)
