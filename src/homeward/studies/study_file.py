"""The file of a study: one SQLite database, written by one process, consistent after a crash.

It holds the definition and one entry per task that finished or failed. To resume a study, open its
file with the same definition: finished tasks are kept, and failed tasks are tried again. While no
task is finished, the file accepts any definition, so that a wrong definition can be corrected.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from homeward import __version__
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.files import refusing
from homeward.runs.config import checked
from homeward.runs.lock import locked
from homeward.runs.manifest import now
from homeward.runs.observation_codec import decode, encode
from homeward.studies.study import Study
from homeward.studies.work import TaskOutcome

FORMAT = 1
APPLICATION_ID = 0x486F6D65  # SQLite's application id of study files
SCHEMA = f"""
    BEGIN IMMEDIATE;
    PRAGMA application_id = {APPLICATION_ID};
    DROP TABLE IF EXISTS study;
    DROP TABLE IF EXISTS task;
    CREATE TABLE study (format INTEGER, homeward TEXT, created TEXT, definition TEXT);
    CREATE TABLE task (
        position INTEGER PRIMARY KEY,
        cell TEXT NOT NULL,
        seed INTEGER NOT NULL,
        row TEXT,
        error TEXT,
        seconds REAL NOT NULL,
        CHECK ((row IS NULL) <> (error IS NULL))
    );
