"""The runs in a folder: the path and the summary of each run by its name.

Names come from clients, so they may contain only the characters of `NAME`. A run whose path
contains a link is refused.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import threading
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

from homeward.errors import HomewardError, InvalidFileError
from homeward.files import read_json
from homeward.runs import Run, RunStatus
from homeward.runs.field_archive import field_shape
from homeward.runs.kind import find_kind, kind_names
from homeward.runs.lock import is_held
from homeward.runs.log import LogFollower
from homeward.runs.manifest import MISSION_FORMAT, Manifest
from homeward.runs.run import CONFIG, FIELDS, LOCK, MANIFEST, STEPS, TIMES
from homeward.web.refusals import Refusal, RefusalError, client_text, last_line
from homeward.web.uploads import files_of, shown_config
from homeward.words import why_ended

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
ONLY_EARLIER_STEPS = "only the steps before that line are shown"

SUFFIXES = ("safe", "unsafe")  # suffixes of the names of the two runs of a pair
BAD_FORMAT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions that values of an unexpected type or size cause."""

State = Literal["queued", "going", "paused", "cancelled", "refused"]


@dataclass(frozen=True, slots=True)
class QueueState:
    """The state of a run in the queue of the server; the state "going" means running."""

    state: State
    place: int | None = None  # position in the queue, from 1
    error: str | None = None  # why the run could not be started


