"""Conversion of a vehicle's reports to records, and reconstruction of an explorer from records."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from homeward.criteria import StayInside
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.planning.promise import Held
from homeward.planning.remote import RemoteExplorer
from homeward.runs.kind import Kind, Setup
from homeward.runs.log import LOOK, MOVED, Record
from homeward.runs.observation_codec import decode, encode
from homeward.runs.retracing import check_numbers, holding_of, to_record


@dataclass(frozen=True, slots=True, eq=False)
class VehicleEvent:
    """One report of a vehicle, checked and with its observation."""

    status: str | None  # look, own or moved (see `runs.log`); None for the decided action
    action: int  # the action that was tried; −1 for a look and a moved vehicle
    state: int  # state of the vehicle after it
    observation: Any  # observation in this state, for `Belief.update`
    used: tuple[float, ...] = ()  # of a moved vehicle: the amount used of each limit of the run


def remote_explorer(setup: Setup) -> RemoteExplorer:
    """Return the explorer of a mission after its first look and before its first step."""
    world: Any = setup.world
    return RemoteExplorer(
        setup.planner, setup.belief, world, strict=setup.strict, floor=setup.floor
    )


def take(explorer: RemoteExplorer, report: VehicleEvent, kind: Kind) -> tuple[Record, float]:
    """Update an explorer by a report; return the record of the step and the planning time in s."""
    held, state = explorer.held, explorer.world.state
    if report.status is None:
        explorer.decide()
        explorer.world.report(report.state, report.observation)
        step = explorer.step()
        if step is None:
            raise InvalidInputError("exploration has ended: there is no decided action")
        record, seconds = to_record(step, held, None, kind, 0), explorer.seconds
    else:
        began = time.perf_counter()
        if report.status == LOOK:
            explorer.look(report.observation)
        elif report.status == MOVED:
            explorer.relocate(report.state, report.observation, report.used)
        elif not explorer.choose(report.action, report.state, report.observation):
            raise InvalidInputError("the levels of the mission do not allow this action")
        seconds = time.perf_counter() - began
        spent = iter(explorer.held.promises)
        bounds = tuple(
            1.0 if isinstance(criterion, StayInside) else max(0.0, 1.0 - next(spent).spent)
            for criterion in explorer.planner.criteria
        )
        if explorer.refuted:
            bounds = (0.0,) * len(bounds)
        search = explorer.guide.search
        assert search is not None
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
            holding=holding_of(explorer.steps, explorer.held, held),
            evaluators=[str(search.task.evaluator)] * len(bounds),
        )
    observation = encode(report.observation, kind.observations)
    return replace(record, observation=observation), seconds


def report_of(record: Record, kind: Kind) -> VehicleEvent:
    """Return the report that a record stores."""
    status = None if record.is_decided else record.status
    used = tuple(float(x) for x in (record.report or {}).get("used") or ())
    observation = decode(record.observation, kind.observations)
    return VehicleEvent(status, record.action, record.next_state, observation, used)


def retrace(explorer: RemoteExplorer, records: Iterable[Record], kind: Kind) -> None:
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
        explorer.world.state = record.next_state
        explorer.learn(observation, record.move)
        explorer.held = Held.decode(record.holding, explorer.held)
        explorer.steps += 1
        explorer.advised = None
