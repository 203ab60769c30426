"""The runs in a folder: from names to paths, and a summary of each run.

A name from a client is checked by character. Every part of a path is checked: links are refused.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import threading
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from homeward.errors import HomewardError, InvalidFileError
from homeward.files import read_json
from homeward.runs import Run, RunStatus
from homeward.runs.fields import field_shape
from homeward.runs.kind import find_kind, kind_names
from homeward.runs.lock import is_held
from homeward.runs.log import LogFollower
from homeward.runs.manifest import FORMAT
from homeward.runs.run import CONFIG, FIELDS, LOCK, MANIFEST, STEPS, TIMES
from homeward.web.refusals import Refusal, RefusalError, last_words, told
from homeward.web.uploads import name_of
from homeward.words import why_ended

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from homeward.runs.manifest import Manifest

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
OLD_FIELDS = "fields"  # folder in which earlier versions stored what is now in `FIELDS`
SHOWN_UP_TO = "the steps before it are shown"

SUFFIXES = ("safe", "unsafe")  # suffixes of the names of the two runs of a pair
BAD_FORMAT = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions for values of an unexpected type or size."""

State = Literal["queued", "going", "paused", "cancelled", "refused"]


@dataclass(frozen=True, slots=True)
class Standing:
    """The server's own state of a run."""

    state: State
    place: int | None = None  # position in the queue, from 1
    error: str | None = None  # why it could not be started


def check_name(name: Any) -> str:
    """Raise if a text can't be the name of a run."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Refusal.INVALID(
            "a run's name is made of up to 100 letters, digits, '.', '_' and '-', and does not "
            "begin with a dot"
        )
    return name


def plain_file(folder: Path, *parts: str) -> Path | None:
    """Return the path of a plain file below a folder; None if a part of it is a link."""
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
    """Open a file for reading; refuse links and other special files, without waiting for them."""
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
        self._turn = threading.Lock()  # the list is made in another thread

    def find(self, name: Any) -> Path:
        """Return the folder of a run; raise if it does not exist or has links."""
        folder = self._folder(name)
        for place, folders, files in os.walk(folder / OLD_FIELDS):
            if any(os.path.islink(os.path.join(place, entry)) for entry in (*folders, *files)):
                raise Refusal.NOT_FOUND(f"{name}: there is a link among its fields")
        return folder

    def _folder(self, name: Any) -> Path:
        """Return the folder of a run, without a check of its fields."""
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise Refusal.NOT_FOUND("there is no such run")
        folder = self.root / name
        if not any(plain_file(self.root, name, part) for part in (CONFIG, MANIFEST)):
            raise Refusal.NOT_FOUND(f"there is no run named {name}")
        for part in (CONFIG, MANIFEST, STEPS, TIMES, LOCK, FIELDS, OLD_FIELDS):
            if (folder / part).is_symlink():
                raise Refusal.NOT_FOUND(f"{name}: {part} is a link, so this is not a run")
        return folder

    def names(self) -> list[str]:
        """List the runs by name."""
        found = []
        try:
            entries = sorted(os.listdir(self.root))
        except OSError:
            return []
        for name in entries:
            with suppress(RefusalError):
                self._folder(name)
                found.append(name)
        with self._turn:
            for gone in self._counters.keys() - set(found):
                del self._counters[gone]
        return found

    def free_name(self, stem: str, suffixes: Sequence[str], taken: Collection[str]) -> str:
        """Return a name that no run has yet: the stem and the first number that is free."""
        for number in count(1):
            names = [f"{stem}-{number}{suffix}" for suffix in suffixes]
            if not any(n in taken or os.path.lexists(self.root / n) for n in names):
                break
        return f"{stem}-{number}"

    def count(self, name: str) -> tuple[int, str | None]:
        """Return how many steps of a run are recorded, and what is wrong with the next line."""
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
        """Return a stamp that changes with the run, except its steps; None if it was deleted."""
        try:
            found = os.lstat(self.root / name / MANIFEST)
        except OSError:
            return None
        held = is_held(self.root / name / LOCK)
        return found.st_ino, found.st_mtime_ns, held

    def stamps(self) -> list[tuple[str, Any]]:
        """Return the runs by name, each with its stamp."""
        return [(name, self.stamp(name)) for name in self.names()]

    def summary(self, name: str, standing: Standing | None = None) -> dict[str, Any]:
        """Return the summary of a run as JSON values; a damaged run has an error."""
        try:
            found = self._summary(name, standing)
            json.dumps(found, allow_nan=False)
        except BAD_FORMAT:  # the files are JSON, but not in our format
            found = _unread(name, "damaged", f"{CONFIG}: is not as it was written")
        if found["status"] == "damaged":
            self.find(name)  # or it was deleted in the meantime
        return found

    def _summary(self, name: str, standing: Standing | None) -> dict[str, Any]:
        """Return the summary of a run in our format.

        If only the log is damaged, the end is missing, and `steps` are those before the damage.
        """
        folder = self.find(name)
        try:
            run = Run.open(folder)
            config, status = run.config, run.status
            manifest, kind = run.manifest, run.kind  # after the status, to be consistent
        except HomewardError as error:
            newer = _newer(folder)
            if newer is not None:
                return _unread(name, "newer", newer)
            return _unread(name, "damaged", told(error, folder, self.root))
        found, end = status_of(status, standing), manifest.end
        reason = None if manifest.error is None else last_words(manifest.error, folder, self.root)
        if found == "failed" and standing is not None and standing.error is not None:
            reason = standing.error
        steps, fault = self.count(name)
        if found not in ("running", "queued"):
            damage = _damage(run, manifest, steps, fault)
            if damage is not None:
                found, end, reason = "damaged", None, damage
        explorer = config.get("explorer")
        return {
            "id": name,
            "kind": kind,
            "title": name,
            "explorer": explorer,
            "delta": config.get("delta") if explorer in (None, "safe", "naive") else None,
            "seed": manifest.seed,
            "status": found,
            "place": None if standing is None else standing.place,
            "steps": steps,
            "limit": config.get("limit") if manifest.limit is None else manifest.limit,
            "end": end,
            "why": None if end is None else why_ended(end, manifest.steps),
            "error": reason,
            "created": manifest.created,
            "updated": manifest.updated,
            "shape": shape_of(folder, kind, config),
            "live": found in ("running", "queued"),
            "pair": self.pair(name),
        }

    def details(self, name: str) -> dict[str, Any]:
        """Return the details of a run that are in neither its summary nor its viewer's answer."""
        run = Run.open(self.find(name))
        timed = [s.plan_ms for s in run.manifest.sessions if s.plan_ms is not None]
        last = timed[-1] if timed else None
        return {"config": name_of(run.config, self.root), "plan_ms": last}

    def pair(self, name: str) -> str | None:
        """Return the other run of a pair in the same world, if there is one."""
        stem, dash, suffix = name.rpartition("-")
        other = f"{stem}-{'unsafe' if suffix == 'safe' else 'safe'}"
        if dash and suffix in SUFFIXES:
            with suppress(RefusalError):
                self._folder(other)
                return other
        return None


