"""Reports from a vehicle: the keys that all kinds share, and files of reports.

A report is a JSON object. It needs a position or a measurement; all other keys are optional.

- ``id``: any text. A report with the same id and content is recorded once.
- ``time``: ISO 8601 with a time zone. Times never run backwards.
- ``position``: where the vehicle is now, in the form that the kind defines.
- ``tried``: the action that was tried since the last report, by name or number.
- ``moved``: true if the vehicle came to its position by other means than one action.
- ``used``: if moved, how much of each limited amount that took, in the order of the limits.

The other keys are measurements, which the kind reads (`Vehicle.report_keys`).
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from homeward.errors import HomewardError, InvalidInputError
from homeward.files import refusing
from homeward.runs.vehicle import Vehicle, need

MAX_ID_LETTERS = 200
SHARED_KEYS = ("id", "time", "position", "tried", "moved", "used")


class Fault(StrEnum):
    """Why a report is refused."""

    FORMAT = "format"  # the report has an unknown key, or a value of a wrong form
    POSITION = "position"  # the position is off the map, blocked, or can't be read
    NOT_ADVISED = "not_advised"  # the advised action can't lead to this position
    TOO_RISKY = "too_risky"  # the action was not advised and would break a promise
    MEASUREMENT = "measurement"  # off the map, not readable, or very unlikely under the belief
    IMPOSSIBLE = "impossible"  # the report contradicts what is known for certain
    REPEATED = "repeated"  # the report was already recorded
    CLOCK = "clock"  # the time is before that of an earlier report
    NO_LOOK = "no_look"  # the mission needs a first look before anything else


class ReportError(InvalidInputError):
    """A report is refused for the reason `code`; nothing was recorded."""

    def __init__(self, code: Fault, message: str) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def faulty(code: Fault) -> Iterator[None]:
    """Convert a `HomewardError` that is not a `ReportError` to one with this code."""
    try:
        yield
    except ReportError:
        raise
    except HomewardError as cause:
        raise ReportError(code, str(cause)) from cause


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """The checked keys that all reports share; the type of `measured` depends on the kind."""

    id: str | None
    time: datetime | None
    state: int | None  # state of the reported position; None without a position
    tried: int | None  # number of the action that was tried
    moved: bool
    used: tuple[float, ...]  # empty unless moved
    measured: Any
    digest: str  # digest of the whole report
    fingerprint: str | None  # digest of the measurements if they have random errors

    def note(self) -> dict[str, Any]:
        """Return the part of the report that is recorded, as JSON values."""
        parts = {
            "digest": self.digest,
            "id": self.id,
            "time": None if self.time is None else self.time.isoformat(),
            "print": self.fingerprint,
            "used": list(self.used) or None,
        }
        return {key: part for key, part in parts.items() if part is not None}


def checked_report(report: Any, vehicle: Vehicle) -> Envelope:
    """Return a report as an `Envelope`; raise `ReportError` if it is not valid."""
    with faulty(Fault.FORMAT):
        need(report, dict, "the report", "a JSON object")
        known = (*SHARED_KEYS, *vehicle.report_keys)
        for key in report:
            if key not in known:
                raise InvalidInputError(
                    f"{str(key)[:40]!r} is not a key of a report: expected {', '.join(known)}"
                )
        try:
            text = json.dumps(report, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as cause:
            raise InvalidInputError(f"the report can't be written as JSON: {cause}") from cause
        name = report.get("id")
        if name is not None:
            name = need(name, (str, int), "the id", "text")
            if not (str(name).strip() and len(str(name)) <= MAX_ID_LETTERS):
                raise InvalidInputError(
                    f"the id must have 1 to {MAX_ID_LETTERS} characters, and not only spaces"
                )
            try:
                str(name).encode()
            except UnicodeEncodeError as cause:
                raise InvalidInputError(f"the id can't be written as UTF-8: {cause}") from cause
        moved = report.get("moved", False)
        if not isinstance(moved, bool):
            raise InvalidInputError(f"moved is {moved!r}, expected true or false")
        tried = _action(report.get("tried"), vehicle)
        used = _used(report.get("used"), moved=moved)
        at = _time(report.get("time"))
        if moved and tried is not None:
            raise InvalidInputError("moved and tried exclude each other: report one of them")
        if report.get("position") is None:
            if moved or tried is not None:
                raise InvalidInputError("the position is missing: a report of a move needs one")
            _check_measures(report, vehicle.report_keys)
    with faulty(Fault.POSITION):
        given = report.get("position")
        state = None if given is None else vehicle.state(given)
    with faulty(Fault.MEASUREMENT):
        measured = vehicle.measured(report)
        fingerprint = vehicle.fingerprint(measured)
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    name = None if name is None else str(name)
    return Envelope(name, at, state, tried, moved, used, measured, digest, fingerprint)


def _check_measures(report: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Raise unless a report without a position has a measurement in one of the `keys`."""
    if all(report.get(key) in (None, [], {}, "", True, False) for key in keys):
        content = " or ".join(("position", *keys[:1]))
        told = ", ".join(map(str, report)) or "nothing"
        raise InvalidInputError(
            f"the report says nothing of the vehicle, since it has {told}: give {content}"
        )


