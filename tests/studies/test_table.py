from __future__ import annotations

import csv
import math
import sys
from typing import TYPE_CHECKING, Any

import pyarrow.parquet
import pytest

from homeward.errors import InvalidFileError, MissingExtraError
from homeward.studies import (
    StudyFile,
    Table,
    TaskOutcome,
    check_table,
    define,
    table_of,
    write_table,
)

if TYPE_CHECKING:
    from pathlib import Path

STUDY = define("s", "x:y", [{"a": 1, "where": [1, 2]}, {"a": 2, "b": None}], [5, 6])
OUTCOMES = [
    TaskOutcome(3, {"late": True, "value": 1 / 3}, None, 0.0),
    TaskOutcome(0, {"value": 0.1, "note": 'a "b", c'}, None, 0.0),
    TaskOutcome(2, None, "error", 0.0),
]
COLUMNS = ("a", "where", "b", "seed", "value", "note", "late")
ROWS = (
    (1, "[1, 2]", None, 5, 0.1, 'a "b", c', None),
    (2, None, None, 6, 1 / 3, None, True),
)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_the_table_is_the_same_in_whatever_order_rows_came(
    tmp_path: Path, order: list[int]
) -> None:
    with StudyFile.open(tmp_path / "s.sqlite", STUDY) as study_file:
        for i in order:
            study_file.record([OUTCOMES[i]])
        table = table_of(study_file)
    assert table == Table(COLUMNS, ROWS)


def test_csv_keeps_every_bit(tmp_path: Path) -> None:
    out = tmp_path / "t.csv"
    values = (0.1, 1e300, -0.0, math.inf, math.nan, 5e-324)
    write_table(Table(("x", "ä"), tuple((v, "ü") for v in values)), out)
    with open(out, newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["x", "ä"]
    assert [float(row[0]).hex() for row in rows] == [v.hex() for v in values]


def test_csv_says_what_is_true_and_leaves_out_what_is_not_there(tmp_path: Path) -> None:
    write_table(Table(COLUMNS, ROWS), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == (
        f'a,where,b,seed,value,note,late\n1,"[1, 2]",,5,0.1,"a ""b"", c",\n2,,,6,{1 / 3!r},,true\n'
    )
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_parquet_keeps_types(tmp_path: Path) -> None:
    write_table(Table(COLUMNS, ROWS), tmp_path / "t.parquet")
    read = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    assert read.column_names == list(COLUMNS)
    assert tuple(tuple(row.values()) for row in read.to_pylist()) == ROWS
    assert str(read.schema.field("late").type) == "bool"
    assert str(read.schema.field("seed").type) == "int64"


def test_parquet_takes_whole_numbers_among_floats_for_floats(tmp_path: Path) -> None:
    write_table(Table(("x",), ((1,), (0.5,), (None,))), tmp_path / "t.parquet")
    read = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    assert read.column("x").to_pylist() == [1.0, 0.5, None]


def test_parquet_refuses_a_column_of_mixed_types_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="column 'x' mixes types"):
        write_table(Table(("x",), ((1,), ("a",))), tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_table_without_rows_has_a_head(tmp_path: Path) -> None:
    write_table(Table(("a", "seed"), ()), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "a,seed\n"
    write_table(Table(("a", "seed"), ()), tmp_path / "t.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "t.parquet").column_names == ["a", "seed"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("t.xlsx", "a table can be written as .csv or .parquet"),
        ("gone/t.csv", "there is no folder"),
    ],
)
def test_a_place_that_is_none_is_refused_beforehand(
    tmp_path: Path, name: str, message: str
) -> None:
    with pytest.raises(InvalidFileError, match=message):
        check_table(tmp_path / name)
    with pytest.raises(InvalidFileError, match=message):
        write_table(Table((), ()), tmp_path / name)


def test_parquet_without_pyarrow_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    table: Any = Table((), ())
    with pytest.raises(MissingExtraError, match=r"pip install 'homeward\[parquet\]'"):
        check_table(tmp_path / "t.parquet")
    write_table(table, tmp_path / "t.csv")