def status_of(status: RunStatus, standing: Standing | None) -> str:
    """Return the status of a run: the server's own state overrides the manifest."""
    stopped = status in (RunStatus.INTERRUPTED, RunStatus.FAILED)
    if standing is None or not (stopped or standing.state in ("queued", "going")):
        return str(status)
    return {"going": "running", "refused": "failed"}.get(standing.state, standing.state)


def shape_of(folder: Path, kind: str, config: dict[str, Any]) -> list[int] | None:
    """Return rows and columns; None if they take long to compute."""
    if kind not in kind_names():
        return None
    find = find_kind(kind).shape
    try:
        found = field_shape(folder / FIELDS, "height") or (None if find is None else find(config))
    except (InvalidFileError, KeyError, TypeError, ValueError):
        return None
    return None if found is None else list(found)


def _damage(run: Run, manifest: Manifest, steps: int, damage: str | None) -> str | None:
    """Return what is wrong with the log of a run that is not running."""
    if damage is not None:
        return f"{STEPS}: {damage}; {SHOWN_UP_TO}"
    if manifest.status is not RunStatus.FINISHED or steps == manifest.steps:
        return None
    if run.manifest != manifest or run.status is not RunStatus.FINISHED:
        return None  # it was resumed in the meantime
    return f"its record holds {steps} steps, but it ended after {manifest.steps}"


def _newer(folder: Path) -> str | None:
    """Return a sentence if a run was written by a newer version."""
    for part in (MANIFEST, CONFIG):
        try:
            format_ = read_json(folder / part)["format"]
        except (InvalidFileError, KeyError, TypeError):
            continue
        if isinstance(format_, int) and format_ > FORMAT:
            return (
                f"it was made by a newer version of Homeward: its {part} has format {format_}, "
                f"and format {FORMAT} is read here"
            )
    return None


def _unread(name: str, status: str, error: str) -> dict[str, Any]:
    """Return the summary of a run that can't be opened."""
    empty = dict.fromkeys(("kind", "explorer", "delta", "seed", "place", "limit", "shape", "pair"))
    empty |= dict.fromkeys(("end", "why", "created", "updated"))
    found = {"id": name, "title": name, "status": status, "steps": 0, "error": error, "live": False}
    return {**empty, **found}
