"""Conversion of steps to records, and reconstruction of an explorer from its records.

To reconstruct an explorer, `replay` takes the recorded actions in the world without planning. The
observations must equal the recorded observations, and they update the belief. The promises and
proposals of a run (`RunState`) are read from the record without a check. The next plan starts from
the last recorded warm start. Steps after it are planned again and must reproduce the
record.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from homeward.errors import InvalidFileError, prefixed
from homeward.planning.explorer import Loop, Step
from homeward.planning.warm_start import WarmStart
from homeward.runs.kind import Kind
from homeward.runs.log import Record

if TYPE_CHECKING:
    from homeward.models import Model
    from homeward.planning.plan import Plan
    from homeward.planning.promise import RunState

WARM_START_BYTES_PER_STEP = 65_536  # maximum, on average over the steps since the last one


def start_from(explorer: Loop, warm_start: WarmStart) -> None:
    """Make an explorer's next plan start from `warm_start` instead of the last plan."""
    explorer.plan = cast("Plan", warm_start)


def to_record(
    step: Step, before: RunState | None, warm_start: WarmStart | None, kind: Kind, warm_step: int
) -> Record:
    """Return the record of a step.

    It includes `warm_start` if enough steps have passed since `warm_step`, the last step that was
    recorded with a warm start. `before` is what the run carried before; only changes are recorded.
    A step that refutes the belief has bounds of 0.
    """
    plan, decision = step.plan, step.decision
    refuted = step.run_state is not None and step.run_state.refuted
    since, kept = step.number - warm_step, [each.bound for each in decision.bounds]
    packed = warm_start.encode() if warm_start is not None and since >= kind.spacing else None
    if packed is not None and len(packed["policies"]) > WARM_START_BYTES_PER_STEP * since:
        packed = None
    return Record(
        step=step.number,
        state=decision.state,
        action=step.action,
        next_state=int(step.state),
        observation=kind.written(step.observation),
        status=str(decision.status if plan is None else plan.status),
        value=float(decision.rate if plan is None else plan.exploration_value),
        upper=float(decision.upper if plan is None else plan.upper_bound),
        bounds=tuple(0.0 if refuted else float(b) for b in (kept if plan is None else plan.bounds)),
        kept_bounds=tuple(0.0 if refuted else b for b in kept),
        seeds=packed,
        holding=holding_of(step.number, step.run_state, before),
        evaluators=[each.evaluator for each in decision.bounds],
    )


def holding_of(number: int, run: RunState | None, before: RunState | None) -> dict[str, Any] | None:
    """Return the changes of `RunState` in a step as JSON values; None if the explorer has none.

    The record of step 1 also has the return policies before this step, ``opened``.
    """
    if run is None or before is None:
        return None
    holding = run.encode(before)
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

    `warm_step` is the last step with a warm start; 0 if no step has one. If `plan_again`, steps
    after `warm_step` are planned again and must reproduce the record. Otherwise their actions are
    taken without planning, and the next plan starts from the warm start of `warm_step`.
    """
    from homeward.planning.paper import PaperExplorer
    from homeward.planning.promise import RunState
    from homeward.solvers import Status

    model = explorer.belief.mean()
    for record in records:
        with prefixed(directory, InvalidFileError):
            check_numbers(record, model)
        before = explorer.run_state
        if record.step <= warm_step or not plan_again:
            _check_field(record, "state", explorer.world.state, directory)
            if isinstance(explorer, PaperExplorer):
                explorer.count_fruitless(record.status == Status.INFEASIBLE)
            observation = explorer.world.act(record.action)
            explorer.learn(observation, record.move)
            explorer.steps += 1
            if before is not None:
                explorer.go_on_from(RunState.decode(record.holding, before))
            if record.step == warm_step:
                start_from(explorer, WarmStart.decode(record.seeds))
        else:
            step = explorer.step()
            if step is None:
                raise InvalidFileError(
                    f"{directory}: the explorer ends before step {record.step}, which is recorded"
                )
            if explorer.acts_again and step.action != record.action:
                raise InvalidFileError(
                    f"{directory}: in step {record.step} the agent took action {record.action}, "
                    f"and now chooses {step.action}: to be resumed, an agent with the same "
                    "seed must give the same actions"
                )
            _check_field(record, "action", step.action, directory)
            _check_field(
                record, "holding", holding_of(step.number, step.run_state, before), directory
            )
            observation = step.observation
            if step.plan is not None:
                start_from(explorer, WarmStart.of(step.plan))
        _check_field(record, "observation", kind.written(observation), directory)
        _check_field(record, "next_state", explorer.world.state, directory)


def check_numbers(record: Record, model: Model) -> None:
    """Raise if a record has a state or an action that the model does not have."""
    counts = {"state": model.states, "next_state": model.states, "action": model.actions}
    for name, count in counts.items():
        if getattr(record, name) >= count:
            raise InvalidFileError(
                f"in step {record.step} the recorded {name.replace('_', ' ')} is "
                f"{getattr(record, name)}, outside 0..{count - 1}"
            )


def _check_field(record: Record, name: str, repeated: Any, directory: Path) -> None:
    """Raise if the field `name` of a record is not `repeated`, its value in the repeated step."""
    recorded = getattr(record, name)
    if recorded != repeated:
        raise InvalidFileError(
            f"{directory}: in step {record.step} the recorded {name.replace('_', ' ')} is "
            f"{recorded}, but repeating the step gives {repeated}"
        )