"""


class StudyFile:
    """An open study file."""

    def __init__(self, path: Path, study: Study, base: sqlite3.Connection) -> None:
        self.path, self.study, self._base = path, study, base

    @classmethod
    @contextmanager
    def open(cls, path: Path | str, study: Study) -> Iterator[StudyFile]:
        """Open the file of a study to continue it, or create the file.

        Raise, and leave the file unchanged, if it has another format, definition or version, or if
        another process is writing it.
        """
        path = Path(path)
        if not path.parent.is_dir():
            raise InvalidFileError(f"{path}: there is no folder {path.parent}")
        with locked(path.with_name(path.name + ".lock"), str(path)), _base(path, "rwc") as base:
            known, file = _definition(path, base), cls(path, study, base)
            if known is None or not file.done:
                file._begin()
            else:
                _check_same(path, *known, study)
            yield file

    @classmethod
    @contextmanager
    def read(cls, path: Path | str) -> Iterator[StudyFile]:
        """Open the file of a study to read it; another process may be writing it."""
        path = Path(path)
        if not path.is_file():
            raise InvalidFileError(f"{path}: there is no such file")
        with _base(path, "rw") as base:
            known = _definition(path, base)
            if known is None:
                raise InvalidFileError(f"{path}: is empty")
            yield cls(path, known[0], base)

    def _begin(self) -> None:
        """Create the tables of the study."""
        entry = (FORMAT, __version__, now(), self.study.model_dump_json())
        try:
            self._base.executescript(SCHEMA)
            self._base.execute("INSERT INTO study VALUES (?, ?, ?, ?)", entry)
            self._base.execute("COMMIT")
        except sqlite3.Error as cause:
            raise InvalidFileError(f"{self.path}: can't be written: {cause}") from cause

    @property
    def done(self) -> int:
        """Number of tasks that have a row."""
        ((count,),) = self._base.execute("SELECT count(*) FROM task WHERE row IS NOT NULL")
        return int(count)

    def left(self) -> list[int]:
        """Return the numbers of the tasks without a row, in ascending order."""
        rows = self._base.execute("SELECT position FROM task WHERE row IS NOT NULL")
        done = {position for (position,) in rows}
        return [position for position in range(self.study.tasks) if position not in done]

    def record(self, outcomes: Iterable[TaskOutcome]) -> None:
        """Record outcomes in one transaction."""
        entries = []
        for outcome in outcomes:
            cell, seed = self.study.task_at(outcome.position)
            row = None
            if outcome.row is not None:  # JSON has no infinities
                plain = {key: encode(value, ()) for key, value in outcome.row.items()}
                row = json.dumps(plain, ensure_ascii=False, allow_nan=False)
            where = json.dumps(cell, ensure_ascii=False)
            entries.append((outcome.position, where, seed, row, outcome.error, outcome.seconds))
        insert = "INSERT OR REPLACE INTO task VALUES (?, ?, ?, ?, ?, ?)"
        try:
            self._base.execute("BEGIN IMMEDIATE")
            with self._base:  # commits, or rolls back
                self._base.executemany(insert, entries)
        except sqlite3.Error as cause:
            raise InvalidFileError(f"{self.path}: can't be written: {cause}") from cause

    def outcomes(self) -> Iterator[TaskOutcome]:
        """Yield the recorded outcomes in the order of the tasks."""
        query = "SELECT position, row, error, seconds FROM task ORDER BY position"
        for position, text, error, seconds in self._base.execute(query):
            row = None
            if text is not None:
                row = {key: decode(value, ()) for key, value in json.loads(text).items()}
            yield TaskOutcome(position, row, error, seconds)

    def failures(self) -> list[TaskOutcome]:
        """Return the outcomes of the tasks that failed."""
        return [outcome for outcome in self.outcomes() if outcome.failed]


@contextmanager
def _base(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """Open a database in an SQLite `mode`; raise if the file is not a database."""
    with refusing(path, "can't be read"):
        if path.exists() and path.stat().st_size:
            with open(path, "rb") as file:
                if file.read(16) != b"SQLite format 3\0":
                    raise InvalidFileError(f"{path}: is not a study: it is not an SQLite file")
    try:
        address = f"{path.absolute().as_uri()}?mode={mode}"
        base = sqlite3.connect(address, uri=True, isolation_level=None, timeout=30.0)
    except sqlite3.Error as cause:
        raise InvalidFileError(f"{path}: can't be opened: {cause}") from cause
    with closing(base):
        yield base


def _definition(path: Path, base: sqlite3.Connection) -> tuple[Study, str] | None:
    """Return the study in a file and the homeward version that wrote it; None if it is empty."""
    try:
        base.execute("PRAGMA synchronous = FULL")
        ((identity,),) = base.execute("PRAGMA application_id")
        ((tables,),) = base.execute("SELECT count(*) FROM sqlite_schema")
        if identity == 0 and tables == 0:
            return None
        if identity != APPLICATION_ID:
            raise InvalidFileError(f"{path}: is not a study: another program made this database")
        ((format_, version, text),) = base.execute("SELECT format, homeward, definition FROM study")
    except InvalidFileError:
        raise
    except (sqlite3.Error, ValueError) as cause:
        raise InvalidFileError(f"{path}: can't be read: {cause}") from cause
    if format_ != FORMAT:
        raise InvalidFileError(f"{path}: has format {format_}; this homeward reads {FORMAT}")
    try:
        return checked(Study, json.loads(text), str(path)), version
    except InvalidInputError as cause:
        raise InvalidFileError(str(cause)) from cause


def _check_same(path: Path, known: Study, version: str, study: Study) -> None:
    """Raise `InvalidFileError` with the first difference if a file holds another study."""
    if version != __version__:
        raise InvalidFileError(
            f"{path}: was made by homeward {version}, and this is {__version__}; one study can't "
            "mix rows of two versions"
        )
    other = study.model_dump(mode="json")
    for name, one in known.model_dump(mode="json").items():
        two = other[name]
        if json.dumps(one) == json.dumps(two):  # as text: to Python, 1 and true are equal
            continue
        if not (isinstance(one, list) and isinstance(two, list)):
            differs = f"{name} is {one!r}, not {two!r}"
        elif len(one) != len(two):
            differs = f"number of {name} is {len(one)}, not {len(two)}"
        else:
            i = next(i for i, a in enumerate(one) if json.dumps(a) != json.dumps(two[i]))
            differs = f"{name}[{i}] is {one[i]!r}, not {two[i]!r}"
        raise InvalidFileError(f"{path}: holds another study: its {differs}")
