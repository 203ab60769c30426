"""Conversion of a vehicle's reports to records, and reconstruction of an explorer from records."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.planning.explorer import Explorer, bounds_of
from homeward.planning.promise import RunState
from homeward.runs.kind import Kind, Setup
from homeward.runs.log import LOOK, MOVED, Record
from homeward.runs.observation_codec import decode, encode
from homeward.runs.retracing import check_numbers, holding_of, to_record

if TYPE_CHECKING:
    from homeward.worlds.outside import Outside


@dataclass(frozen=True, slots=True, eq=False)
class VehicleEvent:
    """One report of a vehicle, checked and with its observation."""

    status: str | None  # look, own or moved (see `runs.log`); None for the decided action
    action: int  # the action that was tried; −1 for a look and a moved vehicle
    state: int  # state of the vehicle after it
    observation: Any  # observation in this state, for `Belief.update`
    used: tuple[float, ...] = ()  # of a moved vehicle: the amount used of each limit of the run


def remote_explorer(setup: Setup) -> Explorer:
    """Return the explorer of a mission after its first look and before its first step."""
    given = setup.planner, setup.belief, setup.world
    return Explorer(*given, strict=setup.strict, floor=setup.floor)


def take(explorer: Explorer, report: VehicleEvent, kind: Kind) -> tuple[Record, float]:
    """Update an explorer by a report; return the record of the step and the planning time in s."""
    before, state, world = explorer.run_state, explorer.here, cast("Outside", explorer.world)
    if report.status is None:
        explorer.decide()
        world.report(report.state, report.observation)
        step = explorer.step()
        if step is None:
            raise InvalidInputError("exploration has ended: there is no decided action")
        record, seconds = to_record(step, before, None, kind, 0), explorer.seconds
    else:
        began = time.perf_counter()
        if report.status == LOOK:
            explorer.look(report.observation)
        elif report.status == MOVED:
            explorer.relocate(report.state, report.observation, report.used)
        elif not explorer.allows(report.action, report.state):
            raise InvalidInputError("the levels of the mission do not allow this action")
        else:
            world.report(report.state, report.observation)
            explorer.take(report.action)
            explorer.steps += 1
        seconds = time.perf_counter() - began
        kept = bounds_of(explorer.rules, explorer.run_state)
        bounds = tuple(0.0 if explorer.refuted else each.bound for each in kept)
        record = Record(
            step=explorer.steps,
            state=state,
            action=report.action,
            next_state=report.state,
            observation=None,
            status=report.status,
            value=0.0,
            upper=0.0,
            bounds=bounds,
            kept_bounds=bounds,
            holding=holding_of(explorer.steps, explorer.run_state, before),
            evaluators=[each.evaluator for each in kept],
        )
    observation = encode(report.observation, kind.observations)
    return replace(record, observation=observation), seconds


def report_of(record: Record, kind: Kind) -> VehicleEvent:
    """Return the report that a record stores."""
    status = None if record.is_decided else record.status
    used = tuple(float(x) for x in (record.report or {}).get("used") or ())
    observation = decode(record.observation, kind.observations)
    return VehicleEvent(status, record.action, record.next_state, observation, used)


def retrace(explorer: Explorer, records: Iterable[Record], kind: Kind) -> None:
    """Update an explorer by further records, without planning."""
    model = explorer.belief.mean()
    for record in records:
        check_numbers(record, model)
        if record.state != explorer.world.state:
            raise InvalidFileError(
                f"step {record.step} starts in state {record.state}, but the vehicle is in state "
                f"{explorer.world.state}"
            )
        observation = decode(record.observation, kind.observations)
        cast("Outside", explorer.world).state = record.next_state
        before = explorer.run_state
        explorer.learn(observation, record.move)
        explorer.go_on_from(RunState.decode(record.holding, before))
        explorer.steps += 1
