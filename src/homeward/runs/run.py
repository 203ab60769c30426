"""A run: the record of one explorer in one world, on disk, which can be resumed.

A run is a directory:

- ``config.json``: the kind and its complete configuration; written once.
- ``manifest.json``: status, times, versions, number of steps; replaced as a whole.
- ``steps.jsonl``, ``plan_ms.f32``: a line and a planning time per step; appended, see `log`.
- ``fields.npz``: the arrays of a finished run, see `Kind.fields`.
- further outputs of a finished run, see `Kind.products`.
- ``first_look.json``: of a mission (`homeward.missions`), the first report.
- ``lock``: exists while a process is writing.

A run may be killed and resumed (see `retracing`) any number of times. Its log is then the same,
byte for byte, as without interruptions, on the same machine with the same versions.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shlex
import shutil
import time
import traceback
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.files import PART, read_json, refusing, replace_json, sweep, sync_directory
from homeward.html import card
from homeward.planning.ends import End
from homeward.planning.explorer import Loop, Step
from homeward.planning.warm_start import WarmStart
from homeward.runs.config import Config, checked
from homeward.runs.field_archive import read_fields, write_fields
from homeward.runs.kind import Ended, Kind, Setup, find_kind
from homeward.runs.levels import tried_after
from homeward.runs.lock import is_held, locked
from homeward.runs.log import Log, Record, Stopwatch, read_log, to_line
from homeward.runs.manifest import (
    FORMAT,
    MISSION_FORMAT,
    Manifest,
    RunStatus,
    Session,
    changes,
    check_format,
    made_with,
    now,
    versions_here,
)
from homeward.runs.observation_codec import decode
from homeward.runs.retracing import replay, start_from, to_record
from homeward.runs.vehicle import check_mission
from homeward.words import counted, run_facts, run_title, why_ended

if TYPE_CHECKING:
    from numpy.typing import NDArray


CONFIG, MANIFEST, STEPS, TIMES, FIELDS, LOCK, FIRST_LOOK = (
    "config.json",
    "manifest.json",
    "steps.jsonl",
    "plan_ms.f32",
    "fields.npz",
    "lock",
    "first_look.json",
)
REFRESH_SECONDS = 1.0  # time between two updates of the manifest


class Run:
    """One run on disk. Reading needs no lock; `steps` and `resume` write and hold the lock."""

    def __init__(self, directory: Path | str) -> None:
        """Refer to a directory without reading it; `open` also checks that it is a run."""
        if not isinstance(directory, str | os.PathLike):
            raise InvalidInputError(f"the directory of a run is {directory!r}, expected a path")
        self.directory = Path(directory)
        self.explorer: Loop | None = None  # set by `steps` once the recorded steps are retraced

    def __repr__(self) -> str:
        return f"Run({str(self.directory)!r})"

    def _repr_html_(self) -> str:
        """Return the title, the end and the main numbers of the run as HTML, for notebooks."""
        manifest, steps = self.manifest, 0
        lowest: tuple[float, ...] = ()
        for record in self.records():
            steps += 1
            lowest = tuple(map(min, lowest or record.bounds, record.bounds))
        return card(
            run_title(self.directory.name, manifest.kind, self.status, steps),
            [] if manifest.end is None else [why_ended(manifest.end, steps)],
            run_facts(self.config, lowest, has_level=bool(lowest) or not steps),
        )

    @classmethod
    def create(
        cls,
        directory: Path | str,
        kind: str,
        config: Config | Mapping[str, Any] | None = None,
        relative: Collection[str] = (),
        *,
        is_mission: bool = False,
    ) -> Run:
        """Create a run without steps, or a mission without reports, completely or not at all.

        The configuration is set up once, so that an invalid one raises now. The files of the keys
        `relative` are recorded relative to the run's directory, so that both can move together;
        a file that the kind has replaced by what is in it is not recorded.
        """
        run, known = cls(directory), find_kind(kind)
        vehicle = known.vehicle_class() if is_mission else None
        given: Any = {} if config is None else config
        what = f"the config of a {known.name} {'mission' if is_mission else 'run'}"
        complete = checked(known.config, given, what)
        if vehicle is not None:
            check_mission(vehicle, complete)
            complete = vehicle.settled(complete)
            vehicle(complete)
        else:
            complete = complete if known.settle is None else known.settle(complete)
            known.set_up(complete)
        format_ = MISSION_FORMAT if is_mission else FORMAT
        run._write(kind, known.version, complete, format_, relative)
        return run

    def _write(
        self, kind: str, version: int, complete: Config, format_: int, relative: Collection[str]
    ) -> None:
        """Write the record of a run without steps, completely or not at all."""
        target, is_mission = self.directory, format_ == MISSION_FORMAT
        with refusing(target, "can't be written"):
            if (target / CONFIG).is_file():
                if read_json(target / CONFIG).get("format") == MISSION_FORMAT:
                    raise InvalidFileError(f"{target}: is already a mission")
                again = f"homeward runs resume {shlex.quote(str(target))}"
                raise InvalidFileError(f"{target}: is already a run; to resume it: {again}")
            if target.exists() and not target.is_dir():
                raise InvalidFileError(f"{target}: is a file, expected a new folder")
            if target.is_dir() and any(target.iterdir()):
                raise InvalidFileError(f"{target}: already exists and is not empty")
            for folder in target.parents:
                if folder.exists() and not folder.is_dir():
                    raise NotADirectoryError(errno.ENOTDIR, f"{folder} is not a folder")
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(f".{target.name}.{secrets.token_hex(4)}{PART}")
            try:
                part.mkdir()
                values: dict[str, Any] = {"format": format_, "kind": kind, "version": version}
                values["config"] = complete.model_dump(mode="json")
                files = sorted(key for key in relative if isinstance(values["config"][key], str))
                if files:
                    values["relative"] = files
                    for key in files:
                        values["config"][key] = os.path.relpath(values["config"][key], target)
                replace_json(part / CONFIG, values)
                (part / STEPS).touch()
                made = now()
                Manifest(
                    format=format_,
                    kind=kind,
                    config_sha256=digest_of(part / CONFIG),
                    seed=complete.seed,
                    created=made,
                    updated=made,
                    status=RunStatus.WAITING if is_mission else RunStatus.INTERRUPTED,
                    steps=0,
                    limit=None,
                    end=None,
                    error=None,
                    sessions=(),
                ).write(part / MANIFEST)
                os.rename(part, target)
            except BaseException:
                shutil.rmtree(part, ignore_errors=True)
                raise
            sync_directory(target.parent)

    @classmethod
    def open(cls, directory: Path | str) -> Run:
        """Return the run of a directory; raise if it is missing, damaged or of another format."""
        run = cls(directory)
        if not run.directory.is_dir():
            raise InvalidFileError(f"{run.directory}: there is no run")
        for name in (CONFIG, MANIFEST, STEPS):
            if not (run.directory / name).is_file():
                raise InvalidFileError(f"{run.directory}: is not a run: there is no {name}")
        _ = run.manifest, run.config
        return run

    @property
    def manifest(self) -> Manifest:
        """The manifest on disk."""
        return Manifest.read(self.directory / MANIFEST)

    @property
    def status(self) -> RunStatus:
        """Status of the run; it is interrupted if its process was killed.

        A mission always waits for the next report.
        """
        if self.manifest.format == MISSION_FORMAT:
            return RunStatus.WAITING
        # Check the lock first: a process writes the manifest before it releases the lock.
        if is_held(self.directory / LOCK):
            return RunStatus.RUNNING
        written = self.manifest.status
        return RunStatus.INTERRUPTED if written is RunStatus.RUNNING else written

    @property
    def is_mission(self) -> bool:
        """Whether the run is a mission: a real vehicle's reports continue it."""
        return bool(self._written()["format"] == MISSION_FORMAT)

    def setup(self, kind: Kind, config: Config) -> Setup:
        """Return a new setup of the run; the world of a mission has the recorded first look."""
        if not self.is_mission:
            return kind.set_up(config)
        vehicle = kind.vehicle_class()(config)
        path = self.directory / FIRST_LOOK
        if path.exists():
            vehicle.world.first = decode(read_json(path)["observation"], kind.observations)
        return vehicle.setup

    @property
    def kind(self) -> str:
        """The name of the run's kind."""
        return str(self._written()["kind"])

    @property
    def config(self) -> dict[str, Any]:
        """The complete configuration."""
        config: dict[str, Any] = self._written()["config"]
        return config

    def records(self) -> Iterator[Record]:
        """Yield the recorded steps with observations as JSON; a process may still write the run."""
        return (record for record, _ in read_log(self.directory / STEPS))

    def all_records(self) -> list[Record]:
        """Return the recorded steps; raise if steps of a run that has ended are missing.

        Resuming such a run takes the missing steps again.
        """
        manifest = self.manifest  # before the log, which may grow meanwhile
        records = list(self.records())
        if manifest.end is not None and len(records) < manifest.steps:
            raise InvalidFileError(
                f"{self.directory / STEPS}: has {len(records)} of the "
                f"{counted(manifest.steps, 'step')} of the run: line {len(records) + 1} is damaged "
                "or missing"
            )
        return records

    def trajectory(self) -> tuple[Record, ...]:
        """Return the recorded steps with decoded observations, whatever the version of the kind."""
        types = find_kind(self._written()["kind"]).observations
        return tuple(
            replace(record, observation=decode(record.observation, types), seeds=None)
            for record in self.records()
        )

    def fields(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that were stored when the run ended, by name."""
        return read_fields(self.directory / FIELDS)

    def resume(self, *, limit: int | None = None, other_versions: bool = False) -> End:
        """Continue the run to its end and return why it ended; see `steps`."""
        for _ in self.steps(limit=limit, other_versions=other_versions):
            pass
        end = self.manifest.end
        assert end is not None
        return end

    def extend(self, limit: int) -> None:
        """Raise the step limit of a run that ended at its limit, so that it can be resumed.

        Raise, and change nothing, if this version could not resume it.
        """
        with locked(self.directory / LOCK, str(self.directory)):
            before = self.manifest
            if before.status is not RunStatus.FINISHED or before.end is not End.STEPS:
                raise InvalidInputError(f"{self.directory}: did not end at its step limit")
            if limit <= before.steps:
                raise InvalidInputError(
                    f"the limit is {limit}, but the run has taken {before.steps} steps"
                )
            self.load()
            self._check_versions(before)
            self._check_length(before, sum(1 for _ in read_log(self.directory / STEPS)))
            update = {"status": RunStatus.INTERRUPTED, "end": None, "limit": limit}
            changed = before.model_copy(update=update | {"updated": now()})
            changed.write(self.directory / MANIFEST)

    def steps(
        self, *, limit: int | None = None, other_versions: bool = False
    ) -> Generator[Step, None, None]:
        """Continue the run and yield each new step once it is recorded.

        A run that has ended yields no step. A `limit` replaces the step limit of the run
        permanently. With `other_versions` the run continues even if the version of a package has
        changed; its path may then differ.
        """
        with locked(self.directory / LOCK, str(self.directory)):
            yield from self._steps(limit, other_versions)

    def _steps(self, limit: int | None, other_versions: bool) -> Generator[Step, None, None]:
        """Continue the run; the caller holds the lock."""
        if self.is_mission:
            command = f"homeward mission next {shlex.quote(str(self.directory))}"
            raise InvalidFileError(
                f"{self.directory}: is a mission, which its reports continue: {command}"
            )
        sweep(self.directory)
        before, (kind, config), versions = self.manifest, self.load(), versions_here()
        if not other_versions:
            self._check_versions(before)
        taken, end, warm_step = 0, 0, 0  # steps, their bytes, and the last step with a warm start
        for record, place in read_log(self.directory / STEPS):
            taken, end = record.step, place
            warm_step = warm_step if record.seeds is None else taken
        finished = before.status is RunStatus.FINISHED
        if finished and taken > before.steps:
            self._check_length(before, taken)
        if limit is not None and limit < taken:
            raise InvalidInputError(f"the limit is {limit}, but the run has taken {taken} steps")
        more = limit is not None and limit > taken and before.end is End.STEPS
        if finished and before.steps == taken and not more:
            return
        limit = before.limit if limit is None else limit
        setup = kind.set_up(config)
        explorer = setup.explorer()
        # `RunState` is in the records; only the paper's algorithm needs the plan of the last step.
        again = explorer.acts_again or (
            explorer.run_state is None
            and made_with(versions, before.sessions, warm_step + 1, taken)
        )
        replay(explorer, self.records(), kind, warm_step, self.directory, plan_again=again)
        self.explorer = explorer
        log = Log(self.directory / STEPS, end)
        watch = Stopwatch(self.directory / TIMES, taken)
        started = now()

        def manifest(status: RunStatus, **ending: Any) -> Manifest:
            """Return the current manifest; `ending` sets `end` or `error`."""
            ended = None if status is RunStatus.RUNNING else now()
            session = Session(
                started=started, ended=ended, first=taken + 1, versions=versions, **watch.times()
            )
            update = {"steps": explorer.steps, "updated": now(), "limit": limit, "status": status}
            update |= {"end": None, "error": None, "sessions": (*before.sessions, session)}
            return before.model_copy(update=update | ending)

        path = self.directory / MANIFEST
        try:
            try:
                manifest(RunStatus.RUNNING).write(path)
                noted = time.monotonic()
                before_step = explorer.run_state
                for step in explorer.explore(setup.limit if limit is None else limit):
                    warm_start = None
                    if step.plan is not None:
                        warm_start = WarmStart.of(step.plan)
                        start_from(explorer, warm_start)
                    record = to_record(step, before_step, warm_start, kind, warm_step)
                    before_step = step.run_state
                    log.append(to_line(record))
                    watch.lap(step.seconds)
                    warm_step = warm_step if record.seeds is None else step.number
                    if time.monotonic() - noted > REFRESH_SECONDS:
                        manifest(RunStatus.RUNNING).write(path)
                        noted = time.monotonic()
                    yield step
            finally:
                watch.close()
                log.close()
            arrays = {} if kind.fields is None else {**kind.fields(explorer.belief, setup.world)}
            if explorer.plan is not None and explorer.run_state is None:
                arrays["outbound"] = WarmStart.of(explorer.plan).outbound
            write_fields(self.directory / FIELDS, arrays)
            done = manifest(RunStatus.FINISHED, end=explorer.end)
            if kind.products is not None:
                results = explorer.belief, self.records, explorer.why(), explorer.run_state
                seconds = sum(session.seconds for session in done.sessions)
                actions = [record.action for record in self.records()]
                given = kind, config, actions, explorer.end, seconds, explorer.belief.mean().states
                levels = tried_after(*given)
                kind.products(Ended(self.directory, config, done, setup, *results, levels))
            done.model_copy(update={"updated": now()}).write(path)
        except (GeneratorExit, KeyboardInterrupt):
            manifest(RunStatus.INTERRUPTED).write(path)
            raise
        except Exception as cause:
            stopped = _is_interrupt(cause)
            error = None if stopped else traceback.format_exc()
            status = RunStatus.INTERRUPTED if stopped else RunStatus.FAILED
            with suppress(InvalidFileError):  # the disk may be full: raise the first error
                manifest(status, error=error).write(path)
            raise

    def _check_versions(self, manifest: Manifest) -> None:
        """Raise if other versions of packages made the last steps, so that new ones may differ."""
        differ = (
            changes(manifest.sessions[-1].versions, versions_here()) if manifest.sessions else ()
        )
        if differ:
            raise InvalidFileError(
                f"{self.directory}: was made with other versions ({', '.join(differ)}), so "
                "its path might differ; to continue anyway, allow other versions "
                "(--other-versions)"
            )

    def _check_length(self, manifest: Manifest, taken: int) -> None:
        """Raise if the log of a finished run has another number of steps than its manifest."""
        if taken != manifest.steps:
            raise InvalidFileError(
                f"{self.directory}: the log has {taken} steps, but the run ended after "
                f"{manifest.steps}"
            )

    def _written(self) -> dict[str, Any]:
        """Return the content of ``config.json``; raise if it changed since the run was created."""
        path = self.directory / CONFIG
        value = read_json(path)
        check_format(value, path)
        if digest_of(path) != self.manifest.config_sha256:
            raise InvalidFileError(f"{path}: was changed after the run was made")
        for name, kind in (("kind", str), ("version", int), ("config", dict)):
            if not isinstance(value.get(name), kind):
                raise InvalidFileError(f"{path}: is damaged: {name} is {value.get(name)!r}")
        written: dict[str, Any] = value
        for key in written.get("relative", ()):
            file = os.path.join(os.path.realpath(self.directory), written["config"][key])
            written["config"][key] = os.path.normpath(file)
        return written

    def load(self) -> tuple[Kind, Config]:
        """Return the kind and the configuration; raise if this version can't continue the run."""
        written, path = self._written(), self.directory / CONFIG
        kind = find_kind(written["kind"])
        if kind.version != written["version"]:
            age = "a newer" if written["version"] > kind.version else "an older"
            raise InvalidFileError(
                f"{path}: was made by {age} version of Homeward: it is a {kind.name} run of "
                f"version {written['version']}, and this Homeward reads version {kind.version}"
            )
        config = checked(kind.config, written["config"], str(path))
        if config.model_dump(mode="json") != written["config"]:
            raise InvalidFileError(
                f"{path}: is not the complete configuration of a {kind.name} run"
            )
        return kind, config


def list_runs(root: Path | str) -> tuple[Run, ...]:
    """Return the runs in a directory, sorted by name, without opening them.

    If the directory itself is a run, it comes first.
    """
    root = Path(root)
    if not root.is_dir():
        raise InvalidFileError(f"{root}: there is no such folder")
    with refusing(root, "can't be read"):
        paths = [root, *sorted(p for p in root.iterdir() if not p.name.startswith("."))]
    return tuple(
        Run(path) for path in paths if all((path / name).is_file() for name in (CONFIG, MANIFEST))
    )


def _is_interrupt(error: BaseException) -> bool:
    """Return whether Ctrl-C caused an error; compiled code raises `SystemError` then."""
    chain: BaseException | None = error
    while chain is not None and not isinstance(chain, KeyboardInterrupt):
        chain = chain.__cause__ or chain.__context__
    return chain is not None


def digest_of(path: Path) -> str:
    """Return the SHA-256 digest of a file."""
    with refusing(path, "can't be read"), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