def check_name(name: Any) -> str:
    """Return the name; raise if it can't be the name of a run."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Refusal.INVALID(
            "the name of a run must have 1 to 100 letters, digits, '.', '_' or '-', and must not "
            "begin with a dot"
        )
    return name


def plain_file(folder: Path, *parts: str) -> Path | None:
    """Return the path of a regular file below a folder; None if the path contains a link."""
    path = folder
    for number, part in enumerate(parts, start=1):
        path = path / part
        try:
            mode = path.lstat().st_mode
        except OSError:
            return None
        if not (stat.S_ISREG(mode) if number == len(parts) else stat.S_ISDIR(mode)):
            return None
    return path


def open_plain(path: str, flags: int) -> int:
    """Open a regular file for reading; raise on links and special files without blocking."""
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "is not a plain file")
    return handle


class Catalogue:
    """The runs in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._counters: dict[str, LogFollower] = {}
        self._turn = threading.Lock()  # several threads use the counters
        self._summaries: dict[str, tuple[Any, dict[str, Any]]] = {}  # by name: fingerprint, summary

    def find(self, name: Any) -> Path:
        """Return the folder of a run; raise if it does not exist or contains links."""
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise Refusal.NOT_FOUND("there is no such run")
        folder = self.root / name
        if not any(plain_file(self.root, name, part) for part in (CONFIG, MANIFEST)):
            raise Refusal.NOT_FOUND(f"there is no run named {name}")
        for part in (CONFIG, MANIFEST, STEPS, TIMES, LOCK, FIELDS):
            if (folder / part).is_symlink():
                raise Refusal.NOT_FOUND(f"{name}: {part} is a link, so this is not a run")
        return folder

    def names(self) -> list[str]:
        """Return the names of all runs, sorted."""
        names = []
        try:
            entries = sorted(os.listdir(self.root))
        except OSError:
            return []
        for name in entries:
            with suppress(RefusalError):
                self.find(name)
                names.append(name)
        with self._turn:
            for deleted in self._counters.keys() - set(names):
                del self._counters[deleted]
            for deleted in self._summaries.keys() - set(names):
                self._summaries.pop(deleted, None)
        return names

    def free_name(self, stem: str, suffixes: Sequence[str], taken: Collection[str]) -> str:
        """Return "stem-1", "stem-2" or so on: the first name that is free with every suffix."""
        for number in count(1):
            names = [f"{stem}-{number}{suffix}" for suffix in suffixes]
            if not any(n in taken or os.path.lexists(self.root / n) for n in names):
                break
        return f"{stem}-{number}"

    def count(self, name: str) -> tuple[int, str | None]:
        """Return the number of valid lines of the log, and the text of its damage or None."""
        path = self.root / name / STEPS
        with self._turn:
            counter = self._counters.setdefault(name, LogFollower(path, open_plain))
            try:
                if not counter.read_on():
                    counter = self._counters[name] = LogFollower(path, open_plain)
                    counter.read_on()
            except InvalidFileError:
                self._counters.pop(name)
                return 0, None
            return len(counter), counter.damage

    def stamp(self, name: str) -> tuple[Any, ...] | None:
        """Return a value that changes with the manifest or the lock; None if the run is deleted."""
        try:
            manifest = os.lstat(self.root / name / MANIFEST)
        except OSError:
            return None
        return manifest.st_ino, manifest.st_mtime_ns, is_held(self.root / name / LOCK)

    def stamps(self) -> list[tuple[str, Any]]:
        """Return pairs of name and stamp of all runs."""
        return [(name, self.stamp(name)) for name in self.names()]

    def summary(self, name: str, queue_state: QueueState | None = None) -> dict[str, Any]:
        """Return the summary of a run as JSON values; a damaged run has an error.

        The summary of a run that is not running is remembered until its files change.
        """
        files = self._fingerprint(name), queue_state
        known = self._summaries.get(name)
        if known is not None and known[0] == files:
            return dict(known[1])
        summary = self._checked_summary(name, queue_state)
        if summary["status"] not in ("running", "queued") and self._fingerprint(name) == files[0]:
            self._summaries[name] = files, summary
        return dict(summary)

    def _fingerprint(self, name: str) -> tuple[Any, ...]:
        """Return a value that changes with the files from which a summary is made."""
        folder = os.path.join(self.root, name if NAME.fullmatch(str(name)) else "")
        values: list[Any] = [is_held(self.root / name / LOCK), self._other(name)]
        for part in ("", CONFIG, MANIFEST, STEPS):
            try:
                file = os.lstat(os.path.join(folder, part))
                values.append((file.st_ino, file.st_size, file.st_mtime_ns))
            except OSError:
                values.append(None)
        return tuple(values)

    def _checked_summary(self, name: str, queue_state: QueueState | None) -> dict[str, Any]:
        """Return the summary of a run; its status is "damaged" if its files have another format."""
        try:
            summary = self._summary(name, queue_state)
            json.dumps(summary, allow_nan=False)
        except BAD_FORMAT:  # the files are JSON, but not in our format
            summary = _unread(name, "damaged", f"{CONFIG}: has an unexpected format")
        if summary["status"] == "damaged":
            self.find(name)  # raises if the run was deleted in the meantime
        return summary

    def _summary(self, name: str, queue_state: QueueState | None) -> dict[str, Any]:
        """Return the summary of a run whose files have our format.

        If only the log is damaged, `end` is None and `steps` counts the steps before the damage.
        """
        folder = self.find(name)
        try:
            run = Run.open(folder)
            config, status = run.config, run.status
            manifest, kind = run.manifest, run.kind  # read after the status, to agree with it
        except HomewardError as error:
            newer = _newer(folder)
            if newer is not None:
                return _unread(name, "newer", newer)
            return _unread(name, "damaged", client_text(error, folder, self.root))
        shown, end = status_of(status, queue_state), manifest.end
        reason = None if manifest.error is None else last_line(manifest.error, folder, self.root)
        if shown == "failed" and queue_state is not None and queue_state.error is not None:
            reason = queue_state.error
        steps, fault = self.count(name)
        if shown not in ("running", "queued"):
            damage = _damage(run, manifest, steps, fault)
            if damage is not None:
                shown, end, reason = "damaged", None, damage
        explorer = config.get("agent") or config.get("explorer")
        return {
            "id": name,
            "kind": kind,
            "title": name,
            "explorer": explorer,
            "delta": config.get("delta") if explorer in (None, "safe", "naive") else None,
            "seed": manifest.seed,
            "status": shown,
            "place": None if queue_state is None else queue_state.place,
            "steps": steps,
            "limit": config.get("limit") if manifest.limit is None else manifest.limit,
            "end": end,
            **outcome_of(folder, kind, shown),
            "why": None if end is None else why_ended(end, manifest.steps),
            "error": reason,
            "created": manifest.created,
            "updated": manifest.updated,
            "shape": shape_of(folder, kind, config),
            "live": shown in ("running", "queued"),
            "pair": self.pair(name),
        }

    def details(self, name: str) -> dict[str, Any]:
        """Return the configuration of a run, its uploads, and the last median planning time."""
        run = Run.open(self.find(name))
        times = [s.plan_ms for s in run.manifest.sessions if s.plan_ms is not None]
        return {
            "config": shown_config(run.config, self.root, run.manifest.limit),
            "files": files_of(run.config, self.root),
            "plan_ms": times[-1] if times else None,
        }

    def pair(self, name: str) -> str | None:
        """Return the name of the other run of a pair in the same world; None without a pair."""
        other = self._other(name)
        if other is not None:
            with suppress(RefusalError):
                self.find(other)
                return other
        return None

    def _other(self, name: str) -> str | None:
        """Return the name of the other run of a pair; None if there is no such folder."""
        stem, dash, suffix = name.rpartition("-")
        other = f"{stem}-{'unsafe' if suffix == 'safe' else 'safe'}"
        known = dash and suffix in SUFFIXES and os.path.lexists(self.root / other / CONFIG)
        return other if known else None