def _action(given: Any, vehicle: Vehicle) -> int | None:
    """Return the number of an action that is given by its name or number."""
    if given is None:
        return None
    model = vehicle.setup.belief.mean()
    names = model.action_names or ()
    if isinstance(given, str):
        lowered = [name.lower() for name in names]
        if given.strip().lower() in lowered:
            return lowered.index(given.strip().lower())
        if not given.strip().isdecimal() or len(given) > 9:
            raise InvalidInputError(
                f"tried is {given[:40]!r}, expected one of {', '.join(names) or 'the numbers'}"
            )
        given = int(given)
    action: int = need(given, int, "tried", "the name or the number of an action")
    if not 0 <= action < model.actions:
        raise InvalidInputError(f"tried is {action}, outside 0..{model.actions - 1}")
    return action


def _used(given: Any, *, moved: bool) -> tuple[float, ...]:
    """Return the key ``used`` as numbers; raise if it is invalid or the vehicle was not moved."""
    if given is None:
        return ()
    if not moved:
        raise InvalidInputError('used needs "moved": true: what an action uses is in the model')
    for value in need(given, list, "used", "a list of numbers"):
        need(value, (int, float), "used", "a list of numbers")
        if not 0.0 <= value <= sys.float_info.max:
            raise InvalidInputError(f"used is {str(value)[:40]}, expected a finite number from 0")
    return tuple(float(value) for value in given)


def _time(given: Any) -> datetime | None:
    """Return the key ``time`` in UTC; raise if it is invalid."""
    if given is None:
        return None
    form = "ISO 8601 with a time zone, such as 2030-05-01T12:00:00Z"
    try:
        found = datetime.fromisoformat(need(given, str, "the time", form))
        if found.tzinfo is None:
            raise ValueError
        return found.astimezone(UTC)
    except (ValueError, OverflowError) as cause:
        if isinstance(cause, InvalidInputError):
            raise
        raise InvalidInputError(f"the time is {given[:60]!r}, expected {form}") from None


def read_reports(path: Path, vehicle: Vehicle) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the reports in a file, each with its place in the file as text.

    ``.jsonl`` has one report per line, ``.json`` one report or a list of them. Other files hold the
    measurements of a single report (`Vehicle.read`).
    """
    suffix = path.suffix.lower()
    if suffix not in (".json", ".jsonl"):
        with faulty(Fault.MEASUREMENT):
            found = vehicle.read(path)
        yield str(path), found
        return
    with refusing(path, "can't be read"):
        data = path.read_bytes()
    if suffix == ".json":
        values = parsed(data, str(path))
        if not isinstance(values, list):
            yield str(path), values
            return
        _check_any(values, path)
        for number, value in enumerate(values, start=1):
            yield f"{path}, report {number}", value
        return
    lines = data.splitlines()
    _check_any([line for line in lines if line.strip()], path)
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"{path}, line {number}", parsed(line, f"{path}, line {number}")


def _check_any(reports: Sequence[Any], path: Path) -> None:
    """Raise if a file has no report."""
    if not reports:
        raise ReportError(Fault.FORMAT, f"{path}: has no report")


def parsed(data: bytes, place: str) -> Any:
    """Return the value of a JSON text; raise if it is invalid or has NaN or an infinity."""

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is not a number in JSON")

    try:
        return json.loads(data, parse_constant=refuse)
    except (ValueError, RecursionError) as cause:
        raise ReportError(Fault.FORMAT, f"{place}: is not JSON: {cause}") from cause
