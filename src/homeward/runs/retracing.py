"""From a step to its record, and from records back to the explorer that made them.

The recorded actions are taken in the world without planning; what it answers must be what was
recorded, and the belief learns from it. What a run holds is taken up from the record, on trust; to
check it, have every step planned again, with no seeds (`seeded` = 0).
The last recorded seeds are what the next plan starts from. Steps after them were recorded without,
since theirs were too large or their kind spares them: those are planned again, and must come out as
recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from homeward.errors import InvalidFileError
from homeward.planning.warm_start import WarmStart
from homeward.runs.log import Record

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from homeward.planning.explorer import Loop, Step
    from homeward.planning.held import Held
    from homeward.planning.plan import Plan
    from homeward.runs.kind import Kind

ROOM = 65_536
"""Bytes of seeds that the log takes per step on average; larger ones are written more rarely."""


def start_from(explorer: Loop, seeds: WarmStart) -> None:
    """Let an explorer's next plan start from seeds, which stand in for its last plan."""
    explorer.plan = cast("Plan", seeds)


def to_record(
    step: Step, before: Held | None, seeds: WarmStart | None, kind: Kind, seeded: int
) -> Record:
    """Return the record of a step, with its seeds if it is time since step `seeded` had them.

    `before` is what was held before the step, since only differences are recorded.
    """
    plan = step.plan
    since = step.number - seeded
    packed = seeds.encode() if seeds is not None and since >= kind.spacing else None
    if packed is not None and len(packed["policies"]) > ROOM * since:
        packed = None
    return Record(
        step=step.number,
        state=int(plan.state),
        action=int(plan.action),
        next_state=int(step.state),
        observation=kind.written(step.observation),
        status=str(plan.status),
        value=float(plan.exploration_value),
        upper=float(plan.upper_bound),
        bounds=tuple(float(b) for b in plan.bounds),
        kept_bounds=tuple(float(c.kept_bound) for c in plan.criteria),
        seeds=packed,
        holding=holding_of(step, before),
    )


def holding_of(step: Step, before: Held | None) -> dict[str, Any] | None:
    """Return what a step changed of what the run holds, as JSON; None if it holds nothing.

    The first step also says which ways home were relied on when the run set out.
    """
    if step.held is None or before is None:
        return None
    holding = step.held.encode(before)
    if step.number == 1:
        holding["opened"] = before.encode(before.emptied())["ways"]
    return holding


def replay(
    explorer: Loop,
    records: Iterable[Record],
    kind: Kind,
    seeded: int,
    directory: Path,
    *,
    plan_again: bool,
) -> None:
    """Bring an explorer that has just set out to where the records end.

    The warm start is read from step `seeded`, the last that has one (0: none has). Unless later
    steps are planned again, the next plan starts from it.
    """
    from homeward.planning.held import Held
    from homeward.planning.paper import PaperExplorer
    from homeward.solvers import Status

    for record in records:
        before = explorer.held
        if record.step <= seeded or not plan_again:
            _agree(record, "state", explorer.world.state, directory)
            if isinstance(explorer, PaperExplorer):
                explorer.count_fruitless(record.status == Status.INFEASIBLE)
            observation = explorer.world.act(record.action)
            explorer.belief = explorer.belief.update(observation)
            explorer.steps += 1
            if before is not None:
                explorer.held = Held.decode(record.holding, before)
            if record.step == seeded:
                start_from(explorer, WarmStart.decode(record.seeds))
        else:
            step = explorer.step()
            if step is None:
                raise InvalidFileError(
                    f"{directory}: the explorer ends before step {record.step}, which is recorded"
                )
            _agree(record, "action", step.plan.action, directory)
            _agree(record, "holding", holding_of(step, before), directory)
            observation = step.observation
            if step.held is None:
                start_from(explorer, WarmStart.of(step.plan))
        _agree(record, "observation", kind.written(observation), directory)
        _agree(record, "next_state", explorer.world.state, directory)


def _agree(record: Record, name: str, found: Any, directory: Path) -> None:
    """Refuse to go on where the world or the planner is not the one that was recorded."""
    written = getattr(record, name)
    if written != found:
        raise InvalidFileError(
            f"{directory}: in step {record.step} the {name.replace('_', ' ')} is recorded as "
            f"{written}, and comes out as {found}"
        )