def status_of(status: RunStatus, queue_state: QueueState | None) -> str:
    """Return the status to show; a state in the queue overrides the status of a stopped run."""
    stopped = status in (RunStatus.INTERRUPTED, RunStatus.FAILED)
    if queue_state is None or not (stopped or queue_state.state in ("queued", "going")):
        return str(status)
    return {"going": "running", "refused": "failed"}.get(queue_state.state, queue_state.state)


def outcome_of(folder: Path, kind: str, status: str) -> dict[str, Any]:
    """Return a dict with the keys `outcome`, `trapped` and `seen` of a run's summary.

    All values are None if the run is not finished, or its kind reports no outcome.
    """
    find = find_kind(kind).outcome if status == "finished" and kind in kind_names() else None
    facts = {} if find is None else find(folder)
    if not facts:
        return dict.fromkeys(("outcome", "trapped", "seen"))
    outcome = "trapped" if facts["stranded"] else "able_to_return"
    return {"outcome": outcome, "trapped": facts["trapped_at"], "seen": facts["seen"]}


def shape_of(folder: Path, kind: str, config: dict[str, Any]) -> list[int] | None:
    """Return the rows and columns of a run's map; None if they take long to compute."""
    if kind not in kind_names():
        return None
    find = find_kind(kind).shape
    try:
        shape = field_shape(folder / FIELDS, "height") or (None if find is None else find(config))
    except (InvalidFileError, KeyError, TypeError, ValueError):
        return None
    return None if shape is None else list(shape)


def _damage(run: Run, manifest: Manifest, steps: int, damage: str | None) -> str | None:
    """Return what is wrong with the log of a run that is not running; None if it is valid."""
    if damage is not None:
        return f"{STEPS}: {damage}; {ONLY_EARLIER_STEPS}"
    if manifest.status is not RunStatus.FINISHED or steps == manifest.steps:
        return None
    if run.manifest != manifest or run.status is not RunStatus.FINISHED:
        return None  # the run was resumed in the meantime
    return f"its log has {steps} steps, but the run ended after {manifest.steps}"


def _newer(folder: Path) -> str | None:
    """Return a message if a newer version wrote the run; otherwise None."""
    for part in (MANIFEST, CONFIG):
        try:
            format_ = read_json(folder / part)["format"]
        except (InvalidFileError, KeyError, TypeError):
            continue
        if isinstance(format_, int) and format_ > MISSION_FORMAT:
            return (
                f"a newer version of Homeward made it: its {part} has format {format_}, but this "
                f"version reads formats up to {MISSION_FORMAT}"
            )
    return None


def _unread(name: str, status: str, error: str) -> dict[str, Any]:
    """Return the summary of a run that can't be opened."""
    empty = dict.fromkeys(("kind", "explorer", "delta", "seed", "place", "limit", "shape", "pair"))
    empty |= dict.fromkeys(("end", "outcome", "trapped", "seen", "why", "created", "updated"))
    known = {"id": name, "title": name, "status": status, "steps": 0, "error": error, "live": False}
    return {**empty, **known}
