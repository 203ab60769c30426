"""The table of a study: one row per finished task, in the order of the tasks.

The columns are the keys of the cells, the seed, and the keys of the rows in the order in which they
first appear. So a study always gives the same table, byte for byte, whatever the order in which its
tasks finished.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from homeward.errors import InvalidFileError
from homeward.extras import need
from homeward.files import replace_file
from homeward.studies.study_file import StudyFile
from homeward.studies.work import Scalar

KINDS = (".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows; an entry is None if its task did not return that key."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Scalar, ...], ...]


def table_of(study_file: StudyFile) -> Table:
    """Return the table of the tasks that are finished so far."""
    study = study_file.study
    columns: dict[str, None] = {key: None for cell in study.cells for key in cell}
    columns["seed"] = None
    entries: list[dict[str, Any]] = []
    for outcome in study_file.outcomes():
        if outcome.row is not None:
            cell, seed = study.task_at(outcome.position)
            for key, value in cell.items():
                if isinstance(value, list | dict):
                    cell[key] = json.dumps(value, ensure_ascii=False)
            entries.append({**cell, "seed": seed, **outcome.row})
            columns.update(dict.fromkeys(outcome.row))
    rows = tuple(tuple(entry.get(name) for name in columns) for entry in entries)
    return Table(tuple(columns), rows)


def grouped(
    rows: Iterable[dict[str, Any]], keys: Sequence[str]
) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Return lists of rows by their values in the columns `keys`, in order of appearance."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def check_table(out: Path | str) -> None:
    """Raise `InvalidFileError` if a table can't be written to `out`; call it before the work."""
    out = Path(out)
    if out.suffix.lower() not in KINDS:
        raise InvalidFileError(f"{out}: a table can be written as {' or '.join(KINDS)}")
    if not out.parent.is_dir():
        raise InvalidFileError(f"{out}: there is no folder {out.parent}")
    if out.suffix.lower() == ".parquet":
        _pyarrow()


def write_table(table: Table, out: Path | str) -> None:
    """Write a table as .csv or .parquet, by the suffix of `out`, completely or not at all."""
    check_table(out)
    out = Path(out)
    replace_file(out, (_as_csv if out.suffix.lower() == ".csv" else _as_parquet)(table, out))


def _as_csv(table: Table, out: Path) -> bytes:
    """Return a table as UTF-8 CSV: floats with all digits, true or false, empty for None."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow(str(v).lower() if isinstance(v, bool) else v for v in row)
    return text.getvalue().encode()


def _as_parquet(table: Table, out: Path) -> bytes:
    """Return a table as Parquet; an error names the file `out`."""
    pyarrow = _pyarrow()
    arrays = []
    for i, name in enumerate(table.columns):
        values = [row[i] for row in table.rows]
        if any(isinstance(v, float) for v in values):
            values = [float(v) if type(v) is int else v for v in values]
        try:
            arrays.append(pyarrow.array(values))
        except pyarrow.ArrowException as cause:
            raise InvalidFileError(
                f"{out}: column {name!r} mixes types, which Parquet can't hold: {cause}"
            ) from cause
    from pyarrow import parquet

    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_arrays(arrays, list(table.columns)), sink)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _pyarrow() -> Any:
    return need("pyarrow", "parquet", "Parquet needs pyarrow (.csv does not)")
