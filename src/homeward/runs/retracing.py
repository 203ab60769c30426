"""Conversion of steps to records, and reconstruction of an explorer from its records.

The recorded actions are taken in the world without planning; its observations must equal the
recorded ones, and the belief learns from them. What a run holds is read from the record and not
checked; to check it, plan every step again without a warm start (`seeded` = 0). The next plan
starts from the last recorded warm start. Later steps have none in the record (too large, or the
kind records fewer): they are planned again and must reproduce the record.
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
"""Bytes of warm starts per step, on average; larger ones are recorded less often."""


def start_from(explorer: Loop, seeds: WarmStart) -> None:
    """Let an explorer's next plan start from a warm start, which replaces its last plan."""
    explorer.plan = cast("Plan", seeds)


def to_record(
    step: Step, before: Held | None, seeds: WarmStart | None, kind: Kind, seeded: int
) -> Record:
    """Return the record of a step, with its warm start if that of step `seeded` is old enough.

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
        evaluators=[str(c.evaluator) for c in plan.criteria],
    )


def holding_of(step: Step, before: Held | None) -> dict[str, Any] | None:
    """Return what a step changed of what the run holds, as JSON; None if it holds nothing.

    The first step also records the ways home that the run started with.
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
    """Bring a new explorer to the end of the records.

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
    """Raise if the world or the planner does not reproduce the record."""
    written = getattr(record, name)
    if written != found:
        raise InvalidFileError(
            f"{directory}: in step {record.step} the {name.replace('_', ' ')} is recorded as "
            f"{written}, and comes out as {found}"
        )
