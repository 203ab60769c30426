"""A mission: a run whose world is outside. Reports go in, the next move and the way home come out.

The folder of a mission is that of a run (`homeward.runs`). It has the first report in
``first_look.json`` and each later report as a line of ``steps.jsonl``. A report is recorded
completely or not at all. All answers follow from the record alone: `next` and `recall` write
nothing, need no lock and give the same answer until the next report, in any process.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from homeward.beliefs import Transition
from homeward.errors import HomewardError, InvalidFileError
from homeward.files import read_json, replace_json, sweep
from homeward.missions.answers import Answers, describe_place
from homeward.missions.reports import (
    Envelope,
    Fault,
    ReportError,
    checked_report,
    faulty,
    read_reports,
)
from homeward.models import Moves
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer
from homeward.runs.config import Config
from homeward.runs.kind import Kind
from homeward.runs.lock import locked
from homeward.runs.log import (
    LOOK,
    MAX_LINE_BYTES,
    MOVED,
    OWN,
    Log,
    LogFollower,
    Record,
    Stopwatch,
    from_line,
    to_line,
)
from homeward.runs.manifest import MISSION_FORMAT, RunStatus, Session, now, versions_here
from homeward.runs.observation_codec import encode
from homeward.runs.reporting import VehicleEvent, remote_explorer, retrace, take
from homeward.runs.run import FIRST_LOOK, LOCK, MANIFEST, STEPS, TIMES, Run
from homeward.runs.vehicle import Vehicle
from homeward.words import counted


class NewRecords(LogFollower):
    """The new records of a growing log: `waiting` has those that were read but not yet used."""

    parse = staticmethod(from_line)

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.waiting: list[Record] = []

    def take(self, parsed: Record) -> None:
        """Keep a record for later use."""
        self.waiting.append(parsed)


class Mission:
    """A mission on disk. `observe` records a report; the other methods only read.

    Examples
    --------
    >>> mission = Mission.start("runs/valley", "rover", {"terrain": "DTM.tif"})  # doctest: +SKIP
    >>> mission.observe({"position": [4, 7], "heights": []})  # doctest: +SKIP
    >>> mission.next()["move"]  # doctest: +SKIP
    'NE'
    """

    def __init__(self, run: Run) -> None:
        if not run.is_mission:
            raise InvalidFileError(
                f"{run.directory}: is a run in a simulated world, not a mission; to resume it: "
                f"homeward runs resume {shlex.quote(str(run.directory))}"
            )
        self.run = run
        self.created = run.manifest.created
        self.kind: Kind
        self.config: Config
        self.kind, self.config = run.load()
        self._answers: Answers | None = None
        self._vehicle: Vehicle | None = None
        self._forget()

    def __repr__(self) -> str:
        return f"Mission({str(self.run.directory)!r})"

    @classmethod
    def start(
        cls, directory: Path | str, kind: str, config: Config | Mapping[str, Any] | None = None
    ) -> Mission:
        """Create a mission in a new folder; raise if the configuration is invalid.

        The configuration is that of a run of this kind, without the keys of a simulated world.
        """
        return cls(Run.create(directory, kind, config, is_mission=True))

    @classmethod
    def open(cls, directory: Path | str) -> Mission:
        """Return the mission in a folder; raise if the folder has no mission."""
        return cls(Run.open(directory))

    def observe(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """Record a report; return its step, action, position and what is kept, as JSON values.

        See `homeward.missions.reports` for the keys of a report. Raises `ReportError` with a code
        if the report is refused, and `BusyError` if another process is recording a report.
        """
        with locked(self.run.directory / LOCK, str(self.run.directory)):
            return self._observe(report)

    def observe_file(self, path: Path | str, **more: Any) -> list[dict[str, Any]]:
        """Record the reports in a file, in order, until one is refused; return all answers.

        The keys `more` are added to each report.
        """
        answers, path = [], Path(path)
        with locked(self.run.directory / LOCK, str(self.run.directory)):
            for place, report in read_reports(path, self.vehicle):
                try:
                    if more and isinstance(report, dict):
                        report = {**report, **more}
                    answers.append(self._observe(report))
                except ReportError as cause:
                    raise ReportError(cause.code, f"{place}: {cause}") from cause
        return answers

    def next(self) -> dict[str, Any]:
        """Return the next move with its evidence, the way home and the budgets, as JSON values.

        If exploration has ended, ``move`` is None and ``end`` is the code of the reason. On
        terrain, ``line`` has the map coordinates and heights [n, 3] of the way to drive.
        """
        return self._answer().next()

    def recall(self) -> dict[str, Any]:
        """Return the way home from the present position, as JSON values, GeoJSON, GPX and KML."""
        return self._answer().recall()

    def status(self) -> dict[str, Any]:
        """Return the position, the number of reports, and what is left of each risk budget."""
        return self._answer().status()

    def points(self) -> list[dict[str, Any]]:
        """Return row, column, x and y of the measuring point of each cell that is not blocked."""
        return self.vehicle.all_points()

    @property
    def vehicle(self) -> Vehicle:
        """The vehicle of the mission, before any report."""
        if self._vehicle is None:
            self._vehicle = self.kind.vehicle_class()(self.config)
        return self._vehicle

    def _answer(self) -> Answers:
        """Return the answers after the last report."""
        if self._answers is None or not self._answers.replay.refresh():
            self._answers = Answers(self.run, self.kind, self.config)
        return self._answers

    def _forget(self) -> None:
        """Drop everything that was read from the record."""
        self._vehicle = None
        self._explorer: Explorer | None = None
        self._log = NewRecords(self.run.directory / STEPS)
        self._ids: dict[str, tuple[str, int]] = {}  # digest and step of a report, by its id
        self._prints: dict[str, int] = {}  # step of a report, by the fingerprint of measurements
        self._last: tuple[str, int] | None = None  # digest and step of the last report
        self._time: datetime | None = None  # time of the last report that has one

    def _observe(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """Record a report; the caller holds the lock."""
        envelope = checked_report(report, self.vehicle)
        self._catch_up()
        repeated = self._repeated(envelope)
        if repeated is not None:
            return {"step": repeated, "status": "repeated", "message": "it was recorded before"}
        if self._time is not None and envelope.time is not None and envelope.time < self._time:
            raise ReportError(
                Fault.CLOCK,
                f"the time {envelope.time.isoformat()} is before that of an earlier report, "
                f"{self._time.isoformat()}: send reports in order, or without a time",
            )
        try:
            if self._explorer is None:
                return self._first_look(envelope)
            event = self._event(envelope, self._explorer)
            with faulty(Fault.IMPOSSIBLE):
                record, seconds = take(self._explorer, event, self.kind)
            record = replace(record, report=envelope.note())
            self._append(record, seconds)
        except BaseException:
            self._forget()  # the explorer may have learned what is not recorded
            raise
        return self._told(record)

    def _told(self, record: Record) -> dict[str, Any]:
        """Return the record of a report as the answer of `observe`."""
        model, worked = self.vehicle.setup.belief.mean(), None
        if record.action >= 0 and isinstance(model, Moves):
            leaves = int(model.dest[record.state, record.action]) != record.state
            worked = record.next_state != record.state or not leaves
        names = model.action_names
        return {
            "step": record.step,
            "status": record.status if not record.is_decided else "step",
            "action": None if record.action < 0 else record.action,
            "move": names[record.action] if names and record.action >= 0 else None,
            "worked": worked,
            "position": describe_place(self.vehicle, record.next_state),
            "kept": float(record.holding["kept"]),
            "end": End.REFUTED if record.holding.get("refuted") else None,
        }

    def _repeated(self, envelope: Envelope) -> int | None:
        """Return the step of a report with the same id and content; None if the report is new.

        Raise if the id belongs to another report, or if the content was already recorded.
        """
        if envelope.id is not None and envelope.id in self._ids:
            digest, step = self._ids[envelope.id]
            if digest == envelope.digest:
                return step
            raise ReportError(
                Fault.REPEATED,
                f"the id {envelope.id!r} is that of another report, step {step}: choose another id",
            )
        if envelope.fingerprint is not None and envelope.fingerprint in self._prints:
            advice = "to send a report again, give it an id"
            if envelope.id is not None:
                advice = "if this is that report again, send it with the id of that report"
            raise ReportError(
                Fault.REPEATED,
                "these measurements were recorded before, in step "
                f"{self._prints[envelope.fingerprint]}; {advice}",
            )
        if envelope.id is None and self._last is not None and self._last[0] == envelope.digest:
            raise ReportError(
                Fault.REPEATED,
                f"this report is the same as the last one, step {self._last[1]}; if it is a new "
                "one, give it an id or a time",
            )
        return None

    def _event(self, envelope: Envelope, explorer: Explorer) -> VehicleEvent:
        """Return what happened to the vehicle by a report; raise if that is impossible."""
        before = explorer.world.state
        state = before if envelope.state is None else envelope.state
        status: str | None = None
        action, transition = -1, None
        if envelope.moved:
            status, amounts = MOVED, len(envelope.used)
            promises = explorer.run_state.promises
            limits = len(promises[0].used) if promises else 0
            if amounts != limits:
                raise ReportError(
                    Fault.FORMAT,
                    f"used has {counted(amounts, 'amount')}, but the mission has "
                    f"{counted(limits, 'limit')}: give what the vehicle used of each",
                )
        elif envelope.tried is None and state == before:
            status = LOOK
        else:
            status, action = self._tried(envelope, explorer, state)
            transition = Transition(before, action, state)
        with faulty(Fault.MEASUREMENT):
            observation = self.vehicle.observation(
                envelope.measured, transition, state, explorer.belief
            )
        return VehicleEvent(status, action, state, observation, envelope.used)

    def _tried(self, envelope: Envelope, explorer: Explorer, state: int) -> tuple[str | None, int]:
        """Return the status (`OWN`, or None for the decided action) and the action of a move.

        Raise if no action leads to `state`, or if the action is too risky. A refuted belief allows
        every action.
        """
        if explorer.world.ended:
            raise ReportError(
                Fault.IMPOSSIBLE, "the vehicle is in a final state: no further move is possible"
            )
        advised, name_of = explorer.decide().action, explorer.belief.mean().action_name
        ways = [promise.action(explorer.here) for promise in explorer.run_state.promises]
        known = [a for a in (advised, *ways) if a is not None and a >= 0]
        if explorer.refuted:
            known.extend(range(explorer.belief.mean().actions))
        candidates = known if envelope.tried is None else [envelope.tried]
        action = next((a for a in candidates if state in explorer.outcomes(a)), None)
        if action is None:
            way = f"from {self._place(explorer.world.state)} to {self._place(state)}"
            problem = f"exploration has ended, so no move is advised that leads {way}"
            if envelope.tried is not None:
                problem = f"{name_of(envelope.tried)} can't lead {way}"
            elif advised is not None:
                problem = f"the advised move, {name_of(advised)}, can't lead {way}"
            raise ReportError(
                Fault.NOT_ADVISED,
                f"{problem}: check the position, give the move that was tried (--tried), or report "
                "the vehicle as moved (--moved)",
            )
        if action == advised:
            return None, action
        if not explorer.allows(action, state):
            raise ReportError(
                Fault.TOO_RISKY,
                f"{name_of(action)} was not advised and would exceed the risk or the "
                "limits that are left; if the vehicle is there all the same, report its position "
                "as moved (--moved), without a move that was tried",
            )
        return OWN, action

    def _place(self, state: int) -> str:
        """Return a state as text: its row and column, or its name."""
        place = describe_place(self.vehicle, state)
        return place if isinstance(place, str) else "row {}, column {}".format(*place)

    def _first_look(self, envelope: Envelope) -> dict[str, Any]:
        """Record the first report, which opens the promises."""
        world = self.vehicle.world
        if envelope.moved or envelope.tried is not None:
            raise ReportError(
                Fault.NO_LOOK, "the first report must be a look from the start, before any move"
            )
        if envelope.state is not None and envelope.state != world.start:
            raise ReportError(
                Fault.POSITION,
                f"the vehicle is at {self._place(envelope.state)}, but the mission starts at "
                f"{self._place(world.start)}",
            )
        belief = self.vehicle.setup.belief
        with faulty(Fault.MEASUREMENT):
            world.first = self.vehicle.observation(envelope.measured, None, world.start, belief)
        with faulty(Fault.IMPOSSIBLE):
            explorer = remote_explorer(self.vehicle.setup)
        observation = encode(world.first, self.kind.observations)
        replace_json(
            self.run.directory / FIRST_LOOK,
            {"format": MISSION_FORMAT, "observation": observation, "report": envelope.note()},
        )
        self._note(0)
        self._know(envelope.note(), 0)
        self._explorer = explorer
        place = describe_place(self.vehicle, world.start)
        return {
            "step": 0,
            "status": "first_look",
            "position": place,
            "kept": explorer.run_state.kept,
        }

    def _append(self, record: Record, seconds: float) -> None:
        """Append a record to the log; it is on disk when this returns."""
        line = to_line(record)
        if len(line) >= MAX_LINE_BYTES:
            raise ReportError(
                Fault.MEASUREMENT, f"a report of {len(line):,} bytes is too large: split it"
            )
        directory = self.run.directory
        log = Log(directory / STEPS, self._log.ends[-1])
        watch = Stopwatch(directory / TIMES, record.step - 1)
        try:
            log.append(line)
            watch.lap(seconds)
        finally:
            watch.close()
            log.close()
        self._note(record.step, **watch.times())
        self._log.read_on()
        self._log.waiting.clear()
        self._know(record.report, record.step)

    def _note(self, steps: int, **times: Any) -> None:
        """Update the manifest; consecutive sessions with the same versions are merged."""
        sweep(self.run.directory)
        manifest, here, at = self.run.manifest, versions_here(), now()
        sessions = list(manifest.sessions)
        if sessions and sessions[-1].versions == here:
            seconds = sessions[-1].seconds + times.get("seconds", 0.0)
            times = {**times, "ended": at, "seconds": round(seconds, 3)}
            sessions[-1] = sessions[-1].model_copy(update=times)
        else:
            sessions.append(
                Session(started=at, ended=at, first=max(1, steps), versions=here, **times)
            )
        update = {"steps": steps, "updated": at, "sessions": tuple(sessions)}
        update["status"] = RunStatus.WAITING
        manifest.model_copy(update=update).write(self.run.directory / MANIFEST)

    def _know(self, note: Mapping[str, Any] | None, step: int) -> None:
        """Store the ids and the digests of a report, to notice its repetition."""
        note = note or {}
        digest = str(note.get("digest"))
        self._last = digest, step
        if "id" in note:
            self._ids[note["id"]] = digest, step
        if "print" in note:
            self._prints[note["print"]] = step
        if "time" in note:
            self._time = datetime.fromisoformat(note["time"])

    def _catch_up(self) -> None:
        """Read the reports that other processes recorded, and let the explorer learn from them."""
        path = self.run.directory / FIRST_LOOK
        if not self._log.read_on():
            self._forget()
            self._log.read_on()
        if self._log.damage is not None:
            raise InvalidFileError(f"{self._log.path}: {self._log.damage}")
        if self._explorer is None:
            if not path.exists():
                return
            setup = self.run.setup(self.kind, self.config)
            self._explorer = remote_explorer(setup)
            self._know(read_json(path).get("report"), 0)
        records = self._log.waiting.copy()
        try:
            retrace(self._explorer, records, self.kind)
        except HomewardError as cause:
            self._forget()
            raise InvalidFileError(f"{self.run.directory}: {cause}") from cause
        self._log.waiting.clear()
        for record in records:
            self._know(record.report, record.step)
