"""From names to folders, and what is told of each run.

A name from a client is checked letter by letter, and each part of a path is looked at itself: a
link, wherever it leads, is no run of ours.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from homeward.errors import HomewardError, InvalidFileError
from homeward.files import read_json
from homeward.runs import Run, RunStatus
from homeward.runs.fields import field_shape
from homeward.runs.lock import is_held
from homeward.runs.log import BLOCK_BYTES, MAX_LINE_BYTES, text_of
from homeward.runs.manifest import FORMAT
from homeward.runs.run import CONFIG, FIELDS, LOCK, MANIFEST, STEPS, TIMES
from homeward.web.refusals import Refusal, RefusalError, last_words, told
from homeward.web.terrains import cells_of, name_of
from homeward.words import why_ended

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from homeward.runs.manifest import Manifest

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
OLD_FIELDS = "fields"
"""The folder in which earlier versions kept what is in `FIELDS` now."""

BUILT_IN = ("grid", "rover", "toytext")
"""Kinds that the server sets up; those from elsewhere would have it import what a run names."""

SUFFIXES = ("safe", "unsafe")
"""How the names of the two runs of a pair end."""

STRANGE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What comes of values that are of another type or size than ours."""

State = Literal["queued", "going", "paused", "cancelled", "refused"]


@dataclass(frozen=True, slots=True)
class Standing:
    """What the server itself has to do with a run."""

    state: State
    place: int | None = None  # in the queue, from 1
    error: str | None = None  # why it could not be started


