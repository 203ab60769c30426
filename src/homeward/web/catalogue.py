"""From names to folders, and what is told of each run.

A name from a client is checked letter by letter, and each part of a path is looked at itself: a
link, wherever it leads, is no run of ours.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from homeward.errors import HomewardError, InvalidFileError
from homeward.files import read_json
from homeward.runs import Run, RunStatus
from homeward.runs.lock import is_held
from homeward.runs.run import CONFIG, FIELDS, LOCK, MANIFEST, STEPS, TIMES
from homeward.web.refusals import RefusalError, last_words, told
from homeward.web.terrains import cells_of, name_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
BLOCK = 1 << 20
BUILT_IN = ("grid", "rover", "toytext")
"""Kinds that the server sets up; those from elsewhere would have it import what a run names."""

SUFFIXES = ("safe", "unsafe")
"""How the names of the two runs of a pair end."""

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
            400,
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
        raise OSError(errno.EINVAL, "is no plain file")
    return handle


class StepCounter:
    """Counts the whole lines of a file that grows; each byte is read once."""

    def __init__(self) -> None:
        self.lines, self._read, self._file = 0, 0, (0, 0)

    def count(self, path: Path) -> int:
        """Give how many there are by now; begin anew where it is another file or shorter."""
        try:
            with open(path, "rb", opener=plain) as file:
                found = os.fstat(file.fileno())
                here = (found.st_dev, found.st_ino)
                if here != self._file or found.st_size < self._read:
                    self.lines, self._read, self._file = 0, 0, here
                at = file.seek(self._read)
                while block := file.read(BLOCK):
                    whole = block.rfind(b"\n") + 1
                    if whole:  # a line may be longer than a block
                        self.lines += block.count(b"\n")
                        self._read = at + whole
                    at += len(block)
        except OSError:
            self.lines, self._read = 0, 0
        return self.lines


class Catalogue:
    """The runs in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._counters: dict[str, StepCounter] = {}
        self._turn = threading.Lock()  # the list is made in a thread of its own

    def find(self, name: Any) -> Path:
        """Give the folder of a run; refuse names of none, and links."""
        folder = self._folder(name)
        if (folder / FIELDS).is_dir():
            for place, folders, files in os.walk(folder / FIELDS):
                for entry in (*folders, *files):
                    if os.path.islink(os.path.join(place, entry)):
                        raise RefusalError(404, f"{name}: there is a link among its fields")
        return folder

    def _folder(self, name: Any) -> Path:
        """Give the folder of a run, but for a look at its fields."""
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise RefusalError(404, "there is no such run")
        folder = self.root / name
        try:
            mode = folder.lstat().st_mode
        except OSError:
            mode = 0
        if not stat.S_ISDIR(mode) or not any(
            plain_file(folder, part) for part in (CONFIG, MANIFEST)
        ):
            raise RefusalError(404, f"there is no run named {name}")
        for part in (CONFIG, MANIFEST, STEPS, TIMES, LOCK, FIELDS):
            if (folder / part).is_symlink():
                raise RefusalError(404, f"{name}: {part} is a link, so this is no run")
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
        with self._turn:
            counter = self._counters.setdefault(name, StepCounter())
            return counter.count(self.root / name / STEPS)

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
        folder = self.find(name)
        try:
            run = Run.open(folder)
            manifest, config, status = run.manifest, run.config, run.status
            kind = run.kind
        except HomewardError as error:
            return _damaged(name, told(error, folder, self.root))
        found = status_of(status, standing)
        reason = None if manifest.error is None else last_words(manifest.error, folder, self.root)
        if found == "failed" and standing is not None and standing.error is not None:
            reason = standing.error
        explorer = config.get("explorer")
        level = config.get("delta", config.get("budget"))  # a budget takes its place
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
            "steps": self.steps(name),
            "limit": config.get("limit") if manifest.limit is None else manifest.limit,
            "end": manifest.end,
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
    kept = plain_file(folder, FIELDS, "height", "zarr.json")
    try:
        if kept is not None:
            return [int(side) for side in read_json(kept)["shape"]]
        found = cells_of(config)
    except (InvalidFileError, KeyError, TypeError, ValueError):
        return None
    return None if found is None else list(found)


def _grid_shape(config: dict[str, Any]) -> list[int] | None:
    text = config.get("map")
    if text is None:
        return [config["size"], config["size"]]
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return [len(lines), len(lines[0])] if lines else None


def _damaged(name: str, error: str) -> dict[str, Any]:
    nothing = dict.fromkeys(
        (
            "kind",
            "explorer",
            "delta",
            "seed",
            "place",
            "limit",
            "end",
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
        "status": "damaged",
        "steps": 0,
        "error": error,
        "live": False,
    }
