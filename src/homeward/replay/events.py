"""Events of a recorded run: targets reached, changes of target, spent risk, traps and refusals.

All events come from the records except two. ``trapped`` needs the true world: from that step on, no
sequence of moves that work leads home. ``refused`` needs the evidence of the decisions, which are
repeated for this; see `refused_actions`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from homeward.arrays import IntArray
from homeward.models import Moves
from homeward.replay.moment import looks_of
from homeward.replay.replay import InterruptedReplayError, Replay
from homeward.solvers.reach import reached

MIN_SPENT = 1e-6  # smallest risk whose spending is an event
MIN_TURN = 4  # cells, in rows or columns, between two targets whose change is an event
MAX_REPEATED = 1_000_000  # most states × steps for which decisions are repeated


class Event(NamedTuple):
    """Something that happened after a number of steps."""

    step: int
    code: str  # "reached", "news", "spent", "refused", "trapped" or "ended"
    cell: int | None = None  # where, or what it is about
    amount: float | None = None  # the risk that was spent, or the bonus of the refused look

    def facts(self) -> dict[str, Any]:
        """Return the event as JSON values."""
        return self._asdict()


def events_of(replay: Replay) -> list[Event]:
    """Return the events that follow from the records and the true world, in order of steps."""
    found = [*_of_proposals(replay), *_of_budgets(replay)]
    trapped, steps = trapped_at(replay), len(replay.log)
    if trapped is not None:
        found.append(Event(trapped, "trapped", int(replay.log.path_to(trapped)[-1])))
    if replay.run.manifest.end is not None:
        found.append(Event(steps, "ended", int(replay.log.path_to(steps)[-1]) if steps else None))
    return sorted(found, key=lambda event: (event.step, event.code))


def trapped_at(replay: Replay) -> int | None:
    """Return after how many steps no way home is left in truth; None if never, or unknown."""
    moves = getattr(replay.setup.world, "moves", None)
    if not isinstance(moves, Moves) or not len(replay.log):
        return None
    path = replay.log.path_to(len(replay.log))
    homes = homes_of(replay, int(path[0]))

    def lost(step: int) -> bool:
        found = reached(moves.dest, moves.success, int(path[step]))
        return not all(found[group].any() for group in homes)

    if not lost(len(path) - 1):
        return None
    return bisect_left(range(len(path)), True, key=lost)  # what is lost stays lost


def homes_of(replay: Replay, start: int) -> Sequence[IntArray]:
    """Return the homes of each criterion with fixed homes; otherwise the start."""
    given = (getattr(criterion, "home", None) for criterion in replay.setup.planner.criteria)
    fixed = [home for home in given if home is not None and not isinstance(home, str)]
    return [np.atleast_1d(np.asarray(home, np.int32)) for home in fixed or [start]]


def refused_actions(replay: Replay) -> Iterator[Event]:
    """Yield the steps before which an action that leads to a better look was refused as unsafe.

    Of consecutive such steps, only the first is yielded. The decisions are computed again, so this
    takes about as long as the run did. Nothing is yielded for runs with more than `MAX_REPEATED`
    states × steps.
    """
    steps, mean = len(replay.log), replay.setup.belief.mean()
    is_safe = replay.setup.planner.criteria and isinstance(mean, Moves)
    if mean.states * steps > MAX_REPEATED or not is_safe:
        return
    before = False
    for step in range(steps):
        if replay.interrupted():
            raise InterruptedReplayError("another request interrupted this one; ask again")
        moment, plan = replay.at(step), replay.plan(step)[0]
        looks = looks_of(moment)
        chosen = looks[plan.action]
        more = [e.action for e in plan.evidence if e.verdict == "unsafe" and e.leaves > 0.0]
        more = [action for action in more if looks[action] > chosen]
        if more and not before:
            best = max(more, key=lambda action: looks[action])
            model: Any = moment.model
            cell = int(model.dest[moment.state, best])
            yield Event(step, "refused", cell, looks[best])
        before = bool(more)


def _of_proposals(replay: Replay) -> Iterator[Event]:
    """Yield when the target is reached, and when new information leads to another target."""
    target: int | None = None
    path: list[int] = []
    columns = replay.scene.shape[1]
    for step, holding in enumerate(replay.log.holdings, start=1):
        if not isinstance(holding, dict):
            return
        here = replay.log.states[step - 1]
        told = holding.get("path")
        if told is None:
            continue
        path = path[told:] if isinstance(told, int) else [int(cell) for cell in told]
        after = path[-1] if path else None
        if target is not None and here == target:
            yield Event(step - 1, "reached", target)
        elif (
            target is not None and after is not None and _apart(target, after, columns) >= MIN_TURN
        ):
            yield Event(step - 1, "news", after)
        target = after


def _apart(one: int, other: int, columns: int) -> int:
    """Return the distance of two cells of a map in steps, with moves in eight directions."""
    (r, c), (row, column) = divmod(one, columns), divmod(other, columns)
    return max(abs(r - row), abs(c - column))


def _of_budgets(replay: Replay) -> Iterator[Event]:
    """Yield when a step spends some of the risk that the level allows."""
    before = 0.0
    for step, holding in enumerate(replay.log.holdings, start=1):
        if not isinstance(holding, dict):
            return
        spent = max((float(s) for s in holding.get("spent", ())), default=0.0)
        if spent > before + MIN_SPENT:
            yield Event(step, "spent", None, spent - before)
        before = max(before, spent)