def check_name(name: Any) -> str:
    """Refuse what can't be the name of a run."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise RefusalError(
            Refusal.INVALID,
            "a run's name is made of up to 100 letters, digits, '.', '_' and '-', and does not "
            "begin with a dot",
        )
    return name


def plain_file(folder: Path, *parts: str) -> Path | None:
    """Give the path of a file below a folder; None if it is none, or a link is on the way."""
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


def plain(path: str, flags: int) -> int:
    """Open a file for reading; refuse links and what is no file, without waiting for it."""
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "is not a plain file")
    return handle


class StepCounter:
    """Counts the steps of a log that grows, as far as its checksums fit; a byte is read once.

    A last line that is not whole is left out, as whoever goes on with the run does.
    """

    def __init__(self) -> None:
        self.lines, self._read = 0, 0
        self.broken: int | None = None  # the first line that is damaged, from 1
        self._file: tuple[int, ...] = ()  # which it is, its size, and when it was written

    def count(self, path: Path) -> int:
        """Give how many there are by now; begin anew where it is another file or shorter."""
        try:
            with open(path, "rb", opener=plain) as file:
                found = os.fstat(file.fileno())
                here = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
                if here == self._file:
                    return self.lines
                if here[:2] != self._file[:2] or found.st_size < self._read:
                    self.lines, self._read = 0, 0
                self._file, begun = here, self._read
                self._read_on(file)
                if self.broken is not None and begun:  # or another file has this one's number
                    self.lines, self._read = 0, 0
                    self._read_on(file)
        except OSError:
            self.lines, self._read, self.broken, self._file = 0, 0, None, ()
        return self.lines

    def _read_on(self, file: BinaryIO) -> None:
        """Count on from where it was read to, up to the end or to a line that is damaged."""
        self.broken = None
        file.seek(self._read)
        left = b""
        while block := file.read(BLOCK_BYTES):
            *lines, left = (left + block).split(b"\n")
            for number, line in enumerate(lines, start=1):
                if not _is_whole(line):
                    if number < len(lines) or left or file.read(1):
                        self.broken = self.lines + 1
                    return
                self.lines += 1
                self._read += len(line) + 1
            if len(left) > MAX_LINE_BYTES:
                self.broken = self.lines + 1
                return


def _is_whole(line: bytes) -> bool:
    """Tell whether a line of the log, without its end, is as it was written."""
    try:
        text_of(line + b"\n")
    except ValueError:
        return False
    return True


class Catalogue:
    """The runs in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._counters: dict[str, StepCounter] = {}
        self._turn = threading.Lock()  # the list is made in a thread of its own

    def find(self, name: Any) -> Path:
        """Give the folder of a run; refuse names of none, and links."""
        folder = self._folder(name)
        for place, folders, files in os.walk(folder / OLD_FIELDS):
            for entry in (*folders, *files):
                if os.path.islink(os.path.join(place, entry)):
                    raise RefusalError(
                        Refusal.NOT_FOUND, f"{name}: there is a link among its fields"
                    )
        return folder

    def _folder(self, name: Any) -> Path:
        """Give the folder of a run, but for a look at its fields."""
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise RefusalError(Refusal.NOT_FOUND, "there is no such run")
        folder = self.root / name
        try:
            mode = folder.lstat().st_mode
        except OSError:
            mode = 0
        if not stat.S_ISDIR(mode) or not any(
            plain_file(folder, part) for part in (CONFIG, MANIFEST)
        ):
            raise RefusalError(Refusal.NOT_FOUND, f"there is no run named {name}")
        for part in (CONFIG, MANIFEST, STEPS, TIMES, LOCK, FIELDS, OLD_FIELDS):
            if (folder / part).is_symlink():
                raise RefusalError(
                    Refusal.NOT_FOUND, f"{name}: {part} is a link, so this is no run"
                )
        return folder

    def names(self) -> list[str]:
        """List the runs by name."""
        found = []
        try:
            entries = sorted(os.scandir(self.root), key=lambda entry: entry.name)
        except OSError:
            return []
        for entry in entries:
            try:
                self._folder(entry.name)
            except RefusalError:
                continue
            found.append(entry.name)
        with self._turn:
            for gone in self._counters.keys() - set(found):
                del self._counters[gone]
        return found

    def free_name(self, stem: str, suffixes: Sequence[str], taken: Collection[str]) -> str:
        """Give a name that no run has yet: the stem and the first number that is free."""
        number = 1
        while True:
            name = f"{stem}-{number}"
            names = [f"{name}{suffix}" for suffix in suffixes]
            if not any(n in taken or os.path.lexists(self.root / n) for n in names):
                return name
            number += 1

    def steps(self, name: str) -> int:
        """Give how many steps of a run are recorded."""
        return self._count(name)[0]

    def _count(self, name: str) -> tuple[int, int | None]:
        """Give how many steps of a run are recorded, and the first line that is damaged."""
        with self._turn:
            counter = self._counters.setdefault(name, StepCounter())
            return counter.count(self.root / name / STEPS), counter.broken

    def stamp(self, name: str) -> tuple[Any, ...] | None:
        """Give what changes whenever a run does, but for its steps; None once it is gone."""
        try:
            found = os.lstat(self.root / name / MANIFEST)
        except OSError:
            return None
        held = is_held(self.root / name / LOCK)
        return found.st_ino, found.st_mtime_ns, held

    def stamps(self) -> list[tuple[str, Any]]:
        """Give the runs by name, each with its stamp."""
        return [(name, self.stamp(name)) for name in self.names()]

    def summary(self, name: str, standing: Standing | None = None) -> dict[str, Any]:
        """Tell of a run, as JSON values; of a damaged one, what is wrong with it."""
        try:
            found = self._summary(name, standing)
            json.dumps(found, allow_nan=False)
        except STRANGE:  # what stands in its files is JSON, and nothing that we have written
            found = _unread(name, "damaged", f"{CONFIG}: is not as it was written")
        if found["status"] == "damaged":
            self.find(name)  # or it has gone in the meantime
        return found

    def _summary(self, name: str, standing: Standing | None) -> dict[str, Any]:
        """Tell of a run whose files are ours.

        Where the log alone is damaged, all is told but how the run ended, and `steps` are those
        before the damage.
        """
        folder = self.find(name)
        try:
            run = Run.open(folder)
            config, status = run.config, run.status
            manifest, kind = run.manifest, run.kind  # after the status, so that they fit together
        except HomewardError as error:
            newer = _newer(folder)
            if newer is not None:
                return _unread(name, "newer", newer)
            return _unread(name, "damaged", told(error, folder, self.root))
        found, end = status_of(status, standing), manifest.end
        reason = None if manifest.error is None else last_words(manifest.error, folder, self.root)
        if found == "failed" and standing is not None and standing.error is not None:
            reason = standing.error
        steps, broken = self._count(name)
        if found not in ("running", "queued"):
            damage = _damage(run, manifest, steps, broken)
            if damage is not None:
                found, end, reason = "damaged", None, damage
        explorer = config.get("explorer")
        level = config.get("delta")
        delta = level if explorer in (None, "safe", "naive") else None
        return {
            "id": name,
            "kind": kind,
            "title": name,
            "explorer": explorer,
            "delta": delta,
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
        """Give what is told of a run beyond its summary and what its viewer says."""
        run = Run.open(self.find(name))
        timed = [s.plan_ms for s in run.manifest.sessions if s.plan_ms is not None]
        return {
            "config": name_of(run.config, self.root),
            "plan_ms": timed[-1] if timed else None,
        }

    def pair(self, name: str) -> str | None:
        """Give the other run of a pair in the same world, if there is one."""
        stem, dash, suffix = name.rpartition("-")
        if not dash or suffix not in SUFFIXES:
            return None
        other = f"{stem}-{SUFFIXES[1 - SUFFIXES.index(suffix)]}"
        try:
            self._folder(other)
        except RefusalError:
            return None
        return other


def status_of(status: RunStatus, standing: Standing | None) -> str:
    """Give the status that is told: what the server knows of a run goes before what it wrote."""
    if standing is None:
        return str(status)
    if standing.state == "queued":
        return "queued"
    if standing.state == "going":
        return "running"
    if status in (RunStatus.INTERRUPTED, RunStatus.FAILED):
        return "failed" if standing.state == "refused" else standing.state
    return str(status)


def shape_of(folder: Path, kind: str, config: dict[str, Any]) -> list[int] | None:
    """Give rows and columns where they are cheap to know."""
    if kind == "grid":
        return _grid_shape(config)
    if kind != "rover":
        return None
    try:
        found = field_shape(folder / FIELDS, "height") or cells_of(config)
    except (InvalidFileError, KeyError, TypeError, ValueError):
        return None
    return None if found is None else list(found)


def _grid_shape(config: dict[str, Any]) -> list[int] | None:
    text = config.get("map")
    if text is None:
        return [config["size"], config["size"]]
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return [len(lines), len(lines[0])] if lines else None


def _damage(run: Run, manifest: Manifest, steps: int, broken: int | None) -> str | None:
    """Say what is wrong with the log of a run that is not going; None if nothing is."""
    if broken is not None:
        return f"line {broken} of its record is damaged; what is before it is shown"
    if manifest.status is not RunStatus.FINISHED or steps == manifest.steps:
        return None
    if run.manifest != manifest or run.status is not RunStatus.FINISHED:
        return None  # it went on in the meantime
    return f"its record holds {steps} steps, but it ended after {manifest.steps}"


def _newer(folder: Path) -> str | None:
    """Say so if a run was written by a newer version."""
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
    """Tell of a run that can't be opened."""
    nothing = dict.fromkeys(
        (
            "kind",
            "explorer",
            "delta",
            "seed",
            "place",
            "limit",
            "end",
            "why",
            "created",
            "updated",
            "shape",
            "pair",
        )
    )
    return {
        **nothing,
        "id": name,
        "title": name,
        "status": status,
        "steps": 0,
        "error": error,
        "live": False,
    }
