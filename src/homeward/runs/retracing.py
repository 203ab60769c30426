"""Conversion of steps to records, and reconstruction of an explorer from its records.

To reconstruct an explorer, the recorded actions are taken in the world without planning. The
observations must equal the recorded ones, and the belief is updated by them. The accounts and
proposals of a run (`Held`) are read from the record without a check; to check them, plan every step
again without a warm start (`warm_step` = 0). The next plan starts from the last recorded warm
start. Steps after that warm start are planned again and must reproduce the record.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from homeward.errors import InvalidFileError
from homeward.planning.explorer import Loop, Step
from homeward.planning.warm_start import WarmStart
from homeward.runs.kind import Kind
from homeward.runs.log import Record

if TYPE_CHECKING:
    from homeward.planning.held import Held
    from homeward.planning.plan import Plan

ROOM = 65_536  # most bytes of warm starts per step, on average; larger ones come less often


def start_from(explorer: Loop, warm_start: WarmStart) -> None:
    """Make an explorer's next plan start from `warm_start` instead of the last plan."""
    explorer.plan = cast("Plan", warm_start)


def to_record(
    step: Step, before: Held | None, warm_start: WarmStart | None, kind: Kind, warm_step: int
) -> Record:
    """Return the record of a step.

    It includes the warm start `warm_start` if enough steps have passed since step `warm_step`, the
    last step with one. `before` is the `Held` before the step; only the changes are recorded.
    """
    plan = step.plan
    since = step.number - warm_step
    packed = warm_start.encode() if warm_start is not None and since >= kind.spacing else None
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
        holding=holding_of(step.number, step.held, before),
        evaluators=[str(c.evaluator) for c in plan.criteria],
    )


def holding_of(number: int, held: Held | None, before: Held | None) -> dict[str, Any] | None:
    """Return as JSON how a step changed `Held`, from nothing at step 1; None without `Held`."""
    if held is None or before is None:
        return None
    holding = held.encode(before)
    if number == 1:
        holding["opened"] = before.encode(before.emptied())["ways"]
    return holding


def replay(
    explorer: Loop,
    records: Iterable[Record],
    kind: Kind,
    warm_step: int,
    directory: Path,
    *,
    plan_again: bool,
) -> None:
    """Bring a new explorer to the state after the last record.

    `warm_step` is the last step with a warm start; 0 if no step has one. With `plan_again`, later
    steps are planned again and must reproduce the record. Otherwise their actions are taken without
    planning, and the next plan starts from that warm start.
    """
    from homeward.planning.held import Held
    from homeward.planning.paper import PaperExplorer
    from homeward.solvers import Status

    for record in records:
        before = explorer.held
        if record.step <= warm_step or not plan_again:
            _agree(record, "state", explorer.world.state, directory)
            if isinstance(explorer, PaperExplorer):
                explorer.count_fruitless(record.status == Status.INFEASIBLE)
            observation = explorer.world.act(record.action)
            explorer.belief = explorer.belief.update(observation)
            explorer.steps += 1
            if before is not None:
                explorer.held = Held.decode(record.holding, before)
            if record.step == warm_step:
                start_from(explorer, WarmStart.decode(record.seeds))
        else:
            step = explorer.step()
            if step is None:
                raise InvalidFileError(
                    f"{directory}: the explorer ends before step {record.step}, which is recorded"
                )
            if explorer.acts_again and step.plan.action != record.action:
                raise InvalidFileError(
                    f"{directory}: in step {record.step} the agent took action {record.action}, "
                    f"and now chooses {step.plan.action}: to be resumed, an agent with the same "
                    "seed must give the same actions"
                )
            _agree(record, "action", step.plan.action, directory)
            _agree(record, "holding", holding_of(step.number, step.held, before), directory)
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
            f"{directory}: in step {record.step} the recorded {name.replace('_', ' ')} is "
            f"{written}, but repeating the step gives {found}"
        )
